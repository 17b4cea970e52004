//! Served arrays under real clients. A client that is not installed fails its test by name.

mod common;

use common::{Teardown, array, arrays, directory, is_whole, options, serve, tool};
use serve::{Outcome, ServeError, ServedArray, serve_array};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use test_support::wait_until;

fn raid6() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=16m")
}

/// A file of bytes that no two sectors share.
fn distinct_file(path: &Path, bytes: usize) {
    let content: Vec<u8> =
        (0..bytes as u32 / 4).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(path, content).unwrap();
}

/// Proves that `nbdinfo` sees every export with its size and what it can do.
#[test]
fn nbdinfo_sees_the_exports() {
    let directory = directory();
    let array = array("e2700,layout=raid10,capacity=16m");
    let served = serve(&array, directory.path());
    let list = tool("nbdinfo", &["--list", "--json", &served.uri]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let names: Vec<&str> = list["exports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|export| export["export-name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["", "vol0", "vol1"]);
    for export in list["exports"].as_array().unwrap() {
        for flag in ["can_multi_conn", "can_fua", "can_flush", "can_trim", "can_zero", "can_cache", "can_df"]
        {
            assert_eq!(export[flag], true, "{flag}");
        }
        assert_eq!(export["block_size_minimum"], 512);
    }
    assert_eq!(list["exports"][1]["export-size"], array.volumes_bytes[0]);
}

/// Proves that `nbdcopy` brings a file in and out again unchanged, over several connections.
#[test]
fn nbdcopy_copies_both_ways() {
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    distinct_file(&from, 40 << 20);
    tool("nbdcopy", &["--flush", from.to_str().unwrap(), &served.uri]);
    tool("nbdcopy", &[&served.uri, to.to_str().unwrap()]);
    let (from, to) = (fs::read(from).unwrap(), fs::read(to).unwrap());
    assert!(from == to[..from.len()], "what came back differs");
}

/// Proves that `qemu-img convert` writes an image in and reads the same image out.
#[test]
fn qemu_img_converts() {
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let size = served.client().size_bytes();
    distinct_file(&from, 8 << 20);
    fs::File::options().write(true).open(&from).unwrap().set_len(size).unwrap();
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    tool("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", from, &served.uri]);
    tool("qemu-img", &["convert", "-f", "raw", "-O", "raw", &served.uri, to]);
    assert!(fs::read(from).unwrap() == fs::read(to).unwrap(), "what came back differs");
}

/// Proves that `qemu-io` finds its patterns, zeros where it zeroed, and zeros where it discarded.
#[test]
fn qemu_io_finds_its_patterns() {
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    let commands = [
        "write -P 0xa5 0 4M",
        "write -f -P 0x5a 1M 64k",
        "write -z 2M 1M",
        "discard 4M 4M",
        "flush",
        "read -P 0xa5 0 1M",
        "read -P 0x5a 1M 64k",
        "read -P 0 2M 1M",
        "read -P 0 4M 4M",
        "read -P 0xa5 3M 1M",
    ];
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", *command]));
    arguments.push(&served.uri);
    let output = tool("qemu-io", &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("failed"), "{text}");
}

/// Proves that `fio` verifies every block it wrote at depth 16, on every layout, healthy and with all the drives
/// lost that the layout may lose.
#[test]
fn fio_verifies_on_every_layout() {
    for (array, tolerance) in arrays() {
        let directory = directory();
        let served = serve(&array, directory.path());
        let uri = format!("--uri={}", served.uri);
        let verify = |seed: &str| {
            tool(
                "fio",
                &[
                    "--name=verify",
                    "--ioengine=nbd",
                    &uri,
                    "--rw=randwrite",
                    "--bsrange=512-64k",
                    "--iodepth=16",
                    "--size=6m",
                    "--verify=crc32c",
                    "--verify_state_save=0",
                    "--verify_fatal=1",
                    "--do_verify=1",
                    "--output-format=terse",
                    seed,
                ],
            );
        };
        verify("--randseed=1");
        for drive in 0..tolerance {
            served.ctl(&format!("fail {drive}"));
        }
        verify("--randseed=2");
        let report = served.scrub();
        assert_eq!(report["unrepairable_sectors"], 0, "{}: {report}", array.name);
        assert_eq!(report["parity_rewritten_stripes"], 0, "{}: {report}", array.name);
    }
}

