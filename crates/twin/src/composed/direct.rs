//! Commands of one segment on whole sets of modules with nothing between: what their plans say, without making them.

use load::Direction;

use super::Model;
use super::drives::GroupDrives;

impl Model {
    /// When the data of a read of one segment is there; `None` where a plan must say what is read.
    #[inline]
    pub(super) fn read_directly(&mut self, index: u32) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        if !state.is_direct() {
            return None;
        }
        let (offset_bytes, length_bytes) = (command.offset_bytes, u64::from(command.length_bytes));
        let first = self.groups.first(state.set.group);
        let GroupDrives::Modules(modules) = &mut self.groups.drives[state.set.group] else { return None };
        let (now_ns, is_sequential) = (self.now_ns, command.is_sequential);
        if let Some(place) = state.set.layout.place_of(offset_bytes, length_bytes) {
            return Some(modules.read(
                now_ns,
                state.drive_in(place.drive) - first,
                length_bytes,
                is_sequential,
            ));
        }
        let mut done_ns = now_ns;
        state.set.layout.for_each_covered(offset_bytes, length_bytes, |piece| {
            let (drive, bytes) = (state.drive_in(piece.drive) - first, u64::from(piece.length_bytes));
            done_ns = done_ns.max(modules.read(now_ns, drive, bytes, is_sequential));
        });
        Some(done_ns)
    }

    /// When a write that follows others is in the modules: its data, and parity with the end of a stripe. `None` where a plan must
    /// say what is written.
    #[inline]
    pub(super) fn gather_directly(&mut self, index: u32) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        if !command.is_sequential || !self.maintains_parity || !state.is_direct() {
            return None;
        }
        let first = self.groups.first(state.set.group);
        let GroupDrives::Modules(modules) = &mut self.groups.drives[state.set.group] else { return None };
        let (now_ns, layout) = (self.now_ns, &state.set.layout);
        let mut done_ns = now_ns;
        layout.for_each_covered(command.offset_bytes, u64::from(command.length_bytes), |piece| {
            let mut write = |place, bytes| {
                done_ns = done_ns.max(modules.write(now_ns, state.drive_in(place) - first, bytes));
            };
            write(piece.drive, u64::from(piece.length_bytes));
            if piece.ends_stripe {
                write(piece.parity_drive, u64::from(layout.segment_bytes()));
            }
        });
        Some(done_ns)
    }

    /// When data and parity of a write to one segment are read, or written; `None` where a plan must say what they are.
    #[inline]
    pub(super) fn modify_directly(&mut self, index: u32, direction: Direction) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let is_small = command.kind.is_io() && !command.is_sequential;
        if !is_small || self.computes_parity || !self.maintains_parity || !state.is_direct() {
            return None;
        }
        let bytes = u64::from(command.length_bytes);
        let [data, parity] = state.set.layout.modified_places(command.offset_bytes, bytes)?;
        let first = self.groups.first(state.set.group);
        let (data, parity) = (state.drive_in(data.drive) - first, state.drive_in(parity.drive) - first);
        let GroupDrives::Modules(modules) = &mut self.groups.drives[state.set.group] else { return None };
        let now_ns = self.now_ns;
        let mut carry_out = |drive: u32| match direction {
            Direction::Read => modules.read(now_ns, drive, bytes, false),
            Direction::Write | Direction::Trim => modules.write(now_ns, drive, bytes),
        };
        let data_ns = carry_out(data);
        Some(data_ns.max(carry_out(parity)))
    }
}
