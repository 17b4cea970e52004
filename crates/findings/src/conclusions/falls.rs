//! What does not last: write cliffs, dips around events, limits that were not kept, means that never settled.

use super::{Conclusion, OF_A_KIND_LIMIT, capitalised, one};
use crate::finding::{Fact, Finding};
use crate::statistics::middle_half;
use crate::text::{bandwidth, count, duration, gigabytes, iops, times};
use crate::{Findings, Kind};

impl Findings {
    pub(super) fn cliffs(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::WriteCliff,
            |fact| match fact {
                Fact::WriteCliff(cliff) => Some(cliff),
                _ => None,
            },
            |cliff| cliff.depth_percent,
        );
        // The deepest of each kind of load: other block sizes of it fall alike.
        let mut told: Vec<String> = Vec::new();
        let mut is_another = |finding: &Finding| {
            let kind = self.kind_of_load_but_size(finding);
            let is_new = !told.contains(&kind);
            if is_new {
                told.push(kind);
            }
            is_new
        };
        let mut sentences: Vec<Conclusion> = found
            .iter()
            .filter(|(finding, _)| is_another(finding))
            .take(OF_A_KIND_LIMIT)
            .map(|(finding, cliff)| {
                let recovers = cliff.recovery.as_ref().map_or_else(String::new, |recovery| {
                    format!(
                        " After {} the rate is back at {:.0} % of what it was.",
                        duration(recovery.at_s),
                        recovery.share_percent
                    )
                });
                let falls = match cliff.further_falls.len() {
                    0 => String::new(),
                    1 => " It falls once more.".to_owned(),
                    n => format!(" It falls {n} times more."),
                };
                one(
                    100,
                    finding,
                    format!(
                        "Writes fall by {:.0} % after {} and {} written, of which about {} used up a reserve: from {} ({}) to \
                         {} ({}). In the long run {}{} remain ({}).{recovers}{falls}",
                        cliff.depth_percent,
                        duration(cliff.onset_s),
                        gigabytes(cliff.bytes_written),
                        gigabytes(cliff.reserve_bytes),
                        iops(cliff.before.iops),
                        bandwidth(cliff.before.bw_bytes_per_s),
                        iops(cliff.after.iops),
                        bandwidth(cliff.after.bw_bytes_per_s),
                        iops(cliff.sustained.iops),
                        if cliff.reads_after.is_some() { " of reads and writes together" } else { "" },
                        self.load_of(finding)
                    ),
                )
            })
            .collect();
        if found.len() > sentences.len() {
            let onsets = || found.iter().map(|(_, cliff)| cliff.onset_s);
            let (earliest, latest) = (onsets().fold(f64::INFINITY, f64::min), onsets().fold(0.0, f64::max));
            let [half_from, half_to] = middle_half(onsets()).unwrap_or([earliest, latest]);
            sentences.push(Conclusion {
                weight: 99,
                text: format!(
                    "In {} writes fall, after {} to {}; half of them after {} to {}.",
                    count(found.len(), "case"),
                    duration(earliest),
                    duration(latest),
                    duration(half_from),
                    duration(half_to)
                ),
                findings: found.iter().map(|(finding, _)| finding.id.clone()).collect(),
            });
        }
        let none: Vec<&Finding> = self.of_kind(Kind::NoWriteCliff).collect();
        if found.is_empty() && !none.is_empty() {
            let longest = none.iter().filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(fact) => Some((fact.length_s, fact)),
                _ => None,
            });
            if let Some((length_s, fact)) = longest.max_by(|a, b| a.0.total_cmp(&b.0)) {
                sentences.push(Conclusion {
                    weight: 40,
                    text: format!(
                        "No write cliff was found in {} with writes, the longest of {}: {}. Whether longer load would \
                         bring one is not proven.",
                        count(none.len(), "case"),
                        duration(length_s),
                        fact.reason
                    ),
                    findings: none.iter().map(|finding| finding.id.clone()).collect(),
                });
            }
        }
        sentences
    }

    pub(super) fn disruptions(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Disruption,
            |fact| match fact {
                Fact::Disruption(disruption) => Some(disruption),
                _ => None,
            },
            |disruption| disruption.ios_missing,
        );
        let sentence = |(finding, disruption): &(&Finding, &crate::Disruption)| {
            let dips = match disruption.dips.len() {
                0 => "the rate does not leave its level".to_owned(),
                n => {
                    let longest = disruption.dips.iter().map(|dip| dip.length_s).fold(0.0, f64::max);
                    let deepest = disruption.dips.iter().map(|dip| dip.extreme_percent).fold(0.0, f64::min);
                    let (length, depth) = (duration(longest), -deepest);
                    if n == 1 {
                        format!("the rate dips once, for {length} and by {depth:.0} %")
                    } else {
                        format!(
                            "the rate dips {}, for {length} at most and by {depth:.0} % at most",
                            times(n)
                        )
                    }
                }
            };
            one(
                50 + (disruption.dips.len().min(1) as u32) * 20,
                finding,
                capitalised(&format!(
                    "{} (at {}): {dips}; meanwhile mean latency is {}, and {} failed.",
                    disruption.event,
                    duration(disruption.at_s),
                    change(disruption.latency_percent),
                    match disruption.errors {
                        0 => "no I/O".to_owned(),
                        errors => units::human_count(errors, "I/O"),
                    }
                )),
            )
        };
        found.iter().take(OF_A_KIND_LIMIT).map(sentence).collect()
    }

    pub(super) fn conformances(&self) -> Option<Conclusion> {
        let all: Vec<(&Finding, &crate::Conformance)> = self
            .of_kind(Kind::Conformance)
            .filter_map(|finding| match &finding.fact {
                Fact::Conformance(conformance) => Some((finding, conformance)),
                _ => None,
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let intervals: usize = all.iter().map(|(_, one)| one.intervals).sum();
        let above: usize = all.iter().map(|(_, one)| one.intervals_above).sum();
        Some(Conclusion {
            weight: 52,
            text: format!(
                "Limits were kept in {} of {} under {}.",
                intervals - above,
                count(intervals, "interval"),
                count(all.len(), "limit")
            ),
            findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
        })
    }

    /// Means of cases that never settled are no levels that last.
    pub(super) fn unsteady(&self) -> Option<Conclusion> {
        let unsteady: Vec<&Finding> = self
            .of_kind(Kind::SteadyState)
            .filter(|finding| matches!(&finding.fact, Fact::SteadyState(state) if !state.reached))
            .collect();
        let first = unsteady.first()?;
        Some(Conclusion {
            weight: 30,
            text: format!(
                "{} did not reach SNIA’s steady state ({} among them): that their mean would last is not proven.",
                count(unsteady.len(), "case"),
                self.load_of(first)
            ),
            findings: unsteady.iter().map(|finding| finding.id.clone()).collect(),
        })
    }
}

/// From here on a change is easier told as so many times than in percent.
const TIMES_PERCENT: f64 = 1000.0;

/// A share of what was, in percent, as the change that it is.
fn change(percent: f64) -> String {
    match (percent - 100.0).round() {
        0.0 => "as before".to_owned(),
        _ if percent >= TIMES_PERCENT => format!("{:.0} times that before", percent / 100.0),
        more if more > 0.0 => format!("{more:.0} % higher than before"),
        less => format!("{:.0} % lower than before", -less),
    }
}
