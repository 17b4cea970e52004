//! Settings of a stream by the I/Os that were counted: sizes and rate.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest I/O.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// Least share of I/Os of one order, sequential or random, for a stream of their own; fewer are counted with the others.
pub(crate) const SEQUENTIAL_LEAST: f64 = 0.05;
/// Most sizes of a stream; rarer ones count as the next larger.
const SIZES_LIMIT: usize = 16;

/// A rate in hundredths.
pub(crate) fn rounded(iops: f64) -> f64 {
    (iops * 100.0).round() / 100.0
}

/// Settings of a stream whose I/Os are of these sizes, each with how many there are.
pub(crate) fn settings_of_sizes(rw: &str, counts: &BTreeMap<u64, u64>) -> Map<String, Value> {
    let mut settings = Map::new();
    settings.insert("rw".into(), rw.into());
    let sizes = shares(counts);
    let commonest = sizes.iter().max_by_key(|(_, share)| *share).map_or(4096, |(size, _)| *size);
    settings.insert("bs".into(), commonest.into());
    if sizes.len() > 1 {
        let split: Vec<String> = sizes.iter().map(|(size, share)| format!("{size}/{share}")).collect();
        settings.insert("bssplit".into(), split.join(":").into());
    }
    settings
}

/// Sizes with whole percents that sum to 100: the commonest ones, rarer ones as the next larger.
fn shares(counts: &BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let mut common: Vec<(u64, u64)> = counts.iter().map(|(size, count)| (*size, *count)).collect();
    common.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
    let mut kept: BTreeSet<u64> = common.iter().take(SIZES_LIMIT).map(|(size, _)| *size).collect();
    kept.extend(counts.keys().next_back().copied());
    let mut joined: BTreeMap<u64, u64> = BTreeMap::new();
    for (size, count) in counts {
        let next = kept.range(size..).next().copied().unwrap_or(*size);
        *joined.entry(next).or_default() += count;
    }
    let all: u64 = joined.values().sum();
    // The largest remainders get what whole percents leave (Hamilton).
    let mut shares: Vec<(u64, u64, u64)> = joined
        .iter()
        .map(|(size, count)| (*size, count * 100 / all.max(1), count * 100 % all.max(1)))
        .collect();
    let given: u64 = shares.iter().map(|(_, share, _)| share).sum();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(shares[place].2));
    for &place in order.iter().take((100 - given.min(100)) as usize) {
        shares[place].1 += 1;
    }
    shares.into_iter().filter(|(_, share, _)| *share > 0).map(|(size, share, _)| (size, share)).collect()
}
