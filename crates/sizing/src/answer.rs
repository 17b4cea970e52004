//! Answer about one configuration: its level with a range, and the part that limits it.

use crate::cache_warming::WarmCaches;
use crate::line_rate::{links_bytes_per_s, most_iops};
use crate::part::Part;
use crate::requirement::Side;
use crate::simulation::{self, Effort, Level};
use crate::size_row::QuantityError;
use crate::workload::{asked_iops, is_closed_loop};
use crate::{Configuration, SizingError, Validated};
use load::Sample;
use plan::Case;
use serde::Serialize;

/// Factor of the step from which an elasticity is taken.
pub const STEP: f64 = 1.25;
/// A part that is busy for this share of the time is full.
const FULL: f64 = 0.90;
/// A part that is busy for less is not what others wait for.
const HALF: f64 = 0.5;
/// Elasticity from which a part limits.
const LIMITS: f64 = 0.1;
/// I/Os wait for one another where they take so many times as long as one alone.
const QUEUED: f64 = 2.0;
/// A rate that was asked for is reached within this share.
const RATE_REACHED: f64 = 0.98;

/// Latency with its range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Mean, in nanoseconds.
    pub mean: f64,
    /// 99th percentile, in nanoseconds.
    pub p99: u64,
    /// Range of the mean: 95 %, model and sampling together; of a closed loop no shorter than the links allow.
    pub mean_95: [f64; 2],
    /// Range of the percentile.
    pub p99_95: [f64; 2],
}

/// Errors of the model in the ranges of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AnswerErrors {
    /// Of the rate.
    pub iops: QuantityError,
    /// Of the mean latency.
    pub mean: QuantityError,
    /// Of the 99th percentile.
    pub p99: QuantityError,
}

/// Relative half-widths of the 95 % intervals of latencies, from sampling alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencySampling {
    /// Of the mean.
    pub mean: f64,
    /// Of the 99th percentile.
    pub p99: f64,
}

/// Difference between a simulation and the configuration and load of the answer that it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PointKind {
    /// None.
    Own,
    /// One I/O at a time.
    Alone,
    /// A multiple of one part.
    More(Part, f64),
}

/// Simulation that an answer rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPoint {
    /// Its difference.
    pub kind: PointKind,
    /// I/Os a second.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// Its intervals, those of the warm-up as a ramp.
    pub samples: Vec<Sample>,
}

impl AnswerPoint {
    pub(crate) fn of(kind: PointKind, level: Level) -> AnswerPoint {
        let mean_ns = level.latency(Side::Both).mean_ns();
        AnswerPoint { kind, iops: level.iops(), mean_ns, samples: level.samples }
    }
}

/// Share of the time that a kind of part was busy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PartBusy {
    /// The part.
    pub part: Part,
    /// Mean over like parts that were used, of its busiest resource: 0 to 1.
    pub share: f64,
}

/// Gain from more of one part: change of the rate's logarithm by that of the part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Elasticity {
    /// The part.
    pub part: Part,
    /// 1 where the rate grows as the part does, 0 where it stays.
    pub elasticity: f64,
}

/// Answer about one configuration under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// I/Os a second.
    pub iops: f64,
    /// Range of the true rate: 95 %, model and sampling together, and no more than the load asks for and the links carry.
    pub iops_95: [f64; 2],
    /// Bytes a second that the links carry each way at their line rate; `None` where that is not known.
    pub links_bytes_per_s: Option<f64>,
    /// The load keeps as many I/Os outstanding all the time.
    pub closed_loop: bool,
    /// Relative half-width of the sampling alone.
    pub sampling: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
    /// Latency over both directions.
    pub latency_ns: Latency,
    /// Mean latency of reads, where there were any.
    pub read_mean_ns: Option<f64>,
    /// Mean latency of writes, where there were any.
    pub write_mean_ns: Option<f64>,
    /// The part that limits, `rate` where the load asks for no more, `concurrency` where no part is full.
    pub limit: String,
    /// Busy shares, from the host to the drives.
    pub busy: Vec<PartBusy>,
    /// Gains from more of each part of the array; empty where they were not requested.
    pub elasticity: Vec<Elasticity>,
    /// Basis of the ranges.
    pub validated: Validated,
    /// Errors of the model in the ranges.
    pub model_error: AnswerErrors,
    /// Relative half-widths of the latencies' sampling alone.
    pub latency_sampling: LatencySampling,
    /// Simulations that it rests on; empty where no elasticities were requested.
    pub points: Vec<AnswerPoint>,
    /// The level did not change any more when the simulation ended.
    pub is_steady: bool,
    /// The drives began as after hours of random writes, which the load did not ask for.
    pub began_steady: bool,
    /// The load's own writes then preconditioned them.
    pub preconditioned_by_load: bool,
    /// Caches that began as after hours of the load.
    pub warm_caches: WarmCaches,
    /// Simulated time that counts, in nanoseconds.
    pub counted_ns: u64,
}

