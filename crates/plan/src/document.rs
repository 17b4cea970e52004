//! The shape of a plan as it is written. The checks that look at values are made in `check`.

use crate::quantity::Quantity;
use crate::setting::SETTINGS;
use crate::yaml::{Entries, Located, OneOrMany};
use crate::{ChartAxis, Moment};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A test plan: stages of cases, what stands in the report around them, and what others have published or declared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "arraylab plan")]
pub(crate) struct PlanDocument {
    /// What is tested, in one line.
    pub title: String,
    /// Who wrote the plan; stands in the report.
    #[serde(default)]
    pub author: Option<String>,
    /// What the test is about; stands at the head of the report. Blank lines separate paragraphs.
    #[serde(default)]
    pub intro: Option<String>,
    /// Remarks that stand in the report.
    #[serde(default)]
    pub notes: Vec<String>,
    /// True for a plan that never writes: its target is opened read-only, and a case that writes is a mistake.
    #[serde(default)]
    pub read_only: bool,
    /// How the run is watched.
    #[serde(default)]
    pub watch: WatchDocument,
    /// Settings of every case, unless its stage or its matrix says otherwise.
    #[serde(default)]
    pub defaults: Assignments,
    /// The stages by name, in the order in which they run.
    #[schemars(with = "BTreeMap<String, StageDocument>")]
    pub stages: Located<Entries<StageDocument>>,
    /// What the vendor declares, to stand beside what is measured.
    #[serde(default)]
    pub declared: Vec<DeclaredDocument>,
    /// Published results of the same test, to stand beside what is measured.
    #[serde(default)]
    pub published: Vec<PublishedDocument>,
    /// The charts of the report; without it each stage has those that its matrix suggests.
    #[serde(default)]
    pub show: Vec<ChartDocument>,
}

/// How the run is watched.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Watch")]
pub(crate) struct WatchDocument {
    /// Length of a sample; 5 s without it.
    #[serde(default)]
    #[schemars(with = "Option<units::Nanos>")]
    pub interval: Option<Located<units::Nanos>>,
}

/// A stage: one case for each point of its matrix.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stage")]
pub(crate) struct StageDocument {
    /// What the stage shows, in one line.
    #[serde(default)]
    pub title: Option<String>,
    /// Remarks that stand in the report beside the stage.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Settings of every case of the stage, unless its matrix says otherwise.
    #[serde(default)]
    pub settings: Assignments,
    /// What varies.
    #[serde(default)]
    pub matrix: MatrixDocument,
    /// A time without load after each case.
    #[serde(default)]
    pub pause: units::Nanos,
    /// Writes before the stage's first case, and before each case whose array settings differ from those of the
    /// case before it.
    #[serde(default)]
    pub precondition: Option<PreconditionDocument>,
    /// What is done to the target while each case runs.
    #[serde(default)]
    pub events: Vec<Located<EventDocument>>,
}

/// Writes that bring a target into the state in which it is tested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Precondition")]
pub(crate) struct PreconditionDocument {
    /// How many times the size of the target is written.
    pub times: Located<u8>,
    /// Settings of the writes: `rw` (`write` without it), `bs`, `numjobs`, `iodepth`.
    pub settings: Assignments,
}

/// Something that is done to the target at a moment of a case.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event")]
pub(crate) struct EventDocument {
    /// When.
    pub at: Moment,
    /// What: the name of an action that the target knows.
    pub action: String,
    /// What the action is told.
    #[serde(default)]
    pub with: serde_json::Map<String, serde_json::Value>,
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
    /// The figure, in the quantity's unit; a latency may have a suffix (90us).
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
    /// Which column holds which setting of the case. An empty cell leaves the setting open.
    #[schemars(with = "BTreeMap<String, String>")]
    pub settings: Entries<Located<String>>,
    /// Which column holds which quantity.
    #[schemars(with = "BTreeMap<String, ColumnDocument>")]
    pub quantities: Entries<ColumnDocument>,
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
    pub times: Option<Located<f64>>,
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
    /// Upwards: one or more quantities of one unit.
    pub y: Vec<Located<Quantity>>,
    /// To the right: `time`, or a setting.
    pub x: Located<ChartAxis>,
    /// The setting that makes one line for each of its values.
    #[serde(default)]
    pub series: Option<Located<String>>,
    /// Where a chart against time begins.
    #[serde(default)]
    pub from: Option<Moment>,
    /// Where a chart against time ends.
    #[serde(default)]
    pub to: Option<Moment>,
}

