//! Report model built from a run, its plan and the parts of the array.

mod axes;
mod axis_charts;
mod case_charts;
mod comparison;
mod conclusions;
mod contours;
mod decision;
mod event_fields;
mod facts;
mod headlines;
mod host_charts;
mod inventory;
mod knee_charts;
mod model_lines;
mod parts;
mod penalty_charts;
mod pictures;
pub(crate) mod quantity;
mod requested_charts;
mod requested_tables;
mod requirements;
mod searches;
mod sizing;
mod stage;
mod time_charts;
mod verdict;
mod what_if;

use crate::model::{AnswersPage, Decision, Origin, Report};
use findings::{Cited, Findings, Quantity, Unit, cited};
use std::sync::Arc;
use store::{CaseRecord, CaseResult, CaseState, CaseStatus, Manifest, RunReader};

/// A report that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run directory cannot be read.
    #[error("the run cannot be read for its report: {0}")]
    Store(#[from] store::StoreError),
}

/// Everything that the parts of a report are made from.
struct Source<'a> {
    run: &'a RunReader,
    manifest: &'a Manifest,
    plan: Option<plan::Plan>,
    cases: Vec<CaseRecord>,
    /// Of cases that are done, with the index of the case.
    results: Vec<(u32, Arc<CaseResult>)>,
    /// For each stage in order, the settings that tell its cases apart.
    axes: Vec<(String, Vec<String>)>,
    /// Stages whose rounds were enough, so that later ones were not needed.
    settled: Vec<String>,
}

impl Source<'_> {
    fn done(&self) -> impl Iterator<Item = (u32, &CaseResult)> {
        self.results.iter().map(|(index, result)| (*index, &**result))
    }

    /// The settings that tell the cases of a stage apart.
    fn axes_of(&self, stage: &str) -> Vec<&str> {
        let found = self.axes.iter().find(|(name, _)| name == stage);
        found.map(|(_, axes)| axes.iter().map(String::as_str).collect()).unwrap_or_default()
    }

    /// The stages of the plan that have no case in this run: others were selected, or all of theirs were left out.
    fn left_out_stages(&self) -> Vec<&str> {
        let run = self.stages();
        let of_plan = self.plan.iter().flat_map(|plan| plan.stages.iter().map(|stage| stage.name.as_str()));
        of_plan.filter(|name| !run.contains(name)).collect()
    }

    /// Those of them that were not chosen: the others were left out for a reason that the manifest has.
    fn not_chosen_stages(&self) -> Vec<&str> {
        let is_chosen = |name: &&str| self.reason_without(name).is_some();
        self.left_out_stages().into_iter().filter(|name| !is_chosen(name)).collect()
    }

    /// Reason why a stage that was chosen has no case in this run.
    fn reason_without(&self, stage: &str) -> Option<&str> {
        let left_out = self.manifest.left_out.iter().find(|left_out| left_out.stage == stage)?;
        Some(&left_out.reason)
    }

    /// The stages that have cases in this run, in order.
    fn stages(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !names.contains(&case.stage.as_str()) {
                names.push(&case.stage);
            }
        }
        names
    }

    fn stage_of_plan(&self, name: &str) -> Option<&plan::Stage> {
        self.plan.as_ref().and_then(|plan| plan.stage(name))
    }

    /// Returns true if a case has no outcome because earlier rounds of its stage were enough.
    fn is_not_needed(&self, case: &CaseRecord) -> bool {
        case.state == CaseState::Pending && self.settled.contains(&case.stage)
    }

    fn is_simulated(&self) -> bool {
        self.manifest.engine == "sim"
    }
}

/// The name of a stage, repeated.
fn stage_name(stage: &str) -> Cited {
    Cited::quote(stage, findings::Source::quote("stage"))
}

/// The name of a case, repeated.
fn case_name(stage: &str, case: &str) -> Cited {
    Cited::quote(case, findings::Source::quote(&format!("case/{stage}")))
}

