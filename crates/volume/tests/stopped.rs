//! Drives of replicas that stop for a while and catch up.

mod common;

use common::{Random, arrays};
use layout::{Layout, ReplicaSpec};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use volume::{
    BackingStore, BlockStore, DriveCondition, MemoryBackingStore, Run, Volume, VolumeError, VolumeSpec,
};

const SECTOR: u64 = 512;
/// Of the test's replicas each node has two drives.
const NODES: u16 = 3;

fn replicas() -> VolumeSpec {
    let (_, spec, _) = arrays().into_iter().find(|(name, ..)| *name == "replicas").unwrap();
    spec
}

/// The drives of nodes.
fn drives_of(nodes: &[u16]) -> Vec<u16> {
    nodes.iter().flat_map(|node| [2 * node, 2 * node + 1]).collect()
}

fn sectors(volume: &Volume) -> u64 {
    volume.capacity_bytes() / SECTOR
}

fn write(volume: &Volume, sector: u64, value: u8) -> Result<(), VolumeError> {
    volume.write_at(sector * SECTOR, &[value; SECTOR as usize], false)
}

fn read(volume: &Volume, sector: u64) -> Result<u8, VolumeError> {
    let mut bytes = [0; SECTOR as usize];
    volume.read_at(sector * SECTOR, &mut bytes)?;
    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "sector {sector} is mixed");
    Ok(bytes[0])
}

fn whole(volume: &Volume) -> Vec<u64> {
    volume.replicas_of(&Run { start_bytes: 0, length_bytes: volume.capacity_bytes() })
}

fn catch_up(volume: &Volume) {
    let steps = (0..1000).map(|_| volume.resync_step(2).unwrap().is_complete);
    assert!(steps.into_iter().any(|is_complete| is_complete), "something is never caught up with");
}

/// Proves that replicas on stopped drives miss writes and are not read, that the last one's stop makes I/O fail and loses
/// nothing, that a replica which missed a write is not read after its start either, and that once it has caught up it alone
/// holds all that was written.
#[test]
fn a_stopped_replica_misses_writes_and_catches_up() {
    let volume = Volume::open(MemoryBackingStore::default(), replicas()).unwrap();
    let all = sectors(&volume);
    (0..all).for_each(|sector| write(&volume, sector, 1).unwrap());
    let objects = whole(&volume)[3];
    assert_eq!(whole(&volume), [0, 0, 0, objects]);
    volume.set_stopped(&drives_of(&[0])).unwrap();
    assert_eq!(whole(&volume), [0, 0, objects, 0]);
    // Every other object.
    let objects_of = |sector: u64| sector / 8;
    (0..all)
        .filter(|&sector| objects_of(sector) % 2 == 0)
        .for_each(|sector| write(&volume, sector, 2).unwrap());
    let expected = |sector: u64| if objects_of(sector) % 2 == 0 { 2 } else { 1 };
    volume.set_stopped(&drives_of(&[0, 1])).unwrap();
    assert_eq!(whole(&volume), [0, objects, 0, 0]);
    assert!((0..all).all(|sector| read(&volume, sector).unwrap() == expected(sector)));
    volume.set_stopped(&drives_of(&[0, 1, 2])).unwrap();
    assert!(matches!(read(&volume, 0), Err(VolumeError::Unavailable { .. })));
    assert!(matches!(write(&volume, 0, 9), Err(VolumeError::Unavailable { .. })));
    assert!(volume.trim(0, volume.capacity_bytes()).is_err());
    // Only the node that missed writes runs.
    volume.set_stopped(&drives_of(&[1, 2])).unwrap();
    assert_eq!(volume.resync_step(u64::MAX).unwrap().copied_stripes, 0);
    for sector in 0..all {
        match read(&volume, sector) {
            Ok(value) => assert!(value == 1 && objects_of(sector) % 2 == 1, "{sector} holds {value}"),
            Err(error) => {
                assert!(matches!(error, VolumeError::Unavailable { .. }) && objects_of(sector) % 2 == 0);
            }
        }
    }
    volume.set_stopped(&[]).unwrap();
    let behind: u64 = volume.status().drives.iter().map(|drive| drive.missed_stripes).sum();
    assert_eq!(behind, objects.div_ceil(2));
    catch_up(&volume);
    assert!(volume.status().drives.iter().all(|drive| drive.condition == DriveCondition::Present));
    assert_eq!(whole(&volume), [0, 0, 0, objects]);
    volume.set_stopped(&drives_of(&[1, 2])).unwrap();
    assert!((0..all).all(|sector| read(&volume, sector).unwrap() == expected(sector)));
}

