//! Simulation of a load until its level is known.
//!
//! The first third of what was simulated is left out as warm-up. The load goes on until the second and the last third agree and
//! the caches take no more than they pass on, at most for its runtime and for [`Effort::most_ios`] I/Os.

use crate::cache_warming::{ReadCaches, WarmCaches, Warming};
use crate::part::Part;
use crate::requirement::{Requirement, Side};
use crate::workload::asked_iops;
use crate::{Configuration, SizingError};
use load::{DirectionSample, Histogram, Sample};
use plan::{Case, SettingScope};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use twin::{Twin, TwinCounter};
use units::NANOS_PER_SECOND;

/// Time of simulated load between two looks.
const INTERVAL_NS: u64 = 10_000_000;
/// I/Os between two looks at a load with a rate.
const IOS_PER_LOOK: f64 = 1000.0;
/// Looks in the runtime of a load without a rate, at most.
const LOOKS: u64 = 20_000;
/// Looks in the runtime, at least.
const LOOKS_LEAST: u64 = 100;
/// Batches that are kept; twice as many are joined in pairs.
const BATCHES: usize = 24;
/// Groups of batches whose means give the interval of the whole.
const GROUPS: usize = 8;
/// Student's t for 95 % and one degree of freedom less than groups.
const T_QUANTILE: f64 = 2.365;
/// Levels of both thirds agree within this share, or within their noise.
const SAME_LEVEL: f64 = 0.02;
/// Noise of a level is at most this share of it: a third with the end of a filling cache in it scatters by several times its mean, and
/// would agree with everything.
const NOISE_MOST: f64 = 0.2;
/// As `SAME_LEVEL`, of mean latencies.
const SAME_LATENCY: f64 = 0.05;
/// Latencies beyond so many times a bound are out of reach of it, if they still grow.
const OUT_OF_REACH: f64 = 10.0;
/// Latencies grow where the mean of the last third is so many times that of the second: a queue that grows evenly has 1.67, one that
/// a cache begins to drain less.
const GROWS: f64 = 1.5;
/// Share of the time for which drives are given work, beyond which their queues grow.
const OVERBOOKED: f64 = 1.01;
/// Share of the load's bytes that caches and tiers may take up without passing them on.
pub(crate) const IN_BALANCE: f64 = 0.03;
/// Setting of a twin that says in which state its drives begin, and the state of drives in use.
pub(crate) const CONDITION: (&str, &str) = ("condition", "steady");
/// Setting of a twin that simulates every I/O.
pub(crate) const EXACT: (&str, &str) = ("exact", "on");

/// Work that one answer may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// I/Os that are simulated at least, unless the runtime is over before.
    pub ios: u64,
    /// I/Os after which the simulation ends though the level still changes.
    pub most_ios: u64,
    /// I/Os of each load at most from which caches are filled before, without being simulated.
    pub most_warming_ios: u64,
    /// Seeds, from 1 on, each with a simulation of its own.
    pub seeds: u32,
    /// Simulated time between two looks at least, in nanoseconds.
    pub look_ns: u64,
    /// Simulated time at most, in nanoseconds, where the load runs longer.
    pub most_ns: u64,
    /// Simulations at once, at most one for each processor.
    pub threads: usize,
}

impl Effort {
    /// Effort of an answer that is printed.
    pub const FULL: Effort = Effort {
        ios: 300_000,
        most_ios: 3_000_000,
        most_warming_ios: 40_000_000,
        seeds: 1,
        look_ns: INTERVAL_NS,
        most_ns: u64::MAX,
        threads: usize::MAX,
    };

    /// Effort of a first answer, which is to be there while a slider moves.
    pub const ROUGH: Effort = Effort {
        ios: 4_000,
        most_ios: 40_000,
        most_warming_ios: 0,
        look_ns: 1_000_000,
        most_ns: 5_000_000_000,
        threads: 1,
        ..Effort::FULL
    };
}

