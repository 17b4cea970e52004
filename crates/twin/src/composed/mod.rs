//! Array composed of parts: any drives under any layout behind any cache, controllers and links.
//!
//! A read: job's thread → link → controller (processor, memory) → caches → network and back end → drives → link to the host. A
//! write: job's thread → link → controller → cache, where it is answered, or drives: old data and parity are read, parity is
//! computed, both are written. Nothing here knows which array it is. `docs/models/composed.md` has the equations.

mod adapters;
mod arrange;
mod cache_warming;
mod chain;
mod command;
mod controller;
mod copies;
mod destage;
mod device;
mod direct;
mod drives;
mod fabric;
mod file_system;
mod groups;
mod host_queues;
mod laid_out;
pub(crate) mod limit;
mod lookahead;
mod nodes;
mod path;
mod paths;
mod phases;
mod protocol;
mod rates;
mod read_ahead;
mod rebuild;
mod rewriting;
mod room;
mod services;
mod set;
mod settings;
mod skipped_writes;
mod solid_states;
mod streams;
mod threads;
mod volume;
mod wear;

use layout::{DriveIndex, IoList};
use load::{Direction, Random};
use serde_json::{Map, Value};

use crate::availability::{Capabilities, Failover, Fault, FaultEvent, FirmwareUpdate, Migrates, Refill};
use crate::drive::Slowness;
use crate::engine::{EventQueue, Slab};
use crate::part::{Counters, Crowding};
use crate::settings::{numbered, unknown};
use crate::{Event, Faults, TwinCounter, TwinError, TwinNote};
use chain::Chain;
pub use chain::{ServiceDrives, service_drives};
use command::{Command, ModelEvent, Parts};
use controller::Controller;
use drives::GroupDrives;
use fabric::Fabric;
use groups::Groups;
use laid_out::LaidOut;
pub use limit::{Limit, Limiter};
use lookahead::Lookahead;
use protocol::Protocol;
use read_ahead::Fetch;
pub use rewriting::FlashUnits;
pub(crate) use room::Room;
use services::Services;
use set::SetState;
pub(crate) use settings::settings_of;
use settings::{Condition, Settings};
use streams::Streams;
use volume::{Entry, StripeTally, VolumeState};
use wear::Wear;

/// Of a rebuild that takes longer, time is skipped: in a window of some seconds it then changes little of what a load meets.
const REBUILD_LEFT_NS: u64 = 120_000_000_000;

/// Part of an I/O on one volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub volume: u32,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub direction: Direction,
    pub job: u32,
}

/// State of a command that writes, beside its place.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Cached extents of a stripe: offsets in the set, and lengths.
    extents: Vec<(u64, u64)>,
    /// Cache blocks that come free when they are on the drives.
    blocks: u64,
    /// Bytes over which parity is computed, and bytes of it that are made.
    moved_bytes: u64,
    made_bytes: u64,
}

/// Times from the moment at which the drives are done to the answer, where no other I/O changes them.
#[derive(Debug, Clone, Copy)]
struct AnswerTimes {
    ns: u64,
    /// Reads too: links carry data in no time, and nothing keeps it.
    is_of_reads: bool,
}

/// Jobs from a number on, and the volumes that they are for.
#[derive(Debug, Clone, Copy)]
struct Attachment {
    first_job: u32,
    entry: usize,
    /// Machine that issues them, where something is said of it.
    host: Option<u32>,
}