/// Unmounts a file system. Between its fork and its exec a client of another test in this process holds the files that were open then:
/// the file system is busy until that is over.
fn unmount(tree: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let output = Command::new("umount").arg(tree).output().expect("umount is needed by this test");
        if output.status.success() {
            return;
        }
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(why.contains("busy") && Instant::now() < deadline, "{why}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Proves that ext4 on a served array (through nbdfuse and a loop device) keeps its files, through the loss and
/// replacement of a drive, and that `fsck` finds nothing after the unmount.
#[test]
fn ext4_stays_clean() {
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (disk, tree) = (at("disk"), at("tree"));
    fs::write(&disk, []).unwrap();
    fs::create_dir(&tree).unwrap();
    let mut fuse = Command::new("nbdfuse")
        .args([&disk, &served.uri])
        .spawn()
        .unwrap_or_else(|error| panic!("nbdfuse is needed by this test and cannot be run: {error}"));
    let mut teardown = Teardown::default();
    teardown.add("umount", &[&disk]);
    wait_until(Duration::from_secs(20), "nbdfuse shows the disk", || {
        fs::metadata(&disk).is_ok_and(|metadata| metadata.len() > 0)
    });
    let output = tool("losetup", &["-f", "--show", &disk]);
    let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    teardown.add("losetup", &["-d", &device]);
    tool("mkfs.ext4", &["-q", &device]);
    tool("mount", &[&device, &tree]);
    teardown.add("umount", &[&tree]);
    for index in 0..20u32 {
        distinct_file(&Path::new(&tree).join(format!("file{index}")), 200_000 + index as usize * 4);
        if index == 10 {
            tool("sync", &[]);
            // A spare takes its place.
            served.ctl("pull 2");
        }
    }
    unmount(&tree);
    tool("fsck.ext4", &["-f", "-n", &device]);
    tool("mount", &["-o", "ro", &device, &tree]);
    for index in 0..20u32 {
        let size = fs::metadata(Path::new(&tree).join(format!("file{index}"))).unwrap().len();
        assert_eq!(size, 200_000 + u64::from(index) * 4);
    }
    drop(teardown);
    fuse.wait().unwrap();
    served.wait_until("rebuilt", is_whole);
}

/// Proves that `--run` runs the command with the address in its environment, passes its exit status on, and
/// leaves no socket; and that the data is there the next time, but not for another array or a second server.
#[test]
fn commands_are_run_and_data_stays() {
    let directory = directory();
    let run = |array: &ServedArray, command: &str| {
        let options = serve::Options { command: Some(command.to_owned()), ..options(directory.path()) };
        serve_array(array.clone(), &options, &AtomicBool::new(false), &|_| ())
    };
    let write = "qemu-io -f raw -c 'write -P 7 0 1M' -c flush \"$ARRAYLAB_NBD_URI\" >&2 && exit 5";
    assert_eq!(run(&raid6(), write).unwrap().outcome, Outcome::CommandEnded(5), "127: qemu-io is needed");
    assert!(!directory.path().join("nbd").exists() && !directory.path().join("nbd.ctl").exists());
    let nested = serve(&raid6(), directory.path());
    let second = serve::Options {
        endpoint: serve::Endpoint::Unix(directory.path().join("other")),
        ..options(directory.path())
    };
    let refused = serve_array(raid6(), &second, &AtomicBool::new(false), &|_| ()).unwrap_err();
    assert!(
        matches!(refused, ServeError::Volume { .. }) && diagnostic::full_text(&refused).contains("in use"),
        "{refused}"
    );
    assert_eq!(refused.exit_status(), 2);
    assert_eq!(nested.client().read(0, 512).unwrap(), [7; 512]);
    nested.stop();
    let other = array("raid-levels,raid=5,disks=6,capacity=16m");
    let refused = run(&other, "true").unwrap_err();
    assert!(diagnostic::full_text(&refused).contains("another array"), "{refused}");
    let read = "qemu-io -f raw -c 'read -P 7 0 1M' \"$ARRAYLAB_NBD_URI\" | grep -q failed";
    assert_eq!(run(&raid6(), read).unwrap().outcome, Outcome::CommandEnded(1));
}

/// Proves that only the owner can open the control socket.
#[test]
fn the_control_socket_is_the_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    assert_eq!(fs::metadata(&served.control).unwrap().permissions().mode() & 0o777, 0o600);
}
