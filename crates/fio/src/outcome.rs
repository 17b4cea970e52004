//! Outcome of a fio run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use load::{Direction, Histogram, LoadSpec, Sample};

use crate::align::{DIRECTIONS, Grid, LoggedJob, samples};
use crate::logs::{HistogramLog, IntervalLog};
use crate::report::{DiskUse, Job, Report};

/// One direction of a case, over all jobs, after the ramp.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionTotals {
    /// I/Os that completed: fio's `total_ios` without those that failed.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// The longest time in which a job was active in this direction.
    pub runtime_ns: u64,
    /// Completion latency; sum, minimum and maximum are fio's own. After a ramp, its count can differ from `ios` by
    /// what was in flight when the ramp ended, as in fio's report.
    pub latency: Histogram,
}

/// CPU use of fio's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuUse {
    /// User time, in percent of one CPU, over all jobs.
    pub user_percent: f64,
    /// System time, in percent of one CPU, over all jobs.
    pub system_percent: f64,
    /// Context switches of all jobs.
    pub context_switches: u64,
}

/// Outcome of a fio run.
#[derive(Debug, Clone, PartialEq)]
pub struct FioOutcome {
    /// Version as fio prints it.
    pub fio_version: String,
    /// One sample an interval after the ramp; fio logs nothing during the ramp, so there is none of it. `start_ns` of
    /// the first is the ramp's length. Their counts, bytes and latencies add up to exactly the totals.
    pub samples: Vec<Sample>,
    /// All reads.
    pub read: DirectionTotals,
    /// All writes.
    pub write: DirectionTotals,
    /// All trims.
    pub trim: DirectionTotals,
    /// Time that was counted: the longest of all jobs.
    pub runtime_ns: u64,
    /// Start of the load (with its ramp), in milliseconds since 1970; before fio 3.37 derived from the end of the
    /// run, delayed by the time that fio needs to print its report (around 10 ms).
    pub start_unix_ms: Option<u64>,
    /// CPU use of the jobs.
    pub cpu: CpuUse,
    /// Block devices under the target.
    pub disks: Vec<DiskUse>,
    /// Differences from the request, in words.
    pub warnings: Vec<String>,
    /// The job file.
    pub job_file: PathBuf,
    /// fio's JSON+.
    pub output_file: PathBuf,
    /// Standard error of fio.
    pub stderr: String,
}

impl FioOutcome {
    /// Nothing was read, written or trimmed.
    pub fn has_no_ios(&self) -> bool {
        self.read.ios + self.write.ios + self.trim.ios == 0
    }

    /// Returns the reason why the result is no result of this load: it moved fewer bytes than its blocks have. Beyond
    /// the end of a device that has gone or become smaller an asynchronous read succeeds with no bytes, and fio counts
    /// it as any other (seen with 3.33 when an NVMe drive was pulled out: 96,180 IOPS at 47 kB/s).
    pub fn why_too_few_bytes(&self, load: &LoadSpec) -> Option<String> {
        if load.shape.replay.is_some() {
            return None;
        }
        let block_bytes = u64::from(load.shape.smallest_bytes(load.bs_bytes));
        // fio counts an I/O when it issues it, and its bytes when it completes.
        let in_flight = u64::from(load.numjobs).saturating_mul(u64::from(load.iodepth));
        DIRECTIONS.into_iter().find_map(|direction| {
            let totals = self.direction(direction);
            let expected_bytes = totals.ios.saturating_sub(in_flight).saturating_mul(block_bytes);
            (totals.bytes < expected_bytes).then(|| {
                format!(
                    "the target is gone or has shrunk: {} {}s moved only {}",
                    units::with_thousands(totals.ios),
                    direction.name(),
                    units::human_bytes(totals.bytes)
                )
            })
        })
    }

