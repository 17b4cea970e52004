//! Volumes on files: many threads, killed processes, and directories that must be refused.

mod common;

use common::{Random, arrays};
use layout::{Layout, Raid, Rotation};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use volume::{Directory, NamedDrive, ScrubReport, Volume, VolumeError, VolumeSpec};

fn spec(drives: u32) -> VolumeSpec {
    let raid = Raid { drives, drive_capacity_bytes: 4 << 20, segment_bytes: 16 << 10 };
    VolumeSpec {
        layout: Layout::raid6(raid, Rotation::LeftSymmetric).unwrap(),
        drive_capacity_bytes: vec![4 << 20; drives as usize],
        identity: format!("raid6 of {drives}"),
    }
}

fn open(path: &Path, spec: VolumeSpec) -> Result<Volume, VolumeError> {
    Volume::open(Directory::lock(path, Vec::new())?, spec)
}

/// Opens a volume that has just been closed. A process that another test is starting holds a copy of the lock until it
/// becomes another program.
fn reopen(path: &Path, spec: &VolumeSpec) -> Result<Volume, VolumeError> {
    let begun = Instant::now();
    loop {
        match open(path, spec.clone()) {
            Err(VolumeError::InUse { .. }) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => break opened,
        }
    }
}

/// Proves that threads that write and verify in parallel see only their own bytes while drives fail, are
/// replaced and rebuilt or rehomed, the array is scrubbed and the journal emptied; and that all is there after a
/// restart, with no parity off.
#[test]
fn threads_are_served_through_failures() {
    for (name, spec, tolerated) in arrays().into_iter().filter(|(_, _, tolerated)| *tolerated > 0) {
        let directory = tempfile::tempdir().unwrap();
        let volume = open(directory.path(), spec.clone()).unwrap();
        let is_done = AtomicBool::new(false);
        let threads = 4;
        let sectors = volume.capacity_bytes() / 512;
        let images: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|worker| {
                    let (volume, is_done) = (&volume, &is_done);
                    scope.spawn(move || {
                        let mut random = Random(worker + 77);
                        // Every fourth sector, so that stripes are shared.
                        let own: Vec<u64> = (worker..sectors).step_by(threads as usize).collect();
                        let mut image = vec![0u8; own.len() * 512];
                        while !is_done.load(Ordering::Relaxed) {
                            let index = random.below(own.len() as u64) as usize;
                            let slot = index * 512..index * 512 + 512;
                            if random.below(3) == 0 {
                                let mut bytes = [0; 512];
                                volume.read_at(own[index] * 512, &mut bytes).expect(name);
                                assert!(bytes == image[slot], "{name}: sector {}", own[index]);
                            } else {
                                let bytes = random.bytes(512);
                                volume.write_at(own[index] * 512, &bytes, false).expect(name);
                                image[slot].copy_from_slice(&bytes);
                            }
                        }
                        image
                    })
                })
                .collect();
            let mut random = Random(3);
            for _ in 0..8 {
                let drives = u64::from(spec.layout.drives());
                let lost: Vec<u16> = (0..tolerated).map(|_| random.below(drives) as u16).collect();
                let lost: Vec<u16> =
                    lost.into_iter().filter(|&drive| volume.fail_drive(drive).is_ok()).collect();
                volume.migration_step(random.below(5)).expect(name);
                lost.iter().for_each(|&drive| volume.replace_drive(drive).expect(name));
                while !volume.rebuild_step(3).expect(name).is_complete {}
                volume.scrub(0, u64::MAX, &mut ScrubReport::default()).expect(name);
                volume.checkpoint().expect(name);
            }
            is_done.store(true, Ordering::Relaxed);
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        drop(volume);
        let volume = reopen(directory.path(), &spec).unwrap();
        for (worker, image) in images.iter().enumerate() {
            for (index, expected) in image.chunks_exact(512).enumerate() {
                let mut bytes = [0; 512];
                volume.read_at((index as u64 * threads + worker as u64) * 512, &mut bytes).unwrap();
                assert!(bytes == expected, "{name}: after the restart");
            }
        }
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        assert_eq!(
            (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes),
            (0, 0, 0),
            "{name}"
        );
    }
}

const CHILD: &str = "ARRAYLAB_VOLUME_CHILD";
const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

