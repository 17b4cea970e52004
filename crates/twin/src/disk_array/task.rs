//! Tasks in flight: host commands and background tasks of the array.

use load::Direction;

use super::model_event::BACKGROUND;

/// Command as a host issued it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostIo {
    pub issued_at_ns: u64,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub job: u32,
    pub link: u32,
    pub controller: u32,
    pub direction: Direction,
    /// Its data is lost: it ends in an error.
    pub is_lost: bool,
}

impl Default for HostIo {
    fn default() -> Self {
        HostIo {
            issued_at_ns: 0,
            offset_bytes: 0,
            length_bytes: 0,
            job: 0,
            link: 0,
            controller: 0,
            direction: Direction::Read,
            is_lost: false,
        }
    }
}

/// Progress of a task's drive I/Os.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Outstanding drive I/Os of the phase; the number of I/Os where drives have no queue.
    pub pending: u32,
    /// Mean bytes of an I/O, which the link to the controller transfers.
    pub bytes_each: u32,
    /// Time at which the last completed data has passed the link.
    pub ready_ns: u64,
    /// Bytes that the second phase writes, parity included.
    pub write_bytes: u64,
    /// Whether parity is among them.
    pub has_parity: bool,
    pub is_writing: bool,
}

/// Kind of a background task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// None: the slot is free.
    Free,
    /// Destage of one stripe's cached writes; it frees `blocks` of the cache.
    Destage { controller: u32, blocks: u64 },
    /// Read-ahead for a stream.
    ReadAhead { controller: u32, chunk: u32 },
    /// Rebuild of a stripe.
    Rebuild { stripe: u64 },
    /// Scrub of a stripe: its data and parity are read.
    Verify,
}

impl TaskKind {
    /// Stripe of a rebuild.
    pub fn stripe(self) -> Option<u64> {
        match self {
            TaskKind::Rebuild { stripe } => Some(stripe),
            _ => None,
        }
    }
}

/// Background task: work of the array itself.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundTask {
    pub kind: TaskKind,
    /// Logical extents, first byte and length; the allocation is reused by the next task in the slot.
    pub extents: Vec<(u64, u64)>,
}

/// Tasks in flight. A host command's number is its tag; background tasks count from [`BACKGROUND`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    pub ios: Vec<HostIo>,
    host_progress: Vec<Progress>,
    background: Vec<BackgroundTask>,
    background_progress: Vec<Progress>,
    free: Vec<u32>,
}

impl Tasks {
    /// Adds a host command under its tag.
    #[inline]
    pub fn put(&mut self, tag: u32, io: HostIo) {
        let index = tag as usize;
        if index >= self.ios.len() {
            self.ios.resize(index + 1, HostIo::default());
            self.host_progress.resize(index + 1, Progress::default());
        }
        self.ios[index] = io;
    }

    #[inline]
    pub fn io(&self, tag: u32) -> HostIo {
        self.ios[tag as usize]
    }

    #[inline]
    pub fn progress(&mut self, task: u32) -> &mut Progress {
        if task < BACKGROUND {
            &mut self.host_progress[task as usize]
        } else {
            &mut self.background_progress[(task - BACKGROUND) as usize]
        }
    }

    /// Opens a background task and returns its number.
    pub fn open(&mut self, kind: TaskKind) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.background.push(BackgroundTask { kind: TaskKind::Free, extents: Vec::with_capacity(4) });
            self.background_progress.push(Progress::default());
            self.background.len() as u32 - 1
        });
        let background = &mut self.background[index as usize];
        background.kind = kind;
        background.extents.clear();
        BACKGROUND + index
    }

    pub fn background(&mut self, task: u32) -> &mut BackgroundTask {
        &mut self.background[(task - BACKGROUND) as usize]
    }

    /// Frees a background task's slot and returns its kind.
    pub fn close(&mut self, task: u32) -> TaskKind {
        self.free.push(task - BACKGROUND);
        std::mem::replace(&mut self.background(task).kind, TaskKind::Free)
    }
}
