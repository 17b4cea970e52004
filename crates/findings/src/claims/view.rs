//! What a claim sees of a run: cases by their settings, each with its findings, recorded as they are looked at.

use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::text::{count, duration};
use crate::{Findings, Kind, Level, Rate, WriteCliff};
use plan::claim::Needs;
use serde_json::{Map, Value};
use std::cell::RefCell;

pub(super) struct View<'a> {
    findings: &'a Findings,
    needs: Needs,
    cited: RefCell<Vec<String>>,
    /// Why a case that was looked at is too short for the claim.
    too_short: RefCell<Option<String>>,
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
    pub fn new(findings: &'a Findings, needs: Needs) -> View<'a> {
        View { findings, needs, cited: RefCell::default(), too_short: RefCell::default() }
    }

    /// The identifiers of what was looked at, and why it is too short for the claim where it is.
    pub fn into_cited(self) -> (Vec<String>, Option<String>) {
        (self.cited.into_inner(), self.too_short.into_inner())
    }

    /// Remembers a case that is shorter than the claim needs.
    fn note_length(&self, case: &ObservedCase) {
        let counted = case.counted();
        let time_s: f64 = counted.iter().map(crate::Interval::length_s).sum();
        let load_s = counted.last().map_or(0.0, |last| last.end_s);
        let reason = if load_s < 0.999 * self.needs.load_s {
            let (was, wanted) = (duration(load_s), duration(self.needs.load_s));
            format!("{} was {was} under load, and this takes {wanted}", case.name)
        } else if time_s < 0.999 * self.needs.time_s {
            format!(
                "{} was measured for {}, and this takes {}",
                case.name,
                duration(time_s),
                duration(self.needs.time_s)
            )
        } else if counted.len() < self.needs.intervals {
            let wanted = count(self.needs.intervals, "interval");
            format!(
                "{} was measured in {}, and this takes {wanted}",
                case.name,
                count(counted.len(), "interval")
            )
        } else {
            return;
        };
        self.too_short.borrow_mut().get_or_insert(reason);
    }

    /// The findings of a kind in a stage, with their fields; they are not cited yet.
    pub fn findings(&self, kind: &str, stage: &str) -> Vec<(&'a Finding, Map<String, Value>)> {
        let all = self.findings.all.iter();
        all.filter(|finding| finding.kind().name() == kind && finding.stage == stage)
            .filter_map(|finding| Some((finding, finding.to_json().ok()?)))
            .collect()
    }

    /// The settings of a case; none where the run has no such case.
    pub fn settings_of(&self, stage: &str, case: &str) -> Map<String, Value> {
        self.case(stage, case).map_or_else(Map::new, |case| case.settings.clone())
    }

    fn case(&self, stage: &str, name: &str) -> Option<&'a ObservedCase> {
        self.findings.observation.cases.iter().find(|case| case.stage == stage && case.name == name)
    }

    /// Records that a finding was looked at.
    pub fn cite(&self, finding: &Finding) {
        if let Some(case) = finding.case.as_deref().and_then(|case| self.case(&finding.stage, case)) {
            self.note_length(case);
        }
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
