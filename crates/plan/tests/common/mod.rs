//! Twins of arrays of parts under loads of one job, for tests of data services.

use load::{LoadShape, LoadSpec, Pattern};
use serde_json::{Map, Value};
use twin::Twin;

pub fn twin_of(text: &str, settings: &[(&str, &str)]) -> Twin {
    let array = plan::parse_array("array.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let settings: Map<String, Value> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    Twin::build(&array, &settings, 1).unwrap()
}

/// A load of one job and one interval; `rwmixread` is that of patterns with both directions.
pub fn load(pattern: Pattern, rwmixread: u8, bs_bytes: u32, iodepth: u32, runtime_ns: u64) -> LoadSpec {
    LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or(rwmixread),
        bs_bytes,
        numjobs: 1,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns,
        interval_ns: runtime_ns,
        seed: 3,
        shape: LoadShape::default(),
    }
}

/// A counter of a twin.
pub fn count(twin: &Twin, entity: &str, name: &str) -> u64 {
    let counters = twin.counters();
    let found = counters.iter().find(|counter| counter.entity == entity && counter.name == name);
    found.unwrap_or_else(|| panic!("no counter {entity} {name}: {counters:?}")).value
}
