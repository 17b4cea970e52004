//! Clients whose request has not come yet. One thread reads from all of them: whoever sends nothing, or a byte now and
//! then, costs a file descriptor and no thread, and keeps nobody from being heard.

use crate::request::{HEAD_LIMIT_BYTES, TOO_LONG, TOO_SLOW, head_end};
use rustix::event::PollFlags;
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// So many may be asking at once; one more takes the place of the one that has been asking for longest.
pub const ASKING_LIMIT: usize = 256;
const BUFFER_BYTES: usize = 2048;

/// A client, and what it has sent.
pub(crate) struct Asking {
    pub stream: TcpStream,
    pub bytes: Vec<u8>,
    /// Until when it may ask, and take its answer.
    pub deadline: Instant,
}

/// What has become of one that was asking.
pub(crate) enum Heard {
    /// Its head is whole.
    Whole(Asking),
    /// It is refused, by a status.
    Refused(Asking, &'static str),
}

/// All that are asking, whoever came first before.
#[derive(Default)]
pub(crate) struct AllAsking(VecDeque<Asking>);

impl AllAsking {
    /// Somebody has come. What it sent along is read at once.
    pub(crate) fn come(&mut self, stream: TcpStream, patience: Duration) -> Option<Heard> {
        stream.set_nonblocking(true).ok()?;
        let asking = Asking { stream, bytes: Vec::new(), deadline: Instant::now() + patience };
        match listen(asking)? {
            Ok(asking) => {
                if self.0.len() >= ASKING_LIMIT {
                    self.0.pop_front();
                }
                self.0.push_back(asking);
                None
            }
            Err(heard) => Some(heard),
        }
    }

    /// To be polled, in the order in which [`AllAsking::hear`] takes what was found.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|asking| asking.stream.as_fd())
    }

    /// Reads from those that have sent something, and gives up on those whose time is over.
    pub(crate) fn hear(&mut self, found: &[PollFlags]) -> Vec<Heard> {
        let now = Instant::now();
        let mut heard = Vec::new();
        for (asking, found) in std::mem::take(&mut self.0).into_iter().zip(found) {
            if now >= asking.deadline {
                heard.push(Heard::Refused(asking, TOO_SLOW));
            } else if found.is_empty() {
                self.0.push_back(asking);
            } else {
                match listen(asking) {
                    Some(Ok(asking)) => self.0.push_back(asking),
                    Some(Err(done)) => heard.push(done),
                    None => {}
                }
            }
        }
        heard
    }
}

/// Reads what is there: it goes on asking, has been heard, or has gone.
fn listen(mut asking: Asking) -> Option<Result<Asking, Heard>> {
    let mut buffer = [0; BUFFER_BYTES];
    match asking.stream.read(&mut buffer) {
        Ok(0) => return None,
        Ok(count) => asking.bytes.extend_from_slice(&buffer[..count]),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
        Err(_) => return None,
    }
    Some(if head_end(&asking.bytes).is_some() {
        Err(Heard::Whole(asking))
    } else if asking.bytes.len() > HEAD_LIMIT_BYTES {
        Err(Heard::Refused(asking, TOO_LONG))
    } else {
        Ok(asking)
    })
}
