//! The state of what is on its way: I/Os by tag, commands to LUNs, and what happens next to these.

use load::Direction;

/// What a tag is busy with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Io {
    pub issued_at_ns: u64,
    /// Commands that are not answered yet.
    pub commands_left: u32,
    /// Data of it is lost: it ends in an error.
    pub is_lost: bool,
}

/// A host command to one LUN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    /// First byte on the RAID set.
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub tag: u32,
    pub lun: u16,
    pub controller: u16,
    pub link: u16,
    pub direction: Direction,
    pub marks: Marks,
    /// What its change of parity takes of the parity engine.
    pub parity_ns: u64,
}

/// With ten thousand outstanding, how many of their commands the nearest caches hold is what an I/O costs.
const _: () = assert!(size_of::<Command>() == 32);

/// What is to be known of a write, in one byte.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    const FIRST: u8 = 1;
    const CACHED: u8 = 2;

    /// The write initialises the parity of its stripes.
    #[inline]
    pub fn is_first(self) -> bool {
        self.0 & Marks::FIRST != 0
    }

    pub fn set_first(&mut self) {
        self.0 |= Marks::FIRST;
    }

    /// The write was taken into the cache.
    #[inline]
    pub fn is_cached(self) -> bool {
        self.0 & Marks::CACHED != 0
    }

    pub fn set_cached(&mut self) {
        self.0 |= Marks::CACHED;
    }
}

/// What happens next to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The job's thread hands the command to its link.
    Issue(u32),
    /// Command and written data reach the controller.
    Arrive(u32),
    /// A processor has seen to the command.
    Start(u32),
    /// The drives have a read's data.
    ReadDone(u32),
    /// The drives have read what new parity needs.
    OldRead(u32),
    /// The parity engine is done.
    ParityDone(u32),
    /// A written change of parity is in the drives.
    Updated(u32),
    /// A cached write is in the drives.
    Destaged(u32),
    /// The host has the answer to the command.
    Answer(u32),
    /// The array does something on its own account.
    Own(u32),
}

/// Bits of a payload that hold a number; the others say what happens.
const INDEX_BITS: u32 = 28;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const _: () = assert!(load::OUTSTANDING_LIMIT < 1 << INDEX_BITS);

impl Happening {
    /// As a payload of the event queue.
    #[inline]
    pub fn pack(self) -> u32 {
        let (kind, index) = match self {
            Happening::Issue(command) => (0, command),
            Happening::Arrive(command) => (1, command),
            Happening::Start(command) => (2, command),
            Happening::ReadDone(command) => (3, command),
            Happening::OldRead(command) => (4, command),
            Happening::ParityDone(command) => (5, command),
            Happening::Destaged(command) => (6, command),
            Happening::Answer(command) => (7, command),
            Happening::Updated(command) => (8, command),
            Happening::Own(own) => (9, own),
        };
        kind << INDEX_BITS | index
    }

    /// Back from a payload.
    #[inline]
    pub fn unpack(payload: u32) -> Self {
        let index = payload & INDEX_MASK;
        match payload >> INDEX_BITS {
            0 => Happening::Issue(index),
            1 => Happening::Arrive(index),
            2 => Happening::Start(index),
            3 => Happening::ReadDone(index),
            4 => Happening::OldRead(index),
            5 => Happening::ParityDone(index),
            6 => Happening::Destaged(index),
            7 => Happening::Answer(index),
            8 => Happening::Updated(index),
            _ => Happening::Own(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every happening survives its packing.
    #[test]
    fn happenings_survive_packing() {
        for happening in [
            Happening::Issue(0),
            Happening::Arrive(INDEX_MASK),
            Happening::Start(1),
            Happening::ReadDone(2),
            Happening::OldRead(3),
            Happening::ParityDone(4),
            Happening::Destaged(5),
            Happening::Answer(6),
            Happening::Updated(7),
            Happening::Own(8),
        ] {
            assert_eq!(Happening::unpack(happening.pack()), happening);
        }
    }
}
