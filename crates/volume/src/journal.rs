//! The journal: every change of a stripe, data and parity together, before any of it reaches a drive.
//!
//! This closes the write hole. A record holds the new sectors of all members that change, whole and under one
//! checksum; the drives are written in place only after the records are durable, and repeating that is harmless.
//! Hence a stripe is never found half-written, also where a member is missing and its content exists only as parity.
//!
//! It has two halves. Records go to one of them, while what the other says is brought to the drives; then they take
//! turns. A half that goes on where the other ended begins with a record that says so: should the end of the older one
//! be lost with the power, what came after it does not count either.
//!
//! ```text
//! 0, 512   of each half: two headers, written in turn; the valid one with the higher epoch counts
//! 4096     records of that epoch, one behind the other, numbered from 0; the first that does not fit ends them
//! 2 GiB    the second half
//! ```

use crate::block_store::BlockStore;
use crate::drive::FORMAT_VERSION;
use crate::error::{ErrorContext, VolumeError};
use crate::journal_record::{Change, HEADER_BYTES as RECORD_HEADER_BYTES, Record};
use crate::lock::lock;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const HEADER_MAGIC: &[u8; 8] = b"al-jrnl\0";
const HEADER_BYTES: usize = 512;
const RECORDS_OFFSET_BYTES: u64 = 4096;
/// Offset at which the second half begins. No record is written beyond it.
const HALF_BYTES: u64 = 2 << 30;
/// A half this long is brought to the drives, however much memory there is: the largest record still fits behind it.
pub(crate) const HALF_BYTES_LIMIT: u64 = HALF_BYTES - RECORDS_OFFSET_BYTES - RECORD_BYTES_LIMIT as u64;
/// The largest record; a host write is cut so that its records stay below.
const RECORD_BYTES_LIMIT: usize = 1 << 30;

pub(crate) struct Journal {
    block_store: Arc<dyn BlockStore>,
    volume: [u8; 16],
    state: Mutex<State>,
    /// Of the half that records go to.
    size_bytes: AtomicU64,
    /// A flush failed. The kernel may have dropped what it could not write and will not say so twice, so nothing
    /// is acknowledged any more.
    is_broken: AtomicBool,
}

/// A half as its newest header has it.
#[derive(Debug, Clone, Copy, Default)]
struct Half {
    epoch: u64,
    /// Number of its header, of two.
    slot: u64,
}

/// End of the journal, where the next record goes.
#[derive(Debug, Clone, Copy)]
struct End {
    half: usize,
    number: u64,
    /// From the half's start.
    offset_bytes: u64,
}

impl End {
    /// Of a half without records.
    fn of(half: usize) -> End {
        End { half, number: 0, offset_bytes: RECORDS_OFFSET_BYTES }
    }
}

struct State {
    halves: [Half; 2],
    end: End,
    /// Nothing in the other half counts, durably.
    is_other_forgotten: bool,
}

impl State {
    fn newest_epoch(&self) -> u64 {
        self.halves[0].epoch.max(self.halves[1].epoch)
    }
}

impl Journal {
    /// A new, empty journal.
    pub(crate) fn create(block_store: Arc<dyn BlockStore>, volume: [u8; 16]) -> Result<Self, VolumeError> {
        let journal = Journal::with(block_store, volume, [Half::default(); 2]);
        for half in 0..2 {
            journal
                .block_store
                .write_at(half * HALF_BYTES, &[0; 2 * HEADER_BYTES])
                .context("write the journal")?;
        }
        journal.reset()?;
        Ok(journal)
    }

