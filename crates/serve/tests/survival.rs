//! Nothing acknowledged is lost: kills, power cuts, lost drives and damaged sectors under verified load.

mod common;

use common::server_process::start_server;
use common::verified::{Verified, under_load};
use common::{PATIENCE, Random, array, arrays, count, directory, is_clean, is_whole, options, serve};
use nbd::Client;
use serve::{ServedArray, serve_array};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn small() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=4m")
}

const CHILD: &str = "ARRAYLAB_SERVE_CHILD";

/// Proves that a server killed with `kill -9` at random moments under verified load with flushes loses nothing it
/// acknowledged, and that parity is clean after recovery: 20 kills, 200 with `ARRAYLAB_LONG=1`.
#[test]
fn killed_servers_lose_nothing() {
    if let Some(path) = std::env::var_os(CHILD) {
        let never = AtomicBool::new(false);
        serve_array(small(), &options(Path::new(&path)), &never, &|_| ()).unwrap();
        return;
    }
    let directory = directory();
    let mut load = Verified::new(7);
    let mut writes = 0;
    for kill in 0..count(200) {
        let socket = directory.path().join("nbd");
        let mut child = start_server("killed_servers_lose_nothing", CHILD, directory.path(), &[], &socket);
        let mut client = Client::connect(UnixStream::connect(&socket).unwrap(), "", true, PATIENCE).unwrap();
        load.check(&mut client, false, &format!("after kill {kill}"));
        let pause = Duration::from_millis(20 + load.random.below(60));
        let before = load.next_version;
        std::thread::scope(|scope| {
            scope.spawn(|| load.write(&mut client, u64::MAX));
            std::thread::sleep(pause);
            child.kill().unwrap();
        });
        child.wait().unwrap();
        writes += load.next_version - before;
    }
    assert!(writes > count(200) * 20, "only {writes} writes");
    let served = serve(&small(), directory.path());
    load.check(&mut served.client(), false, "at the end");
    is_clean(&served, "at the end");
}

/// Proves that after a power cut at a random moment under load nothing behind a completed flush or FUA is missing,
/// no block is mixed and parity is clean: 10 cuts, 100 with `ARRAYLAB_LONG=1`, each losing half of the sectors
/// that were not synced.
#[test]
fn power_cuts_lose_nothing_flushed() {
    let directory = directory();
    let served = serve(&small(), directory.path());
    let mut load = Verified::new(11);
    for cut in 0..count(100) {
        let mut client = served.client();
        let pause = Duration::from_millis(20 + load.random.below(60));
        let is_with_checkpoint = cut % 3 == 0;
        std::thread::scope(|scope| {
            scope.spawn(|| load.write(&mut client, u64::MAX));
            std::thread::sleep(pause);
            if is_with_checkpoint {
                served.ctl("checkpoint");
            }
            served.ctl(&format!("power-cut {cut}"));
        });
        load.check(&mut served.client(), true, &format!("after power cut {cut}"));
        is_clean(&served, &format!("after power cut {cut}"));
    }
}

/// Proves that a power cut does not wait for whoever asks the array for something meanwhile, nor they for it: 20 cuts beside a
/// client of the control socket that fails and replaces a drive all the time.
#[test]
fn power_cuts_and_questions_do_not_wait_for_each_other() {
    let directory = directory();
    let served = serve(&ServedArray { spares: 0, ..small() }, directory.path());
    let is_over = AtomicBool::new(false);
    let longest = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                // While the power is off both are refused.
                let _ = serve::ctl(&served.control, &["fail".to_owned(), "1".to_owned()]);
                let _ = serve::ctl(&served.control, &["replace".to_owned(), "1".to_owned()]);
            }
        });
        let cut = |cut: u32| {
            let began = Instant::now();
            let words = ["power-cut".to_owned(), cut.to_string()];
            serve::ctl(&served.control, &words).map(|_| began.elapsed())
        };
        let outcomes: Vec<_> = (0..20).map(cut).collect();
        is_over.store(true, Ordering::Release);
        outcomes.into_iter().map(Result::unwrap).max().unwrap()
    });
    assert!(longest < Duration::from_secs(10), "a power cut took {longest:?}");
}

