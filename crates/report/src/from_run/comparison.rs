//! This run beside what a vendor declares and what others published.

use super::quantity::{self, Kind};
use super::{Source, axes};
use crate::model::{Column, Table};
use store::CaseResult;

/// A table of declared and a table of published figures, where the plan has any for cases of this run.
pub fn tables(source: &Source<'_>) -> Vec<Table> {
    [declared(source), published(source)].into_iter().flatten().collect()
}

fn case_label(source: &Source<'_>, result: &CaseResult) -> String {
    match axes::label(&result.settings, &source.axes_of(&result.stage)) {
        label if label.is_empty() => result.stage.clone(),
        label => format!("{}, {label}", result.stage),
    }
}

/// One row a declaration: beside it the best of the cases that it is about.
fn declared(source: &Source<'_>) -> Option<Table> {
    let plan = source.plan.as_ref()?;
    let mut rows = Vec::new();
    for declared in &plan.declared {
        let path = declared.quantity.name();
        let kind = Kind::of(path);
        let measured = source
            .done()
            .filter(|(_, result)| plan.declared_for(&result.stage, &result.settings).contains(&declared))
            .filter_map(|(_, result)| quantity::value(result, path).map(|value| (value, result)))
            .max_by(|a, b| {
                let order = a.0.total_cmp(&b.0);
                if kind == Kind::Latency { order.reverse() } else { order }
            });
        let mut row = vec![declared.says.clone(), kind.text(declared.value)];
        match measured {
            Some((value, result)) => row.extend([
                kind.text(value),
                format!("{:.2}", value / declared.value),
                case_label(source, result),
            ]),
            None => row.extend([String::new(), String::new(), "no case of this run".to_owned()]),
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

fn published(source: &Source<'_>) -> Option<Table> {
    let plan = source.plan.as_ref()?;
    let mut rows = Vec::new();
    for (_, result) in source.done() {
        for figure in plan.published_for(&result.stage, &result.settings) {
            let path = figure.quantity.name();
            let kind = Kind::of(path);
            let run = quantity::value(result, path);
            rows.push(vec![
                case_label(source, result),
                quantity::words(path),
                kind.text(figure.value),
                run.map(|run| kind.text(run)).unwrap_or_default(),
                run.map(|run| difference(run, figure.value)).unwrap_or_default(),
                figure.source.unwrap_or(figure.file),
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

fn difference(run: f64, published: f64) -> String {
    if published == 0.0 {
        return String::new();
    }
    let percent = (run / published - 1.0) * 100.0;
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1} %", percent.abs())
}
