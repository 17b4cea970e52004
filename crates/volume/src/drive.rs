//! Drive: a superblock with its identity, its data, and a checksum for each sector.
//!
//! ```text
//! 0            superblock
//! 1 MiB        data, as the layout addresses it
//! + capacity   checksums, 4 bytes a sector, from the next multiple of 4096
//! ```

use crate::block_store::{BlockStore, SharedBytes};
use crate::checksums::{CHECKSUM_BYTES, Checksums, SECTOR_BYTES, checksum, checksums_of};
use crate::error::{ErrorContext, VolumeError};
use crate::stale_stripes::StaleStripes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offset at which data begins on a drive.
const DATA_OFFSET_BYTES: u64 = 1 << 20;
const SUPERBLOCK_MAGIC: &[u8; 8] = b"arraylab";
/// Version of everything a volume stores. Another version is refused.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// Condition of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveCondition {
    /// It holds what it should.
    Present,
    /// It failed; what it holds is given up.
    Failed,
    /// It was pulled out; what it holds is out of date and given up.
    Pulled,
    /// It is a replacement, and holds its part of the stripes below the mark.
    Rebuilding,
    /// It is not reached for now; what it holds is still there, and misses what is written meanwhile.
    Stopped,
    /// It is reached again, and serves the stripes that it has missed no writes of.
    CatchingUp,
}

impl DriveCondition {
    /// Returns whether what it held is given up, and nothing has taken its place.
    pub fn is_lost(self) -> bool {
        matches!(self, DriveCondition::Failed | DriveCondition::Pulled)
    }
}

/// Superblock: the array and place that a drive belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub volume: [u8; 16],
    pub drive: u16,
    pub generation: u32,
    pub capacity_bytes: u64,
}

pub(crate) struct Drive {
    /// Nothing where the drive is gone.
    pub block_store: Option<Arc<dyn BlockStore>>,
    pub condition: DriveCondition,
    pub generation: u32,
    pub capacity_bytes: u64,
    /// Meaningful while rebuilding. Changed only under the lock of the stripe it passes.
    pub rebuilt_below_stripe: AtomicU64,
    /// Meaningful while stopped or catching up.
    pub missed: StaleStripes,
    checksums: Checksums,
}

impl Drive {
    pub(crate) fn new(
        block_store: Option<Arc<dyn BlockStore>>,
        condition: DriveCondition,
        generation: u32,
        capacity_bytes: u64,
        rebuilt_below_stripe: u64,
    ) -> Self {
        Drive {
            block_store,
            condition,
            generation,
            capacity_bytes,
            rebuilt_below_stripe: AtomicU64::new(rebuilt_below_stripe),
            missed: StaleStripes::default(),
            checksums: Checksums::new(checksums_offset(capacity_bytes)),
        }
    }

    /// Returns how large a file or device must be for a drive of this capacity.
    pub(crate) fn size_bytes(capacity_bytes: u64) -> u64 {
        checksums_offset(capacity_bytes) + capacity_bytes / SECTOR_BYTES as u64 * CHECKSUM_BYTES as u64
    }

    pub(crate) fn serves(&self, stripe: u64) -> bool {
        match self.condition {
            DriveCondition::Present => true,
            DriveCondition::Failed | DriveCondition::Pulled | DriveCondition::Stopped => false,
            DriveCondition::CatchingUp => !self.missed.contains(stripe),
            DriveCondition::Rebuilding => stripe < self.rebuilt_below_stripe.load(Ordering::Acquire),
        }
    }

    /// Returns whether writes that were journalled for it are to be carried out.
    pub(crate) fn takes_writes(&self) -> bool {
        matches!(
            self.condition,
            DriveCondition::Present | DriveCondition::Rebuilding | DriveCondition::CatchingUp
        )
    }

