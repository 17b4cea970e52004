//! Rounds of a stage: tracked quantities of each, and whether there are enough rounds.

use super::{WINDOW_ROUNDS, Window};
use crate::finding::{Basis, Finding};
use crate::observation::Observation;
use crate::{RoundVariable, SteadyRounds};
use plan::{Rounds, SettingValues};
use std::collections::BTreeMap;
use store::CaseResult;

/// Reason why a stage needs no further round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundsOver {
    /// Everything that is tracked is steady.
    Steady,
    /// As much was written as the plan asks for.
    Written,
}

/// Measurements of a stage's rounds so far.
#[derive(Debug, Clone)]
pub struct RoundLog {
    rules: Rounds,
    /// Cases of a round; a round with fewer is incomplete and is left out.
    cases: usize,
    /// Bytes of the range of which `until_written` may be a share.
    range_bytes: u64,
    rounds: BTreeMap<u64, Round>,
}

#[derive(Debug, Clone, Default)]
struct Round {
    cases: usize,
    written_bytes: u64,
    /// For each tracked quantity its sum and over how many cases.
    tracked: Vec<(f64, usize)>,
}

impl RoundLog {
    /// A log without rounds.
    pub fn new(rules: &Rounds, cases: usize, range_bytes: u64) -> RoundLog {
        RoundLog { rules: rules.clone(), cases, range_bytes, rounds: BTreeMap::new() }
    }

    /// Takes in a case that is over; `result` is `None` where it measured nothing.
    pub fn add(&mut self, settings: &SettingValues, result: Option<&CaseResult>) {
        let number = settings.get("repeat").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let round = self.rounds.entry(number).or_default();
        round.tracked.resize(self.rules.until_steady.len(), (0.0, 0));
        round.cases += 1;
        let Some(result) = result else { return };
        round.written_bytes += result.write.as_ref().map_or(0, |write| write.bytes);
        for (tracked, (sum, count)) in self.rules.until_steady.iter().zip(&mut round.tracked) {
            if let Some(value) =
                result.quantity(tracked.quantity.name()).filter(|_| tracked.is_about(settings))
            {
                *sum += value;
                *count += 1;
            }
        }
    }

    /// The whole rounds that are looked at, in order.
    fn looked_at(&self) -> impl Iterator<Item = (u64, &Round)> {
        let every = u64::from(self.rules.every.max(1));
        self.rounds
            .iter()
            .filter(move |(number, round)| round.cases >= self.cases && (*number - 1) % every == 0)
            .map(|(number, round)| (*number, round))
    }

    /// The value of a tracked quantity in a round: of several cases the sum of rates, the mean of latencies.
    fn value(&self, round: &Round, variable: usize) -> Option<f64> {
        let (sum, count) = *round.tracked.get(variable)?;
        let is_mean = self.rules.until_steady.get(variable)?.quantity.is_latency();
        (count > 0).then(|| if is_mean { sum / count as f64 } else { sum })
    }

    /// The last rounds that are looked at up to some round, with their windows: one for each tracked quantity.
    fn windows(&self, until: u64) -> Option<(Vec<u64>, Vec<[f64; WINDOW_ROUNDS]>)> {
        let rounds: Vec<(u64, &Round)> =
            self.looked_at().take_while(|(number, _)| *number <= until).collect();
        let last = rounds.get(rounds.len().checked_sub(WINDOW_ROUNDS)?..)?;
        let window = |variable| {
            let mut values = [0.0; WINDOW_ROUNDS];
            for (slot, (_, round)) in values.iter_mut().zip(last) {
                *slot = self.value(round, variable)?;
            }
            Some(values)
        };
        let windows = (0..self.rules.until_steady.len()).map(window).collect::<Option<Vec<_>>>()?;
        Some((last.iter().map(|(number, _)| *number).collect(), windows))
    }

    /// The rounds of the measurement window so far; `None` where nothing is tracked, or before the fifth round.
    pub fn window(&self) -> Option<Vec<u64>> {
        let until = self.over().map_or(u64::MAX, |(round, _)| round);
        let (rounds, windows) = self.windows(until)?;
        (!windows.is_empty()).then_some(rounds)
    }

    /// The first round after which there are enough, and why.
    pub fn over(&self) -> Option<(u64, RoundsOver)> {
        let wanted_bytes = self.rules.until_written.map(|amount| amount.resolve(self.range_bytes));
        let mut written_bytes = 0u64;
        let whole = self.rounds.iter().filter(|(_, round)| round.cases >= self.cases);
        for (&number, round) in whole {
            written_bytes = written_bytes.saturating_add(round.written_bytes);
            let is_looked_at = self.looked_at().any(|(looked_at, _)| looked_at == number);
            if is_looked_at && !self.rules.until_steady.is_empty() {
                let windows = self.windows(number).map(|(_, windows)| windows).unwrap_or_default();
                if !windows.is_empty() && windows.iter().all(|window| Window::of(window).is_steady) {
                    return Some((number, RoundsOver::Steady));
                }
            }
            if wanted_bytes.is_some_and(|wanted| written_bytes >= wanted) {
                return Some((number, RoundsOver::Written));
            }
        }
        None
    }
}

