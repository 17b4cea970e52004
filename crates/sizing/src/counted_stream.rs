//! Streams of I/Os that were counted, by direction and order.

use crate::workload::Stream;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest I/O.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// Least share of I/Os of one order, sequential or random, for a stream of their own.
const SEQUENTIAL_LEAST: f64 = 0.05;
/// Least rate of a stream; rates are rounded to as much.
const RATE_LEAST_IOPS: f64 = 0.01;
/// Most sizes of a stream; rarer ones count as the next larger.
const SIZES_LIMIT: usize = 16;

/// Orders of which streams are made, sequential or not, each with its share of the I/Os: too few of one order are counted with the other.
pub(crate) fn orders(sequential_share: f64) -> impl Iterator<Item = (bool, f64)> {
    let shares = [(false, 1.0 - sequential_share), (true, sequential_share)];
    shares.into_iter().filter(|(_, share)| *share >= SEQUENTIAL_LEAST).map(|(is_sequential, share)| {
        (is_sequential, if 1.0 - share < SEQUENTIAL_LEAST { 1.0 } else { share })
    })
}

/// Stream of a device's I/Os of one direction (`read`, `write`) and order, with how many there were of each size; what goes in order has one job. Its
/// name begins with the device, where that has one.
pub(crate) fn counted_stream(
    device: Option<&str>,
    direction: &str,
    is_sequential: bool,
    iops: f64,
    counts: &BTreeMap<u64, u64>,
) -> Stream {
    let order = if is_sequential { "sequential-" } else { "" };
    let device = device.map_or_else(String::new, |device| format!("{device}-"));
    let rate = ((iops * 100.0).round() / 100.0).max(RATE_LEAST_IOPS);
    let settings = settings(direction, is_sequential, counts);
    let mut stream = Stream::new(format!("{device}{order}{direction}s"), rate, settings);
    if is_sequential {
        stream.numjobs = 1;
    }
    stream
}

fn settings(direction: &str, is_sequential: bool, counts: &BTreeMap<u64, u64>) -> Map<String, Value> {
    let mut settings = Map::new();
    let order = if is_sequential { "" } else { "rand" };
    settings.insert("rw".into(), format!("{order}{direction}").into());
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
