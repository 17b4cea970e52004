//! Charts of load searches: measured points, the bound, and the result with its interval.

use super::{Source, section_id};
use crate::chart::scale::plain;
use crate::chart::{Axis, Chart, Level, Mark, Point, Ranges, Role, Scale, Series, TickFormat};
use findings::{Fact, Findings, FoundLoad, FoundPoint, Kind};
use units::human_count;

/// Most searches that are drawn in one stage.
const SEARCHES_LIMIT: usize = 24;
/// Ratio of the largest load to the smallest from which on what lies around the answer is drawn once more by itself.
const WIDE: f64 = 4.0;
/// Share of the answer that is drawn to both sides of it.
const AROUND: f64 = 0.3;
/// Latencies further apart than this go on a logarithmic axis.
const TALL: f64 = 20.0;
/// Standard errors of a 95 % interval.
const SIGMAS_95: f64 = 1.96;
const MS: f64 = 1e6;

/// The charts of a stage's searches, and how many searches were left out.
pub fn charts(source: &Source<'_>, found: Option<&Findings>, stage: &str) -> (Vec<Chart>, usize) {
    let searches: Vec<(&str, &FoundLoad)> = found
        .into_iter()
        .flat_map(|found| found.of_kind(Kind::FoundLoad))
        .filter(|finding| finding.stage == stage)
        .filter_map(|finding| match (&finding.fact, &finding.case) {
            (Fact::FoundLoad(search), Some(case)) => Some((case.as_str(), &**search)),
            _ => None,
        })
        .collect();
    let is_only = source.cases.iter().filter(|case| case.stage == stage).count() == 1;
    let mut charts = Vec::new();
    for (number, (case, search)) in searches.iter().take(SEARCHES_LIMIT).enumerate() {
        let id = format!("{}-search-{}", section_id(stage), number + 1);
        let subject = if is_only { String::new() } else { format!(": {case}") };
        let all = |_: &FoundPoint| true;
        charts.push(chart(search, id.clone(), &subject, &all));
        let loads = || search.points.iter().map(|point| point.load);
        let (least, most) = (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max));
        let is_around = |point: &FoundPoint| (point.load / search.load - 1.0).abs() <= AROUND;
        if search.confidence_95.is_some() && most > least * WIDE {
            charts.push(chart(
                search,
                format!("{id}-close"),
                &format!("{subject}, around the answer"),
                &is_around,
            ));
        }
    }
    (charts, searches.len().saturating_sub(SEARCHES_LIMIT))
}

fn chart(search: &FoundLoad, id: String, subject: &str, is_shown: &dyn Fn(&FoundPoint) -> bool) -> Chart {
    let mut shown: Vec<&FoundPoint> = search.points.iter().filter(|point| is_shown(point)).collect();
    shown.sort_by(|a, b| a.load.total_cmp(&b.load));
    let latencies = || shown.iter().map(|point| point.latency_ns).chain([search.below_ns as f64]);
    let is_tall = latencies().fold(0.0, f64::max) > TALL * latencies().fold(f64::INFINITY, f64::min);
    let is_wide =
        shown.last().map_or(0.0, |last| last.load) > WIDE * shown.first().map_or(0.0, |first| first.load);
    let is_rate = search.over == "rate";
    type Belongs = fn(&FoundPoint) -> bool;
    let kinds: [(&str, Belongs); 3] = [
        ("kept", |point| point.holds),
        ("broken", |point| !point.holds && point.kept_up),
        ("not delivered", |point| !point.kept_up),
    ];
    let series = kinds.iter().enumerate().filter_map(|(style, (label, belongs))| {
        let points: Vec<Point> = shown.iter().filter(|point| belongs(point)).map(|point| at(point)).collect();
        let label = (*label).to_owned();
        (!points.is_empty()).then_some(Series { label, style, role: Role::Run, points })
    });
    Chart {
        id,
        title: format!(
            "Search for the largest {} with {} latency under {}{subject}",
            if is_rate { "rate" } else { "depth" },
            search.of,
            units::human_latency(search.below_ns as f64)
        ),
        caption: caption(search, shown.len()),
        x: Axis {
            label: if is_rate { "Rate, all jobs and targets together" } else { "Queue depth of each job" }
                .into(),
            unit: if is_rate { "IOPS" } else { "" }.into(),
            scale: if is_wide { Scale::Log2 } else { Scale::Linear },
            format: TickFormat::Number,
        },
        y: Axis {
            label: format!("{} latency", search.of),
            unit: "ms".into(),
            scale: if is_tall { Scale::Log10 } else { Scale::LinearFromZero },
            format: TickFormat::Number,
        },
        series: series.collect(),
        marks: mark(search).into_iter().collect(),
        levels: vec![Level {
            y: search.below_ns as f64 / MS,
            label: format!("bound: {}", units::human_latency(search.below_ns as f64)),
        }],
        ranges: Ranges::Confidence,
    }
}

fn at(point: &FoundPoint) -> Point {
    let range = point.standard_error_ns.map(|error| {
        let half = SIGMAS_95 * error;
        // On a logarithmic axis there is no zero to reach down to.
        ((point.latency_ns - half).max(point.latency_ns / 10.0) / MS, (point.latency_ns + half) / MS)
    });
    Point { x: point.load, y: Some(point.latency_ns / MS), range }
}

/// The load that was found, as a band over its interval.
fn mark(search: &FoundLoad) -> Option<Mark> {
    let [low, high] = search.confidence_95?;
    let label = format!("found: {} (95 %: {} to {})", plain(search.load), plain(low), plain(high));
    let is_wide = high > low;
    Some(Mark { x: if is_wide { low } else { search.load }, until: is_wide.then_some(high), label })
}

fn caption(search: &FoundLoad, shown: usize) -> String {
    let how = match search.confidence_by.as_deref() {
        Some("sectioning") => {
            "the upright band is the 95 % interval of the load that was found, by sectioning and the delta method"
        }
        Some(_) => "the upright band goes from the largest load that held to the smallest that did not",
        None => "no load, or every load, kept the bound",
    };
    let left_out = match search.points.len() - shown {
        0 => String::new(),
        left_out => {
            format!(" {left_out} of the {} lie outside.", human_count(search.points.len() as u64, "point"))
        }
    };
    format!(
        "Each point is a load of the case's own length, shaded by the 95 % interval of its latency; {how}.{left_out}"
    )
}