/// Body of the child until it is killed: writes versioned blocks and logs each after it was acknowledged.
fn write_until_killed(path: &Path) -> ! {
    let volume = open(path, spec(6)).expect("the child opens the volume");
    let mut log = OpenOptions::new().append(true).create(true).open(path.join("acknowledged")).unwrap();
    let mut version = fs::metadata(path.join("acknowledged")).unwrap().len() / 16;
    let mut random = Random(u64::from(std::process::id()));
    loop {
        version += 1;
        let block = random.below(BLOCKS);
        volume.write_at(block * BLOCK as u64, &block_of(block, version), false).expect("the child writes");
        let mut line = block.to_le_bytes().to_vec();
        line.extend(version.to_le_bytes());
        log.write_all(&line).unwrap();
        if version.is_multiple_of(64) {
            volume.flush().expect("the child flushes");
        }
        if version.is_multiple_of(500) {
            volume.checkpoint().expect("the child empties the journal");
        }
    }
}

fn block_of(block: u64, version: u64) -> Vec<u8> {
    let pair = [block.to_le_bytes(), version.to_le_bytes()].concat();
    pair.iter().copied().cycle().take(BLOCK).collect()
}

/// Proves that a process killed with `kill -9` at any moment loses no write it had acknowledged, mixes no two
/// versions in a block and leaves every parity right: 20 kills of one volume, healthy at first, then with one
/// and two drives lost; 200 with `ARRAYLAB_LONG=1`.
#[test]
fn killed_processes_lose_nothing() {
    if let Some(path) = std::env::var_os(CHILD) {
        write_until_killed(Path::new(&path));
    }
    let kills = if test_support::is_long() { 200 } else { 20 };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(open(path, spec(6)).unwrap());
    fs::write(path.join("acknowledged"), []).unwrap();
    let mut random = Random(5);
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_processes_lose_nothing", "--nocapture"])
            .env(CHILD, path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(30 + random.below(60)));
        assert!(child.try_wait().unwrap().is_none(), "the child ended before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        let volume = open(path, spec(6)).unwrap();
        let mut newest = vec![0u64; BLOCKS as usize];
        let log = fs::read(path.join("acknowledged")).unwrap();
        for line in log.chunks_exact(16) {
            let block = u64::from_le_bytes(line[..8].try_into().unwrap());
            newest[block as usize] = u64::from_le_bytes(line[8..].try_into().unwrap());
        }
        let last_version = log.len() as u64 / 16;
        let mut bytes = vec![0; BLOCK];
        for block in 0..BLOCKS {
            volume.read_at(block * BLOCK as u64, &mut bytes).unwrap();
            let version = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
            // The one write under way may have arrived and not have been logged.
            let acknowledged = newest[block as usize];
            let is_right = version == acknowledged || version == last_version + 1;
            assert!(is_right, "kill {kill}: block {block} holds {version}, acknowledged was {acknowledged}");
            assert!(version == 0 || bytes == block_of(block, version), "kill {kill}: block {block} is mixed");
            if version != acknowledged {
                // What is there now is the truth from now on.
                let mut log = OpenOptions::new().append(true).open(path.join("acknowledged")).unwrap();
                log.write_all(&[block.to_le_bytes(), version.to_le_bytes()].concat()).unwrap();
            }
        }
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        assert_eq!(
            (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes),
            (0, 0, 0)
        );
        if kill == kills / 3 {
            volume.fail_drive(1).unwrap();
        } else if kill == kills * 2 / 3 {
            volume.pull_drive(4).unwrap();
        }
    }
    assert!(
        fs::metadata(path.join("acknowledged")).unwrap().len() / 16 > kills * 10,
        "the children hardly wrote"
    );
}

/// Proves that a directory in use, of another array, of another format, or with a drive of another volume or
/// none is refused with its reason, and that its data is unharmed.
#[test]
fn strange_directories_are_refused_unharmed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let volume = open(path, spec(6)).unwrap();
    volume.write_at(0, &[7; 4096], true).unwrap();
    let refusal = |spec| open(path, spec).err().map(|error| error.to_string()).expect("refused");
    assert!(refusal(spec(6)).contains("in use by another process"));
    drop(volume);
    assert!(
        refusal(VolumeSpec { identity: "another".to_owned(), ..spec(6) }).contains("made for another array")
    );
    let record = fs::read_to_string(path.join("array.json")).unwrap();
    fs::write(path.join("array.json"), record.replace("\"format\": 2", "\"format\": 9")).unwrap();
    assert!(refusal(spec(6)).contains("format 9"));
    fs::write(path.join("array.json"), &record[..record.len() / 2]).unwrap();
    assert!(refusal(spec(6)).contains("is damaged"));
    fs::write(path.join("array.json"), &record).unwrap();
    let (second, third) = (path.join("drive-0001.0"), path.join("drive-0002.0"));
    let aside = path.join("aside");
    fs::rename(&second, &aside).unwrap();
    assert!(refusal(spec(6)).contains("cannot open a drive"));
    fs::copy(&third, &second).unwrap();
    assert!(refusal(spec(6)).contains("another drive of this volume"));
    fs::rename(&aside, &second).unwrap();
    let mut bytes = [0; 4096];
    open(path, spec(6)).unwrap().read_at(0, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 4096]);
}

