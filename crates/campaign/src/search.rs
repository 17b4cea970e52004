//! Cases that search for a load: each point is measured as a case of its own, then the load that was found is run.

use crate::message::{CaseEvent, Ended, Message};
use crate::worker::{CaseJob, Worker, failed};
use findings::{FOUND_LOAD_EVENT, FoundLoad, FoundPoint};
use load::{
    Arrival, BoundAnswer, BoundEnd, BoundMeasure, BoundMeasurement, BoundPoint, ConfidenceMethod, Direction,
    Histogram, LoadSpec, max_under_latency,
};
use plan::{Case, LoadSearch, SearchOver};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, sync_channel};
use store::{CaseOutcome, CaseStatus, PRECONDITIONING_LOAD};

/// Messages of a point that may wait to be passed on.
const MESSAGES_LIMIT: usize = 16;
/// A point needs so many I/Os to tell a latency.
const LEAST_IOS: f64 = 100.0;
/// Points are sampled in so many intervals, whose differences tell how sure a latency is …
const SECTIONS: u64 = 20;
/// … each at least this long.
const SECTION_LEAST_NS: u64 = 10_000_000;
/// A rate counts as delivered down to this share of it …
const DELIVERED_SHARE: f64 = 0.98;
/// … less so many standard deviations of the number of arrivals, which is Poisson's.
const DELIVERED_DEVIATIONS: f64 = 3.0;

/// Measures a case that searches. The points come before the result on the case's clock and are no part of it, like a
/// ramp; the load that was found is then run once more, and that is what the results count.
pub(crate) fn measure(
    worker: &dyn Worker,
    cases: &[Case],
    find: &LoadSearch,
    job: &CaseJob,
    tx: &SyncSender<Message>,
    stop: &AtomicBool,
) -> Ended {
    let case = &cases[job.case_index as usize];
    let interval_ns = case.load.interval_ns;
    let mut points = Points {
        worker,
        case: case.clone(),
        cases,
        interval_ns,
        find,
        job,
        tx,
        stop,
        begun_ns: 0,
        number: 0,
    };
    let mut search = find.search;
    if find.over == SearchOver::Rate {
        let seconds = case.load.runtime_ns as f64 / 1e9;
        search.least = search.least.max(LEAST_IOS / seconds).min(search.limit);
    }
    let ran = max_under_latency(find.bound, search, &mut |load| points.point(load));
    let answer = match ran {
        Ok(answer) => answer,
        Err(ended) => return *ended,
    };
    // What was measured to hold, not the estimate between two points: the result must keep the bound.
    let smallest = answer.points.iter().map(|point| point.load).fold(f64::INFINITY, f64::min);
    let found = if answer.end == BoundEnd::NeverHolds { smallest } else { answer.bracket[0] };
    match points.run(found, true).0 {
        Ended::Outcome(mut outcome) => {
            points.keep(&answer, &outcome);
            outcome.warnings.push(in_words(find, &answer));
            Ended::Outcome(outcome)
        }
        ended => ended,
    }
}

struct Points<'a> {
    worker: &'a dyn Worker,
    /// The searching case, as the point that is measured.
    case: Case,
    cases: &'a [Case],
    /// Length of the result's samples, in nanoseconds.
    interval_ns: u64,
    find: &'a LoadSearch,
    job: &'a CaseJob,
    tx: &'a SyncSender<Message>,
    stop: &'a AtomicBool,
    /// Start of the next point on the case's clock.
    begun_ns: u64,
    number: u64,
}

