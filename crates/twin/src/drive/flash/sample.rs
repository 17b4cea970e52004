//! Sampled translation: a small flash translation layer that represents a large drive.
//!
//! One unit in every so many is followed, at its true rate of writes, so that the write cliff comes when it should and the
//! others cost next to nothing. Every host write is charged what the last collected blocks cost for each unit they gave
//! back, as firmware paces collection.

use super::translation::{Temperature, Translation};
use load::Random;

/// Shares of a unit are counted in 2^-20.
pub(super) const ONE: u64 = 1 << 20;

/// Collected blocks over which the charge is averaged: the emptiest block of a small translation has a unit more or less
/// from one collection to the next, where that of a drive of nominal size has the same share. The slowest of many drives
/// sets the rate of an array, so what one deviates by chance is not lost in the mean.
const CHARGED_BLOCKS: u64 = 8;

/// Fractional bits of the sums that the charge is the ratio of.
const SUM_BITS: u32 = 20;

/// No host unit is charged more moved units than this: a block without an invalid unit gives nothing back.
const CHARGE_LIMIT: u64 = (super::translation::UNITS_PER_BLOCK_LIMIT as u64) << 20;

/// Draws of a place of the right temperature for a write of skipped time, before any place will do. One unit in
/// 25 is parity where there is least of it.
const DRAWS: u32 = 400;

/// Writes of skipped time go within this share of the drive around one that was simulated.
const NEAR_SHARE: u32 = 32;

#[derive(Debug, Clone)]
pub(super) struct SampledTranslation {
    translation: Translation,
    /// One unit in this many is followed. Odd, so that writes aligned to powers of two are followed as often as others.
    stride: u32,
    /// 2^64 ÷ stride, rounded up: division by multiplication, exact for 32-bit units (Lemire, Kaser, Kurz 2019).
    reciprocal: u64,
    /// Units that the last collected blocks moved and those they gave back to be written, older ones counting less.
    moved_units: u64,
    freed_units: u64,
    /// Moved units charged to each host unit, in 2^-20: the ratio of these two. A charge by what was moved since the last
    /// block would be as uneven as the number of followed units among the host's writes is by chance.
    charge: u64,
    /// One bit for each followed unit that is rewritten more often than others; empty where the caller told none.
    hot: Box<[u64]>,
    /// The last runs of units that were written in order, newest over oldest: what a load writes where, for the time that
    /// is not simulated.
    recent: Box<[Run]>,
    next_recent: u32,
}

/// Number of the last runs that are remembered. They are drawn from for the next stretch that is not simulated, so they
/// should be more than what is drawn: a stretch of 5 s at 4,000 units a second is 25 followed writes.
const RECENT: usize = 256;

/// Units that were written one after the other. A large write is one of them, so that as many places are remembered of
/// large writes as of small ones.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    units: u32,
    is_hot: bool,
}

/// The longest run: one that goes on for ever would be the only place that is known.
const RUN_UNITS_LIMIT: u32 = 1024;

impl SampledTranslation {
    /// The stride at which about `followed` of `drive_units` are followed.
    pub fn stride_for(drive_units: u32, followed: u32) -> u32 {
        drive_units.div_ceil(followed.max(1)).max(1) | 1
    }

    pub fn new(translation: Translation, stride: u32) -> SampledTranslation {
        let reciprocal = (u64::MAX / u64::from(stride)).wrapping_add(1);
        SampledTranslation {
            translation,
            stride,
            reciprocal,
            moved_units: 0,
            freed_units: 0,
            charge: 0,
            hot: Box::default(),
            recent: vec![Run { first: 0, units: 0, is_hot: false }; RECENT].into(),
            next_recent: 0,
        }
    }

    pub fn translation(&self) -> &Translation {
        &self.translation
    }

    /// Returns how many units of the drive one followed unit stands for.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// Followed units among the drive's first `drive_units`.
    pub fn followed(&self, drive_units: u32) -> u32 {
        drive_units.div_ceil(self.stride).min(self.translation.geometry().user_units)
    }

    /// Puts the first units in place.
    pub fn fill(&mut self, drive_units: u32, steady: bool) {
        let units = self.followed(drive_units);
        if steady {
            self.translation.fill_steady(units);
            // Until the first collection, charge what the stationary state costs.
            let geometry = self.translation.geometry();
            let closed =
                f64::from(geometry.blocks - geometry.reserve_blocks) * f64::from(geometry.units_per_block);
            let over_provisioning = closed / f64::from(units.max(1)) - 1.0;
            let amplification = super::analytic::oldest_first(over_provisioning);
            let collected = ((CHARGED_BLOCKS * u64::from(geometry.units_per_block)) << SUM_BITS) as f64;
            self.freed_units = (collected / amplification) as u64;
            self.moved_units = collected as u64 - self.freed_units;
            self.set_charge();
        } else {
            self.translation.fill_in_order(units);
        }
    }

