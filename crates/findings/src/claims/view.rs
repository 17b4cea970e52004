//! What a claim sees of a run: cases by their settings, each with its findings, recorded as they are looked at.

use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::{Disruption, Findings, Kind, Level, Rate, WriteCliff};
use std::cell::RefCell;

pub(super) struct View<'a> {
    findings: &'a Findings,
    cited: RefCell<Vec<String>>,
}

/// A case with its level.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub case: &'a ObservedCase,
    pub level: &'a Level,
}

impl Seen<'_> {
    pub fn number(&self, setting: &str) -> Option<f64> {
        self.case.number(setting)
    }

    /// Bytes of one I/O; 0 where a plan of several sizes has none.
    pub fn bs(&self) -> u64 {
        self.number("bs").unwrap_or(0.0) as u64
    }

    /// Mean read latency; 0 without reads.
    pub fn read_ns(&self) -> f64 {
        self.level.read.map_or(0.0, |read| read.mean_latency_ns)
    }

    /// Mean write latency; 0 without writes.
    pub fn write_ns(&self) -> f64 {
        self.level.write.map_or(0.0, |write| write.mean_latency_ns)
    }

    /// The settings other than some, as text: what makes two cases comparable.
    pub fn key(&self, without: &[&str]) -> String {
        crate::groups::key(&self.case.settings, without)
    }
}

impl<'a> View<'a> {
    pub fn new(findings: &'a Findings) -> View<'a> {
        View { findings, cited: RefCell::default() }
    }

    pub fn into_cited(self) -> Vec<String> {
        self.cited.into_inner()
    }

    fn cite(&self, finding: &Finding) {
        let mut cited = self.cited.borrow_mut();
        if !cited.contains(&finding.id) {
            cited.push(finding.id.clone());
        }
    }

    /// Cites the findings of one kind in one stage.
    pub fn of_kind(&self, kind: Kind, stage: &str) -> Vec<&'a Finding> {
        let found: Vec<&Finding> =
            self.findings.of_kind(kind).filter(|finding| finding.stage == stage).collect();
        found.iter().for_each(|finding| self.cite(finding));
        found
    }

    /// All measured cases of a stage that fulfil a condition; an error where there are none.
    pub fn all(
        &self,
        stage: &str,
        what: &str,
        wanted: impl Fn(&ObservedCase) -> bool,
    ) -> Result<Vec<Seen<'a>>, String> {
        let cases = self.findings.observation.cases.iter();
        let mut seen = Vec::new();
        for case in cases.filter(|case| case.stage == stage && wanted(case)) {
            let Some(finding) = self.findings.about(Kind::Level, stage, &case.name) else { continue };
            if let Fact::Level(level) = &finding.fact
                && level.iops > 0.0
            {
                self.cite(finding);
                seen.push(Seen { case, level });
            }
        }
        if seen.is_empty() {
            return Err(format!("the run has no measurement of {what} in the stage `{stage}`"));
        }
        Ok(seen)
    }

    /// The first measured case of a stage that fulfils a condition.
    pub fn one(
        &self,
        stage: &str,
        what: &str,
        wanted: impl Fn(&ObservedCase) -> bool,
    ) -> Result<Seen<'a>, String> {
        // Only the first is looked at, so that no more than it is cited.
        let first = self.findings.observation.cases.iter().find(|case| case.stage == stage && wanted(case));
        self.all(stage, what, |case| first.is_some_and(|first| first.name == case.name)).map(|seen| seen[0])
    }

    /// The cliff of a case; an error with the search's own reason where it has none.
    pub fn cliff(&self, seen: Seen<'a>) -> Result<&'a WriteCliff, String> {
        let (stage, name) = (&seen.case.stage, &seen.case.name);
        match self.findings.cliff(stage, name) {
            Some((finding, cliff)) => {
                self.cite(finding);
                Ok(cliff)
            }
            None => Err(self.no_cliff(seen)),
        }
    }

    /// Why a case has no cliff.
    pub fn no_cliff(&self, seen: Seen<'a>) -> String {
        let (stage, name) = (&seen.case.stage, &seen.case.name);
        let reason = self.findings.about(Kind::NoWriteCliff, stage, name).map(|finding| {
            self.cite(finding);
            match &finding.fact {
                Fact::NoWriteCliff(none) => none.reason.clone(),
                _ => String::new(),
            }
        });
        format!("{name}: {}", reason.unwrap_or_else(|| "nothing was written".into()))
    }

    /// The level that a case sustains.
    pub fn sustained(&self, seen: Seen<'a>) -> Result<Rate, String> {
        for kind in [Kind::WriteCliff, Kind::SteadyState] {
            if let Some(finding) = self.findings.about(kind, &seen.case.stage, &seen.case.name) {
                self.cite(finding);
            }
        }
        crate::sustained::of(self.findings, seen.case)
            .ok_or_else(|| format!("{}: neither a cliff nor a steady state was found", seen.case.name))
    }

    /// The disruptions of a stage, in order of time.
    pub fn disruptions(&self, stage: &str) -> Vec<&'a Disruption> {
        let found = self.of_kind(Kind::Disruption, stage);
        found
            .into_iter()
            .filter_map(|finding| match &finding.fact {
                Fact::Disruption(disruption) => Some(disruption),
                _ => None,
            })
            .collect()
    }
}

/// From this length on, a series without a fall shows that there is none; a shorter one shows nothing.
const LONG_S: f64 = 300.0;

impl<'a> View<'a> {
    /// The cliff of a case that is long enough to show one: `Err` inside where it shows that there is none, `Err`
    /// outside where it cannot tell.
    pub fn cliff_or_none(&self, seen: Seen<'a>) -> Result<Result<&'a WriteCliff, String>, String> {
        match self.cliff(seen) {
            Ok(cliff) => Ok(Ok(cliff)),
            Err(reason) => {
                let length_s: f64 = seen.case.counted().iter().map(crate::Interval::length_s).sum();
                if length_s >= LONG_S && seen.case.writes() { Ok(Err(reason)) } else { Err(reason) }
            }
        }
    }
}

/// Pairs of cases that have all settings but some in common, the first of each pair from one list, the second from
/// another.
pub(super) fn pairs<'a>(
    first: &[Seen<'a>],
    second: &[Seen<'a>],
    without: &[&str],
) -> Vec<(Seen<'a>, Seen<'a>)> {
    let keyed: Vec<(String, Seen<'a>)> = second.iter().map(|seen| (seen.key(without), *seen)).collect();
    let partner = |seen: &Seen<'a>| {
        let key = seen.key(without);
        keyed.iter().find(|(other, _)| *other == key).map(|(_, other)| (*seen, *other))
    };
    first.iter().filter_map(partner).collect()
}

/// The geometric mean of second ÷ first over pairs; an error where there are none.
pub(super) fn mean_ratio(
    pairs: &[(Seen<'_>, Seen<'_>)],
    what: &str,
    value: impl Fn(&Seen<'_>) -> f64,
) -> Result<f64, String> {
    let logs: Vec<f64> = pairs
        .iter()
        .map(|(a, b)| value(b) / value(a))
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .map(libm::log)
        .collect();
    if logs.is_empty() {
        return Err(format!("the run has no two cases that differ in {what} alone"));
    }
    Ok(libm::exp(crate::statistics::mean(&logs)))
}

/// Within a share of a value.
pub(super) fn near(value: f64, of: f64, share: f64) -> bool {
    (value - of).abs() <= share * of.abs()
}
