//! Rating of a run: its figures among published results and shipped twins of comparable conditions.
//!
//! What is not comparable is never placed: it is named with the conditions that differ.

mod beside;
mod run;

use crate::gallery::{self, Entry, EntryOrigin, Figure, MEASURES, Measure};
use library::{Conditions, FigureKind, Row, differences};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

pub use beside::{BesideEntry, BesideRow, beside_library, library_table, table_rows};
pub use run::{RatedRun, rated_run};

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
    /// Number of comparable runs, this one among them.
    pub of: Option<usize>,
    /// The next better: whose, and its figure.
    pub better: Option<(String, String)>,
    /// The next worse.
    pub worse: Option<(String, String)>,
    /// True if any figure is comparable.
    pub comparable: bool,
    /// Reasons against the figure that is the least different, where none is comparable.
    pub because: Vec<String>,
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

#[cfg(test)]
mod tests;
