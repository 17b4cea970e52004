//! Limits, sources of parameters and validation of a twin's model: on the first page, because no
//! figure of a twin can be trusted without it.

use super::Source;
use crate::validation;
use findings::{Cited, Quantity, Unit, ValidationRow, cited};
use store::CaseResult;

/// Latencies of which the 99.9th percentile is within this share of the median are nearly constant.
const NEAR_CONSTANT: f64 = 0.05;

/// Origins of a parameter in an array's description, by its `origin`.
const ORIGINS: [(&str, &str); 5] = [
    ("fitted", "fitted to measurements"),
    ("published", "published"),
    ("datasheet", "from datasheets"),
    ("derived", "derived from others"),
    ("assumed", "assumed"),
];

/// Nothing of a measurement; of a simulated run what a reader must know of the model before trusting a figure.
pub fn of(source: &Source<'_>) -> Vec<Cited> {
    if !source.is_simulated() {
        return Vec::new();
    }
    let Some(array) = &source.manifest.array else { return Vec::new() };
    let mut lines = vec![origins(&array.text)];
    lines.push(validated(&array.name, &findings::validation_rows()));
    lines.extend(lacking(&array.text));
    lines.extend(constant_latencies(source));
    lines
}

/// Counts the parameters of each origin.
fn origins(text: &str) -> Cited {
    // An array of parts: its values as they were resolved, below its text.
    let is_resolved = text.lines().any(|line| line.starts_with(plan::RESOLVED));
    let lines = || text.lines().filter(|line| !is_resolved || line.starts_with(plan::RESOLVED));
    let count = |origin: &str| {
        let word = format!("origin: {origin}");
        lines().map(|line| line.matches(&word).count()).sum::<usize>()
    };
    let parts = ORIGINS.iter().filter(|(origin, _)| count(origin) > 0).map(|(origin, words)| {
        let from = findings::Source::other("array", &format!("origin/{origin}"));
        cited!("{} {}", Quantity::new(count(origin) as f64, Unit::Count, from).plain(0), *words)
    });
    let all: usize = ORIGINS.iter().map(|(origin, _)| count(origin)).sum();
    let parts = Cited::join(parts, ", ");
    match (all, count("fitted"), all - count("assumed")) {
        (0, _, _) => cited!("The array’s description does not say where its parameters come from."),
        (_, _, 0) => {
            cited!("Assumed parts only: {} of its parameters, nothing from a datasheet or a test.", parts)
        }
        (_, 0, _) => cited!("Not fitted to any measurement. Parameters of the model: {}.", parts),
        _ => cited!("Parameters of the model: {}.", parts),
    }
}

/// Known errors of the model against measured rows.
fn validated(array: &str, rows: &[ValidationRow]) -> Cited {
    let of_array: Vec<&ValidationRow> = rows.iter().filter(|row| row.array == array).collect();
    let sets = ["fitted", "unseen", "other"].into_iter().filter_map(|set| {
        let of_set: Vec<&&ValidationRow> = of_array.iter().filter(|row| row.set == set).collect();
        let most = of_set.iter().max_by_key(|row| row.rows)?;
        let number = |row: &ValidationRow, field: &str, value: f64, unit| {
            let path = format!("{array}/{set}/{}/{field}", row.metric);
            Quantity::new(value, unit, findings::Source::other("validation", &path))
        };
        let errors = of_set.iter().map(|row| {
            cited!(
                "{} ± {} (at worst {})",
                validation::metric_words(&row.metric),
                number(row, "mean_error", row.mean_error, Unit::Ratio).percent(),
                number(row, "worst_error", row.worst_error, Unit::Ratio).percent()
            )
        });
        let words = match set {
            "fitted" => "fitted on ",
            "unseen" => "on rows that no fit has seen, ",
            _ => "on other rows, ",
        };
        let count = number(most, "rows", most.rows as f64, Unit::Count).count("row");
        Some(cited!("{}{}: {}", words, count, Cited::join(errors, ", ")))
    });
    let sets: Vec<Cited> = sets.collect();
    if sets.is_empty() {
        return cited!("No validation of this model against measurements is on record.");
    }
    cited!("Validation against published rows: {}.", Cited::join(sets, "; "))
}

/// Returns whether the resolved values of an array's text have a key with others below it.
pub fn has_key(text: &str, key: &str) -> bool {
    let beginning = format!("{}{key}.", plan::RESOLVED);
    text.lines().any(|line| line.starts_with(&beginning))
}