/// Simulated array of parts.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// Time of what is done at present: ahead of the clock by the lookahead of its resource.
    now_ns: u64,
    clock_ns: u64,
    queue: EventQueue,
    lookahead: Lookahead,
    /// All I/Os begin and end at multiples of so many bytes, a power of two, as far as is known.
    grain_bytes: u32,
    crowding: Crowding,
    hosts: u32,
    answer_ns: u64,
    /// Time of the answer to a write that the cache has taken in.
    cached_answer_ns: u64,
    controllers_per_node: u32,
    /// Nodes of a cluster; 0 of an array that is none.
    nodes: u32,
    is_active_active: bool,
    /// Commands are handed over in the order in which they come.
    keeps_order: bool,
    /// Time from a write's place in the window to its answer, where a buffer holds it.
    buffer_answer_ns: Option<u64>,
    /// Writes are to keep parity right.
    maintains_parity: bool,
    /// Changes of parity wait for one another.
    limits_parity_changes: bool,
    /// Some stripes have no parity yet.
    lacks_parity: bool,
    /// Time that the log of a change of parity takes before an answer.
    parity_log_ns: u64,
    /// Parity engines take time.
    computes_parity: bool,
    /// Something may be answered without the drives.
    has_caches: bool,
    /// Commands go from the controller to the drives: no caches, no read-ahead, no data services.
    is_plain: bool,
    /// Cached writes are answered only when two controllers have them: with one away, only when the drives have them.
    mirrors: bool,
    /// Read data is with its host, and a write is answered, a fixed time after the drives are done: nothing can come between.
    answers_in: Option<AnswerTimes>,
    services: Option<Box<Services>>,
    /// Chains of replicas, which have a path of their own.
    chain: Option<Box<Chain>>,
    /// The array has snapshots, be they switched off.
    has_snapshots: bool,
    /// The array has a mirror, be it switched off.
    has_mirror: bool,
    /// Sets and controllers of the first array, of two with a mirror or copies of snapshots.
    own_sets: usize,
    own_controllers: usize,
    verifies: bool,
    protocol: Protocol,
    wear: Wear,
    fabric: Fabric,
    controllers: Box<[Controller]>,
    groups: Groups,
    has_hard_disks: bool,
    /// Hard disks choose among the commands that wait for them.
    has_queues: bool,
    /// Some set has drives that answer at once and nothing before them.
    has_direct_drives: bool,
    /// Any number of commands may be at the drives.
    is_window_open: bool,
    streams: Option<Streams>,
    sets: Vec<SetState>,
    volumes: Vec<VolumeState>,
    entries: Vec<Entry>,
    stripes: StripeTally,
    /// Names of the entries.
    entry_names: Vec<String>,
    attachments: Vec<Attachment>,
    commands: Slab<Command>,
    /// By command.
    work: Vec<Work>,
    spare_extents: Vec<Vec<(u64, u64)>>,
    /// By tag, of I/Os that have several commands.
    parts: Vec<Parts>,
    plan: IoList,
    /// Parts on the volumes of the I/O that is issued.
    pieces: IoList,
    /// Writes of the time that is skipped next were applied by range already.
    has_skipped_ranges: bool,
    faults: Slab<Fault>,
    failover: Failover,
    /// Picks mirrors.
    random: Random,
    fetches: Vec<Fetch>,
    /// Commands whose data has been read ahead.
    ready: Vec<u32>,
    notes: Vec<TwinNote>,
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    fn work_of(&mut self, index: u32) -> &mut Work {
        if index as usize >= self.work.len() {
            self.work.resize(index as usize + 1, Work::default());
        }
        &mut self.work[index as usize]
    }

    #[inline]
    fn entry_of(&self, job: u32) -> &Entry {
        if let [only] = self.attachments.as_slice() {
            return &self.entries[only.entry];
        }
        &self.entries[self.attachment_of(job).map_or(0, |attachment| attachment.entry)]
    }

    fn attachment_of(&self, job: u32) -> Option<&Attachment> {
        self.attachments.iter().rev().find(|attachment| attachment.first_job <= job)
    }

    /// Returns whether writes are answered only when the drives have them, because no other controller can hold a copy.
    #[inline]
    fn writes_go_through(&self) -> bool {
        self.mirrors && self.failover.is_any_away()
    }

    /// Returns when a data service does something by itself.
    fn services_at_ns(&self) -> u64 {
        self.services.as_ref().map_or(u64::MAX, |services| services.next_ns())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            drives: self.groups.count(),
            nodes: self.nodes,
            has_snapshots: self.has_snapshots,
            has_mirror: self.has_mirror,
            ..self.failover.capabilities()
        }
    }
}

