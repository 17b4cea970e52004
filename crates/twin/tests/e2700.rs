//! The twin of the E2700, which is fitted to nothing: what its parts explain of the published conclusions, what they do
//! not, and what a cache and a pool must do.

mod common;

use common::{Run, Total, array, counter, fast_forward_agrees, measure, parts, settings};
use load::{NEVER_STOPPED, Pattern};
use serde_json::Value;
use twin::{ArrayDescription, Event, Twin};

const KIB: u32 = 1024;
const LAYOUTS: [&str; 3] = ["ddp", "raid6", "raid10"];

fn description() -> ArrayDescription {
    array("e2700")
}

fn twin(list: &[(&str, Value)]) -> Twin {
    Twin::build(&description(), &settings(list), 1).unwrap()
}

/// The published load, one job for each LUN; a cache is full or empty after 10 s of streams.
fn run(pattern: Pattern, bs_bytes: u32, iodepth: u32) -> Run {
    let ramp_s = if pattern.is_random() { 60 } else { 10 };
    Run { pattern, rwmixread: 50, bs_bytes, numjobs: 2, iodepth, ramp_s, runtime_s: 5 }
}

/// Caches as the published test sets them for streams.
fn stream(layout: &str, pattern: Pattern, bs_bytes: u32, iodepth: u32, more: &[(&str, Value)]) -> Total {
    let (reads, writes, ahead) = match pattern {
        Pattern::Read => ("off", "off", "off"),
        Pattern::Write => ("off", "on", "off"),
        _ => ("on", "on", "on"),
    };
    let mut list: Vec<(&str, Value)> = vec![
        ("layout", layout.into()),
        ("read_cache", reads.into()),
        ("write_cache", writes.into()),
        ("read_ahead", ahead.into()),
    ];
    list.extend(more.iter().cloned());
    measure(&mut twin(&list), &run(pattern, bs_bytes, iodepth))
}

/// Proves N1, N2 and N7 of streams: 1.5 GB/s at most and reached; reads below writes at shallow queues; RAID 10 writes
/// streams more slowly than RAID 6 and DDP.
#[test]
fn streams_are_as_published() {
    let mut most = 0.0f64;
    for layout in LAYOUTS {
        for bs_bytes in [256 * KIB, 1024 * KIB] {
            let write = stream(layout, Pattern::Write, bs_bytes, 2, &[]).mb_per_s();
            let read = stream(layout, Pattern::Read, bs_bytes, 2, &[]).mb_per_s();
            assert!(read < 0.85 * write, "N2 {layout}, {bs_bytes}: {read} and {write}");
            most = most.max(stream(layout, Pattern::Write, bs_bytes, 8, &[]).mb_per_s());
        }
    }
    assert!((1400.0..1510.0).contains(&most), "N1 {most}");
    let [pool, six, ten] = LAYOUTS.map(|layout| stream(layout, Pattern::Write, 512 * KIB, 8, &[]).mb_per_s());
    assert!(ten < 0.85 * six.min(pool), "N7 {pool} {six} {ten}");
}

/// Proves N2 and N12 as counters: streams never hit the read cache, and I/O is split over the links 50:50.
#[test]
fn counters_show_hits_and_paths() {
    let mut twin = twin(&[("layout", "raid6".into()), ("read_ahead", "off".into())]);
    measure(&mut twin, &run(Pattern::Rw, 256 * KIB, 4));
    assert_eq!(counter(&twin, "controller-0", "read_cache_hits"), 0);
    let bytes = |link: u32| {
        let entity = format!("link-{link}");
        counter(&twin, &entity, "to_host_bytes") + counter(&twin, &entity, "to_array_bytes")
    };
    let share = bytes(0) as f64 / (bytes(0) + bytes(1)) as f64;
    assert!((share - 0.5).abs() < 0.01, "N12 {share}");
}

/// Proves N8 and N11 of random load: small writes suit the pool worst, and random load of both directions moves a small
/// part of what streams move.
#[test]
fn random_load_is_as_published() {
    let random =
        |layout: &str, pattern| measure(&mut twin(&[("layout", layout.into())]), &run(pattern, 4 * KIB, 8));
    let [pool, six, ten] = LAYOUTS.map(|layout| random(layout, Pattern::Randwrite).iops());
    assert!(pool < 0.85 * six && six < ten, "N8 {pool} {six} {ten}");
    let mixed = random("raid6", Pattern::Randrw).mb_per_s();
    assert!(mixed < 50.0, "N11 {mixed}");
}

