//! Stages that end when their rounds reach steady state.

use findings::{RoundLog, RoundsOver};
use plan::{Case, Plan};
use serde_json::Value;
use store::{CaseState, CaseStatus, RunReader, StoreError};

/// Round measurements of the stages that may end early.
#[derive(Debug, Default)]
pub(crate) struct StageEnds {
    stages: Vec<StageEnd>,
}

#[derive(Debug)]
struct StageEnd {
    stage: String,
    log: RoundLog,
    /// True once the end was reported, which is done once.
    is_reported: bool,
}

/// A stage that needs no further round.
pub(crate) struct Ended {
    pub stage: String,
    /// The last round that is needed.
    pub round: u64,
    /// Reason in words.
    pub says: String,
    /// Found only now.
    pub is_new: bool,
}

impl StageEnds {
    /// Reads the rounds that the run has so far, if any. Shares of written bytes are shares of `capacity_bytes`.
    pub fn read(
        plan: &Plan,
        cases: &[Case],
        capacity_bytes: u64,
        run: &RunReader,
    ) -> Result<StageEnds, StoreError> {
        let mut ends = StageEnds::default();
        for stage in &plan.stages {
            let Some(rules) = stage.repeats.as_ref().filter(|rules| rules.may_end_early()) else { continue };
            let of_stage = || cases.iter().filter(|case| case.stage == stage.name);
            let Some(first) = of_stage().next() else { continue };
            let in_round = of_stage().filter(|case| round_of(case) == round_of(first)).count();
            let log = RoundLog::new(rules, in_round, first.load.range_bytes(capacity_bytes));
            ends.stages.push(StageEnd { stage: stage.name.clone(), log, is_reported: false });
        }
        if !ends.stages.is_empty() {
            for (case, record) in cases.iter().zip(run.cases()?) {
                if record.state == CaseState::Ended(CaseStatus::Done) {
                    ends.add(case, run)?;
                }
            }
        }
        Ok(ends)
    }

    /// Takes in a case that is over.
    pub fn add(&mut self, case: &Case, run: &RunReader) -> Result<(), StoreError> {
        let Some(end) = self.stages.iter_mut().find(|end| end.stage == case.stage) else { return Ok(()) };
        let result = run.result(case.index as u32)?.filter(|result| result.status == CaseStatus::Done);
        end.log.add(&case.settings, result.as_ref());
        Ok(())
    }

    /// Returns the measurement window of a stage that ends on steady state: the last five rounds that are judged.
    pub fn window(&self, stage: &str) -> Option<Vec<u64>> {
        self.stages.iter().find(|end| end.stage == stage)?.log.window()
    }

    /// The stage of this case, if it needs no further round.
    pub fn ended(&mut self, case: &Case) -> Option<Ended> {
        let end = self.stages.iter_mut().find(|end| end.stage == case.stage)?;
        let (round, because) = end.log.over()?;
        let is_new = !std::mem::replace(&mut end.is_reported, true);
        let why = match because {
            RoundsOver::Steady => "steady state is reached by SNIA's rule",
            RoundsOver::Written => "as much is written as the plan asks for",
        };
        let says = format!("stage `{}` ends with round {round}: {why}", end.stage);
        Some(Ended { stage: end.stage.clone(), round, says, is_new })
    }
}

/// The round that a case belongs to.
pub(crate) fn round_of(case: &Case) -> u64 {
    case.settings.get("repeat").and_then(Value::as_u64).unwrap_or(1)
}
