//! Live state of a run.

mod page;

use crate::Source;
use crate::names::{Buckets, Labels, counters, exposition, gauges, histograms};
use load::{Direction, Histogram, Sample, bin_low_ns};
use page::{EventLine, History};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{CaseRecord, CaseStatus, Counter};

/// A counter that was not read again for so long is not shown any more: Prometheus itself forgets values after this.
const STALE_AFTER: Duration = Duration::from_secs(300);
/// So many counters are kept: 200 devices with 400 paths, 22 columns each, and what an array says of itself.
const COUNTERS_LIMIT: usize = 50_000;
/// Bounds of the histogram's buckets are powers of two, from 2^10 ns (1 µs) to 2^34 ns (17 s), because these are bounds
/// of our bins too: no count has to be split.
const BUCKET_EXPONENTS: std::ops::RangeInclusive<u32> = 10..=34;
const QUANTILES: [(&str, u32); 4] =
    [("0.5", 500_000), ("0.95", 950_000), ("0.99", 990_000), ("0.999", 999_000)];
const DIRECTIONS: [(Direction, &str); 3] =
    [(Direction::Read, "read"), (Direction::Write, "write"), (Direction::Trim, "trim")];
const SECOND_NS: f64 = 1e9;

/// Constant labels of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLabels {
    /// Name of the plan.
    pub plan: String,
    /// Target of the run, as on the command line.
    pub target: String,
    /// Version of arraylab.
    pub version: String,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunProgress {
    /// Cases of the run.
    pub cases_total: usize,
    /// Cases that have an outcome.
    pub cases_ended: usize,
    /// Share of all cases' time that is done, 0 to 1.
    pub share: f64,
    /// Estimated time left, where there is something to estimate from.
    pub time_left_ns: Option<u64>,
}

/// State of a run under way. The thread that watches the run updates it, and scrapes read it.
#[derive(Debug, Clone)]
pub struct LiveRun {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    labels: RunLabels,
    progress: RunProgress,
    began_at: Instant,
    cases: BTreeMap<u32, LiveCase>,
    /// The case that ended last, for its chart.
    last: Option<LiveCase>,
    events: VecDeque<EventLine>,
    ended: BTreeMap<&'static str, u64>,
    totals: [Totals; DIRECTIONS.len()],
    counters: BTreeMap<[String; 3], (f64, Instant)>,
    /// Hosts that issue the load, where other hosts do.
    hosts: Vec<String>,
}

#[derive(Debug)]
struct LiveCase {
    stage: String,
    name: String,
    share: f64,
    /// The last interval of each load.
    loads: BTreeMap<String, Sample>,
    /// The last interval of each host's part of a load.
    hosts: BTreeMap<(String, String), Sample>,
    history: History,
}

#[derive(Debug, Default)]
struct Totals {
    ios: u64,
    bytes: u64,
    errors: u64,
    latency: Histogram,
}

impl LiveRun {
    /// Makes the state of a run before its first event.
    pub fn new(labels: RunLabels) -> LiveRun {
        let state = State {
            labels,
            progress: RunProgress::default(),
            began_at: Instant::now(),
            cases: BTreeMap::new(),
            last: None,
            events: VecDeque::new(),
            ended: BTreeMap::new(),
            totals: Default::default(),
            counters: BTreeMap::new(),
            hosts: Vec::new(),
        };
        LiveRun { state: Arc::new(Mutex::new(state)) }
    }

    /// A case begins.
    pub fn case_started(&self, case: &CaseRecord) {
        let live = LiveCase {
            stage: case.stage.clone(),
            name: case.name.clone(),
            share: 0.0,
            loads: BTreeMap::new(),
            hosts: BTreeMap::new(),
            history: History::default(),
        };
        self.lock().cases.insert(case.index, live);
    }

    /// Records the progress of a case, 0 to 1.
    pub fn case_progress(&self, case_index: u32, share: f64) {
        if let Some(case) = self.lock().cases.get_mut(&case_index) {
            case.share = share;
        }
    }

