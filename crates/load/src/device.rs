//! Device trait: submit operations, take completions.

use crate::shape::Content;

/// Direction of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Data comes from the device.
    Read,
    /// Data goes to the device.
    Write,
    /// The range's content is given up (discard).
    Trim,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Its word in files, results and tables.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }

    /// The direction of a word.
    pub fn from_name(name: &str) -> Option<Direction> {
        Direction::ALL.into_iter().find(|direction| direction.name() == name)
    }
}

/// One operation, as issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Read, write or trim.
    pub direction: Direction,
    /// First byte on the device.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u32,
    /// Number of the job that issued it, from 0.
    pub job: u32,
}

/// Error of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The device answered with an error number of the operating system.
    #[error("error {0} from the device")]
    Os(i32),
    /// Fewer bytes were moved than requested.
    #[error("only {0} bytes were moved")]
    Short(u32),
}

/// The end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The tag that `submit` was given.
    pub tag: u32,
    /// Time on the device's clock at which the submission had ended and the device had the operation. The
    /// time from `submit` to here is fio's submission latency (`slat`); completion latency (`clat`) counts
    /// from here.
    pub issued_at_ns: u64,
    /// Time of completion, in nanoseconds on the device's clock.
    pub at_ns: u64,
    /// Success, or the error of the I/O.
    pub outcome: Result<(), IoError>,
}

/// Device that executes operations: a twin in simulated time, a real device, a null device.
///
/// A caller never has two operations with the same tag in flight, and never submits at a moment before the
/// last completion it was given: time does not go back.
pub trait Device {
    /// Size of the range that may be addressed.
    fn capacity_bytes(&self) -> u64;

    /// Returns the time on the device's clock: the last time it was given or has answered.
    fn now_ns(&self) -> u64;

    /// Told by whoever is about to begin a load, while nothing is outstanding: until this is said again, all I/Os begin and end at
    /// multiples of `grain_bytes`, a power of two ([`crate::LoadSpec::grain_bytes`]). It changes no answer, only what a device may
    /// know beforehand.
    fn expect(&mut self, _grain_bytes: u32) {}

    /// Content of what the jobs from `first_job` on write, and of what they read, until they are declared anew
    /// ([`crate::LoadShape::content`]). A device that does not look at content ignores it.
    fn declare_content(&mut self, _first_job: u32, _content: Content) {}

    /// Hands over one operation at moment `at_ns`.
    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation);

    /// The next completion at or before `until_ns`; `None` where nothing completes by then, after which the
    /// clock stands at `until_ns`. A real device blocks until then.
    fn next_completion(&mut self, until_ns: u64) -> Option<Completion>;
}
