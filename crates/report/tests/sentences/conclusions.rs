//! Conclusions of a report's first page, on made-up runs.

use crate::synthetic::{Run, Series, busy, carried, moment, settings};
use findings::{Findings, Observation};
use report::Sentences;

fn conclusions(observation: Observation) -> Vec<String> {
    let found = Findings::of(observation);
    Sentences::of(&found).conclusions().into_iter().map(|one| one.text.to_string()).collect()
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
        let text = conclusions(observation).into_iter().find(|text| text.contains("saturates"));
        assert!(text.as_ref().is_some_and(|text| text.starts_with(beginning)), "{text:?}");
    }
}

/// A run of depths whose rate is level from 64 on.
fn depths() -> Run {
    [1_u32, 4, 16, 64, 256].iter().fold(Run::new("own"), |run, depth| {
        let level = Series::level(f64::from(*depth.min(&64)) * 1_000.0, 1.0, 1e6, 0.0, 4096.0);
        let depth = depth.to_string();
        let settings = [("rw", "randread"), ("bs", "4k"), ("iodepth", &*depth)];
        run.case("depth", &format!("iodepth={depth}"), &settings, &level)
    })
}

/// Proves that paths which do not share the load evenly are told with their shares.
#[test]
fn uneven_paths_are_told() {
    let mut run = Run::new("own");
    let series = Series::level(60.0, 1000.0, 0.0, 1e6, 4096.0);
    run.add("reads", "bs=4096", settings(&[("rw", "randread")]), &series);
    let mut observation = run.observation();
    observation.cases[0].carried =
        [("0", 8e9), ("1", 2e9)].map(|(path, bytes)| carried("path of mpathb", path, bytes)).to_vec();
    let sentences = conclusions(observation);
    let wanted = "The paths of mpathb do not share the load evenly: 80.0 % : 20.0 % (random reads).";
    assert!(sentences.iter().any(|text| text == wanted), "{sentences:?}");
}

/// Proves that a level which holds for minutes after an event and then falls is said to do so, with how long it held, and is not what
/// the first page says of the event; that one which falls with the event is; and that a dip is told by its mean beside its extreme.
#[test]
fn a_late_change_may_have_another_cause() {
    let texts = |fall_at: usize, back_at: usize| {
        let points: Vec<(f64, f64)> = (0..600)
            .map(|second| match second {
                _ if second == fall_at => (1_000.0, 100.0),
                _ if (fall_at..back_at).contains(&second) => (5_000.0, 100.0),
                _ => (10_000.0, 100.0),
            })
            .collect();
        let series = points.iter().map(|(iops, us)| (0.0, *iops, 0.0, us * 1e3));
        let mut run = Run::new("own");
        let case =
            run.add("events", "one", settings(&[("rw", "randwrite")]), &Series::of(series, 1.0, 4096.0));
        case.moments = vec![moment(100.0, "drive-0 fails")];
        let found = Findings::of(run.observation());
        let conclusions: Vec<String> =
            Sentences::of(&found).conclusions().into_iter().map(|one| one.text.to_string()).collect();
        let answers: Vec<String> =
            Sentences::of(&found).answers().into_iter().map(|(_, answer)| answer.text.to_string()).collect();
        (conclusions.join(" "), answers.join(" "))
    };
    let held = ", having held for 3.3 min after the event, so that it may have another cause";
    let (late, first_page) = texts(300, 600);
    assert!(late.contains(held) && !first_page.contains("drive-0 fails"), "{late} | {first_page}");
    let (at_once, first_page) = texts(100, 600);
    assert!(!at_once.contains("having held"), "{at_once}");
    assert!(
        first_page.contains("After the event “drive-0 fails” IOPS stay 50 % lower from 100 s on."),
        "{first_page}"
    );
    let (_, first_page) = texts(100, 300);
    let dip = "Around the event “drive-0 fails” IOPS dip by 50 % in the mean and up to 90 %, for 3.3 min.";
    assert!(first_page.contains(dip), "{first_page}");
}
