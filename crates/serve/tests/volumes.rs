//! Volumes that are made, resized and deleted on a served array, by its control socket, while others are used.

mod common;

use common::server_process::start_server;
use common::{PATIENCE, Random, Served, array, count, directory, options, serve, serve_timed, tool};
use nbd::Client;
use serde_json::Value;
use serve::{ServedArray, ctl, serve_array};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn listed(served: &Served) -> String {
    String::from_utf8(tool("nbdinfo", &["--list", &served.uri]).stdout).unwrap()
}

fn refused(served: &Served, words: &str) -> String {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    diagnostic::full_text(&ctl(&served.control, &words).unwrap_err())
}

/// Bytes of a volume that are all the same.
fn is_all(client: &mut Client, from_bytes: u64, to_bytes: u64, byte: u8) -> bool {
    (from_bytes..to_bytes).step_by(MIB as usize).all(|at| {
        client.read(at, (to_bytes - at).min(MIB) as u32).unwrap().iter().all(|&found| found == byte)
    })
}

fn fill(client: &mut Client, byte: u8) {
    for at in (0..client.size_bytes()).step_by(MIB as usize) {
        let count = (client.size_bytes() - at).min(MIB) as usize;
        client.write(at, &vec![byte; count], false).unwrap();
    }
    client.flush().unwrap();
}

/// Proves on a RAID level, a pool and a replicated system, timed and untimed, that volumes appear, grow with zeros, shrink,
/// become zero and go away by `ctl` while their neighbour keeps its data, that whoever used a deleted one is hung up on,
/// and that all of it is there after a stop.
#[test]
fn volumes_come_and_go() {
    for (text, first, is_timed) in [
        ("raid-levels,raid=6,disks=6,capacity=16m", "vol0", false),
        ("e2700,layout=ddp,capacity=16m", "vol1", true),
        ("storpool,capacity=16m", "hdd", true),
    ] {
        let directory = directory();
        let array = array(text);
        let start =
            || if is_timed { serve_timed(&array, directory.path()) } else { serve(&array, directory.path()) };
        let served = start();
        // Their own volumes take all of the first two.
        served.ctl(&format!("resize {first} 4m"));
        let mut neighbour = served.client_of(first);
        assert_eq!(neighbour.size_bytes(), 4 * MIB);
        fill(&mut neighbour, 7);
        let free = served.ctl("status")["free_bytes"].as_u64().unwrap();
        served.ctl("create data 3m");
        assert!(listed(&served).contains("export=\"data\""), "{text}");
        let mut client = served.client_of("data");
        assert!(client.size_bytes() == 3 * MIB && is_all(&mut client, 0, 3 * MIB, 0));
        fill(&mut client, 9);
        served.ctl("resize data 6m");
        let mut grown = served.client_of("data");
        assert!(grown.size_bytes() == 6 * MIB && is_all(&mut grown, 0, 3 * MIB, 9), "{text}");
        assert!(is_all(&mut grown, 3 * MIB, 6 * MIB, 0), "{text}");
        fill(&mut grown, 9);
        served.ctl("resize data 2m");
        assert!(grown.read(4 * MIB, 4096).is_err(), "what was cut off is gone");
        assert!(is_all(&mut grown, 0, 2 * MIB, 9));
        served.ctl("resize data 6m");
        assert!(
            is_all(&mut served.client_of("data"), 2 * MIB, 6 * MIB, 0),
            "{text}: what was cut off comes back as zeros"
        );
        served.ctl("create other 1m");
        fill(&mut served.client_of("other"), 5);
        served.ctl("initialise data");
        assert!(is_all(&mut served.client_of("data"), 0, 6 * MIB, 0), "{text}");
        assert!(is_all(&mut served.client_of("other"), 0, MIB, 5) && is_all(&mut neighbour, 0, 4 * MIB, 7));
        for (words, why) in [
            ("create data 1m", "a volume `data` already"),
            ("create -x 1m", "no name"),
            ("create x 1000t", "are free"),
            ("create x 100", "no size"),
            ("create x 1m ssd", "no template"),
            ("resize nobody 1m", "no volume `nobody`"),
            ("delete nobody", "no volume `nobody`"),
        ] {
            assert!(refused(&served, words).contains(why), "{words}: {}", refused(&served, words));
        }
        served.ctl("delete data");
        assert!(!listed(&served).contains("export=\"data\""), "{text}");
        let stream = UnixStream::connect(&served.socket).unwrap();
        assert!(
            Client::connect(stream, "data", true, PATIENCE).is_err(),
            "a deleted volume takes no clients"
        );
        let deadline = Instant::now() + PATIENCE;
        while client.read(0, 512).is_ok() || grown.flush().is_ok() {
            assert!(Instant::now() < deadline, "clients of a deleted volume are hung up on");
        }
        drop(served);
        let served = start();
        assert!(
            is_all(&mut served.client_of(first), 0, 4 * MIB, 7)
                && is_all(&mut served.client_of("other"), 0, MIB, 5)
        );
        served.ctl("delete other");
        assert_eq!(
            served.ctl("status")["free_bytes"].as_u64().unwrap(),
            free,
            "{text}: all of it is free again"
        );
    }
}

