//! `bench report` and `bench campaign`: time and memory that large runs take to be read.

use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use findings::SUSTAINED_METHOD;
use load::{Direction, Random, Sample};
use serde_json::json;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use store::{CaseOutcome, CaseStatus, LoadOutcome, Manifest, NewCase, Run, SourceText};
use units::NANOS_PER_SECOND;

/// Ten block sizes × ten mixes × ten depths: a plan of 1,000 cases, a minute each in intervals of 5 s.
const PLAN: &str = "\
title: A thousand cases
stages:
  grid:
    settings: { rw: randrw, numjobs: 4, runtime: 60 }
    matrix:
      bs: [512, 1k, 2k, 4k, 8k, 16k, 32k, 64k, 128k, 256k]
      rwmixread: [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
      iodepth: [1, 2, 4, 8, 12, 16, 24, 32, 48, 64]
";
const INTERVALS_PER_CASE: u64 = 12;
const INTERVAL_NS: u64 = 5 * NANOS_PER_SECOND;

/// Time and size of the report of a run of 1,000 cases whose figures are drawn at random.
pub fn bench_report(arguments: &BenchArgs) -> Result<(), Failure> {
    let directory = tempfile::tempdir().map_err(Failure::failed_by)?;
    let path = directory.path().join("run");
    let cases = write_run(&path)?;
    let reader = Run::open_read_only(&path)?;
    let begun = Instant::now();
    let report = report::from_run(&reader).map_err(Failure::failed_by)?;
    let html = report.html();
    let seconds = begun.elapsed().as_secs_f64();
    if arguments.json {
        print_json_lines([
            json!({ "scenario": "report-1000", "cases": cases, "seconds": seconds, "bytes": html.len() }),
        ])
    } else {
        let size = units::human_bytes(html.len() as u64);
        print(&format!("report of {cases} cases: {seconds:.2} s, {size}\n"))
    }
}

/// Cases of `bench campaign`, and of one turn of its plan.
const CAMPAIGN_CASES: u64 = 10_000;
const CAMPAIGN_INTERVALS: u64 = 5;
/// Disks of the array whose counters `bench campaign` has: as `raid-levels`, with ten counters each.
const CAMPAIGN_DISKS: usize = 12;

/// Time and memory of `results`, `findings` and `report` of a run whose figures are drawn at random.
pub fn bench_campaign(arguments: &BenchArgs) -> Result<(), Failure> {
    let cases = arguments.cases.unwrap_or(CAMPAIGN_CASES).max(1);
    let directory = tempfile::tempdir().map_err(Failure::failed_by)?;
    let path = directory.path().join("run");
    print_notice(&format!("writing a run of {}", units::human_count(cases, "case")));
    let written = write_campaign(&path, cases)?;
    let database_bytes = std::fs::metadata(path.join("run.sqlite")).map_or(0, |file| file.len());
    let output = directory.path().join("output");
    for name in ["results", "findings", "report"] {
        // Each as a process of its own, as users have it: memory that was given back shows in no other.
        let mut command = Command::new(std::env::current_exe().map_err(Failure::failed_by)?);
        command.arg(name).arg(&path);
        match name {
            "report" => command.arg("--out").arg(&output).stdout(Stdio::null()),
            _ => command.arg("--json").stdout(File::create(&output).map_err(Failure::failed_by)?),
        };
        let begun = Instant::now();
        let mut child = command.spawn().map_err(Failure::failed_by)?;
        let (status, peak_bytes) = campaign::wait_for_peak_memory(&mut child).map_err(Failure::failed_by)?;
        let seconds = begun.elapsed().as_secs_f64();
        if !status.success() {
            return Err(Failure::failed(format!("`{name}` of the run that was written ended with {status}")));
        }
        let bytes = std::fs::metadata(&output).map_err(Failure::failed_by)?.len();
        if arguments.json {
            print_json_lines([
                json!({ "scenario": format!("campaign-{name}"), "cases": written, "seconds": seconds,
                "bytes": bytes, "peak_bytes": peak_bytes, "database_bytes": database_bytes }),
            ])?;
        } else {
            print(&format!(
                "{name:<8} of {written} cases: {seconds:.2} s, {} written, {} of memory at most\n",
                units::human_bytes(bytes),
                units::human_bytes(peak_bytes.unwrap_or_default())
            ))?;
        }
    }
    Ok(())
}

/// A run of a matrix of four axes of ten, several times over where more cases are wanted, with counters of links, a controller
/// and disks.
fn write_campaign(path: &Path, cases: u64) -> Result<usize, Failure> {
    let turns: Vec<String> = (1..=cases.div_ceil(CAMPAIGN_CASES)).map(|turn| turn.to_string()).collect();
    let text = format!(
        "title: A large campaign\nwatch: {{ interval: 5 }}\nstages:\n  grid:\n    settings: {{ rw: randrw, runtime: 25 }}\n    \
         matrix:\n      pass: [{}]\n      bs: [512, 1k, 2k, 4k, 8k, 16k, 32k, 64k, 128k, 256k]\n      \
         rwmixread: [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]\n      numjobs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n      \
         iodepth: [1, 2, 4, 8, 12, 16, 24, 32, 48, 64]\n",
        turns.join(", ")
    );
    let plan = plan::parse_plan("campaign", "bench", &text)?;
    let expanded = plan::expand(&plan, &plan::Selection::default())?;
    let manifest = bench_manifest("campaign", text);
    let new_cases: Vec<NewCase> = expanded.iter().take(cases as usize).map(campaign::new_case).collect();
    let mut run = Run::create(path, &manifest, &new_cases)?;
    let mut random = Random::from_seed(1);
    let mut series: Vec<(String, &str)> = Vec::new();
    for disk in 0..CAMPAIGN_DISKS {
        for name in [
            "arm_busy_ns",
            "reads",
            "writes",
            "read_bytes",
            "written_bytes",
            "seeks",
            "queue",
            "hits",
            "misses",
            "merges",
        ] {
            series.push((format!("disk-{disk}"), name));
        }
    }
    for name in ["to_host_busy_ns", "to_array_busy_ns", "to_host_bytes", "to_array_bytes"] {
        series.push(("link-0".into(), name));
    }
    series.extend([("controller-0".into(), "processors_busy_ns"), ("controller-0".into(), "processors")]);
    let levels = SUSTAINED_METHOD;
    for index in 0..new_cases.len() as u32 {
        let (samples, outcome) = begin_case(&mut run, index, CAMPAIGN_INTERVALS, &mut random)?;
        for sample in &samples {
            let values: Vec<store::Counter<'_>> = series
                .iter()
                .enumerate()
                .map(|(place, (entity, name))| {
                    let share = (place % 9) as f64 / 10.0;
                    let value = if *name == "processors" { 2.0 } else { share * sample.end_ns as f64 };
                    store::Counter { source: "twin", entity, name, value }
                })
                .collect();
            let at_ns = u64::from(index) * CAMPAIGN_INTERVALS * INTERVAL_NS + sample.end_ns;
            run.append_counters(Some(index), at_ns, Some(sample.end_ns), &values)?;
        }
        run.finish_case(index, &outcome)?;
        run.keep_sustained(index, levels, None)?;
    }
    run.end(&store::RunEnd::Done)?;
    Ok(new_cases.len())
}

fn write_run(path: &Path) -> Result<usize, Failure> {
    let plan = plan::parse_plan("thousand", "bench", PLAN)?;
    let cases = plan::expand(&plan, &plan::Selection::default())?;
    let manifest = bench_manifest("thousand", PLAN.into());
    let new_cases: Vec<NewCase> = cases.iter().map(campaign::new_case).collect();
    let mut run = Run::create(path, &manifest, &new_cases)?;
    let mut random = Random::from_seed(1);
    for index in 0..new_cases.len() as u32 {
        let (_, outcome) = begin_case(&mut run, index, INTERVALS_PER_CASE, &mut random)?;
        run.finish_case(index, &outcome)?;
    }
    run.end(&store::RunEnd::Done)?;
    Ok(new_cases.len())
}

/// Manifest of a run that is written to be read.
fn bench_manifest(plan: &str, text: String) -> Manifest {
    Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").into(),
        plan: SourceText { name: plan.into(), source: "bench".into(), text },
        engine: "sim".into(),
        interval_ns: INTERVAL_NS,
        ..Manifest::default()
    }
}

