//! Sources that are asked, with real commands and real connections.

use diagnostic::{Problem, full_text};
use probe::{
    Answer, CollectorSettings, CollectorSource, CollectorSummary, CollectorThread, CommandSettings,
    DeviceSelection, HealthSettings, ProbeRoots, PrometheusSettings,
};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use test_support::wait_until;

const LONG: Duration = Duration::from_secs(20);

/// Starts to ask, and gives what is heard.
fn listen(
    source: CollectorSource,
    interval_ms: u64,
    timeout: Duration,
) -> (CollectorThread, Receiver<Result<Answer, Problem>>) {
    let (notify, rx) = channel();
    let interval = Duration::from_millis(interval_ms);
    let settings = CollectorSettings { source, interval, timeout, run_start: Instant::now() };
    (CollectorThread::start(settings, move |received| drop(notify.send(received))).unwrap(), rx)
}

/// Starts to ask, and gives the answers.
fn start(
    source: CollectorSource,
    interval_ms: u64,
    timeout: Duration,
) -> (CollectorThread, Receiver<Answer>) {
    let (notify, rx) = channel();
    let interval = Duration::from_millis(interval_ms);
    let settings = CollectorSettings { source, interval, timeout, run_start: Instant::now() };
    (
        CollectorThread::start(settings, move |received| drop(received.map(|answer| notify.send(answer))))
            .unwrap(),
        rx,
    )
}

fn shell(script: &str) -> CollectorSource {
    CollectorSource::Command(CommandSettings {
        name: "array".into(),
        arguments: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cumulative: vec!["*_ios".into()],
    })
}

/// Stops the source once it has failed.
fn failure_of(source: CollectorSource, timeout: Duration) -> CollectorSummary {
    let (thread, rx) = listen(source, 600_000, timeout);
    let why = rx.recv_timeout(LONG).expect("an answer or a failure").expect_err("no answer");
    let why = full_text(&why);
    let summary = thread.stop();
    assert!(why.contains(summary.last_failure.as_deref().unwrap()), "{why}, {summary:?}");
    assert_eq!((summary.answers, summary.failures), (0, 1), "{summary:?}");
    assert!(summary.warning().unwrap().contains("1 times of 1"));
    summary
}

/// Proves that a command's counters come every interval on the run's clock, and that cumulative ones become rates.
#[test]
fn a_command_is_asked_every_interval() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    let script = format!(
        "echo x >> {0}; n=$(wc -l < {0}); echo \"{{\\\"busy\\\": $n, \\\"c0\\\": {{\\\"read_ios\\\": $((n * 100))}}}}\"",
        count.display()
    );
    let (thread, rx) = start(shell(&script), 100, LONG);
    let answers: Vec<Answer> = (0..3).map(|_| rx.recv_timeout(LONG).unwrap()).collect();
    let summary = thread.stop();
    assert!(summary.answers >= 3 && summary.warning().is_none(), "{summary:?}");
    assert_eq!(answers[0].values.len(), 1, "a rate needs two answers");
    assert_eq!((answers[0].values[0].entity.as_str(), answers[0].values[0].value), ("array", 1.0));
    let rate = &answers[1].values[1];
    assert_eq!((rate.entity.as_str(), rate.name.as_str()), ("c0", "read_ios/s"));
    // 100 since the answer before, which a busy host may give late.
    let since_s = (answers[1].at_ns - answers[0].at_ns) as f64 / 1e9;
    assert!((10.0..200.0).contains(&(rate.value * since_s)), "100 in {since_s} s: {}", rate.value);
    assert!(answers.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
    assert_eq!(answers[0].source, "command");
}

/// Proves that a command which hangs, even one that ignores being asked to end and leaves a child behind, is killed
/// with its child after its time, and is said to have failed.
#[test]
fn a_hung_command_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = format!("trap '' TERM INT HUP; sleep 1000 & echo $! > {}; sleep 1000", pid.display());
    let summary = failure_of(shell(&script), Duration::from_millis(400));
    assert!(summary.last_failure.as_ref().unwrap().contains("did not end within 400ms"), "{summary:?}");
    let child: u32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    // Nobody may have reaped it yet.
    let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

/// Proves that a stop does not wait for a hung command.
#[test]
fn a_stop_does_not_wait_for_a_hung_command() {
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    let script = format!("touch {}; sleep 1000", started.display());
    let (thread, _rx) = start(shell(&script), 1000, Duration::from_secs(500));
    wait_until(LONG, "the command has started", || started.exists());
    let before = Instant::now();
    thread.stop();
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
}

/// Proves that what a command leaves behind with its pipes open does not keep its answer back.
#[test]
fn a_daemon_left_behind_keeps_nothing_back() {
    let (thread, rx) = start(shell("setsid sleep 3 & echo iops 5"), 10_000, LONG);
    let before = Instant::now();
    assert_eq!(rx.recv_timeout(LONG).unwrap().values[0].value, 5.0);
    assert!(before.elapsed() < Duration::from_secs(2));
    thread.stop();
}

/// Proves that endless output, failures and nonsense are failures with a reason, and end nothing else.
#[test]
fn failures_have_reasons() {
    for (script, reason) in [
        ("yes", "wrote more than"),
        ("echo no such array >&2; exit 3", "exit status: 3: no such array"),
        ("echo hello world", "gave no counters"),
    ] {
        let summary = failure_of(shell(script), LONG);
        assert!(summary.last_failure.as_ref().unwrap().contains(reason), "{summary:?}");
    }
    let missing = CollectorSource::Command(CommandSettings {
        name: "a".into(),
        arguments: vec!["/nonesuch".into()],
        cumulative: Vec::new(),
    });
    assert!(failure_of(missing, LONG).last_failure.unwrap().contains("cannot start `/nonesuch`"));
}