impl Default for Effort {
    fn default() -> Effort {
        Effort::FULL
    }
}

/// Part of the simulated time.
#[derive(Debug, Clone, Default)]
struct Batch {
    duration_ns: u64,
    read: DirectionSample,
    write: DirectionSample,
    /// Counters at its end.
    counters: Vec<TwinCounter>,
    /// Share of a rebuild that is done at its end.
    rebuilt_share: Option<f64>,
    /// Read caches at its end.
    read_caches: ReadCaches,
}

/// Intervals of the counted time that an answer keeps.
const KEPT_INTERVALS: usize = GROUPS;

impl Batch {
    fn add(&mut self, sample: &Sample) {
        self.read.merge(&sample.read);
        self.write.merge(&sample.write);
    }

    fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    fn join(&mut self, later: Batch) {
        self.duration_ns += later.duration_ns;
        self.read.merge(&later.read);
        self.write.merge(&later.write);
        self.counters = later.counters;
        self.rebuilt_share = later.rebuilt_share;
        self.read_caches = later.read_caches;
    }

    fn mean_latency_ns(&self) -> f64 {
        let sum_ns = self.read.latency.sum_ns() + self.write.latency.sum_ns();
        sum_ns as f64 / self.ios().max(1) as f64
    }

    fn iops(&self) -> f64 {
        self.ios() as f64 * NANOS_PER_SECOND as f64 / self.duration_ns.max(1) as f64
    }
}

/// Writes of one drive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DriveWrites {
    /// Bytes that it was given; of a drive with a flash translation layer none.
    pub bytes: u64,
    /// Mapping units that it was given.
    pub units: u64,
    /// Mapping units that garbage collection moved.
    pub moved_units: u64,
}

impl DriveWrites {
    pub fn add(&mut self, other: DriveWrites) {
        self.bytes += other.bytes;
        self.units += other.units;
        self.moved_units += other.moved_units;
    }
}

/// Simulated level of a load.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// Both directions in the counted time of all seeds.
    pub read: DirectionSample,
    pub write: DirectionSample,
    pub counted_ns: u64,
    /// Relative half-widths of the 95 % intervals from batches.
    pub rate_half_width: f64,
    pub mean_half_width: f64,
    pub p99_half_width: f64,
    /// Share of the counted time that each kind of part was busy, the busiest of its resources.
    pub busy: BTreeMap<Part, f64>,
    /// Writes that each drive took in the counted time, by its name among the twin's counters.
    pub drive_writes: BTreeMap<String, DriveWrites>,
    /// Time of a whole rebuild at the pace of the counted time, in nanoseconds; `None` where none ran.
    pub rebuild_ns: Option<f64>,
    /// The level did not change any more.
    pub is_steady: bool,
    /// The drives began as after hours of random writes, which the load did not ask for.
    pub began_steady: bool,
    /// The load's own writes then preconditioned them.
    pub preconditioned_by_load: bool,
    /// Caches that began as after hours of the load.
    pub warm_caches: WarmCaches,
    /// Warm-up of the first seed as a ramp, and the counted time of all seeds one after the other.
    pub samples: Vec<Sample>,
}

impl Level {
    /// I/Os a second.
    pub fn iops(&self) -> f64 {
        self.per_second(self.read.ios + self.write.ios)
    }

    /// Bytes a second.
    pub fn bw_bytes_per_s(&self) -> f64 {
        self.per_second(self.read.bytes + self.write.bytes)
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 * NANOS_PER_SECOND as f64 / self.counted_ns.max(1) as f64
    }

    /// Latencies of some of the I/Os.
    pub fn latency(&self, side: Side) -> Histogram {
        latency(side, [(&self.read, &self.write)])
    }
}

