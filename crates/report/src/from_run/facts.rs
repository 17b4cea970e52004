//! Run facts: configuration, headline figures, warnings, cases without result, method.

use super::{ReportError, Source, axes, case_name, left_out, stage_name};
use crate::model::{Column, Fact, Table};
use findings::{Cited, Quantity, Unit, cited};
use serde_json::Value;
use store::{CaseState, CaseStatus};

/// A text repeated from the manifest.
fn manifest_text(text: impl Into<String>) -> Cited {
    Cited::quote(text, findings::Source::quote("manifest"))
}

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
    let quote = |text: &str| manifest_text(text);
    let mut facts =
        vec![Fact::new("Plan", cited!("{} ({})", quote(&manifest.plan.name), quote(&manifest.plan.source)))];
    if let Some(array) = &manifest.array {
        facts.push(Fact::new("Array", cited!("{} ({})", quote(&array.name), quote(&array.source))));
    }
    for target in &manifest.targets {
        facts.push(Fact::new("Target", quote(&target.spec)));
        if !target.identity.is_null() && !source.is_simulated() {
            facts.push(Fact::new("Identity", quote(&flat(&target.identity))));
        }
    }
    let engine = if source.is_simulated() { "sim (simulated time)" } else { &manifest.engine };
    facts.push(Fact::new("Load by", quote(engine)));
    let started = manifest.created_utc.replace('T', " ").replace('Z', " UTC");
    facts.push(Fact::new("Started", Cited::quote(started, findings::Source::quote("manifest/created_utc"))));
    facts.push(Fact::new("Version", cited!("arraylab {}", quote(&manifest.arraylab_version))));
    facts.push(Fact::new("Seed", quote(&manifest.seed.to_string())));
    let interval = Quantity::new(
        manifest.interval_ns as f64 / 1e9,
        Unit::S,
        findings::Source::other("manifest", "interval"),
    );
    facts.push(Fact::new("Sampled every", interval.printed(units::human_duration(manifest.interval_ns))));
    facts.push(Fact::new("Cases", case_counts(source)));
    facts.push(Fact::new("Run", quote(&manifest.run_id)));
    // Where the program lay on that host is nothing to repeat.
    if let [_, arguments @ ..] = manifest.command_line.as_slice() {
        facts.push(Fact::new(
            "Command",
            Cited::quote(
                format!("arraylab {}", arguments.join(" ")),
                findings::Source::quote("manifest/command_line"),
            ),
        ));
    }
    // A twin does not know its host, and its results do not depend on it.
    if let (false, Some(host)) = (source.is_simulated(), manifest.host.as_object()) {
        let is_short = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
        for (name, value) in host.iter().filter(|(_, value)| is_short(value)).take(12) {
            facts.push(Fact::new(format!("Host: {}", name.replace('_', " ")), quote(&flat(value))));
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

pub fn state_name(state: CaseState) -> &'static str {
    match state {
        CaseState::Pending => "not yet run",
        CaseState::Begun => "begun, without an outcome",
        CaseState::Ended(status) => status.name(),
    }
}

fn case_counts(source: &Source<'_>) -> Cited {
    let mut counts: Vec<(&'static str, &'static str, usize)> = Vec::new();
    for case in &source.cases {
        let (name, which) = if source.is_not_needed(case) {
            ("of later rounds not needed", "not-needed")
        } else {
            (state_name(case.state), state_word(case.state))
        };
        match counts.iter_mut().find(|count| count.0 == name) {
            Some(count) => count.2 += 1,
            None => counts.push((name, which, 1)),
        }
    }
    let words = counts
        .iter()
        .map(|(name, which, count)| cited!("{} {}", Quantity::cases(*count, which).plain(0), *name));
    if counts.is_empty() { "none".into() } else { Cited::join(words, ", ") }
}

/// A state as sources name it: `pending`, `begun`, `done`, `failed`, ….
pub fn state_word(state: CaseState) -> &'static str {
    match state {
        CaseState::Pending => "pending",
        CaseState::Begun => "begun",
        CaseState::Ended(status) => status.name(),
    }
}

