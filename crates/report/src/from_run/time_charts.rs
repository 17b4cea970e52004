//! Charts of a stage against time.

use super::quantity::Kind;
use super::{ReportError, Source, axes};
use crate::chart::{Axis, Chart, Mark, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use findings::{Cited, cited};
use std::collections::BTreeMap;
use store::{CaseResult, DirectionPoint, Event, IntervalPoint, PRECONDITIONING_LOAD};

/// All points of all time charts of a report: about 4 MB of page.
const POINTS_LIMIT: usize = 60_000;
/// Points of a line of a chart that the plan asks for: such charts are many, and each has its place.
const ASKED_POINTS: usize = 240;
/// Fewer points than this would hide what a line does.
const LEAST_POINTS: usize = 60;
/// A line wider than the screen has pixels gains nothing.
const MOST_POINTS: usize = 720;
const KINDS: [Kind; 3] = [Kind::Iops, Kind::Bandwidth, Kind::Latency];
/// Events beyond this many in one chart would hide it.
const MARKS_LIMIT: usize = 9;

/// Remaining number of lines in charts against time.
pub struct Budget {
    points_a_line: usize,
    lines_left: usize,
}

impl Budget {
    /// For a report of so many cases.
    pub fn for_cases(cases: usize) -> Budget {
        let lines = (cases * KINDS.len()).max(1);
        let points_a_line = (POINTS_LIMIT / lines).clamp(LEAST_POINTS, MOST_POINTS);
        Budget { points_a_line, lines_left: POINTS_LIMIT / points_a_line }
    }
}

/// One line: a load of a case, or cases that go on from one another.
#[derive(Clone)]
pub struct Line {
    label: String,
    case_index: u32,
    pub intervals: Vec<IntervalPoint>,
}

/// Direction of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    All,
    Read,
    Write,
}

impl Direction {
    pub fn of(path: &str) -> Direction {
        match path.split_once('.') {
            Some(("read", _)) => Direction::Read,
            Some(("write", _)) => Direction::Write,
            _ => Direction::All,
        }
    }

    /// True where it covers another.
    pub fn has(self, other: Direction) -> bool {
        self == Direction::All || self == other
    }
}

/// Vertical quantity of a chart.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub kind: Kind,
    pub direction: Direction,
    /// The quantity by its path; in words it tells lines apart.
    pub path: &'static str,
}

