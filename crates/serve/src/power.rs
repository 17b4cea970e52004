//! Backing store with power cuts and drive failures: a directory of a served array.
//!
//! Files cannot be made to forget what they were told. So writes that a drive needs to have only after the next sync
//! stay in memory until then, as in a drive's volatile cache; a power cut writes those of their sectors that it keeps.
//! Each other write keeps what it overwrote until it is synced, and a power cut takes back any of these sectors. Of
//! the journal, which is only appended to, the range is enough: a sector lost reads as zeros.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use volume::{BackingStore, BlockStore, Directory, SECTOR_BYTES, SharedBytes};

/// A drive that has this much unsynced writes it through: no cache is larger.
const UNSYNCED_BYTES_LIMIT: usize = 64 << 20;
/// Memory of a drive that is kept for the next writes after a sync.
const KEPT_BYTES_LIMIT: usize = 16 << 20;

/// A directory with a power switch. Clones are the same.
#[derive(Clone)]
pub(crate) struct PowerCutStore {
    inner: Arc<Inner>,
}

struct Inner {
    directory: Directory,
    power: Arc<Power>,
    block_stores: Mutex<Vec<Arc<PowerCutBlockStore>>>,
}

struct Power {
    is_on: AtomicBool,
    /// Of what is neither a drive nor the journal.
    gate: Gate,
}

/// Shared by each access to a store, alone to cut the power. Each store has one, so that threads at different drives
/// change nothing that they share.
type Gate = RwLock<()>;

impl Power {
    /// Lets an access to what a gate is for pass while the power is on.
    fn pass<'a>(&self, gate: &'a Gate) -> io::Result<RwLockReadGuard<'a, ()>> {
        let guard = gate.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_on.load(Ordering::Acquire) {
            Ok(guard)
        } else {
            Err(io::Error::new(io::ErrorKind::NotConnected, "the power is off"))
        }
    }
}

impl PowerCutStore {
    pub(crate) fn new(directory: Directory) -> Self {
        let power = Arc::new(Power { is_on: AtomicBool::new(true), gate: Gate::default() });
        PowerCutStore { inner: Arc::new(Inner { directory, power, block_stores: Mutex::default() }) }
    }

    /// Nothing is read or written until [`PowerCutStore::switch_on`]; of what was not synced each sector is lost if
    /// `loses` says so.
    pub(crate) fn cut(&self, mut loses: impl FnMut() -> bool) -> io::Result<()> {
        let power = &self.inner.power;
        power.is_on.store(false, Ordering::Release);
        let block_stores = self.block_stores();
        let gates = block_stores.iter().map(|block_store| &block_store.gate).chain([&power.gate]);
        // All of them before anything is lost: nobody may go on at one drive while another has lost something.
        let _alone: Vec<_> = gates.map(|gate| gate.write().unwrap_or_else(PoisonError::into_inner)).collect();
        block_stores.iter().try_for_each(|block_store| block_store.lose(&mut loses))
    }

    /// The next accesses pass, on media opened anew.
    pub(crate) fn switch_on(&self) {
        self.block_stores().clear();
        self.inner.power.is_on.store(true, Ordering::Release);
    }

    /// From now on a drive refuses writes.
    pub(crate) fn break_drive(&self, drive: u16) -> bool {
        let block_stores = self.block_stores();
        let newest = block_stores.iter().rev().find(|block_store| block_store.drive == Some(drive));
        newest.is_some_and(|block_store| {
            block_store.is_broken.store(true, Ordering::Release);
            true
        })
    }

    /// The drives that have refused a write since the last call, each with an error that names it.
    pub(crate) fn take_failures(&self) -> Vec<(u16, String)> {
        let block_stores = self.block_stores();
        let failures = block_stores.iter().filter_map(|block_store| {
            let failure = lock(&block_store.failure).take()?;
            Some((block_store.drive?, failure))
        });
        failures.collect()
    }

