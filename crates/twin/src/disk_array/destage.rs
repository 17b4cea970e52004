//! Background tasks of a controller: destage of cached writes and read-ahead.

use super::Model;
use super::task::TaskKind;

/// First byte of the stripe that a byte belongs to, and the byte after its last.
fn stripe_at(byte: u64, stripe_bytes: u64) -> (u64, u64) {
    let first = byte - byte % stripe_bytes;
    (first, first + stripe_bytes)
}

impl Model {
    /// Puts as many stripes on the drives as are due and may be under way.
    pub(super) fn destage(&mut self, controller: u32) {
        loop {
            let Some(cache) = &mut self.controllers[controller as usize].write_cache else { return };
            if !cache.is_due() {
                return;
            }
            let task = self.tasks.open(TaskKind::Destage { controller, blocks: 0 });
            let stripe_bytes = self.arrangement.layout.stripe_bytes();
            let background = self.tasks.background(task);
            match cache.take_stripe(|byte| stripe_at(byte, stripe_bytes), &mut background.extents) {
                Some(blocks) => background.kind = TaskKind::Destage { controller, blocks },
                None => {
                    self.tasks.close(task);
                    return;
                }
            }
            self.begin_write(task);
        }
    }

    /// Applies a write of skipped time: it is cached, and as many blocks as it adds are destaged.
    pub(super) fn destage_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        let controller = self.failover.current_owner(self.controller_of(offset_bytes));
        let stripe_bytes = self.arrangement.layout.stripe_bytes();
        if let Some(cache) = &mut self.controllers[controller as usize].write_cache {
            cache.apply_skipped_write(offset_bytes, length_bytes, |byte| stripe_at(byte, stripe_bytes));
        }
    }

    /// Cached writes of a stripe are on the drives: others find room.
    pub(super) fn stripe_is_written(&mut self, controller: u32, blocks: u64) {
        let index = controller as usize;
        if let Some(cache) = &mut self.controllers[index].write_cache {
            cache.stripe_is_written(blocks);
        }
        loop {
            let Some(cache) = &mut self.controllers[index].write_cache else { return };
            let tasks = &self.tasks;
            let extent_of = |tag: u32| {
                let io = tasks.io(tag);
                (io.offset_bytes, u64::from(io.length_bytes))
            };
            let Some(tag) = cache.admit_next(extent_of) else { break };
            let io = self.tasks.io(tag);
            self.answer_cached_write(tag, &io);
        }
        self.destage(controller);
    }

    /// Sends for what is to be read ahead.
    pub(super) fn fetch_ahead(&mut self, controller: u32) {
        let mut fetches = std::mem::take(&mut self.fetches);
        for (chunk, offset, length) in fetches.drain(..) {
            self.controllers[controller as usize].tally.read_ahead_bytes += length;
            let task = self.tasks.open(TaskKind::ReadAhead { controller, chunk });
            self.read_from_drives(task, offset, length);
        }
        self.fetches = fetches;
    }

    /// A chunk that was read ahead has come: those who waited for it are answered.
    pub(super) fn has_read_ahead(&mut self, controller: u32, chunk: u32) {
        let Some(read_ahead) = &mut self.controllers[controller as usize].read_ahead else { return };
        let mut ready = Vec::new();
        read_ahead.has_come(chunk, |tag| ready.push(tag));
        for tag in ready {
            self.answer_read(tag);
        }
    }
}
