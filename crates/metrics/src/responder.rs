//! Response to one request, within its time limit.

use crate::answer::{Answer, Routes, stream_head};
use crate::connection::Connection;
use crate::connection_slots::ConnectionSlot;
use crate::request::{BODY_LIMIT_BYTES, RequestKind, TOO_SLOW, decode_head, head_end};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Time for which bytes of a client are still read after its answer: a reset would take the answer from it.
const LINGER: Duration = Duration::from_millis(500);
const BUFFER_BYTES: usize = 2048;

pub(crate) struct Responder {
    stream: TcpStream,
    deadline: Instant,
    /// Bytes received and not yet decoded.
    bytes: Vec<u8>,
}

impl Responder {
    pub(crate) fn new(connection: Connection) -> io::Result<Responder> {
        let Connection { stream, bytes, deadline } = connection;
        stream.set_nonblocking(false)?;
        Ok(Responder { stream, deadline, bytes })
    }

    /// Answers what was asked.
    pub(crate) fn serve(mut self, routes: &Routes, slot: &ConnectionSlot) -> io::Result<()> {
        let rest = self.bytes.split_off(head_end(&self.bytes).unwrap_or(0));
        let head = std::mem::replace(&mut self.bytes, rest);
        let (answer, has_body) = match decode_head(&head, routes.is_local_only) {
            Ok(RequestKind::Get { path, has_body }) => (routes.get(&path), has_body),
            Ok(RequestKind::Post { path, token, body_bytes }) => {
                // Before its body is looked at.
                let answer = match routes.admit(&path, &token) {
                    Err(refusal) => refusal,
                    Ok(()) => match self.read_body(body_bytes)? {
                        Err(status) => Answer::refusal(status),
                        Ok(body) if routes.is_streamed(&path) => return self.stream(routes, &body, slot),
                        Ok(body) => routes.command(&body),
                    },
                };
                (answer, true)
            }
            Err(status) => (Answer::refusal(status), true),
        };
        self.send(&answer, has_body, slot)
    }

    /// Says no.
    pub(crate) fn refuse(self, status: &'static str, slot: &ConnectionSlot) -> io::Result<()> {
        self.send(&Answer::refusal(status), true, slot)
    }

    fn send(mut self, answer: &Answer, has_body: bool, slot: &ConnectionSlot) -> io::Result<()> {
        // A client that was too slow gets a moment more to hear so, and a command may have taken its time.
        self.deadline = self.deadline.max(Instant::now() + LINGER);
        self.write(answer.head().as_bytes())?;
        if has_body {
            self.write(answer.body.as_bytes())?;
        }
        slot.leave();
        self.linger()
    }

    /// Sends an answer line by line as it comes to be; the end of the connection ends it.
    fn stream(mut self, routes: &Routes, body: &[u8], slot: &ConnectionSlot) -> io::Result<()> {
        let mut head = Some(stream_head());
        let ended = routes.stream(body, &mut |line| {
            // The whole takes its time; each line has to be taken in the time of any answer.
            self.deadline = Instant::now() + LINGER;
            self.write(format!("{}{line}\n", head.take().unwrap_or_default()).as_bytes()).is_ok()
        });
        match (ended, head) {
            (Err(problem), Some(_)) => return self.send(&problem, true, slot),
            (Err(problem), None) => self.write(format!("{}\n", problem.body).as_bytes())?,
            (Ok(()), head) => self.write(head.unwrap_or_default().as_bytes())?,
        }
        slot.leave();
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
