//! Random arrays whose pools are chains of replicas: laws that hold for every composition.

use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Random, Sample, run_simulated};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use twin::{ArrayDescription, Twin};

/// Arrays of a run of the tests; thousands in `make test-long`.
fn arrays_wanted() -> u64 {
    if test_support::is_long() { 1000 } else { 60 }
}

fn one_of<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// Array on one group of drives, or on flash behind disks.
struct Drawn {
    text: String,
    description: ArrayDescription,
    replicas: u64,
    has_disks: bool,
    has_journal: bool,
}

fn drawn(random: &mut Random) -> Drawn {
    let nodes = 3 + random.below(6);
    let replicas = 2 + random.below(2);
    let flash = one_of(random, &["nvme-3840-tlc", "sata-960-mixed", "flash-module-2tb"]);
    let disk = one_of(random, &["nearline-8tb", "sas-10k-1200"]);
    let placed = one_of(random, &["flash", "flash", "disks", "mixed"]);
    let has_disks = placed != "flash";
    let has_journal = has_disks && random.below(3) > 0;
    let mut text = String::from("title: drawn\n");
    let threads = one_of(random, &["", ", submit: 3us, complete: 2us, threads: per-host"]);
    let _ = writeln!(text, "hosts: {{ count: {}{threads} }}", 1 + random.below(3));
    let network = one_of(random, &["ethernet-10g", "ethernet-25g", "ethernet-100g"]);
    let initiators = one_of(random, &["", ", initiators: true"]);
    let _ = writeln!(
        text,
        "nodes: {{ count: {nodes}{initiators}, network: {{ use: {network}, ports: {}, header: 128B }} }}",
        1 + random.below(2)
    );
    let controllers = one_of(random, &["count: 2, processors: 1", "count: 2, processors: 4", "count: 4"]);
    let _ = writeln!(text, "controllers: {{ {controllers}, read: 8us, write: 12us, index: 1MiB }}");
    if random.below(2) == 0 {
        let cores = one_of(random, &["100%", "250%"]);
        text.push_str("slices: { name: s, processors: ");
        let _ = writeln!(text, "{cores}, memory: 8GB }}");
        let count = if controllers.starts_with("count: 2") { 2 } else { 4 };
        let _ = writeln!(
            text,
            "services: {{ name: c, slice: s, role: controllers, instances: {count}, processors: 100%, memory: 1GB }}"
        );
    }
    let shares = [one_of(random, &["", ", controllers: 1"]); 2];
    let driver = one_of(random, &["", ", command: 1us"]);
    let _ = writeln!(
        text,
        "groups:\n  - {{ name: f, per_node: {{ use: {flash}, count: {} }}, layout: single{}{driver} }}",
        1 + random.below(4),
        shares[0]
    );
    if has_disks {
        let journal = if has_journal { ", journal: { buffer: 64MiB, metadata: 128B }" } else { "" };
        let _ = writeln!(
            text,
            "  - {{ name: d, per_node: {{ use: {disk}, count: {} }}, layout: single{}{journal} }}",
            1 + random.below(4),
            shares[1]
        );
    }
    let on = match placed {
        "flash" => "f".to_owned(),
        "disks" => "d".to_owned(),
        _ => format!("{}f", "d ".repeat(replicas as usize - 1)),
    };
    let _ = writeln!(text, "pools:\n  - {{ name: p, on: {on}, replicas: {replicas}, path: chain }}");
    let limit =
        one_of(random, &["", "", ", limit: { iops: 3000 }", ", limit: { bandwidth_per_gib: 20MB/s }"]);
    let _ = writeln!(text, "volumes: {{ name: v, on: p, size: {}GiB{limit} }}", 1 + random.below(8));
    let description = plan::parse_array("drawn.yaml", &text)
        .unwrap_or_else(|error| panic!("{}\n{text}", diagnostic::full_text(&error)));
    Drawn { text, description, replicas, has_disks, has_journal }
}

