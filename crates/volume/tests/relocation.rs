//! Pieces that move to other drives while they are used, with a crash at any moment.

mod common;

use common::{Random, arrays};
use std::sync::atomic::{AtomicBool, Ordering};
use volume::{MemoryBackingStore, Run, ScrubReport, Volume, VolumeSpec};

const BLOCK: usize = 512;
const ROUNDS: u16 = 20;

fn replicas() -> VolumeSpec {
    arrays().into_iter().find(|(name, ..)| *name == "replicas").unwrap().1
}

fn all(volume: &Volume) -> Run {
    Run { start_bytes: 0, length_bytes: volume.capacity_bytes() }
}

/// Every second drive, from the first or from the second on: one of each node.
fn drives(first: u16) -> Vec<Vec<u16>> {
    vec![(0..3).map(|node| node * 2 + first).collect(); 3]
}

/// Proves that whatever was acknowledged while pieces move from drive to drive is there after a crash at any write, and
/// that all of it has moved in the end, with every replica the same: 120 crashes, each losing half of what was not synced.
#[test]
fn a_crash_while_pieces_move_loses_nothing() {
    let spec = replicas();
    let mut moved = 0;
    for trial in 0..120 {
        let store = MemoryBackingStore::default();
        let mut random = Random(trial);
        let volume = Volume::open(store.clone(), spec.clone()).unwrap();
        let blocks = volume.capacity_bytes() as usize / BLOCK;
        let mut acknowledged = vec![0u8; blocks];
        let mut submitted = vec![0u8; blocks];
        volume.prefer_drives(&all(&volume), &drives(0));
        while volume.relocate_step(1).unwrap() {}
        volume.prefer_drives(&all(&volume), &drives(1));
        store.fail_writes_after(Some(random.below(600)));
        let outcome = std::thread::scope(|scope| {
            let mover = scope.spawn(|| while volume.relocate_step(1).unwrap_or(false) {});
            for _ in 0..200 {
                let block = random.below(blocks as u64) as usize;
                let version = 1 + random.below(250) as u8;
                submitted[block] = version;
                if volume.write_at((block * BLOCK) as u64, &[version; BLOCK], true).is_err() {
                    break;
                }
                acknowledged[block] = version;
            }
            mover.join()
        });
        outcome.unwrap();
        moved += volume.relocated_pieces();
        drop(volume);
        store.cut_power(|| random.below(2) == 0);
        store.fail_writes_after(None);
        let volume = Volume::open(store, spec.clone()).unwrap();
        let check = |when: &str| {
            for block in 0..blocks {
                let mut bytes = [0; BLOCK];
                volume.read_at((block * BLOCK) as u64, &mut bytes).unwrap();
                let is_whole = bytes.iter().all(|&byte| byte == bytes[0]);
                let is_known = bytes[0] == acknowledged[block] || bytes[0] == submitted[block];
                assert!(is_whole && is_known, "trial {trial}, {when}: block {block}");
            }
        };
        check("after the crash");
        volume.prefer_drives(&all(&volume), &drives(1));
        while volume.relocate_step(1).unwrap() {}
        let pieces = volume.pieces_of(&all(&volume));
        assert_eq!((pieces[0], pieces[2], pieces[4]), (0, 0, 0), "{pieces:?}");
        check("at the end");
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        assert_eq!((report.unrepairable_sectors, report.parity_rewritten_stripes), (0, 0), "trial {trial}");
    }
    assert!(moved > 500, "only {moved} pieces moved before the crashes");
}

/// Proves that no write is missing on a piece that moved while it was written: four writers, hundreds of moves back and
/// forth, and each block holds its last version on every replica.
#[test]
fn writes_follow_their_piece() {
    const WRITERS: usize = 4;
    let volume = Volume::open(MemoryBackingStore::default(), replicas()).unwrap();
    let blocks = volume.capacity_bytes() as usize / BLOCK / WRITERS;
    let is_over = AtomicBool::new(false);
    let versions: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (volume, is_over) = (&volume, &is_over);
                scope.spawn(move || {
                    let mut random = Random(writer as u64);
                    let mut versions = vec![0u8; blocks];
                    while !is_over.load(Ordering::Relaxed) {
                        let block = random.below(blocks as u64) as usize;
                        versions[block] = 1 + random.below(250) as u8;
                        let at_bytes = ((block * WRITERS + writer) * BLOCK) as u64;
                        volume.write_at(at_bytes, &[versions[block]; BLOCK], false).unwrap();
                    }
                    versions
                })
            })
            .collect();
        for round in 0..ROUNDS {
            volume.prefer_drives(&all(&volume), &drives(round % 2));
            while volume.relocate_step(1).unwrap() {}
        }
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert!(volume.relocated_pieces() > u64::from(ROUNDS) * 40, "{}", volume.relocated_pieces());
    let mut report = ScrubReport::default();
    volume.scrub(0, u64::MAX, &mut report).unwrap();
    assert_eq!((report.unrepairable_sectors, report.parity_rewritten_stripes), (0, 0), "replicas differ");
    for (writer, versions) in versions.iter().enumerate() {
        for (block, version) in versions.iter().enumerate() {
            let mut bytes = [0; BLOCK];
            volume.read_at(((block * WRITERS + writer) * BLOCK) as u64, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| byte == version), "writer {writer}, block {block}");
        }
    }
}
