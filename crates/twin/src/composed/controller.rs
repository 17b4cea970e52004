//! Controller: processors, memory, parity engine, a window of commands at the drives, and caches.

use std::collections::VecDeque;

use load::Direction;

use super::protocol::Protocol;
use super::rates::rate;
use super::read_ahead::ReadAhead;
use super::settings::Settings;
use crate::cache::{DestageOrder, ReadCache, WriteCache};
use crate::engine::{Rate, Server, ServerPool, Slots};
use crate::part::{Counters, Crowding, count_processors};

/// Counts of a controller.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub commands: u64,
    pub reads: u64,
    pub writes: u64,
    pub dirty_hits: u64,
    pub read_hits: u64,
    pub read_ahead_hits: u64,
    pub read_ahead_bytes: u64,
}

/// Commands and bytes of a window that never fills.
const OPEN_WINDOW: (u64, u64) = (1 << 20, 1 << 40);

/// One controller.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    /// Processor time of a read and of a write, without parity and with it.
    read_ns: [u64; 2],
    write_ns: [u64; 2],
    parity_ns: u64,
    /// Taking a command in takes no time.
    takes_in_at_once: bool,
    copy: Rate,
    parity: Rate,
    new_parity: Rate,
    mirror: Option<Rate>,
    buffer: Rate,
    window: u32,
    window_bytes: u64,
    processors: ServerPool,
    memory: Server,
    engine: Server,
    mirror_link: Server,
    write_buffer: Server,
    under_way: u32,
    bytes_under_way: u64,
    /// Commands that wait for a place in the window, in order, with their sizes.
    waiting: VecDeque<(u32, u32)>,
    /// Places for changes of parity; `None` where nothing limits them.
    pub parity_changes: Option<Slots>,
    pub write_cache: Option<WriteCache>,
    pub read_cache: Option<ReadCache>,
    pub read_ahead: Option<ReadAhead>,
    /// Blocks of the read cache in use when the window of a fast-forward began.
    read_blocks_at_window: u64,
    /// Reads and writes are counted apart.
    counts_directions: bool,
    pub tally: Tally,
}

impl Controller {
    pub fn new(array: &array::Array, settings: &Settings) -> Controller {
        let (controllers, cache, on) = (&array.controllers, &array.cache, settings.on);
        let or_none = |ns: u64| if on.processors { ns } else { 0 };
        let has_peer = array.controller_count() > 1;
        let block_bytes = cache.block.get();
        let write_cache = (on.write_cache && cache.write_back.get() >= block_bytes).then(|| {
            WriteCache::new(
                cache.write_back.get(),
                block_bytes,
                cache.destage_from.share() * 100.0,
                if cache.destage_order.get() == 1 { DestageOrder::Age } else { DestageOrder::Address },
                cache.destage.count(),
            )
        });
        let read_cache = (on.read_cache && cache.read.get() >= block_bytes)
            .then(|| ReadCache::new(cache.read.get(), block_bytes));
        let ahead_bytes = cache.read_ahead.get();
        let target_ns = Protocol::new(array, on).target_ns;
        let times_ns = |plain: &array::Parameter, with_parity: &array::Parameter| {
            let plain_ns = plain.get();
            let with_parity_ns = if with_parity.get() == 0 { plain_ns } else { with_parity.get() };
            [plain_ns, with_parity_ns].map(|ns| or_none(ns + target_ns))
        };
        let read_ns = times_ns(&controllers.read, &controllers.parity_read);
        let write_ns = times_ns(&controllers.write, &controllers.parity_write);
        let makes_parity = on.parity && on.processors && on.parity_engine;
        let (copy, buffer) =
            (rate(controllers.copy.get(), on.memory), rate(cache.buffer_rate.get(), on.processors));
        Controller {
            read_ns,
            write_ns,
            takes_in_at_once: (read_ns, write_ns) == ([0; 2], [0; 2])
                && (copy, buffer) == (Rate::UNLIMITED, Rate::UNLIMITED),
            parity_ns: or_none(if on.parity { controllers.parity_command.get() } else { 0 }),
            copy,
            parity: rate(controllers.parity.get(), makes_parity),
            new_parity: rate(controllers.new_parity.get(), makes_parity),
            mirror: (has_peer && cache.mirrored.is_on() && on.mirroring)
                .then(|| rate(cache.mirror.get(), true)),
            buffer,
            window: if on.window { controllers.window.count() } else { u32::MAX },
            window_bytes: if on.window { controllers.window_bytes.get() } else { u64::MAX },
            processors: ServerPool::new(controllers.processors.count()),
            memory: Server::default(),
            engine: Server::default(),
            mirror_link: Server::default(),
            write_buffer: Server::default(),
            under_way: 0,
            bytes_under_way: 0,
            waiting: VecDeque::with_capacity(1024),
            parity_changes: (on.parity_updates && controllers.parity_updates.count() < array::OPEN_QUEUE)
                .then(|| Slots::new(controllers.parity_updates.count())),
            write_cache,
            read_cache,
            read_ahead: (on.read_ahead && ahead_bytes > 0).then(|| ReadAhead::new(ahead_bytes)),
            read_blocks_at_window: 0,
            counts_directions: array
                .groups
                .iter()
                .any(|group| matches!(group.drives, array::Drives::HardDisk(_))),
            tally: Tally::default(),
        }
    }

