//! What a reader needs to judge or repeat a run: facts, headline figures, warnings, what has no result, method.

use super::quantity::{self, Kind};
use super::{ReportError, Source, axes, section_id};
use crate::model::{Column, Fact, Headline, Table};
use serde_json::Value;
use store::{CaseResult, CaseState, CaseStatus};
use units::human_count;

/// Rows of a table of changes or of cases without result; beyond, a last row says how many more there are.
const ROWS_LIMIT: usize = 200;
/// Different warnings shown.
const WARNINGS_LIMIT: usize = 30;

/// `2026-11-20T13:37:10Z` → `20 November 2026`; anything else as it is.
pub fn day(created_utc: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let parsed = || {
        let (date, _) = created_utc.split_once('T')?;
        let mut parts = date.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let name = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        Some(format!("{} {name} {year}", day.parse::<u32>().ok()?))
    };
    parsed().unwrap_or_else(|| created_utc.to_owned())
}

pub fn facts(source: &Source<'_>) -> Vec<Fact> {
    let manifest = source.manifest;
    let mut facts = vec![Fact::new("Plan", format!("{} ({})", manifest.plan.name, manifest.plan.source))];
    if let Some(array) = &manifest.array {
        facts.push(Fact::new("Array", format!("{} ({})", array.name, array.source)));
    }
    for target in &manifest.targets {
        facts.push(Fact::new("Target", &target.spec));
        if !target.identity.is_null() && !source.is_simulated() {
            facts.push(Fact::new("Identity", flat(&target.identity)));
        }
    }
    let engine = if source.is_simulated() { "sim (simulated time)" } else { &manifest.engine };
    facts.push(Fact::new("Load by", engine));
    facts.push(Fact::new("Started", manifest.created_utc.replace('T', " ").replace('Z', " UTC")));
    facts.push(Fact::new("Version", format!("arraylab {}", manifest.arraylab_version)));
    facts.push(Fact::new("Seed", manifest.seed.to_string()));
    facts.push(Fact::new("Sampled every", units::human_duration(manifest.interval_ns)));
    facts.push(Fact::new("Cases", case_counts(source)));
    facts.push(Fact::new("Run", &manifest.run_id));
    // Where the program lay on that host is nothing to repeat.
    if let [_, arguments @ ..] = manifest.command_line.as_slice() {
        facts.push(Fact::new("Command", format!("arraylab {}", arguments.join(" "))));
    }
    // A twin does not know its host, and its results do not depend on it.
    if let (false, Some(host)) = (source.is_simulated(), manifest.host.as_object()) {
        let is_short = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
        for (name, value) in host.iter().filter(|(_, value)| is_short(value)).take(12) {
            facts.push(Fact::new(format!("Host: {}", name.replace('_', " ")), flat(value)));
        }
    }
    facts
}

fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(facts) => {
            let words = facts.iter().filter(|(_, value)| !value.is_null());
            words
                .map(|(name, value)| format!("{} {}", name.replace('_', " "), flat(value)))
                .collect::<Vec<_>>()
                .join(", ")
        }
        Value::Array(values) => values.iter().map(flat).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn state_name(state: CaseState) -> &'static str {
    match state {
        CaseState::Pending => "not yet run",
        CaseState::Begun => "begun, without an outcome",
        CaseState::Ended(status) => status.name(),
    }
}

