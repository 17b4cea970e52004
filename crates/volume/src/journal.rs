//! The journal: every change of a stripe, data and parity together, before any of it reaches a drive.
//!
//! This closes the write hole. A record holds the new sectors of all members that change, whole and under one
//! checksum; the drives are written in place only after the records are durable, and repeating that is harmless.
//! Hence a stripe is never found half-written, also where a member is missing and its content exists only as parity.
//!
//! ```text
//! 0, 512   two headers, written in turn; the valid one with the higher epoch counts
//! 4096     records of that epoch, one behind the other, numbered from 0; the first that does not fit ends them
//! ```

use crate::block_store::BlockStore;
use crate::drive::FORMAT_VERSION;
use crate::error::{ErrorContext, VolumeError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const HEADER_MAGIC: &[u8; 8] = b"al-jrnl\0";
const HEADER_BYTES: usize = 512;
const RECORDS_OFFSET_BYTES: u64 = 4096;
const RECORD_MAGIC: u32 = 0x616c_7265;
const RECORD_HEADER_BYTES: usize = 32;
const ENTRY_HEADER_BYTES: usize = 16;
/// The largest record; a host write is cut so that its records stay below.
const RECORD_BYTES_LIMIT: usize = 1 << 30;

/// Kinds of records.
const IMAGES: u32 = 1;
const ZERO_STRIPES: u32 = 2;

/// An entry of images that says which stripe a drive has missed a write of, in place of an offset.
const MISSED: u16 = 1;

/// New sectors of drives that become true together.
pub(crate) struct Record {
    bytes: Vec<u8>,
}

/// What a record says, when it is read back.
pub(crate) enum Change<'a> {
    /// `bytes` belong at `offset_bytes` of `drive`.
    Image { drive: u16, offset_bytes: u64, bytes: &'a [u8] },
    /// `drive` is stopped and has missed a write of the stripe.
    StaleStripes { drive: u16, stripe: u64 },
    /// All members of the stripes `first..end` are zero.
    ZeroStripes { first: u64, end: u64 },
}

impl Record {
    pub(crate) fn images() -> Self {
        let mut bytes = vec![0; RECORD_HEADER_BYTES];
        bytes[28..32].copy_from_slice(&IMAGES.to_le_bytes());
        Record { bytes }
    }

    /// With room for a change of `data_bytes` and its parity.
    pub(crate) fn images_for(data_bytes: usize) -> Self {
        let mut record = Record::images();
        // Data, P and Q of a small write.
        record.bytes.reserve(3 * (data_bytes + ENTRY_HEADER_BYTES));
        record
    }

    pub(crate) fn zero_stripes(first: u64, end: u64) -> Self {
        let mut bytes = vec![0; RECORD_HEADER_BYTES];
        bytes[28..32].copy_from_slice(&ZERO_STRIPES.to_le_bytes());
        bytes.extend(first.to_le_bytes());
        bytes.extend(end.to_le_bytes());
        Record { bytes }
    }

    pub(crate) fn push(&mut self, drive: u16, offset_bytes: u64, image: &[u8]) {
        self.bytes.extend(drive.to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes.extend((image.len() as u32).to_le_bytes());
        self.bytes.extend(offset_bytes.to_le_bytes());
        self.bytes.extend_from_slice(image);
    }

    pub(crate) fn push_missed(&mut self, drive: u16, stripe: u64) {
        self.bytes.extend(drive.to_le_bytes());
        self.bytes.extend(MISSED.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(stripe.to_le_bytes());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == RECORD_HEADER_BYTES
    }

    pub(crate) fn for_each(&self, visit: impl FnMut(Change<'_>)) {
        // What this process has built is well-formed, or `push` is wrong and every test fails.
        let is_sound = parse(IMAGES, &self.bytes[RECORD_HEADER_BYTES..], visit);
        debug_assert!(is_sound);
    }
}

/// Takes a record's content apart; `false` if it is malformed.
fn parse(kind: u32, mut content: &[u8], mut visit: impl FnMut(Change<'_>)) -> bool {
    match kind {
        ZERO_STRIPES => {
            let (Some(first), Some(end)) = (u64_at(content, 0), u64_at(content, 8)) else { return false };
            visit(Change::ZeroStripes { first, end });
            true
        }
        IMAGES => {
            while !content.is_empty() {
                let (Some(drive), Some(length), Some(offset_bytes)) =
                    (u32_at(content, 0), u32_at(content, 4), u64_at(content, 8))
                else {
                    return false;
                };
                let end = ENTRY_HEADER_BYTES + length as usize;
                let Some(bytes) = content.get(ENTRY_HEADER_BYTES..end) else { return false };
                let (drive, kind) = (drive as u16, (drive >> 16) as u16);
                match kind {
                    0 => visit(Change::Image { drive, offset_bytes, bytes }),
                    MISSED if bytes.is_empty() => visit(Change::StaleStripes { drive, stripe: offset_bytes }),
                    _ => return false,
                }
                content = &content[end..];
            }
            true
        }
        _ => false,
    }
}

pub(crate) struct Journal {
    block_store: Arc<dyn BlockStore>,
    volume: [u8; 16],
    tail: Mutex<Tail>,
    /// A flush failed. The kernel may have dropped what it could not write and will not say so twice, so nothing
    /// is acknowledged any more.
    is_broken: AtomicBool,
}

#[derive(Clone, Copy)]
struct Tail {
    epoch: u64,
    sequence: u64,
    offset_bytes: u64,
}

impl Journal {
    /// A new, empty journal.
    pub(crate) fn create(block_store: Arc<dyn BlockStore>, volume: [u8; 16]) -> Result<Self, VolumeError> {
        let journal = Journal {
            block_store,
            volume,
            tail: Mutex::new(Tail { epoch: 0, sequence: 0, offset_bytes: RECORDS_OFFSET_BYTES }),
            is_broken: AtomicBool::new(false),
        };
        journal.block_store.write_at(0, &[0; 2 * HEADER_BYTES]).context("write the journal")?;
        journal.reset()?;
        Ok(journal)
    }

    /// Opens a journal and hands out what its records say, oldest first. They stay until [`Journal::reset`].
    pub(crate) fn open(
        block_store: Arc<dyn BlockStore>,
        volume: [u8; 16],
        store: &str,
        mut visit: impl FnMut(Change<'_>) -> Result<(), VolumeError>,
    ) -> Result<Self, VolumeError> {
        let damaged = |problem: &str| VolumeError::Damaged {
            path: format!("the journal of {store}"),
            problem: problem.to_owned(),
        };
        let mut headers = [0u8; 2 * HEADER_BYTES];
        block_store.read_at(0, &mut headers).context("read the journal")?;
        let epoch = headers
            .chunks_exact(HEADER_BYTES)
            .filter_map(|header| read_header(header, &volume))
            .max()
            .ok_or_else(|| damaged("it has no valid header of this volume and version"))?;
        let mut tail = Tail { epoch, sequence: 0, offset_bytes: RECORDS_OFFSET_BYTES };
        while let Some((kind, record)) = read_record(&*block_store, tail)? {
            let mut outcome = Ok(());
            let is_sound = parse(kind, &record[RECORD_HEADER_BYTES..], |change| {
                if outcome.is_ok() {
                    outcome = visit(change);
                }
            });
            outcome?;
            if !is_sound {
                return Err(damaged("a record with a valid checksum makes no sense"));
            }
            tail.sequence += 1;
            tail.offset_bytes += record.len() as u64;
        }
        Ok(Journal { block_store, volume, tail: Mutex::new(tail), is_broken: AtomicBool::new(false) })
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.tail().offset_bytes - RECORDS_OFFSET_BYTES
    }

    /// Appends a record. When this returns it survives the end of the process, and a power cut after [`Journal::sync`].
    pub(crate) fn append(&self, record: &mut Record) -> Result<(), VolumeError> {
        debug_assert!(record.bytes.len() <= RECORD_BYTES_LIMIT);
        self.refuse_if_broken()?;
        let content_bytes = (record.bytes.len() - RECORD_HEADER_BYTES) as u32;
        let content_sum = crc32c::crc32c(&record.bytes[RECORD_HEADER_BYTES..]);
        // Held while writing: a record behind a hole would be lost though it was acknowledged.
        let mut tail = self.tail();
        let header = &mut record.bytes[..RECORD_HEADER_BYTES];
        header[0..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&content_bytes.to_le_bytes());
        header[8..16].copy_from_slice(&tail.epoch.to_le_bytes());
        header[16..24].copy_from_slice(&tail.sequence.to_le_bytes());
        let sum = record_sum(header, content_sum);
        header[24..28].copy_from_slice(&sum.to_le_bytes());
        self.block_store.write_at(tail.offset_bytes, &record.bytes).context("append to the journal")?;
        tail.sequence += 1;
        tail.offset_bytes += record.bytes.len() as u64;
        Ok(())
    }

    /// Makes every record appended before durable.
    pub(crate) fn sync(&self) -> Result<(), VolumeError> {
        self.refuse_if_broken()?;
        let outcome = self.block_store.sync();
        if outcome.is_err() {
            self.is_broken.store(true, Ordering::Release);
        }
        outcome.context("flush the journal")
    }

    fn refuse_if_broken(&self) -> Result<(), VolumeError> {
        if self.is_broken.load(Ordering::Acquire) {
            let error = io::Error::other(
                "an earlier flush of the journal failed; stop, make room or mend the disk, and start again",
            );
            return Err(error).context("write");
        }
        Ok(())
    }

    /// Forgets all records. Only once what they say is durable on the drives.
    pub(crate) fn reset(&self) -> Result<(), VolumeError> {
        let mut tail = self.tail();
        let epoch = tail.epoch + 1;
        let mut header = [0u8; HEADER_BYTES];
        header[..8].copy_from_slice(HEADER_MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..28].copy_from_slice(&self.volume);
        header[28..36].copy_from_slice(&epoch.to_le_bytes());
        let sum = crc32c::crc32c(&header[..508]);
        header[508..].copy_from_slice(&sum.to_le_bytes());
        self.block_store
            .write_at(epoch % 2 * HEADER_BYTES as u64, &header)
            .context("write the journal's header")?;
        self.sync()?;
        *tail = Tail { epoch, sequence: 0, offset_bytes: RECORDS_OFFSET_BYTES };
        Ok(())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        // The tail is moved only after a record is written whole, so a poisoned one is still true.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record_sum(header: &[u8], content_sum: u32) -> u32 {
    let sum = crc32c::crc32c(&header[..24]);
    crc32c::crc32c_append(crc32c::crc32c_append(sum, &header[28..32]), &content_sum.to_le_bytes())
}

fn read_header(header: &[u8], volume: &[u8; 16]) -> Option<u64> {
    let is_ours = &header[..8] == HEADER_MAGIC
        && header[8..12] == FORMAT_VERSION.to_le_bytes()
        && &header[12..28] == volume
        && crc32c::crc32c(&header[..508]).to_le_bytes() == header[508..];
    if is_ours { u64_at(header, 28) } else { None }
}

fn read_record(block_store: &dyn BlockStore, tail: Tail) -> Result<Option<(u32, Vec<u8>)>, VolumeError> {
    let mut header = [0u8; RECORD_HEADER_BYTES];
    block_store.read_at(tail.offset_bytes, &mut header).context("read the journal")?;
    let length = u32_at(&header, 4).unwrap_or(0) as usize;
    if u32_at(&header, 0) != Some(RECORD_MAGIC)
        || u64_at(&header, 8) != Some(tail.epoch)
        || u64_at(&header, 16) != Some(tail.sequence)
        || length > RECORD_BYTES_LIMIT
    {
        return Ok(None);
    }
    let mut record = vec![0; RECORD_HEADER_BYTES + length];
    block_store.read_at(tail.offset_bytes, &mut record).context("read the journal")?;
    let content_sum = crc32c::crc32c(&record[RECORD_HEADER_BYTES..]);
    if u32_at(&record, 24) != Some(record_sum(&record[..RECORD_HEADER_BYTES], content_sum)) {
        return Ok(None);
    }
    Ok(u32_at(&record, 28).map(|kind| (kind, record)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
