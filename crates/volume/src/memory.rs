//! In-memory backing store with simulated power cuts, for tests of durability.

use crate::block_store::{BackingStore, BlockStore};
use crate::checksums::SECTOR_BYTES;
use crate::lock::lock;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

type Sector = [u8; SECTOR_BYTES];

/// Bytes of which a power cut keeps what was synced, and of the rest any sectors it likes.
#[derive(Default)]
pub struct MemoryBlockStore {
    content: Mutex<Content>,
    /// Writes and syncs left on the whole shelf before they fail.
    budget: Arc<Mutex<Option<u64>>>,
}

#[derive(Default)]
struct Content {
    current: HashMap<u64, Sector>,
    durable: HashMap<u64, Sector>,
    /// Every sector written since the last sync, in order.
    unsynced: Vec<(u64, Sector)>,
}

impl Content {
    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset_bytes + done as u64;
            let (number, within) = (at / SECTOR_BYTES as u64, (at % SECTOR_BYTES as u64) as usize);
            let count = (bytes.len() - done).min(SECTOR_BYTES - within);
            let sector = self.current.entry(number).or_insert([0; SECTOR_BYTES]);
            sector[within..within + count].copy_from_slice(&bytes[done..done + count]);
            self.unsynced.push((number, *sector));
            done += count;
        }
    }
}

impl MemoryBlockStore {
    fn content(&self) -> MutexGuard<'_, Content> {
        lock(&self.content)
    }

    fn spend(&self) -> io::Result<()> {
        match &mut *lock(&self.budget) {
            None => Ok(()),
            Some(0) => Err(io::Error::new(io::ErrorKind::StorageFull, "no space is left on the shelf")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    pub(crate) fn cut_power(&self, keeps: &mut dyn FnMut() -> bool) {
        let mut content = self.content();
        let content = &mut *content;
        for (number, sector) in content.unsynced.drain(..) {
            if keeps() {
                content.durable.insert(number, sector);
            }
        }
        content.current = content.durable.clone();
    }
}

impl BlockStore for MemoryBlockStore {
    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        let content = self.content();
        let mut done = 0;
        while done < buffer.len() {
            let at = offset_bytes + done as u64;
            let (number, within) = (at / SECTOR_BYTES as u64, (at % SECTOR_BYTES as u64) as usize);
            let count = (buffer.len() - done).min(SECTOR_BYTES - within);
            match content.current.get(&number) {
                Some(sector) => buffer[done..done + count].copy_from_slice(&sector[within..within + count]),
                None => buffer[done..done + count].fill(0),
            }
            done += count;
        }
        Ok(())
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.spend()?;
        self.content().write(offset_bytes, bytes);
        Ok(())
    }

    fn zero(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.spend()?;
        self.content().write(offset_bytes, &vec![0; length_bytes as usize]);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.spend()?;
        let mut content = self.content();
        let content = &mut *content;
        content.durable.extend(content.unsynced.drain(..));
        Ok(())
    }

    fn is_allocated(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<bool> {
        let content = self.content();
        let last = (offset_bytes + length_bytes - 1) / SECTOR_BYTES as u64;
        Ok((offset_bytes / SECTOR_BYTES as u64..=last)
            .any(|number| content.current.get(&number).is_some_and(|sector| *sector != [0; SECTOR_BYTES])))
    }
}

/// Drives, journal and record in memory. Clones are the same shelf, so that it outlives the volume on it.
#[derive(Clone, Default)]
pub struct MemoryBackingStore {
    block_stores: Arc<Mutex<BTreeMap<String, Arc<MemoryBlockStore>>>>,
    record: Arc<Mutex<Option<Vec<u8>>>>,
    budget: Arc<Mutex<Option<u64>>>,
}

impl MemoryBackingStore {
    /// Cuts the power: of what was not synced, `keeps` says sector by sector what reached the medium.
    pub fn cut_power(&self, mut keeps: impl FnMut() -> bool) {
        for block_store in lock(&self.block_stores).values() {
            block_store.cut_power(&mut keeps);
        }
    }

    /// From now on `writes` writes and syncs succeed, and all after them fail as on a full disk; `None`: none fails.
    pub fn fail_writes_after(&self, writes: Option<u64>) {
        *lock(&self.budget) = writes;
    }

    fn block_store(&self, name: String) -> Arc<MemoryBlockStore> {
        let fresh =
            || Arc::new(MemoryBlockStore { budget: self.budget.clone(), ..MemoryBlockStore::default() });
        lock(&self.block_stores).entry(name).or_insert_with(fresh).clone()
    }
}

impl BackingStore for MemoryBackingStore {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn drive(&self, drive: u16, generation: u32, _: u64, _: bool) -> io::Result<Arc<dyn BlockStore>> {
        Ok(self.block_store(format!("drive-{drive}.{generation}")))
    }

    fn journal(&self) -> io::Result<Arc<dyn BlockStore>> {
        Ok(self.block_store("journal".to_owned()))
    }

    fn read_record(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(lock(&self.record).clone())
    }

    fn write_record(&self, bytes: &[u8]) -> io::Result<()> {
        *lock(&self.record) = Some(bytes.to_vec());
        Ok(())
    }
}