/// Proves that a replica which has caught up in part, and then is the only one that is written, is not taken for one that lacks
/// writes after a kill: whether the others were stopped or lost meanwhile.
#[test]
fn what_was_caught_up_with_counts_when_others_go() {
    for is_lost in [false, true] {
        let store = MemoryBackingStore::default();
        let volume = Volume::open(store.clone(), replicas()).unwrap();
        let all = sectors(&volume);
        volume.set_stopped(&drives_of(&[0])).unwrap();
        (0..all).for_each(|sector| write(&volume, sector, 1).unwrap());
        volume.set_stopped(&[]).unwrap();
        assert_eq!(volume.resync_step(2).unwrap().copied_stripes, 2);
        if is_lost {
            drives_of(&[1, 2]).into_iter().for_each(|drive| volume.fail_drive(drive).unwrap());
        } else {
            volume.set_stopped(&drives_of(&[1, 2])).unwrap();
        }
        let written: Vec<u64> = (0..all).filter(|&sector| write(&volume, sector, 2).is_ok()).collect();
        assert_eq!(written.len(), 16, "two objects of eight sectors");
        drop(volume);
        let volume = Volume::open(store, replicas()).unwrap();
        for &sector in &written {
            assert_eq!(read(&volume, sector).unwrap(), 2, "lost: {is_lost}");
        }
        if !is_lost {
            volume.set_stopped(&[]).unwrap();
            catch_up(&volume);
            let expected = |sector: u64| if written.contains(&sector) { 2 } else { 1 };
            assert!((0..all).all(|sector| read(&volume, sector).unwrap() == expected(sector)));
        }
    }
}

/// A shelf that counts how often the record is written.
struct Counting(MemoryBackingStore, Arc<AtomicU64>);

impl BackingStore for Counting {
    fn name(&self) -> String {
        self.0.name()
    }

    fn drive(&self, drive: u16, generation: u32, size: u64, is_new: bool) -> io::Result<Arc<dyn BlockStore>> {
        self.0.drive(drive, generation, size, is_new)
    }

    fn journal(&self) -> io::Result<Arc<dyn BlockStore>> {
        self.0.journal()
    }

    fn read_record(&self) -> io::Result<Option<Vec<u8>>> {
        self.0.read_record()
    }

    fn write_record(&self, bytes: &[u8]) -> io::Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.write_record(bytes)
    }
}

