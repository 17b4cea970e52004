//! The columns of `arraylab results --csv`: one that is none of them is refused, for a figure that is passed over in
//! silence is one that the user believes to be fitted to.

use csv::StringRecord;
use diagnostic::Problem;

use crate::FitError;

/// The prefix of settings in `results --csv`.
pub(crate) const SETTINGS_PREFIX: &str = "settings.";

/// Columns of the whole case.
const OF_CASE: [&str; 11] = [
    "plan",
    "stage",
    "case",
    "target",
    "engine",
    "status",
    "duration_s",
    "iops",
    "bw_bytes_per_s",
    "error",
    "cpu_ns_per_io",
];
/// Groups of columns that a fit passes over as a whole.
const GROUPS: [&str; 7] = ["sustained.", "loads", "warnings", "extrapolation.", "hosts", "offered", "host."];
/// Columns of a direction.
const OF_DIRECTION: [&str; 9] = [
    "ios",
    "bytes",
    "errors",
    "iops",
    "bw_bytes_per_s",
    "latency_ns.mean",
    "latency_ns.p99",
    "latency_ns.min",
    "latency_ns.max",
];
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Refuses a heading with a column that is none of results, or that is there twice.
pub(crate) fn check(file: &str, headers: &StringRecord) -> Result<(), FitError> {
    for (index, header) in headers.iter().enumerate() {
        let refused = |what: &str, hint: String| {
            let column = format!("`{file}`, line 1, column {}: `{header}` {what}", index + 1);
            FitError::Column(Problem::new(column).with_hint(hint))
        };
        if headers.iter().take(index).any(|before| before == header) {
            return Err(refused("is there twice", "leave one of the two out".to_owned()));
        }
        if let Some(setting) = header.strip_prefix(SETTINGS_PREFIX) {
            if plan::setting(setting).is_none() {
                let hint = plan::setting_hint(setting).unwrap_or_else(|| "leave it out".to_owned());
                return Err(refused("is no setting", hint));
            }
        } else if !is_known(header) {
            return Err(refused("is no column of `arraylab results RUN --csv`", hint(header)));
        }
    }
    Ok(())
}

fn is_known(header: &str) -> bool {
    let of_direction = |header: &str| {
        header.split_once('.').is_some_and(|(direction, column)| {
            DIRECTIONS.contains(&direction) && (OF_DIRECTION.contains(&column) || is_latency(column))
        })
    };
    // A direction that did nothing is one empty column.
    OF_CASE.contains(&header)
        || DIRECTIONS.contains(&header)
        || of_direction(header)
        || GROUPS.iter().any(|group| header.starts_with(group))
}

/// A mean, an extreme or a percentile.
fn is_latency(column: &str) -> bool {
    let figure = column.strip_prefix("latency_ns.").or_else(|| column.strip_prefix("service_ns."));
    figure.is_some_and(|figure| {
        let percentile = figure.strip_prefix('p').and_then(|text| text.parse::<f64>().ok());
        ["mean", "min", "max"].contains(&figure) || percentile.is_some_and(|of| (0.0..=100.0).contains(&of))
    })
}

/// Returns a hint on the quantity that a header probably means.
fn hint(header: &str) -> String {
    let lower = header.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let direction = if has(&["write", "_w_"]) { "write" } else { "read" };
    if has(&["lat", "mean", "avg", "resp", "_us", "_ms"]) && !has(&["iops", "bw"]) {
        return format!(
            "did you mean `{direction}.latency_ns.mean`? It is in nanoseconds: 1 µs is 1,000, 1 ms is 1,000,000"
        );
    }
    let known: Vec<String> = OF_CASE
        .iter()
        .map(|name| (*name).to_owned())
        .chain(
            DIRECTIONS.iter().flat_map(|of| OF_DIRECTION.iter().map(move |column| format!("{of}.{column}"))),
        )
        .collect();
    match plan::nearest(header, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None if plan::setting(header).is_some() => {
            format!("did you mean the setting, `{SETTINGS_PREFIX}{header}`?")
        }
        None => format!(
            "leave it out, or name what it is: `{SETTINGS_PREFIX}NAME`, `iops`, `read.latency_ns.mean`, `write.latency_ns.mean`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(headers: &[&str]) -> String {
        diagnostic::full_text(&check("mine.csv", &StringRecord::from(headers.to_vec())).unwrap_err())
    }

    /// Proves that a column which a fit would pass over in silence is refused by line and column, with what was meant.
    #[test]
    fn an_unknown_column_is_refused() {
        let message = refusal(&["settings.bs", "iops", "read_mean_us"]);
        assert!(
            message.starts_with("`mine.csv`, line 1, column 3: `read_mean_us` is no column"),
            "{message}"
        );
        assert!(message.contains("did you mean `read.latency_ns.mean`? It is in nanoseconds"), "{message}");
        for (headers, hint) in [
            (&["settings.bs", "iops", "write_latency_ms"][..], "`write.latency_ns.mean`"),
            (&["settings.bs", "iops", "read.iopss"], "`read.iops`"),
            (&["settings.queue_depth", "iops"], "`iodepth`"),
            (&["settings.bs", "iops", "numjobs"], "`settings.numjobs`"),
            (&["settings.bs", "iops", "iops"], "leave one of the two out"),
            (&["settings.bs", "iops", "read.latency_us.mean"], "`read.latency_ns.mean`"),
        ] {
            let message = refusal(headers);
            assert!(message.contains(hint), "{headers:?}: {message}");
        }
    }

    /// Proves that every column that results have is let through, with optional ones.
    #[test]
    fn columns_of_results_are_known() {
        let headers = [
            "plan",
            "stage",
            "case",
            "settings.bs",
            "target",
            "engine",
            "status",
            "duration_s",
            "iops",
            "bw_bytes_per_s",
            "read.ios",
            "read.latency_ns.p99.9",
            "write",
            "trim.service_ns.max",
            "sustained.iops",
            "loads",
            "error",
            "warnings",
            "cpu_ns_per_io",
        ];
        check("mine.csv", &StringRecord::from(headers.to_vec())).unwrap();
    }
}
