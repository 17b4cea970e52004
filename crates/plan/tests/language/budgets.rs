//! Time budgets of plans.

use super::{names, parse};
use plan::{Case, Selection, expand, fit_budget};
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn cases(text: &str) -> Vec<Case> {
    expand(&parse(text), &Selection::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn nothing(_: &Case) -> u64 {
    0
}

/// Proves that the most important cases are kept first whatever their place, that a shorter one takes the room that a
/// longer one did not fit into, and that each case left out says why.
#[test]
fn the_most_important_are_kept() {
    let all = cases(
        "title: t\ndefaults: { rw: read, bs: 4k, runtime: 60 }\nstages:\n  late: { settings: { priority: 3 } }\n  long: { settings: { priority: 2, runtime: 10m } }\n  short: { settings: { priority: 2 } }\n  first: {}\n",
    );
    let budgeted = fit_budget(all, 150 * SECOND_NS, &nothing);
    let kept: Vec<&str> = budgeted.kept.iter().map(|case| case.stage.as_str()).collect();
    assert_eq!(kept, ["short", "first"]);
    assert_eq!(budgeted.kept.iter().map(|case| case.index).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(budgeted.planned_ns, 120 * SECOND_NS);
    let reasons: Vec<_> =
        budgeted.left_out.iter().map(|out| (out.case.stage.as_str(), out.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            ("late", "priority 3: with it the run would take 3 min 00 s, over the budget of 2 min 30 s"),
            ("long", "priority 2: with it the run would take 11 min 00 s, over the budget of 2 min 30 s"),
        ]
    );
}

/// Proves that the writes before a case are counted, and made before the case that takes its place.
#[test]
fn preconditioning_is_counted_and_handed_on() {
    let all = cases(
        "title: t\ndefaults: { rw: read, bs: 4k, runtime: 10 }\nstages:\n  one:\n    precondition: { times: 1, settings: { bs: 1m }, after_change_of: [raid] }\n    matrix:\n      raid: [5, 0]\n      iodepth: { 1: { priority: 2 }, 2: { priority: 1 } }\n",
    );
    let writes_ns = |_: &Case| 100 * SECOND_NS;
    let all_of_it = fit_budget(all.clone(), 240 * SECOND_NS, &writes_ns);
    assert_eq!((all_of_it.kept.len(), all_of_it.planned_ns), (4, 240 * SECOND_NS));
    let budgeted = fit_budget(all, 225 * SECOND_NS, &writes_ns);
    assert_eq!(budgeted.planned_ns, 220 * SECOND_NS);
    assert_eq!(names(&budgeted.kept), ["raid=5,iodepth=2", "raid=0,iodepth=2"]);
    assert!(budgeted.kept.iter().all(|case| case.preconditioning.is_some()));
}

/// Proves that a case goes with the one that it continues.
#[test]
fn cases_that_follow_on_stand_together() {
    let all = cases(
        "title: t\ndefaults: { rw: write, bs: 4k, runtime: 60 }\nstages:\n  fill: { continues: true, matrix: { pass: [1, 2] } }\n  other: { matrix: { iodepth: [1] } }\n",
    );
    let budgeted = fit_budget(all, 100 * SECOND_NS, &nothing);
    assert_eq!(names(&budgeted.kept), ["iodepth=1"]);
    assert_eq!(budgeted.left_out.len(), 2);
}

/// Proves that `acceptance` fits into an hour and a half with writes of ten minutes, keeps what matters in half an
/// hour, and leaves out the rest by importance.
#[test]
fn acceptance_fits_its_deadline() {
    let all =
        expand(&plan::load_plan("acceptance").expect("plan").plan, &Selection::default()).expect("cases");
    let writes_ns = |_: &Case| 600 * SECOND_NS;
    assert!(fit_budget(all.clone(), 90 * 60 * SECOND_NS, &writes_ns).left_out.is_empty());
    let half_an_hour = fit_budget(all, 30 * 60 * SECOND_NS, &writes_ns);
    assert!(half_an_hour.planned_ns <= 30 * 60 * SECOND_NS);
    for stage in ["corners", "latency", "mixed"] {
        assert!(half_an_hour.left_out.iter().all(|out| out.case.stage != stage), "{stage}");
    }
    assert!(half_an_hour.left_out.iter().any(|out| out.case.stage == "long-write"));
}

proptest! {
    /// Proves that what is kept fits, that nothing is lost, and that the time is that of the kept cases with the writes that they turn out to need.
    #[test]
    fn a_budget_is_kept(
        wanted in proptest::collection::vec((1u64..100, 1u8..=9, any::<bool>()), 1..12),
        budget_s in 0u64..600,
    ) {
        let mut text = "title: t\ndefaults: { rw: read, bs: 4k }\nstages:\n".to_owned();
        for (index, (runtime, priority, has_raid_5)) in wanted.iter().enumerate() {
            let raid = if *has_raid_5 { 5 } else { 0 };
            text.push_str(&format!(
                "  s{index}: {{ settings: {{ runtime: {runtime}, priority: {priority}, raid: {raid} }}, precondition: {{ times: 1, settings: {{ bs: 1m }}, after_change_of: [raid] }} }}\n"
            ));
        }
        let all = cases(&text);
        let writes_ns = |_: &Case| 20 * SECOND_NS;
        let budgeted = fit_budget(all.clone(), budget_s * SECOND_NS, &writes_ns);
        prop_assert!(budgeted.planned_ns <= budget_s * SECOND_NS);
        prop_assert_eq!(budgeted.kept.len() + budgeted.left_out.len(), all.len());
        let taken: u64 = budgeted
            .kept
            .iter()
            .map(|case| case.estimated_duration_ns + if case.preconditioning.is_some() { writes_ns(case) } else { 0 })
            .sum();
        prop_assert_eq!(taken, budgeted.planned_ns);
        prop_assert_eq!(&budgeted, &fit_budget(all, budget_s * SECOND_NS, &writes_ns));
    }
}
