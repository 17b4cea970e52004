//! Rating of a run: its figures among published results and shipped twins of comparable conditions.
//!
//! What is not comparable is never placed: it is named with the conditions that differ.

use crate::gallery::{self, Entry, EntryOrigin, Figure, MEASURES, Measure};
use crate::table::{Column, Table};
use findings::Cited;
use library::{Conditions, Difference, FigureKind, Row, differences};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{CaseResult, CaseStatus, Manifest, RunReader};

/// A run with the conditions of each of its figures.
#[derive(Debug, Clone)]
pub struct RatedRun {
    /// Its figures.
    pub entry: Entry,
    cases: Vec<RatedCase>,
    drives: Option<u64>,
    host_ports: Option<u64>,
}

#[derive(Debug, Clone)]
struct RatedCase {
    /// Stage and case.
    at: String,
    iops: f64,
    bw_bytes_per_s: f64,
    latency_ns: Option<f64>,
    sustained_iops: Option<f64>,
    conditions: Conditions,
}

/// Rank of a run in one quantity, among figures of comparable conditions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rating {
    /// The quantity.
    pub quantity: String,
    /// The run's figure, with its unit.
    pub value: String,
    /// The run's figure.
    pub figure: f64,
    /// Its case.
    pub at: String,
    /// Place among all that are comparable, 1 the best; `None` where none is.
    pub place: Option<usize>,
    /// How many are comparable, the run among them.
    pub of: Option<usize>,
    /// The next better: whose, and its figure.
    pub better: Option<(String, String)>,
    /// The next worse.
    pub worse: Option<(String, String)>,
    /// Whether any figure is comparable.
    pub comparable: bool,
    /// Reasons against the figure that is the least different, where none is comparable.
    pub because: Vec<String>,
}

/// An entry of the library beside a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideEntry {
    /// The entry.
    pub id: String,
    /// Its system.
    pub system: String,
    /// Whether any of its rows is comparable with a case of the run.
    pub comparable: bool,
    /// Reasons against the row that is the least different, where none is comparable.
    pub because: Vec<String>,
    /// Those reasons with the values on both sides.
    pub differences: Vec<Difference>,
    /// Comparable rows, each with the case that is best beside it.
    pub beside: Vec<BesideRow>,
}

/// A published row beside a case of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideRow {
    /// Stage and case of the run.
    pub case: String,
    /// `iops`, `bw_bytes_per_s`, `latency_ns` or `sustained.iops`.
    pub quantity: &'static str,
    /// The run's figure.
    pub figure: f64,
    /// The published figure.
    pub published: f64,
    /// The run's figure divided by the published one.
    pub ratio: f64,
    /// The same of rates for each drive, where both counts are known.
    pub ratio_per_drive: Option<f64>,
    /// The same of rates for each host port, where both counts are known.
    pub ratio_per_host_port: Option<f64>,
    /// The row.
    pub row: Row,
}

/// The figures of a run, with their conditions.
pub fn rated_run(run: &RunReader) -> Result<RatedRun, crate::ReportError> {
    let manifest = run.manifest();
    let results = gallery::results_of(run)?;
    let disturbed: BTreeSet<u32> = run
        .events()?
        .into_iter()
        .filter(|event| matches!(event.kind.as_str(), "event" | "mark" | "path-lost"))
        .filter_map(|event| event.case_index)
        .collect();
    let (drives, host_ports, hosts) = parts(manifest);
    let is_simulated = manifest.engine == "sim";
    let done = results.iter().filter(|(_, result)| result.status == CaseStatus::Done);
    let cases = done.map(|(index, result)| {
        let latency_ns = gallery::mean_latency_ns(result);
        let mut conditions = Conditions::of_case(&result.settings, result.iops, latency_ns);
        conditions.is_simulated = is_simulated;
        conditions.servers = hosts;
        conditions.runtime_s = Some(result.duration_s);
        conditions.special.extend(special(result));
        if disturbed.contains(index) {
            conditions.special.push("an event disturbed it".into());
        }
        RatedCase {
            at: format!("{} {}", result.stage, result.case),
            iops: result.iops,
            bw_bytes_per_s: result.bw_bytes_per_s,
            latency_ns,
            sustained_iops: result.sustained.map(|sustained| sustained.iops),
            conditions,
        }
    });
    let cases = cases.collect();
    let results: Vec<&CaseResult> = results.iter().map(|(_, result)| result).collect();
    Ok(RatedRun { entry: gallery::entry_from(manifest, &results), cases, drives, host_ports })
}

