//! Resource use of this process.

use rustix::time::{ClockId, clock_gettime};

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
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
