//! What ships reads, expands to what the published tests say, and is an exact copy.

use super::names;
use plan::{Selection, expand};

/// Proves that every shipped plan reads without a mistake and has a title.
#[test]
fn every_shipped_plan_reads() {
    for shipped in plan::shipped_plans() {
        let loaded = plan::load_plan(shipped.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.plan.title.trim_matches('"'), shipped.title.trim_matches('"'));
        assert!(!shipped.title.is_empty(), "{}", shipped.name);
    }
}

/// Proves that every shipped array reads without a mistake under its own name.
#[test]
fn every_shipped_array_reads() {
    for shipped in plan::shipped_arrays() {
        let loaded = plan::load_array(shipped.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.description.name, shipped.name);
        assert_eq!(loaded.description.title, shipped.title);
    }
}

/// Proves that a mistake in an array is shown at its place, with the nearest key that there is.
#[test]
fn a_mistake_in_an_array_is_shown_at_its_place() {
    let text = plan::shipped_arrays()[0].text.replacen(" drives:", " drive:", 1);
    let error = plan::parse_array("mine.yaml", &text).expect_err("refused");
    let line = text.lines().position(|line| line.trim() == "drive:").map(|index| index + 1);
    assert_eq!(error.position().map(|(line, _)| line), line);
    assert!(error.to_string().ends_with("hint: did you mean `drives`?"), "{error}");
}

/// Proves that the plan of the FlashSystem test has T1 to T6 and their cases.
#[test]
fn flashsystem_840_has_t1_to_t6() {
    let plan = plan::load_plan("flashsystem-840").expect("plan").plan;
    let stages: Vec<&str> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(stages, ["seq-read", "seq-write", "peak-4k", "block-size", "read-share", "firmware-update"]);
    let cases = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(cases.len(), 1 + 1 + 1 + 6 + 11 + 1);
    assert_eq!(names(&cases)[..5], ["seq-read", "seq-write", "peak-4k", "bs=4096", "bs=8192"]);
    assert!(cases.iter().all(|case| case.load.outstanding() == 832));
    let update = cases.last().expect("firmware-update");
    assert_eq!(update.load.rate_iops, Some(100_000.0));
    assert_eq!(update.load.runtime_ns, 3 * 3600 * units::NANOS_PER_SECOND);
    assert_eq!(update.events[0].action, "firmware-update");
}

/// Proves that a published figure stands beside the case that it was measured for, in the result's unit.
#[test]
fn published_figures_find_their_cases() {
    let plan = plan::load_plan("flashsystem-840").expect("plan").plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let figures = |stage: &str, name: &str| {
        let case = cases.iter().find(|case| case.stage == stage && case.name == name).expect(name);
        plan.published_for(&case.stage, &case.settings)
    };
    let at_16k = figures("block-size", "bs=16384");
    let named: Vec<_> = at_16k.iter().map(|figure| (figure.quantity.name(), figure.value)).collect();
    assert_eq!(
        named,
        [("iops", 174_311.0), ("read.latency_ns.mean", 4.8e6), ("write.latency_ns.mean", 2.9e6)]
    );
    assert!(at_16k[0].source.as_deref().is_some_and(|source| source.contains("diagrams 4 and 5")));
    assert_eq!(figures("read-share", "rwmixread=90")[0].value, 385_369.0);
    assert!(figures("block-size", "bs=8192").is_empty(), "8 KB is not among the published rows");
    assert!(figures("seq-read", "seq-read").is_empty());
}

/// Proves that each declaration of the vendor stands beside exactly one case.
#[test]
fn declared_figures_find_their_cases() {
    let plan = plan::load_plan("flashsystem-840").expect("plan").plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let declared: Vec<f64> = cases
        .iter()
        .flat_map(|case| plan.declared_for(&case.stage, &case.settings))
        .map(|declared| declared.value)
        .collect();
    assert_eq!(declared, [8e9, 775_000.0, 90_000.0, 135_000.0, 1_100_000.0]);
}

/// Proves that the quick plan is the four corners and a mix, each for a few seconds.
#[test]
fn quick_is_four_corners_and_a_mix() {
    let plan = plan::load_plan("quick").expect("plan").plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(cases.len(), 5);
    assert!(cases.iter().all(|case| case.estimated_duration_ns <= 10 * units::NANOS_PER_SECOND));
}

/// Proves that tables are found by system and that no system has those of another.
#[test]
fn published_tables_are_found_by_system() {
    let names: Vec<&str> = plan::published("flashsystem-840").iter().map(|table| table.name).collect();
    assert_eq!(names, ["flashsystem-840/block-size.csv", "flashsystem-840/read-share.csv"]);
    assert!(plan::published("flashsystem").is_empty());
}

/// Proves that a plan of one's own finds its tables beside its file.
#[test]
fn a_table_beside_the_plan_is_read() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("mine.yaml");
    std::fs::write(directory.path().join("mine.csv"), "size,io_per_s\n4k,1000\n8k,\n").expect("table");
    std::fs::write(
        &file,
        "title: t\nstages:\n  one:\n    settings: { rw: read }\n    matrix: { bs: [4k, 8k] }\npublished:\n  - file: mine.csv\n    stages: [one]\n    settings: { size: bs }\n    quantities: { io_per_s: { quantity: iops } }\n",
    )
    .expect("plan");
    let loaded = plan::load_plan(&file.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.name, "mine");
    let cases = expand(&loaded.plan, &Selection::default()).expect("cases");
    let values: Vec<Vec<f64>> = cases
        .iter()
        .map(|case| {
            loaded.plan.published_for("one", &case.settings).iter().map(|figure| figure.value).collect()
        })
        .collect();
    assert_eq!(values, [vec![1000.0], vec![]]);
}
