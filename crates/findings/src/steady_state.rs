//! Steady state as SNIA defines it (SSS PTS 2.0.2, 2.1.24), online, and fio's own rule beside it.
//!
//! Over a window of five rounds, range(y) is no more than 20 % of the mean, and the excursion of the least-squares
//! line no more than 10 % of it. After 25 rounds without that a test stops and says so.

mod fio;
pub(crate) mod rounds;

pub use fio::{FioCriterion, FioSteadyState};
pub use rounds::{RoundLog, RoundsOver};

use crate::SteadyState;
use crate::finding::Finding;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{mean, slope};

/// Rounds of the measurement window.
pub const WINDOW_ROUNDS: usize = 5;
/// Rounds after which a test gives up.
pub const ROUNDS_LIMIT: usize = 25;
/// Largest less smallest, as a share of the mean.
const RANGE_LIMIT: f64 = 0.20;
/// Excursion of the fitted line, as a share of the mean.
const SLOPE_LIMIT: f64 = 0.10;
/// Limits are decimal fractions of decimal figures; a value that lies on one must not fail by a rounding of binary
/// arithmetic. A billionth of the mean is far below what any instrument resolves.
const ROUNDING: f64 = 1e-9;

/// The measurement window: its figures, and whether they are within SNIA's limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Mean of the five rounds.
    pub average: f64,
    /// Largest less smallest, in percent of the mean.
    pub range_percent: f64,
    /// Excursion of the fitted line over the window, in percent of the mean.
    pub slope_percent: f64,
    /// Both within their limits.
    pub is_steady: bool,
}

impl Window {
    /// The figures of five rounds.
    pub fn of(rounds: &[f64; WINDOW_ROUNDS]) -> Window {
        let average = mean(rounds);
        let largest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let (range, excursion) = (largest - smallest, slope(rounds).abs() * (WINDOW_ROUNDS - 1) as f64);
        let scale = average.abs();
        let within = |value: f64, limit: f64| value <= limit * scale + ROUNDING * scale;
        let percent = |value: f64| if scale > 0.0 { 100.0 * value / scale } else { 0.0 };
        Window {
            average,
            range_percent: percent(range),
            slope_percent: percent(excursion),
            // A target that answers nothing in five rounds is level, but no state to measure in.
            is_steady: average > 0.0 && within(range, RANGE_LIMIT) && within(excursion, SLOPE_LIMIT),
        }
    }
}

/// Tells steady state round by round, so that a stage can end on it.
#[derive(Debug, Clone, Default)]
pub struct SteadyStateDetector {
    window: [f64; WINDOW_ROUNDS],
    rounds: usize,
    last: Option<Window>,
    reached_at: Option<usize>,
}

impl SteadyStateDetector {
    /// A detector that has seen no round.
    pub fn new() -> SteadyStateDetector {
        SteadyStateDetector::default()
    }

    /// Takes in a round's value; true once steady state is reached. What comes after changes nothing.
    pub fn add(&mut self, value: f64) -> bool {
        if self.is_over() {
            return self.is_reached();
        }
        self.window.rotate_left(1);
        self.window[WINDOW_ROUNDS - 1] = value;
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            let window = Window::of(&self.window);
            self.last = Some(window);
            if window.is_steady {
                self.reached_at = Some(self.rounds);
            }
        }
        self.is_reached()
    }

    /// True once steady state is reached.
    pub fn is_reached(&self) -> bool {
        self.reached_at.is_some()
    }

    /// True where no further round is needed: steady state is reached, or 25 rounds went by without.
    pub fn is_over(&self) -> bool {
        self.is_reached() || self.rounds >= ROUNDS_LIMIT
    }

    /// The round that completed the window, from 1.
    pub fn reached_at(&self) -> Option<usize> {
        self.reached_at
    }

    /// Rounds taken in.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// The last window; `None` before the fifth round.
    pub fn window(&self) -> Option<Window> {
        self.last
    }
}

/// SNIA's rounds of these tests are a minute. A case shorter than a window of them is divided into its intervals.
const ROUND_S: f64 = 60.0;

/// A case in rounds: their values, and when each ends.
struct Rounds {
    length_s: f64,
    iops: Vec<f64>,
    ends_s: Vec<f64>,
}

fn rounds_of(counted: &[Interval]) -> Option<Rounds> {
    let (first, last) = (counted.first()?, counted.last()?);
    let long = last.end_s - first.start_s >= ROUND_S * WINDOW_ROUNDS as f64;
    let wanted_s = if long { ROUND_S } else { 0.0 };
    let mut rounds = Rounds { length_s: 0.0, iops: Vec::new(), ends_s: Vec::new() };
    let (mut from_s, mut ios) = (first.start_s, 0.0);
    for interval in counted {
        ios += interval.all().ios;
        let length_s = interval.end_s - from_s;
        if length_s >= wanted_s - 1e-6 {
            rounds.iops.push(ios / length_s);
            rounds.ends_s.push(interval.end_s);
            rounds.length_s = if rounds.iops.len() == 1 { length_s } else { rounds.length_s };
            (from_s, ios) = (interval.end_s, 0.0);
        }
    }
    (rounds.iops.len() >= WINDOW_ROUNDS).then_some(rounds)
}

