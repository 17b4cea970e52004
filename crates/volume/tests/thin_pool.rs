//! Thin volumes with real bytes: a pool that is too small for them, with everything that happens to arrays.

mod common;

use common::{Random, arrays};
use layout::{Layout, Raid, Rotation};
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};
use volume::{
    MappedVolume, MemoryBackingStore, ScrubReport, Volume, VolumeChange, VolumeError, VolumeMap, VolumeSpec,
    thin_pool_bytes,
};

const UNIT: u64 = 4096;
const SECTOR: u64 = 512;
const SECTORS_OF_UNIT: u64 = UNIT / SECTOR;
/// A write that allocates takes fewer writes and syncs than this.
const BUDGET_LIMIT: u64 = 40;

fn open(store: &MemoryBackingStore, spec: &VolumeSpec) -> Volume {
    let volume = Volume::open(store.clone(), spec.clone()).unwrap();
    if volume.volume_map().is_none() {
        volume.begin_map(VolumeMap::thin(volume.capacity_bytes(), UNIT)).unwrap();
    }
    volume
}

fn change(volume: &Volume, change: &VolumeChange) {
    let planned = volume.volume_map().unwrap().plan(change).unwrap();
    volume.change_volumes(&planned).unwrap();
}

fn create(volume: &Volume, name: &str, units: u64) {
    let (name, attributes) = (name.to_owned(), Map::new());
    change(volume, &VolumeChange::Create { name, size_bytes: units * UNIT, attributes });
}

fn delete(volume: &Volume, name: &str) {
    change(volume, &VolumeChange::Delete { name: name.to_owned() });
}

fn resize(volume: &Volume, name: &str, units: u64) {
    change(volume, &VolumeChange::Resize { name: name.to_owned(), size_bytes: units * UNIT });
}

fn mapped(volume: &Volume, name: &str) -> MappedVolume {
    volume.volume_map().unwrap().find(name).unwrap().clone()
}

/// I/O on a volume by its name.
macro_rules! thin {
    ($volume:expr, $name:expr) => {{
        let mapped = mapped($volume, $name);
        $volume.thin_volume(mapped.thin.unwrap(), mapped.size_bytes).unwrap()
    }};
}

fn read(volume: &Volume, name: &str) -> Vec<u8> {
    let mut bytes = vec![0xee; mapped(volume, name).size_bytes as usize];
    thin!(volume, name).read_at(0, &mut bytes).unwrap();
    bytes
}

fn allocated(volume: &Volume, name: &str) -> BTreeSet<u64> {
    let size_bytes = mapped(volume, name).size_bytes;
    let (mut units, mut at_bytes) = (BTreeSet::new(), 0);
    while at_bytes < size_bytes {
        for extent in thin!(volume, name).block_status(at_bytes, size_bytes - at_bytes).unwrap() {
            if extent.is_allocated {
                units.extend(at_bytes / UNIT..(at_bytes + extent.length_bytes).div_ceil(UNIT));
            }
            at_bytes += extent.length_bytes;
        }
    }
    units
}

/// Content that a volume must hold: by sector what it may be, the last what it is unless the power is cut.
#[derive(Default)]
struct Content {
    sectors: Vec<Vec<[u8; 512]>>,
    allocated: BTreeSet<u64>,
}

struct Trial {
    store: MemoryBackingStore,
    spec: VolumeSpec,
    volume: Option<Volume>,
    volumes: BTreeMap<String, Content>,
    random: Random,
    what: String,
    pool_units: u64,
    refused: u64,
    tolerated: u64,
}

impl Trial {
    fn new(name: &str, spec: &VolumeSpec, tolerated: usize, seed: u64) -> Self {
        let store = MemoryBackingStore::default();
        let volume = open(&store, spec);
        let pool_units = volume.thin_pool().unwrap().size_bytes / UNIT;
        let mut trial = Trial {
            store,
            spec: spec.clone(),
            volume: Some(volume),
            volumes: BTreeMap::new(),
            random: Random(seed),
            what: format!("{name}, seed {seed}"),
            pool_units,
            refused: 0,
            tolerated: tolerated as u64,
        };
        trial.create("a", 2 * pool_units);
        trial.create("b", pool_units);
        trial
    }

    fn volume(&self) -> &Volume {
        self.volume.as_ref().unwrap()
    }

