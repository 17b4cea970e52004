//! Curves of mean latency against I/Os a second as load grows, each with its knee.

use super::{Source, axes, section_id};
use crate::chart::{Axis, Chart, Mark, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use findings::{Fact, Finding, Findings, Kind, Level, Saturation};

/// Settings that say how much load there is; of a stage that varies several, the first has the curves.
const HOW_MUCH: [&str; 3] = ["numjobs", "iodepth", "rate_iops"];
/// Charts of one stage.
const CHARTS_LIMIT: usize = 4;

/// A curve: the saturation of a group of cases, and the levels of its cases in the order of the load.
struct Curve<'a> {
    label: String,
    saturation: &'a Saturation,
    points: Vec<&'a Level>,
}

/// The curves of a stage, and how many were left out. A plan that asks for such charts itself has its own.
pub fn charts(source: &Source<'_>, found: Option<&Findings>, stage: &str) -> (Vec<Chart>, usize) {
    let is_asked = |chart: &plan::Chart| {
        matches!(chart.x, plan::ChartAxis::Quantity(_)) && chart.stages.iter().any(|name| name == stage)
    };
    let Some(found) = found else { return (Vec::new(), 0) };
    if source.plan.iter().flat_map(|plan| &plan.charts).any(is_asked) {
        return (Vec::new(), 0);
    }
    let of_stage: Vec<(&Finding, &Saturation)> = found
        .of_kind(Kind::Saturation)
        .filter(|finding| finding.stage == stage)
        .filter_map(|finding| match &finding.fact {
            Fact::Saturation(saturation) => Some((finding, &**saturation)),
            _ => None,
        })
        .collect();
    let setting = HOW_MUCH.iter().find(|name| of_stage.iter().any(|(_, one)| one.setting == **name));
    let Some(setting) = setting else { return (Vec::new(), 0) };
    let names: Vec<&str> =
        source.axes_of(stage).into_iter().filter(|name| name != setting && *name != "repeat").collect();
    let curves: Vec<Curve<'_>> = of_stage
        .into_iter()
        .filter(|(_, one)| one.setting == **setting)
        .filter_map(|(finding, saturation)| {
            let level = |case: &str| match &found.get(&format!("level/{stage}/{case}"))?.fact {
                Fact::Level(level) => Some(&**level),
                _ => None,
            };
            let points: Vec<&Level> =
                finding.rests_on.iter().filter_map(|basis| level(&basis.case)).collect();
            let label = axes::label(&saturation.of, &names);
            (points.len() >= 3).then_some(Curve { label, saturation, points })
        })
        .collect();
    let panels: Vec<&[Curve<'_>]> = curves.chunks(SERIES_LIMIT).collect();
    let left_out = panels.len().saturating_sub(CHARTS_LIMIT);
    let charts = panels
        .iter()
        .take(CHARTS_LIMIT)
        .enumerate()
        .map(|(number, curves)| chart(stage, number, setting, curves, panels.len()));
    (charts.collect(), left_out)
}

fn chart(stage: &str, number: usize, setting: &str, curves: &[Curve<'_>], panels: usize) -> Chart {
    let is_one = curves.len() == 1;
    let mut series: Vec<Series> = curves
        .iter()
        .enumerate()
        .map(|(style, curve)| Series {
            label: if is_one { String::new() } else { curve.label.clone() },
            style,
            role: Role::Run,
            points: curve
                .points
                .iter()
                .map(|level| Point::new(level.iops, Some(level.mean_latency_ns)))
                .collect(),
        })
        .collect();
    let y = axes::upwards(super::quantity::Kind::Latency, &mut series, &mut []);
    let marks = curves.iter().filter(|curve| curve.saturation.reached).map(|curve| {
        let at = curve.saturation.at_least;
        let load = axes::value_text(setting, &serde_json::json!(at as u64));
        let of = if is_one || curve.label.is_empty() { String::new() } else { format!(" ({})", curve.label) };
        Mark { x: curve.saturation.iops, until: None, label: format!("knee: {load}{of}") }
    });
    let subject = match (is_one, curves.first()) {
        (true, Some(curve)) if !curve.label.is_empty() => format!(", {}", curve.label),
        _ if panels > 1 => format!(" ({} of {panels})", number + 1),
        _ => String::new(),
    };
    Chart {
        id: format!("{}-knee-{}", section_id(stage), number + 1),
        title: format!("Mean latency against IOPS{subject}"),
        caption: format!(
            "Each point is a case, in the order of {setting}; from the knee on, where the rate has nine tenths of its largest, more load \
             mostly waits longer."
        ),
        x: Axis {
            label: "IOPS".into(),
            unit: String::new(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        },
        y,
        series,
        marks: marks.collect(),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    }
}
