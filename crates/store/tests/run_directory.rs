//! The run directory as its users see it: written, read, resumed, shared between processes.

mod common;

use common::{SECOND_NS, direction, manifest, new_cases, outcome, sample};
use load::{DirectionSample, Histogram, Sample};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use store::*;

fn measured(directory: &Path, cases: u32) -> Run {
    let mut run = Run::create(directory, &manifest(), &new_cases(cases)).unwrap();
    for index in 0..cases {
        run.begin_case(index).unwrap();
        run.append_samples(index, "main", &[sample(0), sample(1), sample(2)]).unwrap();
        let totals = run.totals_from_samples(index).unwrap();
        run.finish_case(index, &outcome(totals)).unwrap();
    }
    run
}

/// Proves that samples come back exactly as they were appended: stalls, errors, open loop, ramp, several loads.
#[test]
fn samples_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(2)).unwrap();
    run.begin_case(1).unwrap();
    let mut open_loop = sample(1);
    open_loop.read.service = Some(direction(80, 50_000).latency);
    open_loop.write.service = Some(Histogram::new());
    open_loop.trim = DirectionSample { errors: 3, ..DirectionSample::default() };
    let stall = Sample { start_ns: 10 * SECOND_NS, end_ns: 15 * SECOND_NS, ..Sample::default() };
    run.append_sample(1, "a", &sample(0)).unwrap();
    run.append_samples(1, "a", &[open_loop.clone(), stall.clone()]).unwrap();
    run.append_sample(1, "b", &sample(0)).unwrap();
    let expected = [("a", sample(0)), ("a", open_loop), ("a", stall), ("b", sample(0))]
        .map(|(name, s)| (name.to_owned(), s));
    assert_eq!(run.samples(1).unwrap(), expected);
    assert_eq!(run.samples(0).unwrap(), []);

    let series = Run::open_read_only(directory.path()).unwrap().series(1).unwrap();
    assert_eq!(series.len(), 4);
    let read = series[1].read.unwrap();
    assert_eq!((read.ios, read.latency), (80, LatencySummary::of(&expected[1].1.read.latency)));
    assert_eq!((series[2].read, series[2].start_ns, series[2].is_ramp), (None, 10 * SECOND_NS, false));
    assert_eq!(series[1].trim.unwrap().errors, 3);
}

/// Proves that a result has the fields of DESIGN.md in their order, rates over the time after the ramp, and null
/// for a direction that did nothing.
#[test]
fn results_are_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap();
    run.begin_case(0).unwrap();
    let mut reads = direction(4, 1000);
    reads.latency = Histogram::new();
    [100, 200, 300, 400].into_iter().for_each(|ns| reads.latency.record(ns));
    let counted =
        Sample { start_ns: 5 * SECOND_NS, end_ns: 15 * SECOND_NS, read: reads, ..Sample::default() };
    run.append_samples(0, "main", &[sample(0), counted]).unwrap();
    let totals = run.totals_from_samples(0).unwrap();
    run.finish_case(0, &outcome(totals)).unwrap();
    let line = serde_json::to_string(&run.results().unwrap()[0]).unwrap();
    assert_eq!(
        line,
        concat!(
            r#"{"plan":"quick","stage":"corners","case":"bs=4096,iodepth=0","#,
            r#""settings":{"bs":4096,"rw":"randrw","iodepth":0},"#,
            r#""target":"twin:flashsystem-840","engine":"sim","status":"done","duration_s":10.0,"#,
            r#""iops":0.4,"bw_bytes_per_s":1638.4,"#,
            r#""read":{"ios":4,"bytes":16384,"errors":0,"iops":0.4,"bw_bytes_per_s":1638.4,"#,
            r#""latency_ns":{"mean":250.0,"p50":201,"p95":400,"p99":400,"p99.9":400,"p99.99":null,"min":100,"max":400}},"#,
            r#""write":null}"#
        )
    );
    let back: CaseResult = serde_json::from_str(&line).unwrap();
    assert_eq!(back, run.results().unwrap()[0]);
}

/// Proves that several loads are shown each and in sum, and that optional fields come last.
#[test]
fn several_loads_are_shown_each() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap();
    run.begin_case(0).unwrap();
    run.append_sample(0, PRECONDITIONING_LOAD, &sample(1)).unwrap();
    run.append_sample(0, "victim", &sample(1)).unwrap();
    run.append_sample(0, "neighbour", &sample(2)).unwrap();
    let mut loads = run.totals_from_samples(0).unwrap();
    loads[1].target = Some("/dev/b".into());
    run.finish_case(0, &CaseOutcome { warnings: vec!["slow".into()], ..outcome(loads) }).unwrap();
    let result = serde_json::to_value(&run.results().unwrap()[0]).unwrap();
    assert_eq!(result["read"]["ios"], 160);
    assert_eq!(result["iops"], 20.0);
    let loads = result["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    assert_eq!((&loads[0]["load"], &loads[0]["target"]), (&json!("victim"), &json!("twin:flashsystem-840")));
    assert_eq!((&loads[1]["load"], &loads[1]["target"]), (&json!("neighbour"), &json!("/dev/b")));
    assert_eq!(loads[1]["write"]["ios"], 20);
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(keys[10..], ["read", "write", "loads", "warnings"]);
}

