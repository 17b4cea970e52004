//! The disk against the trial simulation of the same parameters (`docs/models/hard-disk.md`), its datasheet, and what
//! a buffer must do.

use super::*;
use crate::drive::stopwatch::quickest;
use load::Random;
use std::time::Duration;
use units::{Bytes, Nanos};

/// ST1000NM0023 as the reference prototype has it: seek 0.8 ms + k√x with a mean of 8.5 ms, overhead 0.15 ms, no buffer.
fn constellation(queue_window: u32) -> HardDiskDescription {
    HardDiskDescription {
        capacity: Bytes(1_000_204_886_016),
        rpm: 7200,
        heads: 3,
        zones: 24,
        outer_bytes_per_s: 175_000_000,
        inner_bytes_per_s: 83_000_000,
        seek_min: Nanos(800_000),
        seek_average: Nanos(8_500_000),
        write_settle: Nanos(0),
        seek_linear_from: 1.0,
        head_switch: Nanos(0),
        command_overhead: Nanos(150_000),
        interface_bytes_per_s: 600_000_000,
        queue_window,
        plans_ahead: false,
        queue_age_limit: Nanos(0),
        segments: 0,
        segment_bytes: Bytes(0),
        write_cache: false,
        write_cache_bytes: Bytes(0),
    }
}

fn random_command(
    random: &mut Random,
    span_bytes: u64,
    block_bytes: u32,
    direction: Direction,
) -> DiskCommand {
    let blocks = span_bytes / u64::from(block_bytes);
    DiskCommand {
        direction,
        offset_bytes: random.below(blocks) * u64::from(block_bytes),
        length_bytes: block_bytes,
    }
}

/// IOPS of `outstanding` clients that each send a random command when the last one is done.
fn closed_loop(
    disk: &mut HardDisk,
    outstanding: u32,
    block_bytes: u32,
    stroke: f64,
    direction: Direction,
    commands: u32,
) -> f64 {
    let mut random = Random::from_seed(11);
    let span = (disk.capacity_bytes() as f64 * stroke) as u64;
    for tag in 0..outstanding {
        disk.submit(0, tag, random_command(&mut random, span, block_bytes, direction));
    }
    let mut at_ns = 0;
    for _ in 0..commands {
        let done = disk.advance(u64::MAX - 1).expect("a command is under way");
        assert!(done.at_ns >= at_ns, "completions come in order of time");
        at_ns = done.at_ns;
        disk.submit(at_ns, done.tag, random_command(&mut random, span, block_bytes, direction));
    }
    f64::from(commands) / (at_ns as f64 / 1e9)
}

fn assert_near(what: &str, got: f64, want: f64, tolerance: f64) {
    let error = got / want - 1.0;
    println!("{what}: {got:.1}, reference {want:.1} ({:+.1} %)", error * 100.0);
    assert!(error.abs() <= tolerance, "{what}: {got:.2} against {want:.2}, more than {tolerance} apart");
}

/// Proves that the disk serves 4 KiB at every queue depth at the reference's rate, in order and reordered, within 3 %.
#[test]
fn rates_by_queue_depth_match_the_reference() {
    for depth in [1, 4, 32, 128] {
        let mut disk = HardDisk::new(&constellation(1)).unwrap();
        let got = closed_loop(&mut disk, depth, 4096, 1.0, Direction::Read, 30_000);
        assert_near(&format!("in order, depth {depth}"), got, 78.0, 0.03);
    }
    let reference =
        [(1, 78.0), (2, 94.0), (4, 111.0), (8, 131.0), (16, 157.0), (32, 188.0), (64, 224.0), (128, 265.0)];
    for (depth, want) in reference {
        let mut disk = HardDisk::new(&constellation(256)).unwrap();
        let got = closed_loop(&mut disk, depth, 4096, 1.0, Direction::Read, 30_000);
        assert_near(&format!("reordered, depth {depth}"), got, want, 0.03);
    }
}