/// Words that may name a percentile: `read p99`.
fn percentile_words(words: &str) -> Cited {
    let mut whole = Cited::default();
    for (place, word) in words.split(' ').enumerate() {
        if place > 0 {
            whole.push(" ");
        }
        let is_percentile =
            word.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        whole.push(if is_percentile {
            Cited::quote(word, findings::Source::other("name", "percentile"))
        } else {
            Cited::words(word)
        });
    }
    whole
}

/// Number of things that the page itself leaves out.
fn left_out(count: usize, what: &str) -> Quantity {
    Quantity::new(count as f64, Unit::Count, findings::Source::other("page", what))
}

/// The identifier of a stage's section.
fn section_id(stage: &str) -> String {
    let name: String = stage.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("stage-{name}")
}

/// The charts that the plan asks for with this stage first, against this setting (`None`: time), of this kind.
fn asked_for<'a>(
    source: &'a Source<'_>,
    stage: &'a str,
    setting: Option<&'a str>,
    kind: quantity::Kind,
) -> impl Iterator<Item = &'a plan::Chart> {
    source.plan.iter().flat_map(|plan| &plan.charts).filter(move |chart| {
        let is_axis = match chart.x {
            plan::ChartAxis::Time => setting.is_none(),
            plan::ChartAxis::Setting(name) => setting == Some(name),
            plan::ChartAxis::Written | plan::ChartAxis::Latency | plan::ChartAxis::Quantity(_) => false,
        };
        is_axis
            && requested_charts::is_plain(chart)
            && chart.stages.iter().any(|name| name == stage)
            && chart.y.first().is_some_and(|first| quantity::Kind::of(first.name()) == kind)
    })
}

/// Names the chart of the published test that this one repeats.
fn published_as(chart: &plan::Chart) -> String {
    chart.published_as.as_ref().map(|name| format!("In the published test: {name}.")).unwrap_or_default()
}

fn stage_axes(source: &Source<'_>) -> Vec<(String, Vec<String>)> {
    let of_stage = |stage: &str| {
        let settings: Vec<_> =
            source.cases.iter().filter(|case| case.stage == stage).map(|case| &*case.settings).collect();
        let preferred: Vec<&str> =
            source.stage_of_plan(stage).map(|stage| stage.axes().collect()).unwrap_or_default();
        axes::varying(&settings, &preferred).into_iter().map(str::to_owned).collect()
    };
    source.stages().into_iter().map(|stage| (stage.to_owned(), of_stage(stage))).collect()
}

/// Stages whose rounds were enough before the last that the plan allows.
fn settled(events: &[store::Event]) -> Vec<String> {
    let ends = events.iter().filter(|event| event.kind == findings::STAGE_ENDED_EVENT);
    let stage = |event: &store::Event| Some(event.data.as_ref()?.get("stage")?.as_str()?.to_owned());
    ends.filter_map(stage).collect()
}

/// The results of cases that are done, shared with the findings where there are any.
fn results(
    run: &RunReader,
    cases: &[CaseRecord],
    found: Option<&Findings>,
) -> Result<Vec<(u32, Arc<CaseResult>)>, store::StoreError> {
    let Some(found) = found else {
        let read = run.indexed_results()?;
        let done = read.into_iter().filter(|(_, result)| result.status == CaseStatus::Done);
        return Ok(done.map(|(index, result)| (index, Arc::new(result))).collect());
    };
    let of_case = |case: &CaseRecord| Some((case.index, found.result(&case.stage, &case.name)?.clone()));
    Ok(cases.iter().filter_map(of_case).collect())
}

