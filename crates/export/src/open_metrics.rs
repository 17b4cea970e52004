//! Run as OpenMetrics text with timestamps.
//!
//! The names and labels are those of `--metrics`, so that dashboards of live runs show a run that is over: a gauge for each
//! interval and direction, stamped with the interval's end. `promtool tsdb create-blocks-from openmetrics` reads it.

use crate::ExportError;
use std::collections::BTreeSet;
use std::io::Write;
use store::{DirectionPoint, IntervalPoint, LatencySummary, PRECONDITIONING_LOAD, RunReader};

const SECOND_NS: f64 = 1e9;

/// A metric of each interval and direction.
struct Family {
    name: &'static str,
    unit: Option<&'static str>,
    help: &'static str,
    /// Function that gives the samples: labels beside those of the direction, and values.
    values: fn(&DirectionPoint, f64) -> Vec<(&'static str, f64)>,
}

/// In the order of the live page.
const FAMILIES: [Family; 6] = [
    Family {
        name: "arraylab_iops",
        unit: None,
        help: "I/Os a second in the interval",
        values: |point, seconds| vec![("", point.ios as f64 / seconds)],
    },
    Family {
        name: "arraylab_bytes_per_second",
        unit: Some("bytes_per_second"),
        help: "Bytes a second in the interval",
        values: |point, seconds| vec![("", point.bytes as f64 / seconds)],
    },
    Family {
        name: "arraylab_interval_errors",
        unit: None,
        help: "I/Os that failed in the interval",
        values: |point, _| vec![("", point.errors as f64)],
    },
    Family {
        name: "arraylab_latency_mean_seconds",
        unit: Some("seconds"),
        help: "Mean latency in the interval",
        values: |point, _| match point.latency.count {
            0 => Vec::new(),
            _ => vec![("", point.latency.mean_ns / SECOND_NS)],
        },
    },
    Family {
        name: "arraylab_latency_quantile_seconds",
        unit: Some("seconds"),
        help: "Quantiles of latency in the interval",
        values: |point, _| {
            let LatencySummary { p50_ns, p95_ns, p99_ns, p999_ns, .. } = point.latency;
            [("0.5", p50_ns), ("0.95", p95_ns), ("0.99", p99_ns), ("0.999", p999_ns)]
                .into_iter()
                .filter_map(|(name, value_ns)| Some((name, value_ns? as f64 / SECOND_NS)))
                .collect()
        },
    },
    Family {
        name: "arraylab_latency_max_seconds",
        unit: Some("seconds"),
        help: "Largest latency in the interval",
        values: |point, _| {
            point.latency.max_ns.map(|value_ns| ("", value_ns as f64 / SECOND_NS)).into_iter().collect()
        },
    },
];

/// A case that ended, with its intervals.
struct CaseSeries {
    index: u32,
    stage: String,
    name: String,
    /// Start of its preconditioning, or of its load where it has none, in nanoseconds since 1970.
    attempt_utc_ns: u64,
    /// Start of its load.
    start_utc_ns: u64,
    /// UTC time of the run clock's zero, in nanoseconds since 1970, to place counters.
    clock_zero_utc_ns: i128,
    points: Vec<IntervalPoint>,
}

/// Writes the intervals and counters of a run.
pub fn write_open_metrics(run: &RunReader, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut cases = Vec::new();
    for record in run.cases()? {
        let Some(start) = run.attempt_start(record.index)? else { continue };
        let points = run.series(record.index)?;
        let conditioned_ns = points
            .iter()
            .filter(|point| point.load == PRECONDITIONING_LOAD)
            .map(|point| point.end_ns)
            .max()
            .unwrap_or(0);
        cases.push(CaseSeries {
            index: record.index,
            stage: record.stage,
            name: record.name,
            attempt_utc_ns: start.utc_ns,
            start_utc_ns: start.utc_ns.saturating_add(conditioned_ns),
            clock_zero_utc_ns: i128::from(start.utc_ns) - i128::from(start.at_ns),
            points,
        });
    }
    if cases.iter().all(|case| case.points.is_empty()) {
        return Err(ExportError::NoResults { run: run.directory().display().to_string() });
    }
    write_run(run, &cases, out)?;
    write_ramps(&cases, out)?;
    for family in &FAMILIES {
        write_family(family, &cases, out)?;
    }
    write_counters(run, &cases, out)?;
    writeln!(out, "# EOF")?;
    Ok(())
}

fn head(out: &mut dyn Write, name: &str, unit: Option<&str>, help: &str) -> std::io::Result<()> {
    writeln!(out, "# TYPE {name} gauge")?;
    if let Some(unit) = unit {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    writeln!(out, "# HELP {name} {help}")
}

/// A sample: name, labels, value, and its time as seconds since 1970.
fn sample(
    out: &mut dyn Write,
    name: &str,
    labels: &[(&str, &str)],
    value: f64,
    utc_ns: u64,
) -> std::io::Result<()> {
    write!(out, "{name}{{")?;
    for (index, (label, text)) in labels.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(out, "{comma}{label}=\"{}\"", escaped(text))?;
    }
    writeln!(out, "}} {value} {}.{:06}", utc_ns / 1_000_000_000, utc_ns % 1_000_000_000 / 1000)
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn write_run(run: &RunReader, cases: &[CaseSeries], out: &mut dyn Write) -> std::io::Result<()> {
    let manifest = run.manifest();
    let targets: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
    let start_utc_ns = cases.iter().map(|case| case.start_utc_ns).min().unwrap_or(0);
    let labels = [
        ("plan", manifest.plan.name.as_str()),
        ("target", &targets.join(", ")),
        ("version", &manifest.arraylab_version),
    ];
    head(out, "arraylab_run_info", None, "The run")?;
    sample(out, "arraylab_run_info", &labels, 1.0, start_utc_ns)?;
    head(out, "arraylab_run_cases", None, "Cases of the run that were begun")?;
    sample(out, "arraylab_run_cases", &[], cases.len() as f64, start_utc_ns)
}

fn write_ramps(cases: &[CaseSeries], out: &mut dyn Write) -> std::io::Result<()> {
    let name = "arraylab_ramp";
    head(out, name, None, "1 while the load is in its ramp, which no result counts")?;
    for case in cases {
        for point in &case.points {
            let labels = [("stage", case.stage.as_str()), ("case", &case.name), ("load", &point.load)];
            sample(out, name, &labels, f64::from(u8::from(point.is_ramp)), case.end_utc_ns(point))?;
        }
    }
    Ok(())
}

fn write_family(family: &Family, cases: &[CaseSeries], out: &mut dyn Write) -> std::io::Result<()> {
    head(out, family.name, family.unit, family.help)?;
    for case in cases {
        let loads: BTreeSet<&str> = case.points.iter().map(|point| point.load.as_str()).collect();
        for load in loads {
            for (direction, part) in PARTS {
                write_series(family, case, load, (direction, part), out)?;
            }
        }
    }
    Ok(())
}

type Part = fn(&IntervalPoint) -> Option<&DirectionPoint>;

const PARTS: [(&str, Part); 3] = [
    ("read", |point| point.read.as_ref()),
    ("write", |point| point.write.as_ref()),
    ("trim", |point| point.trim.as_ref()),
];

/// The samples of one load and direction. Samples of a labelset stand together, in order of time, as OpenMetrics asks.
fn write_series(
    family: &Family,
    case: &CaseSeries,
    load: &str,
    (direction, part): (&str, Part),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut values: Vec<(&str, u64, f64)> = Vec::new();
    for point in case.points.iter().filter(|point| point.load == load) {
        let Some(found) = part(point) else { continue };
        let seconds = point.end_ns.saturating_sub(point.start_ns).max(1) as f64 / SECOND_NS;
        let at = case.end_utc_ns(point);
        values.extend((family.values)(found, seconds).into_iter().map(|(q, value)| (q, at, value)));
    }
    values.sort_by(|one, other| one.0.cmp(other.0));
    for (q, utc_ns, value) in values {
        let mut labels = vec![
            ("stage", case.stage.as_str()),
            ("case", &case.name),
            ("load", load),
            ("direction", direction),
        ];
        if !q.is_empty() {
            labels.push(("q", q));
        }
        sample(out, family.name, &labels, value, utc_ns)?;
    }
    Ok(())
}

impl CaseSeries {
    /// Returns the end of an interval, in nanoseconds since 1970.
    fn end_utc_ns(&self, point: &IntervalPoint) -> u64 {
        let is_before = point.load == PRECONDITIONING_LOAD;
        let start_utc_ns = if is_before { self.attempt_utc_ns } else { self.start_utc_ns };
        start_utc_ns.saturating_add(point.end_ns)
    }
}

fn write_counters(run: &RunReader, cases: &[CaseSeries], out: &mut dyn Write) -> Result<(), ExportError> {
    let name = "arraylab_observed";
    let help = "What was read of the host, the array or the twin, by the names in the run";
    head(out, name, None, help)?;
    let hosts: Vec<&str> = run.manifest().hosts.iter().map(|host| host.name.as_str()).collect();
    for case in cases {
        for series in run.counters(case.index)? {
            let host = hosts
                .iter()
                .find(|host| series.entity.strip_prefix(**host).is_some_and(|rest| rest.starts_with('/')));
            let entity = host.map_or(series.entity.as_str(), |host| &series.entity[host.len() + 1..]);
            let mut labels = vec![
                ("source", series.source.as_str()),
                ("entity", entity),
                ("name", &series.name),
                ("stage", &case.stage),
                ("case", &case.name),
            ];
            labels.extend(host.map(|host| ("host", *host)));
            let mut last_utc_ns = 0;
            for point in &series.points {
                let utc_ns = match point.case_at_ns {
                    Some(case_at_ns) => case.start_utc_ns.saturating_add(case_at_ns),
                    None => u64::try_from(case.clock_zero_utc_ns + i128::from(point.at_ns)).unwrap_or(0),
                };
                // Two values at one time would be refused as duplicates.
                if utc_ns > last_utc_ns && point.value.is_finite() {
                    sample(out, name, &labels, point.value, utc_ns)?;
                    last_utc_ns = utc_ns;
                }
            }
        }
    }
    Ok(())
}