/// Latencies of the reads, the writes or both of samples.
fn latency<'a>(
    side: Side,
    samples: impl IntoIterator<Item = (&'a DirectionSample, &'a DirectionSample)>,
) -> Histogram {
    let mut histogram = Histogram::new();
    for (read, write) in samples {
        if side != Side::Write {
            histogram.merge(&read.latency);
        }
        if side != Side::Read {
            histogram.merge(&write.latency);
        }
    }
    histogram
}

/// Simulates a case on a configuration.
pub(crate) fn simulate(
    configuration: &Configuration,
    case: &Case,
    effort: &Effort,
) -> Result<Level, SizingError> {
    simulate_within(configuration, case, effort, &[])
}

/// Simulates a case on a configuration, no further than until a requirement is out of reach.
pub(crate) fn simulate_within(
    configuration: &Configuration,
    case: &Case,
    effort: &Effort,
    requirements: &[Requirement],
) -> Result<Level, SizingError> {
    let mut settings = configuration.settings.clone();
    let has = |name: &str| Twin::settings(&configuration.description).iter().any(|one| one.name == name);
    let is_given = |name: &str| {
        settings.iter().any(|(given, _)| given == name)
            || case.settings_of(SettingScope::Array).contains_key(name)
    };
    let writes = case.load.writes() || case.loads.iter().any(|load| load.load.writes());
    let began_steady = writes && has(CONDITION.0) && !is_given(CONDITION.0) && case.conditioned_by.is_none();
    if began_steady {
        settings.push((CONDITION.0.into(), CONDITION.1.into()));
    }
    settings.retain(|(name, _)| name != EXACT.0);
    settings.push((EXACT.0.into(), EXACT.1.into()));
    // A configuration's change holds for the case too.
    let mut case = case.clone();
    case.settings.retain(|name, _| !configuration.changed.contains_key(name));
    let mut levels = Vec::new();
    for seed in 1..=u64::from(effort.seeds.max(1)) {
        levels.push(one_seed(configuration, &settings, &case, effort, seed, began_steady, requirements)?);
    }
    Ok(joined(&levels, began_steady))
}

struct Counted {
    warm_up: Batch,
    batches: Vec<Batch>,
    busy: BTreeMap<Part, f64>,
    drive_writes: BTreeMap<String, DriveWrites>,
    rebuild_ns: Option<f64>,
    is_steady: bool,
    warm_caches: WarmCaches,
    preconditioned_by_load: bool,
}

