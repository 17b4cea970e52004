//! How the simulated time of an array goes on: from one thing that happens to the next, until an I/O is done.

use load::Completion;

use crate::engine::EventQueue;

/// Where an array's time stands and what comes next, borrowed from it.
pub(crate) struct Clock<'a> {
    pub now_ns: &'a mut u64,
    pub queue: &'a mut EventQueue,
    /// When a course beside the queue takes its next step; `u64::MAX` for never.
    pub step_at_ns: u64,
}

/// An array to which things happen in the order of their moments.
pub(crate) trait Timeline {
    /// Its own.
    fn clock(&mut self) -> Clock<'_>;

    /// Lets happen what a payload of the queue says; an I/O that is done with it.
    fn happens(&mut self, payload: u32) -> Option<Completion>;

    /// Brings closer what the next event will be about, if nothing comes before it.
    #[inline]
    fn fetch_next(&self) {}

    /// Takes the step of the course that is due now.
    fn take_step(&mut self) {}

    /// Puts into the queue what is only known once all that happened at a moment has.
    fn settle(&mut self) {}

    /// As [`load::Device::next_completion`].
    #[inline]
    fn complete_next(&mut self, until_ns: u64) -> Option<Completion> {
        loop {
            self.settle();
            let Clock { now_ns, queue, step_at_ns } = self.clock();
            if let Some((at_ns, payload)) = queue.pop_until(until_ns.min(step_at_ns)) {
                *now_ns = at_ns;
                self.fetch_next();
                if let Some(completion) = self.happens(payload) {
                    return Some(completion);
                }
            } else if step_at_ns <= until_ns && step_at_ns != u64::MAX {
                *now_ns = step_at_ns;
                self.take_step();
            } else {
                if until_ns != u64::MAX {
                    *now_ns = until_ns.max(*now_ns);
                }
                return None;
            }
        }
    }
}
