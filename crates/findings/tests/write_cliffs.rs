//! Write cliffs on synthetic series whose answers are known.

mod synthetic;

use findings::{Fact, Findings, RampFall, WriteCliff};
use load::Random;
use synthetic::{Run, Series, normal};

/// Shape of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Step,
    SlopedStep,
    TwoSteps,
    Recovering,
    Level,
    Slope,
}

#[derive(Debug, Clone, Copy)]
struct Recipe {
    shape: Shape,
    noise: f64,
    outliers: bool,
}

const HIGH: f64 = 110_000.0;

/// A series of 5 s intervals with the index of its first fall.
fn series(recipe: Recipe, random: &mut Random) -> (Vec<f64>, Option<usize>) {
    let length = 60 + random.below(360) as usize;
    let onset = 12 + random.below(length as u64 / 2 - 12) as usize;
    // Levels after the fall from 30 to 75 % of that before it.
    let low = HIGH * (0.30 + 0.45 * random.unit_open());
    let second = onset + 15 + random.below((length - onset - 25) as u64) as usize;
    let slope = 0.5 - random.unit_open();
    let clean = |at: usize| {
        let along = at as f64 / length as f64;
        match recipe.shape {
            Shape::Level => HIGH,
            Shape::Slope => HIGH * (1.0 + slope * along),
            Shape::Step => {
                if at < onset {
                    HIGH
                } else {
                    low
                }
            }
            Shape::SlopedStep => (if at < onset { HIGH } else { low }) * (1.0 + 0.4 * slope * along),
            Shape::TwoSteps => {
                if at < onset {
                    HIGH
                } else if at < second {
                    low
                } else {
                    low * 0.6
                }
            }
            Shape::Recovering => {
                if at < onset || at >= second {
                    HIGH
                } else {
                    low
                }
            }
        }
    };
    let values = (0..length)
        .map(|at| {
            let noisy = clean(at) * (1.0 + recipe.noise * normal(random));
            let is_outlier = recipe.outliers && random.below(30) == 0;
            let value = match is_outlier {
                true if random.below(2) == 0 => noisy * 0.1,
                true => noisy * 2.0,
                false => noisy,
            };
            value.max(0.0).round()
        })
        .collect();
    let has_fall = !matches!(recipe.shape, Shape::Level | Shape::Slope);
    (values, has_fall.then_some(onset))
}

fn cliff(values: &[f64]) -> Option<WriteCliff> {
    let run = Run::new("synthetic").case(
        "long",
        "bs=4096",
        &[("rw", "randwrite"), ("bs", "4096")],
        &Series::writes(values, 5.0, 4096.0),
    );
    let findings = Findings::of(run.observation());
    findings.all.into_iter().find_map(|finding| match finding.fact {
        Fact::WriteCliff(cliff) => Some(*cliff),
        _ => None,
    })
}

/// The fall within a ramp of so many intervals of 5 s.
fn ramp_fall(values: &[f64], ramp: usize, more: &[(&str, &str)]) -> Option<RampFall> {
    let mut series = Series::writes(values, 5.0, 4096.0);
    series.intervals[..ramp].iter_mut().for_each(|interval| interval.is_ramp = true);
    let settings = [&[("rw", "randwrite"), ("bs", "4096")], more].concat();
    let run = Run::new("synthetic").case("long", "bs=4096", &settings, &series);
    let findings = Findings::of(run.observation());
    findings.all.into_iter().find_map(|finding| match finding.fact {
        Fact::RampFall(fall) => Some(*fall),
        _ => None,
    })
}

/// Proves that a reserve which is used up within the ramp is found with its onset and bytes, though what is counted never falls;
/// that a level, a warm-up, a held rate and 15 % of noise make none.
#[test]
fn falls_within_the_ramp_are_found() {
    let filled = |ramp: &[f64]| {
        [ramp, &[1_200.0, 1_210.0, 1_190.0, 1_200.0, 1_205.0, 1_195.0, 1_200.0, 1_200.0]].concat()
    };
    let cached = filled(&[831_000.0, 830_000.0, 239_000.0, 1_250.0, 1_150.0, 1_200.0]);
    assert_eq!(cliff(&cached[6..]), None);
    let fall = ramp_fall(&cached, 6, &[]).unwrap();
    assert_eq!((fall.onset_s, fall.before.iops, fall.after.iops), (10.0, 830_500.0, 1_200.0));
    assert_eq!(fall.bytes_written, 1_661_000.0 * 5.0 * 4096.0);
    assert!((fall.depth_percent - 99.8555).abs() < 1e-3, "{}", fall.depth_percent);
    // As long as the ramp: the fall is at its end.
    let at_the_end = ramp_fall(&filled(&[9_000.0, 9_050.0, 9_000.0, 9_020.0]), 4, &[]).unwrap();
    assert_eq!(at_the_end.onset_s, 20.0);

    assert_eq!(ramp_fall(&cached, 6, &[("rate_iops", "2000")]), None);
    assert_eq!(ramp_fall(&filled(&[1_190.0, 1_210.0, 1_200.0]), 3, &[]), None);
    assert_eq!(ramp_fall(&filled(&[200.0, 700.0, 1_100.0, 1_200.0]), 4, &[]), None);
    assert_eq!(ramp_fall(&filled(&[1_450.0, 1_450.0]), 2, &[]), None, "17 % deep");
    let mut random = Random::from_seed(20_261_125);
    let count = repetitions(200);
    let noisy =
        |random: &mut Random| (0..40).map(|_| 9_000.0 * (1.0 + 0.15 * normal(random))).collect::<Vec<_>>();
    let made_up = (0..count).filter(|_| ramp_fall(&noisy(&mut random), 12, &[]).is_some()).count();
    assert!(made_up as u64 * 100 <= count, "{made_up} of {count}");
}

