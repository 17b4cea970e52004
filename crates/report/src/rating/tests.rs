//! Tests of ratings.

use super::run::RatedCase;
use super::*;
use library::Choice;
use serde_json::json;

fn conditions() -> Conditions {
    Conditions {
        bs: Some(Choice::One(4096)),
        rwmixread: Some(100),
        outstanding: Some(256),
        servers: Some(1),
        runtime_s: Some(60.0),
        ..Conditions::default()
    }
}

fn run(iops: f64, conditions: Conditions) -> RatedRun {
    let at = "stage case".to_owned();
    let entry = Entry {
        name: "own".into(),
        plan: "p".into(),
        origin: EntryOrigin::Measured,
        shortened: String::new(),
        max_iops: Some(Figure { value: iops, at: at.clone() }),
        max_bw_bytes_per_s: None,
        min_latency_ns: None,
        sustained_write_iops: None,
        stream_read_bw_bytes_per_s: None,
        stream_write_bw_bytes_per_s: None,
    };
    let case = RatedCase {
        at,
        iops,
        bw_bytes_per_s: iops * 4096.0,
        latency_ns: Some(1e6),
        sustained_iops: None,
        conditions,
    };
    RatedRun { entry, cases: vec![case], drives: Some(4), host_ports: None }
}

fn published(id: &str, iops: f64) -> library::Entry {
    serde_json::from_value(json!({"id": id, "system": id, "source": "a test", "date": null, "drives": 8,
        "conditions": [], "missing": [], "rows": [{"figure": "maximum", "rw": "randread", "bs": 4096, "rwmixread": 100,
        "iodepth": 32, "numjobs": 8, "servers": 1, "runtime_s": 60, "iops": iops, "from": "a.csv:2"}]}))
    .expect("an entry")
}

/// Proves that a run's place counts those that are better, that its neighbours are the nearest, and that figures for each
/// drive are given where both counts are known.
#[test]
fn a_run_is_placed_between_its_neighbours() {
    let library = [published("fast", 100.0), published("slow", 1.0), published("middle", 50.0)];
    let own = run(60.0, conditions());
    let ratings = rate(&own, &library, &[], false);
    assert_eq!((ratings[0].place, ratings[0].of, ratings[0].comparable), (Some(2), Some(4), true));
    assert_eq!(ratings[0].better.as_ref().map(|pair| pair.0.as_str()), Some("fast (published)"));
    assert_eq!(ratings[0].worse.as_ref().map(|pair| pair.0.as_str()), Some("middle (published)"));
    let beside = beside_library(&own, &library, false);
    assert_eq!(beside[0].beside[0].ratio, 0.6);
    assert_eq!(beside[0].beside[0].ratio_per_drive, Some(1.2));
    assert_eq!(beside[0].beside[0].ratio_per_host_port, None);
}

