//! Two runs of the same cases: silence under noise, and a true loss found.

mod synthetic;

use findings::{Bounds, Comparison, Findings, Judgement, Metric, compare};
use load::Random;
use std::sync::Arc;
use synthetic::{Run, Series, moment, normal};

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
    if test_support::is_long() { 1000 } else { 100 }
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

/// Proves that a run compared with itself is the same, that a better one is no regression, and that unmatched cases are
/// named.
#[test]
fn verdicts_of_the_same_better_and_worse() {
    let mut random = Random::from_seed(5);
    let (slow, fast) = (run(&mut random, 2, 0.8e5), run(&mut random, 3, 1e5));
    assert_eq!(differences(&compare(&fast, &fast, &Bounds::default())), 0);
    let better = compare(&slow, &fast, &Bounds::default());
    assert!(!better.has_regression());
    assert_eq!(better.only_second, ["load/numjobs=2"]);
    assert!(compare(&fast, &slow, &Bounds::default()).has_regression());
}

/// A run of one mixed case of 5 s intervals, from thousands of IOPS, read and write latencies in microseconds; a drive fails at
/// 20 s.
fn mixed(iops: &[u32], read_us: &[u32], write_us: &[u32]) -> Findings {
    let points = iops.iter().zip(read_us).zip(write_us).map(|((iops, read), write)| {
        let iops = f64::from(*iops) * 1e3;
        (0.7 * iops, 0.3 * iops, f64::from(*read) * 1e3, f64::from(*write) * 1e3)
    });
    let mut run = Run::new("synthetic");
    let texts = [("rw", "randrw"), ("bs", "8k"), ("rwmixread", "70"), ("numjobs", "32"), ("iodepth", "16")];
    run.add("fail", "fail", synthetic::settings(&texts), &Series::of(points, 5.0, 8192.0)).moments =
        vec![moment(20.0, "drive 3 fails")];
    Findings::of(run.observation())
}

/// Simulated from end to end: the rate falls at once to its level with a drive less.
fn exact() -> Findings {
    mixed(
        &[2004, 1878, 1884, 1885, 1613, 1611, 1616, 1610, 1612, 1610, 1618, 1617],
        &[216, 157, 157, 158, 170, 169, 170, 169, 170, 169, 171, 170],
        &[344, 539, 535, 534, 658, 661, 656, 661, 659, 662, 654, 654],
    )
}

/// The same extrapolated from windows that were too short: the rate sags, and writes are answered 19 % earlier.
fn extrapolated() -> Findings {
    mixed(
        &[2042, 2027, 1892, 1856, 1794, 1816, 1833, 1830, 1781, 1769, 1753, 1733],
        &[232, 174, 158, 156, 178, 195, 210, 216, 212, 201, 193, 191],
        &[291, 458, 542, 533, 598, 515, 481, 445, 400, 479, 504, 574],
    )
}

fn judgements(comparison: &Comparison) -> Vec<(Metric, Judgement)> {
    comparison.cases[0].metrics.iter().map(|one| (one.metric, one.judgement)).collect()
}

/// Proves that two runs whose courses differ are told apart, though their difference is not the same in all intervals; that a
/// slower direction beside a rate that rose as much is a trade, no regression; and that the loss is one the other way round.
#[test]
fn another_trend_is_no_noise() {
    let found = compare(&exact(), &extrapolated(), &Bounds::default());
    use Judgement::{Better, Mixed, Regression, Same, Worse};
    assert_eq!(found.cases[0].judgement, Regression, "reads lose more than the rate gains: {found:?}");
    let [iops, read, write] = found.cases[0].metrics.as_slice() else { panic!("{found:?}") };
    assert_eq!([iops.judgement, read.judgement, write.judgement], [Better, Regression, Better], "{found:?}");
    let back = compare(&extrapolated(), &exact(), &Bounds::default());
    assert_eq!(
        judgements(&back),
        [(Metric::Iops, Regression), (Metric::ReadLatencyNs, Better), (Metric::WriteLatencyNs, Regression)]
    );
    let twice = mixed(&[4000; 12], &[100; 12], &[200; 12]);
    let once = mixed(&[2000; 12], &[150; 12], &[150; 12]);
    let trade = compare(&once, &twice, &Bounds::default());
    assert!(!trade.has_regression(), "a rate of twice as much sets off a latency of a third more: {trade:?}");
    assert_eq!(trade.cases[0].judgement, Mixed);
    assert_eq!(judgements(&trade)[2], (Metric::WriteLatencyNs, Worse));
    let nothing = compare(&exact(), &exact(), &Bounds::default());
    assert!(judgements(&nothing).iter().all(|(_, judgement)| *judgement == Same), "{nothing:?}");
}

/// Proves that a comparison the other way round finds the same differences with the other sign.
#[test]
fn a_comparison_can_be_mirrored() {
    let mut random = Random::from_seed(23);
    let mut changed = 0;
    for number in 0..repetitions() {
        let shift = 1.0 + 0.002 * f64::from(number % 20);
        let (a, b) = (run(&mut random, 3, 1e5), run(&mut random, 3, shift * 1e5));
        let (there, back) = (compare(&a, &b, &Bounds::default()), compare(&b, &a, &Bounds::default()));
        for (there, back) in there.cases.iter().zip(&back.cases) {
            for (one, other) in there.metrics.iter().zip(&back.metrics) {
                assert!((one.p.unwrap() - other.p.unwrap()).abs() < 1e-9);
                let is_changed = one.judgement != Judgement::Same;
                assert_eq!(is_changed, other.judgement != Judgement::Same, "{one:?} {other:?}");
                assert_eq!(
                    is_changed && one.judgement == Judgement::Better,
                    is_changed && other.judgement != Judgement::Better
                );
                changed += usize::from(is_changed);
            }
        }
    }
    assert!(changed > 20, "{changed}");
}

/// Proves that a shift is found from six of its own standard errors on, and hardly ever at one.
#[test]
fn a_shift_is_found_by_its_noise() {
    let mut random = Random::from_seed(31);
    // 20 intervals of 3 %, in both runs.
    let error = 0.03 * (2.0f64 / 20.0).sqrt();
    let count = repetitions();
    let mut found = |errors: f64| {
        (0..count)
            .filter(|_| {
                let (a, b) = (run(&mut random, 1, 1e5), run(&mut random, 1, (1.0 + errors * error) * 1e5));
                differences(&compare(&a, &b, &Bounds::default())) > 0
            })
            .count() as u32
    };
    let (one, six) = (found(1.0), found(6.0));
    println!("of {count}: {one} found at one standard error, {six} at six");
    assert!(one * 10 <= count && six * 20 >= count * 19, "{one} and {six} of {count}");
}

/// Proves that an I/O that fails where none did before is a regression, whatever the rate does.
#[test]
fn errors_are_a_regression() {
    let mut failing = Run::new("synthetic");
    let series = Series::writes(&[1e5; 12], 5.0, 4096.0);
    let sound =
        Findings::of(Run::new("synthetic").case("load", "one", &[("bs", "4k")], &series).observation());
    let case = failing.add("load", "one", synthetic::settings(&[("bs", "4k")]), &series);
    Arc::make_mut(&mut case.result).write.as_mut().unwrap().errors = 1;
    let failing = Findings::of(failing.observation());
    let found = compare(&sound, &failing, &Bounds::default());
    assert!(found.has_regression(), "{found:?}");
    assert!(!compare(&failing, &sound, &Bounds::default()).has_regression());
}
