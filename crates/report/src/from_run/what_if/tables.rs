//! Tables of the answers: before and after, gains from more of each part, the walk.

use super::answer::{Answer, signed};
use crate::from_run::event_fields::with_range;
use crate::model::{Column, Table};
use findings::{Cited, Quantity, Unit, cited};

/// Word for a figure that does not exist.
const NONE: &str = "–";

/// Before and after: a row for each change.
pub fn effects(rows: &[Answer<'_>]) -> Table {
    Table {
        id: "what-if-effects".into(),
        caption: cited!(
            "Before and after each change; in brackets the range, {} of model and sampling together",
            Quantity::constant("confidence", 0.95).percent()
        ),
        columns: vec![
            Column::words("Change"),
            Column::numbers("Rate"),
            Column::numbers("Gain"),
            Column::numbers("Bandwidth"),
            Column::numbers("Mean latency"),
            Column::numbers(cited!("{} latency", crate::from_run::percentile_words("p99"))),
            Column::words("Limit"),
        ],
        rows: rows.iter().map(|row| effect(&rows[0], row)).collect(),
    }
}

fn effect(first: &Answer<'_>, row: &Answer<'_>) -> Vec<Cited> {
    let latency = |path: &str, range: &str| {
        let range = row.range(range, Unit::Ns).map(|range| range.map(Quantity::latency));
        let value = row.number(path, Unit::Ns).map(Quantity::latency);
        value.map_or_else(|| NONE.into(), |value| with_range(value, range))
    };
    let gain = row.gain_over(first).filter(|_| row.change() != first.change());
    vec![
        row.change(),
        rate(row).unwrap_or_else(|| NONE.into()),
        gain.map_or_else(|| NONE.into(), signed),
        row.number("bw_bytes_per_s", Unit::BytesPerS).map_or_else(|| NONE.into(), Quantity::bandwidth),
        latency("latency_ns.mean", "latency_ns.mean_95"),
        latency("latency_ns.p99", "latency_ns.p99_95"),
        limit(row),
    ]
}

/// Rate with its range, which has the same unit.
fn rate(answer: &Answer<'_>) -> Option<Cited> {
    let range = answer.range("iops_95", Unit::Iops).map(|range| range.map(|end| end.plain(0)));
    Some(with_range(answer.iops()?.iops(), range))
}

fn limit(answer: &Answer<'_>) -> Cited {
    Cited::words(answer.text("limit").unwrap_or(NONE).to_owned())
}

/// Gain from a quarter more of each part: a row for each change.
pub fn gains(rows: &[Answer<'_>]) -> Table {
    let parts: Vec<&str> =
        rows.first().map(Answer::gains).unwrap_or_default().into_iter().map(|(part, _)| part).collect();
    let cells = |row: &Answer<'_>| {
        let of = |part: &&str| {
            let found = row.number(&format!("more.{part}.gain"), Unit::Ratio);
            found.map_or_else(|| NONE.into(), signed)
        };
        std::iter::once(row.change()).chain(parts.iter().map(of)).collect()
    };
    let heads = parts.iter().map(|part| Column::numbers((*part).to_owned()));
    Table {
        id: "what-if-gains".into(),
        caption: "Gain in rate from a quarter more of each part".into(),
        columns: std::iter::once(Column::words("Change")).chain(heads).collect(),
        rows: rows.iter().map(cells).collect(),
    }
}

/// Steps of the walk.
pub fn walk(steps: &[Answer<'_>]) -> Table {
    let row = |step: &Answer<'_>| -> Option<Vec<Cited>> {
        let before = step.number("bottleneck.iops_before", Unit::Iops)?;
        let whole = Quantity::constant("whole", 1.0);
        Some(vec![
            Cited::words(step.text("bottleneck.part")?.to_owned()),
            step.change(),
            before.clone().iops(),
            rate(step)?,
            signed(step.iops()?.over(&before).minus(&whole)),
            signed(step.number("bottleneck.gain_of_doubling", Unit::Ratio)?.minus(&whole)),
            limit(step),
        ])
    };
    Table {
        id: "what-if-walk".into(),
        caption: "From limit to limit: a quarter more of the part that limits at each step".into(),
        columns: vec![
            Column::words("Part"),
            Column::words("The array then has"),
            Column::numbers("Rate before"),
            Column::numbers("Rate after (range)"),
            Column::numbers("Gain"),
            Column::numbers("Twice of it (predicted)"),
            Column::words("Limit then"),
        ],
        rows: steps.iter().filter_map(row).collect(),
    }
}
