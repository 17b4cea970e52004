//! `run`: carrying out a plan, or going on with one.

use super::requirements;
use super::selection::selection;
use crate::cli::{EngineKind, RunArgs};
use crate::failure::{self, Failure};
use crate::live::LiveView;
use crate::output::{print_json_lines, print_notice};
use crate::progress::ProgressView;
use campaign::{Campaign, EngineChoice, Request, Summary};
use metrics::{AccessScope, MetricsListener};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::RunEnd;
use units::{human_count, human_latency};

/// `arraylab run`
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let interrupt = catch_signals()?;
    // An address that cannot be had is refused before anything is written.
    let listener = metrics_listener(arguments)?;
    let campaign = begin(arguments)?;
    let directory = campaign.directory().to_owned();
    let cases = human_count(campaign.cases_total() as u64, "case");
    let of_shard = campaign.manifest().shard.as_ref().map(|shard| format!("shard {}: ", shard.of));
    let of_shard = of_shard.unwrap_or_default();
    print_notice(&format!("{of_shard}{cases}; the run is kept in {}", directory.display()));
    let mut view = LiveView::new(ProgressView::new());
    if let Some(listener) = listener {
        let address =
            view.expose(listener, campaign.manifest()).map_err(|error| Failure::Failed(Box::new(error)))?;
        print_notice(&format!("metrics: http://{address}/metrics"));
        print_notice(&format!("page: http://{address}/"));
    }
    let carried = campaign::run_campaign(campaign, &interrupt, &mut view);
    view.end();
    if carried.is_err() {
        say_how_to_resume(&directory);
    }
    let summary = carried.map_err(Failure::failed_by)?;
    if let Some(late_ns) = summary.late_ns {
        print_notice(&format!(
            "kept time with the wall clock; the latest sample was {} late",
            human_latency(late_ns as f64)
        ));
    }
    if arguments.json {
        print_json_lines(super::results::results_of(&store::Run::open_read_only(&directory)?)?)?;
    }
    let code = conclude(&summary);
    if summary.end != RunEnd::Done {
        return Ok(code);
    }
    Ok(if requirements::say_sheet(&directory)? { code } else { failure::not_met() })
}

fn metrics_listener(arguments: &RunArgs) -> Result<Option<MetricsListener>, Failure> {
    let access_scope = if arguments.metrics_network { AccessScope::Network } else { AccessScope::Loopback };
    let bound = arguments.metrics.map(|address| MetricsListener::bind(address, access_scope));
    bound.transpose().map_err(|error| Failure::Refused(Box::new(error)))
}

fn begin(arguments: &RunArgs) -> Result<Campaign, Failure> {
    if let Some(directory) = &arguments.resume {
        let (consents, threads) = (&arguments.overwrite_data, arguments.threads);
        return Ok(campaign::resume(directory, consents, threads, arguments.speed)?);
    }
    // clap has made sure of it.
    let Some(plan) = &arguments.plan else {
        return Err(Failure::refused("a plan and a --target are needed"));
    };
    let directory = match &arguments.out {
        Some(directory) => directory.clone(),
        None => default_directory(plan),
    };
    Ok(campaign::prepare(&Request {
        plan: plan.clone(),
        promises: arguments.promises.clone(),
        targets: arguments.targets.clone(),
        selection: selection(&arguments.selection)?,
        directory,
        seed: arguments.seed,
        consents: arguments.overwrite_data.clone(),
        engine: arguments.engine.map(|engine| match engine {
            EngineKind::Ring => EngineChoice::Ring,
            EngineKind::Fio => EngineChoice::Fio,
        }),
        array_driver: arguments.array.clone(),
        time_budget_ns: arguments.time_budget,
        threads: arguments.threads,
        exact: arguments.exact,
        speed_millionths: arguments.speed,
        shard: arguments.shard,
        hosts: arguments.hosts.clone(),
        push_binary: arguments.push_binary,
        command_line: std::env::args().collect(),
    })?)
}

/// `runs/quick-20261120T134708Z-1f2e3d4c`
fn default_directory(plan: &str) -> PathBuf {
    let name = PathBuf::from(plan)
        .file_stem()
        .map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    PathBuf::from("runs").join(format!("{name}-{}", store::new_run_id()))
}

/// Ctrl-C and SIGTERM end the run in order, a second Ctrl-C at once. The loss of the terminal does not end it.
pub fn catch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let hung_up = Arc::new(AtomicBool::new(false));
    let caught = signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupt))
        .and_then(|_| signal_hook::flag::register(SIGINT, Arc::clone(&interrupt)))
        .and_then(|_| signal_hook::flag::register(SIGTERM, Arc::clone(&interrupt)))
        .and_then(|_| signal_hook::flag::register(SIGHUP, hung_up));
    caught.map_err(Failure::failed_by)?;
    Ok(interrupt)
}

fn conclude(summary: &Summary) -> ExitCode {
    match &summary.end {
        RunEnd::Done => {
            print_notice(&format!(
                "done: {}{}{}; see `arraylab results {3}` and `arraylab report {3}`",
                human_count(summary.done as u64, "case"),
                if summary.not_needed > 0 {
                    format!(", {} of later rounds not needed", summary.not_needed)
                } else {
                    String::new()
                },
                if summary.not_run > 0 {
                    format!(", {} not run because their settings were not made", summary.not_run)
                } else {
                    String::new()
                },
                summary.directory.display()
            ));
            ExitCode::SUCCESS
        }
        RunEnd::Failed(why) => {
            print_notice(&format!(
                "failed: {why} ({} done, {} failed, {} left)",
                summary.done, summary.failed, summary.pending
            ));
            say_how_to_resume(&summary.directory);
            failure::failed()
        }
        RunEnd::Interrupted(_) => {
            print_notice(&format!(
                "interrupted: {} done, {} left",
                human_count(summary.done as u64, "case"),
                summary.pending + summary.failed
            ));
            say_how_to_resume(&summary.directory);
            failure::interrupted()
        }
    }
}

fn say_how_to_resume(directory: &std::path::Path) {
    print_notice(&format!("go on with: arraylab run --resume {}", directory.display()));
}
