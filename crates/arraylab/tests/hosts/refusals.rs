//! Refusals of hosts, with their names and before anything is written.

use crate::lab::Lab;
use crate::support::query;

const WRITES: &str = "title: writes
stages:
  one:
    settings: { rw: randwrite, bs: 4k, iodepth: 4, runtime: 1s }
";

/// Proves that a device with data is written only with the ID that its own host prints, that the refusal names the host, and
/// that nothing is made here when a host refuses.
#[test]
fn the_guard_of_each_host_refuses() {
    let lab = Lab::new(&[0, 0]);
    let run = lab.run_directory("run");
    let mut words = lab.run_words(&lab.plan(WRITES), &run);
    let output = |words: &[String]| {
        lab.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    };
    let refused = output(&words);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("host `h1`") && message.contains("host `h2`"), "{message}");
    assert!(!run.exists());
    let ids: Vec<&str> = message
        .split("--overwrite-data ")
        .skip(1)
        .filter_map(|rest| rest.split_whitespace().next())
        .map(|id| id.trim_matches(['`', '\'', '"', '.', ',', ';']))
        .collect();
    assert_eq!(ids.len(), 2, "{message}");
    // One consent is not that of the other host.
    words.extend(["--overwrite-data".into(), ids[0].into()]);
    let refused = output(&words);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(!message.contains("host `h1`") && message.contains("host `h2`"), "{message}");
    words.extend(["--overwrite-data".into(), ids[1].into()]);
    lab.succeed(&words);
    assert_eq!(query(&run, "SELECT count(DISTINCT host) FROM host_totals WHERE direction = 'write'"), "2");
}

/// Proves that a host whose key is not known is refused by `ssh`, as everywhere, and that the message says which one.
#[test]
fn an_unknown_host_key_is_refused() {
    let lab = Lab::new(&[0, 0]);
    let run = lab.run_directory("run");
    let words = lab.run_words(&lab.plan(&WRITES.replace("randwrite", "randread")), &run);
    let known = lab.directory.path().join("known_hosts");
    let first_only: String =
        std::fs::read_to_string(&known).unwrap().lines().take(1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&known, first_only).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = lab.command(&words).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("host `h2`") && message.contains("Host key verification failed"), "{message}");
    assert!(!message.contains("host `h1`"), "{message}");
    assert!(!run.exists());
    assert_eq!(lab.agents(), 0);
}

/// Proves that a host which has no arraylab is refused with the way out, and that `--push-binary` is that way.
#[test]
fn this_program_is_copied_where_it_is_asked_for() {
    let mut lab = Lab::new(&[0]);
    let run = lab.run_directory("run");
    // Copies go to the directory in which a session begins, this machine's home of root: here to one of the host's own.
    let copies = lab.begin_sessions_in_own_directory(0).join(".cache/arraylab");
    std::fs::remove_file(lab.directory.path().join("h1/bin/arraylab")).unwrap();
    let mut words = lab.run_words(&lab.plan(&WRITES.replace("randwrite", "randread")), &run);
    let refused = lab.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("host `h1`") && message.contains("--push-binary"), "{message}");
    words.push("--push-binary".into());
    lab.succeed(&words);
    assert_eq!(std::fs::read_dir(&copies).unwrap().count(), 1);
}
