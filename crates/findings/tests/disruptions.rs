//! Effects of events on a load, on synthetic series.

mod synthetic;

use findings::{Disruption, Fact, Findings, Kind};
use synthetic::{Run, Series, moment, settings};

/// The disruptions of a case of 1 s intervals, from IOPS and mean latencies in microseconds, with events.
fn disruptions(points: &[(f64, f64)], events: &[(f64, &str)]) -> Vec<Disruption> {
    let series = points.iter().map(|(iops, us)| (*iops, 0.0, us * 1e3, 0.0));
    let mut run = Run::new("own");
    let case = run.add("events", "one", settings(&[("rw", "randread")]), &Series::of(series, 1.0, 4096.0));
    case.moments = events.iter().map(|(at_s, text)| moment(*at_s, text)).collect();
    let findings = Findings::of(run.observation());
    findings
        .of_kind(Kind::Disruption)
        .map(|finding| match &finding.fact {
            Fact::Disruption(disruption) => (**disruption).clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Proves that a drop that stays is a change of level of the event that began it, no dip; that an event after it which changes
/// nothing has no effect; and that a dip after it is held against the new level.
#[test]
fn a_drop_that_stays_is_a_change_of_level() {
    let rate = |second: usize| match second {
        0..20 => (10_000.0, 100.0),
        50..52 => (4_000.0, 240.0),
        _ => (8_000.0, 125.0),
    };
    let points: Vec<(f64, f64)> = (0..60).map(rate).collect();
    let found =
        disruptions(&points, &[(20.0, "drive-failure"), (30.0, "drive-replacement"), (50.0, "failover")]);
    let [failure, replacement, failover] = found.as_slice() else { panic!("{found:#?}") };
    let change = failure.rate_change.unwrap();
    assert_eq!((change.from_s, change.before_iops, change.after_iops), (20.0, 10_000.0, 8_000.0));
    assert!((change.change_percent + 20.0).abs() < 1e-9);
    assert!((failure.latency_change.unwrap().change_percent - 25.0).abs() < 1e-9);
    assert!(
        failure.dips.is_empty() && failure.latency_bumps.is_empty() && failure.has_effect,
        "{failure:#?}"
    );
    assert!(!replacement.has_effect && replacement.dips.is_empty(), "{replacement:#?}");
    assert_eq!(replacement.level_iops, 8_000.0);
    assert_eq!(failover.dips.len(), 1);
    assert!((failover.dips[0].extreme_percent + 50.0).abs() < 1e-9, "{failover:#?}");
    assert!(failover.rate_change.is_none() && failover.dips[0].is_over);
}

/// Proves that a dip is told of the event during which it began, to its end: an event that falls within it and takes it no farther,
/// such as the end of a rebuild, has no effect; and one that takes it farther has a dip of its own.
#[test]
fn a_dip_belongs_to_the_event_that_began_it() {
    let rate = |second: usize| match second {
        20 => (3_000.0, 333.0),
        21..40 => (7_000.0, 143.0),
        // The rebuild ends within this interval.
        40 => (8_000.0, 125.0),
        60..62 => (9_000.0, 111.2),
        62..70 => (7_000.0, 143.0),
        70..80 => (5_000.0, 200.0),
        _ => (10_000.0, 100.0),
    };
    let points: Vec<(f64, f64)> = (0..100).map(rate).collect();
    let found = disruptions(
        &points,
        &[(20.0, "a drive fails"), (40.2, "rebuilt"), (60.0, "path lost"), (70.0, "a second drive fails")],
    );
    let [failure, rebuilt, path, second] = found.as_slice() else { panic!("{found:#?}") };
    let [dip] = failure.dips.as_slice() else { panic!("{failure:#?}") };
    assert_eq!((dip.start_s, dip.length_s, dip.is_over), (20.0, 21.0, true));
    assert_eq!(failure.latency_bumps.len(), 1);
    assert_eq!(failure.ios_missing, 7_000.0 + 19.0 * 3_000.0 + 2_000.0);
    assert!(!rebuilt.has_effect, "{rebuilt:#?}");
    let extent =
        |event: &Disruption| event.dips.iter().map(|dip| (dip.start_s, dip.length_s)).collect::<Vec<_>>();
    assert_eq!(extent(path), [(60.0, 10.0)]);
    assert_eq!(extent(second), [(70.0, 10.0)]);
    assert!((second.dips[0].extreme_percent + 50.0).abs() < 1e-9);
}

/// Proves that a short bump shows in the mean over all I/Os, though the median interval hardly moves; and that what lasts to the
/// end, but too short to be a level, is a dip that is not over.
#[test]
fn a_bump_moves_the_mean() {
    let rate = |second: usize| match second {
        20..40 => (10_000.0, 4_700.0),
        98..100 => (5_000.0, 100.0),
        _ => (10_000.0, 100.0),
    };
    let points: Vec<(f64, f64)> = (0..100).map(rate).collect();
    let found = disruptions(&points, &[(20.0, "update")]);
    let [update] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(update.latency_percent, 100.0);
    assert!(update.mean_latency_percent > 1_000.0, "{update:#?}");
    assert!((update.latency_bumps[0].extreme_percent - 4_600.0).abs() < 1e-6);
    assert!(update.rate_change.is_none());
    assert!(!update.dips.last().unwrap().is_over, "{update:#?}");
}
