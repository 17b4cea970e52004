//! Timed events on every kind of array behind controllers: drives that are lost, replaced and rebuilt; controllers that
//! leave and come back; firmware updates.

mod common;

use std::ops::ControlFlow;

use common::{Run, Total, array, counter, measure, parts, settings};
use load::{NEVER_STOPPED, Pattern};
use serde_json::Value;
use twin::{ArrayDescription, Event, Twin, TwinError};

const SECOND_NS: u64 = 1_000_000_000;

/// The Dorado with small drives, a quick rebuild and a quick update.
fn ssd_array(spares: u32) -> ArrayDescription {
    let mut description = array("dorado-2100-g2");
    let array = parts(&mut description);
    array.groups[0].count.count.value = u64::from(25 + spares);
    array.groups[0].keys.spares.value = spares.into();
    array.rebuild.delay.value = SECOND_NS / 2;
    array.rebuild.rate.value = 100_000_000;
    array.value_mut("groups[0].drives.capacity").unwrap().1.value = 4 << 30;
    array.value_mut("groups[0].drives.reserve").unwrap().1.value = 200_000_000;
    shorten(array);
    description
}

/// The E2700 with both of its controllers in use, and a quick update.
fn disk_array() -> ArrayDescription {
    let mut description = array("e2700");
    let array = parts(&mut description);
    array.controllers.count.value = 2;
    array.cache.mirror.value = 2_000_000_000;
    shorten(array);
    description
}

/// Controllers leave at 1.0 and 2.5 s of an update begun at 1 s, for 1 s; hosts notice after 0.2 s; 100 stripes of 128 KiB
/// are verified from 4 s on.
fn shorten(array: &mut array::Array) {
    array.failover.away.value = SECOND_NS;
    array.failover.gap.value = SECOND_NS / 2;
    array.failover.path.value = SECOND_NS / 5;
    array.failover.verify_rate.value = 131_072_000;
    array.failover.verify.value = 100 * 131_072;
}

fn build(description: &ArrayDescription, list: &[(&str, Value)]) -> Twin {
    Twin::build(description, &settings(list), 1).unwrap()
}

fn load(pattern: Pattern, rwmixread: u8, runtime_s: u64) -> Run {
    Run { pattern, rwmixread, bs_bytes: 4096, numjobs: 4, iodepth: 4, ramp_s: 0, runtime_s }
}

/// Sums of a counter over a range of drives.
fn sum(twin: &Twin, drives: std::ops::Range<u32>, name: &str) -> u64 {
    drives.map(|drive| counter(twin, &format!("drive-{drive}"), name)).sum()
}

fn mean_ms(total: &Total, seconds: std::ops::Range<usize>) -> f64 {
    let samples = &total.samples[seconds];
    let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
    let spent = |sample: &load::Sample| {
        sample.read.latency.mean_ns() * sample.read.ios as f64
            + sample.write.latency.mean_ns() * sample.write.ios as f64
    };
    samples.iter().map(spent).sum::<f64>() / ios as f64 / 1e6
}

/// Proves the counts of drive I/Os of SSDs in RAID 5 of 25 with a drive lost: a read of what it held reads the 24 others;
/// a write to it reads 23 and writes parity, a write whose parity it held writes data only, every other reads and writes two.
#[test]
fn degraded_ios_are_counted_exactly() {
    for pattern in [Pattern::Randread, Pattern::Randwrite] {
        let mut twin = build(&ssd_array(0), &[("condition", "written".into())]);
        twin.schedule(0, Event::DriveFailure).unwrap();
        let reads_only = pattern == Pattern::Randread;
        let total = measure(&mut twin, &load(pattern, if reads_only { 100 } else { 0 }, 1));
        let ios = counter(&twin, "controller-0", "commands") + counter(&twin, "controller-1", "commands");
        assert!(ios >= total.ios && total.errors == 0 && ios > 2000, "{ios} {total:?}");
        let (reads, writes) = (sum(&twin, 0..25, "reads"), sum(&twin, 0..25, "writes"));
        assert_eq!(counter(&twin, "drive-0", "reads") + counter(&twin, "drive-0", "writes"), 0);
        let is_a_share = |count: u64| (count as f64 * 25.0 / ios as f64 - 1.0).abs() < 0.35;
        if reads_only {
            assert_eq!((reads - ios) % 23, 0, "{reads} reads of drives for {ios}");
            assert!(is_a_share((reads - ios) / 23), "{reads} {ios}");
        } else {
            let others = writes - ios;
            assert_eq!((reads - 2 * others) % 23, 0, "{reads} {writes} {ios}");
            let data_lost = (reads - 2 * others) / 23;
            assert!(is_a_share(data_lost) && is_a_share(ios - others - data_lost), "{reads} {writes} {ios}");
        }
    }
}

