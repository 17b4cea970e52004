//! Random operations against a model in memory, with everything that happens to arrays: the process killed, the
//! power cut, drives failed, pulled, replaced and rebuilt, sectors damaged.

mod common;

use common::{Random, arrays};
use std::collections::BTreeSet;
use volume::{DriveCondition, MemoryBackingStore, ScrubReport, Volume, VolumeSpec};

/// Contents that each sector may have: the last entry is what it must hold unless the power is cut.
struct Model {
    sectors: Vec<Vec<[u8; 512]>>,
}

impl Model {
    fn write(&mut self, first: usize, bytes: &[u8]) {
        for (index, sector) in bytes.chunks_exact(512).enumerate() {
            self.sectors[first + index].push(sector.try_into().expect("whole sectors"));
        }
    }

    fn flushed(&mut self) {
        for versions in &mut self.sectors {
            versions.drain(..versions.len() - 1);
        }
    }
}

/// Every second trial has generations so small that the arrays of these tests fill one after the other, and is cut
/// and ended while one of them is on its way to the drives.
fn open(store: &MemoryBackingStore, spec: &VolumeSpec, seed: u64) -> Volume {
    let volume = Volume::open(store.clone(), spec.clone()).expect("it opens");
    if seed % 2 == 1 {
        volume.limit_overlay(16 << 10);
    }
    volume
}

struct Trial {
    seed: u64,
    store: MemoryBackingStore,
    spec: VolumeSpec,
    volume: Option<Volume>,
    model: Model,
    random: Random,
    tolerated: usize,
    what: String,
    has_moved: bool,
}

impl Trial {
    fn new(name: &str, spec: &VolumeSpec, tolerated: usize, seed: u64) -> Self {
        let store = MemoryBackingStore::default();
        let volume = open(&store, spec, seed);
        let sectors = vec![vec![[0; 512]]; volume.capacity_bytes() as usize / 512];
        Trial {
            seed,
            store,
            spec: spec.clone(),
            volume: Some(volume),
            model: Model { sectors },
            random: Random(seed),
            tolerated,
            what: format!("{name}, seed {seed}"),
            has_moved: false,
        }
    }

    fn volume(&self) -> &Volume {
        self.volume.as_ref().expect("open between steps")
    }

    fn range(&mut self) -> (usize, usize) {
        let sectors = self.model.sectors.len() as u64;
        let first = self.random.below(sectors);
        let longest = if self.random.below(4) == 0 { 64 } else { 8 };
        let count = (1 + self.random.below(longest)).min(sectors - first);
        (first as usize, count as usize)
    }

    fn write(&mut self) {
        let (first, count) = self.range();
        let bytes = self.random.bytes(count * 512);
        let fua = self.random.below(8) == 0;
        self.volume().write_at(first as u64 * 512, &bytes, fua).expect(&self.what);
        self.model.write(first, &bytes);
        if fua {
            self.model.flushed();
        }
    }

    fn zero(&mut self) {
        let (first, count) = self.range();
        let (offset, length) = (first as u64 * 512, count as u64 * 512);
        if self.random.below(2) == 0 {
            self.volume().write_zeroes(offset, length, true, false).expect(&self.what);
            self.model.write(first, &vec![0; count * 512]);
            return;
        }
        self.volume().trim(offset, length).expect(&self.what);
        let stripe = self.spec.layout.stripe_bytes();
        let (start, end) = (offset.div_ceil(stripe) * stripe, (offset + length) / stripe * stripe);
        if start < end {
            self.model.write(start as usize / 512, &vec![0; (end - start) as usize]);
            self.model.flushed();
        }
    }

    fn read(&mut self) {
        let (first, count) = self.range();
        let mut bytes = vec![0xee; count * 512];
        self.volume().read_at(first as u64 * 512, &mut bytes).expect(&self.what);
        for (index, sector) in bytes.chunks_exact(512).enumerate() {
            let expected = self.model.sectors[first + index].last().expect("never empty");
            assert!(sector == expected, "{}: sector {} is wrong", self.what, first + index);
        }
    }

    fn flush(&mut self) {
        self.volume().flush().expect(&self.what);
        self.model.flushed();
    }

    fn reopen(&mut self) {
        self.volume = None;
        self.volume = Some(open(&self.store, &self.spec, self.seed));
    }

