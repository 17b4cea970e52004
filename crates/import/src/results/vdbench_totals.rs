//! vdbench's `totals.html`: the means of each run. `summary.html` has the same rows, and its intervals besides.

use super::vdbench_rows::{Row, RunSettings, averaged, case};
use super::{Measured, invalid};
use crate::ImportError;
use crate::vdbench::parse_number;
use std::path::Path;

/// The longest run that is believed: a year, in seconds.
const ELAPSED_LIMIT_S: f64 = 366.0 * 86_400.0;

/// A run whose row of means is awaited.
struct Started {
    name: String,
    settings: RunSettings,
    elapsed_s: Option<f64>,
    warmup_s: f64,
}

/// Reads the file: a case for each run.
pub(super) fn read(path: &Path, text: &str) -> Result<Measured, ImportError> {
    let mut measured = Measured::default();
    let mut started: Option<Started> = None;
    // Newer versions print a maximum for each direction, older ones one for both.
    let mut has_two_maxima = false;
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if let Some((_, after)) = line.split_once("Starting RD=") {
            started = Some(start(after));
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.contains(&"1024**2") {
            has_two_maxima = words.iter().filter(|word| **word == "max").count() == 2;
            continue;
        }
        let Some(at) = words.iter().position(|word| averaged(word).is_some()) else { continue };
        let (Some((from, to)), Some(run)) = (averaged(words[at]), started.take()) else { continue };
        // vdbench formats files before it starts; such a run counts nothing.
        if to < from || run.name.starts_with("SD_format") {
            continue;
        }
        let numbers: Vec<Option<f64>> = words[at + 1..].iter().map(|word| parse_number(word)).collect();
        let number = |place: usize| numbers.get(place).copied().flatten();
        let needed = |place: usize, what: &str| {
            number(place).ok_or_else(|| invalid(path, index + 1, format!("the row of means has no {what}")))
        };
        let row = Row {
            iops: needed(0, "rate")?,
            bytes_per_io: needed(2, "size")?,
            read_percent: needed(3, "share of reads")?,
            resp_ms: needed(4, "response time")?,
            read_resp_ms: number(5),
            write_resp_ms: number(6),
            resp_max_ms: number(7).filter(|_| !has_two_maxima),
            read_max_ms: number(7).filter(|_| has_two_maxima),
            write_max_ms: number(8).filter(|_| has_two_maxima),
        };
        let Some(elapsed_s) = run.elapsed_s.filter(|elapsed| *elapsed > 0.0) else {
            return Err(invalid(path, index + 1, "how long the run took is not said"));
        };
        let interval_s = (elapsed_s + run.warmup_s) / to as f64;
        let ramp_ns = (interval_s * (from - 1) as f64 * 1e9) as u64;
        let end_ns = ((elapsed_s + run.warmup_s) * 1e9) as u64;
        let sample = row.sample(ramp_ns.min(end_ns), end_ns, false);
        let warnings = vec!["totals.html has the means of a run alone, so the whole run is one interval; flatfile.html has all".into()];
        measured.cases.push(case(run.name, &run.settings, vec![sample], warnings));
        if let Some(case) = measured.cases.last_mut() {
            case.settings.set("ramp_time", super::time_text(ramp_ns));
        }
    }
    if measured.cases.is_empty() {
        return Err(invalid(path, 1, "there are no means of runs in it"));
    }
    Ok(measured)
}

/// `rd1; I/O rate: Uncontrolled MAX; elapsed=120 warmup=10; For loops: xfersize=4k threads=8`
fn start(after: &str) -> Started {
    let mut parts = after.split(';').map(str::trim);
    let mut run = Started {
        name: parts.next().unwrap_or_default().split('<').next().unwrap_or_default().to_owned(),
        settings: RunSettings::default(),
        elapsed_s: None,
        warmup_s: 0.0,
    };
    for part in parts {
        if let Some(rate) = part.strip_prefix("I/O rate:") {
            run.settings.iorate = parse_number(&rate.replace(',', ""));
        }
        let words = part.strip_prefix("For loops:").unwrap_or(part);
        for word in words.split_whitespace() {
            let Some((keyword, value)) = word.split_once('=') else { continue };
            let value = value.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let number = parse_number(value);
            match keyword {
                "elapsed" => run.elapsed_s = number.filter(|seconds| *seconds <= ELAPSED_LIMIT_S),
                "warmup" => {
                    run.warmup_s = number.filter(|s| (0.0..=ELAPSED_LIMIT_S).contains(s)).unwrap_or(0.0);
                }
                "xfersize" => run.settings.xfersize = number.filter(|bytes| *bytes > 0.0),
                "threads" => run.settings.threads = number.filter(|threads| *threads > 0.0),
                "rdpct" => run.settings.rdpct = number.filter(|share| (0.0..=100.0).contains(share)),
                "seekpct" => run.settings.seekpct = number,
                _ => {}
            }
        }
    }
    run
}
