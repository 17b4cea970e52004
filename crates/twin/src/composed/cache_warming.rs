//! Functional warming of caches: what an I/O leaves in them, without the time that it takes (Wunderlich, Wenisch, Falsafi and Hoe
//! 2003, "SMARTS: accelerating microarchitecture simulation via rigorous statistical sampling", section 3).

use load::{Direction, Operation};

use super::command::Command;
use super::services::Request;
use super::set::stripe_at;
use super::{Model, Piece};
use crate::cache::{ReadCacheFill, SECTOR_BYTES, WriteCache, WriteCacheFill, WriteCacheLevel};

/// Bytes of a range that are looked up at once.
const SEEN_AT_ONCE_BYTES: u64 = 1 << 30;

/// Part of an I/O on one volume, and where it is.
#[derive(Debug, Clone, Copy)]
struct Warming {
    piece: Piece,
    /// Controller that has its data in memory.
    owner: u16,
    set: u16,
    /// In the set.
    offset_bytes: u64,
    /// Among all sets.
    address: u64,
}

impl Warming {
    fn request(&self) -> Request {
        let &Warming { piece: Piece { direction, length_bytes, .. }, set, offset_bytes, address, .. } = self;
        let length_bytes = u64::from(length_bytes);
        Request { direction, set, offset_bytes, length_bytes, address, is_in_memory: false }
    }
}

impl Model {
    /// Fills of its read caches: in memory, and on drives that are not lost; none where it has none.
    pub fn read_cache_fills(&self) -> impl Iterator<Item = ReadCacheFill> {
        let mut in_memory = ReadCacheFill::default();
        let own = &self.controllers[..self.own_controllers];
        for cache in own.iter().filter_map(|controller| controller.read_cache.as_ref()) {
            let sectors = |blocks: u64| blocks * cache.block_bytes() / SECTOR_BYTES;
            in_memory.kept_sectors += sectors(cache.filled_blocks());
            in_memory.room_sectors += sectors(cache.blocks());
        }
        let on_drives = self.services.as_ref().and_then(|services| services.drive_cache_fill());
        // Chains of replicas have neither.
        [Some(in_memory), on_drives]
            .into_iter()
            .flatten()
            .filter(|fill| fill.room_sectors > 0 && self.chain.is_none())
    }

    /// Leaves in the read caches what I/Os leave there, one after the other: a read its data, a write nothing of what a cache on drives
    /// had. Several at once wait for the memory of the caches together.
    pub fn warm(&mut self, operations: &[Operation]) {
        if self.chain.is_some() {
            return;
        }
        let mut pieces = Vec::with_capacity(operations.len());
        for operation in operations.iter().filter(|operation| operation.direction != Direction::Trim) {
            self.cut(operation, &mut pieces);
        }
        for one in pieces.iter().filter(|one| one.piece.direction == Direction::Read) {
            if let Some(cache) = &self.controllers[usize::from(one.owner)].read_cache {
                cache.fetch(one.address, u64::from(one.piece.length_bytes));
            }
        }
        pieces.iter().for_each(|one| self.warm_piece(one));
    }

    /// Lets a cache on drives that keeps what is read a second time have seen a range of what a job addresses.
    pub fn warm_seen(&mut self, job: u32, offset_bytes: u64, length_bytes: u64) {
        let (mut offset_bytes, end_bytes) = (offset_bytes, offset_bytes + length_bytes);
        let mut pieces = Vec::new();
        while offset_bytes < end_bytes {
            let length_bytes = (end_bytes - offset_bytes).min(SEEN_AT_ONCE_BYTES) as u32;
            self.cut(&Operation { direction: Direction::Read, job, offset_bytes, length_bytes }, &mut pieces);
            // A range of terabytes under a stripe of hosts is cut into hundreds of millions.
            let Some(services) = self.services.as_mut().filter(|services| services.has_drive_cache()) else {
                return;
            };
            for one in pieces.drain(..) {
                services.see(one.address, u64::from(one.piece.length_bytes));
            }
            offset_bytes += u64::from(length_bytes);
        }
    }

    /// Fills of its write caches; none where writes go past them.
    pub fn write_cache_fills(&self) -> impl Iterator<Item = WriteCacheFill> {
        let takes_writes = self.chain.is_none() && !(self.mirrors && self.failover.is_any_away());
        let has_second = self.services.as_ref().is_some_and(|services| services.has_mirror());
        let count = if has_second { self.controllers.len() } else { self.own_controllers };
        self.controllers[..count]
            .iter()
            .filter(move |_| takes_writes)
            .filter_map(|controller| controller.write_cache.as_ref().map(WriteCache::level))
    }

