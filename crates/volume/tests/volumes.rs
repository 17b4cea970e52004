//! Volumes that are made, resized and deleted, with a crash at any moment.

mod common;

use common::{Random, arrays};
use serde_json::Map;
use volume::{MemoryBackingStore, Volume, VolumeChange, VolumeMap, VolumeSpec};

const UNIT: u64 = 4096;
const ONE: [u8; UNIT as usize] = [b'g'; UNIT as usize];
/// A change takes fewer writes and syncs than this.
const BUDGET_LIMIT: u64 = 60;

fn open(store: &MemoryBackingStore, spec: &VolumeSpec) -> Volume {
    let volume = Volume::open(store.clone(), spec.clone()).unwrap();
    if volume.volume_map().is_none() {
        volume.begin_map(VolumeMap::new(volume.capacity_bytes(), UNIT)).unwrap();
    }
    volume
}

fn create(name: &str, units: u64) -> VolumeChange {
    VolumeChange::Create { name: name.to_owned(), size_bytes: units * UNIT, attributes: Map::new() }
}

fn resize(name: &str, units: u64) -> VolumeChange {
    VolumeChange::Resize { name: name.to_owned(), size_bytes: units * UNIT }
}

fn delete(name: &str) -> VolumeChange {
    VolumeChange::Delete { name: name.to_owned() }
}

fn change(volume: &Volume, change: &VolumeChange) -> Result<(), volume::VolumeError> {
    let planned = volume.volume_map().unwrap().plan(change).unwrap();
    volume.change_volumes(&planned)
}

/// Everything in a volume.
fn content(volume: &Volume, name: &str) -> Vec<u8> {
    let map = volume.volume_map().unwrap();
    let mapped = map.find(name).unwrap();
    let mut bytes = Vec::new();
    for run in &mapped.runs {
        let mut part = vec![0; run.length_bytes as usize];
        volume.read_at(run.start_bytes, &mut part).unwrap();
        bytes.extend(part);
    }
    bytes.truncate(mapped.size_bytes as usize);
    bytes
}

fn fill(volume: &Volume, name: &str, byte: u8) {
    let map = volume.volume_map().unwrap();
    for run in &map.find(name).unwrap().runs {
        volume.write_at(run.start_bytes, &vec![byte; run.length_bytes as usize], false).unwrap();
    }
    volume.flush().unwrap();
}

/// Proves that after a crash at any write of a create, a resize either way or a delete the map is the one before or the one
/// after, that what the other volume holds is untouched, and that what a volume has gained reads as zeros even
/// where another's data lay: on every layout, with every moment of the crash, each losing half of what was not synced.
#[test]
fn a_crash_leaves_before_or_after() {
    for (name, spec, _) in arrays() {
        for (what, order) in [
            ("create", create("new", 2)),
            ("grow", resize("grows", 3)),
            ("shrink", resize("full", 1)),
            ("delete", delete("full")),
        ] {
            let (mut was_before, mut was_after) = (0, 0);
            for budget in 0.. {
                let store = MemoryBackingStore::default();
                let volume = open(&store, &spec);
                change(&volume, &create("full", 2)).unwrap();
                change(&volume, &create("grows", 1)).unwrap();
                // What is free now was another's.
                change(&volume, &create("old", 2)).unwrap();
                for name in ["full", "grows", "old"] {
                    fill(&volume, name, name.as_bytes()[0]);
                }
                change(&volume, &delete("old")).unwrap();
                // Its data comes back where giving space back was interrupted.
                let free = volume.volume_map().unwrap().plan(&create("probe", 2)).unwrap();
                for run in &free.map().find("probe").unwrap().runs {
                    volume.write_at(run.start_bytes, &vec![b'o'; run.length_bytes as usize], true).unwrap();
                }
                let before = volume.volume_map().unwrap();
                let after = before.plan(&order).unwrap().map().clone();
                store.fail_writes_after(Some(budget));
                let outcome = change(&volume, &order);
                drop(volume);
                let mut random = Random(budget);
                store.cut_power(|| random.below(2) == 0);
                store.fail_writes_after(None);
                let volume = open(&store, &spec);
                let map = volume.volume_map().unwrap();
                let context = format!("{name}, {what}, {budget}");
                assert!(map == before || map == after, "{context}: {map:?}");
                assert!(outcome.is_err() || map == after, "{context}: a change that was answered is gone");
                was_before += u64::from(map == before);
                was_after += u64::from(map == after);
                assert_eq!(content(&volume, "grows")[..UNIT as usize], ONE[..], "{context}");
                let is_cut = map == after && (what == "shrink" || what == "delete");
                if !is_cut {
                    assert_eq!(content(&volume, "full"), vec![b'f'; 2 * UNIT as usize], "{context}");
                } else if what == "shrink" {
                    assert_eq!(content(&volume, "full"), vec![b'f'; UNIT as usize], "{context}");
                }
                let gained = match what {
                    "create" if map == after => content(&volume, "new"),
                    "grow" if map == after => content(&volume, "grows")[UNIT as usize..].to_vec(),
                    _ => Vec::new(),
                };
                assert!(gained.iter().all(|&byte| byte == 0), "{context}: what was gained is not zero");
                // Once nothing fails any more all moments have been tried.
                if outcome.is_ok() && budget > BUDGET_LIMIT {
                    break;
                }
            }
            assert!(was_after > 0, "{name}, {what}");
            assert!(was_before > 0 || what == "shrink" || what == "delete", "{name}, {what}");
        }
    }
}
