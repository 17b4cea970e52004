//! Fields of findings that claims may name: numbers, and words by which findings are told apart.
//!
//! `findings` proves that this table is what its findings have.

/// Numbers of each kind of finding, by their path in JSON.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "level",
        &[
            "iops",
            "bw_bytes_per_s",
            "mean_latency_ns",
            "variation_percent",
            "outstanding",
            "read.iops",
            "read.mean_latency_ns",
            "write.iops",
            "write.mean_latency_ns",
        ],
    ),
    (
        "write-cliff",
        &[
            "onset_s",
            "bytes_written",
            "before.iops",
            "before.bw_bytes_per_s",
            "after.iops",
            "after.bw_bytes_per_s",
            "depth_percent",
            "fall_s",
            "reads_before.iops",
            "reads_after.iops",
            "drift_after_percent",
            "reserve_bytes",
            "sustained.iops",
            "sustained.bw_bytes_per_s",
            "noise_percent",
            "recovery.at_s",
            "recovery.share_percent",
            "further_falls.onset_s",
            "further_falls.depth_percent",
        ],
    ),
    (
        "ramp-fall",
        &[
            "onset_s",
            "bytes_written",
            "before.iops",
            "before.bw_bytes_per_s",
            "after.iops",
            "after.bw_bytes_per_s",
            "depth_percent",
        ],
    ),
    ("no-write-cliff", &["intervals", "length_s", "smallest_visible_percent"]),
    ("steady-state", &["round", "at_s", "average", "range_percent", "slope_percent"]),
    ("saturation", &["at", "at_least", "iops", "maximum_iops", "mean_latency_ns"]),
    ("maximum", &["iops", "bw_bytes_per_s", "mean_latency_ns"]),
    ("maximum-under-latency", &["iops", "bw_bytes_per_s", "mean_latency_ns"]),
    ("found-load", &["load", "iops"]),
    ("minimal-latency", &["mean_latency_ns", "iops"]),
    ("best-block-size", &["best_bs", "iops_share_percent", "bw_bytes_per_s"]),
    ("flattening", &["from_bs", "bw_bytes_per_s", "deviation_percent"]),
    ("limit", &["use_percent", "iops", "bw_bytes_per_s"]),
    ("path-balance", &["largest_over_mean", "smallest_over_mean"]),
    ("host-balance", &["largest_over_mean", "smallest_over_mean"]),
    ("write-penalty", &["ratio", "read_iops", "write_iops", "rule_of_thumb"]),
    ("effect", &["ratio"]),
    (
        "disruption",
        &[
            "at_s",
            "until_s",
            "level_iops",
            "level_latency_ns",
            "iops_percent",
            "latency_percent",
            "mean_latency_percent",
            "rate_change.change_percent",
            "rate_change.after_iops",
            "latency_change.change_percent",
            "ios_missing",
            "errors",
            "dips.length_s",
            "dips.extreme_percent",
            "latency_bumps.length_s",
            "latency_bumps.extreme_percent",
        ],
    ),
    (
        "conformance",
        &[
            "allowed",
            "delivered",
            "largest",
            "from_s",
            "to_s",
            "intervals",
            "intervals_above",
            "takes_effect_s",
        ],
    ),
];

/// Words by which findings of all kinds are told apart.
const WORDS: &[&str] = &["event", "quantity", "by", "part", "on", "setting", "variable", "paths"];

/// The kinds of findings with the paths of their numbers.
pub fn finding_fields() -> &'static [(&'static str, &'static [&'static str])] {
    FIELDS
}

/// The words of findings by which a selector may choose among them.
pub fn finding_words() -> &'static [&'static str] {
    WORDS
}
