//! `kill -9` at random moments, also inside commits.

mod common;

use common::{manifest, new_cases, outcome, sample};
use load::Random;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{CaseState, CaseStatus, Counter, Run, RunEnd, RunState, StoreError};

const CASES: u32 = 20;
const SAMPLES: u64 = 12;
const DIRECTORY: &str = "ARRAYLAB_KILL_TEST_DIRECTORY";

/// Proves that a run whose process is killed again and again, and resumed each time, ends with an intact database,
/// each of its 20 cases once, and nothing lost that had been reported as finished.
#[test]
fn a_killed_run_loses_nothing_finished() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return measure(&PathBuf::from(directory));
    }
    let kills = if test_support::is_long() { 50 } else { 5 };
    let mut random = Random::from_seed(20);
    let mut killed = 0;
    while killed < kills {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut finished: Vec<u32> = Vec::new();
        loop {
            let delay_us = random.below(60_000);
            let (now_finished, ended) = measure_and_kill(&run, Duration::from_micros(delay_us));
            finished.extend(now_finished);
            if ended {
                break;
            }
            killed += 1;
            check(&run, &finished);
        }
        check(&run, &finished);
        // A kill between the commit and the report leaves a finished case unreported, never one reported twice.
        let finished_count = finished.len();
        finished.sort_unstable();
        finished.dedup();
        assert_eq!(finished.len(), finished_count, "a finished case was measured again");
        let reader = Run::open_read_only(&run).unwrap();
        assert_eq!(reader.status().unwrap().state, RunState::Done);
        let results = reader.results().unwrap();
        assert_eq!(results.len(), CASES as usize);
        for (index, result) in results.iter().enumerate() {
            assert_eq!(result.case, format!("bs=4096,iodepth={index}"));
            assert_eq!(result.read.as_ref().unwrap().ios, 80 * (SAMPLES - 1));
        }
    }
}

/// Starts this very test as another process that carries out the run, and kills it after a while. Returns the cases
/// that it reported as finished, and whether it came to its end before the kill.
fn measure_and_kill(run: &Path, delay: Duration) -> (Vec<u32>, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_run_loses_nothing_finished", "--nocapture"])
        .env(DIRECTORY, run)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The delay counts from the moment at which the child begins to write.
    let mut finished = Vec::new();
    let started = lines.by_ref().map_while(Result::ok).any(|line| line.ends_with("measuring"));
    assert!(started, "the child did not start");
    std::thread::sleep(delay);
    child.kill().unwrap();
    for line in lines.map_while(Result::ok) {
        // What stands behind `finished` was printed after finish_case had returned.
        if let Some(index) = line.strip_prefix("finished ") {
            finished.push(index.parse().unwrap());
        }
    }
    (finished, child.wait().unwrap().success())
}

/// The child: carries out what is left of the run.
fn measure(directory: &Path) {
    println!("\nmeasuring");
    let mut run = match Run::open(directory) {
        Ok(run) => run,
        Err(StoreError::NotARun { .. }) => Run::create(directory, &manifest(), &new_cases(CASES)).unwrap(),
        Err(error) => panic!("{error}"),
    };
    for case in run.cases().unwrap() {
        if case.state == CaseState::Ended(CaseStatus::Done) {
            continue;
        }
        run.begin_case(case.index).unwrap();
        for number in 0..SAMPLES {
            run.append_sample(case.index, "main", &sample(number)).unwrap();
            let counter = Counter { source: "cpu", entity: "all", name: "busy", value: 0.5 };
            run.append_counters(Some(case.index), run.clock().now_ns(), None, &[counter]).unwrap();
        }
        let totals = run.totals_from_samples(case.index).unwrap();
        run.finish_case(case.index, &outcome(totals)).unwrap();
        println!("finished {}", case.index);
    }
    run.end(&RunEnd::Done).unwrap();
}

fn check(run: &Path, finished: &[u32]) {
    let reader = match Run::open_read_only(run) {
        Ok(reader) => reader,
        // Killed before the run existed.
        Err(StoreError::NotARun { .. }) => {
            assert_eq!(finished, [0u32; 0]);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_ne!(reader.status().unwrap().state, RunState::Running);
    let database = rusqlite::Connection::open(run.join("run.sqlite")).unwrap();
    let text = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(text("PRAGMA integrity_check"), "ok");
    assert_eq!(text("SELECT cast(count(*) AS TEXT) FROM pragma_foreign_key_check"), "0");
    let done: Vec<u32> = reader
        .cases()
        .unwrap()
        .iter()
        .filter(|case| case.state == CaseState::Ended(CaseStatus::Done))
        .map(|case| case.index)
        .collect();
    for index in finished {
        assert!(done.contains(index), "case {index} was finished and is lost");
    }
    assert_eq!(reader.results().unwrap().len(), done.len());
}
