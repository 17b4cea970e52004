//! Order of cases that several threads simulate: those with the longest chain of dependent cases first, so that no long case is
//! left alone at the end (critical path first, Graham 1969).

use crate::dependencies::needed_before;
use plan::Case;
use std::cmp::Reverse;
use store::CaseRecord;

/// Puts pending cases into this order; equals stay in the order of the plan.
pub(crate) fn sort(pending: &mut [u32], cases: &[Case], records: &[CaseRecord]) {
    let chains_ns = chains_ns(cases, records);
    pending.sort_by_key(|&index| Reverse(chains_ns[index as usize]));
}

/// For each case, its estimated duration and the longest of what can only begin after it.
fn chains_ns(cases: &[Case], records: &[CaseRecord]) -> Vec<u64> {
    let mut chains_ns = vec![0_u64; cases.len()];
    // Dependent cases come later in the plan: backwards, each is known before those that it rests on.
    for index in (0..cases.len()).rev() {
        let own_ns = records.get(index).map_or(0, |record| record.estimated_duration_ns);
        chains_ns[index] = chains_ns[index].saturating_add(own_ns);
        let chain_ns = chains_ns[index];
        for before in needed_before(cases, index) {
            chains_ns[before] = chains_ns[before].max(chain_ns);
        }
    }
    chains_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::CaseState;

    const PLAN: &str = "
title: Order
defaults: { rw: randread, bs: 4k, runtime: 10 }
stages:
  short: { matrix: { iodepth: [1, 2] } }
  curve: { settings: { runtime: 20 }, matrix: { rate_percent: [max, 10, 50] } }
  passes: { settings: { runtime: 30 }, continues: true, matrix: { pass: [1, 2, 3] } }
  long: { settings: { runtime: 70 } }
";

    /// The longest chain begins first: three passes of 30 s that continue each other, then 70 s alone, then a curve whose
    /// shares of a rate need its maximum; equals in the order of the plan.
    #[test]
    fn long_chains_come_first() {
        let plan = plan::parse_plan("order", "order.yaml", PLAN).expect("a plan");
        let cases = plan::expand(&plan, &plan::Selection::default()).expect("cases");
        let records: Vec<CaseRecord> = cases.iter().map(record).collect();
        let mut pending: Vec<u32> = (0..cases.len() as u32).collect();
        sort(&mut pending, &cases, &records);
        let names: Vec<&str> = pending.iter().map(|&index| cases[index as usize].name.as_str()).collect();
        assert_eq!(
            names,
            [
                "pass=1",
                "long",
                "pass=2",
                "rate_percent=max",
                "pass=3",
                "rate_percent=10",
                "rate_percent=50",
                "iodepth=1",
                "iodepth=2"
            ]
        );
    }

    fn record(case: &Case) -> CaseRecord {
        CaseRecord {
            index: case.index as u32,
            plan: case.plan.clone(),
            stage: case.stage.clone(),
            name: case.name.clone(),
            settings: store::Settings::default(),
            estimated_duration_ns: case.load.runtime_ns,
            estimated_write_bytes: 0,
            state: CaseState::Pending,
            attempts: 0,
            error: None,
        }
    }
}
