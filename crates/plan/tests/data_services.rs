//! Data services of composed arrays: the law of each, and of any two together.

mod common;
#[path = "data_services/drive_cache.rs"]
mod drive_cache;
#[path = "data_services/fast_forward.rs"]
mod fast_forward;
#[path = "data_services/limits.rs"]
mod limits;
#[path = "data_services/mirror.rs"]
mod mirror;
#[path = "data_services/protocol.rs"]
mod protocol;
#[path = "data_services/replication.rs"]
mod replication;
#[path = "data_services/resync.rs"]
mod resync;
#[path = "data_services/thin.rs"]
mod thin;
#[path = "data_services/tier.rs"]
mod tier;
#[path = "data_services/volume_manager.rs"]
mod volume_manager;
#[path = "data_services/wear.rs"]
mod wear;

use common::{count, twin_of};
use load::{Content, LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Random, Sample, run_simulated};
use serde_json::{Map, Value};
use std::ops::ControlFlow;
use twin::Twin;

const ARRAY: &str = "title: small
controllers: { use: midrange-2023, count: 2 }
groups: [{ name: g, drives: { use: nvme-3840-tlc, count: 6 }, layout: raid5, segment: 64KiB }]
volumes: { name: v, on: g, size: 1GiB }
";

/// Twin of the small array with more keys.
fn twin(more: &str, settings: &[(&str, &str)]) -> Twin {
    twin_of(&format!("{ARRAY}{more}\n"), settings)
}

