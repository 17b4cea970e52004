//! A stage's section: charts against its settings and against time, and the table of its results.

use super::quantity;
use super::{
    ReportError, Source, axes, axis_charts, case_charts, case_name, contours, host_charts, knee_charts,
    left_out, penalty_charts, percentile_words, requested_charts, requested_tables, searches, section_id,
    time_charts,
};
use crate::chart::scale::plain;
use crate::model::{Column, Section, Table};
use findings::{Cited, Findings, Quantity, Unit, cited};
use store::{CaseRecord, CaseResult};

/// Section over several stages, where the plan asks for any.
pub fn across(source: &Source<'_>, found: Option<&Findings>) -> Result<Option<Section>, ReportError> {
    let charts = requested_charts::charts(source, found, None)?;
    let tables = requested_tables::tables(source, found, None);
    let (contours, notes) = contours::contours(source, None);
    let is_any = !charts.is_empty() || !tables.is_empty() || !contours.is_empty() || !notes.is_empty();
    Ok(is_any.then(|| Section {
        id: "across".into(),
        title: "Over several stages".into(),
        intro: Vec::new(),
        charts,
        large_charts: usize::MAX,
        contours,
        heat_maps: Vec::new(),
        tables,
        notes,
    }))
}

/// Charts of settings or time that stay large in a stage of many.
const CHARTS_LARGE: usize = 4;

/// Remaining limits of a report.
pub struct Budgets<'a> {
    /// Charts against settings.
    pub charts: &'a mut usize,
    /// Lines against time.
    pub times: &'a mut time_charts::Budget,
    /// Cases whose parts and latencies are drawn over time.
    pub cases_in_detail: &'a mut usize,
}

pub fn section(
    source: &Source<'_>,
    found: Option<&Findings>,
    stage: &str,
    budgets: &mut Budgets<'_>,
) -> Result<Section, ReportError> {
    let of_plan = source.stage_of_plan(stage);
    let cases: Vec<&CaseRecord> = source.cases.iter().filter(|case| case.stage == stage).collect();
    let names = source.axes_of(stage);

    let mut intro = vec![constant_settings(stage, &cases, &names)];
    let of_plan_notes = of_plan.map(|stage| stage.notes.as_slice()).unwrap_or_default();
    intro.extend(of_plan_notes.iter().map(|note| Cited::quote(note, findings::Source::quote("plan"))));
    let mut notes = Vec::new();
    let mut not_drawn_at_all = 0;
    let (mut charts, searches_left_out) = searches::charts(source, found, stage);
    charts.extend(penalty_charts::charts(found, stage));
    // What limits and when, and what more load costs, come before the charts of each setting.
    let (knees, knees_left_out) = knee_charts::charts(source, found, stage);
    charts.extend(knees);
    let (cases_in_detail, heat_maps) = case_charts::charts(source, found, stage, budgets.cases_in_detail)?;
    charts.extend(cases_in_detail);
    let large_charts = charts.len() + CHARTS_LARGE;
    charts.extend(if requested_charts::decides(source, stage) {
        requested_charts::charts(source, found, Some(stage))?
    } else {
        let (mut charts, not_drawn) = axis_charts::charts(source, stage, &names, budgets.charts);
        let (over_time, more_notes) = time_charts::charts(source, stage, &names, budgets.times)?;
        charts.extend(over_time);
        charts.extend(host_charts::charts(source, stage, &names)?);
        notes = more_notes;
        not_drawn_at_all = not_drawn;
        charts
    });
    if knees_left_out > 0 {
        let count = left_out(knees_left_out, "knees").count("further chart");
        notes.push(cited!("Of latency against IOPS, not drawn: {}.", count));
    }
    if searches_left_out > 0 {
        let count = left_out(searches_left_out, "searches").count("further search");
        notes.push(cited!("Of this stage, not drawn: {}.", count));
    }
    if not_drawn_at_all > 0 {
        let count = left_out(not_drawn_at_all, "charts").count("further chart");
        notes.insert(
            0,
            cited!("Of this stage, left out to keep the page small: {}; the table has all results.", count),
        );
    }
    let name = super::stage_name(stage);
    let title = match of_plan.and_then(|stage| stage.title.as_deref()) {
        Some(title) => cited!("{} ({})", Cited::quote(title, findings::Source::quote("plan")), name),
        None => name,
    };
    let mut tables = requested_tables::tables(source, found, Some(stage));
    let (results, rows_left_out) = results(source, stage, &names);
    tables.extend(results);
    if rows_left_out > 0 {
        let count = left_out(rows_left_out, "rows").count("case");
        notes.push(cited!(
            "Of this stage, not in the table of results to keep the page small: {}; `arraylab results --csv` has all.",
            count
        ));
    }
    let (contours, not_drawn) = contours::contours(source, Some(stage));
    notes.extend(not_drawn);
    Ok(Section {
        id: section_id(stage),
        title,
        intro,
        charts,
        large_charts,
        contours,
        heat_maps,
        tables,
        notes,
    })
}

