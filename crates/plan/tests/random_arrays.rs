//! Random arrays of parts: laws that hold for every composition.

use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Random, Sample, run_simulated};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use twin::{ArrayDescription, Event, Twin};

/// Arrays of a run of the tests; thousands in `make test-long`.
fn arrays_wanted() -> u64 {
    if test_support::is_long() { 2000 } else { 200 }
}

fn one_of<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// Returns true if drives are so slow that a load needs seconds.
fn has_hard_disks(text: &str) -> bool {
    ["nearline", "nas-4tb", "sas-10k"].iter().any(|name| text.contains(name))
}

/// Text of a random array; most can be, some are refused.
fn drawn(random: &mut Random) -> String {
    let drives = [
        "nvme-3840-tlc",
        "nvme-1600-mixed",
        "sata-960-mixed",
        "sata-1920-read",
        "flash-module-2tb",
        "nearline-8tb",
        "sas-10k-1200",
        "nas-4tb",
    ];
    let controllers =
        ["midrange-2014", "midrange-2023", "raid-card-2014", "storage-node-2024", "nas-4bay", "host-md"];
    let links = [
        "fc-8g",
        "fc-16g",
        "fc-32g",
        "sas-12g-x4",
        "ethernet-10g",
        "ethernet-25g",
        "ethernet-100g",
        "pcie-3x8",
        "pcie-4x16",
    ];
    let mut text = String::from("title: drawn\n");
    let is_cluster = random.below(4) == 0;
    let count = 1 + random.below(4);
    let controller = one_of(random, &controllers);
    let ownership = one_of(random, &["luns", "active-active"]);
    let drive = one_of(random, &drives);
    if is_cluster {
        let nodes = 3 + random.below(8);
        let per_node = 1 + random.below(4);
        let network = one_of(random, &["ethernet-10g", "ethernet-25g", "ethernet-100g"]);
        let _ = writeln!(
            text,
            "nodes: {{ count: {nodes}, network: {{ use: {network}, ports: {} }} }}",
            1 + random.below(4)
        );
        let _ = writeln!(
            text,
            "controllers: {{ use: {controller}, count: {}, ownership: {ownership} }}",
            1 + random.below(2)
        );
        let _ = writeln!(
            text,
            "groups:\n  - {{ name: g, per_node: {{ use: {drive}, count: {per_node} }}, layout: single }}"
        );
        let code = if nodes >= 6 && random.below(2) == 0 {
            "erasure: 4+2, segment: 16KiB".to_owned()
        } else {
            format!("replicas: {}", 1 + random.below(3))
        };
        let _ = writeln!(text, "pools:\n  - {{ name: p, on: g, {code} }}");
    } else {
        let layout = one_of(random, &["raid0", "raid10", "raid5", "raid6", "pool"]);
        let least = if layout == "pool" { 11 } else { 4 };
        let members = (least + random.below(12)) / 2 * 2 + u64::from(layout == "pool");
        let segment = one_of(random, &["16KiB", "64KiB", "128KiB", "512KiB"]);
        let _ = writeln!(
            text,
            "fabric: {{ use: {}, ports: {} }}",
            one_of(random, &links),
            count + random.below(8)
        );
        let parity = one_of(random, &["0us", "0us", "10us"]);
        let _ = writeln!(
            text,
            "controllers: {{ use: {controller}, count: {count}, ownership: {ownership}, parity_command: {parity} }}"
        );
        let backend = if random.below(2) == 0 {
            format!(", backend: {{ use: sas-12g-x4, ports: {} }}", 1 + random.below(4))
        } else {
            String::new()
        };
        let is_disk = has_hard_disks(drive);
        let disk = if is_disk {
            one_of(
                random,
                &[
                    "",
                    ", plans_ahead: true, queue: 2",
                    ", head_switch: 0.5ms, linear_from: 20%",
                    ", queue: 1, segments: 0",
                    ", write_buffer: 1MiB, interface: 300MB/s",
                ],
            )
        } else {
            ""
        };
        let pool = if random.below(2) == 0 { ", pool_segment: 64KiB" } else { "" };
        let _ = writeln!(
            text,
            "groups:\n  - {{ name: g, drives: {{ use: {drive}, count: {members}{disk} }}, layout: {layout}, segment: {segment}{pool}{backend} }}"
        );
        let _ = writeln!(text, "volumes: {{ name: v, count: {}, on: g }}", 1 + random.below(8));
    }
    let cache = one_of(
        random,
        &[
            "{}",
            "{ write_back: 64MiB }",
            "{ read: 64MiB }",
            "{ write_back: 64MiB, read: 16MiB, mirrored: false }",
            "{ write_back: 64MiB, destage_order: age, destage: 8, read_ahead: 8MiB }",
            "{ write_back: 64MiB, mode: write-through, read_ahead: 1MiB }",
        ],
    );
    let _ = writeln!(text, "cache: {cache}");
    text
}

