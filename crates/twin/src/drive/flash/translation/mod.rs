//! Page-mapped flash translation: where a unit lives, and what a write costs once blocks must be collected.
//!
//! Everything here counts; nothing takes time. A block is a superblock: one erase block of every die, erased
//! together. A scaled translation has a few hundred to a few thousand of them, whatever the drive's nominal size,
//! since write amplification depends on the spare share and on units per block, hardly on the number of blocks.

mod collection;
mod geometry;

pub use geometry::{Geometry, GeometryError, SLOT_LIMIT, UNITS_PER_BLOCK_LIMIT};

pub use super::policy::Collection;

use super::analytic;
use collection::ClosingOrder;
use load::Random;

/// A slot or a unit that is not there.
const NONE: u32 = u32::MAX;

/// Added to the valid count of a block that is open or free, so that a search for the emptiest block passes it by
/// while counting down needs no branch.
const NOT_CLOSED: i16 = 1 << 14;

/// Write frontiers: which writes share an open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frontiers {
    /// Host writes and collected units go to one open block.
    One,
    /// Collected units have an open block of their own.
    HostAndCollection,
    /// Hot and cold units have an open block each; a collected unit stays with its kind.
    HotAndCold {
        /// The share of the spare blocks that is kept for hot units, in 1/1000. `None` leaves the split to the
        /// collection, which chooses over both kinds and so gives each a spare in proportion to its size.
        hot_spare_permille: Option<u16>,
    },
}

/// Temperature of a unit: how often it is rewritten, as far as the caller knows. Only [`Frontiers::HotAndCold`] heeds
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// Rewritten often.
    Hot,
    /// Rewritten seldom.
    Cold,
}

/// Cost of one write, garbage collection included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteCost {
    /// Units programmed: the host's and those that were moved.
    pub units_programmed: u32,
    /// Units read in order to be moved.
    pub units_moved: u32,
    /// Blocks erased.
    pub blocks_erased: u32,
}

/// Sums since the translation was built or [`Translation::reset_counters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TranslationCounters {
    /// Units written by the host.
    pub host_units: u64,
    /// Units moved by collection.
    pub moved_units: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Units given up by the host.
    pub trimmed_units: u64,
}

impl TranslationCounters {
    /// Units programmed for each unit the host wrote; 1 before the first write.
    pub fn write_amplification(self) -> f64 {
        if self.host_units == 0 {
            return 1.0;
        }
        1.0 + self.moved_units as f64 / self.host_units as f64
    }
}

/// A page-mapped translation layer with garbage collection.
#[derive(Debug, Clone)]
pub struct Translation {
    geometry: Geometry,
    collection: Collection,
    frontiers: Frontiers,
    slot_shift: u32,
    /// Unit → slot.
    slot_of: Vec<u32>,
    /// Slot → unit; meaningful where the slot's bit in `valid` is set.
    unit_at: Vec<u32>,
    /// One bit a slot: a word of 64 slots fits the second-level cache far longer than `unit_at` does.
    valid: Vec<u64>,
    /// Block → valid units, plus [`NOT_CLOSED`] while it is open or free.
    valid_count: Vec<i16>,
    /// Block → the frontier that filled it.
    kind_of: Vec<u8>,
    /// Closed blocks of each kind.
    closed_blocks: [u32; 2],
    /// Valid units in blocks of each kind, open ones included.
    valid_units: [u32; 2],
    /// Blocks in order of closing, for [`Collection::Oldest`].
    closing_order: ClosingOrder,
    free: Vec<u32>,
    open: [OpenBlock; 2],
    random: Random,
    mapped_units: u32,
    counters: TranslationCounters,
}

#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    next_slot: u32,
    end_slot: u32,
}

