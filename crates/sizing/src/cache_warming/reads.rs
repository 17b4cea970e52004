//! Read caches of a twin, and what may still come to be in them.

use super::draws::{Draws, has_own_parts, is_in_passes};
use crate::workload::{distinct_bytes, loads};
use load::Distribution::{NoRepeat, Uniform};
use load::{Direction, LoadSpec, Operation};
use plan::Case;
use twin::{ReadCacheFill, Twin};

/// I/Os of each load between two looks at the fill.
const LOOK_IOS: u64 = 1 << 16;
/// Share of the misses that may become hits without another level.
const SAME_MISSES: f64 = 0.02;
/// Share of the sectors read that is nothing.
const NOTHING: f64 = 1e-4;

/// Loads of a case that read anything, each with its first job and its volume.
fn loads_that_read(case: &Case) -> impl Iterator<Item = (&LoadSpec, u32, String)> {
    let is_read = |spec: &LoadSpec| spec.pattern.fixed_read_share().unwrap_or(spec.rwmixread) > 0;
    loads(case).into_iter().filter(move |(spec, ..)| is_read(spec))
}

/// Reads of a case, as far as caches see them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reads {
    /// Sectors that are read from.
    sectors: u64,
    /// Some are read more often than others, or in another order.
    is_skewed: bool,
    /// Some are read again only after all others: in order, or by one job in a random order without repetition.
    has_passes: bool,
}

impl Reads {
    /// Reads of a case on a twin; `None` where there are none.
    pub fn of(case: &Case, twin: &Twin) -> Option<Reads> {
        let loads: Vec<_> = loads_that_read(case).collect();
        let (mut is_skewed, mut has_passes, mut has_draws) = (false, false, false);
        for (spec, ..) in &loads {
            has_passes |= is_in_passes(spec);
            has_draws |= !is_in_passes(spec);
            is_skewed |= !matches!(spec.shape.distribution, Uniform | NoRepeat);
        }
        let sectors = (distinct_bytes(&loads, twin) / ReadCacheFill::SECTOR_BYTES).max(1);
        // Passes beside draws take places from what is read more often.
        is_skewed |= has_passes && has_draws;
        (!loads.is_empty()).then_some(Reads { sectors, is_skewed, has_passes })
    }

    /// Looks at the fill, in each of which so many of so many bytes are read, that the emptiest cache takes at least to keep what it comes to
    /// keep: a read is kept once at most, and one that forgets what is written may keep no more after one pass over all of the range.
    fn least_looks(&self, twin: &Twin, read_bytes: u64, bytes: u64) -> u64 {
        let left = twin.read_cache_fills().map(|fill| self.left_to_keep(&fill)).max().unwrap_or(0);
        let sectors = |bytes: u64| (bytes / ReadCacheFill::SECTOR_BYTES).max(1);
        (left / sectors(read_bytes)).min(self.sectors / sectors(bytes))
    }

    /// Sectors that a cache can come to keep of them beyond those that it keeps; of skewed ones all that it has room for.
    fn left_to_keep(&self, fill: &ReadCacheFill) -> u64 {
        if self.has_passes && !self.is_skewed && self.sectors > fill.room_sectors {
            return 0;
        }
        fill.room_sectors.min(self.sectors).saturating_sub(fill.kept_sectors)
    }
}

/// Read caches of a twin at a moment, as reads see them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadCaches {
    /// Sectors that are kept, and blocks that were seen.
    filled: u64,
    /// Share of the reads that are no hits, as far as it is known, or more.
    misses: f64,
    /// Share of these that may still become hits.
    to_come: f64,
}

impl ReadCaches {
    /// Caches of a twin; all zero where it has none.
    pub fn of(twin: &Twin, reads: Reads) -> ReadCaches {
        let mut caches = ReadCaches { misses: 1.0, ..ReadCaches::default() };
        for fill in twin.read_cache_fills() {
            caches.filled += fill.kept_sectors + fill.seen_blocks;
            let to_come = reads.left_to_keep(&fill) as f64;
            if reads.is_skewed {
                // How often what is not kept is read is not known.
                caches.to_come = if to_come > 0.0 { 1.0 } else { caches.to_come };
                continue;
            }
            let missing = reads.sectors.saturating_sub(fill.kept_sectors) as f64;
            if to_come > NOTHING * reads.sectors as f64 {
                caches.to_come = caches.to_come.max(to_come / missing);
            }
            caches.misses = caches.misses.min(missing / reads.sectors as f64);
        }
        caches
    }

    /// Sectors that are kept, and blocks that were seen.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    /// Returns whether they have filled since an earlier moment, in which so many bytes were read, by more than what leaves the rate as
    /// it is, and misses become hits by it.
    pub fn fill_since(&self, before: &ReadCaches, read_bytes: u64) -> bool {
        let more = self.filled.saturating_sub(before.filled) * ReadCacheFill::SECTOR_BYTES;
        self.to_come > SAME_MISSES && more as f64 > SAME_MISSES * self.misses * read_bytes as f64
    }
}

