//! Writes of skipped time.

use super::Model;

impl Model {
    /// A range is written in order, in time that is not simulated.
    pub(super) fn apply_skipped_sequential(&mut self, offset_bytes: u64, length_bytes: u64) {
        let unit_bytes = u64::from(self.stripe.segment_bytes());
        let end_bytes = offset_bytes + length_bytes;
        let mut at_bytes = offset_bytes;
        while at_bytes < end_bytes {
            let piece_bytes = (unit_bytes - at_bytes % unit_bytes).min(end_bytes - at_bytes);
            self.stripe.map(at_bytes, piece_bytes, &mut self.plan);
            for piece in self.plan.reads().to_vec() {
                let first = u64::from(piece.drive) * self.lun_bytes + piece.offset_bytes;
                self.apply_skipped_group_write(first, u64::from(piece.length_bytes));
            }
            at_bytes += piece_bytes;
        }
    }

    /// A range of the RAID set is written in order: its stripes have parity from then on, and data and parity are written once.
    fn apply_skipped_group_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        let (first, _) = self.set.stripe_of(offset_bytes);
        let (last, _) = self.set.stripe_of(offset_bytes + length_bytes - 1);
        for stripe in first..=last {
            if let Some(word) = self.without_parity.get_mut((stripe / 64) as usize) {
                *word &= !(1 << (stripe % 64));
            }
        }
        let _ = self.set.write(offset_bytes, length_bytes, &self.recovery.loss, &mut self.plan);
        self.drives.apply_skipped_sequential(self.plan.writes());
    }
}