/// The charts of a stage, and notes on what was thinned or left out.
pub fn charts(
    source: &Source<'_>,
    stage: &str,
    names: &[&str],
    budget: &mut Budget,
) -> Result<(Vec<Chart>, Vec<Cited>), ReportError> {
    let cases: Vec<(u32, &CaseResult)> = source.done().filter(|(_, result)| result.stage == stage).collect();
    let events = source.run.events()?;
    let (mut charts, mut notes) = (Vec::new(), Vec::new());
    let (mut left_out, mut short) = (0, 0);
    let mut thinned = 1;
    for panel in cases.chunks(SERIES_LIMIT) {
        if budget.lines_left < panel.len() * KINDS.len() {
            left_out += panel.len();
            continue;
        }
        let mut lines = Vec::new();
        for (index, result) in panel {
            let found = lines_of(source, *index, result, names)?;
            if found.iter().all(|line| line.intervals.len() < 2) {
                short += 1;
                continue;
            }
            lines.extend(found);
        }
        if lines.is_empty() {
            continue;
        }
        // Cases with several loads fill panels of their own.
        for lines in lines.chunks(SERIES_LIMIT) {
            budget.lines_left = budget.lines_left.saturating_sub(lines.len() * KINDS.len());
            let longest = lines.iter().map(|line| line.intervals.len()).max().unwrap_or(0);
            let combined = longest.div_ceil(budget.points_a_line).max(1);
            thinned = thinned.max(combined);
            for kind in KINDS {
                let Some(drawn) = chart(source, stage, charts.len(), kind, lines, combined, &events) else {
                    continue;
                };
                charts.push(drawn);
                // Parts of the time that the plan asks for, with every interval.
                for requested in super::asked_for(source, stage, None, kind) {
                    let Some((from_ns, to_ns)) = span(requested, lines, &cases) else { continue };
                    let part: Vec<Line> = lines.iter().map(|line| line.between(from_ns, to_ns)).collect();
                    let longest = part.iter().map(|line| line.intervals.len()).max().unwrap_or(0);
                    let combined = longest.div_ceil(budget.points_a_line).max(1);
                    if let Some(mut close) =
                        chart(source, stage, charts.len(), kind, &part, combined, &events)
                    {
                        close.title.clone_from(&requested.title);
                        close.caption = format!("{} {}", super::published_as(requested), close.caption);
                        let is_inside =
                            |mark: &Mark| mark.x >= from_ns as f64 / 1e9 && mark.x <= to_ns as f64 / 1e9;
                        close.marks.retain(is_inside);
                        charts.push(close);
                    }
                }
            }
        }
    }
    if thinned > 1 {
        notes.push(cited!(
            "Charts against time are thinned: a point stands for up to {}, its value is their mean, and the band about a line \
             spans their smallest and largest. Every interval is in the run’s database.",
            super::left_out(thinned, "thinned").count("interval")
        ));
    }
    if left_out > 0 {
        notes.push(cited!(
            "Of this stage, not drawn against time to keep the page small: {}. All samples are in the run’s database.",
            super::left_out(left_out, "cases").count("case")
        ));
    }
    if short > 0 {
        notes.push(cited!(
            "Shorter than two sampling intervals, so not drawn against time: {}.",
            super::left_out(short, "short-cases").count("case")
        ));
    }
    Ok((charts, notes))
}

impl Line {
    pub fn new(label: String, case_index: u32, intervals: Vec<IntervalPoint>) -> Line {
        Line { label, case_index, intervals }
    }

    pub fn between(&self, from_ns: u64, to_ns: u64) -> Line {
        let is_inside = |interval: &&IntervalPoint| interval.end_ns > from_ns && interval.start_ns < to_ns;
        Line {
            label: self.label.clone(),
            case_index: self.case_index,
            intervals: self.intervals.iter().filter(is_inside).cloned().collect(),
        }
    }
}

/// The part of the time that a chart of the plan shows, on the clock of the load; `None` where it shows all of it.
pub fn span(requested: &plan::Chart, lines: &[Line], cases: &[(u32, &CaseResult)]) -> Option<(u64, u64)> {
    if requested.from.is_none() && requested.to.is_none() {
        return None;
    }
    let first = lines.first()?;
    let (_, result) = cases.iter().find(|(index, _)| *index == first.case_index)?;
    let runtime_ns = (result.duration_s * 1e9) as u64;
    let counting_from_ns = first.intervals.iter().find(|interval| !interval.is_ramp)?.start_ns;
    let from_ns = requested.from.map_or(0, |moment| moment.resolve(runtime_ns));
    let to_ns = requested.to.map_or(runtime_ns, |moment| moment.resolve(runtime_ns));
    Some((counting_from_ns + from_ns, counting_from_ns + to_ns))
}

pub fn lines_of(
    source: &Source<'_>,
    index: u32,
    result: &CaseResult,
    names: &[&str],
) -> Result<Vec<Line>, ReportError> {
    let mut loads: BTreeMap<String, Vec<IntervalPoint>> = BTreeMap::new();
    for interval in source.run.series(index)? {
        if interval.load != PRECONDITIONING_LOAD && interval.end_ns > interval.start_ns {
            loads.entry(interval.load.clone()).or_default().push(interval);
        }
    }
    let label = match axes::label(&result.settings, names) {
        label if label.is_empty() => result.case.clone(),
        label => label,
    };
    let has_several = loads.len() > 1;
    let line = |(load, intervals): (String, Vec<IntervalPoint>)| Line {
        label: if has_several { format!("{label}, {load}") } else { label.clone() },
        case_index: index,
        intervals,
    };
    Ok(loads.into_iter().map(line).collect())
}

