//! The probe in the background of a run.

use crate::counter::HostInterval;
use crate::device_selection::DeviceSelection;
use crate::host::{HostProbe, ProbeError, ProbeRoots};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shorter intervals would measure the kernel's own rounding: `/proc/stat` counts in ticks of 10 ms.
pub const INTERVAL_MINIMUM: Duration = Duration::from_millis(10);

/// A last, shorter interval is given when the probe is stopped, if it is at least this share of a full one.
const LAST_INTERVAL_SHARE: u32 = 10;

/// Devices and interval of a probe.
#[derive(Debug, Clone)]
pub struct ProbeSettings {
    /// Directories of the kernel's view of the host.
    pub roots: ProbeRoots,
    /// Selection of block devices.
    pub devices: DeviceSelection,
    /// Time between readings.
    pub interval: Duration,
    /// Time at which the run's clock was zero; readings fall on whole intervals since then.
    pub run_start: Instant,
}

/// Summary of a probe at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSummary {
    /// Intervals given.
    pub intervals: u64,
    /// Readings that were due while the one before, or its receiver, was still busy. The next interval is longer.
    pub late: u64,
}

/// A running probe. Dropping it stops it.
#[derive(Debug)]
pub struct ProbeThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<ProbeSummary, ProbeError>>>,
}

impl ProbeThread {
    /// Takes the first reading before it returns, then gives every interval to `sink`, on a thread of its own.
    pub fn start(
        settings: ProbeSettings,
        mut sink: impl FnMut(&HostInterval) + Send + 'static,
    ) -> Result<Self, ProbeError> {
        if settings.interval < INTERVAL_MINIMUM {
            return Err(ProbeError::Interval(settings.interval));
        }
        let ProbeSettings { roots, devices, interval, run_start } = settings;
        let mut probe = HostProbe::new(roots, devices, since(run_start))?;
        let (stop, stopped) = mpsc::channel();
        let run = move || {
            let mut summary = ProbeSummary { intervals: 0, late: 0 };
            let interval_ns = nanoseconds(interval);
            let mut due_ns = (probe.last_ns() / interval_ns + 1) * interval_ns;
            loop {
                let wait_ns = due_ns.saturating_sub(since(run_start));
                match stopped.recv_timeout(Duration::from_nanos(wait_ns)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                        let now_ns = since(run_start);
                        if now_ns - probe.last_ns() >= interval_ns / u64::from(LAST_INTERVAL_SHARE) {
                            sink(probe.read(now_ns)?);
                            summary.intervals += 1;
                        }
                        return Ok(summary);
                    }
                }
                sink(probe.read(since(run_start))?);
                summary.intervals += 1;
                let next_ns = (since(run_start) / interval_ns + 1) * interval_ns;
                summary.late += (next_ns - due_ns) / interval_ns - 1;
                due_ns = next_ns;
            }
        };
        let thread =
            thread::Builder::new().name("host-probe".into()).spawn(run).map_err(ProbeError::Thread)?;
        Ok(ProbeThread { stop: Some(stop), thread: Some(thread) })
    }

    /// Takes a last reading, ends the thread, and says how it went.
    pub fn stop(mut self) -> Result<ProbeSummary, ProbeError> {
        self.end().unwrap_or(Err(ProbeError::Ended))
    }

    fn end(&mut self) -> Option<Result<ProbeSummary, ProbeError>> {
        // The thread wakes up when its channel closes.
        drop(self.stop.take());
        Some(self.thread.take()?.join().unwrap_or(Err(ProbeError::Ended)))
    }
}

impl Drop for ProbeThread {
    fn drop(&mut self) {
        // Nobody is left to hear how it went.
        let _ = self.end();
    }
}

fn since(start: Instant) -> u64 {
    nanoseconds(start.elapsed())
}

/// 2^64 ns are 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
