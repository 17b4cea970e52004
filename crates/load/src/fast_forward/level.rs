//! Level of a load: batches of simulated time, whether they are stationary, and how sure what they say is.
//!
//! Batch means (Law and Carson 1979): simulated time is cut into batches of equal length, which are joined in pairs where there
//! are many, until they are long enough to be nearly independent and the confidence intervals of what is read from them are
//! narrow. A load that is still on its way shows a difference between the first and the last batches; the first are then dropped
//! (deletion of the initial transient).

use super::batch::{
    BEYOND_CLUSTER, BEYOND_IN_BATCH, Batch, DIRECTIONS, P99, P99_9, joined_latency, mean_ns_of, rate_of,
};
use super::checks::Checks;
use super::estimate::{Estimate, differ, student_975, surest_from, wider};
use super::spread::{Estimates, LevelSpread, RATE_FLOOR, Spread};
use crate::{Direction, Histogram, Sample};

/// Batches that are kept, and those from which on a level can be accepted.
const BATCHES: usize = 16;
const BATCHES_LEAST: usize = 8;

/// I/Os of the first batch, from which the others have their length.
const BATCH_IOS: u64 = 1000;

/// Half-widths of 95 % confidence intervals, as shares, at which a level is accepted: of its rate, of the mean latency, the 99th
/// and the 99.9th percentile of each direction.
const RATE_SURE: f64 = 0.005;
/// Nor is it where the rates of intervals scatter by more than this, as a share: only simulation tells which of them are high.
const INTERVAL_SCATTER: f64 = 0.012;
const MEAN_SURE: f64 = 0.018;
const P99_SURE: f64 = 0.07;
const P99_9_SURE: f64 = 0.12;
/// A load is longer than these by the length of a minute; its bounds are wider by the square root of how many, at the most this.
const MINUTE_NS: f64 = 60e9;
const TOLERANCE_MOST: f64 = 4.0;
/// A percentile is asked of a load in which so many latencies lie beyond it.
const BEYOND_LEAST: f64 = 100.0;
/// Minimum of I/Os beyond the percentile in all batches together, where each has fewer than [`BEYOND_IN_BATCH`].
const BEYOND_IN_ALL: f64 = 6.0;
/// A direction with a smaller share of the I/Os does not hold a level up.
const DIRECTION_LEAST: f64 = 0.01;
/// Turns of the queue in the batches of a level.
const TURNS: u64 = 16;

/// Halves that differ by this share of rate or latency are of a load on its way.
const TREND_RATE: f64 = 0.003;
const TREND_LATENCY: f64 = 0.012;
/// A window that differs from the level by so many standard deviations of its length, and by this share, is of another level.
const OTHER_SIGMAS: f64 = 5.0;
const OTHER_RATE: f64 = 0.01;
const OTHER_LATENCY: f64 = 0.04;
/// Windows with fewer I/Os show chance more than the level.
const OTHER_IOS: f64 = 200.0;

/// Queue lengths of a closed network wander like diffusion: n outstanding I/Os need about n² completions to spread over its queues
/// anew, and until then a 99th percentile says where they began. A level whose 99th percentile swings is observed for so many times
/// that: with few queues they need longer.
const RELAXATIONS: f64 = 16.0;
/// Batches of a level that was observed for so long, and for so many times n² completions, show by themselves how they wander.
const RELAXATIONS_LEAST: f64 = 4.0;
const RELAXATIONS_LEAST_NS: f64 = 10e9;
/// It swings where its half-width, as the square root of time makes it grow until then, is more than this.
const SWING: f64 = 0.03;
/// Loads that are longer than this are not observed for it where it takes longer: they may be less sure, and would be observed for
/// most of their time. Shorter ones are simulated whole then.
const RELAXED_MOST_NS: f64 = 120e9;

/// By how much more a long load may drift before that ends its level: its bounds are those of all loads.
const DRIFT_TOLERANCE_MOST: f64 = 2.0;

/// After a level that drifted, the next is observed for so many times as long.
const DRIFT_TIMES: u64 = 2;

