//! Array composed of parts: any drives under any layout behind any cache, controllers and links.
//!
//! A read: job's thread → link → controller (processor, memory) → caches → network and back end → drives → link to the host. A
//! write: job's thread → link → controller → cache, where it is answered, or drives: old data and parity are read, parity is
//! computed, both are written. Nothing here knows which array it is. `docs/models/composed.md` has the equations.

mod command;
mod controller;
mod destage;
mod drives;
mod fabric;
mod groups;
mod laid_out;
mod path;
mod phases;
mod rebuild;
mod set;
mod settings;
mod volume;

use layout::IoList;
use load::{Completion, Device, Direction, Operation};
use serde_json::{Map, Value};

use crate::array_model::ArrayModel;
use crate::availability::{Failover, FaultEvent, FirmwareUpdate, Refill};
use crate::drive::Slowness;
use crate::engine::{EventQueue, Slab};
use crate::event_loop::{Clock, EventLoop};
use crate::part::{Counters, assumed};
use crate::payload::number_in;
use crate::settings::{Setting, numbered, unknown};
use crate::{TwinCounter, TwinError, TwinNote};
use command::{Command, Fault, ModelEvent, Parts};
use controller::Controller;
use drives::GroupDrives;
use fabric::Fabric;
use groups::Groups;
use laid_out::LaidOut;
use set::SetState;
use settings::Settings;
use volume::{Entry, VolumeState};

/// Why controllers of such an array cannot leave.
const UPDATE_REMEDY: &str = "it needs two controllers in one array; nodes that fail are not modelled";

/// Part of an I/O on one volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub volume: u32,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub direction: Direction,
}

/// What a command that writes carries beside its place.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Cached extents of a stripe: offsets in the set, and lengths.
    extents: Vec<(u64, u64)>,
    /// Cache blocks that come free when they are on the drives.
    blocks: u64,
    /// Bytes over which parity is computed.
    moved_bytes: u64,
}

/// Jobs from a number on, and the volumes that they are for.
#[derive(Debug, Clone, Copy)]
struct Attachment {
    first_job: u32,
    entry: usize,
}

/// Simulated array of parts.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    hosts: u32,
    answer_ns: u64,
    controllers_per_node: u32,
    is_active_active: bool,
    /// Commands of active-active controllers so far: they take turns.
    turn: u32,
    fabric: Fabric,
    controllers: Box<[Controller]>,
    groups: Groups,
    has_hard_disks: bool,
    sets: Vec<SetState>,
    volumes: Vec<VolumeState>,
    entries: Vec<Entry>,
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
    faults: Slab<Fault>,
    failover: Failover,
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

    fn entry_of(&self, job: u32) -> &Entry {
        let attached = self.attachments.iter().rev().find(|attachment| attachment.first_job <= job);
        &self.entries[attached.map_or(0, |attachment| attachment.entry)]
    }

    fn capabilities(&self) -> crate::availability::Capabilities {
        self.failover.capabilities(self.groups.count(), UPDATE_REMEDY)
    }
}

