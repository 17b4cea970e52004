//! `--array manual` and `--array ctl:SOCKET`, from the command line.

use crate::support::{arraylab, command, consent_id, query, results, succeed, text};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};

fn plan(directory: &Path, yaml: &str) -> String {
    let path = directory.join("plan.yaml");
    fs::write(&path, yaml).unwrap();
    path.to_str().unwrap().to_owned()
}

const LEVELS: &str = "
title: Two levels
defaults: { rw: randwrite, bs: 4k, iodepth: 4, runtime: 0.3 }
stages:
  levels:
    matrix: { raid: [5, 6] }
    events: [{ at: 50%, action: fail, with: { drive: 1 } }]
";

/// Proves that `manual` says what to set and what to do, takes the operator's answers from standard input, keeps what
/// was done, runs no case that the operator skips, and ends with a hint where nobody answers.
#[test]
fn an_operator_sets_the_array() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(directory.path(), LEVELS);
    let target = format!("file:{},size=4m", directory.path().join("t.img").display());
    let run = directory.path().join("run");
    let words = ["run", &plan, "--target", &target, "--array", "manual", "--out", run.to_str().unwrap()];
    let mut child =
        command(&words).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"what?\ndone\ndone\nskip no RAID 6 here\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let printed_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed_text}");
    assert!(
        printed_text.contains("raid = 5") && printed_text.contains("Now do on the array: fail drive=1"),
        "{printed_text}"
    );
    let results = results(&run);
    assert_eq!((&results[0]["status"], &results[1]["status"]), (&"done".into(), &"refused".into()));
    assert_eq!(results[1]["error"], "skipped by the operator: no RAID 6 here");
    assert_eq!(
        query(&run, "SELECT name || after_value FROM settings_changed WHERE scope = 'array'"),
        "raid5"
    );
    assert_eq!(query(&run, "SELECT count(*) FROM events WHERE text = 'fail'"), "1");

    let unanswered = directory.path().join("unanswered");
    let words = ["run", &plan, "--target", &target, "--array", "manual", "--out"];
    let output = arraylab(&[&words[..], &[unanswered.to_str().unwrap()]].concat());
    let printed_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{printed_text}");
    assert!(
        printed_text.contains("`manual` needs a terminal, or answers on standard input"),
        "{printed_text}"
    );
    assert!(printed_text.contains("--resume"), "{printed_text}");
}

/// A served array; ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Proves that a served array is its own driver: a case with its settings runs, one with others is refused, an event of
/// the plan fails a drive under load, and no I/O fails.
#[test]
fn a_served_array_is_its_own_driver() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (socket, data) = (path("a.sock"), path("data"));
    let array = "raid-levels,raid=5,disks=4,capacity=16m";
    let mut child = command(&["serve", array, "--socket", &socket, "--data", &data, "--untimed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let _served = Served(child);
    let plan = plan(directory.path(), LEVELS);
    let run = directory.path().join("run");
    let control = format!("ctl:{socket}.ctl");
    let target = address.trim();
    let words = ["run", &plan, "--target", target, "--array", &control, "--out", run.to_str().unwrap()];
    let id = consent_id(&words);
    succeed(&[&words[..], &["--overwrite-data", &id]].concat());
    let results = results(&run);
    assert_eq!((&results[0]["status"], &results[1]["status"]), (&"done".into(), &"refused".into()));
    assert!(results[0]["write"]["ios"].as_u64() > Some(0) && results[0]["write"]["errors"] == 0);
    assert!(results[1]["error"].as_str().unwrap().contains("`raid`"), "{}", results[1]);
    assert_eq!(query(&run, "SELECT count(*) FROM events WHERE text = 'fail'"), "1");
    let status: Value = serde_json::from_str(&succeed(&["ctl", &format!("{socket}.ctl"), "status"])).unwrap();
    // A spare has taken the place of the drive that failed.
    assert_eq!(status["volume"]["drives"][1]["generation"], 1, "{status}");
}
