//! JSON Schemas of what people write.

use crate::document::PlanDocument;
use array::{
    Backend, Cache, Controllers, DriveCache, DriveCount, Fabric, Failover, FileSystem, FlashModule,
    GroupKeys, HardDisk, Hosts, Journal, Key, Limit, Mirror, Network, Nodes, PoolKeys, Rebuild, Reduction,
    Replication, Section, Service, Slice, Snapshots, SolidState, Thin, Tier, VolumeKeys,
};
use serde_json::{Map, Value, json};

/// Dialect of the schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Document with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A test plan.
    Plan,
    /// A storage array.
    Array,
}

/// The JSON Schema (draft 2020-12) by which an editor checks and completes a file.
pub fn schema(kind: Kind) -> Value {
    match kind {
        Kind::Plan => schemars::schema_for!(PlanDocument).to_value(),
        Kind::Array => of_arrays(),
    }
}

/// Schema of a key: its quantity, or that with its origin.
fn of_key(key: &Key) -> Value {
    let value = match key.kind {
        array::Kind::Count => json!({ "type": "integer", "minimum": key.least, "maximum": key.most }),
        array::Kind::Share => json!({ "type": ["string", "number"] }),
        array::Kind::Dollars | array::Kind::Power => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "const": "unknown" }] })
        }
        array::Kind::Switch => json!({ "type": "boolean" }),
        array::Kind::Word(words) => json!({ "enum": words }),
        array::Kind::Time => json!({ "type": ["string", "integer"] }),
        array::Kind::Bytes
        | array::Kind::Rate
        | array::Kind::Limit
        | array::Kind::Endurance
        | array::Kind::Text => {
            json!({ "type": "string" })
        }
    };
    let with_origin = json!({
        "type": "object",
        "properties": {
            "value": value.clone(),
            "origin": { "enum": ["datasheet", "published", "derived", "fitted", "assumed"] },
            "from": { "type": "string" },
        },
        "required": ["value"],
        "additionalProperties": false,
    });
    let mut schema = json!({ "description": key.help, "anyOf": [value, with_origin] });
    if let (Some(default), Some(schema)) = (key.default, schema.as_object_mut()) {
        schema.insert("default".into(), default.into());
    }
    schema
}

/// Schema of a section with further keys beside its own.
fn of_section<S: Section>(has_parts: bool, more: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    if has_parts {
        properties.insert("use".into(), json!({ "type": "string", "description": "A part of the library." }));
    }
    properties.extend(S::KEYS.iter().map(|key| (key.name.to_owned(), of_key(key))));
    properties.extend(more.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn one_or_many(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "items": item }] })
}

/// Schema of the array language, from its tables of keys.
fn of_arrays() -> Value {
    let kind = json!({ "enum": array::Drives::KINDS, "description": "Model of the drive." });
    let of_drives = [
        of_section::<HardDisk>(true, &[("kind", kind.clone()), ("count", of_key(&DriveCount::KEYS[0]))]),
        of_section::<SolidState>(true, &[("kind", kind.clone()), ("count", of_key(&DriveCount::KEYS[0]))]),
        of_section::<FlashModule>(true, &[("kind", kind), ("count", of_key(&DriveCount::KEYS[0]))]),
    ];
    let drives = json!({ "anyOf": of_drives });
    let group = of_section::<GroupKeys>(
        false,
        &[
            ("drives", drives.clone()),
            ("per_node", drives),
            ("backend", of_section::<Backend>(true, &[])),
            ("journal", of_section::<Journal>(false, &[])),
        ],
    );
    let pool = of_section::<PoolKeys>(false, &[("across", json!({ "const": "node" }))]);
    let volume = of_section::<VolumeKeys>(false, &[("limit", of_section::<Limit>(false, &[]))]);
    json!({
        "$schema": DIALECT,
        "title": "Array",
        "type": "object",
        "properties": {
            "title": { "type": "string" },
            "about": { "type": "string" },
            "hosts": of_section::<Hosts>(true, &[]),
            "file_system": of_section::<FileSystem>(false, &[]),
            "fabric": of_section::<Fabric>(true, &[]),
            "nodes": of_section::<Nodes>(false, &[("network", of_section::<Network>(true, &[]))]),
            "controllers": of_section::<Controllers>(true, &[]),
            "cache": of_section::<Cache>(true, &[]),
            "groups": one_or_many(&group),
            "pools": one_or_many(&pool),
            "volumes": one_or_many(&volume),
            "slices": one_or_many(&of_section::<Slice>(false, &[])),
            "services": one_or_many(&of_section::<Service>(false, &[])),
            "thin": of_section::<Thin>(false, &[]),
            "reduction": of_section::<Reduction>(false, &[]),
            "snapshots": of_section::<Snapshots>(false, &[]),
            "drive_cache": of_section::<DriveCache>(false, &[]),
            "tier": of_section::<Tier>(false, &[]),
            "mirror": of_section::<Mirror>(true, &[]),
            "replication": of_section::<Replication>(true, &[]),
            "rebuild": of_section::<Rebuild>(false, &[]),
            "failover": of_section::<Failover>(false, &[]),
        },
        "required": ["title", "groups"],
        "additionalProperties": false,
    })
}
