//! Decision part of the first page: what may go wrong, what was not tested, what to ask the vendor.
//!
//! Everything here follows from requirements, findings and the cases themselves; nothing is advice of taste.

use super::model_lines::has_key;
use super::quantity;
use super::{ReportError, Source};
use crate::model::Decision;
use findings::{
    Cited, Fact, Findings, Kind, Quantity, RequirementRow, RequirementVerdict, TakenActions, Unit, cited,
};
use serde_json::Value;
use store::{CaseState, CaseStatus};
use twin::Event;

/// Of limits so many are named; the table of requirements has all.
const NAMED_LIMIT: usize = 3;
/// Load of which garbage collection is part: SNIA's tests write for longer before they measure.
const LONG_WRITE_S: f64 = 600.0;

/// The three lists. A run without a result has none.
pub fn of(source: &Source<'_>, found: Option<&Findings>) -> Result<Decision, ReportError> {
    if source.done().next().is_none() {
        return Ok(Decision::default());
    }
    let rows = match &source.plan {
        Some(plan) => findings::requirements(source.run, plan)?,
        None => Vec::new(),
    };
    let facts = Facts {
        falls: found.is_some_and(|found| has_kind(found, "write-cliff/") || has_kind(found, "ramp-fall/")),
        long_write: source
            .done()
            .any(|(_, result)| result.write.is_some() && result.duration_s >= LONG_WRITE_S),
        writes: source.done().any(|(_, result)| result.write.is_some()),
        mixed: source.done().any(|(_, result)| result.read.is_some() && result.write.is_some()),
        untested_failures: untested_failures(source)?,
        verified: source.done().any(|(_, result)| is_verified(result.settings.get("verify"))),
        several_hosts: source.manifest.hosts.len() > 1 || source.is_simulated(),
    };
    Ok(Decision {
        risk: risk(source, found, &rows, &facts),
        not_tested: not_tested(source, &rows, &facts),
        ask: ask(source, &rows, &facts),
    })
}

/// Failures that an array is bought to survive, by the action or the record of a plan's events, and as a reader knows them.
const FAILURES: [(&str, &str); 6] = [
    (Event::DriveFailure.name(), "a lost drive and its rebuild"),
    (CONTROLLER_LOST, "a lost controller"),
    (NODE_LOST, "a lost node"),
    (PATH_LOST, "a lost path"),
    (MIRROR_LINK_LOST, "a lost link to the second array"),
    (Event::FirmwareUpdate.name(), "a firmware update"),
];
/// Action that takes a controller away; controllers of a cluster are lost with their nodes.
const CONTROLLER_LOST: &str = Event::ControllerFailover.name();
/// Action that takes a node of a cluster away.
const NODE_LOST: &str = Event::NodeFailure.name();
/// Action that takes away the link of a mirror.
const MIRROR_LINK_LOST: &str = Event::MirrorLinkFailure.name();
/// Record of a path that was lost, by whatever cause.
const PATH_LOST: &str = "path-lost";

