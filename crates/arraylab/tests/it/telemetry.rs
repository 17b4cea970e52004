//! Telemetry beside the load: kept in the run, and shown while it goes on.

use crate::support::{LoopDevice, command, query, refuse, results, text, write_program};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

fn plan(directory: &Path, yaml: &str) -> String {
    let path = directory.join("plan.yaml");
    fs::write(&path, yaml).unwrap();
    path.to_str().unwrap().to_owned()
}

fn script(path: &Path, text: &str) {
    write_program(path, &format!("#!/bin/sh\n{text}\n"));
}

/// An exporter whose one counter grows by 100 with each scrape.
fn exporter() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (scrape, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let body = format!(
                "# TYPE volume_reads_total counter\nvolume_reads_total{{volume=\"v1\"}} {}\nup 1\n",
                scrape * 100
            );
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

/// Proves that all that a plan watches is counted on the run's clock and on that of the case: the device under test and
/// one beside it, processors, pressure, a drive's health, a command and a Prometheus address; that a source which fails
/// is said when it first does and at the end, and keeps nothing else back.
#[test]
fn what_a_plan_watches_is_counted() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let (tested, beside) = (LoopDevice::new(16 << 20), LoopDevice::new(1 << 20));
    let programs = directory.path().join("bin");
    fs::create_dir(&programs).unwrap();
    script(
        &programs.join("smartctl"),
        "case \"$*\" in *--attributes*) echo '{\"smartctl\":{},\"temperature\":{\"current\":31}}';; esac",
    );
    script(&programs.join("counters"), "echo '{\"iops\": 5, \"controller-0\": {\"busy\": 40}}'");
    let plan = plan(
        directory.path(),
        &format!(
            "
title: Watched
watch:
  interval: 0.5
  devices: {}
  command:
    - {{ name: array, command: [{}], every: 1s }}
    - {{ name: gone, command: /nonesuch/counters, every: 1s }}
  prometheus: {{ name: a900, address: 'http://{}/metrics', metrics: ['volume_*', up], every: 1s }}
stages:
  reads:
    settings: {{ rw: randread, bs: 4k, iodepth: 4, runtime: 2.5 }}
",
            beside.path,
            programs.join("counters").display(),
            exporter()
        ),
    );
    let run = directory.path().join("run");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = command(&["run", &plan, "--target", &tested.path, "--out", run.to_str().unwrap()])
        .env("PATH", path)
        .output()
        .unwrap();
    let printed_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed_text}");
    // The first failure when it happens, the count of all at the end.
    for wanted in [
        "the command `gone` gave no counters: cannot start `/nonesuch/counters`%it is asked again",
        "the command `gone` gave no counters _ times of _: cannot start%",
    ] {
        let kept = format!("SELECT count(*) FROM warnings WHERE text LIKE '{wanted}'");
        assert_eq!(query(&run, &kept), "1", "{wanted}: {printed_text}");
    }
    assert_eq!(printed_text.matches("the command `gone` gave no counters").count(), 2, "{printed_text}");
    let name = |device: &LoopDevice| device.path.rsplit('/').next().unwrap().to_owned();
    // (source, entity, name, the values between which the largest lies)
    for (source, entity, counter, least, most) in [
        ("disk", name(&tested).as_str(), "r/s", 100.0, 1e9),
        ("disk", name(&beside).as_str(), "r/s", 0.0, 100.0),
        ("cpu", "all", "%idle", 0.0, 100.0),
        ("psi", "io", "%some", 0.0, 100.0),
        ("smart", name(&tested).as_str(), "temperature_celsius", 31.0, 31.0),
        ("command", "array", "iops", 5.0, 5.0),
        ("command", "controller-0", "busy", 40.0, 40.0),
        ("prometheus", "a900", "up", 1.0, 1.0),
        ("prometheus", "a900{volume=v1}", "volume_reads_total/s", 20.0, 200.0),
    ] {
        let of = format!(
            "FROM counters JOIN counter_series s ON s.id = series_id JOIN counter_times t ON t.id = time_id \
             WHERE s.source = '{source}' AND s.entity = '{entity}' AND s.name = '{counter}'"
        );
        let value = query(&run, &format!("SELECT max(value) {of} AND attempt_id IS NOT NULL"));
        let value: f64 =
            value.parse().unwrap_or_else(|_| panic!("no {source} {entity} {counter}: {printed_text}"));
        assert!((least..=most).contains(&value), "{source} {entity} {counter}: {value}");
        if source == "disk" || source == "cpu" {
            // Counted from the start of the load, so that it stands beside the samples.
            let latest = query(&run, &format!("SELECT max(case_at_ns) / 1e9 {of}"));
            let latest: f64 = latest.parse().unwrap();
            assert!((1.0..4.0).contains(&latest), "{source}: {latest} s");
        }
    }
    let others = "SELECT count(*) FROM counter_series WHERE source = 'disk' AND entity NOT IN";
    assert_eq!(query(&run, &format!("{others} ('{}', '{}')", name(&tested), name(&beside))), "0");
}

