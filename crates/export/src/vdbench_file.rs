//! vdbench parameter file of cases: a run definition for each, or for a case and the shares of its rate.

use crate::ExportError;
use crate::left_out::LeftOut;
use crate::not_exported::{NotExportedList, WHOLE_CASE};
use crate::plan_parts::{case_title, list_case_parts};
use crate::vdbench_load::{VdbenchLoad, load_of};
use plan::{Case, NamedLoad, Plan, Preconditioning};
use std::fmt::Write;
use units::NANOS_PER_SECOND;

/// Usage of the file, in its head.
pub(crate) const USE: &str = "Run with: vdbench -f FILE target=/dev/sdX";

/// Runs that write the whole target have no other end; vdbench wants a time.
const FILL_ELAPSED: &str = "100h";

/// Definitions in the order that vdbench asks for: storage, workloads, runs.
#[derive(Default)]
struct Definitions {
    storage: Vec<String>,
    workloads: Vec<String>,
    runs: String,
    count: usize,
}

impl Definitions {
    /// The number of an equal definition that is not taken, or of a new one.
    fn number(known: &mut Vec<String>, text: &str, taken: &[usize]) -> usize {
        let equal =
            known.iter().enumerate().position(|(index, other)| other == text && !taken.contains(&index));
        equal.unwrap_or_else(|| {
            known.push(text.to_owned());
            known.len() - 1
        })
    }

    /// Labels of the workloads that run at once. Threads belong to a storage definition, so each has one of its own.
    fn add_workloads<'a>(&mut self, loads: impl IntoIterator<Item = &'a VdbenchLoad>) -> Vec<String> {
        let mut taken = Vec::new();
        let mut labels = Vec::new();
        for load in loads {
            let storage = Definitions::number(&mut self.storage, &load.storage, &taken);
            taken.push(storage);
            let text = format!("sd=sd{},{}", storage + 1, load.workload);
            labels.push(format!("wd{}", Definitions::number(&mut self.workloads, &text, &[]) + 1));
        }
        labels
    }

    fn text(self) -> String {
        let mut text = String::new();
        for (index, definition) in self.storage.iter().enumerate() {
            let _ = writeln!(text, "sd=sd{},{definition}", index + 1);
        }
        text.push('\n');
        for (index, definition) in self.workloads.iter().enumerate() {
            let _ = writeln!(text, "wd=wd{},{definition}", index + 1);
        }
        text + &self.runs
    }
}

/// A case, and the shares of its rate at which it runs again.
struct CurveRun<'a> {
    case: &'a Case,
    shares: Vec<&'a Case>,
}

/// Definitions of some cases, as text, without its head.
pub(crate) fn body(plan: &Plan, cases: &[&Case], list: &mut NotExportedList) -> Result<String, ExportError> {
    let mut definitions = Definitions::default();
    let mut why = None;
    for run in curves(cases) {
        if let Err(reason) = add_run(plan, &run, &mut definitions, list) {
            for case in std::iter::once(run.case).chain(run.shares.iter().copied()) {
                list.of_case(case, WHOLE_CASE, reason.0.clone());
            }
            why.get_or_insert(reason.0);
        }
    }
    if definitions.count == 0 {
        let why = why.unwrap_or_else(|| "none is selected".to_owned());
        return Err(ExportError::NoCases { plan: plan.name.clone(), why });
    }
    Ok(definitions.text())
}

/// Cases with those behind them whose rate is a share of what they deliver.
fn curves<'a>(cases: &[&'a Case]) -> Vec<CurveRun<'a>> {
    let mut runs: Vec<CurveRun<'a>> = Vec::new();
    for case in cases {
        let base = runs.last_mut().filter(|run| {
            case.rate_share.as_ref().is_some_and(|share| share.of_case == run.case.name)
                && run.case.stage == case.stage
        });
        match base {
            Some(run) => run.shares.push(case),
            None => runs.push(CurveRun { case, shares: Vec::new() }),
        }
    }
    runs
}