fn one_seed(
    configuration: &Configuration,
    settings: &[(String, String)],
    case: &Case,
    effort: &Effort,
    seed: u64,
    began_steady: bool,
    requirements: &[Requirement],
) -> Result<Counted, SizingError> {
    let mut case = case.clone();
    campaign::mix_seed(&mut case, seed);
    // What changes during the case is part of it.
    let is_whole = case.events.iter().any(|event| event.at_ns > 0)
        || !case.conditional_events.is_empty()
        || case.ends_after.is_some();
    let loads = case.loads.len().max(1);
    let most_ns = if is_whole { u64::MAX } else { effort.most_ns };
    let runtime_ns = (case.load.ramp_ns + case.load.runtime_ns).min(most_ns);
    // A rate that is known says how long a look must be to see something.
    let seen_ns = asked_iops(&case).map(|iops| (IOS_PER_LOOK * NANOS_PER_SECOND as f64 / iops) as u64);
    let interval_ns =
        effort.look_ns.max(seen_ns.unwrap_or(runtime_ns / LOOKS)).min(runtime_ns / LOOKS_LEAST).max(1);
    for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
        let whole_ns = (load.ramp_ns + load.runtime_ns).min(most_ns);
        load.interval_ns = interval_ns.min(whole_ns);
        if !is_whole {
            (load.ramp_ns, load.runtime_ns) = (0, whole_ns);
        }
    }
    let mut batches: Vec<Batch> = Vec::new();
    let mut current = Batch::default();
    let (mut looks, mut looks_per_batch, mut ios) = (0_u64, 1_u64, 0_u64);
    let (mut is_steady, mut is_hopeless) = (false, false);
    let warming = RefCell::new(Warming::new(&case, &configuration.warmed, effort.most_warming_ios));
    let (description, twins) = (&configuration.description, configuration.twins.as_ref());
    campaign::simulate_case(
        description,
        settings,
        &case,
        twins,
        &mut |twin| warming.borrow_mut().begin(twin, began_steady),
        &mut |twin, number, sample| {
            if is_whole && sample.is_ramp {
                return false;
            }
            current.add(&sample);
            ios += sample.read.ios + sample.write.ios;
            // Loads end their intervals together; the last of them ends the look.
            if number + 1 < loads {
                return false;
            }
            current.duration_ns += sample.duration_ns();
            looks += 1;
            if looks < looks_per_batch {
                return false;
            }
            looks = 0;
            current.read_caches = warming.borrow_mut().look(twin);
            current.counters = twin.counters();
            current.rebuilt_share = twin.rebuilt_share();
            batches.push(std::mem::take(&mut current));
            if batches.len() >= 2 * BATCHES {
                looks_per_batch *= 2;
                batches = in_pairs(std::mem::take(&mut batches));
            }
            if is_whole {
                return false;
            }
            let has_batches = batches.len() >= BATCHES / 2;
            let is_long = has_batches && ios >= effort.ios;
            // A load that ends soon has few I/Os.
            let is_a_quarter = batches.iter().map(|batch| batch.duration_ns).sum::<u64>() >= runtime_ns / 4;
            let they_gather = has_batches && (is_long || is_a_quarter) && gathers(&batches);
            if warming.borrow_mut().fill_write_caches(twin, they_gather) {
                // The level of a full cache is another.
                batches.clear();
                ios = 0;
                return false;
            }
            is_steady = is_long && is_level(&batches);
            // As long as a level is looked for: a cold cache may let a queue grow that it then drains.
            is_hopeless = is_long && is_out_of_reach(&batches, requirements);
            is_steady || is_hopeless || ios >= effort.most_ios
        },
    )?;
    if current.duration_ns > 0 && batches.is_empty() {
        batches.push(current);
    }
    is_steady = is_steady || (!is_hopeless && is_level(&batches));
    let warm_up = if is_whole { 0 } else { batches.len() / 3 };
    let busy = busy(&batches, warm_up);
    let drive_writes = drive_writes(&batches, warm_up);
    let rebuild_ns = rebuild_ns(&batches, warm_up);
    let counted = batches.split_off(warm_up);
    let warm_up = whole(&batches);
    let warming = warming.into_inner();
    Ok(Counted {
        warm_up,
        batches: counted,
        busy,
        drive_writes,
        rebuild_ns,
        is_steady,
        warm_caches: warming.warm_caches(),
        preconditioned_by_load: warming.is_preconditioned(),
    })
}

/// Batches as one.
fn whole(batches: &[Batch]) -> Batch {
    let mut whole = Batch::default();
    batches.iter().for_each(|batch| whole.join(batch.clone()));
    whole
}

/// Samples that add up to what is counted, few enough to be kept of every answer.
fn samples(of_seeds: &[Counted]) -> Vec<Sample> {
    let mut parts: Vec<(bool, Batch)> = Vec::new();
    if let Some(first) = of_seeds.first().filter(|first| first.warm_up.duration_ns > 0) {
        parts.push((true, first.warm_up.clone()));
    }
    for one in of_seeds {
        let groups = one.batches.len().min(KEPT_INTERVALS);
        let bound = |group: usize| group * one.batches.len() / groups;
        parts.extend((0..groups).map(|group| (false, whole(&one.batches[bound(group)..bound(group + 1)]))));
    }
    let mut start_ns = 0;
    let to_sample = |(is_ramp, mut batch): (bool, Batch)| {
        batch.read.latency.compact();
        batch.write.latency.compact();
        let sample = Sample {
            start_ns,
            end_ns: start_ns + batch.duration_ns,
            is_ramp,
            read: batch.read,
            write: batch.write,
            ..Sample::default()
        };
        start_ns = sample.end_ns;
        sample
    };
    parts.into_iter().map(to_sample).collect()
}

