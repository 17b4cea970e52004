//! The run in three answers, for a reader who has a minute: what the target sustains, when it falls, what limits it.

use crate::conclusions::capitalised;
use crate::facts::Map;
use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::statistics::{median, middle_half};
use crate::text::{bandwidth, duration, gigabytes, iops, latency};
use crate::{Conclusion, Findings, Kind, Level, Limit, Rate, WriteCliff, words};

/// Three questions, each with its answer where a finding gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Question and answer, in order. An answer of several points has each on a line of its own.
    pub answers: Vec<(&'static str, Conclusion)>,
}

/// What a reader of a report asks first.
pub const QUESTIONS: [&str; 3] = ["What it sustains", "When it falls", "What limits it"];

/// Of the kinds of limit so many are named.
const LIMITS_NAMED: usize = 3;

/// Of so many falls and more the middle half is told, because one that is unlike the others says little of the next.
const MANY_FALLS: usize = 8;

impl Findings {
    /// The three answers.
    pub fn summary(&self) -> Summary {
        let answers = [self.sustains(), self.falls(), self.limited_by()];
        let told =
            QUESTIONS.into_iter().zip(answers).filter_map(|(question, answer)| Some((question, answer?)));
        Summary { answers: told.collect() }
    }

    /// The load of a finding's case, as a person says it; the stage where it is about no case.
    pub(crate) fn load_of(&self, finding: &Finding) -> String {
        let case = self.case_of(finding);
        case.map_or_else(|| finding.stage.clone(), |case| words::case(&case.name, &case.settings))
    }

    /// The kind of load of a finding's case, whatever its block size.
    pub(crate) fn kind_of_load_but_size(&self, finding: &Finding) -> String {
        let mut settings = self.case_of(finding).map_or_else(Map::new, |case| case.settings.clone());
        settings.retain(|name, _| name != "bs");
        words::kind_of_load(&settings)
    }

