//! Outcome of a run, besides its samples.

use load::{ContentTally, Direction, DirectionSample, Histogram, IoError, Written};

use crate::{HandoverChoice, Interface};

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// After its time.
    Completed,
    /// On request.
    Interrupted,
    /// The target went away, as this error says.
    DeviceGone(ErrorKind),
    /// At the first error, as the policy says.
    Failed(ErrorKind),
}

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// An error number of the operating system.
    Os(i32),
    /// Fewer bytes than asked for.
    Short,
    /// The device became smaller under the load.
    Shrunk,
}

impl ErrorKind {
    pub(crate) fn of(error: IoError) -> ErrorKind {
        match error {
            IoError::Os(number) => ErrorKind::Os(number),
            IoError::Short(_) => ErrorKind::Short,
        }
    }

    /// True for errors that say that the device is no longer there.
    pub fn means_gone(self) -> bool {
        matches!(
            self,
            ErrorKind::Os(
                libc::ENODEV
                    | libc::ENXIO
                    | libc::ENOMEDIUM
                    | libc::ESHUTDOWN
                    | libc::ENOTCONN
                    | libc::ECONNABORTED
                    | libc::EBADF
            )
        )
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ErrorKind::Os(number) => write!(f, "{}", std::io::Error::from_raw_os_error(*number)),
            ErrorKind::Short => write!(f, "fewer bytes than asked for"),
            ErrorKind::Shrunk => write!(f, "the device became smaller"),
        }
    }
}

/// Failures of one kind in one direction, ramp included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCount {
    /// Of what.
    pub direction: Direction,
    /// Kind.
    pub kind: ErrorKind,
    /// Number of them.
    pub count: u64,
}

/// I/Os that the target left unanswered for long after the end of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    /// Number of I/Os, when answers had not come for [`hang_after`](crate::RingOptions::hang_after).
    pub ios: u64,
    /// Wait of the oldest of them, as far as it was waited for.
    pub longest_ns: u64,
    /// All were answered within [`hang_limit`](crate::RingOptions::hang_limit); if not, the target may still be working
    /// on them.
    pub is_over: bool,
}

/// Outcome of a run.
#[derive(Debug, Clone)]
pub struct RingOutcome {
    /// End of the run.
    pub ended: Ended,
    /// Interface by which operations went to the kernel.
    pub interface: Interface,
    /// Counted time: without the ramp, up to the end.
    pub runtime_ns: u64,
    /// Sum of all samples of reads, without the ramp.
    pub read: DirectionSample,
    /// Sum of all samples of writes, without the ramp.
    pub write: DirectionSample,
    /// Sum of all samples of trims, without the ramp.
    pub trim: DirectionSample,
    /// Failures by direction and kind.
    pub errors: Vec<ErrorCount>,
    /// In open loop, I/Os that arrived in the counted time.
    pub offered_ios: Option<u64>,
    /// In open loop and under a rate limit, by how much I/Os that had a free place were issued after their moment: the
    /// engine's own fault, which is in their latency.
    pub lateness: Histogram,
    /// I/Os that were issued, ramp included, whatever came of them; and syncs that failed.
    pub issued_ios: u64,
    /// I/Os that were issued and not answered when the run ended.
    pub unanswered_ios: u64,
    /// Of those, how many were never answered, not even when they were given up.
    pub stuck_ios: u64,
    /// Unanswered I/Os for which the target let the engine wait.
    pub hang: Option<Hang>,
    /// Times that each `fsync` took.
    pub syncs: Histogram,
    /// Processor time of the workers, user and system, for each I/O that completed (ramp included). Threads of the kernel
    /// (SQPOLL, io-wq) and of the psync fallback are not in it.
    pub cpu_ns_per_io: f64,
    /// Of that, what was spent in the kernel.
    pub kernel_ns_per_io: f64,
    /// Processor time of the whole process while the load ran, for each I/O that completed: with threads of the kernel that
    /// carry its I/O out, and with whatever else the process does.
    pub process_ns_per_io: f64,
    /// Handover of I/O; none where no ring took it.
    pub handover: Option<HandoverChoice>,
    /// Tally of the written content, where the load asks for compressible content or duplicates.
    pub content: Option<ContentTally>,
    /// Record of what was written, by part, where the load asked for verification.
    pub written: Vec<Written>,
    /// Warnings for readers of the results.
    pub warnings: Vec<String>,
}

impl RingOutcome {
    /// The outcome of a run in which nothing has happened yet.
    pub(crate) fn empty(interface: Interface) -> RingOutcome {
        RingOutcome {
            ended: Ended::Completed,
            interface,
            runtime_ns: 0,
            read: DirectionSample::default(),
            write: DirectionSample::default(),
            trim: DirectionSample::default(),
            errors: Vec::new(),
            offered_ios: None,
            lateness: Histogram::new(),
            issued_ios: 0,
            unanswered_ios: 0,
            stuck_ios: 0,
            hang: None,
            syncs: Histogram::new(),
            cpu_ns_per_io: 0.0,
            kernel_ns_per_io: 0.0,
            process_ns_per_io: 0.0,
            handover: None,
            content: None,
            written: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns why the load measured nothing, or not what it was to measure, on a target that does not answer.
    pub fn not_answered(&self) -> Option<String> {
        if self.ended != Ended::Completed {
            return None;
        }
        if let Some(Hang { ios, longest_ns, is_over }) = self.hang {
            let seconds = longest_ns / 1_000_000_000;
            let then = if is_over { "they were answered in the end" } else { "they are still pending" };
            return Some(format!(
                "the target hangs: {ios} I/Os were not answered for {seconds} s, and {then}"
            ));
        }
        let failed: u64 = self.errors.iter().map(|error| error.count).sum();
        match (self.delivered_ios(), self.unanswered_ios, failed) {
            (0, in_flight @ 1.., _) => {
                Some(format!("no I/O was answered in time: {in_flight} were in flight at the end"))
            }
            (0, 0, 1..) => Some(format!("no I/O succeeded: {failed} failed")),
            _ => None,
        }
    }

    /// Returns whether the target may still be working on I/Os of this load.
    pub fn is_pending(&self) -> bool {
        self.stuck_ios > 0 || self.hang.is_some_and(|hang| !hang.is_over)
    }

    /// I/Os of all directions that completed without error.
    pub fn delivered_ios(&self) -> u64 {
        self.read.ios + self.write.ios + self.trim.ios
    }
}
