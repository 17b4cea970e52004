//! The disk's buffer: segments that were read ahead, and writes that were acknowledged but not yet written.

use std::collections::BTreeMap;

use super::segments::Segments;

/// Unwritten extents among which a destage chooses, in order of address from where the last one ended.
const DESTAGE_LOOKAHEAD: usize = 16;

/// Neighbouring unwritten extents are written together up to this size.
const DESTAGE_LIMIT_BYTES: u32 = 1 << 20;

/// A segment that still grows while the arm stays where the last read ended.
#[derive(Debug, Clone, Copy)]
struct Growing {
    first_byte: u64,
    /// End of what was there at `since_ns`.
    end_byte: u64,
    limit_byte: u64,
    since_ns: u64,
    ns_per_byte: f64,
}

impl Growing {
    fn end_at(&self, at_ns: u64) -> u64 {
        let bytes = (at_ns.saturating_sub(self.since_ns) as f64 / self.ns_per_byte) as u64;
        (self.end_byte + bytes).min(self.limit_byte)
    }
}

/// Read-ahead into segments, the one written longest ago replaced first.
#[derive(Debug, Clone)]
pub(super) struct ReadAhead {
    segments: Segments,
    segment_bytes: u64,
    growing: Option<Growing>,
}

impl ReadAhead {
    pub fn new(segments: u32, segment_bytes: u64) -> ReadAhead {
        ReadAhead { segments: Segments::new(segments, segment_bytes), segment_bytes, growing: None }
    }

    pub fn is_on(&self) -> bool {
        self.segments.is_on()
    }

    /// A read from the media has ended: the drive reads on.
    pub fn begin(&mut self, first_byte: u64, end_byte: u64, at_ns: u64, ns_per_byte: f64) {
        if self.is_on() {
            let limit_byte = end_byte + self.segment_bytes;
            self.growing = Some(Growing { first_byte, end_byte, limit_byte, since_ns: at_ns, ns_per_byte });
        }
    }

    /// The arm leaves: what was read ahead until now stays as a segment.
    pub fn stop(&mut self, at_ns: u64) {
        if let Some(growing) = self.growing.take() {
            let end_byte = growing.end_at(at_ns);
            let first_byte = growing.first_byte.max(end_byte.saturating_sub(self.segment_bytes));
            self.segments.keep(first_byte, end_byte);
        }
    }

    /// Returns when the buffer has these bytes: at once, or, where the arm is free to read on, once they have passed
    /// under it.
    pub fn data_ns(&mut self, now_ns: u64, offset: u64, length: u32, arm_is_free: bool) -> Option<u64> {
        let end = offset + u64::from(length);
        if let Some(growing) = &mut self.growing
            && growing.first_byte <= offset
            && end <= growing.limit_byte
        {
            if end <= growing.end_at(now_ns) {
                return Some(now_ns);
            }
            if arm_is_free {
                // Reading ahead was not held up by its limit as long as the host keeps following.
                let data_ns =
                    growing.since_ns + ((end - growing.end_byte) as f64 * growing.ns_per_byte) as u64;
                growing.limit_byte = growing.limit_byte.max(end + self.segment_bytes);
                return Some(data_ns);
            }
        }
        self.segments.holds(offset, end).then_some(now_ns)
    }

    /// Bytes were overwritten.
    pub fn forget(&mut self, offset: u64, length: u32) {
        let end = offset + u64::from(length);
        self.segments.forget(offset, end);
        if self.growing.is_some_and(|growing| offset < growing.limit_byte && growing.first_byte < end) {
            self.growing = None;
        }
    }
}

/// Acknowledged writes that are not on the media yet. Extents that start alike replace each other; other overlaps are
/// counted twice, which errs on the slow side.
#[derive(Debug, Clone)]
pub(super) struct DirtyData {
    limit_bytes: u64,
    /// Unwritten bytes, those on their way to the media included.
    bytes: u64,
    extents: BTreeMap<u64, u32>,
    sweep_byte: u64,
}

impl DirtyData {
    pub fn new(limit_bytes: u64) -> DirtyData {
        DirtyData { limit_bytes, bytes: 0, extents: BTreeMap::new(), sweep_byte: 0 }
    }

    pub fn is_on(&self) -> bool {
        self.limit_bytes > 0
    }

    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Returns whether more bytes may be acknowledged. A single write larger than the buffer is let in when that is
    /// empty.
    pub fn fits(&self, length: u32) -> bool {
        self.bytes == 0 || self.bytes + u64::from(length) <= self.limit_bytes
    }

    pub fn insert(&mut self, offset: u64, length: u32) {
        let extent = self.extents.entry(offset).or_insert(0);
        let grown = length.saturating_sub(*extent);
        *extent += grown;
        self.bytes += u64::from(grown);
    }

    pub fn holds(&self, offset: u64, length: u32) -> bool {
        let end = offset + u64::from(length);
        self.extents
            .range(..=offset)
            .next_back()
            .is_some_and(|(&first, &extent)| end <= first + u64::from(extent))
    }

    /// Takes the extent to write next: of the few that follow in order of address, the one that `reach_ns` says is
    /// reached first, with those that adjoin it. There is one.
    pub fn take_next(&mut self, reach_ns: impl Fn(u64) -> u64) -> (u64, u32) {
        let upward = self.extents.range(self.sweep_byte..);
        let from_start = self.extents.range(..self.sweep_byte);
        let first = upward
            .chain(from_start)
            .take(DESTAGE_LOOKAHEAD)
            .map(|(&offset, _)| offset)
            .min_by_key(|&offset| reach_ns(offset))
            .unwrap_or(0);
        let mut length = self.extents.remove(&first).unwrap_or(0);
        while let Some((&next, &more)) = self.extents.range(first + u64::from(length)..).next()
            && next == first + u64::from(length)
            && length + more <= DESTAGE_LIMIT_BYTES
        {
            self.extents.remove(&next);
            length += more;
        }
        // Extents that were passed over wait for the next sweep.
        self.sweep_byte = first + u64::from(length);
        (first, length)
    }

    /// Bytes that were taken are on the media.
    pub fn written(&mut self, length: u32) {
        self.bytes -= u64::from(length);
    }
}
