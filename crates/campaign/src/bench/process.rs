//! Resource use of this process and of its children.

use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Time between two looks at the memory of a child.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Nanoseconds that the calling thread has spent on a processor. On a busy machine the clock on the wall says more about
/// the neighbours than about us.
pub(super) fn thread_processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * units::NANOS_PER_SECOND + time.tv_nsec as u64
}

/// Starts the peak anew (`proc_pid_clear_refs(5)`). Where the kernel does not let us, the peak stays that of the whole process.
pub fn forget_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that was resident at once since the start or [`forget_peak_memory`] (`VmHWM`).
pub fn peak_memory_bytes() -> Option<u64> {
    peak_of("self")
}

fn peak_of(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Waits for a child to end, and returns the most memory that it had resident at once, as seen every few milliseconds. What
/// `wait4` tells is no less than what its parent had when it was made.
pub fn wait_for_peak_memory(child: &mut Child) -> io::Result<(ExitStatus, Option<u64>)> {
    let process = child.id().to_string();
    let mut peak_bytes = None;
    loop {
        // A process that has ended has no memory to be read.
        peak_bytes = peak_of(&process).or(peak_bytes);
        if let Some(status) = child.try_wait()? {
            return Ok((status, peak_bytes));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
