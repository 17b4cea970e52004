//! Volume of a served array: where it lies at present, and what it has served.

use crate::paced::Tally;
use nbd::{Errno, ExportError};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use volume::{MappedVolume, Run};

/// A volume, and what it has served, by whichever name.
pub(crate) struct ServedVolume {
    /// By which the model knows it; no two volumes of one server have had the same.
    pub number: u32,
    pub name: String,
    pub tally: Arc<Tally>,
    /// Shared by each request, alone to change it: a change waits for what is under way.
    pub mapped: RwLock<Mapped>,
}

/// Place of a volume at present.
pub(crate) struct Mapped {
    pub runs: Vec<Run>,
    /// Number of a thin volume, which has no ranges of its own.
    pub thin: Option<u32>,
    pub size_bytes: u64,
    pub is_gone: bool,
}

impl ServedVolume {
    pub(crate) fn mapped(&self) -> RwLockReadGuard<'_, Mapped> {
        self.mapped.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.mapped().size_bytes
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Mapped)) {
        change(&mut self.mapped.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Mapped {
    pub(crate) fn of(volume: &MappedVolume) -> Mapped {
        let MappedVolume { runs, thin, size_bytes, .. } = volume;
        Mapped { runs: runs.clone(), thin: *thin, size_bytes: *size_bytes, is_gone: false }
    }

    /// Refuses a range that the volume no longer has.
    pub(crate) fn check(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), ExportError> {
        if self.is_gone {
            return Err(ExportError::new(Errno::Shutdown, "the volume has been deleted"));
        }
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => Err(ExportError::new(Errno::NoSpace, "the volume has been made smaller")),
        }
    }

    /// The parts of the array that a range of the volume is, with their place in the range.
    pub(crate) fn parts(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<(u64, u64, u64)>, ExportError> {
        self.check(offset_bytes, length_bytes)?;
        let (mut skip_bytes, mut done_bytes) = (offset_bytes, 0);
        let mut parts = Vec::with_capacity(1);
        for run in &self.runs {
            let skipped = skip_bytes.min(run.length_bytes);
            skip_bytes -= skipped;
            let count = (run.length_bytes - skipped).min(length_bytes - done_bytes);
            if count > 0 {
                parts.push((run.start_bytes + skipped, done_bytes, count));
                done_bytes += count;
            }
        }
        if done_bytes < length_bytes {
            return Err(ExportError::new(Errno::NoSpace, "the volume has been made smaller"));
        }
        Ok(parts)
    }
}
