//! Connections whose request is incomplete, read by one thread.
//!
//! One thread reads from all of them: whoever sends nothing, or a byte now and then, costs a file descriptor and no
//! thread, and keeps nobody from being heard.

use crate::request::{HEAD_LIMIT_BYTES, TOO_LONG, TOO_SLOW, head_end};
use rustix::event::PollFlags;
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// Limit on connections with an incomplete request; one more replaces the oldest of them.
pub const PENDING_CONNECTIONS_LIMIT: usize = 256;
const BUFFER_BYTES: usize = 2048;

/// Client connection with the bytes received.
pub(crate) struct Connection {
    pub stream: TcpStream,
    pub bytes: Vec<u8>,
    /// Time until which it may send its request and receive its answer.
    pub deadline: Instant,
}

/// Result of reading a request head.
pub(crate) enum ReadOutcome {
    /// Its head is whole.
    Whole(Connection),
    /// The request is refused with a status.
    Refused(Connection, &'static str),
}

/// Connections with an incomplete request, the oldest first.
#[derive(Default)]
pub(crate) struct ConnectionPool(VecDeque<Connection>);

impl ConnectionPool {
    /// Accepts a connection and reads the bytes that came with it.
    pub(crate) fn accept(&mut self, stream: TcpStream, patience: Duration) -> Option<ReadOutcome> {
        stream.set_nonblocking(true).ok()?;
        let connection = Connection { stream, bytes: Vec::new(), deadline: Instant::now() + patience };
        match read_available(connection)? {
            Ok(connection) => {
                if self.0.len() >= PENDING_CONNECTIONS_LIMIT {
                    self.0.pop_front();
                }
                self.0.push_back(connection);
                None
            }
            Err(outcome) => Some(outcome),
        }
    }

    /// Returns the descriptors to poll, in the order in which [`ConnectionPool::read_ready`] takes their readiness.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|connection| connection.stream.as_fd())
    }

    /// Reads from those that have sent something, and gives up on those whose time is over.
    pub(crate) fn read_ready(&mut self, found: &[PollFlags]) -> Vec<ReadOutcome> {
        let now = Instant::now();
        let mut outcome = Vec::new();
        for (connection, found) in std::mem::take(&mut self.0).into_iter().zip(found) {
            if now >= connection.deadline {
                outcome.push(ReadOutcome::Refused(connection, TOO_SLOW));
            } else if found.is_empty() {
                self.0.push_back(connection);
            } else {
                match read_available(connection) {
                    Some(Ok(connection)) => self.0.push_back(connection),
                    Some(Err(done)) => outcome.push(done),
                    None => {}
                }
            }
        }
        outcome
    }
}

/// Reads what is there: it goes on asking, has been heard, or has gone.
fn read_available(mut connection: Connection) -> Option<Result<Connection, ReadOutcome>> {
    let mut buffer = [0; BUFFER_BYTES];
    match connection.stream.read(&mut buffer) {
        Ok(0) => return None,
        Ok(count) => connection.bytes.extend_from_slice(&buffer[..count]),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
        Err(_) => return None,
    }
    Some(if head_end(&connection.bytes).is_some() {
        Err(ReadOutcome::Whole(connection))
    } else if connection.bytes.len() > HEAD_LIMIT_BYTES {
        Err(ReadOutcome::Refused(connection, TOO_LONG))
    } else {
        Ok(connection)
    })
}
