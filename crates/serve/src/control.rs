//! The control socket: JSON lines as in `driver::protocol`, for the owner only.

use crate::array::{SHAPING, is_of_model, text_of};
use crate::bounds::{bounds, parts_of_drives};
use crate::conditions::{redundancy, stopped_services};
use crate::events::Event;
use crate::exports::ArrayExports;
use crate::live::{LiveArray, Scrub};
use crate::losses::{ToldLosses, lost_drives};
use crate::options::Options;
use crate::paced::{Paced, Pacer, REAL_SPEED};
use crate::replicated::{drive_number, services};
use crate::volumes::{LIMIT, TEMPLATE, pieces_by_class};
use driver::Settings;
use driver::protocol::{
    ErrorKind, Ready, Request, Response, ResponseError, ResponseResult, Verb, read_line, to_line,
};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use std::io::{self, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use twin::replicated::Description;
use twin::{Limit, TwinCounter};
use volume::{DriveCondition, VolumeError};

/// The most control connections at a time; more are hung up on.
const CONNECTIONS_LIMIT: usize = 32;
/// A control connection may be silent for so long.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);
/// How long the acceptor leaves a system alone that has nothing left for another connection.
const RELIEF: Duration = Duration::from_millis(20);

/// The setting that chooses the volume under load, where volumes have names.
const VOLUME: &str = "volume";

/// What the control socket acts on.
pub(crate) struct Controlled {
    pub live: Arc<LiveArray>,
    pub exports: Arc<ArrayExports>,
    pub server: Arc<nbd::Server>,
    /// None where the array is served as fast as it goes.
    pub pacer: Option<Arc<Pacer>>,
    /// One change of the volumes at a time.
    pub changes: Mutex<()>,
    pub told_losses: ToldLosses,
    /// As it is served.
    pub options: Options,
}

/// Answers control connections until the other end of `stopped` is closed.
pub(crate) fn accept(listener: &UnixListener, controlled: &Arc<Controlled>, stopped: &UnixStream) {
    let connections = Arc::new(AtomicUsize::new(0));
    // Whoever connected may have left again before it is accepted.
    let _ = listener.set_nonblocking(true);
    while is_called(listener, stopped) {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Without descriptors it would be called again at once.
                if error.kind() != io::ErrorKind::WouldBlock {
                    std::thread::sleep(RELIEF);
                }
                continue;
            }
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

/// Waits until somebody connects; `false` where nobody is to be answered any more.
fn is_called(listener: &UnixListener, stopped: &UnixStream) -> bool {
    loop {
        let mut watched = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return watched[1].revents().is_empty(),
        }
    }
}

fn converse(stream: UnixStream, controlled: &Controlled) -> io::Result<()> {
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
        let line = to_line(&Response { id, result }).map_err(io::Error::other)?;
        reader.get_mut().write_all(&line)?;
    }
    Ok(())
}

pub(crate) fn refuse(kind: ErrorKind, message: impl Into<String>) -> ResponseError {
    ResponseError { kind, message: message.into() }
}

pub(crate) fn failed(error: &VolumeError) -> ResponseError {
    let kind = match error {
        VolumeError::Drive { .. } => ErrorKind::Refused,
        _ => ErrorKind::Failed,
    };
    refuse(kind, crate::live::export_error(error).message)
}

impl Controlled {
    /// Answers whoever may ask.
    pub(crate) fn answer(&self, verb: &Verb) -> Result<Value, ResponseError> {
        match verb {
            Verb::Status => self.status(),
            Verb::Ready => Ok(json!(self.ready())),
            Verb::Set { settings } => self.set(settings),
            Verb::Event { name, arguments } => {
                let find_drive = |name: &str| self.system().and_then(|system| drive_number(system, name));
                self.happen(&Event::parse(name, arguments, &find_drive)?)
            }
        }
    }