/// Proves that limits and templates stay with their volumes over a change of the model's settings and over a stop, as do
/// slow drives, lost drives and stopped services over the former.
#[test]
fn what_was_set_stays() {
    let directory = directory();
    let array = array("storpool,capacity=16m");
    let served = serve_timed(&array, directory.path());
    served.ctl("limit hdd iops=300");
    served.ctl("template hdd hybrid");
    served.ctl("slow node-0/hdd-1 5");
    served.ctl("stop node-1/server-2");
    served.ctl("fail 3");
    let limit_of = |status: &Value, volume: &str| {
        let limits = status["model"]["limits"].as_array().unwrap().clone();
        limits.into_iter().find(|limit| limit["volume"] == volume).unwrap()["limit"].clone()
    };
    let check = |served: &Served, is_same_run: bool| {
        let status = served.ctl("status");
        assert_eq!(limit_of(&status, "hdd")["iops"], 300.0, "{status}");
        assert_eq!(status["volumes"][2]["kept"]["template"], "hybrid");
        let parts = &status["model"]["parts"];
        if is_same_run {
            assert_eq!(parts["node-0/hdd-1"]["fill_slowness_thousandths"], 5000);
            assert_eq!(parts["node-1/server-2"]["fill_stopped"], 1);
        }
        // The bytes know which drives are lost, and tell the model at the start.
        assert!(status["model"]["notes"].to_string().contains("node-0/nvme-3 has failed"), "{status}");
        // A hybrid volume's reads come from its replica on NVMe: none waits for a disk.
        let mut client = served.client_of("hdd");
        (0..8u64).for_each(|block| drop(client.read(block * 65536, 4096).unwrap()));
    };
    check(&served, true);
    served.ctl("set write_cache=off");
    check(&served, true);
    served.ctl("create more 1m hdd");
    check(&served, true);
    assert_eq!(served.ctl("services")["stopped"][0], "node-1/server-2");
    served.ctl("slow node-0/hdd-1 1");
    served.ctl("start node-1/server-2");
    served.ctl("set write_cache=on");
    let parts = served.ctl("status")["model"]["parts"].clone();
    assert!(parts["node-0/hdd-1"]["fill_slowness_thousandths"].is_null(), "{parts}");
    assert!(parts["node-1/server-2"]["fill_stopped"].is_null());
    served.ctl("limit more bw_bytes_per_s=1000000");
    drop(served);
    let served = serve_timed(&array, directory.path());
    check(&served, false);
    assert_eq!(limit_of(&served.ctl("status"), "more")["bw_bytes_per_s"], 1_000_000.0);
}

const CHILD: &str = "ARRAYLAB_VOLUMES_CHILD";

fn small() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=4m")
}