/// Proves that a disk of which a part is used seeks less, as the reference has it, within 5 %.
#[test]
fn short_strokes_match_the_reference() {
    for (stroke, row) in [
        (0.05, [151.0, 241.0, 350.0, 407.0]),
        (0.10, [138.0, 210.0, 304.0, 357.0]),
        (0.25, [117.0, 169.0, 246.0, 290.0]),
        (0.50, [99.0, 139.0, 202.0, 241.0]),
    ] {
        for (depth, want) in [1, 4, 16, 32].into_iter().zip(row) {
            let mut disk = HardDisk::new(&constellation(256)).unwrap();
            let got = closed_loop(&mut disk, depth, 4096, stroke, Direction::Read, 30_000);
            assert_near(&format!("stroke {stroke}, depth {depth}"), got, want, 0.05);
        }
    }
}

/// Proves that larger blocks cost the time they take under the head, within 4 % of the reference.
#[test]
fn rates_by_block_size_match_the_reference() {
    for (block_bytes, row) in [
        (8 << 10, [78.0, 156.0]),
        (64 << 10, [76.0, 145.0]),
        (256 << 10, [68.0, 119.0]),
        (1 << 20, [48.0, 70.0]),
    ] {
        for (depth, want) in [1, 16].into_iter().zip(row) {
            let mut disk = HardDisk::new(&constellation(256)).unwrap();
            let got = closed_loop(&mut disk, depth, block_bytes, 1.0, Direction::Read, 20_000);
            assert_near(&format!("block {block_bytes}, depth {depth}"), got, want, 0.04);
        }
    }
}

/// Proves that the mean seek between random cylinders is the datasheet's, with and without a linear part.
#[test]
fn mean_seek_is_the_datasheets() {
    for seek_linear_from in [1.0, 0.4, 0.1] {
        let media = Media::new(&HardDiskDescription { seek_linear_from, ..constellation(1) });
        let mut random = Random::from_seed(1);
        let draws = 1_000_000;
        let sum: u64 = (0..draws).map(|_| media.seek_ns(random.unit_open(), random.unit_open())).sum();
        assert_near(
            &format!("mean seek in ms, linear from {seek_linear_from}"),
            sum as f64 / draws as f64 / 1e6,
            8.5,
            0.005,
        );
        let (nearly, just) =
            (media.seek_ns(0.0, seek_linear_from - 1e-9), media.seek_ns(0.0, seek_linear_from + 1e-9));
        assert!(just >= nearly && just - nearly < 1000, "the curve has no step at {seek_linear_from}");
    }
}

/// Proves that offsets map to radii and rates in order, and that the zones' rates are those of the description.
#[test]
fn zones_cover_the_disk_in_order() {
    let description = constellation(1);
    let media = Media::new(&description);
    let (mut last_radius, mut last_ns) = (-1.0, 0.0);
    for step in 0..=10_000 {
        let place = media.place(description.capacity.0 / 10_000 * step);
        assert!(place.radius > last_radius && place.radius <= 1.0, "radius {} at step {step}", place.radius);
        assert!(place.ns_per_byte >= last_ns);
        (last_radius, last_ns) = (place.radius, place.ns_per_byte);
    }
    assert_near("outer MB/s", 1e3 / media.place(0).ns_per_byte, 175.0, 0.02);
    assert_near("inner MB/s", 1e3 / last_ns, 83.0, 0.02);
}

/// Proves that waiting for the platter is uniform over a turn: mean 4.17 ms at 7,200 a minute, never a whole turn.
#[test]
fn rotation_is_uniform_over_a_turn() {
    let mut disk = HardDisk::new(&constellation(1)).unwrap();
    let mut random = Random::from_seed(5);
    let span = disk.capacity_bytes();
    for at in 0..100_000u64 {
        disk.serve_in_order(at, random_command(&mut random, span, 4096, Direction::Read));
    }
    assert_near("mean rotational wait in ms", disk.counters().rotation_ns as f64 / 1e11, 4.167, 0.01);
    // The angle is a function of time: a sector that has just passed comes back after a whole turn.
    let media = Media::new(&constellation(1));
    let wait = media.rotation_ns(1_000_000, 0);
    let after = media.rotation_ns(1_000_000 + wait + 8_333_333 * 1000 + 1_000, 0);
    assert!((8_331_000..8_333_000).contains(&after), "{after}");
}