/// Proves that catching up costs what is copied: over many small steps the record, which names every stripe that is missed,
/// is written a few times and not at each, and what is missed falls by exactly what was copied.
#[test]
fn catching_up_costs_what_it_copies() {
    const OBJECTS: u64 = 4000;
    const OBJECT_BYTES: u64 = 4096;
    let groups: Vec<Vec<u16>> = vec![(0..3).collect(); 3];
    let layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: OBJECTS * OBJECT_BYTES,
        object_bytes: OBJECT_BYTES,
        groups,
        drive_capacity_bytes: vec![OBJECTS * OBJECT_BYTES; 3],
        nodes: vec![0, 1, 2],
        seed: 1,
    });
    let drive_capacity_bytes = vec![OBJECTS * OBJECT_BYTES; 3];
    let spec = VolumeSpec { layout: layout.unwrap(), drive_capacity_bytes, identity: "many".to_owned() };
    let records = Arc::new(AtomicU64::new(0));
    let volume = Volume::open(Counting(MemoryBackingStore::default(), records.clone()), spec).unwrap();
    volume.set_stopped(&[0]).unwrap();
    (0..OBJECTS).for_each(|object| write(&volume, object * 8, 3).unwrap());
    volume.set_stopped(&[]).unwrap();
    let before = records.load(Ordering::Relaxed);
    let (mut copied, mut steps) = (0, 0);
    loop {
        let progress = volume.resync_step(16).unwrap();
        (copied, steps) = (copied + progress.copied_stripes, steps + 1);
        assert_eq!(progress.waiting_stripes, OBJECTS - copied);
        if progress.is_complete {
            break;
        }
    }
    assert_eq!((copied, steps), (OBJECTS, OBJECTS / 16));
    let written = records.load(Ordering::Relaxed) - before;
    assert!(written < 10, "{written} records for {steps} steps");
}

/// Contents that each sector may have: the last entry is what it must hold unless the power is cut.
struct Trial {
    store: MemoryBackingStore,
    volume: Option<Volume>,
    versions: Vec<Vec<u8>>,
    /// Sectors that could not be read since the power was cut: any of their versions may come up.
    is_open: Vec<bool>,
    stopped: Vec<u16>,
    random: Random,
    seed: u64,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let store = MemoryBackingStore::default();
        let volume = Volume::open(store.clone(), replicas()).unwrap();
        let count = sectors(&volume) as usize;
        Trial {
            store,
            volume: Some(volume),
            versions: vec![vec![0]; count],
            is_open: vec![false; count],
            stopped: Vec::new(),
            random: Random(seed),
            seed,
        }
    }

    fn volume(&self) -> &Volume {
        self.volume.as_ref().expect("open between steps")
    }

    fn reopen(&mut self, cuts_power: bool) {
        self.volume = None;
        if cuts_power {
            let mut random = Random(self.random.below(u64::MAX >> 34));
            self.store.cut_power(|| random.below(2) == 0);
        }
        self.volume = Some(Volume::open(self.store.clone(), replicas()).unwrap());
    }

    fn flushed(&mut self) {
        let known = self.versions.iter_mut().zip(&self.is_open).filter(|(_, is_open)| !**is_open);
        known.for_each(|(versions, _)| drop(versions.drain(..versions.len() - 1)));
    }

    /// Reads everything; what cannot be read is behind a stopped node.
    fn check(&mut self, is_after_cut: bool) {
        for sector in 0..self.versions.len() {
            let Ok(value) = read(self.volume(), sector as u64) else {
                assert!(!self.stopped.is_empty() || self.is_behind(), "seed {}: sector {sector}", self.seed);
                self.is_open[sector] |= is_after_cut;
                continue;
            };
            let versions = &mut self.versions[sector];
            if is_after_cut || self.is_open[sector] {
                self.is_open[sector] = false;
                assert!(versions.contains(&value), "seed {}: {sector} after a cut", self.seed);
                *versions = vec![value];
            } else {
                assert_eq!(Some(&value), versions.last(), "seed {}: sector {sector}", self.seed);
            }
        }
    }

    fn set(&mut self, sector: u64, value: u8) {
        self.versions[sector as usize].push(value);
        self.is_open[sector as usize] = false;
    }

    fn is_behind(&self) -> bool {
        self.volume().status().drives.iter().any(|drive| drive.missed_stripes > 0)
    }

    fn step(&mut self) {
        let all = self.versions.len() as u64;
        let sector = self.random.below(all);
        match self.random.below(100) {
            0..50 => {
                let value = 1 + self.random.below(250) as u8;
                // A write that is refused may not be seen either.
                if write(self.volume(), sector, value).is_ok() {
                    self.set(sector, value);
                }
            }
            50..54 => {
                let count = (1 + self.random.below(32)).min(all - sector);
                if self.volume().write_zeroes(sector * SECTOR, count * SECTOR, true, false).is_ok() {
                    (sector..sector + count).for_each(|sector| self.set(sector, 0));
                } else {
                    // Of several objects some may have been written.
                    (sector..sector + count).for_each(|sector| {
                        if let Ok(0) = read(self.volume(), sector) {
                            self.set(sector, 0);
                        }
                    });
                }
            }
            54..64 => {
                self.volume().flush().unwrap();
                self.flushed();
            }
            64..74 => {
                // At most two of three nodes, so that what was written last is always somewhere.
                let mut nodes: Vec<u16> = (0..NODES).filter(|_| self.random.below(3) == 0).collect();
                nodes.truncate(2);
                self.stopped = drives_of(&nodes);
                self.volume().set_stopped(&self.stopped).unwrap();
            }
            74..88 => {
                let stripes = 1 + self.random.below(3);
                let progress = self.volume().resync_step(stripes).unwrap();
                assert_eq!(progress.lost_sectors, 0, "seed {}", self.seed);
            }
            88..91 => self.volume().checkpoint().unwrap(),
            91..94 => self.reopen(false),
            94..97 => {
                self.reopen(true);
                // Those that cannot be read now keep all that they may hold.
                self.check(true);
            }
            _ => self.check(false),
        }
    }
}

