//! Answer to what the target sustains.

use super::answer;
use crate::sentences::{Sentence, Sentences};
use findings::{Cited, Finding, Level, Quantity, Rate, Source, Unit, WriteCliff, cited};

/// Settings that lay data out another way.
const LAYOUTS: [&str; 2] = ["raid", "layout"];

impl Sentences<'_> {
    pub(super) fn sustains(&self) -> Option<Sentence> {
        // What few cases do is no rule: their level is not what the target sustains.
        let mut cliffs = self.found.write_cliffs();
        if !cliffs.is_empty() && self.found.steadfast(&cliffs).len() > cliffs.len() {
            cliffs.clear();
        }
        let by_iops = cliffs.iter().max_by(|a, b| a.1.sustained.iops.total_cmp(&b.1.sustained.iops));
        let by_bytes = cliffs
            .iter()
            .max_by(|a, b| a.1.sustained.bw_bytes_per_s.total_cmp(&b.1.sustained.bw_bytes_per_s));
        if let (Some((first, _)), Some((second, _))) = (by_iops, by_bytes) {
            let rate = first.number("sustained.iops").iops();
            let bytes = second.number("sustained.bw_bytes_per_s").bandwidth();
            let (load, wide_load) = (self.load_of(first), self.load_of(second));
            // The highest level of one layout says nothing about the others.
            let others = self.other_layouts(&cliffs, first);
            let beside = others.iter().map(|finding| {
                let rate = finding.number("sustained.iops").iops();
                cited!("; up to {} ({})", rate, self.load_of(finding))
            });
            let beside = Cited::join(beside, "");
            let text = if first.id == second.id && others.is_empty() {
                cited!("After writes have fallen, up to {} or {} remain ({}).", rate, bytes, load)
            } else {
                cited!(
                    "After writes have fallen, up to {} remain ({}){}, or up to {} ({}).",
                    rate,
                    load,
                    beside,
                    bytes,
                    wide_load
                )
            };
            let mut rests_on = vec![*first];
            rests_on.extend(others);
            rests_on.push(*second);
            return Some(answer(text, &rests_on));
        }
        self.sustained_fall()
    }

    /// Of each RAID level or layout other than that of a finding, the cliff after which most remains.
    fn other_layouts<'a>(
        &'a self,
        cliffs: &[(&'a Finding, &'a WriteCliff)],
        first: &Finding,
    ) -> Vec<&'a Finding> {
        let layout = |finding: &Finding| {
            let case = self.found.case_of(finding)?;
            LAYOUTS.iter().find_map(|name| case.settings.get(*name)).map(ToString::to_string)
        };
        let mut best: Vec<(String, &Finding, f64)> = Vec::new();
        for (finding, cliff) in cliffs {
            let Some(own) = layout(finding) else { continue };
            let rate = cliff.sustained.iops;
            match best.iter_mut().find(|known| known.0 == own) {
                Some(known) if known.2 < rate => *known = (own, finding, rate),
                Some(_) => {}
                None => best.push((own, finding, rate)),
            }
        }
        let of_first = layout(first);
        best.sort_by(|a, b| b.2.total_cmp(&a.2));
        best.retain(|(own, _, _)| Some(own) != of_first.as_ref());
        best.into_iter().map(|one| one.1).collect()
    }

    /// Level that lasted over the measured time: the most I/Os at random, and the most bytes. Where writes fall, that is the
    /// level after the last fall.
    fn sustained_fall(&self) -> Option<Sentence> {
        let cliffs = self.found.write_cliffs();
        let fall = |finding: &Finding| {
            let is_its = |other: &&(&Finding, &WriteCliff)| {
                (&other.0.stage, &other.0.case) == (&finding.stage, &finding.case)
            };
            cliffs.iter().find(is_its).copied()
        };
        let rate = |finding: &Finding, level: &Level| {
            fall(finding)
                .map_or(Rate { iops: level.iops, bw_bytes_per_s: level.bw_bytes_per_s }, |(_, cliff)| {
                    cliff.sustained
                })
        };
        let is_random = |finding: &Finding| {
            let rw = self.found.case_of(finding).and_then(|case| case.word("rw"));
            rw.is_none_or(|rw| rw.starts_with("rand"))
        };
        let all = || self.found.levels().map(|(finding, level)| (finding, level, rate(finding, level)));
        // Of equals the first in the order of the plan, as on the tiles.
        let most = |is_wanted: &dyn Fn(&Finding) -> bool, value: fn(&Rate) -> f64| {
            all().filter(|one| is_wanted(one.0)).reduce(|a, b| if value(&b.2) > value(&a.2) { b } else { a })
        };
        let random = most(&is_random, |rate| rate.iops);
        // Most bytes are moved in order as a rule; where they are not, that is what is said.
        let widest = most(&|_| true, |rate| rate.bw_bytes_per_s);
        let in_order = widest.filter(|widest| random.is_none_or(|random| random.0.id != widest.0.id));
        let mut parts = Vec::new();
        if let Some((finding, level, rate)) = random {
            // The latency is that of the whole case, with the time before a fall.
            let number = match fall(finding) {
                Some((cliff, _)) => cliff.number("sustained.iops"),
                None => finding.number("iops"),
            };
            let at = if rate.iops < level.iops {
                Cited::default()
            } else {
                cited!(" at {} mean latency", finding.number("mean_latency_ns").latency())
            };
            parts.push(cited!("up to {}{} ({})", number.iops(), at, self.load_of(finding)));
        }
        if let Some((finding, _, _)) = in_order {
            let number = match fall(finding) {
                Some((cliff, _)) => cliff.number("sustained.bw_bytes_per_s"),
                None => finding.number("bw_bytes_per_s"),
            };
            parts.push(cited!("up to {} ({})", number.bandwidth(), self.load_of(finding)));
        }
        let rests_on: Vec<&Finding> = [random, in_order].into_iter().flatten().map(|one| one.0).collect();
        let mut tried: Vec<Cited> = rests_on
            .iter()
            .filter_map(|finding| self.found.case_of(finding))
            .map(|case| {
                let source = Source::result(&case.stage, &case.name, "duration_s");
                Quantity::new(case.counted_s(), Unit::S, source).duration()
            })
            .collect();
        tried.dedup_by(|a, b| a.text() == b.text());
        let text =
            cited!("{}, over the measured {}.", Cited::join(parts, ", and "), Cited::join(tried, " and "));
        (!rests_on.is_empty()).then(|| answer(text, &rests_on))
    }
}