/// Proves N5: segments of 1024 KB give shallow reads of 256 KB a higher latency than 128 KB, and no more bandwidth.
#[test]
fn large_segments_do_not_help_streams() {
    let by_segment = [128u64, 1024]
        .map(|kib| stream("raid6", Pattern::Read, 1024 * KIB, 2, &[("segment", (kib * 1024).into())]));
    assert!(by_segment[1].mean_ms() > 1.1 * by_segment[0].mean_ms(), "N5");
    assert!(by_segment[1].mb_per_s() < 1.05 * by_segment[0].mb_per_s(), "N5");
}

/// Proves what a saturated closed loop must show of N9: a file system costs no bandwidth, and then cannot cost latency
/// either (Little's law), whatever its completions take; where the array waits for the host, it costs both.
#[test]
fn a_file_system_costs_what_little_allows() {
    let both = |iodepth| {
        ["raw", "ext4"]
            .map(|name| stream("raid10", Pattern::Write, 256 * KIB, iodepth, &[("filesystem", name.into())]))
    };
    let [raw, ext4] = both(8);
    assert!((ext4.mb_per_s() / raw.mb_per_s() - 1.0).abs() < 0.01);
    assert!((ext4.mean_ms() / raw.mean_ms() - 1.0).abs() < 0.02);
    let small = |name: &str| {
        let list = [("layout", "raid10".into()), ("filesystem", name.into()), ("seek", "off".into())];
        measure(&mut twin(&list), &Run { ramp_s: 0, runtime_s: 1, ..run(Pattern::Randwrite, 4 * KIB, 1) })
    };
    let (raw, ext4) = (small("raw"), small("ext4"));
    assert!(ext4.mean_ms() > 1.15 * raw.mean_ms(), "{} {}", raw.mean_ms(), ext4.mean_ms());
    assert!(ext4.iops() < raw.iops());
}

/// Proves that every switch of a mechanism shows in a result, so that none is a name without effect.
#[test]
fn every_switch_acts() {
    for (switch, pattern, bs_bytes) in [
        ("write_cache", Pattern::Write, 256 * KIB),
        ("read_ahead", Pattern::Read, 256 * KIB),
        ("links", Pattern::Write, 256 * KIB),
        ("backend", Pattern::Write, 256 * KIB),
        ("processors", Pattern::Write, 1024 * KIB),
        ("memory", Pattern::Write, 1024 * KIB),
        ("drive_buffer", Pattern::Read, 256 * KIB),
        ("reordering", Pattern::Randread, 4 * KIB),
    ] {
        // Links limit RAID 10, the controller RAID 6.
        let layout = if matches!(switch, "links" | "backend") { "raid10" } else { "raid6" };
        let load = Run { ramp_s: 10, ..run(pattern, bs_bytes, 8) };
        let mut base = vec![("layout", layout.into())];
        if switch == "drive_buffer" {
            base.push(("read_ahead", "off".into()));
        }
        let on = measure(&mut twin(&base), &load).iops();
        base.push((switch, "off".into()));
        let off = measure(&mut twin(&base), &load).iops();
        assert!((off / on - 1.0).abs() > 0.03, "{switch}: {on} and {off}");
    }
}

/// Proves that two controllers share the volumes, that mirroring costs a single write its copy, and that it can be
/// switched off.
#[test]
fn two_controllers_mirror() {
    let mut description = description();
    let array = parts(&mut description);
    array.controllers.count.value = 2;
    array.cache.mirror.value = 1_000_000_000;
    let alone = Run { ramp_s: 0, runtime_s: 1, ..run(Pattern::Write, 1000 * KIB, 1) };
    let [on, off] = ["on", "off"].map(|mirroring| {
        let mut twin = Twin::build(&description, &settings(&[("mirroring", mirroring.into())]), 1).unwrap();
        let total = measure(&mut twin, &alone);
        let writes = [0, 1].map(|index| counter(&twin, &format!("controller-{index}"), "writes"));
        assert!(writes[0].abs_diff(writes[1]) <= 1 + writes[0] / 50, "{writes:?}");
        total.mean_ms()
    });
    assert!((on - off - 1.024).abs() < 0.01, "{on} {off}");
}

