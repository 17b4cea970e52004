//! Comparison with vendor and published figures.

use super::quantity::{self, Kind};
use super::{axes, percentile_words, stage_name};
use crate::model::{Column, Table};
use findings::{Cited, Quantity, Source, cited};
use store::CaseResult;

/// A table of declared and a table of published figures, where the plan has any for cases of this run.
pub fn tables(source: &super::Source<'_>) -> Vec<Table> {
    [declared(source), published(source)].into_iter().flatten().collect()
}

fn case_label(source: &super::Source<'_>, result: &CaseResult) -> Cited {
    let stage = stage_name(&result.stage);
    match axes::cited_label(&result.stage, &result.case, &result.settings, &source.axes_of(&result.stage)) {
        label if label.is_empty() => stage,
        label => cited!("{}, {}", stage, label),
    }
}

/// One row a declaration: beside it the best of the cases that it is about.
fn declared(source: &super::Source<'_>) -> Option<Table> {
    let plan = source.plan.as_ref()?;
    let mut rows = Vec::new();
    for (place, declared) in plan.declared.iter().enumerate() {
        // A vendor declares the latency of a usual I/O. The smallest of millions says nothing about it; the mean does.
        let path = &declared.quantity.name().replace("latency_ns.min", "latency_ns.mean");
        let kind = Kind::of(path);
        let measured = source
            .done()
            .filter(|(_, result)| plan.declared_for(&result.stage, &result.settings).contains(&declared))
            .filter_map(|(_, result)| quantity::value(result, path).map(|value| (value, result)))
            .max_by(|a, b| {
                let order = a.0.total_cmp(&b.0);
                if kind == Kind::Latency { order.reverse() } else { order }
            });
        let figure = Quantity::new(declared.value, kind.base(), Source::declared(place + 1));
        let says = Cited::quote(&declared.says, Source::quote("plan"));
        let mut row = vec![says, kind.print(figure.clone())];
        match measured.and_then(|(_, result)| Some((quantity::of(result, path)?, result))) {
            Some((value, result)) => row.extend([
                cited!("{}{}", kind.print(value.clone()), if kind == Kind::Latency { " mean" } else { "" }),
                value.over(&figure).plain(2),
                case_label(source, result),
            ]),
            None => row.extend([Cited::default(), Cited::default(), "no case of this run".into()]),
        }
        rows.push(row);
    }
    (!rows.is_empty()).then(|| Table {
        id: "declared".into(),
        caption: "Measured ÷ declared".into(),
        columns: vec![
            Column::words("The vendor declares"),
            Column::numbers("Declared"),
            Column::numbers("This run"),
            Column::numbers("Run ÷ declared"),
            Column::words("Case"),
        ],
        rows,
    })
}

fn published(source: &super::Source<'_>) -> Option<Table> {
    let plan = source.plan.as_ref()?;
    let mut rows = Vec::new();
    for (_, result) in source.done() {
        for figure in plan.published_for(&result.stage, &result.settings) {
            let path = figure.quantity.name();
            let kind = Kind::of(path);
            let run = quantity::of(result, path);
            let from = Source::published(&result.stage, &result.case, path, &figure.file);
            let value = Quantity::new(figure.value, kind.base(), from);
            let named = figure.source.unwrap_or(figure.file);
            rows.push(vec![
                case_label(source, result),
                percentile_words(&quantity::words(path)),
                kind.print(value.clone()),
                run.clone().map(|run| kind.print(run)).unwrap_or_default(),
                run.map(|run| difference(run, &value)).unwrap_or_default(),
                Cited::quote(named, Source::quote("published")),
            ]);
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "published".into(),
        caption: "Published figures beside this run’s".into(),
        columns: vec![
            Column::words("Case"),
            Column::words("Quantity"),
            Column::numbers("Published"),
            Column::numbers("This run"),
            Column::numbers("Difference"),
            Column::words("Source"),
        ],
        rows,
    })
}

fn difference(run: Quantity, published: &Quantity) -> Cited {
    if published.value() == 0.0 {
        return Cited::default();
    }
    let change = run.over(published).minus(&Quantity::constant("whole", 1.0));
    let sign = if change.value() < 0.0 { "−" } else { "+" };
    let text = format!("{sign}{:.1} %", 100.0 * change.value().abs());
    change.printed(text)
}