    #[inline]
    fn followed_unit(&self, unit: u32) -> Option<u32> {
        if self.stride == 1 {
            return (unit < self.translation.geometry().user_units).then_some(unit);
        }
        let product = u128::from(unit) * u128::from(self.reciprocal);
        let quotient = (product >> 64) as u32;
        let is_multiple = (product as u64) < self.reciprocal;
        (is_multiple && quotient < self.translation.geometry().user_units).then_some(quotient)
    }

    /// Writes one unit of the drive; returns the units moved on its behalf, in 2^-20.
    #[inline]
    pub fn write(&mut self, unit: u32, temperature: Temperature) -> u64 {
        self.remember(unit, temperature == Temperature::Hot);
        if let Some(followed) = self.followed_unit(unit) {
            self.write_followed(followed, temperature);
        }
        self.charge
    }

    #[inline]
    fn remember(&mut self, unit: u32, is_hot: bool) {
        let last = &mut self.recent[self.next_recent.wrapping_sub(1) as usize % RECENT];
        let goes_on = last.first.wrapping_add(last.units) == unit && last.is_hot == is_hot;
        if goes_on && last.units < RUN_UNITS_LIMIT {
            last.units += 1;
            return;
        }
        self.recent[self.next_recent as usize % RECENT] = Run { first: unit, units: 1, is_hot };
        self.next_recent = self.next_recent.wrapping_add(1);
    }

    fn write_followed(&mut self, followed: u32, temperature: Temperature) {
        let cost = self.translation.write(followed, temperature);
        if cost.blocks_erased > 0 {
            let slots = cost.blocks_erased * self.translation.geometry().units_per_block;
            let forget = |sum: u64| sum - sum / CHARGED_BLOCKS;
            self.moved_units = forget(self.moved_units) + (u64::from(cost.units_moved) << SUM_BITS);
            self.freed_units = forget(self.freed_units) + (u64::from(slots - cost.units_moved) << SUM_BITS);
            self.set_charge();
        }
    }

    fn set_charge(&mut self) {
        let ratio = (u128::from(self.moved_units) * u128::from(ONE)) / u128::from(self.freed_units.max(1));
        self.charge = ratio.min(u128::from(CHARGE_LIMIT)) as u64;
    }

    /// Lets chance go another way from here.
    pub fn reseed(&mut self, seed: u64) {
        self.translation.reseed(seed);
    }

    /// Says which units of the drive are hot.
    pub fn mark_hot(&mut self, is_hot: impl Fn(u32) -> bool) {
        let followed = self.translation.geometry().user_units;
        let mut hot = vec![0u64; followed.div_ceil(64) as usize];
        for unit in (0..followed).filter(|&unit| is_hot(unit * self.stride)) {
            hot[(unit / 64) as usize] |= 1 << (unit % 64);
        }
        self.hot = hot.into();
    }

    fn temperature_of(&self, followed: u32) -> Temperature {
        let word = self.hot.get((followed / 64) as usize).copied().unwrap_or(0);
        if word >> (followed % 64) & 1 == 1 { Temperature::Hot } else { Temperature::Cold }
    }

    /// Rewrites what is mapped at random for `drive_writes` times its size, `hot_share` of the writes going to the hot
    /// units: the state that a long load leaves. Costs nothing and charges nothing.
    pub fn age(&mut self, drive_writes: f64, hot_share: f64, random: &mut Random) {
        let mapped = self.translation.mapped_units();
        let (hot, cold): (Vec<u32>, Vec<u32>) =
            (0..mapped).partition(|&unit| self.temperature_of(unit) == Temperature::Hot);
        let hot_below = if hot.is_empty() { 0 } else { (hot_share * ONE as f64) as u64 };
        for _ in 0..(f64::from(mapped) * drive_writes) as u64 {
            let of = if random.below(ONE) < hot_below || cold.is_empty() { &hot } else { &cold };
            let Some(&unit) = of.get(random.below(of.len().max(1) as u64) as usize) else { return };
            self.write_followed(unit, self.temperature_of(unit));
        }
    }

    /// Rewrites units `first` to `end` of the drive at random, for `drive_writes` times the whole drive, `hot_share` of the writes going to
    /// the hot units among them.
    pub fn rewrite_at_random(
        &mut self,
        (first, end): (u32, u32),
        drive_writes: f64,
        hot_share: f64,
        random: &mut Random,
    ) {
        let (from, end) = (first.div_ceil(self.stride), self.followed(end));
        if from >= end {
            return;
        }
        let hot_below = (hot_share * ONE as f64) as u64;
        let writes = f64::from(self.translation.geometry().user_units) * drive_writes;
        // A fraction of a followed write is one with that probability.
        let count = (writes + random.below(ONE) as f64 / ONE as f64) as u64;
        for _ in 0..count {
            let is_hot = random.below(ONE) < hot_below;
            self.write_near(from, end - from, is_hot, random);
        }
    }