/// Proves that a pool rebuilds into its free capacity: every survivor takes part, and no I/O is lost.
#[test]
fn a_pool_rebuilds_everywhere() {
    let mut description = description();
    let array = parts(&mut description);
    array.volumes[0].keys.size.value = 8 << 30;
    array.groups[0].keys.piece.value = 32 << 20;
    let mut twin = Twin::build(&description, &settings(&[("layout", "ddp".into())]), 1).unwrap();
    twin.schedule(1_000_000_000, Event::DriveFailure).unwrap();
    let total = measure(&mut twin, &Run { ramp_s: 0, runtime_s: 60, ..run(Pattern::Randread, 16 * KIB, 2) });
    assert_eq!(total.errors, 0);
    assert_eq!(twin.take_notes().len(), 2);
    let written = (0..24).filter(|drive| counter(&twin, &format!("drive-{drive}"), "written_bytes") > 0);
    assert!(written.count() >= 12);
    assert_eq!(counter(&twin, "drive-0", "written_bytes"), 0);
}

/// Proves that a new drive takes a lost one's place in a pool as free capacity, which the next loss fills, and that of two drives
/// lost at once both are given new homes: no I/O is lost.
#[test]
fn drives_of_a_pool_are_replaced() {
    let mut description = description();
    let array = parts(&mut description);
    array.volumes[0].keys.size.value = 2 << 30;
    array.groups[0].keys.piece.value = 32 << 20;
    array.rebuild.delay.value = 0;
    array.rebuild.rate.value = 1_000_000_000;
    let mut twin = Twin::build(&description, &settings(&[("layout", "ddp".into())]), 1).unwrap();
    let load = Run { ramp_s: 0, runtime_s: 30, ..run(Pattern::Randread, 16 * KIB, 2) };
    let mut after = |events: &[(&str, u64)]| {
        for &(action, drive) in events {
            let at_ns = twin.time_ns();
            twin.act(at_ns, action, &settings(&[("drive", drive.into())])).unwrap();
        }
        assert_eq!(measure(&mut twin, &load).errors, 0, "{events:?}");
        let notes: Vec<String> = twin.take_notes().into_iter().map(|note| note.says).collect();
        let written = [0, 1].map(|drive| counter(&twin, &format!("drive-{drive}"), "written_bytes"));
        let read = [0, 1].map(|drive| counter(&twin, &format!("drive-{drive}"), "reads"));
        (notes, written, read)
    };
    let (notes, written, _) = after(&[("drive-failure", 0)]);
    assert_eq!((notes.last().map(String::as_str), written[0]), (Some("the rebuild is done"), 0), "{notes:?}");
    let (notes, written, _) = after(&[("drive-replacement", 0)]);
    assert_eq!((notes.len(), written[0]), (1, 0), "{notes:?}");
    // The emptiest drive takes what the next one held. Another is lost before that is done: what it held goes to the drive that
    // has been replaced by then.
    let (notes, written, read) =
        after(&[("drive-failure", 1), ("drive-failure", 2), ("drive-replacement", 1)]);
    assert_eq!(notes.iter().filter(|says| *says == "the rebuild is done").count(), 1, "{notes:?}");
    assert!(written[0] > 0 && written[1] > 0 && read[0] > 0, "{written:?} {read:?}");
    let (notes, ..) = after(&[("drive-replacement", 4)]);
    assert!(notes[0].contains("needs no new"), "{notes:?}");
}

/// Proves what balancing over links does on an array of disks: switched off, one link carries all, and streams are no faster
/// than that link.
#[test]
fn unbalanced_streams_go_over_one_link() {
    let load = Run { ramp_s: 10, ..run(Pattern::Write, 256 * KIB, 8) };
    let shares = ["on", "off"].map(|balancing| {
        let mut description = description();
        parts(&mut description).fabric.rate.value = 500_000_000;
        let own = settings(&[("layout", "raid6".into()), ("balancing", balancing.into())]);
        let mut twin = Twin::build(&description, &own, 1).unwrap();
        let total = measure(&mut twin, &load);
        let bytes = |link: u32| counter(&twin, &format!("link-{link}"), "to_array_bytes");
        (total.mb_per_s(), bytes(0), bytes(1))
    });
    let [(on, ..), (off, first, second)] = shares;
    assert!(on > 1.6 * off && (off / 500.0 - 1.0).abs() < 0.02, "{on} and {off} MB/s");
    assert!(first > 0 && second == 0, "{first} {second}");
}

