//! Number formatting in sentences.

/// IOPS to four figures at least, grouped by thousands.
pub(crate) fn iops(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1} IOPS")
    } else {
        format!("{} IOPS", units::with_thousands(value.round() as u64))
    }
}

/// Bytes a second, in the units of the report's tables and tiles.
pub(crate) fn bandwidth(bytes_per_s: f64) -> String {
    units::human_bandwidth(bytes_per_s)
}

/// A latency, as the report's tables and tiles print it.
pub(crate) fn latency(ns: f64) -> String {
    units::human_latency(ns)
}

/// A block size: `4K`, `512 B`.
pub(crate) fn block(bytes: u64) -> String {
    let size = units::Bytes(bytes).to_string();
    let unit = if size.ends_with(|last: char| last.is_ascii_digit()) { " B" } else { "" };
    format!("{}{unit}", size.to_ascii_uppercase())
}

/// Seconds, with a decimal below one, minutes from two on, hours from two on.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds > 0.0 && seconds < 0.95 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.1} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// So many of something: `1 case`, `1,010 cases`.
pub(crate) fn count(number: usize, singular: &str) -> String {
    units::human_count(number as u64, singular)
}

/// Bytes in MB, GB or TB (powers of ten).
pub(crate) fn gigabytes(bytes: f64) -> String {
    if bytes < 1e9 {
        format!("{:.0} MB", bytes / 1e6)
    } else if bytes < 1e12 {
        format!("{:.1} GB", bytes / 1e9)
    } else {
        format!("{:.2} TB", bytes / 1e12)
    }
}
