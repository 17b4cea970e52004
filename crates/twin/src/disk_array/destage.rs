//! What a controller does on its own account: puts cached writes on the drives, and reads ahead.

use super::Model;
use super::work::Purpose;

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
            let work = self.works.open(Purpose::Destage { controller, blocks: 0 });
            let stripe_bytes = self.arrangement.layout.stripe_bytes();
            let background = self.works.background(work);
            match cache.take_stripe(|byte| stripe_at(byte, stripe_bytes), &mut background.extents) {
                Some(blocks) => background.purpose = Purpose::Destage { controller, blocks },
                None => {
                    self.works.close(work);
                    return;
                }
            }
            self.begin_write(work);
        }
    }

    /// A write in time that is not simulated: it is cached, and as much as it brings goes to the drives.
    pub(super) fn carry_destaged(&mut self, offset_bytes: u64, length_bytes: u64) {
        let controller = self.failover.current_owner(self.controller_of(offset_bytes));
        let stripe_bytes = self.arrangement.layout.stripe_bytes();
        if let Some(cache) = &mut self.controllers[controller as usize].write_cache {
            cache.carry_written(offset_bytes, length_bytes, |byte| stripe_at(byte, stripe_bytes));
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
            let works = &self.works;
            let extent_of = |tag: u32| {
                let io = works.io(tag);
                (io.offset_bytes, u64::from(io.length_bytes))
            };
            let Some(tag) = cache.admit_next(extent_of) else { break };
            let io = self.works.io(tag);
            self.answer_cached_write(tag, &io);
        }
        self.destage(controller);
    }

    /// Sends for what is to be read ahead.
    pub(super) fn fetch_ahead(&mut self, controller: u32) {
        let mut fetches = std::mem::take(&mut self.fetches);
        for (chunk, offset, length) in fetches.drain(..) {
            self.controllers[controller as usize].tally.read_ahead_bytes += length;
            let work = self.works.open(Purpose::ReadAhead { controller, chunk });
            self.read_from_drives(work, offset, length);
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
