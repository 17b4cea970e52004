//! How soon the target answers, and how much of that it can do.

use super::{Conclusion, one};
use crate::finding::Fact;
use crate::text::{iops, latency};
use crate::{Findings, Kind};

impl Findings {
    pub(super) fn latencies(&self) -> Vec<Conclusion> {
        let mut sentences = Vec::new();
        let found = self.ranked(
            Kind::BoundedMaximum,
            |fact| match fact {
                Fact::BoundedMaximum(maximum) => Some(maximum),
                _ => None,
            },
            |maximum| maximum.iops.unwrap_or(0.0),
        );
        if let Some((finding, maximum)) = found.first() {
            let text = match maximum.iops {
                Some(rate) => format!(
                    "With mean latency of no more than {} at most {} were reached ({}).",
                    latency(maximum.bound_ns),
                    iops(rate),
                    self.load_of(finding)
                ),
                None => format!(
                    "No case kept mean latency under {}; the lowest was {} ({}).",
                    latency(maximum.bound_ns),
                    latency(maximum.mean_latency_ns),
                    self.load_of(finding)
                ),
            };
            sentences.push(one(75, finding, text));
        }
        sentences.extend(self.found_loads());
        let found = self.ranked(
            Kind::MinimalLatency,
            |fact| match fact {
                Fact::MinimalLatency(minimal) => Some(minimal),
                _ => None,
            },
            |minimal| -minimal.mean_latency_ns,
        );
        if let Some((finding, minimal)) = found.first() {
            sentences.push(one(
                70,
                finding,
                format!(
                    "The lowest mean latency is {} ({}).",
                    latency(minimal.mean_latency_ns),
                    self.load_of(finding)
                ),
            ));
        }
        sentences
    }

    fn found_loads(&self) -> Option<Conclusion> {
        let found = self.ranked(
            Kind::FoundLoad,
            |fact| match fact {
                Fact::FoundLoad(found) if found.end == "found" => Some(found),
                _ => None,
            },
            |found| found.iops,
        );
        let (finding, found) = found.first()?;
        let [low, high] = found.confidence_95?;
        let load = |load: f64| match found.over.as_str() {
            "rate" => iops(load),
            _ => format!("a depth of {load:.0}"),
        };
        let text = format!(
            "Up to {} (95 % confidence: {} to {}) {} latency stays under {} ({}).",
            load(found.load),
            load(low),
            load(high),
            found.of,
            latency(found.below_ns as f64),
            self.load_of(finding)
        );
        Some(one(78, finding, text))
    }
}
