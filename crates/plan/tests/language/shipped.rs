//! Shipped plans and arrays: they parse, expand to the published tests' cases, and are exact copies.

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
    assert!(diagnostic::full_text(&error).ends_with("hint: did you mean `drives`?"), "{error}");
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
    assert!(cases.iter().all(|case| case.load.outstanding() == 864));
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
    let unseen = figures("block-size", "bs=8192");
    assert_eq!(unseen[0].value, 325_057.0);
    assert!(
        unseen.iter().all(plan::PublishedFigure::is_unseen)
            && !at_16k.iter().any(plan::PublishedFigure::is_unseen)
    );
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

/// Cases of each stage of a shipped plan.
fn counts(name: &str) -> Vec<(String, usize)> {
    let plan = plan::load_plan(name).unwrap_or_else(|error| panic!("{error}")).plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let count = |stage: &str| cases.iter().filter(|case| case.stage == stage).count();
    plan.stages.iter().map(|stage| (stage.name.clone(), count(&stage.name))).collect()
}

/// Proves that each plan has the stages that the contract names, with as many cases as the published test.
#[test]
fn plans_have_the_published_cases() {
    let expected: [(&str, &[(&str, usize)]); 4] = [
        ("dorado-2100-g2", &[("fill", 2), ("group-1", 36), ("group-2", 486), ("group-3", 486)]),
        ("raid-levels", &[("sets", 315)]),
        ("e2700", &[("patterns", 162), ("segments", 144), ("file-system", 6)]),
        (
            "storpool",
            &[
                ("latency", 12),
                ("iops", 12),
                ("mixed", 6),
                ("bandwidth", 24),
                ("limits", 3),
                ("neighbour", 1),
                ("template", 1),
            ],
        ),
    ];
    for (name, stages) in expected {
        let stages: Vec<(String, usize)> =
            stages.iter().map(|(stage, count)| ((*stage).to_owned(), *count)).collect();
        assert_eq!(counts(name), stages, "{name}");
    }
}

/// Proves that the first and last case of each stage of each plan carry what they did when they were last looked at.
#[test]
fn cases_of_shipped_plans_stay_what_they_are() {
    for shipped in plan::shipped_plans() {
        let plan = plan::load_plan(shipped.name).unwrap_or_else(|error| panic!("{error}")).plan;
        let cases = expand(&plan, &Selection::default()).expect("cases");
        let mut text = String::new();
        for stage in &plan.stages {
            let of_stage: Vec<_> = cases.iter().filter(|case| case.stage == stage.name).collect();
            let mut ends: Vec<_> = of_stage.first().into_iter().chain(of_stage.last()).collect();
            ends.dedup();
            for case in ends {
                text.push_str(&format!(
                    "{} {}\n  {}\n",
                    case.stage,
                    case.name,
                    serde_json::Value::from(case.settings.clone())
                ));
                for load in &case.loads {
                    let own = serde_json::Value::from(load.settings.clone());
                    text.push_str(&format!("  load {} from {} ns: {own}\n", load.name, load.start_ns));
                }
                text.push_str(&format!(
                    "  outstanding {}, pause {} ns, over {:?}\n  stripe {:?}, filesystem {:?}\n  preconditioning {:?}, conditioned by {:?}, continues {}\n  events {:?}\n",
                    case.load.outstanding(),
                    case.pause_ns,
                    case.pause_over.as_ref().map(|rate| (&rate.stage, &rate.case, rate.quantity.name())),
                    case.stripe,
                    case.filesystem,
                    case.preconditioning.is_some(),
                    case.conditioned_by,
                    case.continues,
                    case.events.iter().map(|event| (event.at_ns, &event.action)).collect::<Vec<_>>(),
                ));
            }
        }
        insta::assert_snapshot!(format!("plan-{}", shipped.name), text);
    }
}

