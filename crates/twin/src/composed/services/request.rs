//! Commands of hosts that data services serve: the I/Os that they are made of, stage by stage.

use load::{Content, Direction};

/// Order of the I/Os of a command: those of one stage begin when those of the stage before are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Metadata, and extents that are copied, are read.
    Before,
    /// Copies are written.
    Copy,
    /// Metadata is written: it says where copies lie, so that they are there first.
    Record,
    /// The host's data.
    Data,
    /// After the answer: the host does not wait for it.
    After,
}

/// I/O of a served command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Io {
    pub direction: Direction,
    pub set: u16,
    /// In the set.
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// It goes through the controller's caches and window.
    pub is_cached: bool,
    /// It reads from the cache on drives.
    pub is_cache_hit: bool,
}

impl Io {
    /// I/O of a service at the drives.
    pub fn internal(direction: Direction, set: u16, offset_bytes: u64, length_bytes: u64) -> Io {
        let length_bytes = length_bytes as u32;
        Io { direction, set, offset_bytes, length_bytes, is_cached: false, is_cache_hit: false }
    }
}

/// Command under way in the services.
#[derive(Debug, Clone, Default)]
pub(crate) struct Served {
    pub content: Content,
    ios: Vec<(Stage, Io)>,
    next: usize,
    /// I/Os of the stage that are not done.
    pub pending: u32,
    /// Processor time between the last I/O and the answer.
    pub after_ns: u64,
    pub is_lost: bool,
    /// A read from the cache on drives found a lost drive.
    pub has_lost_cache: bool,
    /// Data is also for the second array.
    pub is_mirrored: bool,
}

impl Served {
    /// Begins anew, with the content that was declared.
    pub fn clear(&mut self) {
        self.ios.clear();
        (self.next, self.pending, self.after_ns) = (0, 0, 0);
        (self.is_lost, self.has_lost_cache, self.is_mirrored) = (false, false, false);
    }

    pub fn add(&mut self, stage: Stage, io: Io) {
        self.ios.push((stage, io));
    }

    /// Its I/Os, in no order.
    pub fn ios(&self) -> impl Iterator<Item = &Io> {
        self.ios.iter().map(|(_, io)| io)
    }

    /// Puts others in the place of each I/O.
    pub fn replace_ios(&mut self, mut replace: impl FnMut(Stage, Io, &mut dyn FnMut(Io))) {
        for (stage, io) in std::mem::take(&mut self.ios) {
            replace(stage, io, &mut |io| self.ios.push((stage, io)));
        }
    }

    /// All I/Os are known: they are put in order.
    pub fn order(&mut self) {
        self.ios.sort_by_key(|(stage, _)| *stage);
    }

    /// The stage that begins next, before those that follow the answer.
    pub fn next_stage(&self) -> Option<Stage> {
        self.ios.get(self.next).map(|(stage, _)| *stage).filter(|stage| *stage != Stage::After)
    }

    /// The next I/O of a stage.
    pub fn next_of(&mut self, stage: Stage) -> Option<Io> {
        let &(of, io) = self.ios.get(self.next)?;
        (of == stage).then(|| {
            self.next += 1;
            io
        })
    }
}