impl Translation {
    /// An erased translation: nothing is mapped.
    pub fn fresh(
        geometry: Geometry,
        collection: Collection,
        frontiers: Frontiers,
        seed: u64,
    ) -> Result<Translation, GeometryError> {
        geometry.check()?;
        let slot_shift = geometry.slot_shift();
        let slots = (geometry.blocks as usize) << slot_shift;
        let blocks = geometry.blocks as usize;
        let mut translation = Translation {
            geometry,
            collection,
            frontiers,
            slot_shift,
            slot_of: vec![NONE; geometry.user_units as usize],
            unit_at: vec![NONE; slots],
            valid: vec![0; slots / 64],
            valid_count: vec![NOT_CLOSED; blocks],
            kind_of: vec![0; blocks],
            closed_blocks: [0; 2],
            valid_units: [0; 2],
            closing_order: ClosingOrder::of(blocks),
            free: (0..geometry.blocks).rev().collect(),
            open: [OpenBlock { next_slot: 0, end_slot: 0 }; 2],
            random: Random::from_seed(seed),
            mapped_units: 0,
            counters: TranslationCounters::default(),
        };
        for kind in 0..2 {
            translation.open[kind] = translation.take_free(kind);
        }
        if frontiers == Frontiers::One {
            translation.free.push(translation.open[1].next_slot >> slot_shift);
            translation.open[1] = OpenBlock { next_slot: 0, end_slot: 0 };
        }
        Ok(translation)
    }

    /// Lets chance go another way from here.
    pub fn reseed(&mut self, seed: u64) {
        self.random = Random::from_seed(seed);
    }

    /// Maps the first `units` in order into blocks closed one after the other, as a sequential fill leaves them.
    /// Counters stay at 0. The translation must be fresh.
    pub fn fill_in_order(&mut self, units: u32) {
        debug_assert_eq!(self.mapped_units, 0, "only a fresh translation can be filled");
        for unit in 0..units.min(self.geometry.user_units) {
            self.write(unit, Temperature::Cold);
        }
        self.reset_counters();
    }

    /// Maps the first `units` as long uniform random rewriting of them leaves them: valid counts come from the
    /// stationary distribution ([`analytic::stationary`]), units are dealt to blocks at random. Counters stay
    /// at 0. The translation must be fresh.
    pub fn fill_steady(&mut self, units: u32) {
        debug_assert_eq!(self.mapped_units, 0, "only a fresh translation can be filled");
        let units = units.min(self.geometry.user_units);
        if units == 0 {
            return;
        }
        let closed = self.free.len() as u32 - self.geometry.reserve_blocks;
        let kind = usize::from(matches!(self.frontiers, Frontiers::HotAndCold { .. }));
        let counts = analytic::stationary_valid_counts(
            self.collection,
            self.geometry.units_per_block,
            closed,
            units,
            &mut self.random,
        );
        let mut dealt: Vec<u32> = (0..units).collect();
        for index in (1..units as usize).rev() {
            dealt.swap(index, self.random.below(index as u64 + 1) as usize);
        }
        let mut next = dealt.into_iter();
        for count in counts {
            let Some(block) = self.free.pop() else { break };
            let first = block << self.slot_shift;
            for (slot, unit) in (first..first + count).zip(&mut next) {
                self.place(unit, slot);
            }
            self.valid_count[block as usize] = NOT_CLOSED + count as i16;
            self.valid_units[kind] += count;
            self.close(block, kind);
        }
        self.mapped_units = units;
    }

    /// Writes one unit. `unit` is below [`Geometry::user_units`].
    #[inline]
    pub fn write(&mut self, unit: u32, temperature: Temperature) -> WriteCost {
        let kind = match (self.frontiers, temperature) {
            (Frontiers::HotAndCold { .. }, Temperature::Cold) => 1,
            _ => 0,
        };
        self.counters.host_units += 1;
        let old = self.slot_of[unit as usize];
        if old == NONE {
            self.mapped_units += 1;
        } else {
            self.invalidate(old);
        }
        self.append(unit, kind);
        let mut cost = WriteCost { units_programmed: 1, units_moved: 0, blocks_erased: 0 };
        while self.free.len() < self.geometry.reserve_blocks as usize {
            self.collect(&mut cost);
        }
        cost
    }

    /// Collects, as in a pause, until so many units can be written before collection must start, or until there is nothing
    /// to be won: the emptiest blocks are full.
    pub fn collect_until_free(&mut self, units: u64) {
        while self.free_units() < units {
            let mut cost = WriteCost::default();
            self.collect(&mut cost);
            if cost.units_moved == cost.blocks_erased * self.geometry.units_per_block {
                break;
            }
        }
    }

    /// Gives up one unit; `true` if it was mapped.
    pub fn trim(&mut self, unit: u32) -> bool {
        let old = self.slot_of[unit as usize];
        if old == NONE {
            return false;
        }
        self.invalidate(old);
        self.slot_of[unit as usize] = NONE;
        self.mapped_units -= 1;
        self.counters.trimmed_units += 1;
        true
    }