    /// Makes settings: of the model at once, with a new twin; of the bytes only what they are already.
    fn set(&self, settings: &Settings) -> Result<Value, ResponseError> {
        let refused = |message: String| Err(refuse(ErrorKind::Refused, message));
        let array = &self.live.array;
        let description = array.twin.as_ref().map(|twin| &twin.description);
        let (mut of_model, mut shaping) = (Settings::new(), Settings::new());
        let mut volume = None;
        for (key, value) in settings {
            if array.settings.get(key).is_some_and(|own| own == value || text_of(own) == text_of(value)) {
                continue;
            }
            if key == VOLUME && self.exports.has_named_volumes() {
                let name = text_of(value);
                if self.exports.volume(&name).is_none() {
                    return refused(format!("there is no volume {value}"));
                }
                volume = Some(name);
            } else if SHAPING.contains(&key.as_str()) {
                shaping.insert(key.clone(), value.clone());
            } else if description.is_some_and(|description| is_of_model(description, key)) {
                of_model.insert(key.clone(), value.clone());
            } else {
                return refused(format!("this array has no setting `{key}`"));
            }
        }
        self.check_shape(&shaping)?;
        if !of_model.is_empty() {
            let Some(pacer) = &self.pacer else {
                let names: Vec<&str> = of_model.keys().map(String::as_str).collect();
                return refused(format!(
                    "the array is served untimed, so {} has no effect",
                    names.join(", ")
                ));
            };
            let lost = lost_drives(&self.live);
            let made = pacer.ask(move |paced| paced.rebuild(of_model, &lost));
            made.map_err(|problem| refuse(ErrorKind::Failed, problem))?
                .map_err(|error| refuse(ErrorKind::Refused, error.to_string()))?;
        }
        if let Some(name) = volume {
            self.exports.choose(&name);
        }
        Ok(json!({}))
    }

    /// Refuses settings that would lay the bytes out anew, with the command that serves such an array.
    fn check_shape(&self, shaping: &Settings) -> Result<(), ResponseError> {
        if shaping.is_empty() {
            return Ok(());
        }
        let array = &self.live.array;
        let wanted =
            array.reshaped(shaping).map_err(|error| refuse(ErrorKind::Refused, error.to_string()))?;
        if wanted.is_laid_out_as(array) {
            return Ok(());
        }
        let words = |between: &str| {
            let pairs = shaping.iter().map(|(key, value)| format!("{key}{between}{}", text_of(value)));
            pairs.collect::<Vec<_>>()
        };
        Err(refuse(
            ErrorKind::Refused,
            format!(
                "{} would lay the array out anew, and what it holds is kept; stop this server and serve it anew in another directory: {}",
                words("=").join(", "),
                self.options.command_for(&wanted, &words("").join("-"))
            ),
        ))
    }

    /// Lets something happen to the model.
    pub(crate) fn act(&self, action: &str, arguments: &Settings) -> Result<Value, ResponseError> {
        if action == TEMPLATE && self.pacer.is_none() {
            return self.move_bytes(arguments);
        }
        let Some(pacer) = &self.pacer else {
            let message = format!("the array is served untimed, so `{action}` has no effect");
            return Err(refuse(ErrorKind::Refused, message));
        };
        let (action, mut arguments) = (action.to_owned(), arguments.clone());
        if self.exports.has_named_volumes() && ["limit", "template"].contains(&action.as_str()) {
            // As plans mean it: the volume under load.
            arguments.entry(VOLUME).or_insert_with(|| self.exports.chosen().into());
        }
        let (action, told) = (action.clone(), arguments);
        let lasts = (action.clone(), told.clone());
        let acted = pacer.ask(move |paced| {
            paced.model.act(paced.now_ns, &action, &told)?;
            let name = told.get(VOLUME).and_then(Value::as_str).unwrap_or_default();
            Ok(paced.model.limit_set(name))
        });
        let limit = acted
            .map_err(|problem| refuse(ErrorKind::Failed, problem))?
            .map_err(|problem: String| refuse(ErrorKind::Refused, problem))?;
        self.keep_with_volume(&lasts.0, &lasts.1, limit)?;
        Ok(json!({}))
    }

    /// A volume gets another template where there is no model to say whether it can.
    fn move_bytes(&self, arguments: &Settings) -> Result<Value, ResponseError> {
        let chosen = Value::from(self.exports.chosen());
        let volume = arguments.get(VOLUME).unwrap_or(&chosen).as_str().unwrap_or_default();
        let template = arguments.get(TEMPLATE).and_then(Value::as_str).unwrap_or_default();
        self.check_template(template)?;
        self.keep(volume, TEMPLATE, template.into())?;
        Ok(json!({}))
    }

    /// What a volume was told lasts beyond the next start.
    fn keep_with_volume(
        &self,
        action: &str,
        told: &Settings,
        limit: Option<Limit>,
    ) -> Result<(), ResponseError> {
        let Some(name) = told.get(VOLUME).and_then(Value::as_str) else { return Ok(()) };
        match (action, told.get(TEMPLATE)) {
            (LIMIT, _) => self.keep(name, LIMIT, limit.map_or(Value::Null, |limit| json!(limit))),
            (TEMPLATE, Some(template)) => self.keep(name, TEMPLATE, template.clone()),
            _ => Ok(()),
        }
    }

