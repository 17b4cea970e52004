//! Each kind of mistake, with the message that a person gets.

use super::plan_of_matrix;
use diagnostic::full_text;
use plan::{PlanErrorKind as Kind, Selection};

const GOOD: &str = "title: t\nstages:\n  one:\n    settings: { rw: read, bs: 4k }\n";

fn refused(text: &str) -> plan::PlanError {
    match plan::parse_plan("test", "test.yaml", text) {
        Err(error) => error,
        Ok(_) => panic!("not refused:\n{text}"),
    }
}

fn replaced(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    GOOD.replace(from, to)
}

macro_rules! mistake {
    ($(#[$doc:meta])* $name:ident, $kind:expr, $position:expr, $text:expr) => {
        $(#[$doc])*
        #[test]
        fn $name() {
            let text: String = $text.into();
            let error = refused(&text);
            assert_eq!(error.kind(), $kind, "{error}");
            assert_eq!(error.position(), $position, "{error}");
            insta::assert_snapshot!(stringify!($name), full_text(&error));
        }
    };
}

mistake!(
    /// Proves that a tab in the indentation is named as such, at its place.
    tab, Kind::Tab, Some((4, 1)), "title: t\nstages:\n  one:\n\tsettings: { rw: read, bs: 4k }\n"
);
mistake!(
    /// Proves that the second of two equal keys is refused, at its place.
    duplicate_key, Kind::DuplicateKey, Some((2, 1)), "title: t\ntitle: u\nstages: {}\n"
);
mistake!(
    /// Proves that the second of two equal settings is refused, at its place.
    duplicate_setting, Kind::DuplicateKey, Some((4, 35)), replaced("bs: 4k", "bs: 4k, bs: 8k")
);
mistake!(
    /// Proves that a key that the language does not have is refused, with the nearest that it has.
    unknown_key, Kind::UnknownKey, Some((2, 1)), replaced("stages", "stage")
);
mistake!(
    /// Proves that an unknown setting is refused, with the nearest that there is.
    unknown_setting, Kind::UnknownSetting, Some((4, 27)), replaced("bs: 4k", "bss: 4k")
);
mistake!(
    /// Proves that a merge key is refused.
    merge_key, Kind::UnknownKey, Some((4, 17)), "title: t\nstages:\n  one:\n    settings: { <<: { rw: read }, bs: 4k }\n"
);
mistake!(
    /// Proves that a bomb of aliases of aliases is refused by a named limit.
    alias_bomb, Kind::OverLimit, Some((13, 18)), alias_bomb_text()
);
mistake!(
    /// Proves that a block of no bytes is refused at the value's place.
    bs_zero, Kind::OutOfRange, Some((4, 31)), replaced("4k", "0")
);
mistake!(
    /// Proves that a block of no bytes is refused on an axis too, at the value's place.
    bs_zero_on_an_axis, Kind::OutOfRange, Some((6, 16)), plan_of_matrix("bs: [4k, 0]")
);
mistake!(
    /// Proves that a thousand million jobs are refused at the value's place.
    numjobs_huge, Kind::OutOfRange, Some((5, 16)), replaced(" { rw: read, bs: 4k }", "\n      numjobs: 1000000000\n")
);
mistake!(
    /// Proves that jobs and depth that are each allowed, but not together, are refused.
    outstanding, Kind::Contradiction, Some((4, 59)), replaced("bs: 4k", "bs: 4k, numjobs: 4096, iodepth: 65536")
);
mistake!(
    /// Proves that a matrix of over a million cases is refused.
    too_many_cases, Kind::OverLimit, Some((4, 3)), plan_of_matrix(&axes_of_over_a_million())
);
mistake!(
    /// Proves that a text without a document is refused.
    empty, Kind::Empty, None, "# only a comment\n\n"
);
mistake!(
    /// Proves that a list where one value belongs is refused, at its place.
    wrong_type, Kind::WrongType, Some((4, 31)), replaced("4k", "[4k, 8k]")
);
mistake!(
    /// Proves that a document that is no map is refused.
    not_a_map, Kind::WrongType, Some((1, 1)), "- a\n- b\n"
);
mistake!(
    /// Proves that a value where a list belongs is refused, at its place.
    axis_of_one_value, Kind::WrongType, Some((6, 11)), plan_of_matrix("bs: 4k")
);
mistake!(
    /// Proves that an empty value is refused.
    empty_value, Kind::WrongType, Some((4, 29)), replaced("bs: 4k", "bs:")
);
mistake!(
    /// Proves that only `true` and `false` are booleans.
    boolean_word, Kind::WrongType, Some((5, 12)), format!("{GOOD}read_only: yes\n")
);
mistake!(
    /// Proves that text that is not YAML is refused, at its place.
    not_yaml, Kind::Syntax, Some((4, 15)), replaced("}", "")
);
mistake!(
    /// Proves that an address without HTTP is refused at its place.
    watched_address, Kind::OutOfRange, Some((5, 42)), format!("{GOOD}watch: {{ prometheus: {{ name: a, address: https://a/, metrics: [up] }} }}\n")
);
mistake!(
    /// Proves that an address of which nothing is kept is refused.
    watched_nothing, Kind::OutOfRange, Some((5, 63)), format!("{GOOD}watch: {{ prometheus: {{ name: a, address: \"http://a\", metrics: [] }} }}\n")
);
mistake!(
    /// Proves that a command which would be started all the time is refused.
    watched_too_often, Kind::OutOfRange, Some((5, 52)), format!("{GOOD}watch: {{ command: {{ name: a, command: date, every: 10ms }} }}\n")
);
mistake!(
    /// Proves that two watched things of one name are refused at the second.
    watched_twice, Kind::Contradiction, Some((5, 57)), format!("{GOOD}watch: {{ command: [ {{ name: a, command: date }}, {{ name: a, command: date }} ] }}\n")
);
mistake!(
    /// Proves that a device whose name leads out of /dev is refused.
    watched_device_escapes, Kind::OutOfRange, Some((5, 19)), format!("{GOOD}watch: {{ devices: /dev/../etc/passwd }}\n")
);
mistake!(
    /// Proves that a plan without stages is refused.
    no_stages, Kind::MissingKey, Some((1, 1)), "title: t\n"
);
mistake!(
    /// Proves that a case without a block size is refused, at its stage.
    no_block_size, Kind::MissingKey, Some((3, 3)), replaced(", bs: 4k", "")
);
mistake!(
    /// Proves that the same value written in two ways is found twice on an axis.
    value_twice, Kind::Contradiction, Some((6, 16)), plan_of_matrix("bs: [4k, 4096]")
);
mistake!(
    /// Proves that a further case equal to one of the matrix is refused.
    case_twice, Kind::Contradiction, Some((7, 18)), plan_of_matrix("bs: [4k, 8k]\ninclude: [ { bs: 8k } ]")
);
mistake!(
    /// Proves that an exclusion by a setting that does not vary is refused.
    exclude_nothing, Kind::Contradiction, Some((7, 20)), plan_of_matrix("bs: [4k, 8k]\nexclude: [ { iodepth: 8 } ]")
);
mistake!(
    /// Proves that the share of reads cannot vary in a pure pattern.
    pure_pattern_mixed, Kind::Contradiction, Some((7, 24)), plan_of_matrix("rw: [randread]\nrwmixread: [100, 50]")
);
mistake!(
    /// Proves that a plan that says it only reads cannot write.
    read_only_writes, Kind::Contradiction, Some((4, 21)), format!("{}read_only: true\n", replaced("rw: read", "rw: write"))
);
mistake!(
    /// Proves that a quantity that no result has is refused, with the nearest.
    unknown_quantity, Kind::OutOfRange, Some((6, 36)), format!("{GOOD}show:\n  - {{ title: t, stages: [one], y: [iop], x: time }}\n")
);
mistake!(
    /// Proves that a chart of a stage that does not exist is refused, with the nearest.
    unknown_stage, Kind::Contradiction, Some((6, 26)), format!("{GOOD}show:\n  - {{ title: t, stages: [onne], y: [iops], x: time }}\n")
);
mistake!(
    /// Proves that quantities of different units cannot share a chart.
    mixed_units, Kind::Contradiction, Some((6, 42)), format!("{GOOD}show:\n  - {{ title: t, stages: [one], y: [iops, bw_bytes_per_s], x: time }}\n")
);
mistake!(
    /// Proves that a published table that does not exist is refused, with those that do.
    unknown_table, Kind::Published, Some((6, 13)),
    format!("{GOOD}published:\n  - {{ file: none.csv, stages: [one], settings: {{}}, quantities: {{}} }}\n")
);
mistake!(
    /// Proves that a column that a published table does not have is refused, with the nearest.
    unknown_column, Kind::Published, Some((8, 17)),
    format!("{GOOD}published:\n  - file: flashsystem-840/read-share.csv\n    stages: [one]\n    settings: {{ bs_byte: bs }}\n    quantities: {{}}\n")
);

mistake!(
    /// Proves that a host setting of no known place is refused, with the places that there are.
    host_setting_nowhere, Kind::UnknownSetting, Some((4, 35)), replaced("bs: 4k", "bs: 4k, proc.x: 1")
);
mistake!(
    /// Proves that a host setting's name cannot lead out of its directory.
    host_setting_escapes, Kind::UnknownSetting, Some((4, 35)), replaced("bs: 4k", "bs: 4k, queue...etc: 1")
);
mistake!(
    /// Proves that a load cannot set what is one for all loads.
    load_sets_runtime, Kind::Contradiction, Some((5, 31)), format!("{GOOD}    loads: {{ a: {{ settings: {{ runtime: 5 }} }} }}\n")
);
mistake!(
    /// Proves that a load cannot set how the array is made up.
    load_sets_raid, Kind::Contradiction, Some((5, 31)), format!("{GOOD}    loads: {{ a: {{ settings: {{ raid: 5 }} }} }}\n")
);
mistake!(
    /// Proves that a load that begins after the case is over is refused.
    load_begins_late, Kind::Contradiction, Some((5, 26)), format!("{GOOD}    loads: {{ a: {{ start: 100% }} }}\n")
);
mistake!(
    /// Proves that a stage has loads with targets or a stripe over all of them.
    loads_and_stripe, Kind::Contradiction, Some((6, 34)), format!("{GOOD}    loads: {{ a: {{}} }}\n    stripe: {{ unit: 1m, columns: 2 }}\n")
);
mistake!(
    /// Proves that a stripe's unit is a multiple of a sector.
    stripe_unit, Kind::OutOfRange, Some((5, 21)), format!("{GOOD}    stripe: {{ unit: 1000, columns: 2 }}\n")
);
mistake!(
    /// Proves that options for a file system that no case has are refused.
    file_system_nobody_has, Kind::Contradiction, Some((5, 17)), format!("{GOOD}    filesystem: {{ mount: [noatime] }}\n")
);
mistake!(
    /// Proves that several mount options in one word are refused.
    mount_options_in_one, Kind::OutOfRange, Some((5, 17)), format!("{GOOD}    filesystem: {{ mount: [\"a,b\"] }}\n")
);
mistake!(
    /// Proves that a pause by the rate of a later or missing stage is refused.
    pause_of_no_stage, Kind::Contradiction, Some((5, 35)), format!("{GOOD}    pause: {{ bytes_over: {{ stage: two, quantity: bw_bytes_per_s, match: [bs] }}, otherwise: 5 }}\n")
);
mistake!(
    /// Proves that a pause must say what it is where the rate is not known.
    pause_without_otherwise, Kind::MissingKey, Some((5, 14)), format!("{GOOD}    pause: {{ bytes_over: {{ stage: two, quantity: bw_bytes_per_s, match: [bs] }} }}\n")
);
mistake!(
    /// Proves that an event has a moment or a condition.
    event_without_moment, Kind::MissingKey, Some((5, 15)), format!("{GOOD}    events: [ {{ action: x }} ]\n")
);
mistake!(
    /// Proves that an open load needs a rate.
    open_load_without_rate, Kind::Contradiction, Some((4, 49)), replaced("bs: 4k", "bs: 4k, rate_process: poisson")
);
mistake!(
    /// Proves that a rate follows one course.
    two_courses_of_a_rate, Kind::Contradiction, Some((4, 65)), replaced("bs: 4k", "bs: 4k, rate_iops: 9, rate_ramp_from: 5, rate_burst_iops: 9")
);
mistake!(
    /// Proves that a profile that the plan does not have is refused at its name.
    profile_of_no_name, Kind::Contradiction, Some((4, 49)), replaced("bs: 4k", "bs: 4k, rate_profile: day")
);
mistake!(
    /// Proves that a profile's table is read with its plan, and a wrong line of it named.
    profile_with_a_wrong_line, Kind::OutOfRange, Some((5, 25)), format!("{GOOD}profiles: {{ day: {{ csv: \"0,5\\nx,6\" }} }}\n")
);
mistake!(
    /// Proves that a condition is one condition.
    two_conditions, Kind::Contradiction, Some((5, 34)), format!("{GOOD}    events: [ {{ action: x, when: {{ steady: iops, written: 1g }} }} ]\n")
);
mistake!(
    /// Proves that a condition on a quantity has a bound.
    condition_without_bound, Kind::Contradiction, Some((5, 34)), format!("{GOOD}    events: [ {{ action: x, when: {{ quantity: iops }} }} ]\n")
);
mistake!(
    /// Proves that a condition cannot wait for what is known at the end only.
    condition_of_the_end, Kind::Contradiction, Some((5, 44)), format!("{GOOD}    events: [ {{ action: x, when: {{ steady: sustained.iops }} }} ]\n")
);
mistake!(
    /// Proves that `repeats` of one is refused.
    repeats_once, Kind::OutOfRange, Some((5, 14)), format!("{GOOD}    repeats: 1\n")
);
mistake!(
    /// Proves that `repeats` and an axis `repeat` are not both there.
    repeats_twice, Kind::Contradiction, Some((5, 14)), format!("{GOOD}    repeats: 2\n    matrix: {{ repeat: [1, 2] }}\n")
);
mistake!(
    /// Proves that preconditioning follows array settings only.
    precondition_after_bs, Kind::Contradiction, Some((5, 71)), format!("{GOOD}    precondition: {{ times: 1, settings: {{ bs: 1m }}, after_change_of: [bs] }}\n")
);
mistake!(
    /// Proves that a requirement has one limit.
    requirement_without_limit, Kind::MissingKey, Some((5, 24)), format!("{GOOD}require: [ {{ quantity: iops, stage: one }} ]\n")
);
mistake!(
    /// Proves that a requirement of no case is refused.
    requirement_of_no_case, Kind::Contradiction, Some((5, 62)), format!("{GOOD}require: [ {{ quantity: iops, at_least: 1, stage: one, cases: {{ bs: 8k }} }} ]\n")
);
mistake!(
    /// Proves that a limit of a direction that no case of the stage has is refused.
    requirement_of_missing_direction, Kind::Contradiction, Some((5, 56)), format!("{GOOD}require: [ {{ quantity: write.iops, at_least: 1, stage: one }} ]\n")
);
mistake!(
    /// Proves that a figure of a requirement is read in its quantity's unit.
    requirement_in_wrong_unit, Kind::OutOfRange, Some((5, 40)), format!("{GOOD}require: [ {{ quantity: iops, at_least: 5ms, stage: one }} ]\n")
);
mistake!(
    /// Proves that a picture lies beside the plan.
    image_elsewhere, Kind::OutOfRange, Some((5, 19)), format!("{GOOD}images: [ {{ file: ../a.png, caption: c }} ]\n")
);
mistake!(
    /// Proves that a picture is of a kind that carries no scripts.
    image_with_scripts, Kind::OutOfRange, Some((5, 19)), format!("{GOOD}images: [ {{ file: a.svg, caption: c }} ]\n")
);
mistake!(
    /// Proves that a command of the inventory names a program.
    inventory_of_nothing, Kind::OutOfRange, Some((5, 25)), format!("{GOOD}inventory: [ {{ command: \" \" }} ]\n")
);
mistake!(
    /// Proves that a table has rows.
    table_without_rows, Kind::MissingKey, Some((5, 44)), format!("{GOOD}tables: [ {{ title: t, stages: [one], rows: [], quantities: [iops] }} ]\n")
);
mistake!(
    /// Proves that a chart has no panels for what it draws.
    chart_each_twice, Kind::Contradiction, Some((5, 61)), format!("{GOOD}show: [ {{ title: t, stages: [one], y: [iops], x: bs, each: [bs] }} ]\n")
);
mistake!(
    /// Proves that a pause by a rate that several cases have is refused.
    pause_of_two_cases, Kind::Contradiction, Some((7, 84)),
    "title: t\ndefaults: { rw: write }\nstages:\n  find: { matrix: { bs: [4k], iodepth: [1, 2] } }\n  use:\n    settings: { bs: 4k }\n    pause: { bytes_over: { stage: find, quantity: sustained.bw_bytes_per_s, match: [bs] }, otherwise: 5 }\n"
);
mistake!(
    /// Proves that a pause by a rate that no case has is refused.
    pause_of_no_case, Kind::Contradiction, Some((7, 84)),
    "title: t\ndefaults: { rw: write }\nstages:\n  find: { matrix: { bs: [4k] } }\n  use:\n    settings: { bs: 8k }\n    pause: { bytes_over: { stage: find, quantity: sustained.bw_bytes_per_s, match: [bs] }, otherwise: 5 }\n"
);

/// Nine aliases of nine aliases, six deep, where the language takes any value: 9^6 texts.
fn alias_bomb_text() -> String {
    let mut text = format!("{GOOD}    events:\n      - at: 1\n        action: none\n        with:\n");
    text.push_str("          a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (from, to) in [('a', 'b'), ('b', 'c'), ('c', 'd'), ('d', 'e'), ('e', 'f')] {
        let aliases = vec![format!("*{from}"); 9].join(", ");
        text.push_str(&format!("          {to}: &{to} [{aliases}]\n"));
    }
    text
}

/// Proves that a bomb of aliases in keys that the language does not have is refused before it is expanded.
#[test]
fn a_bomb_under_unknown_keys_is_refused_at_once() {
    let mut text = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for (from, to) in ('a'..'i').zip('b'..='i') {
        text.push_str(&format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(", ")));
    }
    let started = std::time::Instant::now();
    assert_eq!(refused(&text).kind(), Kind::UnknownKey);
    assert!(started.elapsed() < std::time::Duration::from_secs(2));
}

/// Axes of 200 × 100 × 51 values.
fn axes_of_over_a_million() -> String {
    let values = |count: u32| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    format!("numjobs: [{}]\niodepth: [{}]\nscenario: [{}]", values(200), values(100), values(51))
}

/// Proves that a product of axes beyond 2^64 is refused as well, and at once.
#[test]
fn a_product_beyond_every_number_is_refused() {
    let values = (1..=90).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let axes = [
        "numjobs",
        "iodepth",
        "rwmixread",
        "runtime",
        "ramp_time",
        "rate_iops",
        "disks",
        "coverage",
        "scenario",
    ];
    let mut matrix: String = axes.iter().map(|axis| format!("{axis}: [{values}]\n")).collect();
    for axis in ["size", "offset", "segment"] {
        let sizes = (1..=90).map(|n| format!("{n}k")).collect::<Vec<_>>().join(", ");
        matrix.push_str(&format!("{axis}: [{sizes}]\n"));
    }
    let started = std::time::Instant::now();
    assert_eq!(refused(&plan_of_matrix(&matrix)).kind(), Kind::OverLimit);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}

/// Proves that nesting and size have named limits.
#[test]
fn deep_and_large_texts_are_refused() {
    for deep in ["[".repeat(100_000), "{a: ".repeat(10_000), "- ".repeat(10_000)] {
        let error = refused(&format!("title: {deep}"));
        assert!(matches!(error.kind(), Kind::OverLimit | Kind::Syntax | Kind::WrongType), "{error}");
    }
    let large = format!("title: {}\n", "x".repeat(2 << 20));
    assert_eq!(refused(&large).kind(), Kind::OverLimit);
}

/// Proves that a selection of what the plan does not have is refused, each with a hint.
#[test]
fn selections_of_nothing_are_refused() {
    let plan = super::parse(GOOD);
    let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let selections = [
        Selection { stages: vec!["on".into()], ..Selection::default() },
        Selection { only: vec![("blocksize".into(), vec!["4k".into()])], ..Selection::default() },
        Selection { only: vec![("bs".into(), vec!["many".into()])], ..Selection::default() },
        Selection { set: vec![owned("run_time", "5")], ..Selection::default() },
        Selection { set: vec![owned("runtime", "0")], ..Selection::default() },
        Selection { set: vec![owned("runtime", "5"), owned("runtime", "6")], ..Selection::default() },
        Selection { set: vec![owned("numjobs", "4096"), owned("iodepth", "65536")], ..Selection::default() },
    ];
    let messages: Vec<String> = selections
        .iter()
        .map(|selection| full_text(&plan::expand(&plan, selection).expect_err("refused")))
        .collect();
    insta::assert_snapshot!("selections", messages.join("\n---\n"));
}

/// Proves that files that cannot be read as a plan are refused, each with one clear message.
#[test]
fn files_that_are_no_plans_are_refused() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("latin.yaml"), b"title: t\nauthor: Jos\xe9\n").expect("file");
    std::fs::write(path("large.yaml"), vec![b'#'; 3 << 20]).expect("file");
    for (name, kind, says) in [
        ("latin.yaml", Kind::Unreadable, "on line 2"),
        ("large.yaml", Kind::OverLimit, "larger than 1 MiB"),
        ("missing.yaml", Kind::Unreadable, "cannot be read"),
        ("", Kind::Unreadable, "is a directory"),
    ] {
        let error = plan::load_plan(&path(name)).expect_err(name);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(full_text(&error).contains(says), "{error}");
    }
    let error = plan::load_plan("quik").expect_err("no such plan");
    assert_eq!(
        full_text(&error),
        "no plan `quik` ships, and no file has this name\nhint: did you mean `quick`?"
    );
}

