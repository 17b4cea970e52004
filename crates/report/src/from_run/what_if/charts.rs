//! Charts of the answers: rate and latencies before and after, and the gain from more of each part along the walk.

use super::answer::Answer;
use crate::chart::{Axis, Chart, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use findings::Unit;

/// Most changes of a chart; the table has all.
const CHANGES_LIMIT: usize = 24;
/// A part whose enlargement gains less, in percent, at every step is left out of the chart of gains.
const GAINS: f64 = 0.5;
const MS: f64 = 1e6;

/// Rate, mean and 99th percentile of each change, each with its one range.
pub fn effects(rows: &[Answer<'_>]) -> Vec<Chart> {
    let shown = &rows[..rows.len().min(CHANGES_LIMIT)];
    let cut = match rows.len() > shown.len() {
        true => " Further changes stand in the table.",
        false => "",
    };
    let quantities = [
        ("rate", "Rate", "IOPS", "iops", "iops_95", 1.0),
        ("mean", "Mean latency", "ms", "latency_ns.mean", "latency_ns.mean_95", MS),
        ("p99", "99th percentile of latency", "ms", "latency_ns.p99", "latency_ns.p99_95", MS),
    ];
    quantities
        .into_iter()
        .map(|(id, label, unit, path, range, scale)| {
            let value = |answer: &Answer<'_>, path: &str| {
                answer.number(path, Unit::Count).map(|value| value.value() / scale)
            };
            let point = |(place, answer): (usize, &Answer<'_>)| Point {
                x: place as f64,
                y: value(answer, path),
                range: value(answer, &format!("{range}.0")).zip(value(answer, &format!("{range}.1"))),
            };
            Chart {
                id: format!("what-if-{id}"),
                title: format!("{label} before and after"),
                caption: format!(
                    "The bar is what was simulated; the line across it is the range of model and sampling together.{cut}"
                ),
                x: names(shown.iter().map(|answer| answer.change().text().to_owned()).collect()),
                y: axis(label, unit),
                series: vec![Series {
                    label: String::new(),
                    style: 0,
                    role: Role::Run,
                    points: shown.iter().enumerate().map(point).collect(),
                }],
                marks: Vec::new(),
                levels: Vec::new(),
                ranges: Ranges::Confidence,
            }
        })
        .collect()
}

/// Gain from a quarter more of each part, as the array is and after each step; `None` where no part gains at any.
pub fn gains(first: &Answer<'_>, steps: &[Answer<'_>]) -> Option<Chart> {
    let places: Vec<&Answer<'_>> = std::iter::once(first).chain(steps).collect();
    // In percent to two digits: what is beyond is noise, and a loss of it would be drawn as one.
    let gain = |answer: &Answer<'_>, part: &str| {
        let gain = answer.number(&format!("more.{part}.gain"), Unit::Ratio)?;
        Some((1e4 * gain.value()).round() / 1e2 + 0.0)
    };
    let most = |part: &str| places.iter().filter_map(|answer| gain(answer, part)).fold(0.0, f64::max);
    let mut parts: Vec<(&str, f64)> = first.gains().into_iter().map(|(part, _)| (part, most(part))).collect();
    let known = parts.len();
    parts.retain(|(_, most)| *most >= GAINS);
    // The largest gains, but in the order of the parts.
    let mut largest: Vec<f64> = parts.iter().map(|part| part.1).collect();
    largest.sort_by(|a, b| b.total_cmp(a));
    let least = largest.get(SERIES_LIMIT - 1).copied().unwrap_or(0.0);
    parts.retain(|(_, most)| *most >= least);
    parts.truncate(SERIES_LIMIT);
    if parts.is_empty() {
        return None;
    }
    let left_out = match known > parts.len() {
        true => {
            " Parts that gain nothing at any step, or least, are left out; the table and what-if.jsonl have them."
        }
        false => "",
    };
    let series = |(style, (part, _)): (usize, &(&str, f64))| Series {
        label: (*part).to_owned(),
        style,
        role: Role::Run,
        points: places
            .iter()
            .enumerate()
            .map(|(place, answer)| Point::new(place as f64, gain(answer, part)))
            .collect(),
    };
    Some(Chart {
        id: "what-if-gain-of-parts".into(),
        title: "Gain from a quarter more of each part, from limit to limit".into(),
        caption: format!(
            "Each group of bars is one array: as it is, then after each step, with a quarter more of the part that limited.{left_out}"
        ),
        x: names(places.iter().enumerate().map(step_name).collect()),
        y: axis("Gain in rate", "%"),
        series: parts.iter().enumerate().map(series).collect(),
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    })
}

/// Array of a group of bars.
fn step_name((place, answer): (usize, &&Answer<'_>)) -> String {
    answer.text("bottleneck.part").map_or_else(|| "as it is".into(), |part| format!("{place}: more {part}"))
}

fn names(names: Vec<String>) -> Axis {
    Axis {
        label: "Change".into(),
        unit: String::new(),
        scale: Scale::Categories(names),
        format: TickFormat::Number,
    }
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale: Scale::LinearFromZero, format: TickFormat::Number }
}
