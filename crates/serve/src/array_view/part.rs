//! View of one part of the model between two states.

use super::entity::{Entity, entity_of};
use super::number;
use serde::Serialize;
use serde_json::{Map, Value};

/// Levels of a twin's counters, as opposed to counts.
const LEVEL: &str = "fill_";
/// Levels that are there only while a part is not as described.
const STATES: [(&str, &str); 2] = [("fill_stopped", "stopped"), ("fill_slowness_thousandths", "slowed")];

/// A part of the model.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PartView {
    /// Its name among the twin's counters.
    pub name: String,
    /// As in [`Entity`].
    pub kind: &'static str,
    /// The node that it is in.
    pub node: Option<String>,
    /// `stopped` or `slowed`, where it is not as described.
    pub state: Option<&'static str>,
    /// The largest of its shares; none where the model does not count its time.
    pub busy: Option<f64>,
    /// The share of time that each of its resources was busy.
    pub shares: Vec<(String, f64)>,
    /// Counts a second, by name; those in bytes end in `bytes`.
    pub rates: Vec<(String, f64)>,
    /// Fill levels.
    pub levels: Vec<Level>,
}

/// Fill level of a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Level {
    /// Of what; in bytes where it ends in `bytes`.
    pub what: String,
    pub value: f64,
    /// The most it can be, or what it is measured by.
    pub bound: Option<f64>,
}

/// Every part of a model, in the order of its counters. `span_ns` is of the model's clock.
pub(super) fn parts(before: &Value, model: &Value, span_ns: f64) -> Vec<PartView> {
    let none = Map::new();
    let entities = model["parts"].as_object().unwrap_or(&none);
    let of = |(entity, counters): (&String, &Value)| {
        let place = entity_of(entity).filter(|place| place.kind != "volume")?;
        Some(part(entity, place, &before["parts"][entity], counters, &model["bounds"], span_ns))
    };
    entities.iter().filter_map(of).collect()
}

fn part(
    entity: &str,
    place: Entity<'_>,
    before: &Value,
    counters: &Value,
    bounds: &Value,
    span_ns: f64,
) -> PartView {
    let mut part = PartView {
        name: entity.to_owned(),
        kind: place.kind,
        node: place.node.map(str::to_owned),
        state: None,
        busy: None,
        shares: Vec::new(),
        rates: Vec::new(),
        levels: Vec::new(),
    };
    let none = Map::new();
    let bounds = bounds_of(bounds, place);
    let is_disk = counters.get("seek_ns").is_some();
    for (name, value) in counters.as_object().unwrap_or(&none) {
        let since =
            if span_ns > 0.0 { (number(value) - number(&before[name])).max(0.0) / span_ns } else { 0.0 };
        if let Some((_, state)) = STATES.iter().find(|(level, _)| level == name) {
            part.state = Some(state);
        } else if let Some(level) = name.strip_prefix(LEVEL) {
            part.levels.push(level_of(level, number(value), bounds));
        } else if let Some(what) = busy_of(name) {
            let processors = bounds.get(&what).map_or(1.0, number).max(1.0);
            part.shares.push((what.replace('_', " "), since / processors));
        } else if !name.ends_with("_ns") {
            part.rates.push((name.replace('_', " "), since * 1e9));
        }
    }
    // A disk does one thing after the other; other parts have resources of their own for each.
    let shares = part.shares.iter().map(|(_, share)| *share);
    part.busy = if is_disk { Some(shares.sum()) } else { shares.reduce(f64::max) };
    part
}

/// Returns what a counter says the part was busy with. Latencies add up over all that is under way; they are no part's
/// time.
fn busy_of(name: &str) -> Option<String> {
    let what = name.strip_suffix("_ns").filter(|what| !what.ends_with("latency"))?;
    match what.strip_suffix("busy") {
        Some("") => Some("processors".to_owned()),
        Some(what) => Some(what.trim_end_matches('_').to_owned()),
        None => Some(what.to_owned()),
    }
}

fn bounds_of<'a>(bounds: &'a Value, place: Entity<'_>) -> &'a Value {
    // Services and clients are by their own names, without their number.
    let name = place.name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('-');
    bounds.get(name).or_else(|| bounds.get(place.kind)).unwrap_or(&Value::Null)
}

fn level_of(level: &str, value: f64, bounds: &Value) -> Level {
    let bound = bounds.get(level).map(number);
    match (level.strip_suffix("blocks"), bounds.get("block_bytes").map(number)) {
        (Some(what), Some(block_bytes)) => Level {
            what: format!("{}bytes", what.replace('_', " ")),
            value: value * block_bytes,
            bound: bound.map(|bound| bound * block_bytes),
        },
        _ => Level { what: level.replace('_', " "), value, bound },
    }
}