/// Proves that the in-order path and the queue with a window of one give the same moments.
#[test]
fn in_order_path_equals_a_window_of_one() {
    let mut direct = HardDisk::new(&constellation(1)).unwrap();
    let mut queued = HardDisk::new(&constellation(1)).unwrap();
    let mut random = Random::from_seed(3);
    let span = direct.capacity_bytes();
    let mut at_ns = 0;
    for tag in 0..2000 {
        at_ns += random.below(20_000_000);
        let command = random_command(&mut random, span, 4096, Direction::Write);
        let expected = direct.serve_in_order(at_ns, command);
        queued.submit(at_ns, tag, command);
        let done = queued.advance(expected).unwrap();
        assert_eq!((done.tag, done.at_ns), (tag, expected));
        at_ns = at_ns.max(expected);
    }
}

/// Proves that no command waits much longer than the age limit while others keep arriving near the head.
#[test]
fn age_limit_ends_starvation() {
    let longest = |age_limit_ns| {
        let mut disk = HardDisk::new(&HardDiskDescription {
            queue_age_limit: Nanos(age_limit_ns),
            ..constellation(256)
        })
        .unwrap();
        let mut random = Random::from_seed(2);
        let span = disk.capacity_bytes();
        let mut arrived = [0u64; 64];
        for tag in 0..64 {
            disk.submit(0, tag, random_command(&mut random, span, 4096, Direction::Read));
        }
        let mut longest = 0;
        for _ in 0..20_000 {
            let done = disk.advance(u64::MAX - 1).unwrap();
            longest = longest.max(done.at_ns - arrived[done.tag as usize]);
            arrived[done.tag as usize] = done.at_ns;
            disk.submit(done.at_ns, done.tag, random_command(&mut random, span, 4096, Direction::Read));
        }
        longest
    };
    let (free, limited) = (longest(0), longest(500_000_000));
    println!(
        "longest wait {} ms without, {} ms with a limit of 500 ms",
        free / 1_000_000,
        limited / 1_000_000
    );
    assert!(free > 1_500_000_000 && limited < 1_100_000_000);
}

fn sequential(
    disk: &mut HardDisk,
    direction: Direction,
    block_bytes: u32,
    outstanding: u32,
    commands: u64,
) -> f64 {
    let mut next = 0;
    let mut command = || {
        next += 1;
        DiskCommand {
            direction,
            offset_bytes: (next - 1) * u64::from(block_bytes),
            length_bytes: block_bytes,
        }
    };
    for tag in 0..outstanding {
        disk.submit(0, tag, command());
    }
    let mut at_ns = 0;
    for _ in 0..commands {
        let done = disk.advance(u64::MAX - 1).expect("a command is under way");
        at_ns = done.at_ns;
        disk.submit(at_ns, done.tag, command());
    }
    (commands * u64::from(block_bytes)) as f64 / (at_ns as f64 / 1e9) / 1e6
}

/// Proves that read-ahead lets small sequential reads run at the media's rate, and that without it each loses a turn.
#[test]
fn read_ahead_reaches_the_media_rate() {
    let read_ahead = HardDiskDescription { segments: 16, segment_bytes: Bytes(2 << 20), ..constellation(1) };
    let mut disk = HardDisk::new(&read_ahead).unwrap();
    assert_near(
        "sequential read, 64k, depth 1, MB/s",
        sequential(&mut disk, Direction::Read, 65_536, 1, 5_000),
        175.0,
        0.03,
    );
    assert!(disk.counters().buffer_hits >= 4_990);
    let mut bare = HardDisk::new(&constellation(1)).unwrap();
    assert_near(
        "without read-ahead, MB/s",
        sequential(&mut bare, Direction::Read, 65_536, 1, 2_000),
        65_536.0 / (8_333.3 + 374.5),
        0.03,
    );
    assert_eq!(bare.counters().buffer_hits, 0);
}

/// Proves that sequential writes that queue up stream without lost turns, and that a lone write-through client loses one each.
#[test]
fn queued_sequential_writes_stream() {
    let mut queued = HardDisk::new(&constellation(32)).unwrap();
    assert_near(
        "sequential write, depth 4, MB/s",
        sequential(&mut queued, Direction::Write, 65_536, 4, 2_000),
        175.0,
        0.05,
    );
}