/// Proves that SSDs with a drive lost answer later, that a rebuild under load slows them further, keeps to its rate, fills
/// the spare with one segment of each stripe that LUNs lie on, and ends; and that everything is as before afterwards.
#[test]
fn a_lost_ssd_is_rebuilt_under_load() {
    let mut twin = build(&ssd_array(1), &[("condition", "written".into()), ("coverage", 10.into())]);
    twin.schedule(2 * SECOND_NS, Event::DriveFailure).unwrap();
    let run = Run { numjobs: 8, iodepth: 8, ..load(Pattern::Randread, 100, 9) };
    let total = measure(&mut twin, &run);
    assert_eq!(total.errors, 0);
    let notes = twin.take_notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(notes[0].at_ns, 2 * SECOND_NS);
    let stripe_bytes = 24 * 131_072;
    let stripes = twin.capacity_of_job_bytes(0).div_ceil(stripe_bytes);
    let least_s = 0.5 + (stripes * 131_072) as f64 / 1e8;
    let took_s = (notes[1].at_ns - notes[0].at_ns) as f64 / 1e9;
    assert!((least_s..least_s * 1.2).contains(&took_s), "{took_s} s, at least {least_s}");
    assert_eq!(counter(&twin, "drive-25", "host_units"), stripes * 131_072 / 8192);
    assert_eq!(counter(&twin, "drive-25", "writes"), stripes);
    let (before, during, after) = (mean_ms(&total, 0..2), mean_ms(&total, 3..6), mean_ms(&total, 8..9));
    assert!(during > 1.05 * before, "{before} {during}");
    assert!((after / before - 1.0).abs() < 0.02, "{before} {after}");
}

/// Proves that a lost SSD without a spare stays lost until a new one takes its place, which is then filled; that a second
/// loss in RAID 5, and the first in RAID 0, are errors of the I/Os that need it; and that nothing is rebuilt from those.
#[test]
fn a_new_ssd_takes_a_lost_ones_place() {
    let list: &[(&str, Value)] = &[("condition", "written".into()), ("coverage", 10.into())];
    let mut twin = build(&ssd_array(0), list);
    let drive = settings(&[("drive", 3.into())]);
    twin.act(SECOND_NS / 10, "drive-failure", &drive).unwrap();
    twin.act(SECOND_NS, "drive-replacement", &drive).unwrap();
    let total = measure(&mut twin, &load(Pattern::Randrw, 70, 7));
    let says: Vec<String> = twin.take_notes().into_iter().map(|note| note.says).collect();
    assert_eq!(says, ["drive-3 fails", "a new drive takes the place of drive-3", "the rebuild is done"]);
    assert_eq!(total.errors, 0);
    assert!(counter(&twin, "drive-3", "writes") > 3_200);

    twin.act(twin.time_ns(), "drive-replacement", &drive).unwrap();
    for drive in [3, 4] {
        twin.act(twin.time_ns(), "drive-failure", &settings(&[("drive", drive.into())])).unwrap();
    }
    let lossy = measure(&mut twin, &load(Pattern::Randread, 100, 1));
    assert!(lossy.errors > 100 && lossy.ios > 100, "{lossy:?}");
    let says: Vec<String> = twin.take_notes().into_iter().map(|note| note.says).collect();
    assert_eq!(says, ["the place of drive-3 needs no new drive", "drive-3 fails", "drive-4 fails"]);

    let mut striped = build(&ssd_array(1), &[("condition", "written".into()), ("raid", 0.into())]);
    striped.schedule(0, Event::DriveFailure).unwrap();
    let lossy = measure(&mut striped, &load(Pattern::Randrw, 50, 1));
    assert!(lossy.errors > 100 && lossy.ios > 100, "{lossy:?}");
    assert!(striped.take_notes()[1].says.contains("too much is lost"));
}

