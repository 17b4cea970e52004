//! Observation of a case from its samples, without a run directory.

use super::{Flow, Interval, Moment, ObservedCase};
use load::{DirectionSample, Sample};
use std::sync::Arc;
use store::CaseResult;

const NS: f64 = 1e9;

impl ObservedCase {
    /// Returns a case of one load with its samples and events. How busy parts were is not known.
    pub fn of_samples(result: CaseResult, samples: &[Sample], moments: Vec<Moment>) -> ObservedCase {
        ObservedCase {
            stage: result.stage.clone(),
            name: result.case.clone(),
            settings: result.settings.clone(),
            result: Arc::new(result),
            intervals: samples.iter().map(interval).collect(),
            loads: Vec::new(),
            busy: Vec::new(),
            carried: Vec::new(),
            services: Vec::new(),
            waiting_commands: 0.0,
            unwritten_share: 0.0,
            moments,
            limits: Vec::new(),
            found_load: None,
        }
    }
}

fn interval(sample: &Sample) -> Interval {
    let flow = |direction: &DirectionSample| Flow {
        ios: direction.ios as f64,
        bytes: direction.bytes as f64,
        errors: direction.errors,
        latency_sum_ns: direction.latency.mean_ns() * direction.ios as f64,
    };
    Interval {
        start_s: sample.start_ns as f64 / NS,
        end_s: sample.end_ns as f64 / NS,
        is_ramp: sample.is_ramp,
        read: flow(&sample.read),
        write: flow(&sample.write),
    }
}
