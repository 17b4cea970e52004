//! Model errors in words and pictures.

mod pictures;

pub use pictures::{ValidationFigure, validation_pictures};

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
