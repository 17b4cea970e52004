//! Striping of a load over targets.

use crate::{OpenTarget, RingError};

/// The most targets of a stripe.
pub const TARGETS_LIMIT: usize = 256;

/// The chunk of a stripe over targets: as asked for, or a whole target, so that one comes after the other. It is that of
/// the smallest.
pub fn stripe_chunk_bytes(targets: &[OpenTarget], asked_bytes: Option<u64>) -> u64 {
    let whole = targets.iter().map(|target| {
        let unit = u64::from(target.alignment_bytes().max(1));
        target.capacity_bytes() / unit * unit
    });
    asked_bytes.unwrap_or_else(|| whole.min().unwrap_or_default())
}

/// A contiguous piece of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of the target.
    pub target: u32,
    /// First byte there.
    pub offset_bytes: u64,
    /// First byte within the operation.
    pub within_bytes: u32,
    /// Length.
    pub length_bytes: u32,
}

/// RAID 0 over the targets, in the order given; with one target, the target itself.
#[derive(Debug, Clone)]
pub(crate) struct Striping {
    targets: u64,
    chunk_bytes: u64,
    capacity_bytes: u64,
}

impl Striping {
    pub fn new(targets: &[OpenTarget], chunk_bytes: u64) -> Result<Striping, RingError> {
        if targets.is_empty() || targets.len() > TARGETS_LIMIT {
            return Err(RingError::refused(
                format!("{} targets were given", targets.len()),
                "name 1 to 256 targets",
            ));
        }
        let smallest = targets.iter().map(OpenTarget::capacity_bytes).min().unwrap_or(0);
        if let [only] = targets {
            return Ok(Striping { targets: 1, chunk_bytes: u64::MAX, capacity_bytes: only.capacity_bytes() });
        }
        let alignment = targets.iter().map(|target| u64::from(target.alignment_bytes())).max().unwrap_or(512);
        if chunk_bytes == 0 || !chunk_bytes.is_multiple_of(alignment) || chunk_bytes > smallest {
            return Err(RingError::refused(
                format!(
                    "a stripe's chunk of {chunk_bytes} bytes does not fit targets of {smallest} bytes with blocks of {alignment}"
                ),
                "use a multiple of the target's block size, not larger than a target, such as 64k",
            ));
        }
        let targets = targets.len() as u64;
        Ok(Striping { targets, chunk_bytes, capacity_bytes: smallest / chunk_bytes * chunk_bytes * targets })
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The most extents that an operation of this length can fall into.
    pub fn extents_at_most(&self, length_bytes: u32) -> u64 {
        if self.targets == 1 { 1 } else { u64::from(length_bytes).div_ceil(self.chunk_bytes) + 1 }
    }

    /// Calls `on_extent` for each piece of a range, in order.
    #[inline]
    pub fn extents(&self, offset_bytes: u64, length_bytes: u32, mut on_extent: impl FnMut(Extent)) {
        // A wrong address must never reach a device, however it came about.
        assert!(
            offset_bytes.checked_add(u64::from(length_bytes)).is_some_and(|end| end <= self.capacity_bytes)
        );
        if self.targets == 1 {
            return on_extent(Extent { target: 0, offset_bytes, within_bytes: 0, length_bytes });
        }
        let mut within_bytes = 0;
        while within_bytes < length_bytes {
            let at = offset_bytes + u64::from(within_bytes);
            let (chunk, inside) = (at / self.chunk_bytes, at % self.chunk_bytes);
            let piece = (self.chunk_bytes - inside).min(u64::from(length_bytes - within_bytes)) as u32;
            on_extent(Extent {
                target: (chunk % self.targets) as u32,
                offset_bytes: chunk / self.targets * self.chunk_bytes + inside,
                within_bytes,
                length_bytes: piece,
            });
            within_bytes += piece;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(striping: &Striping, offset: u64, length: u32) -> Vec<(u32, u64, u32, u32)> {
        let mut found = Vec::new();
        striping.extents(offset, length, |extent| {
            found.push((extent.target, extent.offset_bytes, extent.within_bytes, extent.length_bytes));
        });
        found
    }

    /// Proves that a stripe puts chunk n on target n mod N at row n / N, splits at chunk borders, and uses every byte of
    /// every target once.
    #[test]
    fn chunks_go_round() {
        let striping = Striping { targets: 3, chunk_bytes: 4096, capacity_bytes: 4096 * 12 };
        assert_eq!(extents(&striping, 4096 * 4, 4096), [(1, 4096, 0, 4096)]);
        assert_eq!(
            extents(&striping, 4096 * 2 + 512, 8192),
            [(2, 512, 0, 3584), (0, 4096, 3584, 4096), (1, 4096, 7680, 512)]
        );
        let mut used = vec![vec![0u8; 4096 * 4]; 3];
        for start in (0..4096 * 12).step_by(1536) {
            for (target, offset, _, length) in extents(&striping, start, 1536) {
                used[target as usize][offset as usize..][..length as usize]
                    .iter_mut()
                    .for_each(|byte| *byte += 1);
            }
        }
        assert!(used.iter().flatten().all(|&count| count == 1));
        assert!(extents(&striping, 0, 4096 * 12).len() as u64 <= striping.extents_at_most(4096 * 12));
    }

    /// Proves that a range beyond the end reaches no device.
    #[test]
    #[should_panic(expected = "capacity_bytes")]
    fn beyond_the_end_is_nothing() {
        let striping = Striping { targets: 1, chunk_bytes: u64::MAX, capacity_bytes: 4096 };
        striping.extents(512, 4096, |_| unreachable!("handed on"));
    }
}
