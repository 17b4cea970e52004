//! View of a run for claims: cases by their settings, each with its findings, recorded as they are looked at.

use super::print::of_plan;
use crate::cited::{Cited, Quantity, Source, Unit};
use crate::finding::{Fact, Finding};
use crate::observation::ObservedCase;
use crate::{Findings, Kind, Level, Rate, cited};
use plan::claim::{Claim, Needs};
use serde_json::{Map, Value};
use std::cell::RefCell;
use store::Settings;

pub(super) struct View<'a> {
    findings: &'a Findings,
    needs: Needs,
    claim: &'a str,
    cited: RefCell<Vec<String>>,
    /// Reason why a case that was looked at is too short for the claim.
    too_short: RefCell<Option<Cited>>,
}

/// A case with its level.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub case: &'a ObservedCase,
    pub level: &'a Level,
}

impl<'a> View<'a> {
    pub fn new(findings: &'a Findings, claim: &'a Claim) -> View<'a> {
        View {
            findings,
            needs: claim.needs,
            claim: &claim.id,
            cited: RefCell::default(),
            too_short: RefCell::default(),
        }
    }

    /// The identifiers of what was looked at, and why it is too short for the claim where it is.
    pub fn into_cited(self) -> (Vec<String>, Option<Cited>) {
        (self.cited.into_inner(), self.too_short.into_inner())
    }

    /// Remembers a case that is shorter than the claim needs.
    fn note_length(&self, case: &ObservedCase) {
        let counted = case.counted();
        let time_s: f64 = counted.iter().map(crate::Interval::length_s).sum();
        let load_s = counted.last().map_or(0.0, |last| last.end_s);
        let name = || Cited::quote(case.name.clone(), Source::quote(&format!("case/{}", case.stage)));
        let measured = |value: f64, unit: Unit, field: &str| {
            let path = format!("{}/{}/{field}", case.stage, case.name);
            Quantity::new(value, unit, Source::other("intervals", &path))
        };
        let wanted = |value: f64, unit: Unit| Quantity::new(value, unit, Source::other("needs", self.claim));
        let reason = if load_s < 0.999 * self.needs.load_s {
            cited!(
                "{} was {} under load, and this takes {}",
                name(),
                measured(load_s, Unit::S, "load_s").duration(),
                wanted(self.needs.load_s, Unit::S).duration()
            )
        } else if time_s < 0.999 * self.needs.time_s {
            cited!(
                "{} was measured for {}, and this takes {}",
                name(),
                measured(time_s, Unit::S, "counted_s").duration(),
                wanted(self.needs.time_s, Unit::S).duration()
            )
        } else if counted.len() < self.needs.intervals {
            cited!(
                "{} was measured in {}, and this takes {}",
                name(),
                measured(counted.len() as f64, Unit::Count, "intervals").count("interval"),
                wanted(self.needs.intervals as f64, Unit::Count).count("interval")
            )
        } else {
            return;
        };
        self.too_short.borrow_mut().get_or_insert(reason);
    }

    /// The findings of a kind in some stages, with their fields; they are not cited yet.
    pub fn findings(&self, kind: &str, stages: &[String]) -> Vec<(&'a Finding, Map<String, Value>)> {
        let all = self.findings.all.iter();
        all.filter(|finding| finding.kind().name() == kind && stages.contains(&finding.stage))
            .filter_map(|finding| Some((finding, finding.to_json().ok()?)))
            .collect()
    }

    /// True where an event took place in a case of these stages.
    pub fn has_events(&self, stages: &[String]) -> bool {
        let of_stages = |case: &&ObservedCase| stages.contains(&case.stage);
        self.findings.observation.cases.iter().filter(of_stages).any(|case| !case.moments.is_empty())
    }

    /// The settings of a case; none where the run has no such case.
    pub fn settings_of(&self, stage: &str, case: &str) -> Settings {
        self.case(stage, case).map_or_else(Settings::default, |case| case.settings.clone())
    }

    fn case(&self, stage: &str, name: &str) -> Option<&'a ObservedCase> {
        self.findings.case(stage, name)
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

    /// The level that a case sustains, with what it rests on.
    pub fn sustained(&self, case: &ObservedCase) -> Option<Rate> {
        for kind in [Kind::WriteCliff, Kind::SteadyState] {
            if let Some(finding) = self.findings.about(kind, &case.stage, &case.name) {
                self.cite(finding);
            }
        }
        crate::sustained::of(self.findings, case)
    }

    /// All measured cases of some stages that fulfil a condition; an error where there are none.
    pub fn all(
        &self,
        stages: &[String],
        what: &str,
        wanted: impl Fn(&ObservedCase) -> bool,
    ) -> Result<Vec<Seen<'a>>, Cited> {
        let cases = self.findings.observation.cases.iter();
        let mut seen = Vec::new();
        for case in cases.filter(|case| stages.contains(&case.stage) && wanted(case)) {
            let Some(finding) = self.findings.about(Kind::Level, &case.stage, &case.name) else { continue };
            if let Fact::Level(level) = &finding.fact
                && level.iops > 0.0
            {
                self.cite(finding);
                seen.push(Seen { case, level });
            }
        }
        if seen.is_empty() {
            return Err(cited!(
                "the run has no measurement of `{}` in the stage `{}`",
                of_plan(what),
                Cited::join(stages.iter().map(of_plan), "`, `")
            ));
        }
        Ok(seen)
    }
}
