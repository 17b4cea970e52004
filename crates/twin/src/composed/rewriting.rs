//! Ranges that are written over and over in no time: what a long load leaves of solid-state drives
//! (workload dependent preconditioning of the SNIA Solid State Storage Performance Test Specification 2.0.2).

use std::collections::BTreeMap;

use layout::{DriveIndex, Layout};

use super::Model;
use super::drives::GroupDrives;
use super::solid_states::SolidStates;

/// Sums of the mapping units of solid-state drives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlashUnits {
    /// Units that the drives were given to write.
    pub given: u64,
    /// Units that collection moved.
    pub moved: u64,
}

impl FlashUnits {
    /// Returns what was added since sums of before.
    pub fn since(self, before: FlashUnits) -> FlashUnits {
        FlashUnits { given: self.given - before.given, moved: self.moved - before.moved }
    }
}

impl Model {
    /// Returns the least share of a solid-state drive that a range of what a job addresses takes, for [`Model::rewrite_in_order`];
    /// `None` where that cannot write it: a volume lies elsewhere, its stripes are not in rows over all drives of their set, or a data
    /// service comes between.
    pub fn share_of_drives(&self, job: u32, offset_bytes: u64, length_bytes: u64) -> Option<f64> {
        if self.chain.is_some() || self.services.is_some() || length_bytes == 0 {
            return None;
        }
        let mut shares: BTreeMap<u16, f64> = BTreeMap::new();
        for (set, (first_bytes, end_bytes)) in self.rows_of(job, offset_bytes, length_bytes) {
            let state = &self.sets[usize::from(set)];
            let GroupDrives::SolidStates(drives) = &self.groups.drives[state.set.group] else { return None };
            if !state.set.layout.has_rows() {
                return None;
            }
            *shares.entry(set).or_default() +=
                (end_bytes - first_bytes) as f64 / drives.capacity_bytes() as f64;
        }
        shares.into_values().reduce(f64::min)
    }

    /// Writes a range of what a job addresses once, in order, each stripe with its parity or its copies.
    pub fn rewrite_in_order(&mut self, job: u32, offset_bytes: u64, length_bytes: u64) {
        self.rewrite(job, (offset_bytes, length_bytes), SolidStates::apply_skipped_sequential);
    }

    /// Writes to a range of what a job addresses at random, each of the drives that have it for `drive_writes` times what it holds.
    pub fn rewrite_at_random(&mut self, job: u32, offset_bytes: u64, length_bytes: u64, drive_writes: f64) {
        self.rewrite(job, (offset_bytes, length_bytes), |drives, drive, offset_bytes, length_bytes| {
            drives.rewrite_at_random(drive, (offset_bytes, length_bytes), drive_writes);
        });
    }

    /// Lets each drive that has something of a range write its part: a drive's number in its group, the first byte and how many.
    fn rewrite(
        &mut self,
        job: u32,
        (offset_bytes, length_bytes): (u64, u64),
        write: impl Fn(&mut SolidStates, u32, u64, u64),
    ) {
        self.prepare();
        for (set, (first_bytes, end_bytes)) in self.rows_of(job, offset_bytes, length_bytes) {
            let state = &mut self.sets[usize::from(set)];
            let stripe_bytes = state.set.layout.stripe_bytes();
            let row_bytes = u64::from(state.set.layout.segment_bytes());
            state.claim_parity(
                first_bytes / row_bytes * stripe_bytes,
                (end_bytes - first_bytes) / row_bytes * stripe_bytes,
            );
            let first = self.groups.first(state.set.group);
            let GroupDrives::SolidStates(drives) = &mut self.groups.drives[state.set.group] else { continue };
            for place in 0..state.set.layout.drives() {
                let drive = state.drive_in(place as DriveIndex) - first;
                write(drives, drive, state.set.base_bytes + first_bytes, end_bytes - first_bytes);
            }
        }
    }

    /// Parts of a range on the sets that have it: the bytes that each takes on every drive of its set.
    fn rows_of(&self, job: u32, offset_bytes: u64, length_bytes: u64) -> Vec<(u16, (u64, u64))> {
        let entry = self.entry_of(job);
        let end_bytes = offset_bytes + length_bytes;
        let on_volumes: Vec<(u32, (u64, u64))> = match &entry.stripe {
            Some(stripe) => {
                let rows = rows(stripe, (offset_bytes, end_bytes));
                entry.volumes.iter().map(|&(_, volume)| (volume, rows)).collect()
            }
            None => self.parts_on_volumes(entry, offset_bytes, length_bytes).collect(),
        };
        (on_volumes.into_iter())
            .filter_map(|(volume, (first, end))| {
                let volume = &self.volumes[volume as usize];
                let end = end.min(volume.bytes);
                let layout = &self.sets[usize::from(volume.set)].set.layout;
                let in_set = (volume.offset_bytes + first, volume.offset_bytes + end);
                (first < end).then(|| (volume.set, rows(layout, in_set)))
            })
            .collect()
    }

    /// Returns what its solid-state drives were given and moved, as their sampled translations stand for it.
    pub fn flash_units(&self) -> FlashUnits {
        let mut sum = FlashUnits::default();
        for drives in &self.groups.drives {
            let GroupDrives::SolidStates(group) = drives else { continue };
            for drive in &group.drives {
                let (counted, stride) = (drive.translation_counters(), u64::from(drive.sample_stride()));
                sum.given += counted.host_units * stride;
                sum.moved += counted.moved_units * stride;
            }
        }
        sum
    }
}

/// Bytes on each drive of a layout that has rows, of those from one byte to another: from the first row that it touches to the last, which
/// belongs to what comes next, so that parts of a range that follow one another write each row once.
fn rows(layout: &Layout, (first_bytes, end_bytes): (u64, u64)) -> (u64, u64) {
    let row_bytes = u64::from(layout.segment_bytes());
    let stripe_bytes = layout.stripe_bytes();
    (first_bytes / stripe_bytes * row_bytes, end_bytes / stripe_bytes * row_bytes)
}
