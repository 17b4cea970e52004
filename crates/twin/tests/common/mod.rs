//! What tests of shipped arrays share.

use std::ops::ControlFlow;

use load::{LoadSpec, Pattern, Sample, run_simulated};
use serde_json::{Map, Value};
use twin::{ArrayDescription, Twin};

/// A shipped array.
pub fn array(name: &str) -> ArrayDescription {
    let path = format!("{}/../../arrays/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
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

/// What a load did.
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

    #[allow(dead_code, reason = "not every test asks for it")]
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

/// Runs a load on a twin.
pub fn measure(twin: &mut Twin, run: &Run) -> Total {
    let spec = LoadSpec {
        pattern: run.pattern,
        rwmixread: run.rwmixread,
        bs_bytes: run.bs_bytes,
        numjobs: run.numjobs,
        iodepth: run.iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: run.ramp_s * 1_000_000_000,
        runtime_ns: run.runtime_s * 1_000_000_000,
        interval_ns: 1_000_000_000,
        seed: 1,
        shape: load::LoadShape::default(),
    };
    let mut total =
        Total { samples: Vec::new(), ios: 0, bytes: 0, errors: 0, runtime_s: run.runtime_s as f64 };
    run_simulated(twin, &spec, &mut |_, sample| {
        if !sample.is_ramp {
            total.ios += sample.read.ios + sample.write.ios;
            total.bytes += sample.read.bytes + sample.write.bytes;
            total.errors += sample.read.errors + sample.write.errors;
            total.samples.push(sample);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    total
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
