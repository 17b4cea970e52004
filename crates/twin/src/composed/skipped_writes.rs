//! Writes of skipped time on solid-state drives.

use super::drives::GroupDrives;
use super::{Entry, Model};

impl Model {
    /// A range is written in order, in time that is not simulated: its stripes have parity from then on, and data and parity are
    /// written once.
    pub(super) fn write_skipped(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.has_skipped_ranges = true;
        let entry = self.entry_of(0);
        let mut parts = Vec::new();
        match &entry.stripe {
            Some(stripe) => {
                let unit_bytes = u64::from(stripe.segment_bytes());
                let (mut at_bytes, end_bytes) = (offset_bytes, offset_bytes + length_bytes);
                while at_bytes < end_bytes {
                    let piece_bytes = (unit_bytes - at_bytes % unit_bytes).min(end_bytes - at_bytes);
                    if let Some(place) = stripe.place_of(at_bytes, piece_bytes) {
                        let volume = entry.volumes[usize::from(place.drive)].1;
                        parts.push((volume, place.offset_bytes, piece_bytes));
                    }
                    at_bytes += piece_bytes;
                }
            }
            None => {
                let whole = self.parts_on_volumes(entry, offset_bytes, length_bytes);
                parts.extend(whole.map(|(volume, (first, end))| (volume, first, end - first)));
            }
        }
        for (volume, offset_bytes, length_bytes) in parts {
            let volume = &self.volumes[volume as usize];
            let (set, offset_bytes) = (volume.set, volume.offset_bytes + offset_bytes);
            self.write_skipped_to_set(set, offset_bytes, length_bytes);
        }
    }

    /// Parts of a range on volumes that follow one another: the volume of each, and its first byte and the byte after its last there.
    pub(super) fn parts_on_volumes<'a>(
        &'a self,
        entry: &'a Entry,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> impl Iterator<Item = (u32, (u64, u64))> + 'a {
        let end_bytes = offset_bytes + length_bytes;
        entry.volumes.iter().filter_map(move |&(start, volume)| {
            let bytes = self.volumes[volume as usize].bytes;
            let (first, end) = (offset_bytes.max(start), end_bytes.min(start + bytes));
            (first < end).then(|| (volume, (first - start, end - start)))
        })
    }

    fn write_skipped_to_set(&mut self, set: u16, offset_bytes: u64, length_bytes: u64) {
        self.sets[usize::from(set)].claim_parity(offset_bytes, length_bytes);
        if !self.plan_write(set, (offset_bytes, length_bytes), false, false) {
            return;
        }
        let state = &self.sets[usize::from(set)];
        let first = self.groups.first(state.set.group);
        let GroupDrives::SolidStates(drives) = &mut self.groups.drives[state.set.group] else { return };
        for io in self.plan.writes() {
            let offset_bytes = state.set.base_bytes + io.offset_bytes;
            let drive = state.drive_in(io.drive) - first;
            drives.apply_skipped_sequential(drive, offset_bytes, u64::from(io.length_bytes));
        }
    }
}