    /// Returns whether a range is one of whole sectors of its data.
    pub(crate) fn holds(&self, offset_bytes: u64, length: usize) -> bool {
        let sector = SECTOR_BYTES as u64;
        offset_bytes.is_multiple_of(sector)
            && length.is_multiple_of(SECTOR_BYTES)
            && offset_bytes.checked_add(length as u64).is_some_and(|end| end <= self.capacity_bytes)
    }

    /// Reads whole sectors; `is_bad` is called with the index of each whose checksum does not fit.
    pub(crate) fn read(
        &self,
        offset_bytes: u64,
        buffer: &mut [u8],
        mut is_bad: impl FnMut(usize),
    ) -> io::Result<()> {
        let sums_bytes = buffer.len() / SECTOR_BYTES * CHECKSUM_BYTES;
        let mut small = [0u8; 256];
        let mut large = Vec::new();
        let sums = if sums_bytes <= small.len() {
            &mut small[..sums_bytes]
        } else {
            large.resize(sums_bytes, 0);
            &mut large[..]
        };
        self.read_unchecked(offset_bytes, buffer, sums)?;
        for (index, (sector, sum)) in
            buffer.chunks_exact(SECTOR_BYTES).zip(sums.chunks_exact(CHECKSUM_BYTES)).enumerate()
        {
            if checksum(sector).to_le_bytes() != sum {
                is_bad(index);
            }
        }
        Ok(())
    }

    /// Reads whole sectors, and the checksums that are kept of them; whether they fit is the caller's to see.
    pub(crate) fn read_unchecked(
        &self,
        offset_bytes: u64,
        buffer: &mut [u8],
        sums: &mut [u8],
    ) -> io::Result<()> {
        let block_store = self.block_store()?;
        block_store.read_at(DATA_OFFSET_BYTES + offset_bytes, buffer)?;
        self.checksums.read(block_store, checksum_at(offset_bytes), sums)
    }

    /// Writes whole sectors and their checksums in place.
    pub(crate) fn write(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.block_store()?.write_at(DATA_OFFSET_BYTES + offset_bytes, bytes)?;
        self.checksums.write(self.block_store()?, checksum_at(offset_bytes), &checksums_of(bytes))
    }

    /// As [`Drive::write`], with checksums that are known already and may reach the drive no sooner than
    /// [`Drive::sync`]: for changes that the journal holds until then.
    pub(crate) fn write_journalled(&self, offset_bytes: u64, sums: &[u8], bytes: &[u8]) -> io::Result<()> {
        self.block_store()?.write_at(DATA_OFFSET_BYTES + offset_bytes, bytes)?;
        self.checksums.put(self.block_store()?, checksum_at(offset_bytes), sums)
    }

    /// As [`Drive::write_journalled`], of bytes that the overlay has until [`Drive::sync`] has returned: they too may reach
    /// the drive no sooner than that.
    pub(crate) fn write_until_sync(
        &self,
        offset_bytes: u64,
        sums: &[u8],
        bytes: SharedBytes,
    ) -> io::Result<()> {
        let block_store = self.block_store()?;
        block_store.write_until_sync(DATA_OFFSET_BYTES + offset_bytes, bytes)?;
        self.checksums.put(block_store, checksum_at(offset_bytes), sums)
    }

    /// From now on checksums are those on the drive, not those in memory.
    pub(crate) fn forget_checksums(&self) -> io::Result<()> {
        self.checksums.forget(self.block_store()?)
    }

    /// Makes a sector unreadable, so that what could not be rebuilt is an error and never taken for data.
    pub(crate) fn poison(&self, offset_bytes: u64) -> io::Result<()> {
        // Not zeros: the sector must count as allocated.
        let filler = [0xbd; SECTOR_BYTES];
        self.block_store()?.write_at(DATA_OFFSET_BYTES + offset_bytes, &filler)?;
        self.checksums.write(
            self.block_store()?,
            checksum_at(offset_bytes),
            &(!checksum(&filler)).to_le_bytes(),
        )
    }

