//! Parts of a plan that no load generator has: conditions, events, judgements.

use crate::load_settings::plain;
use crate::not_exported::NotExportedList;
use plan::{Case, HostChoice, Plan, Stage, WatchedDevices};

/// Names of settings that tell cases apart and carry nothing out.
const LABELS: [&str; 3] = ["scenario", "pass", "repeat"];

/// Lists what of the plan and of the stages of these cases the tool does not do. `tool` is its name.
pub(crate) fn list_plan_parts(plan: &Plan, cases: &[&Case], tool: &str, list: &mut NotExportedList) {
    let has_targets_watched = |devices: &WatchedDevices| *devices != WatchedDevices::default();
    let watch = &plan.watch;
    for (is_there, what, why) in [
        (!plan.hosts.is_empty(), "hosts", "the load comes from the host that runs the file"),
        (
            plan.read_only,
            "read_only",
            "nothing keeps the target from being written: check the file before it is run",
        ),
        (
            watch.has_health
                || !watch.commands.is_empty()
                || !watch.addresses.is_empty()
                || has_targets_watched(&watch.devices),
            "watch",
            "counters of host, array and drives are not read",
        ),
        (!plan.requirements.is_empty(), "require", "no result is judged"),
        (!plan.claims.is_empty(), "claims", "no result is judged"),
        (!plan.inventory.is_empty(), "inventory", "no command's output is kept"),
        (
            !plan.published.is_empty() || !plan.declared.is_empty(),
            "published",
            "no result is compared with published or declared figures",
        ),
        (!plan.charts.is_empty() || !plan.tables.is_empty(), "show", "there is no report: charts and tables"),
    ] {
        if is_there {
            list.of_plan(what, why);
        }
    }
    for stage in &plan.stages {
        if cases.iter().any(|case| case.stage == stage.name) {
            list_stage_parts(stage, tool, list);
        }
    }
}

fn list_stage_parts(stage: &Stage, tool: &str, list: &mut NotExportedList) {
    let name = stage.name.as_str();
    if stage.repeats.as_ref().is_some_and(plan::Rounds::may_end_early) {
        list.of_stage(
            name,
            "repeats",
            format!("all rounds are in the file: {tool} does not stop at a steady state"),
        );
    }
    if stage.hosts != HostChoice::All {
        list.of_stage(name, "hosts", "the load comes from the host that runs the file");
    }
    if stage.stripe.is_some() {
        list.of_stage(name, "stripe", "give a striped device as target");
    }
    if let Some(choice) = &stage.load_of {
        list.of_stage(
            name,
            "load_of",
            format!(
                "jobs and depth are those of the plan, and not chosen from results of `{}`",
                choice.stage
            ),
        );
    }
    if !stage.events.is_empty() {
        list.of_stage(name, "events", format!("{tool} does nothing to the target while a load runs"));
    }
}

/// Lists what of a case is no load.
pub(crate) fn list_case_parts(case: &Case, tool: &str, list: &mut NotExportedList) {
    if case.preconditioning.as_ref().is_some_and(|writes| writes.purge) {
        list.of_case(
            case,
            "precondition",
            "its purge: discard the whole target before (`blkdiscard TARGET`)",
        );
    }
    for load in &case.loads {
        if load.hosts.is_some() {
            list.of_case(
                case,
                "hosts",
                format!("the load `{}` comes from the host that runs the file, {tool} adds none", load.name),
            );
        }
    }
}

/// The settings that tell a case from others, where its name does not: `scenario=3 pass=2`.
pub(crate) fn labels(case: &Case) -> Option<String> {
    let labels: Vec<String> = LABELS
        .iter()
        .filter_map(|name| Some(format!("{name}={}", plain(case.settings.get(*name)?))))
        .collect();
    (!labels.is_empty()).then(|| labels.join(" "))
}

/// The name of a case in files: its stage and its own, without what is special there.
pub(crate) fn case_title(case: &Case) -> String {
    /// fio keeps 255 bytes of a section's name; a load's name may follow.
    const BYTES_LIMIT: usize = 180;
    let title =
        if case.name == case.stage { case.stage.clone() } else { format!("{}/{}", case.stage, case.name) };
    let is_special = |c: char| c.is_control() || !c.is_ascii() || "[];#\"$\\".contains(c);
    let mut title: String = title.chars().map(|c| if is_special(c) { '_' } else { c }).collect();
    title.truncate(BYTES_LIMIT);
    title
}