/// Proves that a pool of 10 drives, a segment for a pool and RAID 6 over 3 drives are refused with the reason.
#[test]
fn what_cannot_be_is_refused() {
    for (list, reason) in [
        (vec![("layout", Value::from("ddp")), ("disks", 10.into())], "at least 11"),
        (vec![("layout", "ddp".into()), ("segment", 65536.into())], "fixed"),
        (vec![("layout", "raid6".into()), ("disks", 3.into())], "at least 4"),
        (vec![("volume_size", (1u64 << 50).into())], "at most"),
        (vec![("filesystem", "zfs".into())], "ext4"),
    ] {
        let message = Twin::build(&description(), &settings(&list), 1).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
    let mut description = description();
    parts(&mut description).groups[0].count.count.value = 10;
    parts(&mut description).groups[0].keys.layout.value = 6;
    assert_eq!(description.check().unwrap_err().path, "groups[0].layout");
}

/// Proves that a single drive is an array like any other, and moves streams at its media's rate.
#[test]
fn a_drive_is_an_array_of_one() {
    let mut twin = Twin::build(&array("st1000nm0023"), &settings(&[]), 1).unwrap();
    let stream = Run { numjobs: 1, ramp_s: 0, ..run(Pattern::Read, 64 * KIB, 4) };
    let rate = measure(&mut twin, &stream).mb_per_s();
    assert!((160.0..176.0).contains(&rate), "{rate}");
}

/// Proves that random reads and mixed load agree with all of them simulated, caches on as in the published test, and that streams
/// are simulated whole.
#[test]
fn fast_forward_agrees_with_exact() {
    let mut streams = twin(&[("layout", "raid6".into())]);
    let stream =
        Run { rwmixread: 50, numjobs: 2, ramp_s: 0, runtime_s: 60, ..run(Pattern::Rw, 512 * KIB, 8) };
    let extrapolation =
        streams.run(&stream.spec(), &NEVER_STOPPED, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!(extrapolation.carried_ns, 0);
    let mut skipped = Vec::new();
    for (layout, pattern, bs_bytes, iodepth) in
        [("ddp", Pattern::Randread, 8 * KIB, 4), ("raid10", Pattern::Randrw, 8 * KIB, 8)]
    {
        let twin = twin(&[("layout", layout.into()), ("read_cache", "off".into())]);
        let run = Run { pattern, rwmixread: 50, bs_bytes, numjobs: 2, iodepth, ramp_s: 0, runtime_s: 240 };
        skipped.push(fast_forward_agrees(&format!("{layout} {pattern:?} {bs_bytes}"), &twin, &run));
    }
    // How dense dirty extents lie before the sweep of a write cache changes over minutes: it is simulated whole.
    assert_eq!(skipped, [true, false]);
}

/// Proves that nothing is skipped while a write cache is swept: as the sweep comes nearer to where it began, dirty
/// extents lie denser before it and RAID 6 merges more of them, which each minute of a mixed load must show as it does when all
/// of it is simulated.
#[test]
fn the_sweep_of_the_write_cache_goes_on() {
    let settings: &[(&str, Value)] = &[("layout", "raid6".into()), ("segment", (512 * KIB).into())];
    let load =
        Run { rwmixread: 50, numjobs: 2, ramp_s: 60, runtime_s: 240, ..run(Pattern::Randrw, 16 * KIB, 8) };
    let minutes = |more: &[(&str, Value)]| {
        let mut samples = Vec::new();
        let mut twin = twin(&[settings, more].concat());
        let run = twin.run(&load.spec(), &NEVER_STOPPED, &mut |_, sample| {
            samples.extend((!sample.is_ramp).then_some(sample));
            std::ops::ControlFlow::Continue(())
        });
        let rates: Vec<f64> = samples
            .chunks(60)
            .map(|minute| minute.iter().map(|sample| sample.read.ios + sample.write.ios).sum::<u64>() as f64)
            .collect();
        (rates, run.unwrap().carried_ns)
    };
    let ((fast, carried_ns), (exact, _)) = (minutes(&[]), minutes(&[("exact", "on".into())]));
    println!("{fast:?} {exact:?}, {carried_ns} ns skipped");
    assert_eq!(carried_ns, 0, "a sweep under way is simulated whole");
    assert!(exact[2] > 1.05 * exact[1], "the sweep costs the same everywhere: {exact:?}");
    for (fast, exact) in fast.iter().zip(&exact) {
        assert!((fast / exact - 1.0).abs() < 0.02, "{fast} I/Os in a minute, exact {exact}");
    }
}