/// Proves that a read of what was just overwritten does not come from a stale segment.
#[test]
fn overwritten_segments_are_forgotten() {
    let description = HardDiskDescription { segments: 4, segment_bytes: Bytes(1 << 20), ..constellation(8) };
    let mut disk = HardDisk::new(&description).unwrap();
    let command = |direction, offset_bytes| DiskCommand { direction, offset_bytes, length_bytes: 4096 };
    let mut at_ns = 0;
    for (direction, offset, hits) in [
        (Direction::Read, 0, 0),
        (Direction::Read, 0, 1),
        (Direction::Write, 0, 1),
        (Direction::Read, 0, 1),
        (Direction::Read, 0, 2),
    ] {
        disk.submit(at_ns, 1, command(direction, offset));
        at_ns = disk.advance(u64::MAX - 1).unwrap().at_ns;
        assert_eq!(disk.counters().buffer_hits, hits);
    }
}

/// Proves that the write cache acknowledges at once while it has room, then at the rate of destaging in order of
/// address, which is well above that of single writes; that nothing is lost; and that unwritten data is read from it.
#[test]
fn write_cache_acknowledges_early_and_destages_in_order() {
    let description =
        HardDiskDescription { write_cache: true, write_cache_bytes: Bytes(16 << 20), ..constellation(32) };
    let mut disk = HardDisk::new(&description).unwrap();
    let mut random = Random::from_seed(9);
    let span = disk.capacity_bytes();
    disk.submit(0, 0, random_command(&mut random, span, 4096, Direction::Write));
    let first = disk.advance(1_000_000).unwrap();
    assert_eq!(first.at_ns, 150_000 + 6826);
    let sustained = {
        closed_loop(&mut disk, 8, 4096, 1.0, Direction::Write, 6_000);
        let (before, start) = (disk.counters().media_writes, disk.free_at_ns);
        for _ in 0..6_000 {
            let done = disk.advance(u64::MAX - 1).unwrap();
            disk.submit(done.at_ns, done.tag, random_command(&mut random, span, 4096, Direction::Write));
        }
        (disk.counters().media_writes - before) as f64 / ((disk.free_at_ns - start) as f64 / 1e9)
    };
    println!("destage {sustained:.0} writes/s");
    assert!(sustained > 200.0, "4,096 unwritten blocks in order of address beat 78 a second: {sustained}");
    let command =
        DiskCommand { direction: Direction::Write, offset_bytes: 12_345 * 4096, length_bytes: 4096 };
    while let Some(at_ns) = disk.next_event_ns() {
        disk.advance(at_ns);
    }
    assert!(disk.is_idle());
    let at_ns = disk.free_at_ns + 1;
    disk.submit(at_ns, 1, command);
    disk.submit(at_ns, 2, DiskCommand { direction: Direction::Read, ..command });
    assert_eq!(disk.counters().buffer_hits, 1);
}

/// Proves that bad descriptions are refused with the key at fault.
#[test]
fn bad_descriptions_name_their_key() {
    let good = constellation(32);
    assert_eq!(good.check(), Ok(()));
    let bad = [
        ("capacity", HardDiskDescription { capacity: Bytes(0), ..good.clone() }),
        ("rpm", HardDiskDescription { rpm: 0, ..good.clone() }),
        ("heads", HardDiskDescription { heads: 0, ..good.clone() }),
        ("zones", HardDiskDescription { zones: 65, ..good.clone() }),
        ("inner_bytes_per_s", HardDiskDescription { inner_bytes_per_s: 0, ..good.clone() }),
        ("outer_bytes_per_s", HardDiskDescription { outer_bytes_per_s: 82_000_000, ..good.clone() }),
        ("seek_min", HardDiskDescription { seek_min: Nanos(1 << 40), ..good.clone() }),
        ("seek_average", HardDiskDescription { seek_average: Nanos(1), ..good.clone() }),
        ("seek_linear_from", HardDiskDescription { seek_linear_from: f64::NAN, ..good.clone() }),
        ("head_switch", HardDiskDescription { head_switch: Nanos(1 << 40), ..good.clone() }),
        ("command_overhead", HardDiskDescription { command_overhead: Nanos(1 << 40), ..good.clone() }),
        ("interface_bytes_per_s", HardDiskDescription { interface_bytes_per_s: 0, ..good.clone() }),
        ("queue_window", HardDiskDescription { queue_window: 0, ..good.clone() }),
        ("segments", HardDiskDescription { segments: 257, ..good.clone() }),
        ("segment_bytes", HardDiskDescription { segments: 1, ..good.clone() }),
        ("write_cache_bytes", HardDiskDescription { write_cache: true, ..good.clone() }),
    ];
    for (key, description) in bad {
        assert_eq!(description.check().unwrap_err().key, key);
    }
}

