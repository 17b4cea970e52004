//! A load on a served array that knows what each block must hold.

use super::{Random, Served};
use nbd::Client;
use nbd::decode::Command as Nbd;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const BLOCK: u32 = 4096;
const BLOCKS: u64 = 512;
const DEPTH: usize = 16;

/// A load that knows for each block which versions it may hold.
pub struct Verified {
    pub random: Random,
    pub next_version: u64,
    /// By block: what was behind a completed flush, and what may have come after.
    durable: Vec<u64>,
    acknowledged: Vec<u64>,
    submitted: Vec<u64>,
}

fn block_of(block: u64, version: u64) -> Vec<u8> {
    if version == 0 {
        return vec![0; BLOCK as usize];
    }
    [block.to_le_bytes(), version.to_le_bytes()].concat().into_iter().cycle().take(BLOCK as usize).collect()
}

impl Verified {
    pub fn new(seed: u64) -> Self {
        let none = vec![0; BLOCKS as usize];
        Verified {
            random: Random(seed),
            next_version: 1,
            durable: none.clone(),
            acknowledged: none.clone(),
            submitted: none,
        }
    }

    /// Writes at a depth of 16 with FUA now and then and a flush every 50 writes, until the connection breaks or
    /// `writes` are done.
    pub fn write(&mut self, client: &mut Client, writes: u64) {
        let mut under_way: BTreeMap<u64, (u64, u64, bool)> = BTreeMap::new();
        for index in 0..writes {
            let block = self.random.below(BLOCKS);
            if under_way.values().any(|&(other, ..)| other == block) {
                continue;
            }
            let version = self.next_version;
            self.next_version += 1;
            self.submitted[block as usize] = version;
            let fua = self.random.below(20) == 0;
            let bytes = block_of(block, version);
            let Ok(cookie) =
                client.submit(Nbd::Write, u16::from(fua), block * u64::from(BLOCK), BLOCK, &bytes)
            else {
                return;
            };
            under_way.insert(cookie, (block, version, fua));
            let is_flush_due = index % 50 == 49;
            while under_way.len() >= DEPTH || (is_flush_due && !under_way.is_empty()) {
                let Ok(reply) = client.receive() else { return };
                let (block, version, fua) = under_way.remove(&reply.cookie).expect("a request of ours");
                if reply.errno != 0 {
                    return;
                }
                self.acknowledged[block as usize] = version;
                if fua {
                    self.durable[block as usize] = version;
                }
            }
            if is_flush_due {
                if client.flush().is_err() {
                    return;
                }
                self.durable.clone_from(&self.acknowledged);
            }
        }
        while !under_way.is_empty() {
            let Ok(reply) = client.receive() else { return };
            let (block, version, _) = under_way.remove(&reply.cookie).expect("a request of ours");
            if reply.errno == 0 {
                self.acknowledged[block as usize] = version;
            }
        }
    }

    /// Checks every block: one version, whole, between `at_least` and what was submitted last.
    pub fn check(&mut self, client: &mut Client, only_durable: bool, what: &str) {
        for block in 0..BLOCKS {
            let bytes = client.read(block * u64::from(BLOCK), BLOCK).unwrap();
            let version = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
            let index = block as usize;
            let least = if only_durable { self.durable[index] } else { self.acknowledged[index] };
            assert!(
                (least..=self.submitted[index]).contains(&version),
                "{what}: block {block} holds version {version}, not {least} to {}",
                self.submitted[index]
            );
            assert!(bytes == block_of(block, version), "{what}: block {block} is mixed");
            // What is there now is the truth from now on.
            (self.acknowledged[index], self.submitted[index]) = (version, version);
            self.durable[index] = version;
        }
        client.flush().unwrap();
    }
}

/// Says so when something has ended, however.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a verified load on an array until something has been done with it.
pub fn under_load(served: &Served, load: &mut Verified, what: &str, act: impl FnOnce()) {
    let mut client = served.client();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                load.write(&mut client, 100);
            }
        });
        // Also when it panics, or the load would never end.
        let _ended = Ended(&is_done);
        act();
    });
    load.check(&mut client, false, what);
}
