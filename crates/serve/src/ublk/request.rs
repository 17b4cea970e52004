//! Block device requests: from the kernel's descriptor to the bytes of an export.
//!
//! After `include/uapi/linux/ublk_cmd.h` of Linux. `device` checks at compile time that the numbers are the library's.

use nbd::{Access, Errno, Export, ExportError};

/// Offsets and lengths of descriptors count these.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Operations, in the low eight bits of a descriptor's `op_flags`.
pub(super) mod operation {
    pub const READ: u32 = 0;
    pub const WRITE: u32 = 1;
    pub const FLUSH: u32 = 2;
    pub const DISCARD: u32 = 3;
    pub const WRITE_ZEROES: u32 = 5;
}

/// Flags, in the other bits.
pub(super) mod flag {
    /// The write is to be durable when it is answered.
    pub const FUA: u32 = 1 << 13;
    /// Zeroing is to keep the space.
    pub const NO_UNMAP: u32 = 1 << 15;
}

/// Command of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Read,
    Write { fua: bool },
    Flush,
    Discard,
    WriteZeroes { may_punch: bool, fua: bool },
}

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub command: Command,
    pub offset_bytes: u64,
    pub length_bytes: u64,
}

impl Request {
    /// Reads a descriptor. What it moves must fit into the queue's buffer and the device.
    pub fn decode(
        op_flags: u32,
        start_sector: u64,
        sectors: u32,
        buffer_bytes: usize,
    ) -> Result<Request, ExportError> {
        let invalid = |problem: String| Err(ExportError::new(Errno::Invalid, problem));
        let fua = op_flags & flag::FUA != 0;
        let command = match op_flags & 0xff {
            operation::READ => Command::Read,
            operation::WRITE => Command::Write { fua },
            operation::FLUSH => Command::Flush,
            operation::DISCARD => Command::Discard,
            operation::WRITE_ZEROES => {
                Command::WriteZeroes { may_punch: op_flags & flag::NO_UNMAP == 0, fua }
            }
            number => {
                let problem = format!("operation {number} is not known");
                return Err(ExportError::new(Errno::NotSupported, problem));
            }
        };
        if command == Command::Flush {
            return Ok(Request { command, offset_bytes: 0, length_bytes: 0 });
        }
        let length_bytes = u64::from(sectors) * SECTOR_BYTES;
        let Some(offset_bytes) = start_sector.checked_mul(SECTOR_BYTES) else {
            return invalid(format!("sector {start_sector} is beyond any device"));
        };
        let request = Request { command, offset_bytes, length_bytes };
        if length_bytes == 0 || request.payload_bytes() > buffer_bytes {
            return invalid(format!("{length_bytes} bytes do not fit a buffer of {buffer_bytes}"));
        }
        Ok(request)
    }

    /// Bytes that go through the buffer.
    pub fn payload_bytes(&self) -> usize {
        match self.command {
            Command::Read | Command::Write { .. } => self.length_bytes as usize,
            _ => 0,
        }
    }

    /// Returns what it does to the data, where it moves any.
    pub fn access(&self) -> Option<Access> {
        match self.command {
            Command::Read => Some(Access::Read),
            Command::Write { .. } => Some(Access::Write),
            _ => None,
        }
    }

    /// Refuses what lies beyond the export, which may have become smaller since the kernel was told of its size.
    pub fn check(&self, export: &dyn Export) -> Result<(), ExportError> {
        let size_bytes = export.size_bytes();
        if self.offset_bytes.checked_add(self.length_bytes).is_some_and(|end| end <= size_bytes) {
            return Ok(());
        }
        let (offset, length) = (self.offset_bytes, self.length_bytes);
        let problem = format!("{length} bytes at {offset} lie beyond the device's {size_bytes}");
        Err(ExportError::new(Errno::NoSpace, problem))
    }

    /// Carries it out with its bytes. What the kernel is to be told: bytes that were moved, or an error below zero.
    pub fn carry_out(&self, export: &dyn Export, payload: &mut [u8]) -> i32 {
        let (offset, length) = (self.offset_bytes, self.length_bytes);
        let outcome = match self.command {
            Command::Read => export.read_at(offset, payload),
            Command::Write { fua } => export.write_at(offset, payload, fua),
            Command::Flush => export.flush(),
            Command::Discard => export.trim(offset, length, false),
            Command::WriteZeroes { may_punch, fua } => export.write_zeroes(offset, length, may_punch, fua),
        };
        match outcome {
            // A buffer's length, which the kernel itself limits.
            Ok(()) => payload.len() as i32,
            Err(error) => failure(&error),
        }
    }
}

/// An error as the kernel takes it.
pub(super) fn failure(error: &ExportError) -> i32 {
    -(error.errno as i32)
}