fn repetitions(normal_count: u64) -> u64 {
    if test_support::is_long() { normal_count * 10 } else { normal_count }
}

/// Proves that on 200 series with a fall (clean, 5 and 15 % noise, with outliers; flat, sloped, two steps, recovering)
/// the onset is within one interval in at least 95 %, and that on 200 without one no cliff is seen in at least 98 %.
#[test]
fn onsets_are_found_and_none_is_made_up() {
    let recipe = |shape, noise, outliers| Recipe { shape, noise, outliers };
    let mut with = Vec::new();
    let mut without = Vec::new();
    for noise in [0.0, 0.05, 0.15] {
        for outliers in [false, true] {
            for shape in [Shape::Step, Shape::SlopedStep, Shape::TwoSteps, Shape::Recovering] {
                with.push(recipe(shape, noise, outliers));
            }
            for shape in [Shape::Level, Shape::Slope] {
                without.push(recipe(shape, noise, outliers));
            }
        }
    }
    let mut random = Random::from_seed(20_261_120);
    let count = repetitions(200);
    let (mut found, mut missed) = (0, Vec::new());
    for number in 0..count {
        let recipe = with[number as usize % with.len()];
        let (values, onset) = series(recipe, &mut random);
        let onset_s = onset.expect("every recipe has a fall") as f64 * 5.0;
        match cliff(&values) {
            Some(cliff) if (cliff.onset_s - onset_s).abs() <= 5.0 + 1e-9 => found += 1,
            other => missed.push((number, recipe, onset_s, other.map(|cliff| cliff.onset_s))),
        }
    }
    let (mut quiet, mut made_up) = (0, Vec::new());
    for number in 0..count {
        let recipe = without[number as usize % without.len()];
        let (values, _) = series(recipe, &mut random);
        match cliff(&values) {
            None => quiet += 1,
            Some(cliff) => made_up.push((number, recipe, cliff.onset_s, cliff.depth_percent)),
        }
    }
    println!("onset within one interval: {found} of {count}; quiet: {quiet} of {count}");
    assert!(found * 100 >= count * 95, "{found} of {count}: {missed:#?}");
    assert!(quiet * 100 >= count * 98, "{quiet} of {count}: {made_up:#?}");
}

/// Proves that stalls are of the levels about a fall, which have all I/Os over all of their time, though the search leaves them out,
/// and that a level whose stalls take what it has more is no higher one.
#[test]
fn stalls_are_of_their_level() {
    let with_stalls = |level: f64, length: usize, every: usize| -> Vec<f64> {
        (1..=length).map(|at| if at % every == 0 { 0.0 } else { level }).collect()
    };
    let stalls_after = [vec![HIGH; 30], with_stalls(50_000.0, 60, 10)].concat();
    let found = cliff(&stalls_after).unwrap();
    assert_eq!((found.onset_s, found.before.iops), (150.0, HIGH));
    for level in [found.after.iops, found.sustained.iops] {
        assert!((level - 45_000.0).abs() < 1e-6, "{level}");
    }
    let stalls_before = [with_stalls(HIGH, 44, 5), vec![50_000.0; 40]].concat();
    let before = cliff(&stalls_before).unwrap().before.iops;
    assert!((before - HIGH * 36.0 / 44.0).abs() < 1e-6, "{before}");
    let as_fast = [with_stalls(HIGH, 40, 4), vec![0.75 * HIGH; 40]].concat();
    assert_eq!(cliff(&as_fast), None);
}

