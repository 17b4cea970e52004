//! Verdict on the plan's requirements: the first line of the first page.

use super::{ReportError, Source, case_name, facts, left_out, model_lines, stage_name};
use crate::model::Verdict;
use findings::{Cited, Quantity, RequirementRow, RequirementVerdict, RunVerdict, Unit, cited};
use store::{CaseRecord, CaseState, CaseStatus};

/// Of what failed so many are named; the rest are counted.
const NAMED_LIMIT: usize = 6;

/// The verdict from requirements, and what of the run failed or is missing. A run that answers a question has its verdicts among its answers.
pub fn of(source: &Source<'_>, is_question: bool) -> Result<Verdict, ReportError> {
    let rows = match &source.plan {
        Some(plan) => findings::requirements(source.run, plan)?,
        None => Vec::new(),
    };
    let mut because = Vec::new();
    if !rows.is_empty() {
        because.push(cited!("{}.", counts(&rows)));
        because.extend(named("Not kept", failed(&rows)));
        because.extend(constant_tails(source, &rows));
    }
    let cases = |wanted: &dyn Fn(&CaseRecord) -> bool| -> Vec<Cited> {
        let all = source.cases.iter().filter(|case| !source.is_not_needed(case) && wanted(case));
        all.map(|case| {
            let state = facts::state_name(case.state);
            cited!("{} {} ({})", stage_name(&case.stage), case_name(&case.stage, &case.name), state)
        })
        .collect()
    };
    let is_failed =
        |case: &CaseRecord| matches!(case.state, CaseState::Ended(status) if status != CaseStatus::Done);
    because.extend(named("Without a result", cases(&is_failed)));
    let missing = cases(&|case| !matches!(case.state, CaseState::Ended(_)));
    because.extend(named("Not complete", missing));
    let passed = match findings::run_verdict(&rows) {
        RunVerdict::Pass => Some(true),
        RunVerdict::Fail => Some(false),
        RunVerdict::None => None,
    };
    let manifest = source.manifest;
    let is_without_part =
        |stage: &str| manifest.left_out.iter().any(|case| case.stage == stage && case.is_without_part);
    let lacks_stages = source.left_out_stages().into_iter().any(|stage| !is_without_part(stage));
    let lacks_cases = !manifest.selection.only.is_empty()
        || manifest.left_out.iter().any(|case| !case.is_without_part)
        || manifest.shard.is_some();
    let meaning = match (passed, rows.is_empty()) {
        (Some(true), _) if lacks_stages => {
            "Everything that the plan requires of the stages that were run was kept; it has further ones."
        }
        (Some(true), _) if lacks_cases => {
            "Everything that the plan requires of the cases that were run was kept; it has further ones."
        }
        (Some(true), _) => "Everything that the plan requires was kept.",
        (Some(false), _) => "Not everything that the plan requires was kept: as it is, do not accept it.",
        (None, true) if is_question => "",
        (None, true) => "The plan requires nothing, so nothing here passes or fails.",
        (None, false) => "What the plan requires could not all be judged: do not decide on this run alone.",
    };
    Ok(Verdict { passed, meaning, because })
}

/// Numbers of limits by what came of them; those that do not apply only where there are any.
pub fn counts(rows: &[RequirementRow]) -> Cited {
    let count = |verdict, which: &str| {
        let count = rows.iter().filter(|row| row.verdict == verdict).count();
        Quantity::new(count as f64, Unit::Count, findings::Source::other("requirements", which))
    };
    let counts = cited!(
        "{} kept, {} not kept, {} not shown",
        count(RequirementVerdict::Pass, "pass").count("limit"),
        count(RequirementVerdict::Fail, "fail").plain(0),
        count(RequirementVerdict::NotShown, "not-shown").plain(0)
    );
    if !rows.iter().any(|row| row.verdict == RequirementVerdict::NotApplicable) {
        return counts;
    }
    let other = count(RequirementVerdict::NotApplicable, "not-applicable");
    cited!("{}, {} not applicable", counts, other.plain(0))
}

/// Limits that are not kept, each once with the first case of a stage that does not keep it.
fn failed(rows: &[RequirementRow]) -> Vec<Cited> {
    let mut limits: Vec<(&RequirementRow, usize)> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == RequirementVerdict::Fail) {
        match limits.iter_mut().find(|(known, _)| known.says == row.says && known.stage == row.stage) {
            Some((_, further)) => *further += 1,
            None => limits.push((row, 0)),
        }
    }
    limits
        .into_iter()
        .map(|(row, further)| {
            let more = match further {
                0 => Cited::default(),
                further => cited!(" and in {}", left_out(further, "named").count("further case")),
            };
            let says = Cited::quote(&row.says, findings::Source::quote("plan"));
            cited!("{} ({}, {}){}", says, stage_name(&row.stage), case_name(&row.stage, &row.case), more)
        })
        .collect()
}

/// A percentile of latencies that hardly differ keeps a limit easily, and is no promise of a real array.
fn constant_tails(source: &Source<'_>, rows: &[RequirementRow]) -> Option<Cited> {
    if !source.is_simulated() {
        return None;
    }
    let is_one = |row: &&RequirementRow| {
        row.verdict == RequirementVerdict::Pass
            && row.quantity.contains("latency_ns.p")
            && source.done().any(|(_, result)| {
                result.stage == row.stage && result.case == row.case && model_lines::is_near_constant(result)
            })
    };
    let count = rows.iter().filter(is_one).count();
    (count > 0).then(|| {
        let source = findings::Source::other("requirements", "pass-near-constant");
        cited!(
            "{} kept by percentiles of nearly constant latencies of the model: the tail of a real array is not in it.",
            Quantity::new(count as f64, Unit::Count, source).count("limit")
        )
    })
}

/// The first of several, and how many more there are.
fn named(what: &'static str, mut all: Vec<Cited>) -> Option<Cited> {
    if all.is_empty() {
        return None;
    }
    let more = all.len().saturating_sub(NAMED_LIMIT);
    all.truncate(NAMED_LIMIT);
    let more = match more {
        0 => Cited::default(),
        more => cited!("; and {} more", left_out(more, "named").plain(0)),
    };
    Some(cited!("{}: {}{}.", what, Cited::join(all, "; "), more))
}
