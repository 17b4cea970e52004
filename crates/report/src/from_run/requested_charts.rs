//! The charts that a plan asks for and that no single axis of a stage suggests: of some of its cases, one for each
//! combination of settings, over several stages, against bytes written, of response times.

use super::quantity::{self, Kind};
use super::time_charts::{self, Direction, Line, Shown};
use super::{ReportError, Source, axes, requested_tables, section_id};
use crate::chart::{Axis, Chart, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use findings::Findings;
use plan::ChartAxis;
use serde_json::{Map, Value};
use store::CaseResult;

/// Most charts that a plan's entries make of one report.
const CHARTS_LIMIT: usize = 240;
/// Response times are counted in so many steps for each doubling.
const STEPS_AN_OCTAVE: u32 = 4;

/// True where a chart is one that the stage's axes or its time suggest anyway, which then only has its title.
pub fn is_plain(chart: &plan::Chart) -> bool {
    chart.stages.len() == 1
        && chart.each.is_empty()
        && chart.series.is_none()
        && !chart.has_conditions()
        && matches!(chart.x, ChartAxis::Time | ChartAxis::Setting(_))
}

/// True where the plan itself says which charts a stage has.
pub fn decides(source: &Source<'_>, stage: &str) -> bool {
    let mut requested = source.plan.iter().flat_map(|plan| &plan.charts);
    // A contour stands beside the charts of its stage.
    let is_part = |chart: &plan::Chart| !is_plain(chart) && chart.contour_of.is_none();
    requested.any(|chart| is_part(chart) && chart.stages.len() == 1 && chart.stages[0] == stage)
        || source.stage_of_plan(stage).is_some_and(|stage| stage.repeats.is_some())
}

/// Returns true if a chart is about this stage alone, or with `None` about several.
pub fn is_of(chart: &plan::Chart, stage: Option<&str>) -> bool {
    match stage {
        Some(stage) => chart.stages.len() == 1 && chart.stages[0] == stage,
        None => chart.stages.len() > 1,
    }
}

/// Cases to draw, each with its index.
pub type Cases<'a> = Vec<(u32, &'a CaseResult)>;

/// The charts of one stage that the plan decides, or with `None` those over several stages.
pub fn charts(
    source: &Source<'_>,
    found: Option<&Findings>,
    stage: Option<&str>,
) -> Result<Vec<Chart>, ReportError> {
    let mut charts = Vec::new();
    let Some(plan) = &source.plan else { return Ok(charts) };
    let prefix = stage.map_or_else(|| "across".to_owned(), section_id);
    for requested in plan.charts.iter().filter(|chart| chart.contour_of.is_none() && is_of(chart, stage)) {
        let cases: Cases<'_> =
            source.done().filter(|(_, result)| requested.shows(&result.stage, &result.settings)).collect();
        for (heading, cases) in split(cases, &requested.each) {
            let drawn = match requested.x {
                ChartAxis::Time | ChartAxis::Written => over_time(source, requested, &cases)?,
                ChartAxis::Latency => vec![response_times(source, found, requested, &cases)?],
                ChartAxis::Setting(name) => against(source, requested, name, &cases),
                ChartAxis::Quantity(x) => trade(source, requested, x.name(), &cases),
            };
            let several = drawn.len();
            for (part, mut chart) in drawn.into_iter().enumerate() {
                if charts.len() == CHARTS_LIMIT || chart.series.iter().all(|series| series.points.is_empty())
                {
                    continue;
                }
                chart.id = format!("{prefix}-asked-{}", charts.len() + 1);
                chart.title = match (heading.is_empty(), several) {
                    (true, 1) => requested.title.clone(),
                    (false, 1) => format!("{}, {heading}", requested.title),
                    _ => format!("{} {heading} ({} of {several})", requested.title, part + 1),
                };
                chart.caption =
                    format!("{} {}", super::published_as(requested), chart.caption).trim().to_owned();
                charts.push(chart);
            }
        }
    }
    Ok(charts)
}