/// Requirements of a load on its levels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    /// Time that a level is observed for at the least.
    pub least_ns: u64,
    /// I/Os that the load keeps outstanding at the most.
    pub outstanding: u64,
    /// The load's length: how many latencies it has beyond a percentile.
    pub runtime_ns: u64,
    /// Length of an interval, whose rate is reported.
    pub interval_ns: u64,
    /// The rate is that of arrivals, which are counted one by one also where time is skipped.
    pub is_open_loop: bool,
}

/// The level of a load.
#[derive(Debug)]
pub(super) struct Level {
    demand: Demand,
    /// Shortest observation of the first level, before any drift.
    first_least_ns: u64,
    batch_ns: u64,
    batches: Vec<Batch>,
    open: Batch,
    is_accepted: bool,
    estimates: Estimates,
    /// Sum of all batches, where nothing has changed since.
    joined: Option<Batch>,
    has_skipped: bool,
    /// Counted time that was skipped at this level.
    skipped_ns: u64,
    checks: Checks,
    /// Windows since one that differed.
    doubt: Batch,
}

/// Verdict of a window on an accepted level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Same,
    /// It differs, which may be chance.
    Doubtful,
    Other,
}

impl Level {
    pub fn new(demand: Demand) -> Level {
        Level {
            demand,
            first_least_ns: demand.least_ns,
            batch_ns: demand.least_ns.div_ceil(BATCHES_LEAST as u64).max(1),
            batches: Vec::new(),
            open: Batch::default(),
            is_accepted: false,
            estimates: Estimates::default(),
            joined: None,
            has_skipped: false,
            skipped_ns: 0,
            checks: Checks::default(),
            doubt: Batch::default(),
        }
    }

    /// Returns true if the last windows differed from the level, which is still to be confirmed.
    pub fn is_doubtful(&self) -> bool {
        self.doubt.ns > 0
    }

    /// True from the moment on at which the load was stationary and its results sure enough.
    pub fn is_accepted(&self) -> bool {
        self.is_accepted
    }

    /// Time of its batches.
    pub fn observed_ns(&self) -> u64 {
        self.batches.iter().map(|batch| batch.ns).sum()
    }

    /// I/Os a nanosecond of an accepted level.
    pub fn rate(&self) -> Option<f64> {
        (self.is_accepted && self.estimates.rate.mean > 0.0).then_some(self.estimates.rate.mean)
    }

    /// I/Os under way on average (Little's law), once it is accepted.
    pub fn outstanding(&self) -> Option<u64> {
        self.rate().map(|rate| (rate * self.mean_latency_ns()).ceil() as u64)
    }

    /// Returns true if time has been skipped at this level.
    pub fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Adds a simulated window.
    pub fn add(&mut self, window: &Sample, window_ns: u64) {
        // A pause before the first I/O is over with it; a batch as long as the pause would outlast the load.
        if self.batches.is_empty() && self.open.ios() + window.ios() == 0 {
            return;
        }
        self.open.merge(window, window_ns);
        if self.open.ns < self.batch_ns || (self.batches.is_empty() && self.open.ios() < BATCH_IOS) {
            return;
        }
        self.batch_ns = self.batch_ns.max(self.batches.first().unwrap_or(&self.open).ns);
        self.batches.push(std::mem::take(&mut self.open));
        self.joined = None;
        if self.batches.len() < BATCHES_LEAST {
            return;
        }
        let is_on_its_way = self.is_on_its_way();
        if self.is_accepted {
            // A slow drift: what is older says less than what is new.
            let keep = if is_on_its_way { BATCHES_LEAST / 2 } else { BATCHES - 1 };
            let surplus = self.batches.len().saturating_sub(keep);
            if is_on_its_way || self.batches.len() > BATCHES - 1 {
                self.batches.drain(..surplus);
            }
            self.estimates = self.estimate_all();
            return;
        }
        self.drop_transient();
        self.estimates = self.estimate_all();
        if !is_on_its_way && self.is_sure() {
            self.is_accepted = true;
            let tolerance = self.tolerance().min(DRIFT_TOLERANCE_MOST);
            self.checks = Checks::new(&self.batches, self.demand.is_open_loop, tolerance);
        } else if self.batches.len() >= BATCHES {
            if is_on_its_way {
                self.batches.drain(..BATCHES / 2);
            } else {
                self.join_pairs();
            }
        }
    }

