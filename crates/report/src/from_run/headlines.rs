//! Headline figures, each the number of a finding.
//!
//! Each is the number of the finding whose sentence says the same.

use super::section_id;
use crate::Sentences;
use crate::model::Headline;
use findings::{Cited, Finding, Findings, Kind, Level, cited};

/// Printer of a finding's number on a tile.
type Printed = fn(findings::Quantity) -> Cited;

/// The highest rates and the lowest latency, each with its case.
pub fn of(found: &Findings) -> Vec<Headline> {
    [
        found.peak_iops().and_then(|best| {
            tile(found, "Peak IOPS", best, "iops", |rate| {
                let text = units::human_rate(rate.value());
                rate.printed(text)
            })
        }),
        found
            .peak_bandwidth()
            .and_then(|best| tile(found, "Peak bandwidth", best, "bw_bytes_per_s", |rate| rate.bandwidth())),
        found.lowest_latency().and_then(|best| {
            tile(found, "Lowest mean latency", best, "mean_latency_ns", |latency| latency.latency())
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn tile(
    found: &Findings,
    label: &str,
    (finding, level): (&Finding, &Level),
    field: &str,
    printed: Printed,
) -> Option<Headline> {
    let load = Sentences::of(found).load_of(finding);
    let is_mixed = level.read.is_some() && level.write.is_some();
    let of = if is_mixed { " over reads and writes" } else { "" };
    let detail = if field == "mean_latency_ns" {
        cited!("{}{}", load, if is_mixed { ", over reads and writes" } else { "" })
    } else {
        cited!("{}, mean latency {}{}", load, finding.quantity("mean_latency_ns")?.latency(), of)
    };
    let mean_of =
        if has_fallen(found, finding) { ", the mean of before and after its writes fell" } else { "" };
    Some(Headline {
        label: label.into(),
        value: printed(finding.quantity(field)?),
        detail: cited!("{}{}", detail, mean_of),
        section_id: section_id(&finding.stage),
    })
}

/// Returns true if writes fell lastingly within the case of a level, whose figures are then those of no moment.
fn has_fallen(found: &Findings, level: &Finding) -> bool {
    found.of_kind(Kind::WriteCliff).any(|cliff| cliff.stage == level.stage && cliff.case == level.case)
}