/// Proves that a run is never placed beside a figure of other conditions: each of twenty mismatches leaves it without a place
/// and without a ratio, and says why.
#[test]
fn a_mismatch_is_never_placed() {
    let library = [published("other", 100.0)];
    let special = |reason: &str| Conditions { special: vec![reason.to_owned()], ..conditions() };
    let settings = |changes: serde_json::Value| {
        let mut all = json!({"rw": "randread", "bs": 4096, "rwmixread": 100, "numjobs": 8, "iodepth": 32, "runtime": 60});
        for (name, value) in changes.as_object().expect("an object") {
            all[name] = value.clone();
        }
        let own = Conditions::of_case(all.as_object().expect("an object"), 60.0, Some(1e6));
        Conditions { servers: Some(1), ..own }
    };
    let mismatches = [
        (settings(json!({"bs": 8192})), "bs differs"),
        (settings(json!({"bs": 512})), "bs differs"),
        (settings(json!({"rwmixread": 70, "rw": "randrw"})), "rwmixread differs"),
        (settings(json!({"rwmixread": 0, "rw": "randwrite"})), "rwmixread differs"),
        (settings(json!({"rw": "read"})), "rw differs"),
        (settings(json!({"iodepth": 1})), "outstanding I/Os differ"),
        (settings(json!({"iodepth": 256})), "outstanding I/Os differ"),
        (settings(json!({"numjobs": 1})), "outstanding I/Os differ"),
        (settings(json!({"direct": 0})), "cached"),
        (settings(json!({"rate_iops": 50})), "rate_iops is set"),
        (settings(json!({"bssplit": "4k/50:64k/50"})), "bssplit is set"),
        (settings(json!({"filesystem": "ext4"})), "filesystem is set"),
        (settings(json!({"random_distribution": "zipf:1.1"})), "random_distribution differs"),
        (settings(json!({"buffer_compress_percentage": 50})), "buffer_compress_percentage is set"),
        (settings(json!({"dedupe_percentage": 50})), "dedupe_percentage is set"),
        (settings(json!({"runtime": 1})), "runtime differs"),
        (settings(json!({"working_set": 1048576})), "working_set is set"),
        (Conditions { is_simulated: true, ..conditions() }, "simulated beside measured"),
        (Conditions { servers: Some(4), ..conditions() }, "servers differ"),
        (special("an event disturbed it"), "an event disturbed it"),
        (special("I/Os failed"), "I/Os failed"),
        (special("several loads"), "several loads"),
        (special("cached"), "cached"),
    ];
    for (own, reason) in mismatches {
        let own = run(60.0, own);
        let rating = &rate(&own, &library, &[], false)[0];
        assert!(!rating.comparable && rating.place.is_none() && rating.better.is_none(), "{reason}");
        assert_eq!(rating.because, [reason]);
        let beside = &beside_library(&own, &library, false)[0];
        assert!(!beside.comparable && beside.beside.is_empty(), "{reason}");
        assert_eq!(beside.because, [reason]);
    }
}

/// Proves that what a vendor declares is never placed nor set in a ratio, however alike its conditions.
#[test]
fn declared_figures_are_never_placed() {
    let mut library = [published("other", 100.0)];
    library[0].rows[0].figure = FigureKind::Declared;
    let own = run(60.0, conditions());
    let rating = &rate(&own, &library, &[], false)[0];
    assert!(!rating.comparable && rating.place.is_none());
    assert_eq!(rating.because, ["declared by the vendor, not measured"]);
    assert!(beside_library(&own, &library, false)[0].beside.is_empty());
}

/// Proves that a simulated run stands beside measured figures only where that was asked for.
#[test]
fn simulated_beside_measured_has_to_be_asked_for() {
    let own = run(60.0, Conditions { is_simulated: true, ..conditions() });
    let library = [published("other", 100.0)];
    assert!(!rate(&own, &library, &[], false)[0].comparable);
    assert_eq!(rate(&own, &library, &[], true)[0].place, Some(2));
}

/// Proves that the conditions of every figure of the shipped twins are found in their plans.
#[test]
fn figures_of_shipped_twins_have_conditions() {
    let kept = gallery::kept_entries();
    for (twin, conditions) in twins_with_conditions(&kept) {
        for figure in MEASURES.iter().filter_map(|measure| (measure.of)(twin)) {
            assert!(conditions.contains_key(&figure.at), "{}: {}", twin.name, figure.at);
        }
    }
}

/// Proves that the drives of a mirrored pair are those of one array: figures for each drive are compared with published ones of one.
#[test]
fn a_second_array_adds_no_drives() {
    let array = plan::load_array("two-sites").unwrap();
    let array = store::SourceText { name: array.name, source: array.source, text: array.text };
    let manifest =
        store::Manifest { engine: "sim".to_owned(), array: Some(array), ..store::Manifest::default() };
    assert_eq!(run::parts(&manifest), (Some(12), Some(8), Some(2)));
}
