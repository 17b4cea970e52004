//! Waiting until an array is ready.

use crate::{ArrayDriver, DriverError, Progress, Readiness};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often to ask, and when to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// The pause between two questions.
    pub poll: Duration,
    /// The longest wait.
    pub timeout: Duration,
}

impl Default for WaitLimits {
    /// Every five seconds, for two days: a full initialisation of large drives takes more than one.
    fn default() -> Self {
        WaitLimits { poll: Duration::from_secs(5), timeout: Duration::from_secs(2 * 24 * 3600) }
    }
}

/// Between two looks at `interrupt`.
const INTERRUPT_POLL: Duration = Duration::from_millis(50);

/// Asks `driver` until it is ready. Each answer that says otherwise goes to `on_progress`.
pub fn wait_until_ready(
    driver: &mut dyn ArrayDriver,
    limits: WaitLimits,
    on_progress: &mut dyn FnMut(&Progress),
    interrupt: &AtomicBool,
) -> Result<(), DriverError> {
    let started = Instant::now();
    loop {
        let progress = match driver.ready()? {
            Readiness::Ready => return Ok(()),
            Readiness::Busy(progress) => progress,
        };
        on_progress(&progress);
        let last = || match progress.percent {
            Some(percent) => format!("{} ({percent} %)", progress.message),
            None => progress.message.clone(),
        };
        let pause_ends = Instant::now() + limits.poll;
        loop {
            if interrupt.load(Ordering::Relaxed) {
                return Err(DriverError::Interrupted { last: last() });
            }
            if started.elapsed() >= limits.timeout {
                return Err(DriverError::NotReady { waited: limits.timeout, last: last() });
            }
            let left = pause_ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(INTERRUPT_POLL));
        }
    }
}
