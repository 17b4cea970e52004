//! Comparisons as JUnit XML.

use crate::synthetic::{Run, Series};
use findings::{Bounds, Findings, compare};
use report::junit;

/// A run of writes at these IOPS, two cases.
fn writes(iops: f64) -> Findings {
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let rates: Vec<f64> = (0..60).map(|n| iops * (1.0 + 0.002 * f64::from(n % 3))).collect();
    let series = Series::writes(&rates, 5.0, 4096.0);
    let run = Run::new("own").case("load", "one", &texts, &series).case("load", "two", &texts, &series);
    Findings::of(run.observation())
}

/// Proves that JUnit counts as failures the metrics that are worse by the bound or more: rate and write latency of two cases.
#[test]
fn regressions_are_failures() {
    let worse = |bounds: &Bounds| junit(&[compare(&writes(1e5), &writes(0.8e5), bounds)]);
    let xml = worse(&Bounds::default());
    assert!(xml.contains("tests=\"4\" failures=\"4\""), "{xml}");
    let loose = Bounds { regression_percent: 90.0, ..Bounds::default() };
    assert!(worse(&loose).contains("failures=\"0\""));
}