    fn with(block_store: Arc<dyn BlockStore>, volume: [u8; 16], halves: [Half; 2]) -> Self {
        let state = State { halves, end: End::of(0), is_other_forgotten: false };
        Journal {
            block_store,
            volume,
            state: Mutex::new(state),
            size_bytes: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Opens a journal and hands out what its records say, oldest first. They stay until [`Journal::reset`], before which
    /// nothing is appended.
    pub(crate) fn open(
        block_store: Arc<dyn BlockStore>,
        volume: [u8; 16],
        store: &str,
        mut visit: impl FnMut(Change<'_>) -> Result<(), VolumeError>,
    ) -> Result<Self, VolumeError> {
        let path = || format!("the journal of {store}");
        let mut halves = [Half::default(); 2];
        for (index, half) in halves.iter_mut().enumerate() {
            *half = read_half(&*block_store, index, &volume)?.ok_or_else(|| VolumeError::Damaged {
                path: path(),
                problem: "it has no valid header of this volume and version".to_owned(),
            })?;
        }
        let journal = Journal::with(block_store, volume, halves);
        let older = usize::from(halves[1].epoch < halves[0].epoch);
        let newer = 1 - older;
        let goes_on = journal.goes_on_after(newer)?.filter(|(epoch, _)| *epoch == halves[older].epoch);
        let ended = goes_on.map(|(_, records)| records);
        // A record behind that end is one whose writing failed, as far as its writer knew: it was never acknowledged, and what the
        // newer half says was made without it.
        let records = journal.read_records(older, ended.unwrap_or(u64::MAX), &path, &mut visit)?;
        journal.state().end = End::of(newer);
        if ended.is_some_and(|ended| records < ended) {
            // At once: should the older half be forgotten first, and the power fail then, it would seem to count.
            journal.write_header(&mut journal.state(), newer)?;
            journal.sync()?;
        } else {
            journal.read_records(newer, u64::MAX, &path, &mut visit)?;
        }
        Ok(journal)
    }

    /// Hands out the records of a half, so many at most, and returns how many there are.
    fn read_records(
        &self,
        half: usize,
        most: u64,
        path: &dyn Fn() -> String,
        visit: &mut dyn FnMut(Change<'_>) -> Result<(), VolumeError>,
    ) -> Result<u64, VolumeError> {
        let (mut number, mut offset_bytes) = (0, RECORDS_OFFSET_BYTES);
        while number < most
            && let Some(record) = self.read_record(half, offset_bytes, number)?
        {
            let mut outcome = Ok(());
            let is_sound = record.for_each(|change| {
                if outcome.is_ok() {
                    outcome = visit(change);
                }
            });
            outcome?;
            if !is_sound {
                let problem = "a record with a valid checksum makes no sense".to_owned();
                return Err(VolumeError::Damaged { path: path(), problem });
            }
            number += 1;
            offset_bytes += record.bytes().len() as u64;
        }
        Ok(number)
    }

    /// Behind which epoch, and behind how many records of it, those of a half go on.
    fn goes_on_after(&self, half: usize) -> Result<Option<(u64, u64)>, VolumeError> {
        let first = self.read_record(half, RECORDS_OFFSET_BYTES, 0)?;
        Ok(first.and_then(|record| record.continues()))
    }

    fn read_record(
        &self,
        half: usize,
        offset_bytes: u64,
        number: u64,
    ) -> Result<Option<Record>, VolumeError> {
        let epoch = self.state().halves[half].epoch;
        let offset_bytes = half as u64 * HALF_BYTES + offset_bytes;
        let mut header = [0u8; RECORD_HEADER_BYTES];
        self.block_store.read_at(offset_bytes, &mut header).context("read the journal")?;
        let Some(length) = Record::length_by_header(&header, epoch, number) else { return Ok(None) };
        if length > RECORD_BYTES_LIMIT {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        self.block_store.read_at(offset_bytes, &mut bytes).context("read the journal")?;
        Ok(Record::verified(bytes))
    }

    /// Returns how long the half is that records go to.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::Acquire)
    }

    /// Appends a record. When this returns it survives the end of the process, and a power cut after [`Journal::sync`].
    pub(crate) fn append(&self, record: &mut Record) -> Result<(), VolumeError> {
        debug_assert!(record.bytes().len() <= RECORD_BYTES_LIMIT);
        self.refuse_if_broken()?;
        let content_sum = record.content_sum();
        // Held while writing: a record behind a hole would be lost though it was acknowledged.
        self.append_to(&mut self.state(), record, content_sum)
    }

    fn append_to(&self, state: &mut State, record: &mut Record, content_sum: u32) -> Result<(), VolumeError> {
        let State { halves, end, .. } = state;
        if end.offset_bytes + record.bytes().len() as u64 > HALF_BYTES {
            let error = io::Error::new(io::ErrorKind::StorageFull, "its half of 2 GiB is full");
            return Err(error).context("append to the journal");
        }
        record.seal(halves[end.half].epoch, end.number, content_sum);
        let offset_bytes = end.half as u64 * HALF_BYTES + end.offset_bytes;
        self.block_store.write_at(offset_bytes, record.bytes()).context("append to the journal")?;
        end.number += 1;
        end.offset_bytes += record.bytes().len() as u64;
        self.size_bytes.store(end.offset_bytes - RECORDS_OFFSET_BYTES, Ordering::Release);
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

    /// Records go to the other half from now on. Nobody else appends meanwhile.
    pub(crate) fn turn(&self) -> Result<(), VolumeError> {
        if !self.state().is_other_forgotten {
            // Written over while it counts, it would seem to have lost its end.
            self.forget_older()?;
        }
        let mut state = self.state();
        let ended = state.end;
        // Newer than the one that ends. Durable no later than the records behind it.
        self.write_header(&mut state, 1 - ended.half)?;
        state.end = End::of(1 - ended.half);
        let epoch = state.halves[ended.half].epoch;
        let mut going_on = Record::continuing(epoch, ended.number);
        let content_sum = going_on.content_sum();
        let outcome = self.append_to(&mut state, &mut going_on, content_sum);
        if outcome.is_err() {
            // A half that did not begin with that record would count alone.
            state.end = ended;
        } else {
            state.is_other_forgotten = false;
        }
        outcome
    }

    /// Forgets the records of the half that nothing is appended to. Only once what they say is durable on the drives.
    pub(crate) fn forget_older(&self) -> Result<(), VolumeError> {
        let mut state = self.state();
        let older = 1 - state.end.half;
        self.write_header(&mut state, older)?;
        drop(state);
        self.sync()?;
        self.state().is_other_forgotten = true;
        Ok(())
    }

    /// Forgets all records. Only once what they say is durable on the drives.
    pub(crate) fn reset(&self) -> Result<(), VolumeError> {
        // The older ones first: alone they would take back what the newer ones say.
        self.forget_older()?;
        let mut state = self.state();
        let half = state.end.half;
        self.write_header(&mut state, half)?;
        state.end = End::of(half);
        self.size_bytes.store(0, Ordering::Release);
        drop(state);
        self.sync()
    }

    /// Gives a half an epoch above all others, so that no record in it counts.
    fn write_header(&self, state: &mut State, half: usize) -> Result<(), VolumeError> {
        let next = Half { epoch: state.newest_epoch() + 1, slot: 1 - state.halves[half].slot };
        let mut header = [0u8; HEADER_BYTES];
        header[..8].copy_from_slice(HEADER_MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..28].copy_from_slice(&self.volume);
        header[28..36].copy_from_slice(&next.epoch.to_le_bytes());
        let sum = crc32c::crc32c(&header[..508]);
        header[508..].copy_from_slice(&sum.to_le_bytes());
        self.block_store
            .write_at(half as u64 * HALF_BYTES + next.slot * HEADER_BYTES as u64, &header)
            .context("write the journal's header")?;
        state.halves[half] = next;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The end is moved only after a record is written whole.
        lock(&self.state)
    }
}

/// The newest valid header of a half.
fn read_half(
    block_store: &dyn BlockStore,
    half: usize,
    volume: &[u8; 16],
) -> Result<Option<Half>, VolumeError> {
    let mut headers = [0u8; 2 * HEADER_BYTES];
    block_store.read_at(half as u64 * HALF_BYTES, &mut headers).context("read the journal")?;
    let valid = headers.chunks_exact(HEADER_BYTES).zip(0..).filter_map(|(header, slot)| {
        let is_ours = &header[..8] == HEADER_MAGIC
            && header[8..12] == FORMAT_VERSION.to_le_bytes()
            && &header[12..28] == volume
            && crc32c::crc32c(&header[..508]).to_le_bytes() == header[508..];
        let epoch = u64::from_le_bytes(header[28..36].try_into().ok()?);
        is_ours.then_some(Half { epoch, slot })
    });
    Ok(valid.max_by_key(|half| half.epoch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryBlockStore;

    const VOLUME: [u8; 16] = [7; 16];

    fn append(journal: &Journal, stripe: u64) {
        journal.append(&mut Record::zero_stripes(stripe, stripe + 1)).unwrap();
    }

    /// The stripes of all records that count.
    fn open(block_store: &Arc<MemoryBlockStore>) -> (Journal, Vec<u64>) {
        let mut stripes = Vec::new();
        let journal = Journal::open(block_store.clone(), VOLUME, "a test", |change| {
            if let Change::ZeroStripes { first, .. } = change {
                stripes.push(first);
            }
            Ok(())
        });
        (journal.unwrap(), stripes)
    }

    /// Proves that records of both halves come back in order, over several turns, and not those that were forgotten.
    #[test]
    fn halves_take_turns() {
        let block_store = Arc::new(MemoryBlockStore::default());
        let journal = Journal::create(block_store.clone(), VOLUME).unwrap();
        for turn in 0..5 {
            append(&journal, turn * 2);
            append(&journal, turn * 2 + 1);
            let expected: Vec<u64> = (turn.saturating_sub(1) * 2..=turn * 2 + 1).collect();
            assert_eq!(open(&block_store).1, expected);
            if turn > 0 {
                journal.forget_older().unwrap();
            }
            assert_eq!(open(&block_store).1, [turn * 2, turn * 2 + 1]);
            journal.turn().unwrap();
        }
        journal.reset().unwrap();
        assert_eq!(open(&block_store).1, [0; 0]);
    }

    /// Proves that a half never grows into the other: what does not fit is refused, and what came before it stays.
    #[test]
    fn a_full_half_takes_no_more() {
        let block_store = Arc::new(MemoryBlockStore::default());
        let journal = Journal::create(block_store.clone(), VOLUME).unwrap();
        append(&journal, 1);
        let length = journal.size_bytes();
        let end = journal.state().end;
        journal.state().end.offset_bytes = HALF_BYTES - length;
        append(&journal, 2);
        let refused = journal.append(&mut Record::zero_stripes(3, 4)).unwrap_err();
        assert!(
            matches!(&refused, VolumeError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
        );
        assert_eq!(journal.state().end.offset_bytes, HALF_BYTES);
        journal.state().end = end;
        append(&journal, 4);
        assert_eq!(open(&block_store).1, [1, 4]);
    }

    /// Proves that records behind the end of the older half do not count when the power took that end: they rest on what is
    /// gone; nor after a start that was cut off before it had forgotten anything, or the older half alone.
    #[test]
    fn what_rests_on_a_lost_record_does_not_count() {
        let block_store = Arc::new(MemoryBlockStore::default());
        let journal = Journal::create(block_store.clone(), VOLUME).unwrap();
        append(&journal, 1);
        journal.sync().unwrap();
        append(&journal, 2);
        journal.turn().unwrap();
        append(&journal, 3);
        let mut writes = 0;
        block_store.cut_power(&mut || {
            writes += 1;
            writes > 1
        });
        assert!(writes >= 4, "a record, a header and two records were not synced");
        let (journal, stripes) = open(&block_store);
        assert_eq!(stripes, [1]);
        assert_eq!(open(&block_store).1, [1], "another start");
        journal.forget_older().unwrap();
        assert_eq!(open(&block_store).1, [0; 0], "the older half is forgotten");
    }

    /// Proves that a record which reached the medium though its writing failed takes nothing acknowledged with it: neither what was
    /// appended after it in its place, nor what went to the other half; and that it does not count itself where that goes on.
    #[test]
    fn a_failed_record_that_was_written_takes_nothing_with_it() {
        let block_store = Arc::new(MemoryBlockStore::default());
        let journal = Journal::create(block_store.clone(), VOLUME).unwrap();
        let append_in_vain = |stripe: u64| {
            let end = journal.state().end;
            append(&journal, stripe);
            journal.state().end = end;
        };
        append(&journal, 1);
        append_in_vain(8);
        append(&journal, 2);
        assert_eq!(open(&block_store).1, [1, 2]);
        append_in_vain(9);
        journal.turn().unwrap();
        append(&journal, 3);
        journal.sync().unwrap();
        assert_eq!(open(&block_store).1, [1, 2, 3]);
    }
}
