//! The run in three answers, for a reader who has a minute: what the target sustains, when it falls, what limits it.

use crate::finding::{Fact, Finding};
use crate::statistics::median;
use crate::text::{bandwidth, block, duration, gigabytes, iops, latency};
use crate::{Conclusion, Findings, Kind, Level, Limit, WriteCliff};

/// Three questions, each with its answer where a finding gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Question and answer, in order.
    pub answers: Vec<(&'static str, Conclusion)>,
}

/// What a reader of a report asks first.
pub const QUESTIONS: [&str; 3] = ["What it sustains", "When it falls", "What limits it"];

/// Of the kinds of limit so many are named.
const LIMITS_NAMED: usize = 3;

impl Findings {
    /// The three answers.
    pub fn summary(&self) -> Summary {
        let answers = [self.sustains(), self.falls(), self.limited_by()];
        let told =
            QUESTIONS.into_iter().zip(answers).filter_map(|(question, answer)| Some((question, answer?)));
        Summary { answers: told.collect() }
    }

    /// The load of a finding's case, as a reader says it: `4k random reads, 8 jobs of depth 32, RAID 5`.
    fn load_of(&self, finding: &Finding) -> String {
        let case =
            self.observation.cases.iter().find(|case| {
                case.stage == finding.stage && Some(case.name.as_str()) == finding.case.as_deref()
            });
        let Some(case) = case else { return finding.stage.clone() };
        let number = |name: &str| case.number(name).map(|value| value as u64);
        let direction = match (case.word("rw"), number("rwmixread")) {
            (Some("read" | "randread"), _) | (_, Some(100)) => "reads".to_owned(),
            (Some("write" | "randwrite"), _) | (_, Some(0)) => "writes".to_owned(),
            (_, share) => format!("{} % reads", share.unwrap_or(50)),
        };
        let is_random = case.word("rw").is_some_and(|rw| rw.starts_with("rand"));
        let unit = |size: &str| if size.ends_with(|last: char| last.is_ascii_digit()) { " B" } else { "" };
        let size = number("bs").map(block).map_or_else(String::new, |size| format!("{size}{} ", unit(&size)));
        let mut words = format!("{size}{}{direction}", if is_random { "random " } else { "sequential " });
        if let (Some(jobs), Some(depth)) = (number("numjobs"), number("iodepth")) {
            let plural = if jobs == 1 { "" } else { "s" };
            words.push_str(&format!(", {jobs} job{plural} of depth {depth}"));
        }
        if let Some(level) = number("raid") {
            words.push_str(&format!(", RAID {level}"));
        }
        for name in ["layout", "volume"] {
            if let Some(word) = case.word(name) {
                words.push_str(&format!(", {word}"));
            }
        }
        words
    }

    fn all_cliffs(&self) -> Vec<(&Finding, &WriteCliff)> {
        self.of_kind(Kind::WriteCliff)
            .filter_map(|finding| match &finding.fact {
                Fact::WriteCliff(cliff) => Some((finding, cliff)),
                _ => None,
            })
            .collect()
    }

    fn levels(&self) -> impl Iterator<Item = (&Finding, &Level)> {
        self.of_kind(Kind::Level).filter_map(|finding| match &finding.fact {
            Fact::Level(level) if level.iops > 0.0 => Some((finding, level)),
            _ => None,
        })
    }

    /// How many cases write for at least as long as it usually takes to fall, and do not.
    fn steadfast(&self, cliffs: &[(&Finding, &WriteCliff)]) -> usize {
        let usual_s = median(cliffs.iter().map(|(_, cliff)| cliff.onset_s));
        let is_steadfast = |finding: &&Finding| match &finding.fact {
            Fact::NoWriteCliff(none) => none.length_s > usual_s,
            _ => false,
        };
        self.of_kind(Kind::NoWriteCliff).filter(is_steadfast).count()
    }

    fn sustains(&self) -> Option<Conclusion> {
        // What few cases do is no rule: their level is not what the target sustains.
        let mut cliffs = self.all_cliffs();
        if !cliffs.is_empty() && self.steadfast(&cliffs) > cliffs.len() {
            cliffs.clear();
        }
        let by_iops = cliffs.iter().max_by(|a, b| a.1.sustained.iops.total_cmp(&b.1.sustained.iops));
        let by_bytes = cliffs
            .iter()
            .max_by(|a, b| a.1.sustained.bw_bytes_per_s.total_cmp(&b.1.sustained.bw_bytes_per_s));
        if let (Some((first, most)), Some((second, widest))) = (by_iops, by_bytes) {
            let mut text = format!(
                "Where writes go on long enough to fall, at most {} last ({})",
                iops(most.sustained.iops),
                self.load_of(first)
            );
            if first.id != second.id {
                text.push_str(&format!(
                    ", or at most {} ({})",
                    bandwidth(widest.sustained.bw_bytes_per_s),
                    self.load_of(second)
                ));
            }
            return Some(answer(&format!("{text}."), &[first, second]));
        }
        let (first, most) = self.levels().max_by(|a, b| a.1.iops.total_cmp(&b.1.iops))?;
        let (second, widest) =
            self.levels().max_by(|a, b| a.1.bw_bytes_per_s.total_cmp(&b.1.bw_bytes_per_s))?;
        let mut text = format!(
            "Up to {} at {} mean latency ({})",
            iops(most.iops),
            latency(most.mean_latency_ns),
            self.load_of(first)
        );
        if first.id != second.id {
            text.push_str(&format!(
                ", and up to {} ({})",
                bandwidth(widest.bw_bytes_per_s),
                self.load_of(second)
            ));
        }
        Some(answer(&format!("{text}, as long as it was tried."), &[first, second]))
    }