/// Cases with the same values of some settings together, in order of appearance.
pub fn split<'a>(cases: Cases<'a>, names: &[&str]) -> Vec<(String, Cases<'a>)> {
    let mut groups: Vec<(String, Cases<'a>)> = Vec::new();
    for case in cases {
        let label = axes::label(&case.1.settings, names);
        match groups.iter_mut().find(|group| group.0 == label) {
            Some(group) => group.1.push(case),
            None => groups.push((label, vec![case])),
        }
    }
    groups
}

/// The settings that tell the lines of a chart apart.
fn line_names<'a>(
    source: &'a Source<'_>,
    requested: &plan::Chart,
    cases: &[(u32, &CaseResult)],
) -> Vec<&'a str> {
    if let Some(series) = requested.series {
        return vec![series];
    }
    let settings: Vec<&Map<String, Value>> = cases.iter().map(|(_, result)| &*result.settings).collect();
    let of_x = if let ChartAxis::Setting(name) = requested.x { name } else { "repeat" };
    let mut names: Vec<&str> = requested.stages.iter().flat_map(|stage| source.axes_of(stage)).collect();
    names.dedup();
    names.retain(|name| *name != of_x && *name != "repeat" && axes::values(&settings, name).len() > 1);
    names
}

/// Lines of points against a setting, or bars where its values are words.
fn against(
    source: &Source<'_>,
    requested: &plan::Chart,
    name: &str,
    cases: &[(u32, &CaseResult)],
) -> Vec<Chart> {
    let settings: Vec<&Map<String, Value>> = cases.iter().map(|(_, result)| &*result.settings).collect();
    let values = axes::values(&settings, name);
    let is_bars = !axes::is_numeric(name, &values);
    let names = line_names(source, requested, cases);
    let mut lines: Vec<(String, &'static str, Cases<'_>)> = Vec::new();
    for (label, cases) in split(cases.to_vec(), &names) {
        for y in &requested.y {
            let has_any = cases.iter().any(|(_, result)| quantity::value(result, y.name()).is_some());
            if has_any {
                let label = match (requested.y.len(), label.is_empty()) {
                    (1, _) => label.clone(),
                    (_, true) => quantity::words(y.name()),
                    _ => format!("{label}, {}", quantity::words(y.name())),
                };
                lines.push((label, y.name(), cases.clone()));
            }
        }
    }
    let kind = requested.y.first().map_or(Kind::Iops, |y| Kind::of(y.name()));
    let draw = |lines: &[(String, &'static str, Cases<'_>)]| {
        let mut series = Vec::new();
        for (style, (label, path, cases)) in lines.iter().enumerate() {
            let (mut run, mut published) = (Vec::new(), Vec::new());
            for (place, value) in values.iter().enumerate() {
                let x = if is_bars { place as f64 } else { axes::number(value) };
                let here = || cases.iter().filter(|(_, result)| result.settings.get(name) == Some(value));
                // Cases that the chart does not tell apart are drawn as their mean.
                let found: Vec<f64> =
                    here().filter_map(|(_, result)| quantity::value(result, path)).collect();
                let mean = (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64);
                run.push(Point::new(x, mean));
                let figures = here().flat_map(|(_, result)| {
                    source.plan.iter().flat_map(|plan| plan.published_for(&result.stage, &result.settings))
                });
                let figure = figures
                    .filter(|figure| figure.quantity.name() == *path)
                    .map(|figure| figure.value)
                    .next();
                published.extend(figure.map(|value| Point::new(x, Some(value))));
            }
            let label = if lines.len() == 1 { String::new() } else { label.clone() };
            series.push(Series { label: label.clone(), style, role: Role::Run, points: run });
            if !published.is_empty() {
                series.push(Series { label, style, role: Role::Published, points: published });
            }
        }
        // Published diamonds are drawn over the run's lines.
        series.sort_by_key(|series| series.role == Role::Published);
        let y = axes::upwards(kind, &mut series, &mut []);
        blank(axes::along(name, &values, is_bars), y, series)
    };
    lines.chunks(SERIES_LIMIT).map(draw).collect()
}

