//! Contour charts that a plan asks for: latency over two rates, as reads and writes a second.

use super::quantity::{self, Kind};
use super::requested_charts::{is_of, split};
use super::{Source, axes, section_id};
use crate::chart::{Axis, Scale, TickFormat};
use crate::contour::{Contour, ContourPoint};
use findings::{Cited, cited};
use plan::ChartAxis;
use serde_json::{Map, Value};
use store::CaseResult;

/// Contours of a stage, or with `None` of those over several stages, and what could not be drawn.
pub fn contours(source: &Source<'_>, stage: Option<&str>) -> (Vec<Contour>, Vec<Cited>) {
    let (mut contours, mut notes) = (Vec::new(), Vec::new());
    let prefix = stage.map_or_else(|| "across".to_owned(), section_id);
    let charts = source.plan.iter().flat_map(|plan| &plan.charts);
    for requested in charts.filter(|chart| chart.contour_of.is_some() && is_of(chart, stage)) {
        let shown =
            source.done().filter(|(_, result)| requested.shows(&result.stage, &result.settings)).collect();
        for (heading, cases) in split(shown, &requested.each) {
            let cases: Vec<&CaseResult> = cases.into_iter().map(|(_, result)| result).collect();
            let title = match heading.is_empty() {
                true => requested.title.clone(),
                false => format!("{}, {heading}", requested.title),
            };
            match contour(source, requested, &cases) {
                Some(contour) => {
                    contours.push(Contour { id: format!("{prefix}-contour-{}", contours.len() + 1), title, ..contour });
                }
                None => notes.push(cited!(
                    "Not drawn: the contour “{}”. Its cases must differ in two settings, with several values of each.",
                    Cited::quote(title, findings::Source::quote("plan"))
                )),
            }
        }
    }
    (contours, notes)
}

fn contour(source: &Source<'_>, requested: &plan::Chart, cases: &[&CaseResult]) -> Option<Contour> {
    let (ChartAxis::Quantity(x), Some(y)) = (requested.x, requested.y.first()) else { return None };
    let of: Vec<&str> = requested.contour_of.as_ref()?.iter().map(|quantity| quantity.name()).collect();
    let settings: Vec<&Map<String, Value>> = cases.iter().map(|result| &*result.settings).collect();
    let mut preferred: Vec<&str> = requested.stages.iter().flat_map(|stage| source.axes_of(stage)).collect();
    preferred.dedup();
    let names = axes::varying(&settings, &preferred);
    let [rows, places] = names[..] else { return None };
    let (row_values, place_values) = (axes::values(&settings, rows), axes::values(&settings, places));
    if row_values.len() < 2 || place_values.len() < 2 {
        return None;
    }
    let values: Vec<f64> = cases.iter().filter_map(|result| latency_ns(result, &of)).collect();
    let (unit, divisor) = Kind::Latency.unit(values.iter().copied().fold(0.0, f64::max));
    // A direction without I/O has no rate in the results.
    let rate = |result: &CaseResult, path: &str| quantity::value(result, path).unwrap_or(0.0);
    let largest = |path: &str| cases.iter().map(|result| rate(result, path)).fold(0.0, f64::max);
    let axis = |path: &str| {
        let (unit, divisor) = Kind::of(path).unit(largest(path));
        let (label, unit) = match Kind::of(path) {
            Kind::Iops => (quantity::words(path).replace("IOPS", "rate"), "IOPS"),
            _ => (quantity::words(path), unit),
        };
        let axis = Axis {
            label: capitalised(&label),
            unit: unit.into(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        };
        (axis, divisor)
    };
    let ((x_axis, x_divisor), (y_axis, y_divisor)) = (axis(x.name()), axis(y.name()));
    let point = |row: &Value, place: &Value| {
        let is_its = |result: &&&CaseResult| {
            result.settings.get(rows) == Some(row) && result.settings.get(places) == Some(place)
        };
        let result = cases.iter().find(is_its)?;
        Some(ContourPoint {
            x: rate(result, x.name()) / x_divisor,
            y: rate(result, y.name()) / y_divisor,
            value: latency_ns(result, &of)? / divisor,
            case: axes::cited_label(&result.stage, &result.case, &result.settings, &[rows, places]),
        })
    };
    let grid =
        row_values.iter().map(|row| place_values.iter().map(|place| point(row, place)).collect()).collect();
    let words = match &of[..] {
        [one] => format!("{} latency", quantity::words(one)),
        _ => "mean latency over reads and writes".to_owned(),
    };
    Some(Contour {
        id: String::new(),
        title: String::new(),
        caption: format!(
            "{} Lines of equal {words}. A point is a case, placed by the rates that it reached; between points the lines are interpolated, in \
             logarithms of latency.",
            super::published_as(requested)
        )
        .trim()
        .to_owned(),
        x: x_axis,
        y: y_axis,
        value: capitalised(&format!("{words} ({unit})")),
        unit: unit.into(),
        grid,
    })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Latency of a case: the quantity, or of the means of both directions the mean over all I/Os.
fn latency_ns(result: &CaseResult, of: &[&str]) -> Option<f64> {
    if let [one] = of {
        return quantity::value(result, one);
    }
    let directions = of.iter().filter_map(|path| {
        let direction = path.split('.').next()?;
        Some((quantity::value(result, &format!("{direction}.iops"))?, quantity::value(result, path)?))
    });
    let (ios, sum) = directions.fold((0.0, 0.0), |(ios, sum), (rate, mean)| (ios + rate, sum + rate * mean));
    (ios > 0.0).then(|| sum / ios)
}
