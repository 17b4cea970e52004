//! Load by servers of fio on three hosts.

use crate::lab::Lab;
use crate::support::{query, results, tool, write_program};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use test_support::wait_until;

fn plan(rw: &str, more: &str) -> String {
    format!(
        "title: servers of fio\n{more}watch: {{ interval: 200ms }}\nstages:\n  one:\n    \
         settings: {{ rw: {rw}, bs: 4k, iodepth: 4, numjobs: 2, runtime: 2s }}\n"
    )
}

/// The sum of a host's I/Os by fio's own report in the case's directory.
fn reported_ios(run: &std::path::Path, host: &str, direction: &str) -> u64 {
    let pattern = format!("find {} -path '*{host}-load/fio.json'", run.display());
    let path = tool("sh", &["-c", &pattern]);
    let text = std::fs::read_to_string(path.trim()).unwrap();
    let report: Value = serde_json::from_str(&text[text.find("\n{").map_or(0, |place| place + 1)..]).unwrap();
    let jobs =
        report["client_stats"].as_array().unwrap().iter().filter(|job| job["jobname"] != "All clients");
    jobs.map(|job| job[direction]["total_ios"].as_u64().unwrap()).sum()
}

/// Proves that the I/Os of a run by three servers are the sum of each one's own report, that intervals are merged on one grid
/// and add up to the same, and that a path is written only where it is named twice.
#[test]
fn counts_are_those_of_the_reports() {
    let lab = Lab::new(&[0, 0, 0]);
    lab.start_fio_servers();
    let run = lab.run_directory("run");
    let mut words = lab.fio_words(&lab.plan(&plan("randwrite", "")), &run, |host| host.device.path.clone());
    let refused = lab.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    for host in &lab.hosts {
        let consent = format!("{}:{}", host.name, host.device.path);
        assert!(message.contains(&consent), "{message}");
        words.extend(["--overwrite-data".into(), consent]);
    }
    assert!(!run.exists());
    let before: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
    lab.succeed(&words);
    let result = &results(&run)[0];
    let mut sum = 0;
    for (number, host) in lab.hosts.iter().enumerate() {
        let reported = reported_ios(&run, &host.name, "write");
        assert_eq!(result["hosts"][number]["write"]["ios"].as_u64(), Some(reported), "{}", host.name);
        let done = host.completed_ios() - before[number];
        assert!(done >= reported && reported > 100, "{}: {reported} of {done}", host.name);
        sum += reported;
    }
    assert_eq!(result["write"]["ios"].as_u64(), Some(sum));
    assert_eq!(query(&run, "SELECT sum(ios) FROM samples"), sum.to_string());
    assert_eq!(query(&run, "SELECT sum(ios) FROM host_samples"), sum.to_string());
    let grid = query(&run, "SELECT count(*) FROM intervals");
    assert!((9..=12).contains(&grid.parse::<u32>().unwrap()), "{grid} intervals of 200 ms in 2 s");
}

struct NbdOverTcp {
    uri: String,
    server: Child,
}

impl NbdOverTcp {
    fn new(lab: &Lab) -> NbdOverTcp {
        // This machine's end of the first cable, which all namespaces reach.
        let ours = format!("{}.1", lab.hosts[0].address.rsplit_once('.').unwrap().0);
        let server = Command::new("nbdkit")
            .args([
                "--foreground",
                "--exit-with-parent",
                "--ipaddr",
                &ours,
                "--port",
                "10809",
                "memory",
                "64M",
            ])
            .stdin(Stdio::null())
            .spawn()
            .expect("nbdkit (scripts/install-test-clients.sh installs it)");
        wait_until(Duration::from_secs(10), "nbdkit listens", || {
            std::net::TcpStream::connect((ours.as_str(), 10809)).is_ok()
        });
        NbdOverTcp { uri: format!("nbd://{ours}"), server }
    }
}

