//! Conditions of cases on thin volumes.

use std::sync::atomic::AtomicBool;

use campaign::{Request, prepare, run_campaign};
use store::{Run, RunReader};

const ARRAY: &str = "title: thin
controllers: { use: midrange-2023, count: 1 }
groups: [{ name: g, drives: { use: nvme-3840-tlc, count: 4 }, layout: raid5 }]
volumes: { name: v, on: g, size: 1GiB }
thin: { unit: 64KiB }
";

const PLAN: &str = "title: t
defaults: { bs: 64k, runtime: 0.2, ramp_time: 0.1 }
stages:
  reads:
    settings: { rw: randread }
  both:
    settings: { rw: randrw }
  writes:
    settings: { rw: randwrite }
require:
  - { quantity: read.latency_ns.mean, at_most: 1s, stage: reads }
  - { quantity: read.errors, at_most: 0, stage: reads }
  - { quantity: write.latency_ns.mean, at_most: 1s, stage: writes }
";

/// Case with the lowest mean latency of a run, and the verdicts on its limits, in words.
fn judged(run: &RunReader) -> (Option<String>, Vec<String>) {
    let plan = plan::parse_plan("plan", "plan.yaml", PLAN).unwrap();
    let found = findings::find(run, &plan).unwrap();
    let fastest = found.lowest_latency().and_then(|(finding, _)| finding.case.clone());
    let rows = findings::requirements(run, &plan).unwrap();
    (fastest, rows.into_iter().map(|row| format!("{:?}", row.verdict)).collect())
}

/// Proves that the result of a case whose reads met unwritten units says so with their share, as does the run's list of warnings which
/// the first page repeats, that it falls where writes fill the volume, and that written volumes and writes have no
/// such condition. Such reads are fast: they are not the lowest latency of the run, and show no limit on rate or latency.
#[test]
fn reads_of_unwritten_units_are_a_condition() {
    let directory = tempfile::tempdir().unwrap();
    let (array, plan) = (directory.path().join("array.yaml"), directory.path().join("plan.yaml"));
    std::fs::write(&array, ARRAY).unwrap();
    std::fs::write(&plan, PLAN).unwrap();
    let warnings_of = |condition: &str| {
        let run = directory.path().join(condition);
        let campaign = prepare(&Request {
            plan: plan.display().to_string(),
            targets: vec![format!("twin:{},condition={condition}", array.display())],
            directory: run.clone(),
            seed: 1,
            ..Request::default()
        })
        .unwrap();
        let summary = run_campaign(campaign, &AtomicBool::new(false), &mut ()).unwrap();
        assert_eq!((summary.failed, summary.pending), (0, 0));
        let run = Run::open_read_only(&run).unwrap();
        let of_run: Vec<String> = run.warnings().unwrap().into_iter().map(|warning| warning.text).collect();
        let of_cases: Vec<(String, Vec<String>)> =
            run.results().unwrap().into_iter().map(|result| (result.case, result.warnings)).collect();
        (of_cases, of_run, judged(&run))
    };
    let (of_cases, of_run, (fastest, verdicts)) = warnings_of("fresh");
    let share = |case: &str| {
        let (_, warnings) = of_cases.iter().find(|(name, _)| name == case).unwrap();
        let words = " % of reads were of unwritten units and read nothing";
        let warning = warnings.iter().find(|warning| warning.contains(words))?;
        assert!(of_run.contains(warning), "{warning}: {of_run:?}");
        warning.split(words).next().unwrap().parse::<f64>().ok()
    };
    assert_eq!(share("reads"), Some(100.0), "{of_cases:?}");
    assert!(share("both").is_some_and(|share| share > 0.0 && share < 100.0), "{of_cases:?}");
    assert_eq!(share("writes"), None, "{of_cases:?}");
    assert_eq!((fastest.as_deref(), verdicts.join(" ")), (Some("writes"), "NotShown Pass Pass".to_owned()));
    let (of_cases, _, (fastest, verdicts)) = warnings_of("filled");
    assert!(of_cases.iter().all(|(_, warnings)| warnings.is_empty()), "{of_cases:?}");
    assert_eq!((fastest.as_deref(), verdicts.join(" ")), (Some("reads"), "Pass Pass Pass".to_owned()));
}
