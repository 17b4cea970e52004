//! fio's output, cut, changed and made up: an answer or an error, never a panic.

use std::path::Path;

use fio::{LogKind, read_histogram_log, read_interval_log, read_report};
use proptest::prelude::*;

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)).unwrap()
}

fn read_as_everything(bytes: &[u8]) {
    let _ = read_report(bytes);
    let _ = read_histogram_log(bytes);
    for has_max in [None, Some(true), Some(false)] {
        let _ = read_interval_log(bytes, LogKind::Latency { is_microseconds: true }, has_max);
    }
}

const SAMPLES: [&str; 6] = [
    "fio-3.33/status-interval.json",
    "fio-3.42/client.json",
    "fio-3.42/steadystate.json",
    "fio-3.33/interrupted.json",
    "fio-3.33/mixed_clat_hist.1.log",
    "fio-3.42/mixed_lat.2.log",
];

/// The cases of a normal run; ten times as many with `ARRAYLAB_LONG=1`.
fn cases() -> u32 {
    if test_support::is_long() { 10_000 } else { 1000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Proves that output which was cut off, or has bytes changed, removed and repeated, is survived.
    #[test]
    fn changed_samples_are_survived(
        which in 0..SAMPLES.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..12),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample(SAMPLES[which]);
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, b'9'),
                _ => { let end = (at + usize::from(byte)).min(bytes.len()); let part = bytes[at..end].to_vec(); bytes.splice(at..at, part); }
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_as_everything(&bytes);
    }

    /// Proves that any bytes are survived.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read_as_everything(&bytes);
    }

    /// Proves that a report cut at any place still gives its last complete object, where it has one.
    #[test]
    fn a_cut_keeps_what_is_complete(cut in any::<prop::sample::Index>()) {
        let whole = sample("fio-3.33/status-interval.json");
        let first_end = String::from_utf8_lossy(&whole).find("\n}\n").unwrap() + 2;
        let bytes = &whole[..cut.index(whole.len())];
        match read_report(bytes) {
            Ok(report) => prop_assert!(bytes.len() >= first_end && report.jobs.len() == 1),
            Err(_) => prop_assert!(bytes.len() < first_end),
        }
    }
}

/// Proves that numbers at the end of their range neither overflow nor are taken for I/Os.
#[test]
fn huge_numbers_are_survived() {
    let bins: Vec<String> =
        (0..2000).map(|bin| format!("\"{}\" : 18446744073709551615", u64::MAX / 2000 * bin)).collect();
    let side = format!(
        "{{ \"total_ios\" : 18446744073709551615, \"io_bytes\" : 1e300, \"runtime\" : 18446744073709551615, \
         \"clat_ns\" : {{ \"N\" : 18446744073709551615, \"mean\" : 1e308, \"min\" : 5, \"max\" : 1, \"bins\" : {{ {} }} }} }}",
        bins.join(", ")
    );
    let job = format!("{{ \"error\" : -9223372036854775808, \"read\" : {side}, \"write\" : {side} }}");
    let report = read_report(format!("{{\n\"jobs\" : [ {job}, {job} ]\n}}").as_bytes()).unwrap();
    assert_eq!(report.jobs.len(), 2);
    assert!(report.jobs[0].read.completion.histogram.as_ref().unwrap().count() <= 1 << 40);
}

/// Proves that deep nesting is refused, not followed.
#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{{\n\"jobs\" : {}", "[".repeat(1_000_000));
    assert!(read_report(deep.as_bytes()).is_err());
}