impl Drop for NbdOverTcp {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Proves that three hosts load one NBD address, each a part of its own or all the whole, that the run asks which, and that
/// counts are the sum of the hosts' reports.
#[test]
fn one_nbd_address_is_shared() {
    let lab = Lab::new(&[0, 0, 0]);
    lab.start_fio_servers();
    let nbd = NbdOverTcp::new(&lab);
    let words = |share: &str, run: &str| {
        let plan = lab.plan(&plan("randread", &format!("read_only: true\n{share}")));
        lab.fio_words(&plan, &lab.run_directory(run), |_| nbd.uri.clone())
    };
    let refused =
        lab.command(&words("", "none").iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("`share: parts` or `share: whole`"), "{message}");
    for share in ["parts", "whole"] {
        lab.succeed(&words(&format!("share: {share}\n"), share));
        let run = lab.run_directory(share);
        let result = &results(&run)[0];
        let reported: Vec<u64> =
            lab.hosts.iter().map(|host| reported_ios(&run, &host.name, "read")).collect();
        assert_eq!(result["read"]["ios"].as_u64(), Some(reported.iter().sum()));
        assert!(reported.iter().all(|ios| *ios > 100), "{reported:?}");
        let offsets = tool(
            "sh",
            &["-c", &format!("grep -rhE '^(offset|size)=' {} | sort -u | tr '\n' ' '", run.display())],
        );
        assert_eq!(offsets.contains("offset=22020096"), share == "parts", "{offsets}");
    }
}

/// Proves that another version of fio is refused with both versions, and a host without a server by its name.
#[test]
fn other_versions_and_absent_servers_are_refused() {
    let lab = Lab::new(&[0]);
    let run = lab.run_directory("run");
    let words = lab
        .fio_words(&lab.plan(&plan("randread", "read_only: true\n")), &run, |host| host.device.path.clone());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = lab.command(&words).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("host `h1`") && message.contains("no server of fio answers"), "{message}");
    lab.start_fio_servers();
    let other = lab.directory.path().join("other-fio");
    write_program(&other, "#!/bin/sh\n[ \"$1\" = --version ] && { echo fio-3.99; exit; }\nexec fio \"$@\"\n");
    let refused = lab.command(&words).env("ARRAYLAB_FIO", &other).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    let own = tool("fio", &["--version"]);
    assert!(
        message.contains("host `h1`") && message.contains("fio-3.99") && message.contains(own.trim()),
        "{message}"
    );
    assert!(!run.exists());
}

/// Proves that a server which dies ends the case by its host's name, and that the others stop within 2 s; and that servers
/// stop their load within 2 s when the coordinator is killed.
#[test]
fn a_server_and_the_coordinator_die() {
    let lab = Lab::new(&[0, 0, 0]);
    lab.start_fio_servers();
    let text = plan("randread", "read_only: true\n").replace("runtime: 2s", "runtime: 20s");
    let plan = lab.plan(&text);
    let quiet_after = |what: &str| {
        std::thread::sleep(Duration::from_secs(2));
        let at_limit: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        std::thread::sleep(Duration::from_millis(300));
        let later: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        assert_eq!(at_limit, later, "load goes on 2 s after the death of {what}");
    };
    let start = |run: &str| {
        let before: Vec<u64> = lab.hosts.iter().map(|host| host.completed_ios()).collect();
        let words = lab.fio_words(&plan, &lab.run_directory(run), |host| host.device.path.clone());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let child = lab.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while lab.hosts.iter().zip(&before).any(|(host, before)| host.completed_ios() < before + 500) {
            assert!(begun.elapsed() < Duration::from_secs(30), "the load has not begun within 30 s");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(700));
        child
    };
    let mut killed = start("coordinator");
    killed.kill().unwrap();
    killed.wait().unwrap();
    quiet_after("the coordinator");
    let child = start("server");
    lab.hosts[1].kill("fio");
    quiet_after("a server");
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    let failed = query(&lab.run_directory("server"), "SELECT error FROM outcomes WHERE status = 'failed'");
    assert!(failed.contains("host `h2`"), "{failed}");
}
