//! The level of a load: batches of simulated time, whether they are stationary, and how sure what they say is.
//!
//! Batch means (Law and Carson 1979): simulated time is cut into batches of equal length, which are joined in pairs where there
//! are many, until they are long enough to be nearly independent and the confidence intervals of what is read from them are
//! narrow. A load that is still on its way shows a difference between the first and the last batches; the first are then dropped
//! (deletion of the initial transient).

use super::Extrapolation;
use super::checks::Checks;
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
/// A percentile is asked of a load in which so many latencies lie beyond it, and of batches with so many beyond it.
const BEYOND_LEAST: f64 = 100.0;
pub(super) const BEYOND_IN_BATCH: f64 = 5.0;
/// Where batches have fewer, all of them together have at least so many; latencies beyond come in clusters of this size.
const BEYOND_IN_ALL: f64 = 6.0;
pub(super) const BEYOND_CLUSTER: f64 = 3.0;
/// A direction with a smaller share of the I/Os does not hold a level up.
const DIRECTION_LEAST: f64 = 0.01;
/// Turns of the queue in the batches of a level.
const TURNS: u64 = 16;

/// Halves that differ by so many standard deviations, and by this share of rate or latency, are of a load on its way.
const TREND_SIGMAS: f64 = 3.0;
const TREND_RATE: f64 = 0.003;
const TREND_LATENCY: f64 = 0.012;
/// A window that differs from the level by so many standard deviations of its length, and by this share, is of another level.
const OTHER_SIGMAS: f64 = 5.0;
const OTHER_RATE: f64 = 0.01;
const OTHER_LATENCY: f64 = 0.04;
/// Windows with fewer I/Os show chance more than the level.
const OTHER_IOS: f64 = 200.0;

/// Queue lengths of a closed network wander like diffusion: n outstanding I/Os need about n² completions to spread over its queues
/// anew, and until then a 99th percentile says where they began. A level whose 99th percentile swings is observed for so many times that.
const RELAXATIONS: f64 = 16.0;
/// It swings where its half-width, as the square root of time makes it grow until then, is more than this.
const SWING: f64 = 0.03;
/// Queues that wander more slowly stay near where they began for a minute's load; in hours they would be observed for most of them.
const RELAXED_MOST_NS: f64 = 120e9;

/// By how much more a long load may drift before that ends its level: its bounds are those of all loads.
const DRIFT_TOLERANCE_MOST: f64 = 2.0;

/// After a level that drifted, the next is observed for so many times as long.
const DRIFT_TIMES: u64 = 2;

/// Two 95 % intervals do not cover what is systematic: state that is extrapolated is not quite the state itself.
const RATE_FLOOR: f64 = 0.001;
const MEAN_FLOOR: f64 = 0.003;
const P99_FLOOR: f64 = 0.01;

pub(super) const P99: u32 = 990_000;
const P99_9: u32 = 999_000;
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

#[derive(Debug, Default, Clone)]
pub(super) struct Batch {
    pub sample: Sample,
    pub ns: u64,
}

impl Batch {
    fn merge(&mut self, sample: &Sample, ns: u64) {
        self.sample.merge(sample);
        self.ns += ns;
    }

    fn ios(&self) -> u64 {
        self.sample.ios()
    }

    pub fn rate(&self) -> f64 {
        rate_of(&self.sample, self.ns)
    }

    /// Mean latency over all directions.
    pub fn mean_ns(&self) -> f64 {
        mean_ns_of(&self.sample)
    }
}

/// I/Os a nanosecond of what completed in `duration_ns`.
pub(super) fn rate_of(sample: &Sample, duration_ns: u64) -> f64 {
    sample.ios() as f64 / duration_ns.max(1) as f64
}

/// Mean latency over reads and writes.
pub(super) fn mean_ns_of(sample: &Sample) -> f64 {
    let sum = sample.read.latency.sum_ns() + sample.write.latency.sum_ns();
    let count = sample.read.latency.count() + sample.write.latency.count();
    sum as f64 / count.max(1) as f64
}

