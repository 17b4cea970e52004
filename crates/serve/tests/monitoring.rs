//! Monitoring of a served array by a real Prometheus, and the dashboards.

mod common;

use common::{PATIENCE, array, directory, serve_timed, tool};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A Prometheus that scrapes a served array every second.
struct Prometheus {
    process: Child,
    address: String,
}

impl Prometheus {
    fn start(directory: &Path, target: &str) -> Self {
        let config = directory.join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s }}\n\
             scrape_configs: [{{ job_name: arraylab, static_configs: [{{ targets: ['{target}'] }}] }}]\n"
        );
        fs::write(&config, text).unwrap();
        // Free a moment ago; nobody else is given it so soon.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus is needed by this test: scripts/install-test-clients.sh");
        Prometheus { process, address }
    }

    /// Values of a query, none where Prometheus is not there yet. A query that is wrong fails the test.
    fn query(&self, query: &str) -> Vec<Value> {
        let url = format!("http://{}/api/v1/query", self.address);
        let output = Command::new("curl")
            .args(["--silent", "--get", "--data-urlencode", &format!("query={query}"), &url])
            .output()
            .expect("curl is needed by this test: scripts/install-test-clients.sh");
        let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else { return Vec::new() };
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().unwrap().clone()
    }

    fn wait_for(&self, query: &str) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let values = self.query(query);
            if !values.is_empty() {
                return values;
            }
            assert!(Instant::now() < deadline, "never: {query}");
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every `expr` in a dashboard, as Grafana would send it.
fn queries(dashboard: &Value, found: &mut Vec<String>) {
    match dashboard {
        Value::Object(fields) => {
            if let Some(Value::String(query)) = fields.get("expr") {
                found.push(query.replace("$__rate_interval", "10s").replace("$volume", "nvme"));
            }
            fields.values().for_each(|value| queries(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
        _ => {}
    }
}

/// Proves that a real Prometheus scrapes a served array, that its linter has nothing to say against the names, that
/// volumes, drives, services and nodes are there with what was done to them, and that each query of each dashboard is
/// valid and finds something.
#[test]
fn prometheus_sees_a_served_array() {
    let directory = directory();
    let served = serve_timed(&array("storpool,capacity=256m"), directory.path());
    served.ctl("limit nvme iops=5000 bw_bytes_per_s=100000000");
    let target = served.metrics.unwrap().to_string();
    let prometheus = Prometheus::start(directory.path(), &target);
    prometheus.wait_for("arraylab_array_info");
    let mut client = served.client_of("nvme");
    for block in 0..200u64 {
        client.write(block * 4096, &[3; 4096], false).unwrap();
        client.read(block * 4096, 4096).unwrap();
    }
    let written = r#"arraylab_volume_ios_total{volume="nvme",direction="write"} >= 200"#;
    prometheus.wait_for(written);
    prometheus.wait_for("count_over_time(arraylab_array_info[10s]) >= 3");
    let dashboards = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dashboards"));
    let mut count = 0;
    for name in ["home", "drives", "volume"] {
        let text = fs::read_to_string(dashboards.join(format!("{name}.json"))).unwrap();
        let dashboard: Value = serde_json::from_str(&text).unwrap();
        let mut found = Vec::new();
        queries(&dashboard, &mut found);
        for query in &found {
            assert!(!prometheus.query(query).is_empty(), "{name}: nothing for {query}");
        }
        count += found.len();
    }
    assert!(count > 25, "{count} queries");
    for (query, expected) in [
        ("count(arraylab_drive_reads_total)", "24"),
        ("count(count by (node) (arraylab_service_busy_seconds_total))", "4"),
        (r#"arraylab_volume_limit_iops{volume="nvme"}"#, "5000"),
        (r#"sum(arraylab_volume_ios_total{volume="hdd"})"#, "0"),
        (r#"count(arraylab_service_memory_bytes{service="server"} > 0)"#, "3"),
        (r#"count(arraylab_service_processors{slice="alloc"} > 0)"#, "9"),
    ] {
        assert_eq!(prometheus.query(query)[0]["value"][1], expected, "{query}");
    }
    let page = tool("curl", &["--silent", &format!("http://{target}/metrics")]).stdout;
    let scraped = directory.path().join("scraped");
    fs::write(&scraped, page).unwrap();
    let linter = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(fs::File::open(&scraped).unwrap())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&linter.stderr);
    // It reads the older format, in which the help of `x` is not that of `x_total` as it is in OpenMetrics.
    let remarks: Vec<&str> = output.lines().filter(|line| !line.ends_with("_total no help text")).collect();
    assert!(remarks.is_empty(), "{output}");
}
