use super::*;
use crate::Histogram;
use crate::Random;
use crate::bound_point::BoundMeasure;
use std::convert::Infallible;

/// An M/M/1 queue: response times are exponential with mean 1 / (mu - lambda), so every bound has an exact answer.
struct Queue {
    mu: f64,
    random: Random,
    samples: u32,
}

impl Queue {
    fn measure(&mut self, rate: f64) -> Result<BoundMeasurement, Infallible> {
        let mut latency = Histogram::new();
        if rate >= self.mu {
            // It falls behind more and more for a second.
            latency.record(((rate / self.mu - 1.0) * 1e9) as u64 + 1_000_000_000);
            return Ok(whole(latency, self.mu, false));
        }
        let mean_ns = 1e9 / (self.mu - rate);
        let mut sections = vec![Histogram::new(); 20];
        for sample in 0..self.samples {
            let response_ns = self.random.exponential(mean_ns) as u64;
            latency.record(response_ns);
            sections[sample as usize % 20].record(response_ns);
        }
        Ok(BoundMeasurement { sections, ..whole(latency, rate, true) })
    }
}

fn whole(latency: Histogram, delivered_iops: f64, kept_up: bool) -> BoundMeasurement {
    BoundMeasurement { latency, delivered_iops, kept_up, sections: Vec::new(), simulated_share: 1.0 }
}

/// Proves that on an M/M/1 queue, with the noise of 100,000 samples a point, the search is within 2 % of the exact
/// answer in at most 12 points, for means and percentiles, bounds loose and tight, and starts far off on both sides.
#[test]
fn the_answer_of_a_known_queue_is_found() {
    for (mu, start) in [(10_000.0, 100.0), (10_000.0, 9_000.0), (250_000.0, 1_000.0), (500.0, 4_000.0)] {
        for times_service in [1.5, 3.0, 10.0, 50.0] {
            for (measure, factor) in [
                (BoundMeasure::Mean, 1.0),
                (BoundMeasure::Percentile(500_000), libm::log(2.0)),
                (BoundMeasure::Percentile(950_000), libm::log(20.0)),
                (BoundMeasure::Percentile(990_000), libm::log(100.0)),
            ] {
                let latency_ns = (times_service * 1e9 / mu * factor) as u64;
                let exact = mu * (1.0 - 1.0 / times_service);
                let mut queue = Queue { mu, random: Random::from_seed(3), samples: 100_000 };
                let answer = max_under_latency(
                    Bound { measure, latency_ns },
                    BoundSearch::over_rate(start),
                    &mut |rate| queue.measure(rate),
                )
                .unwrap();
                let error = answer.load / exact - 1.0;
                let loads: Vec<f64> = answer.points.iter().map(|point| point.load).collect();
                assert!(answer.points.len() <= 12, "{loads:?}");
                assert!(error.abs() < 0.02, "{measure:?} {times_service} of {mu}: {error} {loads:?}");
            }
        }
    }
}

/// Proves that the search closes in where latency stays level until close to saturation, as on targets that serve many I/Os
/// at once: within 2 % in at most 12 points, from starts far off, with the bound barely over the level and far above it.
#[test]
fn a_level_curve_with_a_sharp_knee_is_found() {
    let (capacity, level_ns) = (99_900.0, 640_000.0);
    for power in [4, 16, 64] {
        // Sakasegawa's approximation of a queue with many servers: the wait grows as rho^power / (1 - rho).
        let latency_ns = |rate: f64| {
            let rho: f64 = rate / capacity;
            level_ns * (1.0 + 0.05 * (0..power).fold(1.0, |product, _| product * rho) / (1.0 - rho))
        };
        for (start, bound_ns) in
            [(1_000.0, 1_000_000), (1_000.0, 700_000), (90_000.0, 800_000), (10.0, 5_000_000)]
        {
            let (mut least, mut most) = (0.0, capacity);
            for _ in 0..60 {
                let middle = f64::midpoint(least, most);
                if latency_ns(middle) <= f64::from(bound_ns) { least = middle } else { most = middle }
            }
            let answer = max_under_latency(
                Bound { measure: BoundMeasure::Mean, latency_ns: bound_ns as u64 },
                BoundSearch::over_rate(start),
                &mut |rate| {
                    let mut latency = Histogram::new();
                    let kept_up = rate < capacity;
                    latency.record(if kept_up { latency_ns(rate) as u64 } else { 200_000_000 });
                    Ok::<_, Infallible>(whole(latency, rate.min(capacity), kept_up))
                },
            )
            .unwrap();
            let loads: Vec<f64> = answer.points.iter().map(|point| point.load).collect();
            assert_eq!(answer.end, BoundEnd::Found, "{power} {start} {bound_ns}: {least} {loads:?}");
            assert!(
                (answer.load / least - 1.0).abs() < 0.02,
                "{power} {start} {bound_ns}: {least} {loads:?}"
            );
        }
    }
}

/// Proves that a depth is found exactly, and that a bound that always or never holds is said to.
#[test]
fn depths_and_ends() {
    let closed = |depth: f64| {
        let mut latency = Histogram::new();
        latency.record((100_000.0 * depth.max(8.0) / 8.0) as u64);
        Ok::<_, Infallible>(whole(latency, depth.min(8.0) * 10_000.0, true))
    };
    let search = |latency_ns, limit| {
        let bound = Bound { measure: BoundMeasure::Mean, latency_ns };
        max_under_latency(bound, BoundSearch::over_depth(limit), &mut { closed }).unwrap()
    };
    let found = search(1_000_000, 1024);
    assert_eq!((found.end, found.load, found.delivered_iops), (BoundEnd::Found, 80.0, 80_000.0));
    assert_eq!(search(1_000_000, 32).end, BoundEnd::AlwaysHolds);
    let never = search(50_000, 32);
    assert_eq!((never.end, never.load), (BoundEnd::NeverHolds, 0.0));
}

/// Proves that an error of the measurement ends the search.
#[test]
fn errors_end_it() {
    let bound = Bound { measure: BoundMeasure::Mean, latency_ns: 1 };
    assert_eq!(max_under_latency(bound, BoundSearch::over_rate(1.0), &mut |_| Err("gone")), Err("gone"));
}
