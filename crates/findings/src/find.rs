//! Analysis of a run: every finding in it.

use crate::observation::{Missing, Observation, ObservedCase};
use crate::{Finding, Kind};
use crate::{
    bounds, conformance, disruption, found_load, host_balance, level, limit, path_balance, penalty,
    ramp_fall, steady_state, write_cliff,
};
use plan::Plan;
use std::sync::Arc;
use store::{CaseResult, RunReader, StoreError};

/// All findings of a run, in the order of the plan.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The plan's name, which says whose claims apply.
    pub plan: String,
    /// The findings.
    pub all: Vec<Finding>,
    /// Cases without a measurement, about which nothing can be found.
    pub missing: Vec<Missing>,
    /// The cases themselves, for what needs more than a finding's numbers: claims that look at settings.
    pub(crate) observation: Observation,
    /// The claims that the plan itself has.
    pub(crate) written_claims: Vec<plan::claim::Claim>,
    /// Places in `all` in the order of the identifiers; of equals the last place first.
    index: Vec<u32>,
    /// Places of the cases of the observation, in the order of stage and name.
    cases: Vec<u32>,
}

/// Draws all findings from a run; also from one that is still under way.
pub fn find(run: &RunReader, plan: &Plan) -> Result<Findings, StoreError> {
    let found = Findings::of(Observation::read(run, plan)?);
    Ok(Findings { written_claims: plan.claims.clone(), ..found })
}

/// Lets findings that rest on the same samples share their list: a large campaign has four findings a case.
fn share_bases(findings: &mut [Finding]) {
    if let [first, others @ ..] = findings {
        for other in others.iter_mut().filter(|other| other.rests_on == first.rests_on) {
            other.rests_on = first.rests_on.clone();
        }
    }
}

/// Places of findings in the order of their identifiers; of equals the last comes first.
fn in_order(findings: &[Finding]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..findings.len() as u32).collect();
    let id_at = |place: u32| findings[place as usize].id.as_str();
    places.sort_unstable_by(|a, b| id_at(*a).cmp(id_at(*b)).then(b.cmp(a)));
    places
}

impl Findings {
    /// Draws all findings from an observation.
    pub fn of(observation: Observation) -> Findings {
        let mut all = Vec::new();
        for case in &observation.cases {
            let first = all.len();
            all.push(level::of(case));
            all.extend(found_load::of(case));
            if !observation.is_round(case) {
                all.extend(write_cliff::of(case));
                all.extend(ramp_fall::of(case));
                all.extend(steady_state::of(case));
            }
            all.extend(disruption::of(case));
            all.extend(conformance::of(case));
            all.extend(path_balance::of(case));
            all.extend(host_balance::of(case));
            share_bases(&mut all[first..]);
        }
        all.extend(steady_state::rounds::of(&observation));
        all.extend(observation.whole_stages().iter().filter_map(write_cliff::of));
        let cliffs: Vec<Finding> =
            all.iter().filter(|finding| finding.kind() == Kind::WriteCliff).cloned().collect();
        let bounds = bounds::of(&observation);
        let others = limit::OtherCases::new(&observation);
        all.extend(bounds::maxima(&observation, &bounds).into_iter().map(|case| limit::of(case, &others)));
        all.extend(bounds);
        all.extend(penalty::penalties(&observation));
        all.extend(penalty::effects(&observation, &cliffs));
        let mut findings = Findings {
            plan: observation.plan.clone(),
            index: in_order(&all),
            missing: observation.missing.clone(),
            written_claims: Vec::new(),
            cases: crate::compare::places(&observation.cases)
                .into_values()
                .map(|place| place as u32)
                .collect(),
            observation,
            all,
        };
        crate::sustained::add_to(&mut findings);
        findings
    }

    /// The finding of this identifier.
    pub fn get(&self, id: &str) -> Option<&Finding> {
        let id_at = |place: &u32| self.all[*place as usize].id.as_str();
        let found = self.index.partition_point(|place| id_at(place) < id);
        self.index.get(found).filter(|place| id_at(place) == id).map(|place| &self.all[*place as usize])
    }

    /// The findings of one kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Finding> {
        self.all.iter().filter(move |finding| finding.kind() == kind)
    }

    /// The result of the measured case of this stage and name, with what it sustains.
    pub fn result(&self, stage: &str, name: &str) -> Option<&Arc<CaseResult>> {
        self.case(stage, name).map(|case| &case.result)
    }

    /// The measured case of this stage and name.
    pub fn case(&self, stage: &str, name: &str) -> Option<&ObservedCase> {
        let case = |place: &u32| &self.observation.cases[*place as usize];
        let key = |place: &u32| (case(place).stage.as_str(), case(place).name.as_str());
        let found = self.cases.binary_search_by(|place| key(place).cmp(&(stage, name))).ok()?;
        Some(case(&self.cases[found]))
    }

    /// The finding of one kind about one case.
    pub(crate) fn about(&self, kind: Kind, stage: &str, case: &str) -> Option<&Finding> {
        self.get(&format!("{}/{stage}/{case}", kind.name()))
    }
}