/// Proves that a latency or a bandwidth without a unit, 0 too, is refused at its place with the unit that is missing, in
/// whichever part of a plan: `at_most: 2` is not taken as 2 ns.
#[test]
fn a_limit_without_a_unit_is_refused() {
    let require = |quantity: &str, value: &str| {
        format!("{GOOD}require:\n  - {{ quantity: {quantity}, at_most: {value}, stage: one }}\n")
    };
    let latency = "is a latency without a unit";
    for (text, line, says, hint) in [
        (require("read.latency_ns.p99", "2"), 6, latency, "hint: did you mean `2ms`?"),
        (require("read.latency_ns.max", "0"), 6, latency, "hint: did you mean `0ms`?"),
        (require("read.latency_ns.mean", "1.5e6"), 6, latency, "hint: did you mean `1.5e6ms`?"),
        (
            require("bw_bytes_per_s", "800"),
            6,
            "is a bandwidth without a unit",
            "hint: did you mean `800MB/s`?",
        ),
        (require("bw_bytes_per_s", "800M"), 6, "is not a figure", "800MB/s, 1.5GB/s, 760MiB/s"),
        (
            format!("{GOOD}    find: {{ max-under-latency: {{ of: p99, below: 2, over: rate }} }}\n"),
            5,
            latency,
            "hint: did you mean `2ms`?",
        ),
        (
            format!(
                "{GOOD}    events: [ {{ action: x, when: {{ quantity: read.latency_ns.p99, above: 1 }} }} ]\n"
            ),
            5,
            latency,
            "hint: did you mean `1ms`?",
        ),
        (
            format!(
                "{GOOD}declared: [ {{ says: s, quantity: read.latency_ns.min, value: 90, stage: one }} ]\n"
            ),
            5,
            latency,
            "hint: did you mean `90ms`?",
        ),
        (
            format!(
                "{GOOD}tables: [ {{ title: t, stages: [one], rows: [bs], quantities: [iops], \
                 pick: {{ largest: iops, at_most: {{ read.latency_ns.mean: 5 }} }} }} ]\n"
            ),
            5,
            latency,
            "hint: did you mean `5ms`?",
        ),
    ] {
        let error = refused(&text);
        assert_eq!(error.position().map(|(line, _)| line), Some(line), "{error}");
        let text = full_text(&error);
        assert!(text.contains(says) && text.contains(hint), "{text}");
    }
    for (quantity, value) in [("read.latency_ns.p99", "0ms"), ("bw_bytes_per_s", "1.5GB/s"), ("iops", "5")] {
        plan::parse_plan("test", "test.yaml", &require(quantity, value)).unwrap();
    }
}

