//! Document of the report section: published figures, limits, charts, tables, inventory.

use super::settings::{Conditions, NumberOrText};
use crate::part::{ChartAxis, InventoryMoment, Moment};
use crate::quantity::Quantity;
use crate::yaml::{Entries, Located, MapOrMaps, OneOrMany, OneOrMap};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A picture of the report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Image")]
pub(crate) struct ImageDocument {
    /// A PNG, JPEG or WebP file beside the plan.
    pub file: Located<String>,
    /// What it shows, in one line.
    pub caption: String,
}

/// A rate over time: a table of moments and rates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Profile")]
pub(crate) struct ProfileDocument {
    /// A CSV file beside the plan: a moment (`08:00` or seconds) and the rate of all jobs together from then on.
    #[serde(default)]
    pub file: Option<Located<String>>,
    /// The same table, written here.
    #[serde(default)]
    pub csv: Option<Located<String>>,
    /// After which it begins again: 24h without it.
    #[serde(default)]
    #[schemars(with = "Option<units::Nanos>")]
    pub period: Option<Located<String>>,
    /// How much faster than the table its time goes by: 24 makes a day an hour.
    #[serde(default)]
    pub speedup: Option<Located<f64>>,
}

/// A command whose output is kept with the run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Inventory")]
pub(crate) struct InventoryDocument {
    /// The program and its arguments, separated by blanks, or a list of them; no shell reads it. `{device}` stands
    /// for each block device under test.
    #[schemars(with = "super::settings::TextOrTexts")]
    pub command: Located<OneOrMany>,
    /// When it is run: `start` (without it), `end`, or `both`.
    #[serde(default)]
    pub at: InventoryMoment,
}

/// A limit that results must keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Require")]
pub(crate) struct RequirementDocument {
    /// The limit in words; made of its parts without it.
    #[serde(default)]
    pub says: Option<String>,
    /// Which quantity.
    pub quantity: Located<Quantity>,
    /// What it must reach, a latency (`2ms`) and a bandwidth (`800MB/s`) with its unit.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub at_least: Option<Located<String>>,
    /// What it must not exceed, a latency (`2ms`) and a bandwidth (`800MB/s`) with its unit.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub at_most: Option<Located<String>>,
    /// The stage whose cases must keep it.
    pub stage: Located<String>,
    /// Which of the stage's cases: all without it.
    #[serde(default)]
    #[schemars(with = "Conditions")]
    pub cases: Option<Located<Conditions>>,
}

/// A figure that the vendor declares.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Declared")]
pub(crate) struct DeclaredDocument {
    /// The declaration in words.
    pub says: String,
    /// Which quantity it is about.
    pub quantity: Quantity,
    /// The figure, a latency (`90us`) and a bandwidth (`8GB/s`) with its unit.
    #[schemars(with = "NumberOrText")]
    pub value: Located<String>,
    /// The stage whose cases stand beside it.
    pub stage: Located<String>,
    /// Which of the stage's cases: all without it.
    #[serde(default)]
    pub cases: Conditions,
}

/// A table of published results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Published")]
pub(crate) struct PublishedDocument {
    /// A CSV file beside the plan, or one that ships (`flashsystem-840/block-size.csv`).
    pub file: Located<String>,
    /// The stages whose cases its rows stand beside.
    pub stages: Vec<Located<String>>,
    /// Which of the stages' cases its rows may stand beside: all without it.
    #[serde(default)]
    pub cases: Conditions,
    /// Which column holds which setting of the case. An empty cell, and `any`, leave the setting open; `a/b` is one
    /// of several values, `a-b` a range of numbers.
    #[schemars(with = "BTreeMap<String, SettingColumnSchema>")]
    pub settings: Entries<SettingColumn>,
    /// Which column holds which quantity.
    #[schemars(with = "BTreeMap<String, ColumnsSchema>")]
    pub quantities: Entries<MapOrMaps<ColumnDocument>>,
}

/// Setting that a column holds: its name, or its name and the column's words for its values.
pub(crate) type SettingColumn = OneOrMap<WordsDocument>;

/// A setting and a column's words for its values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SettingColumnWords")]
pub(crate) struct WordsDocument {
    /// The setting.
    pub setting: Located<String>,
    /// The column's words, each with the value that it stands for.
    #[schemars(with = "BTreeMap<String, NumberOrText>")]
    pub words: Entries<Located<String>>,
}

struct SettingColumnSchema;

impl JsonSchema for SettingColumnSchema {
    fn schema_name() -> Cow<'static, str> {
        "SettingColumn".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = generator.subschema_for::<WordsDocument>();
        json_schema!({ "anyOf": [{ "type": "string" }, words] })
    }
}

