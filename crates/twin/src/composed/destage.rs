//! Destage: cached writes go to the drives, stripe by stripe.

use super::Model;
use super::command::TaskKind;
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
            self.begin_write(index);
        }
    }

    /// Cached writes of a stripe are on the drives: others find room.
    pub(super) fn has_destaged(&mut self, index: u32, owner: u16) {
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
