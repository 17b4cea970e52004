//! Latency histograms with fio's bins.
//!
//! One geometry everywhere: fio's 64 logarithmic sub-buckets a power of two (`FIO_IO_U_PLAT_BITS` = 6), so that
//! histograms read from fio, counted by the ring engine and counted on a twin merge and compare without
//! rebinning. The relative error of a value read from a bin's middle is at most 1/128. fio stops at 29 groups
//! (17 s); we go on with the same formula to 18 minutes, so that a stalled array is not clipped.

/// Bins of fio 3: 29 groups of 64. A fio histogram fills only these; its last bin holds everything from 17 s on.
pub const FIO_BIN_COUNT: usize = 29 * 64;

/// Bins of ours: 35 groups of 64, values up to 2^40 ns (18 minutes); the last bin also holds what is above.
pub const BIN_COUNT: usize = 35 * 64;

/// The bin of a latency.
#[inline]
pub fn bin_index(latency_ns: u64) -> usize {
    if latency_ns < 128 {
        return latency_ns as usize;
    }
    let exponent = 63 - latency_ns.leading_zeros() as usize - 6;
    let base = (exponent + 1) << 6;
    let offset = (latency_ns >> exponent) as usize & 63;
    (base + offset).min(BIN_COUNT - 1)
}

/// The smallest latency of a bin.
pub fn bin_low_ns(index: usize) -> u64 {
    if index < 128 {
        return index as u64;
    }
    let exponent = (index >> 6) - 1;
    (1 << (exponent + 6)) + ((index as u64 & 63) << exponent)
}

/// Returns the width of a bin in nanoseconds.
pub fn bin_width_ns(index: usize) -> u64 {
    if index < 128 { 1 } else { 1 << ((index >> 6) - 1) }
}

/// The value that stands for a bin: its middle, as fio prints it.
pub fn bin_middle_ns(index: usize) -> u64 {
    bin_low_ns(index) + bin_width_ns(index) / 2
}

/// Counts by bin: a place for each while they are being counted, those that are filled once they are kept.
#[derive(Clone, Default)]
struct Bins {
    dense: Option<Box<[u64; BIN_COUNT]>>,
    /// Filled bins with their counts, by rising bin; empty where `dense` is there.
    sparse: Box<[(u16, u64)]>,
}

impl Bins {
    fn sparse(filled: impl Iterator<Item = (usize, u64)>) -> Bins {
        Bins { dense: None, sparse: filled.map(|(index, count)| (index as u16, count)).collect() }
    }

    /// Filled bins with their counts, in rising order.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let dense = self.dense.iter().flat_map(|bins| bins.iter().copied().enumerate());
        let sparse = self.sparse.iter().map(|&(index, count)| (usize::from(index), count));
        dense.chain(sparse).filter(|&(_, count)| count > 0)
    }

    /// A place for each bin, to count into.
    #[inline]
    fn spread_out(&mut self) -> &mut [u64; BIN_COUNT] {
        let sparse = &mut self.sparse;
        self.dense.get_or_insert_with(|| spread(sparse))
    }

    fn compact(&mut self) {
        if self.dense.is_some() {
            *self = Bins::sparse(self.filled());
        }
    }
}

#[cold]
fn spread(sparse: &mut Box<[(u16, u64)]>) -> Box<[u64; BIN_COUNT]> {
    let mut bins = Box::new([0; BIN_COUNT]);
    for (index, count) in std::mem::take(sparse) {
        bins[usize::from(index)] = count;
    }
    bins
}

