//! Upper bound of a headroom by arithmetic, without a simulation.
//!
//! A part that an I/O keeps busy for some time serves at most so many (the utilisation law; Lazowska et al. 1984, 3.2). What caches may
//! save is left out of the demand: writes at drives behind a cache, the share of reads that may be hits, and all of what drives do for
//! sequential I/Os.

use crate::Configuration;
use crate::workload::{asked_iops, load_iops};
use array::{Array, Demand};
use load::{Distribution, LoadSpec};
use plan::Case;

/// A rate that is delivered within this share counts as delivered, and arrivals of a short simulation scatter: a bound is larger by it.
const SLACK: f64 = 1.05;

/// Share of reads that must reach the drives in a comparison of profiles: with more hits, what caches save decides.
const MISSES_LEAST: f64 = 0.9;

/// Ends of keys whose effect is in a [`Profile`].
const PROFILED: [&str; 10] =
    ["count", "ports", "layout", "processors", "copy", "parity", "rate", "write_back", "read", "write"];

/// Sections whose effect is not.
const ELSEWHERE: [&str; 5] = ["hosts", "volumes", "pools", "rebuild", "failover"];

/// Service demand of a workload's I/Os on each kind of part of an array, and the array's caches.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    /// Demands of reads and of writes of each size, by part.
    demands: Vec<Demand>,
    read_cache_bytes: u64,
    write_cache_bytes: u64,
}

impl Profile {
    /// Profile of a design; `None` where something else than demands decides how fast it is.
    pub fn of(configuration: &Configuration, case: &Case) -> Option<Profile> {
        let parts = &*configuration.description.parts;
        let is_profiled = |key: &String| {
            let is_elsewhere = ELSEWHERE.iter().any(|section| key.starts_with(section));
            !is_elsewhere && PROFILED.iter().any(|end| key.rsplit('.').next() == Some(*end))
        };
        // Initiators, ports of nodes and journals of chains have no share in the demands.
        if parts.has_chains()
            || !configuration.settings.is_empty()
            || !configuration.changed.keys().all(is_profiled)
        {
            return None;
        }
        let (sets, _) = array::sets(parts);
        let set = lone_set(&sets)?;
        let loads: Vec<&LoadSpec> = match case.loads.is_empty() {
            true => vec![&case.load],
            false => case.loads.iter().map(|load| &load.load).collect(),
        };
        let mut demands = Vec::new();
        for load in loads {
            if misses(parts, load).0 < MISSES_LEAST {
                return None;
            }
            for (bytes, _) in sizes(load) {
                for is_read in [true, false] {
                    demands.push(array::demand(parts, &sets, set, is_read, u64::from(bytes)));
                }
            }
        }
        let caches = u64::from(parts.controller_count());
        Some(Profile {
            demands,
            read_cache_bytes: parts.cache.read.get() * caches,
            write_cache_bytes: parts.cache.write_back.get() * caches,
        })
    }

    /// Returns true if every I/O demands at least as much of every part as of another array with at least its caches.
    pub fn is_no_better_than(&self, other: &Profile) -> bool {
        let of = |demand: &Demand| {
            [
                demand.link_ns,
                demand.processor_ns,
                demand.copy_ns,
                demand.parity_ns,
                demand.buffer_ns,
                demand.network_ns,
                demand.backend_ns,
                demand.drive_ns,
            ]
        };
        let pairs = self.demands.iter().zip(&other.demands);
        self.read_cache_bytes <= other.read_cache_bytes
            && self.write_cache_bytes <= other.write_cache_bytes
            && self.demands.len() == other.demands.len()
            && pairs.flat_map(|(own, its)| of(own).into_iter().zip(of(its))).all(|(own, its)| own >= its)
    }
}

/// Busy shares of kinds of parts under a workload.
#[derive(Debug, Clone, Copy, Default)]
struct Utilisation {
    /// Links carry both directions at once.
    links_read: f64,
    links_write: f64,
    processors: f64,
    copy: f64,
    network: f64,
    backend: f64,
    drives: f64,
}