/// The report of a run, finished or not.
pub fn from_run(run: &RunReader) -> Result<Report, ReportError> {
    let _snapshot = run.snapshot()?;
    let manifest = run.manifest();
    let mut warnings = Vec::new();
    let cases = run.cases()?;
    let plan = match findings::kept_plan(manifest, &cases) {
        Ok(plan) => Some(plan),
        Err(error) => {
            warnings.push(cited!(
                "The plan that the run kept cannot be read by this version, so its titles and its published and declared \
                 figures are missing here: {}",
                Cited::quote(error.to_string(), findings::Source::quote("error"))
            ));
            None
        }
    };
    let events = run.events()?;
    let mut source = Source {
        run,
        manifest,
        plan,
        cases,
        results: Vec::new(),
        axes: Vec::new(),
        settled: settled(&events),
    };
    source.axes = stage_axes(&source);
    let found = match &source.plan {
        Some(plan) => Some(findings::find(run, plan)?),
        None => None,
    };
    source.results = results(run, &source.cases, found.as_ref())?;

    let plan_title = match &source.plan {
        Some(plan) => Cited::quote(&plan.title, findings::Source::quote("plan")),
        None => Cited::quote(&manifest.plan.name, findings::Source::quote("manifest")),
    };
    let targets: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
    let target = targets.join(", ");
    let origin = if source.is_simulated() {
        Origin::Simulated { twin: manifest.array.as_ref().map_or(target.clone(), |array| array.name.clone()) }
    } else {
        Origin::Measured { target: target.clone() }
    };
    let answers = match sizing::page(&source, &events) {
        Some(page) => Some(AnswersPage::Sizing(Box::new(page))),
        None => what_if::page(&events).map(|page| AnswersPage::WhatIf(Box::new(page))),
    };
    // The findings of a question's run are about loads that it tried, not about a test: its first page has its answers alone.
    let reported = found.as_ref().filter(|_| answers.is_none());
    warnings.extend(answers.as_ref().map(|answers| match answers {
        AnswersPage::Sizing(_) => sizing::warning(),
        AnswersPage::WhatIf(_) => what_if::warning(),
    }));
    warnings.extend(facts::warnings(&source)?);
    let (pictures, missing) = pictures::of(&source);
    warnings.extend(missing);
    let has_ended = |case: &&CaseRecord| matches!(case.state, CaseState::Ended(_));
    let mut time_budget = time_charts::Budget::for_cases(source.cases.iter().filter(has_ended).count());
    let mut chart_budget = axis_charts::CHARTS_LIMIT;
    let mut case_budget = case_charts::CASES_LIMIT;
    let mut sections = Vec::new();
    for name in source.stages() {
        let mut budgets = stage::Budgets {
            charts: &mut chart_budget,
            times: &mut time_budget,
            cases_in_detail: &mut case_budget,
        };
        sections.push(stage::section(&source, found.as_ref(), name, &mut budgets)?);
    }
    sections.splice(0..0, stage::across(&source, found.as_ref())?);
    let needed = source.cases.iter().filter(|case| !source.is_not_needed(case)).count();
    let quote = |text: &str| Cited::quote(text, findings::Source::quote("manifest"));
    let mut report = Report {
        title: plan_title,
        subtitle: cited!(
            "Plan {} on {}, {}, {}",
            quote(&manifest.plan.name),
            quote(&target),
            Quantity::cases(needed, "needed").count("case"),
            Cited::quote(facts::day(&manifest.created_utc), findings::Source::quote("manifest/created_utc"))
        ),
        origin,
        facts: facts::facts(&source),
        verdict: verdict::of(&source, answers.is_some())?,
        decision: match answers {
            None => decision::of(&source, found.as_ref())?,
            Some(_) => Decision::default(),
        },
        answers,
        model: model_lines::of(&source),
        headlines: reported.map(headlines::of).unwrap_or_default(),
        in_short: reported
            .map(|found| conclusions::in_short(found, model_lines::has_no_garbage_collection(&source)))
            .unwrap_or_default(),
        conclusions: reported.map(conclusions::sentences).unwrap_or_default(),
        warnings,
        requirements: requirements::sheet(&source)?.into_iter().collect(),
        pictures,
        bench: parts::drawing(manifest),
        tested: facts::tested(&source)?,
        comparisons: comparison::tables(&source)
            .into_iter()
            .chain(found.as_ref().and_then(conclusions::claims))
            .collect(),
        sections,
        not_run: facts::not_run(&source),
        method: facts::method(&source),
        inventory: inventory::outputs(&source)?,
        findings: Vec::new(),
        claims: found
            .iter()
            .flat_map(Findings::claims)
            .filter_map(|claim| serde_json::to_value(claim).ok())
            .collect(),
    };
    if let Some(found) = &found {
        report.findings = report.cited_findings(found);
    }
    Ok(report)
}
