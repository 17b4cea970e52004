//! Common starts and samples of hosts whose clocks differ.

use crate::lab::Lab;
use crate::support::query;
use serde_json::Value;

const STARTS: usize = 30;
const OFFSETS_MS: [i64; 3] = [0, 5000, -3000];

/// Proves that three hosts begin within 1 ms in the median and 10 ms at worst of 30 starts, where clocks of two are seconds
/// away; that offsets are found to within half a millisecond; and that no interval is cut in two by clocks: all lie on one
/// grid, and a sample of each host is in each of them.
///
/// All namespaces have one kernel, so that what an agent's clock shows, less what it was moved by, is the true moment.
#[test]
fn hosts_begin_together_whatever_their_clocks() {
    let lab = Lab::new(&OFFSETS_MS);
    let run = lab.run_directory("run");
    let plan = format!(
        "title: starts\nread_only: true\nwatch: {{ interval: 50ms }}\nstages:\n  start:\n    repeats: {STARTS}\n    \
         settings: {{ rw: randread, bs: 4k, iodepth: 1, runtime: 500ms }}\n"
    );
    lab.succeed(&lab.run_words(&lab.plan(&plan), &run));
    let events = query(&run, "SELECT data FROM events WHERE kind = 'hosts-began'");
    let mut skews_ns = Vec::new();
    let mut worst_offset_ns = 0;
    for line in events.lines() {
        let data: Value = serde_json::from_str(line).unwrap();
        let hosts = data["hosts"].as_array().unwrap();
        assert_eq!(hosts.len(), 3);
        let true_moment =
            |number: usize| hosts[number]["host_clock_ns"].as_i64().unwrap() - OFFSETS_MS[number] * 1_000_000;
        let moments = [true_moment(0), true_moment(1), true_moment(2)];
        skews_ns.push(moments.iter().max().unwrap() - moments.iter().min().unwrap());
        for (number, host) in hosts.iter().enumerate() {
            let found_ns = host["clock_offset_ns"].as_i64().unwrap();
            worst_offset_ns = worst_offset_ns.max((found_ns - OFFSETS_MS[number] * 1_000_000).abs());
        }
    }
    assert_eq!(skews_ns.len(), STARTS);
    skews_ns.sort_unstable();
    let (median, worst) = (skews_ns[STARTS / 2], skews_ns[STARTS - 1]);
    println!("starts: median {median} ns, worst {worst} ns; offsets wrong by at most {worst_offset_ns} ns");
    assert!(median <= 1_000_000, "median {median} ns of {skews_ns:?}");
    assert!(worst <= 10_000_000, "worst {worst} ns of {skews_ns:?}");
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