/// Answer without elasticities.
pub fn answer(configuration: &Configuration, case: &Case, effort: &Effort) -> Result<Answer, SizingError> {
    let level = simulation::simulate(configuration, case, effort)?;
    let mut answer = of_level(configuration, case, &level);
    answer.limit = limit(&answer, case, false);
    Ok(answer)
}

/// Answer with the gain from a quarter more of each part.
pub fn answer_with_elasticity(
    configuration: &Configuration,
    case: &Case,
    effort: &Effort,
) -> Result<Answer, SizingError> {
    answer_counted(configuration, case, effort, &|| {})
}

/// The configuration with a quarter more of each part that it has.
fn with_more(configuration: &Configuration) -> Vec<(Part, Configuration)> {
    Part::ALL.into_iter().filter_map(|part| Some((part, scaled(configuration, part, STEP)?))).collect()
}

/// Simulations of an answer with elasticities.
pub(crate) fn simulations(configuration: &Configuration) -> u64 {
    2 + with_more(configuration).len() as u64
}

/// Answer with the gain from a quarter more of each part; `ended` is called at the end of each simulation.
pub(crate) fn answer_counted(
    configuration: &Configuration,
    case: &Case,
    effort: &Effort,
    ended: &(dyn Fn() + Sync),
) -> Result<Answer, SizingError> {
    let more = with_more(configuration);
    let unloaded = alone(case);
    let questions: Vec<(&Configuration, &Case)> = [(configuration, case), (configuration, &unloaded)]
        .into_iter()
        .chain(more.iter().map(|(_, more)| (more, case)))
        .collect();
    let mut levels = Vec::new();
    for level in in_parallel(&questions, effort.threads, &|(configuration, case)| {
        let level = simulation::simulate(configuration, case, effort);
        ended();
        level
    }) {
        levels.push(level?);
    }
    let mut answer = of_level(configuration, case, &levels[0]);
    let kinds = [PointKind::Own, PointKind::Alone].into_iter();
    let kinds = kinds.chain(more.iter().map(|(part, _)| PointKind::More(*part, STEP)));
    answer.points = kinds.zip(levels).map(|(kind, level)| AnswerPoint::of(kind, level)).collect();
    // Of no I/O nothing is gained.
    let gained = if answer.iops > 0.0 { &answer.points[2..] } else { &[] };
    answer.elasticity = more
        .iter()
        .zip(gained)
        .map(|((part, _), point)| Elasticity { part: *part, elasticity: exponent(point.iops / answer.iops) })
        .collect();
    let is_queued = answer.latency_ns.mean >= QUEUED * answer.points[1].mean_ns;
    answer.limit = limit(&answer, case, is_queued);
    Ok(answer)
}

/// The same load with one I/O at a time.
fn alone(case: &Case) -> Case {
    let mut case = case.clone();
    for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
        (load.numjobs, load.iodepth, load.rate_iops) = (1, 1, None);
        load.shape.arrival = None;
    }
    case
}

/// The configuration with more of a part; `None` where it has nothing of it.
pub(crate) fn scaled(configuration: &Configuration, part: Part, factor: f64) -> Option<Configuration> {
    let description = part.scaled(&configuration.description, factor)?;
    Some(Configuration { description, has_no_rows: true, twins: None, ..configuration.clone() })
}

/// Exponent of a gain from one step.
pub(crate) fn exponent(gain: f64) -> f64 {
    libm::log(gain.max(1e-9)) / libm::log(STEP)
}

