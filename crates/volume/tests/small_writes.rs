//! Small writes over sectors that have changed silently.

use layout::{Layout, Raid, Rotation};
use volume::{MemoryBackingStore, Volume, VolumeSpec};

const DRIVES: u32 = 5;
const SEGMENT_BYTES: u64 = 16 << 10;
const BLOCK_BYTES: u64 = 4096;

fn spec() -> VolumeSpec {
    let raid = Raid { drives: DRIVES, drive_capacity_bytes: 64 << 10, segment_bytes: SEGMENT_BYTES };
    let layout = Layout::raid5(raid, Rotation::LeftSymmetric).unwrap();
    let drive_capacity_bytes = vec![64 << 10; DRIVES as usize];
    VolumeSpec { layout, drive_capacity_bytes, identity: "small writes".to_owned() }
}

fn content(block: u64, version: u32) -> Vec<u8> {
    let word = (block as u32).wrapping_mul(2_654_435_761) ^ version;
    word.to_le_bytes().repeat(1024)
}

/// Proves that a small write never makes parity of data or parity that has changed silently: whichever drive held the
/// changed sectors of a row, and whichever is lost after all of the row was written, the volume reads as written.
#[test]
fn parity_is_not_made_of_what_has_changed_silently() {
    for is_in_overlay in [false, true] {
        for corrupted in 0..DRIVES as u16 {
            for lost in 0..DRIVES as u16 {
                let volume = Volume::open(MemoryBackingStore::default(), spec()).unwrap();
                let blocks = volume.capacity_bytes() / BLOCK_BYTES;
                for block in 0..blocks {
                    volume.write_at(block * BLOCK_BYTES, &content(block, 1), false).unwrap();
                }
                // Brings all to the drives first.
                volume.corrupt_sectors(corrupted, 512, 2).unwrap();
                let segment_blocks = SEGMENT_BYTES / BLOCK_BYTES;
                // The first block of each column of the first stripe: the row of which two sectors have changed.
                let row = || (0..u64::from(DRIVES - 1)).map(|column| column * segment_blocks);
                let versions = if is_in_overlay { 2..=3 } else { 2..=2 };
                let newest = *versions.end();
                for version in versions {
                    for block in row() {
                        volume.write_at(block * BLOCK_BYTES, &content(block, version), false).unwrap();
                    }
                }
                volume.fail_drive(lost).unwrap();
                let mut bytes = vec![0; BLOCK_BYTES as usize];
                for block in 0..blocks {
                    volume.read_at(block * BLOCK_BYTES, &mut bytes).unwrap();
                    let version = if row().any(|written| written == block) { newest } else { 1 };
                    assert!(
                        bytes == content(block, version),
                        "drive {corrupted} changed, {lost} lost: block {block}"
                    );
                }
            }
        }
    }
}