const FIND: &str = "    find: { max-under-latency: { of: p99, below: 1ms, over: rate } }\n";

mistake!(
    /// Proves that a percentile that is not kept is refused at its place.
    find_of_no_percentile, Kind::OutOfRange, Some((5, 38)), format!("{GOOD}{}", FIND.replace("p99", "p98"))
);
mistake!(
    /// Proves that a search up to half a job's queue place is refused.
    find_half_a_depth, Kind::OutOfRange, Some((5, 77)),
    format!("{GOOD}{}", FIND.replace("rate }", "iodepth, limit: 1.5 }"))
);
mistake!(
    /// Proves that a search and events in one stage are refused.
    find_with_events, Kind::Contradiction, Some((5, 11)),
    format!("{GOOD}{FIND}    events: [{{ at: 1s, action: x }}]\n")
);

mistake!(
    /// Proves that a share of a rate that no case before it finds is refused at its place.
    rate_percent_of_nothing, Kind::Contradiction, Some((6, 22)), plan_of_matrix("rate_percent: [50, max]")
);
mistake!(
    /// Proves that a rate in percent on an axis that is not the last is refused.
    rate_percent_outside, Kind::Contradiction, Some((6, 27)), plan_of_matrix("rate_percent: [max, 50]\nbs: [4k, 8k]")
);
mistake!(
    /// Proves that a rate beside a rate in percent is refused.
    rate_percent_and_rate, Kind::Contradiction, Some((6, 22)),
    plan_of_matrix("rate_percent: [max, 50]").replace("runtime: 10", "rate_iops: 5")
);

