//! Commands under way: of a host, of a cache that is destaged, of a rebuild.

use load::Direction;

use crate::payload::payloads;

/// Purpose of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// A host's I/O, or its part on one volume.
    Host,
    /// Data of a host's command that data services serve: `tag` is that command.
    Data,
    /// An I/O of the services at the drives: `tag` is the command that waits for it.
    Internal,
    /// Cached writes of one stripe.
    Destage,
    /// One stripe of a rebuild; `offset_bytes` is its number.
    Rebuild,
    /// One stripe that is read for verification; `offset_bytes` is its number.
    Verify,
    /// Read ahead of a sequential reader; `tag` is its chunk.
    ReadAhead,
}

impl TaskKind {
    /// Returns whether it reads and writes one range of a volume.
    #[inline]
    pub fn is_io(self) -> bool {
        matches!(self, TaskKind::Host | TaskKind::Data | TaskKind::Internal)
    }
}

/// Work of the drives for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They read what the host wants.
    Read,
    /// They read what new parity needs, or what is left of a stripe.
    ReadOld,
    /// Parity is computed, or data from it.
    Compute,
    /// They write.
    Write,
}

/// Command under way: a line of the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Command {
    pub issued_at_ns: u64,
    /// Moment at which all drives that answer at once have done their part.
    pub ready_ns: u64,
    /// In its set; the number of the stripe for a rebuild.
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// Tag of the host's I/O, or the command that this one is an I/O of.
    pub tag: u32,
    /// Longest wait for network and back end of an I/O that a hard disk carries out.
    pub wait_ns: u64,
    /// Volume of a host's command.
    pub volume: u16,
    pub set: u16,
    pub controller: u16,
    /// Controller whose cache it uses.
    pub owner: u16,
    pub link: u16,
    /// Host that issued it.
    pub host: u16,
    /// I/Os that hard disks still have.
    pub left: u16,
    pub direction: Direction,
    pub kind: TaskKind,
    pub phase: Phase,
    /// One of several commands of its I/O; of an internal one, that it reads from the cache on drives.
    pub is_part: bool,
    pub is_lost: bool,
    /// It has a place in its controller's window.
    pub is_admitted: bool,
    /// Its host is answered while the drives still have it to write.
    pub is_answered_early: bool,
    /// Ends that are left: its answer, and its write where that comes later.
    pub ends: u8,
    /// It follows others of a sequential stream.
    pub is_sequential: bool,
    pub marks: Marks,
}

/// Flags of a command, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    pub const NONE: Marks = Marks(0);
    /// The write changes one place and its parity: its size says what it takes of the parity engine.
    pub const IN_PLACE: Marks = Marks(1);
    /// It has a place among the changes of parity of its controller.
    pub const CHANGES_PARITY: Marks = Marks(2);
    /// It makes the parity of stripes that had none.
    pub const FIRST: Marks = Marks(4);
    /// The write is in the cache: it is in nobody's way any more.
    pub const CACHED: Marks = Marks(8);

    #[inline]
    pub fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    #[inline]
    pub fn set(&mut self, mark: Marks) {
        self.0 |= mark.0;
    }

    /// Clears a mark; whether it was set.
    #[inline]
    pub fn take(&mut self, mark: Marks) -> bool {
        let was_set = self.has(mark);
        self.0 &= !mark.0;
        was_set
    }
}

const _: () = assert!(size_of::<Command>() == 64);

impl Command {
    /// Command of a host that has done nothing yet.
    pub const BLANK: Command = Command {
        issued_at_ns: 0,
        ready_ns: 0,
        offset_bytes: 0,
        length_bytes: 0,
        tag: 0,
        wait_ns: 0,
        volume: 0,
        set: 0,
        controller: 0,
        owner: 0,
        link: 0,
        host: 0,
        left: 0,
        direction: Direction::Read,
        kind: TaskKind::Host,
        phase: Phase::Read,
        is_part: false,
        is_lost: false,
        is_admitted: false,
        is_answered_early: false,
        ends: 1,
        is_sequential: false,
        marks: Marks::NONE,
    };
}

/// I/O that has several commands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    pub left: u32,
    pub is_lost: bool,
}

payloads! {
    /// Next step of a command or a part.
    ModelEvent {
        /// A job hands a command over.
        0 => Issue(u32),
        /// It reaches its controller.
        1 => Arrive(u32),
        /// The controller has read it.
        2 => Start(u32),
        /// The drives, or the parity engine, are done with its phase.
        3 => PhaseDone(u32),
        /// The host has its answer.
        4 => Answer(u32),
        /// A hard disk has something to say; groups of disks and their disks are numbered through.
        5 => DiskWakes(u32),
        /// The rebuild of a set may go on.
        6 => RebuildDue(u32),
        /// A fault is due.
        7 => Fault(u32),
        /// The controller has seen to what a served command needs, or its next stage may begin.
        8 => NextStage(u32),
        /// An I/O of a served command is done.
        9 => PartDone(u32),
        /// The second array has acknowledged a write that stores nothing.
        10 => Acknowledged(u32),
        /// The host's file system is done with an answer.
        11 => Delivered(u32),
    }
}