/// Gives loads that run at once priorities, which vdbench asks of all where one has a rate: those with a rate come first.
fn prioritize(loads: &mut [VdbenchLoad]) {
    if loads.len() < 2 || loads.iter().all(|load| load.rate.is_none()) {
        return;
    }
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|index| loads[*index].rate.is_none());
    for (priority, index) in order.into_iter().enumerate() {
        let _ = write!(loads[index].workload, ",priority={}", priority + 1);
    }
}

/// The loads of a case, and why there are none where vdbench has no such load.
fn case_loads(case: &Case, list: &mut NotExportedList) -> Result<Vec<VdbenchLoad>, LeftOut> {
    let of_case: [(Option<&NamedLoad>, _); 1] = [(None, &case.settings)];
    let of_loads: Vec<(Option<&NamedLoad>, _)> =
        case.loads.iter().map(|load| (Some(load), &load.settings)).collect();
    let named = if of_loads.is_empty() { &of_case[..] } else { &of_loads[..] };
    let loads: Vec<VdbenchLoad> = named.iter().map(|(named, settings)| load_of(settings, *named)).collect();
    if let Some((what, why)) = loads.iter().find_map(|load| load.left_out.as_ref()) {
        return Err(LeftOut(format!("{what}: {why}")));
    }
    for (what, why) in loads.iter().flat_map(|load| &load.not_exported) {
        list.of_case(case, what, why.clone());
    }
    Ok(loads)
}

fn add_run(
    plan: &Plan,
    run: &CurveRun<'_>,
    definitions: &mut Definitions,
    list: &mut NotExportedList,
) -> Result<(), LeftOut> {
    let case = run.case;
    if case.load.shape.replay.is_some() {
        return Err(LeftOut("replay: the trace is not part of the file".to_owned()));
    }
    if case.find.is_some() {
        return Err(LeftOut("find: vdbench does not search for a load".to_owned()));
    }
    let mut loads = case_loads(case, list)?;
    list_case_parts(case, "vdbench", list);
    for share in &run.shares {
        // Its times and pauses are those of the case at full rate, and so is what they lose.
        case_loads(share, list)?;
        times(plan, share, list);
        pause(share, &mut String::new(), list);
        list_case_parts(share, "vdbench", list);
    }
    definitions.count += 1;
    let label = format!("{}_{}", case.stage, definitions.count);
    let _ = writeln!(definitions.runs, "\n* {}", case_title(case));
    if let Some(writes) = &case.preconditioning {
        add_precondition(writes, &label, case, definitions, list);
    }
    prioritize(&mut loads);
    let labels = definitions.add_workloads(&loads);
    let workloads = if labels.len() == 1 { labels.concat() } else { format!("({})", labels.join(",")) };
    let mut text = format!("rd={label},wd={workloads}{}", rate(run, &loads, list));
    if let [only] = loads.as_slice() {
        let _ = write!(text, ",threads={}", only.threads);
        text.extend(only.max_data.iter().map(|amount| format!(",maxdata={amount}")));
    }
    text += &times(plan, case, list);
    pause(case, &mut text, list);
    let _ = writeln!(definitions.runs, "{text}");
    Ok(())
}

/// The rate of a run. Loads that run at once have theirs in their workloads.
fn rate(run: &CurveRun<'_>, loads: &[VdbenchLoad], list: &mut NotExportedList) -> String {
    let distribution = |process: Option<&str>| match process {
        Some("poisson") => ",distribution=exponential",
        _ => ",distribution=deterministic",
    };
    let process = loads.iter().find_map(|load| load.process);
    if loads.iter().any(|load| load.rate.is_some() && load.process != process) {
        list.of_case(run.case, "rate_process", "vdbench has one distribution for all loads of a run");
    }
    if !run.shares.is_empty() {
        let shares: Vec<String> = run
            .shares
            .iter()
            .filter_map(|case| case.rate_share.as_ref())
            .map(|share| share.percent.to_string())
            .collect();
        if process.is_none() {
            for case in &run.shares {
                list.of_case(case, "rate_percent", "vdbench's I/Os arrive at the rate, whatever is answered");
            }
        }
        return format!(",iorate=curve,curve=({}){}", shares.join(","), distribution(process));
    }
    match loads {
        [VdbenchLoad { rate: Some(rate), .. }] => format!(",iorate={rate}{}", distribution(process)),
        loads if loads.iter().any(|load| load.rate.is_some()) => {
            format!(",iorate=max{}", distribution(process))
        }
        _ => ",iorate=max".to_owned(),
    }
}