/// An exporter that gives each connection the next of these answers.
fn exporter(answers: Vec<Vec<u8>>) -> CollectorSource {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/metrics", listener.local_addr().unwrap()).parse().unwrap();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap();
            assert!(request[..count].starts_with(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:"));
            // The client may have seen enough.
            let _ = stream.write_all(&answer);
        }
    });
    CollectorSource::Prometheus(PrometheusSettings {
        name: "a900".into(),
        address,
        metrics: vec!["volume_*".into(), "up".into()],
    })
}

fn page(reads: u64) -> Vec<u8> {
    let body = format!(
        "# TYPE volume_reads_total counter\nvolume_reads_total{{volume=\"v1\",pool=\"p\"}} {reads}\n# TYPE volume_queue gauge\nvolume_queue{{volume=\"v1\"}} 7\nup 1\ndrive_temperature 30\n"
    );
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Proves that the wanted metrics of a real connection are kept with their labels, that counters become rates, and
/// that an answer which fails leaves a gap and not an end.
#[test]
fn an_exporter_is_scraped() {
    let bad = b"HTTP/1.1 503 Busy\r\n\r\n".to_vec();
    let (thread, rx) = start(exporter(vec![page(1000), bad, page(3000)]), 200, LONG);
    let first = rx.recv_timeout(LONG).unwrap();
    let second = rx.recv_timeout(LONG).unwrap();
    let summary = thread.stop();
    let names = |answer: &Answer| -> Vec<String> {
        answer.values.iter().map(|value| format!("{} {}", value.entity, value.name)).collect()
    };
    assert_eq!(names(&first), ["a900{volume=v1} volume_queue", "a900 up"]);
    assert_eq!(
        names(&second),
        ["a900{volume=v1} volume_queue", "a900 up", "a900{volume=v1,pool=p} volume_reads_total/s"]
    );
    // 2000 since the answer before, which a busy host may give late.
    let (rate, since_s) = (second.values[2].value, (second.at_ns - first.at_ns) as f64 / 1e9);
    assert!((400.0..4040.0).contains(&(rate * since_s)), "2000 in {since_s} s: {rate}");
    assert!(summary.failures >= 1);
}

/// Proves that an exporter which is silent, endless or absent fails in its time.
#[test]
fn a_bad_exporter_fails_in_its_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |text: String| {
        CollectorSource::Prometheus(PrometheusSettings {
            name: "a".into(),
            address: text.parse().unwrap(),
            metrics: vec!["*".into()],
        })
    };
    let at = silent.local_addr().unwrap();
    let summary = failure_of(address(format!("http://{at}")), Duration::from_millis(300));
    assert!(summary.last_failure.unwrap().contains("did not answer within 300ms"));
    drop(silent);
    let summary = failure_of(address(format!("http://{at}")), LONG);
    assert!(summary.last_failure.unwrap().contains("cannot reach"));
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(17 << 20, b'#');
    let summary = failure_of(exporter(vec![endless]), LONG);
    assert!(summary.last_failure.unwrap().contains("more than"));
}

/// Proves that the health of drives is that of their hwmon sensors and of the installed programs, each asked for its
/// own kind of drive, and that one hung drive leaves the others.
#[test]
fn health_is_read_from_sensors_and_programs() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    for drive in ["nvme0n1", "nvme0c0n1", "sda", "sdb"] {
        fs::create_dir_all(root.join("sys/block").join(drive)).unwrap();
    }
    write("sys/class/nvme/nvme0/hwmon3/temp1_input", "41850\n");
    write("sys/block/sda/device/hwmon/hwmon4/temp1_input", "33000\n");
    write("sys/block/sda/device/hwmon/hwmon4/temp1_max", "60000\n");
    for (program, script) in [
        ("nvme", "[ \"$*\" = 'smart-log --output-format=json /dev/nvme0' ] && echo '{\"percent_used\": 4}'"),
        (
            "smartctl",
            "case \"$*\" in *sda) sleep 1000;; *) echo '{\"smartctl\":{},\"power_on_time\":{\"hours\":9}}'; exit 4;; esac",
        ),
    ] {
        fs::create_dir_all(root.join("bin")).unwrap();
        // Another process writes it: were it open for writing here, a fork in another test's thread would inherit that, and
        // running the program would fail with ETXTBSY.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        let path = root.join("bin").join(program);
        let written = Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(script).status().unwrap();
        assert!(written.success());
    }
    let settings = HealthSettings {
        roots: ProbeRoots { proc: root.join("proc"), sysfs: root.join("sys") },
        devices: DeviceSelection::Named(["nvme0n1", "sda", "sdb"].map(str::to_owned).to_vec()),
        program_directories: vec![root.join("bin")],
    };
    assert_eq!(settings.interval(), Duration::from_secs(60));
    // A quarter for each drive, in which a busy host starts the programs that do answer.
    let (thread, rx) = start(CollectorSource::Health(settings), 60_000, Duration::from_secs(8));
    let answer = rx.recv_timeout(LONG).unwrap();
    let values: Vec<String> = answer
        .values
        .iter()
        .map(|value| format!("{} {}={}", value.entity, value.name, value.value))
        .collect();
    assert_eq!(
        values,
        ["nvme0 temp1_celsius=41.85", "nvme0 percent_used=4", "sda temp1_celsius=33", "sdb power_on_hours=9"]
    );
    assert_eq!(answer.source, "smart");
    assert!(thread.stop().warning().is_none());
}
