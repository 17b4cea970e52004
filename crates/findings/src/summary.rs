//! Summary of a run in three answers: sustained rate, degradation, bottleneck.

use crate::cited::{Cited, Quantity, Source};
use crate::conclusions::HELD_MOST_S;
use crate::facts::Map;
use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::statistics::median;
use crate::words::CaseWords;
use crate::{Conclusion, Findings, Kind, Level, Limit, RampFall, Rate, WriteCliff, cited, words};

/// Three questions, each with its answer where a finding gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Question and answer, in order. An answer of several points has each on a line of its own.
    pub answers: Vec<(&'static str, Conclusion)>,
}

/// Questions that a reader of a report asks first.
pub const QUESTIONS: [&str; 3] = ["What it sustains", "When it falls", "What limits it"];

/// Of the kinds of limit so many are named.
const LIMITS_NAMED: usize = 3;

/// Settings that lay data out another way.
const LAYOUTS: [&str; 2] = ["raid", "layout"];

/// Falls are rare where they are no more than one in so many cases that write long enough.
const RARE: usize = 10;

/// Of so many falls and more the middle half is told, because one that is unlike the others says little of the next.
const MANY_FALLS: usize = 8;

impl Findings {
    /// The three answers.
    pub fn summary(&self) -> Summary {
        let answers = [self.sustains(), self.falls(), self.limited_by()];
        let answers =
            QUESTIONS.into_iter().zip(answers).filter_map(|(question, answer)| Some((question, answer?)));
        Summary { answers: answers.collect() }
    }

    /// The load of a finding's case, as a person says it; the stage where it is about no case.
    pub(crate) fn load_of(&self, finding: &Finding) -> Cited {
        match self.case_of(finding) {
            Some(case) => words::several_loads(&case.result)
                .unwrap_or_else(|| words::case(&case.stage, &case.name, &case.settings)),
            None => Cited::quote(&finding.stage, Source::finding(&finding.id, "stage")),
        }
    }

    /// The load of a finding's case, as [`Findings::conclusions`] says it.
    pub fn load_in_words(&self, finding: &Finding) -> Cited {
        self.load_of(finding)
    }

    /// The workload of a finding's case, whatever its block size.
    pub(crate) fn workload_but_size(&self, finding: &Finding) -> String {
        let mut settings = self.case_of(finding).map_or_else(Map::new, |case| Map::clone(&case.settings));
        settings.retain(|name, _| name != "bs");
        CaseWords::new("", "", &settings).workload().to_string()
    }

    /// The load that the cases of a finding have in common, but for their block size.
    pub(crate) fn load_but_size(&self, finding: &Finding) -> Cited {
        let case = finding.rests_on.first().and_then(|basis| self.case(&basis.stage, &basis.case));
        let Some(case) = case else { return self.load_of(finding) };
        let mut settings = Map::clone(&case.settings);
        settings.retain(|name, _| name != "bs");
        words::case(&case.stage, &case.name, &settings)
    }

    fn case_of(&self, finding: &Finding) -> Option<&ObservedCase> {
        self.case(&finding.stage, finding.case.as_deref()?)
    }

    fn all_cliffs(&self) -> Vec<(&Finding, &WriteCliff)> {
        self.of_kind(Kind::WriteCliff)
            .filter_map(|finding| match &finding.fact {
                Fact::WriteCliff(cliff) => Some((finding, &**cliff)),
                _ => None,
            })
            .collect()
    }

    /// Falls of the write rate within ramps, the deepest first.
    pub(crate) fn ramp_falls(&self) -> Vec<(&Finding, &RampFall)> {
        self.ranked(
            Kind::RampFall,
            |fact| match fact {
                Fact::RampFall(fall) => Some(&**fall),
                _ => None,
            },
            |fall| fall.depth_percent,
        )
    }

    /// The case with the highest rate; of equals the first. Every sentence and every tile about it takes it from here.
    pub fn peak_iops(&self) -> Option<(&Finding, &Level)> {
        first_largest(self.levels(), |level| level.iops)
    }

    /// The case that moves the most bytes a second.
    pub fn peak_bandwidth(&self) -> Option<(&Finding, &Level)> {
        first_largest(self.levels(), |level| level.bw_bytes_per_s)
    }

    /// The case with the lowest mean latency over all its I/Os.
    pub fn lowest_latency(&self) -> Option<(&Finding, &Level)> {
        first_largest(self.levels().filter(|(_, level)| level.mean_latency_ns > 0.0), |level| {
            -level.mean_latency_ns
        })
    }

