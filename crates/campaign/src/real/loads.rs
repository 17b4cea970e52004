//! Concurrent loads on real targets, each by its own engine.

use diagnostic::{Problem, full_text};
use fio::{FioCase, FioError, FioOutcome};
use load::{ContentTally, LoadSpec, Sample};
use load_engine::{HandoverChoice, OpenTarget, RingCase, RingOutcome, RingTargets, StartBarrier};
use plan::SettingValues;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::DirectionTotals;

use crate::real::engine::{fio_options, ring_options};

/// Between two looks at whether a load shall begin or the run shall stop.
const POLL: Duration = Duration::from_millis(10);

/// Of fio, which does not say how many I/Os it issued in vain.
const NO_IO_COMPLETED: &str =
    "no I/O completed within the case: the target does not answer, or all I/Os failed";

/// Engine and target of a load.
#[derive(Debug)]
pub(crate) enum Issuer {
    /// Our own engine, on targets that are open; several are one stripe.
    Ring {
        targets: Vec<OpenTarget>,
        /// Bytes on one target before the next.
        chunk_bytes: u64,
    },
    /// Our own engine, without the kernel: the null target.
    Null {
        /// Capacity that the target reports, in bytes.
        capacity_bytes: u64,
    },
    /// fio, which opens its target itself; on another host a server of fio opens it.
    Fio { engine: Arc<fio::Engine>, target: fio::Target, server: Option<fio::Server> },
}

/// One load on real targets.
#[derive(Debug)]
pub(crate) struct RealLoad {
    /// Its name in results.
    pub name: String,
    pub issuer: Issuer,
    /// Its targets, as on the command line.
    pub target_text: String,
    pub load: LoadSpec,
    /// Bytes after which it ends.
    pub io_size_bytes: Option<u64>,
    /// Settings of its case; only those of the engine are used.
    pub settings: SettingValues,
    /// Start of the load, since the start of the case.
    pub start_ns: u64,
}

/// Measurement of a load.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Counted time.
    pub runtime_ns: u64,
    pub read: Option<DirectionTotals>,
    pub write: Option<DirectionTotals>,
    pub trim: Option<DirectionTotals>,
    /// Processor time that the engine spent on what was counted.
    pub cpu_ns: Option<u64>,
    pub warnings: Vec<String>,
    /// Blocks that were read back and are as written, where the load is verified.
    pub verified_blocks: Option<u64>,
    /// Tally of the written content, where the load asks for compressible content or duplicates.
    pub content: Option<ContentTally>,
    /// Handover of I/O by our own engine, where there were trials.
    pub handover: Option<HandoverChoice>,
}

/// Result of a load: measurement or failure.
#[derive(Debug, Default)]
pub(crate) struct LoadRun {
    /// Measurement, of the part that was carried out.
    pub measured: Option<Measured>,
    /// Reason why it did not end as it should.
    pub failed: Option<String>,
    /// The target may still be working on I/Os of the load.
    pub is_pending: bool,
}

impl LoadRun {
    fn failed(why: impl Into<String>) -> LoadRun {
        LoadRun { failed: Some(why.into()), ..LoadRun::default() }
    }
}

/// Observer of running loads.
pub(crate) struct Listener<'a> {
    /// Each interval, with the number of its load; counted from the start of the case. fio hands them out at its end.
    pub on_sample: &'a (dyn Fn(usize, Sample) + Sync),
    /// Takes the progress, 0 to 1.
    pub on_progress: &'a (dyn Fn(f64) + Sync),
}