/// Proves that the table has stable columns, the union of settings, and RFC 4180 quoting.
#[test]
fn csv_has_dots_and_quotes() {
    let directory = tempfile::tempdir().unwrap();
    let mut cases = new_cases(2);
    cases[1].name = "say \"hi\", twice".into();
    cases[1].settings.insert("raid".into(), json!(5));
    let mut run = Run::create(directory.path(), &manifest(), &cases).unwrap();
    for index in 0..2 {
        run.begin_case(index).unwrap();
        let status = if index == 0 { CaseStatus::Done } else { CaseStatus::Refused };
        run.finish_case(index, &CaseOutcome { status, error: Some("no\nway".into()), ..outcome(Vec::new()) })
            .unwrap();
    }
    let table = results_csv(&run.results().unwrap());
    let header = table.lines().next().unwrap();
    assert!(
        header.starts_with("plan,stage,case,settings.bs,settings.rw,settings.iodepth,settings.raid,target,")
    );
    assert!(header.contains(",read.latency_ns.p99,read.latency_ns.p99.9,read.latency_ns.p99.99,"));
    assert!(header.ends_with(",write.latency_ns.max,error"));
    assert!(table.contains(
        "\nquick,corners,\"say \"\"hi\"\", twice\",4096,randrw,1,5,twin:flashsystem-840,sim,refused,"
    ));
    assert!(table.ends_with(",\"no\nway\"\n"));
    assert!(results_csv(&[]).starts_with("plan,stage,case,target,engine,"));
}

/// Proves that the schema describes what is printed: every printed field is in it, and required ones are printed.
#[test]
fn schema_describes_results() {
    let directory = tempfile::tempdir().unwrap();
    let result = serde_json::to_value(&measured(directory.path(), 1).results().unwrap()[0]).unwrap();
    let schema = results_schema();
    let properties = schema["properties"].as_object().unwrap();
    assert!(result.as_object().unwrap().keys().all(|key| properties.contains_key(key)));
    for required in schema["required"].as_array().unwrap() {
        assert!(result.get(required.as_str().unwrap()).is_some(), "{required}");
    }
}

/// Proves that a resumed run keeps what was finished, begins again what was not, and never counts leftovers.
#[test]
fn resume_measures_each_case_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = measured(directory.path(), 3);
    drop(run);
    fs::remove_dir_all(directory.path()).unwrap();
    run = Run::create(directory.path(), &manifest(), &new_cases(3)).unwrap();
    run.begin_case(0).unwrap();
    run.finish_case(0, &outcome(Vec::new())).unwrap();
    run.begin_case(1).unwrap();
    let failed = CaseOutcome { status: CaseStatus::Failed, error: Some("EIO".into()), ..outcome(Vec::new()) };
    run.finish_case(1, &failed).unwrap();
    run.begin_case(2).unwrap();
    run.append_sample(2, "main", &sample(1)).unwrap();
    run.append_warning(Some(2), "left over").unwrap();
    let before_ns = run.clock().now_ns();
    drop(run);

    let mut run = Run::open(directory.path()).unwrap();
    assert!(run.clock().now_ns() > before_ns);
    let states: Vec<CaseState> = run.cases().unwrap().iter().map(|case| case.state).collect();
    let (done, failed) = (CaseState::Ended(CaseStatus::Done), CaseState::Ended(CaseStatus::Failed));
    assert_eq!(states, [done, failed, CaseState::Begun]);
    assert!(matches!(run.begin_case(0), Err(StoreError::AlreadyDone { case_index: 0 })));
    assert!(matches!(run.append_sample(2, "main", &sample(1)), Err(StoreError::NotBegun { case_index: 2 })));
    assert_eq!(run.begin_case(1).unwrap(), 2);
    run.append_sample(1, "main", &sample(2)).unwrap();
    assert_eq!(
        run.create_case_directory(1).unwrap().file_name().unwrap(),
        "0001-bs=4096,iodepth=1.attempt-2"
    );
    let totals = run.totals_from_samples(1).unwrap();
    run.finish_case(1, &outcome(totals)).unwrap();
    assert_eq!(run.begin_case(2).unwrap(), 2);
    run.append_sample(2, "main", &sample(2)).unwrap();
    let totals = run.totals_from_samples(2).unwrap();
    run.finish_case(2, &outcome(totals)).unwrap();
    let results = run.results().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2].read.as_ref().unwrap().ios, 80);
    assert_eq!(run.samples(2).unwrap(), [("main".to_owned(), sample(2))]);
    assert_eq!(run.warnings().unwrap(), []);
    assert!(run.case_directory(1).unwrap().is_dir());
    assert!(matches!(run.case(3), Err(StoreError::NoSuchCase { case_index: 3, cases_total: 3 })));
}