    fn create(&mut self, name: &str, units: u64) {
        create(self.volume(), name, units);
        let sectors = vec![vec![[0; 512]]; (units * SECTORS_OF_UNIT) as usize];
        self.volumes.insert(name.to_owned(), Content { sectors, allocated: BTreeSet::new() });
    }

    fn free_units(&self) -> u64 {
        self.pool_units - self.volumes.values().map(|content| content.allocated.len() as u64).sum::<u64>()
    }

    /// A volume, and a range of it in sectors.
    fn range(&mut self) -> (String, u64, u64) {
        let names: Vec<String> = self.volumes.keys().cloned().collect();
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        let sectors = self.volumes[&name].sectors.len() as u64;
        let first = self.random.below(sectors);
        let longest = if self.random.below(3) == 0 { 4 * SECTORS_OF_UNIT } else { 6 };
        let count = (1 + self.random.below(longest)).min(sectors - first);
        (name, first, count)
    }

    fn write(&mut self) {
        let (name, first, count) = self.range();
        let (is_zero, fua) = (self.random.below(6) == 0, self.random.below(8) == 0);
        let bytes = if is_zero {
            vec![0; (count * SECTOR) as usize]
        } else {
            self.random.bytes((count * SECTOR) as usize)
        };
        let units: BTreeSet<u64> =
            (first / SECTORS_OF_UNIT..=(first + count - 1) / SECTORS_OF_UNIT).collect();
        let needed = units.difference(&self.volumes[&name].allocated).count() as u64;
        let free = self.free_units();
        let thin = thin!(self.volume(), &name);
        let outcome = if is_zero {
            thin.write_zeroes(first * SECTOR, count * SECTOR, false, fua)
        } else {
            thin.write_at(first * SECTOR, &bytes, fua)
        };
        if needed > free {
            let Err(VolumeError::PoolFull { needed_units, free_units, unit_bytes: UNIT }) = outcome else {
                panic!("{}: {needed} units of {free} were given: {outcome:?}", self.what);
            };
            assert_eq!((needed_units, free_units), (needed, free), "{}", self.what);
            self.refused += 1;
            return;
        }
        outcome.unwrap_or_else(|error| panic!("{}: {needed} of {free}: {error}", self.what));
        let content = self.volumes.get_mut(&name).unwrap();
        content.allocated.extend(units);
        for (index, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
            content.sectors[first as usize + index].push(sector.try_into().unwrap());
        }
        if fua {
            self.flushed();
        }
    }

    /// Zeroing with holes, or a trim.
    fn zero(&mut self) {
        let (name, first, count) = self.range();
        let is_trim = self.random.below(2) == 0;
        let thin = thin!(self.volume(), &name);
        let outcome = if is_trim {
            thin.trim(first * SECTOR, count * SECTOR, false)
        } else {
            thin.write_zeroes(first * SECTOR, count * SECTOR, true, false)
        };
        outcome.expect(&self.what);
        let content = self.volumes.get_mut(&name).unwrap();
        let freed = first.div_ceil(SECTORS_OF_UNIT)..(first + count) / SECTORS_OF_UNIT;
        content.allocated.retain(|unit| !freed.contains(unit));
        for sector in first..first + count {
            if !is_trim || freed.contains(&(sector / SECTORS_OF_UNIT)) {
                content.sectors[sector as usize].push([0; 512]);
            }
        }
    }

    fn change_volumes(&mut self) {
        let units = 1 + self.random.below(self.pool_units);
        match self.random.below(3) {
            0 if self.volumes.remove("b").is_some() => delete(self.volume(), "b"),
            0 => self.create("b", units),
            _ => {
                resize(self.volume(), "a", units);
                let a = self.volumes.get_mut("a").unwrap();
                a.sectors.resize((units * SECTORS_OF_UNIT) as usize, vec![[0; 512]]);
                a.allocated.retain(|&unit| unit < units);
            }
        }
    }

    fn flushed(&mut self) {
        for versions in self.volumes.values_mut().flat_map(|content| &mut content.sectors) {
            versions.drain(..versions.len() - 1);
        }
    }