    /// Levels of cases that read what was written: reads of nothing are fast, and say nothing of the target.
    pub(crate) fn levels(&self) -> impl Iterator<Item = (&Finding, &Level)> {
        let reads_nothing = |finding: &Finding| {
            let case = finding.case.as_deref().and_then(|case| self.case(&finding.stage, case));
            case.is_some_and(ObservedCase::reads_nothing)
        };
        self.of_kind(Kind::Level).filter_map(move |finding| match &finding.fact {
            Fact::Level(level) if level.iops > 0.0 && !reads_nothing(finding) => Some((finding, &**level)),
            _ => None,
        })
    }

    /// Returns true if falls are what few cases do, of those that write long enough.
    pub(crate) fn are_rare(&self, cliffs: &[(&Finding, &WriteCliff)]) -> bool {
        !cliffs.is_empty() && self.steadfast(cliffs).len() + cliffs.len() >= RARE * cliffs.len()
    }

    /// Cases that write for at least as long as it usually takes to fall, and do not, nor did within their ramp.
    fn steadfast(&self, cliffs: &[(&Finding, &WriteCliff)]) -> Vec<&Finding> {
        let usual_s = median(cliffs.iter().map(|(_, cliff)| cliff.onset_s));
        let fell_before: Vec<_> =
            self.ramp_falls().into_iter().map(|(fall, _)| (&fall.stage, &fall.case)).collect();
        let is_steadfast = |finding: &&Finding| match &finding.fact {
            Fact::NoWriteCliff(none) => {
                none.length_s > usual_s && !fell_before.contains(&(&finding.stage, &finding.case))
            }
            _ => false,
        };
        self.of_kind(Kind::NoWriteCliff).filter(is_steadfast).collect()
    }

