//! The drive against the arithmetic of its parts.

use super::translation::Temperature;
use super::*;
use crate::drive::stopwatch::quickest;
use load::Random;
use std::time::Duration;
use units::{Bytes, Nanos};

/// A drive of 200 GB: 8 channels of 4 dies, eMLC times.
fn drive() -> FlashDescription {
    FlashDescription {
        capacity: Bytes(200_000_000_000),
        over_provisioning: 0.28,
        mapping_unit: Bytes(8192),
        superblocks: 512,
        units_per_superblock: 256,
        collection: CollectionPolicy::Greedy,
        frontiers: WriteFrontiers::One,
        channels: 8,
        dies_per_channel: 4,
        planes: 2,
        page: Bytes(16_384),
        pages_per_block: 256,
        read: Nanos(75_000),
        program: Nanos(1_300_000),
        erase: Nanos(5_000_000),
        channel_bytes_per_s: 400_000_000,
        bus_bytes_per_s: 2_000_000_000,
        read_command: Nanos(2_000),
        write_command: Nanos(3_000),
        write_buffer: Bytes(8 << 20),
        suspend: None,
        read_priority: false,
        relocation: Nanos(0),
        erased_reserve: Bytes(0),
        merge_over_bus: false,
    }
}

fn assert_near(what: &str, got: f64, want: f64, tolerance: f64) {
    let error = got / want - 1.0;
    println!("{what}: {got:.1}, reference {want:.1} ({:+.2} %)", error * 100.0);
    assert!(error.abs() <= tolerance, "{what}: {got:.3} against {want:.3}, more than {tolerance} apart");
}

/// Rate of random I/Os of `block_bytes` with `outstanding` under way, `reads` of a thousand being reads.
fn closed_loop(drive: &mut FlashDrive, outstanding: usize, block_bytes: u32, reads: u64, ios: u64) -> f64 {
    let mut random = Random::from_seed(3);
    let mut done = std::collections::BinaryHeap::from(vec![std::cmp::Reverse(0u64); outstanding]);
    let blocks = 200_000_000_000 / u64::from(block_bytes);
    let (mut first_ns, mut last_ns) = (0, 0);
    for io in 0..ios {
        let std::cmp::Reverse(now_ns) = done.pop().expect("clients stay");
        if io == ios / 4 {
            first_ns = now_ns;
        }
        last_ns = now_ns;
        let offset = random.below(blocks) * u64::from(block_bytes);
        done.push(std::cmp::Reverse(if random.below(1000) < reads {
            drive.read(now_ns, offset, block_bytes)
        } else {
            drive.write(now_ns, offset, block_bytes, Temperature::Cold)
        }));
    }
    (ios - ios / 4) as f64 / ((last_ns - first_ns) as f64 / 1e9)
}

/// Write amplification with the reference's greedy collection at 0.28.
const AMPLIFICATION: f64 = 2.461;

/// Proves that sustained random writes are limited by the dies as the formula says (program, collection reads and
/// erases), within 3 %.
#[test]
fn sustained_writes_follow_the_formula_of_the_dies() {
    let description = FlashDescription { bus_bytes_per_s: 50_000_000_000, ..drive() };
    let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
    let got = closed_loop(&mut flash, 64, 8192, 0, 1_500_000);
    let unit = 8192.0;
    let die_ns = AMPLIFICATION * 1_300_000.0 * unit / (16_384.0 * 2.0)
        + (AMPLIFICATION - 1.0) * 75_000.0 * unit / 16_384.0
        + 5_000_000.0 * AMPLIFICATION * unit / (16_384.0 * 2.0 * 256.0);
    assert_near("sustained 8k writes/s, dies", got, 32.0 / die_ns * 1e9, 0.03);
    // They are what it waits for all the time, and its processor takes each command's time.
    let counted = flash.counters();
    let share = |busy_ns: u64| busy_ns as f64 * got / 1e9 / 1_500_000.0;
    assert_near("share of the dies", share(counted.dies_busy_ns), 1.0, 0.03);
    assert_eq!(counted.commands_busy_ns, 1_500_000 * description.write_command.0);
}

