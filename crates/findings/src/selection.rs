//! Selections of findings: the highest levels, the falls of writes, which of them are rare.
//!
//! Every sentence and every tile about one of these takes it from here.

use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::statistics::median;
use crate::{Findings, Kind, Level, RampFall, WriteCliff};

/// Falls are rare where they are no more than one in so many cases that write long enough.
const RARE: usize = 10;

impl Findings {
    /// The measured case that a finding is about; `None` where it is about several.
    pub fn case_of(&self, finding: &Finding) -> Option<&ObservedCase> {
        self.case(&finding.stage, finding.case.as_deref()?)
    }

    /// The findings of a kind with their facts, the largest first by some number.
    pub fn ranked<'a, T>(
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

    /// Falls of the write rate in what is counted, in the order of the plan.
    pub fn write_cliffs(&self) -> Vec<(&Finding, &WriteCliff)> {
        self.of_kind(Kind::WriteCliff)
            .filter_map(|finding| match &finding.fact {
                Fact::WriteCliff(cliff) => Some((finding, &**cliff)),
                _ => None,
            })
            .collect()
    }

    /// Falls of the write rate within ramps, the deepest first.
    pub fn ramp_falls(&self) -> Vec<(&Finding, &RampFall)> {
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
    pub fn levels(&self) -> impl Iterator<Item = (&Finding, &Level)> {
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
    pub fn are_rare(&self, cliffs: &[(&Finding, &WriteCliff)]) -> bool {
        !cliffs.is_empty() && self.steadfast(cliffs).len() + cliffs.len() >= RARE * cliffs.len()
    }

    /// Cases that write for at least as long as it usually takes to fall, and do not, nor did within their ramp.
    pub fn steadfast(&self, cliffs: &[(&Finding, &WriteCliff)]) -> Vec<&Finding> {
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

    /// Returns true if a finding's case has limits set on it.
    pub fn is_limited(&self, finding: &Finding) -> bool {
        self.case_of(finding).is_some_and(|case| !case.limits.is_empty())
    }
}

/// Of equals the first, in the order of the plan.
fn first_largest<'a>(
    all: impl Iterator<Item = (&'a Finding, &'a Level)>,
    value: impl Fn(&Level) -> f64,
) -> Option<(&'a Finding, &'a Level)> {
    all.reduce(|a, b| if value(b.1) > value(a.1) { b } else { a })
}
