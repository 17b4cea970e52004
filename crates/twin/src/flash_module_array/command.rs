//! The state of what is on its way: I/Os by tag, commands in the window, and what happens next to either.

use load::Direction;

/// What a tag is busy with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Io {
    pub issued_at_ns: u64,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub job: u32,
    pub link: u32,
    pub direction: Direction,
    /// Its data is lost: it ends in an error.
    pub is_lost: bool,
}

impl Default for Io {
    fn default() -> Self {
        Io {
            issued_at_ns: 0,
            offset_bytes: 0,
            length_bytes: 0,
            job: 0,
            link: 0,
            direction: Direction::Read,
            is_lost: false,
        }
    }
}

/// A command that has its place in a controller's window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub tag: u32,
    pub controller: u32,
    pub is_sequential: bool,
}

/// What happens next, to a tag or a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The I/O reaches its controller.
    Arrive(u32),
    /// The controller has read the command; it asks for a place in the window.
    Enter(u32),
    /// The modules have all data of a read.
    ReadDone(u32),
    /// The modules have read what a write's parity needs.
    Write(u32),
    /// The modules have the written data and its parity.
    WriteDone(u32),
    /// The host has its answer.
    Complete(u32),
    /// The array does something on its own account.
    Own(u32),
}

/// Bits of a payload that hold a number; the others say what happens. Tags stay below `load::OUTSTANDING_LIMIT`.
const INDEX_BITS: u32 = 28;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const _: () = assert!(load::OUTSTANDING_LIMIT < 1 << INDEX_BITS);

impl Happening {
    /// As a payload of the event queue.
    #[inline]
    pub fn pack(self) -> u32 {
        let (kind, index) = match self {
            Happening::Arrive(tag) => (0, tag),
            Happening::Enter(tag) => (1, tag),
            Happening::ReadDone(command) => (2, command),
            Happening::Write(command) => (3, command),
            Happening::WriteDone(command) => (4, command),
            Happening::Complete(tag) => (5, tag),
            Happening::Own(own) => (6, own),
        };
        kind << INDEX_BITS | index
    }

    /// Back from a payload.
    #[inline]
    pub fn unpack(payload: u32) -> Self {
        let index = payload & INDEX_MASK;
        match payload >> INDEX_BITS {
            0 => Happening::Arrive(index),
            1 => Happening::Enter(index),
            2 => Happening::ReadDone(index),
            3 => Happening::Write(index),
            4 => Happening::WriteDone(index),
            5 => Happening::Complete(index),
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
            Happening::Arrive(0),
            Happening::Enter(INDEX_MASK),
            Happening::ReadDone(7),
            Happening::Write(8),
            Happening::WriteDone(9),
            Happening::Complete(10),
            Happening::Own(11),
        ] {
            assert_eq!(Happening::unpack(happening.pack()), happening);
        }
    }
}