    fn system(&self) -> Option<&Description> {
        self.live.array.twin.as_ref()?.description.replicated.as_ref()
    }

    fn happen(&self, event: &Event) -> Result<Value, ResponseError> {
        let live = &self.live;
        match event {
            Event::Model { action, arguments } => return self.act(action, arguments),
            Event::Volume(order) => return self.order(order),
            Event::Slow { drive, factor } => return self.slow(*drive, *factor),
            Event::Service { service, runs } => return self.run_service(service, *runs),
            _ => {}
        }
        if let Event::PowerCut { seed } = event {
            live.cut_power(*seed, &|| self.server.drop_connections()).map_err(|error| failed(&error))?;
            self.read_volumes_again();
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
            Event::PowerCut { .. }
            | Event::Model { .. }
            | Event::Volume(_)
            | Event::Slow { .. }
            | Event::Service { .. } => Ok(()),
        }
        .map_err(|error| failed(&error))?;
        match *event {
            Event::Fail { .. } | Event::Pull { .. } => self.tell_of_losses(),
            Event::Replace { drive } => {
                // It may have been lost just now, by itself.
                self.tell_of_losses();
                // Whatever it was like, the new one is as described.
                if self.pacer.is_some() {
                    let _ = self.slow(drive, 1.0);
                }
                self.tell_model_of("drive-replacement", drive);
            }
            _ => {}
        }
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

    pub(crate) fn status(&self) -> Result<Value, ResponseError> {
        let live = &self.live;
        let volume = live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let exports: Vec<Value> = self
            .exports
            .sizes()
            .into_iter()
            .map(|(name, size)| json!({"name": name, "size_bytes": size}))
            .collect();
        let map = volume.volume_map();
        let bytes = volume.clone();
        let layout = &live.array.spec.layout;
        let background = live.background().clone();
        let model = match &self.pacer {
            None => Value::Null,
            Some(pacer) => {
                let speed = pacer.speed_millionths() as f64 / REAL_SPEED as f64;
                let asked = pacer.ask(move |paced| model_status(paced, speed));
                let mut model = asked.map_err(|problem| refuse(ErrorKind::Failed, problem))?;
                model["bounds"] =
                    live.array.twin.as_ref().map_or(Value::Null, |twin| bounds(&twin.description));
                model
            }
        };
        let stopped = stopped_services(&volume);
        let stopped: Vec<&str> = stopped.iter().map(String::as_str).collect();
        let parts_of_drives =
            live.array.twin.as_ref().map(|twin| parts_of_drives(&twin.description, layout.drives() as u16));
        let volumes: Vec<Value> = self
            .exports
            .volumes()
            .iter()
            .map(|volume| {
                let mapped = map.as_ref().and_then(|map| map.find(&volume.name).ok());
                json!({
                    "name": volume.name,
                    "size_bytes": volume.size_bytes(),
                    "served": volume.tally.read(),
                    "runs": mapped.map_or(0, |mapped| mapped.runs.len()),
                    "kept": mapped.map(|mapped| &mapped.attributes),
                    "replicas": mapped.map(|mapped| redundancy(&bytes, live, mapped)),
                    "pieces": mapped.map(|mapped| pieces_by_class(&bytes, &live.array, mapped)),
                })
            })
            .collect();
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
            "volumes": volumes,
            "free_bytes": map.as_ref().map(volume::VolumeMap::free_bytes),
            "model": model,
            "services": live.array.twin.as_ref().map_or(Value::Null, |twin| services(&twin.description, &stopped)),
            "parts_of_drives": parts_of_drives,
            "spares": live.array.spares,
            "exports": exports,
            "connections": self.server.connections(),
            "relocated_pieces": bytes.relocated_pieces(),
            "background": background,
        }))
    }
}

/// What the array's time comes from, at this moment.
fn model_status(paced: &mut Paced<'_>, speed: f64) -> Value {
    let limits: Vec<Value> = paced
        .model
        .limits()
        .into_iter()
        .map(|(name, limit, waiting)| json!({"volume": name, "limit": limit, "held_back": waiting}))
        .collect();
    let mut parts = serde_json::Map::new();
    for TwinCounter { entity, name, value } in paced.model.counters() {
        let part = parts.entry(entity).or_insert_with(|| json!({}));
        part[name] = value.into();
    }
    json!({
        "speed": speed,
        "clock_ns": paced.now_ns,
        "settings": paced.model.settings(),
        "under_way": paced.under_way,
        "lateness": paced.lateness,
        "limits": limits,
        "parts": parts,
        "notes": paced.model.recent_notes(),
    })
}
