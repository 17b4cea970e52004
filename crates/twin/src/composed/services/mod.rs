//! Data services: what a host's command needs beside its data, and where its data really goes.
//!
//! A served command is made of I/Os in stages ([`request::Stage`]); each service adds its own. `docs/models/services.md` has the
//! equations and what is left out.

mod drive_cache;
mod metadata;
mod mirror;
mod path;
mod peer;
mod reduction;
mod replication;
mod request;
mod resync;
mod snapshots;
mod sparse;
mod steady;
mod thin;
mod tier;

use load::{Content, Direction};

use super::set::SetState;
use super::settings::{Condition, Settings};
use crate::cache::ReadCacheFill;
use crate::part::Counters;
use drive_cache::CacheOnDrives;
use metadata::Metadata;
use mirror::Mirror;
pub(crate) use peer::array_sites;
use reduction::{Reduced, Reduction};
use replication::Replication;
use request::{Io, Served, Stage};
pub(crate) use snapshots::SnapshotTask;
use snapshots::Snapshots;
use thin::Thin;
use tier::Tier;

/// Data services of an array.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    thin: Option<Thin>,
    reduction: Option<Reduction>,
    pub snapshots: Option<Snapshots>,
    cache: Option<CacheOnDrives>,
    tier: Option<Tier>,
    mirror: Option<Mirror>,
    replication: Option<Replication>,
    metadata: Metadata,
    /// By command.
    served: Vec<Served>,
    /// Jobs from a number on, and the content that was declared for them.
    contents: Vec<(u32, Content)>,
}

/// Host's command, as the services see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub direction: Direction,
    pub set: u16,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Of the first byte among all sets.
    pub address: u64,
    /// Memory of the controller has it, which only a cache on drives asks.
    pub is_in_memory: bool,
}

impl Request {
    /// Address and length.
    fn range(&self) -> (u64, u64) {
        (self.address, self.length_bytes)
    }
}

impl Services {
    /// The services that an array has and that are not switched off; `None` for none.
    pub fn new(
        array: &array::Array,
        settings: &Settings,
        sets: &[SetState],
        seed: u64,
    ) -> Option<Box<Services>> {
        let on = settings.on;
        let own = &sets[..sets.len() / array_sites(array, settings)];
        let volume_bytes: u64 = own
            .iter()
            .filter(|state| array.may_hold_volumes(state.set.group))
            .map(|state| array::volume_bytes(array, &state.set))
            .sum();
        let services = Services {
            thin: array
                .thin
                .as_ref()
                .filter(|_| on.thin)
                .map(|thin| Thin::new(thin, volume_bytes, settings.condition != Condition::Fresh)),
            reduction: array
                .reduction
                .as_ref()
                .filter(|_| on.reduction)
                .map(|reduction| Reduction::new(reduction, volume_bytes)),
            snapshots: array.snapshots.as_ref().filter(|_| on.snapshots).map(|snapshots| {
                let rooms = own.iter().map(|state| {
                    let first_bytes = array::volume_bytes(array, &state.set);
                    (first_bytes, state.set.layout.capacity_bytes() - first_bytes)
                });
                Snapshots::new(snapshots, rooms)
            }),
            cache: array.drive_cache.as_ref().filter(|_| on.drive_cache).and_then(|cache| {
                let set = own.iter().position(|state| array.is_cache(state.set.group))?;
                let bytes = (own[set].set.layout.capacity_bytes() as f64 * cache.share.share()) as u64;
                Some(CacheOnDrives::new(cache, set as u16, bytes))
            }),
            tier: array.tier.as_ref().filter(|_| on.tier).and_then(|tier| {
                let set = own.iter().position(|state| array.is_tier(state.set.group))?;
                let bytes = (own[set].set.layout.capacity_bytes() as f64 * tier.share.share()) as u64;
                let movable = own.iter().map(|state| state.volume_ends.last().copied().unwrap_or(0));
                Some(Tier::new(tier, set as u16, bytes, &movable.collect::<Vec<_>>()))
            }),
            mirror: array.mirror.as_ref().filter(|_| on.mirror).map(Mirror::new),
            replication: array.replication.as_ref().filter(|_| on.replication).map(Replication::new),
            metadata: Metadata::new(
                seed,
                own.iter().map(|state| state.set.layout.capacity_bytes()).collect(),
            ),
            served: Vec::new(),
            contents: Vec::new(),
        };
        let has_any = services.thin.is_some()
            || services.reduction.is_some()
            || services.snapshots.is_some()
            || services.cache.is_some()
            || services.tier.is_some()
            || services.mirror.is_some()
            || services.replication.is_some();
        has_any.then(|| Box::new(services))
    }

