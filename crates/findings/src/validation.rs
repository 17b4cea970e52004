//! Model errors against measured rows, as `make validate` wrote them.

use serde::{Deserialize, Serialize};

/// The kept lines of `make validate`.
pub const VALIDATION: &str = include_str!("../reference/validation.jsonl");

/// Errors of one array's twin in one quantity over some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationRow {
    /// The array.
    pub array: String,
    /// `fitted`, `unseen` or `other`.
    pub set: String,
    /// The quantity, by its path in results.
    pub metric: String,
    /// Rows compared.
    pub rows: u64,
    /// Mean of the errors' sizes, as a share.
    pub mean_error: f64,
    /// The largest error's size, as a share.
    pub worst_error: f64,
    /// The row that has it.
    pub worst_row: String,
}

/// The kept lines. A line that cannot be read is left out; a test proves that there is none.
pub fn validation_rows() -> Vec<ValidationRow> {
    VALIDATION.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every kept line is read.
    #[test]
    fn kept_lines_are_read() {
        assert_eq!(
            validation_rows().len(),
            VALIDATION.lines().filter(|line| !line.trim().is_empty()).count()
        );
    }
}