/// Cases that go on from one another as one line.
pub fn joined(source: &Source<'_>, cases: &[(u32, &CaseResult)]) -> Result<Option<Line>, ReportError> {
    let mut line: Option<Line> = None;
    let mut from_ns = 0;
    for (index, result) in cases {
        let Some(mut own) = lines_of(source, *index, result, &[])?.into_iter().next() else { continue };
        for interval in &mut own.intervals {
            interval.start_ns += from_ns;
            interval.end_ns += from_ns;
        }
        from_ns = own.intervals.last().map_or(from_ns, |last| last.end_ns);
        match &mut line {
            Some(line) => line.intervals.append(&mut own.intervals),
            None => line = Some(Line { label: String::new(), ..own }),
        }
    }
    Ok(line)
}

fn directions(interval: &IntervalPoint, direction: Direction) -> impl Iterator<Item = &DirectionPoint> {
    let of = |wanted, part| if direction.has(wanted) { part } else { &None };
    let trims = if direction == Direction::All { &interval.trim } else { &None };
    [of(Direction::Read, &interval.read), of(Direction::Write, &interval.write), trims].into_iter().flatten()
}

/// Sums over intervals: the quantity is the first ÷ the second.
fn parts(shown: Shown, interval: &IntervalPoint) -> (f64, f64) {
    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
    let sum = |of: fn(&DirectionPoint) -> f64| directions(interval, shown.direction).map(of).sum::<f64>();
    match shown.kind {
        Kind::Iops => (sum(|part| part.ios as f64), seconds),
        Kind::Bandwidth => (sum(|part| part.bytes as f64), seconds),
        Kind::Latency => (
            sum(|part| part.latency.mean_ns * part.latency.count as f64),
            sum(|part| part.latency.count as f64),
        ),
        Kind::Errors => (sum(|part| part.errors as f64), 1.0),
    }
}

/// A point for every `combined` intervals, at the end of the last; a gap where intervals are missing.
fn thinned(shown: Shown, intervals: &[IntervalPoint], combined: usize) -> Vec<Point> {
    let mut points = Vec::new();
    let mut previous_end: Option<u64> = None;
    for bucket in intervals.chunks(combined) {
        let (first, last) = (&bucket[0], &bucket[bucket.len() - 1]);
        let length = first.end_ns - first.start_ns;
        if previous_end.is_some_and(|end| first.start_ns > end + length / 2) {
            points.push(Point::new(first.start_ns as f64 / 1e9, None));
        }
        previous_end = Some(last.end_ns);
        let ratio = |(value, by): (f64, f64)| (by > 0.0).then(|| value / by);
        let (mut value, mut by) = (0.0, 0.0);
        let mut range: Option<(f64, f64)> = None;
        for interval in bucket {
            let one = parts(shown, interval);
            value += one.0;
            by += one.1;
            if let Some(single) = ratio(one) {
                range =
                    Some(range.map_or((single, single), |(low, high)| (low.min(single), high.max(single))));
            }
        }
        points.push(Point {
            x: last.end_ns as f64 / 1e9,
            y: ratio((value, by)),
            range: range.filter(|_| combined > 1),
        });
    }
    points
}

/// The hosts of a case, as one chart of I/Os a second.
pub fn by_host(
    source: &Source<'_>,
    stage: &str,
    number: usize,
    case: &str,
    lines: &[Line],
) -> Result<Option<Chart>, ReportError> {
    let longest = lines.iter().map(|line| line.intervals.len()).max().unwrap_or(0);
    if longest < 2 {
        return Ok(None);
    }
    let combined = longest.div_ceil(ASKED_POINTS).max(1);
    let drawn = chart(source, stage, number, Kind::Iops, lines, combined, &source.run.events()?);
    Ok(drawn.map(|mut drawn| {
        drawn.id = format!("{}-hosts-{}", super::section_id(stage), number + 1);
        let of = if case.is_empty() { String::new() } else { format!(", {case}") };
        drawn.title = format!("{} of each host against time{of}", Kind::Iops.title());
        drawn
    }))
}