/// Proves that a lost flash module is filled onto the hot spare while the others serve, exactly as far as the set reaches,
/// and that reads of what it held load all the others.
#[test]
fn a_lost_flash_module_is_rebuilt() {
    let mut description = array("flashsystem-840");
    let flash = parts(&mut description);
    flash.value_mut("groups[0].drives.capacity").unwrap().1.value = 1 << 30;
    flash.rebuild.delay.value = 500_000_000;
    flash.rebuild.rate.value = 500_000_000;
    let mut twin = build(&description, &[]);
    twin.schedule(SECOND_NS, Event::DriveFailure).unwrap();
    let run = Run { numjobs: 16, ..load(Pattern::Randread, 100, 5) };
    let total = measure(&mut twin, &run);
    assert_eq!(total.errors, 0);
    let notes = twin.take_notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    let took_s = (notes[1].at_ns - notes[0].at_ns) as f64 / 1e9;
    assert!((2.6..2.9).contains(&took_s), "{took_s}");
    let of = |module: u32, name: &str| counter(&twin, &format!("module-{module}"), name);
    let segment_bytes = parts(&mut description).groups[0].keys.segment.value;
    assert_eq!(of(7, "writes"), (1 << 30) / segment_bytes);
    assert_eq!(of(7, "written_bytes"), 1 << 30);
    assert!(mean_ms(&total, 1..2) > 1.02 * mean_ms(&total, 0..1));
    assert!((mean_ms(&total, 4..5) / mean_ms(&total, 0..1) - 1.0).abs() < 0.01);

    // Healthy, a read is one; with a module lost, a seventh of them is six. Nothing is taken for a stream by chance.
    parts(&mut description).controllers.streams.value = 0;
    let mut twin = build(&description, &[("write_cache", "off".into())]);
    // The rebuild begins after all of this.
    parts(&mut description).rebuild.delay.value = 1_000_000_000_000;
    let mut lost = build(&description, &[("write_cache", "off".into())]);
    lost.schedule(0, Event::DriveFailure).unwrap();
    let count = |twin: &mut Twin, pattern, name: &str| {
        let before: u64 = (0..8).map(|index| counter(twin, &format!("module-{index}"), name)).sum();
        let ios = measure(twin, &load(pattern, 100, 1)).ios;
        let after: u64 = (0..8).map(|index| counter(twin, &format!("module-{index}"), name)).sum();
        (after - before) as f64 / ios as f64
    };
    assert!((count(&mut twin, Pattern::Randread, "reads") - 1.0).abs() < 0.01);
    assert!((count(&mut lost, Pattern::Randread, "reads") - (6.0 + 6.0) / 7.0).abs() < 0.02);
    // Data lost: five others are read and parity written; parity lost: data alone; else two and two.
    assert!((count(&mut lost, Pattern::Randwrite, "writes") - (1.0 + 1.0 + 5.0 * 2.0) / 7.0).abs() < 0.02);
    assert!((count(&mut lost, Pattern::Randwrite, "reads") - (5.0 + 5.0 * 2.0) / 7.0).abs() < 0.02);
}

/// Results of a load under a held rate in a tenth of a second, and what each controller had counted by its end.
struct Tenth {
    ios: u64,
    errors: u64,
    mean_ms: f64,
    controllers: [u64; 2],
}

fn by_tenth(twin: &mut Twin, run: &Run, rate_iops: f64, counted: &str) -> Vec<Tenth> {
    let spec = load::LoadSpec { rate_iops: Some(rate_iops), interval_ns: SECOND_NS / 10, ..run.spec() };
    let mut tenths = Vec::new();
    load::run_simulated(twin, &spec, &NEVER_STOPPED, &mut |twin, sample| {
        let direction = if sample.write.ios > 0 { &sample.write } else { &sample.read };
        tenths.push(Tenth {
            ios: sample.read.ios + sample.write.ios,
            errors: sample.read.errors + sample.write.errors,
            mean_ms: direction.latency.mean_ns() / 1e6,
            controllers: [0, 1].map(|index| counter(twin, &format!("controller-{index}"), counted)),
        });
        ControlFlow::Continue(())
    })
    .unwrap();
    tenths
}