impl Points<'_> {
    /// One point of the search.
    fn point(&mut self, load: f64) -> Result<BoundMeasurement, Box<Ended>> {
        let (ended, sections) = self.run(load, false);
        match ended {
            Ended::Outcome(outcome) if outcome.status == CaseStatus::Done => {
                Ok(self.measurement(load, &outcome, sections))
            }
            ended => Err(Box::new(ended)),
        }
    }

    fn measurement(&self, load: f64, outcome: &CaseOutcome, sections: Vec<Histogram>) -> BoundMeasurement {
        let (mut latency, mut ios) = (Histogram::new(), 0);
        for one in &outcome.loads {
            for direction in [Direction::Read, Direction::Write, Direction::Trim] {
                if let Some(totals) = one.direction(direction) {
                    latency.merge(&totals.latency);
                    ios += totals.ios;
                }
            }
        }
        let seconds = outcome.duration_ns as f64 / 1e9;
        let delivered_iops = if seconds > 0.0 { ios as f64 / seconds } else { 0.0 };
        let kept_up = match self.find.over {
            SearchOver::Iodepth => ios > 0,
            SearchOver::Rate => {
                let wanted = load * seconds;
                ios > 0 && ios as f64 >= wanted * DELIVERED_SHARE - DELIVERED_DEVIATIONS * wanted.sqrt()
            }
        };
        let simulated_share = outcome
            .extrapolation
            .map_or(1.0, |ran| ran.simulated_ns as f64 / (ran.simulated_ns + ran.carried_ns).max(1) as f64);
        BoundMeasurement { latency, delivered_iops, kept_up, sections, simulated_share }
    }

    /// Runs the case at one load, and passes on what it tells. Latencies by sections of the counted time come with it.
    fn run(&mut self, load: f64, is_result: bool) -> (Ended, Vec<Histogram>) {
        self.number += 1;
        let case = &mut self.case;
        case.find = None;
        if self.number > 1 {
            // The target is written once before the search, not before each point.
            case.preconditioning = None;
        }
        let shares = case.loads.len().max(1) as f64;
        for one in case.loads.iter_mut().map(|one| &mut one.load).chain([&mut case.load]) {
            set(one, self.find.over, load, shares);
            one.interval_ns = match is_result {
                true => self.interval_ns,
                false => self.interval_ns.min((one.runtime_ns / SECTIONS).max(SECTION_LEAST_NS)),
            };
        }
        let length_ns = case.load.ramp_ns.saturating_add(case.load.runtime_ns);
        let directory =
            self.job.directory.as_ref().map(|directory| directory.join(format!("point-{}", self.number)));
        if let Some(Err(error)) = directory.as_ref().map(std::fs::create_dir_all) {
            let why = format!("the point's directory cannot be made: {error}");
            return (Ended::Outcome(Box::new(failed(why))), Vec::new());
        }
        let job = CaseJob {
            case_index: self.job.case_index,
            directory,
            predecessors: self.job.predecessors.clone(),
            resolved_case: None,
            parts: Vec::new(),
        };
        let passing =
            PointMessages { begun_ns: self.begun_ns, is_result, point: self.number, find: self.find };
        self.begun_ns = self.begun_ns.saturating_add(length_ns);
        let (worker, case, cases) = (self.worker, &self.case, self.cases);
        let (stop, tx) = (self.stop, self.tx);
        let mut sections = Sections::default();
        let ended = std::thread::scope(|scope| {
            let (to_us, rx) = sync_channel(MESSAGES_LIMIT);
            let measuring = scope.spawn(move || worker.measure(case, cases, &job, &to_us, stop));
            for message in rx {
                sections.look(&message);
                // The coordinator receives until every worker has hung up.
                if let Some(message) = passing.on_case_clock(message) {
                    let _ = tx.send(message);
                }
            }
            measuring
                .join()
                .unwrap_or_else(|_| Ended::Outcome(Box::new(failed("the measurement broke off".into()))))
        });
        (ended, sections.0.into_values().collect())
    }

    /// Keeps the answer with its points.
    fn keep(&self, answer: &BoundAnswer, outcome: &CaseOutcome) {
        let event = CaseEvent {
            case_at_ns: self.begun_ns.saturating_sub(outcome.duration_ns),
            kind: FOUND_LOAD_EVENT.to_owned(),
            text: in_words(self.find, answer),
            data: serde_json::to_value(found_load(self.find, answer)).ok(),
        };
        let _ = self.tx.send(Message::Happened { case_index: self.job.case_index, event });
    }
}

/// Latencies of a point, all loads and directions together, by the interval in which they were answered.
#[derive(Default)]
struct Sections(BTreeMap<u64, Histogram>);

impl Sections {
    fn look(&mut self, message: &Message) {
        let Message::Sample { load, sample, .. } = message else { return };
        if sample.is_ramp || load == PRECONDITIONING_LOAD {
            return;
        }
        let section = self.0.entry(sample.start_ns).or_default();
        for part in [&sample.read, &sample.write, &sample.trim] {
            section.merge(&part.latency);
        }
    }
}

fn found_load(find: &LoadSearch, answer: &BoundAnswer) -> FoundLoad {
    let point = |point: &BoundPoint| FoundPoint {
        load: point.load,
        latency_ns: point.latency_ns,
        standard_error_ns: point.error.map(|error| error.standard_error_ns),
        iops: point.delivered_iops,
        kept_up: point.kept_up,
        holds: point.holds,
    };
    FoundLoad {
        over: over_name(find.over).to_owned(),
        of: measure_name(find.bound.measure),
        below_ns: find.bound.latency_ns,
        end: end_name(answer.end).to_owned(),
        load: answer.load,
        confidence_95: answer.confidence.map(|confidence| confidence.interval_95),
        confidence_by: answer.confidence.map(|confidence| method_name(confidence.method).to_owned()),
        holds_at: answer.bracket[0],
        // Where nothing was measured to break the bound there is no upper end.
        breaks_at: answer.bracket[1].is_finite().then_some(answer.bracket[1]),
        iops: answer.delivered_iops,
        points: answer.points.iter().map(point).collect(),
    }
}

