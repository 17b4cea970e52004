//! Bounded slots for connections in service; a connection that has its response is evicted first.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limit on clients that are answered at once; one more replaces another.
pub const CONNECTIONS_LIMIT: usize = 64;
/// Threads of connections that were hung up on need a moment to end; with so many of them nobody is let in.
const THREADS_LIMIT: usize = 2 * CONNECTIONS_LIMIT;

/// Stage of a connection, in the order of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The answer has been sent.
    Leaving,
    /// The connection waits for its answer.
    Waiting,
}

struct OpenConnection {
    number: u64,
    stage: Stage,
    /// A second handle, to hang up by.
    stream: TcpStream,
}

#[derive(Default)]
pub(crate) struct ConnectionSlots(Mutex<SlotTable>);

#[derive(Default)]
struct SlotTable {
    next: u64,
    threads: usize,
    /// Oldest first.
    open: VecDeque<OpenConnection>,
}

/// A place among the connections, until it is dropped.
pub(crate) struct ConnectionSlot {
    number: u64,
    slots: Arc<ConnectionSlots>,
}

impl ConnectionSlots {
    /// A place for a connection; none while too many are still ending.
    pub(crate) fn take(self: &Arc<Self>, stream: &TcpStream) -> Option<ConnectionSlot> {
        let stream = stream.try_clone().ok()?;
        let mut table = self.lock();
        if table.threads >= THREADS_LIMIT {
            return None;
        }
        if table.open.len() >= CONNECTIONS_LIMIT {
            table.hang_up();
        }
        let number = table.next;
        table.next += 1;
        table.threads += 1;
        table.open.push_back(OpenConnection { number, stage: Stage::Waiting, stream });
        Some(ConnectionSlot { number, slots: Arc::clone(self) })
    }

    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotTable {
    /// On the oldest of those that give way first.
    fn hang_up(&mut self) {
        let first = self.open.iter().enumerate().min_by_key(|(index, open)| (open.stage, *index));
        let Some((index, _)) = first else { return };
        if let Some(open) = self.open.remove(index) {
            // Its thread wakes up and ends; a client that has gone by itself is no matter.
            let _ = open.stream.shutdown(Shutdown::Both);
        }
    }
}

impl ConnectionSlot {
    /// The client has its answer.
    pub(crate) fn leave(&self) {
        let mut table = self.slots.lock();
        if let Some(open) = table.open.iter_mut().find(|open| open.number == self.number) {
            open.stage = Stage::Leaving;
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut table = self.slots.lock();
        table.threads -= 1;
        table.open.retain(|open| open.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::time::Duration;

    /// Returns true if the server has closed this connection.
    fn is_hung_up(stream: &mut TcpStream) -> bool {
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        matches!(stream.read(&mut [0]), Ok(0))
    }

    /// Proves that of a full house one that has its answer gives way first, and then whoever has waited for longest.
    #[test]
    fn whoever_has_its_answer_gives_way() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Arc::new(ConnectionSlots::default());
        let enter = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (served, _) = listener.accept().unwrap();
            let slot = slots.take(&served).unwrap();
            // The second handle is the one that hangs up.
            drop(served);
            (client, slot)
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
        let slots = Arc::new(ConnectionSlots::default());
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut open: Vec<ConnectionSlot> =
            (0..THREADS_LIMIT).map(|_| slots.take(&client).unwrap()).collect();
        assert!(slots.take(&client).is_none());
        open.pop();
        assert!(slots.take(&client).is_some());
    }
}