    /// Returns whether a unit holds data.
    pub fn is_mapped(&self, unit: u32) -> bool {
        self.slot_of[unit as usize] != NONE
    }

    /// Units that hold data.
    pub fn mapped_units(&self) -> u32 {
        self.mapped_units
    }

    /// Units that can be written before collection must start.
    pub fn free_units(&self) -> u64 {
        let blocks = (self.free.len() as u64).saturating_sub(u64::from(self.geometry.reserve_blocks));
        let open = self.open[0].end_slot - self.open[0].next_slot;
        blocks * u64::from(self.geometry.units_per_block) + u64::from(open)
    }

    /// Returns whether another one goes on as this one does from the same state.
    pub fn is_like(&self, other: &Translation) -> bool {
        (self.geometry, self.collection, self.frontiers)
            == (other.geometry, other.collection, other.frontiers)
    }

    /// Size of this translation.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Sums so far.
    pub fn counters(&self) -> TranslationCounters {
        self.counters
    }

    /// Starts the sums anew.
    pub fn reset_counters(&mut self) {
        self.counters = TranslationCounters::default();
    }

    /// Returns how many closed blocks have 0, 1, 2, … valid units.
    pub fn valid_count_histogram(&self) -> Vec<u32> {
        let mut histogram = vec![0; self.geometry.units_per_block as usize + 1];
        for &count in self.valid_count.iter().filter(|&&count| count < NOT_CLOSED) {
            histogram[count as usize] += 1;
        }
        histogram
    }

    /// Panics unless map, reverse map, bitmap and counts agree.
    #[cfg(test)]
    pub(super) fn check_consistency(&self) {
        for (unit, &slot) in self.slot_of.iter().enumerate().filter(|(_, slot)| **slot != NONE) {
            assert_eq!(self.unit_at[slot as usize] as usize, unit);
            assert!(self.valid[(slot >> 6) as usize] >> (slot & 63) & 1 == 1, "unit {unit} is not valid");
        }
        let valid: u32 = self.valid.iter().map(|word| word.count_ones()).sum();
        assert_eq!(valid, self.mapped_units);
        assert_eq!(self.valid_units.iter().sum::<u32>(), self.mapped_units);
        let counted: i32 = self.valid_count.iter().map(|&count| i32::from(count % NOT_CLOSED)).sum();
        assert_eq!(counted as u32, self.mapped_units);
    }

    #[inline]
    fn invalidate(&mut self, slot: u32) {
        let block = (slot >> self.slot_shift) as usize;
        self.valid[(slot >> 6) as usize] &= !(1 << (slot & 63));
        self.valid_count[block] -= 1;
        self.valid_units[usize::from(self.kind_of[block])] -= 1;
    }

    #[inline]
    fn place(&mut self, unit: u32, slot: u32) {
        self.slot_of[unit as usize] = slot;
        self.unit_at[slot as usize] = unit;
        self.valid[(slot >> 6) as usize] |= 1 << (slot & 63);
    }

    #[inline]
    fn append(&mut self, unit: u32, kind: usize) {
        if self.open[kind].next_slot == self.open[kind].end_slot {
            self.open[kind] = self.take_free(kind);
        }
        let slot = self.open[kind].next_slot;
        self.open[kind].next_slot = slot + 1;
        self.place(unit, slot);
        let block = slot >> self.slot_shift;
        self.valid_count[block as usize] += 1;
        self.valid_units[kind] += 1;
        if slot + 1 == self.open[kind].end_slot {
            self.close(block, kind);
        }
    }

    /// The reserve is two blocks or more, and a block is collected as soon as fewer are free, so there is one.
    fn take_free(&mut self, kind: usize) -> OpenBlock {
        let block = self.free.pop().expect("collection keeps the reserve");
        self.kind_of[block as usize] = kind as u8;
        let first = block << self.slot_shift;
        OpenBlock { next_slot: first, end_slot: first + self.geometry.units_per_block }
    }

    fn close(&mut self, block: u32, kind: usize) {
        self.valid_count[block as usize] -= NOT_CLOSED;
        self.kind_of[block as usize] = kind as u8;
        self.closed_blocks[kind] += 1;
        if self.collection == Collection::Oldest {
            self.closing_order.push(block);
        }
    }
}
