//! Who is being answered: a bounded number of connections, of which the oldest gives way.
//!
//! Whoever has been there longest is most likely one that says nothing or takes nothing; a scraper is done within
//! milliseconds. So a newcomer is let in at its cost, and clients that only hold on keep nobody out.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many clients are answered at once; one more takes the place of the oldest.
pub const CONNECTIONS_LIMIT: usize = 32;
/// Threads of connections that were hung up on need a moment to end; with so many of them nobody is let in.
const THREADS_LIMIT: usize = 4 * CONNECTIONS_LIMIT;

#[derive(Default)]
pub(crate) struct Places(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    next: u64,
    threads: usize,
    /// Oldest first; a second handle of each connection, to hang up by.
    held: VecDeque<(u64, TcpStream)>,
}

/// A place among the connections, until it is dropped.
pub(crate) struct Place {
    number: u64,
    places: Arc<Places>,
}

impl Places {
    /// A place for a connection; none while too many are still ending.
    pub(crate) fn take(self: &Arc<Self>, stream: &TcpStream) -> Option<Place> {
        let handle = stream.try_clone().ok()?;
        let mut taken = self.lock();
        if taken.threads >= THREADS_LIMIT {
            return None;
        }
        if taken.held.len() >= CONNECTIONS_LIMIT
            && let Some((_, oldest)) = taken.held.pop_front()
        {
            // Its thread wakes up and ends; a client that has gone by itself is no matter.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = taken.next;
        taken.next += 1;
        taken.threads += 1;
        taken.held.push_back((number, handle));
        Some(Place { number, places: Arc::clone(self) })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.threads -= 1;
        taken.held.retain(|(number, _)| *number != self.number);
    }
}
