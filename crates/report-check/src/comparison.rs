//! Report of a comparison, recomputed from the runs that it compares.
//!
//! Recomputed are the figures of every case in every run, their changes, the headlines of each run, the levels on both sides of a
//! change of level, the marks, and the counts of them. What a test of significance decides (whether a difference is beyond
//! noise, where a level changes, how wide a band is) is taken as given: two implementations of such a test differ where it is close.

use crate::expression::Expression;
use crate::mismatch::Mismatch;
use crate::run::Case;
use crate::{Contradiction, Findings, Run, Text, close, each_number, each_text, is_printed_as};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Metrics of a comparison.
const METRICS: [&str; 4] = ["iops", "read_latency_ns", "write_latency_ns", "errors"];

/// Judgements in the words of the report, with their marks. `same` has none.
const MARKS: [(&str, &str); 4] =
    [("regression", "▼▼ "), ("worse", "▼ "), ("better", "▲ "), ("unknown", "? ")];

/// A smaller change, in percent, is none, however sure.
const SMALLEST_PERCENT: f64 = 0.5;

/// Everything in the report of a comparison that contradicts its runs or itself. The runs have the names that the report gives
/// them, the first is the one that others are compared with.
pub fn check_comparison(runs: &[(String, Run)], report: &Value) -> Vec<Contradiction> {
    let mut found = Findings(Vec::new());
    let compared = Compared { runs, report, edges: edges(runs, report) };
    if runs.len() < 2 {
        found.add("runs", "a comparison has two runs or more");
        return found.0;
    }
    each_text(report, &mut |text| {
        each_number(&mut found, text, &mut |found, number, own| compared.number(found, text, number, own));
    });
    compared.marks(&mut found);
    compared.verdict(&mut found);
    found.0
}

/// Runs of a comparison with its report.
struct Compared<'a> {
    runs: &'a [(String, Run)],
    report: &'a Value,
    /// Runs, from 1, with which the level of a headline changes.
    edges: BTreeMap<String, BTreeSet<usize>>,
}

/// Reads where the report says that headlines change their level.
fn edges(runs: &[(String, Run)], report: &Value) -> BTreeMap<String, BTreeSet<usize>> {
    let mut edges: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    each_text(report, &mut |text| {
        for number in text.numbers() {
            let from = number["from"].as_str().unwrap_or_default();
            if let Some(Expression::Source(kind, path)) = Expression::parse(from)
                && kind == "trend"
                && let Some((quantity, rest)) = path.split_once("/changes/")
                && let Some(run) = rest.split('/').next().and_then(|run| run.parse().ok())
                && (2..=runs.len()).contains(&run)
            {
                edges.entry(quantity.to_owned()).or_default().insert(run);
            }
        }
    });
    edges
}

/// Figure of a case under a metric of comparisons; `None` where the case has none.
fn metric(case: &Case, name: &str) -> Option<f64> {
    match name {
        "iops" => Some(case.iops()),
        "read_latency_ns" => case.quantity("read.latency_ns.mean"),
        "write_latency_ns" => case.quantity("write.latency_ns.mean"),
        "errors" => Some(case.totals.iter().map(|totals| totals.errors).sum::<u64>() as f64),
        _ => None,
    }
}

/// The case of `STAGE/CASE`, where it is done.
fn case_of<'a>(run: &'a Run, path: &str) -> Option<&'a Case> {
    run.done().find(|case| {
        path.strip_prefix(case.stage.as_str()).and_then(|rest| rest.strip_prefix('/'))
            == Some(case.name.as_str())
    })
}

/// Headline of a run.
fn headline(run: &Run, quantity: &str) -> Option<f64> {
    let cases = || run.done().filter(|case| case.iops() > 0.0);
    match quantity {
        "peak-iops" => cases().map(Case::iops).max_by(f64::total_cmp),
        "peak-bandwidth" => cases().map(Case::bytes_per_s).max_by(f64::total_cmp),
        "lowest-latency" => {
            cases().map(Case::mean_latency_ns).filter(|latency_ns| *latency_ns > 0.0).min_by(f64::total_cmp)
        }
        _ => None,
    }
}

