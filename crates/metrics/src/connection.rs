//! The answer to one client that has asked, within its time.

use crate::answer::{Answer, Site};
use crate::asking::Asking;
use crate::places::Place;
use crate::request::{BODY_LIMIT_BYTES, RequestKind, TOO_SLOW, decode_head, head_end};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// What a client still sends when it has its answer is read so long: a reset would take the answer from it.
const LINGER: Duration = Duration::from_millis(500);
const BUFFER_BYTES: usize = 2048;

pub(crate) struct Connection {
    stream: TcpStream,
    deadline: Instant,
    /// What has come and is not read yet.
    bytes: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(asking: Asking) -> io::Result<Connection> {
        let Asking { stream, bytes, deadline } = asking;
        stream.set_nonblocking(false)?;
        Ok(Connection { stream, deadline, bytes })
    }

    /// Answers what was asked.
    pub(crate) fn serve(mut self, site: &Site, place: &Place) -> io::Result<()> {
        let rest = self.bytes.split_off(head_end(&self.bytes).unwrap_or(0));
        let head = std::mem::replace(&mut self.bytes, rest);
        let (answer, has_body) = match decode_head(&head, site.is_local_only) {
            Ok(RequestKind::Get { path, has_body }) => (site.get(&path), has_body),
            Ok(RequestKind::Post { path, token, body_bytes }) => {
                // Before its body is looked at.
                let answer = match site.admit(&path, &token) {
                    Err(refusal) => refusal,
                    Ok(()) => {
                        self.read_body(body_bytes)?.map_or_else(Answer::refusal, |body| site.command(&body))
                    }
                };
                (answer, true)
            }
            Err(status) => (Answer::refusal(status), true),
        };
        self.send(&answer, has_body, place)
    }

    /// Says no.
    pub(crate) fn refuse(self, status: &'static str, place: &Place) -> io::Result<()> {
        self.send(&Answer::refusal(status), true, place)
    }

    fn send(mut self, answer: &Answer, has_body: bool, place: &Place) -> io::Result<()> {
        // A client that was too slow gets a moment more to hear so, and a command may have taken its time.
        self.deadline = self.deadline.max(Instant::now() + LINGER);
        self.write(answer.head().as_bytes())?;
        if has_body {
            self.write(answer.body.as_bytes())?;
        }
        place.leave();
        self.linger()
    }

    fn read_body(&mut self, body_bytes: usize) -> io::Result<Result<Vec<u8>, &'static str>> {
        debug_assert!(body_bytes <= BODY_LIMIT_BYTES);
        while self.bytes.len() < body_bytes {
            if !self.read_more()? {
                return Ok(Err(TOO_SLOW));
            }
        }
        self.bytes.truncate(body_bytes);
        Ok(Ok(std::mem::take(&mut self.bytes)))
    }

    /// `false` where the time is over.
    fn read_more(&mut self) -> io::Result<bool> {
        let mut buffer = [0; BUFFER_BYTES];
        loop {
            let Some(left) = self.left() else { return Ok(false) };
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    return Ok(true);
                }
                Err(error) if is_late(&error) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.left().ok_or(io::ErrorKind::TimedOut)?))?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn linger(self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let until = Instant::now() + LINGER;
        let mut buffer = [0; BUFFER_BYTES];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.stream.set_read_timeout(Some(left))?;
            if (&self.stream).read(&mut buffer)? == 0 {
                return Ok(());
            }
        }
    }

    fn left(&self) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