/// Proves that the in-order path is fast enough for RAID of many disks: 5 M commands a second on any machine, so that a
/// slip into divisions or allocation shows. Measured about ten times that.
#[test]
fn in_order_path_is_fast() {
    let mut disk = HardDisk::new(&constellation(1)).unwrap();
    let mut random = Random::from_seed(4);
    let span = disk.capacity_bytes();
    let commands = 2_000_000;
    let mut at_ns = 0;
    let bound = Duration::from_secs_f64(f64::from(commands) / 2e6);
    let took = quickest(bound, || {
        for _ in 0..commands {
            at_ns = disk.serve_in_order(at_ns, random_command(&mut random, span, 4096, Direction::Read));
        }
    });
    let rate = f64::from(commands) / took.as_secs_f64() / 1e6;
    println!("in order: {rate:.1} M commands/s, simulated {} s", at_ns / 1_000_000_000);
    assert!(rate > 2.0, "{rate} M commands/s");
}

/// Proves that a disk that plans ahead serves what it chose when it began, though a command that it would reach earlier has
/// arrived meanwhile, that one that does not takes the nearer one, and that planning costs where queues are short.
#[test]
fn a_planned_command_is_served_next() {
    let nearest_late = |plans_ahead: bool| {
        let mut disk = HardDisk::new(&HardDiskDescription { plans_ahead, ..constellation(8) }).unwrap();
        let read =
            |offset_bytes: u64| DiskCommand { direction: Direction::Read, offset_bytes, length_bytes: 512 };
        disk.submit(0, 0, read(0));
        disk.submit(0, 1, read(900_000_000_000));
        // The arm is on its way to the first; then a neighbour of it arrives.
        disk.next_event_ns();
        disk.submit(1000, 2, read(700_000));
        (0..3).map(|_| disk.advance(u64::MAX).unwrap().tag).collect::<Vec<_>>()
    };
    let chosen = (nearest_late(false), nearest_late(true));
    assert_eq!(chosen, (vec![0, 2, 1], vec![0, 1, 2]));
    let rate = |plans_ahead: bool, outstanding| {
        let mut disk = HardDisk::new(&HardDiskDescription { plans_ahead, ..constellation(2) }).unwrap();
        closed_loop(&mut disk, outstanding, 4096, 1.0, Direction::Read, 4000)
    };
    for (outstanding, least) in [(1, 0.999), (2, 0.80), (3, 0.95)] {
        let share = rate(true, outstanding) / rate(false, outstanding);
        println!("{outstanding} outstanding: planned ahead {share:.3}");
        assert!((least..=1.001).contains(&share), "{outstanding}: {share}");
    }
}

/// Proves that a seek over more than the distance that is told for a time takes longer than that, for curves with and without a linear
/// part and for none, and that the distance is no larger than it must be by a thousandth.
#[test]
fn nothing_farther_is_reached_sooner() {
    let curve = |linear_from: f64, seek_min: u64, seek_average: u64| {
        Media::new(&HardDiskDescription {
            seek_linear_from: linear_from,
            seek_min: Nanos(seek_min),
            seek_average: Nanos(seek_average),
            ..constellation(1)
        })
    };
    let mut random = Random::from_seed(5);
    for media in [curve(1.0, 800_000, 8_500_000), curve(0.3, 800_000, 8_500_000), curve(0.1, 0, 4_000_000)] {
        for _ in 0..10_000 {
            let seek_ns = random.below(20_000_000);
            let farthest = media.farthest_within(seek_ns);
            let beyond = farthest + farthest.max(1e-9) * f64::EPSILON * 2.0;
            assert!(media.seek_ns(0.0, beyond) > seek_ns, "{farthest} {seek_ns}");
            if (1e-3..1.0).contains(&farthest) {
                assert!(media.seek_ns(0.0, farthest * 0.999) <= seek_ns, "{farthest} {seek_ns}");
            }
        }
    }
    assert_eq!(curve(1.0, 0, 0).farthest_within(0), f64::INFINITY);
}
