//! Time budget: the cases of a plan that fit into a given time.

use crate::case::Case;
use crate::left_out::{LeftOut, leave_out};
use std::collections::BTreeSet;
use units::human_duration;

/// A choice of cases that fits into a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Budgeted {
    /// The cases that fit, in the plan's order and numbered anew.
    pub kept: Vec<Case>,
    /// The cases that do not, in the plan's order.
    pub left_out: Vec<LeftOut>,
    /// Estimated time of the kept ones.
    pub planned_ns: u64,
}

/// Chooses the cases that fit into a time: those of priority 1 first, then those of 2, and so on, each in the plan's
/// order. A case that does not fit is left out, and a shorter one after it may still fit. A case that continues
/// another, or whose rate is a share of another's, goes with it.
///
/// `preconditioning_ns` says how long the writes before a case take, which depends on the target.
pub fn fit_budget(cases: Vec<Case>, budget_ns: u64, preconditioning_ns: &dyn Fn(&Case) -> u64) -> Budgeted {
    let mut chains = chains(&cases);
    // A stable sort: within a priority the plan's order stays.
    chains.sort_by_key(|chain| cases[chain.start].priority());
    let writes_ns = |previous: Option<usize>, index: Option<usize>| match index {
        Some(index) if cases[index].is_preconditioning_due(previous.map(|previous| &cases[previous])) => {
            preconditioning_ns(&cases[index])
        }
        _ => 0,
    };
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let mut reasons = vec![String::new(); cases.len()];
    let mut planned_ns = 0u64;
    for chain in chains {
        // A case that comes between two others may need writes of its own, and change what the later one needs.
        let before = kept.range(..chain.start).next_back().copied();
        let after = kept.range(chain.end..).next().copied();
        let own_ns =
            chain.clone().map(|index| cases[index].estimated_duration_ns).fold(0, u64::saturating_add);
        let with_it_ns = planned_ns
            .saturating_sub(writes_ns(before, after))
            .saturating_add(own_ns)
            .saturating_add(writes_ns(before, Some(chain.start)))
            .saturating_add(writes_ns(Some(chain.end - 1), after));
        if with_it_ns <= budget_ns {
            planned_ns = with_it_ns;
            kept.extend(chain);
            continue;
        }
        let reason = format!(
            "priority {}: with it the run would take {}, over the budget of {}",
            cases[chain.start].priority(),
            human_duration(with_it_ns),
            human_duration(budget_ns)
        );
        reasons[chain].fill(reason);
    }
    let (kept, left_out) =
        leave_out(cases, |place, _| (!kept.contains(&place)).then(|| std::mem::take(&mut reasons[place])));
    Budgeted { kept, left_out, planned_ns }
}

/// Cases that stand or fall together: each with those that continue it.
fn chains(cases: &[Case]) -> Vec<std::ops::Range<usize>> {
    let mut chains: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match chains.last_mut() {
            Some(chain) if case.continues || case.rate_share.is_some() => chain.end = index + 1,
            _ => chains.push(index..index + 1),
        }
    }
    chains
}