/// Conversion of a point's messages into messages of the case.
struct PointMessages<'a> {
    begun_ns: u64,
    is_result: bool,
    point: u64,
    find: &'a LoadSearch,
}

impl PointMessages<'_> {
    /// Message of a point with the times and the progress of the whole case.
    fn on_case_clock(&self, message: Message) -> Option<Message> {
        match message {
            Message::Sample { case_index, load, mut sample, counters, mut events } => {
                sample.start_ns += self.begun_ns;
                sample.end_ns += self.begun_ns;
                sample.is_ramp |= !self.is_result;
                for event in &mut events {
                    event.case_at_ns += self.begun_ns;
                }
                Some(Message::Sample { case_index, load, sample, counters, events })
            }
            Message::Happened { case_index, mut event } => {
                event.case_at_ns += self.begun_ns;
                Some(Message::Happened { case_index, event })
            }
            // Hosts have their parts of the result alone.
            Message::HostSample { case_index, host, load, mut sample } if self.is_result => {
                sample.start_ns += self.begun_ns;
                sample.end_ns += self.begun_ns;
                Some(Message::HostSample { case_index, host, load, sample })
            }
            Message::HostSample { .. } => None,
            Message::HostTotals { .. } if !self.is_result => None,
            Message::Progress { case_index, share } => {
                // The result is one more than the points.
                let all = f64::from(self.find.search.points_limit) + 1.0;
                let before = if self.is_result { all - 1.0 } else { (self.point - 1) as f64 };
                Some(Message::Progress { case_index, share: (before + share) / all })
            }
            message => Some(message),
        }
    }
}

fn set(load: &mut LoadSpec, over: SearchOver, value: f64, shares: f64) {
    match over {
        SearchOver::Rate => {
            load.rate_iops = None;
            load.shape.arrival = Some(Arrival::poisson(value / shares));
        }
        SearchOver::Iodepth => load.iodepth = value as u32,
    }
}

fn measure_name(measure: BoundMeasure) -> String {
    match measure {
        BoundMeasure::Mean => "mean".into(),
        BoundMeasure::Percentile(millionths) => format!("p{}", f64::from(millionths) / 10_000.0),
    }
}

fn over_name(over: SearchOver) -> &'static str {
    match over {
        SearchOver::Rate => "rate",
        SearchOver::Iodepth => "iodepth",
    }
}

fn method_name(method: ConfidenceMethod) -> &'static str {
    match method {
        ConfidenceMethod::Sectioning => "sectioning",
        ConfidenceMethod::Bracket => "bracket",
    }
}

fn end_name(end: BoundEnd) -> &'static str {
    match end {
        BoundEnd::Found => "found",
        BoundEnd::NeverHolds => "never-holds",
        BoundEnd::AlwaysHolds => "always-holds",
        BoundEnd::PointsUsedUp => "points-used-up",
    }
}

fn in_words(find: &LoadSearch, answer: &BoundAnswer) -> String {
    let [holds_at, breaks_at] = answer.bracket;
    let bound = format!(
        "{} latency under {}",
        measure_name(find.bound.measure),
        units::human_latency(find.bound.latency_ns as f64)
    );
    let unit = |load: f64| match find.over {
        SearchOver::Rate => format!("{} IOPS", units::human_rate(load)),
        SearchOver::Iodepth => format!("depth {load}"),
    };
    let points = answer.points.len();
    match answer.end {
        BoundEnd::Found => format!(
            "the largest load with {bound} is {}{}: {} held and {} did not, in {points} points; the result is of the load that held",
            unit(answer.load),
            answer.confidence.map_or_else(String::new, |found| {
                let [low, high] = found.interval_95;
                format!(" (95 % confidence: {} to {})", unit(low), unit(high))
            }),
            unit(holds_at),
            unit(breaks_at)
        ),
        BoundEnd::NeverHolds => {
            format!("no load has {bound}: even the smallest that was measured breaks it, and is the result")
        }
        BoundEnd::AlwaysHolds => {
            format!("{bound} held up to {}, the limit of the search, in {points} points", unit(holds_at))
        }
        BoundEnd::PointsUsedUp => format!(
            "the largest load with {bound} lies between {} and {}: {points} points were not enough to say more",
            unit(holds_at),
            if breaks_at.is_finite() { unit(breaks_at) } else { "no known limit".into() }
        ),
    }
}