impl Compared<'_> {
    fn number(&self, found: &mut Findings, text: Text<'_>, number: &Value, own: &str) {
        let from = number["from"].as_str().unwrap_or_default();
        let shown = |what: String| format!("{what} ({from}) in “{}”", text.text());
        let Some(expression) = Expression::parse(from) else {
            return found.add(text.place, shown(format!("“{own}” has no source that can be read")));
        };
        let Some(value) = number["value"].as_f64() else {
            let is_quoted = expression.sources().iter().all(|(kind, path)| self.is_quoted(kind, path, own));
            if !is_quoted {
                found.add(text.place, shown(format!("“{own}” does not stand there")));
            }
            return;
        };
        // A source in percent stands in a function that gives its share.
        let scale =
            if matches!(&expression, Expression::Call(name, _) if name == "percent") { 100.0 } else { 1.0 };
        match expression.value(&mut |kind, path| self.value(kind, path, value * scale)) {
            Ok(recomputed) if close(recomputed, value) => {}
            Ok(recomputed) => {
                found.add(
                    text.place,
                    shown(format!("“{own}” has the value {value}, recomputed {recomputed}")),
                );
            }
            Err(what) => found.add(text.place, shown(format!("“{own}”: {what}"))),
        }
        is_printed_as(found, text, number, value);
    }

    /// A text with digits stands in the manifest of a run, or is one of the names of the report's parts.
    fn is_quoted(&self, kind: &str, path: &str, own: &str) -> bool {
        let own = own.trim();
        let cases = || self.runs.iter().flat_map(|(_, run)| &run.cases);
        let of_manifests = || {
            // As JSON writes it, without the quotes around it.
            let written = Value::from(own).to_string();
            let written = written.trim_matches('"');
            self.runs.iter().any(|(_, run)| {
                run.manifest_text.contains(own)
                    || run.manifest_text.contains(written)
                    || has_word(&run.manifest, own)
            })
        };
        match (kind, path) {
            ("quote", "run") => self.runs.iter().any(|(name, _)| name.contains(own)),
            ("quote", "stage") => cases().any(|case| case.stage.contains(own)),
            ("quote", "case") => cases().any(|case| case.name.contains(own)),
            ("quote", "manifest" | "inventory") => of_manifests(),
            _ => false,
        }
    }

    /// Name, with the rest of the path behind it; of names that begin alike the longest.
    fn run_of<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        let rest = |name: &str| path.strip_prefix(name)?.strip_prefix('/');
        let runs =
            self.runs.iter().enumerate().filter_map(|(place, (name, _))| Some((place, name, rest(name)?)));
        runs.max_by_key(|(_, name, _)| name.len()).map(|(place, _, rest)| (place, rest))
    }

    /// The value of a source. `claimed` is what the report says, where a test decides or the page alone knows.
    fn value(&self, kind: &str, path: &str, claimed: f64) -> Result<f64, Mismatch> {
        let none = || Mismatch::Missing(format!("{kind}:{path}"));
        let is_count = claimed >= 0.0 && claimed.fract() == 0.0;
        let is_run = is_count && (1..=self.runs.len()).contains(&(claimed as usize));
        match (kind, path) {
            ("compare", "runs") => return Ok(self.runs.len() as f64),
            ("compare", "run") if is_run => return Ok(claimed),
            ("compare", "trends-left-out") if is_count => return Ok(claimed),
            ("constant", "compare-false-alarm") => return Ok(0.01),
            ("constant", "compare-smallest") => return Ok(SMALLEST_PERCENT / 100.0),
            ("constant", "confidence") => return Ok(0.95),
            ("trend", _) => return self.trend(path, claimed).ok_or_else(none),
            ("compare", _) => {}
            _ => return Err(none()),
        }
        if let Some((run, rest)) = self.run_of(path) {
            if let Some(count) = self.count_of(run, rest, claimed) {
                return Ok(count);
            }
            let (rest, field) = rest.rsplit_once('/').ok_or_else(none)?;
            let (case, name) = rest.rsplit_once('/').ok_or_else(none)?;
            let of = |run: usize| metric(case_of(&self.runs[run].1, case)?, name);
            return match field {
                // Where the first run lacks the case, its column has the figure of the first that others are held against.
                "before" | "after" => of(run),
                "change_percent" => of(0)
                    .zip(of(run))
                    .map(|(before, after)| 100.0 * (after - before) / before.max(f64::MIN_POSITIVE)),
                _ => None,
            }
            .ok_or_else(none);
        }
        let (of, what) = path.rsplit_once('/').ok_or_else(none)?;
        match what {
            "different" | "same" | "rows-left-out" => self.rows(of, what).ok_or_else(none),
            // Decided by tests, or texts of the inventory, of which the report has the lines.
            "inventory" | "inventory-left-out" | "trend-better" | "trend-worse" if is_count => Ok(claimed),
            _ => Err(none()),
        }
    }

    /// Headline of a run, or the level of a headline before or after a change.
    fn trend(&self, path: &str, claimed: f64) -> Option<f64> {
        if let Some((run, quantity)) = self.run_of(path) {
            return headline(&self.runs[run].1, quantity);
        }
        if let Some(quantity) = path.strip_suffix("/noise_percent") {
            // From the scatter of runs and of their intervals, by a test's quantile.
            return (claimed >= 0.0 && headline(&self.runs[0].1, quantity).is_some()).then_some(claimed);
        }
        let (quantity, rest) = path.split_once("/changes/")?;
        let (run, field) = rest.split_once('/')?;
        let run: usize = run.parse().ok()?;
        let edges = self.edges.get(quantity)?;
        let level = |from: usize, to: usize| {
            let values: Vec<f64> =
                self.runs[from..to].iter().filter_map(|(_, run)| headline(run, quantity)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let at = run - 1;
        match field {
            "run" => Some(run as f64),
            "before" => level(edges.range(..run).next_back().map_or(0, |edge| edge - 1), at),
            "after" => level(at, edges.range(run + 1..).next().map_or(self.runs.len(), |edge| edge - 1)),
            _ => None,
        }
    }

    /// Cases that only one of two runs has, or how many metrics have a judgement.
    fn count_of(&self, run: usize, what: &str, claimed: f64) -> Option<f64> {
        if what == "only" {
            let others = self.runs.iter().enumerate().filter(|(other, _)| (*other == 0) != (run == 0));
            let only = |other: &Run| {
                let is_alone =
                    |case: &&Case| case_of(other, &format!("{}/{}", case.stage, case.name)).is_none();
                self.runs[run].1.done().filter(is_alone).count() as f64
            };
            let counts: Vec<f64> = others.map(|(_, (_, other))| only(other)).collect();
            return counts
                .iter()
                .copied()
                .find(|count| *count == claimed)
                .or_else(|| counts.first().copied());
        }
        if !["regression", "worse", "better", "same", "unknown"].contains(&what) || run == 0 {
            return None;
        }
        let marked = |mark: &str| self.cells(run).filter(|cell| cell.starts_with(mark)).count() as f64;
        match MARKS.iter().find(|(name, _)| *name == what) {
            // Rows that are left out have a question mark or none.
            Some((_, "? ")) if self.left_out() > 0 => Some(claimed),
            Some((_, mark)) => Some(marked(mark)),
            None if self.left_out() > 0 => Some(claimed),
            None => {
                let marks: f64 = MARKS.iter().map(|(_, mark)| marked(mark)).sum();
                Some(self.cells(run).count() as f64 - marks)
            }
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Value> {
        let tables = self.report["tables"].as_array().map(Vec::as_slice).unwrap_or_default();
        tables.iter().filter(|table| table["id"].as_str().is_some_and(|id| id.starts_with("compared-")))
    }

    /// Cells of a run that are not empty, of all stages.
    fn cells(&self, run: usize) -> impl Iterator<Item = &str> {
        let rows = self.tables().flat_map(|table| table["rows"].as_array().into_iter().flatten());
        rows.filter_map(move |row| row[run + 2]["text"].as_str()).filter(|text| !text.is_empty())
    }

    /// Rows that the tables leave out, of all stages.
    fn left_out(&self) -> usize {
        let mut all = 0;
        each_text(self.report, &mut |text| {
            let is_its = |number: &&Value| {
                number["from"]
                    .as_str()
                    .is_some_and(|from| from.starts_with("compare:") && from.ends_with("/rows-left-out"))
            };
            all += text.numbers().iter().filter(is_its).filter_map(|one| one["value"].as_u64()).sum::<u64>()
                as usize;
        });
        all
    }

    /// Rows of a stage with a mark or without, and how many there are beyond those of its table.
    fn rows(&self, stage: &str, what: &str) -> Option<f64> {
        let id: String = stage.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let table = self.tables().find(|table| table["id"].as_str() == Some(&format!("compared-{id}")))?;
        let rows = table["rows"].as_array()?;
        let is_marked = |row: &&Value| {
            let cells = row.as_array().map(|cells| &cells[3..]).unwrap_or_default();
            cells.iter().any(|cell| cell["text"].as_str().is_some_and(|text| text.starts_with(['▲', '▼'])))
        };
        let different = rows.iter().filter(is_marked).count();
        // A row is a metric that the first run and another one have; of failed I/Os, where there are any.
        let (_, first) = &self.runs[0];
        let total: usize = first
            .done()
            .filter(|case| case.stage == stage)
            .map(|case| {
                let path = format!("{}/{}", case.stage, case.name);
                let others: Vec<&Case> =
                    self.runs[1..].iter().filter_map(|(_, run)| case_of(run, &path)).collect();
                let has = |name: &&&str| {
                    others.iter().any(|other| match (metric(case, name), metric(other, name)) {
                        (Some(before), Some(after)) => **name != "errors" || before + after > 0.0,
                        _ => false,
                    })
                };
                METRICS.iter().filter(has).count()
            })
            .sum();
        Some(match what {
            "different" => different,
            "same" => total.checked_sub(different)?,
            _ => total.checked_sub(rows.len())?,
        } as f64)
    }

    /// A mark goes the way of the change, and a change that small has none.
    fn marks(&self, found: &mut Findings) {
        for row in self.tables().flat_map(|table| table["rows"].as_array().into_iter().flatten()) {
            for cell in row.as_array().into_iter().flatten().skip(3) {
                let text = cell["text"].as_str().unwrap_or_default();
                let from = cell["numbers"][0]["from"].as_str().and_then(Expression::parse);
                let Some(Expression::Source(kind, path)) = from else { continue };
                let case_and_name = path.rsplit_once('/').and_then(|(rest, _)| rest.rsplit_once('/'));
                let Some((case, name)) = case_and_name.filter(|_| kind == "compare") else { continue };
                let Some((run, case)) = self.run_of(case) else { continue };
                let of = |run: usize| metric(case_of(&self.runs[run].1, case)?, name);
                let Some((before, after)) = of(0).zip(of(run)) else { continue };
                let is_gain = if name == "iops" { after > before } else { after < before };
                let place = format!("{case} {name}");
                if text.starts_with('▲') && !is_gain || text.starts_with('▼') && is_gain {
                    found.add(&place, format!("“{text}” is marked against its change from {before}"));
                }
                let percent = 100.0 * ((after - before) / before.max(f64::MIN_POSITIVE)).abs();
                if text.starts_with(['▲', '▼']) && name != "errors" && percent < SMALLEST_PERCENT - 1e-9 {
                    found.add(&place, format!("“{text}” is marked, and its change is {percent} %"));
                }
            }
        }
    }

    /// The verdict follows from the marks.
    fn verdict(&self, found: &mut Findings) {
        let is_empty = self.tables().next().is_none();
        let is_regression =
            (1..self.runs.len()).any(|run| self.cells(run).any(|cell| cell.starts_with("▼▼")));
        let expected = match (is_empty, is_regression) {
            (true, _) => "none",
            (false, true) => "fail",
            (false, false) => "pass",
        };
        let verdict = self.report["verdict"].as_str().unwrap_or_default();
        if verdict != expected {
            found.add("verdict", format!("it is {verdict}, the marks give {expected}"));
        }
    }
}

/// True if a name or a text anywhere in a value has these words.
fn has_word(value: &Value, own: &str) -> bool {
    match value {
        Value::String(text) => text.contains(own),
        Value::Array(values) => values.iter().any(|value| has_word(value, own)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains(own) || has_word(value, own))
        }
        other => {
            let written = other.to_string();
            written == own
        }
    }
}