fn chart(
    source: &Source<'_>,
    stage: &str,
    number: usize,
    kind: Kind,
    lines: &[Line],
    combined: usize,
    events: &[Event],
) -> Option<Chart> {
    let mut series: Vec<Series> = lines
        .iter()
        .enumerate()
        .map(|(style, line)| Series {
            label: if lines.len() == 1 { String::new() } else { line.label.clone() },
            style,
            role: Role::Run,
            points: thinned(Shown { kind, direction: Direction::All, path: "" }, &line.intervals, combined),
        })
        .collect();
    let raw: Vec<f64> =
        series.iter().flat_map(|series| series.points.iter().filter_map(|point| point.y)).collect();
    if raw.is_empty() {
        return None;
    }
    let (y, divisor) = kind.axis(&raw);
    for point in series.iter_mut().flat_map(|series| &mut series.points) {
        point.y = point.y.map(|y| y / divisor);
        point.range = point.range.map(|(low, high)| (low / divisor, high / divisor));
    }
    let interval = units::human_duration(source.manifest.interval_ns * combined as u64);
    let requested =
        super::asked_for(source, stage, None, kind).find(|chart| chart.from.is_none() && chart.to.is_none());
    let what = if kind == Kind::Latency { "the mean over reads and writes in" } else { "the mean of" };
    let subject = if lines.len() == 1 && !lines[0].label.is_empty() {
        format!(", {}", lines[0].label)
    } else {
        String::new()
    };
    Some(Chart {
        id: format!("{}-time-{}", super::section_id(stage), number + 1),
        title: match requested {
            Some(chart) => format!("{}: {} against time", chart.title, kind.title()),
            None => format!("{} against time{subject}", kind.title()),
        },
        caption: format!(
            "{} Each point is {what} the {interval} that end there.",
            requested.map(super::published_as).unwrap_or_default()
        )
        .trim_start()
        .to_owned(),
        x: Axis {
            label: "Time since the load began".into(),
            unit: "s".into(),
            scale: Scale::Linear,
            format: TickFormat::Seconds,
        },
        y,
        series,
        marks: marks(lines, events),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    })
}

/// A chart that a plan asks for: lines × quantities, against time or against bytes written.
pub fn drawing(
    source: &Source<'_>,
    lines: &[Line],
    shown: &[Shown],
    events: &[Event],
    against_written: bool,
) -> Option<Chart> {
    let longest = lines.iter().map(|line| line.intervals.len()).max().unwrap_or(0);
    let combined = longest.div_ceil(ASKED_POINTS).max(1);
    let mut series = Vec::new();
    for line in lines {
        let written = written_by(line, combined);
        for one in shown {
            let mut points = thinned(*one, &line.intervals, combined);
            if points.iter().all(|point| point.y.is_none()) {
                continue;
            }
            if against_written {
                points.retain(|point| point.y.is_some());
                for (point, bytes) in points.iter_mut().zip(&written) {
                    point.x = bytes / 1e9;
                }
            }
            let label = match (lines.len(), shown.len()) {
                (1, 1) => String::new(),
                (1, _) => super::quantity::words(one.path),
                (_, 1) => line.label.clone(),
                _ => format!("{}, {}", line.label, super::quantity::words(one.path)),
            };
            series.push(Series { label, style: series.len(), role: Role::Run, points });
        }
    }
    let raw: Vec<f64> =
        series.iter().flat_map(|series| series.points.iter().filter_map(|point| point.y)).collect();
    if raw.is_empty() {
        return None;
    }
    let (y, divisor) = shown.first()?.kind.axis(&raw);
    for point in series.iter_mut().flat_map(|series| &mut series.points) {
        point.y = point.y.map(|y| y / divisor);
        point.range = point.range.map(|(low, high)| (low / divisor, high / divisor));
    }
    let (label, unit, format) = match against_written {
        true => ("Written since the stage began", "GB", TickFormat::Number),
        false => ("Time since the load began", "s", TickFormat::Seconds),
    };
    let interval = units::human_duration(source.manifest.interval_ns * combined as u64);
    let first_s = lines.iter().filter_map(|line| line.intervals.first()).map(|one| one.start_ns).min();
    let last_s = lines.iter().filter_map(|line| line.intervals.last()).map(|one| one.end_ns).max();
    let mut marks = if against_written { Vec::new() } else { marks(lines, events) };
    if let (Some(first_ns), Some(last_ns)) = (first_s, last_s) {
        marks.retain(|mark| mark.x >= first_ns as f64 / 1e9 && mark.x <= last_ns as f64 / 1e9);
    }
    Some(Chart {
        id: String::new(),
        title: String::new(),
        caption: format!("Each point is the mean of the {interval} that end there."),
        x: Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear, format },
        y,
        series,
        marks,
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    })
}

