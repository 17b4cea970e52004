//! Hosts, links and coordinators that die in the middle of a run.

use crate::lab::Lab;
use crate::support::{full_or_tenth, query, results};
use load::Random;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use test_support::wait_until;

/// After a failure, load has stopped everywhere within this time.
const STOP_LIMIT: Duration = Duration::from_secs(2);

const CASES: usize = 4;
/// Read-ahead that cases set on each device's queue.
const READ_AHEAD_KB: &str = "64";

/// I/Os a second of all hosts, outside `make test-long`: as many as a closed loop issues take all processors for minutes.
const RATE_IOPS: u64 = 9_000;

fn plan(lab: &Lab) -> String {
    let rate = if test_support::is_long() { String::new() } else { format!(", rate_iops: {RATE_IOPS}") };
    lab.plan(&format!(
        "title: failures\nread_only: true\nwatch: {{ interval: 100ms }}\n\
         defaults: {{ rw: randread, bs: 4k, runtime: 1s, queue.read_ahead_kb: \"{READ_AHEAD_KB}\"{rate} }}\n\
         stages:\n  depth:\n    matrix: {{ iodepth: [1, 2, 4, 8] }}\n"
    ))
}

/// Waits until the load is under way on every host.
fn wait_for_load(lab: &Lab, before: &[u64]) {
    wait_until(Duration::from_secs(30), "the load has begun on every host", || {
        lab.hosts.iter().zip(before).all(|(host, before)| host.completed_ios() >= before + 500)
    });
}

/// The run is resumed until it is done: to the same cases, each once.
fn resume_to_the_end(lab: &Lab, run: &Path) {
    let words = ["run", "--resume", run.to_str().unwrap()].map(str::to_owned);
    lab.succeed(&words);
    let results = results(run);
    let cases: Vec<&str> = results.iter().map(|result| result["case"].as_str().unwrap()).collect();
    assert_eq!(cases, ["iodepth=1", "iodepth=2", "iodepth=4", "iodepth=8"]);
    assert!(results.iter().all(|result| result["status"] == "done"));
    assert_eq!(query(run, "SELECT count(*) FROM outcomes WHERE status = 'done'"), CASES.to_string());
    assert_eq!(query(run, "PRAGMA integrity_check"), "ok");
}

/// Runs until a moment in the middle of a case, does something to a host, and looks at what comes of it.
fn fails(number_of: u32, name: &str, damage: impl Fn(&Lab, usize)) {
    let mut lab = Lab::new(&[0, 0, 0]);
    let read_ahead: Vec<String> = lab.hosts.iter().map(|host| host.queue("read_ahead_kb")).collect();
    assert!(read_ahead.iter().all(|kb| kb != READ_AHEAD_KB));
    let plan = plan(&lab);
    let mut random = Random::from_seed(u64::from(number_of) + name.len() as u64);
    let mut longest = Duration::ZERO;
    for round in 0..number_of {
        let victim = round as usize % 3;
        let run = lab.run_directory(&format!("{name}-{round}"));
        let words = lab.run_words(&plan, &run);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        let child = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_load(&lab, &before);
        std::thread::sleep(Duration::from_millis(random.below(2500)));
        damage(&lab, victim);
        let damaged = Instant::now();
        std::thread::sleep(STOP_LIMIT);
        let at_limit: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        std::thread::sleep(Duration::from_millis(300));
        let later: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        assert_eq!(at_limit, later, "{name} {round}: load goes on {STOP_LIMIT:?} after the failure");
        let output = child.wait_with_output().unwrap();
        longest = longest.max(damaged.elapsed());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name} {round}: {message}");
        let victim_name = format!("host `{}`", lab.hosts[victim].name);
        assert!(message.contains(&victim_name), "{name} {round}: {message}");
        let failed = query(&run, "SELECT error FROM outcomes WHERE status = 'failed'");
        assert!(failed.contains(&victim_name), "{name} {round}: {failed}");
        // One that was stopped goes on, and finds that it is alone.
        lab.hosts[victim].signal("arraylab", "-CONT");
        assert!(lab.wait_for_no_agent(STOP_LIMIT).is_some(), "{name} {round}: an agent is left");
        lab.repair(victim);
        resume_to_the_end(&lab, &run);
        // A killed agent's settings are put back by the next one there.
        for (host, before) in lab.hosts.iter().zip(&read_ahead) {
            assert_eq!(&host.queue("read_ahead_kb"), before, "{name} {round}: {}", host.name);
        }
        assert_eq!(lab.agents(), 0);
    }
    println!("{name}: {number_of} times; the coordinator ended at most {longest:?} after it");
}

/// Proves that the death of an agent ends its case by name, stops the others within 2 s, and can be resumed from.
#[test]
fn an_agent_is_killed() {
    fails(full_or_tenth(30), "agent", |lab, victim| lab.hosts[victim].kill("arraylab"));
}

/// Proves the same of the death of a host's `sshd` with all its sessions: the agent there stops by itself.
#[test]
fn sshd_is_killed() {
    fails(full_or_tenth(30), "sshd", |lab, victim| lab.hosts[victim].kill("sshd"));
}

/// Proves the same of an agent that hangs: it answers nothing, and ends as soon as it goes on.
#[test]
fn an_agent_hangs() {
    fails(full_or_tenth(30), "hang", |lab, victim| lab.hosts[victim].signal("arraylab", "-STOP"));
}

/// Proves the same of a cable that is pulled, which closes no connection on either side.
#[test]
fn a_link_goes_down() {
    fails(full_or_tenth(30), "link", |lab, victim| lab.hosts[victim].cable("down"));
}

/// Proves that agents whose coordinator is killed stop their load, put settings back and exit within 2 s, and that the run is
/// resumed to the same cases.
#[test]
fn the_coordinator_is_killed() {
    let lab = Lab::new(&[0, 0, 0]);
    let read_ahead: Vec<String> = lab.hosts.iter().map(|host| host.queue("read_ahead_kb")).collect();
    let plan = plan(&lab);
    let mut random = Random::from_seed(7);
    let mut longest = Duration::ZERO;
    for round in 0..full_or_tenth(30) {
        let run = lab.run_directory(&format!("coordinator-{round}"));
        let words = lab.run_words(&plan, &run);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        let mut child = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_load(&lab, &before);
        std::thread::sleep(Duration::from_millis(random.below(2500)));
        assert_eq!(lab.hosts[0].queue("read_ahead_kb"), READ_AHEAD_KB);
        child.kill().unwrap();
        child.wait().unwrap();
        let took = lab.wait_for_no_agent(STOP_LIMIT);
        let took = took.unwrap_or_else(|| panic!("round {round}: an agent is left after {STOP_LIMIT:?}"));
        longest = longest.max(took);
        for (host, before) in lab.hosts.iter().zip(&read_ahead) {
            assert_eq!(&host.queue("read_ahead_kb"), before, "round {round}: {}", host.name);
        }
        resume_to_the_end(&lab, &run);
    }
    println!("coordinator: the last agent was gone at most {longest:?} after it");
}