/// Proves that "synchronous" is sync at depth 1 and "asynchronous" libaio at 32 and 64, and that each minute pauses by
/// the rate that group 1 found for its block size and RAID level.
#[test]
fn dorado_engines_and_pauses_are_as_published() {
    let plan = plan::load_plan("dorado-2100-g2").expect("plan").plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    for case in cases.iter().filter(|case| case.stage == "group-2" || case.stage == "group-3") {
        let engine = (case.settings["ioengine"].as_str().expect("engine"), case.load.iodepth);
        assert!(matches!(engine, ("sync", 1) | ("libaio", 32 | 64)), "{engine:?}");
        let rate = case.pause_over.as_ref().map(|rate| rate.case.clone());
        let scenario = if case.stage == "group-2" { 1 } else { 6 };
        let expected =
            (case.load.rwmixread < 100).then(|| format!("scenario={scenario},bs={}", case.load.bs_bytes));
        assert_eq!(rate, expected, "{}", case.name);
    }
    let shares = |scenario: u64| {
        cases.iter().find(|case| case.settings.get("scenario") == Some(&scenario.into())).map(|case| {
            (case.load.rwmixread, case.load.runtime_ns / 60_000_000_000, case.pause_ns / 60_000_000_000)
        })
    };
    assert_eq!(
        (1..=6).filter_map(shares).collect::<Vec<_>>(),
        [(0, 40, 60), (0, 40, 60), (0, 40, 60), (50, 20, 40), (30, 20, 40), (0, 40, 60)]
    );
    let filled: Vec<&str> =
        cases.iter().filter(|case| case.preconditioning.is_some()).map(|case| case.stage.as_str()).collect();
    assert_eq!(
        filled,
        ["group-1", "group-2", "group-3"],
        "to RAID 0 in scenario 6, back to RAID 5, and to RAID 0"
    );
}

/// Proves that a published maximum belongs to the cases that its cells allow (`4k/8k`, `16k-64k`, an empty depth) and is
/// no figure of any single case, and that rows of what is no quantity give none.
#[test]
fn published_maxima_belong_to_their_cases() {
    let plan = plan::load_plan("dorado-2100-g2").expect("plan").plan;
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let group_2 = || cases.iter().filter(|case| case.stage == "group-2");
    assert!(group_2().all(|case| plan.published_for(&case.stage, &case.settings).is_empty()));
    let extremes: Vec<_> = plan.published_extremes().collect();
    let unseen = extremes.iter().filter(|(table, _)| table.file.starts_with("unseen/")).count();
    assert_eq!(unseen, 5);
    assert_eq!(extremes.len() - unseen, 20 - 3, "three rows are about jobs at which saturation begins");
    let blocks_of = |value: f64| -> Vec<u32> {
        let (table, row) = extremes
            .iter()
            .find(|(_, row)| row.figures.iter().any(|figure| figure.value == value))
            .expect("a row with this figure");
        let mut blocks: Vec<u32> = group_2()
            .filter(|case| table.has_row_for(row, &case.stage, &case.settings))
            .map(|case| case.load.bs_bytes)
            .collect();
        blocks.dedup();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    };
    assert_eq!(blocks_of(110_000.0), [4096]);
    assert_eq!(blocks_of(88_000.0), [4096, 8192]);
    assert_eq!(blocks_of(1e9), [16384, 32768, 65536]);
    let first: Vec<_> = extremes[0]
        .1
        .figures
        .iter()
        .map(|figure| (figure.quantity.name(), figure.value, figure.of))
        .collect();
    assert_eq!(
        first,
        [
            ("iops", 110_000.0, plan::FigureOf::Maximum),
            ("write.latency_ns.mean", 4.7e6, plan::FigureOf::AtExtreme)
        ]
    );
}

/// Proves that every published row that is a figure of a single case finds one, in every plan.
#[test]
fn every_published_row_finds_a_case() {
    for shipped in plan::shipped_plans() {
        let plan = plan::load_plan(shipped.name).expect("plan").plan;
        let cases = expand(&plan, &Selection::default()).expect("cases");
        for table in &plan.published {
            for row in table.rows.iter().filter(|row| !row.figures.is_empty()) {
                let is_found = cases.iter().any(|case| table.has_row_for(row, &case.stage, &case.settings));
                assert!(is_found, "{}: {}: {row:?}", shipped.name, table.file);
            }
        }
    }
}