fn untested_failures(source: &Source<'_>) -> Result<Vec<&'static str>, ReportError> {
    let events = source.run.events()?;
    let taken = TakenActions::of(&source.cases, &events, source.plan.as_ref());
    let is_tested = |action: &str| {
        taken.has(action) || action == PATH_LOST && events.iter().any(|event| event.kind == PATH_LOST)
    };
    let may_happen = |action: &str| match action {
        CONTROLLER_LOST => !has_part(source, "nodes"),
        NODE_LOST => has_part(source, "nodes"),
        MIRROR_LINK_LOST => has_part(source, "mirror") || has_part(source, "replication"),
        _ => true,
    };
    let untested = FAILURES.iter().filter(|(action, _)| may_happen(action) && !is_tested(action));
    Ok(untested.map(|(_, shown)| *shown).collect())
}

/// Returns true if the run's array is a twin's that has a part; nobody knows it of a device.
fn has_part(source: &Source<'_>, part: &str) -> bool {
    let array = source.manifest.array.as_ref().filter(|_| source.is_simulated());
    array.is_some_and(|array| has_key(&array.text, part))
}

fn list(failures: &[&'static str]) -> Cited {
    Cited::join(failures.iter().map(|failure| Cited::from(*failure)), ", ")
}

struct Facts {
    falls: bool,
    long_write: bool,
    writes: bool,
    mixed: bool,
    untested_failures: Vec<&'static str>,
    verified: bool,
    several_hosts: bool,
}

fn has_kind(found: &Findings, prefix: &str) -> bool {
    found.all.iter().any(|finding| finding.id.starts_with(prefix))
}

/// Returns true if the hosts that made the load are the bottleneck of a stage's fastest case.
fn is_bound_by_hosts(found: &Findings, stage: &str) -> bool {
    let mut limits = found.of_kind(Kind::Limit).filter(|finding| finding.stage == stage);
    limits.any(|finding| matches!(&finding.fact, Fact::Limit(limit) if limit.by == "generator"))
}

fn is_verified(setting: Option<&Value>) -> bool {
    setting.and_then(Value::as_str).is_some_and(|setting| setting != "none" && setting != "off")
}

fn risk(source: &Source<'_>, found: Option<&Findings>, rows: &[RequirementRow], facts: &Facts) -> Vec<Cited> {
    let mut risk: Vec<Cited> = failed(rows)
        .filter_map(|row| {
            let (measured, limit) = figures(source, row)?;
            let says = Cited::quote(&row.says, findings::Source::quote("plan"));
            Some(cited!("Not kept: {}: {} where {} was required.", says, measured, limit))
        })
        .collect();
    for row in failed(rows).filter(|row| found.is_some_and(|found| is_bound_by_hosts(found, &row.stage))) {
        risk.push(cited!(
            "“{}” was tested with hosts that were busy themselves: the figure may be theirs, not the array’s. Repeat it with more \
             hosts before you decide.",
            Cited::quote(&row.says, findings::Source::quote("plan"))
        ));
    }
    if let Some(row) = narrowest(rows)
        && let Some((measured, limit)) = figures(source, row)
    {
        let says = Cited::quote(&row.says, findings::Source::quote("plan"));
        risk.push(cited!(
            "Kept with the least to spare: {}: {} where {} was required.",
            says,
            measured,
            limit
        ));
    }
    if rows.is_empty() {
        risk.push("The plan requires nothing, so no figure here is good or bad by itself.".into());
    }
    if facts.falls {
        risk.push("Writes fall under long load; what remains then is under “When it falls”.".into());
    } else if facts.writes && !facts.long_write {
        risk.push("Writes may fall under longer load: no load wrote for ten minutes.".into());
    }
    if source.is_simulated() {
        risk.push("A model keeps no promise: the array may differ where the model is not validated.".into());
    }
    risk
}

fn not_tested(source: &Source<'_>, rows: &[RequirementRow], facts: &Facts) -> Vec<Cited> {
    let mut missing = Vec::new();
    let not_chosen = source.not_chosen_stages();
    if !not_chosen.is_empty() {
        let names = not_chosen.into_iter().map(|name| Cited::quote(name, findings::Source::quote("plan")));
        missing.push(cited!("Stages of the plan that are not in this run: {}.", Cited::join(names, ", ")));
    }
    for stage in source.left_out_stages() {
        if let Some(reason) = source.reason_without(stage) {
            missing.push(cited!(
                "“{}”: {}.",
                Cited::quote(stage, findings::Source::quote("plan")),
                Cited::quote(reason, findings::Source::quote("manifest"))
            ));
        }
    }
    let unseen = |is_selected: bool, which: &str| {
        let is_unseen = |row: &&RequirementRow| {
            row.verdict == RequirementVerdict::NotShown && row.is_selected == is_selected
        };
        let count = rows.iter().filter(is_unseen).count();
        let from = findings::Source::other("requirements", which);
        (count > 0).then(|| Quantity::new(count as f64, Unit::Count, from).count("limit"))
    };
    if let Some(limits) = unseen(false, "not-selected") {
        missing.push(cited!("{} of the plan: none of the cases that would show them was selected.", limits));
    }
    if let Some(limits) = unseen(true, "not-shown-selected") {
        missing.push(cited!(
            "{} of the plan: the cases that would show them have no result, are too short, or lack an event of the plan.",
            limits
        ));
    }
    for (status, which) in [
        (CaseStatus::Failed, "failed"),
        (CaseStatus::Refused, "refused"),
        (CaseStatus::NotSettable, "not-settable"),
    ] {
        let count = source.cases.iter().filter(|case| case.state == CaseState::Ended(status)).count();
        if count > 0 {
            missing.push(cited!("{} ({}).", Quantity::cases(count, which).count("case"), which));
        }
    }
    if source.is_simulated() {
        missing.push("The array itself.".into());
    }
    if !facts.untested_failures.is_empty() {
        missing.push(cited!("Failures: {}.", list(&facts.untested_failures)));
    }
    if !facts.long_write {
        missing.push("Writes for ten minutes or more.".into());
    }
    if !facts.mixed {
        missing.push("Reads and writes at once.".into());
    }
    if !facts.verified {
        missing.push("Whether what was written is read back unchanged.".into());
    }
    if !facts.several_hosts {
        missing.push("Load from several hosts.".into());
    }
    missing
}

fn ask(source: &Source<'_>, rows: &[RequirementRow], facts: &Facts) -> Vec<Cited> {
    let mut questions: Vec<Cited> = failed(rows)
        .map(|row| {
            let says = Cited::quote(&row.says, findings::Source::quote("plan"));
            cited!("Which configuration keeps “{}”, and when is it shown with this plan?", says)
        })
        .collect();
    if facts.falls {
        questions.push(
            "Which rate of random writes is guaranteed once caches and reserves are used up, and at which fill?".into(),
        );
    } else if facts.writes {
        questions.push("Which rate of random writes lasts for hours, and at which fill?".into());
    }
    if !facts.untested_failures.is_empty() {
        questions.push(cited!("What do rate and latency become with {}?", list(&facts.untested_failures)));
    }
    if source.is_simulated() {
        questions.push("When can the same plan be run on the array?".into());
    }
    questions
}

/// Limits that are not kept, each once with the case that is the worst of it.
fn failed(rows: &[RequirementRow]) -> impl Iterator<Item = &RequirementRow> {
    let mut worst: Vec<&RequirementRow> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == RequirementVerdict::Fail) {
        match worst.iter_mut().find(|known| known.says == row.says) {
            None => worst.push(row),
            Some(known) if spare(row).unwrap_or(0.0) < spare(known).unwrap_or(0.0) => *known = row,
            Some(_) => {}
        }
    }
    worst.into_iter().take(NAMED_LIMIT)
}

/// Ratio by which a figure is on the good side of its limit: above one where the limit is kept.
fn spare(row: &RequirementRow) -> Option<f64> {
    match (row.measured?, row.at_least, row.at_most) {
        (measured, Some(least), _) if least > 0.0 => Some(measured / least),
        (measured, None, Some(most)) if measured > 0.0 => Some(most / measured),
        _ => None,
    }
}

/// The kept limit whose figure is nearest to it.
fn narrowest(rows: &[RequirementRow]) -> Option<&RequirementRow> {
    let kept = rows.iter().filter(|row| row.verdict == RequirementVerdict::Pass);
    let spared = kept.filter_map(|row| Some((spare(row)?, row)));
    spared.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
}

/// The measured figure, and the limit in words.
fn figures(source: &Source<'_>, row: &RequirementRow) -> Option<(Cited, Cited)> {
    let plan = source.plan.as_ref()?;
    let is_its = |requirement: &plan::Requirement| {
        requirement.says == row.says
            && requirement.stage == row.stage
            && requirement.quantity.name() == row.quantity
    };
    let place = plan.requirements.iter().position(is_its)? + 1;
    let kind = quantity::Kind::of(row.quantity);
    let print = |value: f64, from| kind.print(Quantity::new(value, kind.base(), from));
    let measured = print(row.measured?, findings::Source::result(&row.stage, &row.case, row.quantity));
    let limit = match (row.at_least, row.at_most) {
        (Some(least), _) => cited!("at least {}", print(least, findings::Source::requirement(place))),
        (None, most) => cited!("at most {}", print(most?, findings::Source::requirement(place))),
    };
    Some((measured, limit))
}
