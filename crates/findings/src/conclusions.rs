//! Conclusions in words: the first page of a report. No sentence without a finding behind it.

use crate::finding::{Fact, Finding};
use crate::text::{bandwidth, block, duration, gigabytes, iops, latency, times};
use crate::{Findings, Kind, Verdict, words};
use serde::Serialize;

/// A sentence with the findings that carry it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// How much it matters, 0 to 100; conclusions are ordered by it.
    pub weight: u32,
    /// The sentence, with its numbers.
    pub text: String,
    /// The findings, the one that carries most first.
    pub findings: Vec<String>,
}

/// Sentences of one kind beyond so many are summed up.
const OF_A_KIND_LIMIT: usize = 4;

/// Paths of which none carries more than this many times the mean are even: published multipath figures lie within.
const EVEN: f64 = 1.1;

impl Findings {
    /// What a reader takes away, the weightiest first.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let mut all = Vec::new();
        all.extend(self.highest());
        all.extend(self.cliffs());
        all.extend(self.limits());
        all.extend(self.latencies());
        all.extend(self.blocks());
        all.extend(self.saturations());
        all.extend(self.penalties());
        all.extend(self.disruptions());
        all.extend(self.conformances());
        all.extend(self.paths());
        all.extend(self.unsteady());
        all.extend(self.claims_refuted());
        all.extend(self.claims_not_shown());
        all.sort_by_key(|conclusion| std::cmp::Reverse(conclusion.weight));
        all
    }

    /// The findings of a kind with their facts, the largest first by some number.
    fn ranked<'a, T>(
        &'a self,
        kind: Kind,
        fact: impl Fn(&'a Fact) -> Option<&'a T>,
        size: impl Fn(&T) -> f64,
    ) -> Vec<(&'a Finding, &'a T)> {
        let mut found: Vec<(&Finding, &T)> =
            self.of_kind(kind).filter_map(|finding| Some((finding, fact(&finding.fact)?))).collect();
        found.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
        found
    }

    fn highest(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Level,
            |fact| match fact {
                Fact::Level(level) => Some(level),
                _ => None,
            },
            |level| level.iops,
        );
        let mut sentences = Vec::new();
        if let Some((finding, level)) = found.first() {
            sentences.push(one(
                95,
                finding,
                format!(
                    "At most {} were reached, at {} mean latency ({}).",
                    iops(level.iops),
                    latency(level.mean_latency_ns),
                    self.load_of(finding)
                ),
            ));
        }
        let by_bytes = found.iter().max_by(|a, b| a.1.bw_bytes_per_s.total_cmp(&b.1.bw_bytes_per_s));
        if let Some((finding, level)) = by_bytes
            && found.len() > 1
        {
            sentences.push(one(
                85,
                finding,
                format!(
                    "At most {} were moved ({}).",
                    bandwidth(level.bw_bytes_per_s),
                    self.load_of(finding)
                ),
            ));
        }
        sentences
    }

    fn cliffs(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::WriteCliff,
            |fact| match fact {
                Fact::WriteCliff(cliff) => Some(cliff),
                _ => None,
            },
            |cliff| cliff.depth_percent,
        );
        let mut sentences: Vec<Conclusion> = found
            .iter()
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
        if found.len() > OF_A_KIND_LIMIT {
            let onsets = || found.iter().map(|(_, cliff)| cliff.onset_s);
            let (earliest, latest) = (onsets().fold(f64::INFINITY, f64::min), onsets().fold(0.0, f64::max));
            sentences.push(Conclusion {
                weight: 99,
                text: format!(
                    "In {} cases writes fall, after {} to {}.",
                    found.len(),
                    duration(earliest),
                    duration(latest)
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
                        "No write cliff was found in {} cases that write, the longest of {}: {}. Whether longer load would \
                         bring one is not proven.",
                        none.len(),
                        duration(length_s),
                        fact.reason
                    ),
                    findings: none.iter().map(|finding| finding.id.clone()).collect(),
                });
            }
        }
        sentences
    }

    fn limits(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Limit,
            |fact| match fact {
                Fact::Limit(limit) => Some(limit),
                _ => None,
            },
            |limit| limit.iops,
        );
        let mut by: Vec<(&str, &str)> = Vec::new();
        for (_, limit) in &found {
            if !by.contains(&(limit.by.as_str(), limit.part.as_str())) {
                by.push((&limit.by, &limit.part));
            }
        }
        by.into_iter()
            .take(OF_A_KIND_LIMIT)
            .filter_map(|which| {
                let all: Vec<_> = found
                    .iter()
                    .filter(|(_, limit)| (limit.by.as_str(), limit.part.as_str()) == which)
                    .collect();
                let (finding, limit) = all.first()?;
                let load = self.load_of(finding);
                let (what, is_plural) = words::limiter(which.0);
                let verb = if is_plural { "limit" } else { "limits" };
                let because = &limit.because;
                let text = match (which.0, all.len()) {
                    ("unknown", 1) => format!("What limits {load} is not proven: {because}."),
                    ("unknown", kinds) => {
                        format!("What limits {kinds} kinds of load is not proven. At {load}: {because}.")
                    }
                    (_, 1) => format!("{what} {verb} {load}: {because}."),
                    (_, kinds) => format!("{what} {verb} {kinds} kinds of load. At {load}: {because}."),
                };
                Some(Conclusion {
                    weight: if which.0 == "unknown" { 45 } else { 80 },
                    text: capitalised(&text),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }

    fn latencies(&self) -> Vec<Conclusion> {
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

    fn blocks(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::BestBlockSize,
            |fact| match fact {
                Fact::BestBlockSize(best) => Some(best),
                _ => None,
            },
            |best| best.points.iter().map(|point| point[1]).fold(0.0, f64::max),
        );
        let best = found.first().map(|(finding, best)| {
            one(
                65,
                finding,
                format!(
                    "Blocks of {} suit it best: {:.0} % of the largest IOPS and {}; from {} on, bandwidth is within 10 % of \
                     the largest.",
                    block(best.best_bs),
                    best.iops_share_percent,
                    bandwidth(best.bw_bytes_per_s),
                    block(best.best_bs_for_bandwidth)
                ),
            )
        });
        let flattening = self.of_kind(Kind::Flattening).find_map(|finding| match &finding.fact {
            Fact::Flattening(flat) if flat.flattens => Some(one(
                60,
                finding,
                format!(
                    "From {} on the same bytes move each second, {} (± {:.1} %): larger blocks are as many fewer operations.",
                    block(flat.from_bs?),
                    bandwidth(flat.bw_bytes_per_s),
                    flat.deviation_percent
                ),
            )),
            _ => None,
        });
        best.into_iter().chain(flattening).collect()
    }

    fn saturations(&self) -> Option<Conclusion> {
        let found = self.ranked(
            Kind::Saturation,
            |fact| match fact {
                Fact::Saturation(saturation) => Some(saturation),
                _ => None,
            },
            |saturation| saturation.maximum_iops,
        );
        let (finding, saturation) = found.first()?;
        let text = match saturation.at {
            Some(at) => format!(
                "It saturates at {} = {at:.0}, with {} at {} ({}).",
                saturation.setting,
                iops(saturation.iops),
                latency(saturation.mean_latency_ns),
                self.load_of(finding)
            ),
            None => format!(
                "It does not saturate within the {} tested: the last step still gains ({}).",
                saturation.setting,
                self.load_of(finding)
            ),
        };
        Some(one(55, finding, text))
    }

    fn penalties(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::WritePenalty,
            |fact| match fact {
                Fact::WritePenalty(penalty) => Some(penalty),
                _ => None,
            },
            |penalty| penalty.disks.unwrap_or(0) as f64,
        );
        let mut levels: Vec<u64> = found.iter().map(|(_, penalty)| penalty.raid).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
            .into_iter()
            .filter_map(|raid| {
                let all: Vec<_> = found.iter().filter(|(_, penalty)| penalty.raid == raid).collect();
                let ratios = || all.iter().map(|(_, penalty)| penalty.ratio);
                let (low, high) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
                Some(Conclusion {
                    weight: 58,
                    text: format!(
                        "RAID {raid}: random writes reach {:.0} to {:.0} % of reads over {} sets; the rule of thumb says {:.0} %.",
                        100.0 * low,
                        100.0 * high,
                        all.len(),
                        100.0 * all.first()?.1.rule_of_thumb
                    ),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }

    fn disruptions(&self) -> Vec<Conclusion> {
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
                    format!(
                        "the rate dips {}, for {} at most and by {:.0} % at most",
                        times(n),
                        duration(longest),
                        -deepest
                    )
                }
            };
            one(
                50 + (disruption.dips.len().min(1) as u32) * 20,
                finding,
                format!(
                    "{} (at {}): {dips}; meanwhile mean latency is {}, and {} I/Os failed.",
                    disruption.event,
                    duration(disruption.at_s),
                    change(disruption.latency_percent),
                    disruption.errors
                ),
            )
        };
        found.iter().take(OF_A_KIND_LIMIT).map(sentence).collect()
    }

    fn conformances(&self) -> Option<Conclusion> {
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
                "Limits were kept in {} of {intervals} intervals under {} limits.",
                intervals - above,
                all.len()
            ),
            findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
        })
    }

    /// How a real host's paths share the load. A twin's links are part of what bounds it, and said there.
    fn paths(&self) -> Option<Conclusion> {
        let ranked = self.ranked(
            Kind::PathBalance,
            |fact| match fact {
                Fact::PathBalance(balance) if balance.paths != "link" => Some(balance),
                _ => None,
            },
            |balance| balance.largest_over_mean,
        );
        let (finding, worst) = ranked.first()?;
        let paths = match worst.paths.split_once(" of ") {
            Some((_, device)) => format!("The paths of {device}"),
            None => format!("The {}s of the host", worst.paths),
        };
        let shares: Vec<String> = worst.shares_percent.iter().map(|share| format!("{share:.1}")).collect();
        let shares = format!("{} %", shares.join(" : "));
        let says = if worst.largest_over_mean > EVEN {
            format!("{paths} do not share the load evenly: {shares} ({}).", self.load_of(finding))
        } else {
            format!(
                "{paths} share the load evenly: {shares} where they differ most ({}).",
                self.load_of(finding)
            )
        };
        Some(one(if worst.largest_over_mean > EVEN { 45 } else { 20 }, finding, says))
    }

    /// Means of cases that never settled are no levels that last.
    fn unsteady(&self) -> Option<Conclusion> {
        let unsteady: Vec<&Finding> = self
            .of_kind(Kind::SteadyState)
            .filter(|finding| matches!(&finding.fact, Fact::SteadyState(state) if !state.reached))
            .collect();
        let first = unsteady.first()?;
        Some(Conclusion {
            weight: 30,
            text: format!(
                "{} cases did not reach SNIA’s steady state ({} among them): that their mean would last is not proven.",
                unsteady.len(),
                self.load_of(first)
            ),
            findings: unsteady.iter().map(|finding| finding.id.clone()).collect(),
        })
    }

    fn claims_refuted(&self) -> Vec<Conclusion> {
        let refuted = self.claims().into_iter().filter(|claim| claim.verdict == Verdict::Refuted);
        refuted
            .filter(|claim| !claim.findings.is_empty())
            .map(|claim| Conclusion {
                weight: 68,
                text: format!(
                    "Published ({}): “{}” This run shows otherwise: {}.",
                    claim.id,
                    claim.says,
                    claim.because_in_full()
                ),
                findings: claim.findings,
            })
            .collect()
    }

    fn claims_not_shown(&self) -> Option<Conclusion> {
        let claims = self.claims();
        let not_shown: Vec<_> = claims.iter().filter(|claim| claim.verdict == Verdict::NotShown).collect();
        let mut findings: Vec<String> =
            not_shown.iter().flat_map(|claim| claim.findings.iter().cloned()).collect();
        findings.dedup();
        // Claims about which the run has nothing at all stand in the table of claims; here only what was looked at.
        if findings.is_empty() {
            return None;
        }
        let ids: Vec<&str> =
            not_shown.iter().filter(|claim| !claim.findings.is_empty()).map(|claim| claim.id).collect();
        let first = not_shown.iter().find(|claim| !claim.findings.is_empty())?;
        Some(Conclusion {
            weight: 28,
            text: format!("Not shown by this run: {}. {}: {}.", ids.join(", "), first.id, first.because),
            findings,
        })
    }
}

fn one(weight: u32, finding: &Finding, text: String) -> Conclusion {
    Conclusion { weight, text, findings: vec![finding.id.clone()] }
}

/// A share of what was, in percent, as the change that it is.
fn change(percent: f64) -> String {
    match (percent - 100.0).round() {
        0.0 => "as before".to_owned(),
        more if more > 0.0 => format!("{more:.0} % higher than before"),
        less => format!("{:.0} % lower than before", -less),
    }
}

/// The text with its first letter as a sentence has it.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
