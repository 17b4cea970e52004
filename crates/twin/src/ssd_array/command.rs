//! The state of what is on its way: I/Os by tag, commands to LUNs, and what happens next to these.

use load::Direction;

use crate::payload::payloads;

/// Commands of an I/O that has several.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    /// Commands that are not answered yet.
    pub left: u32,
    /// Data of one of them is lost: the I/O ends in an error.
    pub is_lost: bool,
}

/// A host command to one LUN. Nothing else is kept of an I/O that is one command: with ten thousand outstanding, how many lines of
/// the caches its state lies in is what an I/O costs, so it is half a line, and no two.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Command {
    /// First byte on the RAID set.
    pub offset_bytes: u64,
    /// Moment at which the job's thread had handed it over.
    pub issued_at_ns: u64,
    pub length_bytes: u32,
    pub tag: u32,
    pub lun: u16,
    pub controller: u16,
    pub link: u16,
    pub direction: Direction,
    pub marks: Marks,
}

const _: () = assert!(size_of::<Command>() == 32);

/// Flags of a command, in one byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks(u8);

impl Marks {
    const FIRST: u8 = 1;
    const CACHED: u8 = 2;
    const PART: u8 = 4;
    const LOST: u8 = 8;
    const IN_PLACE: u8 = 16;

    /// Of a command that is one of several of its I/O, or all of it.
    #[inline]
    pub fn of(is_part: bool) -> Marks {
        Marks(if is_part { Marks::PART } else { 0 })
    }

    /// The command is one of several of its I/O.
    #[inline]
    pub fn is_part(self) -> bool {
        self.0 & Marks::PART != 0
    }

    /// Data of the command are lost.
    #[inline]
    pub fn is_lost(self) -> bool {
        self.0 & Marks::LOST != 0
    }

    pub fn set_lost(&mut self) {
        self.0 |= Marks::LOST;
    }

    /// The write changes one place and its parity: its size says what it takes of the parity engine.
    #[inline]
    pub fn is_in_place(self) -> bool {
        self.0 & Marks::IN_PLACE != 0
    }

    #[inline]
    pub fn set_in_place(&mut self) {
        self.0 |= Marks::IN_PLACE;
    }

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
    /// Next event of a command.
    ModelEvent {
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
        /// A background task is due.
        9 => BackgroundTask(u32),
    }
}