/// Proves that a cache which fills within the first one to three intervals makes a cliff, whose sustained level is that of the drives, and
/// that an interval as high as others later, a start that is a tenth higher, and noise make none.
#[test]
fn caches_that_fill_within_the_first_intervals_are_found() {
    let drives = |length: usize| -> Vec<f64> {
        (0..length).map(|at| 1_800.0 + 30.0 * (at * 7 % 5) as f64 - 60.0).collect()
    };
    for (head, onset_s, fall_s) in [
        (&[182_000.0, 29_500.0][..], 5.0, 5.0),
        (&[182_000.0], 5.0, 0.0),
        (&[180_000.0, 183_000.0, 181_000.0], 15.0, 0.0),
        (&[90_000.0, 182_000.0], 10.0, 0.0),
    ] {
        let found = cliff(&[head, &drives(58)].concat()).unwrap_or_else(|| panic!("{head:?}"));
        assert_eq!((found.onset_s, found.fall_s), (onset_s, fall_s), "{head:?}");
        assert!(found.before.iops > 180_000.0 && (found.after.iops - 1_800.0).abs() < 5.0, "{found:?}");
        assert!((found.sustained.iops - 1_800.0).abs() < 5.0, "{found:?}");
    }
    let again = [&[5_000.0][..], &drives(30), &[4_500.0], &drives(30)].concat();
    assert_eq!(cliff(&again), None);
    assert_eq!(cliff(&[&[2_050.0][..], &drives(58)].concat()), None);
    assert_eq!(cliff(&[&[2_050.0][..], &[1_800.0; 58]].concat()), None, "12 % deep");
    let mut random = Random::from_seed(20_261_127);
    let count = repetitions(1000);
    let noisy =
        |random: &mut Random| (0..40).map(|_| HIGH * (1.0 + 0.15 * normal(random))).collect::<Vec<_>>();
    let made_up = (0..count).filter(|_| cliff(&noisy(&mut random)).is_some()).count();
    println!("noise: {made_up} made up of {count}");
    assert!(made_up as u64 * 100 <= count, "{made_up} of {count}");
}

/// I/Os that end in each interval where one follows the other and each takes from 0.4 to 1.6 of the mean time, as on a disk.
fn one_by_one(length: u64, mean: f64, random: &mut Random) -> Vec<f64> {
    let mut counts = vec![0.0; length as usize];
    let mut at = 0.0;
    loop {
        at += (0.4 + 1.2 * random.unit_open()) / mean;
        let Some(count) = counts.get_mut(at as usize) else { return counts };
        *count += 1.0;
    }
}

/// I/Os of each interval where none waits for another (Poisson).
fn by_chance(length: u64, mean: f64, random: &mut Random) -> Vec<f64> {
    let mut counts = vec![0.0; length as usize];
    let mut at = 0.0;
    loop {
        at -= libm::log(random.unit_open()) / mean;
        let Some(count) = counts.get_mut(at as usize) else { return counts };
        *count += 1.0;
    }
}

/// Proves that the scatter of few I/Os an interval is no cliff: 8 to 60 intervals of 1 to 100 I/Os each, one after the other or by chance,
/// show one in at most 1 % of the series, and a fall to a third of 40 I/Os an interval is found in at least 95 %.
#[test]
fn few_ios_an_interval_make_no_cliff() {
    type Counts = fn(u64, f64, &mut Random) -> Vec<f64>;
    const LENGTH_S: f64 = 5.0;
    const ALL: [(&str, Counts); 2] = [("one by one", one_by_one), ("by chance", by_chance)];
    let found = |counts: Vec<f64>| cliff(&counts.iter().map(|count| count / LENGTH_S).collect::<Vec<_>>());
    let mut random = Random::from_seed(20_261_127);
    let count = repetitions(1000);
    for (name, counts) in ALL {
        let mut made_up = Vec::new();
        for _ in 0..count {
            let (length, mean) = (8 + random.below(53), libm::pow(100.0, random.unit_open()));
            let cliff = found(counts(length, mean, &mut random));
            made_up.extend(cliff.map(|cliff| (length, mean, cliff.onset_s, cliff.depth_percent)));
        }
        println!("{name}: {} made up of {count}", made_up.len());
        assert!(made_up.len() as u64 * 100 <= count, "{name}: {} of {count}: {made_up:#?}", made_up.len());
        let has_onset = |random: &mut Random| {
            let series = [counts(20, 40.0, random), counts(20, 40.0 / 3.0, random)].concat();
            found(series).is_some_and(|cliff| (cliff.onset_s - 20.0 * LENGTH_S).abs() <= LENGTH_S + 1e-9)
        };
        let right = (0..count).filter(|_| has_onset(&mut random)).count();
        println!("{name}: {right} found of {count}");
        assert!(right as u64 * 100 >= count * 95, "{name}: {right} of {count}");
    }
}
