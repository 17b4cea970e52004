//! One table over all arrays: what each reached in its test, published figures beside the twin's, and a user's run among
//! them.
//!
//! The twins' figures are kept in `reference/twins.jsonl`, which `make reports` writes from the runs that it makes; those of
//! published tests are drawn from their CSV.

use crate::escape::html;
use crate::model::{Column, Table};
use findings::Cited;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write as _;
use store::{CaseResult, CaseStatus, Manifest, RunReader};

/// The kept figures of the shipped twins.
const KEPT: &str = include_str!("../reference/twins.jsonl");
/// A rate is said to last from here on.
const SUSTAINED_AFTER_S: f64 = 600.0;

/// A figure and the case that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The figure, in the base unit.
    pub value: f64,
    /// Stage and case; empty for a published one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
}

/// Origin of an entry's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOrigin {
    /// A twin in simulated time.
    Twin,
    /// A published test.
    Published,
    /// A device or file.
    Measured,
}

/// Figures of an array or of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The array's or the target's name.
    pub name: String,
    /// The plan.
    pub plan: String,
    /// Origin of the figures.
    pub origin: EntryOrigin,
    /// Parts of the plan that were changed or left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shortened: String,
    /// Most I/Os a second.
    pub max_iops: Option<Figure>,
    /// Most bytes a second.
    pub max_bw_bytes_per_s: Option<Figure>,
    /// Lowest mean latency of a case, over all its I/Os; of a direction where it is published.
    pub min_latency_ns: Option<Figure>,
    /// Most random writes a second that last.
    pub sustained_write_iops: Option<Figure>,
    /// Most bytes a second of sequential reads.
    pub stream_read_bw_bytes_per_s: Option<Figure>,
    /// Most bytes a second of sequential writes.
    pub stream_write_bw_bytes_per_s: Option<Figure>,
}

/// One of the compared quantities.
pub(crate) struct Measure {
    pub(crate) title: &'static str,
    pub(crate) of: fn(&Entry) -> Option<&Figure>,
    pub(crate) text: fn(f64) -> String,
    pub(crate) is_less_better: bool,
}

pub(crate) const MEASURES: [Measure; 6] = [
    Measure {
        title: "Peak IOPS",
        of: |entry| entry.max_iops.as_ref(),
        text: |value| units::human_rate(value),
        is_less_better: false,
    },
    Measure {
        title: "Peak bandwidth",
        of: |entry| entry.max_bw_bytes_per_s.as_ref(),
        text: |value| units::human_bandwidth(value),
        is_less_better: false,
    },
    Measure {
        title: "Lowest mean latency",
        of: |entry| entry.min_latency_ns.as_ref(),
        text: |value| units::human_latency(value),
        is_less_better: true,
    },
    Measure {
        title: "Sustained random write",
        of: |entry| entry.sustained_write_iops.as_ref(),
        text: |value| units::human_rate(value),
        is_less_better: false,
    },
    Measure {
        title: "Streaming reads",
        of: |entry| entry.stream_read_bw_bytes_per_s.as_ref(),
        text: |value| units::human_bandwidth(value),
        is_less_better: false,
    },
    Measure {
        title: "Streaming writes",
        of: |entry| entry.stream_write_bw_bytes_per_s.as_ref(),
        text: |value| units::human_bandwidth(value),
        is_less_better: false,
    },
];