    fn case_of(&self, finding: &Finding) -> Option<&ObservedCase> {
        let is_its = |case: &&ObservedCase| {
            case.stage == finding.stage && Some(case.name.as_str()) == finding.case.as_deref()
        };
        self.observation.cases.iter().find(is_its)
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
            let (rate, bytes) = (iops(most.sustained.iops), bandwidth(widest.sustained.bw_bytes_per_s));
            let (load, wide_load) = (self.load_of(first), self.load_of(second));
            let text = if first.id == second.id {
                format!("After writes have fallen, up to {rate} or {bytes} remain ({load}).")
            } else {
                format!(
                    "After writes have fallen, up to {rate} remain ({load}), or up to {bytes} ({wide_load})."
                )
            };
            return Some(answer(&text, &[first, second]));
        }
        self.lasting()
    }

    /// What lasted as long as it was tried: the most I/Os at random, and the most bytes in order. Where writes fall, that is the
    /// level after the last fall.
    fn lasting(&self) -> Option<Conclusion> {
        let cliffs = self.all_cliffs();
        let rate = |finding: &Finding, level: &Level| {
            let cliff = cliffs
                .iter()
                .find(|(other, _)| (&other.stage, &other.case) == (&finding.stage, &finding.case));
            cliff.map_or(Rate { iops: level.iops, bw_bytes_per_s: level.bw_bytes_per_s }, |(_, cliff)| {
                cliff.sustained
            })
        };
        let is_random = |finding: &Finding| {
            let rw = self.case_of(finding).and_then(|case| case.word("rw"));
            rw.is_none_or(|rw| rw.starts_with("rand"))
        };
        let all = || self.levels().map(|(finding, level)| (finding, level, rate(finding, level)));
        let random = all().filter(|one| is_random(one.0)).max_by(|a, b| a.2.iops.total_cmp(&b.2.iops));
        let in_order = all()
            .filter(|one| !is_random(one.0))
            .max_by(|a, b| a.2.bw_bytes_per_s.total_cmp(&b.2.bw_bytes_per_s));
        let mut parts = Vec::new();
        if let Some((finding, level, rate)) = random {
            // The latency is that of the whole case, with the time before a fall.
            let at = if rate.iops < level.iops {
                String::new()
            } else {
                format!(" at {} mean latency", latency(level.mean_latency_ns))
            };
            parts.push(format!("up to {}{at} ({})", iops(rate.iops), self.load_of(finding)));
        }
        if let Some((finding, _, rate)) = in_order {
            parts.push(format!("up to {} ({})", bandwidth(rate.bw_bytes_per_s), self.load_of(finding)));
        }
        let rests_on: Vec<&Finding> = [random, in_order].into_iter().flatten().map(|one| one.0).collect();
        let mut tried: Vec<String> = rests_on
            .iter()
            .filter_map(|finding| self.case_of(finding))
            .map(|case| duration(case.counted_s()))
            .collect();
        tried.dedup();
        let text = format!("{}, as long as it was tried ({}).", parts.join(", and "), tried.join(" and "));
        (!rests_on.is_empty()).then(|| answer(&text, &rests_on))
    }

    fn falls(&self) -> Option<Conclusion> {
        let cliffs = self.all_cliffs();
        let mut rests_on: Vec<&Finding> = cliffs.iter().map(|(finding, _)| *finding).collect();
        let typical = |value: fn(&WriteCliff) -> f64, said: fn(f64) -> String| {
            typical(cliffs.iter().map(|(_, cliff)| value(cliff)), said)
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
            let all = cliffs.len() + self.steadfast(&cliffs);
            format!(
                "{} fall by {} after {}, with {} written{}.",
                if all == 1 {
                    "Writes".to_owned()
                } else {
                    format!("In {} of {all} cases that write long enough, writes", cliffs.len())
                },
                typical(|cliff| cliff.depth_percent, |percent| format!("{percent:.0} %")),
                typical(|cliff| cliff.onset_s, duration),
                typical(|cliff| cliff.bytes_written, gigabytes),
                match cliffs.len() {
                    1 => "",
                    many if many < MANY_FALLS => " (each the median, with the least and most)",
                    _ => " (each the median, with the middle half of these cases)",
                }
            )
        };
        if let Some(sentence) = self.earliest(&cliffs) {
            text.push_str(&sentence);
        }
        if let Some((finding, sentence)) = self.deepest_dip() {
            rests_on.push(finding);
            text.push_str(&sentence);
        }
        Some(answer(&text, &rests_on))
    }

    /// The one of many falls that comes first: what to reckon with at worst.
    fn earliest(&self, cliffs: &[(&Finding, &WriteCliff)]) -> Option<String> {
        let (finding, cliff) = cliffs.iter().min_by(|a, b| a.1.onset_s.total_cmp(&b.1.onset_s))?;
        let said = || {
            format!(
                "\nThe earliest begins after {}, with {} written: {}.",
                duration(cliff.onset_s),
                gigabytes(cliff.bytes_written),
                self.load_of(finding)
            )
        };
        (cliffs.len() >= MANY_FALLS).then(said)
    }

    fn deepest_dip(&self) -> Option<(&Finding, String)> {
        // A limit that was set is meant to take the rate down.
        let is_limited =
            |finding: &Finding| self.case_of(finding).is_some_and(|case| !case.limits.is_empty());
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
            "\nAround the event “{event}” IOPS dip by up to {:.0} % for {}.",
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
        // A rate that was asked for says nothing about the target, where others do.
        if kinds.len() > 1 {
            kinds.retain(|(by, _, _)| *by != "rate");
        }
        // The commonest first, so that the few that are named are most of all; what nobody knows comes last.
        kinds.sort_by_key(|(by, count, _)| (*by == "unknown", std::cmp::Reverse(*count)));
        kinds.truncate(LIMITS_NAMED);
        let points: Vec<String> = kinds
            .iter()
            .map(|(by, count, (finding, limit))| {
                let because = &limit.because;
                if limits.len() == 1 {
                    let what =
                        if *by == "unknown" { "Not visible from outside" } else { words::limiter(by).0 };
                    return format!("{what}: {because} ({}).", self.load_of(finding));
                }
                let share = match limits.len() {
                    all if all == *count => format!("all {all} kinds of load"),
                    all => format!("{count} of {all} kinds of load"),
                };
                let load = self.case_of(finding).map(|case| words::kind_of_load(&case.settings));
                let load = load.unwrap_or_else(|| finding.stage.clone());
                let example = if *count == 1 { "That is" } else { "For example" };
                match *by {
                    "unknown" => {
                        format!("In {share} not visible from outside. {example} {load}: {because}.")
                    }
                    "concurrency" => {
                        format!(
                            "In {share} more I/Os outstanding would do more. {example} {load}: {because}."
                        )
                    }
                    by => {
                        let (what, is_plural) = words::limiter(by);
                        let verb = if is_plural { "limit" } else { "limits" };
                        format!("{what} {verb} {share}. {example} {load}: {because}.")
                    }
                }
            })
            .map(|sentence| capitalised(&sentence))
            .collect();
        let rests_on: Vec<&Finding> = kinds.iter().map(|(_, _, (finding, _))| *finding).collect();
        (!points.is_empty()).then(|| answer(&points.join("\n"), &rests_on))
    }
}

/// The middle of several values, with the least and the largest, of many with those of the middle half, where they are said
/// differently.
fn typical(values: impl Iterator<Item = f64> + Clone, said: fn(f64) -> String) -> String {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.clone().fold(0.0, f64::max);
    let is_many = values.clone().count() >= MANY_FALLS;
    let [least, most] = middle_half(values.clone()).filter(|_| is_many).unwrap_or([least, most]);
    let (least, most, middle) = (said(least), said(most), said(median(values)));
    if least == most { middle } else { format!("{middle} ({least} to {most})") }
}

fn answer(text: &str, rests_on: &[&Finding]) -> Conclusion {
    let mut findings: Vec<String> = rests_on.iter().map(|finding| finding.id.clone()).collect();
    findings.dedup();
    Conclusion { weight: 100, text: capitalised(text), findings }
}