    /// Flips bits of a sector behind its checksum's back.
    pub(crate) fn corrupt(&self, offset_bytes: u64) -> io::Result<()> {
        let mut sector = [0; SECTOR_BYTES];
        self.block_store()?.read_at(DATA_OFFSET_BYTES + offset_bytes, &mut sector)?;
        sector.iter_mut().step_by(7).for_each(|byte| *byte ^= 0xa5);
        self.block_store()?.write_at(DATA_OFFSET_BYTES + offset_bytes, &sector)
    }

    /// Makes whole sectors zero and gives their space back. Checksums of zeros are zero.
    pub(crate) fn zero(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.block_store()?.zero(DATA_OFFSET_BYTES + offset_bytes, length_bytes)?;
        let length = length_bytes / SECTOR_BYTES as u64 * CHECKSUM_BYTES as u64;
        self.checksums.zero(self.block_store()?, checksum_at(offset_bytes), length)
    }

    pub(crate) fn is_allocated(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<bool> {
        self.block_store()?.is_allocated(DATA_OFFSET_BYTES + offset_bytes, length_bytes)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.checksums.flush(self.block_store()?)?;
        self.block_store()?.sync()
    }

    fn block_store(&self) -> io::Result<&dyn BlockStore> {
        self.block_store
            .as_deref()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the drive is gone"))
    }
}

/// Returns where the checksum of a sector lies among the checksums.
fn checksum_at(offset_bytes: u64) -> u64 {
    offset_bytes / SECTOR_BYTES as u64 * CHECKSUM_BYTES as u64
}

fn checksums_offset(capacity_bytes: u64) -> u64 {
    DATA_OFFSET_BYTES + capacity_bytes.next_multiple_of(4096)
}

impl Superblock {
    pub(crate) fn write(&self, block_store: &dyn BlockStore) -> Result<(), VolumeError> {
        let mut sector = [0u8; SECTOR_BYTES];
        sector[..8].copy_from_slice(SUPERBLOCK_MAGIC);
        sector[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        sector[12..28].copy_from_slice(&self.volume);
        sector[28..30].copy_from_slice(&self.drive.to_le_bytes());
        sector[30..34].copy_from_slice(&self.generation.to_le_bytes());
        sector[34..42].copy_from_slice(&self.capacity_bytes.to_le_bytes());
        let sum = crc32c::crc32c(&sector[..508]);
        sector[508..].copy_from_slice(&sum.to_le_bytes());
        block_store.write_at(0, &sector).context("write a drive's superblock")
    }

    /// Refuses a drive that is not the one expected.
    pub(crate) fn check(&self, block_store: &dyn BlockStore, store: &str) -> Result<(), VolumeError> {
        let mut sector = [0u8; SECTOR_BYTES];
        block_store.read_at(0, &mut sector).context("read a drive's superblock")?;
        let path = || format!("drive {} of {store}", self.drive);
        if &sector[..8] != SUPERBLOCK_MAGIC || crc32c::crc32c(&sector[..508]).to_le_bytes() != sector[508..] {
            return Err(VolumeError::Damaged {
                path: path(),
                problem: "its superblock cannot be read".to_owned(),
            });
        }
        if sector[8..12] != FORMAT_VERSION.to_le_bytes() {
            return Err(VolumeError::Foreign {
                path: path(),
                problem: "it was written by another version".to_owned(),
            });
        }
        let expected = [
            (&sector[12..28], &self.volume[..], "it belongs to another volume"),
            (&sector[28..30], &self.drive.to_le_bytes()[..], "it is another drive of this volume"),
            (&sector[30..34], &self.generation.to_le_bytes()[..], "it was replaced"),
            (&sector[34..42], &self.capacity_bytes.to_le_bytes()[..], "it has another capacity"),
        ];
        for (found, wanted, problem) in expected {
            if found != wanted {
                return Err(VolumeError::Foreign { path: path(), problem: problem.to_owned() });
            }
        }
        Ok(())
    }
}
