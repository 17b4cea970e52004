//! Bringing much from the journal to the drives at once, which several threads do.

use layout::{Layout, Raid, Rotation};
use volume::{MemoryBackingStore, ScrubReport, Volume, VolumeSpec};

const DRIVE_BYTES: u64 = 4 << 20;
const DRIVES: u32 = 6;

fn spec() -> VolumeSpec {
    let raid = Raid { drives: DRIVES, drive_capacity_bytes: DRIVE_BYTES, segment_bytes: 16 << 10 };
    let layout = Layout::raid6(raid, Rotation::LeftSymmetric).unwrap();
    let drive_capacity_bytes = vec![DRIVE_BYTES; DRIVES as usize];
    VolumeSpec { layout, drive_capacity_bytes, identity: "destage".to_owned() }
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
