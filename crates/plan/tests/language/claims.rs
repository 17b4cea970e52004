//! Claims: what the language of their checks takes and refuses.

use plan::PlanErrorKind as Kind;
use proptest::prelude::*;

fn plan_with(claim: &str) -> String {
    format!(
        "title: t\nstages:\n  one:\n    settings: {{ rw: randrw, bs: 4k }}\nclaims:\n  - id: C1\n    says: s\n    source: a test\n    \
         mechanism: m\n    tolerance: 2%\n    {claim}\n"
    )
}

fn refused(claim: &str) -> plan::PlanError {
    plan::parse_plan("test", "test.yaml", &plan_with(claim)).expect_err(claim)
}

/// Proves that a wrong expression is refused with its line and column, and with a hint where one can be given.
#[test]
fn wrong_expressions_are_refused_with_their_place() {
    for (check, column, message, hint) in [
        ("iops{stage=two} > 1", 17, "the plan has no stage `two`", "one"),
        ("iopss{stage=one} > 1", 12, "no quantity `iopss`", "`iops`"),
        ("read.latency_ns.p98{stage=one} > 1ms", 12, "no quantity `read.latency_ns.p98`", "p9"),
        ("level.iop{stage=one} > 1", 12, "`level` has no number `iop`", "`iops`"),
        ("levle.iops{stage=one} > 1", 12, "no kind of finding `levle`", "`level`"),
        ("counter.thinn.allocations{stage=one} > 1", 12, "`thinn` counts nothing", "`thin`"),
        ("counter.thin{stage=one} > 1", 12, "names no counter", "counter.thin.allocations"),
        ("iops{stage=one, bss=4k} > 1", 28, "no setting `bss`", "`bs`"),
        ("iops{stage=one, bs=4q} > 1", 28, "4q", ""),
        ("iops{stage=one} > read.latency_ns.mean{stage=one}", 30, "different units", ""),
        ("read.latency_ns.mean{stage=one} <= 2", 47, "a time has a unit", "`2ms`"),
        ("maxx(iops{stage=one}) > 1", 12, "no function `maxx`", "`max`"),
        ("iops{stage=one} > ", 28, "not complete", ""),
        ("iops{stage=one", 16, "has no `}`", ""),
        ("iops{stage=one} > 1 and 3", 36, "takes a comparison", "iops"),
        ("(iops{stage=one} > 1", 31, "`)` is missing", ""),
        ("iops{stage=one} > $", 30, "no meaning", "in a..b"),
        ("iops > 1", 12, "no value `iops`", "{stage=…}"),
        ("iops{bs=4k} > 1", 12, "names the stage", "stage="),
        ("write.errors{stage=one}[0:5s] > 1", 36, "no interval has this", "span"),
        ("max(iops{stage=one} by bss) > 1", 35, "no setting `bss`", "`bs`"),
        ("abs(iops{stage=one} by bs) > 1", 32, "no one value of several", ""),
        ("at_max(iops{stage=one}) > 1", 34, "takes two values, and there are 1", "at_max("),
        ("iops{stage=one, bs=settings.bss} > 1", 28, "no setting `bss`", "`bs`"),
        ("iops{stage=one, bss=*} > 1", 28, "no setting `bss`", "`bs`"),
        ("write-cliff.found{stage=one, onset_s=*} > 1", 41, "is for settings", ""),
        ("write-cliff.fount{stage=one} > 1", 12, "has no number `fount`", "`found`"),
        ("iops{stage=one|two} > 1", 17, "the plan has no stage `two`", "one"),
        ("bw_bytes_per_s{stage=one} > 3 MB/h", 45, "`MB/s` is meant", ""),
        ("iops{stage=one} in ..", 32, "not complete", ""),
        ("measured(iops{stage=one}) > 1", 12, "this is a comparison", ""),
    ] {
        let error = refused(&format!("check: {check}"));
        let text = diagnostic::full_text(&error);
        assert_eq!(error.position(), Some((11, column)), "{text}");
        assert!(text.contains(message), "{text}");
        assert!(text.contains(hint), "{text}");
    }
    let error = refused("check: iops{stage=one}");
    assert_eq!(error.kind(), Kind::WrongType, "{error}");
    let error = refused("tolerance_: 3\n    check: iops{stage=one} > 1");
    assert_eq!(error.kind(), Kind::UnknownKey, "{error}");
    let error = refused("because: \"{x}\"\n    check: iops{stage=one} > 1");
    assert!(error.to_string().contains("no value `x`"), "{error}");
}

