//! Shards of a plan: cases that rest on each other form a group, and groups are dealt out in turn.

use crate::dependencies::needed_before;
use crate::pauses::is_of;
use plan::{Case, Plan};
use store::ShardNumber;

/// The cases of a plan by groups, in the order of their first cases. Cases of one group continue each other, take a rate, a load or a
/// pause from each other's results, end their stage's rounds together, or (on a real target) rely on writes made before another.
pub(crate) fn groups(cases: &[Case], plan: &Plan, is_real_target: bool) -> Vec<Vec<u32>> {
    let mut groups = Groups::new(cases.len());
    for (index, case) in cases.iter().enumerate() {
        let relies_on_writes =
            is_real_target && case.conditioned_by.is_some() && case.preconditioning.is_none();
        if relies_on_writes && index > 0 {
            groups.join(index, index - 1);
        }
        for before in needed_before(cases, index) {
            groups.join(index, before);
        }
        if let Some(wanted) = &case.pause_over {
            join_all(&mut groups, index, cases, |other| is_of(wanted, other));
        }
    }
    for stage in &plan.stages {
        if stage.repeats.as_ref().is_some_and(|rules| rules.may_end_early())
            && let Some(first) = cases.iter().position(|case| case.stage == stage.name)
        {
            join_all(&mut groups, first, cases, |other| other.stage == stage.name);
        }
    }
    groups.listed()
}

fn join_all(groups: &mut Groups, index: usize, cases: &[Case], is_needed: impl Fn(&Case) -> bool) {
    for (other, _) in cases.iter().enumerate().filter(|(_, case)| is_needed(case)) {
        groups.join(index, other);
    }
}

/// Returns the cases of a shard, in the order of the plan: of n shards, number k has group k and every nth group after it.
pub(crate) fn cases_of(shard: ShardNumber, groups: &[Vec<u32>]) -> Vec<u32> {
    let (first, step) = (shard.number as usize - 1, shard.count as usize);
    let mut cases: Vec<u32> = groups.iter().skip(first).step_by(step).flatten().copied().collect();
    cases.sort_unstable();
    cases
}

/// Disjoint sets (Galler and Fischer 1964); the least case of a set stands for it.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(cases: usize) -> Groups {
        Groups { parents: (0..cases).collect() }
    }

    fn first_of(&mut self, mut index: usize) -> usize {
        while self.parents[index] != index {
            self.parents[index] = self.parents[self.parents[index]];
            index = self.parents[index];
        }
        index
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first_of(one), self.first_of(other));
        self.parents[one.max(other)] = one.min(other);
    }

    fn listed(mut self) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); self.parents.len()];
        for index in 0..self.parents.len() {
            groups[self.first_of(index)].push(index as u32);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

/// The most shards that the cases of a plan can be cut into on a twin: cases that rest on each other stay together.
pub fn shards_at_most(cases: &[Case], plan: &Plan) -> usize {
    groups(cases, plan, false).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "
title: Groups
defaults: { rw: randread, bs: 4k, runtime: 10 }
stages:
  alone: { matrix: { iodepth: [1, 2, 3] } }
  curve: { matrix: { rate_percent: [max, 10, 50] } }
  passes: { continues: true, matrix: { pass: [1, 2, 3] } }
  last: {}
";

    fn grouped() -> Vec<Vec<u32>> {
        let plan = plan::parse_plan("groups", "groups.yaml", PLAN).expect("a plan");
        let cases = plan::expand(&plan, &plan::Selection::default()).expect("cases");
        groups(&cases, &plan, false)
    }

    /// Proves that cases which continue each other, or take their rate from another, are one group, and others stand alone.
    #[test]
    fn cases_that_rest_on_each_other_stay_together() {
        assert_eq!(grouped(), [vec![0], vec![1], vec![2], vec![3, 4, 5], vec![6, 7, 8], vec![9]]);
    }

    /// Proves that on a real target cases which rely on writes made before another stay with it, and those of the next state do not.
    #[test]
    fn cases_stay_with_the_writes_before_them() {
        let text = "
title: Written
defaults: { rw: randread, bs: 4k, runtime: 10 }
stages:
  s:
    precondition: { times: 2, settings: { rw: write, bs: 128k } }
    matrix: { raid: [0, 5], iodepth: [1, 2] }
";
        let plan = plan::parse_plan("written", "written.yaml", text).expect("a plan");
        let cases = plan::expand(&plan, &plan::Selection::default()).expect("cases");
        assert_eq!(groups(&cases, &plan, true), [vec![0, 1], vec![2, 3]]);
        assert_eq!(groups(&cases, &plan, false), [vec![0], vec![1], vec![2], vec![3]]);
    }

    /// Proves that every case is in exactly one shard, for any number of shards.
    #[test]
    fn shards_divide_the_cases() {
        let groups = grouped();
        for count in 1..=8 {
            let mut all: Vec<u32> =
                (1..=count).flat_map(|number| cases_of(ShardNumber { number, count }, &groups)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<u32>>(), "{count} shards");
        }
        assert_eq!(cases_of(ShardNumber { number: 2, count: 4 }, &groups), [1, 9]);
    }
}