    fn join_pairs(&mut self) {
        let mut pairs = std::mem::take(&mut self.batches).into_iter();
        while let Some(mut batch) = pairs.next() {
            if let Some(next) = pairs.next() {
                batch.merge(&next.sample, next.ns);
            }
            self.batches.push(batch);
        }
        self.batch_ns *= 2;
    }

    fn values(&self, value: impl Fn(&Batch) -> f64) -> Vec<f64> {
        self.batches.iter().map(value).collect()
    }

    fn estimate_all(&self) -> Estimates {
        let of_each = |value: &dyn Fn(&Histogram) -> f64| {
            DIRECTIONS.map(|direction| {
                let batches = self.batches.iter().map(|batch| &batch.sample.direction(direction).latency);
                Estimate::of(&batches.filter(|latency| latency.count() > 0).map(value).collect::<Vec<_>>())
            })
        };
        Estimates {
            rate: Estimate::of(&self.values(Batch::rate)),
            latency: Estimate::of(&self.values(Batch::mean_ns)),
            mean: of_each(&|latency| latency.mean_ns()),
            p99: of_each(&|latency| latency.percentile_by_rank_ns(P99)),
        }
    }

    /// Returns the factor by which confidence intervals may be wider than those of a load of a minute when a longer one
    /// begins to skip: each of its many intervals adds a window.
    fn tolerance(&self) -> f64 {
        (self.demand.runtime_ns as f64 / MINUTE_NS).sqrt().clamp(1.0, TOLERANCE_MOST)
    }

    /// Returns true if rate and latencies are known well enough.
    fn is_sure(&self) -> bool {
        let ios: u64 = self.batches.iter().map(Batch::ios).sum();
        let tolerance = self.tolerance();
        let scatter = self.scatter(self.demand.interval_ns);
        let is_rate_sure = self.demand.is_open_loop
            || (self.estimates.rate.half_width() <= RATE_SURE * tolerance
                && scatter <= INTERVAL_SCATTER * tolerance);
        // In open loop the queue is rarely full: what is outstanding is what arrives within a latency (Little's law).
        let outstanding = (self.estimates.rate.mean * self.mean_latency_ns()) as u64;
        let has_silence = self.batches.iter().any(|batch| batch.ios() == 0);
        let outstanding = outstanding.min(self.demand.outstanding);
        if !is_rate_sure
            || has_silence
            || self.is_wandering(outstanding, tolerance)
            || ios < TURNS * outstanding
        {
            return false;
        }
        DIRECTIONS.into_iter().enumerate().all(|(index, direction)| {
            let of_direction = || self.batches.iter().map(|batch| batch.sample.direction(direction).ios);
            let share = of_direction().sum::<u64>() as f64 / ios.max(1) as f64;
            if share < DIRECTION_LEAST {
                return true;
            }
            let least = of_direction().min().unwrap_or(0) as f64;
            let expected = share * self.estimates.rate.mean * self.demand.runtime_ns as f64;
            let is_known = |millionths: u32, sure: f64| {
                let beyond = f64::from(1_000_000 - millionths) / 1e6;
                if expected * beyond < BEYOND_LEAST {
                    return true;
                }
                if least * beyond >= BEYOND_IN_BATCH {
                    let at = |batch: &Batch| {
                        batch.sample.direction(direction).latency.percentile_by_rank_ns(millionths)
                    };
                    return Estimate::of(&self.values(at)).half_width() <= sure;
                }
                self.joined_half_width(direction, millionths).is_some_and(|half_width| half_width <= sure)
            };
            self.estimates.mean[index].half_width() <= MEAN_SURE * tolerance
                && is_known(P99, P99_SURE * tolerance)
                && is_known(P99_9, P99_9_SURE * tolerance)
        })
    }

