//! Saturation and maxima of groups of cases, on synthetic runs.

mod synthetic;

use findings::{Fact, Findings};
use synthetic::{Run, Series};

/// Depths of the shipped plan `acceptance` with their priorities under a time budget.
const DEPTHS: [(u32, u32); 9] =
    [(1, 2), (2, 4), (4, 3), (8, 4), (16, 2), (32, 4), (64, 3), (128, 4), (256, 2)];

/// Proves that cases which differ in nothing but depth and what a time budget keeps first are one group: the knee is that of all
/// depths, and a rate that is level from 64 on is not said to rise still.
#[test]
fn a_priority_divides_no_group() {
    let found = Findings::of(depths().observation());
    let saturations: Vec<_> = found
        .all
        .iter()
        .filter_map(|finding| match &finding.fact {
            Fact::Saturation(saturation) => Some((saturation.at, saturation.points.len())),
            _ => None,
        })
        .collect();
    assert_eq!(saturations, [(Some(64.0), DEPTHS.len())]);
    let among = found.all.iter().find_map(|finding| match &finding.fact {
        Fact::BoundedMaximum(maximum) => Some(maximum.among),
        _ => None,
    });
    assert_eq!(among, Some(DEPTHS.len()));
}

/// A run of all depths, whose rate is level from 64 on.
fn depths() -> Run {
    DEPTHS.iter().fold(Run::new("own"), |run, (depth, priority)| {
        let level = Series::level(f64::from(*depth.min(&64)) * 1_000.0, 1.0, 1e6, 0.0, 4096.0);
        let (depth, priority) = (depth.to_string(), priority.to_string());
        let settings = [
            ("rw", "randread"),
            ("bs", "4k"),
            ("iodepth", &depth),
            ("priority", &priority),
            ("pause", &depth),
        ];
        run.case("depth", &format!("iodepth={depth}"), &settings, &level)
    })
}
