//! Background work of caches: cached writes go to the drives, stripe by stripe, and sequential readers are read ahead of.

use load::Direction;

use super::Model;
use super::command::{Command, TaskKind};
use super::set::{set_at, stripe_at};

impl Model {
    /// Puts as many stripes on the drives as are due and may be under way.
    pub(super) fn destage(&mut self, owner: u16) {
        loop {
            let Some(cache) = &mut self.controllers[usize::from(owner)].write_cache else { return };
            if !cache.is_due() {
                return;
            }
            let mut extents = self.spare_extents.pop().unwrap_or_default();
            let sets = &self.sets;
            let Some(blocks) = cache.take_stripe(|byte| stripe_at(sets, byte), &mut extents) else {
                self.spare_extents.push(extents);
                return;
            };
            let first = extents.first().map_or(0, |&(address, _)| address);
            let set = set_at(sets, first);
            for (address, _) in &mut extents {
                *address -= sets[set].first_address;
            }
            let index = self.background(TaskKind::Destage, set, extents[0].0, owner);
            self.work_of(index).extents = extents;
            self.work_of(index).blocks = blocks;
            self.crowding.enter();
            self.begin_write(index);
        }
    }

    /// A write of skipped time is cached, and as many blocks as it adds are destaged.
    pub(super) fn destage_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        let entry = self.entry_of(0);
        let Some(first) = entry.volumes.partition_point(|&(start, _)| start <= offset_bytes).checked_sub(1)
        else {
            return;
        };
        let (start, number) = entry.volumes[first];
        let volume = &self.volumes[number as usize];
        let offset_bytes = offset_bytes - start;
        let length_bytes = length_bytes.min(volume.bytes.saturating_sub(offset_bytes));
        let state = &self.sets[usize::from(volume.set)];
        let owner = u32::from(state.home) * self.controllers_per_node + u32::from(volume.preferred);
        let address = state.address(volume.offset_bytes + offset_bytes);
        let sets = &self.sets;
        if let Some(cache) = &mut self.controllers[owner as usize].write_cache
            && length_bytes > 0
        {
            cache.apply_skipped_write(address, length_bytes, |byte| stripe_at(sets, byte));
        }
    }

    /// Sends for what is to be read ahead of a reader of a set.
    pub(super) fn fetch_ahead(&mut self, owner: u16, set: u16) {
        let mut fetches = std::mem::take(&mut self.fetches);
        for (chunk, address, length_bytes) in fetches.drain(..) {
            self.controllers[usize::from(owner)].tally.read_ahead_bytes += length_bytes;
            let offset_bytes = address - self.sets[usize::from(set)].first_address;
            let index = self.background(TaskKind::ReadAhead, usize::from(set), offset_bytes, owner);
            let command = self.commands.get_mut(index);
            (command.direction, command.tag) = (Direction::Read, chunk);
            command.length_bytes = length_bytes as u32;
            self.begin_read(index);
        }
        self.fetches = fetches;
    }

    /// A chunk that was read ahead has come: those who waited for it are answered.
    pub(super) fn has_read_ahead(&mut self, index: u32) {
        let Command { owner, tag: chunk, .. } = self.commands.take(index);
        let mut ready = std::mem::take(&mut self.ready);
        if let Some(read_ahead) = &mut self.controllers[usize::from(owner)].read_ahead {
            read_ahead.has_come(chunk, |waiting| ready.push(waiting));
        }
        for waiting in ready.drain(..) {
            self.has_read(waiting);
        }
        self.ready = ready;
    }

    /// Cached writes of a stripe are on the drives: others find room.
    pub(super) fn has_destaged(&mut self, index: u32, owner: u16) {
        self.crowding.leave();
        let blocks = self.work_of(index).blocks;
        let mut extents = std::mem::take(&mut self.work_of(index).extents);
        extents.clear();
        self.spare_extents.push(extents);
        self.commands.take(index);
        if let Some(cache) = &mut self.controllers[usize::from(owner)].write_cache {
            cache.stripe_is_written(blocks);
        }
        loop {
            let (commands, sets) = (&self.commands, &self.sets);
            let extent_of = |index: u32| {
                let command = commands.get(index);
                (
                    sets[usize::from(command.set)].address(command.offset_bytes),
                    u64::from(command.length_bytes),
                )
            };
            let Some(cache) = &mut self.controllers[usize::from(owner)].write_cache else { return };
            let Some(admitted) = cache.admit_next(extent_of) else { break };
            self.cached(admitted);
        }
        self.destage(owner);
    }
}