/// Proves on SSDs and on disks that under a held rate a firmware update lets IOPS dip only while a path fails over and
/// loses no I/O; that each controller's volumes are served by its peer while it is away; and that the verification reads
/// every member of its stripes once.
#[test]
fn an_update_moves_volumes_and_verifies() {
    let raid6: &[(&str, Value)] =
        &[("layout", "raid6".into()), ("disks", 8.into()), ("read_ahead", "off".into())];
    let written: &[(&str, Value)] = &[("condition", "written".into())];
    for (description, list, rate, members, counted) in
        [(ssd_array(0), written, 20_000.0, 25, "commands"), (disk_array(), raid6, 400.0, 8, "reads")]
    {
        let mut twin = build(&description, list);
        twin.schedule(SECOND_NS, Event::FirmwareUpdate).unwrap();
        let run = Run { numjobs: 8, iodepth: 512, ..load(Pattern::Randread, 100, 6) };
        let tenths = by_tenth(&mut twin, &run, rate, counted);
        let (total, errors) =
            tenths.iter().fold((0, 0), |(ios, errors), tenth| (ios + tenth.ios, errors + tenth.errors));
        assert_eq!(errors, 0);
        assert!((total as f64 / rate / 6.0 - 1.0).abs() < 0.01, "{total}");
        let rates: Vec<f64> = tenths.iter().map(|tenth| tenth.ios as f64 * 10.0 / rate).collect();
        for leave in [10, 25] {
            // Half of the volumes wait for their paths.
            assert!((rates[leave + 1] - 0.5).abs() < 0.15, "{rates:?}");
            assert!(rates[leave + 4..leave + 15].iter().all(|rate| (rate - 1.0).abs() < 0.25), "{rates:?}");
        }
        // Each controller does all while the other is away, and half of all else.
        for (away, from, to) in [(0, 14, 19), (1, 29, 34)] {
            let of =
                |controller: usize| tenths[to].controllers[controller] - tenths[from].controllers[controller];
            assert_eq!(of(away), 0);
            assert!((of(1 - away) as f64 / rate / 0.5 - 1.0).abs() < 0.15, "{}", of(1 - away));
        }
        let says: Vec<String> = twin.take_notes().into_iter().map(|note| note.says).collect();
        let [gone, back] = ["leaves for its new firmware", "is back"];
        let expected = [
            format!("controller-0 {gone}"),
            format!("controller-0 {back}"),
            format!("controller-1 {gone}"),
            format!("controller-1 {back}"),
            "verification of the RAID stripes begins".to_owned(),
            "verification of the RAID stripes is done".to_owned(),
        ];
        assert_eq!(says, expected);
        let read_by_hosts: u64 =
            [0, 1].iter().map(|&index| counter(&twin, &format!("controller-{index}"), counted)).sum();
        assert_eq!(sum(&twin, 0..members, "reads"), read_by_hosts + 100 * u64::from(members));
    }
}

/// Proves that while a controller is away its peer answers writes only when the drives have them, as nobody mirrors its
/// cache, on SSDs and on disks; and that writes are cached again when it is back.
#[test]
fn a_lone_controller_writes_through() {
    let raid10: &[(&str, Value)] = &[("layout", "raid10".into()), ("write_cache", "on".into())];
    let cached: &[(&str, Value)] = &[("condition", "written".into()), ("write_cache", "on".into())];
    for (description, list, rate, factor) in
        [(ssd_array(0), cached, 5_000.0, 1.5), (disk_array(), raid10, 200.0, 3.0)]
    {
        let mut twin = build(&description, list);
        let controller = settings(&[("controller", 1.into())]);
        twin.act(SECOND_NS, "controller-failover", &controller).unwrap();
        let run = Run { numjobs: 8, iodepth: 64, ..load(Pattern::Randwrite, 0, 3) };
        let tenths = by_tenth(&mut twin, &run, rate, if factor > 2.0 { "writes" } else { "commands" });
        let mean_ms = |from: usize, to: usize| {
            tenths[from..to].iter().map(|tenth| tenth.mean_ms).sum::<f64>() / (to - from) as f64
        };
        let (before, alone, after) = (mean_ms(2, 9), mean_ms(14, 19), mean_ms(25, 30));
        assert!(alone > factor * before, "{before} {alone}");
        assert!((after / before - 1.0).abs() < 0.1, "{before} {after}");
        assert_eq!(twin.take_notes().len(), 2);
    }
}

