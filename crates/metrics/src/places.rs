//! Who is being answered: a bounded number of connections, of which one that has its answer gives way first.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many clients are answered at once; one more takes another's place.
pub const CONNECTIONS_LIMIT: usize = 64;
/// Threads of connections that were hung up on need a moment to end; with so many of them nobody is let in.
const THREADS_LIMIT: usize = 2 * CONNECTIONS_LIMIT;

/// How far a connection is, in the order in which they give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It has its answer.
    Leaving,
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
        taken.held.push_back(Held { number, stage: Stage::Waiting, stream });
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
    /// The client has its answer.
    pub(crate) fn leave(&self) {
        let mut taken = self.places.lock();
        if let Some(held) = taken.held.iter_mut().find(|held| held.number == self.number) {
            held.stage = Stage::Leaving;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::time::Duration;

    /// Whether this end of a connection was hung up on.
    fn is_hung_up(stream: &mut TcpStream) -> bool {
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        matches!(stream.read(&mut [0]), Ok(0))
    }

    /// Proves that of a full house one that has its answer gives way first, and then whoever has waited for longest.
    #[test]
    fn whoever_has_its_answer_gives_way() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = Arc::new(Places::default());
        let enter = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (served, _) = listener.accept().unwrap();
            let place = places.take(&served).unwrap();
            // The second handle is the one that hangs up.
            drop(served);
            (client, place)
        };
        let mut all: Vec<_> = (0..CONNECTIONS_LIMIT).map(|_| enter()).collect();
        all[7].1.leave();
        all[5].1.leave();
        assert!(all.iter_mut().take(9).all(|(client, _)| !is_hung_up(client)));
        for gives_way in [5, 7, 0, 1] {
            all.push(enter());
            assert!(is_hung_up(&mut all[gives_way].0), "{gives_way}");
            assert!(!is_hung_up(&mut all[2].0));
        }
    }

    /// Proves that nobody is let in while too many are ending, and somebody again afterwards.
    #[test]
    fn those_who_end_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = Arc::new(Places::default());
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut held: Vec<Place> = (0..THREADS_LIMIT).map(|_| places.take(&client).unwrap()).collect();
        assert!(places.take(&client).is_none());
        held.pop();
        assert!(places.take(&client).is_some());
    }
}