    /// Returns whether its window never fills, so that nothing waits for a place in it.
    pub fn has_open_window(&self) -> bool {
        u64::from(self.window) >= OPEN_WINDOW.0 && self.window_bytes >= OPEN_WINDOW.1
    }

    /// Its memory loses what was read.
    pub fn forget_reads(&mut self) {
        if let Some(cache) = &mut self.read_cache {
            cache.forget();
        }
    }

    /// A window of a fast-forward begins.
    pub fn begin_window(&mut self) {
        self.read_blocks_at_window = self.read_cache.as_ref().map_or(0, ReadCache::filled_blocks);
        if let Some(cache) = &mut self.write_cache {
            cache.begin_window();
        }
    }

    /// Returns whether the caches have done since the window began what they would do for ever: written data neither
    /// gathers nor drains, and what was read has either filled its cache or adds nothing to it.
    pub fn is_steady(&self) -> bool {
        let has_read_as_before =
            |cache: &ReadCache| cache.is_full() || cache.filled_blocks() == self.read_blocks_at_window;
        self.read_cache.as_ref().is_none_or(has_read_as_before)
            && self.write_cache.as_ref().is_none_or(WriteCache::is_steady)
    }

    /// A level of a fast-forward begins.
    pub fn begin_level(&mut self, now_ns: u64) {
        if let Some(cache) = &mut self.write_cache {
            cache.begin_level(now_ns);
        }
    }

    /// Returns whether its cache has places for stripes on their way to the drives for `left_ns` more, or has had none
    /// for long.
    pub fn keeps_destages(&self, now_ns: u64, left_ns: u64) -> bool {
        self.write_cache.as_ref().is_none_or(|cache| cache.keeps_destages(now_ns, left_ns))
    }

    /// Returns whether written data are in the cache: how dense they lie before the sweep that takes them to the drives
    /// changes over minutes, and with it what a write costs hard disks.
    pub fn is_sweeping(&self) -> bool {
        self.write_cache.as_ref().is_some_and(|cache| cache.fill()[0] > 0)
    }

    /// Takes a command in; returns when a processor has seen to it, its data has passed through memory, and what it writes is in
    /// the buffer.
    #[inline]
    pub fn take_in(
        &mut self,
        now_ns: u64,
        (direction, bytes): (Direction, u64),
        has_parity: bool,
        crowding: Crowding,
    ) -> u64 {
        self.tally.commands += 1;
        let service_ns = match direction {
            Direction::Read => {
                self.tally.reads += 1;
                self.read_ns[usize::from(has_parity)]
            }
            Direction::Write => {
                self.tally.writes += 1;
                self.write_ns[usize::from(has_parity)]
            }
            Direction::Trim => self.write_ns[usize::from(has_parity)],
        };
        if self.takes_in_at_once {
            return now_ns;
        }
        let seen_ns =
            if service_ns == 0 { now_ns } else { self.processors.serve(now_ns, crowding.among(service_ns)) };
        let moved_ns = self.memory.serve(now_ns, self.copy.duration_ns(bytes));
        let ready_ns = seen_ns + (moved_ns - now_ns);
        if direction == Direction::Write && self.buffer != Rate::UNLIMITED {
            return self.write_buffer.serve(ready_ns, self.buffer.duration_ns(bytes));
        }
        ready_ns
    }

    /// Returns whether its caches have all of a range.
    pub fn holds(&self, address: u64, length_bytes: u64) -> bool {
        self.write_cache.as_ref().is_some_and(|cache| cache.holds(address, length_bytes))
            || self.read_cache.as_ref().is_some_and(|cache| cache.holds(address, length_bytes))
    }

    /// Returns when a processor has worked on a command for so long.
    pub fn process(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        self.processors.serve(now_ns, service_ns)
    }