/// Steady state of a case's IOPS; `None` where it has fewer than five rounds.
pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    let rounds = rounds_of(&case.counted())?;
    let mut detector = SteadyStateDetector::new();
    for value in &rounds.iops {
        if detector.is_over() {
            break;
        }
        detector.add(*value);
    }
    let (seen, window) = (detector.rounds(), detector.window()?);
    let in_window = &rounds.iops[seen - WINDOW_ROUNDS..seen];
    let after = &rounds.iops[seen..];
    let held = detector.is_reached() && !after.is_empty();
    let fio = |criterion| FioSteadyState::of(in_window, criterion).percent;
    let at_s = rounds.ends_s[seen - 1];
    let state = SteadyState {
        variable: "iops".into(),
        reached: detector.is_reached(),
        round: detector.reached_at(),
        at_s: detector.reached_at().map(|_| at_s),
        round_s: rounds.length_s,
        rounds: seen,
        average: window.average,
        range_percent: window.range_percent,
        slope_percent: window.slope_percent,
        held: held.then(|| {
            after.iter().all(|value| (value - window.average).abs() <= RANGE_LIMIT * window.average)
        }),
        fio_deviation_percent: fio(FioCriterion::Deviation),
        fio_slope_percent: fio(FioCriterion::Slope),
    };
    let from_s = rounds.ends_s[seen - WINDOW_ROUNDS] - rounds.length_s;
    Some(Finding::of_case(case, state.into(), Some((from_s, at_s))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves every unit vector of reference/methods.md, the boundaries included.
    #[test]
    fn vectors_of_the_standard() {
        for (rounds, range, slope, steady) in [
            ([100.0; 5], 0.0, 0.0, true),
            ([104.0, 102.0, 100.0, 98.0, 96.0], 8.0, 8.0, true),
            ([105.0, 102.5, 100.0, 97.5, 95.0], 10.0, 10.0, true),
            ([105.1, 102.5, 100.0, 97.5, 94.9], 10.2, 10.16, false),
            ([110.0, 105.0, 100.0, 95.0, 90.0], 20.0, 20.0, false),
            ([90.0, 105.0, 110.0, 105.0, 90.0], 20.0, 0.0, true),
            ([90.0, 110.0, 90.0, 110.0, 90.0], 20.41, 0.0, false),
            ([91.0, 109.0, 100.0, 91.0, 109.0], 18.0, 7.2, true),
            ([92.0, 108.0, 96.0, 100.0, 104.0], 16.0, 6.4, true),
        ] {
            let window = Window::of(&rounds);
            assert_eq!(window.is_steady, steady, "{rounds:?}");
            assert!((window.range_percent - range).abs() < 0.005, "{rounds:?} {window:?}");
            assert!((window.slope_percent - slope).abs() < 0.005, "{rounds:?} {window:?}");
        }
    }

    /// Proves that the boundaries hold at any scale, and that a millionth beyond them does not.
    #[test]
    fn boundaries_are_exact_at_any_scale() {
        for scale in [1e-6, 0.1, 3.0, 7e5, 1.3e10] {
            let steady = |rounds: [f64; 5]| Window::of(&rounds.map(|value| value * scale)).is_steady;
            assert!(steady([105.0, 102.5, 100.0, 97.5, 95.0]), "{scale}");
            assert!(!steady([105.000_1, 102.5, 100.0, 97.5, 94.999_9]), "{scale}");
            assert!(steady([90.0, 105.0, 110.0, 105.0, 90.0]), "{scale}");
            assert!(!steady([89.999_9, 105.0, 110.000_1, 105.0, 90.0]), "{scale}");
        }
    }

    /// Proves that the detector needs five rounds, slides its window, keeps its first verdict, and gives up after 25.
    #[test]
    fn the_detector_goes_round_by_round() {
        let mut detector = SteadyStateDetector::new();
        for value in [300.0, 200.0, 100.0, 100.0, 100.0, 100.0] {
            assert!(!detector.add(value));
        }
        assert!(detector.add(100.0));
        assert_eq!(detector.reached_at(), Some(7));
        assert!(detector.add(5.0), "what comes after changes nothing");
        let mut restless = SteadyStateDetector::new();
        for round in 0..40 {
            assert!(!restless.add(if round % 2 == 0 { 100.0 } else { 150.0 }));
            assert_eq!(restless.is_over(), round >= 24);
        }
        assert_eq!(restless.rounds(), ROUNDS_LIMIT);
        let mut dead = SteadyStateDetector::new();
        assert!((0..5).all(|_| !dead.add(0.0)), "no I/O at all is no steady state");
    }

    proptest! {
        /// Proves that the verdict does not depend on the unit, nor on the direction of time.
        #[test]
        fn the_unit_does_not_matter(rounds in proptest::array::uniform5(50.0f64..150.0), unit in 1e-3f64..1e9) {
            let verdict = Window::of(&rounds).is_steady;
            prop_assert_eq!(Window::of(&rounds.map(|value| value * unit)).is_steady, verdict);
            let mut backwards = rounds;
            backwards.reverse();
            prop_assert_eq!(Window::of(&backwards).is_steady, verdict);
        }
    }
}