/// The shipped twins.
pub fn kept_entries() -> Vec<Entry> {
    KEPT.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Entries of the published tests of the shipped plans, as far as they exist as text.
pub fn published_entries() -> Vec<Entry> {
    plan::shipped_plans()
        .iter()
        .filter_map(|shipped| {
            let plan = plan::load_plan(shipped.name).ok()?.plan;
            if plan.published.is_empty() {
                return None;
            }
            let figures = || plan.published.iter().flat_map(|table| &table.rows).flat_map(|row| &row.figures);
            let best = |wanted: fn(&str) -> bool, is_least: bool| {
                let values =
                    figures().filter(|figure| wanted(figure.quantity.name())).map(|figure| figure.value);
                let value = if is_least { values.reduce(f64::min) } else { values.reduce(f64::max) };
                value.map(|value| Figure { value, at: String::new() })
            };
            Some(Entry {
                name: plan.name.clone(),
                plan: plan.name.clone(),
                origin: EntryOrigin::Published,
                shortened: String::new(),
                max_iops: best(|name| name == "iops", false),
                max_bw_bytes_per_s: best(|name| name == "bw_bytes_per_s", false),
                min_latency_ns: least_latency(&plan),
                sustained_write_iops: best(|name| name == "sustained.iops", false),
                stream_read_bw_bytes_per_s: None,
                stream_write_bw_bytes_per_s: None,
            })
        })
        .collect()
}

/// Results of a run by the number of the case, with what each sustains.
pub(crate) fn results_of(run: &RunReader) -> Result<Vec<(u32, CaseResult)>, crate::ReportError> {
    let mut results = run.indexed_results()?;
    if let Ok(plan) = findings::kept_plan(run.manifest(), &run.cases()?) {
        let found = findings::find(run, &plan)?;
        findings::add_sustained(results.iter_mut().map(|(_, result)| result), &found);
    }
    Ok(results)
}

/// The figures of a run.
pub fn entry_of(run: &RunReader) -> Result<Entry, crate::ReportError> {
    let results = results_of(run)?;
    let results: Vec<&CaseResult> = results.iter().map(|(_, result)| result).collect();
    Ok(entry_from(run.manifest(), &results))
}

/// The figures of results.
pub(crate) fn entry_from(manifest: &Manifest, results: &[&CaseResult]) -> Entry {
    let done: Vec<&CaseResult> =
        results.iter().copied().filter(|result| result.status == CaseStatus::Done).collect();
    let best = |of: &dyn Fn(&CaseResult) -> Option<f64>, is_least: bool| {
        let mut found: Option<Figure> = None;
        for result in &done {
            let Some(value) = of(result).filter(|value| *value > 0.0) else { continue };
            let is_better = found
                .as_ref()
                .is_none_or(|found| if is_least { value < found.value } else { value > found.value });
            if is_better {
                found = Some(Figure { value, at: format!("{} {}", result.stage, result.case) });
            }
        }
        found
    };
    let word = |result: &CaseResult, name: &str| {
        result.settings.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let share = |result: &CaseResult| result.settings.get("rwmixread").and_then(Value::as_u64);
    let is_random_write = |result: &CaseResult| {
        word(result, "rw").is_some_and(|rw| rw.starts_with("rand")) && share(result) == Some(0)
    };
    let streams = |pattern: &'static str| {
        move |result: &CaseResult| {
            (result.settings.get("rw").and_then(Value::as_str) == Some(pattern))
                .then_some(result.bw_bytes_per_s)
        }
    };
    let selection = &manifest.selection;
    let mut shortened: Vec<String> =
        selection.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    shortened.extend(selection.only.iter().map(|(name, values)| format!("only {name}={}", values.join(","))));
    if !selection.stages.is_empty() {
        shortened.push(format!("stages {}", selection.stages.join(" ")));
    }
    let target = manifest.targets.first().map(|target| target.spec.clone()).unwrap_or_default();
    let is_twin = manifest.engine == "sim";
    Entry {
        name: manifest.array.as_ref().filter(|_| is_twin).map_or(target, |array| array.name.clone()),
        plan: manifest.plan.name.clone(),
        origin: if is_twin { EntryOrigin::Twin } else { EntryOrigin::Measured },
        shortened: shortened.join("; "),
        max_iops: best(&|result| Some(result.iops), false),
        max_bw_bytes_per_s: best(&|result| Some(result.bw_bytes_per_s), false),
        min_latency_ns: best(&|result| mean_latency_ns(result), true),
        sustained_write_iops: best(
            &|result| {
                let lasts = is_random_write(result) && result.duration_s >= SUSTAINED_AFTER_S;
                result.sustained.filter(|_| lasts).map(|sustained| sustained.iops)
            },
            false,
        ),
        stream_read_bw_bytes_per_s: best(&streams("read"), false),
        stream_write_bw_bytes_per_s: best(&streams("write"), false),
    }
}

/// The least published mean latency of reads or writes alone: a mix is published by direction, without a mean of both.
fn least_latency(plan: &plan::Plan) -> Option<Figure> {
    let is_mean = |figure: &&plan::PublishedValue| figure.quantity.name().ends_with("latency_ns.mean");
    let rows = plan.published.iter().flat_map(|table| &table.rows);
    let alone = rows.filter_map(|row| {
        let mut means = row.figures.iter().filter(is_mean);
        let first = means.next()?;
        means.next().is_none().then_some(first.value)
    });
    alone.reduce(f64::min).map(|value| Figure { value, at: String::new() })
}

/// Mean latency over all I/Os: of a mix neither direction alone.
pub(crate) fn mean_latency_ns(result: &CaseResult) -> Option<f64> {
    let parts = [&result.read, &result.write].into_iter().flatten().filter(|part| part.ios > 0);
    let (sum, ios) = parts.fold((0.0, 0.0), |(sum, ios), part| {
        (sum + part.latency_ns.mean * part.ios as f64, ios + part.ios as f64)
    });
    (ios > 0.0).then(|| sum / ios)
}

/// Label of an entry beside others.
pub fn label(entry: &Entry) -> String {
    match entry.origin {
        EntryOrigin::Twin => format!("{} (twin)", entry.name),
        EntryOrigin::Published => format!("{} (published)", entry.name),
        EntryOrigin::Measured => entry.name.clone(),
    }
}

/// The table over all entries.
pub fn table(entries: &[Entry]) -> Table {
    let mut columns = vec![Column::words("Array")];
    columns.extend(MEASURES.iter().map(|measure| Column::numbers(measure.title)));
    columns.push(Column::words("Shortened by"));
    let rows = entries
        .iter()
        .map(|entry| {
            let mut cells = vec![Cited::from(label(entry))];
            cells.extend(MEASURES.iter().map(|measure| {
                (measure.of)(entry).map(|figure| (measure.text)(figure.value).into()).unwrap_or_default()
            }));
            cells.push(entry.shortened.clone().into());
            cells
        })
        .collect();
    Table { id: "gallery".into(), caption: "What each array reached in its test".into(), columns, rows }
}

/// The gallery page: the table, each run beside the library, and links to the reports.
pub fn page(entries: &[Entry], beside: &[Table], reports: &[(String, String)]) -> String {
    let mut body = String::new();
    body.push_str(
        "<header><h1>Five published tests of storage arrays, on their twins</h1><p class=\"lead\">",
    );
    body.push_str(
        "Each row is what a test reached: the twin's figures, simulated and not measured, beside those that were published. \
         An empty cell is a figure that the test has not, or did not publish as text. Sustained random writes are those of a \
         case of ten minutes or more that found their level.</p></header><main><section id=\"arrays\"><h2>All arrays</h2>",
    );
    crate::html::write_table(&mut body, &table(entries));
    if !beside.is_empty() {
        body.push_str(
            "</section><section id=\"library\"><h2>Beside the library of published results</h2><p>A figure stands beside a \
             published one only where block size, mix, access and outstanding I/Os are alike; the others say what differs.</p>",
        );
        beside.iter().for_each(|table| crate::html::write_table(&mut body, table));
    }
    body.push_str("</section><section id=\"reports\"><h2>The reports</h2><ul>");
    for (title, link) in reports {
        let _ = write!(body, "<li><a href=\"{}\">{}</a></li>", html(link), html(title));
    }
    body.push_str("</ul></section></main>");
    crate::html::plain_page("Storage arrays on their twins", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, iops: f64, latency_ns: f64) -> Entry {
        let figure = |value| Some(Figure { value, at: "stage case".into() });
        Entry {
            name: name.into(),
            plan: "p".into(),
            origin: EntryOrigin::Twin,
            shortened: String::new(),
            max_iops: figure(iops),
            max_bw_bytes_per_s: None,
            min_latency_ns: figure(latency_ns),
            sustained_write_iops: None,
            stream_read_bw_bytes_per_s: None,
            stream_write_bw_bytes_per_s: None,
        }
    }

    /// Proves that the kept figures are read whole, and that published figures come from the shipped tables.
    #[test]
    fn kept_and_published_entries_are_there() {
        assert_eq!(KEPT.lines().filter(|line| serde_json::from_str::<Entry>(line).is_err()).count(), 0);
        let published = published_entries();
        let dorado = published.iter().find(|entry| entry.name == "dorado-2100-g2").expect("dorado");
        assert!(dorado.max_iops.as_ref().is_some_and(|figure| figure.value > 300_000.0));
        assert!(dorado.sustained_write_iops.is_some() && dorado.min_latency_ns.is_some());
    }

    /// Proves that text from a run cannot become markup of the page.
    #[test]
    fn names_are_escaped() {
        let page = page(&[entry("<script>", 1.0, 1.0)], &[], &[("<b>".into(), "a\"b".into())]);
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;") && !page.contains("a\"b"));
    }
}
