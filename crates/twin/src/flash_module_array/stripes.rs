//! Where a piece of the array's address range lies: RAID 5, left-symmetric (rotating parity, data starting on the
//! drive after it), as Linux md and most hardware controllers do by default.

/// One contiguous piece of a command, on one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Drive that holds the data.
    pub drive: u32,
    /// Drive that holds the parity of the same stripe.
    pub parity_drive: u32,
    /// Bytes.
    pub length_bytes: u64,
    /// True where the piece ends its stripe.
    pub ends_stripe: bool,
}

/// RAID 5 over `members` drives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stripes {
    members: u64,
    /// Segments are powers of two, so that finding one is a shift.
    segment_shift: u32,
}

impl Stripes {
    pub fn new(members: u32, segment_bytes: u64) -> Self {
        debug_assert!(segment_bytes.is_power_of_two() && members >= 2);
        Stripes { members: u64::from(members), segment_shift: segment_bytes.trailing_zeros() }
    }

    /// Drives with data in each stripe.
    fn data_drives(&self) -> u64 {
        self.members - 1
    }

    /// The stripe that a byte lies in.
    #[inline]
    pub fn stripe_of(&self, offset_bytes: u64) -> u64 {
        (offset_bytes >> self.segment_shift) / self.data_drives()
    }

    /// What the whole set holds, given the size of one drive: whole stripes only.
    pub fn capacity_bytes(&self, drive_bytes: u64) -> u64 {
        ((drive_bytes >> self.segment_shift) * self.data_drives()) << self.segment_shift
    }

    /// Calls `visit` with every piece of a range, in order.
    #[inline]
    pub fn for_each_piece(&self, offset_bytes: u64, length_bytes: u64, mut visit: impl FnMut(Piece)) {
        let end_bytes = offset_bytes + length_bytes;
        let mut at = offset_bytes;
        while at < end_bytes {
            let segment = at >> self.segment_shift;
            let stripe = segment / self.data_drives();
            let place = segment % self.data_drives();
            let parity_drive = self.members - 1 - stripe % self.members;
            let drive = (parity_drive + 1 + place) % self.members;
            let segment_end = (segment + 1) << self.segment_shift;
            let piece_end = end_bytes.min(segment_end);
            visit(Piece {
                drive: drive as u32,
                parity_drive: parity_drive as u32,
                length_bytes: piece_end - at,
                ends_stripe: piece_end == segment_end && place + 1 == self.data_drives(),
            });
            at = piece_end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that over any run of stripes every drive holds the same amount of data and of parity, that parity
    /// never shares a drive with its data, and that pieces add up to the range.
    #[test]
    fn data_and_parity_rotate_over_all_drives() {
        let stripes = Stripes::new(7, 4096);
        let mut data = [0u64; 7];
        let mut parity = [0u64; 7];
        let whole = 7 * 6 * 4096;
        stripes.for_each_piece(0, whole, |piece| {
            assert_ne!(piece.drive, piece.parity_drive);
            data[piece.drive as usize] += piece.length_bytes;
            parity[piece.parity_drive as usize] += u64::from(piece.ends_stripe);
        });
        assert_eq!(data, [6 * 4096; 7]);
        assert_eq!(parity, [1; 7]);
        let mut lengths = Vec::new();
        stripes.for_each_piece(4096 - 512, 4096 + 1024, |piece| lengths.push(piece.length_bytes));
        assert_eq!(lengths, [512, 4096, 512]);
        assert_eq!(stripes.capacity_bytes(10 * 4096 + 511), 60 * 4096);
        assert_eq!(stripes.stripe_of(6 * 4096), 1);
    }
}