/// Proves that a second writer is refused with the first one's process, while readers see every commit.
#[test]
fn one_writes_others_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(2)).unwrap();
    let reader = Run::open_read_only(directory.path()).unwrap();
    assert_eq!(reader.status().unwrap().state, RunState::Running);
    run.begin_case(0).unwrap();
    run.append_sample(0, "main", &sample(0)).unwrap();
    assert_eq!(reader.samples(0).unwrap().len(), 1);
    let refused = Run::open(directory.path()).unwrap_err();
    assert!(
        matches!(&refused, StoreError::InUse { pid, .. } if *pid == Some(std::process::id())),
        "{refused}"
    );
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())));
    drop(run);
    assert!(Run::open(directory.path()).is_ok());
}

/// Proves that status tells a live process from a dead one and a finished run from an unfinished, with counts.
#[test]
fn status_tells_live_from_dead() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(4)).unwrap();
    let status = run.status().unwrap();
    assert_eq!((status.state, status.cases_total, status.estimated_left_ns), (RunState::Running, 4, None));
    run.begin_case(0).unwrap();
    run.finish_case(0, &outcome(Vec::new())).unwrap();
    run.begin_case(1).unwrap();
    run.finish_case(1, &CaseOutcome { status: CaseStatus::NotSettable, ..outcome(Vec::new()) }).unwrap();
    run.begin_case(2).unwrap();
    let status = run.status().unwrap();
    assert_eq!((status.done, status.not_settable, status.failed), (1, 1, 0));
    assert_eq!(status.current.as_ref().unwrap().name, "bs=4096,iodepth=2");
    assert!(status.estimated_left_ns.is_some());
    assert_eq!(status.pid, Some(std::process::id()));

    drop(run);
    let reader = Run::open_read_only(directory.path()).unwrap();
    let status = reader.status().unwrap();
    assert_eq!((status.state, status.message), (RunState::Interrupted, None));
    Run::open(directory.path()).unwrap().end(&RunEnd::Failed("no device".into())).unwrap();
    let status = reader.status().unwrap();
    assert_eq!((status.state, status.message.as_deref()), (RunState::Failed, Some("no device")));
    Run::open(directory.path()).unwrap().end(&RunEnd::Done).unwrap();
    assert_eq!(reader.status().unwrap().state, RunState::Done);
}

/// Proves that a mark from outside lands on the run's clock and the case under way, and only while somebody runs it.
#[test]
fn marks_land_on_the_running_case() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(2)).unwrap();
    run.begin_case(1).unwrap();
    let before_ns = run.clock().now_ns();
    let at_ns = mark(directory.path(), "firmware update").unwrap();
    assert!((before_ns..=run.clock().now_ns()).contains(&at_ns));
    let event = Event {
        at_ns: at_ns + 1,
        case_index: Some(1),
        case_at_ns: Some(7),
        kind: "fault".into(),
        text: "drive 3 failed".into(),
        data: Some(json!({"drive": 3})),
    };
    run.append_event(&event).unwrap();
    let events = run.events().unwrap();
    assert_eq!((events[0].kind.as_str(), events[0].case_index, events[0].at_ns), ("mark", Some(1), at_ns));
    assert_eq!(events[1], event);
    drop(run);
    assert!(matches!(mark(directory.path(), "late"), Err(StoreError::NotRunning { .. })));
}

/// Proves that counters come back as series, that what is no number is left out, and that warnings and changed
/// settings are kept.
#[test]
fn counters_and_notes_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap();
    run.append_counters(None, 5, None, &[Counter { source: "cpu", entity: "all", name: "busy", value: 1.0 }])
        .unwrap();
    run.begin_case(0).unwrap();
    for at_ns in [10, 20] {
        let value = |name, value| Counter { source: "diskstats", entity: "sda", name, value };
        run.append_counters(
            Some(0),
            at_ns,
            Some(at_ns - 10),
            &[value("reads", 1.5), value("queue", f64::NAN)],
        )
        .unwrap();
    }
    run.append_warning(None, "clock drifts").unwrap();
    let change = SettingChange {
        at_ns: 30,
        case_index: Some(0),
        scope: "host".into(),
        name: "queue/scheduler".into(),
        before: Some("none".into()),
        after: Some("mq-deadline".into()),
    };
    run.append_setting_change(&change).unwrap();
    let series = run.counters(0).unwrap();
    assert_eq!(series.len(), 1);
    let point = |at_ns| CounterPoint { at_ns, case_at_ns: Some(at_ns - 10), value: 1.5 };
    assert_eq!((series[0].name.as_str(), &series[0].points[..]), ("reads", &[point(10), point(20)][..]));
    assert_eq!(run.counters_between_cases().unwrap()[0].points[0].at_ns, 5);
    assert_eq!(run.warnings().unwrap()[0].text, "clock drifts");
    assert_eq!(run.setting_changes().unwrap(), [change]);
}

