//! `kill -9` at random moments of a campaign.

use crate::kept_levels::kept_levels_are_found_ones;
use crate::support::{command, full_or_tenth, results, succeed, tool};
use load::Random;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

/// Proves that a 20-case campaign that is killed again and again, resumed each time, ends with each case once, an
/// intact database, and the very results of a campaign that nobody disturbed.
#[test]
fn every_case_once_after_kills() {
    const CASES: &[&str] = &[
        "--stage",
        "seq-read",
        "--stage",
        "seq-write",
        "--stage",
        "peak-4k",
        "--stage",
        "block-size",
        "--stage",
        "read-share",
        "--set",
        "runtime=1",
    ];
    let directory = tempfile::tempdir().unwrap();
    let undisturbed = directory.path().join("undisturbed");
    let killed = directory.path().join("killed");
    let start = |run: &str| {
        let mut arguments = vec!["run", "flashsystem-840", "--target", "twin:flashsystem-840", "--out", run];
        arguments.extend(CASES);
        arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<String>>()
    };
    let words: Vec<String> = start(undisturbed.to_str().unwrap());
    let begun = std::time::Instant::now();
    succeed(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let undisturbed_ms = begun.elapsed().as_millis() as u64;
    assert_eq!(results(&undisturbed).len(), 20);

    let kills = full_or_tenth(50);
    let mut random = Random::from_seed(20);
    let mut landed = 0;
    let killed_name = killed.to_str().unwrap();
    while landed < kills {
        // Short lives: the campaign must still be under way when the last kill comes.
        let life = Duration::from_millis(10 + random.below(undisturbed_ms / 4));
        let words = if killed.join("manifest.json").exists() {
            vec!["run".into(), "--resume".into(), killed_name.to_owned()]
        } else {
            start(killed_name)
        };
        let mut child = command(&words.iter().map(String::as_str).collect::<Vec<_>>())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(life);
        if child.try_wait().unwrap().is_some() {
            // It ended before the kill: begin another campaign for the kills that are left.
            check_database(killed_name);
            std::fs::remove_dir_all(&killed).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        landed += 1;
        if killed.join("manifest.json").exists() {
            check_database(killed_name);
        }
    }
    if killed.join("manifest.json").exists() {
        succeed(&["run", "--resume", killed_name]);
    } else {
        let words = start(killed_name);
        succeed(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
    check_database(killed_name);
    let names: BTreeSet<String> =
        results(&killed).iter().map(|result| format!("{} {}", result["stage"], result["case"])).collect();
    assert_eq!(names.len(), 20, "each case once");
    assert_eq!(results(&killed), results(&undisturbed));
    kept_levels_are_found_ones(&killed, landed as usize);
}

fn check_database(run: &str) {
    let printed_text =
        tool("sqlite3", &[&format!("{run}/run.sqlite"), "PRAGMA integrity_check; PRAGMA foreign_key_check;"]);
    assert_eq!(printed_text.trim(), "ok");
}