/// Proves that with dies to spare the shared bus decides: a collected unit crosses it twice, so that a write costs
/// 2·WA − 1 crossings; and that reads then are that much cheaper than writes.
#[test]
fn sustained_writes_follow_the_formula_of_the_bus() {
    let description = FlashDescription {
        bus_bytes_per_s: 500_000_000,
        program: Nanos(100_000),
        write_command: Nanos(0),
        read_command: Nanos(0),
        ..drive()
    };
    let crossing_ns = 8192.0 * 2.0;
    let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
    let writes = closed_loop(&mut flash, 4096, 8192, 0, 1_500_000);
    assert_near(
        "sustained 8k writes/s, bus",
        writes,
        1e9 / (crossing_ns * (2.0 * AMPLIFICATION - 1.0)),
        0.03,
    );
    let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
    let reads = closed_loop(&mut flash, 256, 8192, 1000, 500_000);
    assert_near("8k reads/s, bus", reads, 1e9 / crossing_ns, 0.01);
}

/// Proves that at depth 1 latency is the sum of the parts, to the nanosecond, for one page and for several.
#[test]
fn latency_at_depth_one_is_the_sum_of_its_parts() {
    let mut flash = FlashDrive::new(&drive(), Condition::Filled(1.0), 1).unwrap();
    // Command, array, channel at 2.5 ns a byte, bus at 0.5 ns a byte.
    assert_eq!(flash.read(0, 0, 4096), 2_000 + 75_000 + 10_240 + 2_048);
    let later = 1_000_000_000;
    assert_eq!(flash.read(later, 0, 65_536) - later, 2_000 + 75_000 + 40_960 + 32_768);
    let idle = 2 * later;
    // Into the buffer: command against one crossing of the bus by a unit, which overlap.
    assert_eq!(flash.write(idle, 8192, 8192, Temperature::Cold) - idle, 4_096);
}

/// Proves the write cliff of a whole drive: after a sequential fill, random writes run at the rate without collection until
/// over-provisioning × capacity is written, then at the sustained rate.
#[test]
fn cliff_comes_when_the_spare_is_written() {
    let description = FlashDescription { capacity: Bytes(4 << 30), superblocks: 256, ..drive() };
    let mut flash = FlashDrive::new(&description, Condition::Filled(1.0), 1).unwrap();
    let units = (4u64 << 30) / 8192;
    let mut random = Random::from_seed(2);
    let mut written = 0;
    let mut now_ns = 0;
    while flash.translation_counters().moved_units == 0 {
        now_ns = flash.write(now_ns, random.below(units) * 8192, 8192, Temperature::Cold);
        written += 1;
    }
    assert!(flash.sample_stride() > 1);
    assert_near("cliff after, in drive writes × 100", written as f64 / units as f64 * 100.0, 28.0, 0.04);
    assert!(flash.free_reserve_bytes() < (4 << 30) / 100);
}

/// Proves that what is rewritten at random in no time amplifies as simulated writes do: all of the drive and parts of it, whose amplification
/// is another, at first and after many passes, and that no fraction of a write is lost in small portions.
#[test]
fn rewriting_is_as_simulated_writes_are() {
    const UNITS: u64 = (4 << 30) / 8192;
    for (over_provisioning, parts) in [(0.28, 1), (0.28, 4), (0.28, 16), (0.07, 4)] {
        let description = FlashDescription { capacity: Bytes(4 << 30), over_provisioning, ..drive() };
        let mut simulated = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
        let mut rewritten = simulated.clone();
        let (first, units) = (UNITS / parts * (parts / 2), UNITS / parts);
        let mut random = Random::from_seed(2);
        let mut now_ns = 0;
        let mut amplifications = |drive_writes: f64| {
            let before = [&simulated, &rewritten].map(FlashDrive::translation_counters);
            for _ in 0..(UNITS as f64 * drive_writes) as u64 {
                let unit = first + random.below(units);
                now_ns = simulated.write(now_ns, unit * 8192, 8192, Temperature::Cold);
            }
            for _ in 0..1000 {
                rewritten.rewrite_at_random(first * 8192, units * 8192, drive_writes / 1000.0);
            }
            let after = [&simulated, &rewritten].map(FlashDrive::translation_counters);
            [0, 1].map(|drive| {
                let units = after[drive].host_units - before[drive].host_units;
                let moved = after[drive].moved_units - before[drive].moved_units;
                (units as f64, 1.0 + moved as f64 / units as f64)
            })
        };
        for drive_writes in [0.25, 2.0, 1.0] {
            let [(want_units, want), (units, got)] = amplifications(drive_writes);
            assert_near("writes", units, want_units, 0.02);
            assert_near("amplification × 100", got * 100.0, want * 100.0, 0.03);
        }
    }
}

