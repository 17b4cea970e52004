//! Tables as CSV: RFC 4180 quoting, lines ended by a line feed; a missing value is an empty field.

use crate::{Column, Frame, Values};
use std::fmt::Write as _;

impl Frame {
    /// The table with a line of column names.
    pub fn to_csv(&self) -> String {
        let mut text = self.csv_header();
        text.push_str(&self.csv_rows());
        text
    }

    /// The line of column names.
    pub fn csv_header(&self) -> String {
        let mut text = String::new();
        for (index, column) in self.columns.iter().enumerate() {
            separate(&mut text, index);
            push_text(&mut text, &column.name);
        }
        text.push('\n');
        text
    }

    /// The rows alone, for tables that are written piece by piece.
    pub fn csv_rows(&self) -> String {
        let mut text = String::new();
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

#[cfg(test)]
mod tests {
    use crate::Frame;
    use serde_json::json;

    /// Proves that missing values, empty texts, quotes and numbers of all kinds are told apart.
    #[test]
    fn cells_are_told_apart() {
        let frame = Frame::of_rows(vec![
            json!({ "a": 1, "b": { "c": 0.1, "d": "x,\"y\"" }, "e": null, "f": [true], "g": 18_446_744_073_709_551_615_u64 }),
            json!({ "a": 2.5, "b": { "d": "" }, "e": 7, "f": [false, "z"] }),
        ]);
        assert_eq!(
            frame.to_csv(),
            "a,b.c,b.d,f.0,g,e,f.1\n1.0,0.1,\"x,\"\"y\"\"\",true,18446744073709551615,,\n2.5,,\"\",false,,7,z\n"
        );
        assert_eq!(frame.to_csv(), frame.csv_header() + &frame.csv_rows());
    }
}