/// Increase of a counter since the end of the batch before one, which the counters of a later batch are asked for.
fn increases(batches: &[Batch], from: usize) -> impl Fn(&TwinCounter) -> u64 {
    let counters = batches[..from].last().map_or(&[][..], |batch| &batch.counters);
    let before: BTreeMap<(&str, &str), u64> =
        counters.iter().map(|one| ((one.entity.as_str(), one.name), one.value)).collect();
    move |later| {
        let was = before.get(&(later.entity.as_str(), later.name)).copied().unwrap_or(0);
        later.value.saturating_sub(was)
    }
}

/// Writes of each drive from a batch on.
fn drive_writes(batches: &[Batch], from: usize) -> BTreeMap<String, DriveWrites> {
    let mut writes: BTreeMap<String, DriveWrites> = BTreeMap::new();
    let Some(end) = batches.last() else { return writes };
    let increase = increases(batches, from);
    for counter in &end.counters {
        let more = increase(counter);
        let own = match counter.name {
            "written_bytes" => DriveWrites { bytes: more, ..DriveWrites::default() },
            "host_units" => DriveWrites { units: more, ..DriveWrites::default() },
            "moved_units" => DriveWrites { moved_units: more, ..DriveWrites::default() },
            _ => continue,
        };
        writes.entry(counter.entity.clone()).or_default().add(own);
    }
    writes
}

/// Time of a whole rebuild at the pace from a batch on.
fn rebuild_ns(batches: &[Batch], from: usize) -> Option<f64> {
    let begin = batches[..from].last()?.rebuilt_share?;
    let end = batches.last()?.rebuilt_share?;
    let elapsed_ns: u64 = batches[from..].iter().map(|batch| batch.duration_ns).sum();
    (end > begin).then(|| elapsed_ns as f64 / (end - begin))
}

fn in_pairs(batches: Vec<Batch>) -> Vec<Batch> {
    let mut paired: Vec<Batch> = Vec::with_capacity(BATCHES);
    for (index, batch) in batches.into_iter().enumerate() {
        match paired.last_mut() {
            Some(last) if index % 2 == 1 => last.join(batch),
            _ => paired.push(batch),
        }
    }
    paired
}

/// Returns true if the second and the last third have one level, caches destage as much as they take or, where there are none, drives
/// are given no more work than they do, and no read cache or tier of faster drives still fills.
fn is_level(batches: &[Batch]) -> bool {
    let third = batches.len() / 3;
    if third < 2 {
        return false;
    }
    let rates: Vec<f64> = batches.iter().map(Batch::iops).collect();
    // Queues that grow show in latencies long before a rate falls.
    let latencies: Vec<f64> = batches.iter().map(Batch::mean_latency_ns).collect();
    for (values, same) in [(rates, SAME_LEVEL), (latencies, SAME_LATENCY)] {
        let (middle, last) = (BatchMean::of(&values[third..2 * third]), BatchMean::of(&values[2 * third..]));
        let noise = 2.0 * (middle.standard_error.powi(2) + last.standard_error.powi(2)).sqrt();
        if (middle.mean - last.mean).abs() > (same * last.mean).max(noise.min(NOISE_MOST * last.mean)) {
            return false;
        }
    }
    // A buffer fills with what is more than the drive can do; once it is full, the level is another. A cache before it destages in bursts,
    // and is asked for its balance instead.
    let has_cache = batches.last().and_then(dirty_bytes).is_some();
    if !has_cache && bus_share(batches, third) > OVERBOOKED {
        return false;
    }
    !gathers_in(batches, 2 * third..batches.len())
        && !fills_tier(batches, 2 * third)
        && !fills_read_caches(batches, 2 * third)
}

