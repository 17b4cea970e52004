//! The server, with real and with hostile clients.

mod common;

use common::record;
use diagnostic::{Problem, full_text};
use load::Sample;
use metrics::{
    AccessScope, LiveRun, MetricsError, MetricsListener, MetricsServer, PENDING_CONNECTIONS_LIMIT,
    REQUEST_TIME_LIMIT, RunLabels, RunProgress, Source, Token,
};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::{CaseStatus, Counter};
use test_support::wait_until;

/// 5,000 reads of 4 KiB in 5 s, of which 1 % took 10 ms and the others 1 ms.
fn sample() -> Sample {
    let mut sample = Sample { start_ns: 5_000_000_000, end_ns: 10_000_000_000, ..Sample::default() };
    sample.read.ios = 5000;
    sample.read.bytes = 5000 * 4096;
    sample.read.errors = 2;
    (0..5000).for_each(|n| sample.read.latency.record(if n % 100 == 0 { 10_000_000 } else { 1_000_000 }));
    sample
}

/// A run with names that would break a page which does not escape them.
fn run() -> LiveRun {
    let run = LiveRun::new(RunLabels {
        plan: "quick".into(),
        target: "file:/a\"b\\c\nd".into(),
        version: "1".into(),
    });
    run.run_progress(RunProgress {
        cases_total: 4,
        cases_ended: 1,
        share: 0.25,
        time_left_ns: Some(90_000_000_000),
    });
    run.case_started(&record(1, "bs=4096"));
    run.case_progress(1, 0.5);
    run.sample(1, "load", &sample());
    run.counters([Counter { source: "disk", entity: "sda", name: "r/s", value: 1000.5 }]);
    run.case_ended(0, CaseStatus::Done);
    run
}

