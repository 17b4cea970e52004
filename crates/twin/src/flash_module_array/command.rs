//! The state of what is on its way: I/Os by tag, commands in the window, and what happens next to either.

use load::Direction;

use crate::payload::payloads;

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

payloads! {
    /// What happens next, to a tag or a command.
    ModelEvent {
        /// The I/O reaches its controller.
        0 => Arrive(u32),
        /// The controller has read the command; it asks for a place in the window.
        1 => Enter(u32),
        /// The modules have all data of a read.
        2 => ReadDone(u32),
        /// The modules have read what a write's parity needs.
        3 => Write(u32),
        /// The modules have the written data and its parity.
        4 => WriteDone(u32),
        /// The host has its answer.
        5 => Complete(u32),
        /// A background task is due.
        6 => BackgroundTask(u32),
    }
}
