//! The rows of a stripe that one contiguous write touches alike.
//!
//! A write that begins inside one segment and ends inside another covers different columns on different rows of
//! the stripe. Parity is made row by row, so each run of rows with the same columns (a band, three at most) is
//! updated in its own cheapest way, as Linux md does page by page.

/// Rows `low..high` (bytes inside a segment) of data columns `first..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    /// First row.
    pub low: u32,
    /// The row after the last.
    pub high: u32,
    /// First data column.
    pub first: u32,
    /// The column after the last.
    pub end: u32,
}

impl Band {
    /// Returns the number of data columns that the band covers.
    pub fn columns(&self) -> u32 {
        self.end - self.first
    }

    /// Returns true if the band covers a data column.
    #[inline]
    pub fn covers(&self, column: u32) -> bool {
        (self.first..self.end).contains(&column)
    }
}

/// The bands of one contiguous range of a stripe, by rising row.
#[derive(Debug, Clone, Copy)]
pub struct Bands {
    bands: [Band; 3],
    count: usize,
}

impl Bands {
    /// Cuts `length_bytes` (at least 1) from `from_bytes` of a stripe's data, in segments of `segment_bytes`.
    pub fn cut(from_bytes: u64, length_bytes: u64, segment_bytes: u32) -> Self {
        debug_assert!(length_bytes > 0);
        let segment = u64::from(segment_bytes);
        let end_bytes = from_bytes + length_bytes;
        let first = (from_bytes / segment) as u32;
        let last = ((end_bytes - 1) / segment) as u32;
        let from_row = (from_bytes % segment) as u32;
        let end_row = (end_bytes - u64::from(last) * segment) as u32;
        let nothing = Band { low: 0, high: 0, first: 0, end: 0 };
        let mut cut = Bands { bands: [nothing; 3], count: 0 };
        if first == last {
            cut.push(Band { low: from_row, high: end_row, first, end: last + 1 });
            return cut;
        }
        let (low, high) = (from_row.min(end_row), from_row.max(end_row));
        cut.push(Band { low: 0, high: low, first: first + 1, end: last + 1 });
        if from_row < end_row {
            cut.push(Band { low, high, first, end: last + 1 });
        } else {
            cut.push(Band { low, high, first: first + 1, end: last });
        }
        cut.push(Band { low: high, high: segment_bytes, first, end: last });
        cut
    }

    fn push(&mut self, band: Band) {
        if band.low < band.high && band.first < band.end {
            self.bands[self.count] = band;
            self.count += 1;
        }
    }

    /// The bands.
    pub fn as_slice(&self) -> &[Band] {
        &self.bands[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that the bands of a range cover each of its bytes once and no other byte, and that no two
        /// bands share a row.
        #[test]
        fn bands_cover_the_range_once(from in 0u64..64, length in 1u64..64, segment in 1u32..16) {
            let bands = Bands::cut(from, length, segment);
            let mut covered = vec![0u32; 200];
            for (index, band) in bands.as_slice().iter().enumerate() {
                for row in band.low..band.high {
                    for column in band.first..band.end {
                        covered[(column * segment + row) as usize] += 1;
                    }
                }
                for later in &bands.as_slice()[index + 1..] {
                    prop_assert!(band.high <= later.low);
                }
            }
            for (byte, &times) in covered.iter().enumerate() {
                let inside = (from..from + length).contains(&(byte as u64));
                prop_assert_eq!(times, u32::from(inside), "byte {}", byte);
            }
        }
    }
}
