//! Parts of cases beside settings and load: events, pauses, telemetry, inventory.

use super::{names, parse};
use load::Pattern;
use plan::{
    Amount, Bound, Case, EventCondition, HostSettingPlace, LoadTarget, PollSettings, Quantity, Selection,
    SettingScope, Stripe, Watch, WatchedDevices, expand,
};
use serde_json::json;

fn cases(text: &str) -> Vec<Case> {
    expand(&parse(text), &Selection::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn quantity(name: &str) -> Quantity {
    Quantity::named(name).expect(name)
}

/// Proves that host settings are settings: they vary on an axis, are chosen by `--only`, overridden by `--set`, and
/// reach whoever sets them with their place.
#[test]
fn host_settings_are_settings() {
    let plan = parse(
        "title: t\ndefaults: { rw: read, bs: 4k, sysctl.vm.swappiness: 10 }\nstages:\n  one:\n    matrix:\n      queue.scheduler: [none, mq-deadline]\n      queue.nr_requests: [64, 128]\n",
    );
    let all = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(all.len(), 4);
    assert_eq!(all[1].name, "queue.scheduler=none,queue.nr_requests=128");
    assert_eq!(all[1].settings["queue.nr_requests"], 128);
    let host: Vec<_> = all[1]
        .host_settings()
        .into_iter()
        .map(|setting| (setting.place, setting.name, setting.value))
        .collect();
    assert_eq!(
        host,
        [
            (HostSettingPlace::Queue, "nr_requests".to_owned(), "128".to_owned()),
            (HostSettingPlace::Queue, "scheduler".to_owned(), "none".to_owned()),
            (HostSettingPlace::Sysctl, "vm.swappiness".to_owned(), "10".to_owned()),
        ]
    );
    assert!(all[1].settings_of(SettingScope::Array).is_empty());
    let selection = Selection {
        only: vec![("queue.scheduler".into(), vec!["none".into()])],
        set: vec![("queue.nr_requests".into(), "256".into()), ("module.a.b".into(), "x".into())],
        ..Selection::default()
    };
    let chosen = expand(&plan, &selection).expect("cases");
    assert_eq!(names(&chosen), ["queue.scheduler=none,queue.nr_requests=256"]);
    assert_eq!(chosen[0].settings["module.a.b"], "x");
}

/// Proves that a load has the case's settings with its own over them, its target, and a part of the runtime that ends
/// with the case; and that the bytes of all loads are counted.
#[test]
fn loads_have_settings_of_their_own() {
    let case = cases(
        "title: t\ndefaults: { rw: randread, bs: 4k, runtime: 100, ramp_time: 10 }\nstages:\n  one:\n    matrix: { numjobs: [2] }\n    loads:\n      victim: { target: 0 }\n      noisy: { target: sdb, start: 25%, settings: { rw: randwrite, iodepth: 32, numjobs: 8, io_size: 1m } }\n",
    )
    .remove(0);
    let [victim, noisy] = case.loads.as_slice() else { panic!("{:?}", case.loads) };
    assert_eq!((victim.name.as_str(), victim.target.as_ref()), ("victim", Some(&LoadTarget::Number(0))));
    assert_eq!(
        (victim.start_ns, victim.load.ramp_ns, victim.load.runtime_ns),
        (0, 10_000_000_000, 100_000_000_000)
    );
    assert_eq!((victim.load.pattern, victim.load.numjobs), (Pattern::Randread, 2));
    assert_eq!(
        (noisy.name.as_str(), noisy.target.as_ref()),
        ("noisy", Some(&LoadTarget::Name("sdb".into())))
    );
    assert_eq!(
        (noisy.start_ns, noisy.load.ramp_ns, noisy.load.runtime_ns),
        (35_000_000_000, 0, 75_000_000_000)
    );
    assert_eq!((noisy.load.pattern, noisy.load.numjobs, noisy.load.iodepth), (Pattern::Randwrite, 8, 32));
    assert_eq!(noisy.settings["rwmixread"], 0);
    assert_eq!(
        (case.settings["numjobs"].clone(), case.settings["rwmixread"].clone()),
        (json!(2), json!(100))
    );
    assert!(victim.load.seed != noisy.load.seed && victim.load.seed != case.load.seed);
    assert_eq!(noisy.ends_after, Some(Amount::Bytes { bytes: 1 << 20 }));
    assert_eq!(case.estimated_write_bytes, 1 << 20);
}

/// Proves that `--set` overrides what a load sets.
#[test]
fn set_overrides_loads() {
    let plan = parse(
        "title: t\nstages:\n  one:\n    settings: { rw: read, bs: 4k }\n    loads: { a: { settings: { bs: 64k } } }\n",
    );
    let selection = Selection { set: vec![("bs".into(), "1m".into())], ..Selection::default() };
    let case = expand(&plan, &selection).expect("cases").remove(0);
    assert_eq!(case.loads[0].load.bs_bytes, 1 << 20);
}

/// Proves that a stage's stripe replaces the plan's, that loads have none, and that a file system belongs to the cases
/// that ask for it.
#[test]
fn stripes_and_file_systems_reach_their_cases() {
    let all = cases(
        "title: t\ndefaults: { rw: write, bs: 1m }\nstripe: { unit: 1m, columns: 8 }\nstages:\n  a: {}\n  b: { stripe: { unit: whole, columns: 2 } }\n  c: { loads: { x: {} } }\n  d:\n    matrix: { filesystem: [raw, ext4] }\n    filesystem: { mkfs: [-E, lazy_itable_init=0], mount: [noatime], fill: 50 }\n",
    );
    let stripes: Vec<_> = all.iter().map(|case| case.stripe).collect();
    let plan_stripe = Some(Stripe { unit_bytes: Some(1 << 20), columns: 8 });
    let whole = Some(Stripe { unit_bytes: None, columns: 2 });
    assert_eq!(stripes, [plan_stripe, whole, None, plan_stripe, plan_stripe]);
    assert_eq!(all[3].filesystem, None);
    let filesystem = all[4].filesystem.as_ref().expect("ext4");
    assert_eq!((filesystem.kind.as_str(), filesystem.options.fill_percent), ("ext4", 50));
    assert_eq!(filesystem.options.mkfs, ["-E", "lazy_itable_init=0"]);
    assert_eq!(filesystem.options.mount, ["noatime"]);
}

/// Proves that a pause by a rate names the one case that finds the rate, that pure reads have none, that the setting
/// `pause` overrides it, and that `--stage` does not change which case it is.
#[test]
fn a_pause_finds_its_rate() {
    let text = "title: t\ndefaults: { rw: randrw }\nstages:\n  find: { matrix: { scenario: [1, 2], bs: [4k, 8k] } }\n  use:\n    matrix: { rwmixread: [0, 100], bs: [4k, 8k] }\n    pause:\n      bytes_over: { stage: find, quantity: sustained.bw_bytes_per_s, match: [bs], cases: { scenario: 2 } }\n      otherwise: 30s\n";
    let plan = parse(text);
    let pauses = |selection: &Selection| -> Vec<_> {
        expand(&plan, selection)
            .expect("cases")
            .into_iter()
            .map(|case| (case.pause_ns / 1_000_000_000, case.pause_over.map(|rate| rate.case)))
            .collect()
    };
    let stages = vec!["use".to_owned()];
    let found = |name: &str| Some(name.to_owned());
    let expected =
        [(30, found("scenario=2,bs=4096")), (30, found("scenario=2,bs=8192")), (0, None), (0, None)];
    assert_eq!(pauses(&Selection { stages: stages.clone(), ..Selection::default() }), expected);
    let set = |name: &str, value: &str| Selection {
        stages: stages.clone(),
        set: vec![(name.into(), value.into())],
        ..Selection::default()
    };
    assert_eq!(pauses(&set("pause", "0")), [(0, None), (0, None), (0, None), (0, None)]);
    assert_eq!(pauses(&set("runtime", "2")), expected);
    assert_eq!(pauses(&set("bs", "8k")), [(30, found("scenario=2,bs=8192")), (0, None)]);
    assert_eq!(
        pauses(&set("scenario", "1")),
        [(30, None), (30, None), (0, None), (0, None)],
        "no case has scenario 2 then, so the rate is not known"
    );
}

/// Proves each condition of an event, and that a share follows the runtime while the ramp goes before it.
#[test]
fn events_wait_for_conditions() {
    let case = cases(
        "title: t\nstages:\n  one:\n    settings: { rw: randrw, bs: 4k, runtime: 100, ramp_time: 5 }\n    events:\n      - { when: { steady: iops }, latest: 90%, action: a }\n      - { when: { written: 200% }, action: b }\n      - { when: { quantity: read.latency_ns.p99, above: 1ms, samples: 3 }, action: c }\n      - { when: { quantity: iops, below: 1e3 }, action: d, with: { drive: 3 } }\n      - { when: { quantity: write.bw_bytes_per_s, below_peak: 70, samples: 2 }, action: e }\n      - { at: 10%, action: f }\n",
    )
    .remove(0);
    assert_eq!(case.events.iter().map(|event| event.at_ns).collect::<Vec<_>>(), [15_000_000_000]);
    let latest: Vec<_> = case.conditional_events.iter().map(|event| event.latest_ns).collect();
    assert_eq!(latest, [Some(95_000_000_000), None, None, None, None]);
    let conditions: Vec<_> = case.conditional_events.iter().map(|event| event.condition.clone()).collect();
    assert_eq!(
        conditions,
        [
            EventCondition::Steady { quantity: quantity("iops") },
            EventCondition::Written { amount: Amount::Share { percent: 200 } },
            EventCondition::Above { quantity: quantity("read.latency_ns.p99"), value: 1e6, samples: 3 },
            EventCondition::Below { quantity: quantity("iops"), value: 1e3, samples: 1 },
            EventCondition::BelowPeak { quantity: quantity("write.bw_bytes_per_s"), percent: 70, samples: 2 },
        ]
    );
    assert_eq!(case.conditional_events[3].arguments["drive"], 3);
}

/// Proves that `repeats` runs the whole matrix again, further cases too, under unique names with other addresses, and
/// that `repeat` is chosen and set as any setting.
#[test]
fn repeats_run_the_matrix_again() {
    let plan = parse(
        "title: t\nstages:\n  one:\n    settings: { rw: read }\n    matrix: { bs: [4k, 8k], include: [ { bs: 1m, iodepth: 4 } ] }\n    repeats: 2\n",
    );
    let all = expand(&plan, &Selection::default()).expect("cases");
    assert_eq!(
        names(&all),
        [
            "bs=4096,repeat=1",
            "bs=8192,repeat=1",
            "bs=1048576,iodepth=4,repeat=1",
            "bs=4096,repeat=2",
            "bs=8192,repeat=2",
            "bs=1048576,iodepth=4,repeat=2"
        ]
    );
    assert_ne!(all[0].load.seed, all[3].load.seed);
    assert_eq!(plan.stages[0].axes().collect::<Vec<_>>(), ["bs", "repeat"]);
    let only = Selection { only: vec![("repeat".into(), vec!["2".into()])], ..Selection::default() };
    assert_eq!(expand(&plan, &only).expect("cases").len(), 3);
    let set = Selection { set: vec![("repeat".into(), "1".into())], ..Selection::default() };
    assert_eq!(expand(&plan, &set).expect("cases").len(), 3);
}

/// Proves that a case that continues another says so, and that it cannot be chosen without it.
#[test]
fn a_case_continues_the_one_before() {
    let plan = parse(
        "title: t\nstages:\n  one: { settings: { rw: write, bs: 16k, io_size: 100% }, continues: true, matrix: { pass: [1, 2, 3] } }\n",
    );
    let only = |values: &[&str]| Selection {
        only: vec![("pass".into(), values.iter().map(|value| (*value).to_owned()).collect())],
        ..Selection::default()
    };
    let continues = |selection: &Selection| -> Vec<bool> {
        expand(&plan, selection).expect("cases").iter().map(|case| case.continues).collect()
    };
    assert_eq!(continues(&Selection::default()), [false, true, true]);
    assert_eq!(continues(&only(&["1", "2"])), [false, true]);
    let error = expand(&plan, &only(&["1", "3"])).expect_err("pass 2 is missing");
    assert_eq!(error.message(), "`pass=3` continues `pass=2`, which is left out");
    assert_eq!(
        expand(&plan, &only(&["1"])).expect("cases")[0].ends_after,
        Some(Amount::Share { percent: 100 })
    );
}

/// Proves that writes asked for after a change of one setting are made at the run's first case and at its changes
/// only, across stages, while every case knows the state that it relies on.
#[test]
fn preconditioning_may_follow_one_setting() {
    let all = cases(
        "title: t\ndefaults: { rw: randwrite, bs: 4k, coverage: 100 }\nstages:\n  a:\n    precondition: &p { times: 2, settings: { bs: 16k }, after_change_of: [raid] }\n    matrix: { raid: [5, 0], coverage: [100, 70] }\n  b: { precondition: *p, settings: { raid: 0 } }\n  c: { precondition: *p, settings: { raid: 5 } }\n",
    );
    let made: Vec<bool> = all.iter().map(|case| case.preconditioning.is_some()).collect();
    assert_eq!(made, [true, false, true, false, false, true]);
    assert!(all.iter().all(|case| case.conditioned_by.as_ref().is_some_and(|fill| fill.times == 2)));
}

/// Proves that requirements read their figures in the quantity's unit and find their cases.
#[test]
fn requirements_find_their_cases() {
    let plan = parse(
        "title: t\nstages:\n  one: { settings: { rw: randrw }, matrix: { bs: [4k, 8k] } }\nrequire:\n  - { quantity: read.latency_ns.p99, at_most: 1.5ms, stage: one, cases: { bs: 8k } }\n  - { says: enough, quantity: iops, at_least: 1e5, stage: one }\n",
    );
    let at = |index: usize| {
        let cases = expand(&plan, &Selection::default()).expect("cases");
        let found = plan.requirements_for("one", &cases[index].settings);
        found.iter().map(|requirement| requirement.says.clone()).collect::<Vec<_>>()
    };
    assert_eq!(at(0), ["enough"]);
    assert_eq!(at(1), ["read.latency_ns.p99 at most 1.5 ms in `one`", "enough"]);
    let [p99, iops] = plan.requirements.as_slice() else { panic!("{:?}", plan.requirements) };
    assert_eq!((p99.bound, p99.value), (Bound::AtMost, 1.5e6));
    assert_eq!((iops.bound, iops.value), (Bound::AtLeast, 1e5));
}

/// Proves that a command is read by words or as a list, without a shell.
#[test]
fn inventory_is_read_by_words() {
    let plan = parse(
        "title: t\nstages: { one: { settings: { rw: read, bs: 4k } } }\ninventory:\n  - command: smartctl -a {device}\n  - { command: [sh, \"a b; c\"], at: both }\n",
    );
    let words: Vec<_> = plan.inventory.iter().map(|command| command.arguments.clone()).collect();
    assert_eq!(words, [vec!["smartctl", "-a", "{device}"], vec!["sh", "a b; c"]]);
    assert_eq!(plan.inventory[1].at, plan::InventoryMoment::Both);
}

/// Proves that what is watched is read in its short and its long forms, with the times that are not written.
#[test]
fn what_is_watched_is_read() {
    let good = "title: t\nstages: { one: { settings: { rw: read, bs: 4k } } }\n";
    let watch = parse(good).watch;
    assert_eq!(watch, Watch { has_health: true, ..Watch::default() });
    let watch = parse(&format!(
        "{good}watch:\n  interval: 500ms\n  devices: [sdb, /dev/mapper/logs]\n  health: false\n  command:\n    - {{ name: a, command: show counters, cumulative: [\"*_ios\"] }}\n    - {{ name: b, command: [show, two words], every: 30s, timeout: 90s }}\n  prometheus: {{ name: c, address: \"http://10.0.0.1:9100\", metrics: [node_*, up], every: 1m }}\n"
    ))
    .watch;
    assert_eq!(watch.devices, WatchedDevices::Named(vec!["sdb".into(), "/dev/mapper/logs".into()]));
    assert!(!watch.has_health);
    let second = units::NANOS_PER_SECOND;
    let [a, b] = watch.commands.as_slice() else { panic!("{watch:?}") };
    assert_eq!((a.arguments.join("|"), a.cumulative.join("|")), ("show|counters".into(), "*_ios".into()));
    assert_eq!(
        a.poll,
        PollSettings { every_ns: second, timeout_ns: second },
        "no more often than every second"
    );
    assert_eq!((b.name.as_str(), b.arguments.join("|")), ("b", "show|two words".into()));
    assert_eq!(b.poll, PollSettings { every_ns: 30 * second, timeout_ns: 90 * second });
    let [c] = watch.addresses.as_slice() else { panic!("{watch:?}") };
    assert_eq!(
        (c.address.to_string(), c.metrics.join("|")),
        ("http://10.0.0.1:9100/metrics".into(), "node_*|up".into())
    );
    assert_eq!(c.poll, PollSettings { every_ns: 60 * second, timeout_ns: 10 * second });
    let all = parse(&format!("{good}watch: {{ devices: all }}\n")).watch;
    assert_eq!(all.devices, WatchedDevices::All);
}

/// Proves that a rate in percent names the case at full rate that it is a share of, that neither has a rate before that
/// case has run, and that its process is kept.
#[test]
fn a_rate_in_percent_is_a_share_of_the_case_before_it() {
    let all = cases(
        "title: t\nstages:\n  one:\n    settings: { rw: randread, rate_process: poisson }\n    matrix: { bs: [4k, 8k], rate_percent: [max, 10, 90] }\n",
    );
    assert_eq!(
        names(&all)[..4],
        [
            "bs=4096,rate_percent=max",
            "bs=4096,rate_percent=10",
            "bs=4096,rate_percent=90",
            "bs=8192,rate_percent=max"
        ]
    );
    assert_eq!(all[0].rate_share, None);
    let share = all[5].rate_share.clone().expect("a share");
    assert_eq!((share.of_case.as_str(), share.percent), ("bs=8192,rate_percent=max", 90));
    assert_eq!(share.process, Some(load::ArrivalProcess::Poisson));
    assert!(all.iter().all(|case| case.load.rate_iops.is_none() && case.load.shape.arrival.is_none()));
}

/// Proves that a time budget keeps a case at full rate with those whose rates are its shares, or leaves all out.
#[test]
fn a_budget_keeps_curves_whole() {
    let all = cases(
        "title: t\nstages:\n  one:\n    settings: { rw: randread, runtime: 10 }\n    matrix: { bs: [4k, 8k], rate_percent: [max, 50] }\n",
    );
    let budgeted = plan::fit_budget(all, 30_000_000_000, &|_| 0);
    assert_eq!(names(&budgeted.kept), ["bs=4096,rate_percent=max", "bs=4096,rate_percent=50"]);
}

/// Proves that a stage has the load that an earlier stage's results choose: which cases may be chosen, by what, and which is the
/// other end of half-way.
#[test]
fn results_of_an_earlier_stage_choose_a_load() {
    let all = cases(
        "title: t\nstages:\n  cells:\n    settings: { rw: randwrite, bs: 4k }\n    matrix: { numjobs: [1, 8], iodepth: [1, 8] }\n  best:\n    settings: { rw: randwrite, bs: 4k }\n    load_of:\n      stage: cells\n      cases: { iodepth: 8 }\n      pick: { largest: write.iops, at_most: { write.latency_ns.mean: 5ms } }\n      half_way_to: { numjobs: 1 }\n",
    );
    let choice = all[4].load_of.clone().expect("a choice");
    assert!(all[..4].iter().all(|case| case.load_of.is_none()));
    let of_cells: Vec<bool> = all.iter().map(|case| choice.is_about(&case.stage, &case.settings)).collect();
    assert_eq!(of_cells, [false, true, false, true, false]);
    let other_end: Vec<bool> = all[..4].iter().map(|case| choice.is_other_end(&case.settings)).collect();
    assert_eq!((choice.is_half_way(), other_end), (true, vec![true, true, false, false]));
    let value = |point: &(f64, f64), quantity: Quantity| match quantity.name() {
        "write.iops" => Some(point.0),
        _ => Some(point.1),
    };
    let points = [(100.0, 1e6), (300.0, 6e6), (200.0, 5e6), (200.0, 4e6)];
    assert_eq!(
        choice.pick.best(points, value),
        Some((200.0, 5e6)),
        "the most within 5 ms, the first of equals"
    );
    assert_eq!(choice.pick.best([(300.0, 6e6)], value), None);
}
