//! Tables of a report.

use findings::Cited;

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Identifier on the page.
    pub id: String,
    /// Caption.
    pub caption: Cited,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; each has as many cells as there are columns. An empty cell is a value that does not exist.
    pub rows: Vec<Vec<Cited>>,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Title of the column, with the unit.
    pub title: Cited,
    /// Numbers stand to the right.
    pub is_numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn words(title: impl Into<Cited>) -> Self {
        Column { title: title.into(), is_numeric: false }
    }

    /// A column of numbers.
    pub fn numbers(title: impl Into<Cited>) -> Self {
        Column { title: title.into(), is_numeric: true }
    }
}
