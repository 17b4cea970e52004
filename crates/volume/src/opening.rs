//! Creation and opening of a volume: record, drives, and replay of the journal.

use crate::VolumeError;
use crate::block_store::BackingStore;
use crate::checksums::SECTOR_BYTES;
use crate::drive::{Drive, DriveCondition, Superblock};
use crate::error::ErrorContext;
use crate::journal::Journal;
use crate::record::ArrayRecord;
use crate::replay::{carry_out, sync_drives};
use crate::stale_stripes::StaleStripes;
use crate::volume::{RecordedState, Volume, VolumeSpec};
use std::io::Read;

impl Volume {
    /// Opens the volume on a shelf, or makes it if there is none. What the journal holds is carried out first.
    pub fn open(store: impl BackingStore + 'static, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        match ArrayRecord::read(&store)? {
            Some(record) => Volume::open_existing(Box::new(store), spec, &record),
            None => Volume::create(Box::new(store), spec),
        }
    }

    fn create(store: Box<dyn BackingStore>, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        if spec.drive_capacity_bytes.len() != spec.layout.drives() as usize {
            return Err(VolumeError::Foreign {
                path: store.name(),
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
            drives.push(new_drive(&*store, id, index as u16, 0, capacity_bytes)?);
        }
        let journal = Journal::create(store.journal().context("make the journal")?, id)?;
        let volume = Volume::assemble(store, id, spec, drives, journal, RecordedState::default());
        // Last: without it the next start begins anew.
        volume.write_record(&volume.array())?;
        Ok(volume)
    }

    fn open_existing(
        store: Box<dyn BackingStore>,
        mut spec: VolumeSpec,
        record: &ArrayRecord,
    ) -> Result<Volume, VolumeError> {
        let foreign =
            |problem: &str| VolumeError::Foreign { path: store.name(), problem: problem.to_owned() };
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
            Some(volumes) => {
                let map = volumes.map(capacity_bytes);
                Some(map.ok_or_else(|| foreign("its record's volumes do not fit the array"))?)
            }
        };
        let id = record.volume_bytes().ok_or_else(|| foreign("its record names no volume"))?;
        let mut drives = Vec::with_capacity(record.drives.len());
        for (index, (state, &capacity_bytes)) in
            record.drives.iter().zip(&record.drive_capacity_bytes).enumerate()
        {
            let drive = index as u16;
            let size_bytes = Drive::size_bytes(capacity_bytes);
            let block_store = if !state.condition.is_lost() {
                let block_store =
                    store.drive(drive, state.generation, size_bytes, false).context("open a drive")?;
                let superblock =
                    Superblock { volume: id, drive, generation: state.generation, capacity_bytes };
                superblock.check(&*block_store, &store.name())?;
                Some(block_store)
            } else {
                None
            };
            let mark = state.rebuilt_below_stripe;
            let mut drive = Drive::new(block_store, state.condition, state.generation, capacity_bytes, mark);
            drive.missed = StaleStripes::recorded(&state.missed);
            drives.push(drive);
        }
        let block_store = store.journal().context("open the journal")?;
        let layout = &spec.layout;
        let journal =
            Journal::open(block_store, id, &store.name(), |change| carry_out(layout, &drives, &change))?;
        sync_drives(&drives)?;
        let kept = RecordedState {
            moves: record.moves.iter().map(|&moved| moved.into()).collect(),
            map,
            attributes: record.attributes.clone(),
        };
        let volume = Volume::assemble(store, id, spec, drives, journal, kept);
        let known: usize = record.drives.iter().map(|drive| drive.missed.len()).sum();
        let missed: usize = volume.array().drives.iter().map(|drive| drive.missed.count()).sum();
        if missed > known {
            // Until now only the journal says so.
            volume.write_record(&volume.array())?;
        }
        volume.journal.reset()?;
        volume.open_pool()?;
        Ok(volume)
    }
}

/// Makes a drive and its superblock, durably.
pub(crate) fn new_drive(
    store: &dyn BackingStore,
    id: [u8; 16],
    drive: u16,
    generation: u32,
    capacity_bytes: u64,
) -> Result<Drive, VolumeError> {
    let block_store =
        store.drive(drive, generation, Drive::size_bytes(capacity_bytes), true).context("make a drive")?;
    Superblock { volume: id, drive, generation, capacity_bytes }.write(&*block_store)?;
    block_store.sync().context("flush a drive")?;
    Ok(Drive::new(Some(block_store), DriveCondition::Present, generation, capacity_bytes, 0))
}

fn random_id() -> Result<[u8; 16], VolumeError> {
    let mut id = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut id))
        .context("draw a volume's id")?;
    Ok(id)
}
