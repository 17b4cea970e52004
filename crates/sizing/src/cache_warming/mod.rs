//! Warming of caches: an array that is asked about has carried its load for long, and what its caches take hours to hold is there.
//!
//! Addresses of the load are drawn without being simulated (functional warming), from streams of their own. Read caches keep them until
//! they keep hardly more; write caches take them in up to where they are emptied. Loads that walk the range in order are left alone: what
//! a pass leaves in a read cache, the next one needs last, and a write cache is soon filled by them. Drives are preconditioned before, and
//! both are kept for other rates.

mod draws;
mod reads;
mod writes;

use crate::preconditioning::precondition_drives;
use load::DirectionRates;
use plan::{Case, SettingScope};
use reads::{Reads, warm_reads};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use twin::{Twin, WriteCacheFill, WriteCacheLevel};
use writes::warm_writes;

pub(crate) use reads::ReadCaches;

/// Caches that began as after hours of the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmCaches {
    /// Those of reads, in memory or on drives.
    pub read: bool,
    /// Those of writes.
    pub write: bool,
}

impl WarmCaches {
    /// Those of both.
    pub(crate) fn or(self, other: WarmCaches) -> WarmCaches {
        WarmCaches { read: self.read || other.read, write: self.write || other.write }
    }
}

/// Twins that are kept at most: those of several seeds, or of several sizes of a cache.
const KEPT_TWINS: usize = 4;

/// Twins whose drives were preconditioned and caches warmed last, for other rates of the same loads and for arrays with the same ones. Clones
/// share them.
#[derive(Debug, Clone, Default)]
pub struct WarmedTwins(Arc<Mutex<Vec<WarmedTwin>>>);

#[derive(Debug)]
struct WarmedTwin {
    key: Case,
    twin: Twin,
    is_preconditioned: bool,
    warm: WarmCaches,
}

/// Returns whether a cache of a twin holds anything.
fn holds_anything(twin: &Twin) -> bool {
    twin.read_cache_fills().any(|fill| fill.kept_sectors + fill.seen_blocks > 0)
        || twin.write_cache_fills().any(|fill| fill.held_bytes > 0)
}

impl WarmedTwins {
    fn kept(&self) -> MutexGuard<'_, Vec<WarmedTwin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `takes` take over from one of the twins that are kept for a load; the caches that were warm in it.
    fn taken_over(&self, key: &Case, mut takes: impl FnMut(&WarmedTwin) -> bool) -> Option<WarmCaches> {
        self.kept().iter().find(|one| one.key == *key && takes(one)).map(|one| one.warm)
    }

    fn keep(&self, one: WarmedTwin) {
        let mut kept = self.kept();
        if kept.len() == KEPT_TWINS {
            kept.remove(0);
        }
        kept.push(one);
    }
}

/// Case without what leaves its addresses as they are, or as good as others: rates, times, events and numbers of I/Os at once.
fn at_any_rate(case: &Case) -> Case {
    let mut case = case.clone();
    for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
        (load.rate_iops, load.shape.arrival, load.shape.rates) = (None, None, DirectionRates::default());
        (load.ramp_ns, load.runtime_ns, load.interval_ns, load.iodepth) = (0, 0, 0, 1);
        // Jobs that go in order have a slice of the range each.
        if load.pattern.is_random() && !draws::has_own_parts(load) {
            load.numjobs = 1;
        }
    }
    // Caches are warmed before the first event.
    (case.events, case.conditional_events) = (Vec::new(), Vec::new());
    case.settings = case.settings_of(SettingScope::Array);
    case
}

/// Warming of the caches of a twin for a case.
pub(crate) struct Warming<'a> {
    case: &'a Case,
    kept: &'a WarmedTwins,
    most_ios: u64,
    reads: Option<Reads>,
    /// Sectors and blocks that read caches had after warming; 0 once they were looked at again.
    read_filled: u64,
    warm: WarmCaches,
    is_preconditioned: bool,
    /// Write caches were filled, or would have taken too much.
    has_filled: bool,
}

