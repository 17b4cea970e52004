//! Segments of a disk's buffer, and a filter that tells quickly that none has a byte.

/// Cells of the filter, in which stretches of the disk are counted.
const CELLS: usize = 512;

/// Stretch of the disk that the buffer holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Segment {
    first_byte: u64,
    end_byte: u64,
}

/// Segments, the one written longest ago replaced first.
///
/// A random read finds nothing, and would look at every segment for it. So the disk is cut into stretches that a segment touches two of
/// at most, and each cell counts the segments that touch one of its stretches: where it counts none, none has a byte of them.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    segments: Box<[Segment]>,
    next: usize,
    /// log2 of the bytes of a stretch.
    stretch_shift: u32,
    cells: Box<[u16; CELLS]>,
}

impl Segments {
    /// So many empty segments of at most `segment_bytes`.
    pub fn new(count: u32, segment_bytes: u64) -> Segments {
        Segments {
            segments: vec![Segment::default(); count as usize].into(),
            next: 0,
            stretch_shift: segment_bytes.max(1).next_power_of_two().trailing_zeros(),
            cells: Box::new([0; CELLS]),
        }
    }

    /// Returns whether there are any.
    pub fn is_on(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Replaces the segment written longest ago.
    pub fn keep(&mut self, first_byte: u64, end_byte: u64) {
        self.set(self.next, Segment { first_byte, end_byte });
        self.next = (self.next + 1) % self.segments.len();
    }

    /// Returns whether one segment has all of a range.
    pub fn holds(&self, first_byte: u64, end_byte: u64) -> bool {
        if self.cells[self.cell(first_byte >> self.stretch_shift)] == 0 {
            return false;
        }
        let has_all = |segment: &Segment| segment.first_byte <= first_byte && end_byte <= segment.end_byte;
        // The newest first: a stream reads what was read ahead last.
        let (newer, older) = self.segments.split_at(self.next);
        newer.iter().rev().chain(older.iter().rev()).any(has_all)
    }

    /// Empties the segments that have some of a range.
    pub fn forget(&mut self, first_byte: u64, end_byte: u64) {
        if self.stretches(Segment { first_byte, end_byte }).all(|stretch| self.cells[self.cell(stretch)] == 0)
        {
            return;
        }
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if first_byte < segment.end_byte && segment.first_byte < end_byte {
                self.set(index, Segment::default());
            }
        }
    }

    fn set(&mut self, index: usize, segment: Segment) {
        let before = std::mem::replace(&mut self.segments[index], segment);
        for stretch in self.stretches(before) {
            let cell = self.cell(stretch);
            self.cells[cell] -= 1;
        }
        for stretch in self.stretches(segment) {
            let cell = self.cell(stretch);
            self.cells[cell] += 1;
        }
    }

    /// Numbers of the stretches that a range touches.
    fn stretches(&self, range: Segment) -> std::ops::Range<u64> {
        if range.first_byte >= range.end_byte {
            return 0..0;
        }
        range.first_byte >> self.stretch_shift..((range.end_byte - 1) >> self.stretch_shift) + 1
    }

    /// Cell of a stretch, by Fibonacci hashing.
    #[inline]
    fn cell(&self, stretch: u64) -> usize {
        (stretch.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - CELLS.trailing_zeros())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that the filter never changes an answer: segments are held and forgotten as when each is looked at.
        #[test]
        fn answers_are_those_of_all_segments(
            steps in proptest::collection::vec((0u8..3, 0u64..1000, 1u64..300), 1..200),
            segment_bytes in 1u64..300,
        ) {
            let mut segments = Segments::new(4, segment_bytes);
            let mut plain = [(0, 0); 4];
            let mut next = 0;
            for (step, first, length) in steps {
                let end = first + length;
                match step {
                    0 => {
                        let end = end.min(first + segment_bytes);
                        segments.keep(first, end);
                        plain[next] = (first, end);
                        next = (next + 1) % 4;
                    }
                    1 => {
                        segments.forget(first, end);
                        for segment in &mut plain {
                            if first < segment.1 && segment.0 < end {
                                *segment = (0, 0);
                            }
                        }
                    }
                    _ => {
                        let held = plain.iter().any(|segment| segment.0 <= first && end <= segment.1);
                        prop_assert_eq!(segments.holds(first, end), held);
                    }
                }
            }
        }
    }
}
