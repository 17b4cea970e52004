//! Inventory changes between two runs: host, array, targets, versions, and what commands said.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use store::{Manifest, SourceText};

/// Facts that differ in every run and say nothing of it.
const PASSING: [&str; 6] =
    ["boot_id", "uptime_s", "load_average", "mem_available_bytes", "memory_free_bytes", "pid"];

/// Something that two runs say otherwise; serialises as a line of `arraylab compare --trend --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InventoryChange {
    /// Place in the inventory: `host/kernel`, `array/layout`, `inventory/nvme list`.
    pub place: String,
    /// In the run before; null where it says nothing of it.
    pub before: Option<String>,
    /// In the run after.
    pub after: Option<String>,
}

/// Lists the changes of the inventory between two runs, in the order of the places.
pub fn inventory_changes(before: &Manifest, after: &Manifest) -> Vec<InventoryChange> {
    let mut changes = Vec::new();
    let (old, new) = (facts(before), facts(after));
    let places: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for place in places {
        let (before, after) = (old.get(place), new.get(place));
        if before != after {
            changes.push(InventoryChange {
                place: place.clone(),
                before: before.cloned(),
                after: after.cloned(),
            });
        }
    }
    let (old, new) = (texts(before), texts(after));
    let places: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for place in places {
        let none = String::new();
        let (before, after) = (old.get(place).unwrap_or(&none), new.get(place).unwrap_or(&none));
        // Lines that only one of them has: an order of lines is seldom a fact.
        let only = |of: &str, other: &str| -> Vec<String> {
            let known: BTreeSet<&str> = other.lines().map(str::trim_end).collect();
            of.lines().map(str::trim_end).filter(|line| !known.contains(line)).map(str::to_owned).collect()
        };
        let (gone, come) = (only(before, after), only(after, before));
        for place_of_line in 0..gone.len().max(come.len()) {
            changes.push(InventoryChange {
                place: place.clone(),
                before: gone.get(place_of_line).cloned(),
                after: come.get(place_of_line).cloned(),
            });
        }
    }
    changes
}

/// Facts of a run by their place.
fn facts(manifest: &Manifest) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut put = |place: &str, value: &str| {
        all.insert(place.to_owned(), value.to_owned());
    };
    put("arraylab version", &manifest.arraylab_version);
    put("engine", &manifest.engine);
    put("seed", &manifest.seed.to_string());
    put("plan name", &manifest.plan.name);
    if let Some(array) = &manifest.array {
        put("array name", &array.name);
    }
    for (name, value) in &manifest.overrides {
        put(&format!("array setting {name}"), value);
    }
    for (name, value) in &manifest.selection.set {
        put(&format!("setting {name}"), value);
    }
    for (place, target) in manifest.targets.iter().enumerate() {
        flatten(&format!("target {}", place + 1), &target.identity, &mut all);
    }
    flatten("host", &manifest.host, &mut all);
    for host in &manifest.hosts {
        flatten(&format!("host {}", host.name), &host.facts, &mut all);
        for (place, target) in host.targets.iter().enumerate() {
            flatten(&format!("host {} target {}", host.name, place + 1), &target.identity, &mut all);
        }
    }
    all
}

/// Leaves of a value by their path; outputs of commands are texts, and passing facts are left out.
fn flatten(place: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(name, _)| name.as_str() != "inventory" && !PASSING.contains(&name.as_str()));
            kept.for_each(|(name, value)| flatten(&format!("{place}/{name}"), value, all));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{place}/{}", index + 1), item, all);
            }
        }
        Value::String(text) => {
            all.insert(place.to_owned(), text.clone());
        }
        other => {
            all.insert(place.to_owned(), other.to_string());
        }
    }
}

/// Texts that are compared line by line: plan, array, outputs of commands.
fn texts(manifest: &Manifest) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    all.insert("plan".to_owned(), manifest.plan.text.clone());
    all.insert(
        "array".to_owned(),
        manifest.array.as_ref().map_or_else(String::new, |SourceText { text, .. }| text.clone()),
    );
    let mut commands = |prefix: &str, facts: &Value| {
        let answers = facts.get("inventory").and_then(Value::as_array).into_iter().flatten();
        for answer in answers {
            let word = |key: &str| answer.get(key).and_then(Value::as_str);
            if let Some(command) = word("command") {
                all.insert(format!("{prefix}{command}"), word("output").unwrap_or_default().to_owned());
            }
        }
    };
    commands("inventory/", &manifest.host);
    for host in &manifest.hosts {
        commands(&format!("{} inventory/", host.name), &host.facts);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Proves that firmware in a command's output, a kernel, a part of the array and a drive's identity are told as changes, each
    /// with both values, and that a new boot is none.
    #[test]
    fn changes_are_told_with_both_values() {
        let manifest = |kernel: &str, firmware: &str, drives: &str, boot: &str| Manifest {
            host: json!({"kernel": kernel, "boot_id": boot, "cpu": {"model": "Xeon", "cores": 8},
                "inventory": [{"command": "nvme list", "output": format!("/dev/nvme0n1 {firmware}\n/dev/nvme1n1 1.0\n")}]}),
            array: Some(SourceText {
                name: "a".into(),
                source: "a.yaml".into(),
                text: format!("title: A\ndrives: {drives}\n"),
            }),
            ..Manifest::default()
        };
        let before = manifest("6.1", "1.0", "8", "x");
        assert_eq!(inventory_changes(&before, &manifest("6.1", "1.0", "8", "y")), []);
        let changes = inventory_changes(&before, &manifest("6.12", "1.1", "12", "y"));
        let reported: Vec<(&str, Option<&str>, Option<&str>)> = changes
            .iter()
            .map(|one| (one.place.as_str(), one.before.as_deref(), one.after.as_deref()))
            .collect();
        assert_eq!(
            reported,
            [
                ("host/kernel", Some("6.1"), Some("6.12")),
                ("array", Some("drives: 8"), Some("drives: 12")),
                ("inventory/nvme list", Some("/dev/nvme0n1 1.0"), Some("/dev/nvme0n1 1.1")),
            ]
        );
    }
}
