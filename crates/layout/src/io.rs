//! Drive addresses and drive I/Os.

use crate::DriveIndex;

/// A place on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the drive.
    pub drive: DriveIndex,
    /// First byte on it.
    pub offset_bytes: u64,
}

/// Role of the data in a drive I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Data of a stripe, by its data member; in mirrored layouts also the first copy (the head of a chain).
    Data,
    /// P, the exclusive or of a stripe's data.
    P,
    /// Q, the Reed–Solomon syndrome of a stripe's data.
    Q,
    /// A further copy: 1 is the second, and the last is the tail of a chain.
    Copy(u8),
}

/// One I/O to one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriveIo {
    /// First byte on the drive.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u32,
    /// Number of the drive.
    pub drive: DriveIndex,
    /// Role of the bytes: data, copy or parity.
    pub role: Role,
}

/// The drive I/Os of one host I/O in two phases: all reads, then all writes. Made once and filled again for every
/// I/O, so that planning does not allocate once it has grown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoList {
    reads: Vec<DriveIo>,
    writes: Vec<DriveIo>,
}

impl IoList {
    /// An empty list with room for `ios` reads and as many writes.
    pub fn with_capacity(ios: usize) -> Self {
        IoList { reads: Vec::with_capacity(ios), writes: Vec::with_capacity(ios) }
    }

    /// The first phase.
    #[inline]
    pub fn reads(&self) -> &[DriveIo] {
        &self.reads
    }

    /// The second phase: starts when the last read has come back, at once where there are none.
    #[inline]
    pub fn writes(&self) -> &[DriveIo] {
        &self.writes
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }

    #[inline]
    pub(crate) fn push_read(&mut self, place: Place, length_bytes: u32, role: Role) {
        self.reads.push(DriveIo { offset_bytes: place.offset_bytes, length_bytes, drive: place.drive, role });
    }

    #[inline]
    pub(crate) fn push_write(&mut self, place: Place, length_bytes: u32, role: Role) {
        self.writes.push(DriveIo {
            offset_bytes: place.offset_bytes,
            length_bytes,
            drive: place.drive,
            role,
        });
    }
}
