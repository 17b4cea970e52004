//! The segments that a range touches in a layout with one parity, each with its parity's drive: for models that time
//! drives and need neither addresses nor lists of I/Os.

use crate::{DriveIndex, Layout};

/// Part of a segment that a range covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveredSegment {
    /// The stripe that it belongs to.
    pub stripe: u64,
    /// The drive that it lies on.
    pub drive: DriveIndex,
    /// The drive of the stripe's first parity.
    pub parity_drive: DriveIndex,
    /// Bytes of it that are covered.
    pub length_bytes: u32,
    /// True if these go to the end of the stripe's data.
    pub ends_stripe: bool,
}

impl Layout {
    /// Calls `visit` with every segment of a range within the capacity, in order. The layout has parity.
    #[inline]
    pub fn for_each_covered(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        mut visit: impl FnMut(CoveredSegment),
    ) {
        self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length_bytes| {
            let located = self.row(stripe);
            visit(CoveredSegment {
                stripe,
                drive: self.place_in(&located, column).drive,
                parity_drive: self.place_in(&located, self.data).drive,
                length_bytes,
                ends_stripe: column + 1 == self.data
                    && row + u64::from(length_bytes) == u64::from(self.segment_bytes),
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layout, Raid, Rotation};

    /// Proves that over any run of stripes every drive holds the same amount of data and of parity, that parity
    /// never shares a drive with its data, and that what is covered adds up to the range.
    #[test]
    fn data_and_parity_rotate_over_all_drives() {
        let raid = Raid { drives: 7, drive_capacity_bytes: 70 * 4096, segment_bytes: 4096 };
        let set = Layout::raid5(raid, Rotation::LeftSymmetric).unwrap();
        let mut data = [0u32; 7];
        let mut parity = [0u32; 7];
        set.for_each_covered(0, 7 * 6 * 4096, |covered| {
            assert_ne!(covered.drive, covered.parity_drive);
            data[usize::from(covered.drive)] += covered.length_bytes;
            parity[usize::from(covered.parity_drive)] += u32::from(covered.ends_stripe);
        });
        assert_eq!(data, [6 * 4096; 7]);
        assert_eq!(parity, [1; 7]);
        let mut covered = Vec::new();
        set.for_each_covered(6 * 4096 - 512, 4096 + 1024, |one| {
            covered.push((one.stripe, one.length_bytes, one.ends_stripe));
        });
        assert_eq!(covered, [(0, 512, true), (1, 4096, false), (1, 512, false)]);
    }
}