impl ArrayModel for Model {
    type Description = array::Array;

    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    fn build(array: &array::Array, settings: &Map<String, Value>, seed: u64) -> Result<Self, TwinError> {
        let settings = Settings::parse(settings, array)?;
        let LaidOut { sets, volumes, entries } = LaidOut::new(array, &settings)?;
        let groups = Groups::new(array, &settings, seed)?;
        let controllers = array.controller_count();
        let can_fail_over = array.nodes.is_none() && controllers > 1;
        let seconds = |nanos: u64| assumed(nanos as f64 / 1e9);
        let update = can_fail_over.then(|| FirmwareUpdate {
            controller_away_s: seconds(array.failover.away.get()),
            controller_gap_s: seconds(array.failover.gap.get()),
            path_failover_s: seconds(array.failover.path.get()),
            verification_mb_per_s: assumed(1.0),
            verification_bytes: assumed(0),
        });
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            hosts: array.hosts.count.count(),
            answer_ns: if settings.on.processors { array.controllers.answer.get() } else { 0 },
            controllers_per_node: array.controllers.count.count(),
            is_active_active: array.controllers.ownership.get() == 1,
            turn: 0,
            fabric: Fabric::new(array, &settings),
            controllers: vec![Controller::new(array, &settings); controllers as usize].into(),
            has_hard_disks: groups.drives.iter().any(|drives| matches!(drives, GroupDrives::HardDisks(_))),
            groups,
            sets,
            volumes,
            entries,
            entry_names: array.volumes.iter().map(|volume| volume.keys.name.text.clone()).collect(),
            attachments: vec![Attachment { first_job: 0, entry: settings.volume }],
            commands: Slab::default(),
            work: Vec::new(),
            spare_extents: Vec::new(),
            parts: Vec::new(),
            plan: IoList::with_capacity(64),
            faults: Slab::default(),
            failover: Failover::new(update.as_ref(), controllers, 1 << 20, u64::MAX),
            notes: Vec::new(),
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.capabilities().fault_event(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        let fault = match self.capabilities().fault_event(action, arguments) {
            Ok(FaultEvent::FirmwareUpdate) => return self.failover.begin_update(at_ns),
            Ok(FaultEvent::ControllerFails(controller)) => {
                return self.failover.begin_failover(at_ns, controller);
            }
            Ok(FaultEvent::DriveFails(drive)) => Fault::DriveFails(drive),
            Ok(FaultEvent::DriveIsReplaced(drive)) => Fault::DriveIsReplaced(drive),
            Err(error) => return self.note(error.to_string()),
        };
        let index = self.faults.keep(fault);
        self.queue.push(at_ns, ModelEvent::Fault(index).pack());
    }

    fn attach(&mut self, first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        for (name, value) in settings {
            if name != "volume" {
                return Err(unknown(name, &settings::SETTINGS[1..2]));
            }
            let entry = self.entry_names.iter().position(|known| Some(known.as_str()) == value.as_str());
            let Some(entry) = entry else {
                return Err(crate::settings::bad(name, value, &self.entry_names.join(", ")));
            };
            self.attachments.retain(|attachment| attachment.first_job < first_job);
            self.attachments.push(Attachment { first_job, entry });
        }
        Ok(())
    }

    fn capacity_of_job_bytes(&self, job: u32) -> u64 {
        self.entry_of(job).bytes
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.groups.count())
    }

    fn drive_entity(&self, drive: u32) -> String {
        format!("drive-{drive}")
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        let (group, index) = self.groups.place(drive);
        self.groups.drives[group].slow_down(index, slowness);
    }

    fn slowness(&self, drive: u32) -> Slowness {
        let (group, index) = self.groups.place(drive);
        self.groups.drives[group].slowness(index)
    }

    fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns().min(self.failover.next_at_ns())
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        let mut counters = Counters::default();
        self.fabric.count_into(&mut counters, self.hosts);
        for (index, controller) in self.controllers.iter().enumerate() {
            controller.count_into(&mut counters, index);
        }
        self.groups.count_into(&mut counters);
        counters.into_list()
    }

    fn begin_window(&mut self) {
        self.groups.drives.iter_mut().for_each(GroupDrives::begin_window);
        for controller in &mut self.controllers {
            if let Some(cache) = &mut controller.write_cache {
                cache.begin_window();
            }
        }
    }

    /// Caches that fill or drain, hard disks and rebuilds are simulated whole.
    fn steady_for_ns(&self, window_ns: u64, _left_ns: u64) -> u64 {
        let is_level = |controller: &Controller| {
            controller.write_cache.as_ref().is_none_or(|cache| cache.is_steady())
                && controller.read_cache.as_ref().is_none_or(|cache| cache.is_full())
        };
        if !self.controllers.iter().all(is_level) || self.sets.iter().any(|set| set.recovery.is_rebuilding())
        {
            return 0;
        }
        let drives_ns = self.groups.drives.iter().map(|drives| drives.steady_for_ns(window_ns)).min();
        drives_ns.unwrap_or(u64::MAX).min(self.failover.steady_for_ns(self.now_ns))
    }

    /// Where a sequential write goes decides what is collected; it is simulated whole where there is collection.
    fn can_skip_sequential(&self) -> bool {
        self.groups.drives.iter().all(|drives| matches!(drives, GroupDrives::Modules(_)))
    }

    fn knows_skipped_streams(&self) -> bool {
        !self.groups.drives.iter().any(GroupDrives::are_collecting)
    }

    fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        self.groups.drives.iter_mut().for_each(|drives| drives.skip_time(duration_ns, window_ns));
        self.failover.skip_time(duration_ns);
    }
}