impl<'a> Warming<'a> {
    /// Warming with at most so many I/Os of each load.
    pub fn new(case: &'a Case, kept: &'a WarmedTwins, most_ios: u64) -> Warming<'a> {
        Warming {
            case,
            kept,
            most_ios,
            reads: None,
            read_filled: 0,
            warm: WarmCaches::default(),
            is_preconditioned: false,
            has_filled: false,
        }
    }

    /// Preconditions drives, where that is asked for, and warms the caches before the first I/O, or takes over both. Others need not wait for
    /// it: they would be no sooner ready.
    pub fn begin(&mut self, twin: &mut Twin, drives_too: bool) {
        self.reads = Reads::of(self.case, twin);
        if self.most_ios > 0 {
            let key = at_any_rate(self.case);
            let takes_drives = |one: &WarmedTwin| one.is_preconditioned && twin.copy_drives(&one.twin);
            let known_drives = drives_too && self.kept.taken_over(&key, takes_drives).is_some();
            self.is_preconditioned = known_drives || drives_too && precondition_drives(twin, self.case);
            let takes_caches = |one: &WarmedTwin| holds_anything(&one.twin) && twin.copy_caches(&one.twin);
            let known_caches = self.kept.taken_over(&key, takes_caches);
            self.warm = known_caches.unwrap_or_else(|| self.warm_all(twin));
            // Caches that only many more draws would fill are not drawn for again.
            let is_new =
                self.is_preconditioned && !known_drives || known_caches.is_none() && holds_anything(twin);
            if is_new {
                let (is_preconditioned, warm) = (self.is_preconditioned, self.warm);
                self.kept.keep(WarmedTwin { key, twin: twin.clone(), is_preconditioned, warm });
            }
        }
        self.read_filled = self.read_caches(twin).filled();
    }

    fn warm_all(&self, twin: &mut Twin) -> WarmCaches {
        // Writes first: a cache on drives forgets what they change.
        let write = warm_writes(twin, self.case, WriteCacheLevel::DestageFrom, self.most_ios);
        WarmCaches { read: self.warm_reads(twin), write }
    }

    /// Returns the read caches at a moment; at the first one those that were lost at the beginning, with their controller, are warmed
    /// again.
    pub fn look(&mut self, twin: &mut Twin) -> ReadCaches {
        let caches = self.read_caches(twin);
        let filled = std::mem::take(&mut self.read_filled);
        if caches.filled() >= filled / 10 * 9 {
            return caches;
        }
        self.warm.read |= self.warm_reads(twin);
        self.read_caches(twin)
    }

    /// Fills the write caches that take in more than they pass on, once: those that are full, or all that rise where they gather writes;
    /// false where there is none.
    pub fn fill_write_caches(&mut self, twin: &mut Twin, they_gather: bool) -> bool {
        let rises =
            |fill: WriteCacheFill| fill.is_full() || they_gather && fill.goes_to(WriteCacheLevel::Full);
        if self.has_filled || !twin.write_cache_fills().any(rises) {
            return false;
        }
        self.has_filled = true;
        let is_filled = warm_writes(twin, self.case, WriteCacheLevel::Full, self.most_ios);
        self.warm.write |= is_filled;
        is_filled
    }

    fn read_caches(&self, twin: &Twin) -> ReadCaches {
        self.reads.map(|reads| ReadCaches::of(twin, reads)).unwrap_or_default()
    }

    /// Returns whether drives began as after many passes of the load's writes.
    pub fn is_preconditioned(&self) -> bool {
        self.is_preconditioned
    }

    /// Returns which caches began as after hours of the load.
    pub fn warm_caches(&self) -> WarmCaches {
        self.warm
    }

    fn warm_reads(&self, twin: &mut Twin) -> bool {
        self.reads.is_some_and(|reads| warm_reads(twin, self.case, reads, self.most_ios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Device;

    /// Proves that a twin is warmed once for all rates of a load, and again for other addresses.
    #[test]
    fn warmed_twins_are_kept_for_other_rates() {
        let kept = WarmedTwins::default();
        let array = crate::Configuration::load("nas-raid5").unwrap();
        let is_kept = |load: &str| {
            let case = crate::LoadSource::read(&format!("fio:rw=randread,bs=8k,{load}")).unwrap().case;
            let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
            let had = kept.0.lock().unwrap().iter().any(|one| one.key == at_any_rate(&case));
            let mut warming = Warming::new(&case, &kept, 200_000);
            warming.begin(&mut twin, false);
            assert!(warming.warm_caches().read);
            had
        };
        assert!(!is_kept("size=200m,rate_iops=100"));
        assert!(is_kept("size=200m,rate_iops=200"));
        assert!(!is_kept("size=201m,rate_iops=200"));
        assert!(is_kept("size=200m,rate_iops=200"));
    }

    /// Proves that jobs which write in order are warmed for by their number, and others whatever it is.
    #[test]
    fn warmed_twins_are_kept_by_slices() {
        let key = |load: &str| {
            at_any_rate(&crate::LoadSource::read(&format!("fio:bs=8k,size=200m,{load}")).unwrap().case)
        };
        assert_ne!(key("rw=write,numjobs=2"), key("rw=write,numjobs=3"));
        assert_eq!(key("rw=randwrite,numjobs=2"), key("rw=randwrite,numjobs=3"));
    }

    /// Proves that what caches hold is taken over by an array with other links and by another state of the array, and not by one with a
    /// larger cache or other volumes.
    #[test]
    fn arrays_with_the_same_caches_share_what_they_hold() {
        let kept = WarmedTwins::default();
        let array = crate::Configuration::load("pool-60-disks").unwrap();
        let of = |key: &str, value: serde_json::Value| array.with(key, &value).unwrap();
        let load = "fio:rw=randrw,rwmixread=50,bs=8k,size=200m,numjobs=2";
        let mut case = crate::LoadSource::read(load).unwrap().case;
        let fills = |array: &crate::Configuration, case: &Case, most_ios: u64| {
            let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
            let mut warming = Warming::new(case, &kept, most_ios);
            warming.begin(&mut twin, false);
            let held = twin.write_cache_fills().map(|fill| fill.held_bytes).sum::<u64>();
            (warming.warm_caches(), twin.read_cache_fills().next(), held)
        };
        let warmed = fills(&array, &case, 1_000_000);
        assert!(warmed.0.read && warmed.0.write && warmed.2 > 100 << 20, "{warmed:?}");
        // One I/O is too few to warm anything.
        assert_eq!(fills(&of("fabric.ports", 8.into()), &case, 1), warmed);
        case.load.iodepth = 7;
        let arguments = serde_json::Map::from_iter([("drive".into(), 0.into())]);
        case.events = vec![plan::CaseEvent { at_ns: 0, action: "drive-failure".into(), arguments }];
        assert_eq!(fills(&array, &case, 1), warmed);
        for (key, value) in [("cache.read", "8GiB"), ("cache.write_back", "8GiB"), ("volumes.size", "50TiB")]
        {
            assert_eq!(fills(&of(key, value.into()), &case, 1).0, WarmCaches::default(), "{key}");
        }
    }

    /// Proves that caches which only more draws would fill are taken over as they are, and said not to be warm.
    #[test]
    fn caches_that_take_long_are_drawn_for_once() {
        let kept = WarmedTwins::default();
        let array = crate::Configuration::load("nas-raid5").unwrap();
        let load = "fio:rw=randread,bs=8k,size=10g,random_distribution=zipf:0.8";
        let case = crate::LoadSource::read(load).unwrap().case;
        let fills = || {
            let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
            let mut warming = Warming::new(&case, &kept, 100_000);
            warming.begin(&mut twin, false);
            (warming.warm_caches(), twin.read_cache_fills().next().unwrap())
        };
        let first = fills();
        assert!(first.0 == WarmCaches::default() && first.1.kept_sectors > 50_000, "{first:?}");
        assert_eq!(fills(), first);
        assert_eq!(kept.0.lock().unwrap().len(), 1);
    }

    /// Proves that beside writes a cache on drives that keeps what is read a second time comes to keep, of a range that has room, the share
    /// that is read last and not written, and draws little more than each block once for it.
    #[test]
    fn a_cache_beside_writes_keeps_the_share_of_reads() {
        let array = crate::Configuration::load("hybrid-read-cache").unwrap();
        let array = array.with("cache.read", &"1MiB".into()).unwrap();
        for percent in [90, 67, 30] {
            let load = format!("fio:rw=randrw,rwmixread={percent},bs=8k,size=4g");
            let case = crate::LoadSource::read(&load).unwrap().case;
            let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
            let reads = Reads::of(&case, &twin).unwrap();
            assert!(warm_reads(&mut twin, &case, reads, (4 << 30) / 8192 * 5 / 4), "{percent} %");
            let fill = twin.read_cache_fills().last().unwrap();
            let share = (fill.kept_sectors * 4096) as f64 / (4_u64 << 30) as f64;
            assert!((share - f64::from(percent) / 100.0).abs() < 0.02, "{share} of {percent} %");
        }
    }

    /// Proves that both sites of a mirror hold the same writes, and that reduced data takes less of a cache than what hosts wrote.
    #[test]
    fn services_are_warmed_as_they_write() {
        let held = |array: &str| -> Vec<u64> {
            let array = crate::Configuration::load(array).unwrap();
            let load = "fio:rw=randwrite,bs=32k,size=100m,numjobs=2";
            let case = crate::LoadSource::read(load).unwrap().case;
            let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
            let content = load::Content { compress_percent: 50, ..load::Content::default() };
            twin.declare_content(0, content);
            assert!(warm_writes(&mut twin, &case, WriteCacheLevel::DestageFrom, 1_000_000));
            twin.write_cache_fills().map(|fill| fill.held_bytes).collect()
        };
        let [own_a, own_b, other_a, other_b] = held("two-sites")[..] else {
            panic!("two sites have four controllers")
        };
        assert_eq!((own_a, own_b), (other_a, other_b));
        let all = own_a + own_b;
        let reduced: u64 = held("reduced-flash").iter().sum();
        assert!(all > 80 << 20 && (0.4..0.6).contains(&(reduced as f64 / all as f64)), "{reduced} {all}");
    }
}
