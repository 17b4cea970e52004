//! Checks of a level that was accepted, by windows: a small change shows in several of them together, a slow one in many.

use std::collections::VecDeque;

use super::batch::{
    BEYOND_CLUSTER, BEYOND_IN_BATCH, Batch, DIRECTIONS, P99, joined_latency, mean_ns_of, rate_of,
};
use super::estimate::{Estimate, Moments, wider};
use crate::{Histogram, Sample};

/// Windows that are looked at together, besides each alone.
const TOGETHER: [usize; 2] = [4, 16];
/// They are of another level where they differ from it by so many standard deviations of the difference, and by this share of the
/// rate, of the mean latency, and of how many latencies of a direction lie above the level's 99th percentile.
const SIGMAS: f64 = 4.0;
const RATE: f64 = 0.005;
const LATENCY: f64 = 0.02;
const BEYOND: f64 = 0.25;

/// Rate, mean latency, and for reads and writes how many lie above the level's 99th percentile.
const QUANTITIES: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Estimates of the level's quantities when it was accepted; `None` for a quantity that does not describe it.
    known: [Option<Known>; QUANTITIES],
    /// The level's 99th percentile of reads and writes.
    p99_ns: [f64; 2],
    /// Last windows, at most as many as are judged together.
    windows: VecDeque<[f64; QUANTITIES]>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    estimate: Estimate,
    /// The least difference that counts, as a share.
    share: f64,
}

impl Checks {
    /// Makes the checks of a level that is accepted with these batches; differences count from `tolerance` times the
    /// smallest on.
    pub fn new(batches: &[Batch], is_open_loop: bool, tolerance: f64) -> Checks {
        let known = |value: &dyn Fn(&Batch) -> f64, share: f64| {
            Some(Known {
                estimate: Estimate::of(&batches.iter().map(value).collect::<Vec<_>>()),
                share: share * tolerance,
            })
        };
        let p99_ns =
            DIRECTIONS.map(|direction| joined_latency(batches, direction).percentile_by_rank_ns(P99));
        let beyond = |index: usize| {
            let least = batches.iter().map(|batch| latency(batch, index).count()).min().unwrap_or(0);
            let expected = least as f64 * f64::from(1_000_000 - P99) / 1e6;
            if expected < BEYOND_IN_BATCH {
                return None;
            }
            let mut known = known(&|batch| latency(batch, index).share_above(p99_ns[index]), BEYOND)?;
            // By chance alone they come in clusters; eight batches may show less.
            known.estimate.deviation = known.estimate.deviation.max((BEYOND_CLUSTER / expected).sqrt());
            (known.estimate.mean > 0.0).then_some(known)
        };
        Checks {
            known: [
                known(&Batch::rate, RATE).filter(|_| !is_open_loop),
                known(&Batch::mean_ns, LATENCY),
                beyond(0),
                beyond(1),
            ],
            p99_ns,
            windows: VecDeque::new(),
        }
    }

    pub fn add(&mut self, window: &Sample, window_ns: u64) {
        let beyond =
            |index: usize| window.direction(DIRECTIONS[index]).latency.share_above(self.p99_ns[index]);
        if self.windows.len() == TOGETHER[TOGETHER.len() - 1] {
            self.windows.pop_front();
        }
        self.windows.push_back([rate_of(window, window_ns), mean_ns_of(window), beyond(0), beyond(1)]);
    }

    /// Returns true if the last windows, each of which scatters `more` times as much as a batch, are together of another level
    /// than the accepted one.
    pub fn have_drifted(&self, more: f64) -> bool {
        TOGETHER.into_iter().filter(|&count| self.windows.len() >= count).any(|count| {
            self.known.iter().enumerate().filter_map(|(index, known)| Some((index, (*known)?))).any(
                |(index, known)| {
                    let Known { estimate, share } = known;
                    let last = self.windows.iter().skip(self.windows.len() - count);
                    let moments = Moments::of(&last.map(|window| window[index]).collect::<Vec<_>>());
                    // Of a window: what the windows show, or what the level's batches say of one, whichever is more.
                    let of_window = (moments.variance.sqrt() / estimate.mean).max(estimate.deviation * more);
                    let of_known = estimate.deviation / (estimate.batches.max(1) as f64).sqrt();
                    let chance = (of_window * of_window / count as f64 + of_known * of_known).sqrt();
                    let difference = (moments.mean / estimate.mean - 1.0).abs();
                    difference > share.max(SIGMAS * wider(estimate.batches.min(count)) * chance)
                },
            )
        })
    }
}

fn latency(batch: &Batch, index: usize) -> &Histogram {
    &batch.sample.direction(DIRECTIONS[index]).latency
}
