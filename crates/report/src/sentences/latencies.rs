//! Sentences on latency, and on the rate within it.

use super::{Sentence, Sentences, one};
use findings::{Cited, Fact, Kind, LATENCY_BOUND_NS, Quantity, Source, Unit, cited};

impl Sentences<'_> {
    pub(super) fn latencies(&self) -> Vec<Sentence> {
        let bound = || Quantity::new(LATENCY_BOUND_NS, Unit::Ns, Source::constant("latency-bound")).latency();
        let within = self.found.levels().filter(|(_, level)| level.mean_latency_ns <= LATENCY_BOUND_NS);
        let lowest = self.found.lowest_latency();
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

    fn found_loads(&self) -> Option<Sentence> {
        let found = self.found.ranked(
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
            Cited::quote(&found.of, Source::finding(&finding.id, "of")),
            finding.number("below_ns").latency(),
            self.load_of(finding)
        );
        Some(one(78, finding, text))
    }
}