    /// Half the width of the 95 % confidence interval of a percentile of all batches, as a share: from the ranks between which it
    /// lies by chance (order statistics), where latencies beyond it come in clusters. `None` where there are too few.
    fn joined_half_width(&self, direction: Direction, millionths: u32) -> Option<f64> {
        let all = joined_latency(&self.batches, direction);
        let share = f64::from(1_000_000 - millionths);
        let beyond = all.count() as f64 * share / 1e6;
        if beyond < BEYOND_IN_ALL {
            return None;
        }
        let spread = (1.96 * (BEYOND_CLUSTER / beyond).sqrt()).min(0.95);
        let at = |share: f64| all.percentile_by_rank_ns(1_000_000 - share.round() as u32);
        Some((at(share * (1.0 - spread)) - at(share * (1.0 + spread))) / 2.0 / at(share))
    }

    /// Returns true if queues of so many outstanding I/Os have been observed for less time than their slow fluctuations
    /// take.
    fn is_wandering(&self, outstanding: u64, tolerance: f64) -> bool {
        let spread_ns = (outstanding as f64).powi(2) / self.estimates.rate.mean.max(1e-12);
        let relaxed_ns = RELAXATIONS * spread_ns;
        let observed_ns = self.observed_ns() as f64;
        let grows = (relaxed_ns.min(self.demand.runtime_ns as f64) / observed_ns).sqrt();
        let swing = self.estimates.p99.iter().map(Estimate::half_width).fold(0.0, f64::max) * grows;
        let least_ns = relaxed_ns.min(RELAXATIONS_LEAST_NS.max(RELAXATIONS_LEAST * spread_ns));
        let is_asked = relaxed_ns.min(self.demand.runtime_ns as f64) <= RELAXED_MOST_NS;
        is_asked && observed_ns < least_ns && swing > SWING * tolerance
    }

    /// Drops the first batches where that makes the mean of the others surer: they are of a load on its way (MSER, White 1997).
    fn drop_transient(&mut self) {
        let most = self.batches.len().saturating_sub(BATCHES_LEAST);
        let means =
            |direction: Direction| self.values(|batch| batch.sample.direction(direction).latency.mean_ns());
        let first = [self.values(Batch::rate), means(Direction::Read), means(Direction::Write)]
            .iter()
            .map(|values| surest_from(values, most))
            .max()
            .unwrap_or(0);
        self.batches.drain(..first);
    }

    /// Returns true if the second half of the batches differs from the first by more than chance: the load is still
    /// changing.
    fn is_on_its_way(&self) -> bool {
        (!self.demand.is_open_loop && differ(&self.values(Batch::rate), TREND_RATE))
            || differ(&self.values(Batch::mean_ns), TREND_LATENCY)
    }

    /// Takes a window that checks the level, once it is accepted. One that differs makes the level doubtful until windows as long as
    /// a batch have confirmed it: of sixty windows some differ by chance.
    pub fn check(&mut self, window: &Sample, window_ns: u64) -> Verdict {
        self.checks.add(window, window_ns);
        if self.checks.have_drifted(self.scatter_of_window(window_ns)) {
            return Verdict::Other;
        }
        if self.doubt.ns == 0 && !self.differs(window, window_ns) {
            self.add(window, window_ns);
            return Verdict::Same;
        }
        self.doubt.merge(window, window_ns);
        if self.doubt.ns < self.batch_ns {
            return Verdict::Doubtful;
        }
        let doubt = std::mem::take(&mut self.doubt);
        if self.differs(&doubt.sample, doubt.ns) {
            return Verdict::Other;
        }
        self.add(&doubt.sample, doubt.ns);
        Verdict::Same
    }

    /// By how many times as much as a batch a window of `window_ns` scatters at the most: by the square root of how much shorter it is.
    fn scatter_of_window(&self, window_ns: u64) -> f64 {
        (self.batch_ns as f64 / window_ns as f64).max(1.0).sqrt()
    }