/// Lets read caches keep what they keep after hours of a case's loads, in at most so many I/Os; false where there is nothing to do, or
/// it would take more.
pub(super) fn warm_reads(twin: &mut Twin, case: &Case, reads: Reads, most_ios: u64) -> bool {
    let mut caches = ReadCaches::of(twin, reads);
    if reads.has_passes || caches.to_come <= SAME_MISSES {
        return false;
    }
    let Some(mut loads) = Draws::all(case, twin) else { return false };
    see_ranges(twin, case, reads);
    let (mut ios, mut until_ios) = (0, u64::MAX);
    while ios < most_ios.min(until_ios) {
        let (mut read_bytes, mut bytes) = (0, 0);
        Draws::issue(&mut loads, ios..ios + LOOK_IOS, |operations| {
            let length_bytes = |operation: &Operation| u64::from(operation.length_bytes);
            let read = operations.iter().filter(|operation| operation.direction == Direction::Read);
            read_bytes += read.map(length_bytes).sum::<u64>();
            bytes += operations.iter().map(length_bytes).sum::<u64>();
            twin.warm(operations);
        });
        ios += LOOK_IOS;
        let before = std::mem::replace(&mut caches, ReadCaches::of(twin, reads));
        if !caches.fill_since(&before, read_bytes) {
            // What came first leaves again for what is read more often.
            until_ios = until_ios.min(if reads.is_skewed { 2 * ios } else { ios });
        }
        if ios == LOOK_IOS && reads.least_looks(twin, read_bytes, bytes) * LOOK_IOS > most_ios {
            return false;
        }
    }
    until_ios <= ios && caches.filled > 0
}

/// Lets a cache on drives that keeps what is read a second time have seen the ranges that are read, where all of them have room: after hours
/// everything in them was read once, and draws alone would take one more pass to say so.
fn see_ranges(twin: &mut Twin, case: &Case, reads: Reads) {
    if twin.read_cache_fills().all(|fill| reads.sectors > fill.room_sectors) {
        return;
    }
    for (spec, first_job, _) in loads_that_read(case).filter(|(spec, ..)| !has_own_parts(spec)) {
        let bytes = spec.working_set_bytes(twin.capacity_of_job_bytes(first_job));
        twin.warm_seen(first_job, spec.offset_bytes, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(load: &str) -> (ReadCaches, Reads) {
        let array = crate::Configuration::load("nas-raid5").unwrap();
        let case = crate::LoadSource::read(&format!("fio:bs=8k,{load}")).unwrap().case;
        let twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
        let reads = Reads::of(&case, &twin).unwrap();
        (ReadCaches::of(&twin, reads), reads)
    }

    /// Proves that hits to come are known for reads spread evenly, all for skewed ones, and none for passes over more than a cache of 1 GiB
    /// holds.
    #[test]
    fn hits_to_come_are_those_that_have_room() {
        let to_come = |load: &str| caches(load).0.to_come;
        let share = to_come("rw=randread,size=10g");
        assert!((share - 0.1).abs() < 0.01, "{share}");
        assert!(to_come("rw=randread") < 0.001);
        for all in ["rw=randread,size=512m", "rw=read,size=512m", "rw=randread,random_distribution=zipf:1.1"]
        {
            assert_eq!(to_come(all), 1.0, "{all}");
        }
        assert_eq!(to_come("rw=read,size=10g"), 0.0);
    }

    /// Proves that what passes beside draws leave is not taken for known, and that loads are drawn by their rates.
    #[test]
    fn loads_beside_each_other_share_a_cache_by_their_rates() {
        let array = crate::Configuration::load("nas-raid5").unwrap();
        let twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
        let case = |data: &str, log: &str| {
            let file = format!(
                "title: x\nstreams:\n  - {{ name: data, bs: 8k, iops: 900, {data} }}\n  - {{ name: log, bs: 16k, iops: 300, {log} }}\n"
            );
            crate::Workload::parse("w.yaml", &file).unwrap().case("w.yaml").unwrap()
        };
        let (backup, log) = (case("rw: randread", "rw: read"), case("rw: randread", "rw: write"));
        let reads = |case: &Case| Reads::of(case, &twin).unwrap();
        assert!(reads(&backup).has_passes && reads(&backup).is_skewed);
        assert!(!reads(&log).has_passes && !reads(&log).is_skewed);
        let mut streams = Draws::all(&log, &twin).unwrap();
        let drawn: Vec<usize> =
            streams.iter_mut().map(|draws| (0..900).filter_map(|io| draws.operation(io)).count()).collect();
        assert_eq!(drawn, [900, 300]);
    }

    /// Proves that the same few sectors more are much where few are missed, and little where many are.
    #[test]
    fn caches_fill_by_the_share_of_misses() {
        let (cold, _) = caches("rw=randread,size=512m");
        let since = |misses: f64| {
            let later = ReadCaches { filled: cold.filled + 1000, misses, ..cold };
            later.fill_since(&cold, 100_000 * ReadCacheFill::SECTOR_BYTES)
        };
        assert!(since(0.1) && !since(0.9));
        let full = ReadCaches { filled: cold.filled + 1000, misses: 0.1, to_come: 0.0 };
        assert!(!full.fill_since(&cold, 100_000 * ReadCacheFill::SECTOR_BYTES));
    }
}