    /// Returns how long taking in a command for sets without or with parity takes at least; `None` where more than a
    /// processor is asked for it.
    pub fn quickest_take_in_ns(&self, have_parity: impl Iterator<Item = bool>) -> Option<u64> {
        let quickest_ns = |has_parity: bool| {
            let path = usize::from(has_parity);
            self.read_ns[path].min(self.write_ns[path])
        };
        let asks_processors_alone = self.copy == Rate::UNLIMITED && self.buffer == Rate::UNLIMITED;
        have_parity.map(quickest_ns).min().filter(|_| asks_processors_alone)
    }

    /// Returns whether parity takes it time.
    pub fn computes(&self) -> bool {
        self.parity != Rate::UNLIMITED || self.new_parity != Rate::UNLIMITED || self.parity_ns > 0
    }

    /// Returns when parity, or lost data, is computed over so many bytes, of which so many are new parity.
    #[inline]
    pub fn compute(&mut self, now_ns: u64, (bytes, made_bytes): (u64, u64), crowding: Crowding) -> u64 {
        let begun_ns = if self.parity_ns == 0 {
            now_ns
        } else {
            self.processors.serve(now_ns, crowding.among(self.parity_ns))
        };
        let service_ns = self.parity.duration_ns(bytes) + self.new_parity.duration_ns(made_bytes);
        self.engine.serve(begun_ns, crowding.among(service_ns))
    }

    /// Returns when a cached write is copied to another controller.
    #[inline]
    pub fn mirror(&mut self, now_ns: u64, bytes: u64) -> u64 {
        match self.mirror {
            Some(rate) => self.mirror_link.serve(now_ns, rate.duration_ns(bytes)),
            None => now_ns,
        }
    }

    /// Returns whether the window has room; a command larger than all of it goes alone.
    #[inline]
    fn has_room(&self, bytes: u32) -> bool {
        self.under_way == 0
            || (self.under_way < self.window && self.bytes_under_way + u64::from(bytes) <= self.window_bytes)
    }

    #[inline]
    fn occupy(&mut self, bytes: u32) {
        self.under_way += 1;
        self.bytes_under_way += u64::from(bytes);
    }

    /// Returns whether a command may go to the drives now; otherwise it waits for its turn.
    #[inline]
    pub fn admit(&mut self, command: u32, bytes: u32) -> bool {
        if self.waiting.is_empty() && self.has_room(bytes) {
            self.occupy(bytes);
            return true;
        }
        self.waiting.push_back((command, bytes));
        false
    }

    /// A command of so many bytes has left the drives.
    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.under_way -= 1;
        self.bytes_under_way -= u64::from(bytes);
    }

    /// The next waiting command that has room, which then has its place.
    #[inline]
    pub fn admit_next(&mut self) -> Option<u32> {
        let &(command, bytes) = self.waiting.front()?;
        if !self.has_room(bytes) {
            return None;
        }
        self.waiting.pop_front();
        self.occupy(bytes);
        Some(command)
    }

    /// All that wait, when the controller leaves.
    pub fn abandon_waiting(&mut self) -> VecDeque<(u32, u32)> {
        std::mem::take(&mut self.waiting)
    }

    /// Counts what it has done.
    pub fn count_into(&self, counters: &mut Counters, index: usize) {
        let entity = format!("controller-{index}");
        let tally = self.tally;
        counters.add(&entity, "commands", tally.commands);
        if self.counts_directions {
            counters.add(&entity, "reads", tally.reads);
            counters.add(&entity, "writes", tally.writes);
            counters.add(&entity, "dirty_hits", tally.dirty_hits);
            counters.add(&entity, "read_ahead_hits", tally.read_ahead_hits);
            counters.add(&entity, "read_ahead_bytes", tally.read_ahead_bytes);
        }
        count_processors(&self.processors, counters, &entity);
        counters.add(&entity, "memory_busy_ns", self.memory.busy_ns());
        counters.add(&entity, "parity_engine_busy_ns", self.engine.busy_ns());
        counters.add(&entity, "mirror_busy_ns", self.mirror_link.busy_ns());
        counters.add(&entity, "write_buffer_busy_ns", self.write_buffer.busy_ns());
        counters.add(&entity, "read_cache_hits", tally.read_hits);
        let mut waiting_commands = self.waiting.len() as u64;
        if let Some(cache) = &self.write_cache {
            let [blocks, extents, waiting] = cache.fill();
            counters.add(&entity, "merged_writes", cache.merged_writes);
            counters.add(&entity, "destaged_stripes", cache.destages);
            counters.add(&entity, "fill_dirty_blocks", blocks);
            counters.add(&entity, "fill_dirty_extents", extents);
            waiting_commands += waiting;
        }
        counters.add(&entity, "fill_commands", u64::from(self.under_way));
        counters.add(&entity, "fill_bytes", self.bytes_under_way);
        counters.add(&entity, "fill_waiting_commands", waiting_commands);
    }
}
