//! The confidence of a whole load, from that of its levels.

use super::Extrapolation;
use super::estimate::{Estimate, student_975};

/// Lower bound of the half-width for a rate, as a share: 95 % intervals do not cover the systematic error of extrapolated
/// state.
pub(super) const RATE_FLOOR: f64 = 0.001;
const MEAN_FLOOR: f64 = 0.003;
const P99_FLOOR: f64 = 0.01;

/// All that is read from the batches of a level.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Estimates {
    pub rate: Estimate,
    /// Mean latency of reads and writes together.
    pub latency: Estimate,
    pub mean: [Estimate; 2],
    pub p99: [Estimate; 2],
}

/// Confidence of the levels of a load, for the whole of it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    levels: Vec<LevelSpread>,
}

/// A level at which time was skipped.
#[derive(Debug)]
pub(super) struct LevelSpread {
    /// Counted time that was skipped.
    pub skipped_ns: f64,
    /// Length of its batches.
    pub batch_ns: f64,
    pub estimates: Estimates,
    pub is_open_loop: bool,
}

impl Spread {
    pub fn add(&mut self, level: LevelSpread) {
        self.levels.push(level);
    }

    /// Returns the confidence of the results of a load of which `counted_ns` count.
    pub fn extrapolation(&self, simulated_ns: u64, carried_ns: u64, counted_ns: u64) -> Extrapolation {
        let counted_ns = counted_ns as f64;
        let half_width = |of: &dyn Fn(&LevelSpread) -> Estimate, floor: f64| {
            let variance: f64 = self
                .levels
                .iter()
                .map(|level| {
                    let Estimate { deviation, batches, .. } = of(level);
                    let share = level.skipped_ns / counted_ns;
                    let of_mean = deviation / (batches.max(1) as f64).sqrt() * student_975(batches);
                    // The exact run scatters by itself, too.
                    let scatter = deviation * (level.batch_ns / counted_ns).sqrt() * 1.96;
                    (share * of_mean).powi(2) + 2.0 * share * scatter * scatter
                })
                .sum();
            let skipped: f64 = self.levels.iter().map(|level| level.skipped_ns / counted_ns).sum();
            variance.sqrt() + floor * skipped.min(1.0)
        };
        Extrapolation {
            simulated_ns,
            carried_ns,
            confidence_95: half_width(
                &|level| if level.is_open_loop { Estimate::default() } else { level.estimates.rate },
                RATE_FLOOR,
            ),
            latency_mean_confidence_95: [0, 1]
                .map(|index| half_width(&|level| level.estimates.mean[index], MEAN_FLOOR)),
            latency_p99_confidence_95: [0, 1]
                .map(|index| half_width(&|level| level.estimates.p99[index], P99_FLOOR)),
        }
    }
}
