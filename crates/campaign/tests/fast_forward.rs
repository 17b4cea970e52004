//! Fast-forward on the shipped plans: results of skipped time agree with those of full simulation.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use campaign::{Request, prepare, run_campaign};
use store::{CaseResult, Run};

/// Neither rate nor mean latency differs more, as a share.
const BOUND: f64 = 0.02;

/// Settings with the values that cases may have.
type Only = &'static [(&'static str, &'static [&'static str])];

/// A plan, a tenth of a sample of its cases, and the sample that `ARRAYLAB_LONG=1` asks for.
const PLANS: [(&str, Only, Only); 5] = [
    (
        "dorado-2100-g2",
        &[
            // With more outstanding I/Os a minute is simulated whole.
            ("bs", &["64k", "1m"]),
            ("numjobs", &["1"]),
            ("rwmixread", &["0", "100"]),
            ("iodepth", &["32"]),
            ("raid", &["5"]),
        ],
        &[("bs", &["64k", "1m"]), ("iodepth", &["64"]), ("ioengine", &["libaio"])],
    ),
    ("flashsystem-840", &[("bs", &["64k", "256k"])], &[]),
    ("raid-levels", &[("disks", &["6"]), ("bs", &["4096"]), ("write_cache", &["off"])], &[]),
    (
        "e2700",
        // Mixed load through a write cache is simulated whole.
        &[("layout", &["ddp"]), ("bs", &["8k"]), ("iodepth", &["8"]), ("rw", &["randread"])],
        &[("iodepth", &["8"])],
    ),
    ("storpool", &[("volume", &["nvme"]), ("rw", &["randwrite"])], &[]),
];

fn results(plan: &str, only: Only, directory: &Path, exact: bool) -> Vec<CaseResult> {
    let only = only
        .iter()
        .map(|(key, values)| ((*key).to_owned(), values.iter().map(|value| (*value).to_owned()).collect()));
    let campaign = prepare(&Request {
        plan: plan.to_owned(),
        targets: vec![format!("twin:{plan}")],
        selection: plan::Selection { only: only.collect(), ..plan::Selection::default() },
        directory: directory.to_owned(),
        seed: 1,
        exact,
        ..Request::default()
    })
    .unwrap();
    let summary = run_campaign(campaign, &AtomicBool::new(false), &mut ()).unwrap();
    assert_eq!((summary.failed, summary.pending), (0, 0), "{plan}");
    Run::open_read_only(directory).unwrap().results().unwrap()
}

/// Mean latency over reads and writes.
fn mean_ns(result: &CaseResult) -> f64 {
    let directions = || [&result.read, &result.write].into_iter().flatten();
    let ios: f64 = directions().map(|direction| direction.ios as f64).sum();
    directions().map(|direction| direction.ios as f64 * direction.latency_ns.mean).sum::<f64>() / ios
}

/// Proves that on each of the five shipped plans cases with skipped time agree with all of them simulated, in rate
/// and in mean latency.
#[test]
fn shipped_plans_agree_with_exact() {
    let is_long = test_support::is_long();
    let directory = tempfile::tempdir().unwrap();
    let mut beyond = Vec::new();
    // One of them alone, because the sample of all takes hours.
    let alone = std::env::var("ARRAYLAB_PLAN").ok();
    let is_chosen = |plan: &str| alone.as_ref().is_none_or(|alone| alone == plan);
    let chosen: Vec<_> = PLANS.into_iter().filter(|(plan, ..)| is_chosen(plan)).collect();
    assert!(!chosen.is_empty(), "no plan is {alone:?}");
    for (plan, tenth, sample) in chosen {
        let only = if is_long { sample } else { tenth };
        let fast = results(plan, only, &directory.path().join(format!("{plan}-fast")), false);
        let exact = results(plan, only, &directory.path().join(format!("{plan}-exact")), true);
        assert_eq!(fast.len(), exact.len());
        let (mut carried, mut worst) = (0, (0.0, String::new()));
        for (fast, exact) in fast.iter().zip(&exact) {
            if fast.extrapolation.as_ref().is_none_or(|extrapolation| extrapolation.carried_s == 0.0) {
                continue;
            }
            carried += 1;
            let (rate, latency) = (fast.iops / exact.iops - 1.0, mean_ns(fast) / mean_ns(exact) - 1.0);
            let says = format!(
                "{plan} {} {}: IOPS {:+.2} %, latency {:+.2} %",
                fast.stage,
                fast.case,
                rate * 100.0,
                latency * 100.0
            );
            let difference = rate.abs().max(latency.abs());
            if difference >= BOUND {
                beyond.push(says.clone());
            }
            if difference >= worst.0 {
                worst = (difference, says);
            }
        }
        println!("{} of {} cases with skipped time; worst: {}", carried, fast.len(), worst.1);
        assert!(carried > 0, "{plan}");
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}