    /// Records the progress of the run.
    pub fn run_progress(&self, progress: RunProgress) {
        self.lock().progress = progress;
    }

    /// An interval of one of a case's loads, ramp or not.
    pub fn sample(&self, case_index: u32, load: &str, sample: &Sample) {
        let state = &mut *self.lock();
        for (totals, (direction, _)) in state.totals.iter_mut().zip(DIRECTIONS) {
            let one = sample.direction(direction);
            if !one.is_empty() {
                totals.ios += one.ios;
                totals.bytes += one.bytes;
                totals.errors += one.errors;
                totals.latency.merge(&one.latency);
            }
        }
        let Some(case) = state.cases.get_mut(&case_index) else { return };
        case.history.add(sample);
        match case.loads.get_mut(load) {
            Some(last) => last.clone_from(sample),
            None => drop(case.loads.insert(load.to_owned(), sample.clone())),
        }
    }

    /// Sets the hosts that issue the load; counters read on a host get its label.
    pub fn set_hosts(&self, hosts: &[String]) {
        self.lock().hosts = hosts.to_vec();
    }

    /// An interval of one host's part of a load, ramp or not.
    pub fn host_sample(&self, case_index: u32, host: &str, load: &str, sample: &Sample) {
        if let Some(case) = self.lock().cases.get_mut(&case_index) {
            case.hosts.insert((host.to_owned(), load.to_owned()), sample.clone());
        }
    }

    /// Takes counters that were read of the host, of the array or of a twin.
    pub fn counters<'a>(&self, read: impl IntoIterator<Item = Counter<'a>>) {
        let now = Instant::now();
        let state = &mut *self.lock();
        for counter in read {
            let key = [counter.source, counter.entity, counter.name].map(str::to_owned);
            if state.counters.len() < COUNTERS_LIMIT || state.counters.contains_key(&key) {
                state.counters.insert(key, (counter.value, now));
            }
        }
    }

    /// Records the outcome of a case; its live values are dropped.
    pub fn case_ended(&self, case_index: u32, status: CaseStatus) {
        let mut state = self.lock();
        if let Some(case) = state.cases.remove(&case_index) {
            state.last = Some(case);
        }
        *state.ended.entry(status.name()).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change that matters.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for LiveRun {
    fn exposition(&self) -> String {
        exposition(self.clone())
    }

    fn state(&self) -> String {
        self.lock().page().to_string()
    }
}

impl Collector for LiveRun {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let state = &mut *self.lock();
        let now = Instant::now();
        state.counters.retain(|_, (_, read)| now.saturating_duration_since(*read) < STALE_AFTER);
        state.encode_run(&mut encoder)?;
        state.encode_cases(&mut encoder)?;
        state.encode_hosts(&mut encoder)?;
        state.encode_totals(&mut encoder)?;
        let counters = state.counters.iter().map(|([source, entity, name], (value, _))| {
            let (host, entity) = state.host_of(entity);
            let labels = [("source", source.as_str()), ("entity", entity), ("name", name.as_str())];
            (labels.into_iter().chain(host.map(|host| ("host", host))).collect(), *value)
        });
        let help = "What was last read of the host, the array or the twin, by the names in the run";
        gauges(&mut encoder, "observed", help, counters)
    }
}

impl State {
    fn encode_run(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let RunLabels { plan, target, version } = &self.labels;
        let labels =
            vec![("plan", plan.as_str()), ("target", target.as_str()), ("version", version.as_str())];
        gauges(encoder, "run_info", "The run that is under way", [(labels, 1.0)])?;
        let RunProgress { cases_total, cases_ended, share, time_left_ns } = self.progress;
        gauges(encoder, "run_progress_ratio", "Share of the run's time that is done", [(vec![], share)])?;
        gauges(encoder, "run_cases", "Cases of the run", [(vec![], cases_total as f64)])?;
        let help = "Cases that have an outcome, also from before a resume";
        gauges(encoder, "run_cases_ended", help, [(vec![], cases_ended as f64)])?;
        let left = time_left_ns.map(|left| (vec![], left as f64 / SECOND_NS));
        gauges(encoder, "run_time_left_seconds", "How long the rest will take", left)?;
        let ended = self.ended.iter().map(|(status, count)| (vec![("status", *status)], *count));
        counters(encoder, "cases_ended", "Cases that ended in this process, by how", ended)
    }

