//! Rates of a description, in whole nanoseconds.

use crate::engine::Rate;

/// Rate of so many bytes a second, or none that limits.
pub(super) fn rate(bytes_per_s: u64, is_on: bool) -> Rate {
    if is_on { Rate::from_mb_per_s(bytes_per_s as f64 / 1e6) } else { Rate::UNLIMITED }
}