    /// Applies `drive_units` host writes of skipped time, which go where the last ones went: near each of them in turn, as
    /// often as it is long, and within their range. Exactly there would be wrong: a load rarely rewrites at once what it has
    /// just written.
    pub fn apply_skipped_writes(&mut self, drive_units: u64, random: &mut Random) {
        let runs: Vec<Run> = self.recent.iter().copied().filter(|run| run.units > 0).collect();
        let followed_units = self.translation.geometry().user_units;
        // A fraction of a followed write is one with that probability.
        let stride = u64::from(self.stride);
        let count = (drive_units + random.below(stride)) / stride;
        if runs.is_empty() || count == 0 {
            return;
        }
        let drive_stride = self.stride;
        let followed = |run: &Run| (run.first / drive_stride).min(followed_units - 1);
        let (least, most) = runs
            .iter()
            .map(followed)
            .fold((u32::MAX, 0), |(least, most), place| (least.min(place), most.max(place)));
        let near = (most - least + 1).min(followed_units / NEAR_SHARE + 1);
        let known: u64 = runs.iter().map(|run| u64::from(run.units)).sum();
        // Every so many of the known units, from anywhere on.
        let mut due = random.below(known);
        for run in &runs {
            due += u64::from(run.units) * count;
            let from = followed(run).saturating_sub(near / 2).clamp(least, most + 1 - near);
            while due >= known {
                due -= known;
                self.write_near(from, near, run.is_hot, random);
            }
        }
    }

    /// Writes one of `near` followed units from `from` on, of the given temperature.
    fn write_near(&mut self, from: u32, near: u32, is_hot: bool, random: &mut Random) {
        let temperature = if is_hot { Temperature::Hot } else { Temperature::Cold };
        let mut draw = || from + random.below(u64::from(near)) as u32;
        let mut drawn = draw();
        // Drawn anew rather than taken from the next place that fits, which would favour the edges of hot ranges.
        for _ in 0..DRAWS {
            if self.hot.is_empty() || self.temperature_of(drawn) == temperature {
                break;
            }
            drawn = draw();
        }
        self.write_followed(drawn, self.temperature_of(drawn));
    }

    /// Writes units `first` to `end` in order, on behalf of host writes that are not simulated.
    pub fn apply_skipped_sequential(&mut self, first: u32, end: u32) {
        let followed_end = self.followed(end);
        for followed in first.div_ceil(self.stride)..followed_end {
            self.write_followed(followed, self.temperature_of(followed));
        }
    }

    /// Collects in a pause until `drive_units` can be written without.
    pub fn rest(&mut self, drive_units: u64) {
        self.translation.collect_until_free(drive_units / u64::from(self.stride));
        (self.moved_units, self.freed_units, self.charge) = (0, 0, 0);
    }

    /// True where host writes are charged for collection.
    pub fn is_collecting(&self) -> bool {
        self.charge > 0
    }

    pub fn trim(&mut self, unit: u32) {
        if let Some(followed) = self.followed_unit(unit) {
            self.translation.trim(followed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::translation::{Collection, Frontiers, Geometry};
    use super::*;

    /// Units of the drive of which one is followed, and units of one large write.
    const STRIDE: u32 = 401;
    const LARGE: u32 = 16;

    fn sampled() -> SampledTranslation {
        let geometry = Geometry::scaled(256, 64, 0.4, 3);
        let translation = Translation::fresh(geometry, Collection::Greedy, Frontiers::One, 1).unwrap();
        let mut sampled = SampledTranslation::new(translation, STRIDE);
        sampled.fill(u32::MAX, true);
        sampled
    }

    /// Proves that large writes at random are remembered each as one place, so that skipped writes go all over the
    /// drive; and that a run in order is one place, by its length.
    #[test]
    fn large_skipped_writes_go_everywhere() {
        let mut sampled = sampled();
        let mut random = Random::from_seed(3);
        let followed = sampled.translation.geometry().user_units;
        let places = followed * STRIDE / LARGE;
        for _ in 0..RECENT {
            let first = random.below(u64::from(places)) as u32 * LARGE;
            (first..first + LARGE).for_each(|unit| {
                sampled.write(unit, Temperature::Cold);
            });
        }
        assert!(sampled.recent.iter().all(|run| run.units >= LARGE));
        let stretch = |run: &Run| run.first / STRIDE / (followed / 32);
        let known: std::collections::BTreeSet<u32> = sampled.recent.iter().map(stretch).collect();
        assert!(known.len() >= 31, "{} of 32 stretches are known", known.len());
        let before = sampled.translation.counters().host_units;
        sampled.apply_skipped_writes(u64::from(STRIDE) * 1000, &mut random);
        assert_eq!(sampled.translation.counters().host_units - before, 1000);
    }

    /// Proves that a drive whose collected units go to blocks of their own keeps as large a reserve in a pause as one that
    /// mixes them.
    #[test]
    fn a_pause_fills_the_reserve_with_any_frontiers() {
        for frontiers in [Frontiers::One, Frontiers::HostAndCollection] {
            let geometry = Geometry::scaled(256, 64, 0.4, 3);
            let mut translation = Translation::fresh(geometry, Collection::Greedy, frontiers, 1).unwrap();
            translation.fill_steady(geometry.user_units);
            translation.collect_until_free(2000);
            assert!(translation.free_units() >= 2000, "{frontiers:?}: {}", translation.free_units());
        }
    }
}
