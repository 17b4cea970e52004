//! Writes ÷ reads of RAID sets by the size of the operation.

use super::{axes, section_id};
use crate::chart::{Axis, Chart, Point, Ranges, Role, Scale, Series, TickFormat};
use findings::{Fact, Findings, Kind, WritePenalty};
use serde_json::Value;

/// For each state of the write cache a chart with bars for each RAID level: the mean over the sets, from the lowest to the highest.
/// None where there is one size only.
pub fn charts(found: Option<&Findings>, stage: &str) -> Vec<Chart> {
    let all: Vec<&WritePenalty> = found
        .into_iter()
        .flat_map(|found| found.of_kind(Kind::WritePenalty))
        .filter(|finding| finding.stage == stage)
        .filter_map(|finding| match &finding.fact {
            Fact::WritePenalty(penalty) => Some(&**penalty),
            _ => None,
        })
        .collect();
    let caches = values(&all, "write_cache");
    let caches: Vec<Option<Value>> =
        if caches.is_empty() { vec![None] } else { caches.into_iter().map(Some).collect() };
    let charts = caches.into_iter().enumerate().filter_map(|(number, cache)| {
        let of_cache: Vec<&WritePenalty> = all
            .iter()
            .copied()
            .filter(|penalty| cache.is_none() || penalty.of.get("write_cache") == cache.as_ref())
            .collect();
        let sizes = values(&of_cache, "bs");
        if sizes.len() < 2 {
            return None;
        }
        chart(&of_cache, &sizes, cache.as_ref(), &format!("{}-penalty-{}", section_id(stage), number + 1))
    });
    charts.collect()
}

/// Different values of a setting, in order.
fn values(all: &[&WritePenalty], name: &str) -> Vec<Value> {
    let settings: Vec<_> = all.iter().map(|penalty| &penalty.of).collect();
    axes::values(&settings, name)
}

fn chart(all: &[&WritePenalty], sizes: &[Value], cache: Option<&Value>, id: &str) -> Option<Chart> {
    let mut levels: Vec<u64> = all.iter().map(|penalty| penalty.raid).collect();
    levels.sort_unstable();
    levels.dedup();
    let bars = |raid: u64| {
        sizes.iter().enumerate().map(move |(place, size)| {
            let percent: Vec<f64> = all
                .iter()
                .filter(|penalty| penalty.raid == raid && penalty.of.get("bs") == Some(size))
                .map(|penalty| 100.0 * penalty.ratio)
                .collect();
            let (low, high) = percent
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
            let mean = percent.iter().sum::<f64>() / percent.len().max(1) as f64;
            let has_any = !percent.is_empty();
            Point { x: place as f64, y: has_any.then_some(mean), range: has_any.then_some((low, high)) }
        })
    };
    let series: Vec<Series> = levels
        .iter()
        .enumerate()
        .map(|(style, raid)| Series {
            label: format!("RAID {raid}"),
            style,
            role: Role::Run,
            points: bars(*raid).collect(),
        })
        .collect();
    if series.is_empty() {
        return None;
    }
    let state = cache.and_then(Value::as_str).map(|state| format!(", write cache {state}"));
    let names = sizes.iter().map(|size| axes::value_text("bs", size)).collect();
    Some(Chart {
        id: id.to_owned(),
        title: format!("Random writes ÷ reads by operation size{}", state.unwrap_or_default()),
        caption: "Bars are means over the sets of each RAID level; the whisker spans the lowest and the highest set.".into(),
        x: Axis {
            label: axes::title("bs"),
            unit: String::new(),
            scale: Scale::Categories(names),
            format: TickFormat::Number,
        },
        y: Axis {
            label: "Write IOPS ÷ read IOPS".into(),
            unit: "%".into(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        },
        series,
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    })
}
