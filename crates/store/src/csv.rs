//! Results as a table: the fields of the JSON with dots in their names.

use crate::CaseResult;
use serde_json::Value;
use std::collections::HashMap;

/// Fields of a direction that every table has, so that a script finds its columns also where nothing was written.
const DIRECTION_COLUMNS: [&str; 13] = [
    "ios",
    "bytes",
    "errors",
    "iops",
    "bw_bytes_per_s",
    "latency_ns.mean",
    "latency_ns.p50",
    "latency_ns.p95",
    "latency_ns.p99",
    "latency_ns.p99.9",
    "latency_ns.p99.99",
    "latency_ns.min",
    "latency_ns.max",
];

/// Results as CSV (RFC 4180 quoting, lines ended by a line feed). Settings become `settings.NAME`, in the order in
/// which they first appear; fields that not every run has follow at the end.
pub fn results_csv(results: &[CaseResult]) -> String {
    let rows: Vec<Vec<(String, String)>> = results.iter().map(flat).collect();
    let columns = columns(&rows);
    let mut table = String::new();
    push_line(&mut table, columns.iter().map(String::as_str));
    for row in &rows {
        let fields: HashMap<&str, &str> =
            row.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        push_line(&mut table, columns.iter().map(|name| fields.get(name.as_str()).copied().unwrap_or("")));
    }
    table
}

/// The columns of `results_csv`, in order.
pub fn result_columns(results: &[CaseResult]) -> Vec<String> {
    columns(&results.iter().map(flat).collect::<Vec<_>>())
}

fn columns(rows: &[Vec<(String, String)>]) -> Vec<String> {
    let mut columns = Columns::default();
    for name in ["plan", "stage", "case"] {
        columns.add(name);
    }
    for (name, _) in rows.iter().flatten().filter(|(name, _)| name.starts_with("settings.")) {
        columns.add(name);
    }
    for name in ["target", "engine", "status", "duration_s", "iops", "bw_bytes_per_s"] {
        columns.add(name);
    }
    for direction in ["read", "write"] {
        for column in DIRECTION_COLUMNS {
            columns.add(&format!("{direction}.{column}"));
        }
    }
    for (name, _) in rows.iter().flatten() {
        columns.add(name);
    }
    columns.names
}

/// Names in the order in which they were added, each once.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    known: std::collections::BTreeSet<String>,
}

impl Columns {
    fn add(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
    }
}

fn flat(result: &CaseResult) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    // A result is made of strings, numbers and maps with string keys, all of which JSON has.
    let value = serde_json::to_value(result).unwrap_or_default();
    flatten(String::new(), &value, &mut fields);
    fields
}

fn flatten(name: String, value: &Value, fields: &mut Vec<(String, String)>) {
    let inner = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(members) => members.iter().for_each(|(key, value)| flatten(inner(key), value, fields)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(inner(&index.to_string()), item, fields);
            }
        }
        Value::String(text) => fields.push((name, text.clone())),
        Value::Bool(_) | Value::Number(_) => fields.push((name, value.to_string())),
    }
}

fn push_line<'a>(table: &mut String, fields: impl Iterator<Item = &'a str>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            table.push(',');
        }
        if field.contains(['"', ',', '\n', '\r']) {
            table.push('"');
            table.push_str(&field.replace('"', "\"\""));
            table.push('"');
        } else {
            table.push_str(field);
        }
    }
    table.push('\n');
}