    /// Returns true if the completions in `window_ns` are by themselves of another level.
    fn differs(&self, window: &Sample, window_ns: u64) -> bool {
        let Estimates { rate, latency, .. } = self.estimates;
        if rate.mean * (window_ns as f64) < OTHER_IOS {
            return false;
        }
        let more = self.scatter_of_window(window_ns);
        let is_other = |value: f64, known: &Estimate, share: f64| {
            (value / known.mean - 1.0).abs()
                > share.max(OTHER_SIGMAS * wider(known.batches) * known.deviation * more)
        };
        (!self.demand.is_open_loop && is_other(rate_of(window, window_ns), &rate, OTHER_RATE))
            || is_other(mean_ns_of(window), &latency, OTHER_LATENCY)
    }

    /// Returns the sum of the batches and the time that they cover.
    pub fn estimate(&mut self) -> (&Sample, u64) {
        let batches = &self.batches;
        let joined = self.joined.get_or_insert_with(|| {
            let mut joined = Batch::default();
            batches.iter().for_each(|batch| joined.merge(&batch.sample, batch.ns));
            joined
        });
        (&joined.sample, joined.ns)
    }

    /// Returns the standard deviation of the rate over stretches of this length, as a share: intervals of skipped time vary
    /// as those of the load do.
    pub fn scatter(&self, duration_ns: u64) -> f64 {
        if self.demand.is_open_loop {
            return 0.0;
        }
        self.estimates.rate.deviation * (self.batch_ns as f64 / duration_ns.max(1) as f64).sqrt()
    }

    /// Notes that time was skipped, and how much of it counts.
    pub fn note_skipped(&mut self, counted_ns: u64) {
        self.has_skipped = true;
        self.skipped_ns += counted_ns;
    }

    /// Returns half the width of the 95 % confidence interval of an interval's rate, of which `skipped_ns` was skipped: from
    /// the scatter of the exact interval, that of this one, and the uncertainty of the level's mean.
    pub fn interval_confidence_95(&self, interval: &Sample, skipped_ns: u64, length_ns: u64) -> f64 {
        let ios = interval.ios().max(1) as f64;
        let skipped = skipped_ns as f64 / length_ns as f64;
        let Estimate { deviation, batches, .. } = self.estimates.rate;
        let deviation = if self.demand.is_open_loop { 0.0 } else { deviation };
        let scatter = self.scatter(length_ns);
        let of_mean = deviation / (batches.max(1) as f64).sqrt();
        let variance = 2.0 * scatter * scatter + (skipped * of_mean).powi(2);
        // I/Os under way at the interval's two ends fall on one side or the other by chance. In open loop their number at either end is
        // that of a Poisson process; in closed loop it hardly varies.
        let ends = if self.demand.is_open_loop { 1.96 * 2_f64.sqrt() } else { 1.0 };
        let under_way = 1.0 + ends * (self.estimates.rate.mean * self.mean_latency_ns()).sqrt();
        student_975(batches) * variance.sqrt() + RATE_FLOOR + under_way / ios
    }

    fn mean_latency_ns(&self) -> f64 {
        let latencies = self.values(Batch::mean_ns);
        latencies.iter().sum::<f64>() / latencies.len().max(1) as f64
    }

    /// Ends the level: the next windows belong to another. Where nothing is known to have changed, the load wanders more slowly
    /// than this level was observed for, and the next one is observed for twice as long.
    pub fn end(&mut self, has_drifted: bool, spread: &mut Spread) {
        if self.skipped_ns > 0 {
            spread.add(LevelSpread {
                skipped_ns: self.skipped_ns as f64,
                batch_ns: self.batch_ns as f64,
                estimates: self.estimates,
                is_open_loop: self.demand.is_open_loop,
            });
        }
        let least_ns = if has_drifted {
            self.demand.least_ns.max(DRIFT_TIMES * self.observed_ns())
        } else {
            self.first_least_ns
        };
        let next = Level::new(Demand { least_ns, ..self.demand });
        *self = Level { first_least_ns: self.first_least_ns, ..next };
    }
}
