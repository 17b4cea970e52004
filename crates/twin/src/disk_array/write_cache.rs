//! Written data that was answered and is not on the drives yet.

use std::collections::{BTreeMap, VecDeque};

use super::description::DestageOrder;

/// Dirty extents of one controller, by address. Neighbours are merged when they are written, so that a stripe that
/// was written piece by piece is put on the drives at once.
#[derive(Debug, Clone)]
pub(crate) struct WriteCache {
    block_bytes: u64,
    blocks_limit: u64,
    destage_from_blocks: u64,
    order: DestageOrder,
    stripes_limit: u32,
    /// First byte → byte after the last. What is being destaged is not among them.
    extents: BTreeMap<u64, u64>,
    /// Blocks in use, of extents on their way to the drives as well.
    blocks: u64,
    stripes_under_way: u32,
    /// Where the sweep over the addresses stands.
    sweep_byte: u64,
    /// Where extents began when they were written, oldest first, in order of age only. Those that have gone or
    /// grown since are passed over.
    ages: VecDeque<u64>,
    /// Tags that wait for room, in order.
    waiting: VecDeque<u32>,
    pub merged_writes: u64,
    pub destages: u64,
}

impl WriteCache {
    pub fn new(
        bytes: u64,
        block_bytes: u64,
        destage_from_percent: f64,
        order: DestageOrder,
        stripes_limit: u32,
    ) -> WriteCache {
        let blocks_limit = bytes / block_bytes;
        WriteCache {
            block_bytes,
            blocks_limit,
            destage_from_blocks: (blocks_limit as f64 * destage_from_percent / 100.0) as u64,
            order,
            stripes_limit,
            extents: BTreeMap::new(),
            blocks: 0,
            stripes_under_way: 0,
            sweep_byte: 0,
            ages: VecDeque::new(),
            waiting: VecDeque::with_capacity(1024),
            merged_writes: 0,
            destages: 0,
        }
    }

    fn blocks_of(&self, first: u64, end: u64) -> u64 {
        (end - 1) / self.block_bytes - first / self.block_bytes + 1
    }

    /// Takes a write in if there is room and nobody waits; else the tag waits.
    pub fn take_in(&mut self, tag: u32, offset: u64, length: u64) -> bool {
        if self.waiting.is_empty() && self.has_room(offset, length) {
            self.insert(offset, length);
            return true;
        }
        self.waiting.push_back(tag);
        false
    }

    /// A write that is larger than the cache goes in alone.
    fn has_room(&self, offset: u64, length: u64) -> bool {
        self.blocks == 0 || self.blocks + self.blocks_of(offset, offset + length) <= self.blocks_limit
    }

    fn insert(&mut self, offset: u64, length: u64) {
        let (mut first, mut end) = (offset, offset + length);
        let mut replaced = 0;
        while let Some((&other_first, &other_end)) = self.extents.range(..=end).next_back()
            && other_end >= first
        {
            self.extents.remove(&other_first);
            replaced += self.blocks_of(other_first, other_end);
            first = first.min(other_first);
            end = end.max(other_end);
        }
        self.merged_writes += u64::from(replaced > 0);
        if self.order == DestageOrder::Age && replaced == 0 {
            self.ages.push_back(first);
        }
        self.extents.insert(first, end);
        self.blocks = self.blocks + self.blocks_of(first, end) - replaced;
    }

