//! Throughput of several agents, and cost of their coordinator.

use crate::lab::{Lab, wait_for_intervals};
use crate::support::results;
use std::process::Stdio;
use std::time::Duration;
use test_support::is_long;

/// Two agents issue so many times as much as one where each has a processor.
const GOAL: f64 = 1.8;
/// Lower bound that any machine reaches with two agents: more than one processor's worth.
const AT_LEAST: f64 = 1.2;

/// Proves that two agents, each pinned to a processor, issue at least 1.8 times the I/Os of one on the null target, in the
/// median of ten rounds by turns (`make test-long`); the median of five, beside other tests, is 1.2 times or more.
#[test]
fn two_agents_issue_twice_as_much_as_one() {
    let lab = Lab::with_agents(&[0, 0], |number| format!("taskset --cpu-list {number}"));
    let plan = lab.plan(
        "title: scaling\nread_only: true\nwatch: { interval: 1s }\nstages:\n  reads:\n    \
         settings: { rw: randread, bs: 4k, iodepth: 32, runtime: 2s }\n",
    );
    // The speed of a virtual processor changes twofold from one second to the next: a single round says nothing.
    let rounds = if is_long() { 10 } else { 5 };
    let iops = |name: String, hosts: usize| -> f64 {
        let run = lab.run_directory(&name);
        let words = lab.words_on(&plan, &run, |_| "null:1g".to_owned());
        // Four words of the run itself, and four of each host.
        lab.succeed(&words[..4 + 4 * hosts]);
        results(&run)[0]["iops"].as_f64().unwrap()
    };
    let mut ratios: Vec<f64> =
        (0..rounds).map(|round| iops(format!("two-{round}"), 2) / iops(format!("one-{round}"), 1)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let median = ratios[rounds / 2];
    println!("two agents against one, {rounds} rounds: {median:.3} (median), {ratios:.3?}");
    assert!(median >= if is_long() { GOAL } else { AT_LEAST }, "{ratios:?}");
}

/// Share of a core that a coordinator may take for each host at intervals of 1 s.
const COORDINATOR_SHARE: f64 = 0.01;
const WATCHED: Duration = Duration::from_secs(8);

/// Proves that a coordinator takes less than 1 % of a core for each of three hosts at intervals of 1 s, while they issue all that
/// they can.
#[test]
fn a_coordinator_takes_little() {
    let lab = Lab::new(&[0, 0, 0]);
    let run = lab.run_directory("run");
    let plan = lab.plan(
        "title: coordinator\nread_only: true\nwatch: { interval: 1s }\nstages:\n  busy:\n    \
         settings: { rw: randread, bs: 4k, iodepth: 8, runtime: 11s }\n",
    );
    let words = lab.run_words(&plan, &run);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_intervals(&run, 1);
    let before = processor_time(child.id());
    std::thread::sleep(WATCHED);
    let took = processor_time(child.id()) - before;
    assert!(child.wait().unwrap().success());
    let share = took.as_secs_f64() / WATCHED.as_secs_f64() / lab.hosts.len() as f64;
    println!("a coordinator takes {:.2} % of a core for each of three hosts", 100.0 * share);
    assert!(share < COORDINATOR_SHARE, "{took:?} in {WATCHED:?}");
}

/// Processor time of a process so far, user and system (proc(5): fields 14 and 15 of stat, in ticks of 10 ms).
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}
