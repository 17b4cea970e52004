//! Bringing much from the journal to the drives: at once, and beside those who write.

mod common;

use layout::{Layout, Raid, Rotation};
use std::time::Duration;
use volume::{Directory, MemoryBackingStore, ScrubReport, Volume, VolumeSpec};

const DRIVE_BYTES: u64 = 4 << 20;
const DRIVES: u32 = 6;

fn spec() -> VolumeSpec {
    let raid = Raid { drives: DRIVES, drive_capacity_bytes: DRIVE_BYTES, segment_bytes: 16 << 10 };
    let layout = Layout::raid6(raid, Rotation::LeftSymmetric).unwrap();
    let drive_capacity_bytes = vec![DRIVE_BYTES; DRIVES as usize];
    VolumeSpec { layout, drive_capacity_bytes, identity: "destage".to_owned() }
}

/// Proves that a scrub that rewrites the parity of every stripe keeps overlay and journal within their limits, as writes do,
/// and that the parity fits afterwards.
#[test]
fn a_scrub_that_rewrites_much_stays_within_the_limits() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = Directory::lock(directory.path(), Vec::new()).unwrap();
        Volume::open(store, spec()).unwrap()
    };
    let file = directory.path().join("drive-0000.0");
    let volume = open();
    write(&volume, 1);
    volume.checkpoint().unwrap();
    drop(volume);
    let before = std::fs::read(&file).unwrap();
    let volume = open();
    write(&volume, 2);
    volume.checkpoint().unwrap();
    drop(volume);
    // Each checksum fits, and the parity of most stripes does not: P of four equal changes stays.
    std::fs::write(&file, before).unwrap();
    let volume = open();
    let limit = 64 << 10;
    volume.limit_overlay(limit);
    let (mut report, mut most) = (ScrubReport::default(), 0);
    let stripes = volume.status().stripes;
    for stripe in 0..stripes {
        volume.scrub(stripe, stripe + 1, &mut report).unwrap();
        most = most.max(volume.status().overlay_bytes);
    }
    assert!(report.parity_rewritten_stripes > stripes / 2, "{report:?}");
    // Two generations, and what one stripe added after it looked.
    let stripe_bytes = u64::from(DRIVES) * (16 << 10);
    assert!(most <= 2 * limit as u64 + stripe_bytes, "{most} bytes");
    let mut report = ScrubReport::default();
    volume.scrub(0, stripes, &mut report).unwrap();
    let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
    assert_eq!(found, (0, 0, 0));
}

/// Every second block of 4 KiB, so that there are thousands of runs.
fn write(volume: &Volume, version: u32) {
    for block in (0..volume.capacity_bytes() / 4096).step_by(2) {
        volume.write_at(block * 4096, &content(block, version), false).unwrap();
    }
}

fn content(block: u64, version: u32) -> Vec<u8> {
    let word = (block as u32).wrapping_mul(2_654_435_761) ^ version;
    word.to_le_bytes().repeat(1024)
}

fn check(volume: &Volume, version: u32, what: &str) {
    let mut bytes = vec![0; 4096];
    for block in (0..volume.capacity_bytes() / 4096).step_by(2) {
        volume.read_at(block * 4096, &mut bytes).unwrap();
        assert!(bytes == content(block, version), "{what}: block {block}");
    }
}

/// Proves that a checkpoint of thousands of runs brings all of them to the drives, durably and with their checksums and
/// parity; and that one in which a write fails anywhere says so, keeps every byte readable, and loses none in a power cut
/// that follows.
#[test]
fn many_runs_reach_their_drives_or_stay_in_the_journal() {
    let store = MemoryBackingStore::default();
    let mut volume = Volume::open(store.clone(), spec()).unwrap();
    write(&volume, 1);
    volume.checkpoint().unwrap();
    drop(volume);
    // All of it is durable: a cut takes nothing.
    store.cut_power(|| false);
    volume = Volume::open(store.clone(), spec()).unwrap();
    check(&volume, 1, "after a checkpoint and a cut");
    for (version, writes) in [(2, 0), (3, 1), (4, 700), (5, 2500)] {
        write(&volume, version);
        // Of the syncs of the journal and the writes to the drives so many succeed.
        store.fail_writes_after(Some(writes + 1));
        assert!(volume.checkpoint().is_err(), "{writes} writes are not enough");
        store.fail_writes_after(None);
        check(&volume, version, "after a checkpoint that failed");
        drop(volume);
        let mut keeps = false;
        store.cut_power(|| {
            keeps = !keeps;
            keeps
        });
        volume = Volume::open(store.clone(), spec()).unwrap();
        check(&volume, version, "after a cut in a checkpoint");
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
        assert_eq!(found, (0, 0, 0), "{writes} writes");
    }
}

