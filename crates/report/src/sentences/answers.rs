//! Answers to what a reader asks first: sustained rate, degradation, bottleneck.

mod falls;
mod sustained;

use super::limits::limiter;
use super::{Sentence, Sentences};
use findings::{Cited, Fact, Finding, Kind, Limit, Quantity, Source, cited, workload_words};

/// Questions that a reader of a report asks first.
const QUESTIONS: [&str; 3] = ["What it sustains", "When it falls", "What limits it"];

/// Of the kinds of limit so many are named.
const LIMITS_NAMED: usize = 3;

impl Sentences<'_> {
    /// The three questions, each with its answer where a finding gives one. An answer of several points has each on a line of its own.
    pub fn answers(&self) -> Vec<(&'static str, Sentence)> {
        let answers = [self.sustains(), self.falls(), self.limited_by()];
        QUESTIONS
            .into_iter()
            .zip(answers)
            .filter_map(|(question, answer)| Some((question, answer?)))
            .collect()
    }

    fn limited_by(&self) -> Option<Sentence> {
        let limits: Vec<(&Finding, &Limit)> = self
            .found
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
                    let what = if *by == "unknown" { "Not found" } else { limiter(by).0 };
                    return cited!("{}: {} ({}).", what, because, self.load_of(finding));
                }
                let all = Quantity::count_of(&sources(None)).count("workload");
                let share = if limits.len() == *count {
                    cited!("all {}", all)
                } else {
                    cited!("{} of {}", Quantity::count_of(&sources(Some(by))).plain(0), all)
                };
                let load =
                    self.found.case_of(finding).filter(|case| case.result.loads.is_none()).map_or_else(
                        || self.load_of(finding),
                        |case| workload_words(&case.stage, &case.name, &case.settings),
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
                        let (what, is_plural) = limiter(by);
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

fn answer(text: Cited, rests_on: &[&Finding]) -> Sentence {
    let mut findings: Vec<String> = rests_on.iter().map(|finding| finding.id.clone()).collect();
    findings.dedup();
    Sentence { weight: 100, text: text.capitalised(), findings }
}