    /// Leaves in the write caches what writes leave there, one after the other, and takes to the drives what is more than a level.
    pub fn warm_write_caches(&mut self, operations: &[Operation], level: WriteCacheLevel) {
        let mut pieces = Vec::with_capacity(operations.len());
        for operation in operations.iter().filter(|operation| operation.direction == Direction::Write) {
            self.cut(operation, &mut pieces);
        }
        let mut data = Vec::new();
        for one in &pieces {
            let Some(services) = &mut self.services else {
                let length_bytes = u64::from(one.piece.length_bytes);
                self.warm_write_cache(one.owner, one.set, (one.offset_bytes, length_bytes), level);
                continue;
            };
            services.warm(one.request(), one.piece.job, |io| {
                data.push((io.set, (io.offset_bytes, u64::from(io.length_bytes))));
            });
            let has_second = services.has_mirror();
            for (set, range) in data.drain(..) {
                self.warm_write_cache(one.owner, set, range, level);
                if has_second {
                    let (owner, set) = self.at_peer(one.owner, set);
                    self.warm_write_cache(owner, set, range, level);
                }
            }
        }
    }

    /// A controller's cache takes a range of a set in.
    fn warm_write_cache(
        &mut self,
        owner: u16,
        set: u16,
        (offset_bytes, length_bytes): (u64, u64),
        level: WriteCacheLevel,
    ) {
        let sets = &self.sets;
        if let Some(cache) = &mut self.controllers[usize::from(owner)].write_cache {
            let extent = (sets[usize::from(set)].address(offset_bytes), length_bytes);
            cache.warm(extent, level, |byte| stripe_at(sets, byte));
        }
    }

    /// Cuts an I/O at the ends of volumes and of the units of its hosts' stripe.
    fn cut(&self, operation: &Operation, pieces: &mut Vec<Warming>) {
        let Operation { direction, job, mut offset_bytes, length_bytes: mut left } = *operation;
        while left > 0 {
            let Some((volume, within_bytes, room_bytes)) = self.volume_at(job, offset_bytes) else { return };
            let length_bytes = u64::from(left).min(room_bytes) as u32;
            let piece = Piece { volume, offset_bytes: within_bytes, length_bytes, direction, job };
            pieces.push(self.placed(piece));
            left -= length_bytes;
            offset_bytes += u64::from(length_bytes);
        }
    }

    /// Volume that has a byte of what a job addresses, the place of the byte in it, and the bytes from there on that follow it.
    fn volume_at(&self, job: u32, offset_bytes: u64) -> Option<(u32, u64, u64)> {
        let entry = self.entry_of(job);
        if let Some(stripe) = &entry.stripe {
            let place = stripe.place_of(offset_bytes, 1)?;
            let unit_bytes = u64::from(stripe.segment_bytes());
            let (_, volume) = entry.volumes[usize::from(place.drive)];
            return Some((volume, place.offset_bytes, unit_bytes - offset_bytes % unit_bytes));
        }
        let number = entry.volumes.partition_point(|&(start, _)| start <= offset_bytes).checked_sub(1)?;
        let (start, volume) = entry.volumes[number];
        let within_bytes = offset_bytes - start;
        let room_bytes = self.volumes[volume as usize].bytes.saturating_sub(within_bytes);
        (room_bytes > 0).then_some((volume, within_bytes, room_bytes))
    }

    fn placed(&self, piece: Piece) -> Warming {
        let volume = &self.volumes[piece.volume as usize];
        let state = &self.sets[usize::from(volume.set)];
        let offset_bytes = volume.offset_bytes + piece.offset_bytes;
        let Piece { direction, length_bytes, .. } = piece;
        let command = Command { offset_bytes, length_bytes, direction, ..Command::BLANK };
        let home = if state.is_cluster { state.primary(&command) } else { state.home };
        let owner = u32::from(home) * self.controllers_per_node + u32::from(volume.preferred);
        let address = state.address(offset_bytes);
        Warming { piece, owner: owner as u16, set: volume.set, offset_bytes, address }
    }

    fn warm_piece(&mut self, one: &Warming) {
        let &Warming { piece: Piece { direction, length_bytes, job, .. }, owner, address, .. } = one;
        let (controller, length_bytes) = (&mut self.controllers[usize::from(owner)], u64::from(length_bytes));
        let Some(services) = &mut self.services else {
            if direction == Direction::Read
                && let Some(cache) = &mut controller.read_cache
            {
                cache.keep(address, length_bytes);
            }
            return;
        };
        let is_in_memory = services.has_drive_cache() && controller.holds(address, length_bytes);
        services.warm(Request { is_in_memory, ..one.request() }, job, |io| {
            if io.direction == Direction::Read
                && let Some(cache) = &mut controller.read_cache
            {
                let address = self.sets[usize::from(io.set)].address(io.offset_bytes);
                cache.keep(address, u64::from(io.length_bytes));
            }
        });
    }
}