struct ColumnsSchema;

impl JsonSchema for ColumnsSchema {
    fn schema_name() -> Cow<'static, str> {
        "Columns".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let column = generator.subschema_for::<ColumnDocument>();
        json_schema!({ "anyOf": [column, { "type": "array", "items": column }] })
    }
}

/// A column of published figures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Column")]
pub(crate) struct ColumnDocument {
    /// Which quantity it holds.
    pub quantity: Quantity,
    /// What its figures are multiplied by to have the quantity's unit (1e6 from ms to ns).
    #[serde(default)]
    #[schemars(with = "Option<f64>")]
    pub times: Option<Located<f64>>,
    /// What the figure is of the cases that its row belongs to; `each` without it.
    #[serde(default)]
    pub of: crate::published::FigureOf,
    /// In which rows it does: those whose other columns hold these texts.
    #[serde(default, rename = "where")]
    #[schemars(with = "BTreeMap<String, super::settings::TextOrTexts>")]
    pub rows: Entries<OneOrMany>,
}

/// Kind of a chart that is drawn otherwise than as lines or bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChartKind {
    /// Lines of equal latency over two rates.
    Contour,
}

/// A chart of the report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Chart")]
pub(crate) struct ChartDocument {
    /// What it shows, in one line.
    pub title: String,
    /// Which chart of the published test it corresponds to.
    #[serde(default)]
    pub published_as: Option<String>,
    /// The stages whose cases it shows.
    pub stages: Vec<Located<String>>,
    /// Which of the stages' cases: all without it.
    #[serde(default)]
    pub cases: Conditions,
    /// Settings of which each combination of values has a chart of its own.
    #[serde(default)]
    pub each: Vec<Located<String>>,
    /// Upwards: one or more quantities of one unit.
    pub y: Vec<Located<Quantity>>,
    /// To the right: `time`, `written` (bytes written in the stage), `latency` (how I/Os divide over it), a setting, or a quantity (each case is a point).
    pub x: Located<ChartAxis>,
    /// The setting that makes one line for each of its values.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub series: Option<Located<String>>,
    /// Where a chart against time begins.
    #[serde(default)]
    pub from: Option<Moment>,
    /// Where a chart against time ends.
    #[serde(default)]
    pub to: Option<Moment>,
    /// `contour`: lines of equal latency (`of`) over two rates, `x` and `y`; without it lines or bars.
    #[serde(default)]
    #[schemars(with = "Option<ChartKind>")]
    pub chart: Option<Located<ChartKind>>,
    /// Latency of a contour: of one direction, or `read.latency_ns.mean` and `write.latency_ns.mean`, whose mean over all I/Os it then is.
    #[serde(default)]
    pub of: Vec<Located<Quantity>>,
    /// Which case a chart against latency shows: chosen from the results; all of them without it. Of rounds it is chosen by
    /// their means over the measurement window, whose I/Os it then shows together.
    #[serde(default)]
    pub pick: Option<PickDocument>,
}

/// A table of the report: one row for each combination of values of some settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Table")]
pub(crate) struct TableDocument {
    /// What it shows, in one line.
    pub title: String,
    /// Which table of the published test it corresponds to.
    #[serde(default)]
    pub published_as: Option<String>,
    /// The stages whose cases it shows.
    pub stages: Vec<Located<String>>,
    /// Which of the stages' cases: all without it.
    #[serde(default)]
    pub cases: Conditions,
    /// The settings of which each combination of values is a row.
    pub rows: Located<Vec<Located<String>>>,
    /// A setting of which each value is a column; there is a table for each quantity then.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub columns: Option<Located<String>>,
    /// What the columns hold.
    pub quantities: Vec<Quantity>,
    /// Which case a row shows where it has several; all of them without it.
    #[serde(default)]
    pub pick: Option<PickDocument>,
}

/// Which case a row of a table shows: that with the largest or the smallest of a quantity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pick")]
pub(crate) struct PickDocument {
    /// That with the largest of this quantity.
    #[serde(default)]
    pub largest: Option<Quantity>,
    /// That with the smallest of this quantity.
    #[serde(default)]
    #[schemars(with = "Option<Quantity>")]
    pub smallest: Option<Located<Quantity>>,
    /// Only among cases in which each of these quantities is at most this; a latency (`2ms`) and a bandwidth (`800MB/s`) with its unit.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, NumberOrText>")]
    pub at_most: Entries<Located<String>>,
}