fn case_counts(source: &Source<'_>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for case in &source.cases {
        let name =
            if source.is_not_needed(case) { "of later rounds not needed" } else { state_name(case.state) };
        match counts.iter_mut().find(|count| count.0 == name) {
            Some(count) => count.1 += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// The largest rates and the lowest latency, each with its case.
pub fn headlines(source: &Source<'_>) -> Vec<Headline> {
    let best = |label: &str, paths: &[&str], is_least: bool| {
        let kind = Kind::of(paths[0]);
        let candidates = source.done().flat_map(|(_, result)| {
            paths
                .iter()
                .filter_map(move |path| quantity::value(result, path).map(|value| (value, *path, result)))
        });
        let better = |a: &(f64, &str, &CaseResult), b: &(f64, &str, &CaseResult)| {
            if is_least { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) }
        };
        // Of equals the first in the order of the plan.
        let chosen = candidates
            .filter(|candidate| candidate.0 > 0.0)
            .reduce(|a, b| if better(&a, &b).is_lt() { b } else { a });
        chosen.map(|(value, path, result)| {
            let mut detail = findings::case_words(&result.case, &result.settings);
            if kind == Kind::Latency {
                detail = format!("{}, {detail}", quantity::words(path));
            } else if let Some((path, latency)) = slower_mean(result) {
                detail = format!("{detail}, {} {}", quantity::words(path), units::human_latency(latency));
            }
            Headline {
                label: label.into(),
                value: kind.text(value),
                detail,
                section_id: section_id(&result.stage),
            }
        })
    };
    [
        best("Peak IOPS", &["iops"], false),
        best("Peak bandwidth", &["bw_bytes_per_s"], false),
        best("Lowest mean latency", &["read.latency_ns.mean", "write.latency_ns.mean"], true),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The mean latency of the slower direction, what bounds a rate, and which it is.
fn slower_mean(result: &CaseResult) -> Option<(&'static str, f64)> {
    ["read.latency_ns.mean", "write.latency_ns.mean"]
        .into_iter()
        .filter_map(|path| quantity::value(result, path).map(|latency| (path, latency)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

pub fn warnings(source: &Source<'_>) -> Result<Vec<String>, ReportError> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut note = |text: &str| match found.iter_mut().find(|warning| warning.0 == text) {
        Some(warning) => warning.1 += 1,
        None => found.push((text.to_owned(), 1)),
    };
    let selection = &source.manifest.selection;
    if !selection.set.is_empty() {
        let words: Vec<String> =
            selection.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        note(&format!("Settings of the plan were overridden for this run: {}.", words.join(" ")));
    }
    if !source.manifest.overrides.is_empty() {
        let words: Vec<String> =
            source.manifest.overrides.iter().map(|(name, value)| format!("{name}={value}")).collect();
        note(&format!("The array was changed from its description: {}.", words.join(" ")));
    }
    let is_unfinished =
        |case: &&store::CaseRecord| !matches!(case.state, CaseState::Ended(_)) && !source.is_not_needed(case);
    let unfinished = source.cases.iter().filter(is_unfinished).count();
    if unfinished > 0 {
        note(&format!(
            "The run is not complete: {unfinished} of {} without an outcome.",
            human_count(source.cases.len() as u64, "case")
        ));
    }
    let errors: u64 =
        source.done().flat_map(|(_, result)| [&result.read, &result.write]).flatten().map(|d| d.errors).sum();
    if errors > 0 {
        note(&format!(
            "{} failed in cases that count as done; rates and latencies leave that out.",
            human_count(errors, "operation")
        ));
    }
    for warning in source.run.warnings()? {
        note(&warning.text);
    }
    for (_, result) in &source.results {
        result.warnings.iter().for_each(|warning| note(warning));
    }
    let more = found.len().saturating_sub(WARNINGS_LIMIT);
    let mut texts: Vec<String> = found
        .into_iter()
        .take(WARNINGS_LIMIT)
        .map(|(text, count)| if count > 1 { format!("{text} ({count} times)") } else { text })
        .collect();
    if more > 0 {
        texts.push(format!("In the run’s database: {}.", human_count(more as u64, "further warning")));
    }
    Ok(texts)
}

/// The stages, and the settings that were changed for the run.
pub fn tested(source: &Source<'_>) -> Result<Vec<Table>, ReportError> {
    let rows = source.stages().into_iter().map(|name| {
        let cases: Vec<_> = source.cases.iter().filter(|case| case.stage == name).collect();
        let settings: Vec<_> = cases.iter().map(|case| &case.settings).collect();
        let of_plan = source.stage_of_plan(name);
        let varying = source.axes_of(name);
        let words: Vec<String> = varying
            .iter()
            .map(|axis| {
                let values = axes::values(&settings, axis);
                let texts: Vec<String> = values.iter().map(|value| axes::value_text(axis, value)).collect();
                match texts.as_slice() {
                    [first, .., last] if texts.len() > 4 => {
                        format!("{first} … {last} ({} values)", texts.len())
                    }
                    _ => texts.join(", "),
                }
            })
            .collect();
        let title = of_plan.and_then(|stage| stage.title.clone()).unwrap_or_default();
        vec![name.to_owned(), title, words.join("; "), cases.len().to_string()]
    });
    let stages = Table {
        id: "stages".into(),
        caption: "Stages".into(),
        columns: vec![
            Column::words("Stage"),
            Column::words("What it shows"),
            Column::words("What varies"),
            Column::numbers("Cases"),
        ],
        rows: rows.collect(),
    };
    let changes = source.run.setting_changes()?;
    let mut tables = vec![stages];
    if !changes.is_empty() {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not readable".into());
        let rows = changes.iter().map(|change| {
            vec![change.scope.clone(), change.name.clone(), text(&change.before), text(&change.after)]
        });
        tables.push(Table {
            id: "changed".into(),
            caption: "Settings changed for the run".into(),
            columns: vec![
                Column::words("Of"),
                Column::words("Setting"),
                Column::words("Before"),
                Column::words("During"),
            ],
            rows: limited(rows.collect()),
        });
    }
    Ok(tables)
}

fn limited(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    if rows.len() > ROWS_LIMIT {
        let (more, width) = (rows.len() - ROWS_LIMIT, rows[0].len());
        rows.truncate(ROWS_LIMIT);
        let mut last = vec![String::new(); width];
        last[0] = format!("and {more} more");
        rows.push(last);
    }
    rows
}

/// Cases without a result and why; stages of the plan that were not chosen.
pub fn not_run(source: &Source<'_>) -> Vec<Table> {
    let mut rows = Vec::new();
    let has_none = |case: &&store::CaseRecord| {
        case.state != CaseState::Ended(CaseStatus::Done) && !source.is_not_needed(case)
    };
    for case in source.cases.iter().filter(has_none) {
        let why = case.error.clone().unwrap_or_default();
        rows.push(vec![case.stage.clone(), case.name.clone(), state_name(case.state).to_owned(), why]);
    }
    let chosen = source.stages();
    for stage in source
        .plan
        .iter()
        .flat_map(|plan| &plan.stages)
        .filter(|stage| !chosen.contains(&stage.name.as_str()))
    {
        let all = "the whole stage".to_owned();
        rows.push(vec![
            stage.name.clone(),
            all,
            "not chosen".into(),
            "left out of this run by its --stage or --only".into(),
        ]);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    vec![Table {
        id: "without-result".into(),
        caption: "Cases and stages without a result".into(),
        columns: vec![
            Column::words("Stage"),
            Column::words("Case"),
            Column::words("Status"),
            Column::words("Why"),
        ],
        rows: limited(rows),
    }]
}

pub fn method(source: &Source<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(plan) = &source.plan {
        texts.extend(plan.author.iter().map(|author| format!("Plan by {author}.")));
        let paragraphs = plan.intro.iter().flat_map(|intro| intro.split("\n\n"));
        texts.extend(paragraphs.map(str::trim).filter(|paragraph| !paragraph.is_empty()).map(str::to_owned));
        texts.extend(plan.notes.iter().cloned());
    }
    let by = if source.is_simulated() {
        "The load was issued to a twin: a model built from the parts of the array (links, controllers, drives, layout), in \
         simulated time. The same plan, array, seed and version give the same figures on every machine."
            .to_owned()
    } else {
        format!("The load was issued by {} in real time.", source.manifest.engine)
    };
    texts.push(by);
    texts.push(
        "Rates are means over the counted time of a case, after its ramp. Latency is completion latency (fio’s clat); \
         in open loop it counts from the intended arrival. Percentiles are read from merged histograms with fio’s bins, \
         whose relative error is at most 1/128; percentiles are never averaged. 1 MB is 10⁶ bytes, 4k is 4,096 bytes."
            .into(),
    );
    texts
}