    fn falls(&self) -> Option<Conclusion> {
        let cliffs = self.all_cliffs();
        let mut rests_on: Vec<&Finding> = cliffs.iter().map(|(finding, _)| *finding).collect();
        let range = |value: fn(&WriteCliff) -> f64| {
            let values = || cliffs.iter().map(|(_, cliff)| value(cliff));
            [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)]
        };
        let mut text = if cliffs.is_empty() {
            let longest = self.of_kind(Kind::NoWriteCliff).filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(none) => Some((finding, none.length_s)),
                _ => None,
            });
            let (finding, length_s) = longest.max_by(|a, b| a.1.total_cmp(&b.1))?;
            rests_on.push(finding);
            format!("Writes did not fall in what was tried, at most {} at a stretch.", duration(length_s))
        } else {
            let [earliest, latest] = range(|cliff| cliff.onset_s);
            let [least, most] = range(|cliff| cliff.bytes_written);
            let [shallowest, deepest] = range(|cliff| cliff.depth_percent);
            format!(
                "Writes fall by {} after {}, with {} written (in {} of {} cases that write as long).",
                span(&format!("{shallowest:.0}"), &format!("{deepest:.0} %")),
                span(&duration(earliest), &duration(latest)),
                span(&gigabytes(least), &gigabytes(most)),
                cliffs.len(),
                cliffs.len() + self.steadfast(&cliffs)
            )
        };
        if let Some((finding, sentence)) = self.deepest_dip() {
            rests_on.push(finding);
            text.push_str(&sentence);
        }
        Some(answer(&text, &rests_on))
    }

    fn deepest_dip(&self) -> Option<(&Finding, String)> {
        // A limit that was set is meant to take the rate down.
        let is_limited = |finding: &Finding| {
            self.observation.cases.iter().any(|case| {
                case.stage == finding.stage
                    && Some(case.name.as_str()) == finding.case.as_deref()
                    && !case.limits.is_empty()
            })
        };
        let events = self.of_kind(Kind::Disruption).filter(|finding| !is_limited(finding));
        let dips = events.filter_map(|finding| match &finding.fact {
            Fact::Disruption(one) => one
                .dips
                .iter()
                .map(|dip| (finding, &one.event, dip))
                .min_by(|a, b| a.2.extreme_percent.total_cmp(&b.2.extreme_percent)),
            _ => None,
        });
        let (finding, event, dip) =
            dips.min_by(|a, b| a.2.extreme_percent.total_cmp(&b.2.extreme_percent))?;
        let sentence = format!(
            " Around “{event}” IOPS dip by up to {:.0} % for {}.",
            dip.extreme_percent.abs(),
            duration(dip.length_s)
        );
        Some((finding, sentence))
    }

    fn limited_by(&self) -> Option<Conclusion> {
        let limits: Vec<(&Finding, &Limit)> = self
            .of_kind(Kind::Limit)
            .filter_map(|finding| match &finding.fact {
                Fact::Limit(limit) => Some((finding, limit)),
                _ => None,
            })
            .collect();
        let mut kinds: Vec<(&str, usize, (&Finding, &Limit))> = Vec::new();
        for &(finding, limit) in &limits {
            match kinds.iter_mut().find(|(by, _, _)| *by == limit.by) {
                Some((_, count, shown)) => {
                    *count += 1;
                    if limit.iops > shown.1.iops {
                        *shown = (finding, limit);
                    }
                }
                None => kinds.push((&limit.by, 1, (finding, limit))),
            }
        }
        kinds.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        kinds.truncate(LIMITS_NAMED);
        let parts: Vec<String> = kinds
            .iter()
            .map(|(by, count, (finding, limit))| {
                let of = if limits.len() == 1 {
                    String::new()
                } else {
                    format!(" at {count} of {} maxima", limits.len())
                };
                format!("{}{of} ({}, at {})", in_words(by), limit.because, self.load_of(finding))
            })
            .collect();
        let rests_on: Vec<&Finding> = kinds.iter().map(|(_, _, (finding, _))| *finding).collect();
        (!parts.is_empty()).then(|| answer(&format!("{}.", parts.join("; ")), &rests_on))
    }
}

/// A kind of limit as the beginning of a sentence.
fn in_words(by: &str) -> &'static str {
    match by {
        "link" => "the links",
        "controller" => "the controllers",
        "drive" => "the drives",
        "generator" => "the host that made the load",
        "rate" => "the rate that was asked for",
        "concurrency" => "the number of I/Os outstanding",
        _ => "not visible from outside",
    }
}

/// From one to another, or the one where both are the same.
fn span(from: &str, to: &str) -> String {
    if from == to || to == format!("{from} %") { to.to_owned() } else { format!("{from} to {to}") }
}

fn answer(text: &str, rests_on: &[&Finding]) -> Conclusion {
    let mut findings: Vec<String> = rests_on.iter().map(|finding| finding.id.clone()).collect();
    findings.dedup();
    let mut letters = text.chars();
    let text = letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect());
    Conclusion { weight: 100, text, findings }
}
