//! A stage's section: charts against its settings and against time, and the table of its results.

use super::{ReportError, Source, asked, asked_tables, axes, axis_charts, searches, section_id, time_charts};
use crate::chart::scale::plain;
use crate::model::{Column, Section, Table};
use findings::Findings;
use store::{CaseResult, DirectionResult};

/// What stands over several stages, where the plan asks for any.
pub fn across(source: &Source<'_>, found: Option<&Findings>) -> Result<Option<Section>, ReportError> {
    let charts = asked::charts(source, found, None)?;
    let tables = asked_tables::tables(source, found, None);
    Ok((!charts.is_empty() || !tables.is_empty()).then(|| Section {
        id: "across".into(),
        title: "Over several stages".into(),
        intro: Vec::new(),
        charts,
        tables,
        notes: Vec::new(),
    }))
}

pub fn section(
    source: &Source<'_>,
    found: Option<&Findings>,
    stage: &str,
    chart_budget: &mut usize,
    time_budget: &mut time_charts::Budget,
) -> Result<Section, ReportError> {
    let of_plan = source.stage_of_plan(stage);
    let settings: Vec<_> =
        source.cases.iter().filter(|case| case.stage == stage).map(|case| &case.settings).collect();
    let names = source.axes_of(stage);

    let mut intro = vec![constant_settings(&settings, &names)];
    let mut notes = of_plan.map(|stage| stage.notes.clone()).unwrap_or_default();
    intro.append(&mut notes);
    let mut notes = Vec::new();
    let mut left_out = 0;
    let (mut charts, searches_left_out) = searches::charts(source, found, stage);
    charts.extend(if asked::decides(source, stage) {
        asked::charts(source, found, Some(stage))?
    } else {
        let (mut charts, not_drawn) = axis_charts::charts(source, stage, &names, chart_budget);
        let (over_time, more_notes) = time_charts::charts(source, stage, &names, time_budget)?;
        charts.extend(over_time);
        notes = more_notes;
        left_out = not_drawn;
        charts
    });
    if searches_left_out > 0 {
        notes.push(format!("{searches_left_out} further searches of this stage are not drawn."));
    }
    if left_out > 0 {
        notes.insert(0, format!("{left_out} further charts of this stage are left out to keep the page small; the table has all results."));
    }
    let title = match of_plan.and_then(|stage| stage.title.as_deref()) {
        Some(title) => format!("{title} ({stage})"),
        None => stage.to_owned(),
    };
    let mut tables = asked_tables::tables(source, found, Some(stage));
    tables.extend(results(source, stage, &names));
    Ok(Section { id: section_id(stage), title, intro, charts, tables, notes })
}

/// What all cases of the stage have in common.
fn constant_settings(settings: &[&serde_json::Map<String, serde_json::Value>], names: &[&str]) -> String {
    let Some(first) = settings.first() else { return String::new() };
    let constant = first.iter().filter(|(name, value)| {
        !names.contains(&name.as_str()) && settings.iter().all(|other| other.get(*name) == Some(value))
    });
    let words: Vec<String> = constant
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => format!("{name}={text}"),
            serde_json::Value::Number(bytes) if matches!(name.as_str(), "bs" | "segment" | "size") => {
                format!(
                    "{name}={}",
                    bytes.as_u64().map_or(bytes.to_string(), |bytes| units::Bytes(bytes).to_string())
                )
            }
            other => format!("{name}={other}"),
        })
        .collect();
    let varying = match names {
        [] => String::new(),
        names => format!(
            " What varies: {}.",
            names.iter().map(|name| axes::title(name)).collect::<Vec<_>>().join(", ")
        ),
    };
    format!(
        "{} {}: {}.{varying}",
        settings.len(),
        if settings.len() == 1 { "case" } else { "cases" },
        words.join(" ")
    )
}

/// The results of the stage's cases. Columns that no case fills are left out.
fn results(source: &Source<'_>, stage: &str, names: &[&str]) -> Vec<Table> {
    type Cell = fn(&CaseResult) -> Option<f64>;
    fn of_latency(
        direction: Option<&DirectionResult>,
        figure: fn(&DirectionResult) -> Option<f64>,
    ) -> Option<f64> {
        direction.filter(|direction| direction.ios > 0).and_then(figure).map(|ns| ns / 1e6)
    }
    let columns: [(&str, Cell); 14] = [
        ("IOPS", |r| Some(r.iops)),
        ("Bandwidth (MB/s)", |r| Some(r.bw_bytes_per_s / 1e6)),
        ("Sustained IOPS", |r| r.sustained.map(|sustained| sustained.iops)),
        ("Sustained (MB/s)", |r| r.sustained.map(|sustained| sustained.bw_bytes_per_s / 1e6)),
        ("Read mean (ms)", |r| of_latency(r.read.as_ref(), |d| Some(d.latency_ns.mean))),
        ("Read p50 (ms)", |r| of_latency(r.read.as_ref(), |d| d.latency_ns.p50.map(|ns| ns as f64))),
        ("Read p99 (ms)", |r| of_latency(r.read.as_ref(), |d| d.latency_ns.p99.map(|ns| ns as f64))),
        ("Read p99.9 (ms)", |r| of_latency(r.read.as_ref(), |d| d.latency_ns.p99_9.map(|ns| ns as f64))),
        ("Write mean (ms)", |r| of_latency(r.write.as_ref(), |d| Some(d.latency_ns.mean))),
        ("Write p50 (ms)", |r| of_latency(r.write.as_ref(), |d| d.latency_ns.p50.map(|ns| ns as f64))),
        ("Write p99 (ms)", |r| of_latency(r.write.as_ref(), |d| d.latency_ns.p99.map(|ns| ns as f64))),
        ("Write p99.9 (ms)", |r| of_latency(r.write.as_ref(), |d| d.latency_ns.p99_9.map(|ns| ns as f64))),
        ("Read errors", |r| r.read.as_ref().map(|d| d.errors as f64).filter(|errors| *errors > 0.0)),
        ("Write errors", |r| r.write.as_ref().map(|d| d.errors as f64).filter(|errors| *errors > 0.0)),
    ];
    let rows: Vec<&CaseResult> =
        source.done().map(|(_, result)| result).filter(|result| result.stage == stage).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let used: Vec<&(&str, Cell)> =
        columns.iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some())).collect();
    let mut heads: Vec<Column> = names.iter().map(|name| Column::words(axes::title(name))).collect();
    if heads.is_empty() {
        heads.push(Column::words("Case"));
    }
    heads.extend(used.iter().map(|(title, _)| Column::numbers(*title)));
    let rows = rows
        .iter()
        .map(|result| {
            let mut cells: Vec<String> = names
                .iter()
                .map(|name| {
                    result.settings.get(*name).map(|value| axes::value_text(name, value)).unwrap_or_default()
                })
                .collect();
            if cells.is_empty() {
                cells.push(result.case.clone());
            }
            cells.extend(used.iter().map(|(_, cell)| cell(result).map(plain).unwrap_or_default()));
            cells
        })
        .collect();
    vec![Table {
        id: format!("{}-results", section_id(stage)),
        caption: "Results".into(),
        columns: heads,
        rows,
    }]
}