    fn block_stores(&self) -> MutexGuard<'_, Vec<Arc<PowerCutBlockStore>>> {
        lock(&self.inner.block_stores)
    }

    fn wrap(&self, inner: Arc<dyn BlockStore>, drive: Option<u16>) -> Arc<dyn BlockStore> {
        let block_store = Arc::new(PowerCutBlockStore {
            inner,
            drive,
            power: self.inner.power.clone(),
            gate: Gate::default(),
            behind: Mutex::default(),
            unsynced: Mutex::default(),
            is_broken: AtomicBool::new(false),
            failure: Mutex::default(),
        });
        let mut block_stores = self.block_stores();
        // Who is referred to from here only was replaced or closed.
        block_stores.retain(|known| Arc::strong_count(known) > 1);
        block_stores.push(block_store.clone());
        block_store
    }
}

impl BackingStore for PowerCutStore {
    fn name(&self) -> String {
        self.inner.directory.name()
    }

    fn drive(
        &self,
        drive: u16,
        generation: u32,
        size_bytes: u64,
        is_new: bool,
    ) -> io::Result<Arc<dyn BlockStore>> {
        let block_store = {
            let _on = self.inner.power.pass(&self.inner.power.gate)?;
            self.inner.directory.drive(drive, generation, size_bytes, is_new)?
        };
        Ok(self.wrap(block_store, Some(drive)))
    }

    fn journal(&self) -> io::Result<Arc<dyn BlockStore>> {
        let block_store = {
            let _on = self.inner.power.pass(&self.inner.power.gate)?;
            self.inner.directory.journal()?
        };
        Ok(self.wrap(block_store, None))
    }

    fn read_record(&self) -> io::Result<Option<Vec<u8>>> {
        let _on = self.inner.power.pass(&self.inner.power.gate)?;
        self.inner.directory.read_record()
    }

    fn write_record(&self, bytes: &[u8]) -> io::Result<()> {
        let _on = self.inner.power.pass(&self.inner.power.gate)?;
        self.inner.directory.write_record(bytes)
    }
}

/// A write that was not synced.
struct Write {
    offset_bytes: u64,
    length: usize,
}

/// The writes that were not synced, oldest first.
#[derive(Default)]
struct Unsynced {
    writes: Vec<Write>,
    /// Bytes that were there before each, one behind the other; none for the journal.
    before: Vec<u8>,
}

impl Unsynced {
    /// Nothing is unsynced any more; the memory is kept for the next writes, up to a limit.
    fn clear(&mut self) {
        self.writes.clear();
        self.before.clear();
        self.before.shrink_to(KEPT_BYTES_LIMIT);
    }
}

struct PowerCutBlockStore {
    inner: Arc<dyn BlockStore>,
    /// Nothing: the journal.
    drive: Option<u16>,
    power: Arc<Power>,
    gate: Gate,
    /// Writes that are only in memory until the next sync, in order.
    behind: Mutex<Vec<(u64, SharedBytes)>>,
    unsynced: Mutex<Unsynced>,
    is_broken: AtomicBool,
    failure: Mutex<Option<String>>,
}

impl PowerCutBlockStore {
    /// Takes back, newest first, the sectors that `loses` says; one that a newer write kept stays.
    fn lose(&self, loses: &mut dyn FnMut() -> bool) -> io::Result<()> {
        let mut unsynced = lock(&self.unsynced);
        let mut kept: BTreeSet<u64> = BTreeSet::new();
        let sector_bytes = SECTOR_BYTES as u64;
        for (offset_bytes, bytes) in std::mem::take(&mut *lock(&self.behind)).into_iter().rev() {
            for (sector, bytes) in (offset_bytes / sector_bytes..).zip(bytes.chunks(SECTOR_BYTES)) {
                if !kept.contains(&sector) && !loses() {
                    self.inner.write_at(sector * sector_bytes, bytes)?;
                    kept.insert(sector);
                }
            }
        }
        while let Some(write) = unsynced.writes.pop() {
            let before = match self.drive {
                Some(_) => {
                    let start = unsynced.before.len() - write.length;
                    Some(unsynced.before.split_off(start))
                }
                None => None,
            };
            let end = write.offset_bytes + write.length as u64;
            for sector in write.offset_bytes / sector_bytes..end.div_ceil(sector_bytes) {
                if kept.contains(&sector) {
                    continue;
                }
                if !loses() {
                    kept.insert(sector);
                    continue;
                }
                // Checksums are shorter than a sector: only what was written is taken back.
                let from = (sector * sector_bytes).max(write.offset_bytes);
                let to = ((sector + 1) * sector_bytes).min(end);
                let within = (from - write.offset_bytes) as usize;
                let count = (to - from) as usize;
                match &before {
                    Some(before) => self.inner.write_at(from, &before[within..within + count])?,
                    None => self.inner.write_at(from, &[0; SECTOR_BYTES][..count])?,
                }
            }
        }
        Ok(())
    }

