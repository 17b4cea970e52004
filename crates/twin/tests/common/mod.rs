//! Fixtures of the tests of shipped arrays.
#![allow(dead_code, reason = "not every test asks for all of it")]

use std::ops::ControlFlow;

use load::{LoadSpec, NEVER_STOPPED, Pattern, Sample, run_simulated};
use serde_json::{Map, Value};
use twin::{ArrayDescription, Twin};

/// A shipped array.
pub fn array(name: &str) -> ArrayDescription {
    let path = format!("{}/../../arrays/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    plan::load_array(&path).unwrap().description
}

/// The parts of an array of parts, to be changed.
pub fn parts(description: &mut ArrayDescription) -> &mut array::Array {
    &mut description.parts
}

/// Settings of a twin.
pub fn settings(list: &[(&str, Value)]) -> Map<String, Value> {
    list.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// A load, with samples every second.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub pattern: Pattern,
    pub rwmixread: u8,
    pub bs_bytes: u32,
    pub numjobs: u32,
    pub iodepth: u32,
    pub ramp_s: u64,
    pub runtime_s: u64,
}

/// Result of a load.
#[derive(Debug)]
pub struct Total {
    pub samples: Vec<Sample>,
    pub ios: u64,
    pub bytes: u64,
    pub errors: u64,
    pub runtime_s: f64,
}

impl Total {
    pub fn iops(&self) -> f64 {
        self.ios as f64 / self.runtime_s
    }

    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.runtime_s / 1e6
    }

    pub fn mean_ms(&self) -> f64 {
        let sum: f64 = self
            .samples
            .iter()
            .flat_map(|sample| [&sample.read, &sample.write])
            .map(|direction| direction.latency.mean_ns() * direction.ios as f64)
            .sum();
        sum / self.ios as f64 / 1e6
    }
}

impl Run {
    /// As a load runs it.
    pub fn spec(&self) -> LoadSpec {
        LoadSpec {
            pattern: self.pattern,
            rwmixread: self.rwmixread,
            bs_bytes: self.bs_bytes,
            numjobs: self.numjobs,
            iodepth: self.iodepth,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: self.ramp_s * 1_000_000_000,
            runtime_ns: self.runtime_s * 1_000_000_000,
            interval_ns: 1_000_000_000,
            seed: 1,
            shape: load::LoadShape::default(),
        }
    }

    fn total(&self) -> Total {
        Total { samples: Vec::new(), ios: 0, bytes: 0, errors: 0, runtime_s: self.runtime_s as f64 }
    }
}

impl Total {
    fn add(&mut self, sample: Sample) {
        if !sample.is_ramp {
            self.ios += sample.read.ios + sample.write.ios;
            self.bytes += sample.read.bytes + sample.write.bytes;
            self.errors += sample.read.errors + sample.write.errors;
            self.samples.push(sample);
        }
    }
}

/// The counted samples of a load on a twin, all of it simulated.
pub fn counted_samples(twin: &mut Twin, spec: &LoadSpec) -> Vec<Sample> {
    let mut samples = Vec::new();
    run_simulated(twin, spec, &NEVER_STOPPED, &mut |_, sample| {
        if !sample.is_ramp {
            samples.push(sample);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    samples
}

/// I/Os a second of a sample, both directions.
pub fn iops(sample: &Sample) -> f64 {
    (sample.read.ios + sample.write.ios) as f64 * 1e9 / sample.duration_ns() as f64
}

/// Runs a load on a twin, all of it simulated.
pub fn measure(twin: &mut Twin, run: &Run) -> Total {
    let mut total = run.total();
    run_simulated(twin, &run.spec(), &NEVER_STOPPED, &mut |_, sample| {
        total.add(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    total
}

/// Runs a load on two twins that are alike, once as campaigns do and once exactly, and proves that rate and mean latency agree
/// within 2 %, or that both are the same where nothing was skipped. Returns whether something was.
pub fn fast_forward_agrees(what: &str, twin: &Twin, run: &Run) -> bool {
    let mut fast = run.total();
    let extrapolation = twin
        .clone()
        .run(&run.spec(), &NEVER_STOPPED, &mut |_, sample| {
            fast.add(sample);
            ControlFlow::Continue(())
        })
        .unwrap();
    let exact = measure(&mut twin.clone(), run);
    let (rate, latency) = (fast.iops() / exact.iops() - 1.0, fast.mean_ms() / exact.mean_ms() - 1.0);
    println!("{what}: IOPS {:+.2} %, latency {:+.2} %, {:?}", rate * 100.0, latency * 100.0, extrapolation);
    let has_skipped = extrapolation.carried_ns > 0;
    assert!(has_skipped || fast.samples == exact.samples, "{what}: nothing was skipped, and it differs");
    assert_eq!(fast.samples.iter().any(|sample| sample.is_extrapolated), has_skipped, "{what}");
    assert!(!exact.samples.iter().any(|sample| sample.is_extrapolated));
    assert!(rate.abs() < 0.02 && latency.abs() < 0.02, "{what}: {rate} {latency}");
    has_skipped
}

/// A counter of a part.
pub fn counter(twin: &Twin, entity: &str, name: &str) -> u64 {
    let counters = twin.counters();
    counters
        .iter()
        .find(|counter| counter.entity == entity && counter.name == name)
        .unwrap_or_else(|| panic!("{entity} counts no {name}"))
        .value
}
