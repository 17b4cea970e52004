//! Designs of a space: headroom against cost, with the Pareto front.

use super::answer::Answer;
use super::names;
use super::states::{headroom, verdict_words};
use crate::chart::{Axis, Chart, Level, Point, Ranges, Role, Scale, Series, TickFormat};
use crate::model::{Column, Designs, Table};
use findings::{Cited, Quantity, Unit, cited};
use std::collections::BTreeSet;

/// Most rows of the table: the front and designs near it are read, not hundreds.
const ROWS_LIMIT: usize = 60;

/// Design with the state in which it has the least headroom.
struct Design<'a> {
    answer: &'a Answer<'a>,
    cost: Quantity,
    headroom: f64,
    is_front: bool,
}

/// Field of the cost: the price where all designs have one, otherwise the drives.
fn cost_field(answers: &[Answer<'_>]) -> &'static str {
    if answers.iter().all(|answer| answer.field("cost").is_some()) { "cost" } else { "drives" }
}

/// Designs whose headroom was searched for, by cost and then by headroom.
fn searched<'a>(answers: &'a [Answer<'a>]) -> Vec<Design<'a>> {
    let field = cost_field(answers);
    let mut all: Vec<Design<'a>> = Vec::new();
    for answer in answers.iter().filter(|answer| !answer.is_left_out()) {
        let found = answer.number(field, Unit::Count).zip(answer.number("headroom", Unit::Count));
        let Some((cost, times)) = found else { continue };
        let is_front = answer.field("pareto").and_then(serde_json::Value::as_bool) == Some(true);
        let own = Design { answer, cost, headroom: times.value(), is_front };
        match all.iter_mut().find(|known| known.answer.name == answer.name) {
            Some(known) if own.headroom < known.headroom => *known = own,
            Some(_) => {}
            None => all.push(own),
        }
    }
    all.sort_by(|a, b| a.cost.value().total_cmp(&b.cost.value()).then(b.headroom.total_cmp(&a.headroom)));
    all
}

/// Names of the designs on the front, by cost; of designs of the same cost and headroom the first.
pub fn front<'a>(answers: &'a [Answer<'a>]) -> Vec<&'a str> {
    searched(answers).iter().filter(|design| design.is_front).map(|design| design.answer.name).collect()
}

/// Chart and table of the designs; `None` where none has a headroom.
pub fn of(answers: &[Answer<'_>]) -> Option<Designs> {
    let designs = searched(answers);
    if designs.is_empty() {
        return None;
    }
    let is_price = cost_field(answers) == "cost";
    let left_out: BTreeSet<&str> =
        answers.iter().filter(|answer| answer.is_left_out()).map(|answer| answer.name).collect();
    let count = |count: usize, which: &str| {
        Quantity::new(count as f64, Unit::Count, findings::Source::other("sizing", which)).plain(0)
    };
    let on_front = designs.iter().filter(|design| design.is_front).count();
    let mut intro = vec![cited!(
        "Of {} designs {} are on the Pareto front: none that costs no more carries more.",
        count(names(answers).len(), "designs"),
        count(on_front, "designs/front")
    )];
    if !left_out.is_empty() {
        intro.push(cited!(
            "Left out: {}, as one that costs no more carries as much; `size.jsonl` gives the reasons.",
            count(left_out.len(), "designs/left-out")
        ));
    }
    if !is_price {
        intro.push("The cost is the number of drives: not every part has a price.".into());
    }
    Some(Designs { intro, chart: chart(&designs, is_price), table: table(&designs, is_price) })
}

fn chart(designs: &[Design<'_>], is_price: bool) -> Chart {
    let points = |is_front: bool| -> Vec<Point> {
        let own = designs.iter().filter(|design| design.is_front == is_front);
        own.map(|design| {
            let end = |path| design.answer.number(path, Unit::Count).map(|end| end.value());
            let range = end("headroom_95.0").zip(end("headroom_95.1")).filter(|_| is_front);
            Point { x: design.cost.value(), y: Some(design.headroom), range }
        })
        .collect()
    };
    Chart {
        id: "size-designs".into(),
        title: format!("Headroom against {}", if is_price { "price" } else { "number of drives" }),
        caption: "Each point is a design, with its least headroom over the states looked at. The line joins the Pareto front, shaded by its \
                  range."
            .into(),
        x: Axis {
            label: if is_price { "Price" } else { "Drives" }.into(),
            unit: if is_price { "USD" } else { "" }.into(),
            scale: Scale::Linear,
            format: TickFormat::Number,
        },
        y: Axis {
            label: "Headroom".into(),
            unit: "times your load".into(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        },
        // The front last: nothing lies over it.
        series: [("other designs", 1, Role::Loose, points(false)), ("on the Pareto front", 0, Role::Run, points(true))]
            .into_iter()
            .filter(|(_, _, _, points)| !points.is_empty())
            .map(|(label, style, role, points)| Series { label: label.into(), style, role, points })
            .collect(),
        marks: Vec::new(),
        levels: vec![Level { y: 1.0, label: "your load".into() }],
        ranges: Ranges::Extremes,
    }
}

fn table(designs: &[Design<'_>], is_price: bool) -> Table {
    // The front first: it is what the table is read for, and designs beyond the limit are in size.jsonl.
    let (front, others): (Vec<&Design<'_>>, Vec<&Design<'_>>) =
        designs.iter().partition(|design| design.is_front);
    let row = |design: &Design<'_>| {
        let usable = design.answer.number("usable_bytes", Unit::Bytes);
        vec![
            design.answer.cited_name(),
            if design.is_front { "on the front".into() } else { Cited::default() },
            design.cost.clone().plain(0),
            headroom(design.answer).unwrap_or_default(),
            usable.map(Quantity::gigabytes).unwrap_or_default(),
            verdict_words(design.answer.verdict()).into(),
        ]
    };
    Table {
        id: "size-designs-table".into(),
        caption: "Designs by cost, those of the Pareto front first; in brackets the range".into(),
        columns: vec![
            Column::words("Design"),
            Column::words("Pareto"),
            Column::numbers(if is_price { "Price (USD)" } else { "Drives" }),
            Column::numbers("Headroom (times your load)"),
            Column::numbers("Usable capacity"),
            Column::words("Verdict"),
        ],
        rows: front.into_iter().chain(others).take(ROWS_LIMIT).map(row).collect(),
    }
}