/// Returns true if write caches take in more than they pass on, in the second and in the last third.
fn gathers(batches: &[Batch]) -> bool {
    let third = batches.len() / 3;
    third >= 2 && gathers_in(batches, third..2 * third) && gathers_in(batches, 2 * third..batches.len())
}

/// Returns true if write caches take in more than they pass on in some of the batches, without the first of all.
fn gathers_in(batches: &[Batch], part: Range<usize>) -> bool {
    let held = dirty_bytes(&batches[part.start - 1]).zip(dirty_bytes(&batches[part.end - 1]));
    let written: u64 = batches[part].iter().map(|batch| batch.write.bytes).sum();
    held.is_some_and(|(before, after)| {
        after.saturating_sub(before) as f64 > IN_BALANCE * written.max(1) as f64
    })
}

/// Returns true if read caches go on to fill from a batch on, and misses become hits by it.
fn fills_read_caches(batches: &[Batch], from: usize) -> bool {
    let read_bytes = batches[from..].iter().map(|batch| batch.read.bytes).sum();
    batches.last().is_some_and(|last| last.read_caches.fill_since(&batches[from - 1].read_caches, read_bytes))
}

/// Returns true if a tier of faster drives goes on to fill from a batch on: what it does not hold yet is not served by it.
fn fills_tier(batches: &[Batch], from: usize) -> bool {
    let held_bytes = |batch: &Batch| -> u64 {
        let is_held = |one: &&TwinCounter| one.entity == "tier" && one.name == "fill_bytes";
        batch.counters.iter().filter(is_held).map(|one| one.value).sum()
    };
    let (before, after) = (held_bytes(&batches[from - 1]), batches.last().map_or(0, held_bytes));
    let moved: u64 = batches[from..].iter().map(|batch| batch.read.bytes + batch.write.bytes).sum();
    after.abs_diff(before) as f64 > IN_BALANCE * moved as f64
}

/// Work that the drives' buses were given from a batch on, as a share of the time: the mean over drives that had any.
fn bus_share(batches: &[Batch], from: usize) -> f64 {
    let Some(last) = batches.last() else { return 0.0 };
    let elapsed_ns: u64 = batches[from..].iter().map(|batch| batch.duration_ns).sum();
    let of_bus = last.counters.iter().filter(|counter| counter.name == "bus_busy_ns");
    let given_ns: Vec<u64> = of_bus.map(increases(batches, from)).filter(|&busy_ns| busy_ns > 0).collect();
    given_ns.iter().sum::<u64>() as f64 / (given_ns.len().max(1) as f64 * elapsed_ns.max(1) as f64)
}

/// Returns true if latencies are far beyond a requirement in the second and the last third and grow from one to the other: I/Os
/// arrive faster than they are completed, and however long that lasts, the requirement does not hold.
fn is_out_of_reach(batches: &[Batch], requirements: &[Requirement]) -> bool {
    let third = batches.len() / 3;
    let parts = [&batches[third..2 * third], &batches[2 * third..]];
    let [middle_ns, last_ns] = parts.map(|part| {
        let ios: u64 = part.iter().map(Batch::ios).sum();
        part.iter().map(|batch| batch.mean_latency_ns() * batch.ios() as f64).sum::<f64>() / ios.max(1) as f64
    });
    if last_ns < GROWS * middle_ns {
        return false;
    }
    let latency_of = |part: &[Batch], requirement: &Requirement| {
        let samples = part.iter().map(|batch| (&batch.read, &batch.write));
        requirement.latency_of(&latency(requirement.side, samples))
    };
    requirements
        .iter()
        .any(|one| parts.iter().all(|part| latency_of(part, one) > OUT_OF_REACH * one.latency_ns as f64))
}