/// Proves that through random stops, starts, kills and power cuts no replica is ever read that lacks a write, and that in
/// the end each node alone holds everything.
#[test]
fn no_stale_replica_is_ever_read() {
    let trials = if test_support::is_long() { 2000 } else { 200 };
    for seed in 0..trials {
        let mut trial = Trial::new(seed);
        (0..120).for_each(|_| trial.step());
        trial.volume().set_stopped(&[]).unwrap();
        trial.stopped.clear();
        catch_up(trial.volume());
        trial.check(false);
        for node in 0..NODES {
            let others: Vec<u16> = (0..NODES).filter(|&other| other != node).collect();
            trial.volume().set_stopped(&drives_of(&others)).unwrap();
            trial.check(false);
            trial.volume().set_stopped(&[]).unwrap();
        }
    }
}

/// Proves that a stopped drive can be lost, that only a lost one can be replaced, and that a replacement which stops before
/// it is rebuilt serves nothing that it has not got.
#[test]
fn stopped_drives_are_lost_and_replaced_like_others() {
    let volume = Volume::open(MemoryBackingStore::default(), replicas()).unwrap();
    (0..sectors(&volume)).for_each(|sector| write(&volume, sector, 7).unwrap());
    volume.set_stopped(&[0, 1]).unwrap();
    assert!(volume.replace_drive(0).is_err());
    volume.fail_drive(0).unwrap();
    volume.replace_drive(0).unwrap();
    volume.rebuild_step(3).unwrap();
    volume.set_stopped(&[]).unwrap();
    volume.set_stopped(&[0]).unwrap();
    volume.set_stopped(&[]).unwrap();
    let condition = volume.status().drives[0].condition;
    assert_eq!(condition, DriveCondition::CatchingUp);
    catch_up(&volume);
    volume.set_stopped(&drives_of(&[1, 2])).unwrap();
    assert!((0..sectors(&volume)).all(|sector| read(&volume, sector).unwrap() == 7));
}

/// Proves that drives of a layout without replicas cannot be stopped.
#[test]
fn parity_has_no_services() {
    for (name, spec, _) in arrays().into_iter().filter(|(name, ..)| name.starts_with("raid5")) {
        let volume = Volume::open(MemoryBackingStore::default(), spec).unwrap();
        assert!(matches!(volume.set_stopped(&[1]), Err(VolumeError::Drive { drive: 1, .. })), "{name}");
    }
}
