//! How a volume is made, and found again: its record, its drives, and what its journal holds carried out.

use crate::VolumeError;
use crate::drive::{Drive, DriveCondition, SECTOR_BYTES, Superblock};
use crate::error::WhileDoing;
use crate::journal::Journal;
use crate::map::VolumeMap;
use crate::medium::Shelf;
use crate::missed::Missed;
use crate::record::{ArrayRecord, MapRecord};
use crate::replay::{carry_out, sync_drives};
use crate::volume::{Kept, Volume, VolumeSpec};
use std::io::Read;

impl Volume {
    /// Opens the volume on a shelf, or makes it if there is none. What the journal holds is carried out first.
    pub fn open(shelf: impl Shelf + 'static, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        match ArrayRecord::read(&shelf)? {
            Some(record) => Volume::open_existing(Box::new(shelf), spec, &record),
            None => Volume::create(Box::new(shelf), spec),
        }
    }

    fn create(shelf: Box<dyn Shelf>, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        if spec.drive_capacity_bytes.len() != spec.layout.drives() as usize {
            return Err(VolumeError::Foreign {
                path: shelf.name(),
                problem: format!(
                    "{} drive sizes for a layout of {} drives",
                    spec.drive_capacity_bytes.len(),
                    spec.layout.drives()
                ),
            });
        }
        let id = random_id()?;
        let mut drives = Vec::with_capacity(spec.drive_capacity_bytes.len());
        for (index, &capacity_bytes) in spec.drive_capacity_bytes.iter().enumerate() {
            drives.push(new_drive(&*shelf, id, index as u16, 0, capacity_bytes)?);
        }
        let journal = Journal::create(shelf.journal().while_doing("make the journal")?, id)?;
        let volume = Volume::assemble(shelf, id, spec, drives, journal, Kept::default());
        // Last: without it the next start begins anew.
        volume.write_record(&volume.array())?;
        Ok(volume)
    }

    fn open_existing(
        shelf: Box<dyn Shelf>,
        mut spec: VolumeSpec,
        record: &ArrayRecord,
    ) -> Result<Volume, VolumeError> {
        let foreign =
            |problem: &str| VolumeError::Foreign { path: shelf.name(), problem: problem.to_owned() };
        if record.identity != spec.identity {
            return Err(foreign("it was made for another array; use another directory, or that array"));
        }
        if record.drive_capacity_bytes != spec.drive_capacity_bytes
            || spec.drive_capacity_bytes.len() != spec.layout.drives() as usize
        {
            return Err(foreign("its drives have other sizes"));
        }
        for &moved in &record.moves {
            if !spec.layout.apply_move(&moved.into()) {
                return Err(foreign("a piece it has moved does not fit the layout"));
            }
        }
        let capacity_bytes = spec.layout.capacity_bytes() / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let map = match &record.volumes {
            None => None,
            Some(MapRecord { unit_bytes, volumes }) if *unit_bytes > 0 => {
                let map = VolumeMap::with(capacity_bytes, *unit_bytes, volumes.clone());
                Some(map.ok_or_else(|| foreign("its record's volumes do not fit the array"))?)
            }
            Some(_) => return Err(foreign("its record's volumes have no unit")),
        };
        let id = record.volume_bytes().ok_or_else(|| foreign("its record names no volume"))?;
        let mut drives = Vec::with_capacity(record.drives.len());
        for (index, (state, &capacity_bytes)) in
            record.drives.iter().zip(&record.drive_capacity_bytes).enumerate()
        {
            let drive = index as u16;
            let size_bytes = Drive::size_bytes(capacity_bytes);
            let medium = if !state.condition.is_lost() {
                let medium =
                    shelf.drive(drive, state.generation, size_bytes, false).while_doing("open a drive")?;
                let superblock =
                    Superblock { volume: id, drive, generation: state.generation, capacity_bytes };
                superblock.check(&*medium, &shelf.name())?;
                Some(medium)
            } else {
                None
            };
            let mark = state.rebuilt_below_stripe;
            let mut drive = Drive::new(medium, state.condition, state.generation, capacity_bytes, mark);
            drive.missed = Missed::recorded(&state.missed);
            drives.push(drive);
        }
        let medium = shelf.journal().while_doing("open the journal")?;
        let layout = &spec.layout;
        let journal = Journal::open(medium, id, &shelf.name(), |change| carry_out(layout, &drives, &change))?;
        sync_drives(&drives)?;
        let kept = Kept {
            moves: record.moves.iter().map(|&moved| moved.into()).collect(),
            map,
            attributes: record.attributes.clone(),
        };
        let volume = Volume::assemble(shelf, id, spec, drives, journal, kept);
        let known: usize = record.drives.iter().map(|drive| drive.missed.len()).sum();
        let missed: usize = volume.array().drives.iter().map(|drive| drive.missed.count()).sum();
        if missed > known {
            // Until now only the journal says so.
            volume.write_record(&volume.array())?;
        }
        volume.journal.reset()?;
        Ok(volume)
    }
}

/// Makes a drive and its superblock, durably.
pub(crate) fn new_drive(
    shelf: &dyn Shelf,
    id: [u8; 16],
    drive: u16,
    generation: u32,
    capacity_bytes: u64,
) -> Result<Drive, VolumeError> {
    let medium = shelf
        .drive(drive, generation, Drive::size_bytes(capacity_bytes), true)
        .while_doing("make a drive")?;
    Superblock { volume: id, drive, generation, capacity_bytes }.write(&*medium)?;
    medium.sync().while_doing("flush a drive")?;
    Ok(Drive::new(Some(medium), DriveCondition::Present, generation, capacity_bytes, 0))
}

fn random_id() -> Result<[u8; 16], VolumeError> {
    let mut id = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut id))
        .while_doing("draw a volume's id")?;
    Ok(id)
}