impl Device for Model {
    /// The size of what the first job addresses.
    fn capacity_bytes(&self) -> u64 {
        self.entry_of(0).bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        if self.commands.is_empty() {
            self.groups.drives.iter_mut().for_each(GroupDrives::prepare);
        }
        self.now_ns = at_ns;
        let issued_at_ns = self.fabric.issued_at_ns(at_ns, operation.job, operation.length_bytes);
        let entry = self.entry_of(operation.job);
        let first = entry.volumes.partition_point(|&(start, _)| start <= operation.offset_bytes) - 1;
        let (start, volume) = entry.volumes[first];
        let piece = Piece {
            volume,
            offset_bytes: operation.offset_bytes - start,
            length_bytes: operation.length_bytes,
            direction: operation.direction,
        };
        let room = self.volumes[volume as usize].bytes - piece.offset_bytes;
        if u64::from(operation.length_bytes) <= room {
            return self.begin(tag, issued_at_ns, piece, false);
        }
        // The I/O goes on in the volumes behind.
        let mut pieces = Vec::new();
        let (mut number, mut piece) = (first, piece);
        let mut left = operation.length_bytes;
        while left > 0 && number < entry.volumes.len() {
            let (_, volume) = entry.volumes[number];
            let room = self.volumes[volume as usize].bytes - piece.offset_bytes;
            let length_bytes = u64::from(left).min(room) as u32;
            pieces.push(Piece { volume, length_bytes, ..piece });
            left -= length_bytes;
            (number, piece.offset_bytes) = (number + 1, 0);
        }
        if tag as usize >= self.parts.len() {
            self.parts.resize(tag as usize + 1, Parts::default());
        }
        self.parts[tag as usize] = Parts { left: pieces.len() as u32, is_lost: false };
        for piece in pieces {
            self.begin(tag, issued_at_ns, piece, true);
        }
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        self.complete_next(until_ns)
    }
}

impl EventLoop for Model {
    #[inline]
    fn clock(&mut self) -> Clock<'_> {
        Clock { now_ns: &mut self.now_ns, queue: &mut self.queue, step_at_ns: self.failover.next_at_ns() }
    }

    #[inline]
    fn handle(&mut self, payload: u32) -> Option<Completion> {
        match ModelEvent::unpack(payload) {
            ModelEvent::Issue(command) => self.issue(command),
            ModelEvent::Arrive(command) => self.arrive(command),
            ModelEvent::Start(command) => self.start(command),
            ModelEvent::PhaseDone(command) => self.phase_done(command),
            ModelEvent::Answer(command) => return self.answered(command),
            ModelEvent::DiskWakes(drive) => self.disk_wakes(drive),
            ModelEvent::RebuildDue(set) => self.set_view(set as usize).rebuild_is_due(),
            ModelEvent::Fault(index) => match self.faults.take(index) {
                Fault::DriveFails(drive) => self.drive_is_gone(u32::from(drive)),
                Fault::DriveIsReplaced(drive) => self.drive_is_there_again(u32::from(drive)),
            },
        }
        None
    }

    #[inline]
    fn fetch_next(&self) {
        if let Some(coming) = self.queue.coming() {
            self.commands.fetch(number_in(coming));
        }
    }

    fn run_background(&mut self) {
        let (_, says) = self.failover.step(self.now_ns);
        if let Some(says) = says {
            self.note(says);
        }
    }

    /// Hard disks choose among all commands of one moment.
    #[inline]
    fn flush_deferred(&mut self) {
        if !self.has_hard_disks {
            return;
        }
        for group in 0..self.groups.drives.len() {
            let first = self.groups.first(group);
            if let GroupDrives::HardDisks(disks) = &mut self.groups.drives[group] {
                let queue = &mut self.queue;
                disks.ask_touched(|drive, at_ns| {
                    queue.push(at_ns, ModelEvent::DiskWakes(first + drive).pack());
                });
            }
        }
    }
}

impl Model {
    fn disk_wakes(&mut self, drive: u32) {
        let (group, index) = self.groups.place(drive);
        let GroupDrives::HardDisks(disks) = &mut self.groups.drives[group] else { return };
        if let Some(done) = disks.wakes(self.now_ns, index) {
            self.disk_done(done.tag);
        }
    }
}