/// Proves that what the drive programs in all is what its sampled translation amplifies: nothing is lost by sampling.
#[test]
fn sampling_conserves_programs() {
    let mut flash = FlashDrive::new(&drive(), Condition::Steady(1.0), 1).unwrap();
    closed_loop(&mut flash, 32, 8192, 0, 3_000_000);
    let counters = flash.counters();
    let amplification = counters.programs as f64 * 4.0 / counters.host_units as f64;
    assert_near("programs ÷ host units × 100", amplification * 100.0, AMPLIFICATION * 100.0, 0.02);
}

/// Proves that suspension takes reads from behind programs.
#[test]
fn suspension_spares_reads_the_programs() {
    let waits = |suspend| {
        let description = FlashDescription { suspend, ..drive() };
        let mut flash = FlashDrive::new(&description, Condition::Filled(1.0), 1).unwrap();
        for unit in 0..400 {
            flash.write(unit * 8_000, unit * 8192, 8192, Temperature::Cold);
        }
        flash.read(3_300_000, 0, 4096) - 3_300_000
    };
    let (behind, suspended) = (waits(None), waits(Some(Nanos(20_000))));
    println!("read behind programs {behind} ns, with suspension {suspended} ns");
    assert!(behind > 1_000_000 && suspended < 400_000);
}

/// Proves that writes which are acknowledged and still to be programmed keep no read waiting where reads have priority: not at the
/// die, the channel or the bus; and that what reads take of the bus is lost to writes all the same.
#[test]
fn reads_go_before_what_is_buffered() {
    let latency_ns = |read_priority| {
        let description = FlashDescription {
            suspend: Some(Nanos(20_000)),
            read_priority,
            bus_bytes_per_s: 500_000_000,
            write_command: Nanos(0),
            write_buffer: Bytes(64 << 20),
            ..drive()
        };
        let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
        for unit in 0..8192 {
            flash.write(0, unit * 8192, 8192, Temperature::Cold);
        }
        flash.read(1_000_000, 0, 4096) - 1_000_000
    };
    let alone_ns = 2_000 + 75_000 + 10_240 + 8_192;
    assert_eq!(latency_ns(true), alone_ns + 20_000);
    assert!(latency_ns(false) > 100_000_000);
    let description = FlashDescription {
        suspend: Some(Nanos(0)),
        read_priority: true,
        bus_bytes_per_s: 500_000_000,
        program: Nanos(100_000),
        write_command: Nanos(0),
        read_command: Nanos(0),
        ..drive()
    };
    let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
    let got = closed_loop(&mut flash, 4096, 8192, 500, 1_500_000);
    let crossings = 0.5 + 0.5 * (2.0 * AMPLIFICATION - 1.0);
    assert_near("8k I/Os/s, half reads, bus", got, 1e9 / (8192.0 * 2.0 * crossings), 0.03);
}