/// Proves that a device to be watched which is not there is refused before anything is written.
#[test]
fn a_device_to_watch_must_be_there() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "{ title: t, watch: { devices: /dev/nonesuch }, stages: { a: { settings: { rw: read, bs: 4k } } } }",
    );
    let (run, file) = (directory.path().join("run"), directory.path().join("t.img"));
    let target = format!("file:{},size=1m", file.display());
    let (code, printed_text) = refuse(&["run", &plan, "--target", &target, "--out", run.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{printed_text}");
    assert!(printed_text.contains("`/dev/nonesuch`") && printed_text.contains("lsblk"), "{printed_text}");
    assert!(!run.exists() && !file.exists());
}

/// A run that serves its metrics; killed when the test ends.
struct Exposed {
    child: Child,
    address: SocketAddr,
}

impl Exposed {
    fn start(words: &[&str]) -> Exposed {
        let words = [words, &["--metrics", "127.0.0.1:0"]].concat();
        let mut child =
            command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("arraylab starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = lines
            .find_map(|line| line.strip_prefix("metrics: http://")?.strip_suffix("/metrics")?.parse().ok());
        // What it says from here on is not looked at, and must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Exposed { child, address: address.expect("an address") }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }

    fn scrape(&self) -> String {
        let answer = self.get("/metrics");
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        answer
    }

    /// Returns the state that the page shows.
    fn state(&self) -> serde_json::Value {
        let answer = self.get("/state.json");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Scrapes until every one of these beginnings of a line is there with a value above 0.
    fn shows(&self, wanted: &[&str]) {
        let begun = Instant::now();
        loop {
            let page = self.scrape();
            let is_there = |start: &&&str| {
                page.lines().any(|line| {
                    let value = line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
                    line.starts_with(**start) && value.is_some_and(|value| value > 0.0)
                })
            };
            let missing: Vec<_> = wanted.iter().filter(|start| !is_there(start)).collect();
            if missing.is_empty() {
                return;
            }
            assert!(begun.elapsed() < LONG, "{missing:?} not in\n{page}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Proves that a campaign on a twin can be scraped while it runs: progress, the rates and latencies of the case under
/// way, totals, and the counters of the twin's parts; and that the page's figures are those of this campaign.
#[test]
fn a_campaign_on_a_twin_is_scraped() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let exposed = Exposed::start(&[
        "run",
        "raid-levels",
        "--target",
        "twin:raid-levels,exact=on",
        "--set",
        "runtime=600",
        "--threads",
        "1",
        "--out",
        run.to_str().unwrap(),
    ]);
    exposed.shows(&[
        "arraylab_run_info{plan=\"raid-levels\",target=\"twin:raid-levels,exact=on\"",
        "arraylab_run_cases{}",
        "arraylab_case_progress_ratio{stage=\"sets\",case=\"",
        "arraylab_iops{stage=\"sets\",case=\"",
        "arraylab_latency_quantile_seconds{stage=\"sets\",case=\"",
        "arraylab_ios_total{direction=\"read\"}",
        "arraylab_observed{source=\"twin\",entity=\"controller-0\",name=\"processors_busy_ns\"}",
    ]);
    let state = exposed.state();
    assert_eq!((&state["kind"], &state["plan"]), (&"run".into(), &"raid-levels".into()));
    assert_eq!(state["cases_total"], 315);
    assert_eq!(state["cases"][0]["stage"], "sets");
    assert!(state["chart"]["points"][0][1].as_f64().is_some_and(|iops| iops > 0.0), "{state}");
    assert!(exposed.get("/").contains("<script type=\"module\" src=\"/page.js\">"));
}

/// Proves that a campaign on a file can be scraped while it runs: progress, the host's counters, and the totals of cases
/// that have ended; and that its result is what it is without a scraper.
#[test]
fn a_campaign_on_a_file_is_scraped() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "
title: Two sizes
watch: { interval: 0.2, health: false }
defaults: { rw: randread, iodepth: 4, runtime: 1.5 }
stages:
  sizes:
    matrix: { bs: [4k, 8k] }
",
    );
    let run = directory.path().join("run");
    let target = format!("file:{},size=16m", directory.path().join("t.img").display());
    let mut exposed = Exposed::start(&["run", &plan, "--target", &target, "--out", run.to_str().unwrap()]);
    exposed.shows(&[
        "arraylab_case_progress_ratio{stage=\"sizes\",case=\"bs=4096\"}",
        "arraylab_observed{source=\"cpu\",entity=\"all\",name=\"%user\"}",
    ]);
    exposed.shows(&[
        "arraylab_cases_ended_total{status=\"done\"}",
        "arraylab_ios_total{direction=\"read\"}",
        "arraylab_case_progress_ratio{stage=\"sizes\",case=\"bs=8192\"}",
    ]);
    assert!(exposed.child.wait().unwrap().success());
    assert!(results(&run).iter().all(|result| result["status"] == "done"));
}

/// Proves that an address which other hosts reach is refused without consent, and one that is taken always, both before
/// anything is written.
#[test]
fn metrics_are_for_this_host_alone() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, why) in
        [("0.0.0.0:0", "--metrics-network"), (taken.as_str(), "another program may have the port")]
    {
        let words = ["run", "quick", "--target", "twin:raid-levels", "--metrics", address, "--out"];
        let (code, printed_text) = refuse(&[&words[..], &[run.to_str().unwrap()]].concat());
        assert_eq!(code, Some(2), "{printed_text}");
        assert!(printed_text.contains(why), "{printed_text}");
        assert!(!run.exists());
    }
}