/// Settings that say how much load there is: along them a line of points runs.
const HOW_MUCH: [&str; 4] = ["numjobs", "iodepth", "rate_iops", "rate_percent"];

/// Points of two measured quantities, as latency against IOPS. Cases that differ only in how much load there is are one line, in
/// the order of the load, so that a line which turns back shows where more load gives less.
fn trade(
    source: &Source<'_>,
    requested: &plan::Chart,
    x_path: &str,
    cases: &[(u32, &CaseResult)],
) -> Vec<Chart> {
    let mut names = line_names(source, requested, cases);
    if requested.series.is_none() {
        names.retain(|name| !HOW_MUCH.contains(name));
    }
    let (x_kind, y_kind) =
        (Kind::of(x_path), requested.y.first().map_or(Kind::Latency, |y| Kind::of(y.name())));
    let mut series = Vec::new();
    for (label, cases) in split(cases.to_vec(), &names) {
        for y in &requested.y {
            let point = |result: &CaseResult| {
                Some(Point::new(quantity::value(result, x_path)?, Some(quantity::value(result, y.name())?)))
            };
            let points: Vec<Point> = cases.iter().filter_map(|(_, result)| point(result)).collect();
            let words = quantity::words(y.name());
            let label = match (requested.y.len(), label.is_empty()) {
                (1, _) => label.clone(),
                (_, true) => words,
                _ => format!("{label}, {words}"),
            };
            if !points.is_empty() {
                series.push(Series { label, style: series.len() % SERIES_LIMIT, role: Role::Run, points });
            }
        }
    }
    let largest_x =
        series.iter().flat_map(|line| line.points.iter().map(|point| point.x)).fold(0.0, f64::max);
    let (unit, divisor) = x_kind.unit(largest_x);
    for point in series.iter_mut().flat_map(|line| &mut line.points) {
        point.x /= divisor;
    }
    let draw = |lines: &[Series]| {
        let mut lines = lines.to_vec();
        lines.iter_mut().enumerate().for_each(|(style, line)| line.style = style);
        let y = axes::upwards(y_kind, &mut lines, &mut []);
        let title = quantity::words(x_path);
        let scale = Scale::LinearFromZero;
        let x = Axis { label: title, unit: unit.into(), scale, format: TickFormat::Number };
        blank(x, y, lines)
    };
    series.chunks(SERIES_LIMIT).map(draw).collect()
}

fn blank(x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    Chart {
        id: String::new(),
        title: String::new(),
        caption: String::new(),
        x,
        y,
        series,
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    }
}

/// Lines against time or against bytes written. Cases that go on from one another are one line.
fn over_time(
    source: &Source<'_>,
    requested: &plan::Chart,
    cases: &[(u32, &CaseResult)],
) -> Result<Vec<Chart>, ReportError> {
    let is_one = requested
        .stages
        .iter()
        .all(|stage| source.stage_of_plan(stage).is_some_and(|stage| stage.continues != plan::Continues::No));
    let names = line_names(source, requested, cases);
    let mut lines = Vec::new();
    if is_one && requested.series.is_none() {
        lines.extend(time_charts::joined(source, cases)?);
    } else {
        for (index, result) in cases {
            lines.extend(time_charts::lines_of(source, *index, result, &names)?);
        }
    }
    lines.retain(|line: &Line| line.intervals.len() > 1);
    let events = source.run.events()?;
    let against_written = requested.x == ChartAxis::Written;
    let mut charts = Vec::new();
    for lines in lines.chunks((SERIES_LIMIT / requested.y.len().max(1)).max(1)) {
        let span = time_charts::span(requested, lines, cases);
        let part: Vec<Line> = match span {
            Some((from_ns, to_ns)) => lines.iter().map(|line| line.between(from_ns, to_ns)).collect(),
            None => lines.to_vec(),
        };
        let shown: Vec<Shown> = requested
            .y
            .iter()
            .map(|y| Shown { kind: Kind::of(y.name()), direction: Direction::of(y.name()), path: y.name() })
            .collect();
        charts.extend(time_charts::drawing(source, &part, &shown, &events, against_written));
    }
    Ok(charts)
}

