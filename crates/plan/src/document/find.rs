//! `find:` as it is written.

use super::settings::NumberOrText;
use crate::yaml::Located;
use schemars::JsonSchema;
use serde::Deserialize;

/// What each case of a stage searches for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "Find")]
pub(crate) struct FindDocument {
    /// The largest load whose latency stays under a bound.
    pub max_under_latency: MaxUnderLatencyDocument,
}

/// The largest load whose latency stays under a bound: points are measured, each for the case's ramp and runtime, until
/// it is known closely enough; then the load that was found is run once more, and that is the case's result.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MaxUnderLatency")]
pub(crate) struct MaxUnderLatencyDocument {
    /// Which latency: `mean`, `p50`, `p95`, `p99` or `p99.9`, over all I/Os of the case.
    #[schemars(with = "String")]
    pub of: Located<String>,
    /// The bound, with its unit: `1ms`.
    #[schemars(with = "String")]
    pub below: Located<String>,
    /// What is varied: `rate` (open loop, I/Os a second over all jobs) or `iodepth` (closed loop).
    #[schemars(with = "String")]
    pub over: Located<String>,
    /// The first load that is measured; without it 1,000 I/Os a second, or a depth of 1.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub start: Option<Located<f64>>,
    /// The largest load that is measured.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub limit: Option<Located<f64>>,
    /// The most points that are measured; 12 without it.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    pub points: Option<Located<u32>>,
}
