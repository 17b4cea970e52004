//! Saturation and maxima of groups of cases, on synthetic runs.

mod synthetic;

use findings::{Fact, Findings};
use synthetic::{Run, Series, busy};

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

/// Proves that a rate which no longer grows because the host's threads are full is told as the host's, and as the target's where
/// they are not.
#[test]
fn a_host_that_saturates_is_no_target() {
    for (busy_share, beginning) in [
        (0.99, "The host that made the load saturates at iodepth = 64"),
        (0.40, "It saturates at iodepth = 64"),
    ] {
        let mut observation = depths().observation();
        for case in &mut observation.cases {
            case.busy = vec![busy("host", "host-0", "threads", busy_share)];
        }
        let conclusions = Findings::of(observation).conclusions();
        let text = conclusions.iter().map(|one| one.text.to_string()).find(|text| text.contains("saturates"));
        assert!(text.as_ref().is_some_and(|text| text.starts_with(beginning)), "{text:?}");
    }
}