/// Distribution of the I/Os of cases over latency.
fn response_times(
    source: &Source<'_>,
    found: Option<&Findings>,
    requested: &plan::Chart,
    cases: &[(u32, &CaseResult)],
) -> Result<Chart, ReportError> {
    let mut names = line_names(source, requested, cases);
    let lines: Vec<Cases<'_>> = match &requested.pick {
        Some(pick) => vec![requested_tables::chosen(source, found, pick, cases)],
        None => cases.iter().map(|case| vec![*case]).collect(),
    };
    // One that was chosen from the results says which it is; one that is all there is need not.
    if cases.len() == 1 {
        names.clear();
    }
    let mut series = Vec::new();
    for line in lines.iter().take(SERIES_LIMIT) {
        let Some((_, first)) = line.first() else { continue };
        let mut steps: std::collections::BTreeMap<i64, u64> = std::collections::BTreeMap::new();
        let mut all = 0u64;
        let mut totals = Vec::new();
        for (index, _) in line {
            totals.extend(source.run.totals(*index)?);
        }
        for load in totals {
            let is_wanted = |name| requested.y.iter().any(|y| Direction::of(y.name()).has(name));
            let directions = [(Direction::Read, &load.read), (Direction::Write, &load.write)];
            for (_, totals) in directions.iter().filter(|(direction, _)| is_wanted(*direction)) {
                let Some(totals) = totals else { continue };
                for (bin, count) in totals.latency.filled_bins() {
                    let middle_ns = load::bin_middle_ns(bin).max(1);
                    *steps.entry(step_of(middle_ns)).or_default() += count;
                    all += count;
                }
            }
        }
        let points = steps
            .iter()
            .map(|(step, count)| {
                Point::new(start_of(*step) / 1e3, Some(100.0 * *count as f64 / all.max(1) as f64))
            })
            .collect();
        let label = axes::label(&first.settings, &names);
        series.push(Series { label, style: series.len(), role: Role::Run, points });
    }
    let axis = |label: &str, unit: &str, scale| Axis {
        label: label.into(),
        unit: unit.into(),
        scale,
        format: TickFormat::Number,
    };
    let mut chart = blank(
        axis("Completion latency", "µs", Scale::Log10),
        axis("Share of I/Os", "%", Scale::LinearFromZero),
        series,
    );
    chart.caption =
        format!("Each point is the share of I/Os in a step; {STEPS_AN_OCTAVE} steps double the latency.");
    Ok(chart)
}

/// The step of a latency: a quarter of an octave by its leading bits, which needs no logarithm.
fn step_of(latency_ns: u64) -> i64 {
    let octave = latency_ns.ilog2();
    let quarter = if octave >= 2 { (latency_ns >> (octave - 2)) & 3 } else { 0 };
    i64::from(octave * STEPS_AN_OCTAVE) + quarter as i64
}

/// Beginning of a step.
fn start_of(step: i64) -> f64 {
    let (octave, quarter) = (step / i64::from(STEPS_AN_OCTAVE), step % i64::from(STEPS_AN_OCTAVE));
    let octave_ns = (1u64 << octave.clamp(0, 62)) as f64;
    octave_ns * (1.0 + quarter as f64 / f64::from(STEPS_AN_OCTAVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that steps are in order, and that a latency lies in its step.
    #[test]
    fn steps_hold_their_latencies() {
        for latency_ns in [1u64, 7, 100, 1023, 1024, 1300, 999_999, 5_000_000_000] {
            let step = step_of(latency_ns);
            assert!(
                start_of(step) <= latency_ns as f64 && (latency_ns as f64) < start_of(step + 1),
                "{latency_ns}"
            );
        }
    }
}
