//! Services of a replicated system that stop and start, and what outlasts the server.

mod common;

use common::verified::{Verified, under_load};
use common::{Served, array, directory, serve, serve_timed};
use nbd::decode::Command as Nbd;
use serde_json::{Value, json};

/// The services that all drives of a node are behind.
fn servers(served: &Served, node: u32) -> Vec<String> {
    let status = served.ctl("status");
    let services = status["services"]["services"].as_array().unwrap();
    let server = services.iter().find(|service| service["service"] == "server").unwrap();
    let instances = server["instances"].as_u64().unwrap();
    (0..instances).map(|instance| format!("node-{node}/server-{instance}")).collect()
}

fn run_node(served: &Served, verb: &str, node: u32) {
    for service in servers(served, node) {
        served.ctl(&format!("{verb} {service}"));
    }
}

/// State of every volume, and the least number of replicas of any.
fn redundancy(status: &Value) -> Vec<(&str, u64)> {
    let volumes = status["volumes"].as_array().unwrap().iter().map(|volume| &volume["replicas"]);
    volumes
        .map(|replicas| (replicas["state"].as_str().unwrap(), replicas["least"].as_u64().unwrap()))
        .collect()
}

fn is_whole(status: &Value) -> bool {
    redundancy(status) == [("whole", 3); 3]
}

/// Proves that under verified load one node's and then a second's services can stop, also with a power cut in between,
/// that the third's stop makes I/O fail and loses nothing, that `status` says how many replicas are left, and that after the
/// starts all replicas are the same again without a byte wrong.
#[test]
fn stopped_services_cost_redundancy_and_no_data() {
    let directory = directory();
    let served = serve(&array("storpool,capacity=16m"), directory.path());
    let mut load = Verified::new(71);
    under_load(&served, &mut load, "one node stopped", || {
        run_node(&served, "stop", 1);
        assert_eq!(redundancy(&served.ctl("status")), [("degraded", 2); 3]);
    });
    load.write(&mut served.client(), 500);
    served.ctl("power-cut 7");
    load.check(&mut served.client(), true, "a power cut while a node is stopped");
    assert_eq!(redundancy(&served.ctl("status")), [("degraded", 2); 3]);
    under_load(&served, &mut load, "two nodes stopped", || {
        run_node(&served, "stop", 0);
        assert_eq!(redundancy(&served.ctl("status")), [("degraded", 1); 3]);
    });
    run_node(&served, "stop", 2);
    let status = served.ctl("status");
    assert_eq!(redundancy(&status), [("down", 0); 3]);
    let drives = status["volume"]["drives"].as_array().unwrap();
    assert!(drives.iter().all(|drive| drive["condition"] == "stopped"));
    let mut client = served.client();
    for command in [Nbd::Read, Nbd::Write] {
        let payload = if command == Nbd::Write { &[1; 4096][..] } else { &[] };
        client.submit(command, 0, 0, 4096, payload).unwrap();
        let reply = client.receive().unwrap();
        assert_eq!(reply.errno, 5, "{}", reply.words);
    }
    run_node(&served, "start", 2);
    load.check(&mut served.client(), false, "the last node runs again");
    under_load(&served, &mut load, "all nodes run again", || {
        run_node(&served, "start", 0);
        run_node(&served, "start", 1);
        served.wait_until("caught up", is_whole);
    });
    let status = served.wait_until("caught up", is_whole);
    assert!(status["background"]["resync"]["copied_stripes"].as_u64() > Some(0), "{status}");
    let report = served.scrub();
    assert_eq!((&report["repaired_sectors"], &report["parity_rewritten_stripes"]), (&json!(0), &json!(0)));
    assert_eq!(report["degraded_stripes"], 0);
    // What was stopped longest holds it all by itself.
    run_node(&served, "stop", 0);
    run_node(&served, "stop", 2);
    load.check(&mut served.client(), false, "the node that missed most");
}

/// Proves that slow drives and stopped services are known to the next server of the same directory, to its bytes and its
/// model, and that those which were undone are not.
#[test]
fn conditions_outlast_the_server() {
    let directory = directory();
    let array = array("storpool,capacity=16m");
    // What is as described has no such counter.
    let slowness = |status: &Value, drive: usize| {
        let part = status["parts_of_drives"][drive].as_str().unwrap();
        status["model"]["parts"][part]["fill_slowness_thousandths"].clone()
    };
    let served = serve_timed(&array, directory.path());
    served.ctl("slow 3 20");
    served.ctl("slow 5 4");
    served.ctl("slow 7 9");
    served.ctl("stop node-1/server-0");
    served.ctl("stop node-2/nvmed");
    served.ctl("start node-2/nvmed");
    served.ctl("slow 5 1");
    served.ctl("fail 7");
    served.ctl("replace 7");
    let mut client = served.client();
    (0..64).for_each(|block| client.write(block * 4096, &[7; 4096], true).unwrap());
    served.stop();
    for _ in 0..2 {
        let served = serve_timed(&array, directory.path());
        let status = served.ctl("status");
        assert_eq!(
            [3, 5, 7].map(|drive| slowness(&status, drive)),
            [json!(20_000), Value::Null, Value::Null]
        );
        assert_eq!(status["services"]["stopped"], json!(["node-1/server-0"]));
        assert_eq!(status["model"]["parts"]["node-1/server-0"]["fill_stopped"], 1);
        assert_eq!(redundancy(&status)[0], ("degraded", 2));
        served.stop();
    }
    let served = serve_timed(&array, directory.path());
    served.ctl("start node-1/server-0");
    served.ctl("slow 3 1");
    served.wait_until("caught up", is_whole);
    served.stop();
    let served = serve_timed(&array, directory.path());
    let status = served.ctl("status");
    assert_eq!((slowness(&status, 3), &status["services"]["stopped"]), (Value::Null, &json!([])));
    assert!(is_whole(&status));
    let mut client = served.client();
    assert!((0..64).all(|block| client.read(block * 4096, 4096).unwrap().iter().all(|&byte| byte == 7)));
}