/// Counts of latencies in fio's bins, with exact count, sum, minimum and maximum. Takes memory for every bin while it
/// is counted into, and for those that are filled after [`Histogram::compact`].
#[derive(Clone)]
pub struct Histogram {
    bins: Bins,
    count: u64,
    /// Latencies of `count` that are in no bin.
    unbinned: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let parts = |one: &Self| (one.count, one.unbinned, one.sum_ns, one.min_ns, one.max_ns);
        parts(self) == parts(other) && self.filled_bins().eq(other.filled_bins())
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("mean_ns", &self.mean_ns())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .finish()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Histogram { bins: Bins::default(), count: 0, unbinned: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// A histogram from its filled bins in rising order, with what no bin holds and what the source knows exactly; compact.
    pub fn of_filled(
        filled: Vec<(u16, u64)>,
        unbinned: u64,
        (sum_ns, min_ns, max_ns): (u128, u64, u64),
    ) -> Histogram {
        debug_assert!(filled.windows(2).all(|pair| pair[0].0 < pair[1].0), "bins rise");
        let count = unbinned + filled.iter().map(|&(_, count)| count).sum::<u64>();
        if count == 0 {
            return Histogram::new();
        }
        Histogram {
            bins: Bins { dense: None, sparse: filled.into_boxed_slice() },
            count,
            unbinned,
            sum_ns,
            min_ns,
            max_ns,
        }
    }

    /// Gives back the memory of bins that are empty; counting on is possible, and takes it again.
    pub fn compact(&mut self) {
        self.bins.compact();
    }

    /// Returns true if memory is allocated for filled bins only.
    #[cfg(test)]
    pub(crate) fn is_compact(&self) -> bool {
        self.bins.dense.is_none()
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.bins.spread_out()[bin_index(latency_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds `count` latencies to one bin; sum, minimum and maximum are taken from the bin's middle and edges,
    /// because a histogram log says no more. `set_exact` corrects them where the source knows better.
    pub fn add_bin(&mut self, index: usize, count: u64) {
        if count == 0 {
            return;
        }
        self.bins.spread_out()[index] += count;
        self.count += count;
        self.sum_ns += u128::from(bin_middle_ns(index)) * u128::from(count);
        self.min_ns = self.min_ns.min(bin_low_ns(index));
        self.max_ns = self.max_ns.max(bin_low_ns(index) + bin_width_ns(index) - 1);
    }

    /// Adds `count` latencies of which only the sum is known, and perhaps the extremes: vdbench prints a mean and a
    /// maximum an interval, from which no percentile follows. An unknown extreme is 0, which no latency is.
    pub fn add_unbinned(&mut self, count: u64, sum_ns: u128, min_ns: Option<u64>, max_ns: Option<u64>) {
        if count == 0 {
            return;
        }
        self.count += count;
        self.unbinned += count;
        self.sum_ns += sum_ns;
        self.min_ns = self.min_ns.min(min_ns.unwrap_or(0));
        self.max_ns = self.max_ns.max(max_ns.unwrap_or(0));
    }

    /// Returns the number of latencies that are in no bin; above 0, nothing but the mean and perhaps the extremes is known.
    pub fn unbinned_count(&self) -> u64 {
        self.unbinned
    }

    /// The percentile, where one can be told: `None` without latencies, or where some are in no bin.
    pub fn known_percentile_ns(&self, millionths: u32) -> Option<u64> {
        (self.count > 0 && self.unbinned == 0).then(|| self.percentile_ns(millionths))
    }

    /// The smallest latency, where it is known.
    pub fn known_min_ns(&self) -> Option<u64> {
        (self.count > 0 && (self.unbinned == 0 || self.min_ns > 0)).then_some(self.min_ns)
    }

    /// The largest latency, where it is known.
    pub fn known_max_ns(&self) -> Option<u64> {
        (self.count > 0 && (self.unbinned == 0 || self.max_ns > 0)).then_some(self.max_ns)
    }

    /// Replaces what bins can only estimate by what the source printed.
    pub fn set_exact(&mut self, sum_ns: u128, min_ns: u64, max_ns: u64) {
        self.sum_ns = sum_ns;
        self.min_ns = min_ns;
        self.max_ns = max_ns;
    }

    /// The same distribution with `numerator` ÷ `denominator` times the latencies. Cumulative counts are rounded down, so that
    /// the total is as exact as one division.
    pub fn scaled(&self, numerator: u64, denominator: u64) -> Histogram {
        let scale = |count: u128| count * u128::from(numerator) / u128::from(denominator.max(1));
        let (mut before, mut until) = (0, 0u128);
        let bins = self.filled_bins().map(|(index, count)| {
            until += u128::from(count);
            let after = scale(until);
            let scaled = (after - std::mem::replace(&mut before, after)) as u64;
            (index, scaled)
        });
        let bins = Bins::sparse(bins);
        let unbinned = scale(u128::from(self.unbinned)) as u64;
        Histogram {
            bins,
            count: before as u64 + unbinned,
            unbinned,
            sum_ns: scale(self.sum_ns),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        }
    }

    /// Adds another histogram to this one.
    pub fn merge(&mut self, other: &Histogram) {
        if self.count == self.unbinned {
            self.bins = other.bins.clone();
        } else if other.count > other.unbinned {
            let bins = self.bins.spread_out();
            for (index, count) in other.filled_bins() {
                bins[index] += count;
            }
        }
        self.count += other.count;
        self.unbinned += other.unbinned;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Empties the histogram without giving back its memory.
    pub fn clear(&mut self) {
        self.bins.spread_out().fill(0);
        self.count = 0;
        self.unbinned = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Returns the number of latencies counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all latencies; exact unless it came from bins alone.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The mean latency; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The smallest latency; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The largest latency; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The latency below or at which `millionths` of all lie: 990,000 for the 99th percentile. As in fio, the
    /// middle of the first bin at which the cumulative count reaches the share, within the measured extremes.
    /// Where latencies may be in no bin, `known_percentile_ns` is the one to ask.
    pub fn percentile_ns(&self, millionths: u32) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let (index, _) = self.percentile_bin(millionths);
        index.map_or(self.max_ns, |index| bin_middle_ns(index).clamp(self.min_ns, self.max_ns))
    }

    /// Returns the percentile by the rank within its bin, as if latencies were spread evenly over the bin: this tells apart
    /// percentiles in one bin, whose width is up to 1.6 %.
    pub fn percentile_by_rank_ns(&self, millionths: u32) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (index, share) = self.percentile_bin(millionths);
        index.map_or(self.max_ns as f64, |index| {
            let low_ns = bin_low_ns(index).max(self.min_ns) as f64;
            let high_ns = (bin_low_ns(index) + bin_width_ns(index)).min(self.max_ns) as f64;
            low_ns + share * (high_ns - low_ns)
        })
    }

    /// The bin of a percentile, and the share of what is in it that lies at or below the percentile.
    fn percentile_bin(&self, millionths: u32) -> (Option<usize>, f64) {
        let wanted = (u128::from(self.count) * u128::from(millionths)).div_ceil(1_000_000).max(1);
        let mut seen = 0u128;
        for (index, count) in self.filled_bins() {
            if seen + u128::from(count) >= wanted {
                return (Some(index), (wanted - seen) as f64 / count as f64);
            }
            seen += u128::from(count);
        }
        (None, 1.0)
    }

    /// Returns the share of the latencies above `latency_ns`, as if those in a bin were spread evenly over it; 0 where there
    /// are none.
    pub fn share_above(&self, latency_ns: f64) -> f64 {
        let above = |(index, count): (usize, u64)| {
            let high_ns = (bin_low_ns(index) + bin_width_ns(index)) as f64;
            count as f64 * ((high_ns - latency_ns) / bin_width_ns(index) as f64).clamp(0.0, 1.0)
        };
        self.filled_bins().map(above).sum::<f64>() / self.count.max(1) as f64
    }

    /// The bins that are not empty, as (index, count), in order.
    pub fn filled_bins(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.bins.filled()
    }

    /// The counts of `self` that `part` does not account for, bin by bin. Used to recover the last interval that
    /// fio's histogram logs leave out. Sum and extremes are estimates from bins, except that nothing negative remains.
    pub fn minus(&self, part: &Histogram) -> Histogram {
        let mut rest = Histogram::new();
        let mut known = part.filled_bins().peekable();
        for (index, all) in self.filled_bins() {
            while known.next_if(|&(other, _)| other < index).is_some() {}
            let known = known.next_if(|&(other, _)| other == index).map_or(0, |(_, count)| count);
            rest.add_bin(index, all.saturating_sub(known));
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that the share above a latency is the count above it, and that of a bin the latency cuts its upper part.
    #[test]
    fn share_above_counts_what_lies_above() {
        let mut latencies = Histogram::new();
        assert_eq!(latencies.share_above(1.0), 0.0);
        [10_000, 20_000, 30_000, 40_000].into_iter().for_each(|latency_ns| latencies.record(latency_ns));
        assert_eq!(latencies.share_above(0.0), 1.0);
        assert_eq!(latencies.share_above(25_000.0), 0.5);
        assert_eq!(latencies.share_above(100_000.0), 0.0);
        let bin = bin_index(30_000);
        let middle_ns = bin_low_ns(bin) as f64 + bin_width_ns(bin) as f64 / 2.0;
        assert_eq!(latencies.share_above(middle_ns), 0.375);
    }

    /// Proves that a percentile by rank lies where it would in an even spread, within its bin and the measured extremes.
    #[test]
    fn percentiles_by_rank_tell_apart_what_is_in_one_bin() {
        let mut even = Histogram::new();
        (0..100_000).for_each(|one| even.record(1_000_000 + one));
        for percent in [1, 37, 50, 99] {
            let exact = 1_000_000.0 + f64::from(percent) * 1_000.0;
            let found = even.percentile_by_rank_ns(percent * 10_000);
            assert!((found / exact - 1.0).abs() < 1e-4, "p{percent}: {found}");
        }
        assert_eq!(even.percentile_by_rank_ns(1_000_000), 1_099_999.0);
        assert_eq!(Histogram::new().percentile_by_rank_ns(500_000), 0.0);
    }

    /// Proves that our bins are fio's, on the vectors of reference/formats.md (checked there against fio 3.42).
    #[test]
    fn bins_are_fios() {
        for (value, index, middle) in [
            (127, 127, 127),
            (128, 128, 129),
            (255, 191, 255),
            (256, 192, 258),
            (1000, 317, 1004),
            (10_000, 526, 10_048),
            (100_000, 737, 99_840),
            (250_000, 826, 250_880),
            (1_000_000, 954, 1_003_520),
            (5_000_000, 1100, 5_013_504),
            (30_000_000, 1266, 30_015_488),
            (1_000_000_000, 1591, 1_002_438_656),
        ] {
            assert_eq!(bin_index(value), index, "{value}");
            assert_eq!(bin_middle_ns(index), middle, "{value}");
        }
        assert_eq!(bin_middle_ns(FIO_BIN_COUNT - 1), 17_112_760_320);
        for index in 0..BIN_COUNT {
            assert_eq!(bin_index(bin_middle_ns(index)), index);
            assert_eq!(bin_index(bin_low_ns(index)), index);
        }
    }

    proptest! {
        /// Proves that a compact histogram tells what it told before, in bins of its own only, whatever is merged with it,
        /// taken from it, scaled or counted on.
        #[test]
        fn compact_histograms_are_the_same(
            values in proptest::collection::vec(0u64..1 << 41, 0..200),
            more in proptest::collection::vec(0u64..1 << 41, 0..50),
            share in 1u32..=1_000_000,
        ) {
            let counted = |values: &[u64]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|&value| histogram.record(value));
                histogram
            };
            let (dense, other) = (counted(&values), counted(&more));
            let (mut compact, mut small) = (dense.clone(), other.clone());
            compact.compact();
            small.compact();
            prop_assert!(compact.is_compact() && dense.filled_bins().count() == compact.bins.sparse.len());
            prop_assert_eq!(&compact, &dense);
            prop_assert_eq!(compact.percentile_ns(share), dense.percentile_ns(share));
            prop_assert_eq!(compact.scaled(3, 7), dense.scaled(3, 7));
            for (mine, theirs) in [(&compact, &small), (&compact, &other), (&dense, &small)] {
                let mut merged = mine.clone();
                merged.merge(theirs);
                let mut expected = dense.clone();
                expected.merge(&other);
                prop_assert_eq!(&merged, &expected);
                prop_assert_eq!(merged.minus(theirs), expected.minus(&other));
            }
            more.iter().for_each(|&value| compact.record(value));
            let all: Vec<u64> = values.iter().chain(&more).copied().collect();
            prop_assert_eq!(&compact, &counted(&all));
        }

        /// Proves that merging parts gives the histogram of the whole, and that taking a part away gives the rest.
        #[test]
        fn parts_merge_to_the_whole(values in proptest::collection::vec(0u64..1 << 41, 1..200), cut in 0usize..200) {
            let cut = cut.min(values.len());
            let mut whole = Histogram::new();
            let mut first = Histogram::new();
            let mut second = Histogram::new();
            for (index, &value) in values.iter().enumerate() {
                whole.record(value);
                if index < cut { first.record(value) } else { second.record(value) }
            }
            let rest = whole.minus(&first);
            prop_assert_eq!(rest.filled_bins().collect::<Vec<_>>(), second.filled_bins().collect::<Vec<_>>());
            first.merge(&second);
            prop_assert_eq!(&first, &whole);
        }

        /// Proves that a percentile lies within one bin of the exact order statistic.
        #[test]
        fn percentiles_are_within_a_bin(mut values in proptest::collection::vec(0u64..1 << 36, 1..300), share in 1u32..=1_000_000) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = (values.len() as u128 * u128::from(share)).div_ceil(1_000_000).max(1) as usize;
            let exact = values[rank - 1];
            prop_assert_eq!(bin_index(histogram.percentile_ns(share)), bin_index(exact));
        }
    }

    /// Proves that latencies without bins take the percentiles away, also from what they are merged into, and that
    /// count, mean and known extremes stay.
    #[test]
    fn no_percentile_without_bins() {
        let mut means = Histogram::new();
        means.add_unbinned(10, 5_000, None, Some(900));
        assert_eq!((means.count(), means.mean_ns(), means.unbinned_count()), (10, 500.0, 10));
        assert_eq!(
            (means.known_percentile_ns(500_000), means.known_min_ns(), means.known_max_ns()),
            (None, None, Some(900))
        );
        let mut binned = Histogram::new();
        binned.record(100);
        assert_eq!(
            (binned.known_percentile_ns(500_000), binned.known_min_ns(), binned.known_max_ns()),
            (Some(100), Some(100), Some(100))
        );
        binned.merge(&means);
        assert_eq!(
            (binned.count(), binned.known_percentile_ns(500_000), binned.known_min_ns()),
            (11, None, None)
        );
        binned.clear();
        assert_eq!(binned, Histogram::new());
    }
}
