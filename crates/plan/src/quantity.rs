//! The measured quantities that a plan may name: the paths of `arraylab results --json`.

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};
use std::borrow::Cow;

/// Every quantity; the name is the path in a result, units last.
pub const QUANTITIES: &[&str] = &[
    "iops",
    "bw_bytes_per_s",
    "read.iops",
    "read.bw_bytes_per_s",
    "read.errors",
    "read.latency_ns.mean",
    "read.latency_ns.p50",
    "read.latency_ns.p95",
    "read.latency_ns.p99",
    "read.latency_ns.p99.9",
    "read.latency_ns.p99.99",
    "read.latency_ns.min",
    "read.latency_ns.max",
    "write.iops",
    "write.bw_bytes_per_s",
    "write.errors",
    "write.latency_ns.mean",
    "write.latency_ns.p50",
    "write.latency_ns.p95",
    "write.latency_ns.p99",
    "write.latency_ns.p99.9",
    "write.latency_ns.p99.99",
    "write.latency_ns.min",
    "write.latency_ns.max",
    "sustained.iops",
    "sustained.bw_bytes_per_s",
];

/// A measured quantity: a path in a case's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(&'static str);

impl Quantity {
    /// The quantity of this name.
    pub fn named(name: &str) -> Option<Quantity> {
        QUANTITIES.iter().find(|known| **known == name).map(|known| Quantity(known))
    }

    /// Returns the name: the path in a result.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// True where its unit is nanoseconds.
    pub fn is_latency(self) -> bool {
        self.0.contains("latency_ns")
    }

    /// True where its unit is bytes a second.
    pub fn is_bandwidth(self) -> bool {
        self.0.ends_with("bw_bytes_per_s")
    }

    /// True where every sample has it, not only a case that is over.
    pub(crate) fn is_of_samples(self) -> bool {
        !self.0.starts_with("sustained.")
    }

    /// Returns the unit in words.
    pub fn unit(self) -> &'static str {
        if self.is_latency() {
            "ns"
        } else if self.is_bandwidth() {
            "bytes/s"
        } else if self.0.ends_with("errors") {
            "errors"
        } else {
            "IOPS"
        }
    }

    /// A figure of it in words, with its unit.
    pub(crate) fn print(self, value: f64) -> String {
        match self.unit() {
            "ns" => units::human_latency(value),
            "bytes/s" => units::human_bandwidth(value),
            "errors" => value.to_string(),
            _ => units::human_rate(value),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Quantity::named(&name).ok_or_else(|| de::Error::unknown_variant(&name, QUANTITIES))
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A measured quantity: a path in `arraylab results --json`",
            "enum": QUANTITIES
        })
    }
}
