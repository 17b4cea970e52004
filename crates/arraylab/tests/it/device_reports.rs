//! A published plan on a real device beside the same plan on its twin: the same sections, and "not shown" where a device cannot
//! tell what a twin can.

use crate::support::{LoopDevice, NbdServer, json_lines, results, run_on, succeed, text};
use serde_json::Value;
use std::path::Path;

/// A bit of the FlashSystem's plan that has random load of several sizes, and the event that only an array can carry out.
const PIECE: &str = "--stage peak-4k --stage block-size --stage firmware-update --set runtime=0.5 --set ramp_time=0 \
                     --set numjobs=2 --set iodepth=8";

struct Ran {
    /// Headings of the report, in order.
    sections: Vec<String>,
    report: String,
    claims: Vec<Value>,
    findings: Vec<Value>,
    statuses: Vec<String>,
}

fn run(target: &str, directory: &Path) -> Ran {
    let run = directory.join("run");
    let output = run_on("flashsystem-840", target, &run, &PIECE.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{target}: {}", text(&output.stderr));
    let path = run.to_str().unwrap();
    succeed(&["report", path, "--format", "md"]);
    let report = std::fs::read_to_string(run.join("report.md")).unwrap();
    let word = |result: &Value, key: &str| result[key].as_str().unwrap().to_owned();
    Ran {
        sections: report.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect(),
        claims: json_lines(&succeed(&["claims", path, "--json"])),
        findings: json_lines(&succeed(&["findings", path, "--json"])),
        statuses: results(&run).iter().map(|result| word(result, "status")).collect(),
        report,
    }
}

/// Runs the piece on a device and on the twin and compares what can be read afterwards.
fn says_what_it_can(device: &str) {
    let directory = tempfile::tempdir().unwrap();
    let (on_twin, on_device) = (directory.path().join("twin"), directory.path().join("device"));
    for path in [&on_twin, &on_device] {
        std::fs::create_dir(path).unwrap();
    }
    let (twin, device) = (run("twin:flashsystem-840", &on_twin), run(device, &on_device));
    assert!(twin.sections.len() >= 8, "{:?}", twin.sections);
    let of_device = |section: &&String| twin.sections.contains(section);
    assert_eq!(
        device.sections.iter().filter(of_device).count(),
        twin.sections.len(),
        "{:?}",
        device.sections
    );
    let ids = |ran: &Ran| ran.claims.iter().map(|claim| claim["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&twin), ids(&device));
    let statuses = device.statuses.iter().chain(&twin.statuses);
    assert!(statuses.clone().all(|status| status == "done"), "{:?}", device.statuses);
    // Nobody was named who could update the firmware of this device, so nothing is known of an update.
    let update = device.claims.iter().find(|claim| claim["id"] == "F7").unwrap();
    assert_eq!(update["verdict"], "not-shown");
    assert!(update["because"].as_str().unwrap().contains("no event was recorded"), "{update}");
    assert!(device.report.contains("– is not shown"), "{}", device.report);
    // What is inside the twin is seen: its parts' use, its links. What is inside a device is not.
    let has = |ran: &Ran, kind: &str, key: &str, value: &str| {
        ran.findings.iter().any(|finding| finding["kind"] == kind && finding[key] == value)
    };
    assert!(
        has(&twin, "path-balance", "stage", "peak-4k") && !has(&device, "path-balance", "stage", "peak-4k")
    );
    for part in ["link", "controller", "drive"] {
        assert!(!has(&device, "limit", "by", part), "a device does not show its {part}s");
    }
    for claim in &device.claims {
        let known = &claim["known"]["reason"];
        assert_ne!(known, "limit-of-the-model", "no model is to blame for what a device does");
    }
}

/// Proves that a run on a block device reads like one on a twin, and says what it cannot show.
#[test]
fn on_a_loop_device() {
    says_what_it_can(&LoopDevice::new(256 << 20).path);
}

/// Proves the same of an NBD address, whose load is made by fio.
#[test]
fn on_an_nbd_address() {
    says_what_it_can(&NbdServer::new("256M").uri());
}