mistake!(
    /// Proves that a load is chosen only from the results of a stage that is over.
    load_of_a_later_stage, Kind::Contradiction, Some((6, 14)),
    "title: t\nstages:\n  one:\n    settings: { rw: randwrite, bs: 4k }\n    load_of:\n      stage: two\n      pick: { largest: iops }\n  two:\n    settings: { rw: randwrite, bs: 4k }\n"
);

mistake!(
    /// Proves that what results choose does not vary in the matrix as well.
    load_of_with_jobs, Kind::Contradiction, Some((8, 14)),
    "title: t\nstages:\n  one:\n    settings: { rw: randwrite, bs: 4k }\n  two:\n    settings: { rw: randwrite, bs: 4k }\n    load_of:\n      stage: one\n      pick: { largest: iops }\n    matrix: { numjobs: [1, 2] }\n"
);

const EVENT: &str = "    events: [{ at: 1s, action: x }]\n    optional: true\n";

mistake!(
    /// Proves that a stage without events, which no twin leaves out, is not `optional`.
    optional_without_events, Kind::Contradiction, Some((5, 15)), format!("{GOOD}    optional: true\n")
);
mistake!(
    /// Proves that a stage which continues one that may be left out is refused.
    continues_an_optional_stage, Kind::Contradiction, Some((7, 3)),
    format!("{GOOD}{EVENT}  two:\n    settings: {{ rw: read, bs: 4k }}\n    continues: stage-before\n")
);
mistake!(
    /// Proves that a stage whose load is chosen from one that may be left out is refused.
    load_of_an_optional_stage, Kind::Contradiction, Some((7, 3)),
    format!("{GOOD}{EVENT}  two:\n    settings: {{ rw: read, bs: 4k }}\n    load_of: {{ stage: one, pick: {{ largest: iops }} }}\n")
);