/// Runtime, ramp and interval in vdbench's whole seconds, where every time is a multiple of the interval.
fn times(plan: &Plan, case: &Case, list: &mut NotExportedList) -> String {
    let whole = |time_ns: u64| time_ns.div_ceil(NANOS_PER_SECOND);
    let (runtime_s, ramp_s) = (whole(case.load.runtime_ns), whole(case.load.ramp_ns));
    let wanted_s = whole(plan.interval_ns).max(1);
    let is_multiple =
        |interval_s: &u64| runtime_s.is_multiple_of(*interval_s) && ramp_s.is_multiple_of(*interval_s);
    // Two intervals at least; without a warmup the first of them is the ramp.
    let least = if ramp_s > 0 { 2 } else { 1 };
    let interval_s = (1..=wanted_s)
        .rev()
        .filter(is_multiple)
        .find(|interval_s| runtime_s / interval_s >= least)
        .unwrap_or(1);
    let elapsed_s = if ramp_s > 0 { runtime_s.max(2) } else { runtime_s + interval_s };
    if !case.load.runtime_ns.is_multiple_of(NANOS_PER_SECOND) || runtime_s < least {
        list.of_case(
            case,
            "runtime",
            "vdbench counts whole seconds, two intervals at least: it is rounded up",
        );
    }
    if !case.load.ramp_ns.is_multiple_of(NANOS_PER_SECOND) {
        list.of_case(case, "ramp_time", "vdbench counts whole seconds: it is rounded up");
    } else if ramp_s == 0 {
        list.of_case(
            case,
            "ramp_time",
            "vdbench leaves the first interval out of its averages: the run is longer by one interval",
        );
    }
    let warmup = if ramp_s > 0 { format!(",warmup={ramp_s}") } else { String::new() };
    format!(",elapsed={elapsed_s},interval={interval_s}{warmup}")
}

fn pause(case: &Case, text: &mut String, list: &mut NotExportedList) {
    if case.pause_ns > 0 {
        let _ = write!(text, ",pause={}", case.pause_ns.div_ceil(NANOS_PER_SECOND));
        if !case.pause_ns.is_multiple_of(NANOS_PER_SECOND) {
            list.of_case(case, "pause", "vdbench counts whole seconds: it is rounded up");
        }
    }
    if case.pause_over.is_some() {
        list.of_case(case, "pause", "its length does not follow from what the case wrote");
    }
}

/// Runs that write the whole target, sequentially to its end.
fn add_precondition(
    writes: &Preconditioning,
    label: &str,
    case: &Case,
    definitions: &mut Definitions,
    list: &mut NotExportedList,
) {
    if writes.times == 0 {
        return;
    }
    if writes.pattern.is_random() {
        let why = "vdbench ends only sequential writes at the end of the target: write it by hand before";
        list.of_case(case, "precondition", why);
        return;
    }
    let storage = "lun=$target,openflags=o_direct".to_owned();
    let bs = units::Bytes(u64::from(writes.bs_bytes));
    let workload = format!("xfersize={bs},rdpct=0,seekpct=eof");
    let filled = VdbenchLoad { storage, workload, ..VdbenchLoad::default() };
    let workload = definitions.add_workloads([&filled]).concat();
    let threads = u64::from(writes.numjobs) * u64::from(writes.iodepth);
    for pass in 1..=writes.times {
        let _ = writeln!(
            definitions.runs,
            "rd={label}_precondition_{pass},wd={workload},iorate=max,threads={threads},elapsed={FILL_ELAPSED},interval=5"
        );
    }
}
