//! Conditions on the samples of a case, evaluated at the end of each interval.

use findings::{WINDOW_ROUNDS, Window};
use load::{DirectionSample, Sample};
use plan::{EventCondition, Quantity};
use std::collections::VecDeque;

/// Condition with the samples that it depends on.
#[derive(Debug)]
pub(crate) struct WatchedCondition<'a> {
    condition: &'a EventCondition,
    /// Length of the range to which shares of written bytes refer.
    range_bytes: u64,
    written_bytes: u64,
    window: VecDeque<f64>,
    peak: f64,
    in_a_row: u32,
}

impl<'a> WatchedCondition<'a> {
    pub fn new(condition: &'a EventCondition, range_bytes: u64) -> WatchedCondition<'a> {
        WatchedCondition {
            condition,
            range_bytes,
            written_bytes: 0,
            window: VecDeque::new(),
            peak: f64::NEG_INFINITY,
            in_a_row: 0,
        }
    }

    /// Counts a sample and returns true if the condition holds now. Samples of the ramp do not count.
    pub fn holds_after(&mut self, sample: &Sample) -> bool {
        if sample.is_ramp {
            return false;
        }
        self.written_bytes += sample.write.bytes;
        match self.condition {
            EventCondition::Written { amount } => self.written_bytes >= amount.resolve(self.range_bytes),
            EventCondition::Steady { quantity } => self.is_steady(value_of(sample, *quantity)),
            EventCondition::Above { quantity, value, samples } => {
                let holds = value_of(sample, *quantity).is_some_and(|it| it > *value);
                self.count(holds, *samples)
            }
            EventCondition::Below { quantity, value, samples } => {
                let holds = value_of(sample, *quantity).is_some_and(|it| it < *value);
                self.count(holds, *samples)
            }
            EventCondition::BelowPeak { quantity, percent, samples } => {
                let now = value_of(sample, *quantity);
                self.peak = self.peak.max(now.unwrap_or(f64::NEG_INFINITY));
                let holds = now.is_some_and(|it| it * 100.0 < self.peak * f64::from(*percent));
                self.count(holds, *samples)
            }
        }
    }

    fn count(&mut self, holds: bool, wanted: u32) -> bool {
        self.in_a_row = if holds { self.in_a_row + 1 } else { 0 };
        self.in_a_row >= wanted.max(1)
    }

    fn is_steady(&mut self, value: Option<f64>) -> bool {
        let Some(value) = value else {
            self.window.clear();
            return false;
        };
        if self.window.len() == WINDOW_ROUNDS {
            self.window.pop_front();
        }
        self.window.push_back(value);
        let rounds: Vec<f64> = self.window.iter().copied().collect();
        <&[f64; WINDOW_ROUNDS]>::try_from(rounds.as_slice()).is_ok_and(|rounds| Window::of(rounds).is_steady)
    }
}

/// A quantity of one sample; `None` where nothing of it happened.
fn value_of(sample: &Sample, quantity: Quantity) -> Option<f64> {
    let seconds = sample.duration_ns() as f64 / 1e9;
    let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    let both = |count: fn(&DirectionSample) -> u64| count(&sample.read) + count(&sample.write);
    let (direction, rest) = match quantity.name().split_once('.') {
        Some(("read", rest)) => (&sample.read, rest),
        Some(("write", rest)) => (&sample.write, rest),
        _ => {
            return match quantity.name() {
                "iops" => rate(both(|direction| direction.ios)),
                "bw_bytes_per_s" => rate(both(|direction| direction.bytes)),
                _ => None,
            };
        }
    };
    let latency = &direction.latency;
    let percentile = |ppm: u32| latency.known_percentile_ns(ppm).map(|ns| ns as f64);
    match rest {
        "iops" => rate(direction.ios),
        "bw_bytes_per_s" => rate(direction.bytes),
        "errors" => Some(direction.errors as f64),
        _ if direction.ios == 0 => None,
        "latency_ns.mean" => Some(latency.mean_ns()),
        "latency_ns.p50" => percentile(500_000),
        "latency_ns.p95" => percentile(950_000),
        "latency_ns.p99" => percentile(990_000),
        "latency_ns.p99.9" => percentile(999_000),
        "latency_ns.p99.99" => percentile(999_900),
        "latency_ns.min" => latency.known_min_ns().map(|ns| ns as f64),
        "latency_ns.max" => latency.known_max_ns().map(|ns| ns as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Amount;

    fn sample(second: u64, writes: u64) -> Sample {
        let mut sample = Sample {
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            ..Sample::default()
        };
        sample.write.ios = writes;
        sample.write.bytes = writes * 4096;
        sample
    }

    fn first_hold(condition: &EventCondition, writes: &[u64]) -> Option<usize> {
        let mut watched = WatchedCondition::new(condition, 40_960);
        (0..writes.len()).find(|&index| watched.holds_after(&sample(index as u64, writes[index])))
    }

    /// Proves that each condition holds with the sample that fulfils it and not before.
    #[test]
    fn conditions_hold_in_time() {
        let quantity = Quantity::named("write.iops").unwrap();
        let written = EventCondition::Written { amount: Amount::Share { percent: 50 } };
        assert_eq!(first_hold(&written, &[2, 2, 2]), Some(2));
        let above = EventCondition::Above { quantity, value: 5.0, samples: 2 };
        assert_eq!(first_hold(&above, &[6, 1, 6, 6, 6]), Some(3));
        let below = EventCondition::Below { quantity, value: 5.0, samples: 1 };
        assert_eq!(first_hold(&below, &[5, 4]), Some(1));
        let fallen = EventCondition::BelowPeak { quantity, percent: 60, samples: 2 };
        assert_eq!(first_hold(&fallen, &[10, 100, 59, 70, 59, 59]), Some(5));
        let steady = EventCondition::Steady { quantity };
        assert_eq!(first_hold(&steady, &[100, 10, 50, 50, 50, 50, 50]), Some(6));
        assert_eq!(first_hold(&steady, &[100, 10, 50, 50, 50, 50]), None);
    }
}