    fn encode_cases(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let progress = self.cases.values().map(|case| (case.labels(), case.share));
        gauges(encoder, "case_progress_ratio", "Share of a case under way that is done", progress)?;
        let ramps = self.loads().map(|(labels, sample)| (labels, f64::from(u8::from(sample.is_ramp))));
        gauges(encoder, "ramp", "1 while the load is in its ramp, which no result counts", ramps)?;
        let seconds = |sample: &Sample| (sample.duration_ns().max(1)) as f64 / SECOND_NS;
        let ios = self.intervals().map(|(labels, sample, direction)| {
            (labels, sample.direction(direction).ios as f64 / seconds(sample))
        });
        gauges(encoder, "iops", "I/Os a second in the last interval", ios)?;
        let bytes = self.intervals().map(|(labels, sample, direction)| {
            (labels, sample.direction(direction).bytes as f64 / seconds(sample))
        });
        gauges(encoder, "bytes_per_second", "Bytes a second in the last interval", bytes)?;
        let means = self.with_latency().map(|(labels, latency)| (labels, latency.mean_ns() / SECOND_NS));
        gauges(encoder, "latency_mean_seconds", "Mean latency in the last interval", means)?;
        let quantiles = self.with_latency().flat_map(|(labels, latency)| {
            QUANTILES.into_iter().filter_map(move |(name, millionths)| {
                let mut labels = labels.clone();
                labels.push(("q", name));
                Some((labels, latency.known_percentile_ns(millionths)? as f64 / SECOND_NS))
            })
        });
        gauges(encoder, "latency_quantile_seconds", "Quantiles of latency in the last interval", quantiles)?;
        let most = self
            .with_latency()
            .filter_map(|(labels, latency)| Some((labels, latency.known_max_ns()? as f64 / SECOND_NS)));
        gauges(encoder, "latency_max_seconds", "Largest latency in the last interval", most)
    }

    /// Each host's part of the last intervals. Names of their own, so that a sum over `iops` counts no I/O twice.
    fn encode_hosts(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let parts = || {
            self.cases.values().flat_map(|case| {
                case.hosts.iter().flat_map(move |((host, load), sample)| {
                    DIRECTIONS.into_iter().filter_map(move |(direction, name)| {
                        let mut labels = case.labels();
                        labels.extend([
                            ("load", load.as_str()),
                            ("host", host.as_str()),
                            ("direction", name),
                        ]);
                        let one = sample.direction(direction);
                        let seconds = sample.duration_ns().max(1) as f64 / SECOND_NS;
                        (!one.is_empty()).then_some((labels, one, seconds))
                    })
                })
            })
        };
        let ios = parts().map(|(labels, one, seconds)| (labels, one.ios as f64 / seconds));
        gauges(encoder, "host_iops", "I/Os a second of one host in the last interval", ios)?;
        let bytes = parts().map(|(labels, one, seconds)| (labels, one.bytes as f64 / seconds));
        gauges(encoder, "host_bytes_per_second", "Bytes a second of one host in the last interval", bytes)?;
        let means = parts().filter(|(_, one, _)| one.latency.count() > 0);
        let means = means.map(|(labels, one, _)| (labels, one.latency.mean_ns() / SECOND_NS));
        let help = "Mean latency of one host in the last interval";
        gauges(encoder, "host_latency_mean_seconds", help, means)
    }