    /// Remembers that a drive does not take writes, and names it in the error. A full file system is not the drive's
    /// fault.
    fn note<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let Some(drive) = self.drive.filter(|_| !is_full) else { return error };
            let problem = format!("drive {drive}: {error}");
            *lock(&self.failure) = Some(problem.clone());
            io::Error::new(error.kind(), problem)
        })
    }

    fn refuse_if_broken(&self) -> io::Result<()> {
        if self.is_broken.load(Ordering::Acquire) {
            return Err(io::Error::other("the drive refuses writes"));
        }
        Ok(())
    }
}

impl BlockStore for PowerCutBlockStore {
    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        let _on = self.power.pass(&self.gate)?;
        self.inner.read_at(offset_bytes, buffer)
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        let _on = self.power.pass(&self.gate)?;
        let mut unsynced = lock(&self.unsynced);
        let Unsynced { writes, before } = &mut *unsynced;
        let write = Write { offset_bytes, length: bytes.len() };
        match (writes.last_mut(), self.drive) {
            // Appended to the journal behind the last append.
            (Some(last), None) if last.offset_bytes + last.length as u64 == offset_bytes => {
                last.length += bytes.len();
            }
            (_, None) => writes.push(write),
            (_, Some(_)) => {
                let start = before.len();
                before.resize(start + bytes.len(), 0);
                if let Err(error) = self.inner.read_at(offset_bytes, &mut before[start..]) {
                    before.truncate(start);
                    return Err(error);
                }
                writes.push(write);
                if before.len() > UNSYNCED_BYTES_LIMIT {
                    self.note(self.inner.sync())?;
                    unsynced.clear();
                }
            }
        }
        self.note(self.refuse_if_broken().and_then(|()| self.inner.write_at(offset_bytes, bytes)))
    }

    fn write_until_sync(&self, offset_bytes: u64, bytes: SharedBytes) -> io::Result<()> {
        if !offset_bytes.is_multiple_of(SECTOR_BYTES as u64) {
            return self.write_at(offset_bytes, &bytes);
        }
        let _on = self.power.pass(&self.gate)?;
        self.note(self.refuse_if_broken())?;
        lock(&self.behind).push((offset_bytes, bytes));
        Ok(())
    }

    fn zero(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let _on = self.power.pass(&self.gate)?;
        // Not taken back: the volume frees only what the journal or a map says is free.
        self.note(self.refuse_if_broken().and_then(|()| self.inner.zero(offset_bytes, length_bytes)))
    }

    fn sync(&self) -> io::Result<()> {
        let _on = self.power.pass(&self.gate)?;
        // Those of a sync that fails are written again by whoever wanted them here.
        let behind = std::mem::take(&mut *lock(&self.behind));
        let mut syncing = std::mem::take(&mut *lock(&self.unsynced));
        let written = self.refuse_if_broken().and_then(|()| write_all(&*self.inner, &behind));
        drop(behind);
        let outcome = self.note(written.and_then(|()| self.inner.sync()));
        let mut unsynced = lock(&self.unsynced);
        if outcome.is_err() {
            let newer = std::mem::replace(&mut *unsynced, syncing);
            unsynced.writes.extend(newer.writes);
            unsynced.before.extend(newer.before);
        } else if unsynced.writes.is_empty() {
            syncing.clear();
            *unsynced = syncing;
        }
        outcome
    }

    fn is_allocated(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<bool> {
        let _on = self.power.pass(&self.gate)?;
        self.inner.is_allocated(offset_bytes, length_bytes)
    }
}

