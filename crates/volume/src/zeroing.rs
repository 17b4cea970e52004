//! Zeroing and discarding of ranges.

use crate::VolumeError;
use crate::journal_record::{Change, Record};
use crate::overlay::RUN_BYTES_LIMIT;
use crate::replay::{carry_out, sync_drives};
use crate::volume::Volume;

/// Writes of zeros that free less than this are ordinary writes.
const PUNCH_BYTES_MINIMUM: u64 = 1 << 20;
impl Volume {
    /// Gives up a range: whole stripes in it read as zeros from now on, durably; the rest stays as it is.
    pub fn trim(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let (first, end) = self.whole_stripes(offset_bytes, length_bytes);
        if first < end { self.zero_stripes(first, end) } else { Ok(()) }
    }

    /// Makes a range zero; whole stripes in it give their space back if `may_punch`.
    pub fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let (first, end) = self.whole_stripes(offset_bytes, length_bytes);
        let stripe_bytes = self.array().layout.stripe_bytes();
        if may_punch && first < end && (end - first) * stripe_bytes >= PUNCH_BYTES_MINIMUM {
            let (punch_start, punch_end) = (first * stripe_bytes, end * stripe_bytes);
            self.write_zero_bytes(offset_bytes, punch_start - offset_bytes)?;
            self.zero_stripes(first, end)?;
            self.write_zero_bytes(punch_end, offset_bytes + length_bytes - punch_end)?;
        } else {
            self.write_zero_bytes(offset_bytes, length_bytes)?;
        }
        if fua { self.journal.sync() } else { Ok(()) }
    }

    fn zero_stripes(&self, first: u64, end: u64) -> Result<(), VolumeError> {
        let array = self.array_alone();
        if array.moving.is_some() || array.lacks_writes() {
            // Part of a moving piece is in two places, and a drive that is stopped misses it; ordinary writes know
            // which counts, and who misses it.
            let stripe_bytes = array.layout.stripe_bytes();
            drop(array);
            self.write_zero_bytes(first * stripe_bytes, (end - first) * stripe_bytes)?;
            return self.journal.sync();
        }
        self.checkpoint_locked(&array)?;
        self.journal.append(&mut Record::zero_stripes(first, end))?;
        self.journal.sync()?;
        carry_out(&array.layout, &array.drives, &Change::ZeroStripes { first, end })?;
        sync_drives(&array.drives)?;
        self.journal.reset()
    }

    fn write_zero_bytes(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        let zeros = vec![0; length_bytes.min(RUN_BYTES_LIMIT as u64) as usize];
        let mut done = 0;
        while done < length_bytes {
            let count = (length_bytes - done).min(zeros.len() as u64);
            self.write_at(offset_bytes + done, &zeros[..count as usize], false)?;
            done += count;
        }
        Ok(())
    }

    /// The stripes that lie wholly inside a range.
    fn whole_stripes(&self, offset_bytes: u64, length_bytes: u64) -> (u64, u64) {
        let stripe_bytes = self.array().layout.stripe_bytes();
        (offset_bytes.div_ceil(stripe_bytes), (offset_bytes + length_bytes) / stripe_bytes)
    }
}
