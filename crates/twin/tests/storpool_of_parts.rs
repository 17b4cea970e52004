//! StorPool described by parts against the model of its own: published rows.

mod common;

use common::{counted_samples as samples, iops};
use load::{LoadSpec, Pattern};
use serde_json::{Map, Value, json};
use twin::{ArrayDescription, Twin};

const SECOND_NS: u64 = 1_000_000_000;

fn described(path: &str) -> ArrayDescription {
    plan::load_array(&format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap().description
}

fn settings(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

/// Mean latency in microseconds, and IOPS.
fn measured(
    array: &ArrayDescription,
    (volume, host): (&str, &str),
    (pattern, bs_bytes, iodepth): (Pattern, u32, u32),
    runtime_ns: u64,
) -> (f64, f64) {
    let spec = LoadSpec {
        pattern,
        rwmixread: 50,
        bs_bytes,
        numjobs: 1,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: runtime_ns / 2,
        runtime_ns,
        interval_ns: runtime_ns,
        seed: 1,
        shape: load::LoadShape::default(),
    };
    let mut twin = Twin::build(array, &settings(json!({ "volume": volume, "host": host })), 1).unwrap();
    let sample = samples(&mut twin, &spec).remove(0);
    let direction = if sample.read.ios > 0 { &sample.read } else { &sample.write };
    (direction.latency.mean_ns() / 1e3, iops(&sample))
}

/// Proves that the parts miss the published rows by no more than the model of its own, in the mean and at worst, and prints both
/// with points that no row gives.
#[test]
fn parts_are_as_near_as_the_model_of_its_own() {
    let arrays = ["../../arrays/storpool.yaml", "tests/fixtures/storpool-of-parts.yaml"].map(described);
    let published =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../published/storpool/latency.csv"))
            .unwrap();
    let mut errors: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for line in published.lines().skip(1) {
        let columns: Vec<&str> = line.splitn(7, ',').collect();
        let [volume, host, op, bs, mean, rate, _] = columns[..] else { panic!("{line}") };
        let pattern = if op == "randread" { Pattern::Randread } else { Pattern::Randwrite };
        let runtime_ns = if volume == "hdd" { 60 * SECOND_NS } else { SECOND_NS / 2 };
        let bs_bytes = bs.parse().unwrap();
        for (what, published, depth) in [("µs", mean, 1), ("IOPS", rate, 64)] {
            let Ok(published) = published.parse::<f64>() else { continue };
            let runtime_ns = if depth == 1 { runtime_ns } else { SECOND_NS };
            let values = [0, 1].map(|number| {
                let one = measured(&arrays[number], (volume, host), (pattern, bs_bytes, depth), runtime_ns);
                if depth == 1 { one.0 } else { one.1 }
            });
            for (number, value) in values.iter().enumerate() {
                errors[number].push((value / published - 1.0).abs());
            }
            println!(
                "| {volume}, {host}, {op}, {what} | {published} | {:.1} | {:.1} |",
                values[0], values[1]
            );
        }
    }
    for (volume, pattern, bs_bytes, depth) in [
        ("nvme", Pattern::Randwrite, 4096, 64),
        ("hybrid", Pattern::Randwrite, 4096, 64),
        ("hdd", Pattern::Randwrite, 4096, 64),
        ("hdd", Pattern::Randread, 4096, 64),
        ("hdd", Pattern::Randrw, 4096, 64),
        ("hybrid", Pattern::Write, 1 << 20, 64),
        ("hdd", Pattern::Write, 1 << 20, 64),
        ("hdd", Pattern::Read, 1 << 20, 64),
    ] {
        let of = |array| measured(array, (volume, "client"), (pattern, bs_bytes, depth), 8 * SECOND_NS);
        let [(_, old), (_, new)] = [of(&arrays[0]), of(&arrays[1])];
        println!("| {volume}, {pattern:?}, {bs_bytes}, {depth} | {old:.0} | {new:.0} |");
        assert!((new / old - 1.0).abs() < 0.02, "{volume} {pattern:?} {bs_bytes}: {old} {new}");
    }
    let of = |errors: &[f64]| {
        (errors.iter().sum::<f64>() / errors.len() as f64, errors.iter().copied().fold(0.0, f64::max))
    };
    let [(old_mean, old_worst), (mean, worst)] = [of(&errors[0]), of(&errors[1])];
    println!("mean {old_mean:.5} {mean:.5}, worst {old_worst:.5} {worst:.5}");
    assert!(mean <= old_mean && worst <= old_worst, "{mean} of {old_mean}, {worst} of {old_worst}");
}
