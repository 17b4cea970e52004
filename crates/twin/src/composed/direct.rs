//! Commands of one segment on whole sets of drives that answer at once, with nothing between: what their plans say, without making
//! them.

use layout::{Place, Redundancy};
use load::Direction;

use super::Model;
use super::command::Marks;
use super::drives::GroupDrives;
use crate::drive::disk::DiskCommand;
use crate::drive::flash::translation::Temperature;

impl Model {
    /// Returns when the data of a read of one segment, or on modules of several, is there; `None` where a plan must say
    /// what is read.
    #[inline]
    pub(super) fn read_directly(&mut self, index: u32) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        if !state.is_direct() {
            return None;
        }
        let (offset_bytes, length_bytes) = (command.offset_bytes, u64::from(command.length_bytes));
        let layout = &state.set.layout;
        let first = self.groups.first(state.set.group);
        let (now_ns, is_sequential) = (self.now_ns, command.is_sequential);
        match &mut self.groups.drives[state.set.group] {
            GroupDrives::Modules(modules) => {
                if let Some(place) = layout.place_of(offset_bytes, length_bytes) {
                    let drive = state.drive_in(place.drive) - first;
                    return Some(modules.read(now_ns, drive, length_bytes, is_sequential));
                }
                let mut done_ns = now_ns;
                layout.for_each_covered(offset_bytes, length_bytes, |piece| {
                    let (drive, bytes) = (state.drive_in(piece.drive) - first, u64::from(piece.length_bytes));
                    done_ns = done_ns.max(modules.read(now_ns, drive, bytes, is_sequential));
                });
                Some(done_ns)
            }
            GroupDrives::HardDisks(disks) => {
                // Which mirror is read is for a plan.
                if matches!(layout.redundancy(), Redundancy::Copies(2..)) {
                    return None;
                }
                let place = layout.place_of(offset_bytes, length_bytes)?;
                let part = DiskCommand {
                    direction: Direction::Read,
                    offset_bytes: state.set.base_bytes + place.offset_bytes,
                    length_bytes: command.length_bytes,
                };
                Some(disks.serve(now_ns, state.drive_in(place.drive) - first, part))
            }
            GroupDrives::SolidStates(drives) => {
                if matches!(layout.redundancy(), Redundancy::Copies(2..)) {
                    return None;
                }
                let place = layout.place_of(offset_bytes, length_bytes)?;
                let drive = &mut drives.drives[(state.drive_in(place.drive) - first) as usize];
                let at_bytes = state.set.base_bytes + place.offset_bytes;
                Some(drive.read(now_ns, at_bytes, command.length_bytes))
            }
        }
    }

    /// Returns when a write that follows others is in the modules: its data, and parity with the end of a stripe.
    /// `None` where a plan must say what is written.
    #[inline]
    pub(super) fn gather_directly(&mut self, index: u32) -> Option<u64> {
        let command = self.commands.get(index);
        if !command.is_sequential || !self.maintains_parity {
            return None;
        }
        let state = &self.sets[usize::from(command.set)];
        if !state.is_direct() {
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

    /// Returns when data and parity of a write to one segment are read, or written; `None` where a plan must say what
    /// they are.
    #[inline]
    pub(super) fn modify_directly(&mut self, index: u32, direction: Direction) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let is_small = command.kind.is_io() && !command.is_sequential && !command.marks.has(Marks::FIRST);
        if !is_small || !self.maintains_parity || !state.is_direct() {
            return None;
        }
        let length_bytes = command.length_bytes;
        let [data, parity] =
            state.set.layout.modified_places(command.offset_bytes, u64::from(length_bytes))?;
        let first = self.groups.first(state.set.group);
        let drives = &mut self.groups.drives[state.set.group];
        let now_ns = self.now_ns;
        let mut carry_out = |place: Place, temperature: Temperature| {
            let drive = state.drive_in(place.drive) - first;
            match drives {
                GroupDrives::Modules(modules) if direction == Direction::Read => {
                    modules.read(now_ns, drive, u64::from(length_bytes), false)
                }
                GroupDrives::Modules(modules) => modules.write(now_ns, drive, u64::from(length_bytes)),
                GroupDrives::HardDisks(disks) => {
                    let offset_bytes = state.set.base_bytes + place.offset_bytes;
                    disks.serve(now_ns, drive, DiskCommand { direction, offset_bytes, length_bytes })
                }
                GroupDrives::SolidStates(drives) => {
                    let drive = &mut drives.drives[drive as usize];
                    let offset_bytes = state.set.base_bytes + place.offset_bytes;
                    match direction {
                        Direction::Read => drive.read(now_ns, offset_bytes, length_bytes),
                        _ => drive.write(now_ns, offset_bytes, length_bytes, temperature),
                    }
                }
            }
        };
        let data_ns = carry_out(data, Temperature::Cold);
        Some(data_ns.max(carry_out(parity, Temperature::Hot)))
    }

    /// Returns when a write to one segment without any redundancy is in a solid-state drive; `None` where a plan must
    /// say what is written.
    #[inline]
    pub(super) fn write_directly(&mut self, index: u32) -> Option<u64> {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let is_plain = matches!(state.set.layout.redundancy(), Redundancy::Copies(1) | Redundancy::Parity(0));
        if !is_plain || !command.kind.is_io() || !state.is_direct() {
            return None;
        }
        let length_bytes = command.length_bytes;
        let place = state.set.layout.place_of(command.offset_bytes, u64::from(length_bytes))?;
        let first = self.groups.first(state.set.group);
        let GroupDrives::SolidStates(drives) = &mut self.groups.drives[state.set.group] else { return None };
        let drive = &mut drives.drives[(state.drive_in(place.drive) - first) as usize];
        let at_bytes = state.set.base_bytes + place.offset_bytes;
        Some(drive.write(self.now_ns, at_bytes, length_bytes, Temperature::Cold))
    }
}