/// Bytes that caches still have to write; `None` where nothing is cached. Blocks are counted by the smallest size that a cache has.
fn dirty_bytes(batch: &Batch) -> Option<u64> {
    let of = |name: &str| {
        let mut values = batch.counters.iter().filter(|counter| counter.name == name).peekable();
        values.peek().is_some().then(|| values.map(|counter| counter.value).sum::<u64>())
    };
    of("fill_unwritten_bytes").or_else(|| of("fill_dirty_blocks").map(|blocks| blocks * 4096))
}

/// Share of the time from a batch on that each kind of part was busy: the mean over like parts that were used, of the busiest
/// resource.
fn busy(batches: &[Batch], from: usize) -> BTreeMap<Part, f64> {
    let Some(end) = batches.last() else { return BTreeMap::new() };
    let elapsed_ns: u64 = batches[from..].iter().map(|batch| batch.duration_ns).sum();
    let increase = increases(batches, from);
    let level = |entity: &str, name: &str| {
        end.counters.iter().find(|one| one.entity == entity && one.name == name).map(|one| one.value)
    };
    let mut resources: BTreeMap<(Part, &str, &str), Vec<f64>> = BTreeMap::new();
    for counter in end.counters.iter().filter(|counter| counter.name.ends_with("busy_ns")) {
        let servers = match counter.name {
            name if name.starts_with("processors") => level(&counter.entity, "processors"),
            "threads_busy_ns" => level(&counter.entity, "fill_threads"),
            _ => Some(1),
        };
        let Some(servers) = servers else { continue };
        let share = increase(counter) as f64 / elapsed_ns.max(1) as f64 / servers.max(1) as f64;
        if (1e-6..=1.05).contains(&share) {
            let part = Part::of_counter(&counter.entity, counter.name);
            let kind = Part::kind_of(&counter.entity);
            resources.entry((part, kind, counter.name)).or_default().push(share.min(1.0));
        }
    }
    let mut busiest = BTreeMap::new();
    for ((part, _, _), shares) in resources {
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let most: &mut f64 = busiest.entry(part).or_default();
        *most = most.max(mean);
    }
    busiest
}

fn joined(of_seeds: &[Counted], began_steady: bool) -> Level {
    let (mut read, mut write) = (DirectionSample::default(), DirectionSample::default());
    let mut counted_ns = 0;
    let mut busy: BTreeMap<Part, f64> = BTreeMap::new();
    let mut drive_writes: BTreeMap<String, DriveWrites> = BTreeMap::new();
    let seeds = of_seeds.len() as f64;
    for one in of_seeds {
        for (drive, writes) in &one.drive_writes {
            drive_writes.entry(drive.clone()).or_default().add(*writes);
        }
        for batch in &one.batches {
            read.merge(&batch.read);
            write.merge(&batch.write);
            counted_ns += batch.duration_ns;
        }
        for (part, share) in &one.busy {
            *busy.entry(*part).or_default() += share / seeds;
        }
    }
    let batches = || of_seeds.iter().flat_map(|one| &one.batches);
    let latencies = |of: &dyn Fn(&Histogram) -> f64| -> Vec<f64> {
        let of_batch = |batch: &Batch| {
            let mut both = batch.read.latency.clone();
            both.merge(&batch.write.latency);
            (both.count() > 0).then(|| of(&both))
        };
        batches().filter_map(of_batch).collect()
    };
    let rates: Vec<f64> = batches().map(Batch::iops).collect();
    Level {
        counted_ns,
        rate_half_width: half_width(&rates),
        mean_half_width: half_width(&latencies(&|histogram| histogram.mean_ns())),
        p99_half_width: half_width(&latencies(&|histogram| histogram.percentile_ns(990_000) as f64)),
        busy,
        drive_writes,
        // The slowest: seeds differ little, and a pace that is too fast would promise too much.
        rebuild_ns: of_seeds.iter().filter_map(|one| one.rebuild_ns).reduce(f64::max),
        is_steady: of_seeds.iter().all(|one| one.is_steady),
        began_steady,
        preconditioned_by_load: of_seeds.iter().all(|one| one.preconditioned_by_load),
        warm_caches: of_seeds.iter().fold(WarmCaches::default(), |warm, one| warm.or(one.warm_caches)),
        samples: samples(of_seeds),
        read,
        write,
    }
}

