//! From matrices and selections to cases.

use super::{names, parse, plan_of_matrix};
use load::{Arrival, Content, DirectionRates, Distribution, LoadShape, Pattern, RateCurve, SizeShare};
use plan::{Selection, SettingScope, expand};
use serde_json::json;

fn only(pairs: &[(&str, &[&str])]) -> Selection {
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let only = pairs.iter().map(|(name, values)| ((*name).to_owned(), owned(values))).collect();
    Selection { only, ..Selection::default() }
}

fn set(pairs: &[(&str, &str)]) -> Selection {
    let set = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Selection { set, ..Selection::default() }
}

/// Proves that axes vary in their order, the last fastest, and that exclusion and inclusion do what they say.
#[test]
fn a_matrix_expands_in_order() {
    let plan = parse(&plan_of_matrix(
        "bs: [8k, 4k]\niodepth: [1, 2]\nexclude: [ { bs: 4k, iodepth: [2, 3] } ]\ninclude: [ { iodepth: 64, bs: 1m, rw: read } ]",
    ));
    let cases = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(
        names(&cases),
        ["bs=8192,iodepth=1", "bs=8192,iodepth=2", "bs=4096,iodepth=1", "bs=1048576,iodepth=64,rw=read"]
    );
    assert_eq!(cases.iter().map(|case| case.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// Proves that a case carries the five settings that every case has, with fio's defaults and the share of reads
/// that a pure pattern fixes.
#[test]
fn every_case_carries_the_five_settings() {
    let plan = parse(
        "title: t\ndefaults: { bs: 4k, rwmixread: 70 }\nstages:\n  r: { settings: { rw: randread } }\n  w: { settings: { rw: write } }\n  m: { settings: { rw: rw } }\n",
    );
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let shares: Vec<_> = cases.iter().map(|case| case.settings["rwmixread"].clone()).collect();
    assert_eq!(shares, [json!(100), json!(0), json!(70)]);
    assert_eq!(names(&cases), ["r", "w", "m"]);
    assert_eq!(
        serde_json::Value::from(cases[2].settings.clone()),
        json!({ "rw": "rw", "bs": 4096, "numjobs": 1, "iodepth": 1, "rwmixread": 70, "runtime": 60, "ramp_time": 0 })
    );
}

/// Proves the load of a case, unit by unit.
#[test]
fn settings_become_the_load() {
    let plan = parse(
        "title: t\nwatch: { interval: 500ms }\nstages:\n  one:\n    settings: { rw: randrw, rwmixread: 30, bs: 8k, numjobs: 4, iodepth: 16, runtime: 2.5, ramp_time: 1, offset: 1m, size: 1g, rate_iops: 250 }\n    pause: 10s\n    events: [ { at: 20%, action: later }, { at: 100ms, action: sooner, with: { module: 3 } } ]\n",
    );
    let case = expand(&plan, &Selection::default()).expect("cases").remove(0);
    let load = &case.load;
    assert_eq!((load.pattern, load.rwmixread, load.bs_bytes), (Pattern::Randrw, 30, 8192));
    assert_eq!((load.numjobs, load.iodepth), (4, 16));
    assert_eq!((load.offset_bytes, load.size_bytes), (1 << 20, Some(1 << 30)));
    assert_eq!(load.rate_iops, Some(1000.0), "fio's rate_iops is that of each of the 4 jobs");
    assert_eq!(
        (load.ramp_ns, load.runtime_ns, load.interval_ns),
        (1_000_000_000, 2_500_000_000, 500_000_000)
    );
    assert_eq!(case.estimated_duration_ns, 13_500_000_000);
    assert_eq!(case.estimated_write_bytes, 1000 * 7 / 20 * 7 * 8192, "1000/s × 3.5 s × 70 % × 8 KiB");
    let events: Vec<_> = case.events.iter().map(|event| (event.at_ns, event.action.as_str())).collect();
    assert_eq!(events, [(1_100_000_000, "sooner"), (1_500_000_000, "later")]);
    assert_eq!(case.events[0].arguments["module"], 3);
}

/// Proves that a case at a share of a rate, and one that is held to a rate, is estimated to write so much less.
#[test]
fn estimates_follow_the_rate() {
    let plan = parse(
        "title: t\nstages:\n  curve:\n    settings: { rw: randwrite, bs: 4k, runtime: 100 }\n    matrix: { rate_percent: [max, 10, 50, 120] }\n  held:\n    settings: { rw: randwrite, bs: 4k, runtime: 100 }\n    matrix: { rate_iops: [100, 1000] }\n",
    );
    let written: Vec<u64> = expand(&plan, &Selection::default())
        .expect("cases")
        .iter()
        .map(|case| case.estimated_write_bytes)
        .collect();
    let full = written[0];
    assert!(full > 0);
    assert_eq!(written[..4], [full, full / 10, full / 2, full], "an array delivers no more than all");
    assert_eq!(written[4..], [100 * 100 * 4096, 1000 * 100 * 4096]);
}

/// Proves that every setting of a load's shape reaches the load, with rates of all jobs together.
#[test]
fn settings_become_the_shape() {
    let shape_of = |settings: &str| {
        let text = format!(
            "title: t\nprofiles:\n  day: {{ csv: \"00:00,100\\n08:00,500\\n\", speedup: 24 }}\nstages:\n  one: {{ settings: {{ rw: randrw, bs: 4k, numjobs: 2, {settings} }} }}\n"
        );
        let case = expand(&parse(&text), &Selection::default()).expect("cases").remove(0);
        (case.load.rate_iops, case.load.shape)
    };
    let rate = |settings: &str| {
        let (limit, shape) = shape_of(settings);
        assert_eq!(limit, None, "an open load is not held back");
        shape.arrival.expect("an open load")
    };
    assert_eq!(rate("rate_iops: 100, rate_process: poisson"), Arrival::poisson(200.0));
    assert_eq!(rate("rate_iops: 100, rate_process: linear"), Arrival::regular(200.0));
    assert_eq!(
        rate("rate_iops: 10, rate_burst_iops: 100, rate_burst_time: 1, rate_burst_period: 5").rate,
        RateCurve::Bursts {
            base_iops: 20.0,
            burst_iops: 200.0,
            burst_ns: 1_000_000_000,
            period_ns: 5_000_000_000
        }
    );
    assert_eq!(
        rate("rate_iops: 100, rate_ramp_from: 10, rate_ramp_time: 30").rate,
        RateCurve::Ramp { from_iops: 20.0, to_iops: 200.0, over_ns: 30_000_000_000 }
    );
    assert_eq!(
        rate("rate_profile: day, rate_process: poisson").rate,
        RateCurve::Profile {
            points: vec![(0, 100.0), (1_200_000_000_000, 500.0)],
            period_ns: 3_600_000_000_000
        },
        "a day in an hour, for all jobs together"
    );
    let (_, shape) = shape_of(
        "bssplit: 4k/30:64k/70, random_distribution: zipf:1.1, working_set: 25, rwmixtrim: 10, rate_iops_read: 50, offset_increment: 1m, buffer_compress_percentage: 40, dedupe_percentage: 20",
    );
    let size = |bs_bytes, weight| SizeShare { bs_bytes, weight };
    assert_eq!(
        shape,
        LoadShape {
            sizes: vec![size(4096, 30), size(65536, 70)],
            distribution: Distribution::Zipf { theta: 1.1 },
            working_set_percent: 25,
            trim_percent: 10,
            rates: DirectionRates { read_iops: Some(100.0), ..DirectionRates::default() },
            offset_increment_bytes: Some(1 << 20),
            content: Content { compress_percent: 40, dedupe_percent: 20 },
            ..LoadShape::default()
        }
    );
    assert_eq!(shape_of("norandommap: 0").1.distribution, Distribution::NoRepeat);
    assert_eq!(shape_of("norandommap: 1").1, LoadShape::default());
    assert!(shape_of("verify: crc32c").1.verify);
    assert_eq!(shape_of("streams: 4").1.streams, 4);
}

/// Proves that different keys of `--only` narrow, values of one key widen, values are compared by type, and cases
/// without the key are left out.
#[test]
fn only_narrows_and_widens() {
    let plan = parse(
        "title: t\ndefaults: { rw: randrw, bs: 4k }\nstages:\n  a: { matrix: { bs: [4k, 8k, 16k], disks: [2, 3] } }\n  b: { matrix: { rwmixread: [0, 50] } }\n",
    );
    let count = |selection: &Selection| expand(&plan, selection).expect("cases").len();
    assert_eq!(count(&Selection::default()), 8);
    assert_eq!(count(&only(&[("bs", &["4k", "8192"])])), 6);
    assert_eq!(count(&only(&[("bs", &["4k"]), ("bs", &["8k"])])), 6);
    assert_eq!(count(&only(&[("bs", &["4k"]), ("disks", &["3"])])), 1);
    assert_eq!(count(&only(&[("disks", &["2", "3"])])), 6, "stage b has no disks");
    assert_eq!(count(&only(&[("rwmixread", &["0"])])), 1);
    assert_eq!(count(&only(&[("bs", &["64k"])])), 0);
    let stages = Selection { stages: vec!["b".into()], ..Selection::default() };
    assert_eq!(names(&expand(&plan, &stages).expect("cases")), ["rwmixread=0", "rwmixread=50"]);
}

/// Proves that `--set` overrides in every case, that on an axis it leaves one value of it, and that what it makes
/// equal becomes one case.
#[test]
fn set_overrides_and_collapses() {
    let plan = parse(&plan_of_matrix("bs: [4k, 8k]\niodepth: [1, 2]\ninclude: [ { bs: 1m, iodepth: 1 } ]"));
    let cases = expand(&plan, &set(&[("bs", "16k"), ("runtime", "2")])).expect("cases");
    assert_eq!(names(&cases), ["bs=16384,iodepth=1", "bs=16384,iodepth=2"]);
    assert!(cases.iter().all(|case| case.load.runtime_ns == 2_000_000_000 && case.settings["runtime"] == 2));
    let shares = parse(&plan_of_matrix("rwmixread: [0, 50, 100]"));
    let reads = expand(&shares, &set(&[("rw", "randread")])).expect("cases");
    assert_eq!(names(&reads), ["rwmixread=100"]);
}

/// Proves that a value of an axis brings its settings, that an exclusion sees them, and that a case's own axis
/// overrides what another axis brings.
#[test]
fn a_value_brings_settings() {
    let plan = parse(&plan_of_matrix(
        "scenario:\n  1: { raid: 5, coverage: 100, bs: 64k }\n  2: { raid: 0, coverage: 70 }\nbs: [4k, 8k]\nexclude: [ { raid: 0, bs: 8k } ]",
    ));
    let cases = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(names(&cases), ["scenario=1,bs=4096", "scenario=1,bs=8192", "scenario=2,bs=4096"]);
    assert_eq!(
        serde_json::Value::from(cases[2].settings_of(SettingScope::Array)),
        json!({ "raid": 0, "coverage": 70 }),
        "the number of a scenario is nothing that an array could set"
    );
}

/// Proves that preconditioning precedes the first case of a stage and each change of array settings, and no other.
#[test]
fn preconditioning_follows_the_array() {
    let plan = parse(
        "title: t\nstages:\n  one:\n    settings: { rw: randwrite }\n    precondition: { times: 2, settings: { bs: 16k, iodepth: 32 } }\n    matrix: { raid: [5, 0], bs: [4k, 8k] }\n",
    );
    let cases = expand(&plan, &Selection::default()).expect("cases");
    let filled: Vec<bool> = cases.iter().map(|case| case.preconditioning.is_some()).collect();
    assert_eq!(filled, [true, false, true, false]);
    let fill = cases[0].preconditioning.as_ref().expect("fill");
    assert_eq!((fill.pattern, fill.bs_bytes, fill.iodepth, fill.times), (Pattern::Write, 16384, 32, 2));
}

/// Proves that a case has the same seed whichever other cases are selected, and another than its neighbours.
#[test]
fn a_case_keeps_its_seed() {
    let plan = parse(&plan_of_matrix("bs: [4k, 8k, 16k]"));
    let all = expand(&plan, &Selection::default()).expect("cases");
    let one = expand(&plan, &only(&[("bs", &["8k"])])).expect("cases");
    assert_eq!(one[0].load.seed, all[1].load.seed);
    assert_eq!(one[0].index, 0);
    assert!(all[0].load.seed != all[1].load.seed && all[1].load.seed != all[2].load.seed);
}

/// Proves that the largest plan that is allowed expands, and that selecting from it does not first make them all.
#[test]
fn a_million_cases_expand() {
    let values = |count: u32| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let side = if test_support::is_long() { 100 } else { 46 };
    let plan = parse(&plan_of_matrix(&format!("numjobs: [{0}]\niodepth: [{0}]\ndisks: [{0}]", values(side))));
    let total = (side * side * side) as usize;
    let selected = expand(&plan, &only(&[("numjobs", &["7"]), ("iodepth", &["9"])])).expect("cases");
    assert_eq!(selected.len(), side as usize);
    assert_eq!(expand(&plan, &Selection::default()).expect("cases").len(), total);
}
