//! Run clock: nanoseconds since the run was created, the same for every process of this machine.

use crate::StoreError;
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock on which events, counters and cases are placed.
///
/// It advances with `CLOCK_MONOTONIC`, so that setting the system's time while a case runs bends no series, and
/// because that clock is one for the whole machine, `arraylab mark` in another shell reads the same time. A
/// resumed run goes on at the time that has passed since its creation, by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunClock {
    pub(crate) clock_start_ns: u64,
    pub(crate) monotonic_start_ns: u64,
}

impl RunClock {
    /// A clock that shows `clock_start_ns` now.
    pub(crate) fn starting_at(clock_start_ns: u64) -> RunClock {
        RunClock { clock_start_ns, monotonic_start_ns: monotonic_ns() }
    }

    /// The machine's monotonic clock itself.
    pub fn monotonic() -> RunClock {
        RunClock { clock_start_ns: 0, monotonic_start_ns: 0 }
    }

    /// Returns the time on the run's clock.
    pub fn now_ns(&self) -> u64 {
        self.clock_start_ns + monotonic_ns().saturating_sub(self.monotonic_start_ns)
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The wall clock, for people and for gaps between sessions. A clock before 1970 counts as 1970.
pub(crate) fn utc_now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the identifier of this boot of the machine; monotonic times of different boots do not compare.
pub(crate) fn boot_id() -> Result<String, StoreError> {
    let path = std::path::Path::new("/proc/sys/kernel/random/boot_id");
    let text = std::fs::read_to_string(path).map_err(|source| StoreError::io("read", path, source))?;
    Ok(text.trim().to_owned())
}
