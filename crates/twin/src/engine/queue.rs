//! Moments in order.
//!
//! Most events of a queueing network come out of their resource in the order in which they went in: a link's
//! answers, a module's reads, whatever waits a constant time. Each such source has a *lane*, a plain ring, and only
//! the lanes' heads compete, in a winner tree. What does not fit its lane's order goes to a heap, which competes
//! as one more lane; the order is the same as that of one heap of all events, at a third of the cost
//! (`docs/models/engine.md`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A moment (64 bits), a sequence (32) and what is to happen (32): one comparison orders two events.
type Entry = u128;

/// Where nothing is waiting; later than every event.
const NOTHING: Entry = Entry::MAX;

/// The lane of the heap.
const HEAP_LANE: usize = 0;

/// Coming events, earliest first; those of one moment come in the order in which they were put in, so that a run
/// does not depend on how they happen to be kept.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    /// Events in their order; the head of each stands in `heads` instead.
    lanes: Box<[VecDeque<Entry>]>,
    /// The last event of each lane.
    tails: Box<[Entry]>,
    heap: BinaryHeap<Reverse<Entry>>,
    /// Earliest event of each lane, `NOTHING` for an empty one.
    heads: Box<[Entry]>,
    /// Winner tree over `heads`: node 1 is the root, node `n` decides between `2n` and `2n + 1`, leaves follow.
    winners: Box<[u32]>,
    sequence: u32,
}

impl EventQueue {
    /// An empty queue with lanes 0 to `lane_count - 1`.
    pub fn new(lane_count: u32) -> Self {
        let lane_count = lane_count as usize + 1;
        let leaves = lane_count.next_power_of_two().max(2);
        let mut queue = EventQueue {
            lanes: vec![VecDeque::with_capacity(64); lane_count].into(),
            tails: vec![0; lane_count].into(),
            heap: BinaryHeap::with_capacity(256),
            heads: vec![NOTHING; leaves].into(),
            winners: vec![0; 2 * leaves].into(),
            sequence: 0,
        };
        for leaf in 0..leaves {
            queue.winners[leaves + leaf] = leaf as u32;
        }
        for node in (1..leaves).rev() {
            queue.winners[node] = queue.winners[2 * node];
        }
        queue
    }

    /// Puts in an event that probably comes after those of the same lane. Any lane is right; a good one is fast.
    #[inline]
    pub fn push(&mut self, lane: u32, at_ns: u64, payload: u32) {
        // The sequence wraps after 4 billion events. Events of one moment are never that far apart: both would
        // have to be waiting at once.
        let entry = Entry::from(at_ns) << 64 | Entry::from(self.sequence) << 32 | Entry::from(payload);
        self.sequence = self.sequence.wrapping_add(1);
        let lane = lane as usize + 1;
        if self.heads[lane] == NOTHING {
            self.tails[lane] = entry;
            self.set_head(lane, entry);
        } else if entry >= self.tails[lane] {
            self.tails[lane] = entry;
            self.lanes[lane].push_back(entry);
        } else {
            self.push_unordered(entry);
        }
    }

    fn push_unordered(&mut self, entry: Entry) {
        let head = self.heads[HEAP_LANE];
        if entry < head {
            if head != NOTHING {
                self.heap.push(Reverse(head));
            }
            self.set_head(HEAP_LANE, entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// When the earliest event is; `u64::MAX` where nothing is waiting.
    pub fn first_at_ns(&self) -> u64 {
        // `NOTHING` has the latest moment there is.
        (self.heads[self.winners[1] as usize] >> 64) as u64
    }

    /// Takes out the earliest event if it is at or before `until_ns`: its moment and what is to happen.
    #[inline]
    pub fn pop_until(&mut self, until_ns: u64) -> Option<(u64, u32)> {
        let lane = self.winners[1] as usize;
        let first = self.heads[lane];
        let at_ns = (first >> 64) as u64;
        if at_ns > until_ns || first == NOTHING {
            return None;
        }
        let next = if lane == HEAP_LANE {
            self.heap.pop().map_or(NOTHING, |Reverse(entry)| entry)
        } else {
            self.lanes[lane].pop_front().unwrap_or(NOTHING)
        };
        self.set_head(lane, next);
        Some((at_ns, first as u32))
    }

    /// Gives a lane a new head and lets it compete again.
    #[inline]
    fn set_head(&mut self, lane: usize, entry: Entry) {
        self.heads[lane] = entry;
        let mut winner = lane as u32;
        let mut earliest = entry;
        let mut node = self.heads.len() + lane;
        while node > 1 {
            let rival = self.winners[node ^ 1];
            let rivals = self.heads[rival as usize];
            // A select by mask, not a branch: which side wins is as good as random.
            let mask = u64::from(rivals < earliest).wrapping_neg();
            winner ^= (winner ^ rival) & mask as u32;
            earliest ^= (earliest ^ rivals) & (Entry::from(mask) << 64 | Entry::from(mask));
            node >>= 1;
            self.winners[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that events of one moment come out in the order in which they were put in, over all lanes.
    #[test]
    fn ties_keep_their_order() {
        let mut queue = EventQueue::new(5);
        for payload in 0..1000 {
            queue.push(payload % 5, u64::from(payload % 3), payload);
        }
        for moment in 0..3 {
            for payload in (0..1000).filter(|payload| payload % 3 == moment) {
                assert_eq!(queue.pop_until(u64::MAX), Some((u64::from(moment), payload)));
            }
        }
        assert_eq!(queue.pop_until(u64::MAX), None);
    }

    proptest! {
        /// Proves that the queue is a stable sort, whatever is put in and taken out between, on whatever lane.
        #[test]
        fn order_is_that_of_a_stable_sort(
            events in proptest::collection::vec((0u64..50, 0u32..9, any::<bool>()), 1..300),
        ) {
            let mut queue = EventQueue::new(9);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (payload, &(at_ns, lane, take)) in events.iter().enumerate() {
                queue.push(lane, at_ns, payload as u32);
                expected.push((at_ns, payload as u32));
                if take {
                    expected.sort();
                    prop_assert_eq!(queue.pop_until(u64::MAX), Some(expected.remove(0)));
                }
            }
            expected.sort();
            for event in expected {
                if let Some(before) = event.0.checked_sub(1) {
                    prop_assert_eq!(queue.pop_until(before), None);
                }
                prop_assert_eq!(queue.pop_until(event.0), Some(event));
            }
            prop_assert_eq!(queue.pop_until(u64::MAX), None);
        }
    }
}