/// Runs all loads at once and waits for all of them. With one load, files of the engine go to `directory`, with several
/// each has a directory of its name there. Behind a barrier they begin when it opens.
pub(crate) fn run_at_once(
    loads: &[RealLoad],
    directory: &Path,
    listener: &Listener<'_>,
    stop: &AtomicBool,
    start: Option<&StartBarrier>,
) -> Vec<LoadRun> {
    let started = Instant::now();
    let furthest = Mutex::new(0.0f64);
    let on_progress = |share: f64| {
        if let Ok(mut furthest) = furthest.lock()
            && share > *furthest
        {
            *furthest = share;
            (listener.on_progress)(share);
        }
    };
    let run_one = |number: usize, load: &RealLoad| -> LoadRun {
        let own_directory = match own_directory(directory, loads.len(), &load.name) {
            Ok(own) => own,
            Err(problem) => {
                if let Some(barrier) = start {
                    barrier.cancel();
                }
                return LoadRun::failed(full_text(&problem));
            }
        };
        // A load that begins later is ready as soon as the others are.
        let is_later = load.start_ns > 0;
        let started = match start.filter(|_| is_later) {
            None => started,
            Some(barrier) => match barrier.arrive(stop) {
                Some(common) => common,
                None => return LoadRun::failed("the common start was called off"),
            },
        };
        while started.elapsed() < Duration::from_nanos(load.start_ns) {
            if stop.load(Ordering::Relaxed) {
                return LoadRun::failed("interrupted");
            }
            std::thread::sleep(POLL);
        }
        let hand_on = |mut sample: Sample| {
            sample.start_ns += load.start_ns;
            sample.end_ns += load.start_ns;
            (listener.on_sample)(number, sample);
        };
        let issue = Issue {
            load,
            directory: &own_directory,
            hand_on: &hand_on,
            on_progress: &on_progress,
            stop,
            start: start.filter(|_| !is_later),
        };
        match &load.issuer {
            Issuer::Fio { engine, target, server } => by_fio(engine, target, server.as_ref(), &issue),
            Issuer::Ring { targets, chunk_bytes } => {
                by_ring(RingTargets::Open(targets), *chunk_bytes, &issue)
            }
            Issuer::Null { capacity_bytes } => {
                by_ring(RingTargets::Null { capacity_bytes: *capacity_bytes }, 0, &issue)
            }
        }
    };
    // fio dies with the thread that started it, so every thread stays until its fio has ended.
    std::thread::scope(|scope| {
        let run_one = &run_one;
        let running: Vec<_> = loads
            .iter()
            .enumerate()
            .map(|(number, load)| scope.spawn(move || run_one(number, load)))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| LoadRun::failed("its thread panicked")))
            .collect()
    })
}

/// A load that is to be issued, and who hears of it.
struct Issue<'a> {
    load: &'a RealLoad,
    /// Directory for the engine's files.
    directory: &'a Path,
    /// Takes each interval.
    hand_on: &'a dyn Fn(Sample),
    /// Takes how much is done, 0 to 1.
    on_progress: &'a dyn Fn(f64),
    stop: &'a AtomicBool,
    /// Barrier at which the load waits for its start.
    start: Option<&'a StartBarrier>,
}

fn by_fio(
    engine: &fio::Engine,
    target: &fio::Target,
    server: Option<&fio::Server>,
    issue: &Issue<'_>,
) -> LoadRun {
    let &Issue { load, directory, hand_on, on_progress, stop, .. } = issue;
    let options = fio_options(&load.settings, matches!(target, fio::Target::Nbd(_)));
    let case =
        FioCase { target, load: &load.load, io_size_bytes: load.io_size_bytes, options: &options, directory };
    let progressed = &mut |progress: fio::Progress| {
        on_progress(progress.elapsed_ns as f64 / progress.expected_ns.max(1) as f64);
    };
    let take = |outcome: FioOutcome| {
        let (measured, samples) = of_fio(outcome);
        samples.into_iter().for_each(hand_on);
        Some(measured)
    };
    match engine.run_on(server, &case, progressed, stop) {
        Ok(outcome) => {
            let nothing_done = outcome.has_no_ios() && is_to_issue(load);
            let failed = nothing_done
                .then(|| NO_IO_COMPLETED.to_owned())
                .or_else(|| outcome.why_too_few_bytes(&load.load));
            LoadRun { measured: take(outcome), failed, is_pending: false }
        }
        Err(error) => {
            let failed = Some(full_text(&error));
            let is_pending = matches!(error, FioError::Hung { is_pending: true, .. });
            let measured = match error {
                FioError::Failed { partial: Some(partial), .. }
                | FioError::Hung { partial: Some(partial), .. } => take(*partial),
                _ => None,
            };
            LoadRun { measured, failed, is_pending }
        }
    }
}

/// A load under a rate may be so slow that its time ends before its first I/O.
fn is_to_issue(load: &RealLoad) -> bool {
    let load = &load.load;
    let seconds = load.runtime_ns as f64 / 1e9;
    load.shape.arrival.is_none() && load.rate_iops.is_none_or(|rate| rate * seconds >= 1.0)
}

