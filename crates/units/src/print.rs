//! Quantities as people read them. Decimal units for rates and latencies (10^6 bytes is 1 MB), as the published
//! tests use them; powers of 1024 for sizes.

use std::fmt::Write as _;

/// `1234567` → `1,234,567`.
pub fn with_thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size: `4 KiB`, `1.5 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    const SUFFIXES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = bytes as f64;
    let mut index = 0;
    while scaled >= 1024.0 && index + 1 < SUFFIXES.len() {
        scaled /= 1024.0;
        index += 1;
    }
    format!("{} {}", three_digits(scaled), SUFFIXES[index])
}

/// A rate of I/Os: `507,724`, `98.4`.
pub fn human_rate(iops: f64) -> String {
    if iops >= 1000.0 { with_thousands(iops.round() as u64) } else { three_digits(iops) }
}

/// Prints a count of something whose plural ends in s: `1 case`, `1,010 cases`.
pub fn human_count(count: u64, singular: &str) -> String {
    format!("{} {singular}{}", with_thousands(count), if count == 1 { "" } else { "s" })
}

/// A bandwidth in decimal units: `2.08 GB/s`.
pub fn human_bandwidth(bytes_per_s: f64) -> String {
    let (scaled, suffix) = match bytes_per_s {
        b if b >= 1e9 => (b / 1e9, "GB/s"),
        b if b >= 1e6 => (b / 1e6, "MB/s"),
        b if b >= 1e3 => (b / 1e3, "kB/s"),
        b => (b, "B/s"),
    };
    format!("{} {suffix}", three_digits(scaled))
}

/// A latency: `1.21 ms`, `140 µs`.
pub fn human_latency(latency_ns: f64) -> String {
    let (scaled, suffix) = match latency_ns {
        n if n >= 1e9 => (n / 1e9, "s"),
        n if n >= 1e6 => (n / 1e6, "ms"),
        n if n >= 1e3 => (n / 1e3, "µs"),
        n => (n, "ns"),
    };
    format!("{} {suffix}", three_digits(scaled))
}

/// A duration in words of a clock: `2 h 05 min`, `3 min 20 s`, `45 s`, `0.5 s`.
pub fn human_duration(nanos: u64) -> String {
    let seconds = nanos / crate::NANOS_PER_SECOND;
    if seconds >= 86_400 {
        format!("{} d {:02} h", seconds / 86_400, seconds / 3600 % 24)
    } else if seconds >= 3600 {
        format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60)
    } else if seconds >= 60 {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    } else if nanos.is_multiple_of(crate::NANOS_PER_SECOND) || seconds >= 10 {
        format!("{seconds} s")
    } else {
        format!("{} s", three_digits(nanos as f64 / 1e9))
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let mut text = String::new();
    let _ = write!(text, "{value:.decimals$}");
    if text.contains('.') {
        let kept = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(kept);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that one is not spoken of as many.
    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [0, 1, 1010].map(|count| human_count(count, "case")),
            ["0 cases", "1 case", "1,010 cases"]
        );
    }

    /// Proves the printed form of each quantity at the edges of its units.
    #[test]
    fn quantities_print_as_people_read_them() {
        assert_eq!(with_thousands(0), "0");
        assert_eq!(with_thousands(1_234_567), "1,234,567");
        assert_eq!(human_bytes(4096), "4 KiB");
        assert_eq!(human_bytes(3 << 29), "1.5 GiB");
        assert_eq!(human_rate(507_724.4), "507,724");
        assert_eq!(human_rate(98.44), "98.4");
        assert_eq!(human_bandwidth(2.08e9), "2.08 GB/s");
        assert_eq!(human_latency(140_000.0), "140 µs");
        assert_eq!(human_latency(1_210_000.0), "1.21 ms");
        assert_eq!(human_duration(7_500_000_000_000), "2 h 05 min");
        assert_eq!(human_duration(500_000_000), "0.5 s");
        assert_eq!(human_duration(45_000_000_000), "45 s");
    }
}