struct NumberOrText;

impl JsonSchema for NumberOrText {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NumberOrText".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

/// Settings with one value each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Assignments(pub Vec<(Located<String>, Located<String>)>);

impl<'de> Deserialize<'de> for Assignments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Entries::deserialize(deserializer).map(|entries| Assignments(entries.0))
    }
}

impl JsonSchema for Assignments {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        settings_schema(generator, |value, _| value)
    }
}

/// Settings with the values that cases may have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions(pub Vec<(Located<String>, OneOrMany)>);

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Entries::deserialize(deserializer).map(|entries| Conditions(entries.0))
    }
}

impl JsonSchema for Conditions {
    fn schema_name() -> Cow<'static, str> {
        "Conditions".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        settings_schema(
            generator,
            |value, _| json_schema!({ "anyOf": [value, { "type": "array", "items": value }] }),
        )
    }
}

/// What varies in a stage.
#[derive(Debug, Default)]
pub(crate) struct MatrixDocument {
    pub axes: Vec<(Located<String>, Located<AxisDocument>)>,
    pub include: Vec<Located<Assignments>>,
    pub exclude: Vec<Located<Conditions>>,
}

/// The values of an axis.
#[derive(Debug)]
pub(crate) enum AxisDocument {
    /// Values alone.
    Values(Vec<Located<String>>),
    /// Values that bring further settings.
    Points(Vec<(Located<String>, Assignments)>),
    /// One value without a list around it: read here, so that the check can point at it.
    Lone(String),
}

impl<'de> Deserialize<'de> for MatrixDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = MatrixDocument;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of axes, `include` and `exclude`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MatrixDocument, A::Error> {
                let mut matrix = MatrixDocument::default();
                while let Some(key) = map.next_key::<Located<String>>()? {
                    match key.value.as_str() {
                        "include" => matrix.include = map.next_value()?,
                        "exclude" => matrix.exclude = map.next_value()?,
                        _ => {
                            let axis = map.next_value()?;
                            matrix.axes.push((key, axis));
                        }
                    }
                }
                Ok(matrix)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl<'de> Deserialize<'de> for AxisDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = AxisDocument;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of values, or a map from each value to the settings that it brings")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AxisDocument, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(AxisDocument::Values(values))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AxisDocument, A::Error> {
                let mut points = Vec::new();
                while let Some(point) = map.next_entry()? {
                    points.push(point);
                }
                Ok(AxisDocument::Points(points))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<AxisDocument, E> {
                Ok(AxisDocument::Lone(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<AxisDocument, E> {
                Ok(AxisDocument::Lone(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<AxisDocument, E> {
                Ok(AxisDocument::Lone(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<AxisDocument, E> {
                Ok(AxisDocument::Lone(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<AxisDocument, E> {
                Ok(AxisDocument::Lone(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for MatrixDocument {
    fn schema_name() -> Cow<'static, str> {
        "Matrix".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let assignments = generator.subschema_for::<Assignments>();
        let conditions = generator.subschema_for::<Conditions>();
        let mut schema = settings_schema(generator, |value, assignments| {
            json_schema!({ "anyOf": [
                { "type": "array", "items": value, "minItems": 1 },
                { "type": "object", "additionalProperties": assignments, "minProperties": 1 }
            ] })
        });
        if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
            let described = |text: &str, items: Schema| serde_json::json!({ "description": text, "type": "array", "items": items });
            properties.insert("include".into(), described("Further cases.", assignments));
            properties.insert("exclude".into(), described("Cases that are left out.", conditions));
        }
        schema
    }
}

fn settings_schema(generator: &mut SchemaGenerator, wrap: impl Fn(Schema, &Schema) -> Schema) -> Schema {
    let reference = json_schema!({ "$ref": "#/$defs/Settings" });
    let mut properties = serde_json::Map::new();
    for setting in SETTINGS {
        let mut schema = wrap(setting.kind.schema(generator), &reference);
        schema.insert("description".into(), setting.doc.into());
        properties.insert(setting.name.into(), schema.into());
    }
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}
