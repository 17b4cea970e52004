//! Growth of a workload over years.

use crate::SizingError;

/// Most years of growth.
const YEARS_LIMIT: u32 = 50;

/// Growth of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Share that comes on top each year.
    pub per_year: f64,
    /// Number of years to plan for.
    pub years: u32,
}

impl Growth {
    /// Reads `30%/y:3y`.
    pub fn parse(text: &str) -> Result<Growth, SizingError> {
        let wrong = || SizingError::question(format!("`{text}` is no growth"), "as `30%/y:3y`");
        let (rate, years) = text.split_once("/y:").ok_or_else(wrong)?;
        let percent: f64 = rate.strip_suffix('%').and_then(|rate| rate.parse().ok()).ok_or_else(wrong)?;
        let years: u32 = years.strip_suffix('y').and_then(|years| years.parse().ok()).ok_or_else(wrong)?;
        if !(percent > 0.0 && percent <= 1000.0) || years == 0 || years > YEARS_LIMIT {
            return Err(wrong());
        }
        Ok(Growth { per_year: percent / 100.0, years })
    }

    /// Returns the multiple of the workload after a number of years.
    pub fn times(&self, years: u32) -> f64 {
        (0..years).fold(1.0, |times, _| times * (1.0 + self.per_year))
    }

    /// First year whose workload is over a headroom, counted from 1; `None` where none is.
    pub(crate) fn breaks(&self, headroom: f64) -> Option<u32> {
        (1..=self.years).find(|&year| self.times(year) > headroom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that growth is read, and breaks a headroom in the first year that it exceeds.
    #[test]
    fn growth_breaks_a_headroom() {
        let growth = Growth::parse("30%/y:3y").unwrap();
        assert_eq!(growth, Growth { per_year: 0.3, years: 3 });
        assert_eq!(growth.breaks(1.2), Some(1));
        assert_eq!(growth.breaks(1.5), Some(2));
        assert_eq!(growth.breaks(2.2), None, "2.197 after three years");
        for wrong in ["30/y:3y", "30%:3y", "30%/y:3", "-3%/y:3y", "30%/y:0y", "30%/y:99y", ""] {
            assert!(Growth::parse(wrong).is_err(), "{wrong}");
        }
    }
}
