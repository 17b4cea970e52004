//! Document of `watch:`.

use crate::yaml::{Located, MapOrMaps, OneOrMany};
use schemars::JsonSchema;
use serde::Deserialize;
use units::Nanos;

/// How the run is watched.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Watch")]
pub(crate) struct WatchDocument {
    /// Length of a sample; 5 s without it.
    #[serde(default)]
    #[schemars(with = "Option<Nanos>")]
    pub interval: Option<Located<Nanos>>,
    /// Block devices that are watched beside those under test and what these are made of: paths (/dev/mapper/logs) or
    /// kernel names (sdb), or `all`.
    #[serde(default)]
    #[schemars(with = "Option<super::settings::TextOrTexts>")]
    pub devices: Option<OneOrMany>,
    /// False where the drives are not to be asked for their SMART counters and temperatures.
    #[serde(default)]
    pub health: Option<bool>,
    /// A command, or several, that print counters.
    #[serde(default)]
    #[schemars(with = "Option<MapOrMapsSchema<WatchCommandDocument>>")]
    pub command: Option<MapOrMaps<WatchCommandDocument>>,
    /// An address, or several, with counters as Prometheus text.
    #[serde(default)]
    #[schemars(with = "Option<MapOrMapsSchema<WatchPrometheusDocument>>")]
    pub prometheus: Option<MapOrMaps<WatchPrometheusDocument>>,
}

/// A command that prints counters: a JSON object of numbers, in which an object of numbers is an entity of its own; or
/// lines `name value` or `entity name value`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WatchCommand")]
pub(crate) struct WatchCommandDocument {
    /// What the counters are about.
    pub name: Located<String>,
    /// The program and its arguments, separated by blanks, or a list of them; no shell reads it.
    #[schemars(with = "super::settings::TextOrTexts")]
    pub command: Located<OneOrMany>,
    /// Time between questions; the length of a sample without it, and at least a second.
    #[serde(default)]
    #[schemars(with = "Option<Nanos>")]
    pub every: Option<Located<Nanos>>,
    /// How long an answer may take; `every` without it, and at most 10 s then.
    #[serde(default)]
    #[schemars(with = "Option<Nanos>")]
    pub timeout: Option<Located<Nanos>>,
    /// Counters, by their names with `*`, that count since some start: they are kept as rates.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub cumulative: Vec<Located<String>>,
}

/// An address with counters as Prometheus text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WatchPrometheus")]
pub(crate) struct WatchPrometheusDocument {
    /// What the counters are about; their labels are added.
    pub name: Located<String>,
    /// `http://host:port/path`; the path is `/metrics` without one.
    pub address: Located<String>,
    /// The metrics that are kept, by their names with `*`.
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub metrics: Located<Vec<Located<String>>>,
    /// Time between questions; the length of a sample without it, and at least a second.
    #[serde(default)]
    #[schemars(with = "Option<Nanos>")]
    pub every: Option<Located<Nanos>>,
    /// How long an answer may take; `every` without it, and at most 10 s then.
    #[serde(default)]
    #[schemars(with = "Option<Nanos>")]
    pub timeout: Option<Located<Nanos>>,
}

/// The schema of [`MapOrMaps`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a shape for the schema, never a value")]
enum MapOrMapsSchema<T> {
    One(T),
    Many(Vec<T>),
}
