//! Output of the command line.

use crate::support::{json_lines, refuse, succeed};

/// Proves that the help of every command stays as it is unless somebody means to change it.
#[test]
fn help() {
    insta::assert_snapshot!("help", succeed(&["--help"]));
    for command in [
        "plans", "arrays", "show", "schema", "expand", "run", "status", "mark", "results", "report",
        "export", "bench",
    ] {
        insta::assert_snapshot!(format!("help-{command}"), succeed(&[command, "--help"]));
    }
}

/// Proves what ships.
#[test]
fn what_ships() {
    insta::assert_snapshot!("plans", succeed(&["plans"]));
    insta::assert_snapshot!("arrays", succeed(&["arrays"]));
    assert_eq!(succeed(&["show", "plan", "quick"]), include_str!("../../../../plans/quick.yaml"));
}

/// Proves that `parts` prints the fields that were agreed, that `--kind` leaves the parts of one kind, and that an unknown kind is
/// refused with the known ones; and that the help of `parts` and `merge` says what they print.
#[test]
fn parts_of_a_kind() {
    let all = json_lines(&succeed(&["parts", "--json"]));
    let drives = json_lines(&succeed(&["parts", "--kind", "drives", "--json"]));
    assert!(!drives.is_empty() && drives.len() < all.len());
    assert!(drives.iter().all(|part| part["kind"] == "drives"));
    assert_eq!(drives.len(), all.iter().filter(|part| part["kind"] == "drives").count());
    for part in &all {
        let name = part["name"].as_str().unwrap();
        let shown = succeed(&["show", "part", &format!("{}/{name}", part["kind"].as_str().unwrap())]);
        assert_eq!(shown.lines().next(), Some(format!("# {}", part["from"].as_str().unwrap()).as_str()));
    }
    let (status, message) = refuse(&["parts", "--kind", "drive"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("there is no kind of part `drive`") && message.contains("drives"), "{message}");
    insta::assert_snapshot!("parts_help", succeed(&["parts", "--help"]));
    insta::assert_snapshot!("merge_help", succeed(&["merge", "--help"]));
}

/// Proves that `expand` prints one object a case, nothing else on stdout, and that selections narrow and widen.
#[test]
fn expansion() {
    let all = json_lines(&succeed(&["expand", "flashsystem-840", "--json"]));
    assert_eq!(all.len(), 21);
    let chosen = json_lines(&succeed(&[
        "expand",
        "flashsystem-840",
        "--stage",
        "block-size",
        "--only",
        "bs=4k,8k",
        "--set",
        "runtime=2",
        "--json",
    ]));
    let names: Vec<&str> = chosen.iter().map(|case| case["case"].as_str().unwrap()).collect();
    assert_eq!(names, ["bs=4096", "bs=8192"]);
    for case in &chosen {
        assert_eq!(case["settings"]["runtime"], 2);
        for key in ["rw", "bs", "numjobs", "iodepth", "rwmixread"] {
            assert!(!case["settings"][key].is_null(), "{key}");
        }
    }
    insta::assert_snapshot!("expand-quick", succeed(&["expand", "quick"]));
}

/// Proves that every schema is JSON and that the shipped plans keep to theirs in its outermost keys.
#[test]
fn schemas() {
    for kind in ["plan", "array", "results"] {
        let schema: serde_json::Value = serde_json::from_str(&succeed(&["schema", kind])).unwrap();
        assert!(schema["properties"].is_object(), "{kind}");
    }
}

/// Proves that watching 200 block devices keeps all of their counters, and with `ARRAYLAB_LONG` that it costs under 2 % of a core, the
/// median of five: what is measured in real time says too little beside other tests.
#[test]
fn a_watched_host() {
    let is_long = test_support::is_long();
    let measured: Vec<serde_json::Value> = (0..if is_long { 5 } else { 1 })
        .map(|_| json_lines(&succeed(&["bench", "probe", "--json"])).remove(0))
        .collect();
    for one in &measured {
        assert_eq!(one["devices"], 200);
        assert!(one["counters"].as_u64() > Some(4000), "{one}");
    }
    let mut shares: Vec<f64> = measured.iter().map(|one| one["share_of_a_core"].as_f64().unwrap()).collect();
    shares.sort_by(f64::total_cmp);
    assert!(!is_long || shares[shares.len() / 2] < 0.02, "{measured:?}");
}

/// Proves that the report of a run of 1,000 cases takes under 10 s and is under 10 MB.
#[test]
fn a_large_report() {
    let measured = json_lines(&succeed(&["bench", "report", "--json"])).remove(0);
    assert_eq!(measured["cases"], 1000);
    assert!(measured["seconds"].as_f64().unwrap() < 10.0, "{measured}");
    assert!(measured["bytes"].as_u64().unwrap() < 10_000_000, "{measured}");
}

/// Proves that `claims` of a plan without claims says so on standard error, prints nothing and ends with 0.
#[test]
fn a_plan_without_claims_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (plan, run) = (directory.path().join("plain.yaml"), directory.path().join("run"));
    std::fs::write(&plan, "title: t\nstages:\n  a: { settings: { rw: randread, bs: 4k, runtime: 1 } }\n")
        .unwrap();
    let (plan, run) = (plan.to_str().unwrap(), run.to_str().unwrap());
    succeed(&["run", plan, "--target", "twin:composite-flash", "--out", run]);
    for more in [&[][..], &["--json"]] {
        let output = crate::support::arraylab(&[&["claims", run][..], more].concat());
        let printed_text = crate::support::text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{printed_text}");
        assert!(printed_text.contains("the plan `plain` has no claims"), "{printed_text}");
    }
}