/// Findings about each stage whose rounds end on steady state.
pub(crate) fn of(observation: &Observation) -> Vec<Finding> {
    observation.rounds.iter().filter_map(|(stage, rules)| of_stage(observation, stage, rules)).collect()
}

fn of_stage(observation: &Observation, stage: &str, rules: &Rounds) -> Option<Finding> {
    if rules.until_steady.is_empty() {
        return None;
    }
    let cases = || observation.cases.iter().filter(|case| case.stage == stage);
    let first = cases().next()?.settings.get("repeat");
    let in_round = cases().filter(|case| case.settings.get("repeat") == first).count();
    // How large the target is, is not known any more: whether enough was written shows in that no round followed.
    let mut log = RoundLog::new(&Rounds { until_written: None, ..rules.clone() }, in_round, u64::MAX);
    for case in cases() {
        log.add(&case.settings, Some(&case.result));
    }
    let last = log.looked_at().last()?.0;
    let over = log.over().map(|(round, _)| round);
    let (rounds, windows) = log.windows(over.unwrap_or(last))?;
    let variables = rules
        .until_steady
        .iter()
        .zip(&windows)
        .enumerate()
        .map(|(place, (tracked, values))| {
            let window = Window::of(values);
            let all = log.looked_at().filter_map(|(number, round)| Some((number, log.value(round, place)?)));
            RoundVariable {
                quantity: tracked.quantity.name().to_owned(),
                of: tracked.of(),
                window: values.to_vec(),
                average: window.average,
                range_percent: window.range_percent,
                slope_percent: window.slope_percent,
                steady: window.is_steady,
                rounds: all.collect(),
            }
        })
        .collect();
    let fact = SteadyRounds {
        reached: over.is_some(),
        round: over,
        rounds: log.rounds.len() as u64,
        at_most: u64::from(rules.at_most),
        window_rounds: rounds.clone(),
        variables,
    };
    let rests_on = cases()
        .filter(|case| case.number("repeat").is_some_and(|number| rounds.contains(&(number as u64))))
        .map(Basis::of)
        .collect();
    Some(Finding {
        id: format!("steady-rounds/{stage}"),
        stage: stage.to_owned(),
        case: None,
        fact: fact.into(),
        rests_on,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Amount;
    use serde_json::json;

    fn rules(every: u32, until_written: Option<Amount>) -> Rounds {
        let text = format!(
            "title: t\nstages:\n  one:\n    settings: {{ rw: randwrite, bs: 4k }}\n    continues: true\n    repeats: {{ at_most: 25, until_steady: [{{ quantity: write.iops }}], every: {every} }}\n"
        );
        let plan = plan::parse_plan("t", "t.yaml", &text).expect("plan");
        Rounds { until_written, ..plan.stages[0].repeats.clone().expect("rounds") }
    }

    fn result(iops: f64) -> CaseResult {
        let latency = json!({"mean": 1.0, "p50": 1, "p95": 1, "p99": 1, "p99.9": 1, "min": 1, "max": 1});
        serde_json::from_value(json!({
            "plan": "t", "stage": "one", "case": "c", "settings": {}, "target": "t", "engine": "sim", "status": "done",
            "duration_s": 1.0, "iops": iops, "bw_bytes_per_s": iops * 4096.0, "read": null,
            "write": {"ios": iops as u64, "bytes": iops as u64 * 4096, "errors": 0, "iops": iops,
                      "bw_bytes_per_s": iops * 4096.0, "latency_ns": latency},
        }))
        .expect("result")
    }

    fn log(rules: &Rounds, rates: &[f64]) -> RoundLog {
        let mut log = RoundLog::new(rules, 1, 4096 * 1000);
        for (index, rate) in rates.iter().enumerate() {
            let settings = json!({ "repeat": index + 1 });
            log.add(settings.as_object().expect("object"), Some(&result(*rate)));
        }
        log
    }

    /// Proves that rounds are over with the fifth that completes a steady window, not before, and that nothing after
    /// it matters.
    #[test]
    fn rounds_end_when_five_are_steady() {
        let steady = rules(1, None);
        assert_eq!(log(&steady, &[300.0, 200.0, 100.0, 100.0, 100.0, 100.0]).over(), None);
        let over = log(&steady, &[300.0, 200.0, 100.0, 100.0, 100.0, 100.0, 100.0, 5.0]).over();
        assert_eq!(over, Some((7, RoundsOver::Steady)));
        let mut unmeasured = log(&steady, &[100.0; 4]);
        unmeasured.add(json!({ "repeat": 5 }).as_object().expect("object"), None);
        assert_eq!(unmeasured.over(), None, "a round that measured nothing is not steady");
    }

    /// Proves that of rounds spaced apart only the first and every so-manyth count, and that written bytes end a stage
    /// by themselves.
    #[test]
    fn spaced_rounds_and_written_bytes() {
        let spaced = rules(3, None);
        let mut rates = vec![100.0; 13];
        rates[4] = 900.0;
        assert_eq!(log(&spaced, &rates[..12]).over(), None);
        assert_eq!(log(&spaced, &rates).over(), Some((13, RoundsOver::Steady)));
        let written = rules(5, Some(Amount::Share { percent: 40 }));
        assert_eq!(log(&written, &[100.0; 3]).over(), None);
        assert_eq!(log(&written, &[100.0; 6]).over(), Some((4, RoundsOver::Written)));
    }
}