/// Proves that on every redundant layout as many drives as it may lose fail at random moments under load, are
/// replaced and rebuilt or rehomed, and no block is ever wrong.
#[test]
fn drives_fail_under_load() {
    for (array, tolerance) in arrays().into_iter().filter(|(_, tolerance)| *tolerance > 0) {
        let directory = directory();
        let served = serve(&array, directory.path());
        let mut load = Verified::new(u64::from(tolerance) + 40);
        let mut random = Random(5);
        let drives = array.spec.drive_capacity_bytes.len() as u64;
        for round in 0..2 {
            under_load(&served, &mut load, &format!("{} round {round}", array.name), || {
                let first = random.below(drives);
                // Of copies, the second is on another node.
                let lost: Vec<u64> =
                    (0..u64::from(tolerance)).map(|step| (first + step * 5) % drives).collect();
                for (index, drive) in lost.iter().enumerate() {
                    std::thread::sleep(Duration::from_millis(random.below(30)));
                    served.ctl(&format!("{} {drive}", if index == 0 { "fail" } else { "pull" }));
                }
                std::thread::sleep(Duration::from_millis(30));
                for drive in &lost {
                    // A spare may have taken its place already.
                    let words = ["replace".to_owned(), drive.to_string()];
                    let _ = serve::ctl(&served.control, &words);
                }
                served.wait_until("whole", is_whole);
            });
        }
        is_clean(&served, &array.name);
    }
}

/// Proves that a drive that refuses writes is failed by the array itself, and no request with it.
#[test]
fn a_drive_that_refuses_writes_is_failed() {
    let directory = directory();
    let served = serve(&ServedArray { spares: 0, ..small() }, directory.path());
    let mut load = Verified::new(3);
    let mut client = served.client();
    load.write(&mut client, 500);
    served.ctl("break 4");
    load.write(&mut client, 500);
    let words = ["checkpoint".to_owned()];
    // The checkpoint meets the error.
    let _ = serve::ctl(&served.control, &words);
    let status = served.wait_until("failed", |status| status["volume"]["drives"][4]["condition"] == "failed");
    assert!(status["background"]["last_error"].as_str().unwrap().contains("drive 4"), "{status}");
    load.write(&mut client, 500);
    load.check(&mut client, false, "after the drive broke");
    served.ctl("replace 4");
    served.wait_until("rebuilt", is_whole);
    load.check(&mut client, false, "after the rebuild");
    is_clean(&served, "after the rebuild");
}

/// Proves that of 100 sectors corrupted silently (1,000 with `ARRAYLAB_LONG=1`) on every redundant layout a scrub
/// finds and repairs each that holds something, and that every byte is right.
#[test]
fn corrupted_sectors_are_repaired() {
    for (array, _) in arrays().into_iter().filter(|(_, tolerance)| *tolerance > 0) {
        let directory = directory();
        let served = serve(&array, directory.path());
        let mut client = served.client();
        let layout = &array.spec.layout;
        // Twice as many rows as are damaged, one sector of each.
        let row_bytes = u64::from(layout.data_members()) * 512;
        let megabytes = (2 * count(1000) * row_bytes).div_ceil(1 << 20).max(4);
        let content = |index: u64| -> Vec<u8> {
            (0..1u64 << 18).flat_map(|word| ((word * 31 + index) as u32).to_le_bytes()).collect()
        };
        for index in 0..megabytes {
            client.write(index << 20, &content(index), true).unwrap();
        }
        served.ctl("checkpoint");
        let drives = array.spec.drive_capacity_bytes.len() as u64;
        let mut random = Random(17);
        let mut damaged = std::collections::BTreeSet::new();
        while (damaged.len() as u64) < count(1000) {
            // One sector of one member of a stripe's row, so that redundancy is left.
            let offset = random.below(megabytes << 20) / 512 * 512;
            let (stripe, within) = layout.stripe_of(offset);
            let row = within % u64::from(layout.segment_bytes());
            if !damaged.insert((stripe, row)) {
                continue;
            }
            let member = random.below(u64::from(layout.members())) as u32;
            let place = layout.place(stripe, member);
            assert!(u64::from(place.drive) < drives);
            served.ctl(&format!("corrupt {} {} 1", place.drive, place.offset_bytes + row));
        }
        let report = served.scrub();
        assert_eq!(report["repaired_sectors"], count(1000), "{}: {report}", array.name);
        assert_eq!(report["unrepairable_sectors"], 0, "{}: {report}", array.name);
        for index in 0..megabytes {
            assert!(client.read(index << 20, 1 << 20).unwrap() == content(index), "{}", array.name);
        }
        is_clean(&served, &array.name);
    }
}