/// Bytes that a line has written at the end of each of its points.
fn written_by(line: &Line, combined: usize) -> Vec<f64> {
    let mut bytes = 0.0;
    let buckets = line.intervals.chunks(combined).map(|bucket| {
        bytes +=
            bucket.iter().filter_map(|one| one.write.as_ref()).map(|write| write.bytes as f64).sum::<f64>();
        bytes
    });
    buckets.collect()
}

/// The ramp, and what happened while these cases ran.
fn marks(lines: &[Line], events: &[Event]) -> Vec<Mark> {
    let ramp_end = |line: &Line| {
        line.intervals.iter().filter(|interval| interval.is_ramp).map(|interval| interval.end_ns).max()
    };
    let mut marks = Vec::new();
    if let Some(end) = lines.iter().filter_map(ramp_end).max() {
        marks.push(Mark { x: 0.0, until: Some(end as f64 / 1e9), label: "ramp, not counted".into() });
    }
    for event in events {
        let Some(line) = lines.iter().find(|line| Some(line.case_index) == event.case_index) else {
            continue;
        };
        let Some(at_ns) = event.case_at_ns else { continue };
        let label =
            if lines.len() == 1 { event.text.clone() } else { format!("{} ({})", event.text, line.label) };
        marks.push(Mark { x: at_ns as f64 / 1e9, until: None, label });
    }
    marks.truncate(MARKS_LIMIT);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOPS: Shown = Shown { kind: Kind::Iops, direction: Direction::All, path: "iops" };

    fn interval(start_s: u64, ios: u64) -> IntervalPoint {
        IntervalPoint {
            load: "main".into(),
            start_ns: start_s * 1_000_000_000,
            end_ns: (start_s + 5) * 1_000_000_000,
            is_ramp: false,
            is_extrapolated: false,
            read: Some(DirectionPoint { ios, bytes: ios * 4096, ..DirectionPoint::default() }),
            write: None,
            trim: None,
        }
    }

    /// Proves that thinning keeps the mean and the extremes, and that missing intervals leave a gap.
    #[test]
    fn thinning_keeps_mean_and_extremes() {
        let intervals =
            [interval(0, 100), interval(5, 50), interval(10, 5), interval(15, 45), interval(60, 10)];
        let points = thinned(IOPS, &intervals, 2);
        assert_eq!(
            points,
            [
                Point { x: 10.0, y: Some(15.0), range: Some((10.0, 20.0)) },
                Point { x: 20.0, y: Some(5.0), range: Some((1.0, 9.0)) },
                Point { x: 60.0, y: None, range: None },
                Point { x: 65.0, y: Some(2.0), range: Some((2.0, 2.0)) },
            ]
        );
        assert_eq!(thinned(IOPS, &intervals, 1)[1], Point { x: 10.0, y: Some(10.0), range: None });
    }
}
