//! Common starts and samples of hosts whose clocks differ.

use crate::lab::{Lab, wait_for_intervals};
use crate::support::query;
use crate::wakeup_latency::WakeupLatency;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const STARTS: usize = 30;
/// So many of the starts must fall into times in which the machine had processors for those who only sleep.
const COUNTED_STARTS: usize = 20;
const OFFSETS_MS: [i64; 3] = [0, 5000, -3000];

/// Proves that three hosts begin within 1 ms in the median and 10 ms at worst of 30 starts, where clocks of two are seconds
/// away; that offsets are found to within half a millisecond; and that no interval is cut in two by clocks: all lie on one
/// grid, and a sample of each host is in each of them.
///
/// All namespaces have one kernel, so that what an agent's clock shows, less what it was moved by, is the true moment. The
/// bound on the worst leaves out starts in which the machine kept a thread that only sleeps from its processor: no program
/// can begin in time there. At least two thirds of the starts must count.
#[test]
fn hosts_begin_together_whatever_their_clocks() {
    let lab = Lab::new(&OFFSETS_MS);
    let run = lab.run_directory("run");
    let plan = format!(
        "title: starts\nread_only: true\nwatch: {{ interval: 50ms }}\nstages:\n  start:\n    repeats: {STARTS}\n    \
         settings: {{ rw: randread, bs: 4k, iodepth: 1, runtime: 500ms }}\n"
    );
    let latency = WakeupLatency::start();
    lab.succeed(&lab.run_words(&lab.plan(&plan), &run));
    let withheld = latency.finish();
    let events = query(&run, "SELECT data FROM events WHERE kind = 'hosts-began'");
    let mut skews_ns = Vec::new();
    let mut counted_ns = Vec::new();
    let mut worst_offset_ns = 0;
    for line in events.lines() {
        let data: Value = serde_json::from_str(line).unwrap();
        let hosts = data["hosts"].as_array().unwrap();
        assert_eq!(hosts.len(), 3);
        let true_moment =
            |number: usize| hosts[number]["host_clock_ns"].as_i64().unwrap() - OFFSETS_MS[number] * 1_000_000;
        let moments = [true_moment(0), true_moment(1), true_moment(2)];
        let (first, last) = (*moments.iter().min().unwrap(), *moments.iter().max().unwrap());
        skews_ns.push(last - first);
        let was_withheld = withheld.iter().any(|it| it.overlaps(first.unsigned_abs(), last.unsigned_abs()));
        if !was_withheld {
            counted_ns.push(last - first);
        }
        for (number, host) in hosts.iter().enumerate() {
            let found_ns = host["clock_offset_ns"].as_i64().unwrap();
            worst_offset_ns = worst_offset_ns.max((found_ns - OFFSETS_MS[number] * 1_000_000).abs());
        }
    }
    assert_eq!(skews_ns.len(), STARTS);
    skews_ns.sort_unstable();
    let (median, worst) = (skews_ns[STARTS / 2], counted_ns.iter().copied().max().unwrap_or(i64::MAX));
    println!(
        "starts: median {median} ns, worst {worst} ns of {} in which processors were to be had (worst of all {} ns); \
         offsets wrong by at most {worst_offset_ns} ns",
        counted_ns.len(),
        skews_ns[STARTS - 1]
    );
    assert!(median <= 1_000_000, "median {median} ns of {skews_ns:?}");
    assert!(
        counted_ns.len() >= COUNTED_STARTS,
        "the machine withheld processors in most starts: {withheld:?}"
    );
    assert!(worst <= 10_000_000, "worst {worst} ns of {skews_ns:?}; processors withheld: {withheld:?}");
    assert!(worst_offset_ns <= 500_000, "{worst_offset_ns} ns");
    // Ten intervals a start, each with all hosts: samples 5 s apart could never meet.
    let whole = query(
        &run,
        "SELECT count(*) FROM (SELECT 1 FROM host_samples GROUP BY attempt_id, start_ns HAVING count(DISTINCT host) = 3)",
    );
    let intervals = query(&run, "SELECT count(*) FROM intervals");
    assert_eq!(intervals, (10 * STARTS).to_string());
    assert!(
        whole.parse::<usize>().unwrap() >= 10 * STARTS * 95 / 100,
        "{whole} of {intervals} have all hosts"
    );
    // Counters of hosts lie on the run's clock: none is seconds away.
    let (first, last) = (
        query(&run, "SELECT min(at_ns) FROM counter_times"),
        query(&run, "SELECT max(at_ns) FROM counter_times"),
    );
    let end = query(&run, "SELECT max(finished_at_ns) FROM outcomes");
    assert!(
        first.parse::<u64>().unwrap() > 0
            && last.parse::<u64>().unwrap() < end.parse::<u64>().unwrap() + 1_000_000_000
    );
}

