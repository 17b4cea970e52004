//! Tables of JSON objects: members become columns with dots in their names, each of the narrowest type that holds all
//! its values.

use crate::{Column, Frame, Values};
use serde_json::Value;
use std::collections::HashMap;

impl Frame {
    /// A table with a row for each object and a column for each member, in the order in which members first appear.
    /// Members of members have dots in their names; lists have their items' numbers. A member that is null or not there is
    /// missing.
    pub fn of_rows(rows: Vec<Value>) -> Frame {
        Frame::of_rows_in_order(rows, &[])
    }

    /// The same with these columns first, in this order, also where no row has them.
    pub fn of_rows_in_order(rows: Vec<Value>, first: &[String]) -> Frame {
        let mut members = Members::default();
        for name in first {
            members.place(name);
        }
        let rows_total = rows.len();
        for (row, value) in rows.into_iter().enumerate() {
            flatten("", value, &mut |name, value| {
                let place = members.place(name);
                members.cells[place].push((row, value));
            });
        }
        let columns = members.names.into_iter().zip(members.cells);
        Frame { columns: columns.map(|(name, cells)| column(name, &cells, rows_total)).collect() }
    }
}

/// Cells by member, in the order in which members first appear.
#[derive(Default)]
struct Members {
    names: Vec<String>,
    places: HashMap<String, usize>,
    cells: Vec<Vec<(usize, Value)>>,
}

impl Members {
    fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.places.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.cells.push(Vec::new());
        self.names.len() - 1
    }
}

fn flatten(name: &str, value: Value, on_cell: &mut dyn FnMut(&str, Value)) {
    let inner = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            members.into_iter().for_each(|(key, value)| flatten(&inner(&key), value, on_cell));
        }
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                flatten(&inner(&index.to_string()), item, on_cell);
            }
        }
        cell => on_cell(name, cell),
    }
}

/// A column without values: its name says what they would be, so that tables of several runs go together.
fn empty_column(name: String, rows: usize) -> Column {
    const WHOLE: [&str; 12] =
        ["ios", "bytes", "errors", "p50", "p95", "p99", "p99.9", "p99.99", "min", "max", "_ns", "_index"];
    const FRACTIONS: [&str; 4] = ["iops", "_per_s", "mean", "_s"];
    let ends_in = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let values = if ends_in(&FRACTIONS) {
        Values::Floats(vec![0.0; rows])
    } else if ends_in(&WHOLE) {
        Values::Integers(vec![0; rows])
    } else {
        Values::Texts(vec![String::new(); rows])
    };
    Column { name, values, present: Some(vec![false; rows]) }
}

/// A column of the narrowest type that holds all its values.
fn column(name: String, cells: &[(usize, Value)], rows: usize) -> Column {
    if cells.is_empty() {
        return empty_column(name, rows);
    }
    let all = |is: fn(&Value) -> bool| cells.iter().all(|(_, value)| is(value));
    let values = if all(Value::is_i64) {
        Values::Integers(filled(cells, rows, Value::as_i64))
    } else if all(Value::is_u64) {
        Values::Unsigned(filled(cells, rows, Value::as_u64))
    } else if all(Value::is_number) {
        Values::Floats(filled(cells, rows, Value::as_f64))
    } else if all(Value::is_boolean) {
        Values::Booleans(filled(cells, rows, Value::as_bool))
    } else {
        Values::Texts(filled(cells, rows, |value| match value {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }))
    };
    let present = (cells.len() < rows).then(|| {
        let mut present = vec![false; rows];
        cells.iter().for_each(|(row, _)| present[*row] = true);
        present
    });
    Column { name, values, present }
}

fn filled<T: Default + Clone>(
    cells: &[(usize, Value)],
    rows: usize,
    read: impl Fn(&Value) -> Option<T>,
) -> Vec<T> {
    let mut values = vec![T::default(); rows];
    for (row, value) in cells {
        values[*row] = read(value).unwrap_or_default();
    }
    values
}
