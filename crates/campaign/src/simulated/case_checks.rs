//! Checks of all cases before a run begins.

use super::{Simulator, twin_error};
use crate::CampaignError;
use diagnostic::Problem;
use load::Device as _;
use plan::{Case, SettingScope};
use serde_json::{Map, Value};
use twin::Twin;

/// Checks cases one after the other. Building a twin places all that its volumes hold, so cases in turn that differ in their loads and
/// seeds alone share one: 1,400 cells of rounds on a cluster took minutes. A [`TwinCache`](super::TwinCache) would prepare and copy it for each.
pub struct CaseChecks<'a> {
    simulator: &'a Simulator,
    /// The settings and the twin that was built with them last.
    built: Option<(Map<String, Value>, Twin)>,
}

impl<'a> CaseChecks<'a> {
    /// Checks for a simulator.
    pub fn new(simulator: &'a Simulator) -> Self {
        CaseChecks { simulator, built: None }
    }

    /// Refuses a case that the twin cannot simulate, before anything is written. Returns the bytes of the volume under load.
    pub fn check(&mut self, case: &Case, previous: Option<&Case>) -> Result<u64, CampaignError> {
        if let Some(previous) = previous.filter(|_| case.continues)
            && previous.settings_of(SettingScope::Array) != case.settings_of(SettingScope::Array)
        {
            return Err(Problem::new(format!(
                "stage `{}`: `{}` continues `{}` with other array settings, which a twin cannot do: it is built with its settings",
                case.stage, case.name, previous.name
            ))
            .into());
        }
        let settings = self.simulator.twin_settings(case, None)?;
        let twin = match self.built.take() {
            Some((built, twin)) if built == settings => twin,
            _ => Twin::build(&self.simulator.description, &settings, case.load.seed)
                .map_err(|source| twin_error(case, source))?,
        };
        let (_, twin) = self.built.insert((settings, twin));
        if case.loads.is_empty() && case.events.is_empty() && case.conditional_events.is_empty() {
            return Ok(twin.capacity_bytes());
        }
        Ok(self.simulator.check_on(twin.clone(), case)?.capacity_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage_target::TwinSpec;

    const PLAN: &str = "
title: t
defaults: { rw: randread, bs: 4k, runtime: 1 }
stages:
  volumes:
    matrix: { volume: [archive, db], numjobs: [1, 2] }
  lost:
    settings: { volume: db }
    matrix: { numjobs: [1, 2] }
    events: [{ at: 20%, action: drive-failure, with: { drive: 0 } }]
  impossible:
    settings: { volume: db }
    events: [{ at: 20%, action: drive-failure, with: { drive: 999 } }]
  together:
    settings: { volume: db }
    loads:
      near: {}
      far: { settings: { offset: 6t, size: 4k } }
  elsewhere:
    settings: { volume: db }
    loads:
      near: { settings: { volume: archive } }
      far: { settings: { volume: archive, offset: 6t, size: 4k } }
  healthy:
    settings: { volume: db }
";

    /// Proves that cases which share a twin are answered as each by itself: capacities of volumes beside each other, a drive that fails, events
    /// and places that there are not, concurrent loads.
    #[test]
    fn shared_twins_answer_as_own_ones() {
        let plan = plan::parse_plan("test", "test.yaml", PLAN).expect("a plan");
        let cases = plan::expand(&plan, &plan::Selection::default()).expect("cases");
        let description = plan::load_array("flash-and-disks").expect("an array").description;
        let target = TwinSpec { name: "flash-and-disks".into(), settings: Vec::new() };
        let simulator = Simulator::new(description, &target, String::new(), Some(1), None);
        let in_words = |answer: Result<u64, CampaignError>| answer.map_err(|error| error.to_string());
        let mut shared = CaseChecks::new(&simulator);
        let mut answers: Vec<Result<u64, String>> = Vec::new();
        for case in &cases {
            let answer = in_words(shared.check(case, None));
            assert_eq!(answer, in_words(CaseChecks::new(&simulator).check(case, None)), "{}", case.name);
            answers.push(answer);
        }
        let (archive, db) = (&answers[0], &answers[2]);
        let is_ok: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(is_ok, [true, true, true, true, true, true, false, false, true, true], "{answers:?}");
        assert!(archive > db && answers[9] == *db, "{answers:?}");
    }
}