    /// Whether all of a range is dirty.
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        self.extents.range(..=offset).next_back().is_some_and(|(_, &end)| offset + length <= end)
    }

    /// Whether a stripe is to be put on the drives now.
    pub fn is_due(&self) -> bool {
        (self.blocks > self.destage_from_blocks || !self.waiting.is_empty())
            && self.stripes_under_way < self.stripes_limit
            && !self.extents.is_empty()
    }

    /// Takes the dirty extents of the next stripe if data is due to be put on the drives; returns the blocks that come free when it is there.
    pub fn take_stripe(
        &mut self,
        stripe_of: impl Fn(u64) -> (u64, u64),
        into: &mut Vec<(u64, u64)>,
    ) -> Option<u64> {
        if !self.is_due() {
            return None;
        }
        let from = match self.order {
            DestageOrder::Address => self.next_by_address()?,
            DestageOrder::Age => self.next_by_age()?,
        };
        let (stripe_first, stripe_end) = stripe_of(from);
        // What of the stripe lies before `from` was passed over by nobody but may be dirty again.
        let mut taken_blocks = 0;
        let mut cursor = stripe_first;
        while let Some((first, end)) = self.next_from(cursor)
            && first < stripe_end
        {
            let before = self.blocks_of(first, end);
            self.extents.remove(&first);
            let (low, high) = (first.max(stripe_first), end.min(stripe_end));
            let mut after = 0;
            if first < low {
                self.extents.insert(first, low);
                after += self.blocks_of(first, low);
            }
            if high < end {
                self.extents.insert(high, end);
                after += self.blocks_of(high, end);
            }
            let taken = self.blocks_of(low, high);
            into.push((low, high - low));
            taken_blocks += taken;
            self.blocks = self.blocks + after + taken - before;
            cursor = high;
        }
        self.sweep_byte = stripe_end;
        self.stripes_under_way += 1;
        self.destages += 1;
        Some(taken_blocks)
    }

    fn next_by_address(&self) -> Option<u64> {
        match self.next_from(self.sweep_byte) {
            Some((first, _)) => Some(first.max(self.sweep_byte)),
            None => self.extents.first_key_value().map(|(&first, _)| first),
        }
    }

    fn next_by_age(&mut self) -> Option<u64> {
        while let Some(byte) = self.ages.pop_front() {
            if self.holds(byte, 1) {
                return Some(byte);
            }
        }
        // What is left of extents that grew: the parts of them whose beginning has gone.
        self.extents.first_key_value().map(|(&first, _)| first)
    }

    /// The first extent that has bytes from `byte` on.
    fn next_from(&self, byte: u64) -> Option<(u64, u64)> {
        if let Some((&first, &end)) = self.extents.range(..byte).next_back()
            && end > byte
        {
            return Some((first, end));
        }
        self.extents.range(byte..).next().map(|(&first, &end)| (first, end))
    }

    /// What was taken is on the drives.
    pub fn stripe_is_written(&mut self, blocks: u64) {
        self.stripes_under_way -= 1;
        self.blocks -= blocks;
    }

    /// The first waiting tag, if its extent has room now; it is taken in.
    pub fn admit_next(&mut self, extent_of: impl Fn(u32) -> (u64, u64)) -> Option<u32> {
        let &tag = self.waiting.front()?;
        let (offset, length) = extent_of(tag);
        if !self.has_room(offset, length) {
            return None;
        }
        self.waiting.pop_front();
        self.insert(offset, length);
        Some(tag)
    }

    /// Whether the fill is where it was, and where it stays: nothing, where destaging begins, or full.
    pub fn is_steady_since(&self, blocks_before: u64) -> bool {
        // What is under way and what one wave of writes brings: a hundredth of the cache.
        let near = |blocks: u64, level: u64| blocks.abs_diff(level) <= self.blocks_limit / 100;
        [0, self.destage_from_blocks, self.blocks_limit]
            .iter()
            .any(|&level| near(self.blocks, level) && near(blocks_before, level))
    }

    /// Blocks in use, extents that are dirty, commands that wait for room.
    pub fn fill(&self) -> [u64; 3] {
        [self.blocks, self.extents.len() as u64, self.waiting.len() as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that a stripe written piece by piece is taken whole, in order of address, and that its blocks come free.
    #[test]
    fn pieces_become_stripes() {
        let mut cache = WriteCache::new(1 << 20, 4096, 0.0, DestageOrder::Address, 2);
        for piece in [3u64, 1, 0, 2, 9, 8] {
            assert!(cache.take_in(0, piece * 8192, 8192));
        }
        let stripe_of = |byte: u64| (byte / 32768 * 32768, byte / 32768 * 32768 + 32768);
        let mut taken = Vec::new();
        assert_eq!(cache.take_stripe(stripe_of, &mut taken), Some(8));
        assert_eq!(taken, [(0, 32768)]);
        taken.clear();
        assert_eq!(cache.take_stripe(stripe_of, &mut taken), Some(4));
        assert_eq!(taken, [(65536, 16384)]);
        assert_eq!(cache.take_stripe(stripe_of, &mut taken), None);
        cache.stripe_is_written(8);
        cache.stripe_is_written(4);
        assert_eq!(cache.fill(), [0, 0, 0]);
    }

    /// Proves that a full cache makes writes wait in order, and lets them in when room comes.
    #[test]
    fn a_full_cache_makes_writes_wait() {
        let mut cache = WriteCache::new(8 * 4096, 4096, 50.0, DestageOrder::Age, 1);
        let extent_of = |tag: u32| (u64::from(tag) << 20, 4096);
        for tag in 0..8 {
            assert!(cache.take_in(tag, extent_of(tag).0, 4096));
        }
        assert!(!cache.take_in(8, extent_of(8).0, 4096));
        assert_eq!(cache.admit_next(extent_of), None);
        let mut taken = Vec::new();
        let blocks = cache.take_stripe(|byte| (byte, byte + (1 << 20)), &mut taken).unwrap();
        cache.stripe_is_written(blocks);
        assert_eq!(cache.admit_next(extent_of), Some(8));
        assert_eq!(cache.fill(), [8, 8, 0]);
    }

    proptest! {
        /// Proves that whatever is written is destaged once, and that no block is lost or freed twice.
        #[test]
        fn nothing_is_lost(
            writes in proptest::collection::vec((0u64..200, 1u64..40), 1..60),
            aligned: bool,
            by_age: bool,
        ) {
            let order = if by_age { DestageOrder::Age } else { DestageOrder::Address };
            let unit = if aligned { 4096 } else { 512 };
            let mut cache = WriteCache::new(1 << 40, 4096, 0.0, order, u32::MAX);
            let mut dirty = vec![false; 240];
            let (mut taken, mut blocks) = (Vec::new(), 0);
            for (index, &(offset, length)) in writes.iter().enumerate() {
                prop_assert!(cache.take_in(0, offset * unit, length * unit));
                prop_assert!(cache.holds(offset * unit, length * unit));
                (offset..offset + length).for_each(|unit| dirty[unit as usize] = true);
                if index % 7 == 6 || index + 1 == writes.len() {
                    let stripe_of = |byte: u64| (byte / 12288 * 12288, byte / 12288 * 12288 + 12288);
                    while let Some(freed) = cache.take_stripe(stripe_of, &mut taken) {
                        blocks += freed;
                        cache.stripe_is_written(freed);
                    }
                    for (first, length) in taken.drain(..) {
                        for byte in (first..first + length).step_by(unit as usize) {
                            prop_assert!(std::mem::take(&mut dirty[(byte / unit) as usize]));
                        }
                    }
                    prop_assert!(dirty.iter().all(|&unit| !unit));
                    prop_assert_eq!(cache.fill(), [0, 0, 0]);
                }
            }
            prop_assert!(blocks > 0);
        }
    }
}