/// Settings that all cases of the stage have in common.
fn constant_settings(stage: &str, cases: &[&CaseRecord], names: &[&str]) -> Cited {
    let Some(first) = cases.first() else { return Cited::default() };
    let is_constant = |name: &&String| {
        !names.contains(&name.as_str())
            && cases.iter().all(|other| other.settings.get(*name) == first.settings.get(*name))
    };
    let words = first.settings.keys().filter(is_constant).map(|name| {
        let value = &first.settings[name];
        let source = findings::Source::setting(stage, &first.name, name);
        let text = match (value.as_str(), value.as_u64()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(bytes)) if matches!(name.as_str(), "bs" | "segment" | "size") => {
                units::Bytes(bytes).to_string()
            }
            _ => value.to_string(),
        };
        let shown = match value.as_f64() {
            Some(number) if matches!(name.as_str(), "bs" | "segment" | "size") => {
                Quantity::new(number, Unit::Bytes, source.clone()).printed(text)
            }
            Some(number) => Quantity::new(number, Unit::Setting, source.clone()).printed(text),
            None => Cited::quote(text, source.clone()),
        };
        cited!("{}={}", Cited::quote(name.as_str(), source), shown)
    });
    let varying = match names {
        [] => Cited::default(),
        names => cited!(
            " What varies: {}.",
            Cited::join(names.iter().map(|name| Cited::from(axes::title(name))), ", ")
        ),
    };
    cited!(
        "{}: {}.{}",
        Quantity::cases(cases.len(), &format!("stage/{stage}")).count("case"),
        Cited::join(words, " "),
        varying
    )
}

/// Columns of the table of results: the title, the path in `results --json`, and how much of the base unit is shown as one.
const COLUMNS: [(&str, &str, f64); 16] = [
    ("IOPS", "iops", 1.0),
    ("Bandwidth (MB/s)", "bw_bytes_per_s", 1e6),
    ("Sustained IOPS", "sustained.iops", 1.0),
    ("Sustained (MB/s)", "sustained.bw_bytes_per_s", 1e6),
    ("Read mean (ms)", "read.latency_ns.mean", 1e6),
    ("Read p50 (ms)", "read.latency_ns.p50", 1e6),
    ("Read p99 (ms)", "read.latency_ns.p99", 1e6),
    ("Read p99.9 (ms)", "read.latency_ns.p99.9", 1e6),
    ("Read p99.99 (ms)", "read.latency_ns.p99.99", 1e6),
    ("Write mean (ms)", "write.latency_ns.mean", 1e6),
    ("Write p50 (ms)", "write.latency_ns.p50", 1e6),
    ("Write p99 (ms)", "write.latency_ns.p99", 1e6),
    ("Write p99.9 (ms)", "write.latency_ns.p99.9", 1e6),
    ("Write p99.99 (ms)", "write.latency_ns.p99.99", 1e6),
    ("Read errors", "read.errors", 1.0),
    ("Write errors", "write.errors", 1.0),
];

/// Most rows of a stage's table of results: about 5 MB of page.
const ROWS_LIMIT: usize = 10_000;

/// The results of the stage's cases, and how many of them are left out. Columns that no case fills are left out.
fn results(source: &Source<'_>, stage: &str, names: &[&str]) -> (Vec<Table>, usize) {
    let rows: Vec<&CaseResult> =
        source.done().map(|(_, result)| result).filter(|result| result.stage == stage).collect();
    if rows.is_empty() {
        return (Vec::new(), 0);
    }
    let rows_left_out = rows.len().saturating_sub(ROWS_LIMIT);
    let cell = |row: &CaseResult, path: &str| {
        let found = quantity::of(row, path)?;
        // Operations that failed are told where there are any.
        (!path.ends_with("errors") || found.value() > 0.0).then_some(found)
    };
    let used: Vec<&(&str, &str, f64)> =
        COLUMNS.iter().filter(|(_, path, _)| rows.iter().any(|row| cell(row, path).is_some())).collect();
    let mut heads: Vec<Column> = names.iter().map(|name| Column::words(axes::title(name))).collect();
    if heads.is_empty() {
        heads.push(Column::words("Case"));
    }
    heads.extend(used.iter().map(|(title, _, _)| Column::numbers(percentile_words(title))));
    let rows = rows
        .iter()
        .take(ROWS_LIMIT)
        .map(|result| {
            let mut cells: Vec<Cited> = names
                .iter()
                .map(|name| axes::cited(&result.stage, &result.case, &result.settings, name))
                .collect();
            if cells.is_empty() {
                cells.push(case_name(&result.stage, &result.case));
            }
            cells.extend(used.iter().map(|(_, path, scale)| {
                let printed = |found: Quantity| {
                    let text = plain(found.value() / scale);
                    found.printed(text)
                };
                cell(result, path).map(printed).unwrap_or_default()
            }));
            cells
        })
        .collect();
    let table = Table {
        id: format!("{}-results", section_id(stage)),
        caption: "Results".into(),
        columns: heads,
        rows,
    };
    (vec![table], rows_left_out)
}
