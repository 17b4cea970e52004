//! The end of a load: what is in flight is waited for, and what hangs is told.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use load::Direction;

use super::{WAIT_LIMIT_NS, Worker};
use crate::outcome::Hang;
use crate::queue::Queue;
use crate::{RingError, RingOptions};

/// Wait of a stopped run for answers, and then once everything has been cancelled.
const PATIENCE_STOPPED: Duration = Duration::from_millis(200);
const PATIENCE_CANCELLED: Duration = Duration::from_millis(400);

impl<Q: Queue> Worker<'_, Q> {
    /// Waits for what is in flight, so that no buffer is given up while the kernel may use it and nothing else begins
    /// while the device still works on this load. As long as answers come they are waited for, however deep the queue.
    /// No answer for a while is a hang, which is waited out up to a limit; nothing is cancelled before that, because what
    /// is cancelled may still be on its way.
    pub(super) fn drain(&mut self) -> Result<(), RingError> {
        self.outcome.unanswered_ios = u64::from(self.in_flight);
        let RingOptions { hang_after, hang_limit, .. } = *self.assignment.options;
        let mut answered_at = Instant::now();
        let mut stopped_at: Option<Instant> = None;
        let mut cancelled_at: Option<Instant> = None;
        // Once, even with nothing in flight: a batch may not have been handed over yet.
        while self.in_flight > 0 {
            self.queue.submit_and_wait(1, WAIT_LIMIT_NS / 5)?;
            while let Some((tag, outcome)) = self.queue.pop() {
                self.in_flight -= 1;
                answered_at = Instant::now();
                self.slots[tag as usize].is_out = false;
                let slot = self.slots[tag as usize];
                if slot.planned.operation.direction == Direction::Write && !slot.is_syncing {
                    self.end_write(&slot, outcome.is_ok())?;
                }
            }
            if self.in_flight == 0 {
                break;
            }
            if stopped_at.is_none() && self.assignment.hurry.load(Ordering::Relaxed) {
                stopped_at = Some(Instant::now());
            }
            if let Some(cancelled_at) = cancelled_at {
                if cancelled_at.elapsed() >= PATIENCE_CANCELLED {
                    self.outcome.stuck_ios = u64::from(self.in_flight);
                    break;
                }
                continue;
            }
            if answered_at.elapsed() >= hang_after {
                let hang = self.hang();
                let known = self.outcome.hang.get_or_insert(hang);
                known.longest_ns = known.longest_ns.max(hang.longest_ns);
            }
            let given_up = answered_at.elapsed() >= hang_limit;
            if given_up || stopped_at.is_some_and(|at| at.elapsed() >= PATIENCE_STOPPED) {
                if given_up {
                    let hang = self.hang();
                    self.outcome.hang.get_or_insert(hang).is_over = false;
                }
                self.queue.cancel_all();
                cancelled_at = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// Returns how much is out now, and for how long.
    fn hang(&self) -> Hang {
        let oldest_ns = self.slots.iter().filter(|slot| slot.is_out).map(|slot| slot.issued_ns).min();
        let longest_ns = oldest_ns.map_or(0, |issued_ns| self.now_ns().saturating_sub(issued_ns));
        Hang { ios: u64::from(self.in_flight), longest_ns, is_over: true }
    }
}