/// Answers independent questions in their order, several at once.
pub(crate) fn in_parallel<Q: Sync, A: Send>(
    questions: &[Q],
    threads: usize,
    of: &(dyn Fn(&Q) -> A + Sync),
) -> Vec<A> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(threads).min(questions.len()).max(1);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut answers: Vec<(usize, A)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(question) = questions.get(index) else { return own };
                own.push((index, of(question)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let of_worker = |worker: std::thread::ScopedJoinHandle<'_, Vec<(usize, A)>>| {
            // A panic is the caller's, not a missing answer.
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(of_worker).collect()
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn of_level(configuration: &Configuration, case: &Case, level: &Level) -> Answer {
    let iops = level.iops();
    let both = level.latency(Side::Both);
    let rates = QuantityError::of(configuration, &["iops"]);
    let metrics: Vec<&str> =
        [("read.latency_ns.mean", level.read.ios), ("write.latency_ns.mean", level.write.ios)]
            .into_iter()
            .filter_map(|(metric, ios)| (ios > 0).then_some(metric))
            .collect();
    let means = QuantityError::of(configuration, &metrics);
    // No published row has a percentile.
    let percentiles = QuantityError::of(configuration, &[]);
    let (mean, p99) = (both.mean_ns(), both.percentile_ns(990_000));
    let mut iops_95 = rates.error.range(iops, level.rate_half_width);
    let mut mean_95 = means.error.range(mean, level.mean_half_width);
    let links_bytes_per_s = links_bytes_per_s(configuration);
    let most_iops = most_iops(links_bytes_per_s, level).max(iops);
    iops_95[1] = iops_95[1].min(most_iops);
    if let Some(requested) = asked_iops(case) {
        // However fast the array is, nothing asks for more.
        iops_95[1] = iops_95[1].min(requested.max(iops));
    }
    let closed_loop = is_closed_loop(case);
    if closed_loop {
        // As many are on their way whatever they take: no faster than the links carry them (Little's law).
        mean_95[0] = mean_95[0].max(mean * iops / most_iops);
    }
    let of = |side: &load::DirectionSample| (side.ios > 0).then(|| side.latency.mean_ns());
    Answer {
        iops,
        iops_95,
        links_bytes_per_s,
        closed_loop,
        sampling: level.rate_half_width,
        bw_bytes_per_s: level.bw_bytes_per_s(),
        latency_ns: Latency {
            mean,
            p99,
            mean_95,
            p99_95: percentiles.error.range(p99 as f64, level.p99_half_width),
        },
        read_mean_ns: of(&level.read),
        write_mean_ns: of(&level.write),
        limit: String::new(),
        busy: level.busy.iter().map(|(part, share)| PartBusy { part: *part, share: *share }).collect(),
        elasticity: Vec::new(),
        validated: rates.validated,
        model_error: AnswerErrors { iops: rates, mean: means, p99: percentiles },
        latency_sampling: LatencySampling { mean: level.mean_half_width, p99: level.p99_half_width },
        points: Vec::new(),
        is_steady: level.is_steady,
        began_steady: level.began_steady,
        preconditioned_by_load: level.preconditioned_by_load,
        warm_caches: level.warm_caches,
        counted_ns: level.counted_ns,
    }
}

/// The first that applies: a rate that was asked for and is delivered; the part from which more gains most; a part that is full;
/// too few I/Os outstanding.
fn limit(answer: &Answer, case: &Case, is_queued: bool) -> String {
    let requested = asked_iops(case);
    if requested.is_some_and(|requested| answer.iops >= RATE_REACHED * requested) {
        return "rate".into();
    }
    let share = |part: Part| answer.busy.iter().find(|busy| busy.part == part).map(|busy| busy.share);
    let gains = answer.elasticity.iter().max_by(|a, b| a.elasticity.total_cmp(&b.elasticity));
    // A drive's channels, for one, are busy without a counter of it: that I/Os wait for one another shows it.
    if let Some(most) = gains.filter(|most| most.elasticity >= LIMITS)
        && (is_queued || share(most.part).is_some_and(|share| share >= HALF))
    {
        return most.part.name().into();
    }
    let busiest = answer.busy.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    // More of a full part that gains nothing is no remedy.
    let is_known = !answer.elasticity.is_empty();
    match busiest.filter(|busiest| busiest.share >= FULL && !is_known) {
        Some(full) => full.part.name().into(),
        None => "concurrency".into(),
    }
}
