//! Written data that was answered and is not on the drives yet.

use std::collections::VecDeque;

use layout::Divisor;

use super::DestageOrder;
use extents::Extents;
pub use fill::{WriteCacheFill, WriteCacheLevel};

mod extents;
mod fill;
#[cfg(test)]
mod tests;

/// Dirty extents of one controller, by address. Neighbours are merged when they are written, so that a stripe that
/// was written piece by piece is put on the drives at once.
#[derive(Debug, Clone)]
pub(crate) struct WriteCache {
    by_block: Divisor,
    blocks_limit: u64,
    destage_from_blocks: u64,
    order: DestageOrder,
    stripes_limit: u32,
    /// Dirty extents, without those that are being destaged.
    extents: Extents,
    /// Blocks in use, of extents on their way to the drives as well.
    blocks: u64,
    stripes_under_way: u32,
    /// Place of the sweep over the addresses.
    sweep_byte: u64,
    /// Starts of extents when they were written, oldest first, in order of age only. Those that have gone or
    /// grown since are passed over.
    ages: VecDeque<u64>,
    /// Tags that wait for room, in order.
    waiting: VecDeque<u32>,
    pub merged_writes: u64,
    pub destages: u64,
    /// Blocks that skipped writes have added and skipped destages have not removed yet; below 0 where a stripe had more.
    owed_blocks: i64,
    /// Buffer of the extents of a stripe that is destaged in skipped time.
    skipped_extents: Vec<(u64, u64)>,
    window: Window,
    /// Stripes under way when a level of a fast-forward began, and when that was.
    at_level: (u32, u64),
}

/// A window of a fast-forward.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// In use when it began.
    blocks: u64,
    /// Figures of the window before.
    before: Seen,
    seen: Seen,
}

/// Figures that tell how full a cache is going to be.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// There has been something to destage, and for a moment there was less than may be under way at once.
    keeps_up: bool,
    /// A write has had to wait.
    is_full: bool,
}

