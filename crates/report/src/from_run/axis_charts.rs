//! Charts of results against the settings that vary: lines for numbers, bars for words.

use super::quantity::{self, Kind};
use super::{Source, axes};
use crate::chart::{Chart, Level, Point, Ranges, Role, SERIES_LIMIT, Series};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::CaseResult;

/// Most charts against settings in one report: more than anyone reads, and what a page of 10 MB can hold.
pub const CHARTS_LIMIT: usize = 240;
/// Most charts against settings in one stage.
const STAGE_CHARTS_LIMIT: usize = 36;
/// Most bars side by side in a group times groups, so that a chart stays on one screen.
const CATEGORIES_LIMIT: usize = 24;

/// A case, with its result where it has one: without, it leaves a gap.
#[derive(Clone, Copy)]
struct Item<'a> {
    settings: &'a Map<String, Value>,
    result: Option<&'a CaseResult>,
}

/// One line: cases that differ in the setting along x alone.
struct Line<'a> {
    label: String,
    path: &'static str,
    cases: Vec<Item<'a>>,
}

/// Quantity on the vertical axis.
struct Upwards {
    title: &'static str,
    kind: Kind,
    paths: &'static [&'static str],
}

const RATES: [Upwards; 2] = [
    Upwards { title: "IOPS", kind: Kind::Iops, paths: &["iops"] },
    Upwards { title: "Bandwidth", kind: Kind::Bandwidth, paths: &["bw_bytes_per_s"] },
];
/// For one line of cases: everything about latency in one chart.
const LATENCY_TOGETHER: Upwards = Upwards {
    title: "Latency",
    kind: Kind::Latency,
    paths: &["read.latency_ns.mean", "write.latency_ns.mean", "read.latency_ns.p99", "write.latency_ns.p99"],
};
/// For several: a chart for each direction.
const LATENCY_APART: [Upwards; 2] = [
    Upwards { title: "Mean read latency", kind: Kind::Latency, paths: &["read.latency_ns.mean"] },
    Upwards { title: "Mean write latency", kind: Kind::Latency, paths: &["write.latency_ns.mean"] },
];

/// All charts of a stage against each of its axes, and how many were left out.
pub fn charts(source: &Source<'_>, stage: &str, names: &[&str], budget: &mut usize) -> (Vec<Chart>, usize) {
    let results: BTreeMap<u32, &CaseResult> = source.done().collect();
    let cases: Vec<Item<'_>> = source
        .cases
        .iter()
        .filter(|case| case.stage == stage)
        .map(|case| Item { settings: &case.settings, result: results.get(&case.index).copied() })
        .collect();
    let mut charts = Vec::new();
    let mut left_out = 0;
    // Every axis gets its share, so that the first of a large matrix does not take all the room.
    let axis_limit = STAGE_CHARTS_LIMIT / names.len().max(1);
    for name in names {
        let drawn_before = charts.len();
        let others: Vec<&str> = names.iter().copied().filter(|other| other != name).collect();
        for panel in panels(&cases, &others) {
            let upwards = if panel.groups.len() > 1 {
                &LATENCY_APART[..]
            } else {
                std::slice::from_ref(&LATENCY_TOGETHER)
            };
            for upwards in RATES.iter().chain(upwards) {
                let Some(shown) = shown(name, &panel, upwards) else { continue };
                if *budget == 0 || charts.len() - drawn_before >= axis_limit {
                    left_out += 1;
                    continue;
                }
                *budget -= 1;
                let mut chart = chart(source, stage, name, &panel, upwards, &shown);
                chart.id = format!("{}-{}", super::section_id(stage), charts.len() + 1);
                charts.push(chart);
            }
        }
    }
    (charts, left_out)
}

/// Cases that share a chart.
struct Panel<'a> {
    /// Settings in common, where a stage needs several panels.
    heading: String,
    /// Each becomes a line, or a bar in each group.
    groups: Vec<(String, Vec<Item<'a>>)>,
}

/// Splits cases into panels of at most `SERIES_LIMIT` groups: the last settings tell lines apart, the settings before
/// them tell panels apart. Where the last setting alone has more values, its lines are spread over several panels.
fn panels<'a>(cases: &[Item<'a>], others: &[&str]) -> Vec<Panel<'a>> {
    let settings: Vec<_> = cases.iter().map(|case| case.settings).collect();
    let mut first_of_lines = others.len();
    let mut lines = 1;
    while first_of_lines > 0 {
        lines *= axes::values(&settings, others[first_of_lines - 1]).len().max(1);
        if lines > SERIES_LIMIT {
            break;
        }
        first_of_lines -= 1;
    }
    let (of_panels, of_lines) = others.split_at(first_of_lines.min(others.len().saturating_sub(1)));
    let mut panels = Vec::new();
    for (heading, cases) in grouped(cases, of_panels) {
        let groups = grouped(&cases, of_lines);
        for part in groups.chunks(SERIES_LIMIT) {
            let heading = match part {
                [first, .., last] if groups.len() > SERIES_LIMIT => {
                    let comma = if heading.is_empty() { "" } else { ", " };
                    format!("{heading}{comma}{} to {}", first.0, last.0)
                }
                [only] if groups.len() > SERIES_LIMIT => only.0.clone(),
                _ => heading.clone(),
            };
            panels.push(Panel { heading, groups: part.to_vec() });
        }
    }
    panels
}