    /// The host of an entity that was read of one, `h1/sda`, and the entity there.
    fn host_of<'a>(&'a self, entity: &'a str) -> (Option<&'a str>, &'a str) {
        let known =
            |host: &&String| entity.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with('/'));
        match self.hosts.iter().find(known) {
            Some(host) => (Some(host), &entity[host.len() + 1..]),
            None => (None, entity),
        }
    }

    fn encode_totals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let all = || DIRECTIONS.into_iter().map(|(_, name)| vec![("direction", name)]).zip(&self.totals);
        let ios = all().map(|(labels, totals)| (labels, totals.ios));
        counters(encoder, "ios", "I/Os of all cases in this process, ramps included", ios)?;
        let bytes = all().map(|(labels, totals)| (labels, totals.bytes));
        counters(encoder, "bytes", "Bytes of all cases in this process, ramps included", bytes)?;
        let errors = all().map(|(labels, totals)| (labels, totals.errors));
        counters(encoder, "errors", "I/Os that failed in this process, ramps included", errors)?;
        let latencies = all().map(|(labels, totals)| (labels, buckets(&totals.latency)));
        histograms(
            encoder,
            "latency_seconds",
            "Latency of all I/Os in this process, ramps included",
            latencies,
        )
    }

    fn loads(&self) -> impl Iterator<Item = (Labels<'_>, &Sample)> {
        self.cases.values().flat_map(|case| {
            case.loads.iter().map(|(load, sample)| {
                let mut labels = case.labels();
                labels.push(("load", load.as_str()));
                (labels, sample)
            })
        })
    }

    /// The last interval of each load, once for each direction in which something happened.
    fn intervals(&self) -> impl Iterator<Item = (Labels<'_>, &Sample, Direction)> {
        self.loads().flat_map(|(labels, sample)| {
            DIRECTIONS.into_iter().filter_map(move |(direction, name)| {
                let mut labels = labels.clone();
                labels.push(("direction", name));
                (!sample.direction(direction).is_empty()).then_some((labels, sample, direction))
            })
        })
    }

    fn with_latency(&self) -> impl Iterator<Item = (Labels<'_>, &Histogram)> {
        self.intervals().filter_map(|(labels, sample, direction)| {
            let latency = &sample.direction(direction).latency;
            (latency.count() > 0).then_some((labels, latency))
        })
    }
}

impl LiveCase {
    fn labels(&self) -> Labels<'_> {
        vec![("stage", &self.stage), ("case", &self.name)]
    }
}

/// A histogram in buckets. A latency of exactly a bound is counted in the bucket above it.
fn buckets(histogram: &Histogram) -> Buckets {
    let mut buckets: Vec<(f64, u64)> =
        BUCKET_EXPONENTS.map(|exponent| ((1u64 << exponent) as f64 / SECOND_NS, 0)).collect();
    buckets.push((f64::INFINITY, histogram.unbinned_count()));
    let last = buckets.len() - 1;
    for (index, count) in histogram.filled_bins() {
        let low_ns = bin_low_ns(index);
        let bucket = BUCKET_EXPONENTS.take_while(|exponent| low_ns >= 1 << exponent).count();
        buckets[bucket.min(last)].1 += count;
    }
    Buckets { sum: histogram.sum_ns() as f64 / SECOND_NS, count: histogram.count(), buckets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that every latency is counted once, in the bucket whose bounds it lies between.
        #[test]
        fn buckets_hold_every_latency(latencies in proptest::collection::vec(0u64..1 << 38, 0..50)) {
            let mut histogram = Histogram::new();
            latencies.iter().for_each(|&latency_ns| histogram.record(latency_ns));
            let found = buckets(&histogram);
            prop_assert_eq!(found.count, latencies.len() as u64);
            let mut cumulative = 0;
            for (bound, count) in found.buckets {
                cumulative += count;
                let below = latencies.iter().filter(|&&latency_ns| (latency_ns as f64 / SECOND_NS) < bound).count();
                prop_assert_eq!(cumulative, below as u64, "{}", bound);
            }
        }
    }
}
