//! `bench`: this program's own speed, as printed in `docs/benchmarks.md`.

use super::bench_runs;
use crate::cli::{BenchArgs, BenchKind};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use diagnostic::Problem;
use serde_json::json;
use std::process::ExitCode;
use units::human_rate;

/// `arraylab bench`
pub fn bench(arguments: &BenchArgs) -> Result<ExitCode, Failure> {
    if arguments.plans && arguments.kind != BenchKind::Sim {
        return Err(Failure::refused("--plans goes with `bench sim` only"));
    }
    if arguments.write.is_some() && arguments.kind != BenchKind::Validation {
        return Err(Failure::refused("--write goes with `bench validation` only"));
    }
    match arguments.kind {
        BenchKind::Sim => bench_sim(arguments)?,
        BenchKind::Ring => bench_ring(arguments)?,
        BenchKind::Serve => bench_serve(arguments)?,
        BenchKind::Report => bench_runs::bench_report(arguments)?,
        BenchKind::Campaign => bench_runs::bench_campaign(arguments)?,
        BenchKind::Probe => bench_probe(arguments)?,
        BenchKind::FastForward => return bench_fast_forward(arguments),
        BenchKind::Validation => bench_validation(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Benchmarks the simulation of twins; prints each line as soon as it is measured.
fn bench_sim(arguments: &BenchArgs) -> Result<(), Failure> {
    let interrupt = super::run::catch_signals()?;
    let mut printed = Ok(());
    let mut put = |text: String, json: serde_json::Value| {
        if printed.is_ok() {
            printed = if arguments.json { print_json_lines([json]) } else { print(&text) };
        }
    };
    print_notice(&format!("{} rounds of each scenario in turn; about a minute", campaign::BENCH_ROUNDS));
    campaign::bench_scenarios(&mut |row| {
        put(
            format!(
                "{:<28} {:>6.2} million I/Os a second of one core ({:.2} to {:.2})\n",
                row.scenario,
                row.ios_per_s / 1e6,
                row.lowest / 1e6,
                row.highest / 1e6
            ),
            json!({ "scenario": row.scenario, "ios_per_s": row.ios_per_s.round(), "lowest": row.lowest.round(),
                    "highest": row.highest.round() }),
        );
    })?;
    campaign::bench_memory(&mut |array, peak_bytes| {
        put(
            format!("{array:<28} {:>10} of memory at most\n", units::human_bytes(peak_bytes)),
            json!({ "array": array, "peak_bytes": peak_bytes }),
        );
    })?;
    if arguments.plans {
        let directory = tempfile::tempdir().map_err(Failure::failed_by)?;
        campaign::bench_plans(directory.path(), &interrupt, &mut |row| {
            let peak_bytes = row.peak_bytes.unwrap_or_default();
            put(
                format!(
                    "{:<28} {:>6.1} s with {} threads, {} cases, {} of memory at most\n",
                    row.plan,
                    row.seconds,
                    campaign::BENCH_THREADS,
                    row.cases,
                    units::human_bytes(peak_bytes)
                ),
                json!({ "plan": row.plan, "seconds": row.seconds, "cases": row.cases, "peak_bytes": peak_bytes }),
            );
        })?;
    }
    printed
}

/// Fast-forward beside exact simulation; each case as soon as it is done. Ends with 1 where an error is beyond its bound.
fn bench_fast_forward(arguments: &BenchArgs) -> Result<ExitCode, Failure> {
    let interrupt = super::run::catch_signals()?;
    let mut printed = Ok(());
    let share = |value: f64| format!("{:+.2} %", value * 100.0);
    let explained: Vec<_> = report::SERVICES.iter().filter_map(|service| service.array).collect();
    let summary = campaign::bench_fast_forward(
        &explained,
        arguments.seed,
        arguments.cases.unwrap_or(FAST_FORWARD_CASES),
        &mut |row| {
            printed = if arguments.json {
                print_json_lines([row])
            } else {
                print(&format!(
                    "{:>4} {:<18} rate {:>8}  intervals {:>7} (worst {:>7})  mean {:>8}  p99 {:>8}  p99.9 {:>8}  covered {}/{}  \
                 {:.1} times faster{}\n",
                    row.case,
                    row.array,
                    share(row.iops_error),
                    share(row.interval_error_mean),
                    share(row.interval_error_worst),
                    share(row.mean_error),
                    row.p99_error.map_or_else(|| "–".into(), share),
                    row.p99_9_error.map_or_else(|| "–".into(), share),
                    row.covered,
                    row.intervals,
                    row.speedup,
                    row.beyond
                        .iter()
                        .map(|what| format!("\n     beyond its bound: {what}"))
                        .collect::<String>()
                ))
            };
            if printed.is_err() || interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        },
    )?;
    printed?;
    if arguments.json {
        print_json_lines([&summary])?;
    } else {
        print(&format!(
            "{} cases in which time was skipped, {} beyond a bound; {:.1} % of {} claimed 95 % intervals cover the exact value, \
             their median half-width is {:.2} %; {:.1} times faster in the median\n",
            summary.cases,
            summary.beyond,
            summary.coverage * 100.0,
            summary.values,
            summary.half_width_median * 100.0,
            summary.speedup_median
        ))?;
        for (service, counted) in &summary.services {
            print(&format!(
                "{service:<16} {} cases, {} draws simulated whole\n",
                counted.cases, counted.simulated_whole
            ))?;
        }
    }
    Ok(if summary.beyond == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Published rows beside what the twins give: a line an array, set and quantity, or the document with every row.
fn bench_validation(arguments: &BenchArgs) -> Result<(), Failure> {
    let interrupt = super::run::catch_signals()?;
    let directory = tempfile::tempdir().map_err(Failure::failed_by)?;
    let mut points = campaign::bench_validation(directory.path(), &interrupt)?;
    let rows = campaign::sum_validation(&points);
    let figures: Vec<report::ValidationFigure> = points.iter().map(validation_figure).collect();
    // The worst first.
    points.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    let tables = validation_tables(&rows, &points);
    if let Some(directory) = &arguments.write {
        let write = |name: &str, text: String| {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(|error| {
                Failure::failed(Problem::new(format!("cannot write {}", path.display())).caused_by(error))
            })
        };
        let lines: Vec<String> =
            rows.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(Failure::failed_by)?;
        write("validation.jsonl", lines.iter().map(|line| format!("{line}\n")).collect())?;
        write("validation.md", tables.clone())?;
        for (name, picture) in report::validation_pictures(&figures) {
            write(&format!("validation-{name}.svg"), picture)?;
        }
    }
    if arguments.json { print_json_lines(rows) } else { print(&tables) }
}

fn validation_figure(point: &campaign::ValidationPoint) -> report::ValidationFigure {
    report::ValidationFigure {
        array: point.array.to_owned(),
        is_unseen: point.set == "unseen",
        metric: point.metric.clone(),
        published: point.published,
        simulated: point.simulated,
    }
}

fn validation_tables(rows: &[findings::ValidationRow], points: &[campaign::ValidationPoint]) -> String {
    let share = |value: f64| format!("{:.1} %", value * 100.0);
    let mut text = String::from(
        "| array | set | quantity | rows | mean error | worst error | worst row |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        text.push_str(&format!(
            "| {} | {} | `{}` | {} | {} | {} | {} |\n",
            row.array,
            row.set,
            row.metric,
            row.rows,
            share(row.mean_error),
            share(row.worst_error),
            row.worst_row
        ));
    }
    text.push_str(
        "\n| array | set | row | quantity | published | simulated | error |\n|---|---|---|---|---|---|---|\n",
    );
    for point in points {
        text.push_str(&format!(
            "| {} | {} | {} | `{}` | {:.0} | {:.0} | {:+.1} % |\n",
            point.array,
            point.set,
            point.row,
            point.metric,
            point.published,
            point.simulated,
            point.error() * 100.0
        ));
    }
    text
}

/// A figure that may be missing.
fn number(value: Option<f64>) -> String {
    value.map_or_else(
        || "–".into(),
        |value| if value < 1000.0 { format!("{value:.2}") } else { human_rate(value) },
    )
}

/// Our engine beside fio, in alternating rounds; each line as soon as it is measured.
fn bench_ring(arguments: &BenchArgs) -> Result<(), Failure> {
    let mut printed = Ok(());
    load_engine::bench(&load_engine::BenchSettings::default(), &mut |row: &load_engine::BenchResult| {
        let line = if arguments.json {
            print_json_lines([row])
        } else {
            print(&format!(
                "{:<32} {:<9} ours {:>10}  fio {:>10}  ratio {}{}{}\n{}{}",
                row.scenario,
                row.unit,
                number(row.ours),
                number(row.fio),
                number(row.ratio),
                row.ratio_spread
                    .map(|[least, most]| format!(" ({least:.2} to {most:.2})"))
                    .unwrap_or_default(),
                row.note.as_ref().map(|note| format!("  ({note})")).unwrap_or_default(),
                processor_line(row),
                row.handover.as_ref().map(|choice| format!("    {choice}\n")).unwrap_or_default()
            ))
        };
        if printed.is_ok() {
            printed = line;
        }
    })
    .map_err(|error| Failure::Failed(Box::new(error)))?;
    printed
}

/// Processor time of an I/O of both engines; nothing where it was not measured.
fn processor_line(row: &load_engine::BenchResult) -> String {
    let of = |user_ns: Option<f64>, kernel_ns: Option<f64>, process_ns: Option<f64>| {
        Some(format!(
            "{:.0} ns in the program, {:.0} in the kernel, {} with its threads",
            user_ns?,
            kernel_ns?,
            process_ns.map_or_else(|| "–".to_owned(), |ns| format!("{ns:.0}"))
        ))
    };
    let ours = of(row.ours_user_ns, row.ours_kernel_ns, row.ours_process_ns);
    let fio = of(row.fio_user_ns, row.fio_kernel_ns, row.fio_process_ns);
    let line = |who: &str, figures: Option<String>| {
        figures.map(|figures| format!("    processor time an I/O, {who}: {figures}\n"))
    };
    [line("ours", ours), line("fio", fio)].into_iter().flatten().collect()
}

/// Seconds of each round against nbdkit, and how many rounds.
const SERVE_SECONDS: u32 = 2;
const SERVE_ROUNDS: usize = 5;

/// Seconds of each point of a paced array.
const PACED_SECONDS: u32 = 10;

/// A served array beside nbdkit's memory plugin.
fn bench_serve(arguments: &BenchArgs) -> Result<(), Failure> {
    let is_wanted = |scenario: &str| arguments.scenario.as_ref().is_none_or(|part| scenario.contains(part));
    let all: Vec<&str> = serve::scenarios()
        .chain(serve::WRITE_SCENARIOS.map(|(scenario, _)| scenario))
        .chain(serve::PACED_POINTS.map(|point| point.scenario))
        .chain(serve::PARITY_SCENARIOS)
        .collect();
    if let Some(part) = arguments.scenario.as_ref().filter(|_| !all.iter().any(|name| is_wanted(name))) {
        let problem = Problem::new(format!("no scenario of `bench serve` has '{part}' in its name"));
        return Err(Failure::refused(problem.with_hint(format!("there are {}", all.join(", ")))));
    }
    let mut parity = serve::bench_parity();
    parity.retain(|row| is_wanted(&row.scenario));
    let rows = serve::bench(SERVE_SECONDS, SERVE_ROUNDS, &is_wanted)?;
    let writes = serve::bench_writes(&is_wanted)?;
    let points: Vec<_> = serve::PACED_POINTS.into_iter().filter(|point| is_wanted(point.scenario)).collect();
    let paced = serve::bench_paced(&points, None, PACED_SECONDS)?;
    if arguments.json {
        let lines = (rows.iter().map(|row| json!(row)))
            .chain(writes.iter().map(|row| json!(row)))
            .chain(paced.iter().map(|row| json!(row)))
            .chain(parity.iter().map(|row| json!(row)));
        return print_json_lines(lines);
    }
    let mut text = String::new();
    for row in &rows {
        text.push_str(&format!(
            "{:<24} ours {:>10}  nbdkit {:>10}  ratio {:.2} ({:.2} to {:.2})  processor time a request: {:.2} µs, \
             nbdkit {:.2} µs\n",
            row.scenario,
            human_rate(row.ours),
            human_rate(row.nbdkit),
            row.ratio,
            row.ratio_spread[0],
            row.ratio_spread[1],
            row.ours_processor_us,
            row.nbdkit_processor_us,
        ));
    }
    for row in &writes {
        text.push_str(&format!(
            "{:<24} {:>10} a second, {:.2} µs of processor time each ({:.2} to {:.2}), the longest {:.1} ms\n",
            row.scenario,
            human_rate(row.writes_per_s),
            row.processor_us,
            row.processor_us_spread[0],
            row.processor_us_spread[1],
            row.longest_ns as f64 / 1e6,
        ));
    }
    for row in &parity {
        let rate = row.bytes_per_s / 1e9;
        text.push_str(&format!("{:<24} {rate:.1} GB/s of data a core\n", row.scenario));
    }
    for row in &paced {
        text.push_str(&format!(
            "{:<30} {:>8.0} IOPS  mean {:>8.1} µs  twin {:>8.1} µs  ratio {:.3}  from arrival {:.1} µs, replayed {:.1} µs, \
             {:.0} % within 10 µs of another  late {:.1} µs median, {:.1} µs p99\n",
            row.scenario,
            row.iops,
            row.mean_ns / 1e3,
            row.twin_mean_ns / 1e3,
            row.ratio,
            row.modelled_mean_ns as f64 / 1e3,
            row.replayed_mean_ns / 1e3,
            row.close_arrivals_percent,
            row.late_p50_ns as f64 / 1e3,
            row.late_p99_ns as f64 / 1e3,
        ));
    }
    print(&text)
}

/// Cost of watching a host with many block devices.
fn bench_probe(arguments: &BenchArgs) -> Result<(), Failure> {
    // In memory where there is such a place: what is read stands for /proc and sysfs.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.map_err(Failure::failed_by)?;
    let cost = campaign::bench_probe(directory.path())?;
    let share = cost.share_of_a_core();
    if arguments.json {
        print_json_lines([json!({
            "scenario": "probe-200", "devices": cost.devices, "counters": cost.counters, "readings": cost.readings,
            "read_ns": cost.read_ns, "keep_ns": cost.keep_ns, "share_of_a_core": share,
        })])
    } else {
        print(&format!(
            "{} devices, {} counters every second: {:.2} % of a core (reading {}, keeping {})\n",
            cost.devices,
            cost.counters,
            share * 100.0,
            units::human_latency(cost.read_ns as f64),
            units::human_latency(cost.keep_ns as f64)
        ))
    }
}

/// Cases of `bench fast-forward`.
const FAST_FORWARD_CASES: u64 = 60;
