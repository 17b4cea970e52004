//! Topology of a run: parts of a twin, or the path to a real target.

use crate::topology::{Drawing, Layer, LayerKind};
use serde_json::Value;
use store::Manifest;

/// Facts about a device that fit in its box.
const IDENTITY_FACTS: usize = 4;

pub fn drawing(manifest: &Manifest) -> Option<Drawing> {
    let twin = manifest.array.as_ref().and_then(|array| {
        plan::parse_array(&array.source, &array.text).ok().map(|parsed| of_twin(&parsed.bench()))
    });
    twin.or_else(|| of_targets(manifest))
}

fn of_twin(bench: &twin::Topology) -> Drawing {
    let mut layers = Vec::new();
    let mut add = |kind, parts: &[twin::TopologyPart]| {
        layers.extend(parts.iter().map(|part| {
            // What follows the first comma is said once, beneath the boxes.
            let (label, detail) = part.label.split_once(", ").unwrap_or((&part.label, ""));
            Layer { kind, label: label.to_owned(), detail: detail.to_owned(), count: part.count }
        }));
    };
    add(LayerKind::Box, &bench.hosts);
    add(LayerKind::Link, &bench.links);
    add(LayerKind::Box, &bench.controllers);
    add(LayerKind::Drive, &bench.drives);
    Drawing { title: "The bench, as the twin has it".into(), layers }
}

fn of_targets(manifest: &Manifest) -> Option<Drawing> {
    if manifest.targets.is_empty() {
        return None;
    }
    let host = |name: &str| manifest.host.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = match host("hostname") {
        name if name.is_empty() => "This host".to_owned(),
        name => name,
    };
    let layer = |kind, label, detail| Layer { kind, label, detail, count: 1 };
    let mut layers = vec![
        layer(LayerKind::Box, name, host("kernel")),
        layer(LayerKind::Link, format!("load by {}", manifest.engine), String::new()),
    ];
    for target in &manifest.targets {
        layers.push(layer(LayerKind::Box, target.spec.clone(), identity(&target.identity)));
    }
    Some(Drawing { title: "The bench".into(), layers })
}

/// Identity of a device, in a few words.
fn identity(identity: &Value) -> String {
    let Some(facts) = identity.as_object() else { return String::new() };
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) if !text.is_empty() => Some(format!("{} {text}", name.replace('_', " "))),
        Value::Number(bytes) if name.ends_with("_bytes") => bytes.as_u64().map(|bytes| {
            format!("{} {}", name.trim_end_matches("_bytes").replace('_', " "), units::human_bytes(bytes))
        }),
        Value::Number(number) => Some(format!("{} {number}", name.replace('_', " "))),
        _ => None,
    };
    facts.iter().filter_map(text).take(IDENTITY_FACTS).collect::<Vec<_>>().join(", ")
}
