//! Progress display: a line for each case that ends and, on a terminal, a bar with the remaining time.

use crate::output::print_notice;
use campaign::{Progress, Watcher};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;
use store::{CaseRecord, CaseResult, CaseStatus, DirectionResult};
use units::{human_bandwidth, human_duration, human_latency, human_rate};

/// Steps of the bar: a permille is finer than a terminal is wide.
const BAR_STEPS: u64 = 1000;

/// Time between two looks of a bar at the clock.
pub const TICK: Duration = Duration::from_millis(250);

/// Bar of things that are counted as they end, with the time left and the time so far; hidden where stderr is no terminal.
pub fn counting_bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos} of {len}, {elapsed} so far{left}") {
        // Before the first has ended nobody knows.
        let left = |state: &ProgressState, out: &mut dyn Write| {
            if state.pos() > 0 {
                let left_ns = u64::try_from(state.eta().as_nanos()).unwrap_or(u64::MAX);
                let _ = write!(out, ", {} left", rounded(left_ns));
            }
        };
        bar.set_style(style.with_key("left", left).progress_chars("=> "));
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Tells a person on stderr how a campaign goes.
pub struct ProgressView {
    /// Progress bar, where stderr is a terminal.
    bar: Option<ProgressBar>,
}

impl ProgressView {
    /// A view of stderr, whatever it is.
    pub fn new() -> ProgressView {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(BAR_STEPS), ProgressDrawTarget::stderr_with_hz(4));
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        ProgressView { bar }
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print_notice(text)),
            None => print_notice(text),
        }
    }

    fn show(&self, case: &CaseRecord, share: f64, progress: &Progress) {
        let Some(bar) = &self.bar else { return };
        bar.set_position((progress.share * BAR_STEPS as f64) as u64);
        let left =
            progress.time_left_ns.map_or_else(String::new, |left_ns| format!(", {} left", rounded(left_ns)));
        bar.set_message(format!(
            "case {} of {}{left} · {} {} ({:.0} %)",
            (progress.cases_ended + 1).min(progress.cases_total),
            progress.cases_total,
            case.stage,
            case.name,
            share * 100.0
        ));
    }
}

/// Whole seconds: a time left is an estimate.
pub fn rounded(nanos: u64) -> String {
    human_duration(nanos.div_ceil(units::NANOS_PER_SECOND) * units::NANOS_PER_SECOND)
}

impl Watcher for ProgressView {
    fn case_started(&mut self, case: &CaseRecord, progress: &Progress) {
        self.show(case, 0.0, progress);
    }

    fn case_progress(&mut self, case: &CaseRecord, share: f64, progress: &Progress) {
        self.show(case, share, progress);
    }

    fn case_waiting(&mut self, case: &CaseRecord, text: &str, progress: &Progress) {
        match &self.bar {
            Some(bar) => {
                self.show(case, 0.0, progress);
                bar.set_message(format!("{} {}: {text}", case.stage, case.name));
            }
            None => print_notice(&format!("{} {}: {text}", case.stage, case.name)),
        }
    }

    fn case_ended(&mut self, case: &CaseRecord, result: &CaseResult, progress: &Progress) {
        let digits = progress.cases_total.to_string().len();
        let left = match progress.time_left_ns {
            Some(left_ns) if progress.cases_ended < progress.cases_total => {
                format!("  ({} left)", rounded(left_ns))
            }
            _ => String::new(),
        };
        self.line(&format!(
            "[{:>digits$}/{}] {} {}: {}{left}",
            progress.cases_ended,
            progress.cases_total,
            case.stage,
            case.name,
            in_words(result)
        ));
        for warning in &result.warnings {
            self.line(&format!("{:indent$}warning: {warning}", "", indent = 2 * digits + 4));
        }
    }

    fn notice(&mut self, text: &str) {
        self.line(text);
    }
}

/// A case's result in one line.
pub fn in_words(result: &CaseResult) -> String {
    if result.status != CaseStatus::Done {
        let why = result.error.as_deref().unwrap_or("no reason was given");
        return format!("{}: {why}", result.status.name());
    }
    let mut text = format!("{} IOPS, {}", human_rate(result.iops), human_bandwidth(result.bw_bytes_per_s));
    for (name, direction) in [("read", &result.read), ("write", &result.write)] {
        if let Some(DirectionResult { latency_ns, .. }) = direction {
            text.push_str(&format!(", {name} {}", human_latency(latency_ns.mean)));
        }
    }
    text
}
