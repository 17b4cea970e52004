//! Settings, conditions on them, and matrices, as they are written.

use crate::setting::{HOST_NAME_PATTERN, SETTINGS, SettingKind};
use crate::yaml::{Entries, Located, OneOrMany};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess};
use std::borrow::Cow;
use std::fmt;

/// A number or a text, for the schema.
pub(crate) struct NumberOrText;

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

/// One or several texts, for the schema.
pub(crate) struct TextOrTexts;

impl JsonSchema for TextOrTexts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "TextOrTexts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "array"], "items": { "type": ["string", "number"] } })
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

/// Matrix of a stage: its axes, and the cases that are added and left out.
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
    let host = wrap(SettingKind::Attribute.schema(generator), &reference);
    json_schema!({
        "type": "object",
        "properties": properties,
        "patternProperties": { HOST_NAME_PATTERN: host },
        "additionalProperties": false
    })
}