/// Mean of batches with its standard error.
struct BatchMean {
    mean: f64,
    standard_error: f64,
}

impl BatchMean {
    fn of(values: &[f64]) -> BatchMean {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        BatchMean { mean, standard_error: (squares / (count - 1.0).max(1.0) / count).sqrt() }
    }
}

/// Relative half-width of the 95 % interval of a mean, from means of [`GROUPS`] groups of batches, which are long enough to depend on
/// one another little (Law and Kelton's batch means); all of it where there are not so many.
fn half_width(values: &[f64]) -> f64 {
    if values.len() < GROUPS {
        return 1.0;
    }
    let bounds = |group: usize| group * values.len() / GROUPS;
    let means: Vec<f64> =
        (0..GROUPS).map(|group| BatchMean::of(&values[bounds(group)..bounds(group + 1)]).mean).collect();
    let groups = BatchMean::of(&means);
    if groups.mean <= 0.0 {
        return 1.0;
    }
    (T_QUANTILE * groups.standard_error / groups.mean).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second of reads that take so long each.
    fn batch(ios: u64, latency_ms: u64) -> Batch {
        let mut batch = Batch { duration_ns: 1_000_000_000, ..Batch::default() };
        (0..ios).for_each(|_| batch.read.latency.record(latency_ms * 1_000_000));
        batch.read.ios = ios;
        batch
    }

    fn batches(latencies_ms: &[u64]) -> Vec<Batch> {
        latencies_ms.iter().map(|&latency_ms| batch(100, latency_ms)).collect()
    }

    /// Proves that a level with the end of a filling cache in it is none, however much that scatters, and that one which scatters by a tenth is.
    #[test]
    fn the_end_of_a_filling_cache_is_no_noise() {
        let of_rates = |rates: &[u64]| -> Vec<Batch> { rates.iter().map(|&ios| batch(ios, 1)).collect() };
        let filled = [vec![9_000; 9], vec![100; 15]].concat();
        assert!(!is_level(&of_rates(&filled)));
        assert!(is_level(&of_rates(&[vec![9_000; 8], vec![100; 16]].concat())));
        let noisy: Vec<u64> = (0..24).map(|at| 1_000 + 200 * (at * 7 % 3) - 200).collect();
        assert!(is_level(&of_rates(&noisy)));
    }

    /// Proves that a queue that grows evenly far beyond a bound ends a simulation, and that one which a cache drains, one that has ended its
    /// growth, one near the bound and a question without a bound do not.
    #[test]
    fn a_queue_that_grows_without_end_is_seen() {
        let bound = [Requirement::parse("mean<1ms").unwrap()];
        let growing: Vec<u64> = (1..=24).map(|step| step * 100).collect();
        assert!(is_out_of_reach(&batches(&growing), &bound));
        assert!(!is_out_of_reach(&batches(&growing), &[]));
        let drained: Vec<u64> =
            growing.iter().map(|latency| latency.min(&(3000 - latency)).to_owned()).collect();
        assert!(!is_out_of_reach(&batches(&drained), &bound));
        assert!(!is_out_of_reach(&batches(&[500; 24]), &bound));
        let near: Vec<u64> = (1..=24).map(|step| step / 3 + 1).collect();
        assert!(!is_out_of_reach(&batches(&near), &bound));
        let writes = [Requirement::parse("write.mean<1ms").unwrap()];
        assert!(!is_out_of_reach(&batches(&growing), &writes), "nothing is written");
    }
}