    fn sustains(&self) -> Option<Conclusion> {
        // What few cases do is no rule: their level is not what the target sustains.
        let mut cliffs = self.all_cliffs();
        if !cliffs.is_empty() && self.steadfast(&cliffs).len() > cliffs.len() {
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
            let case = self.case_of(finding)?;
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
    fn sustained_fall(&self) -> Option<Conclusion> {
        let cliffs = self.all_cliffs();
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
            let rw = self.case_of(finding).and_then(|case| case.word("rw"));
            rw.is_none_or(|rw| rw.starts_with("rand"))
        };
        let all = || self.levels().map(|(finding, level)| (finding, level, rate(finding, level)));
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
            .filter_map(|finding| self.case_of(finding))
            .map(|case| {
                let source = Source::result(&case.stage, &case.name, "duration_s");
                Quantity::new(case.counted_s(), crate::Unit::S, source).duration()
            })
            .collect();
        tried.dedup_by(|a, b| a.text() == b.text());
        let text =
            cited!("{}, over the measured {}.", Cited::join(parts, ", and "), Cited::join(tried, " and "));
        (!rests_on.is_empty()).then(|| answer(text, &rests_on))
    }

    fn falls(&self) -> Option<Conclusion> {
        let cliffs = self.all_cliffs();
        let mut rests_on: Vec<&Finding> = cliffs.iter().map(|(finding, _)| *finding).collect();
        let typical = |field: &str, cite: fn(Quantity) -> Cited| {
            typical(&cliffs.iter().map(|one| one.0.number(field)).collect::<Vec<_>>(), cite)
        };
        let mut text = if cliffs.is_empty() {
            self.never_fell(&mut rests_on)?
        } else {
            let steadfast = self.steadfast(&cliffs);
            let own: Vec<Source> =
                cliffs.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
            let others = steadfast.iter().map(|finding| Source::finding(&finding.id, "length_s"));
            let all: Vec<Source> = own.iter().cloned().chain(others).collect();
            let subject = if all.len() == 1 {
                cited!("Writes")
            } else if self.are_rare(&cliffs) {
                let quiet = Quantity::count_of(&all[own.len()..]).plain(0);
                cited!(
                    "In {} of {} that write long enough, writes did not fall. In {} they",
                    quiet,
                    Quantity::count_of(&all).count("case"),
                    Quantity::count_of(&own).plain(0)
                )
            } else {
                cited!(
                    "In {} of {} that write long enough, writes",
                    Quantity::count_of(&own).plain(0),
                    Quantity::count_of(&all).count("case")
                )
            };
            cited!(
                "{} fall by {} after {}, with {} written{}.",
                subject,
                typical("depth_percent", Quantity::percent_of_all),
                typical("onset_s", Quantity::duration),
                typical("bytes_written", Quantity::gigabytes),
                match cliffs.len() {
                    1 => "",
                    many if many < MANY_FALLS => " (each the median, with the lowest and highest)",
                    _ => " (each the median, with the middle half of these cases)",
                }
            )
        };
        if let Some(sentence) = self.earliest(&cliffs) {
            text.push(sentence);
        }
        if let Some((fall, _)) = self.ramp_falls().first() {
            rests_on.push(*fall);
            text.push(cited!(
                "\nIn the ramp before, which is not counted, they fell by {} after {}, with {} written: {}.",
                fall.number("depth_percent").percent_of_all(),
                fall.number("onset_s").duration(),
                fall.number("bytes_written").gigabytes(),
                self.load_of(fall)
            ));
        }
        if let Some((finding, sentence)) = self.deepest_dip() {
            rests_on.push(finding);
            text.push(sentence);
        }
        Some(answer(text, &rests_on))
    }

    /// Answer where writes did not fall: for how long they were watched, or why a fall could not be told.
    fn never_fell<'a>(&'a self, rests_on: &mut Vec<&'a Finding>) -> Option<Cited> {
        let none = || {
            self.of_kind(Kind::NoWriteCliff).filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(none) => Some((finding, &**none)),
                _ => None,
            })
        };
        let longest = |could_show: bool| {
            none()
                .filter(|(_, none)| none.could_show() == could_show)
                .max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s))
        };
        if let Some((finding, _)) = longest(true) {
            rests_on.push(finding);
            return Some(cited!(
                "Writes did not fall within the tested range, at most {} at a stretch.",
                finding.number("length_s").duration()
            ));
        }
        let (finding, none) = longest(false)?;
        rests_on.push(finding);
        Some(cited!(
            "Whether writes fall{} is not shown: {}.",
            self.beyond_ramp(),
            Cited::quote(&none.reason, Source::finding(&finding.id, "reason"))
        ))
    }

    /// Words for where a fall was looked for, where a ramp has shown one already.
    pub(crate) fn beyond_ramp(&self) -> &'static str {
        if self.ramp_falls().is_empty() { "" } else { " after the ramp" }
    }

    /// The one of many falls that comes first: what to reckon with at worst.
    fn earliest(&self, cliffs: &[(&Finding, &WriteCliff)]) -> Option<Cited> {
        let (finding, _) = cliffs.iter().min_by(|a, b| a.1.onset_s.total_cmp(&b.1.onset_s))?;
        let sentence = || {
            cited!(
                "\nThe earliest begins after {}, with {} written: {}.",
                finding.number("onset_s").duration(),
                finding.number("bytes_written").gigabytes(),
                self.load_of(finding)
            )
        };
        (cliffs.len() >= MANY_FALLS).then(sentence)
    }

    /// Returns true if a finding's case has limits set on it.
    pub(crate) fn is_limited(&self, finding: &Finding) -> bool {
        self.case_of(finding).is_some_and(|case| !case.limits.is_empty())
    }

    fn deepest_dip(&self) -> Option<(&Finding, Cited)> {
        // A limit that was set is meant to take the rate down.
        let events = self.of_kind(Kind::Disruption).filter(|finding| !self.is_limited(finding));
        // A field, how far it goes, and whether it stays there.
        let falls = events.flat_map(|finding| match &finding.fact {
            Fact::Disruption(one) => {
                let dips = one.dips.iter().enumerate().map(|(place, dip)| {
                    (finding, one, format!("dips.{place}"), dip.extreme_percent, Some(dip.is_over))
                });
                let change = one
                    .rate_change
                    .filter(|change| change.held_s <= HELD_MOST_S)
                    .map(|change| (finding, one, "rate_change".to_owned(), change.change_percent, None));
                dips.chain(change).collect()
            }
            _ => Vec::new(),
        });
        let (finding, disruption, field, percent, is_over) = falls.min_by(|a, b| a.3.total_cmp(&b.3))?;
        if percent >= 0.0 {
            return None;
        }
        let number = |name: &str| finding.number(&format!("{field}.{name}"));
        let event = Cited::quote(&disruption.event, Source::finding(&finding.id, "event"));
        let by = || {
            let [mean, extreme] =
                ["mean_percent", "extreme_percent"].map(|field| number(field).abs().percent_of_all());
            // A dip of one depth has one figure.
            match mean.text() == extreme.text() {
                true => cited!("by up to {}", extreme),
                false => cited!("by {} in the mean and up to {},", mean, extreme),
            }
        };
        let sentence = match is_over {
            Some(true) => cited!(
                "\nAround the event “{}” IOPS dip {} for {}.",
                event,
                by(),
                number("length_s").duration()
            ),
            Some(false) => cited!(
                "\nAround the event “{}” IOPS dip {} and had not recovered when the case ended after {}.",
                event,
                by(),
                number("length_s").duration()
            ),
            None => cited!(
                "\nAfter the event “{}” IOPS stay {} lower from {} on.",
                event,
                number("change_percent").abs().percent(),
                number("from_s").duration()
            ),
        };
        Some((finding, sentence))
    }

    fn limited_by(&self) -> Option<Conclusion> {
        let limits: Vec<(&Finding, &Limit)> = self
            .of_kind(Kind::Limit)
            .filter_map(|finding| match &finding.fact {
                Fact::Limit(limit) => Some((finding, &**limit)),
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
        let sources = |by: Option<&str>| -> Vec<Source> {
            let wanted = limits.iter().filter(|(_, limit)| by.is_none_or(|by| limit.by == by));
            wanted.map(|(finding, _)| Source::finding(&finding.id, "by")).collect()
        };
        let points: Vec<Cited> = kinds
            .iter()
            .map(|(by, count, (finding, limit))| {
                let because = limit.because.clone();
                if limits.len() == 1 {
                    let what = if *by == "unknown" { "Not found" } else { words::limiter(by).0 };
                    return cited!("{}: {} ({}).", what, because, self.load_of(finding));
                }
                let all = Quantity::count_of(&sources(None)).count("workload");
                let share = if limits.len() == *count {
                    cited!("all {}", all)
                } else {
                    cited!("{} of {}", Quantity::count_of(&sources(Some(by))).plain(0), all)
                };
                let load = self.case_of(finding).filter(|case| case.result.loads.is_none()).map_or_else(
                    || self.load_of(finding),
                    |case| CaseWords::new(&case.stage, &case.name, &case.settings).workload(),
                );
                let example = if *count == 1 { "That is" } else { "For example" };
                match *by {
                    "unknown" => {
                        cited!("What limits {} was not found. {} {}: {}.", share, example, load, because)
                    }
                    "concurrency" => {
                        cited!(
                            "In {} more I/Os outstanding would do more. {} {}: {}.",
                            share,
                            example,
                            load,
                            because
                        )
                    }
                    by => {
                        let (what, is_plural) = words::limiter(by);
                        let verb = if is_plural { "limit" } else { "limits" };
                        cited!("{} {} {}. {} {}: {}.", what, verb, share, example, load, because)
                    }
                }
            })
            .map(Cited::capitalised)
            .collect();
        let rests_on: Vec<&Finding> = kinds.iter().map(|(_, _, (finding, _))| *finding).collect();
        (!points.is_empty()).then(|| answer(Cited::join(points, "\n"), &rests_on))
    }
}

/// Of equals the first, in the order of the plan.
fn first_largest<'a>(
    all: impl Iterator<Item = (&'a Finding, &'a Level)>,
    value: impl Fn(&Level) -> f64,
) -> Option<(&'a Finding, &'a Level)> {
    all.reduce(|a, b| if value(b.1) > value(a.1) { b } else { a })
}

/// The middle of several values, with the lowest and the highest, of many with those of the middle half, where they are printed
/// differently.
fn typical(values: &[Quantity], cite: fn(Quantity) -> Cited) -> Cited {
    let is_many = values.len() >= MANY_FALLS;
    let half = if is_many { Quantity::middle_half(values) } else { None };
    let range = half.or_else(|| Some([Quantity::smallest(values)?, Quantity::largest(values)?]));
    let (Some([low, high]), Some(middle)) = (range, Quantity::median(values)) else {
        return Cited::default();
    };
    let (low, high, middle) = (cite(low), cite(high), cite(middle));
    if low.text() == high.text() { middle } else { cited!("{} ({} to {})", middle, low, high) }
}

fn answer(text: Cited, rests_on: &[&Finding]) -> Conclusion {
    let mut findings: Vec<String> = rests_on.iter().map(|finding| finding.id.clone()).collect();
    findings.dedup();
    Conclusion { weight: 100, text: text.capitalised(), findings }
}