/// Blocks that a range touches.
fn blocks_of(by_block: Divisor, first: u64, end: u64) -> u64 {
    by_block.divide(end - 1).0 - by_block.divide(first).0 + 1
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
            by_block: Divisor::new(block_bytes, u64::MAX),
            blocks_limit,
            destage_from_blocks: (blocks_limit as f64 * destage_from_percent / 100.0) as u64,
            order,
            stripes_limit,
            extents: Extents::default(),
            blocks: 0,
            stripes_under_way: 0,
            sweep_byte: 0,
            ages: VecDeque::new(),
            waiting: VecDeque::with_capacity(1024),
            merged_writes: 0,
            destages: 0,
            owed_blocks: 0,
            skipped_extents: Vec::new(),
            window: Window::default(),
            at_level: (0, 0),
        }
    }

    fn blocks_of(&self, first: u64, end: u64) -> u64 {
        blocks_of(self.by_block, first, end)
    }

    /// Takes a write in if there is room and nobody waits; else the tag waits.
    pub fn take_in(&mut self, tag: u32, offset: u64, length: u64) -> bool {
        if self.waiting.is_empty() && self.has_room(offset, length) {
            self.insert(offset, length);
            return true;
        }
        self.waiting.push_back(tag);
        self.window.seen.is_full = true;
        false
    }

    /// A write that is larger than the cache goes in alone.
    fn has_room(&self, offset: u64, length: u64) -> bool {
        self.blocks == 0 || self.blocks + self.blocks_of(offset, offset + length) <= self.blocks_limit
    }

    fn insert(&mut self, offset: u64, length: u64) {
        let (mut first, mut end) = (offset, offset + length);
        let mut replaced = 0;
        while let Some((other_first, other_end)) = self.extents.last_before(end + 1)
            && other_end >= first
        {
            self.extents.remove(other_first);
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

    /// Returns whether all of a range is dirty.
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        self.extents.last_before(offset + 1).is_some_and(|(_, end)| offset + length <= end)
    }

    /// Returns whether a stripe is to be put on the drives now.
    pub fn is_due(&mut self) -> bool {
        if self.stripes_under_way >= self.stripes_limit {
            return false;
        }
        let is_due =
            (self.blocks > self.destage_from_blocks || !self.waiting.is_empty()) && !self.extents.is_empty();
        self.window.seen.keeps_up |= !is_due && self.destages > 0;
        is_due
    }

    /// Takes the dirty extents of the next stripe if data is due to be put on the drives; returns the blocks that come free when it is there.
    pub fn take_stripe(
        &mut self,
        stripe_of: impl Fn(u64) -> (u64, u64),
        into: &mut Vec<(u64, u64)>,
    ) -> Option<u64> {
        if self.is_due() { self.take_next_stripe(stripe_of, into) } else { None }
    }

    fn take_next_stripe(
        &mut self,
        stripe_of: impl Fn(u64) -> (u64, u64),
        into: &mut Vec<(u64, u64)>,
    ) -> Option<u64> {
        let (stripe, reaching_in) = match self.order {
            DestageOrder::Address => {
                let (first, end, from) = self.next_by_address()?;
                let stripe = stripe_of(from);
                (stripe, (first < stripe.0).then_some((first, end)))
            }
            DestageOrder::Age => {
                let stripe = stripe_of(self.next_by_age()?);
                (stripe, self.reaching_into(stripe.0))
            }
        };
        let (stripe_first, stripe_end) = stripe;
        // The first extent may begin before the stripe, the last may end behind it: these parts stay.
        let mut behind = None;
        let (mut taken_blocks, mut gone_blocks) = (0, 0);
        let by_block = self.by_block;
        // What of the stripe lies before the sweep was passed over by nobody but may be dirty again.
        let mut next = reaching_in.or_else(|| self.extents.first_from(stripe_first));
        while let Some((first, end)) = next
            && first < stripe_end
        {
            self.extents.remove(first);
            let (low, high) = (first.max(stripe_first), end.min(stripe_end));
            behind = (high < end).then_some((high, end));
            into.push((low, high - low));
            taken_blocks += blocks_of(by_block, low, high);
            gone_blocks += blocks_of(by_block, first, end);
            next = self.extents.first_from(stripe_first);
        }
        self.blocks = self.blocks + taken_blocks - gone_blocks;
        let before = reaching_in.map(|(first, _)| (first, stripe_first));
        for (first, end) in before.into_iter().chain(behind) {
            self.extents.insert(first, end);
            self.blocks += self.blocks_of(first, end);
        }
        self.sweep_byte = stripe_end;
        self.stripes_under_way += 1;
        self.destages += 1;
        Some(taken_blocks)
    }

    /// The first extent at the sweep or behind it, else the first of all; and where in it the sweep goes on.
    fn next_by_address(&self) -> Option<(u64, u64, u64)> {
        if let Some((first, end)) = self.reaching_into(self.sweep_byte) {
            return Some((first, end, self.sweep_byte));
        }
        let next = self.extents.first_from(self.sweep_byte).or_else(|| self.extents.first());
        next.map(|(first, end)| (first, end, first))
    }

    fn next_by_age(&mut self) -> Option<u64> {
        while let Some(byte) = self.ages.pop_front() {
            if self.holds(byte, 1) {
                return Some(byte);
            }
        }
        // What is left of extents that grew: the parts of them whose beginning has gone.
        self.extents.first().map(|(first, _)| first)
    }

    /// The extent that begins before a byte and has it.
    fn reaching_into(&self, byte: u64) -> Option<(u64, u64)> {
        let (first, end) = self.extents.last_before(byte)?;
        (end > byte).then_some((first, end))
    }

    /// Notes that the stripe that was taken is on the drives.
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

    /// A level of a fast-forward begins.
    pub fn begin_level(&mut self, now_ns: u64) {
        self.at_level = (self.stripes_under_way, now_ns);
    }

    /// For a cache that is emptied at once: all stripes that may be under way are, or so few that they are not used up within
    /// `left_ns` at the pace since the level began. Where a drive falls behind, the stripes that wait for it become more and more
    /// until no place is left for the other drives: from then on all of them are destaged to more slowly.
    pub fn keeps_destages(&self, now_ns: u64, left_ns: u64) -> bool {
        let ((before, at_ns), limit) = (self.at_level, self.stripes_limit);
        if self.destage_from_blocks > 0 {
            return true;
        }
        if before == limit {
            return self.stripes_under_way == limit;
        }
        let observed_ns = now_ns.saturating_sub(at_ns).max(1);
        let grown = u128::from(self.stripes_under_way.saturating_sub(before));
        let room = u128::from(limit.saturating_sub(self.stripes_under_way));
        grown * u128::from(left_ns) < room * u128::from(observed_ns)
    }

    /// A window of a fast-forward begins.
    pub fn begin_window(&mut self) {
        self.window = Window { blocks: self.blocks, before: self.window.seen, seen: Seen::default() };
    }

    /// Returns whether the fill has done since the window began, and in the window before it, what it would do for
    /// ever: nothing, stay where destaging begins because that keeps up, or stay full because it does not. Where it is
    /// says less: a cache that is nearly full still takes in faster than it will.
    pub fn is_steady(&self) -> bool {
        let Window { blocks, before, seen } = self.window;
        let keeps_up = |seen: Seen| seen.keeps_up && !seen.is_full;
        self.blocks == blocks || (before.is_full && seen.is_full) || (keeps_up(before) && keeps_up(seen))
    }

    /// Applies a write of skipped time and destages as many blocks, in no time, as it adds: where
    /// the sweep stands and how dense the extents lie before it goes on as it would, the fill stays.
    pub fn apply_skipped_write(&mut self, offset: u64, length: u64, stripe_of: impl Fn(u64) -> (u64, u64)) {
        // Counters are extrapolated from those of the window.
        let counted = (self.merged_writes, self.destages);
        let before = self.blocks;
        self.insert(offset, length);
        self.owed_blocks += self.blocks as i64 - before as i64;
        self.destage_owed(stripe_of);
        (self.merged_writes, self.destages) = counted;
    }

    /// Takes a write in and destages, in no time, what is more than a level.
    pub fn warm(
        &mut self,
        (offset, length): (u64, u64),
        level: WriteCacheLevel,
        stripe_of: impl Fn(u64) -> (u64, u64),
    ) {
        let fill = self.level();
        let level_blocks = self.by_block.divide(fill.bytes_of(level)).0;
        if self.blocks > level_blocks || !fill.goes_to(level) {
            return;
        }
        let counted = (self.merged_writes, self.destages);
        self.insert(offset, length);
        self.owed_blocks = self.blocks as i64 - level_blocks as i64;
        self.destage_owed(stripe_of);
        self.owed_blocks = 0;
        (self.merged_writes, self.destages) = counted;
    }

    /// Destages, in no time, until no blocks are owed any more.
    fn destage_owed(&mut self, stripe_of: impl Fn(u64) -> (u64, u64)) {
        let mut extents = std::mem::take(&mut self.skipped_extents);
        while self.owed_blocks > 0 {
            extents.clear();
            let Some(blocks) = self.take_next_stripe(&stripe_of, &mut extents) else { break };
            self.stripe_is_written(blocks);
            self.owed_blocks -= blocks as i64;
        }
        self.skipped_extents = extents;
    }

    /// Size of its blocks, its levels and its order: what it holds after the same writes depends on no more.
    pub fn shape(&self) -> (u64, u64, u64, DestageOrder) {
        (self.by_block.divisor(), self.blocks_limit, self.destage_from_blocks, self.order)
    }

    /// Holds what another of the same shape holds, of which nothing is under way.
    pub fn copy(&mut self, of: &WriteCache) {
        self.extents.clone_from(&of.extents);
        self.ages.clone_from(&of.ages);
        (self.blocks, self.sweep_byte) = (of.blocks, of.sweep_byte);
    }

    /// Fill of it, beside its levels.
    pub fn level(&self) -> WriteCacheFill {
        let bytes = |blocks: u64| blocks * self.by_block.divisor();
        WriteCacheFill {
            held_bytes: bytes(self.blocks),
            destage_from_bytes: bytes(self.destage_from_blocks),
            room_bytes: bytes(self.blocks_limit),
        }
    }

    /// Blocks in use, extents that are dirty, commands that wait for room.
    pub fn fill(&self) -> [u64; 3] {
        [self.blocks, self.extents.count() as u64, self.waiting.len() as u64]
    }
}
