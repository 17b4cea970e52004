//! Runs made up for tests: cases with series of which everything is known.
#![allow(dead_code, reason = "each test file uses the part that it needs")]

use findings::{
    Busy, Flow, Interval, LimitChange, Moment, Observation, ObservedCase, PartResource, PathTraffic,
};
use load::Random;
use serde_json::{Map, Value};
use store::{CaseResult, CaseStatus, DirectionResult, LatencyResult};

/// A standard normal number, by Box and Muller.
pub fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(random.unit_open()));
    radius * libm::cos(2.0 * std::f64::consts::PI * random.unit_open())
}

/// The intervals of a case.
#[derive(Debug, Clone, Default)]
pub struct Series {
    pub intervals: Vec<Interval>,
}

fn flow(iops: f64, length_s: f64, bs: f64, latency_ns: f64) -> Flow {
    let ios = iops * length_s;
    Flow { ios, bytes: ios * bs, errors: 0, latency_sum_ns: ios * latency_ns }
}

impl Series {
    /// Pure writes at these IOPS, at a depth of 64.
    pub fn writes(iops: &[f64], length_s: f64, bs: f64) -> Series {
        Series::of(iops.iter().map(|&iops| (0.0, iops, 0.0, 64e9 / iops.max(1.0))), length_s, bs)
    }

    /// From read IOPS, write IOPS, read latency and write latency of each interval.
    pub fn of(points: impl Iterator<Item = (f64, f64, f64, f64)>, length_s: f64, bs: f64) -> Series {
        let intervals = points
            .enumerate()
            .map(|(index, (reads, writes, read_ns, write_ns))| Interval {
                start_s: index as f64 * length_s,
                end_s: (index + 1) as f64 * length_s,
                is_ramp: false,
                read: flow(reads, length_s, bs, read_ns),
                write: flow(writes, length_s, bs, write_ns),
            })
            .collect();
        Series { intervals }
    }

    /// A level with a little noise: IOPS, share of reads, latencies.
    pub fn level(iops: f64, reads: f64, read_ns: f64, write_ns: f64, bs: f64) -> Series {
        let tremor = |index: u32| 1.0 + 0.002 * f64::from(index % 3) - 0.002;
        let point = |index| {
            let iops = iops * tremor(index);
            (iops * reads, iops * (1.0 - reads), read_ns, write_ns)
        };
        Series::of((0..12).map(point), 5.0, bs)
    }

    /// A fall after `onset` intervals, of all directions alike.
    pub fn cliff(before: f64, after: f64, reads: f64, onset: usize, length: usize, bs: f64) -> Series {
        let point = |index: usize| {
            let iops = if index < onset { before } else { after } * (1.0 + 0.004 * (index % 3) as f64);
            (iops * reads, iops * (1.0 - reads), 4096e9 / iops, 4096e9 / iops)
        };
        Series::of((0..length).map(point), 5.0, bs)
    }
}

fn direction(
    intervals: &[Interval],
    of: impl Fn(&Interval) -> Flow,
    seconds: f64,
) -> Option<DirectionResult> {
    let mut all = Flow::default();
    intervals.iter().for_each(|interval| all.add(&of(interval)));
    (all.ios > 0.0).then(|| DirectionResult {
        ios: all.ios as u64,
        bytes: all.bytes as u64,
        errors: all.errors,
        iops: all.ios / seconds,
        bw_bytes_per_s: all.bytes / seconds,
        latency_ns: LatencyResult {
            mean: all.latency_sum_ns / all.ios,
            p50: None,
            p95: None,
            p99: None,
            p99_9: None,
            p99_99: None,
            min: None,
            max: None,
        },
        service_ns: None,
    })
}

/// A run, case by case.
#[derive(Debug, Clone, Default)]
pub struct Run {
    observation: Observation,
}

/// Settings from text, typed as plans type them.
pub fn settings(texts: &[(&str, &str)]) -> Map<String, Value> {
    texts
        .iter()
        .map(|&(name, text)| {
            let value = plan::setting(name).and_then(|setting| setting.parse(text).ok());
            (name.to_owned(), value.unwrap_or_else(|| Value::from(text)))
        })
        .collect()
}

impl Run {
    pub fn new(plan: &str) -> Run {
        Run { observation: Observation { plan: plan.into(), ..Observation::default() } }
    }

    pub fn case(mut self, stage: &str, name: &str, texts: &[(&str, &str)], series: &Series) -> Run {
        self.add(stage, name, settings(texts), series);
        self
    }

    pub fn add(
        &mut self,
        stage: &str,
        name: &str,
        settings: Map<String, Value>,
        series: &Series,
    ) -> &mut ObservedCase {
        let intervals = series.intervals.clone();
        let seconds: f64 = intervals.iter().map(Interval::length_s).sum();
        let (read, write) =
            (direction(&intervals, |i| i.read, seconds), direction(&intervals, |i| i.write, seconds));
        let sum = |value: fn(&DirectionResult) -> f64| {
            [&read, &write].into_iter().flatten().map(value).sum::<f64>()
        };
        let result = CaseResult {
            plan: self.observation.plan.clone(),
            stage: stage.into(),
            case: name.into(),
            settings: settings.clone().into(),
            target: "twin:synthetic".into(),
            engine: "sim".into(),
            status: CaseStatus::Done,
            duration_s: seconds,
            iops: sum(|part| part.iops),
            bw_bytes_per_s: sum(|part| part.bw_bytes_per_s),
            read,
            write,
            sustained: None,
            loads: None,
            trim: None,
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
            cpu_ns_per_io: None,
            hosts: None,
        };
        self.observation.cases.push(ObservedCase {
            stage: stage.into(),
            name: name.into(),
            settings: settings.into(),
            result: result.into(),
            intervals,
            loads: Vec::new(),
            busy: Vec::new(),
            carried: Vec::new(),
            services: Vec::new(),
            waiting_commands: 0.0,
            unwritten_share: 0.0,
            moments: Vec::new(),
            limits: Vec::new(),
            found_load: None,
        });
        let last = self.observation.cases.len() - 1;
        &mut self.observation.cases[last]
    }

    pub fn observation(self) -> Observation {
        self.observation
    }
}

/// Utilisation of one part.
pub fn busy(part: &str, entity: &str, resource: &str, share: f64) -> Busy {
    let of = PartResource { part: part.into(), entity: entity.into(), resource: resource.into() };
    Busy { of: of.into(), share }
}

/// Traffic of one path.
pub fn carried(paths: &str, entity: &str, bytes: f64) -> PathTraffic {
    PathTraffic { paths: paths.into(), entity: entity.into(), bytes }
}

/// Something that happened.
pub fn moment(at_s: f64, text: &str) -> Moment {
    Moment { at_s, text: text.into() }
}

/// A limit from a time on.
pub fn limit(at_s: f64, iops: Option<f64>, bw_bytes_per_s: Option<f64>) -> LimitChange {
    LimitChange { at_s, load: None, iops, bw_bytes_per_s }
}
