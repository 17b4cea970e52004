//! What is under way in the drives: for a host, or for the array itself.

use load::Direction;

use super::happening::BACKGROUND;

/// A command as a host has issued it.
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

/// How far the drive I/Os of one work are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Drive I/Os of the phase that are not done; where drives serve in order, how many there were.
    pub pending: u32,
    /// Bytes of each, on average: what one loads the link to the controller with.
    pub bytes_each: u32,
    /// When the last data that is done has passed the link.
    pub ready_ns: u64,
    /// Bytes that the second phase writes, parity included.
    pub write_bytes: u64,
    /// Whether parity is among them.
    pub has_parity: bool,
    pub is_writing: bool,
}

/// What the array does on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing: the place is free.
    Free,
    /// Puts cached writes of one stripe on the drives; `blocks` of the cache come free.
    Destage { controller: u32, blocks: u64 },
    /// Reads ahead for a stream.
    ReadAhead { controller: u32, chunk: u32 },
    /// Rebuilds a stripe.
    Rebuild { stripe: u64 },
    /// Reads a stripe to verify it.
    Verify,
}

impl Purpose {
    /// The stripe that is rebuilt.
    pub fn stripe(self) -> Option<u64> {
        match self {
            Purpose::Rebuild { stripe } => Some(stripe),
            _ => None,
        }
    }
}

/// One work of the array's own.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    pub purpose: Purpose,
    /// Logical extents, first byte and length; the storage is kept for the next work in this place.
    pub extents: Vec<(u64, u64)>,
}

/// All that is under way. Host works are numbered by their tags, the array's own from [`BACKGROUND`] on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Works {
    pub ios: Vec<HostIo>,
    host_progress: Vec<Progress>,
    background: Vec<Background>,
    background_progress: Vec<Progress>,
    free: Vec<u32>,
}

impl Works {
    /// Takes a host's command under its tag.
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
    pub fn progress(&mut self, work: u32) -> &mut Progress {
        if work < BACKGROUND {
            &mut self.host_progress[work as usize]
        } else {
            &mut self.background_progress[(work - BACKGROUND) as usize]
        }
    }

    /// Opens a work of the array's own.
    pub fn open(&mut self, purpose: Purpose) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.background.push(Background { purpose: Purpose::Free, extents: Vec::with_capacity(4) });
            self.background_progress.push(Progress::default());
            self.background.len() as u32 - 1
        });
        let background = &mut self.background[index as usize];
        background.purpose = purpose;
        background.extents.clear();
        BACKGROUND + index
    }

    pub fn background(&mut self, work: u32) -> &mut Background {
        &mut self.background[(work - BACKGROUND) as usize]
    }

    /// Gives a work's place back; returns what it was for.
    pub fn close(&mut self, work: u32) -> Purpose {
        self.free.push(work - BACKGROUND);
        std::mem::replace(&mut self.background(work).purpose, Purpose::Free)
    }
}