/// Times the workload that an array can carry at most when all its parts work; infinite where nothing bounds it.
pub fn most_times(configuration: &Configuration, case: &Case) -> f64 {
    let parts = &configuration.description.parts;
    if parts.has_chains() || asked_iops(case).is_none() || !configuration.settings.is_empty() {
        return f64::INFINITY;
    }
    let mut sum = Utilisation::default();
    match case.loads.is_empty() {
        true => add(&mut sum, parts, &case.load),
        false => case.loads.iter().for_each(|load| add(&mut sum, parts, &load.load)),
    }
    let shares =
        [sum.links_read, sum.links_write, sum.processors, sum.copy, sum.network, sum.backend, sum.drives];
    let busiest = shares.into_iter().fold(0.0, f64::max);
    if busiest > 0.0 { SLACK / busiest } else { f64::INFINITY }
}

fn add(sum: &mut Utilisation, parts: &Array, load: &LoadSpec) {
    let Some(iops) = load_iops(load) else { return };
    let (sets, _) = array::sets(parts);
    let Some(set) = lone_set(&sets) else { return };
    let is_plain = load.shape.trim_percent == 0 && load.shape.replay.is_none();
    let read_share = match load.pattern.fixed_read_share() {
        _ if !is_plain => return,
        Some(percent) => f64::from(percent) / 100.0,
        None => f64::from(load.rwmixread) / 100.0,
    };
    let sizes = sizes(load);
    let weights: u32 = sizes.iter().map(|(_, weight)| weight).sum();
    let (read_misses, write_misses) = misses(parts, load);
    for (bytes, weight) in sizes {
        let rate = iops * f64::from(weight) / f64::from(weights.max(1)) / 1e9;
        let [read, write] =
            [true, false].map(|is_read| array::demand(parts, &sets, set, is_read, u64::from(bytes)));
        let (reads, writes) = (rate * read_share, rate * (1.0 - read_share));
        sum.links_read += reads * read.link_ns;
        sum.links_write += writes * write.link_ns;
        sum.processors += reads * read.processor_ns
            + writes * (write.processor_ns + write_misses * write.parity_processor_ns);
        sum.copy += reads * read.copy_ns + writes * write.copy_ns;
        sum.network += writes * write_misses * write.network_ns;
        sum.backend += reads * read_misses * read.backend_ns + writes * write_misses * write.backend_ns;
        sum.drives += reads * read_misses * read.drive_ns + writes * write_misses * write.drive_ns;
    }
}

/// First of sets that are all of one group or pool: which of several a volume lies on is the twin's to know.
fn lone_set(sets: &[array::Set]) -> Option<&array::Set> {
    sets.first()
        .filter(|first| sets.iter().all(|other| other.group == first.group && other.pool == first.pool))
}

/// Sizes of a load's I/Os, with their weights.
fn sizes(load: &LoadSpec) -> Vec<(u32, u32)> {
    match load.shape.sizes.is_empty() {
        true => vec![(load.bs_bytes, 1)],
        false => load.shape.sizes.iter().map(|size| (size.bs_bytes, size.weight)).collect(),
    }
}

/// Least shares of reads and writes that reach the drives as they are.
fn misses(parts: &Array, load: &LoadSpec) -> (f64, f64) {
    // Data services save I/Os of the drives, and make others.
    if !parts.services().is_empty() {
        return (0.0, 0.0);
    }
    let is_even = matches!(load.shape.distribution, Distribution::Uniform | Distribution::NoRepeat)
        && matches!(load.shape.working_set_percent, 0 | 100)
        && load.pattern.is_random();
    if !is_even {
        return (0.0, 0.0);
    }
    let cache = &parts.cache;
    let caches = u64::from(parts.controller_count());
    let cached_bytes = cache.read.get().saturating_add(cache.write_back.get()).saturating_mul(caches);
    let usable_bytes: u64 =
        array::capacity(parts, &array::sets(parts).0).iter().map(|one| one.usable_bytes).sum();
    // Which entry of volumes the load is for is the twin's to know: the smallest bounds them all.
    let of_volumes = parts.volumes.iter().map(|volume| match volume.keys.size.get() {
        0 => usable_bytes,
        bytes => bytes.saturating_mul(volume.keys.count.get()),
    });
    let volumes_bytes = of_volumes.min().unwrap_or(usable_bytes).saturating_sub(load.offset_bytes);
    let used_bytes = load.size_bytes.unwrap_or(volumes_bytes).min(volumes_bytes).max(1);
    let hits = (cached_bytes as f64 / used_bytes as f64).min(1.0);
    let is_written_through = cache.write_back.get() == 0 && !cache.buffered.is_on();
    (1.0 - hits, if is_written_through { 1.0 } else { 0.0 })
}
