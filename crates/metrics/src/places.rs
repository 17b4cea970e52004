//! Who is being answered: a bounded number of connections, of which one that only holds on gives way.
//!
//! A scraper sends its request at once, and is done within milliseconds. So a newcomer is let in at the cost of whoever
//! has its answer and does not leave, or else of whoever has said nothing whole for longest; those who wait for their
//! answer come last. Clients that only hold on keep nobody out, however fast they come back.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many clients are connected at once; one more takes another's place.
pub const CONNECTIONS_LIMIT: usize = 128;
/// Threads of connections that were hung up on need a moment to end; with so many of them nobody is let in.
const THREADS_LIMIT: usize = 2 * CONNECTIONS_LIMIT;

/// How far a connection is, in the order in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has its answer.
    Leaving,
    /// Its request has not come.
    Asking,
    /// It waits for its answer.
    Waiting,
}

struct Held {
    number: u64,
    stage: Stage,
    /// A second handle, to hang up by.
    stream: TcpStream,
}

#[derive(Default)]
pub(crate) struct Places(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    next: u64,
    threads: usize,
    /// Oldest first.
    held: VecDeque<Held>,
}

/// A place among the connections, until it is dropped.
pub(crate) struct Place {
    number: u64,
    places: Arc<Places>,
}

impl Places {
    /// A place for a connection; none while too many are still ending.
    pub(crate) fn take(self: &Arc<Self>, stream: &TcpStream) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        let mut taken = self.lock();
        if taken.threads >= THREADS_LIMIT {
            return None;
        }
        if taken.held.len() >= CONNECTIONS_LIMIT {
            taken.hang_up();
        }
        let number = taken.next;
        taken.next += 1;
        taken.threads += 1;
        taken.held.push_back(Held { number, stage: Stage::Asking, stream });
        Some(Place { number, places: Arc::clone(self) })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// On the oldest of those that give way first.
    fn hang_up(&mut self) {
        let first = self.held.iter().enumerate().min_by_key(|(index, held)| (held.stage, *index));
        let Some((index, _)) = first else { return };
        if let Some(held) = self.held.remove(index) {
            // Its thread wakes up and ends; a client that has gone by itself is no matter.
            let _ = held.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Place {
    /// The connection has come so far.
    pub(crate) fn reach(&self, stage: Stage) {
        let mut taken = self.places.lock();
        if let Some(held) = taken.held.iter_mut().find(|held| held.number == self.number) {
            held.stage = stage;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.threads -= 1;
        taken.held.retain(|held| held.number != self.number);
    }
}