impl Model {
    /// Builds it from a description that has been checked.
    pub fn build(array: &array::Array, settings: &Map<String, Value>, seed: u64) -> Result<Self, TwinError> {
        let settings = Settings::parse(settings, array)?;
        let array = &settings.room.shrink(array);
        let array = &settings.arrangement.apply(array, settings.volume)?;
        let array = &settings.room.cover(array);
        let LaidOut { mut sets, volumes, entries } = LaidOut::new(array, &settings)?;
        let mut groups = Groups::new(array, &settings, seed)?;
        let chain = Chain::new(array, &settings, &mut groups, seed)?;
        let controllers = array.controller_count();
        let sites = services::array_sites(array, &settings);
        let services = Services::new(array, &settings, &sets, seed);
        let can_fail_over = array.nodes.is_none() && controllers > 1;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let update = can_fail_over.then(|| FirmwareUpdate {
            controller_away_s: seconds(array.failover.away.get()),
            controller_gap_s: seconds(array.failover.gap.get()),
            verification_mb_per_s: (array.failover.verify_rate.get() as f64 / 1e6),
            verification_bytes: (array.failover.verify.get()),
        });
        let first = &sets[0].set.layout;
        let path_ns = array.failover.path.get();
        let mut failover = Failover::new(
            update.as_ref(),
            controllers,
            path_ns,
            u64::from(first.segment_bytes()),
            first.stripes(),
        );
        if !settings.on.failover {
            failover.serve_on();
        }
        let fabric = Fabric::new(array, &settings, volumes.len());
        for state in &mut sets {
            state.has_direct_drives = state.set.pool.is_none()
                && match &groups.drives[state.set.group] {
                    GroupDrives::HardDisks(disks) => disks.answers_at_once && !fabric.delays_drives,
                    GroupDrives::Modules(_) => {
                        matches!(state.set.layout.redundancy(), layout::Redundancy::Parity(1))
                            && !fabric.delays_drives
                    }
                    GroupDrives::SolidStates(_) => !state.migration.is_pool && !fabric.delays_drives,
                };
            let group = &array.groups[state.set.group % array.groups.len()];
            if let GroupDrives::SolidStates(drives) = &mut groups.drives[state.set.group]
                && state.set.pool.is_none()
                && !state.migration.is_pool
            {
                drives.has_parity(&state.set.layout, group.count.count.count());
            }
            let is_erased = settings.condition == Condition::Fresh && settings.on.parity;
            if is_erased && state.has_parity && group.keys.fresh_parity.get() == 1 {
                state.without_parity = vec![u64::MAX; state.set.layout.stripes().div_ceil(64) as usize];
            }
        }
        let all = vec![Controller::new(array, &settings); controllers as usize * sites];
        let first = &all[0];
        let has_caches = first.write_cache.is_some() || first.read_cache.is_some();
        let is_plain = !has_caches && first.read_ahead.is_none() && services.is_none();
        let mirrors = first.write_cache.is_some()
            && array.cache.mirrored.is_on()
            && settings.on.mirroring
            && controllers > 1;
        let is_buffered = array.cache.buffered.is_on() && settings.on.write_cache;
        let streams = array.controllers.streams.count();
        let answer_ns = if settings.on.processors { array.controllers.answer.get() } else { 0 };
        let cached_answer_ns = match array.cache.answer.get() {
            own_ns if own_ns > 0 && settings.on.processors => own_ns,
            _ => answer_ns,
        };
        let computes_parity = settings.on.parity && first.computes();
        let is_window_open = first.has_open_window();
        let answers_in = (is_window_open && services.is_none() && !fabric.delivers()).then(|| AnswerTimes {
            ns: fabric.link_latency_ns + answer_ns,
            is_of_reads: first.read_cache.is_none() && !computes_parity && fabric.returns_unhindered(),
        });
        let crowding =
            Crowding::new(if settings.on.crowding { array.controllers.crowding.share() } else { 0.0 });
        let looks_ahead = is_plain
            && is_window_open
            && !is_buffered
            && !crowding.grows()
            && first.parity_changes.is_none()
            && !fabric.delays_drives
            && groups.drives.iter().all(|drives| matches!(drives, GroupDrives::SolidStates(_)));
        let have_parity = sets.iter().map(|state| state.has_parity);
        let lookahead = match first.quickest_take_in_ns(have_parity).filter(|_| looks_ahead) {
            Some(command_ns) => Lookahead::new(fabric.link_latency_ns, command_ns, fabric.has_ways_apart()),
            None => Lookahead::NONE,
        };
        let logs_parity = settings.on.parity && settings.on.processors;
        Ok(Model {
            now_ns: 0,
            clock_ns: 0,
            queue: EventQueue::new(),
            lookahead,
            grain_bytes: 1,
            crowding,
            limits_parity_changes: first.parity_changes.is_some(),
            lacks_parity: sets.iter().any(|state| !state.without_parity.is_empty()),
            parity_log_ns: if logs_parity { array.controllers.parity_log.get() } else { 0 },
            hosts: array.hosts.count.count(),
            answer_ns,
            cached_answer_ns,
            controllers_per_node: array.controllers.count.count(),
            nodes: if array.nodes.is_some() { array.node_count() } else { 0 },
            is_active_active: array.controllers.ownership.get() == 1,
            keeps_order: fabric.keeps_order() && volumes.iter().all(|volume| volume.limiter.is_none()),
            buffer_answer_ns: is_buffered.then(|| array.cache.buffer_answer.get()),
            maintains_parity: settings.on.parity,
            computes_parity,
            has_caches,
            is_plain,
            mirrors,
            answers_in,
            services,
            chain,
            has_snapshots: array.snapshots.is_some(),
            has_mirror: array.mirror.is_some(),
            own_sets: sets.len() / sites,
            own_controllers: controllers as usize,
            verifies: settings.on.verification,
            protocol: Protocol::new(array, settings.on),
            wear: Wear::new(array, settings.on.wear),
            fabric,
            controllers: all.into(),
            has_queues: groups.drives.iter().any(GroupDrives::has_queues),
            has_direct_drives: sets.iter().any(|state| state.has_direct_drives),
            is_window_open,
            has_hard_disks: groups.drives.iter().any(|drives| matches!(drives, GroupDrives::HardDisks(_))),
            groups,
            streams: (streams > 0).then(|| Streams::new(streams)),
            sets,
            volumes,
            entries,
            stripes: StripeTally::default(),
            entry_names: array.volumes.iter().map(|volume| volume.keys.name.text.clone()).collect(),
            attachments: vec![Attachment { first_job: 0, entry: settings.volume, host: None }],
            commands: Slab::default(),
            work: Vec::new(),
            spare_extents: Vec::new(),
            parts: Vec::new(),
            plan: IoList::with_capacity(64),
            pieces: IoList::with_capacity(64),
            has_skipped_ranges: false,
            faults: Slab::default(),
            failover,
            random: Random::from_seed(seed),
            fetches: Vec::new(),
            ready: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Returns whether it can do an event with what it is told.
    pub fn can_act(&self, event: Event, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        if let Some(chain) = &self.chain {
            let planned = chain.event(event, arguments)?;
            let issuers = self.attachments.iter().map(|attachment| attachment.host);
            return chain.check_issuers(&planned, issuers);
        }
        self.capabilities().fault_event(event, arguments).map(|_| ())
    }

    /// Lets an event that it can do happen at a moment of its clock.
    pub fn act(&mut self, at_ns: u64, event: Event, arguments: &Map<String, Value>) {
        self.stop_lookahead();
        self.prepare();
        if let Some(mut view) = self.chain_view() {
            return view.schedule(at_ns, event, arguments);
        }
        match self.capabilities().fault_event(event, arguments) {
            Ok(FaultEvent::FirmwareUpdate) => self.failover.begin_update(at_ns),
            Ok(FaultEvent::ControllerFails(controller)) => self.failover.begin_failover(at_ns, controller),
            Ok(FaultEvent::Scheduled(fault)) => {
                let index = self.faults.keep(fault);
                self.queue.push(at_ns, ModelEvent::Fault(index).pack());
            }
            Err(error) => self.note(error.to_string()),
        }
    }

    /// Makes jobs from `first_job` on be for the volume and host that `settings` name.
    pub fn attach(&mut self, first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        let mut host = self.attachment_of(first_job).and_then(|attachment| attachment.host);
        let mut entry = self.attachment_of(first_job).map_or(0, |attachment| attachment.entry);
        for (name, value) in settings {
            if name == "host"
                && let Some(chain) = &self.chain
            {
                host = Some(chain.machine(value)?);
                continue;
            }
            if name != "volume" {
                return Err(unknown(name, &settings::SETTINGS[1..2]));
            }
            let named = self.entry_names.iter().position(|known| Some(known.as_str()) == value.as_str());
            let Some(named) = named else {
                return Err(crate::settings::bad(name, value, &self.entry_names.join(", ")));
            };
            entry = named;
        }
        self.attachments.retain(|attachment| attachment.first_job < first_job);
        self.attachments.push(Attachment { first_job, entry, host });
        Ok(())
    }

    /// The size of what a job addresses.
    pub fn capacity_of_job_bytes(&self, job: u32) -> u64 {
        self.entry_of(job).bytes
    }

    /// The drive that a value names.
    pub fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.groups.count()).or_else(|| self.chain.as_ref()?.find_drive(value.as_str()?))
    }

    /// The number by which events name the drive that is fitted in a place of the first set.
    pub fn drive_in(&self, place: u32) -> u32 {
        let set = self.sets.first().filter(|state| (place as usize) < state.set.slots.len());
        set.map_or(place, |state| state.drive_in(place as DriveIndex))
    }

    /// Faults that last; none of chains of replicas, since events make anew what their placement has become.
    pub fn faults(&self) -> Faults {
        if self.chain.is_some() {
            return Faults::default();
        }
        let has_pools = self.sets.iter().any(|state| state.migration.is_pool);
        let sets = self.sets.iter().filter(|_| !has_pools).map(|state| state.recovery.faults());
        Faults { sets: sets.collect(), controllers: self.failover.faults(self.now_ns) }
    }

    /// Begins with the faults of another model of the same array; false where they cannot be this one's.
    pub fn begin_with(&mut self, faults: &Faults) -> bool {
        if self.chain.is_some() {
            return false;
        }
        self.stop_lookahead();
        self.prepare();
        self.failover.begin_with(self.now_ns, faults.controllers.as_ref());
        let mut pairs = self.sets.iter().zip(&faults.sets);
        let is_possible = faults.sets.len() == self.sets.len()
            && pairs.all(|(state, set)| !state.migration.is_pool && state.recovery.can_begin_with(set));
        if is_possible {
            for (index, set) in faults.sets.iter().enumerate() {
                self.set_view(index).begin_set_with(set);
            }
        }
        is_possible
    }

    /// The name of a drive among the counters.
    pub fn drive_entity(&self, drive: u32) -> String {
        match &self.chain {
            Some(chain) => chain.drive_name(drive),
            None => self.groups.entity(drive),
        }
    }

    /// From now on a drive takes so many thousandths of its time.
    pub fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        let (group, index) = self.groups.place(drive);
        self.groups.drives[group].slow_down(index, slowness);
    }

