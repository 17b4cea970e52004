//! A small translation that stands for a large drive: which units it follows, and what collection costs all of them.
//!
//! One unit in every so many is followed, at its true rate of writes, so that the write cliff comes when it should and the
//! others cost next to nothing. What a collected block cost is spread over the host writes until the next one, as
//! firmware paces collection.

use super::translation::{Temperature, Translation};

/// Shares of a unit are counted in 2^-20.
pub(super) const ONE: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub(super) struct SampledTranslation {
    translation: Translation,
    /// One unit in this many is followed. Odd, so that writes aligned to powers of two are followed as often as others.
    stride: u32,
    /// 2^64 ÷ stride, rounded up: division by multiplication, exact for 32-bit units (Lemire, Kaser, Kurz 2019).
    reciprocal: u64,
    /// Moved units not yet charged, in 2^-20.
    debt: u64,
    /// Moved units charged to each host unit, in 2^-20.
    pace: u64,
}

impl SampledTranslation {
    /// The stride at which about `followed` of `drive_units` are followed.
    pub fn stride_for(drive_units: u32, followed: u32) -> u32 {
        drive_units.div_ceil(followed.max(1)).max(1) | 1
    }

    pub fn new(translation: Translation, stride: u32) -> SampledTranslation {
        let reciprocal = (u64::MAX / u64::from(stride)).wrapping_add(1);
        SampledTranslation { translation, stride, reciprocal, debt: 0, pace: 0 }
    }

    pub fn translation(&self) -> &Translation {
        &self.translation
    }

    /// How many units of the drive one followed unit stands for.
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
            self.pace = ((super::analytic::oldest_first(over_provisioning) - 1.0) * ONE as f64) as u64;
            self.debt = self.pace * u64::from(geometry.units_per_block) * u64::from(self.stride);
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
        if let Some(followed) = self.followed_unit(unit) {
            self.write_followed(followed, temperature);
        }
        let charged = self.pace.min(self.debt);
        self.debt -= charged;
        charged
    }

    fn write_followed(&mut self, followed: u32, temperature: Temperature) {
        let cost = self.translation.write(followed, temperature);
        if cost.blocks_erased > 0 {
            let slots = cost.blocks_erased * self.translation.geometry().units_per_block;
            // Due by the time that the freed slots are used up.
            let host_units = u64::from((slots - cost.units_moved).max(1)) * u64::from(self.stride);
            self.debt += u64::from(cost.units_moved) * u64::from(self.stride) * ONE;
            self.pace = self.debt.div_ceil(host_units);
        }
    }

    pub fn trim(&mut self, unit: u32) {
        if let Some(followed) = self.followed_unit(unit) {
            self.translation.trim(followed);
        }
    }
}