pub fn warnings(source: &Source<'_>) -> Result<Vec<Cited>, ReportError> {
    let mut found: Vec<(Cited, usize)> = Vec::new();
    let mut note = |text: Cited| match found.iter_mut().find(|warning| *warning.0 == *text) {
        Some(warning) => warning.1 += 1,
        None => found.push((text, 1)),
    };
    let selection = &source.manifest.selection;
    if !selection.set.is_empty() {
        let words = selection.set.iter().map(|(name, value)| manifest_text(format!("{name}={value}")));
        note(cited!("Settings of the plan were overridden for this run: {}.", Cited::join(words, " ")));
    }
    if !source.manifest.overrides.is_empty() {
        let words =
            source.manifest.overrides.iter().map(|(name, value)| manifest_text(format!("{name}={value}")));
        note(cited!("The array was changed from its description: {}.", Cited::join(words, " ")));
    }
    if let Some(shard) = &source.manifest.shard {
        note(cited!(
            "This is shard {} of {}: the other cases are in other runs; `arraylab merge` puts all of them together.",
            manifest_text(shard.of.number.to_string()),
            manifest_text(shard.of.count.to_string())
        ));
    }
    let is_unfinished =
        |case: &&store::CaseRecord| !matches!(case.state, CaseState::Ended(_)) && !source.is_not_needed(case);
    let unfinished = source.cases.iter().filter(is_unfinished).count();
    if unfinished > 0 {
        note(cited!(
            "The run is not complete: {} of {} without an outcome.",
            Quantity::cases(unfinished, "unfinished").plain(0),
            Quantity::cases(source.cases.len(), "all").count("case")
        ));
    }
    let errors: u64 =
        source.done().flat_map(|(_, result)| [&result.read, &result.write]).flatten().map(|d| d.errors).sum();
    if errors > 0 {
        let errors = Quantity::new(errors as f64, Unit::Count, findings::Source::other("results", "errors"));
        note(cited!(
            "{} failed in cases that count as done; rates and latencies leave that out.",
            errors.count("operation")
        ));
    }
    let quote = |text: &str| Cited::quote(text, findings::Source::quote("warning"));
    // A warning of a case is among those of the run, and is counted once.
    for warning in source.run.warnings()? {
        note(quote(&warning.text));
    }
    let more = found.len().saturating_sub(WARNINGS_LIMIT);
    let mut texts: Vec<Cited> = found
        .into_iter()
        .take(WARNINGS_LIMIT)
        .map(|(text, count)| {
            if count == 1 {
                return text;
            }
            let source = findings::Source::other("warnings", &text);
            let times = Quantity::new(count as f64, Unit::Count, source).plain(0);
            cited!("{} ({} times)", text, times)
        })
        .collect();
    if more > 0 {
        texts.push(cited!("In the run’s database: {}.", left_out(more, "warnings").count("further warning")));
    }
    Ok(texts)
}

