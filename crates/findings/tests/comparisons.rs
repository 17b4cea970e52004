//! Two runs of the same cases: silence under noise, and a true loss found.

mod synthetic;

use findings::{Bounds, Comparison, Findings, Judgement, compare};
use load::Random;
use synthetic::{Run, Series, normal};

/// A run of some cases of 20 intervals with 3 % variation.
fn run(random: &mut Random, cases: usize, level: f64) -> Findings {
    let mut run = Run::new("synthetic");
    for number in 0..cases {
        let rates: Vec<f64> = (0..20).map(|_| level * (1.0 + 0.03 * normal(random))).collect();
        let name = format!("numjobs={number}");
        run = run.case(
            "load",
            &name,
            &[("rw", "randwrite"), ("bs", "4k")],
            &Series::writes(&rates, 5.0, 4096.0),
        );
    }
    Findings::of(run.observation())
}

fn differences(comparison: &Comparison) -> usize {
    let different = [Judgement::Better, Judgement::Worse, Judgement::Regression];
    different.into_iter().map(|judgement| comparison.of(judgement).count()).sum()
}

fn repetitions() -> u32 {
    if std::env::var_os("ARRAYLAB_LONG").is_some() { 1000 } else { 100 }
}

/// Proves that of repeated comparisons of runs that differ by noise alone at most 5 in 100 report any difference, with
/// one case and with twelve, and that a true loss of 5 % is found in at least 95 in 100.
#[test]
fn noise_is_silent_and_a_loss_is_found() {
    let mut random = Random::from_seed(11);
    let count = repetitions();
    for cases in [1, 12] {
        let alarms = (0..count)
            .filter(|_| {
                let (a, b) = (run(&mut random, cases, 1e5), run(&mut random, cases, 1e5));
                differences(&compare(&a, &b, &Bounds::default())) > 0
            })
            .count();
        println!("{cases} cases: {alarms} false alarms of {count}");
        assert!(alarms * 20 <= count as usize, "{cases} cases: {alarms} of {count}");
    }
    let found = (0..count)
        .filter(|_| {
            let (a, b) = (run(&mut random, 1, 1e5), run(&mut random, 1, 0.95e5));
            compare(&a, &b, &Bounds::default()).has_regression()
        })
        .count();
    println!("a loss of 5 %: found in {found} of {count}");
    assert!(found * 20 >= count as usize * 19, "{found} of {count}");
}

/// Proves that a run compared with itself is the same, that a better one is no regression, that unmatched cases are
/// named, and that JUnit counts the failures.
#[test]
fn verdicts_and_junit() {
    let mut random = Random::from_seed(5);
    let (slow, fast) = (run(&mut random, 2, 0.8e5), run(&mut random, 3, 1e5));
    assert_eq!(differences(&compare(&fast, &fast, &Bounds::default())), 0);
    let better = compare(&slow, &fast, &Bounds::default());
    assert!(!better.has_regression());
    assert_eq!(better.only_second, ["load/numjobs=2"]);
    let worse = compare(&fast, &slow, &Bounds::default());
    assert!(worse.has_regression());
    // IOPS and write latency of two cases.
    let xml = worse.junit();
    assert!(xml.contains("tests=\"4\" failures=\"4\""), "{xml}");
    let loose = Bounds { regression_percent: 90.0, ..Bounds::default() };
    assert!(compare(&fast, &slow, &loose).junit().contains("failures=\"0\""));
}