/// Peculiarities of a result that its settings do not show.
fn special(result: &CaseResult) -> Vec<String> {
    let mut special = Vec::new();
    let errors = [&result.read, &result.write].into_iter().flatten().any(|part| part.errors > 0);
    if errors {
        special.push("I/Os failed".to_owned());
    }
    if result.loads.is_some() {
        special.push("several loads".to_owned());
    }
    if result.warnings.iter().any(|warning| warning.contains("measured through this host's memory")) {
        special.push("cached".to_owned());
    }
    special
}

/// Drives, host ports and hosts, where they are known: those of a twin, and the hosts of a measurement.
fn parts(manifest: &Manifest) -> (Option<u64>, Option<u64>, Option<u64>) {
    let parsed = manifest.array.as_ref().filter(|_| manifest.engine == "sim");
    let Some(array) = parsed.and_then(|array| plan::parse_array(&array.source, &array.text).ok()) else {
        let hosts = (manifest.engine != "import").then(|| manifest.hosts.len().max(1) as u64);
        return (None, None, hosts);
    };
    let topology = array.bench();
    let count = |parts: &[twin::TopologyPart]| {
        let all: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
        Some(all).filter(|all| *all > 0)
    };
    (count(&topology.drives), count(&topology.links), count(&topology.hosts))
}

/// A figure that another system reached.
struct Candidate {
    label: String,
    value: f64,
    conditions: Conditions,
}

/// The place of a run in every quantity that it has, among published results and shipped twins of comparable conditions.
pub fn rate(
    run: &RatedRun,
    library: &[library::Entry],
    twins: &[Entry],
    with_simulated: bool,
) -> Vec<Rating> {
    let twins = twins_with_conditions(twins);
    let rated = MEASURES.iter().enumerate().filter_map(|(index, measure)| {
        let figure = (measure.of)(&run.entry)?;
        let case = run.cases.iter().find(|case| case.at == figure.at)?;
        let mut own = case.conditions.clone();
        own.is_sustained = index == SUSTAINED;
        let mut candidates: Vec<Candidate> = twins
            .iter()
            .filter_map(|(twin, conditions)| {
                let figure = (measure.of)(twin)?;
                let mut conditions = conditions.get(&figure.at)?.clone();
                conditions.is_sustained = index == SUSTAINED;
                Some(Candidate { label: gallery::label(twin), value: figure.value, conditions })
            })
            .collect();
        for entry in library {
            candidates.extend(entry.rows.iter().filter_map(|row| {
                Some(Candidate {
                    label: format!("{} (published)", entry.id),
                    value: value_of(row, index)?,
                    conditions: library::of_row(row),
                })
            }));
        }
        Some(place(measure, figure, &own, &candidates, with_simulated))
    });
    rated.collect()
}

/// Indices of [`MEASURES`].
const PEAK_IOPS: usize = 0;
const PEAK_BANDWIDTH: usize = 1;
const LOWEST_LATENCY: usize = 2;
const SUSTAINED: usize = 3;
const STREAMING_READS: usize = 4;

/// The figure of a published row in a quantity.
fn value_of(row: &Row, measure: usize) -> Option<f64> {
    let is_sustained = row.figure == FigureKind::Sustained;
    match measure {
        PEAK_IOPS => row.iops.filter(|_| !is_sustained),
        PEAK_BANDWIDTH => row.bw_bytes_per_s.filter(|_| !is_sustained),
        LOWEST_LATENCY => row.mean_latency_ns(),
        SUSTAINED => row.iops.filter(|_| is_sustained),
        STREAMING_READS => row.bw_bytes_per_s.filter(|_| row.rw == "read"),
        _ => row.bw_bytes_per_s.filter(|_| row.rw == "write"),
    }
}

