//! vdbench's `flatfile.html`: a row for each interval of each run.

use super::vdbench_rows::{Row, RunSettings, averaged, case, time_of_day_ms};
use super::{Measured, invalid};
use crate::ImportError;
use crate::detect::is_flatfile_header;
use crate::vdbench::parse_number;
use std::path::Path;

/// A day, for times that pass midnight.
const DAY_MS: u64 = 24 * 3600 * 1000;
/// The longest interval that is believed: an hour.
const INTERVAL_LIMIT_MS: u64 = 3_600_000;
/// The most intervals of a run.
const INTERVALS_LIMIT: usize = 200_000;

/// A run while its rows are read.
#[derive(Default)]
struct Rows {
    name: String,
    settings: RunSettings,
    rows: Vec<(u64, Row)>,
    times_ms: Vec<u64>,
    /// First and last interval that vdbench averages.
    counted: Option<(u64, u64)>,
}

/// Reads the file: a case for each run.
pub(super) fn read(path: &Path, text: &str) -> Result<Measured, ImportError> {
    let mut measured = Measured::default();
    let mut columns: Vec<&str> = Vec::new();
    let mut run = Rows::default();
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if is_flatfile_header(line) {
            columns = line.split_whitespace().collect();
            continue;
        }
        if columns.is_empty() || line.is_empty() || line.starts_with(['*', '<']) {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.len() != columns.len() {
            let message = format!("{} fields, but the header names {}", fields.len(), columns.len());
            return Err(invalid(path, index + 1, message));
        }
        let field = |name: &str| columns.iter().position(|column| *column == name).map(|at| fields[at]);
        let number = |name: &str| field(name).filter(|text| *text != "n/a").and_then(parse_number);
        let needed = |name: &str| {
            number(name).ok_or_else(|| invalid(path, index + 1, format!("`{name}` is no number")))
        };
        let name = field("Run").unwrap_or_default();
        let settings = RunSettings {
            xfersize: number("xfersize").filter(|bytes| *bytes > 0.0),
            threads: number("threads").filter(|threads| *threads > 0.0),
            rdpct: number("rdpct").filter(|share| *share >= 0.0),
            seekpct: number("seekpct"),
            iorate: number("reqrate"),
        };
        let interval = field("Interval").unwrap_or_default();
        if let Some(counted) = averaged(interval) {
            if name == run.name {
                run.counted = Some(counted);
            }
            continue;
        }
        let interval: u64 =
            interval.parse().map_err(|_| invalid(path, index + 1, format!("`{interval}` is no interval")))?;
        let begins = name != run.name
            || settings != run.settings
            || run.rows.last().is_some_and(|(before, _)| interval <= *before);
        if begins {
            finish(&mut measured, std::mem::take(&mut run));
            run = Rows { name: name.to_owned(), settings, ..Rows::default() };
        }
        if run.rows.len() == INTERVALS_LIMIT {
            return Err(invalid(
                path,
                index + 1,
                format!("more than {INTERVALS_LIMIT} intervals in one run"),
            ));
        }
        let row = Row {
            iops: needed("rate")?,
            bytes_per_io: number("bytes/io").or(run.settings.xfersize).unwrap_or(0.0),
            read_percent: number("read%").unwrap_or(100.0),
            resp_ms: needed("resp")?,
            read_resp_ms: number("read_resp"),
            write_resp_ms: number("write_resp"),
            resp_max_ms: number("resp_max"),
            read_max_ms: number("read_max"),
            write_max_ms: number("write_max"),
        };
        run.rows.push((interval, row));
        run.times_ms.extend(field("tod").and_then(time_of_day_ms));
    }
    finish(&mut measured, run);
    if measured.cases.is_empty() {
        return Err(invalid(path, 1, "there are no intervals in it"));
    }
    Ok(measured)
}

fn finish(measured: &mut Measured, run: Rows) {
    if run.rows.is_empty() {
        return;
    }
    let mut warnings = Vec::new();
    let interval_ms = interval_ms(&run).unwrap_or_else(|| {
        warnings.push("how long an interval was is not said; 1 s is assumed".into());
        1000
    });
    // Without its row of means a run was cut short; vdbench leaves the first interval out.
    let (from, to) = run.counted.unwrap_or_else(|| {
        warnings.push("the run has no row of means: it was cut short".into());
        (if run.rows.len() > 1 { 2 } else { 1 }, u64::MAX)
    });
    let interval_ns = interval_ms * 1_000_000;
    measured.interval_ns.get_or_insert(interval_ns);
    let samples = run
        .rows
        .iter()
        .enumerate()
        .filter(|(_, (number, _))| *number <= to)
        .map(|(index, (number, row))| {
            let start_ns = index as u64 * interval_ns;
            row.sample(start_ns, start_ns + interval_ns, *number < from)
        })
        .collect();
    measured.cases.push(case(run.name, &run.settings, samples, warnings));
}

/// The commonest distance between rows: the middle one. Times are delayed by milliseconds, intervals are whole seconds.
fn interval_ms(run: &Rows) -> Option<u64> {
    if run.times_ms.len() != run.rows.len() {
        return None;
    }
    let mut distances: Vec<u64> =
        run.times_ms.windows(2).map(|pair| (pair[1] + DAY_MS - pair[0]) % DAY_MS).collect();
    distances.sort_unstable();
    let middle = *distances.get(distances.len() / 2)?;
    let whole = (middle + 500) / 1000 * 1000;
    (1000..=INTERVAL_LIMIT_MS).contains(&whole).then_some(whole)
}
