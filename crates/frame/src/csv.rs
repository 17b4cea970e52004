//! Tables as CSV: RFC 4180 quoting, lines ended by a line feed; a missing value is an empty field.

use crate::{Column, Frame, Values};
use std::fmt::Write as _;

impl Frame {
    /// The table with a line of column names.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for (index, column) in self.columns.iter().enumerate() {
            separate(&mut text, index);
            push_text(&mut text, &column.name);
        }
        text.push('\n');
        for row in 0..self.rows() {
            for (index, column) in self.columns.iter().enumerate() {
                separate(&mut text, index);
                if column.is_present(row) {
                    push_value(&mut text, column, row);
                }
            }
            text.push('\n');
        }
        text
    }
}

fn separate(text: &mut String, index: usize) {
    if index > 0 {
        text.push(',');
    }
}

fn push_value(text: &mut String, column: &Column, row: usize) {
    // Writing to a string cannot fail. `{:?}` prints the shortest digits that read back the same.
    let _ = match &column.values {
        Values::Integers(values) => write!(text, "{}", values[row]),
        Values::Unsigned(values) => write!(text, "{}", values[row]),
        Values::Floats(values) => write!(text, "{:?}", values[row]),
        Values::Booleans(values) => write!(text, "{}", values[row]),
        Values::Texts(values) => return push_text(text, &values[row]),
        Values::Categories { places, texts } => return push_text(text, &texts[places[row] as usize]),
    };
}

fn push_text(text: &mut String, field: &str) {
    // A text that is there and empty is told from one that is missing.
    if field.is_empty() || field.contains(['"', ',', '\n', '\r']) {
        text.push('"');
        text.push_str(&field.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(field);
    }
}
