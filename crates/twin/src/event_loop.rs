//! Event loop of an array model: pops events in time order until an I/O completes.

use load::Completion;

use crate::engine::EventQueue;

/// Simulation clock and event queue of an array, borrowed from it.
pub(crate) struct Clock<'a> {
    pub now_ns: &'a mut u64,
    pub queue: &'a mut EventQueue,
    /// Time of the next background step that is not in the queue; `u64::MAX` for never.
    pub step_at_ns: u64,
}

/// Array model driven by events in time order.
pub(crate) trait EventLoop {
    /// The model's clock and event queue.
    fn clock(&mut self) -> Clock<'_>;

    /// Handles the event of a queue payload; returns the I/O that completes with it.
    fn handle(&mut self, payload: u32) -> Option<Completion>;

    /// Prefetches the data of the next event into the processor's cache.
    #[inline]
    fn fetch_next(&self) {}

    /// Runs the background step that is due now.
    fn run_background(&mut self) {}

    /// Queues events that are known only after every event of the same time.
    fn flush_deferred(&mut self) {}

    /// As [`load::Device::next_completion`].
    #[inline]
    fn complete_next(&mut self, until_ns: u64) -> Option<Completion> {
        loop {
            self.flush_deferred();
            let Clock { now_ns, queue, step_at_ns } = self.clock();
            if let Some((at_ns, payload)) = queue.pop_until(until_ns.min(step_at_ns)) {
                *now_ns = at_ns;
                self.fetch_next();
                if let Some(completion) = self.handle(payload) {
                    return Some(completion);
                }
            } else if step_at_ns <= until_ns && step_at_ns != u64::MAX {
                *now_ns = step_at_ns;
                self.run_background();
            } else {
                if until_ns != u64::MAX {
                    *now_ns = until_ns.max(*now_ns);
                }
                return None;
            }
        }
    }
}
