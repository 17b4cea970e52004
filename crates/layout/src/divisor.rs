//! Exact division by a number known beforehand: a shift or a multiplication instead of a division, because every
//! I/O of a twin divides by the segment, the number of data drives and the number of drives.

/// Divides any dividend up to the limit it was made for.
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    divisor: u64,
    /// ⌊2^64 ÷ divisor⌋ + 1, or 0 where the product with the largest dividend would not be exact.
    reciprocal: u64,
    /// log2 of the divisor where it is a power of two, otherwise [`NO_SHIFT`].
    shift: u32,
}

const NO_SHIFT: u32 = u32::MAX;

impl Divisor {
    /// Divides by `divisor`, which is not 0, dividends up to `dividend_limit`.
    ///
    /// With r = ⌊2^64 ÷ d⌋ + 1 = (2^64 + e) ÷ d and 0 < e ≤ d, ⌊x·r ÷ 2^64⌋ = ⌊x ÷ d⌋ as long as x·e < 2^64
    /// (Granlund and Montgomery 1994), for which x·d < 2^64 suffices.
    pub fn new(divisor: u64, dividend_limit: u64) -> Self {
        debug_assert!(divisor > 0);
        if divisor.is_power_of_two() {
            return Divisor { divisor, reciprocal: 0, shift: divisor.trailing_zeros() };
        }
        let exact = u128::from(divisor) * u128::from(dividend_limit) < 1u128 << 64;
        let reciprocal = if exact { u64::MAX / divisor + 1 } else { 0 };
        Divisor { divisor, reciprocal, shift: NO_SHIFT }
    }

    /// The number it divides by.
    pub fn divisor(self) -> u64 {
        self.divisor
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub fn divide(self, dividend: u64) -> (u64, u64) {
        let quotient = if self.shift != NO_SHIFT {
            dividend >> self.shift
        } else if self.reciprocal != 0 {
            ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            dividend / self.divisor
        };
        (quotient, dividend - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that the fast quotient and remainder equal the processor's for every dividend up to the limit,
        /// including the limit itself.
        #[test]
        fn quotients_are_exact(divisor in 1u64..=1 << 20, limit in 0u64..u64::MAX, share in 0.0f64..=1.0) {
            let fast = Divisor::new(divisor, limit);
            for dividend in [0, limit, (limit as f64 * share) as u64, limit / divisor * divisor] {
                let dividend = dividend.min(limit);
                prop_assert_eq!(fast.divide(dividend), (dividend / divisor, dividend % divisor));
                prop_assert_eq!(fast.divide(dividend.saturating_sub(1)).0, dividend.saturating_sub(1) / divisor);
            }
        }
    }
}
