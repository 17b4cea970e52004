//! Time lines: what they show on arrays that ship, and that a run of their plan has the same intervals.

use campaign::{Request, prepare, run_campaign};
use findings::Kind;
use sizing::{Configuration, LoadSource, SizingError, TimeLine, TimeLineKind, TimeLinePoint};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::Run;

/// I/Os of a time line here: a tenth of those that the page takes for a refined one unless `ARRAYLAB_LONG` is set.
fn ios() -> u64 {
    if test_support::is_long() { 4_000_000 } else { 400_000 }
}

fn load(rw: &str) -> LoadSource {
    LoadSource::read(&format!("fio:rw={rw},bs=8k,iodepth=16,numjobs=8")).unwrap()
}

fn points(line: &TimeLine) -> (Vec<TimeLinePoint>, sizing::TimeLineEnd) {
    let mut points = Vec::new();
    let end = line.simulate(&mut |point| {
        points.push(point.clone());
        true
    });
    (points, end.unwrap())
}

/// Proves that a run of the plan on the array's file, both as a time line exports them, has the same intervals.
#[test]
fn a_run_of_the_plan_has_the_same_intervals() {
    let array = Configuration::load("dorado-2100-g2").unwrap();
    let line = TimeLine::new(&array, &load("randrw"), TimeLineKind::DriveFailure, 60_000).unwrap();
    let (points, _) = points(&line);
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = directory.path().join("run");
    let campaign = prepare(&Request {
        plan: file("time-line.yaml", &line.plan),
        targets: vec![format!(
            "twin:{}{}",
            file("array.yaml", &line.configuration.text),
            line.target_settings()
        )],
        directory: run.clone(),
        seed: 1,
        ..Request::default()
    });
    run_campaign(campaign.unwrap(), &AtomicBool::new(false), &mut ()).unwrap();
    let reader = Run::open_read_only(&run).unwrap();
    let of_run: Vec<(f64, u64)> = reader
        .series(0)
        .unwrap()
        .iter()
        .map(|one| {
            (
                one.end_ns as f64 / 1e9,
                [&one.read, &one.write].into_iter().flatten().map(|flow| flow.ios).sum(),
            )
        })
        .collect();
    let own: Vec<(f64, u64)> = points
        .iter()
        .map(|one| (one.end_s, (one.iops * line.interval_ns as f64 / 1e9).round() as u64))
        .collect();
    assert_eq!(own, of_run);
    let events: Vec<String> = reader.events().unwrap().into_iter().map(|event| event.text).collect();
    let shown: Vec<String> = points.iter().flat_map(|one| &one.events).map(|one| one.text.clone()).collect();
    assert!(!shown.is_empty() && shown.iter().all(|text| events.contains(text)), "{shown:?} {events:?}");
}

/// Proves that a long write on flash shows its fall, also where room is divided for it, and that the fall comes after as many bytes,
/// times the divisor, whatever the divisor is.
#[test]
fn long_writes_fall() {
    for (name, ios) in [("small-flash", 300_000), ("composite-flash", 1_000_000)] {
        let array = Configuration::load(name).unwrap();
        let falls = [ios, 2 * ios].map(|ios| {
            let line = TimeLine::new(&array, &load("randwrite"), TimeLineKind::LongWrite, ios).unwrap();
            let (_, end) = points(&line);
            let cliff = end.findings.of_kind(Kind::WriteCliff).next().expect("a fall").to_json().unwrap();
            (line.shrink, cliff["bytes_written"].as_f64().unwrap() * f64::from(line.shrink))
        });
        println!("{name}: {falls:?}");
        assert!(falls[0].0 > falls[1].0, "{name}: {falls:?}");
        assert!((falls[0].1 / falls[1].1 - 1.0).abs() < 0.2, "{name}: {falls:?}");
    }
}

/// Proves that a load without writes has no long write, and an array without redundancy no rebuild, and that both are refused in words.
#[test]
fn what_cannot_be_shown_is_refused() {
    for (name, rw, kind, expected) in [
        ("small-flash", "randread", TimeLineKind::LongWrite, "writes nothing"),
        ("small-flash", "randwrite", TimeLineKind::DriveFailure, "lost data"),
    ] {
        let array = Configuration::load(name).unwrap();
        let refused = TimeLine::new(&array, &load(rw), kind, 10_000).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

/// Proves that a rebuild is followed from its beginning to its end, and that one which is not over tells how long it takes at its pace.
#[test]
fn rebuilds_are_followed() {
    let array = Configuration::load("dorado-2100-g2").unwrap();
    let rebuild = |ios| {
        let line = TimeLine::new(&array, &load("randread"), TimeLineKind::DriveFailure, ios).unwrap();
        let (points, end) = points(&line);
        let shares: Vec<f64> = points.iter().filter_map(|point| point.rebuilt_share).collect();
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        let rebuild = end.rebuild.expect("a rebuild");
        assert!((rebuild.begins_s - line.fails_at_ns.unwrap() as f64 / 1e9).abs() < 1e-3);
        (rebuild, f64::from(line.shrink))
    };
    let (whole, shrink) = rebuild(1_000_000);
    assert!(whole.share == 1.0 && whole.ends_s.is_some(), "{whole:?}");
    let took_s = whole.whole_s.unwrap() * shrink;
    let (part, shrink) = rebuild(50_000);
    assert!(part.ends_s.is_none() && part.share < 1.0, "{part:?}");
    let takes_s = part.whole_s.unwrap() * shrink;
    assert!((takes_s / took_s - 1.0).abs() < 0.1, "{takes_s} {took_s}");
}

/// Proves that each array that ships has a time line of a long write, and one of a drive failure unless a lost drive is lost data, whose
/// rebuild begins within it and makes progress; prints how long they take.
#[test]
fn arrays_have_time_lines() {
    let mut refused = Vec::new();
    for shipped in plan::shipped_arrays() {
        let array = Configuration::load(shipped.name).unwrap();
        for kind in TimeLineKind::ALL {
            let begun = Instant::now();
            let line = match TimeLine::new(&array, &load("randwrite"), kind, ios()) {
                Ok(line) => line,
                Err(SizingError::Question { message, .. }) => {
                    refused.push(format!("{}: {message}", shipped.name));
                    continue;
                }
                Err(error) => panic!("{} {}: {}", shipped.name, kind.name(), diagnostic::full_text(&error)),
            };
            let (points, end) = points(&line);
            let has_cliff = end.findings.of_kind(Kind::WriteCliff).count();
            println!(
                "{} {}: {:.1?}, shrink {}, {} of {} ms, cliffs {has_cliff}, rebuild {:?}",
                shipped.name,
                kind.name(),
                begun.elapsed(),
                line.shrink,
                points.len(),
                line.interval_ns / 1_000_000,
                end.rebuild
            );
            assert!(end.is_whole && (48..=120).contains(&points.len()), "{}", shipped.name);
            if kind == TimeLineKind::DriveFailure {
                let fails_at_s = line.fails_at_ns.unwrap() as f64 / 1e9;
                let fails = points.iter().flat_map(|point| &point.events).next().expect("an event");
                assert!(fails.text.contains("fail") && (fails.at_s - fails_at_s).abs() < 1e-3, "{fails:?}");
            }
        }
    }
    println!("{refused:#?}");
}
