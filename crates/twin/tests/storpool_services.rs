//! Services of a StorPool node that stop and start, and drives that are replaced.

mod common;

use common::{Run, array, counter, measure, settings};
use load::Pattern;
use serde_json::{Value, json};
use twin::{ArrayDescription, Twin};

const MIXED: Run = Run {
    pattern: Pattern::Randrw,
    rwmixread: 50,
    bs_bytes: 4096,
    numjobs: 1,
    iodepth: 4,
    ramp_s: 0,
    runtime_s: 1,
};

/// The shipped system with volumes that are quickly copied.
fn small() -> ArrayDescription {
    let mut description = array("storpool");
    for volume in &mut description.parts.volumes {
        volume.keys.size.value = 1_000_000_000;
    }
    description
}

fn act(twin: &mut Twin, action: &str, name: &str, value: Value) {
    twin.act(twin.time_ns(), action, &settings(&[(name, value)])).unwrap();
}

/// Sum over the NVMe drives of a node.
fn on_node(twin: &Twin, node: u32, what: &str) -> u64 {
    (0..4).map(|drive| counter(twin, &format!("node-{node}/nvme-{drive}"), what)).sum()
}

fn levels(twin: &Twin, name: &str) -> u64 {
    twin.counters().iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}

/// Proves that the drives of a stopped service serve nothing while I/O goes on without an error on the others, that
/// replicas which missed writes are not read before they have caught up, and that they have caught up some time after the
/// start.
#[test]
fn a_stopped_service_costs_redundancy_and_no_data() {
    let mut twin =
        Twin::build(&small(), &settings(&[("volume", json!("nvme")), ("host", json!("client"))]), 1).unwrap();
    let before = measure(&mut twin, &MIXED);
    for service in ["node-1/server-0", "node-1/nvmed"] {
        act(&mut twin, "service-stop", "service", json!(service));
    }
    let quiet = ["reads", "writes"].map(|what| on_node(&twin, 1, what));
    let stopped = measure(&mut twin, &MIXED);
    assert_eq!(before.errors + stopped.errors, 0);
    // What was under way at the stop still comes to its end.
    let after = ["reads", "writes"].map(|what| on_node(&twin, 1, what));
    assert!(after.iter().zip(quiet).all(|(after, quiet)| after - quiet <= 8), "{quiet:?} {after:?}");
    assert_eq!(levels(&twin, "fill_stopped"), 2);
    let stale = levels(&twin, "fill_stale_replicas");
    assert!(stale > 10, "{stale}");
    // The service of all NVMe drives alone brings nothing back to those of server 0.
    act(&mut twin, "service-start", "service", json!("node-1/nvmed"));
    act(&mut twin, "service-start", "service", json!("node-1/server-0"));
    let catching_up = measure(&mut twin, &MIXED);
    let whole = (0..20).map(|_| measure(&mut twin, &MIXED)).last().unwrap();
    assert_eq!(catching_up.errors + whole.errors, 0);
    assert_eq!((levels(&twin, "fill_stale_replicas"), levels(&twin, "fill_stopped")), (0, 0));
    assert!((whole.iops() / before.iops() - 1.0).abs() < 0.05, "{} and {}", before.iops(), whole.iops());
    let notes: Vec<String> = twin.take_notes().into_iter().map(|note| note.says).collect();
    for words in [
        "node-1/nvmed has stopped; 4 drives do not serve",
        "node-1/server-0 has started",
        "all objects lie where they should",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(words)), "{words}: {notes:?}");
    }
}

/// Proves that I/O fails while no replica serves and goes on after the start, since a stop loses no data.
#[test]
fn a_system_that_is_stopped_answers_again() {
    let mut twin = Twin::build(&small(), &settings(&[("volume", json!("nvme"))]), 1).unwrap();
    for node in 0..3 {
        act(&mut twin, "service-stop", "service", json!(format!("node-{node}/nvmed")));
    }
    let stopped = measure(&mut twin, &Run { iodepth: 1, ..MIXED });
    assert!(stopped.errors > 0 && stopped.ios == 0, "{} of {}", stopped.errors, stopped.ios);
    for node in 0..3 {
        act(&mut twin, "service-start", "service", json!(format!("node-{node}/nvmed")));
    }
    measure(&mut twin, &MIXED);
    let again = measure(&mut twin, &MIXED);
    assert_eq!(again.errors, 0);
    assert!(again.ios > 1000);
}

/// Proves that a drive which takes a lost one's place serves again, with everything copied to it that still lies there.
#[test]
fn a_replaced_drive_serves_again() {
    let mut description = small();
    // No other drive of the node can take the replicas.
    description.parts.groups[0].count.count.value = 1;
    let mut twin = Twin::build(&description, &settings(&[("volume", json!("nvme"))]), 1).unwrap();
    act(&mut twin, "drive-failure", "drive", json!("node-2/nvme-0"));
    measure(&mut twin, &MIXED);
    let before = counter(&twin, "node-2/nvme-0", "writes");
    act(&mut twin, "drive-replacement", "drive", json!("node-2/nvme-0"));
    for _ in 0..20 {
        assert_eq!(measure(&mut twin, &MIXED).errors, 0);
    }
    assert!(counter(&twin, "node-2/nvme-0", "writes") > before + 1000);
    assert_eq!(levels(&twin, "fill_stale_replicas"), 0);
}