fn place(
    measure: &Measure,
    figure: &Figure,
    own: &Conditions,
    candidates: &[Candidate],
    with_simulated: bool,
) -> Rating {
    let is_better = |a: f64, b: f64| if measure.is_less_better { a < b } else { a > b };
    // Of the comparable rows of a system the best counts, as of the run the best case does.
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    let mut nearest: Option<Vec<String>> = None;
    for candidate in candidates {
        let found = differences(own, &candidate.conditions, with_simulated);
        if found.is_empty() {
            let value = best.entry(&candidate.label).or_insert(candidate.value);
            if is_better(candidate.value, *value) {
                *value = candidate.value;
            }
        } else if nearest.as_ref().is_none_or(|nearest| found.len() < nearest.len()) {
            nearest = Some(found.into_iter().map(|difference| difference.because).collect());
        }
    }
    let mut all: Vec<(&str, f64)> = best.into_iter().collect();
    all.sort_by(|a, b| if measure.is_less_better { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) });
    let better = all.iter().filter(|(_, value)| is_better(*value, figure.value)).count();
    let neighbour = |(label, value): &(&str, f64)| ((*label).to_owned(), (measure.text)(*value));
    let comparable = !all.is_empty();
    let nothing = || vec!["no other figure of this quantity".to_owned()];
    Rating {
        quantity: measure.title.into(),
        value: (measure.text)(figure.value),
        figure: figure.value,
        at: figure.at.clone(),
        place: comparable.then_some(better + 1),
        of: comparable.then_some(all.len() + 1),
        better: better.checked_sub(1).and_then(|place| all.get(place)).map(neighbour),
        worse: all.get(better).map(neighbour),
        comparable,
        because: if comparable { Vec::new() } else { nearest.unwrap_or_else(nothing) },
    }
}

/// The shipped twins, each with the conditions of the cases that its figures are from: those of its plan.
fn twins_with_conditions(twins: &[Entry]) -> Vec<(&Entry, BTreeMap<String, Conditions>)> {
    let of = |twin: &Entry| -> BTreeMap<String, Conditions> {
        let Ok(loaded) = plan::load_plan(&twin.plan) else { return BTreeMap::new() };
        let wanted: BTreeSet<&str> = MEASURES
            .iter()
            .filter_map(|measure| (measure.of)(twin).map(|figure| figure.at.as_str()))
            .collect();
        let cases = plan::expand(&loaded.plan, &plan::Selection::default()).unwrap_or_default();
        let named = cases.iter().map(|case| (format!("{} {}", case.stage, case.name), case));
        let wanted = named.filter(|(at, _)| wanted.contains(at.as_str()));
        wanted
            .map(|(at, case)| {
                let values = serde_json::to_value(&case.settings).unwrap_or_default();
                let settings = values.as_object().cloned().unwrap_or_default();
                let mut conditions = Conditions::of_case(&settings, 0.0, None);
                conditions.is_simulated = twin.origin == EntryOrigin::Twin;
                if !case.events.is_empty() {
                    conditions.special.push("an event disturbed it".into());
                }
                (at, conditions)
            })
            .collect()
    };
    twins.iter().map(|twin| (twin, of(twin))).collect()
}

/// Every entry of the library beside a run: comparable rows with the run's cases, or what differs.
pub fn beside_library(run: &RatedRun, library: &[library::Entry], with_simulated: bool) -> Vec<BesideEntry> {
    library.iter().map(|entry| beside_entry(run, entry, with_simulated)).collect()
}