/// Cases with the same values of some settings together, in order of appearance.
fn grouped<'a>(cases: &[Item<'a>], names: &[&str]) -> Vec<(String, Vec<Item<'a>>)> {
    let mut groups: Vec<(String, Vec<Item<'_>>)> = Vec::new();
    for case in cases {
        let label = axes::label(case.settings, names);
        match groups.iter_mut().find(|group| group.0 == label) {
            Some(group) => group.1.push(*case),
            None => groups.push((label, vec![*case])),
        }
    }
    groups
}

/// Content of a chart: its lines, the values along x, and whether these are groups of bars.
struct Shown<'a> {
    lines: Vec<Line<'a>>,
    values: Vec<Value>,
    is_bars: bool,
}

/// Content of the chart of a panel; `None` where that is no chart. Large campaigns have thousands of panels, few of which are
/// drawn.
fn shown<'a>(name: &str, panel: &Panel<'a>, upwards: &Upwards) -> Option<Shown<'a>> {
    let lines: Vec<Line<'a>> = panel
        .groups
        .iter()
        .flat_map(|(label, cases)| {
            upwards.paths.iter().map(move |path| Line {
                label: if upwards.paths.len() > 1 { quantity::words(path) } else { label.clone() },
                path,
                cases: cases.iter().copied().filter(|case| case.settings.contains_key(name)).collect(),
            })
        })
        .filter(|line| line.cases.iter().any(|case| value_of(case, line.path).is_some()))
        .take(SERIES_LIMIT)
        .collect();
    let settings: Vec<_> =
        lines.iter().flat_map(|line| line.cases.iter().map(|case| case.settings)).collect();
    let values = axes::values(&settings, name);
    if values.len() < 2 {
        return None;
    }
    let is_bars = !axes::is_numeric(name, &values);
    (!is_bars || values.len() <= CATEGORIES_LIMIT).then_some(Shown { lines, values, is_bars })
}

fn chart(
    source: &Source<'_>,
    stage: &str,
    name: &str,
    panel: &Panel<'_>,
    upwards: &Upwards,
    Shown { lines, values, is_bars }: &Shown<'_>,
) -> Chart {
    let is_bars = *is_bars;
    let mut series = Vec::new();
    for (style, line) in lines.iter().enumerate() {
        let label = if lines.len() == 1 { String::new() } else { line.label.clone() };
        let (run, published) = points(source, stage, name, values, is_bars, line);
        if !published.is_empty() {
            series.push(Series { label: label.clone(), style, role: Role::Published, points: published });
        }
        series.push(Series { label, style, role: Role::Run, points: run });
    }
    // Published diamonds are drawn over the run's lines.
    series.sort_by_key(|series| series.role == Role::Published);
    let mut levels = declared_levels(source, stage, lines, upwards);
    let y = axes::upwards(upwards.kind, &mut series, &mut levels);
    let x = axes::along(name, values, is_bars);
    let axis_title = axes::title(name);
    let axis_title = axis_title.split(" (").next().unwrap_or(name).to_lowercase().replace("raid", "RAID");
    let requested = super::asked_for(source, stage, Some(name), upwards.kind).next();
    let heading = if panel.heading.is_empty() { String::new() } else { format!(", {}", panel.heading) };
    Chart {
        id: String::new(),
        title: match requested {
            Some(chart) => format!("{}{heading}", chart.title),
            None => format!("{} by {axis_title}{heading}", upwards.title),
        },
        caption: requested.map(super::published_as).unwrap_or_default(),
        x,
        y,
        series,
        marks: Vec::new(),
        levels,
        ranges: Ranges::Extremes,
    }
}

/// A line's points, with gaps for values of the setting that have no result, and the published points beside them.
fn points(
    source: &Source<'_>,
    stage: &str,
    name: &str,
    values: &[Value],
    is_bars: bool,
    line: &Line<'_>,
) -> (Vec<Point>, Vec<Point>) {
    let mut run = Vec::new();
    let mut published = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let x = if is_bars { index as f64 } else { axes::number(value) };
        let case = line.cases.iter().find(|case| case.settings.get(name) == Some(value));
        run.push(Point::new(x, case.and_then(|case| value_of(case, line.path))));
        if let (Some(case), Some(plan)) = (case, &source.plan) {
            let figures = plan.published_for(stage, case.settings);
            let beside = figures.iter().filter(|figure| figure.quantity.name() == line.path);
            published.extend(beside.map(|figure| Point::new(x, Some(figure.value))));
        }
    }
    (run, published)
}

fn value_of(case: &Item<'_>, path: &str) -> Option<f64> {
    case.result.and_then(|result| quantity::value(result, path))
}

/// Figures that the vendor declares for cases of this chart, where they are near enough to be drawn in it.
fn declared_levels(source: &Source<'_>, stage: &str, lines: &[Line<'_>], upwards: &Upwards) -> Vec<Level> {
    let Some(plan) = &source.plan else { return Vec::new() };
    let mut levels: Vec<Level> = Vec::new();
    let mut most: f64 = 0.0;
    for line in lines {
        for case in &line.cases {
            most = most.max(value_of(case, line.path).unwrap_or(0.0));
            for declared in plan.declared_for(stage, case.settings) {
                let is_new = levels.iter().all(|level| level.y != declared.value);
                if upwards.paths.contains(&declared.quantity.name()) && is_new {
                    levels.push(Level {
                        y: declared.value,
                        label: format!("declared: {}", upwards.kind.text(declared.value)),
                    });
                }
            }
        }
    }
    levels.retain(|level| level.y <= most * 3.0);
    levels
}
