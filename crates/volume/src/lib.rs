//! The bytes of an array: kept under its real layout on sparse files, one a drive, with parity and a checksum for
//! each sector; read through the loss of drives and damaged sectors, rebuilt, scrubbed, and whole after a crash.
//!
//! A write becomes a journal record with the new sectors of all members it changes and an overlay in memory; it
//! reaches the drives in batches, after the journal is durable. So a stripe is never found half-written, and what
//! was flushed is never lost. `docs/models/volume.md` tells the whole of it.

#![doc = include_str!("../README.md")]

mod block_store;
mod checksums;
mod destage;
mod destaging;
mod directory;
mod drive;
mod error;
mod extents;
mod journal;
mod journal_record;
mod lock;
mod map;
mod memory;
mod migration;
mod opening;
mod overlay;
pub mod parity;
mod record;
mod replay;
mod stale_stripes;
mod stopped;
mod stripe;
mod thin_io;
mod thin_map;
mod thin_pool;
mod unit_map;
mod upkeep;
mod volume;
mod volumes;
mod zeroing;

pub use block_store::{BackingStore, BlockStore, FileBlockStore, SharedBytes};
pub use checksums::SECTOR_BYTES;
pub use directory::{Directory, NamedDrive};
pub use drive::DriveCondition;
pub use error::VolumeError;
pub use extents::{BLOCK_STATUS_EXTENTS_LIMIT, BlockExtent};
pub use map::{
    MapError, MappedVolume, Run, THIN_VOLUME_BYTES_LIMIT, ThinUnits, VOLUME_ALIGNMENT_BYTES,
    VOLUME_NAME_BYTES_LIMIT, VOLUME_RUNS_LIMIT, VOLUMES_LIMIT, VolumeMap,
};
pub use memory::{MemoryBackingStore, MemoryBlockStore};
pub use migration::MigrationProgress;
pub use stopped::ResyncProgress;
pub use thin_io::ThinVolume;
pub use thin_pool::{NEARLY_FULL_SHARE, ThinPoolStatus, thin_pool_bytes};
pub use upkeep::{DriveStatus, RebuildProgress, SCRUB_PLACES_LIMIT, ScrubReport, SectorPlace, VolumeStatus};
pub use volume::{Volume, VolumeSpec};
pub use volumes::{PlannedChange, VolumeChange};
