//! JSON object of what follows from an array of parts by arithmetic: `arraylab check --json`. Scripts rely on its fields.

use array::{Array, Ceiling, Kind, SetBy};
use serde_json::{Value, json};

/// Capacity, ceilings, values with their origins, and warnings of an array.
pub fn array_check(name: &str, array: &Array) -> Value {
    let (sets, _) = array::sets(array);
    let capacities = array::capacity(array, &sets);
    let ceilings = array::ceilings(array, &sets);
    let warnings = array::warnings(array, &sets, &ceilings);
    let bill = array::bill(array);
    let (raw_bytes, usable_bytes) = array::totals(array, &capacities);
    let slowest_ns = capacities.iter().filter_map(|capacity| capacity.rebuild_ns).max();
    json!({
        "array": name,
        "title": array.title,
        "capacity": {
            "raw_bytes": raw_bytes,
            "usable_bytes": usable_bytes,
            "groups": capacities,
        },
        "ceilings": ceilings.iter().map(ceiling).collect::<Vec<_>>(),
        // Of the drive that takes longest, its delay included.
        "rebuild_s": slowest_ns.map(|ns| ns as f64 / 1e9),
        // Parts without a figure make the sum unknown.
        "price_usd": bill.price_usd,
        "without_price": bill.without_price,
        "watts": bill.watts,
        "without_watts": bill.without_watts,
        "rated_writes": array::rated_writes(array),
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
                    // What is unlimited or unknown has no number; a rating is its text.
                    "value": (value.value != array::UNLIMITED && key.kind != Kind::Endurance)
                        .then_some(value.value),
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
        Kind::Dollars => "cents",
        Kind::Power => "milliwatts",
        Kind::Endurance | Kind::Switch | Kind::Word(_) | Kind::Text => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Array of which all parts have a price and watts.
    const PRICED: &str = "title: a\nfabric: { ports: 4, price_usd: 12.5, watts: 1 }\n\
        controllers: { count: 2, price_usd: { value: 1000, origin: published, from: an offer }, watts: 100.5 }\n\
        groups:\n  - { name: g, layout: raid5, drives: { use: nas-4tb, count: 5, price_usd: 100, watts: 6 } }\n";

    fn checked(text: &str) -> Value {
        let description = crate::parse_array("a", text).unwrap();
        array_check("a", &description.parts)
    }

    /// Proves that prices and watts are added up over all parts, hosts aside unless they have one, and that a part without a figure is
    /// named and leaves no sum.
    #[test]
    fn prices_and_watts_are_added_up() {
        let check = checked(PRICED);
        assert_eq!((check["price_usd"].as_f64(), check["watts"].as_f64()), (Some(2550.0), Some(235.0)));
        let with_hosts = checked(&format!("{PRICED}hosts: {{ count: 2, price_usd: 3000 }}\n"));
        assert_eq!(with_hosts["price_usd"], 8550.0);
        let without = checked(&PRICED.replace(", price_usd: 100, watts: 6", ", watts: unknown"));
        assert_eq!((&without["price_usd"], &without["watts"]), (&Value::Null, &Value::Null));
        assert_eq!(without["without_price"], json!(["groups[0].drives"]));
        let cached = checked(&format!("{PRICED}cache: {{ read: 1GiB }}\n"));
        assert_eq!((&cached["price_usd"], &cached["without_price"]), (&Value::Null, &json!(["cache"])));
        let value = |path: &str| {
            let values = check["values"].as_array().unwrap();
            values.iter().find(|value| value["path"] == path).unwrap().clone()
        };
        let price = value("controllers.price_usd");
        assert_eq!(
            (&price["value"], &price["unit"], &price["from"]),
            (&json!(100_000), &json!("cents"), &json!("an offer"))
        );
        assert_eq!(value("groups[0].drives.endurance")["text"], "unknown");
    }

    /// Proves that rated writes are those of the drives that hold data, spares aside, and unknown without a rating.
    #[test]
    fn rated_writes_are_listed() {
        let rated = PRICED.replace("watts: 6 ", "watts: 6, endurance: 2PB ");
        let rated = checked(&rated.replace("layout: raid5", "layout: raid5, spares: 1"));
        assert_eq!(rated["rated_writes"], json!([{"group": "g", "drives": 4, "drive_bytes": 2e15}]));
        assert_eq!(checked(PRICED)["rated_writes"][0]["drive_bytes"], Value::Null);
    }

    /// Proves that prices, watts and ratings that cannot be are refused with what they take.
    #[test]
    fn wrong_prices_are_refused() {
        for (right, wrong, expected) in [
            ("price_usd: 100,", "price_usd: -1,", "an amount in US dollars"),
            ("price_usd: 100,", "price_usd: 9999999999,", "out of range"),
            ("watts: 6 ", "watts: 6W ", "watts, as"),
            ("watts: 6 ", "watts: 6, endurance: 5y ", "1DWPD/5y"),
        ] {
            let refused =
                diagnostic::full_text(&crate::parse_array("a", &PRICED.replace(right, wrong)).unwrap_err());
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
