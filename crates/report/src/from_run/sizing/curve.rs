//! Chart of an array's latency against IOPS, with the peak of the workload and the limit.

use super::answer::{Answer, Question};
use crate::chart::{Axis, Chart, Level, Mark, Point, Ranges, Role, Scale, Series, TickFormat};
use findings::Unit;
use units::{human_count, human_latency, human_rate};

/// Ratio of the largest rate to the smallest from which on rates go on a logarithmic axis.
const WIDE: f64 = 8.0;
/// Likewise of latencies.
const TALL: f64 = 20.0;
const MS: f64 = 1e6;

/// The curve of the healthy state, of the first other state where that was not looked at.
pub fn chart(id: &str, question: &Question<'_>, answers: &[&Answer<'_>]) -> Option<Chart> {
    let is_drawn = |answer: &&&Answer<'_>| answer.field("at_peak").is_some();
    let healthy = answers.iter().find(|answer| answer.state() == "healthy");
    let answer = healthy.filter(is_drawn).or_else(|| answers.iter().find(is_drawn))?;
    let place = answer.tightest(question)?;
    let limit_ns = answer.number("at_peak.limit_ns", Unit::Ns)?.value();
    let peak = question.number("iops", Unit::Iops)?.value();
    let measure = question.field(&format!("requirements.{place}.measure"))?.as_str()?;
    let all = answer.field("points")?.as_array()?;
    let number = |value: Option<&serde_json::Value>| value?.as_f64();
    let mut points: Vec<Point> = all
        .iter()
        .filter(|point| point.get("kept_up").and_then(serde_json::Value::as_bool) == Some(true))
        .filter_map(|point| {
            let required = point.get("required")?.get(place)?;
            let range = required.get("latency_ns_95")?;
            let end = |place: usize| Some(number(range.get(place))? / MS);
            Some(Point {
                x: number(point.get("iops"))?,
                y: Some(number(required.get("latency_ns"))? / MS),
                range: end(0).zip(end(1)),
            })
        })
        .collect();
    if points.is_empty() {
        return None;
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let beyond = all.len() - points.len();
    let xs = || points.iter().map(|point| point.x).chain([peak]);
    let is_wide = xs().fold(0.0, f64::max) > WIDE * xs().fold(f64::INFINITY, f64::min);
    let ys = || points.iter().filter_map(|point| point.y).chain([limit_ns / MS]);
    let is_tall = ys().fold(0.0, f64::max) > TALL * ys().fold(f64::INFINITY, f64::min);
    let words = super::states::measure_words(measure);
    Some(Chart {
        id: format!("{id}-curve"),
        title: format!("{} latency against IOPS, {}", words.text(), answer.state().replace('-', " ")),
        caption: caption(beyond),
        x: Axis {
            label: "Delivered rate".into(),
            unit: "IOPS".into(),
            scale: if is_wide { Scale::Log10 } else { Scale::LinearFromZero },
            format: TickFormat::Number,
        },
        y: Axis {
            label: format!("{} latency", words.text()),
            unit: "ms".into(),
            scale: if is_tall { Scale::Log10 } else { Scale::LinearFromZero },
            format: TickFormat::Number,
        },
        series: vec![Series { label: String::new(), style: 0, role: Role::Run, points }],
        marks: vec![Mark { x: peak, until: None, label: format!("your peak: {} IOPS", human_rate(peak)) }],
        levels: vec![Level { y: limit_ns / MS, label: format!("limit: {}", human_latency(limit_ns)) }],
        ranges: Ranges::Confidence,
    })
}

fn caption(beyond: usize) -> String {
    let left_out = match beyond {
        0 => String::new(),
        beyond => format!(
            " Not drawn: {}, whose rate was not delivered.",
            human_count(beyond as u64, "larger multiple")
        ),
    };
    format!(
        "Each point is a simulated multiple of your load; the shaded range is the model's error and sampling together.{left_out}"
    )
}