/// Writes what was kept in memory, in order; what lies one behind the other together.
fn write_all(block_store: &dyn BlockStore, writes: &[(u64, SharedBytes)]) -> io::Result<()> {
    let mut parts = Vec::new();
    let mut writes = writes.iter().peekable();
    while let Some((start, bytes)) = writes.next() {
        let mut end = start + bytes.len() as u64;
        parts.push(bytes.clone());
        while let Some((_, next)) = writes.next_if(|(offset_bytes, _)| *offset_bytes == end) {
            end += next.len() as u64;
            parts.push(next.clone());
        }
        match &parts[..] {
            [bytes] => block_store.write_at(*start, bytes)?,
            parts => block_store.write_parts_at(*start, parts)?,
        }
        parts.clear();
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is guarded is changed in steps that leave it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that of writes which need to be on a drive only after a sync a power cut keeps the sectors that it is told to, that
    /// the newest that was kept is what a sector holds, and that a sync brings all of them, in order.
    #[test]
    fn a_cut_keeps_some_of_what_waits_for_a_sync() {
        let directory = tempfile::tempdir().unwrap();
        let store = PowerCutStore::new(Directory::lock(directory.path(), Vec::new()).unwrap());
        let drive = store.drive(0, 0, 1 << 20, true).unwrap();
        let bytes = |fill: u8, sectors: usize| {
            SharedBytes::new(Arc::new(vec![fill; 8 * SECTOR_BYTES]), 0..sectors * SECTOR_BYTES)
        };
        drive.write_until_sync(0, bytes(1, 4)).unwrap();
        drive.write_until_sync(2048, bytes(9, 4)).unwrap();
        drive.sync().unwrap();
        drive.write_until_sync(0, bytes(2, 4)).unwrap();
        drive.write_until_sync(0, bytes(3, 2)).unwrap();
        // Newest first: sector 0 keeps 3; sector 1 loses 3 and 2; sector 2 keeps 2, sector 3 loses it.
        let mut answers = [false, true, true, false, true].into_iter();
        store.cut(|| answers.next().unwrap()).unwrap();
        store.switch_on();
        let drive = store.drive(0, 0, 1 << 20, false).unwrap();
        let mut read = [0; 4096];
        drive.read_at(0, &mut read).unwrap();
        let sectors: Vec<u8> = read.chunks(512).map(|sector| sector[0]).collect();
        assert_eq!(sectors, [3, 1, 2, 1, 9, 9, 9, 9]);
    }

    /// Proves that a power cut takes back what was not synced, sector by sector, keeps what was, and that the
    /// newest write a sector kept is what it holds.
    #[test]
    fn a_cut_takes_back_what_was_not_synced() {
        let directory = tempfile::tempdir().unwrap();
        let store = PowerCutStore::new(Directory::lock(directory.path(), Vec::new()).unwrap());
        let drive = store.drive(0, 0, 1 << 20, true).unwrap();
        drive.write_at(0, &[1; 2048]).unwrap();
        drive.sync().unwrap();
        drive.write_at(0, &[2; 2048]).unwrap();
        drive.write_at(0, &[3; 1024]).unwrap();
        // Newest first: sector 0 keeps 3; sector 1 loses 3 and 2; sector 2 keeps 2, sector 3 loses it.
        let mut answers = [false, true, true, false, true].into_iter();
        store.cut(|| answers.next().unwrap()).unwrap();
        assert!(drive.read_at(0, &mut [0; 512]).is_err(), "the power is off");
        store.switch_on();
        let drive = store.drive(0, 0, 1 << 20, false).unwrap();
        let mut bytes = [0; 2048];
        drive.read_at(0, &mut bytes).unwrap();
        let sectors: Vec<u8> = bytes.chunks(512).map(|sector| sector[0]).collect();
        assert_eq!(sectors, [3, 1, 2, 1]);
    }
}