fn load(random: &mut Random, drawn: &Drawn) -> LoadSpec {
    let pattern = [Pattern::Randread, Pattern::Randwrite, Pattern::Randrw][random.below(3) as usize];
    let runtime_ns = if drawn.has_disks { 1_000_000_000 } else { 20_000_000 };
    LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or(70),
        bs_bytes: [4096, 4096, 131_072][random.below(3) as usize],
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

fn twin(description: &ArrayDescription, seed: u64) -> Twin {
    Twin::build(description, &Map::new(), seed).unwrap()
}

/// I/Os and errors of a load behind its ramp, and the mean latency in nanoseconds.
fn run(twin: &mut Twin, load: &LoadSpec) -> (u64, u64, f64) {
    let (mut ios, mut errors, mut latency_ns) = (0, 0, 0.0);
    run_simulated(twin, load, &NEVER_STOPPED, &mut |_, sample: Sample| {
        for direction in [&sample.read, &sample.write].into_iter().filter(|_| !sample.is_ramp) {
            ios += direction.ios;
            errors += direction.errors;
            latency_ns += direction.latency.mean_ns() * direction.ios as f64;
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    (ios, errors, latency_ns / ios.max(1) as f64)
}

/// Sum of a counter over all drives.
fn on_drives(twin: &Twin, name: &str) -> u64 {
    let is_drive = |entity: &str| {
        let part = entity.split_once('/').map_or("", |(_, part)| part);
        part.starts_with("f-") || part.starts_with("d-")
    };
    let counters = twin.counters();
    counters.iter().filter(|one| is_drive(&one.entity) && one.name == name).map(|one| one.value).sum()
}

fn of_volume(twin: &Twin, name: &str) -> u64 {
    let counters = twin.counters();
    counters.iter().filter(|one| one.entity == "volume-v" && one.name == name).map(|one| one.value).sum()
}

/// Proves for random chains and loads that nothing panics and no I/O fails, that what is outstanding is rate times latency, that the
/// same seed gives the same results and counters, that each written byte is on as many drives as there are replicas and each read
/// asks one, and that no load goes beyond the ceiling which `check` prints.
#[test]
fn chains_keep_the_laws() {
    let mut random = Random::from_seed(20);
    for number in 0..arrays_wanted() {
        let drawn = drawn(&mut random);
        let load = load(&mut random, &drawn);
        let what = format!("{number}\n{}{load:?}", drawn.text);
        let mut first = twin(&drawn.description, load.seed);
        let found = run(&mut first, &load);
        let mut second = twin(&drawn.description, load.seed);
        assert_eq!(run(&mut second, &load), found, "{what}");
        assert_eq!(first.counters(), second.counters(), "{what}");
        let (ios, errors, latency_ns) = found;
        assert!(ios > 0 && errors == 0, "{what}");
        let iops = ios as f64 * 1e9 / load.runtime_ns as f64;
        let outstanding = f64::from(load.numjobs * load.iodepth);
        // A buffer that fills and stalls behind disks is in no steady state within a second.
        if ios as f64 > 50.0 * outstanding && !drawn.has_journal {
            let found = iops * latency_ns / 1e9;
            assert!((found / outstanding - 1.0).abs() < 0.03, "{found} of {outstanding}: {what}");
        }
        if !drawn.has_disks {
            let written_bytes = of_volume(&first, "written_bytes") * drawn.replicas;
            assert_eq!(on_drives(&first, "written_bytes"), written_bytes, "{what}");
            assert_eq!(on_drives(&first, "read_bytes"), of_volume(&first, "read_bytes"), "{what}");
        }
        let parts = &*drawn.description.parts;
        let (sets, _) = array::sets(parts);
        let is_read = load.pattern == Pattern::Randread;
        if load.pattern == Pattern::Randrw || (drawn.has_journal && !is_read) {
            continue;
        }
        let block_bytes = u64::from(load.bs_bytes);
        let is_of_load = |c: &&array::Ceiling| c.is_read == is_read && c.block_bytes == block_bytes;
        let ceilings = array::ceilings(parts, &sets);
        let ceiling = ceilings.iter().filter(is_of_load).map(|c| c.iops).fold(f64::INFINITY, f64::min);
        // What drives have buffered, and one I/O more or less for each that is outstanding.
        let buffered_bytes: u64 = parts
            .groups
            .iter()
            .map(|group| match &group.drives {
                array::Drives::SolidState(drive) => {
                    drive.write_buffer.get() * u64::from(parts.drives_of(group))
                }
                array::Drives::HardDisk(disk) => disk.write_buffer.get() * u64::from(parts.drives_of(group)),
                array::Drives::FlashModule(_) => 0,
            })
            .sum();
        let buffered = if is_read { 0.0 } else { buffered_bytes as f64 / block_bytes as f64 };
        let slack = (buffered + outstanding) * 1e9 / load.runtime_ns as f64;
        assert!(iops <= ceiling * 1.01 + slack, "{iops:.0} beyond {ceiling:.0}: {what}");
    }
}

/// Proves for random chains that a lost drive loses no I/O and makes reads no faster, that its replicas are made anew, and that a
/// service which stops and starts again does neither.
#[test]
fn a_lost_drive_or_service_loses_nothing() {
    let mut random = Random::from_seed(21);
    for number in 0..arrays_wanted() / 2 {
        let drawn = drawn(&mut random);
        let load = LoadSpec { pattern: Pattern::Randread, rwmixread: 100, ..load(&mut random, &drawn) };
        let what = format!("{number}\n{}{load:?}", drawn.text);
        let (whole, _, _) = run(&mut twin(&drawn.description, 3), &load);
        for (action, argument, value) in [
            ("drive-failure", "drive", Value::from(0)),
            ("service-stop", "service", service_of(&drawn).into()),
        ] {
            let mut degraded = twin(&drawn.description, 3);
            let arguments = Map::from_iter([(argument.to_owned(), value)]);
            degraded.act(0, action, &arguments).unwrap();
            let (ios, errors, _) = run(&mut degraded, &load);
            assert_eq!(errors, 0, "{action}: {what}");
            // Chance deals I/Os to other drives.
            let is_many = whole > 1000;
            assert!(!is_many || ios as f64 <= whole as f64 * 1.05, "{action}: {ios} after {whole}: {what}");
            if action == "service-stop" {
                degraded.act(degraded.time_ns(), "service-start", &arguments).unwrap();
                let (_, errors, _) = run(&mut degraded, &load);
                assert_eq!(errors, 0, "started again: {what}");
            }
        }
    }
}

/// The first controller of the first node.
fn service_of(drawn: &Drawn) -> &'static str {
    if drawn.text.contains("role: controllers") { "node-0/c-0" } else { "node-0/controller-0" }
}
