//! The state of what is on its way: I/Os by tag, commands to LUNs, and what happens next to these.

use load::Direction;

use crate::payload::payloads;

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

payloads! {
    /// What happens next to a command.
    Happening {
        /// The job's thread hands the command to its link.
        0 => Issue(u32),
        /// Command and written data reach the controller.
        1 => Arrive(u32),
        /// A processor has seen to the command.
        2 => Start(u32),
        /// The drives have a read's data.
        3 => ReadDone(u32),
        /// The drives have read what new parity needs.
        4 => OldRead(u32),
        /// The parity engine is done.
        5 => ParityDone(u32),
        /// A written change of parity is in the drives.
        6 => Updated(u32),
        /// A cached write is in the drives.
        7 => Destaged(u32),
        /// The host has the answer to the command.
        8 => Answer(u32),
        /// The array does something on its own account.
        9 => Own(u32),
    }
}
