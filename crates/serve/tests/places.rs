//! Backing stores and addresses: named files and devices, TCP, a full disk, directories that must be left alone.

mod common;

use common::{Teardown, array, directory, is_whole, options, serve, serve_with, tool};
use diagnostic::full_text;
use nbd::decode::Command as Nbd;
use nbd::{Client, Errno};
use serve::{Endpoint, Options, ServeError, ServedArray, serve_array};
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn raid6() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=16m")
}

fn refusal(array: ServedArray, options: &Options) -> ServeError {
    serve_array(array, options, &AtomicBool::new(true), &|_| ()).expect_err("this must be refused")
}

fn pattern(index: u64) -> Vec<u8> {
    (0..1u64 << 17).flat_map(|word| (word * 40_503 + index * 77).to_le_bytes()).collect()
}

/// Proves that a file and a loop device named with `--drive` that hold data are written only with their IDs, hold
/// the array's data then and after a restart, and that the array survives the loss of both.
#[test]
fn named_drives_hold_the_array() {
    let directory = directory();
    let (file, backing) = (directory.path().join("old"), directory.path().join("backing"));
    fs::write(&file, vec![0xaa; 20 << 20]).unwrap();
    fs::write(&backing, vec![0xbb; 20 << 20]).unwrap();
    let output = tool("losetup", &["-f", "--show", backing.to_str().unwrap()]);
    let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let mut teardown = Teardown::default();
    teardown.add("losetup", &["-d", device.to_str().unwrap()]);
    let mut named = Options { drives: vec![file.clone(), device.clone()], ..options(directory.path()) };
    for _ in 0..2 {
        let refused = refusal(raid6(), &named);
        assert!(matches!(refused, ServeError::Drive { .. }), "{refused}");
        let words = full_text(&refused);
        let id = words.split_once("--overwrite-data ").expect("the ID is told").1;
        let id: String = id.chars().take_while(|letter| !letter.is_whitespace()).collect();
        named.overwrite_data.push(id);
    }
    assert!(fs::read(&file).unwrap().iter().all(|&byte| byte == 0xaa), "nothing was written");
    let served = serve_with(&raid6(), named.clone());
    let mut client = served.client();
    for index in 0..16 {
        client.write(index << 20, &pattern(index), false).unwrap();
    }
    served.stop();
    let is_old = |path: &Path, byte: u8| fs::read(path).unwrap().iter().all(|&other| other == byte);
    assert!(!is_old(&file, 0xaa) && !is_old(&device, 0xbb), "the data lie elsewhere");
    assert!(!directory.path().join("data/drive-0000.0").exists());
    assert!(directory.path().join("data/drive-0002.0").exists());
    // The second time they are the array's own.
    let served = serve_with(&raid6(), Options { overwrite_data: Vec::new(), ..named });
    let mut client = served.client();
    served.ctl("fail 0");
    served.ctl("fail 1");
    for index in 0..16 {
        assert!(client.read(index << 20, 1 << 20).unwrap() == pattern(index), "MiB {index}");
    }
    served.wait_until("rebuilt on spares", is_whole);
}

/// Proves that a port on loopback serves as a socket does: `fio` verifies over it, and the address is as printed.
#[test]
fn a_port_is_served() {
    let directory = directory();
    let endpoint = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let served = serve_with(&raid6(), Options { endpoint, ..options(directory.path()) });
    let address = served.uri.strip_prefix("nbd://").expect("an NBD address");
    let uri = format!("--uri={}", served.uri);
    let verify =
        ["--name=tcp", "--ioengine=nbd", &uri, "--rw=randwrite", "--bs=4k", "--iodepth=16", "--size=4m"];
    tool("fio", &[&verify[..], &["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"]].concat());
    let stream = TcpStream::connect(address).unwrap();
    let mut client = Client::connect(stream, "vol0", true, Duration::from_secs(20)).unwrap();
    client.write(0, &[5; 4096], true).unwrap();
    assert_eq!(client.read(0, 4096).unwrap(), [5; 4096]);
    assert_eq!(served.control, directory.path().join("data/control"));
}

/// Proves that a full disk under the data directory is reported as "no space" to whoever writes, costs nothing that
/// was acknowledged, neither then nor after a restart, and that writes go on once there is room.
#[test]
fn a_full_disk_is_reported_and_loses_nothing() {
    let directory = directory();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    let mount = data.to_str().unwrap();
    tool("mount", &["-t", "tmpfs", "-o", "size=20m", "tmpfs", mount]);
    let mut teardown = Teardown::default();
    // Lazily: a program that another test is starting holds our descriptors until it runs.
    teardown.add("umount", &["-l", mount]);
    let array = array("raid-levels,raid=6,disks=6,capacity=64m");
    let served = serve(&array, directory.path());
    let mut client = served.client();
    let mut written = 0;
    let refused = loop {
        let reply = {
            client.submit(Nbd::Write, 0, written << 20, 1 << 20, &pattern(written)).unwrap();
            client.receive().unwrap()
        };
        if reply.errno != 0 {
            break reply.errno;
        }
        written += 1;
        assert!(written < 200, "20 MiB hold {written} MiB");
    };
    assert_eq!(refused, Errno::NoSpace as u32);
    assert!(written > 2, "only {written} MiB fitted");
    let is_there = |client: &mut Client, when: &str| {
        for index in 0..written {
            assert!(client.read(index << 20, 1 << 20).unwrap() == pattern(index), "{when}: MiB {index}");
        }
    };
    is_there(&mut client, "while full");
    let status = served.ctl("status");
    assert!(status["background"]["last_error"].as_str().unwrap().contains("space"), "{status}");
    assert!(
        status["volume"]["drives"].as_array().unwrap().iter().all(|drive| drive["condition"] == "present"),
        "a full disk is no drive's fault: {status}"
    );
    drop(client);
    // It cannot bring everything to the drives, and says so; the journal keeps it.
    served.stop_anyhow();
    tool("mount", &["-o", "remount,size=200m", mount]);
    let served = serve(&array, directory.path());
    let mut client = served.client();
    is_there(&mut client, "after the restart");
    client.write(written << 20, &pattern(written), true).unwrap();
    drop(client);
    let report = served.scrub();
    assert_eq!(report["unrepairable_sectors"], 0, "{report}");
    assert_eq!(report["parity_rewritten_stripes"], 0, "{report}");
    served.stop();
    drop(teardown);
}

/// Proves that a directory of another version is refused by name and left as it is.
#[test]
fn another_version_is_left_alone() {
    let directory = directory();
    serve(&raid6(), directory.path()).stop();
    let record = directory.path().join("data/array.json");
    let text = fs::read_to_string(&record).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let newer = value["format"].as_u64().expect("a version") + 1;
    value["format"] = newer.into();
    fs::write(&record, value.to_string()).unwrap();
    let contents = || -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(directory.path().join("data")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    };
    let before = contents();
    let refused = refusal(raid6(), &options(directory.path()));
    assert!(full_text(&refused).contains("format"), "{refused}");
    assert_eq!(refused.exit_status(), 2);
    assert!(contents() == before, "it was changed");
}
