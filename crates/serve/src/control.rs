//! The control socket: JSON lines as in `driver::protocol`, for the owner only.

use crate::events::Event;
use crate::exports::ArrayExports;
use crate::live::{LiveArray, Scrub};
use driver::protocol::{
    ErrorKind, Ready, Request, Response, ResponseError, ResponseResult, Verb, read_line, to_line,
};
use serde_json::{Value, json};
use std::io::{BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use volume::{DriveCondition, VolumeError};

/// The most control connections at a time; more are hung up on.
const CONNECTIONS_LIMIT: usize = 32;
/// A control connection may be silent for so long.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);
/// How often the acceptor looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the control socket acts on.
pub(crate) struct Controlled {
    pub live: Arc<LiveArray>,
    pub exports: Arc<ArrayExports>,
    pub server: Arc<nbd::Server>,
}

/// Answers control connections until it is told to stop.
pub(crate) fn accept(listener: &UnixListener, controlled: &Arc<Controlled>, is_stopping: &AtomicBool) {
    let connections = Arc::new(AtomicUsize::new(0));
    // Not blocking, so that it can be ended.
    let _ = listener.set_nonblocking(true);
    while !is_stopping.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK_EVERY);
            continue;
        };
        if connections.load(Ordering::Acquire) >= CONNECTIONS_LIMIT {
            continue;
        }
        connections.fetch_add(1, Ordering::AcqRel);
        let (controlled, counted) = (controlled.clone(), connections.clone());
        let started = std::thread::Builder::new().name("control".into()).spawn(move || {
            // Whoever breaks off has nothing to be told.
            let _ = converse(stream, &controlled);
            counted.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn converse(stream: UnixStream, controlled: &Controlled) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE_LIMIT))?;
    stream.set_write_timeout(Some(SILENCE_LIMIT))?;
    let mut reader = BufReader::new(stream);
    while let Some(line) = read_line(&mut reader)? {
        let (id, result) = match Request::parse(&line) {
            Ok(request) => (Some(request.id), controlled.answer(&request.verb)),
            Err(error) => (None, Err(refuse(ErrorKind::BadRequest, error.to_string()))),
        };
        let result = match result {
            Ok(value) => ResponseResult::Ok(value),
            Err(error) => ResponseResult::Error(error),
        };
        let line = to_line(&Response { id, result }).map_err(std::io::Error::other)?;
        reader.get_mut().write_all(&line)?;
    }
    Ok(())
}

fn refuse(kind: ErrorKind, message: impl Into<String>) -> ResponseError {
    ResponseError { kind, message: message.into() }
}

fn failed(error: &VolumeError) -> ResponseError {
    let kind = match error {
        VolumeError::Drive { .. } => ErrorKind::Refused,
        _ => ErrorKind::Failed,
    };
    refuse(kind, crate::live::export_error(error).message)
}

impl Controlled {
    fn answer(&self, verb: &Verb) -> Result<Value, ResponseError> {
        match verb {
            Verb::Status => self.status(),
            Verb::Ready => Ok(json!(self.ready())),
            Verb::Set { settings } => {
                let differs = settings.iter().find(|(key, value)| self.array_setting(key) != Some(*value));
                match differs {
                    None => Ok(json!({})),
                    Some((key, _)) => Err(refuse(
                        ErrorKind::Refused,
                        format!(
                            "`{key}` of an array that holds data cannot be changed; serve it anew with it"
                        ),
                    )),
                }
            }
            Verb::Event { name, arguments } => self.happen(&Event::parse(name, arguments)?),
        }
    }

    fn array_setting(&self, key: &str) -> Option<&Value> {
        self.live.array.settings.get(key)
    }

    fn happen(&self, event: &Event) -> Result<Value, ResponseError> {
        let live = &self.live;
        if let Event::PowerCut { seed } = event {
            live.cut_power(*seed, &|| self.server.drop_connections()).map_err(|error| failed(&error))?;
            return Ok(json!({}));
        }
        let volume = live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        match *event {
            Event::Fail { drive } => volume.fail_drive(drive),
            Event::Pull { drive } => volume.pull_drive(drive),
            Event::Replace { drive } => volume.replace_drive(drive),
            Event::Corrupt { drive, offset_bytes, sectors } => {
                volume.corrupt_sectors(drive, offset_bytes, sectors)
            }
            Event::Checkpoint => volume.checkpoint(),
            Event::Break { drive } => {
                if live.break_drive(drive) {
                    Ok(())
                } else {
                    Err(VolumeError::Drive { drive, problem: "there is no such drive" })
                }
            }
            Event::Scrub => {
                live.background().scrub = Some(Scrub { is_running: true, ..Scrub::default() });
                Ok(())
            }
            Event::PowerCut { .. } => Ok(()),
        }
        .map_err(|error| failed(&error))?;
        live.wake();
        Ok(json!({}))
    }

    fn ready(&self) -> Ready {
        let background = self.live.background().clone();
        let Some(volume) = self.live.volume() else {
            return Ready { ready: false, progress_percent: None, message: "the power is off".to_owned() };
        };
        let is_whole = volume.status().drives.iter().all(|drive| drive.condition == DriveCondition::Present);
        let rebuild = background.rebuild.filter(|rebuild| !rebuild.is_complete);
        let percent = rebuild.map(|rebuild| rebuild.done_stripes as f64 / rebuild.stripes as f64 * 100.0);
        let message = if is_whole { "whole" } else { "degraded or rebuilding" };
        Ready { ready: is_whole, progress_percent: percent, message: message.to_owned() }
    }

    fn status(&self) -> Result<Value, ResponseError> {
        let live = &self.live;
        let volume = live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let exports: Vec<Value> =
            self.exports.sizes().map(|(name, size)| json!({"name": name, "size_bytes": size})).collect();
        let layout = &live.array.spec.layout;
        let background = live.background().clone();
        Ok(json!({
            "array": live.array.name,
            "title": live.array.title,
            "settings": live.array.settings,
            "layout": {
                "drives": layout.drives(),
                "data_members": layout.data_members(),
                "members": layout.members(),
                "segment_bytes": layout.segment_bytes(),
                "drives_it_may_lose": live.tolerance(),
            },
            "volume": volume.status(),
            "spares": live.array.spares,
            "exports": exports,
            "connections": self.server.connections(),
            "background": background,
        }))
    }
}