/// Agents are stopped so often.
const PAUSES: usize = 5;
const PAUSE: Duration = Duration::from_millis(350);
/// I/Os a second of each host while it is not stopped.
const HOST_RATE_IOPS: u64 = 2_000;
const INTERVAL_NS: u64 = 100_000_000;
/// Largest difference between hosts in the time of one event.
const ALIGNMENT_NS: u64 = 5_000_000;

/// Proves that nothing listens on hosts beside `sshd`, and that samples of hosts whose clocks are seconds apart align within 5 ms: all agents are stopped at one moment, and
/// the samples of each host say by themselves when that was. In the median of five pauses: a clock that is wrong moves all of them,
/// and a machine that is busy with other things stops three processes one after the other.
#[test]
fn samples_of_all_hosts_align() {
    let lab = Lab::new(&OFFSETS_MS);
    let run = lab.run_directory("run");
    let plan = format!(
        "title: pauses\nread_only: true\nwatch: {{ interval: 100ms }}\nstages:\n  paced:\n    \
         settings: {{ rw: randread, bs: 4k, iodepth: 4, rate_iops: {}, runtime: 7s }}\n",
        3 * HOST_RATE_IOPS
    );
    let words = lab.words_on(&lab.plan(&plan), &run, |_| "null:1g".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_intervals(&run, 5);
    let pids: Vec<String> =
        lab.hosts.iter().flat_map(|host| host.pids("arraylab")).map(|pid| pid.to_string()).collect();
    assert_eq!(pids.len(), 3);
    for host in &lab.hosts {
        assert_eq!(host.listening_ports().into_iter().collect::<Vec<_>>(), [22], "nothing but sshd listens");
    }
    let signal = |name: &str| {
        let sent = Command::new("kill").arg(name).args(&pids).status().unwrap();
        assert!(sent.success(), "kill {name}");
    };
    for _ in 0..PAUSES {
        std::thread::sleep(2 * PAUSE);
        signal("-STOP");
        std::thread::sleep(PAUSE);
        signal("-CONT");
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pauses: Vec<Vec<u64>> = lab.hosts.iter().map(|host| pauses_of(&run, &host.name)).collect();
    assert!(pauses.iter().all(|found| found.len() == PAUSES), "{pauses:?}");
    let mut spreads_ns: Vec<u64> = (0..PAUSES)
        .map(|number| {
            let seen = pauses.iter().map(|found| found[number]);
            seen.clone().max().unwrap() - seen.min().unwrap()
        })
        .collect();
    println!("one moment is seen by three hosts within {spreads_ns:?} ns");
    spreads_ns.sort_unstable();
    assert!(spreads_ns[PAUSES / 2] <= ALIGNMENT_NS, "{spreads_ns:?} ns of {pauses:?}");
}

/// Returns the times at which a host's paced load was stopped, by its samples: I/Os of the intervals before give the elapsed
/// part of the last one.
fn pauses_of(run: &Path, host: &str) -> Vec<u64> {
    let rows = query(
        run,
        &format!("SELECT start_ns, ios FROM host_samples WHERE host = '{host}' ORDER BY start_ns"),
    );
    let ios: BTreeMap<u64, u64> = rows
        .lines()
        .map(|line| {
            let (start_ns, ios) = line.split_once('|').unwrap();
            (start_ns.parse::<u64>().unwrap() / INTERVAL_NS, ios.parse().unwrap())
        })
        .collect();
    let count = |number: u64| ios.get(&number).copied().unwrap_or(0);
    let last = *ios.keys().last().unwrap();
    // Of two intervals without an I/O, the first; what was counted in the five before it covers the time until the stop.
    let is_stop = |number: &u64| count(*number) == 0 && count(number + 1) == 0 && count(number - 1) > 0;
    (5..last)
        .filter(is_stop)
        .map(|number| {
            let counted: u64 = (number - 4..number).map(count).sum();
            (number - 4) * INTERVAL_NS + counted * 1_000_000_000 / HOST_RATE_IOPS
        })
        .collect()
}
