//! Start barrier: loads that are set up wait for one moment, which somebody else names.
//!
//! Loads of several hosts begin together this way: each host says that it is ready, and is told a moment of its own
//! clock a little later.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Period at which a waiting load looks at its stop signal.
const LOOK: Duration = Duration::from_millis(20);
/// The system wakes a sleeper later than asked: the rest of the time is spent polling.
const SPIN: Duration = Duration::from_micros(200);

#[derive(Debug, Default)]
struct State {
    arrived: u32,
    start: Option<Instant>,
    is_cancelled: bool,
    began: Option<Instant>,
}

/// Barrier of the loads of one host before their common start.
#[derive(Debug)]
pub struct StartBarrier {
    parties: u32,
    state: Mutex<State>,
    changed: Condvar,
}

impl StartBarrier {
    /// A barrier for so many loads.
    pub fn new(parties: u32) -> StartBarrier {
        StartBarrier { parties, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Says that one load is set up, and waits for the moment of the start. `None` where there will be none.
    pub fn arrive(&self, stop: &AtomicBool) -> Option<Instant> {
        let mut state = self.lock();
        state.arrived += 1;
        self.changed.notify_all();
        loop {
            if state.is_cancelled || stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(start) = state.start {
                return Some(start);
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns whether all loads are set up; waits for that, at most so long.
    pub fn wait_until_ready(&self, limit: Duration) -> bool {
        let state = self.lock();
        let is_waited_for = |state: &mut State| state.arrived < self.parties && !state.is_cancelled;
        let waited = self.changed.wait_timeout_while(state, limit, is_waited_for);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.arrived >= self.parties && !state.is_cancelled
    }

    /// Names the moment of the start.
    pub fn open(&self, start: Instant) {
        self.lock().start = Some(start);
        self.changed.notify_all();
    }

    /// Calls the start off: a load could not be set up, and none of the others is to begin.
    pub fn cancel(&self) {
        self.lock().is_cancelled = true;
        self.changed.notify_all();
    }

    /// Returns when the last worker of all loads really began; `None` before one has.
    pub fn began(&self) -> Option<Instant> {
        self.lock().began
    }

    pub(crate) fn note_begin(&self, now: Instant) {
        let mut state = self.lock();
        state.began = Some(state.began.map_or(now, |began| began.max(now)));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a moment to within microseconds: asleep, and at last polling. Where the system lets it, the thread is of a
/// real-time class from then until [`lower`], so that it begins in time also on a processor that others keep busy.
pub(crate) fn wait_until(start: Instant) {
    raise();
    while let Some(left) = start.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if left > SPIN {
            std::thread::sleep(left - SPIN);
        } else {
            std::hint::spin_loop();
        }
    }
}

thread_local! {
    /// True once this thread was raised to a real-time class.
    static IS_RAISED: Cell<bool> = const { Cell::new(false) };
}

fn raise() {
    // SAFETY: the call only reads.
    let is_ordinary = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
    // Threads of the kernel that I/Os begin are not to inherit it.
    let is_raised = is_ordinary && set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1);
    IS_RAISED.set(is_raised);
}

/// Puts a thread back that was raised for its start.
pub(crate) fn lower() {
    if IS_RAISED.replace(false) {
        set_policy(libc::SCHED_OTHER, 0);
    }
}

/// Sets the scheduling policy of this thread; false where that is not allowed.
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: an all-zero parameter is a valid one.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters outlive the call, which changes only this thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Proves that nobody passes before the moment is named, that all pass with the same one, and that a barrier is ready
    /// only when all have arrived.
    #[test]
    fn all_begin_at_the_same_moment() {
        let barrier = Arc::new(StartBarrier::new(2));
        let arrive = |barrier: &Arc<StartBarrier>| {
            let barrier = Arc::clone(barrier);
            std::thread::spawn(move || barrier.arrive(&AtomicBool::new(false)))
        };
        let first = arrive(&barrier);
        assert!(!barrier.wait_until_ready(Duration::from_millis(30)));
        let second = arrive(&barrier);
        assert!(barrier.wait_until_ready(Duration::from_secs(10)));
        assert!(!first.is_finished() && !second.is_finished());
        let start = Instant::now() + Duration::from_millis(5);
        barrier.open(start);
        assert_eq!(first.join().unwrap(), Some(start));
        assert_eq!(second.join().unwrap(), Some(start));
        wait_until(start);
        lower();
        assert!(Instant::now() >= start);
    }

    /// Proves that a thread is of the class that it was of once its moment has come.
    #[test]
    fn the_class_is_put_back() {
        // SAFETY: the call only reads.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        wait_until(Instant::now() + Duration::from_millis(2));
        lower();
        assert_eq!(policy(), before);
    }

    /// Proves that a barrier which is called off, and one whose run is to stop, lets nobody begin and is never ready.
    #[test]
    fn a_start_can_be_called_off() {
        let barrier = Arc::new(StartBarrier::new(2));
        let waiting = {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || barrier.arrive(&AtomicBool::new(false)))
        };
        barrier.cancel();
        assert_eq!(waiting.join().unwrap(), None);
        assert_eq!(barrier.arrive(&AtomicBool::new(false)), None);
        assert!(!barrier.wait_until_ready(Duration::ZERO));
        assert_eq!(StartBarrier::new(1).arrive(&AtomicBool::new(true)), None);
    }
}
