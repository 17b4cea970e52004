//! Controllers: processors, memory paths, caches, and the links to the hosts.

use super::description::{Cache, Controllers as ControllersDescription, Description};
use super::read_ahead::ReadAhead;
use super::settings::Settings;
use crate::cache::{ReadCache, WriteCache};
use crate::engine::{Rate, Server, ServerPool, nanos_of_us};

/// How often something happened in a controller.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub reads: u64,
    pub writes: u64,
    pub dirty_hits: u64,
    pub read_hits: u64,
    pub read_ahead_hits: u64,
    pub read_ahead_bytes: u64,
}

/// One controller.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    read_ns: u64,
    write_ns: u64,
    parity_ns: u64,
    data_rate: Rate,
    parity_rate: Rate,
    mirror_rate: Rate,
    processors: ServerPool,
    data: Server,
    mirror: Server,
    pub write_cache: Option<WriteCache>,
    pub read_cache: Option<ReadCache>,
    pub read_ahead: Option<ReadAhead>,
    links: Box<[u32]>,
    next_link: usize,
    /// Blocks of the read cache in use when the window of a fast-forward began.
    read_blocks_at_window: u64,
    pub tally: Tally,
}

impl Controller {
    pub fn new(description: &Description, settings: &Settings, links: Box<[u32]>) -> Controller {
        let controllers: &ControllersDescription = &description.controllers;
        let cache: &Cache = &description.cache;
        let takes_time = settings.on.processors;
        let time = |us: f64| if takes_time { nanos_of_us(us) } else { 0 };
        let rate = |mb_per_s: f64| if takes_time { Rate::from_mb_per_s(mb_per_s) } else { Rate::UNLIMITED };
        let block_bytes = cache.block_bytes.get();
        let write_cache = settings.on.write_cache.then(|| {
            WriteCache::new(
                cache.write_bytes.get(),
                block_bytes,
                cache.destage_from_percent.get(),
                cache.destage_order.get(),
                cache.destage_stripes.get(),
            )
        });
        let mirrors = settings.on.mirroring && settings.on.write_cache && controllers.count.get() > 1;
        let mirror_rate = match &cache.mirror_mb_per_s {
            Some(mb_per_s) if mirrors => rate(mb_per_s.get()),
            _ => Rate::UNLIMITED,
        };
        Controller {
            read_ns: time(controllers.read_us.get()),
            write_ns: time(controllers.write_us.get()),
            parity_ns: time(controllers.parity_us.get()),
            data_rate: rate(controllers.data_mb_per_s.get()),
            parity_rate: rate(controllers.parity_mb_per_s.get()),
            mirror_rate,
            processors: ServerPool::new(controllers.processors.get()),
            data: Server::default(),
            mirror: Server::default(),
            write_cache,
            read_cache: settings.on.read_cache.then(|| ReadCache::new(cache.read_bytes.get(), block_bytes)),
            read_ahead: settings.on.read_ahead.then(|| ReadAhead::new(cache.read_ahead_bytes.get())),
            links,
            next_link: 0,
            read_blocks_at_window: 0,
            tally: Tally::default(),
        }
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

    /// Whether the caches have done since the window began what they would do for ever: written data neither gathers
    /// nor drains, and what was read has either filled its cache or adds nothing to it.
    pub fn is_steady(&self) -> bool {
        let reads_are_steady = self
            .read_cache
            .as_ref()
            .is_none_or(|cache| cache.is_full() || cache.filled_blocks() == self.read_blocks_at_window);
        reads_are_steady && self.write_cache.as_ref().is_none_or(WriteCache::is_steady)
    }

    /// Whether written data are in the cache: how dense they lie before the sweep that takes them to the drives changes over minutes, and
    /// with it what a write costs.
    pub fn is_sweeping(&self) -> bool {
        self.write_cache.as_ref().is_some_and(|cache| cache.fill()[0] > 0)
    }

    /// The next of its links in turn.
    #[inline]
    pub fn next_link(&mut self) -> u32 {
        let link = self.links[self.next_link];
        self.next_link = if self.next_link + 1 == self.links.len() { 0 } else { self.next_link + 1 };
        link
    }

    /// Takes a read in; returns when a processor is done with it.
    #[inline]
    pub fn take_in_read(&mut self, now_ns: u64) -> u64 {
        self.tally.reads += 1;
        if self.read_ns == 0 { now_ns } else { self.processors.serve(now_ns, self.read_ns) }
    }

    /// Takes a write and its data in; returns when they are in memory.
    #[inline]
    pub fn take_in_write(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.tally.writes += 1;
        let known_ns = if self.write_ns == 0 { now_ns } else { self.processors.serve(now_ns, self.write_ns) };
        self.data.serve(known_ns, self.data_rate.duration_ns(bytes))
    }

    /// Hands read data out of memory; returns when it has left.
    #[inline]
    pub fn hand_out(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.data.serve(now_ns, self.data_rate.duration_ns(bytes))
    }

    /// Copies written data to the other controller.
    #[inline]
    pub fn mirror(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.mirror.serve(now_ns, self.mirror_rate.duration_ns(bytes))
    }

    /// Computes parity over so many bytes.
    #[inline]
    pub fn compute_parity(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let service_ns = self.parity_ns + self.parity_rate.duration_ns(bytes);
        if service_ns == 0 { now_ns } else { self.processors.serve(now_ns, service_ns) }
    }

    /// Its processors.
    pub fn processors(&self) -> &ServerPool {
        &self.processors
    }

    /// Busy times of the memory and of the mirror.
    pub fn busy_ns(&self) -> [u64; 2] {
        [self.data.busy_ns(), self.mirror.busy_ns()]
    }
}