/// Contents that a block may have: the last entry is what it must hold unless the power is cut.
struct Blocks(Vec<Vec<Vec<u8>>>);

impl Blocks {
    fn flushed(&mut self) {
        self.0.iter_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
    }
}

/// Proves that, while one generation is on its way to the drives and the next is written, the power may be cut after any
/// write or flush of the media, also in the middle of starting again: what was flushed is there, nothing is half-written,
/// and parity and checksums fit. A half of the journal that goes on where another has lost its end does not count.
#[test]
fn the_power_may_be_cut_between_any_two_writes_of_two_generations() {
    for cut_after in (0..3000).step_by(if test_support::is_long() { 1 } else { 23 }) {
        let what = format!("cut after {cut_after} writes");
        let store = MemoryBackingStore::default();
        let open = || {
            let volume = Volume::open(store.clone(), spec())?;
            volume.limit_overlay(64 << 10);
            Ok::<_, volume::VolumeError>(volume)
        };
        let mut volume = open().unwrap();
        let blocks = 64u64;
        let mut allowed = Blocks(vec![vec![vec![0; 1536]]; blocks as usize]);
        let mut random = common::Random(cut_after + 1);
        store.fail_writes_after(Some(cut_after));
        for version in 0.. {
            let block = random.below(blocks);
            let bytes = content(block, version)[..1536].to_vec();
            allowed.0[block as usize].push(bytes.clone());
            // Neighbours share stripes, and pages.
            if volume.write_at(block * 1536, &bytes, false).is_err() {
                break;
            }
            if random.below(20) == 0 {
                if volume.flush().is_err() {
                    break;
                }
                allowed.flushed();
            }
        }
        drop(volume);
        let loses = random.below(4);
        let cut = |random: &mut common::Random| {
            store.fail_writes_after(None);
            store.cut_power(|| match loses {
                0 => false,
                1 => true,
                _ => random.below(loses) == 0,
            });
        };
        cut(&mut random);
        // Starting again is cut off as well.
        store.fail_writes_after(Some(random.below(60)));
        drop(open());
        cut(&mut random);
        volume = open().expect(&what);
        let mut bytes = vec![0; 1536];
        for (block, versions) in (0..blocks).zip(&allowed.0) {
            volume.read_at(block * 1536, &mut bytes).expect(&what);
            for (sector, found) in bytes.chunks_exact(512).enumerate() {
                let is_allowed = versions.iter().any(|version| version[sector * 512..][..512] == *found);
                assert!(is_allowed, "{what}: block {block}, sector {sector}");
            }
        }
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
        assert_eq!(found, (0, 0, 0), "{what}");
    }
}

/// Proves that with a thread that destages, and four that write and read their own blocks, every read is of the last write
/// while generation after generation goes to the drives, and that a new process finds the same.
#[test]
fn generations_go_to_the_drives_beside_writers() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = Directory::lock(directory.path(), Vec::new()).unwrap();
        Volume::open(store, spec()).unwrap()
    };
    let volume = open();
    volume.limit_overlay(256 << 10);
    let threads = 4;
    let images: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let destaging = scope.spawn(|| volume.destage_for(Duration::from_secs(600)));
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let volume = &volume;
                scope.spawn(move || {
                    let mut random = common::Random(thread + 1);
                    let blocks = volume.capacity_bytes() / 4096 / threads;
                    let mut versions = vec![0; blocks as usize];
                    let mut bytes = vec![0; 4096];
                    for version in 1..=6000 {
                        let own = random.below(blocks);
                        let block = own * threads + thread;
                        versions[own as usize] = version;
                        volume.write_at(block * 4096, &content(block, version), false).unwrap();
                        let own = random.below(blocks);
                        let block = own * threads + thread;
                        volume.read_at(block * 4096, &mut bytes).unwrap();
                        let expected = versions[own as usize];
                        let is_right = match expected {
                            0 => bytes.iter().all(|&byte| byte == 0),
                            version => bytes == content(block, version),
                        };
                        assert!(is_right, "block {block}, version {expected}");
                    }
                    versions
                })
            })
            .collect();
        let images = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        volume.end_destaging();
        destaging.join().unwrap().unwrap();
        images
    });
    drop(volume);
    let volume = open();
    let mut bytes = vec![0; 4096];
    for (thread, versions) in (0..threads).zip(&images) {
        for (own, &version) in (0u64..).zip(versions).filter(|(_, version)| **version > 0) {
            let block = own * threads + thread;
            volume.read_at(block * 4096, &mut bytes).unwrap();
            assert!(bytes == content(block, version), "block {block} after the restart");
        }
    }
    let mut report = ScrubReport::default();
    volume.scrub(0, u64::MAX, &mut report).unwrap();
    let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
    assert_eq!(found, (0, 0, 0));
}