/// Begins a case, writes its samples, and returns them with the outcome to end it with.
fn begin_case(
    run: &mut Run,
    index: u32,
    intervals: u64,
    random: &mut Random,
) -> Result<(Vec<Sample>, CaseOutcome), Failure> {
    run.begin_case(index)?;
    let samples: Vec<Sample> = (0..intervals).map(|interval| sample(interval, random)).collect();
    run.append_samples(index, "load", &samples)?;
    let outcome = CaseOutcome {
        status: CaseStatus::Done,
        engine: "sim".into(),
        target: "bench".into(),
        duration_ns: intervals * INTERVAL_NS,
        loads: vec![LoadOutcome::of_samples("load", &samples)],
        error: None,
        warnings: Vec::new(),
        extrapolation: None,
    };
    Ok((samples, outcome))
}

fn sample(interval: u64, random: &mut Random) -> Sample {
    let mut sample = Sample {
        start_ns: interval * INTERVAL_NS,
        end_ns: (interval + 1) * INTERVAL_NS,
        ..Sample::default()
    };
    for direction in [Direction::Read, Direction::Write] {
        let counted = sample.direction_mut(direction);
        for _ in 0..200 {
            counted.ios += 1;
            counted.bytes += 4096;
            counted.latency.record(random.exponential(1e6) as u64);
        }
    }
    sample
}