/// What batches say of one quantity.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Estimate {
    pub mean: f64,
    /// Standard deviation of a batch as a share of the mean, neighbours that go together counted in.
    pub deviation: f64,
    pub batches: usize,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Estimate {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 || mean <= 0.0 {
            return Estimate { mean, deviation: 0.0, batches: values.len() };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let neighbours =
            values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / (count - 1.0);
        // An autoregressive process of the first order has (1 + r) / (1 - r) times the variance of independent batches in its mean.
        let together = if variance > 0.0 { (neighbours / variance).clamp(0.0, 0.7) } else { 0.0 };
        let inflated = variance * (1.0 + together) / (1.0 - together);
        Estimate { mean, deviation: inflated.sqrt() / mean, batches: values.len() }
    }

    /// Of the mean, as a share.
    fn half_width(&self) -> f64 {
        student_975(self.batches) * self.deviation / (self.batches.max(1) as f64).sqrt()
    }
}

/// By how much wider than that of many batches the confidence interval from so few is.
pub(super) fn wider(batches: usize) -> f64 {
    student_975(batches) / 1.96
}

/// 97.5 % quantile of Student's distribution for the mean of so many values.
fn student_975(count: usize) -> f64 {
    const QUANTILES: [f64; 15] =
        [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13];
    QUANTILES[count.clamp(2, 16) - 2]
}

/// All that is read from the batches of a level.
#[derive(Debug, Default, Clone, Copy)]
struct Estimates {
    rate: Estimate,
    /// Mean latency of reads and writes together.
    latency: Estimate,
    mean: [Estimate; 2],
    p99: [Estimate; 2],
}

/// What a load asks of its levels.
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
    /// Of the first level, before any drifted.
    first_least_ns: u64,
    batch_ns: u64,
    batches: Vec<Batch>,
    open: Batch,
    is_accepted: bool,
    estimates: Estimates,
    /// All batches, where nothing has changed since.
    joined: Option<Batch>,
    has_skipped: bool,
    /// Counted time that was skipped at this level.
    skipped_ns: u64,
    checks: Checks,
    /// Windows since one that differed.
    doubt: Batch,
}