/// fio's totals, which are exact, and its samples.
fn of_fio(outcome: FioOutcome) -> (Measured, Vec<Sample>) {
    let busy_ns = (outcome.cpu.user_percent + outcome.cpu.system_percent) / 100.0 * outcome.runtime_ns as f64;
    let totals = |direction: fio::DirectionTotals| {
        (direction.ios > 0 || direction.errors > 0).then_some(DirectionTotals {
            ios: direction.ios,
            bytes: direction.bytes,
            errors: direction.errors,
            latency: direction.latency,
            service: None,
        })
    };
    let measured = Measured {
        runtime_ns: outcome.runtime_ns,
        cpu_ns: (busy_ns > 0.0).then_some(busy_ns as u64),
        read: totals(outcome.read),
        write: totals(outcome.write),
        trim: totals(outcome.trim),
        warnings: outcome.warnings,
        ..Measured::default()
    };
    (measured, outcome.samples)
}

fn by_ring(targets: RingTargets<'_>, chunk_bytes: u64, issue: &Issue<'_>) -> LoadRun {
    let &Issue { load, directory, hand_on, on_progress, stop, start } = issue;
    let options = ring_options(&load.settings, chunk_bytes);
    let case = RingCase {
        targets,
        load: &load.load,
        options: &options,
        io_size_bytes: load.io_size_bytes,
        journal: load.load.shape.verify.then_some(directory),
    };
    let driven = load_engine::run_behind(
        start,
        &case,
        &mut |sample| hand_on(sample),
        &mut |progress| on_progress(progress.elapsed_ns as f64 / progress.expected_ns.max(1) as f64),
        stop,
    );
    let outcome = match driven {
        Ok(outcome) => outcome,
        Err(error) => {
            // None of the others is to begin without it.
            if let Some(barrier) = start {
                barrier.cancel();
            }
            return LoadRun::failed(full_text(&error));
        }
    };
    let is_pending = outcome.is_pending();
    let mut failed = why_failed(&outcome);
    let verified = failed.is_none() && load.load.shape.verify && !stop.load(Ordering::Relaxed);
    let written = outcome.written.clone();
    let mut measured = of_ring(outcome);
    if verified {
        let RingTargets::Open(targets) = targets else {
            return LoadRun::failed("a null target keeps nothing that could be verified");
        };
        match load_engine::verify(targets, chunk_bytes, &written, stop) {
            Err(error) => failed = Some(full_text(&error)),
            Ok(report) if report.wrong > 0 => {
                let first = report.named.first().map_or_else(String::new, ToString::to_string);
                failed = Some(format!(
                    "{} of {} blocks are not what was written; the first: {first}",
                    report.wrong, report.checked
                ));
            }
            Ok(report) => measured.verified_blocks = Some(report.checked),
        }
    }
    LoadRun { measured: Some(measured), failed, is_pending }
}

fn why_failed(outcome: &RingOutcome) -> Option<String> {
    match &outcome.ended {
        load_engine::Ended::Completed => outcome.not_answered(),
        load_engine::Ended::Interrupted => None,
        load_engine::Ended::DeviceGone(kind) => Some(format!("the target is gone: {kind}")),
        load_engine::Ended::Failed(kind) => Some(format!(
            "an I/O failed: {kind} (with `continue_on_error: all` errors are counted and the case goes on)"
        )),
    }
}

fn of_ring(outcome: RingOutcome) -> Measured {
    let mut warnings = outcome.warnings;
    for error in &outcome.errors {
        let direction = match error.direction {
            load::Direction::Read => "reads",
            load::Direction::Write => "writes",
            load::Direction::Trim => "trims",
        };
        warnings.push(format!("{} {direction} failed: {}", units::with_thousands(error.count), error.kind));
    }
    let completed = outcome.read.ios + outcome.write.ios + outcome.trim.ios;
    let totals = |direction: load::DirectionSample| {
        (!direction.is_empty()).then_some(DirectionTotals {
            ios: direction.ios,
            bytes: direction.bytes,
            errors: direction.errors,
            latency: direction.latency,
            service: direction.service,
        })
    };
    Measured {
        runtime_ns: outcome.runtime_ns,
        cpu_ns: (completed > 0).then_some((outcome.cpu_ns_per_io * completed as f64) as u64),
        read: totals(outcome.read),
        write: totals(outcome.write),
        trim: totals(outcome.trim),
        warnings,
        verified_blocks: None,
        content: outcome.content,
        handover: outcome.handover.filter(|choice| choice.trial_ios > 0),
    }
}

fn own_directory(directory: &Path, loads: usize, name: &str) -> Result<PathBuf, Problem> {
    if loads == 1 {
        return Ok(directory.to_owned());
    }
    let own = directory.join(name);
    std::fs::create_dir_all(&own)
        .map_err(|error| Problem::new(format!("cannot create {}", own.display())).caused_by(error))?;
    Ok(own)
}
