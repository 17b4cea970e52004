//! Slots: so many commands at once, the others in the order in which they came.

use std::collections::VecDeque;

/// Slots of commands that may do something at once, and the commands that wait for one.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    limit: u32,
    taken: u32,
    waiting: VecDeque<u32>,
}

impl Slots {
    /// So many at once.
    pub fn new(limit: u32) -> Slots {
        Slots { limit, taken: 0, waiting: VecDeque::new() }
    }

    /// Returns whether a command has a slot now; otherwise it waits.
    #[inline]
    pub fn admit(&mut self, command: u32) -> bool {
        if self.taken < self.limit {
            self.taken += 1;
            return true;
        }
        self.waiting.push_back(command);
        false
    }

    /// A command gives its slot up. Returns the one that has it from now on.
    #[inline]
    pub fn leave(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.taken -= 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that no more than the limit have a slot, and that those which wait go in the order in which they came.
    #[test]
    fn commands_wait_in_order() {
        let mut slots = Slots::new(2);
        let admitted: Vec<u32> = (0..5).filter(|&command| slots.admit(command)).collect();
        assert_eq!((admitted, slots.taken), (vec![0, 1], 2));
        assert_eq!([(); 4].map(|()| slots.leave()), [Some(2), Some(3), Some(4), None]);
        assert!(slots.taken == 1 && slots.admit(5) && !slots.admit(6));
    }
}