fn load(pattern: Pattern, bs_bytes: u32, iodepth: u32, runtime_ms: u64) -> LoadSpec {
    common::load(pattern, 70, bs_bytes, iodepth, runtime_ms * 1_000_000)
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Total {
    ios: u64,
    errors: u64,
    least_ns: u64,
    most_ns: u64,
    sum_ns: f64,
}

impl Total {
    fn mean_ns(self) -> f64 {
        self.sum_ns / self.ios.max(1) as f64
    }
}

fn run(twin: &mut Twin, load: &LoadSpec) -> Total {
    let mut total = Total { least_ns: u64::MAX, ..Total::default() };
    run_simulated(twin, load, &NEVER_STOPPED, &mut |_, sample: Sample| {
        for direction in [&sample.read, &sample.write] {
            total.ios += direction.ios;
            total.errors += direction.errors;
            if direction.ios > 0 {
                total.least_ns = total.least_ns.min(direction.latency.min_ns());
                total.most_ns = total.most_ns.max(direction.latency.max_ns());
                total.sum_ns += direction.latency.mean_ns() * direction.ios as f64;
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    total
}

/// Sum of a counter over the drives of a range of numbers.
fn of_drives(twin: &Twin, drives: std::ops::Range<u32>, name: &str) -> u64 {
    drives.map(|drive| count(twin, &format!("drive-{drive}"), name)).sum()
}

/// Proves that stored bytes are those of the load's declared content within 1 %: compressible shares, duplicates, both, none; and
/// that content which does not reduce is stored whole.
#[test]
fn stored_bytes_are_the_declared_share() {
    for (compress_percent, dedupe_percent) in [(0, 0), (50, 0), (0, 30), (75, 50), (37, 11), (100, 0)] {
        let mut twin = twin("reduction: { block: 8KiB }", &[]);
        let shape =
            LoadShape { content: Content { compress_percent, dedupe_percent }, ..LoadShape::default() };
        let spec = LoadSpec { shape, ..load(Pattern::Randwrite, 32_768, 16, 500) };
        let total = run(&mut twin, &spec);
        let (taken, stored) =
            (count(&twin, "reduction", "taken_bytes"), count(&twin, "reduction", "stored_bytes"));
        assert!(taken >= total.ios * 32_768 && total.ios > 5000, "{total:?}");
        let wanted = (1.0 - f64::from(compress_percent) / 100.0) * (1.0 - f64::from(dedupe_percent) / 100.0);
        let found = stored as f64 / taken as f64;
        assert!((found - wanted).abs() < 0.01, "{compress_percent} {dedupe_percent}: {found} of {wanted}");
        // Each byte of data, and one of parity, is on the drives, but for what is under way or reads first.
        let written = of_drives(&twin, 0..6, "host_units") * 4096;
        assert!(written as f64 >= stored as f64 * 1.1, "{written} {stored}");
        assert!(
            written as f64 <= stored as f64 * 2.5 + 1e7 + total.ios as f64 * 16_384.0,
            "{written} {stored}"
        );
    }
}

/// Proves that a snapshot by copying copies each extent once, at its first write, that a second one copies each once more, and that
/// without snapshots nothing is copied.
#[test]
fn copies_are_made_once_a_snapshot() {
    for method in ["copy-on-write", "redirect-on-write"] {
        let mut twin = twin(&format!("snapshots: {{ method: {method}, extent: 64KiB }}"), &[]);
        let pass = LoadSpec { size_bytes: Some(1 << 26), ..load(Pattern::Write, 16_384, 4, 1000) };
        let plain = run(&mut twin, &pass);
        assert_eq!(count(&twin, "snapshots", "kept_extents"), 0);
        for snapshot in 1..=2u64 {
            let now_ns = load::Device::now_ns(&twin);
            twin.act(now_ns, "snapshot", &Map::new()).unwrap();
            let total = run(&mut twin, &pass);
            assert!(total.ios > 2 * (1 << 26) / 16_384, "{total:?}");
            assert_eq!(count(&twin, "snapshots", "kept_extents"), snapshot * (1 << 26) / 65_536, "{method}");
            assert!(total.ios < plain.ios, "{method}");
        }
        assert_eq!(count(&twin, "snapshots", "fill_snapshots"), 2);
    }
}

/// Proves that a full reserve deletes the oldest snapshots, and says so, and that a snapshot too many deletes the oldest.
#[test]
fn the_oldest_are_deleted() {
    // 19 MB for extents of 64 KiB.
    let mut full = twin("snapshots: { method: copy-on-write, reserve: 0.0001%, every: 20ms }", &[]);
    let total = run(&mut full, &load(Pattern::Randwrite, 4096, 16, 400));
    assert!(total.ios > 1000 && total.errors == 0);
    assert!(count(&full, "snapshots", "fill_bytes") <= 20_000_000);
    assert!(count(&full, "snapshots", "deleted") > 0);
    assert!(full.take_notes().iter().any(|note| note.says.contains("reserve of snapshots is full")));
    let mut many = twin("snapshots: { every: 20ms, keep: 3 }", &[]);
    run(&mut many, &load(Pattern::Randwrite, 4096, 4, 200));
    assert_eq!(count(&many, "snapshots", "fill_snapshots"), 3);
    assert!(count(&many, "snapshots", "taken") >= 9);
}

/// Proves that a deleted snapshot frees the reserves of the sets where its extents lie, and no other set's.
#[test]
fn a_deletion_frees_the_reserves_of_its_own_sets() {
    let text = "title: two groups
controllers: { use: midrange-2023, count: 1 }
groups:
  - { name: a, drives: { use: nvme-3840-tlc, count: 6 }, layout: raid5, segment: 64KiB }
  - { name: b, drives: { use: nvme-3840-tlc, count: 6 }, layout: raid5, segment: 64KiB }
volumes:
  - { name: a, on: a, size: 1GiB }
  - { name: b, on: b, size: 1GiB }
snapshots: { method: copy-on-write, extent: 64KiB, reserve: 0.0001% }
";
    // Each reserve holds 19.2 MB: 293 extents, fewer than twice 200.
    let mut twin = twin_of(text, &[]);
    let overwrite = |twin: &mut Twin, volume: &str| {
        twin.attach(0, &Map::from_iter([("volume".to_owned(), Value::from(volume))])).unwrap();
        let pass = LoadSpec { size_bytes: Some(200 * 65_536), ..load(Pattern::Write, 65_536, 1, 500) };
        assert!(run(twin, &pass).ios > 200);
    };
    let act = |twin: &mut Twin, action: &str| {
        let now_ns = load::Device::now_ns(twin);
        twin.act(now_ns, action, &Map::new()).unwrap();
    };
    for volume in ["b", "a"] {
        act(&mut twin, "snapshot");
        overwrite(&mut twin, volume);
    }
    assert_eq!(count(&twin, "snapshots", "kept_extents"), 400);
    act(&mut twin, "snapshot-deletion");
    act(&mut twin, "snapshot");
    overwrite(&mut twin, "b");
    assert_eq!(count(&twin, "snapshots", "kept_extents"), 600);
    assert_eq!(count(&twin, "snapshots", "deleted"), 1, "the second group's reserve was free");
    assert_eq!(count(&twin, "snapshots", "fill_bytes"), 400 * 65_536);
}

/// Proves that what was never written is kept by no snapshot, and what was written since is.
#[test]
fn a_snapshot_keeps_nothing_of_empty_extents() {
    let mut twin = twin("thin: { unit: 64KiB }\nsnapshots: { extent: 64KiB }", &[("condition", "fresh")]);
    let pass = LoadSpec { size_bytes: Some(1 << 24), ..load(Pattern::Write, 16_384, 4, 500) };
    for kept in [0, 256] {
        let now_ns = load::Device::now_ns(&twin);
        twin.act(now_ns, "snapshot", &Map::new()).unwrap();
        let total = run(&mut twin, &pass);
        assert!(total.ios > 2048 && total.errors == 0, "{total:?}");
        assert_eq!(count(&twin, "snapshots", "kept_extents"), kept);
    }
}

/// Proves that blocks and extents that are larger than stripes, and no multiple of them, are read and written up to the end of a set.
#[test]
fn small_stripes_bear_large_blocks() {
    for snapshots in ["", "snapshots: { extent: 1MiB, every: 5ms, reserve: 0.1% }\n"] {
        let text = format!(
            "title: t\ngroups: [{{ name: g, drives: {{ use: sata-960-mixed, count: 4, capacity: 1.1GB }}, layout: raid5, segment: 512B }}]\nreduction: {{ block: 128KiB }}\n{snapshots}"
        );
        let mut twin = twin_of(&text, &[]);
        let end_bytes = load::Device::capacity_bytes(&twin) / 512 * 512;
        let last = LoadSpec {
            offset_bytes: end_bytes - 65_536,
            size_bytes: Some(65_536),
            ..load(Pattern::Randrw, 512, 16, 300)
        };
        let total = run(&mut twin, &last);
        assert!(total.ios > 100 && total.errors == 0, "{total:?}");
    }
}

/// Proves that an array without snapshots refuses to take one.
#[test]
fn an_array_without_snapshots_takes_none() {
    let mut without = twin("", &[]);
    let refused = without.act(0, "snapshot", &Map::new()).unwrap_err().to_string();
    assert!(refused.contains("snapshots"), "{refused}");
}

/// One of the services, as a random array has it.
fn drawn_service(random: &mut Random, number: u64) -> String {
    match number {
        0 => format!(
            "thin: {{ unit: {}KiB, map_cache: {} }}",
            16 << random.below(4),
            ["16GiB", "0B"][random.below(2) as usize]
        ),
        1 => format!(
            "reduction: {{ block: {}KiB, index_cache: {} }}",
            4 << random.below(4),
            ["64GiB", "0B"][random.below(2) as usize]
        ),
        2 => format!(
            "snapshots: {{ method: {}, extent: {}KiB, every: {}ms }}",
            ["copy-on-write", "redirect-on-write"][random.below(2) as usize],
            16 << random.below(5),
            3 + random.below(20)
        ),
        3 => format!(
            "drive_cache: {{ on: cache, block: 64KiB, admit: {}, share: 1% }}",
            ["first-read", "second-read"][random.below(2) as usize]
        ),
        4 => {
            format!("mirror: {{ distance_km: {}, round_trips: {} }}", random.below(200), 1 + random.below(2))
        }
        5 => format!(
            "tier: {{ on: tier, extent: {}KiB, every: {}ms, least: 1, rate: {}MB/s, share: 0.01% }}",
            64 << random.below(4),
            1 + random.below(20),
            100 + random.below(5000)
        ),
        _ => format!(
            "replication: {{ every: {}ms, unit: {}KiB, rate: {}MB/s, distance_km: {} }}",
            2 + random.below(20),
            16 << random.below(4),
            100 + random.below(2000),
            random.below(100)
        ),
    }
}

/// Proves for random arrays with two services each that nothing panics and no I/O fails, that what is outstanding is rate times latency,
/// that the same seed gives the same counters, and that services switched off are as if they were not there.
#[test]
fn any_two_services_keep_the_laws() {
    let arrays = if test_support::is_long() { 1000 } else { 100 };
    let mut random = Random::from_seed(20);
    for number in 0..arrays {
        let (first, second) = match (number % 7, (number / 7 % 6 + 1 + number % 7) % 7) {
            // Copies of snapshots and a mirror would be three arrays.
            (4, 6) | (6, 4) => (6, 0),
            pair => pair,
        };
        let layout = ["raid0", "raid5", "raid6", "raid10"][random.below(4) as usize];
        let cache = ["{}", "{ write_back: 64MiB }", "{ read: 16MiB }", "{ buffered: true }"]
            [random.below(4) as usize];
        let drive = ["nvme-3840-tlc", "sata-960-mixed", "flash-module-2tb"][random.below(3) as usize];
        let own_groups: String = [(3, "cache"), (5, "tier")]
            .into_iter()
            .filter(|(service, _)| first == *service || second == *service)
            .map(|(_, name)| {
                format!(
                    "  - {{ name: {name}, drives: {{ use: nvme-1600-mixed, count: 2 }}, layout: raid0 }}\n"
                )
            })
            .collect();
        let plain = format!(
            "title: drawn\ncontrollers: {{ use: midrange-2023, count: {} }}\ncache: {cache}\ngroups:\n  - {{ name: g, drives: {{ use: {drive}, count: {} }}, layout: {layout} }}\n{own_groups}volumes: {{ name: v, on: g, count: 2, size: 2GiB }}\n",
            1 + random.below(2),
            4 + 2 * random.below(4)
        );
        let is_drawn = |service: u64| first == service || second == service;
        let snapshots = if is_drawn(6) && !is_drawn(2) { "snapshots: {}\n" } else { "" };
        let drawn = [first, second].map(|service| drawn_service(&mut random, service)).join("\n");
        let services = format!("{drawn}\n{snapshots}");
        let text = format!("{plain}{services}");
        let content =
            Content { compress_percent: random.below(101) as u8, dedupe_percent: random.below(101) as u8 };
        let pattern = [Pattern::Randread, Pattern::Randwrite, Pattern::Randrw, Pattern::Write]
            [random.below(4) as usize];
        let bs_bytes = [4096, 8192, 16_384, 131_072, 4608][random.below(5) as usize];
        // Snapshots hold writes up for half of 40 ms at times: the mean is to have such in it.
        let runtime_ms = if is_drawn(2) || is_drawn(6) { 200 } else { 40 };
        let spec = LoadSpec {
            numjobs: 1 + random.below(4) as u32,
            seed: 1 + random.below(1000),
            shape: LoadShape { content, ..LoadShape::default() },
            ..load(pattern, bs_bytes, 1 + random.below(16) as u32, runtime_ms)
        };
        let condition = ["fresh", "filled"][random.below(2) as usize];
        let settings = [("host", "off"), ("condition", condition)];
        let settings = if drive == "flash-module-2tb" && first != 0 && second != 0 {
            &settings[..1]
        } else {
            &settings[..]
        };
        let mut one = twin_of(&text, settings);
        let total = run(&mut one, &spec);
        let mut two = twin_of(&text, settings);
        assert_eq!(run(&mut two, &spec), total, "{number}\n{text}{spec:?}");
        assert_eq!(one.counters(), two.counters(), "{number}\n{text}");
        assert_eq!(total.errors, 0, "{number}\n{text}");
        let outstanding = f64::from(spec.numjobs * spec.iodepth);
        if total.ios as f64 > 100.0 * outstanding {
            let found = total.ios as f64 / spec.runtime_ns as f64 * total.mean_ns();
            // I/Os that have not ended when the load does are not in the mean.
            let cut = total.most_ns as f64 / spec.runtime_ns as f64;
            assert!(
                (found / outstanding - 1.0).abs() < 0.03 + cut,
                "{number}: {found} of {outstanding}\n{text}{spec:?}"
            );
        }
        let names = ["thin", "reduction", "snapshots", "drive_cache", "mirror", "tier", "replication"];
        let off: Vec<(&str, &str)> = settings
            .iter()
            .copied()
            .chain([(names[first as usize], "off"), (names[second as usize], "off")])
            .chain(is_drawn(6).then_some(("snapshots", "off")))
            .collect();
        if !is_drawn(2) {
            let without = run(&mut twin_of(&text, &off), &spec);
            let never = run(&mut twin_of(&plain, &settings[..1.max(settings.len())]), &spec);
            assert_eq!(without, never, "{number}\n{text}");
        }
    }
}
