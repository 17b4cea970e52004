//! Sentences on writes that fall, and that do not.

use super::{OF_A_KIND_LIMIT, Sentence, Sentences, one};
use findings::{Cited, Fact, Finding, Kind, NoWriteCliff, Quantity, Source, WriteCliff, cited};

impl Sentences<'_> {
    pub(super) fn cliffs(&self) -> Vec<Sentence> {
        let found = self.found.ranked(
            Kind::WriteCliff,
            |fact| match fact {
                Fact::WriteCliff(cliff) => Some(&**cliff),
                _ => None,
            },
            |cliff| cliff.depth_percent,
        );
        // What few cases do, such as a cache that fills, is not what the target is like.
        let weight = if self.found.are_rare(&found) { 46 } else { 100 };
        // The deepest of each workload: other block sizes of it fall alike.
        let mut listed_workloads: Vec<String> = Vec::new();
        let mut is_another = |finding: &Finding| {
            let kind = self.workload_but_size(finding);
            let is_new = !listed_workloads.contains(&kind);
            if is_new {
                listed_workloads.push(kind);
            }
            is_new
        };
        let mut sentences: Vec<Sentence> = found
            .iter()
            .filter(|(finding, _)| is_another(finding))
            .take(OF_A_KIND_LIMIT)
            .map(|(finding, cliff)| one(weight, finding, self.fall(finding, cliff)))
            .collect();
        if found.len() > sentences.len() {
            sentences.extend(several(&found, weight - 1));
        }
        if found.is_empty() {
            sentences.extend(self.no_cliff());
        }
        sentences.extend(self.ramp_fall());
        sentences
    }

    /// Sentence on falls within a ramp, the deepest of them told.
    fn ramp_fall(&self) -> Option<Sentence> {
        let found = self.found.ramp_falls();
        let (deepest, _) = found.first()?;
        let number = |field: &str| deepest.number(field);
        let own = cited!(
            "by {} after {} and {} written: from {} ({}) to {} ({})",
            number("depth_percent").percent_of_all(),
            number("onset_s").duration(),
            number("bytes_written").gigabytes(),
            number("before.iops").iops(),
            number("before.bw_bytes_per_s").bandwidth(),
            number("after.iops").iops(),
            number("after.bw_bytes_per_s").bandwidth()
        );
        let all: Vec<Source> =
            found.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
        let text = match found.len() {
            1 => cited!(
                "Within the ramp, which is not counted, writes fall {} ({}).",
                own,
                self.load_of(deepest)
            ),
            _ => cited!(
                "Within the ramp, which is not counted, writes fall in {}, most {} ({}).",
                Quantity::count_of(&all).count("case"),
                own,
                self.load_of(deepest)
            ),
        };
        Some(Sentence {
            weight: 41,
            text,
            findings: found.iter().map(|(finding, _)| finding.id.clone()).collect(),
        })
    }

    fn fall(&self, finding: &Finding, cliff: &WriteCliff) -> Cited {
        let number = |field: &str| finding.number(field);
        let recovers = match &cliff.recovery {
            Some(_) => cited!(
                " After {} the rate is back at {} of what it was.",
                number("recovery.at_s").duration(),
                number("recovery.share_percent").percent()
            ),
            None => Cited::default(),
        };
        let further: Vec<Source> = (0..cliff.further_falls.len())
            .map(|place| Source::finding(&finding.id, &format!("further_falls.{place}.onset_s")))
            .collect();
        let falls = match further.len() {
            0 => Cited::default(),
            1 => cited!(" It falls once more."),
            _ => cited!(" It falls {} times more.", Quantity::count_of(&further).plain(0)),
        };
        cited!(
            "Writes fall by {} after {} and {} written, of which about {} used up a reserve: from {} ({}) to {} ({}). \
             In the long run {}{} remain ({}).{}{}",
            number("depth_percent").percent_of_all(),
            number("onset_s").duration(),
            number("bytes_written").gigabytes(),
            number("reserve_bytes").gigabytes(),
            number("before.iops").iops(),
            number("before.bw_bytes_per_s").bandwidth(),
            number("after.iops").iops(),
            number("after.bw_bytes_per_s").bandwidth(),
            number("sustained.iops").iops(),
            if cliff.reads_after.is_some() { " of reads and writes together" } else { "" },
            self.load_of(finding),
            recovers,
            falls
        )
    }

    /// Sentence where no write cliff was found: that it could have been seen, or why it could not.
    fn no_cliff(&self) -> Option<Sentence> {
        let none: Vec<(&Finding, &NoWriteCliff)> = self
            .found
            .of_kind(Kind::NoWriteCliff)
            .filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(fact) => Some((finding, &**fact)),
                _ => None,
            })
            .collect();
        let could = none.iter().filter(|(_, fact)| fact.could_show());
        let longest = could.max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s));
        let findings = none.iter().map(|(finding, _)| finding.id.clone()).collect();
        let all: Vec<Source> =
            none.iter().map(|(finding, _)| Source::finding(&finding.id, "length_s")).collect();
        let cases = Quantity::count_of(&all);
        let text = match longest {
            Some((finding, fact)) => cited!(
                "No write cliff was found{} in {} with writes, the longest of {}: {}. Whether longer load would bring one is not \
                 proven.",
                self.beyond_ramp(),
                cases.count("case"),
                finding.number("length_s").duration(),
                reason(finding, fact)
            ),
            None => {
                let (finding, fact) = none.iter().max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s))?;
                cited!(
                    "Whether writes fall{} is not shown by any of {} with writes; of the longest, {}: {}.",
                    self.beyond_ramp(),
                    cases.count("case"),
                    finding.number("length_s").duration(),
                    reason(finding, fact)
                )
            }
        };
        Some(Sentence { weight: 40, text, findings })
    }
}

fn reason(finding: &Finding, fact: &NoWriteCliff) -> Cited {
    Cited::quote(&fact.reason, Source::finding(&finding.id, "reason"))
}

/// Sentence about writes that fall in several cases.
fn several(found: &[(&Finding, &WriteCliff)], weight: u32) -> Option<Sentence> {
    let onsets = || found.iter().map(|(finding, _)| finding.number("onset_s")).collect::<Vec<_>>();
    let cases: Vec<Source> =
        found.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
    let [half_from, half_to] = Quantity::middle_half(&onsets())?;
    let (from, to) = (half_from.duration(), half_to.duration());
    let half = match from.text() == to.text() {
        // Most fall at about one moment: a range from it to itself would say nothing.
        true => Cited::default(),
        false => cited!("; half of them after {} to {}", from, to),
    };
    Some(Sentence {
        weight,
        text: cited!(
            "In {} writes fall, after {} to {}{}.",
            Quantity::count_of(&cases).count("case"),
            Quantity::smallest(&onsets())?.duration(),
            Quantity::largest(&onsets())?.duration(),
            half
        ),
        findings: found.iter().map(|(finding, _)| finding.id.clone()).collect(),
    })
}
