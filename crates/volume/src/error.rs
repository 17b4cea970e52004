//! Volume errors and the state that each leaves.

use std::io;

/// An error of a volume. Unless it says otherwise, nothing was changed and the volume goes on serving.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// An offset or length that is no multiple of a sector.
    #[error("offset {offset_bytes} and length {length_bytes}: both must be multiples of 512")]
    Unaligned {
        /// The offset asked for.
        offset_bytes: u64,
        /// The length asked for.
        length_bytes: u64,
    },
    /// A range beyond the end.
    #[error("{length_bytes} bytes at {offset_bytes} lie beyond the capacity of {capacity_bytes}")]
    OutOfRange {
        /// The offset asked for.
        offset_bytes: u64,
        /// The length asked for.
        length_bytes: u64,
        /// The size of the volume.
        capacity_bytes: u64,
    },
    /// More was lost than the redundancy covers: bytes of this stripe cannot be given or brought up to date.
    #[error("stripe {stripe} has lost more than its redundancy covers")]
    Lost {
        /// The stripe.
        stripe: u64,
    },
    /// All replicas that hold what was written last are behind stopped services; they answer again after a start.
    #[error("no replica of object {stripe} that holds its last write is running; start its service")]
    Unavailable {
        /// The stripe.
        stripe: u64,
    },
    /// The thin pool has too few free units for a write; reads, and writes to what is allocated, go on.
    #[error(
        "the thin pool is full: the write needs {needed_units} units of {unit_bytes} bytes and {free_units} are free"
    )]
    PoolFull {
        /// Units that are not allocated yet.
        needed_units: u64,
        /// Units of the pool that are free.
        free_units: u64,
        /// Bytes of a unit.
        unit_bytes: u64,
    },
    /// No drive of this number, or its condition does not allow what was asked for.
    #[error("drive {drive}: {problem}")]
    Drive {
        /// The drive.
        drive: u16,
        /// Reason why not.
        problem: &'static str,
    },
    /// The directory is in use.
    #[error("{path} is in use by another process; stop it, or serve another directory")]
    InUse {
        /// The directory.
        path: String,
    },
    /// Another array, or none, is there.
    #[error("{path} does not hold this array: {problem}")]
    Foreign {
        /// The directory or drive.
        path: String,
        /// Difference.
        problem: String,
    },
    /// A stored structure that cannot be read; nothing was written.
    #[error("{path} is damaged: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// Description of what is wrong with it.
        problem: String,
    },
    /// A backing file could not be read or written. Acknowledged writes stay in the journal.
    #[error("cannot {operation}")]
    Io {
        /// Operation that was tried.
        operation: &'static str,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Names what was tried when an I/O on a backing file failed.
pub(crate) trait ErrorContext<T> {
    fn context(self, operation: &'static str) -> Result<T, VolumeError>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn context(self, operation: &'static str) -> Result<T, VolumeError> {
        self.map_err(|source| VolumeError::Io { operation, source })
    }
}