/// The stages, and the settings that were changed for the run.
pub fn tested(source: &Source<'_>) -> Result<Vec<Table>, ReportError> {
    let rows = source.stages().into_iter().map(|name| {
        let cases: Vec<_> = source.cases.iter().filter(|case| case.stage == name).collect();
        let settings: Vec<_> = cases.iter().map(|case| &*case.settings).collect();
        let of_plan = source.stage_of_plan(name);
        let varying = source.axes_of(name);
        let words = varying.iter().map(|axis| {
            let values = axes::values(&settings, axis);
            let of_value = |value: &Value| {
                let case = cases.iter().find(|case| case.settings.get(*axis) == Some(value));
                case.map(|case| axes::cited(name, &case.name, &case.settings, axis)).unwrap_or_default()
            };
            let count = Quantity::new(
                values.len() as f64,
                Unit::Count,
                findings::Source::other("values", &format!("{name}/{axis}")),
            );
            match values.as_slice() {
                [first, .., last] if values.len() > 4 => {
                    cited!("{} … {} ({})", of_value(first), of_value(last), count.count("value"))
                }
                values => Cited::join(values.iter().map(of_value), ", "),
            }
        });
        let title = of_plan.and_then(|stage| stage.title.as_deref()).unwrap_or_default();
        vec![
            stage_name(name),
            Cited::quote(title, findings::Source::quote("plan")),
            Cited::join(words, "; "),
            Quantity::cases(cases.len(), &format!("stage/{name}")).plain(0),
        ]
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
        let quote = |text: &str| Cited::quote(text, findings::Source::quote("settings-changed"));
        let text = |value: &Option<String>| value.as_deref().map_or_else(|| "not readable".into(), quote);
        let rows = changes.iter().map(|change| {
            vec![quote(&change.scope), quote(&change.name), text(&change.before), text(&change.after)]
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

fn limited(mut rows: Vec<Vec<Cited>>) -> Vec<Vec<Cited>> {
    if rows.len() > ROWS_LIMIT {
        let (more, width) = (rows.len() - ROWS_LIMIT, rows[0].len());
        rows.truncate(ROWS_LIMIT);
        let mut last = vec![Cited::default(); width];
        last[0] = cited!("and {} more", left_out(more, "rows").plain(0));
        rows.push(last);
    }
    rows
}

/// Cases without a result and why, those that the run left out among them; stages of the plan that were not chosen.
pub fn not_run(source: &Source<'_>) -> Vec<Table> {
    let mut rows = Vec::new();
    let has_none = |case: &&store::CaseRecord| {
        case.state != CaseState::Ended(CaseStatus::Done) && !source.is_not_needed(case)
    };
    for case in source.cases.iter().filter(has_none) {
        let why = Cited::quote(case.error.clone().unwrap_or_default(), findings::Source::quote("error"));
        let name = case_name(&case.stage, &case.name);
        rows.push(vec![stage_name(&case.stage), name, state_name(case.state).into(), why]);
    }
    for left_out in &source.manifest.left_out {
        let [stage, case, reason] = [&left_out.stage, &left_out.case, &left_out.reason].map(manifest_text);
        rows.push(vec![stage, case, "left out".into(), reason]);
    }
    for stage in source.not_chosen_stages() {
        rows.push(vec![
            Cited::quote(stage, findings::Source::quote("plan")),
            "the whole stage".into(),
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

pub fn method(source: &Source<'_>) -> Vec<Cited> {
    let mut texts = Vec::new();
    let quote = |text: &str| Cited::quote(text, findings::Source::quote("plan"));
    if let Some(plan) = &source.plan {
        texts.extend(plan.author.iter().map(|author| cited!("Plan by {}.", quote(author))));
        let paragraphs = plan.intro.iter().flat_map(|intro| intro.split("\n\n"));
        texts.extend(paragraphs.map(str::trim).filter(|paragraph| !paragraph.is_empty()).map(quote));
        texts.extend(plan.notes.iter().map(|note| quote(note)));
    }
    texts.push(if source.is_simulated() {
        cited!(
            "The load was issued to a twin: a model built from the parts of the array (links, controllers, drives, layout), in \
             simulated time. The same plan, array, seed and version give the same figures on every machine."
        )
    } else {
        cited!("The load was issued by {} in real time.", manifest_text(&source.manifest.engine))
    });
    let size = |bytes: f64, text: &str, name: &str| {
        Quantity::new(bytes, Unit::Bytes, findings::Source::constant(name)).printed(text)
    };
    texts.push(cited!(
        "Rates are means over the counted time of a case, after its ramp. Latency is completion latency (fio’s clat); in open \
         loop it counts from the intended arrival. Percentiles are read from merged histograms with fio’s bins, whose relative \
         error is at most {}; percentiles are never averaged. {} is {}, {} is {}.",
        Quantity::constant("histogram-error", 1.0 / 128.0).printed("1/128"),
        size(1e6, "1 MB", "megabyte"),
        size(1e6, "10⁶ bytes", "megabyte"),
        size(4096.0, "4k", "four-k"),
        size(4096.0, "4,096 bytes", "four-k")
    ));
    texts
}