/// Proves that the manifest keeps a 64-bit seed and every text, and that a later format is refused by its version.
#[test]
fn manifest_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    drop(measured(directory.path(), 1));
    let reader = Run::open_read_only(directory.path()).unwrap();
    assert_eq!(reader.manifest().seed, u64::MAX);
    assert_eq!(reader.manifest().plan, manifest().plan);
    assert!(!reader.manifest().run_id.is_empty() && reader.manifest().created_utc.ends_with('Z'));
    let path = directory.path().join("manifest.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    value["format_version"] = json!(2);
    fs::write(&path, value.to_string()).unwrap();
    assert!(matches!(
        Run::open(directory.path()),
        Err(StoreError::WrongVersion { found: 2, supported: 1, .. })
    ));
    fs::write(&path, "{").unwrap();
    assert!(matches!(Run::open_read_only(directory.path()), Err(StoreError::Corrupt { .. })));
}

/// Proves that wrong directories and databases are refused by name: not a run, not empty, foreign, later, cut.
#[test]
fn wrong_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Run::open(directory.path()), Err(StoreError::NotARun { .. })));
    assert!(matches!(Run::open_read_only(Path::new("/nonexistent")), Err(StoreError::NotARun { .. })));
    fs::write(directory.path().join("thesis.txt"), "mine").unwrap();
    let create = || Run::create(directory.path(), &manifest(), &new_cases(1));
    assert!(matches!(create(), Err(StoreError::NotEmpty { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    fs::remove_file(directory.path().join("thesis.txt")).unwrap();
    // What a creation leaves that was killed before its manifest is no obstacle.
    fs::write(directory.path().join("run.sqlite"), "half").unwrap();
    fs::write(directory.path().join("lock"), "123\n").unwrap();
    drop(create().unwrap());
    assert!(matches!(create(), Err(StoreError::NotEmpty { .. })));

    let database = directory.path().join("run.sqlite");
    let pragma = |text: &str| rusqlite::Connection::open(&database).unwrap().execute_batch(text).unwrap();
    pragma("PRAGMA user_version = 7");
    let later = Run::open_read_only(directory.path()).unwrap_err();
    assert!(matches!(later, StoreError::WrongVersion { found: 7, .. }), "{later}");
    pragma("PRAGMA user_version = 1; PRAGMA application_id = 1");
    assert!(matches!(Run::open(directory.path()), Err(StoreError::Corrupt { .. })));
    fs::write(&database, "not a database, and long enough to be read as one".repeat(99)).unwrap();
    let _ = fs::remove_file(directory.path().join("run.sqlite-wal"));
    assert!(matches!(Run::open(directory.path()), Err(StoreError::Corrupt { .. })));
}

/// Proves that what cannot be stored is an error that names it, and leaves the run usable.
#[test]
fn invalid_values_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap();
    run.begin_case(0).unwrap();
    let backwards = Sample { start_ns: 2, end_ns: 1, ..Sample::default() };
    assert!(matches!(run.append_sample(0, "main", &backwards), Err(StoreError::Invalid { .. })));
    let mut crossed = sample(1);
    crossed.read.latency.set_exact(1, 9, 3);
    assert!(matches!(run.append_sample(0, "main", &crossed), Err(StoreError::Invalid { .. })));
    let mut huge = sample(1);
    huge.write.bytes = u64::MAX;
    assert!(matches!(run.append_sample(0, "main", &huge), Err(StoreError::Invalid { .. })));
    let twice = vec![LoadOutcome { name: "a".into(), ..LoadOutcome::default() }; 2];
    assert!(matches!(run.finish_case(0, &outcome(twice)), Err(StoreError::Invalid { .. })));
    let no_time = CaseOutcome { duration_ns: 0, ..outcome(Vec::new()) };
    assert!(matches!(run.finish_case(0, &no_time), Err(StoreError::Invalid { .. })));
    assert_eq!(run.samples(0).unwrap(), []);
    run.append_sample(0, "main", &sample(1)).unwrap();
    run.finish_case(0, &outcome(Vec::new())).unwrap();
}