/// What a window says of an accepted level.
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

    /// Whether the last windows differed from it, which is still to be confirmed.
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

    /// Whether time has been skipped at this level.
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

    /// How much less sure than a load of a minute a longer one may be when it begins to skip: each of its many intervals adds a window.
    fn tolerance(&self) -> f64 {
        (self.demand.runtime_ns as f64 / MINUTE_NS).sqrt().clamp(1.0, TOLERANCE_MOST)
    }

    /// Whether rate and latencies are known well enough.
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
        let relaxed_ns = RELAXATIONS * (outstanding as f64).powi(2) / self.estimates.rate.mean.max(1e-12);
        let observed_ns = self.observed_ns() as f64;
        let grows = (relaxed_ns.min(self.demand.runtime_ns as f64) / observed_ns).sqrt();
        let swing = self.estimates.p99.iter().map(Estimate::half_width).fold(0.0, f64::max) * grows;
        let is_short = relaxed_ns <= RELAXED_MOST_NS && observed_ns < relaxed_ns && swing > SWING * tolerance;
        if !is_rate_sure || has_silence || is_short || ios < TURNS * outstanding {
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
        let mut all = Histogram::new();
        self.batches.iter().for_each(|batch| all.merge(&batch.sample.direction(direction).latency));
        let share = f64::from(1_000_000 - millionths);
        let beyond = all.count() as f64 * share / 1e6;
        if beyond < BEYOND_IN_ALL {
            return None;
        }
        let spread = (1.96 * (BEYOND_CLUSTER / beyond).sqrt()).min(0.95);
        let at = |share: f64| all.percentile_by_rank_ns(1_000_000 - share.round() as u32);
        Some((at(share * (1.0 - spread)) - at(share * (1.0 + spread))) / 2.0 / at(share))
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

    /// Whether the last half of the batches differs from the first by more than chance.
    fn is_on_its_way(&self) -> bool {
        (!self.demand.is_open_loop && differs(&self.values(Batch::rate), TREND_RATE))
            || differs(&self.values(Batch::mean_ns), TREND_LATENCY)
    }

    /// Takes a window that checks the level, once it is accepted. One that differs makes the level doubtful until windows as long as
    /// a batch have confirmed it: of sixty windows some differ by chance.
    pub fn check(&mut self, window: &Sample, window_ns: u64) -> Verdict {
        let longer = (self.batch_ns as f64 / window_ns as f64).max(1.0).sqrt();
        self.checks.add(window, window_ns);
        if self.checks.have_drifted(longer) {
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

    /// Whether what completed in `window_ns` is by itself of another level.
    fn differs(&self, window: &Sample, window_ns: u64) -> bool {
        let Estimates { rate, latency, .. } = self.estimates;
        if rate.mean * (window_ns as f64) < OTHER_IOS {
            return false;
        }
        let longer = (self.batch_ns as f64 / window_ns as f64).max(1.0).sqrt();
        let is_other = |value: f64, known: &Estimate, share: f64| {
            (value / known.mean - 1.0).abs()
                > share.max(OTHER_SIGMAS * wider(known.batches) * known.deviation * longer)
        };
        (!self.demand.is_open_loop && is_other(rate_of(window, window_ns), &rate, OTHER_RATE))
            || is_other(mean_ns_of(window), &latency, OTHER_LATENCY)
    }

    /// What the level is like, and the time in which that happened.
    pub fn estimate(&mut self) -> (&Sample, u64) {
        let batches = &self.batches;
        let joined = self.joined.get_or_insert_with(|| {
            let mut joined = Batch::default();
            batches.iter().for_each(|batch| joined.merge(&batch.sample, batch.ns));
            joined
        });
        (&joined.sample, joined.ns)
    }

    /// By how much the rates of stretches of this length scatter, as a share: intervals of skipped time vary as those of the load do.
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

    /// Half the width of the 95 % confidence interval of the rate of an interval of which `skipped_ns` was skipped: what the exact
    /// interval scatters by, what this one does, and what the level's mean is unsure by.
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
            spread.levels.push(LevelSpread {
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

/// From which value on, at most from number `most`, the standard error of the mean is the smallest.
fn surest_from(values: &[f64], most: usize) -> usize {
    let error = |first: usize| {
        let rest = &values[first..];
        Moments::of(rest).variance / rest.len() as f64
    };
    let all = error(0);
    // By chance alone a few values fewer are often a little surer.
    (1..=most)
        .filter(|&first| error(first) < all / 2.0)
        .min_by(|&a, &b| error(a).total_cmp(&error(b)))
        .unwrap_or(0)
}

/// Whether the means of the two halves differ by more than chance and by more than a share.
fn differs(values: &[f64], share: f64) -> bool {
    let (first, last) = values.split_at(values.len() / 2);
    let (before, after) = (Moments::of(first), Moments::of(last));
    let mean = (before.mean + after.mean) / 2.0;
    let chance = (before.variance / first.len() as f64 + after.variance / last.len() as f64).sqrt();
    let difference = (after.mean - before.mean).abs();
    difference > share * mean && difference > TREND_SIGMAS * chance
}

pub(super) struct Moments {
    pub mean: f64,
    pub variance: f64,
}

impl Moments {
    pub fn of(values: &[f64]) -> Moments {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Moments { mean, variance: squares / (count - 1.0).max(1.0) }
    }
}

/// How sure the levels of a load are, for the whole of it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    levels: Vec<LevelSpread>,
}

#[derive(Debug)]
struct LevelSpread {
    skipped_ns: f64,
    batch_ns: f64,
    estimates: Estimates,
    is_open_loop: bool,
}

impl Spread {
    /// What is claimed of a load of which `counted_ns` count.
    pub fn extrapolation(&self, simulated_ns: u64, carried_ns: u64, counted_ns: u64) -> Extrapolation {
        let counted_ns = counted_ns as f64;
        let half_width = |of: &dyn Fn(&LevelSpread) -> Estimate, floor: f64| {
            let variance: f64 = self
                .levels
                .iter()
                .map(|level| {
                    let Estimate { deviation, batches, .. } = of(level);
                    let share = level.skipped_ns / counted_ns;
                    let of_mean = deviation / (batches.max(1) as f64).sqrt() * student_975(batches);
                    // The exact run scatters by itself, too.
                    let scatter = deviation * (level.batch_ns / counted_ns).sqrt() * 1.96;
                    (share * of_mean).powi(2) + 2.0 * share * scatter * scatter
                })
                .sum();
            let skipped: f64 = self.levels.iter().map(|level| level.skipped_ns / counted_ns).sum();
            variance.sqrt() + floor * skipped.min(1.0)
        };
        Extrapolation {
            simulated_ns,
            carried_ns,
            confidence_95: half_width(
                &|level| if level.is_open_loop { Estimate::default() } else { level.estimates.rate },
                RATE_FLOOR,
            ),
            latency_mean_confidence_95: [0, 1]
                .map(|index| half_width(&|level| level.estimates.mean[index], MEAN_FLOOR)),
            latency_p99_confidence_95: [0, 1]
                .map(|index| half_width(&|level| level.estimates.p99[index], P99_FLOOR)),
        }
    }
}
