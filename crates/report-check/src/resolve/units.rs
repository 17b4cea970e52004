//! Amounts as plans write them, and the units of sources.

use serde_json::Value;

/// A number, a size (`4k`) or a time (`500us`, in nanoseconds) as plans write it.
pub fn amount(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    let text = value.as_str()?.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let scale = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0f64.powi(2),
        "g" => 1024.0f64.powi(3),
        "t" => 1024.0f64.powi(4),
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "kb/s" => 1e3,
        "mb/s" => 1e6,
        "gb/s" => 1e9,
        "kib/s" => 1024.0,
        "mib/s" => 1024.0f64.powi(2),
        "gib/s" => 1024.0f64.powi(3),
        _ => return None,
    };
    Some(number * scale)
}

/// The unit that a source's values have; `None` where several are right.
pub fn unit_of(kind: &str, path: &str) -> Option<&'static str> {
    // The file of a published table has strokes of its own.
    let path = path.split('@').next().unwrap_or(path);
    let last = path.rsplit('/').next().unwrap_or(path);
    match kind {
        "finding" => {
            let name = last.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(last);
            let name = name.trim_end_matches("_confidence_95");
            Some(match name {
                _ if name.ends_with("bytes_per_s") => "bytes_per_s",
                _ if name.ends_with("iops") => "iops",
                _ if name.ends_with("_ns") => "ns",
                _ if name.ends_with("_s") => "s",
                _ if name.contains("bytes") || name.ends_with("_bs") || name.contains("_bs_") => "bytes",
                _ if name.ends_with("percent") || name.contains("ratio") || name == "rule_of_thumb" => {
                    "ratio"
                }
                "outstanding" | "parts" | "intervals" | "intervals_above" | "errors" | "rounds" | "round" => {
                    "count"
                }
                _ => return None,
            })
        }
        "result" | "published" => Some(match last {
            _ if last.contains("latency_ns") => "ns",
            _ if last.ends_with("bw_bytes_per_s") => "bytes_per_s",
            _ if last.ends_with("errors") => "count",
            _ if last.ends_with("iops") => "iops",
            _ => "s",
        }),
        "intervals" => {
            let name = last.split('#').next().unwrap_or(last);
            Some(match name {
                _ if name.ends_with("bytes_per_s") => "bytes_per_s",
                _ if name.ends_with("_s") || name.contains("latency_ns") => "s",
                _ if name.ends_with("iops") => "iops",
                _ => "count",
            })
        }
        "tolerance" => Some("ratio"),
        "found" => Some("count"),
        "cases" | "requirements" | "warnings" | "results" | "values" | "page" | "array" => Some("count"),
        "sizing" => {
            let name = last.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(last);
            Some(match name.trim_end_matches("_95") {
                "iops" => "iops",
                "share" | "over" | "under" | "per_year" => "ratio",
                _ if name.ends_with("bytes") => "bytes",
                _ if name.trim_end_matches("_95").ends_with("_ns") => "ns",
                _ if name.ends_with("_s") => "s",
                _ => "count",
            })
        }
        "what-if" => {
            let name = last.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(last);
            Some(match name.trim_end_matches("_95") {
                "iops" | "iops_before" => "iops",
                "bw_bytes_per_s" => "bytes_per_s",
                "over" | "under" | "gain" | "gain_of_doubling" => "ratio",
                "mean" | "p99" => "ns",
                "counted_s" => "s",
                _ => "count",
            })
        }
        "manifest" if path == "created_year" => Some("count"),
        "manifest" => Some("s"),
        _ => None,
    }
}