    /// After the cut each sector holds what was flushed or something written later.
    fn cut_power(&mut self) {
        self.volume = None;
        let mode = self.random.below(4);
        let mut random = Random(self.random.below(u64::MAX >> 34));
        self.store.cut_power(|| match mode {
            0 => false,
            1 => true,
            2 => random.below(2) == 0,
            _ => random.below(16) != 0,
        });
        self.volume = Some(open(&self.store, &self.spec, self.seed));
        let mut bytes = vec![0; self.model.sectors.len() * 512];
        self.volume().read_at(0, &mut bytes).expect(&self.what);
        for (index, sector) in bytes.chunks_exact(512).enumerate() {
            let versions = &mut self.model.sectors[index];
            assert!(
                versions.iter().any(|version| version == sector),
                "{}: sector {index} after a power cut",
                self.what
            );
            *versions = vec![sector.try_into().expect("whole sectors")];
        }
        self.check_redundancy();
    }

    fn unwell(&self) -> usize {
        self.volume()
            .status()
            .drives
            .iter()
            .filter(|drive| drive.condition != DriveCondition::Present)
            .count()
    }

    fn lose_a_drive(&mut self) {
        if self.unwell() < self.tolerated {
            let drive = self.random.below(u64::from(self.spec.layout.drives())) as u16;
            let status = self.volume().status();
            let condition = status.drives[usize::from(drive)].condition;
            let outcome = if self.random.below(2) == 0 {
                self.volume().fail_drive(drive)
            } else {
                self.volume().pull_drive(drive)
            };
            let serves = matches!(condition, DriveCondition::Present | DriveCondition::Rebuilding);
            assert_eq!(outcome.is_ok(), serves, "{}", self.what);
        }
    }

    fn replace_a_drive(&mut self) {
        let status = self.volume().status();
        let gone = status
            .drives
            .iter()
            .find(|drive| matches!(drive.condition, DriveCondition::Failed | DriveCondition::Pulled));
        if let Some(gone) = gone {
            self.volume().replace_drive(gone.drive).expect(&self.what);
        }
    }

    fn rebuild(&mut self) {
        let stripes = 1 + self.random.below(8);
        let progress = self.volume().rebuild_step(stripes).expect(&self.what);
        assert_eq!(progress.lost_sectors, 0, "{}", self.what);
    }

    /// Only pools and replicas have somewhere to go.
    fn migrate(&mut self) {
        let pieces = self.random.below(4);
        let progress = self.volume().migration_step(pieces).expect(&self.what);
        assert_eq!(progress.lost_sectors, 0, "{}", self.what);
        self.has_moved |= progress.moved_pieces > 0;
    }

    /// Damages a few sectors of one drive of a whole array, and expects a scrub to find and repair each.
    fn corrupt_and_scrub(&mut self) {
        if self.unwell() > 0 || self.tolerated == 0 {
            return;
        }
        let drive = self.random.below(u64::from(self.spec.layout.drives())) as u16;
        let homes = self.homes(drive);
        let mut damaged = BTreeSet::new();
        for _ in 0..1 + self.random.below(5) {
            let home = homes[self.random.below(homes.len() as u64) as usize];
            damaged.insert(home);
        }
        for &offset in &damaged {
            self.volume().corrupt_sectors(drive, offset, 1).expect(&self.what);
        }
        let report = self.scrub();
        // Where pieces have moved, some of the damaged sectors may belong to no stripe any more.
        let found = report.repaired_sectors;
        let all = damaged.len() as u64;
        assert!(found == all || (self.has_moved && found < all), "{}: {found} of {all}", self.what);
        assert_eq!((report.unrepairable_sectors, report.parity_rewritten_stripes), (0, 0), "{}", self.what);
    }

    /// The sectors of a drive that belong to some stripe.
    fn homes(&self, drive: u16) -> Vec<u64> {
        let layout = &self.spec.layout;
        let mut homes = Vec::new();
        for stripe in 0..layout.stripes() {
            for member in 0..layout.members() {
                let place = layout.place(stripe, member);
                if place.drive == drive {
                    homes.extend(
                        (0..u64::from(layout.segment_bytes()) / 512)
                            .map(|sector| place.offset_bytes + sector * 512),
                    );
                }
            }
        }
        homes
    }

    fn scrub(&self) -> ScrubReport {
        let mut report = ScrubReport::default();
        self.volume().scrub(0, u64::MAX, &mut report).expect(&self.what);
        report
    }

