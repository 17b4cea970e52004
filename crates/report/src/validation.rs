//! Model errors against measured rows, as `make validate` wrote them.

mod pictures;

use serde::Deserialize;

pub use pictures::{ValidationFigure, validation_pictures};

/// The kept lines of `make validate`.
/// Errors of the shipped models, one line each, which reports of twins cite.
pub const VALIDATION: &str = include_str!("../reference/validation.jsonl");

/// Errors of one array in one quantity over some rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
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
    /// The largest error's size.
    pub worst_error: f64,
    /// The row that has it.
    pub worst_row: String,
}

/// The kept lines. A line that cannot be read is left out; a test proves that there is none.
pub fn rows() -> Vec<Row> {
    VALIDATION.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A quantity in a few words.
pub fn metric_words(metric: &str) -> &'static str {
    match metric {
        "iops" => "IOPS",
        "bw_bytes_per_s" => "bandwidth",
        metric if metric.starts_with("read.latency_ns") => "read latency",
        metric if metric.starts_with("write.latency_ns") => "write latency",
        metric if metric.contains("latency") => "latency",
        metric if metric.starts_with("sustained") => "sustained rate",
        metric if metric.starts_with("read") => "reads",
        metric if metric.starts_with("write") => "writes",
        _ => "other quantities",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every kept line is read.
    #[test]
    fn kept_lines_are_read() {
        assert_eq!(rows().len(), VALIDATION.lines().filter(|line| !line.trim().is_empty()).count());
    }
}