    /// Returns how slow the drive that is fitted there is now: another may have taken its place.
    pub fn slowness(&self, drive: u32) -> Slowness {
        let (group, index) = self.groups.place(drive);
        self.groups.drives[group].slowness(index)
    }

    /// Returns when something happens next by itself, if nothing is submitted; `u64::MAX` for never. Right after
    /// `next_completion` has returned none.
    pub fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns().min(self.failover.next_at_ns()).min(self.services_at_ns())
    }

    /// Returns what has happened since this was last asked.
    pub fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    /// Cumulative counts of every part.
    pub fn counters(&self) -> Vec<TwinCounter> {
        let mut counters = Counters::default();
        if let Some(chain) = &self.chain {
            self.count_chain(chain, &mut counters);
            return counters.into_list();
        }
        self.fabric.count_into(&mut counters, self.hosts);
        for (index, controller) in self.controllers.iter().enumerate() {
            controller.count_into(&mut counters, index);
        }
        self.groups.count_into(&mut counters);
        let commands = self.controllers[..self.own_controllers].iter().map(|own| own.tally.commands);
        self.protocol.count_into(self.fabric.issued_ios(), commands.sum(), &mut counters);
        let now_ns = self.clock_ns.max(self.now_ns);
        self.wear.count_into(now_ns, self.groups.drives.iter().map(GroupDrives::written), &mut counters);
        self.stripes.count_into(&self.entries, &mut counters);
        volume::count_limits(&self.volumes, now_ns, &mut counters);
        if let Some(services) = &self.services {
            services.count_into(now_ns, &mut counters);
        }
        counters.into_list()
    }

    /// Share of a rebuild that is done; `None` where none runs.
    pub fn rebuilt_share(&self) -> Option<f64> {
        let of_set = |state: &SetState| match state.migration.is_pool {
            true => state.migration.moved_share(&state.recovery),
            false => state.recovery.rebuilt_share(),
        };
        // A drive in several sets is rebuilt in all of them.
        self.sets.iter().filter_map(of_set).reduce(f64::min)
    }

    /// Lost drives whose data is neither on others nor on its way there.
    pub fn unrebuilt_drives(&self) -> usize {
        self.sets.iter().map(|state| state.migration.unrebuilt_drives(&state.recovery)).sum()
    }

    /// As [`load::FastForward::begin_window`].
    pub fn begin_window(&mut self) {
        if let Some(chain) = &mut self.chain {
            return chain.begin_window();
        }
        self.groups.drives.iter_mut().for_each(GroupDrives::begin_window);
        self.controllers.iter_mut().for_each(Controller::begin_window);
    }

    /// As [`load::FastForward::begin_level`].
    pub fn begin_level(&mut self) {
        let now_ns = self.now_ns;
        self.controllers.iter_mut().for_each(|controller| controller.begin_level(now_ns));
        self.sets.iter_mut().for_each(|set| set.recovery.measure_pace());
    }

    /// Changes inside the model that a level does not outlast, as [`load::FastForward::change_count`]: drives that collect (with each that begins, writes become
    /// slower) and rebuilds that have begun.
    pub fn change_count(&self) -> u64 {
        if self.chain.is_some() {
            return 0;
        }
        let collecting: u64 = self.groups.drives.iter().map(GroupDrives::collecting).sum();
        collecting + self.sets.iter().map(|set| set.recovery.rebuilds_begun()).sum::<u64>()
    }

    /// As [`load::FastForward::steady_for_ns`]. Caches that fill or drain and sweeps of a write cache over hard disks are simulated whole, and so are rebuilds of
    /// hard disks and the last minutes of any.
    pub fn steady_for_ns(&self, window_ns: u64, left_ns: u64) -> u64 {
        if let Some(chain) = &self.chain {
            return chain.steady_for_ns();
        }
        let is_level = |controller: &Controller| {
            controller.is_steady()
                && controller.keeps_destages(self.now_ns, left_ns)
                && !(self.has_hard_disks && controller.is_sweeping())
        };
        let has_credits = |volume: &VolumeState| {
            volume.limiter.as_ref().is_some_and(|limiter| !limiter.is_steady(self.now_ns))
        };
        let is_served_alike =
            self.services.as_ref().is_none_or(|services| services.is_steady(self.now_ns, left_ns));
        if !is_served_alike || self.volumes.iter().any(has_credits) {
            return 0;
        }
        let rebuild_left_ns = self.sets.iter().filter_map(SetState::rebuild_left_ns).min();
        let is_followed = |left_ns: u64| self.has_hard_disks || left_ns < REBUILD_LEFT_NS;
        if !self.controllers.iter().all(is_level) || rebuild_left_ns.is_some_and(is_followed) {
            return 0;
        }
        let rebuild_ns = rebuild_left_ns.unwrap_or(u64::MAX);
        let drives_ns = self.groups.drives.iter().map(|drives| drives.steady_for_ns(window_ns)).min();
        let changes_at_ns = self.services.as_ref().map_or(u64::MAX, |services| services.changes_at_ns());
        let services_ns = changes_at_ns.saturating_sub(self.now_ns);
        let model_ns = self.failover.steady_for_ns(self.now_ns).min(services_ns).min(rebuild_ns);
        drives_ns.unwrap_or(u64::MAX).min(model_ns)
    }

    /// As [`load::FastForward::can_skip_sequential`].
    ///
    /// Streams on hard disks are simulated whole: which of them goes first at which disk, and at what angle of its platter, lasts for minutes and is lost by a skip; two
    /// readers in order then came out up to 11 % too slow.
    pub fn can_skip_sequential(&self) -> bool {
        !self.has_hard_disks && self.chain.is_none()
    }

    /// Returns whether what a load does after an event depends for minutes on the state in which the event finds the
    /// array, queue by queue. No time is skipped while such an event lies ahead.
    pub fn is_chaotic_after(&self, event: Event) -> bool {
        let volumes = self.attachments.iter().map(|attachment| attachment.entry);
        self.chain.as_ref().is_some_and(|chain| chain.is_chaotic_after(event, volumes))
    }

    /// As [`load::FastForward::knows_skipped_streams`]. Erased flash is used up by any writes alike; what collection then moves depends on the order of all of them.
    pub fn knows_skipped_streams(&self) -> bool {
        !self.groups.drives.iter().any(|drives| drives.collecting() > 0)
    }

    /// As [`load::FastForward::keeps_random_writes`].
    ///
    /// Returns how far the sweep over dirty data has come, and how dense they lie before it, changes over minutes, and
    /// matters to disks. Where erased flash is used up before the load ends, how much of it each drive has taken, by
    /// chance more than others, says when the cliff comes.
    pub fn keeps_random_writes(&self, window_ns: u64, left_ns: u64) -> bool {
        if self.chain.is_some() {
            return false;
        }
        if self.has_hard_disks {
            return self.controllers[0].write_cache.is_some() && !self.writes_go_through();
        }
        // A window shows how fast erased flash is used within some tenths.
        let lasts_ns = |drives: &GroupDrives| drives.steady_for_ns(window_ns);
        self.groups.drives.iter().any(|drives| lasts_ns(drives) < left_ns.saturating_mul(2))
    }

    /// As [`load::FastForward::apply_skipped_write`].
    pub fn apply_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        if self.has_hard_disks {
            self.destage_skipped_write(offset_bytes, length_bytes);
        } else {
            self.write_skipped(offset_bytes, length_bytes);
        }
    }

    /// As [`load::FastForward::skip_time`].
    pub fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        if !std::mem::take(&mut self.has_skipped_ranges) && self.chain.is_none() {
            self.groups.drives.iter_mut().for_each(|drives| drives.skip_time(duration_ns, window_ns));
        }
        self.failover.skip_time(duration_ns);
        (0..self.sets.len()).for_each(|set| self.set_view(set).skip_rebuild(duration_ns));
        if let Some(services) = &mut self.services {
            services.skip_time(self.now_ns, duration_ns);
        }
    }
}
