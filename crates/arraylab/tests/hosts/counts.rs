//! Counts of a run on three hosts.

use crate::lab::Lab;
use crate::support::{json_lines, query, results, succeed};

const PLAN: &str = "title: three hosts
read_only: true
inventory: [{ command: [echo, of, '{device}'], at: both }]
watch: { interval: 100ms }
defaults: { rw: randread, bs: 4k, numjobs: 2, runtime: 1s }
stages:
  depth:
    matrix: { iodepth: [1, 8] }
";

/// The report as a page.
fn text_of(run: &std::path::Path) -> String {
    let page = run.join("page.html");
    succeed(&["report", run.to_str().unwrap(), "--out", page.to_str().unwrap()]);
    std::fs::read_to_string(page).unwrap()
}

/// Proves that I/Os of the run are exactly the sum of each host's own record, in totals and in samples, that each device has
/// done at least its host's I/Os and the reads that its trials of the handover are said to have made, and no more than
/// those and what is not counted (in flight at the end), and that all latencies are in the merged histogram.
#[test]
fn counts_are_the_sum_of_the_hosts() {
    let lab = Lab::new(&[0, 0, 0]);
    let before: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
    let run = lab.run_directory("run");
    lab.succeed(&lab.run_words(&lab.plan(PLAN), &run));
    let results = results(&run);
    assert_eq!(results.len(), 2);
    for result in &results {
        let hosts = result["hosts"].as_array().unwrap();
        let names: Vec<&str> = hosts.iter().map(|host| host["host"].as_str().unwrap()).collect();
        assert_eq!(names, ["h1", "h2", "h3"]);
        let sum: u64 = hosts.iter().map(|host| host["read"]["ios"].as_u64().unwrap()).sum();
        assert_eq!(result["read"]["ios"].as_u64(), Some(sum));
        let slowest = hosts.iter().map(|host| host["read"]["latency_ns"]["max"].as_u64().unwrap()).max();
        assert_eq!(result["read"]["latency_ns"]["max"].as_u64(), slowest);
        assert!(hosts.iter().all(|host| host["read"]["ios"].as_u64().unwrap() > 100), "{result}");
    }
    assert_eq!(
        query(
            &run,
            "SELECT count(*) FROM (SELECT host_totals.attempt_id, sum(host_totals.ios) AS parts,
        (SELECT sum(ios) FROM totals WHERE totals.attempt_id = host_totals.attempt_id) AS whole
        FROM host_totals GROUP BY host_totals.attempt_id) WHERE parts = whole"
        ),
        "2"
    );
    let by_interval = "FROM intervals JOIN samples ON samples.interval_id = intervals.id
        JOIN host_samples ON host_samples.attempt_id = intervals.attempt_id AND host_samples.start_ns = intervals.start_ns
        AND host_samples.direction = samples.direction GROUP BY intervals.id HAVING samples.ios";
    let same = query(&run, &format!("SELECT count(*) FROM (SELECT 1 {by_interval} = sum(host_samples.ios))"));
    let other =
        query(&run, &format!("SELECT count(*) FROM (SELECT 1 {by_interval} <> sum(host_samples.ios))"));
    assert!(same.parse::<u32>().unwrap() >= 20, "{same} intervals are the sum of their parts");
    assert_eq!(other, "0");
    for (number, host) in lab.hosts.iter().enumerate() {
        let counted: u64 =
            results.iter().map(|result| result["hosts"][number]["read"]["ios"].as_u64().unwrap()).sum();
        let trial_ios: u64 = query(
            &run,
            &format!(
                "SELECT coalesce(sum(data ->> 'trial_ios'), 0) FROM events WHERE kind = 'handover' AND text LIKE '{}: %'",
                host.name
            ),
        )
        .parse()
        .unwrap();
        let counted = counted + trial_ios;
        let done = host.completed_ios() - before[number];
        let in_flight_at_ends = 2 * (1 + 8);
        // Beside the load, the guard and the inventory read the beginning of a device.
        assert!((counted..=counted + in_flight_at_ends + 200).contains(&done), "{counted} of {done}");
    }
    assert_eq!(lab.agents(), 0, "agents end with the run");
    let findings = json_lines(&succeed(&["findings", run.to_str().unwrap(), "--json"]));
    let balance: Vec<_> = findings.iter().filter(|one| one["kind"] == "host-balance").collect();
    assert_eq!(balance.len(), 2);
    for (finding, result) in balance.iter().zip(&results) {
        let slowest = result["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .min_by(|a, b| a["iops"].as_f64().unwrap().total_cmp(&b["iops"].as_f64().unwrap()));
        assert_eq!(finding["slowest"], slowest.unwrap()["host"]);
        let shares: f64 = (0..3).map(|place| finding["shares_percent"][place].as_f64().unwrap()).sum();
        assert!((shares - 100.0).abs() < 1e-6);
    }
    for host in &lab.hosts {
        for moment in ["before the first case", "after the last case"] {
            let title = format!("echo of {} ({}, {moment})", host.device.path, host.name);
            assert!(text_of(&run).contains(&title), "{title}");
        }
    }
    assert!(text_of(&run).contains("of each host against time"));
    // Recomputed from SQLite, the report contradicts neither its run nor itself.
    let report = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    let checked = report_check::Run::open(&run, std::path::Path::new("../../published")).unwrap();
    let report = serde_json::from_str(&report).unwrap();
    let found = report_check::check(&checked, &report);
    let found: Vec<String> = found.iter().map(|one| format!("{}: {}", one.place, one.what)).collect();
    assert!(found.is_empty(), "{found:#?}");
}