    /// The totals of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionTotals {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

/// The logs of one job.
#[derive(Debug, Default)]
pub(crate) struct JobLogs {
    pub histograms: Option<HistogramLog>,
    pub bandwidth: Option<IntervalLog>,
}

/// Context of a fio run beyond its own files.
pub(crate) struct Context<'a> {
    pub load: &'a LoadSpec,
    pub interval_ms: u64,
    pub job_file: PathBuf,
    pub output_file: PathBuf,
    pub stderr: String,
    pub warnings: Vec<String>,
}

impl<'a> Context<'a> {
    /// Of files that are read without the run that made them: the load's own intervals, and nothing beside.
    fn of(load: &'a LoadSpec) -> Context<'a> {
        Context {
            load,
            interval_ms: load.interval_ns / 1_000_000,
            job_file: PathBuf::new(),
            output_file: PathBuf::new(),
            stderr: String::new(),
            warnings: Vec::new(),
        }
    }
}

/// Puts report and logs together.
pub(crate) fn assemble(report: Report, logs: &[JobLogs], context: Context) -> FioOutcome {
    let Context { load, interval_ms, job_file, output_file, stderr, mut warnings } = context;
    let totals = DIRECTIONS.map(|direction| total(&report.jobs, direction));
    let empty = HistogramLog { coarseness: 0, rows: Vec::new() };
    let logged: Vec<LoggedJob> = report
        .jobs
        .iter()
        .enumerate()
        .map(|(index, job)| {
            let logs = logs.get(index);
            LoggedJob {
                job,
                histograms: logs.and_then(|logs| logs.histograms.as_ref()).unwrap_or(&empty),
                bandwidth: logs.and_then(|logs| logs.bandwidth.as_ref()),
            }
        })
        .collect();
    let grid = Grid::new(interval_ms, load, &logged, report.unix_ms);
    let samples = samples(&logged, &grid, &totals, &mut warnings);
    warn(&report, load, &totals, &grid, &mut warnings);
    let elapsed_ms = grid.runtime_ms + load.ramp_ns / 1_000_000;
    let started = report.jobs.iter().filter_map(|job| job.start_unix_ms).filter(|&start| start > 0).min();
    let [read, write, trim] = totals;
    FioOutcome {
        start_unix_ms: started.or(report.unix_ms.map(|end| end.saturating_sub(elapsed_ms))),
        fio_version: report.fio_version,
        samples,
        read,
        write,
        trim,
        runtime_ns: grid.runtime_ms * 1_000_000,
        cpu: cpu(&report.jobs),
        disks: report.disks,
        warnings,
        job_file,
        output_file,
        stderr,
    }
}

/// Reads back a fio run that was made elsewhere, from its report and logs: `logs` holds, for each job of the
/// report, its histogram log and its bandwidth log. Without logs the whole run should be one interval.
pub fn read_back(
    report: Report,
    logs: Vec<(Option<HistogramLog>, Option<IntervalLog>)>,
    load: &LoadSpec,
) -> FioOutcome {
    let logs: Vec<JobLogs> =
        logs.into_iter().map(|(histograms, bandwidth)| JobLogs { histograms, bandwidth }).collect();
    assemble(report, &logs, Context::of(load))
}

/// One direction over all jobs: sums of counts, bytes and latency sums, and all bins merged.
pub(crate) fn total(jobs: &[Job], direction: Direction) -> DirectionTotals {
    let mut totals = DirectionTotals::default();
    for job in jobs {
        let part = job.direction(direction);
        // fio counts an I/O when it issues it: one that ended the job with an error is in `total_ios`, but has no
        // latency (measured with ENOSPC on 3.33).
        let failed = if job.error != 0 { part.ios.saturating_sub(part.completion.count) } else { 0 };
        totals.ios = totals.ios.saturating_add(part.ios - failed);
        totals.errors = totals.errors.saturating_add(failed);
        totals.bytes = totals.bytes.saturating_add(part.bytes);
        totals.runtime_ns = totals.runtime_ns.max(part.runtime_ms.saturating_mul(1_000_000));
        if let Some(histogram) = &part.completion.histogram {
            totals.latency.merge(histogram);
        }
    }
    totals
}

fn cpu(jobs: &[Job]) -> CpuUse {
    jobs.iter().fold(CpuUse::default(), |sum, job| CpuUse {
        user_percent: sum.user_percent + job.user_cpu_percent,
        system_percent: sum.system_percent + job.system_cpu_percent,
        context_switches: sum.context_switches.saturating_add(job.context_switches),
    })
}

/// A run that is shorter, or a rate that is lower, than this share of what was asked for is told.
const SHORTFALL_PERCENT: u64 = 98;

/// Begins the warning about a load that ended before its runtime.
pub(crate) const RAN_SHORT: &str = "the load ran for";

fn warn(
    report: &Report,
    load: &LoadSpec,
    totals: &[DirectionTotals; 3],
    grid: &Grid,
    warnings: &mut Vec<String>,
) {
    let mut words: Vec<&String> = report.text.iter().filter(|line| line.starts_with("note:")).collect();
    words.dedup();
    warnings.extend(words.into_iter().map(|line| format!("fio says: {line}")));
    let asked_ms = load.runtime_ns / 1_000_000;
    if grid.runtime_ms * 100 < asked_ms * SHORTFALL_PERCENT {
        warnings.push(format!("{RAN_SHORT} {} ms instead of {asked_ms} ms", grid.runtime_ms));
    }
    let ios: u64 = totals.iter().map(|totals| totals.ios).fold(0, u64::saturating_add);
    if let Some(requested) = load.rate_iops
        && grid.runtime_ms > 0
    {
        let reached = ios as f64 * 1000.0 / grid.runtime_ms as f64;
        if reached * 100.0 < requested * SHORTFALL_PERCENT as f64 {
            warnings
                .push(format!("{reached:.1} I/Os a second were reached instead of rate_iops {requested}"));
        }
    }
    for (direction, totals) in DIRECTIONS.into_iter().zip(totals) {
        let name = direction.name();
        let parts = || report.jobs.iter().map(|job| job.direction(direction));
        let short_ios = parts().map(|part| part.short_ios).fold(0, u64::saturating_add);
        let drop_ios = parts().map(|part| part.drop_ios).fold(0, u64::saturating_add);
        if short_ios > 0 || drop_ios > 0 {
            warnings.push(format!("{short_ios} {name}s moved less than asked for, {drop_ios} were given up"));
        }
        let counted = parts().map(|part| part.completion.count).fold(0, u64::saturating_add);
        if counted != totals.latency.count() {
            warnings.push(format!(
                "fio's bins hold {} {name} latencies, but it counted {counted}: percentiles rest on the bins",
                totals.latency.count()
            ));
        }
    }
    warn_of_errors(&report.jobs, warnings);
    if report.is_truncated {
        warnings.push("fio's output ends early; its last complete report was read".to_owned());
    }
}

/// Says how many I/Os failed that `continue_on_error` let pass, by direction and kind. Of several kinds in one job, fio
/// names the first.
fn warn_of_errors(jobs: &[Job], warnings: &mut Vec<String>) {
    for direction in DIRECTIONS {
        let mut failed: BTreeMap<i32, u64> = BTreeMap::new();
        for job in jobs.iter().filter(|job| job.total_errors > 0 && job.error != 0) {
            let part = job.direction(direction);
            let count = failed.entry(job.error).or_default();
            *count = count.saturating_add(part.ios.saturating_sub(part.completion.count));
        }
        for (errno, count) in failed.into_iter().filter(|(_, count)| *count > 0) {
            warnings.push(format!(
                "{} {}s failed: {} (the first kind of error that fio saw)",
                units::with_thousands(count),
                direction.name(),
                std::io::Error::from_raw_os_error(errno)
            ));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::logs::{LogKind, read_histogram_log, read_interval_log};
    use crate::report::read_report;
    use load::{Pattern, SizeShare, bin_index};
    use proptest::prelude::*;
    use std::path::Path;

    /// Proves that reads which moved nothing, as behind the end of a drive that was pulled out, are no result, and that
    /// I/Os in flight at the end and mixed block sizes are.
    #[test]
    fn reads_without_bytes_are_no_result() {
        let load = LoadSpec { iodepth: 4, ..load(Pattern::Randread) };
        let why = |load: &LoadSpec, ios: u64, bytes: u64| {
            let report = Report::default();
            let context = Context::of(load);
            let mut outcome = assemble(report, &[], context);
            outcome.read = DirectionTotals { ios, bytes, ..DirectionTotals::default() };
            outcome.why_too_few_bytes(load)
        };
        assert_eq!(why(&load, 1000, 1000 * 4096), None);
        assert_eq!(why(&load, 1000, 996 * 4096), None, "four were in flight");
        assert_eq!(
            why(&load, 5_770_800, 2_844_672).unwrap(),
            "the target is gone or has shrunk: 5,770,800 reads moved only 2.71 MiB"
        );
        let mut mixed = load.clone();
        mixed.shape.sizes =
            vec![SizeShare { bs_bytes: 512, weight: 50 }, SizeShare { bs_bytes: 65536, weight: 50 }];
        assert_eq!(why(&mixed, 1000, 1000 * 600), None);
        assert!(why(&mixed, 1000, 1000 * 500).is_some());
        assert_eq!(why(&load, 0, 0), None);
    }

    /// A load of 3 s, to be changed by each test.
    pub(crate) fn load(pattern: Pattern) -> LoadSpec {
        LoadSpec {
            pattern,
            rwmixread: pattern.fixed_read_share().unwrap_or(50),
            bs_bytes: 4096,
            numjobs: 1,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 3_000_000_000,
            interval_ns: 1_000_000_000,
            seed: 7,
            shape: load::LoadShape::default(),
        }
    }

    fn sample(version: &str, name: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(version).join(name))
            .unwrap()
    }

    fn mixed(version: &str) -> (Report, FioOutcome) {
        let report = read_report(&sample(version, "mixed.json")).unwrap();
        let logs: Vec<JobLogs> = (1..=2)
            .map(|number| JobLogs {
                histograms: Some(
                    read_histogram_log(&sample(version, &format!("mixed_clat_hist.{number}.log"))).unwrap(),
                ),
                bandwidth: Some(
                    read_interval_log(
                        &sample(version, &format!("mixed_bw.{number}.log")),
                        LogKind::Bandwidth,
                        None,
                    )
                    .unwrap(),
                ),
            })
            .collect();
        let load = LoadSpec {
            ramp_ns: 1_000_000_000,
            runtime_ns: 4_000_000_000,
            numjobs: 2,
            ..load(Pattern::Randrw)
        };
        (report.clone(), assemble(report, &logs, Context::of(&load)))
    }

    /// Proves, on output of fio 3.33 and 3.42, that four intervals come out of three logged rows and the recovered
    /// fourth, and that counts, bytes and latencies of the intervals add up to exactly fio's totals.
    #[test]
    fn intervals_add_up_to_the_totals() {
        for version in ["fio-3.33", "fio-3.42"] {
            let (report, outcome) = mixed(version);
            assert_eq!(outcome.warnings, Vec::<String>::new());
            assert_eq!(outcome.samples.len(), 4, "{version}");
            assert_eq!(outcome.samples[0].start_ns, 1_000_000_000);
            assert_eq!(outcome.samples[3].end_ns, 5_001_000_000);
            for direction in DIRECTIONS {
                let totals = outcome.direction(direction);
                let mut merged = load::DirectionSample::default();
                outcome.samples.iter().for_each(|sample| merged.merge(sample.direction(direction)));
                assert_eq!((merged.ios, merged.bytes), (totals.ios, totals.bytes));
                assert_eq!(merged.latency, totals.latency, "{version} {direction:?}");
                assert_eq!(
                    totals.ios,
                    report.jobs.iter().map(|job| job.direction(direction).ios).sum::<u64>()
                );
            }
            // 2000 I/Os a second were asked for in each direction.
            for sample in &outcome.samples {
                assert!(
                    sample.read.ios.abs_diff(2000) <= 8 && sample.write.ios.abs_diff(2000) <= 8,
                    "{version} {sample:?}"
                );
            }
        }
    }

    /// Proves that logs which are missing or cut are told, and cost intervals but no I/O.
    #[test]
    fn a_lost_log_is_told() {
        let report = read_report(&sample("fio-3.33", "mixed.json")).unwrap();
        let load = LoadSpec { ramp_ns: 1_000_000_000, runtime_ns: 4_000_000_000, ..load(Pattern::Randrw) };
        let outcome = assemble(report, &[], Context::of(&load));
        assert_eq!(outcome.samples.iter().map(|sample| sample.read.ios).sum::<u64>(), 8000);
        let warning = "job reader: the histogram log of reads ends at 0 of 4001 ms; 8001 of them are shown in the next interval";
        assert_eq!(outcome.warnings[0], warning);
    }

    /// Proves that percentiles of the merged bins are within one bin of those that fio printed.
    #[test]
    fn percentiles_are_fios() {
        for version in ["fio-3.33", "fio-3.42"] {
            let (report, outcome) = mixed(version);
            for (job, totals) in
                [(&report.jobs[0].read, &outcome.read), (&report.jobs[1].write, &outcome.write)]
            {
                assert_eq!(job.completion.percentiles.len(), 17);
                for &(millionths, latency_ns) in &job.completion.percentiles {
                    let ours = totals.latency.percentile_ns(millionths);
                    assert!(
                        bin_index(ours).abs_diff(bin_index(latency_ns)) <= 1,
                        "{version} {millionths}: {ours} {latency_ns}"
                    );
                }
            }
        }
    }

    /// Proves that a run that was too short and a rate that was not reached are told.
    #[test]
    fn shortfalls_are_told() {
        let report = read_report(&sample("fio-3.33", "interrupted.json")).unwrap();
        let load = LoadSpec { rate_iops: Some(500.0), runtime_ns: 30_000_000_000, ..load(Pattern::Randrw) };
        let outcome = assemble(report, &[], Context::of(&load));
        assert!(
            outcome.warnings.iter().any(|line| line.contains("ran for 1763 ms instead of 30000 ms")),
            "{:?}",
            outcome.warnings
        );
        assert!(
            outcome.warnings.iter().any(|line| line.contains("instead of rate_iops 500")),
            "{:?}",
            outcome.warnings
        );
    }

    fn assemble_any(report: &[u8], logs: &[u8]) {
        let Ok(report) = read_report(report) else { return };
        let logs = || JobLogs {
            histograms: read_histogram_log(logs).ok(),
            bandwidth: read_interval_log(logs, LogKind::Bandwidth, Some(false)).ok(),
        };
        let load = LoadSpec { ramp_ns: 1_000_000_000, ..load(Pattern::Randrw) };
        let outcome = assemble(report, &[logs(), logs()], Context::of(&load));
        for direction in DIRECTIONS {
            let ios: u64 = outcome
                .samples
                .iter()
                .map(|sample| sample.direction(direction).ios)
                .fold(0, u64::saturating_add);
            assert_eq!(ios, if outcome.samples.is_empty() { 0 } else { outcome.direction(direction).ios });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        /// Proves that changed digits in a report and its logs, whatever times, counts and runtimes they make, are
        /// survived, and that the intervals still add up to the totals.
        #[test]
        fn changed_digits_are_survived(
            edits in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), b'0'..=b'9', 0usize..20), 1..40),
            with_bandwidth in any::<bool>(),
        ) {
            let mut report = sample("fio-3.33", "mixed.json");
            let mut log = sample("fio-3.33", if with_bandwidth { "mixed_bw.1.log" } else { "mixed_clat_hist.1.log" });
            for (in_log, at, digit, repeat) in edits {
                let bytes = if in_log { &mut log } else { &mut report };
                let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
                let at = digits[at.index(digits.len())];
                bytes.splice(at..=at, std::iter::repeat_n(digit, repeat));
            }
            assemble_any(&report, &log);
        }
    }
}