/// Proves that what carries time over agrees with simulating all of it through a whole update, in rate, latency and the
/// moments of what happened.
#[test]
fn fast_forward_goes_through_an_update() {
    let mut description = disk_array();
    let update = &mut parts(&mut description).failover;
    update.away.value = 60 * SECOND_NS;
    update.gap.value = 20 * SECOND_NS;
    update.verify.value = 20_000 * 131_072;
    update.verify_rate.value = 50_000_000;
    let mut twin = build(&description, &[("layout", "raid6".into()), ("read_cache", "off".into())]);
    twin.schedule(10 * SECOND_NS, Event::FirmwareUpdate).unwrap();
    let run = load(Pattern::Randread, 100, 260);
    let mut exact = twin.clone();
    common::fast_forward_agrees("an update", &twin, &run);
    measure(&mut exact, &run);
    let exact = exact.take_notes();
    let mut fast = Vec::new();
    twin.run(&run.spec(), &NEVER_STOPPED, &mut |twin, _| {
        fast.extend(twin.take_notes());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(exact.len(), 6, "{exact:?}");
    for (fast, exact) in fast.iter().zip(&exact) {
        assert_eq!(fast.says, exact.says);
        assert!(fast.at_ns.abs_diff(exact.at_ns) < SECOND_NS, "{fast:?} {exact:?}");
    }
    assert_eq!(fast.len(), exact.len());
}

/// Proves on SSDs, flash modules and disks that nothing is left out from the loss of a drive until its rebuild is done, though
/// much is before and after it, and that the rebuild takes as long as where all is simulated.
#[test]
fn nothing_is_left_out_during_a_rebuild() {
    let mut modules = array("flashsystem-840");
    let flash = parts(&mut modules);
    flash.value_mut("groups[0].drives.capacity").unwrap().1.value = 1 << 30;
    let mut disks = array("e2700");
    let array = parts(&mut disks);
    array.volumes[0].keys.size.value = 8 << 30;
    array.groups[0].keys.piece.value = 32 << 20;
    let arrays: [(ArrayDescription, &[(&str, Value)]); 3] = [
        (ssd_array(1), &[("condition", "written".into()), ("coverage", 10.into())]),
        (modules, &[]),
        (disks, &[("layout", "ddp".into())]),
    ];
    for (description, list) in arrays {
        let mut twin = build(&description, list);
        twin.schedule(25 * SECOND_NS, Event::DriveFailure).unwrap();
        let mut exact = twin.clone();
        let run = Run { numjobs: 2, ..load(Pattern::Randread, 100, 90) };
        let (mut carried_s, mut notes) = (Vec::new(), Vec::new());
        twin.run(&run.spec(), &NEVER_STOPPED, &mut |twin, sample| {
            carried_s.extend(sample.is_extrapolated.then_some(sample.start_ns / SECOND_NS));
            notes.extend(twin.take_notes());
            ControlFlow::Continue(())
        })
        .unwrap();
        let [lost_ns, whole_ns] = [0, 1].map(|index: usize| notes[index].at_ns);
        assert_eq!((lost_ns, notes.len()), (25 * SECOND_NS, 2), "{notes:?}");
        assert!(notes[1].says.contains("rebuild is done") && whole_ns > 27 * SECOND_NS, "{notes:?}");
        let is_without = |second: &u64| (25..whole_ns / SECOND_NS).contains(second);
        println!("{}: whole at {:.2} s, {carried_s:?}", description.name, whole_ns as f64 / 1e9);
        assert!(!carried_s.iter().any(is_without), "{}: {carried_s:?}", description.name);
        let (before, after) = carried_s.iter().partition::<Vec<u64>, _>(|&&second| second < 25);
        // Two jobs of one I/O on disks come to too few in a minute for much to be skipped.
        let is_disks = description.name == "e2700";
        assert!(is_disks || (before.len() > 5 && after.len() > 10), "{}: {carried_s:?}", description.name);
        measure(&mut exact, &Run { runtime_s: whole_ns / SECOND_NS + 5, ..run });
        let exact_ns = exact.take_notes()[1].at_ns;
        assert!(whole_ns.abs_diff(exact_ns) < SECOND_NS / 5, "{}: {whole_ns} {exact_ns}", description.name);
    }
}

/// Proves that arrays refuse what their descriptions give no failover for, with what would do.
#[test]
fn impossible_events_are_refused() {
    let mut single = build(&array("raid-levels"), &[]);
    let error = single.schedule(0, Event::ControllerFailover).unwrap_err();
    assert!(matches!(error, TwinError::NoSuchEvent { .. }));
    assert!(error.to_string().contains("needs two controllers"), "{error}");
    let mut pool = build(&array("e2700"), &[("layout", "ddp".into())]);
    pool.schedule(0, Event::DriveReplacement).unwrap();
    let error = pool.act(0, "drive-replacement", &settings(&[("drive", 24.into())])).unwrap_err();
    assert!(error.to_string().contains("0 to 23"), "{error}");
    let mut ssd = build(&array("dorado-2100-g2"), &[]);
    let error = ssd.act(0, "drive-failure", &settings(&[("drive", 25.into())])).unwrap_err();
    assert!(error.to_string().contains("0 to 24"), "{error}");
    let mut description = disk_array();
    parts(&mut description).controllers.count.value = 1;
    let error = build(&description, &[]).schedule(0, Event::FirmwareUpdate).unwrap_err();
    assert!(error.to_string().contains("needs two controllers"), "{error}");
}
