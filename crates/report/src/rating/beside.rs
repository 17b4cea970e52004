//! Entries of the library beside a run.

use super::run::{RatedCase, RatedRun};
use crate::gallery;
use crate::table::{Column, Table};
use findings::Cited;
use library::{Difference, FigureKind, Row, differences};
use serde::Serialize;

/// An entry of the library beside a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideEntry {
    /// The entry.
    pub id: String,
    /// Its system.
    pub system: String,
    /// True if any of its rows is comparable with a case of the run.
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