/// Proves that the place is right in folded and quoted texts too.
#[test]
fn places_in_texts_over_several_lines() {
    let error = refused("check: >-\n      iops{stage=one} > 1\n      and iopss{stage=one} > 1");
    assert_eq!(error.position(), Some((13, 11)), "{error}");
    let error = refused("check: \"iopss{stage=one} > 1\"");
    assert_eq!(error.position(), Some((11, 13)), "{error}");
}

/// Proves that what the language has is taken.
#[test]
fn expressions_that_are_taken() {
    for check in [
        "iops{stage=one} > 1000",
        "iops{stage=one} / 2 >= 1e3 and not iops{stage=one} < 1",
        "read.latency_ns.mean{stage=one, bs=4k|8k} in 90us..1.5ms",
        "all(read.latency_ns.mean{stage=one} < write.latency_ns.mean{stage=one} or iops{stage=one} > 5)",
        "share(iops{stage=one} > 100) >= 90%",
        "max(iops{stage=one}, read.iops{stage=one}) ~ 2 * min(iops{stage=one})",
        "steps(iops{stage=one}, numjobs) >= 1",
        "write-cliff.onset_s{stage=one} in 2m..3m",
        "disruption.latency_percent{stage=one, event~fail} <= 130%",
        "iops{stage=one}[5s:10s] < iops{stage=one}[10s:20s]",
        "iops{stage=one} * read.latency_ns.mean{stage=one} ~ settings.numjobs{stage=one} * settings.iodepth{stage=one}",
        "-1 * abs(iops{stage=one} - 3) < 0",
        "max(iops{stage=one} by bs, stage) / min(iops{stage=one} by bs, stage) in 1..",
        "iops{stage=one} in ..5e3 and (iops{stage=one} in 1..)",
        "bw_bytes_per_s{stage=one} / 3_200 MB/s in 90%..105%",
        "bw_bytes_per_s{stage=one} in 1.3 GB/s..1.6 GB/s",
        "not measured(iops{stage=one}) or iops{stage=one, bs=settings.size, rw=*} > 1",
        "sum(discordant(iops{stage=one, write_cache=on}, iops{stage=one, write_cache=off} by disks)) <= 0",
        "at_max(iops{stage=one}, read.latency_ns.mean{stage=one} by bs) <= 2ms",
        "write-cliff.found{stage=one} >= 1 and sum(limit.found{stage=one, by!=link|unknown}) <= 0",
    ] {
        let plan = plan::parse_plan("test", "test.yaml", &plan_with(&format!("check: \"{check}\"")));
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.claims[0].tolerance, 0.02);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if test_support::is_long() { 20_000 } else { 1_000 }))]

    /// Proves that no text makes the reader of expressions panic, and that what it refuses has a place in the plan.
    #[test]
    fn any_text_is_taken_or_refused(pieces in prop::collection::vec(
        prop_oneof![
            prop::sample::select(vec![
                "iops", "{stage=one}", "{stage=one, bs>=4k}", "{", "}", "(", ")", "[", "]", ":", "..", " in ", " and ", " or ", "not ",
                "1", "2ms", "5%", "1e", "_", "-", " - ", "/", "*", "<", "<=", "~", "max(", "share(", "steps(", ",", "numjobs", "settings.bs",
                "write-cliff.found", "at_max(", " by ", "MB", "=*", "settings.bs", "measured(",
                "write-cliff.onset_s", "conformance.allowed", "quantity=iops", "÷", "µs", "\u{301}", "𝄞", " ",
            ]).prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ],
        0..24,
    )) {
        let text = pieces.concat();
        let quoted = serde_json::to_string(&text).unwrap();
        if let Err(error) = plan::parse_plan("test", "test.yaml", &plan_with(&format!("check: {quoted}"))) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