/// Proves that a contour without two rates of one unit, without a latency, with `series`, or whose two latencies are not the means of both
/// directions is refused with an example, as is a latency of any other chart, and that a right one is read.
#[test]
fn contours_have_two_rates_and_a_latency() {
    let chart = |keys: &str| format!("{GOOD}show: [ {{ title: t, stages: [one], {keys} }} ]\n");
    let means = "of: [read.latency_ns.mean, write.latency_ns.mean]";
    for (keys, expected) in [
        (format!("chart: contour, x: time, y: [write.iops], {means}"), "two rates"),
        (format!("chart: contour, x: read.iops, y: [write.bw_bytes_per_s], {means}"), "two rates"),
        (format!("chart: contour, x: read.iops, y: [write.iops, iops], {means}"), "two rates"),
        (format!("chart: contour, x: read.iops, y: [write.iops], series: bs, {means}"), "two rates"),
        ("chart: contour, x: read.iops, y: [write.iops]".into(), "needs a latency"),
        ("chart: contour, x: read.iops, y: [write.iops], of: [iops]".into(), "needs a latency"),
        (
            "chart: contour, x: read.iops, y: [write.iops], of: [read.latency_ns.mean, write.latency_ns.p99]"
                .into(),
            "needs a latency",
        ),
        ("x: time, y: [iops], of: [read.latency_ns.mean]".into(), "`chart: contour`"),
        ("chart: contor, x: time, y: [iops]".into(), "contour"),
    ] {
        let message = full_text(&refused(&chart(&keys)));
        assert!(message.contains(expected), "{keys}: {message}");
    }
    let text = chart(&format!("chart: contour, x: read.iops, y: [write.iops], {means}"));
    let plan = plan::parse_plan("test", "test.yaml", &text).unwrap();
    let of = plan.charts[0].contour_of.as_ref().unwrap();
    assert_eq!(
        of.iter().map(|one| one.name()).collect::<Vec<_>>(),
        ["read.latency_ns.mean", "write.latency_ns.mean"]
    );
}