/// Proves that a write of half a mapping unit costs the dies a read, and the bus only where it is told to.
#[test]
fn part_of_a_unit_is_merged_inside_the_die() {
    let rate = |merge_over_bus, block_bytes| {
        let description = FlashDescription {
            merge_over_bus,
            bus_bytes_per_s: 500_000_000,
            program: Nanos(100_000),
            ..drive()
        };
        let mut flash = FlashDrive::new(&description, Condition::Steady(1.0), 1).unwrap();
        closed_loop(&mut flash, 4096, block_bytes, 0, 600_000)
    };
    assert_near("4k against 8k writes/s", rate(false, 4096), rate(false, 8192), 0.02);
    let crossings = 2.0 * AMPLIFICATION - 1.0;
    assert_near(
        "4k merged over the bus",
        rate(true, 4096),
        rate(true, 8192) * crossings / (crossings + 1.0),
        0.03,
    );
}

/// Proves that bad descriptions are refused with the key at fault.
#[test]
fn bad_descriptions_name_their_key() {
    let good = drive();
    assert_eq!(good.check(), Ok(()));
    let bad = [
        ("capacity", FlashDescription { capacity: Bytes(0), ..good.clone() }),
        ("over_provisioning", FlashDescription { over_provisioning: f64::NAN, ..good.clone() }),
        ("mapping_unit", FlashDescription { mapping_unit: Bytes(3000), ..good.clone() }),
        ("superblocks", FlashDescription { superblocks: 1 << 20, ..good.clone() }),
        ("superblocks", FlashDescription { over_provisioning: 0.01, ..good.clone() }),
        ("units_per_superblock", FlashDescription { units_per_superblock: 1, ..good.clone() }),
        ("collection", FlashDescription { collection: CollectionPolicy::Choices(0), ..good.clone() }),
        ("channels", FlashDescription { channels: 0, ..good.clone() }),
        ("channels", FlashDescription { channels: u32::MAX, ..good.clone() }),
        ("dies_per_channel", FlashDescription { dies_per_channel: 0, ..good.clone() }),
        ("planes", FlashDescription { planes: 0, ..good.clone() }),
        ("page", FlashDescription { page: Bytes(0), ..good.clone() }),
        ("page", FlashDescription { page: Bytes(2048), ..good.clone() }),
        ("pages_per_block", FlashDescription { pages_per_block: 0, ..good.clone() }),
        ("program", FlashDescription { program: Nanos(1 << 60), ..good.clone() }),
        ("channel_bytes_per_s", FlashDescription { channel_bytes_per_s: 0, ..good.clone() }),
        ("bus_bytes_per_s", FlashDescription { bus_bytes_per_s: 0, ..good.clone() }),
        ("write_buffer", FlashDescription { write_buffer: Bytes(4096), ..good.clone() }),
    ];
    for (key, description) in bad {
        assert_eq!(description.check().unwrap_err().key, key);
        assert!(FlashDrive::new(&description, Condition::Fresh, 1).is_err());
    }
}

/// Proves that a drive I/O costs little enough for 5 M array I/Os a second over 24 drives; the bound is loose so that a slow
/// machine passes and an added division or allocation an I/O does not.
#[test]
fn drive_ios_are_cheap() {
    let mut drives: Vec<FlashDrive> =
        (0..24).map(|seed| FlashDrive::new(&drive(), Condition::Steady(1.0), seed).unwrap()).collect();
    let mut random = Random::from_seed(1);
    for reads in [100, 50, 0] {
        let ios = 2_000_000u64;
        let mut last_ns = 0;
        let took = quickest(Duration::from_nanos(250 * ios), || {
            for io in 0..ios {
                let word = random.next_u64();
                let offset = (word >> 8) % 24_000_000 * 8192;
                let flash = &mut drives[(word & 15) as usize + (word >> 4 & 7) as usize];
                last_ns = if (word >> 52) % 100 < reads {
                    flash.read(io * 1_000, offset, 8192)
                } else {
                    flash.write(io * 1_000, offset, 8192, Temperature::Cold)
                };
            }
        });
        let cost_ns = took.as_nanos() as f64 / ios as f64;
        println!("{reads} % reads: {cost_ns:.1} ns a drive I/O (last done {last_ns})");
        assert!(cost_ns < 250.0, "{cost_ns} ns");
    }
}
