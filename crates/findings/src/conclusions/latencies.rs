//! Conclusions on latency, and on the rate within it.

use super::{Conclusion, one};
use crate::bounds::BOUND_NS;
use crate::cited::{Quantity, Source, Unit};
use crate::finding::Fact;
use crate::{Findings, Kind, cited};

impl Findings {
    pub(super) fn latencies(&self) -> Vec<Conclusion> {
        let bound = || Quantity::new(BOUND_NS, Unit::Ns, Source::constant("latency-bound")).latency();
        let within = self.levels().filter(|(_, level)| level.mean_latency_ns <= BOUND_NS);
        let lowest = self.lowest_latency();
        let mut sentences = Vec::new();
        if let Some((finding, _)) = within.max_by(|a, b| a.1.iops.total_cmp(&b.1.iops)) {
            let text = cited!(
                "With mean latency of no more than {} at most {} were reached ({}).",
                bound(),
                finding.number("iops").iops(),
                self.load_of(finding)
            );
            sentences.push(one(75, finding, text));
        } else if let Some((finding, _)) = lowest {
            let text = cited!(
                "No case kept mean latency under {}; the lowest was {} ({}).",
                bound(),
                finding.number("mean_latency_ns").latency(),
                self.load_of(finding)
            );
            sentences.push(one(75, finding, text));
        }
        sentences.extend(self.found_loads());
        if let Some((finding, level)) = lowest {
            let is_mixed = level.read.is_some() && level.write.is_some();
            let text = cited!(
                "The lowest mean latency{} is {} ({}).",
                if is_mixed { " over reads and writes" } else { "" },
                finding.number("mean_latency_ns").latency(),
                self.load_of(finding)
            );
            sentences.push(one(70, finding, text));
        }
        sentences
    }

    fn found_loads(&self) -> Option<Conclusion> {
        let found = self.ranked(
            Kind::FoundLoad,
            |fact| match fact {
                Fact::FoundLoad(found) if found.end == "found" => Some(&**found),
                _ => None,
            },
            |found| found.iops,
        );
        let (finding, found) = found.first()?;
        found.confidence_95?;
        let load = |field: &str| match found.over.as_str() {
            "rate" => finding.number(field).with_unit(Unit::Iops).iops(),
            _ => cited!("a depth of {}", finding.number(field).plain(0)),
        };
        let text = cited!(
            "Up to {} ({} confidence: {} to {}) {} latency stays under {} ({}).",
            load("load"),
            Quantity::constant("confidence", 0.95).percent(),
            load("confidence_95.0"),
            load("confidence_95.1"),
            crate::Cited::quote(&found.of, Source::finding(&finding.id, "of")),
            finding.number("below_ns").latency(),
            self.load_of(finding)
        );
        Some(one(78, finding, text))
    }
}