fn start_child(directory: &Path) -> Child {
    start_server("kills_leave_before_or_after", CHILD, directory, &[], &directory.join("nbd.ctl"))
}

fn send_verb(directory: &Path, words: &[&str]) -> Result<Value, serve::ServeError> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    ctl(&directory.join("nbd.ctl"), &words)
}

fn open(directory: &Path, name: &str) -> Client {
    Client::connect(UnixStream::connect(directory.join("nbd")).unwrap(), name, true, PATIENCE).unwrap()
}

/// Name and size of each volume.
fn sizes(directory: &Path) -> Vec<(String, u64)> {
    let status = send_verb(directory, &["status"]).unwrap();
    let volumes = status["volumes"].as_array().unwrap();
    volumes
        .iter()
        .map(|volume| (volume["name"].as_str().unwrap().into(), volume["size_bytes"].as_u64().unwrap()))
        .collect()
}

/// Proves that a server killed with `kill -9` while volumes are made, resized and deleted has either the volumes before the
/// change under way or those after it, that those it has hold what was written to them, and that new ones are
/// zero: 10 kills, 100 with `ARRAYLAB_LONG=1`.
#[test]
fn kills_leave_before_or_after() {
    if let Some(path) = std::env::var_os(CHILD) {
        let never = AtomicBool::new(false);
        serve_array(small(), &options(Path::new(&path)), &never, &|_| ()).unwrap();
        return;
    }
    let directory = directory();
    let path = directory.path();
    let mut random = Random(3);
    let mut child = start_child(path);
    send_verb(path, &["resize", "vol0", "1m"]).unwrap();
    fill(&mut open(path, "vol0"), 1);
    let mut changes = 0;
    for kill in 0..count(100) {
        let pause = Duration::from_millis(20 + random.below(150));
        let mut killer = Some(child);
        let (mut before, mut wanted) = (sizes(path), sizes(path));
        std::thread::scope(|scope| {
            let mut killed = killer.take().unwrap();
            scope.spawn(move || {
                std::thread::sleep(pause);
                killed.kill().unwrap();
                killed.wait().unwrap();
            });
            loop {
                before.clone_from(&wanted);
                let name = format!("v{}", random.below(3));
                let size_bytes = (1 + random.below(3)) * MIB;
                let size = size_bytes.to_string();
                let place = wanted.iter().position(|(known, _)| *known == name);
                let words: Vec<&str> = match place {
                    None => {
                        wanted.push((name.clone(), size_bytes));
                        vec!["create", &name, &size]
                    }
                    Some(place) if random.below(2) == 0 => {
                        wanted[place].1 = size_bytes;
                        vec!["resize", &name, &size]
                    }
                    Some(place) => {
                        wanted.remove(place);
                        vec!["delete", &name]
                    }
                };
                if send_verb(path, &words).is_err() {
                    break;
                }
                changes += 1;
                if place.is_none() {
                    let Ok(stream) = UnixStream::connect(path.join("nbd")) else { break };
                    let Ok(mut client) = Client::connect(stream, &name, true, PATIENCE) else { break };
                    let Ok(bytes) = client.read(0, 65536) else { break };
                    assert!(bytes.iter().all(|&byte| byte == 0), "a new volume is zero");
                    if client.write(0, &[2; 65536], true).is_err() {
                        break;
                    }
                }
            }
        });
        child = start_child(path);
        let found = sizes(path);
        assert!(
            found == before || found == wanted,
            "kill {kill}: {found:?} is neither {before:?} nor {wanted:?}"
        );
        for (name, size_bytes) in &found {
            let mut client = open(path, name);
            assert_eq!(client.size_bytes(), *size_bytes);
            if name == "vol0" {
                assert!(is_all(&mut client, 0, MIB, 1), "kill {kill}: the neighbour has changed");
            } else {
                // Written once to its first 64 KiB or not at all.
                assert!(
                    is_all(&mut client, 65536, *size_bytes, 0),
                    "kill {kill}: {name} holds what is not its own"
                );
            }
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(changes > count(100) * 2, "only {changes} changes");
}
