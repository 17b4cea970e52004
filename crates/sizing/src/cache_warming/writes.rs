//! Write caches of a twin, filled to where they are emptied or until they are full.

use super::draws::Draws;
use crate::simulation::IN_BALANCE;
use plan::Case;
use twin::{Twin, WriteCacheFill, WriteCacheLevel};

/// Writes of each load between two looks at the fill.
const LOOK_IOS: u64 = 1 << 13;
/// Times what a cache holds that is then written, after which the writes lie before its sweep as they always will: dense where it comes next,
/// and none where it has just been. From the same density everywhere, a sweep takes e - 1 times what the cache holds.
const ROUNDS: f64 = 2.0;

/// Lets write caches hold what they hold after hours of a case's writes in random order, at a level, in at most so many writes of each
/// load; false where there is nothing to do, or it would take more.
pub(super) fn warm_writes(twin: &mut Twin, case: &Case, level: WriteCacheLevel, most_ios: u64) -> bool {
    let sum_bytes = |twin: &Twin, bytes: fn(&WriteCacheFill, WriteCacheLevel) -> u64| -> f64 {
        let fills = twin.write_cache_fills().filter(|fill| fill.goes_to(level));
        fills.map(|fill| bytes(&fill, level) as f64).sum()
    };
    let held = |twin: &Twin| sum_bytes(twin, |fill, _| fill.held_bytes);
    let level_bytes = sum_bytes(twin, WriteCacheFill::bytes_of);
    let stream = if level == WriteCacheLevel::Full { 2 } else { 1 };
    let draws = (level_bytes > 0.0 && most_ios > 0).then(|| Draws::writes(case, twin, stream)).flatten();
    let Some(mut writes) = draws.filter(|writes| !writes.is_empty()) else { return false };
    let range_bytes: u64 = writes.iter().map(Draws::range_bytes).sum();
    let began_bytes = held(twin);
    let (mut before_bytes, mut written_bytes, mut until_bytes) = (began_bytes, 0.0, f64::INFINITY);
    let mut ios = 0;
    while written_bytes < until_bytes {
        let mut look_bytes = 0.0;
        Draws::issue(&mut writes, ios..ios + LOOK_IOS, |operations| {
            look_bytes += operations.iter().map(|operation| f64::from(operation.length_bytes)).sum::<f64>();
            twin.warm_write_caches(operations, level);
        });
        ios += LOOK_IOS;
        written_bytes += look_bytes;
        if until_bytes < f64::INFINITY {
            continue;
        }
        let held_bytes = held(twin);
        let grows = held_bytes - std::mem::replace(&mut before_bytes, held_bytes) > IN_BALANCE * look_bytes;
        let then_bytes = if grows { level_bytes.min(range_bytes as f64).max(held_bytes) } else { held_bytes };
        // What is written again while it is held adds nothing; a cache that was at its level before does not tell how much that is.
        let more_bytes = held_bytes - began_bytes;
        let added = if more_bytes > held_bytes / 16.0 { more_bytes / written_bytes } else { 1.0 };
        let enough_bytes = written_bytes + (then_bytes - held_bytes + ROUNDS * then_bytes) / added;
        if enough_bytes / written_bytes * ios as f64 > most_ios as f64 {
            return false;
        }
        if !grows {
            until_bytes = enough_bytes;
        }
    }
    true
}
