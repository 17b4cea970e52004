//! Write penalties of RAID levels, on synthetic runs.

mod synthetic;

use findings::{Fact, Findings};
use synthetic::{Run, Series, settings};

/// The ratios of writes to reads in a run of two cases; `has_neighbour` gives the case of writes a second load.
fn ratios(has_neighbour: bool) -> Vec<f64> {
    let mut run = Run::new("own");
    for (rw, share, iops) in [("randread", "100", 4_000.0), ("randwrite", "0", 1_000.0)] {
        let of_case =
            settings(&[("rw", rw), ("rwmixread", share), ("raid", "5"), ("disks", "4"), ("bs", "4096")]);
        let case = run.add("raid", rw, of_case, &Series::level(60.0, iops, 1e6, 1e6, 4096.0));
        if has_neighbour && rw == "randwrite" {
            case.loads = ["own", "neighbour"].map(|load| (load.to_owned(), case.intervals.clone())).into();
        }
    }
    let found = Findings::of(run.observation());
    let penalties = found.all.iter().filter_map(|finding| match &finding.fact {
        Fact::WritePenalty(penalty) => Some(penalty.ratio),
        _ => None,
    });
    penalties.collect()
}

/// Proves that the penalty of a RAID level is drawn from cases of one load, whose settings say what was read and written, and from
/// no case of several.
#[test]
fn several_loads_show_no_penalty() {
    assert_eq!(ratios(false), [1_000.0 / 4_000.0]);
    assert_eq!(ratios(true), [0.0; 0]);
}