/// Mechanisms that the model does not have and that would change what a plan asks for.
pub fn lacking(text: &str) -> Vec<Cited> {
    let has = |part: &str| text.lines().any(|line| line.starts_with(part));
    let mut lines = Vec::new();
    if text
        .lines()
        .any(|line| line.starts_with(&format!("{}pools", plan::RESOLVED)) && line.contains(".path: chain,"))
    {
        lines.push(cited!(
            "The model has no cleaning of copied-on-write blocks, no snapshots and no other work on the nodes’ cores."
        ));
    }
    if has_hard_disks(text) {
        lines.push(cited!(
            "The model has no patrol reads and no learning cycles of batteries; drives become slow only where a plan says so."
        ));
    }
    if has(plan::RESOLVED) {
        lines.push(cited!(
            "No drive of the model wears out: what it is given is counted beside its rated endurance, where it has one."
        ));
        if has_key(text, "nodes") {
            lines.push(cited!(
                "A node that was lost is replaced by an empty one: the model has no node that comes back with its data."
            ));
        }
        if has_key(text, "reduction") || has_key(text, "snapshots") {
            lines.push(cited!(
                "Its stored data stays at its address: the model has no log-structured placement and no cleaning, which slow arrays that \
                 write so as they fill."
            ));
        }
        if has_key(text, "mirror") {
            lines.push(cited!(
                "A mirror whose link is lost answers at once without its second array; arrays that wait first are not modelled."
            ));
        }
        if has_modules(text) {
            lines.push(cited!(
                "Its flash modules have no garbage collection: they cannot show a write cliff, and writes that go on for hours would \
                 be slower on a real array."
            ));
        }
        if has_solid_states(text) {
            lines.push(cited!(
                "Its solid-state drives have no throttling by temperature and no read retries."
            ));
        }
    }
    lines
}

/// True where the model's kind cannot show that writes fall.
pub fn has_no_garbage_collection(source: &Source<'_>) -> bool {
    let array = source.manifest.array.as_ref().filter(|_| source.is_simulated());
    array.is_some_and(|array| has_modules(&array.text))
}

/// Returns true if an array of parts has flash modules, which are known by their rates alone.
fn has_modules(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(plan::RESOLVED) && line.contains(".write_interference:"))
}

/// Returns true if an array of parts has solid-state drives.
fn has_solid_states(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(plan::RESOLVED) && line.contains(".mapping_unit:"))
}

/// Returns true if an array of parts has hard disks.
fn has_hard_disks(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(plan::RESOLVED) && line.contains(".rpm:"))
}

/// Returns true if the tail of a direction is that of a model without spread: its 99.9th percentile is hardly above its median.
pub fn is_near_constant(result: &CaseResult) -> bool {
    [&result.read, &result.write].into_iter().flatten().filter(|direction| direction.ios > 0).any(
        |direction| {
            let latency = &direction.latency_ns;
            match (latency.p50, latency.p99_9) {
                (Some(p50), Some(p99_9)) if p50 > 0 => p99_9 as f64 <= p50 as f64 * (1.0 + NEAR_CONSTANT),
                _ => false,
            }
        },
    )
}

/// Percentiles of latencies that hardly differ are no forecast of a tail.
fn constant_latencies(source: &Source<'_>) -> Option<Cited> {
    let all = source.done().count();
    let constant = source.done().filter(|(_, result)| is_near_constant(result)).count();
    (constant > 0).then(|| {
        cited!(
            "Latencies of the model are nearly constant in {} of {} ({} within {} of the median): percentiles there say nothing of \
             the tail of a real array.",
            Quantity::cases(constant, "near-constant").plain(0),
            Quantity::cases(all, "done").count("case"),
            Cited::quote("p99.9", findings::Source::other("name", "percentile")),
            Quantity::constant("near-constant", NEAR_CONSTANT).percent()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(set: &str, metric: &str, rows: u64, mean_error: f64, worst_error: f64) -> ValidationRow {
        ValidationRow {
            array: "made-up".into(),
            set: set.into(),
            metric: metric.into(),
            rows,
            mean_error,
            worst_error,
            worst_row: "4K writes".into(),
        }
    }

    /// Proves that the first page says on how many rows a model was fitted and how far it is off on others, and that it says so where
    /// nothing is known.
    #[test]
    fn validation_is_said() {
        let rows = [
            row("fitted", "iops", 15, 0.019, 0.038),
            row("unseen", "iops", 14, 0.041, 0.09),
            row("unseen", "read.latency_ns.mean", 14, 0.17, 0.31),
        ];
        assert_eq!(
            validated("made-up", &rows).text(),
            "Validation against published rows: fitted on 15 rows: IOPS ± 2 % (at worst 4 %); on rows that no fit has seen, 14 \
             rows: IOPS ± 4 % (at worst 9 %), read latency ± 17 % (at worst 31 %)."
        );
        assert!(validated("another", &rows).text().starts_with("No validation"));
    }

    /// Proves that a description of nothing but assumptions is called so, and that one without a fit is.
    #[test]
    fn origins_are_counted() {
        let assumed =
            "a: { value: 1, origin: assumed, from: x }\nb: { value: 2, origin: assumed, from: y }\n";
        assert!(origins(assumed).text().starts_with("Assumed parts only: 2 assumed"));
        let resolved = format!("{assumed}# resolved hosts.count: 2, origin: assumed\n");
        assert!(origins(&resolved).text().starts_with("Assumed parts only: 1 assumed"));
        let mixed = format!("{assumed}c: {{ value: 3, origin: datasheet, from: z }}\n");
        assert_eq!(
            origins(&mixed).text(),
            "Not fitted to any measurement. Parameters of the model: 1 from datasheets, 2 assumed."
        );
        let modules =
            format!("{resolved}# resolved groups[0].drives.write_interference: 14.2%, origin: fitted\n");
        assert!(lacking(&modules)[1].text().contains("no garbage collection"));
    }
}