    fn check(&self) {
        for (name, content) in &self.volumes {
            let bytes = read(self.volume(), name);
            for (index, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
                assert!(
                    content.sectors[index].last().unwrap() == sector,
                    "{}: sector {index} of {name}",
                    self.what
                );
            }
            assert_eq!(allocated(self.volume(), name), content.allocated, "{}: units of {name}", self.what);
        }
        self.check_pool();
    }

    fn check_pool(&self) {
        let pool = self.volume().thin_pool().unwrap();
        assert_eq!(pool.free_bytes, self.free_units() * UNIT, "{}: {pool:?}", self.what);
        assert_eq!(pool.used_bytes + pool.free_bytes, self.pool_units * UNIT, "{}", self.what);
        assert_eq!(pool.is_full(), self.free_units() == 0, "{}", self.what);
    }

    fn reopen(&mut self) {
        self.volume = None;
        self.volume = Some(open(&self.store, &self.spec));
        self.check();
    }

    /// After the cut each sector holds what was flushed or something later, and every unit is one volume's or free.
    fn cut_power(&mut self) {
        self.volume = None;
        let mut random = Random(self.random.below(u64::MAX >> 34));
        let share = [1, 2, 16][self.random.below(3) as usize];
        self.store.cut_power(|| random.below(share) != 0);
        self.volume = Some(open(&self.store, &self.spec));
        let volume = self.volume.as_ref().unwrap();
        for (name, content) in &mut self.volumes {
            let bytes = read(volume, name);
            for (index, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
                let versions = &mut content.sectors[index];
                let is_known = versions.iter().any(|version| version == sector);
                assert!(is_known, "{}: sector {index} of {name} after a power cut", self.what);
                *versions = vec![sector.try_into().unwrap()];
            }
            content.allocated = allocated(volume, name);
        }
        self.check_pool();
        let mut report = ScrubReport::default();
        volume.scrub(0, u64::MAX, &mut report).unwrap();
        let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
        assert_eq!(found, (0, 0, 0), "{}", self.what);
    }

    /// A drive is lost, and its replacement rebuilt later.
    fn change_drives(&mut self) {
        let status = self.volume().status();
        let lost: Vec<u16> =
            status.drives.iter().filter(|drive| drive.condition.is_lost()).map(|drive| drive.drive).collect();
        if lost.is_empty() && self.tolerated > 0 {
            let drive = self.random.below(status.drives.len() as u64) as u16;
            self.volume().fail_drive(drive).unwrap();
        }
        for drive in lost {
            self.volume().replace_drive(drive).unwrap();
            while !self.volume().rebuild_step(8).unwrap().is_complete {}
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..62 => self.write(),
            62..70 => self.check(),
            70..76 => {
                self.volume().flush().unwrap();
                self.flushed();
            }
            76..86 => self.zero(),
            86..89 => self.change_volumes(),
            89..91 => self.change_drives(),
            91..93 => self.volume().checkpoint().unwrap(),
            93..97 => self.cut_power(),
            _ => self.reopen(),
        }
    }
}

/// Proves that volumes of three times the pool lose nothing that was acknowledged when it runs full: exactly the writes that need
/// more units than are free are refused and change nothing, everything else goes on, trims, zeroing, deletion
/// and shrinking give units back, new volumes read as zeros, and after kills and power cuts at any
/// moment every unit is one volume's or free; on every layout, with drives lost and rebuilt.
#[test]
fn a_full_pool_loses_nothing() {
    let trials = if test_support::is_long() { 200 } else { 20 };
    for (name, spec, tolerated) in arrays() {
        let mut refused = 0;
        for seed in 0..trials {
            let mut trial = Trial::new(name, &spec, tolerated, seed + 1);
            if seed % 2 == 1 {
                trial.volume().limit_overlay(16 << 10);
            }
            for _ in 0..120 {
                trial.step();
            }
            trial.check();
            trial.reopen();
            refused += trial.refused;
        }
        assert!(refused > trials, "{name}: the pool was full only {refused} times");
    }
}

