//! JSON object of what follows from an array of parts by arithmetic: `arraylab check --json`. Scripts rely on its fields.

use crate::{PlanError, PlanErrorKind};
use array::{Array, Ceiling, Kind, SetBy};
use serde_json::{Value, json};
use twin::ArrayDescription;

/// The parts of an array; refused where a kind of array describes it, of which nothing follows by arithmetic.
pub fn parts_of<'a>(name: &str, description: &'a ArrayDescription) -> Result<&'a Array, PlanError> {
    description.composed.as_deref().ok_or_else(|| {
        let message =
            format!("`{name}` is described by one kind of array, not by parts: there is nothing to work out");
        PlanError::new(PlanErrorKind::OutOfRange, message)
            .hint(format!("`arraylab show array {name}` prints its values with their origins"))
    })
}

/// Capacity, ceilings, values with their origins, and warnings of an array.
pub fn array_check(name: &str, array: &Array) -> Value {
    let (sets, _) = array::sets(array);
    let capacities = array::capacity(array, &sets);
    let ceilings = array::ceilings(array, &sets);
    let warnings = array::warnings(array, &sets, &ceilings);
    let slowest_ns = capacities.iter().filter_map(|capacity| capacity.rebuild_ns).max();
    json!({
        "array": name,
        "title": array.title,
        "capacity": {
            "raw_bytes": capacities.iter().map(|capacity| capacity.raw_bytes).sum::<u64>(),
            "usable_bytes": capacities.iter().map(|capacity| capacity.usable_bytes).sum::<u64>(),
            "groups": capacities,
        },
        "ceilings": ceilings.iter().map(ceiling).collect::<Vec<_>>(),
        // Of the drive that takes longest, its delay included.
        "rebuild_s": slowest_ns.map(|ns| ns as f64 / 1e9),
        "values": values(array),
        "warnings": warnings.iter().map(|warning| json!({
            "code": warning.code,
            "text": warning.message,
            "path": warning.path,
        })).collect::<Vec<_>>(),
    })
}

fn ceiling(ceiling: &Ceiling) -> Value {
    json!({
        "part": ceiling.part,
        "on": ceiling.on,
        "rw": if ceiling.is_read { "read" } else { "write" },
        "bs": ceiling.block_bytes,
        "iops": ceiling.iops,
        "bw_bytes_per_s": ceiling.iops * ceiling.block_bytes as f64,
    })
}

fn values(array: &Array) -> Vec<Value> {
    let of_section = |(path, keys, values): (String, &'static [array::Key], Vec<&array::Parameter>)| {
        keys.iter()
            .zip(values)
            .map(|(key, value)| {
                let (origin, part) = match &value.set_by {
                    SetBy::Array => ("given", None),
                    SetBy::Part(part) => ("part", Some(part)),
                    SetBy::Default => ("default", None),
                };
                json!({
                    "path": format!("{path}.{}", key.name),
                    // What is unlimited has no number.
                    "value": (value.value != array::UNLIMITED).then_some(value.value),
                    "text": value.text,
                    "unit": unit_of(key.kind),
                    "origin": origin,
                    "part": part,
                    "evidence": value.origin.word(),
                    "from": value.from,
                })
            })
            .collect::<Vec<_>>()
    };
    array.sections().into_iter().flat_map(of_section).collect()
}

/// Unit of a value.
fn unit_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "count",
        Kind::Bytes => "bytes",
        Kind::Time => "ns",
        Kind::Rate | Kind::Limit => "bytes/s",
        Kind::Share => "millionths",
        Kind::Switch | Kind::Word(_) | Kind::Text => "text",
    }
}
