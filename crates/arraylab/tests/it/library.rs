//! The library of published results, and runs beside it.

use crate::support::{json_lines, refuse, run_on, succeed};
use serde_json::Value;

/// Proves that the library lists and filters entries, that each line has the fields that scripts read, and that a figure
/// which was not published is null and never zero.
#[test]
fn the_library_lists_and_filters() {
    let all = json_lines(&succeed(&["library", "--json"]));
    assert_eq!(all.len(), 26);
    assert_eq!(all, json_lines(&succeed(&["library", "list", "--json"])));
    for entry in &all {
        for name in ["id", "system", "source", "date", "rows", "missing"] {
            assert!(entry.get(name).is_some(), "{name}: {entry}");
        }
        for row in entry["rows"].as_array().unwrap() {
            for name in ["rw", "bs", "iops", "latency_ns", "bw_bytes_per_s"] {
                assert!(row.get(name).is_some() && row[name] != 0, "{name}: {row}");
            }
        }
    }
    let random_4k = ["library", "--where", "bs=4k", "--where", "rw=randread,randwrite", "--json"];
    let narrowed = json_lines(&succeed(&random_4k));
    assert!(narrowed.len() >= 6 && narrowed.len() < all.len());
    let rows = narrowed.iter().flat_map(|entry| entry["rows"].as_array().unwrap());
    assert!(rows.clone().all(|row| row["bs"] == 4096 || row["bs_any_of"][0] == 4096), "{narrowed:?}");
    let violin = json_lines(&succeed(&["library", "show", "violin-6232", "--json"]));
    assert_eq!((violin[0]["id"].as_str(), violin[0]["date"].as_str()), (Some("violin-6232"), Some("2014")));
    assert!(succeed(&["library", "show", "hus-vm"]).contains("no write cliff"));
}

/// Proves that an unknown key, value or identifier ends with status 2 and a hint.
#[test]
fn wrong_use_of_the_library_has_a_hint() {
    for (arguments, hint) in [
        (vec!["library", "--where", "colour=1"], "keys are id, system"),
        (vec!["library", "list", "--where", "bs=big"], "bs=4k"),
        (vec!["library", "--where", "bs"], "KEY=VALUE"),
        (vec!["library", "show", "violin"], "`violin-6232`"),
        (vec!["library", "show"], "library show"),
    ] {
        let (code, message) = refuse(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(hint), "{arguments:?}: {message}");
    }
}

/// Proves that a twin's run is placed beside no measured figure unless that was asked for, and then only beside those of
/// its block size, mix, depth, servers and length; and that quantities keep their fields.
#[test]
fn rate_places_only_what_is_comparable() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let only = ["--stage", "read-share", "--only", "bs=8k", "--set", "runtime=2"];
    let made = run_on("flashsystem-840", "twin:flashsystem-840", &run, &only);
    assert!(made.status.success());
    let run = run.to_str().unwrap();
    let is_entry = |line: &&Value| line.get("id").is_some();
    let lines = json_lines(&succeed(&["rate", run, "--json"]));
    assert!(lines.iter().all(|line| line["comparable"].is_boolean() && line["because"].is_array()));
    for entry in lines.iter().filter(is_entry) {
        assert_eq!(entry["comparable"], false, "{entry}");
        assert!(!entry["because"].as_array().unwrap().is_empty(), "{entry}");
    }
    let quantity = lines.iter().find(|line| line["quantity"] == "Peak IOPS").expect("peak IOPS");
    for name in ["value", "figure", "at", "place", "of", "better", "worse"] {
        assert!(quantity.get(name).is_some(), "{name}");
    }
    let lines = json_lines(&succeed(&["rate", run, "--with-simulated", "--json"]));
    let comparable: Vec<&str> = lines
        .iter()
        .filter(is_entry)
        .filter(|line| line["comparable"] == true)
        .filter_map(|line| line["id"].as_str())
        .collect();
    assert_eq!(comparable, ["flashsystem-840"], "the others differ in servers, mix, size or length");
    let of = |id: &str| lines.iter().find(|line| line["id"] == id).expect("an entry").clone();
    let beside = of("flashsystem-840")["beside"].clone();
    assert!(beside.as_array().unwrap().iter().all(|one| one["row"]["bs"] == 8192), "{beside}");
    assert!(of("violin-6232")["because"].as_array().unwrap().iter().any(|reason| reason == "servers differ"));
    assert!(succeed(&["rate", run]).contains("simulated beside measured"));
}