    /// No checksum and no parity may be off after a crash, in whatever condition the array is.
    fn check_redundancy(&self) {
        let report = self.scrub();
        let found = (report.repaired_sectors, report.unrepairable_sectors, report.parity_rewritten_stripes);
        assert_eq!(found, (0, 0, 0), "{}", self.what);
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..45 => self.write(),
            45..65 => self.read(),
            65..72 => self.flush(),
            72..76 => self.zero(),
            76..80 => self.lose_a_drive(),
            80..84 => self.replace_a_drive(),
            84..88 => self.rebuild(),
            88..90 => self.migrate(),
            90..93 => self.corrupt_and_scrub(),
            93..95 => self.volume().checkpoint().expect(&self.what),
            95..98 => self.cut_power(),
            _ => {
                self.reopen();
                self.check_redundancy();
            }
        }
    }
}

/// Proves that whatever happens within the redundancy, no read ever returns wrong bytes, everything flushed
/// outlives a power cut that keeps any subset of what was not, everything written outlives a kill, and no parity
/// or checksum is off afterwards. Hundreds of cuts, kills and failures for each layout; ten times as many with
/// `ARRAYLAB_LONG=1`.
#[test]
fn nothing_acknowledged_is_lost() {
    let trials = if test_support::is_long() { 300 } else { 30 };
    for (name, spec, tolerated) in arrays() {
        for seed in 0..trials {
            let mut trial = Trial::new(name, &spec, tolerated, seed + 1);
            for _ in 0..150 {
                trial.step();
            }
            let all = trial.model.sectors.len();
            let mut bytes = vec![0; all * 512];
            trial.volume().read_at(0, &mut bytes).unwrap();
            let expected: Vec<u8> =
                trial.model.sectors.iter().flat_map(|versions| versions[versions.len() - 1]).collect();
            assert!(bytes == expected, "{}: the whole volume", trial.what);
        }
    }
}

/// Proves that a power cut at any point inside a checkpoint is survived, flushed before or not, and that a
/// checkpoint that finds the disk full leaves every byte readable.
#[test]
fn power_cuts_inside_a_checkpoint_are_survived() {
    for (name, spec, tolerated) in arrays() {
        for seed in 0..60 {
            let mut trial = Trial::new(name, &spec, tolerated, 1000 + seed);
            for _ in 0..10 {
                trial.write();
            }
            if tolerated > 0 && seed % 2 == 0 {
                trial.lose_a_drive();
            }
            trial.write();
            if seed % 3 == 0 {
                trial.flush();
            }
            // A snapshot of a crash: the media as they are in the middle of the next checkpoint.
            let budget = trial.random.below(60);
            trial.store.fail_writes_after(Some(budget));
            let outcome = trial.volume().checkpoint();
            trial.store.fail_writes_after(None);
            if outcome.is_err() {
                trial.read();
            }
            trial.cut_power();
        }
    }
}

/// Proves that preservation capacity gives redundancy back: when what a failed drive held has moved, as many
/// drives as before may fail again without a wrong byte, also after a restart; and that a rehoming of drives that
/// hold more than there is room for says so.
#[test]
fn migration_restores_the_redundancy() {
    for (name, spec, tolerated) in
        arrays().into_iter().filter(|(name, _, _)| ["pool", "replicas"].contains(name))
    {
        let mut trial = Trial::new(name, &spec, tolerated, 4);
        (0..60).for_each(|_| trial.write());
        trial.volume().fail_drive(2).unwrap();
        let first = trial.volume().migration_step(1).unwrap();
        assert_eq!((first.moved_pieces, first.homeless_pieces), (1, 0), "{name}");
        assert!(first.waiting_pieces > 0, "{name}");
        trial.reopen();
        (0..20).for_each(|_| trial.write());
        let rest = trial.volume().migration_step(u64::MAX).unwrap();
        assert_eq!(
            (rest.moved_pieces, rest.waiting_pieces, rest.homeless_pieces),
            (first.waiting_pieces, 0, 0)
        );
        trial.reopen();
        trial.check_redundancy();
        // Replicas on nodes of two drives each: the drives that may go are on two nodes.
        [0u16, 5].iter().take(tolerated).for_each(|&drive| trial.volume().fail_drive(drive).unwrap());
        (0..60).for_each(|_| trial.write());
        (0..200).for_each(|_| trial.read());
        trial.cut_power();
        trial.volume().migration_step(u64::MAX).unwrap();
        (0..200).for_each(|_| trial.read());
    }
    let (_, spec, _) = arrays().into_iter().find(|(name, _, _)| *name == "replicas").unwrap();
    let trial = Trial::new("replicas", &spec, 2, 1);
    // Both drives of a node gone: no third node is left for their copies.
    trial.volume().fail_drive(0).unwrap();
    trial.volume().fail_drive(1).unwrap();
    assert!(trial.volume().migration_step(u64::MAX).unwrap().homeless_pieces > 0);
}