/// Returns what `status` says of the array's condition: all but counts, moments and who is connected.
fn condition(status: &Value) -> Value {
    let model = &status["model"];
    let levels = |part: &Value| -> serde_json::Map<String, Value> {
        let counters = part.as_object().unwrap().iter();
        let states = counters.filter(|(name, _)| name.starts_with("fill_s"));
        states.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let parts = model["parts"].as_object().unwrap().iter().map(|(name, part)| (name, levels(part)));
    let slow: Vec<_> = parts.filter(|(_, levels)| !levels.is_empty()).collect();
    json!({
        "settings": model["settings"], "limits": model["limits"], "slow": slow, "parts_of_drives": status["parts_of_drives"],
        "drives": status["volume"]["drives"], "services": status["services"],
    })
}

/// Proves that spares which were used, a slow spare, settings and a slow drive outlast a stop of the server and a setting: a
/// drive that is slowed after a spare took its place is the spare, `status` says the same before and after, a setting can be
/// taken back, and what the command line says otherwise than before counts.
#[test]
fn spares_and_settings_outlast_the_server() {
    for (name, spare) in [
        ("flashsystem-840,capacity=16m", "module-7"),
        ("raid-levels,raid=6,disks=11,capacity=16m", "drive-11"),
    ] {
        let directory = directory();
        let array = array(name);
        let served = serve_timed(&array, directory.path());
        served.ctl("fail 3");
        let status = served.wait_until("rebuilt onto the spare", common::is_whole);
        assert_eq!(status["parts_of_drives"][3], spare, "{name}");
        served.ctl("slow 3 20");
        served.ctl("slow 1 4");
        served.ctl("set exact=on");
        let before = condition(&served.ctl("status"));
        assert_eq!(before["parts_of_drives"][3], spare, "{name}, after a setting");
        assert!(before["slow"].to_string().contains(spare), "{before}");
        assert_eq!(before["settings"]["exact"], "on", "{before}");
        served.stop();
        let served = serve_timed(&array, directory.path());
        assert_eq!(condition(&served.ctl("status")), before, "{name}");
        // There is no other spare: the place stays empty.
        served.ctl("fail 3");
        served.ctl("slow 1 1");
        served.ctl("set exact=off");
        let before = condition(&served.ctl("status"));
        assert_eq!((&before["drives"][3]["condition"], &before["slow"]), (&json!("failed"), &json!([])));
        served.stop();
        let served = serve_timed(&array, directory.path());
        assert_eq!(condition(&served.ctl("status")), before, "{name}");
        served.ctl("replace 3");
        served.wait_until("rebuilt", common::is_whole);
        served.ctl("set exact=on");
        served.stop();
        let otherwise = common::array(&format!("{name},exact=off"));
        let served = serve_timed(&otherwise, directory.path());
        assert_eq!(served.ctl("status")["model"]["settings"]["exact"], "off", "{name}");
    }
}

/// Proves that a service there is none of is refused by name, and that an array without services has none to stop.
#[test]
fn what_is_no_service_is_refused() {
    for (name, words) in [
        ("storpool,capacity=16m", "node-0/server-0"),
        ("raid-levels,raid=5,disks=3,capacity=16m", "no services"),
    ] {
        let directory = directory();
        let served = serve(&array(name), directory.path());
        let refusal =
            serve::ctl(&served.control, &["stop", "node-9/server-0"].map(str::to_owned)).unwrap_err();
        assert!(refusal.to_string().contains(words), "{refusal}");
    }
}

/// Proves that a drive which refuses writes is failed by the array while each object has another replica
/// that serves, though a node is stopped, and is kept where its loss would take a last one.
#[test]
fn a_broken_drive_beside_a_stopped_node_is_failed() {
    let directory = directory();
    let served = serve(&array("storpool,capacity=16m"), directory.path());
    let condition = |status: &Value| status["volume"]["drives"][0]["condition"].clone();
    let mut load = Verified::new(5);
    under_load(&served, &mut load, "a broken drive", || {
        run_node(&served, "stop", 1);
        served.ctl("break 0");
        served.wait_until("failed", |status| condition(status) == "failed");
    });
    drop(served);
    let other = common::directory();
    let served = serve(&array("storpool,capacity=16m"), other.path());
    run_node(&served, "stop", 1);
    run_node(&served, "stop", 2);
    served.ctl("break 0");
    let mut client = served.client();
    (0..64)
        .for_each(|block| drop(client.write(block * 262_144 % 16_000_000 / 4096 * 4096, &[7; 4096], true)));
    let _ = serve::ctl(&served.control, &["checkpoint".to_owned()]);
    let status = served.wait_until("noticed", |status| status["background"]["last_error"].is_string());
    assert_eq!(condition(&status), "present", "{status}");
    // The journal keeps what the drive refuses, and the server says so when it ends.
    served.stop_anyhow();
}
