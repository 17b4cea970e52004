//! Charts of what happens within single cases: utilisation of parts, latency percentiles and latency heat maps over time.

use super::{ReportError, Source, section_id};
use crate::chart::{Axis, Chart, Level, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use crate::heat_map::HeatMap;
use findings::{BusiestSpan, Fact, Findings, Kind, LatencyOverTime, PartUtilisation};
use std::collections::BTreeSet;

/// Cases of a report that are drawn in such detail.
pub const CASES_LIMIT: usize = 16;
/// Cases of one stage.
const STAGE_CASES: usize = 2;
/// Fewer intervals show no change over time.
const LEAST_INTERVALS: usize = 8;
/// Columns of a heat map, and points of its percentiles.
const COLUMNS: usize = 60;
/// Points of a line of utilisation.
const POINTS: usize = 120;
/// Spans of the busiest part that a caption names.
const SPANS_NAMED: usize = 3;

/// Charts and heat maps of the cases of a stage that tell the most: the first that falls or is disturbed, and the fastest.
pub fn charts(
    source: &Source<'_>,
    found: Option<&Findings>,
    stage: &str,
    budget: &mut usize,
) -> Result<(Vec<Chart>, Vec<HeatMap>), ReportError> {
    let (mut charts, mut maps) = (Vec::new(), Vec::new());
    let Some(found) = found else { return Ok((charts, maps)) };
    for name in chosen(found, stage) {
        if *budget == 0 {
            break;
        }
        let case = source.cases.iter().find(|case| case.stage == stage && case.name == name);
        let Some(case) = case else { continue };
        let Some(latencies) = findings::latency_over_time(source.run, case.index, COLUMNS)? else { continue };
        if latencies.columns.len() < LEAST_INTERVALS {
            continue;
        }
        *budget -= 1;
        let number = maps.len() + 1;
        let only = source.cases.iter().filter(|case| case.stage == stage).count() == 1;
        let subject = if only { String::new() } else { format!(", {name}") };
        let parts = findings::utilisation(source.run, case.index, POINTS)?;
        charts.extend(use_chart(stage, number, &subject, &parts));
        charts.push(percentile_chart(stage, number, &subject, &latencies));
        maps.push(HeatMap {
            id: format!("{}-heat-{number}", section_id(stage)),
            title: format!("Latency over time{subject}"),
            caption: "The darker a cell, the larger the share of the I/Os of that moment that took so long. Four steps double \
                      the latency."
                .into(),
            latencies,
        });
    }
    Ok((charts, maps))
}

/// Names of the cases to show.
fn chosen<'a>(found: &'a Findings, stage: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let of_stage = |kind| found.of_kind(kind).filter(|finding| finding.stage == stage);
    let falls = of_stage(Kind::WriteCliff).chain(of_stage(Kind::Disruption)).next();
    let fastest = of_stage(Kind::Level)
        .filter_map(|finding| match &finding.fact {
            Fact::Level(level) if level.iops > 0.0 => Some((finding, level.iops)),
            _ => None,
        })
        // Of equals the first.
        .reduce(|best, one| if one.1 > best.1 { one } else { best })
        .map(|(finding, _)| finding);
    for finding in [falls, fastest].into_iter().flatten() {
        names.extend(finding.case.as_deref());
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(*name));
    names.truncate(STAGE_CASES);
    names
}

fn seconds() -> Axis {
    Axis {
        label: "Time since the load began".into(),
        unit: "s".into(),
        scale: Scale::Linear,
        format: TickFormat::Seconds,
    }
}

fn use_chart(stage: &str, number: usize, subject: &str, parts: &[PartUtilisation]) -> Option<Chart> {
    let series: Vec<Series> = parts
        .iter()
        .take(SERIES_LIMIT)
        .enumerate()
        .map(|(style, part)| Series {
            label: format!("{} {}", part.part, part.resource.replace('_', " ")),
            style,
            role: Role::Run,
            points: part
                .points
                .iter()
                .map(|point| Point {
                    x: point.at_s,
                    y: Some(100.0 * point.mean_share),
                    range: (point.parts > 1)
                        .then_some((100.0 * point.smallest_share, 100.0 * point.largest_share)),
                })
                .collect(),
        })
        .collect();
    if series.iter().all(|series| series.points.len() < LEAST_INTERVALS) {
        return None;
    }
    Some(Chart {
        id: format!("{}-use-{number}", section_id(stage)),
        title: format!("Utilisation of parts over time{subject}"),
        caption: format!(
            "Mean over like parts; the band spans the least and the most busy of them. {}",
            spans(&findings::busiest(parts))
        )
        .trim_end()
        .to_owned(),
        x: seconds(),
        y: Axis {
            label: "Busy".into(),
            unit: "%".into(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        },
        series,
        marks: Vec::new(),
        levels: vec![Level { y: 90.0, label: "from here a part limits".into() }],
        ranges: Ranges::Extremes,
    })
}

/// Bottlenecks over time, in words.
fn spans(spans: &[BusiestSpan]) -> String {
    let full: Vec<&BusiestSpan> = spans.iter().filter(|span| span.is_full).collect();
    let time = |at_s: f64| units::human_duration((at_s * 1e9) as u64);
    let name = |span: &BusiestSpan| span.part.replace('_', " ");
    match (full.as_slice(), spans.len()) {
        ([], 0) => String::new(),
        ([], _) => {
            // None is full: the one that was the busiest for the longest.
            let longest = spans.iter().max_by(|a, b| (a.to_s - a.from_s).total_cmp(&(b.to_s - b.from_s)));
            longest
                .map_or_else(String::new, |span| format!("No part is full; the busiest is {}.", name(span)))
        }
        (full, _) => {
            let named: Vec<String> = full
                .iter()
                .take(SPANS_NAMED)
                .map(|span| format!("{} from {} to {}", name(span), time(span.from_s), time(span.to_s)))
                .collect();
            let more = if full.len() > SPANS_NAMED { ", and later again" } else { "" };
            format!("What limits: {}{more}.", named.join(", "))
        }
    }
}

fn percentile_chart(stage: &str, number: usize, subject: &str, latencies: &LatencyOverTime) -> Chart {
    let largest = latencies.columns.iter().filter_map(|column| column.percentiles_ns).map(|all| all[4]).max();
    let (unit, divisor) = super::quantity::Kind::Latency.unit(largest.unwrap_or(0) as f64);
    let line = |style: usize, label: &str, place: usize, band: Option<(usize, usize)>| Series {
        label: label.into(),
        style,
        role: Role::Run,
        points: latencies
            .columns
            .iter()
            .map(|column| {
                let at = |place: usize| column.percentiles_ns.map(|all| all[place] as f64 / divisor);
                Point {
                    x: column.to_s,
                    y: at(place),
                    range: band.and_then(|(low, high)| at(low).zip(at(high))),
                }
            })
            .collect(),
    };
    Chart {
        id: format!("{}-percentiles-{number}", section_id(stage)),
        title: format!("Latency percentiles over time{subject}"),
        caption: "Of all I/Os that completed until then, since the point before; the band spans p5 to p95."
            .into(),
        x: seconds(),
        y: Axis {
            label: "Completion latency".into(),
            unit: unit.into(),
            scale: Scale::Log10,
            format: TickFormat::Number,
        },
        series: vec![line(0, "median", 1, Some((0, 2))), line(1, "p99", 3, None), line(2, "p99.9", 4, None)],
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::Percentiles,
    }
}