/// Proves that a file named for a drive that holds data is not overwritten unless that was allowed.
#[test]
fn named_drives_that_hold_data_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("precious");
    fs::write(&file, "precious").unwrap();
    let attempt = |overwrite| {
        let named = vec![NamedDrive { path: file.clone(), overwrite }];
        Directory::lock(&directory.path().join("volume"), named)
            .and_then(|store| Volume::open(store, spec(6)))
    };
    assert!(attempt(false).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let volume = attempt(true).unwrap();
    volume.write_at(0, &[1; 512], true).unwrap();
    drop(volume);
    assert!(attempt(false).is_ok(), "once it belongs to the volume it is opened");
}

/// Proves the rest of the interface at its edges: ranges that do not fit are refused, what was trimmed is not
/// allocated and reads as zeros, and beyond the redundancy reads are errors, never wrong bytes.
#[test]
fn edges_of_the_interface() {
    let directory = tempfile::tempdir().unwrap();
    let volume = open(directory.path(), spec(6)).unwrap();
    let capacity = volume.capacity_bytes();
    let mut sector = [0; 512];
    assert!(matches!(volume.read_at(1, &mut sector), Err(VolumeError::Unaligned { .. })));
    assert!(matches!(volume.read_at(capacity, &mut sector), Err(VolumeError::OutOfRange { .. })));
    assert!(matches!(volume.trim(u64::MAX - 511, 512), Err(VolumeError::OutOfRange { .. })));
    volume.read_at(capacity, &mut []).unwrap();
    let allocated = |volume: &Volume| -> u64 {
        let extents = volume.block_status(0, capacity).unwrap();
        assert_eq!(extents.iter().map(|extent| extent.length_bytes).sum::<u64>(), capacity);
        extents.iter().filter(|extent| extent.is_allocated).map(|extent| extent.length_bytes).sum()
    };
    assert_eq!(allocated(&volume), 0);
    volume.write_at(1 << 20, &vec![9; 1 << 20], false).unwrap();
    assert!((1 << 20..=2 << 20).contains(&allocated(&volume)));
    volume.checkpoint().unwrap();
    assert!((1 << 20..=2 << 20).contains(&allocated(&volume)));
    volume.trim(0, 4 << 20).unwrap();
    assert_eq!(allocated(&volume), 0);
    volume.read_at(1 << 20, &mut sector).unwrap();
    assert_eq!(sector, [0; 512]);
    volume.write_at(0, &[5; 65536], false).unwrap();
    (0..3).for_each(|drive| volume.fail_drive(drive).unwrap());
    let mut bytes = [0; 65536];
    assert!(matches!(volume.read_at(0, &mut bytes), Err(VolumeError::Lost { .. })));
    assert!(
        volume.fail_drive(0).is_err() && volume.fail_drive(99).is_err() && volume.replace_drive(5).is_err()
    );
}

/// Proves that random reads and writes of 4 KiB from files are fast enough to serve, and prints their rates.
#[test]
fn small_ios_cost_microseconds() {
    let directory =
        tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    let volume = open(directory.path(), spec(8)).unwrap();
    let blocks = volume.capacity_bytes() / 4096;
    let mut random = Random(1);
    let mut block = vec![3u8; 4096];
    for index in 0..blocks {
        volume.write_at(index * 4096, &block, false).unwrap();
    }
    volume.checkpoint().unwrap();
    let rounds = 20_000;
    let start = Instant::now();
    for _ in 0..rounds {
        volume.read_at(random.below(blocks) * 4096, &mut block).unwrap();
    }
    let read_us = start.elapsed().as_micros() as f64 / f64::from(rounds);
    let start = Instant::now();
    for _ in 0..rounds {
        volume.write_at(random.below(blocks) * 4096, &block, false).unwrap();
    }
    let write_us = start.elapsed().as_micros() as f64 / f64::from(rounds);
    println!("4 KiB on RAID 6 of 8 files: read {read_us:.1} µs, write {write_us:.1} µs");
    if !cfg!(debug_assertions) {
        assert!(read_us < 20.0 && write_us < 200.0, "read {read_us} µs, write {write_us} µs");
    }
}
