//! Dependencies between the cases of a plan: whose results, or whose state of the twin, a case needs before it may begin.

use crate::pauses::is_of;
use crate::rate_share;
use plan::Case;

/// Indices of the cases that must be over before a case begins: the one it continues with the case whose rate decides the pause
/// between the two, the full rate that its own is a share of, and the stage that its load is chosen from. All come before it in the plan.
pub(crate) fn needed_before(cases: &[Case], index: usize) -> Vec<usize> {
    let case = &cases[index];
    let mut needed = Vec::new();
    if case.continues && index > 0 {
        needed.push(index - 1);
        let rate = cases[index - 1].pause_over.as_ref();
        needed.extend(
            rate.and_then(|rate| cases.iter().find(|other| is_of(rate, other))).map(|other| other.index),
        );
    }
    needed.extend(rate_share::rests_on(cases, case).map(|full| full.index));
    if let Some(choice) = &case.load_of {
        needed.extend(cases.iter().filter(|other| other.stage == choice.stage).map(|other| other.index));
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that each kind of dependency is found, and that a case without one waits for nothing.
    #[test]
    fn each_kind_of_dependency_is_found() {
        let text = "
title: Dependencies
defaults: { rw: randread, bs: 4k, runtime: 10 }
stages:
  alone: { matrix: { iodepth: [1, 2] } }
  curve: { matrix: { rate_percent: [max, 10] } }
  passes: { continues: true, matrix: { pass: [1, 2] } }
  chosen: { load_of: { stage: alone, pick: { largest: read.iops } } }
";
        let plan = plan::parse_plan("dependencies", "dependencies.yaml", text).expect("a plan");
        let cases = plan::expand(&plan, &plan::Selection::default()).expect("cases");
        let all: Vec<Vec<usize>> = (0..cases.len()).map(|index| needed_before(&cases, index)).collect();
        assert_eq!(all, [vec![], vec![], vec![], vec![2], vec![], vec![4], vec![0, 1]]);
    }
}
