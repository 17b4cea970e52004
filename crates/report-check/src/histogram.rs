//! Latency histograms as `docs/run-directory.md` describes them, decoded without the program that wrote them.

use std::collections::BTreeMap;

/// Counts by bin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    bins: BTreeMap<u64, u64>,
    count: u64,
    sum_ns: f64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    has_unbinned: bool,
}

/// First index that no bin has: bins are continued to 35 × 64, and a file from outside may say anything.
const BINS_LIMIT: u64 = 36 * 64;

struct Varints<'a>(&'a [u8]);

impl Varints<'_> {
    fn next(&mut self) -> Option<u128> {
        let (mut value, mut shift) = (0u128, 0u32);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u128::from(byte & 127).checked_shl(shift)?;
            if byte < &128 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Histogram {
    /// Decodes the column `encoded`; `None` where it is not as described.
    pub fn decode(encoded: &[u8]) -> Option<Histogram> {
        let mut numbers = Varints(encoded);
        let unbinned = match numbers.next()? {
            1 => 0,
            2 => numbers.next()?,
            _ => return None,
        };
        let filled = numbers.next()?;
        let mut found = Histogram { has_unbinned: unbinned > 0, ..Histogram::default() };
        found.count = u64::try_from(unbinned).ok()?;
        if filled == 0 && unbinned == 0 {
            return Some(found);
        }
        found.sum_ns = numbers.next()? as f64;
        let min = u64::try_from(numbers.next()?).ok()?;
        let max = u64::try_from(numbers.next()?).ok().filter(|max| *max >= min)?;
        (found.min_ns, found.max_ns) = (Some(min), Some(max));
        let mut index = 0u64;
        for _ in 0..filled {
            let step = u64::try_from(numbers.next()?).ok()?;
            index = index.checked_add(step).filter(|index| *index < BINS_LIMIT)?;
            let count = u64::try_from(numbers.next()?).ok()?;
            found.bins.insert(index, count);
            found.count = found.count.checked_add(count)?;
        }
        Some(found)
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Histogram) {
        for (bin, count) in &other.bins {
            let merged = self.bins.entry(*bin).or_default();
            *merged = merged.saturating_add(*count);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns += other.sum_ns;
        self.has_unbinned |= other.has_unbinned;
        self.min_ns = [self.min_ns, other.min_ns].into_iter().flatten().min();
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The mean, 0 of nothing.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns / self.count as f64 }
    }

    /// The sum of all latencies.
    pub fn sum_ns(&self) -> f64 {
        self.sum_ns
    }

    /// Returns the number of latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest.
    pub fn min_ns(&self) -> Option<u64> {
        self.min_ns
    }

    /// The largest.
    pub fn max_ns(&self) -> Option<u64> {
        self.max_ns
    }

    /// A percentile in millionths: the middle of the bin at which the cumulative count reaches it, within the extremes.
    pub fn percentile_ns(&self, millionths: u64) -> Option<u64> {
        if self.has_unbinned || self.count == 0 {
            return None;
        }
        let wanted = (u128::from(self.count) * u128::from(millionths)).div_ceil(1_000_000).max(1);
        let mut seen = 0u128;
        for (bin, count) in &self.bins {
            seen += u128::from(*count);
            if seen >= wanted {
                return Some(middle_ns(*bin).clamp(self.min_ns?, self.max_ns?));
            }
        }
        None
    }
}

/// The middle of a bin.
fn middle_ns(bin: u64) -> u64 {
    if bin < 128 {
        return bin;
    }
    let exponent = bin / 64 - 1;
    (1 << (exponent + 6)) + ((bin % 64) << exponent) + (1 << exponent) / 2
}

#[cfg(test)]
impl Histogram {
    /// One latency, 1,000 times: every percentile and the mean are that latency.
    pub fn of_one(latency_ns: u64) -> Histogram {
        // Version 1, one bin.
        let mut encoded = vec![1, 1];
        let mut push = |mut value: u64| {
            while value >= 128 {
                encoded.push((value % 128) as u8 | 128);
                value /= 128;
            }
            encoded.push(value as u8);
        };
        let exponent = 57 - u64::from(latency_ns.leading_zeros());
        let bin = (exponent + 1) * 64 + (latency_ns >> exponent) - 64;
        [latency_ns * 1000, latency_ns, latency_ns, bin, 1000].into_iter().for_each(&mut push);
        Histogram::decode(&encoded).expect("decodes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that an encoded histogram is read as documented, and its percentile is the middle of the bin.
    #[test]
    fn a_documented_histogram_is_read() {
        // Version 1, two bins: 100 once, 200 (bin 164) three times; sum 700, least 100, most 201.
        let encoded = [1, 2, 0xbc, 0x05, 100, 0xc9, 0x01, 100, 1, 64, 3];
        let found = Histogram::decode(&encoded).expect("decodes");
        assert_eq!((found.count(), found.mean_ns()), (4, 175.0));
        assert_eq!(found.percentile_ns(250_000), Some(100));
        assert_eq!(found.percentile_ns(500_000), Some(201));
        assert_eq!(Histogram::decode(&encoded[..5]), None);
        // A bin that there is not, and extremes the wrong way round.
        assert_eq!(Histogram::decode(&[1, 1, 1, 1, 1, 0xff, 0x7f, 1]), None);
        assert_eq!(Histogram::decode(&[1, 1, 1, 2, 1, 1, 1]), None);
    }
}