/// Proves that a crash at any write and sync of a first write, of one that takes a unit which was another volume's, and of the
/// deletion that frees it, each losing half of what was not synced, leaves the volumes with what they
/// held or what was being written, never with another's bytes, and loses no unit.
#[test]
fn a_crash_in_an_allocation_loses_nothing() {
    for (name, spec, _) in arrays() {
        for budget in 0..BUDGET_LIMIT {
            let store = MemoryBackingStore::default();
            let volume = open(&store, &spec);
            let units = volume.thin_pool().unwrap().size_bytes / UNIT;
            create(&volume, "kept", units);
            create(&volume, "gone", units);
            create(&volume, "new", units);
            thin!(&volume, "kept").write_at(0, &[b'k'; UNIT as usize], false).unwrap();
            for unit in 0..units - 1 {
                thin!(&volume, "gone").write_at(unit * UNIT, &[b'g'; UNIT as usize], false).unwrap();
            }
            volume.flush().unwrap();
            assert!(volume.thin_pool().unwrap().is_full());
            store.fail_writes_after(Some(budget));
            let planned =
                volume.volume_map().unwrap().plan(&VolumeChange::Delete { name: "gone".to_owned() }).unwrap();
            let is_deleted = volume.change_volumes(&planned).is_ok();
            // Part of a unit: what another volume wrote lies beside it.
            let is_written = is_deleted && thin!(&volume, "new").write_at(512, &[b'n'; 1024], true).is_ok();
            drop(volume);
            let mut random = Random(budget);
            store.cut_power(|| random.below(2) == 0);
            store.fail_writes_after(None);
            let volume = open(&store, &spec);
            let context = format!("{name}, {budget}");
            let kept = read(&volume, "kept");
            assert!(kept[..UNIT as usize].iter().all(|&byte| byte == b'k'), "{context}");
            assert!(kept[UNIT as usize..].iter().all(|&byte| byte == 0), "{context}");
            let new = read(&volume, "new");
            let written = [vec![0; 512], vec![b'n'; 1024], vec![0; new.len() - 1536]].concat();
            assert!(new == written || (!is_written && new.iter().all(|&byte| byte == 0)), "{context}");
            let map = volume.volume_map().unwrap();
            let used: u64 = map
                .volumes()
                .iter()
                .map(|volume| volume.name.as_str())
                .map(|name| allocated(&volume, name).len() as u64)
                .sum();
            assert_eq!(volume.thin_pool().unwrap().used_bytes, used * UNIT, "{context}");
            if map.find("gone").is_ok() {
                assert!(!is_deleted, "{context}");
                let gone = read(&volume, "gone");
                assert!(gone[..((units - 1) * UNIT) as usize].iter().all(|&byte| byte == b'g'), "{context}");
                delete(&volume, "gone");
            }
            // All of it can be given out again, and holds nothing of what was there.
            let free = volume.thin_pool().unwrap().free_bytes / UNIT;
            assert!(free >= units - 2, "{context}");
            for unit in units - free..units {
                thin!(&volume, "new").write_at(unit * UNIT + 512, &[b'm'; 512], false).unwrap();
            }
            let new = read(&volume, "new");
            assert!(!new.contains(&b'g'), "{context}: another volume's bytes");
        }
    }
}

/// An array with a pool of 61 units of 16 KiB.
fn larger() -> (VolumeSpec, u64) {
    let raid = Raid { drives: 3, drive_capacity_bytes: 512 << 10, segment_bytes: 4096 };
    let layout = Layout::raid5(raid, Rotation::LeftSymmetric).unwrap();
    let spec = VolumeSpec { layout, drive_capacity_bytes: vec![512 << 10; 3], identity: "larger".to_owned() };
    (spec, 4 * UNIT)
}