/// A random array that can be, with its text.
fn array(random: &mut Random) -> (String, ArrayDescription) {
    let mut refused = String::new();
    for _ in 0..100 {
        let text = drawn(random);
        match plan::parse_array("drawn.yaml", &text) {
            Ok(description) => return (text, description),
            Err(error) => refused = diagnostic::full_text(&error),
        }
    }
    panic!("a hundred arrays in a row are refused; the last: {refused}");
}

fn load(random: &mut Random, text: &str) -> LoadSpec {
    let pattern = [Pattern::Randread, Pattern::Randwrite, Pattern::Randrw][random.below(3) as usize];
    let runtime_ns = if has_hard_disks(text) { 1_000_000_000 } else { 20_000_000 };
    LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or(70),
        bs_bytes: [4096, 4096, 8192, 131_072][random.below(4) as usize],
        numjobs: [1, 4, 16][random.below(3) as usize],
        iodepth: [1, 4, 16][random.below(3) as usize],
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: runtime_ns / 4,
        runtime_ns,
        interval_ns: runtime_ns,
        seed: 1 + random.below(1000),
        shape: LoadShape::default(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Total {
    ios: u64,
    bytes: u64,
    errors: u64,
    latency_ns: f64,
}

impl Total {
    fn iops(self, load: &LoadSpec) -> f64 {
        self.ios as f64 * 1e9 / load.runtime_ns as f64
    }
}

fn twin(description: &ArrayDescription, settings: &[(&str, &str)], seed: u64) -> Twin {
    let settings: Map<String, Value> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    Twin::build(description, &settings, seed).unwrap()
}

fn run(twin: &mut Twin, load: &LoadSpec) -> Total {
    let mut total = Total { ios: 0, bytes: 0, errors: 0, latency_ns: 0.0 };
    run_simulated(twin, load, &NEVER_STOPPED, &mut |_, sample: Sample| {
        if !sample.is_ramp {
            for direction in [&sample.read, &sample.write] {
                total.ios += direction.ios;
                total.bytes += direction.bytes;
                total.errors += direction.errors;
                total.latency_ns += direction.latency.mean_ns() * direction.ios as f64;
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    total.latency_ns /= total.ios.max(1) as f64;
    total
}

/// Proves for random arrays and loads that nothing panics, that no I/O fails on a whole array, that what is outstanding is rate
/// times latency (Little's law), and that the same seed gives the same results and counters.
#[test]
fn little_and_the_seed() {
    let mut random = Random::from_seed(16);
    for number in 0..arrays_wanted() {
        let (text, description) = array(&mut random);
        let load = load(&mut random, &text);
        let mut first = twin(&description, &[("host", "off"), ("condition", "fresh")], load.seed);
        let total = run(&mut first, &load);
        let mut second = twin(&description, &[("host", "off"), ("condition", "fresh")], load.seed);
        assert_eq!(run(&mut second, &load), total, "{number}\n{text}");
        assert_eq!(first.counters(), second.counters(), "{number}\n{text}");
        assert_eq!(total.errors, 0, "{number}\n{text}");
        assert!(total.ios > 0, "{number}\n{text}{load:?}");
        let outstanding = f64::from(load.numjobs * load.iodepth);
        // Few completions say little: those that began before and end within the interval count whole. A cache that fills and
        // stalls behind hard disks is in no steady state within a second.
        let is_stalling = has_hard_disks(&text) && text.contains("write_back");
        if total.ios as f64 > 50.0 * outstanding && !is_stalling {
            let found = total.iops(&load) * total.latency_ns / 1e9;
            assert!(
                (found / outstanding - 1.0).abs() < 0.03,
                "{number}: {found} of {outstanding}\n{text}{load:?}"
            );
        }
    }
}

/// Proves for random arrays that no load goes beyond the ceiling which `check` prints, and that the median array reaches 85 % of it
/// under some load.
#[test]
fn ceilings_hold_and_are_reached() {
    let mut random = Random::from_seed(85);
    let mut reached = Vec::new();
    for number in 0..arrays_wanted() {
        let (text, description) = array(&mut random);
        let parts = &*description.parts;
        let (sets, _) = array::sets(parts);
        let ceilings = array::ceilings(parts, &sets);
        let mut best: f64 = 0.0;
        for (pattern, block_bytes) in [
            (Pattern::Randread, 4096u32),
            (Pattern::Randwrite, 4096),
            (Pattern::Randread, 131_072),
            (Pattern::Randwrite, 131_072),
        ] {
            let is_read = pattern == Pattern::Randread;
            let least = |c: &&array::Ceiling| c.is_read == is_read && c.block_bytes == u64::from(block_bytes);
            let ceiling = ceilings.iter().filter(least).map(|c| c.iops).fold(f64::INFINITY, f64::min);
            let runtime_ns = if has_hard_disks(&text) { 1_000_000_000 } else { 20_000_000 };
            let load = LoadSpec {
                pattern,
                rwmixread: if is_read { 100 } else { 0 },
                bs_bytes: block_bytes,
                numjobs: 16,
                iodepth: if is_read { 32 } else { 64 },
                offset_bytes: 0,
                size_bytes: None,
                rate_iops: None,
                ramp_ns: runtime_ns,
                runtime_ns,
                interval_ns: runtime_ns,
                seed: 7,
                shape: LoadShape::default(),
            };
            let settings =
                [("write_cache", "off"), ("read_cache", "off"), ("host", "off"), ("condition", "fresh")];
            let iops = run(&mut twin(&description, &settings, 7), &load).iops(&load);
            // What drives have buffered when the measurement begins and ends; one I/O more or less for each place in a queue.
            let buffered_bytes: u64 = parts
                .groups
                .iter()
                .map(|group| match &group.drives {
                    array::Drives::SolidState(drive) => {
                        drive.write_buffer.get() * u64::from(parts.drives_of(group))
                    }
                    array::Drives::HardDisk(disk) => {
                        disk.write_buffer.get() * u64::from(parts.drives_of(group))
                    }
                    array::Drives::FlashModule(_) => 0,
                })
                .sum();
            let buffered = if is_read { 0.0 } else { buffered_bytes as f64 / f64::from(block_bytes) };
            let slack = (buffered + 1024.0) * 1e9 / runtime_ns as f64;
            assert!(
                iops <= ceiling * 1.01 + slack,
                "{number}: {iops:.0} beyond {ceiling:.0} ({pattern:?} {block_bytes})\n{text}{ceilings:?}"
            );
            best = best.max(iops / ceiling);
        }
        reached.push(best);
    }
    reached.sort_by(f64::total_cmp);
    let median = reached[reached.len() / 2];
    println!(
        "of the ceiling: least {:.2}, median {median:.2}, most {:.2}",
        reached[0],
        reached[reached.len() - 1]
    );
    assert!(median >= 0.85, "{median}");
}

/// Proves for random arrays that a lost drive makes no load faster, but for what writes save by not writing to it, and loses no
/// data where the layout has redundancy.
#[test]
fn a_lost_drive_makes_nothing_faster() {
    let mut random = Random::from_seed(4);
    for number in 0..arrays_wanted() / 2 {
        let (text, description) = array(&mut random);
        let load = load(&mut random, &text);
        let settings =
            [("host", "off"), ("condition", "fresh"), ("read_cache", "off"), ("write_cache", "off")];
        let whole = run(&mut twin(&description, &settings, 3), &load);
        let mut degraded = twin(&description, &settings, 3);
        degraded.schedule(0, Event::DriveFailure).unwrap();
        let lost = run(&mut degraded, &load);
        let is_redundant = !text.contains("raid0") && !text.contains("replicas: 1");
        if is_redundant {
            assert_eq!(lost.errors, 0, "{number}\n{text}");
            // What lay on the lost drive is not written: where a shared path is the bottleneck, writes of whole stripes gain the
            // share of one member, as they do on real arrays.
            let (sets, _) = array::sets(&description.parts);
            let members = f64::from(sets[0].layout.members());
            let bound =
                if load.pattern == Pattern::Randread { 1.02 } else { members / (members - 1.0) * 1.02 };
            let faster = lost.ios as f64 / whole.ios.max(1) as f64;
            assert!(lost.ios < 500 || faster <= bound, "{number}: {faster}\n{text}{load:?}");
        }
    }
}

/// Proves for random arrays that a part which takes no time makes the mean latency no worse than by 2 %.
#[test]
fn switched_off_costs_never_cost() {
    let mut random = Random::from_seed(9);
    let switches = [
        "links",
        "network",
        "processors",
        "memory",
        "parity",
        "mirroring",
        "backend",
        "gc",
        "interference",
        "seek",
        "rotation",
    ];
    let (mut worse, mut tried) = (Vec::new(), 0);
    for number in 0..arrays_wanted() / 2 {
        let (text, description) = array(&mut random);
        let load = load(&mut random, &text);
        let base = [("host", "off"), ("condition", "fresh"), ("read_cache", "off")];
        let with = run(&mut twin(&description, &base, 5), &load);
        let switch = one_of(&mut random, &switches);
        let settings: Vec<(&str, &str)> = base.into_iter().chain([(switch, "off")]).collect();
        let without = run(&mut twin(&description, &settings, 5), &load);
        tried += 1;
        // A mean of few I/Os is not sure to 2 %.
        if with.ios > 2000 && without.latency_ns > with.latency_ns * 1.02 {
            worse.push(format!(
                "{number} {switch}: {} -> {}\n{text}{load:?}",
                with.latency_ns, without.latency_ns
            ));
        }
    }
    assert!(worse.is_empty(), "{} of {tried}:\n{}", worse.len(), worse.join("\n"));
}

fn sum_of(twin: &Twin, name: &str) -> u64 {
    twin.counters()
        .iter()
        .filter(|counter| {
            let entity = &counter.entity;
            entity.starts_with("module-")
                || entity.starts_with("drive-") && !entity.starts_with("drive-links")
        })
        .filter(|counter| counter.name == name)
        .map(|counter| counter.value)
        .sum()
}

/// Proves for random arrays that drives read and write what the layout says of the hosts' bytes, to the I/Os under way: one copy of
/// what is read; of a small write its data and each parity segment, or each replica.
#[test]
fn bytes_are_conserved() {
    let mut random = Random::from_seed(12);
    for number in 0..arrays_wanted() / 2 {
        let (text, description) = array(&mut random);
        let parts = &*description.parts;
        let (sets, _) = array::sets(parts);
        let factor = match sets[0].layout.redundancy() {
            layout::Redundancy::Copies(copies) => u64::from(copies),
            layout::Redundancy::Parity(parity) => 1 + u64::from(parity),
        };
        let is_read = random.below(2) == 0;
        let load = LoadSpec {
            pattern: if is_read { Pattern::Randread } else { Pattern::Randwrite },
            rwmixread: if is_read { 100 } else { 0 },
            bs_bytes: 4096,
            ramp_ns: 0,
            ..load(&mut random, &text)
        };
        let settings = [("write_cache", "off"), ("read_cache", "off"), ("condition", "fresh")];
        let mut twin = twin(&description, &settings, 1);
        let total = run(&mut twin, &load);
        let under_way = u64::from(load.numjobs * load.iodepth);
        let (found, unit) = match (&parts.groups[0].drives, is_read) {
            (array::Drives::SolidState(_), true) => (sum_of(&twin, "reads"), 1),
            (array::Drives::SolidState(_), false) => (sum_of(&twin, "host_units"), 1),
            (_, true) => (sum_of(&twin, "read_bytes"), 4096),
            (_, false) => (sum_of(&twin, "written_bytes"), 4096),
        };
        let each = if is_read { unit } else { unit * factor };
        let (least, most) = (total.ios * each, (total.ios + under_way) * each);
        assert!((least..=most).contains(&found), "{number}: {found} of {least} to {most}\n{text}{load:?}");
    }
}

/// Proves for random arrays that doubling links, controllers' processors and memory, network or back end makes no load slower than by 2 %.
#[test]
fn more_of_a_part_is_never_slower() {
    let mut random = Random::from_seed(22);
    for number in 0..arrays_wanted() / 2 {
        let (text, description) = array(&mut random);
        let load = load(&mut random, &text);
        let settings =
            [("host", "off"), ("condition", "fresh"), ("read_cache", "off"), ("write_cache", "off")];
        let before = run(&mut twin(&description, &settings, 2), &load);
        let mut doubled = description.clone();
        let parts = &mut *doubled.parts;
        let part = match random.below(4) {
            0 => {
                parts.fabric.ports.value *= 2;
                "links"
            }
            1 => {
                parts.controllers.processors.value *= 2;
                parts.controllers.copy.value *= 2;
                parts.controllers.parity.value *= 2;
                "controllers"
            }
            2 => {
                parts.network.iter_mut().for_each(|network| network.rate.value *= 2);
                "network"
            }
            _ => {
                parts.groups[0].backend.iter_mut().for_each(|backend| backend.ports.value *= 2);
                "back end"
            }
        };
        let after = run(&mut twin(&doubled, &settings, 2), &load);
        let ratio = after.ios as f64 / before.ios.max(1) as f64;
        assert!(before.ios < 2000 || ratio >= 0.98, "{number}: {part} doubled: {ratio}\n{text}{load:?}");
    }
}