fn beside_entry(run: &RatedRun, entry: &library::Entry, with_simulated: bool) -> BesideEntry {
    let mut beside: Vec<BesideRow> = Vec::new();
    let mut nearest: Option<Vec<Difference>> = None;
    for row in &entry.rows {
        let conditions = library::of_row(row);
        let mut best: Vec<BesideRow> = Vec::new();
        for case in &run.cases {
            let mut own = case.conditions.clone();
            own.is_sustained = conditions.is_sustained && case.sustained_iops.is_some();
            let found = differences(&own, &conditions, with_simulated);
            if !found.is_empty() {
                if nearest.as_ref().is_none_or(|nearest| found.len() < nearest.len()) {
                    nearest = Some(found);
                }
                continue;
            }
            for one in figures(run, entry, case, row) {
                match best.iter_mut().find(|known| known.quantity == one.quantity) {
                    None => best.push(one),
                    Some(known) => {
                        let is_better = if one.quantity == "latency_ns" {
                            one.figure < known.figure
                        } else {
                            one.figure > known.figure
                        };
                        if is_better {
                            *known = one;
                        }
                    }
                }
            }
        }
        beside.extend(best);
    }
    let comparable = !beside.is_empty();
    let differences = if comparable { Vec::new() } else { nearest.unwrap_or_default() };
    let mut because: Vec<String> = differences.iter().map(|difference| difference.because.clone()).collect();
    if !comparable && because.is_empty() {
        because.push(if entry.rows.is_empty() {
            "it has no published figures".to_owned()
        } else {
            "the run has no result".to_owned()
        });
    }
    BesideEntry {
        id: entry.id.clone(),
        system: entry.system.clone(),
        comparable,
        because,
        differences,
        beside,
    }
}

/// Pairs of a case's figures and a row's.
fn figures(run: &RatedRun, entry: &library::Entry, case: &RatedCase, row: &Row) -> Vec<BesideRow> {
    let is_sustained = row.figure == FigureKind::Sustained;
    let pairs = if is_sustained {
        vec![("sustained.iops", case.sustained_iops, row.iops)]
    } else {
        vec![
            ("iops", Some(case.iops), row.iops),
            ("bw_bytes_per_s", Some(case.bw_bytes_per_s), row.bw_bytes_per_s),
            ("latency_ns", case.latency_ns, row.mean_latency_ns()),
        ]
    };
    let per = |ratio: f64, own: Option<u64>, other: Option<u64>| {
        let (own, other) = own.zip(other)?;
        (own > 0).then(|| ratio * other as f64 / own as f64)
    };
    pairs
        .into_iter()
        .filter_map(|(quantity, figure, published)| {
            let (figure, published) = figure.zip(published)?;
            let ratio = figure / published;
            let is_rate = quantity != "latency_ns";
            // A row of a RAID set counts its own disks.
            let drives = row.disks.or(entry.drives);
            Some(BesideRow {
                case: case.at.clone(),
                quantity,
                figure,
                published,
                ratio,
                ratio_per_drive: per(ratio, run.drives, drives).filter(|_| is_rate),
                ratio_per_host_port: per(ratio, run.host_ports, entry.host_ports).filter(|_| is_rate),
                row: row.clone(),
            })
        })
        .collect()
}

/// A run beside the library as a table of the gallery.
pub fn library_table(run: &RatedRun, id: &str, beside: &[BesideEntry]) -> Table {
    let mut columns = vec![Column::words("Published system"), Column::words("Case")];
    columns.extend(["This run", "Published", "Ratio", "Per drive"].map(Column::numbers));
    columns.push(Column::words("Not comparable because"));
    let rows = beside.iter().flat_map(table_rows);
    let rows: Vec<Vec<Cited>> = rows.map(|row| row.into_iter().map(Cited::from).collect()).collect();
    let caption = format!("{} beside the library", gallery::label(&run.entry));
    Table { id: id.to_owned(), caption: caption.into(), columns, rows }
}

/// Rows of an entry beside a run: system, case, both figures, their ratios, reasons.
pub fn table_rows(entry: &BesideEntry) -> Vec<Vec<String>> {
    if !entry.comparable {
        let mut row = vec![entry.system.clone()];
        row.extend(std::iter::repeat_n(String::new(), 5));
        row.push(entry.because.join("; "));
        return vec![row];
    }
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let text = |quantity: &str, value: f64| match quantity {
        "latency_ns" => units::human_latency(value),
        "bw_bytes_per_s" => units::human_bandwidth(value),
        _ => format!("{} IOPS", units::human_rate(value)),
    };
    let rows = entry.beside.iter().map(|one| {
        vec![
            entry.system.clone(),
            one.case.clone(),
            text(one.quantity, one.figure),
            text(one.quantity, one.published),
            ratio(one.ratio),
            one.ratio_per_drive.map(ratio).unwrap_or_default(),
            String::new(),
        ]
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
