//! Changes of parity of one controller: so many at once, the others in order.

use std::collections::VecDeque;

/// Places for changes of parity, from the first read of old data to the last write.
#[derive(Debug, Clone)]
pub(crate) struct ParityChanges {
    limit: u32,
    under_way: u32,
    waiting: VecDeque<u32>,
}

impl ParityChanges {
    /// So many at once.
    pub fn new(limit: u32) -> ParityChanges {
        ParityChanges { limit, under_way: 0, waiting: VecDeque::new() }
    }

    /// Returns whether a command may change parity now; otherwise it waits.
    #[inline]
    pub fn admit(&mut self, command: u32) -> bool {
        if self.under_way < self.limit {
            self.under_way += 1;
            return true;
        }
        self.waiting.push_back(command);
        false
    }

    /// A change is in the drives. Returns the command whose change goes next in its place.
    #[inline]
    pub fn leave(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.under_way -= 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that no more than the limit are under way, and that those which wait go in the order in which they came.
    #[test]
    fn changes_wait_in_order() {
        let mut changes = ParityChanges::new(2);
        let admitted: Vec<u32> = (0..5).filter(|&command| changes.admit(command)).collect();
        assert_eq!(admitted, [0, 1]);
        assert_eq!([(); 4].map(|()| changes.leave()), [Some(2), Some(3), Some(4), None]);
        assert!(changes.admit(5) && !changes.admit(6));
    }
}