    /// Returns whether all writes go to a second array as well.
    pub fn has_mirror(&self) -> bool {
        self.mirror.is_some()
    }

    /// Returns whether a cache on drives answers what memory does not.
    pub fn has_drive_cache(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.is_lost)
    }

    /// Fill of the cache on drives; `None` where none answers.
    pub fn drive_cache_fill(&self) -> Option<ReadCacheFill> {
        self.cache.as_ref().filter(|cache| !cache.is_lost).map(CacheOnDrives::fill)
    }

    /// Returns whether what caches keep after the same I/Os is the same as of other services.
    pub fn caches_as(&self, other: &Services) -> bool {
        let shape = |of: &Services| {
            let blocks = of.reduction.as_ref().map(|reduction| reduction.blocks(0, 1).1);
            (of.cache.as_ref().map(CacheOnDrives::shape), blocks, of.has_mirror(), of.thin.is_some())
        };
        // Copies of extents lie where snapshots put them.
        shape(self) == shape(other) && self.snapshots.is_none() == other.snapshots.is_none()
    }

    /// The cache on drives has seen all of a range once.
    pub fn see(&mut self, address: u64, length_bytes: u64) {
        if let Some(cache) = &mut self.cache {
            cache.see(address, length_bytes);
        }
    }

    /// Keeps in the cache on drives what that of others keeps.
    pub fn copy_drive_cache(&mut self, of: &Services) {
        if let (Some(own), Some(other)) = (&mut self.cache, &of.cache) {
            own.copy(other);
        }
    }

    /// Leaves in the cache on drives what a job's I/O leaves there; `keep` is called with the I/Os that go through controllers' caches.
    pub fn warm(&mut self, request: Request, job: u32, keep: impl FnMut(&Io)) {
        let mut served = Served::default();
        served.content = self.content_of(job);
        if request.direction == Direction::Write {
            if let Some(cache) = &mut self.cache {
                cache.kept.forget(request.address, request.length_bytes);
            }
            // Where space is given out, and what goes to copies, is not looked at.
            let (mut offset_bytes, mut length_bytes) = (request.offset_bytes, request.length_bytes);
            if let Some(reduction) = &self.reduction {
                let (first, bytes) = reduction.blocks(offset_bytes, length_bytes);
                (offset_bytes, length_bytes) = (first, reduction.stored(bytes, served.content));
            }
            self.add_data(&mut served, Direction::Write, request, offset_bytes, length_bytes);
        } else {
            self.plan_read(&mut served, request);
        }
        served.ios().filter(|io| io.is_cached).for_each(keep);
    }

    pub fn declare_content(&mut self, first_job: u32, content: Content) {
        self.contents.retain(|(job, _)| *job < first_job);
        self.contents.push((first_job, content));
    }

    fn content_of(&self, job: u32) -> Content {
        let declared = self.contents.iter().rev().find(|(first, _)| *first <= job);
        declared.map_or(Content::default(), |(_, content)| *content)
    }

    /// A command of a job is made.
    pub fn begin(&mut self, index: u32, job: u32) {
        if index as usize >= self.served.len() {
            self.served.resize(index as usize + 1, Served::default());
        }
        let content = self.content_of(job);
        let served = &mut self.served[index as usize];
        served.clear();
        served.content = content;
    }

    /// Units that are trimmed are free.
    fn trim(&mut self, request: Request) {
        if let Some(thin) = &mut self.thin {
            thin.trim(request.address, request.length_bytes);
        }
    }

    /// Plans the I/Os of a command; returns the processor time before the first, and how many snapshots had to go for it.
    fn plan(&mut self, index: u32, request: Request, now_ns: u64) -> (u64, u32) {
        let mut served = std::mem::take(&mut self.served[index as usize]);
        let planned = match request.direction {
            Direction::Read => (self.plan_read(&mut served, request), 0),
            _ => self.plan_write(&mut served, request, now_ns),
        };
        served.order();
        if let Some(tier) = &mut self.tier {
            tier.place(&mut served);
        }
        self.served[index as usize] = served;
        planned
    }

    fn plan_read(&mut self, served: &mut Served, request: Request) -> u64 {
        let mut time_ns = 0;
        if let Some(thin) = &mut self.thin {
            let (lookup_ns, is_empty) = thin.read(request.range(), request.set, served, &mut self.metadata);
            if is_empty {
                return lookup_ns;
            }
            time_ns = lookup_ns;
        }
        if let Some(cache) = self.cache.as_mut().filter(|cache| !request.is_in_memory && !cache.is_lost) {
            let set = cache.set;
            let is_hit =
                cache.kept.find(request.address, request.length_bytes, |offset_bytes, length_bytes| {
                    let read = Io::internal(Direction::Read, set, offset_bytes, length_bytes);
                    served.add(Stage::Data, Io { is_cache_hit: true, ..read });
                });
            if is_hit {
                cache.hits += 1;
                return time_ns;
            }
            cache.misses += 1;
            cache.admit(served, request);
        }
        let (offset_bytes, length_bytes) = match &self.reduction {
            Some(reduction) => {
                let (first, bytes) = reduction.blocks(request.offset_bytes, request.length_bytes);
                served.after_ns = reduction.decompress_ns(bytes);
                (first, reduction.stored(bytes, served.content))
            }
            None => (request.offset_bytes, request.length_bytes),
        };
        self.add_data(served, Direction::Read, request, offset_bytes, length_bytes);
        time_ns
    }

    fn plan_write(&mut self, served: &mut Served, request: Request, now_ns: u64) -> (u64, u32) {
        // What was never written is kept by no snapshot, so extents are looked at before this write allocates.
        let deleted = self.keep_extents(served, request, now_ns);
        let mut time_ns = match &mut self.thin {
            Some(thin) => thin.write(request.range(), request.set, served, &mut self.metadata),
            None => 0,
        };
        let (mut offset_bytes, mut length_bytes) = (request.offset_bytes, request.length_bytes);
        if let Some(cache) = &mut self.cache {
            cache.kept.forget(request.address, request.length_bytes);
        }
        if let Some(reduction) = &mut self.reduction {
            let (first, bytes) = reduction.blocks(offset_bytes, length_bytes);
            if (first, bytes) != (offset_bytes, length_bytes) {
                // A part of a block: the rest is read, and the block written anew.
                let stored = reduction.stored(bytes, served.content);
                time_ns += reduction.decompress_ns(bytes);
                served.add(Stage::Before, Io::internal(Direction::Read, request.set, first, stored));
            }
            let Reduced { stored_bytes, index_reads, time_ns: reducing_ns } =
                reduction.write(bytes, served.content, &mut self.metadata);
            for _ in 0..index_reads {
                served.add(Stage::Before, self.metadata.read(request.set));
            }
            time_ns += reducing_ns;
            (offset_bytes, length_bytes) = (first, stored_bytes);
        }
        if let Some(replication) = &mut self.replication {
            replication.change(request.set, offset_bytes, length_bytes);
        }
        self.add_data(served, Direction::Write, request, offset_bytes, length_bytes);
        served.is_mirrored = self.mirror.is_some();
        (time_ns, deleted)
    }

    /// Extents that snapshots still need are copied away, or the write goes elsewhere. Returns how many snapshots had to go.
    fn keep_extents(&mut self, served: &mut Served, request: Request, now_ns: u64) -> u32 {
        let Some(snapshots) = &mut self.snapshots else { return 0 };
        let extent_bytes = snapshots.extent_bytes;
        let set = usize::from(request.set);
        let set_address = request.address - request.offset_bytes;
        let mut deleted = 0;
        let (first, end) = (request.address / extent_bytes, request.address + request.length_bytes);
        for extent in first..end.div_ceil(extent_bytes) {
            let address = extent * extent_bytes;
            if self.thin.as_ref().is_some_and(|thin| thin.is_empty(address, extent_bytes)) {
                snapshots.has_nothing(address);
                continue;
            }
            let (must_keep, gone) = snapshots.must_keep(address, set, now_ns);
            deleted += gone;
            if !must_keep {
                continue;
            }
            let stored = match &self.reduction {
                Some(reduction) => reduction.stored(extent_bytes, served.content),
                None => extent_bytes,
            };
            let home = address.saturating_sub(set_address);
            let old = snapshots.moved_to(address).unwrap_or(home);
            let place = snapshots.place(set);
            let covered = end.min(address + extent_bytes) - request.address.max(address);
            if snapshots.redirects {
                // What the host does not write of the extent moves with it.
                snapshots.move_to(address, place);
                if covered < extent_bytes {
                    let rest = (stored as f64 * (1.0 - covered as f64 / extent_bytes as f64)) as u64;
                    let rest = rest.div_ceil(512).max(1) * 512;
                    served.add(Stage::Before, Io::internal(Direction::Read, request.set, old, rest));
                    served.add(Stage::Copy, Io::internal(Direction::Write, request.set, place, rest));
                }
            } else {
                served.add(Stage::Before, Io::internal(Direction::Read, request.set, old, stored));
                served.add(Stage::Copy, Io::internal(Direction::Write, request.set, place, stored));
            }
            if snapshots.record_bytes > 0 {
                let record = self.metadata.write(request.set, snapshots.record_bytes);
                served.add(Stage::Record, record);
            }
        }
        deleted
    }

    /// The host's data, extent by extent where some lie elsewhere.
    fn add_data(
        &mut self,
        served: &mut Served,
        direction: Direction,
        request: Request,
        offset_bytes: u64,
        length_bytes: u64,
    ) {
        let mut add = |offset_bytes: u64, length_bytes: u64| {
            let io = Io::internal(direction, request.set, offset_bytes, length_bytes);
            served.add(Stage::Data, Io { is_cached: true, ..io });
        };
        if length_bytes == 0 {
            return;
        }
        let Some(snapshots) = self.snapshots.as_ref().filter(|snapshots| snapshots.redirects) else {
            return add(offset_bytes, length_bytes);
        };
        let set_address = request.address - request.offset_bytes;
        let (mut at, end) = (offset_bytes, offset_bytes + length_bytes);
        // Neighbours that lie together are one I/O.
        let mut run: Option<(u64, u64)> = None;
        while at < end {
            let address = set_address + at;
            let within = address % snapshots.extent_bytes;
            let length = (snapshots.extent_bytes - within).min(end - at);
            let place = snapshots.moved_to(address).map_or(at, |place| place + within);
            run = match run {
                Some((first, bytes)) if first + bytes == place => Some((first, bytes + length)),
                Some((first, bytes)) => {
                    add(first, bytes);
                    Some((place, length))
                }
                None => Some((place, length)),
            };
            at += length;
        }
        if let Some((first, bytes)) = run {
            add(first, bytes);
        }
    }

    /// Returns when a service does something by itself.
    pub fn next_ns(&self) -> u64 {
        self.tier.as_ref().map_or(u64::MAX, Tier::next_ns).min(self.others_at_ns())
    }

    /// Returns when a service beside the tier does something by itself.
    fn others_at_ns(&self) -> u64 {
        let snapshots_ns = self.snapshots.as_ref().map_or(u64::MAX, Snapshots::next_ns);
        let mirror_ns = self.mirror.as_ref().map_or(u64::MAX, |mirror| mirror.resync.units.next_ns());
        let replication_ns = self.replication.as_ref().map_or(u64::MAX, Replication::next_ns);
        snapshots_ns.min(mirror_ns).min(replication_ns)
    }

    /// Time of one way to the second array; 0 without one.
    fn peer_way_ns(&self) -> u64 {
        let of_mirror = self.mirror.as_ref().map(Mirror::way_ns);
        of_mirror.or(self.replication.as_ref().map(Replication::way_ns)).unwrap_or(0)
    }

    /// Counts what each has done until now.
    pub fn count_into(&self, now_ns: u64, counters: &mut Counters) {
        if let Some(thin) = &self.thin {
            thin.count_into(counters);
        }
        if let Some(reduction) = &self.reduction {
            reduction.count_into(counters);
        }
        if let Some(snapshots) = &self.snapshots {
            snapshots.count_into(counters);
        }
        if let Some(cache) = &self.cache {
            cache.count_into(counters);
        }
        if let Some(tier) = &self.tier {
            tier.count_into(counters);
        }
        if let Some(mirror) = &self.mirror {
            mirror.count_into(counters);
        }
        if let Some(replication) = &self.replication {
            replication.count_into(now_ns, counters);
        }
    }
}