fn server() -> MetricsServer {
    MetricsServer::start("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback, Arc::new(run())).unwrap()
}

fn command(program: &str, arguments: &[&str], input: &str) -> (bool, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; scripts/install-test-clients.sh installs it"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Reads a page as a scraper would, with Python's own HTTP client and a parser that knows nothing of ours.
const SCRAPE: &str = r##"
import re, sys, urllib.request
answer = urllib.request.urlopen(sys.argv[1], timeout=10)
assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"), answer.headers
lines = answer.read().decode().split("\n")
assert lines[-2:] == ["# EOF", ""], lines[-3:]
for line in lines[:-2]:
    if line.startswith("#"):
        assert re.fullmatch(r"# (HELP|TYPE) arraylab_[a-z_]+ .+", line), line
        continue
    found = re.fullmatch(r'(arraylab_[a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? ([-+.e0-9]+)', line)
    assert found, line
    print(found[1], found[2] or "-", float(found[3]), sep="\t")
"##;

fn scrape(address: SocketAddr) -> Vec<String> {
    let (is_good, text) = command("python3", &["-c", SCRAPE, &format!("http://{address}/metrics")], "");
    assert!(is_good, "{text}");
    text.lines().map(str::to_owned).collect()
}

fn has(lines: &[String], name: &str, labels: &str, value: &str) -> bool {
    lines.contains(&format!("{name}\t{labels}\t{value}"))
}

/// Proves that a scrape finds the run, the case under way, its last interval, totals and counters, and that an ended
/// case is gone at the next.
#[test]
fn a_scrape_finds_the_run() {
    let live = run();
    let server =
        MetricsServer::start("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback, Arc::new(live.clone()))
            .unwrap();
    let lines = scrape(server.address());
    let read = "stage=\"random\",case=\"bs=4096\",load=\"load\",direction=\"read\"";
    let p99 = format!("{read},q=\"0.99\"");
    let p999 = format!("{read},q=\"0.999\"");
    for (name, labels, value) in [
        ("arraylab_run_info", r#"plan="quick",target="file:/a\"b\\c\nd",version="1""#, "1.0"),
        ("arraylab_run_progress_ratio", "-", "0.25"),
        ("arraylab_run_time_left_seconds", "-", "90.0"),
        ("arraylab_cases_ended_total", "status=\"done\"", "1.0"),
        ("arraylab_case_progress_ratio", "stage=\"random\",case=\"bs=4096\"", "0.5"),
        ("arraylab_iops", read, "1000.0"),
        ("arraylab_bytes_per_second", read, "4096000.0"),
        ("arraylab_latency_mean_seconds", read, "0.00109"),
        ("arraylab_latency_quantile_seconds", &p99, "0.00100352"),
        ("arraylab_latency_quantile_seconds", &p999, "0.01"),
        ("arraylab_latency_max_seconds", read, "0.01"),
        ("arraylab_ios_total", "direction=\"read\"", "5000.0"),
        ("arraylab_errors_total", "direction=\"read\"", "2.0"),
        ("arraylab_latency_seconds_count", "direction=\"read\"", "5000.0"),
        ("arraylab_latency_seconds_bucket", "le=\"0.001048576\",direction=\"read\"", "4950.0"),
        ("arraylab_latency_seconds_bucket", "le=\"+Inf\",direction=\"read\"", "5000.0"),
        ("arraylab_observed", "source=\"disk\",entity=\"sda\",name=\"r/s\"", "1000.5"),
    ] {
        assert!(has(&lines, name, labels, value), "{name} {labels} {value}\n{}", lines.join("\n"));
    }
    assert!(!lines.iter().any(|line| line.starts_with("arraylab_iops\t") && line.contains("write")));
    live.sample(1, "load", &sample());
    live.case_ended(1, CaseStatus::Failed);
    let lines = scrape(server.address());
    assert!(!lines.iter().any(|line| line.contains("bs=4096")));
    assert!(has(&lines, "arraylab_ios_total", "direction=\"read\"", "10000.0"));
    assert!(has(&lines, "arraylab_cases_ended_total", "status=\"failed\"", "1.0"));
}

/// Proves that Prometheus's own checker reads the page and finds nothing to remark. It reads the older format, in which
/// the help of `x` is not that of `x_total` as it is in OpenMetrics, so that remark alone is expected.
#[test]
fn promtool_accepts_the_page() {
    let (_, text) = command("promtool", &["check", "metrics"], &run().exposition());
    let remarks: Vec<&str> = text.lines().filter(|line| !line.ends_with("_total no help text")).collect();
    assert!(remarks.is_empty(), "{text}");
    for bad in ["arraylab_x{ 1\n", "arraylab_x 1\n"] {
        let (is_good, text) = command("promtool", &["check", "metrics"], bad);
        assert!(!is_good && !text.is_empty(), "it would say so");
    }
}

/// Proves that curl gets the page, and a head without one.
#[test]
fn curl_gets_the_page() {
    let server = server();
    let url = format!("http://{}/metrics", server.address());
    let (is_good, text) = command("curl", &["-sS", "--fail", &url], "");
    assert!(is_good && text.ends_with("# EOF\n"), "{text}");
    let (is_good, text) = command("curl", &["-sS", "--fail", "--head", &url], "");
    assert!(is_good && text.starts_with("HTTP/1.1 200 OK\r\n") && !text.contains("# EOF"), "{text}");
    let (is_good, _) = command("curl", &["-sS", "--fail", &format!("http://{}/other", server.address())], "");
    assert!(!is_good);
}

fn connect(server: &MetricsServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

fn ask(server: &MetricsServer, request: &[u8]) -> String {
    let mut stream = connect(server);
    // The server may have refused before all of it is sent.
    let _ = stream.write_all(request);
    rest(stream)
}

/// Proves that long, broken and binary heads are refused with a status, and that the server goes on.
#[test]
fn broken_requests_are_refused() {
    let server = server();
    let long = format!("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    for (request, status) in [
        (long.as_bytes(), "431"),
        (b"\0\xff\xfe\r\n\r\n", "400"),
        (b"\r\n\r\n", "400"),
        (b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "400"),
        (b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        (b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        (b"GET /control HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
    ] {
        let answer = ask(&server, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    drop(connect(&server));
    assert!(!scrape(server.address()).is_empty());
}

/// Proves that more clients than may ask at once, of which some send nothing, some a byte at a time and some take nothing
/// of their answers, keep no scrape out or waiting, and are hung up on in their time.
#[test]
fn slow_clients_keep_nobody_out() {
    let server = server();
    let began = Instant::now();
    let mut slow: Vec<TcpStream> = Vec::new();
    for index in 0..2 * PENDING_CONNECTIONS_LIMIT {
        let mut stream = connect(&server);
        if index % 3 == 1 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        }
        slow.push(stream);
        if index % 16 != 0 {
            continue;
        }
        let requested = Instant::now();
        // Its request does not come with it: it needs a place meanwhile.
        let mut honest = connect(&server);
        std::thread::sleep(Duration::from_millis(20));
        honest.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let answer = rest(honest);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("# EOF\n"), "{index}: {answer}");
        assert!(requested.elapsed() < REQUEST_TIME_LIMIT / 2, "{index}: {:?}", requested.elapsed());
        for stream in slow.iter_mut().skip(2).step_by(3) {
            // It may have been hung up on.
            let _ = stream.write_all(b"G");
        }
    }
    for stream in slow {
        rest(stream);
    }
    assert!(began.elapsed() < REQUEST_TIME_LIMIT * 3, "{:?}", began.elapsed());
    assert!(!scrape(server.address()).is_empty());
}

/// Source with a state that commands change: it counts them.
struct Lamp(AtomicU64);

impl Source for Lamp {
    fn exposition(&self) -> String {
        "# EOF\n".to_owned()
    }

    fn state(&self) -> String {
        format!("{{\"kind\":\"lamp\",\"switched\":{}}}", self.0.load(Ordering::SeqCst))
    }

    fn command(&self, body: &[u8]) -> Result<serde_json::Value, Problem> {
        if body != b"{}" {
            return Err("a lamp knows only {}".into());
        }
        Ok(serde_json::json!({"switched": self.0.fetch_add(1, Ordering::SeqCst) + 1}))
    }

    fn stream_path(&self) -> Option<&'static str> {
        Some("/blink")
    }

    /// Blinks as often as it is told to, `for ever` as long as somebody looks; an odd number of times fails at its end.
    fn stream(&self, body: &[u8], send: &mut dyn FnMut(&serde_json::Value) -> bool) -> Result<(), Problem> {
        let text = std::str::from_utf8(body).unwrap();
        let times: u64 =
            if text == "for ever" { u64::MAX } else { text.parse().map_err(|_| "not a number")? };
        for time in 0..times {
            self.0.fetch_add(1, Ordering::SeqCst);
            if !send(&serde_json::json!({ "blink": time })) {
                self.0.store(0, Ordering::SeqCst);
                return Ok(());
            }
        }
        if times % 2 == 1 { Err("the lamp is broken".into()) } else { Ok(()) }
    }
}

/// Proves that an answer line by line has its head once and its lines in order, that a problem before the first line is a refusal and
/// after it the last line, that nobody gets one without the token, and that it ends when nobody listens any more.
#[test]
fn answers_may_come_line_by_line() {
    let token = Token::random().unwrap();
    let text = token.reveal().to_owned();
    let lamp = Arc::new(Lamp(AtomicU64::new(0)));
    let listener = MetricsListener::bind("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback).unwrap();
    let server = listener.serve(lamp.clone(), Some(token)).unwrap();
    let request = |token: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /blink HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nX-Arraylab-Token: {token}\r\n\r\n{body}"
        )
    };
    assert!(ask(&server, request("", "2").as_bytes()).starts_with("HTTP/1.1 401 "));
    assert!(ask(&server, b"GET /blink HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(ask(&server, request(&text, "often").as_bytes()).starts_with("HTTP/1.1 409 "));
    for (times, lines) in [
        ("0", ""),
        ("2", "{\"blink\":0}\n{\"blink\":1}\n"),
        ("1", "{\"blink\":0}\n{\"error\":\"the lamp is broken\"}\n"),
    ] {
        let answer = ask(&server, request(&text, times).as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("Content-Length"), "{head}");
        assert_eq!(body, lines);
    }
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request(&text, "for ever").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 64]).unwrap();
    drop(stream);
    let deadline = Instant::now() + REQUEST_TIME_LIMIT;
    while lamp.0.load(Ordering::SeqCst) != 0 {
        assert!(Instant::now() < deadline, "it blinks for nobody");
        std::thread::yield_now();
    }
}

fn post(server: &MetricsServer, more: &str, body: &str) -> String {
    let host = server.address();
    let length = body.len();
    ask(
        server,
        format!(
            "POST /control HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        )
        .as_bytes(),
    )
}

/// Proves that a command is carried out only with the token, from the page's own origin; that without, and on a server
/// that has none, nothing changes; and that what is wrong is said.
#[test]
fn commands_need_the_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let token = Token::read_or_make(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap().trim_end().to_owned();
    let lamp = Arc::new(Lamp(AtomicU64::new(0)));
    let listener = MetricsListener::bind("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback).unwrap();
    let server = listener.serve(lamp.clone(), Some(token)).unwrap();
    let with = format!("X-Arraylab-Token: {text}\r\n");
    for (more, status) in [
        (String::new(), "401"),
        ("X-Arraylab-Token: \r\n".to_owned(), "401"),
        (with.replace(&text[..4], "zzzz"), "401"),
        (format!("X-Arraylab-Token: {}\r\n", &text[..63]), "401"),
        (format!("Authorization: Bearer {text}\r\nCookie: token={text}\r\n"), "401"),
        (format!("{with}Origin: http://evil.example\r\n"), "403"),
        (format!("{with}Sec-Fetch-Site: cross-site\r\n"), "403"),
    ] {
        let answer = post(&server, &more, "{}");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{more}: {answer}");
    }
    let form = format!(
        "POST /control HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n{with}\r\n{{}}"
    );
    assert!(ask(&server, form.as_bytes()).starts_with("HTTP/1.1 415 "));
    let get = format!("GET /control?token={text} HTTP/1.1\r\nHost: localhost\r\n{with}\r\n");
    assert!(ask(&server, get.as_bytes()).starts_with("HTTP/1.1 405 "));
    assert_eq!(lamp.0.load(Ordering::SeqCst), 0, "nothing was switched so far");

    let answer = post(&server, &with, "{}");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("{\"switched\":1}"), "{answer}");
    let own = format!("{with}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", server.address());
    assert!(post(&server, &own, "{}").ends_with("{\"switched\":2}"));
    let answer = post(&server, &with, "nonsense");
    assert!(
        answer.starts_with("HTTP/1.1 409 ") && answer.ends_with("{\"error\":\"a lamp knows only {}\"}"),
        "{answer}"
    );
    let state = ask(&server, b"GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(state.ends_with("{\"kind\":\"lamp\",\"switched\":2}"), "{state}");

    let without =
        MetricsServer::start("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback, lamp.clone()).unwrap();
    assert!(post(&without, &with, "{}").starts_with("HTTP/1.1 401 "));
    assert!(post(&without, "X-Arraylab-Token: \r\n", "{}").starts_with("HTTP/1.1 401 "));
    assert_eq!(lamp.0.load(Ordering::SeqCst), 2);
}

/// Proves that the page, its styles and scripts are all served from here under a policy that lets nothing else in, and
/// that none of them names another place.
#[test]
fn the_page_needs_nobody_else() {
    let server = server();
    let get = |path: &str| ask(&server, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
    let page = get("/");
    let (head, html) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Security-Policy: default-src 'none'; script-src 'self';"), "{head}");
    assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick="));
    let mut waiting: Vec<String> = vec![html.to_owned()];
    let mut seen = vec!["/".to_owned(), "/metrics".to_owned()];
    while let Some(text) = waiting.pop() {
        // `http://www.w3.org/…` names the language of drawings; nothing is fetched from there.
        assert!(
            !text.replace("http://www.w3.org/2000/svg", "").contains("//www") && !text.contains("https:"),
            "{text}"
        );
        let words = text.split(['"', '\'']).skip(1).step_by(2);
        let named = words.filter(|word| word.starts_with("/") || word.starts_with("./"));
        for name in named.map(|name| name.trim_start_matches('.').to_owned()) {
            if name.starts_with("/control") && !name.ends_with(".js") || seen.contains(&name) {
                continue;
            }
            let answer = get(&name);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{name}: {answer}");
            waiting.push(answer.split_once("\r\n\r\n").unwrap().1.to_owned());
            seen.push(name);
        }
    }
    assert!(seen.len() >= 10, "{seen:?}");
}

/// Proves that an address which others can reach is refused unless that is asked for, that a port in use is named, and
/// that a dropped server is gone.
#[test]
fn addresses_are_local_unless_allowed() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let start = |address, access_scope| MetricsServer::start(address, access_scope, Arc::new(run()));
    let error = start(everywhere, AccessScope::Loopback).unwrap_err();
    assert!(matches!(error, MetricsError::NotLoopback(_)) && full_text(&error).contains("\nhint: "));
    drop(start(everywhere, AccessScope::Network).unwrap());
    let server = start("[::1]:0".parse().unwrap(), AccessScope::Loopback)
        .or_else(|_| start("127.0.0.1:0".parse().unwrap(), AccessScope::Loopback))
        .unwrap();
    let address = server.address();
    assert!(matches!(start(address, AccessScope::Loopback), Err(MetricsError::Listen { .. })));
    let before = Instant::now();
    drop(server);
    assert!(before.elapsed() < Duration::from_secs(1));
    // A process that another test starts at this moment holds the socket until its program has begun.
    wait_until(Duration::from_secs(10), "a dropped server listens no more", || {
        TcpStream::connect(address).is_err()
    });
}