/// Proves that threads which write to, zero and trim the same units at once, in a pool that runs full, each find what they wrote,
/// and that no unit is lost or given out twice, before and after a restart.
#[test]
fn threads_share_units() {
    const THREADS: u64 = 4;
    let (spec, unit) = larger();
    let store = MemoryBackingStore::default();
    let volume = Volume::open(store.clone(), spec.clone()).unwrap();
    volume.begin_map(VolumeMap::thin(volume.capacity_bytes(), unit)).unwrap();
    let units = volume.thin_pool().unwrap().size_bytes / unit;
    create(&volume, "shared", 2 * units * (unit / UNIT));
    let sectors = 2 * units * unit / SECTOR;
    let mine = |thread: u64| (0..sectors).filter(move |sector| sector % THREADS == thread);
    let contents: Vec<BTreeMap<u64, u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let volume = &volume;
                scope.spawn(move || {
                    let thin = thin!(volume, "shared");
                    let mut random = Random(thread + 1);
                    let mut content: BTreeMap<u64, u8> = mine(thread).map(|sector| (sector, 0)).collect();
                    let all: Vec<u64> = content.keys().copied().collect();
                    for step in 0..2000u32 {
                        let sector = all[random.below(all.len() as u64) as usize];
                        let byte = (step % 255) as u8 + 1;
                        match random.below(4) {
                            0 => {
                                thin.write_zeroes(sector * SECTOR, SECTOR, true, false).unwrap();
                                content.insert(sector, 0);
                            }
                            _ => match thin.write_at(sector * SECTOR, &[byte; 512], false) {
                                Ok(()) => drop(content.insert(sector, byte)),
                                Err(VolumeError::PoolFull { .. }) => {}
                                Err(error) => panic!("{error}"),
                            },
                        }
                        let sector = all[random.below(all.len() as u64) as usize];
                        let mut bytes = [0xee; 512];
                        thin.read_at(sector * SECTOR, &mut bytes).unwrap();
                        assert_eq!(bytes, [content[&sector]; 512], "sector {sector}");
                    }
                    content
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(volume.thin_pool().unwrap().refused_writes > 0);
    let check = |volume: &Volume| {
        let bytes = read(volume, "shared");
        for (&sector, &byte) in contents.iter().flatten() {
            assert!(
                bytes[(sector * SECTOR) as usize..][..512].iter().all(|&found| found == byte),
                "{sector}"
            );
        }
        let pool = volume.thin_pool().unwrap();
        assert_eq!(pool.used_bytes, thin!(volume, "shared").allocated_bytes());
        assert_eq!(pool.used_bytes + pool.free_bytes, pool.size_bytes);
    };
    check(&volume);
    drop(volume);
    let volume = Volume::open(store, spec).unwrap();
    check(&volume);
    thin!(&volume, "shared").trim(0, 2 * units * unit, false).unwrap();
    assert_eq!(volume.thin_pool().unwrap().used_bytes, 0);
}

/// Proves that where entries of the unit map are lost with a drive, what may lie in their units is an error and never zeros, that
/// they are not given out, and that units whose entries are there are read and written.
#[test]
fn lost_entries_are_errors() {
    let raid = Raid { drives: 4, drive_capacity_bytes: 256 << 10, segment_bytes: 512 };
    let spec = VolumeSpec {
        layout: Layout::raid0(raid).unwrap(),
        drive_capacity_bytes: vec![256 << 10; 4],
        identity: "raid0".to_owned(),
    };
    let store = MemoryBackingStore::default();
    let volume = open(&store, &spec);
    let units = volume.thin_pool().unwrap().size_bytes / UNIT;
    assert_eq!(thin_pool_bytes(volume.capacity_bytes(), UNIT), units * UNIT);
    create(&volume, "a", units + 1);
    for unit in 0..units - 8 {
        thin!(&volume, "a").write_at(unit * UNIT, &[7; UNIT as usize], false).unwrap();
    }
    drop(volume);
    let volume = open(&store, &spec);
    volume.fail_drive(0).unwrap();
    // In memory the map is whole: only bytes on the drive are gone.
    let mut sector = [0; 512];
    thin!(&volume, "a").read_at((units - 1) * UNIT, &mut sector).unwrap();
    drop(volume);
    let volume = open(&store, &spec);
    let pool = volume.thin_pool().unwrap();
    assert!(pool.lost_bytes > 0 && pool.lost_bytes.is_multiple_of(UNIT), "{pool:?}");
    assert_eq!(pool.used_bytes + pool.free_bytes + pool.lost_bytes, pool.size_bytes);
    let thin = thin!(&volume, "a");
    let (mut found, mut lost) = (0, 0);
    for sector in 0..(units + 1) * SECTORS_OF_UNIT {
        let mut bytes = [0xee; 512];
        match thin.read_at(sector * SECTOR, &mut bytes) {
            Ok(()) => {
                assert_eq!(bytes, [7; 512], "sector {sector}");
                found += 1;
            }
            Err(VolumeError::Lost { .. }) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(found > 0 && lost > 0, "{found} {lost}");
    assert!(matches!(thin.write_at(units * UNIT, &[1; 512], false), Err(VolumeError::Lost { .. })));
}

/// Proves that a thin volume cannot be larger than the limit, has no ranges of its own, and that numbers are never given twice.
#[test]
fn thin_volumes_are_numbered() {
    let mut map = VolumeMap::thin(1 << 30, UNIT);
    let attributes = Map::new;
    assert!(map.create("huge", volume::THIN_VOLUME_BYTES_LIMIT + UNIT, attributes()).is_err());
    map.create("a", 1 << 40, attributes()).unwrap();
    map.create("b", 1 << 40, attributes()).unwrap();
    map.delete("b").unwrap();
    map.create("b", UNIT, attributes()).unwrap();
    let numbers: Vec<Option<u32>> = map.volumes().iter().map(|volume| volume.thin).collect();
    assert_eq!(numbers, [Some(0), Some(2)]);
    assert!(map.volumes().iter().all(|volume| volume.runs.is_empty()));
    assert_eq!(map.provisioned_bytes(), (1 << 40) + UNIT);
}

/// Proves that units which threads allocate at the same moment, of which many have their entries in one sector of the map and some
/// are the same, are each allocated once, and are there after a restart.
#[test]
fn threads_allocate_at_once() {
    const THREADS: u64 = 4;
    const OWN: u64 = 12;
    const SHARED: u64 = 8;
    let (spec, unit) = larger();
    let store = MemoryBackingStore::default();
    let mut volume = Volume::open(store.clone(), spec.clone()).unwrap();
    volume.begin_map(VolumeMap::thin(volume.capacity_bytes(), unit)).unwrap();
    create(&volume, "a", (THREADS * OWN + SHARED) * unit / UNIT);
    for round in 0..60 {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let volume = &volume;
                scope.spawn(move || {
                    let thin = thin!(volume, "a");
                    for own in 0..OWN {
                        let at_bytes = (own * THREADS + thread) * unit;
                        thin.write_at(at_bytes, &[thread as u8 + 1; 512], false).unwrap();
                    }
                    for shared in 0..SHARED {
                        let at_bytes = (OWN * THREADS + shared) * unit + thread * SECTOR;
                        thin.write_at(at_bytes, &[thread as u8 + 1; 512], false).unwrap();
                    }
                });
            }
        });
        drop(volume);
        volume = Volume::open(store.clone(), spec.clone()).unwrap();
        let bytes = read(&volume, "a");
        for (index, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
            let (in_unit, of_unit) = (index as u64 * SECTOR / unit, index as u64 % (unit / SECTOR));
            let expected = match in_unit < OWN * THREADS {
                true if of_unit == 0 => in_unit % THREADS + 1,
                false if of_unit < THREADS => of_unit + 1,
                _ => 0,
            };
            assert!(sector.iter().all(|&byte| u64::from(byte) == expected), "round {round}, sector {index}");
        }
        let pool = volume.thin_pool().unwrap();
        assert_eq!(pool.used_bytes, (OWN * THREADS + SHARED) * unit, "round {round}");
        thin!(&volume, "a").trim(0, (OWN * THREADS + SHARED) * unit, false).unwrap();
        assert_eq!(volume.thin_pool().unwrap().used_bytes, 0, "round {round}");
    }
}

/// Proves that what a volume loses when it is made smaller, within a unit as well, does not come back when it is made larger.
#[test]
fn what_was_cut_off_does_not_come_back() {
    let (spec, unit) = larger();
    let store = MemoryBackingStore::default();
    let volume = Volume::open(store.clone(), spec.clone()).unwrap();
    volume.begin_map(VolumeMap::thin(volume.capacity_bytes(), unit)).unwrap();
    create(&volume, "a", 16);
    thin!(&volume, "a").write_at(0, &[7; 16 * UNIT as usize], false).unwrap();
    resize(&volume, "a", 1);
    assert_eq!(volume.thin_pool().unwrap().used_bytes, unit);
    resize(&volume, "a", 16);
    let check = |volume: &Volume| {
        let bytes = read(volume, "a");
        assert!(bytes[..UNIT as usize].iter().all(|&byte| byte == 7));
        assert!(bytes[UNIT as usize..].iter().all(|&byte| byte == 0));
    };
    check(&volume);
    drop(volume);
    check(&Volume::open(store, spec).unwrap());
}
