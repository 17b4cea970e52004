//! Replicated system: nodes that keep copies of objects on each other's drives, and the path of I/Os through
//! it.
//!
//! A read: initiator → network → server of the tail → drive → network → initiator. A write: initiator → head → all →
//! tail, each of which forwards it at once, puts it on its drive or into its protected buffer, and answers the
//! initiator; it is complete with the last answer. `docs/models/storpool.md` has the equations.

mod availability;
mod background;
mod buffer;
mod check;
mod description;
mod disk;
mod flash;
mod model_event;
mod network;
mod node;
mod path;
mod placement;
mod relocation;
mod report;
mod request;
mod service;
mod services;
mod settings;
#[cfg(test)]
mod tests;
mod volume;

use load::{Completion, Device, IoError, Operation, Random};
use serde_json::{Map, Value};

use crate::array_model::ArrayModel;
use crate::drive::Slowness;
use crate::drive::flash::{Condition, FlashDrive};
use crate::engine::{EventQueue, Slab};
use crate::event_loop::{Clock, EventLoop};
use crate::part::no_flash_drive;
use crate::settings::Setting;
use crate::{Faults, TwinCounter, TwinError, TwinNote};
use disk::{Disk, Outcome};
use model_event::ModelEvent;
use network::Network;
use node::{Costs, Node};
use placement::Placement;
use relocation::Relocation;
use request::{Io, Request};
use service::{Instance, share};
use services::Stopped;
use settings::Settings;
use volume::Volume;

use crate::composed::Limiter;
pub use description::{
    Block, Description, DriveClass, HardDisks, Machines, Network as NetworkDescription, NvmeDriver,
    NvmeDrives, Relocation as RelocationDescription, Service, Slice, StorageServer, Template,
    Volume as VolumeDescription, WriteBuffer,
};
pub use services::{ServiceDrives, service_drives};

/// Replicas of an object: head, all, tail.
pub(crate) const COPIES: usize = 3;

/// A device's error number for data that no working drive holds (EIO).
const EIO: i32 = 5;

/// Streams of random numbers: initial state of the flash drives, and pieces of the index.
const FLASH_STREAM: u64 = 1;
const INDEX_STREAM: u64 = 2;

/// Attachment of jobs: from this job on, this volume through this host.
#[derive(Debug, Clone, Copy)]
struct Attachment {
    first_job: u32,
    volume: u32,
    host: u32,
}

/// Simulated replicated system.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    description: Description,
    settings: Settings,
    object_bytes: u64,
    attachments: Vec<Attachment>,
    volumes: Box<[Volume]>,
    placement: Placement,
    relocation: Relocation,
    network: Network,
    /// Initiators, by machine: nodes first, then clients.
    blocks: Box<[Instance]>,
    nodes: Box<[Node]>,
    costs: Costs,
    flash_drives: Box<[FlashDrive]>,
    flash_reads: Box<[[u64; 2]]>,
    flash_writes: Box<[[u64; 2]]>,
    disks: Box<[Disk]>,
    outcomes: Vec<Outcome>,
    random: Random,
    ios: Vec<Io>,
    requests: Slab<Request>,
    planned: Vec<background::ScheduledEvent>,
    stopped: Stopped,
    notes: Vec<TwinNote>,
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// An event, checked.
    fn planned(
        &self,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<background::ScheduledEvent, TwinError> {
        let drives = &self.placement.drives;
        background::ScheduledEvent::new(&self.description, &self.settings, drives, action, arguments)
    }

    fn plan(&mut self, at_ns: u64, planned: background::ScheduledEvent) {
        self.planned.push(planned);
        let index = self.planned.len() as u32 - 1;
        self.queue.push(at_ns, ModelEvent::Planned(index).pack());
    }

    /// Volume and host of a job.
    #[inline]
    fn attachment(&self, job: u32) -> Attachment {
        let after = self.attachments.partition_point(|attachment| attachment.first_job <= job);
        self.attachments[after - 1]
    }
}

impl ArrayModel for Model {
    type Description = Description;

    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    fn build(description: &Description, settings: &Map<String, Value>, seed: u64) -> Result<Self, TwinError> {
        let settings = Settings::parse(description, settings)?;
        let placement = Placement::new(description, seed, description.write_buffer.log_bytes.get())?;
        let object_bytes = description.object_bytes.get();
        let node_count = description.nodes.count.get();
        let machines = node_count + description.clients.count.get();
        let nodes: Box<[Node]> =
            (0..node_count).map(|node| Node::new(description, &settings, &placement, node)).collect();
        let block_share = share(description, &settings, "block");
        let blocks: Box<[Instance]> = (0..machines).map(|_| Instance::new(block_share, &settings)).collect();
        let volumes = description.volumes.iter().map(|volume| {
            let named = |template: &Template| template.name == volume.template;
            let template = description.templates.iter().position(named).unwrap_or(0);
            Volume {
                name: volume.name.clone(),
                bytes: volume.bytes.get(),
                template,
                classes: description.templates[template].classes(),
                limit: volume.limit,
                limiter: Limiter::default(),
                waiting: std::collections::VecDeque::new(),
                wake_ns: u64::MAX,
                under_way: 0,
                read: volume::Done::default(),
                write: volume::Done::default(),
                moved_bytes: 0,
            }
        });
        let mut volumes: Box<[Volume]> = volumes.collect();
        if let Some(limit) = settings.limit {
            volumes[settings.volume as usize].limit = limit;
        }
        if settings.on.limits {
            for volume in &mut volumes {
                volume.limiter.set(&volume.limit, volume.bytes);
            }
        }
        let flash = flash::describe(&description.nvme, &settings);
        let nvme_count = placement.drives.nvme_count();
        let mut flash_seeds = Random::from_seed_and_stream(seed, FLASH_STREAM);
        let flash_drives = (0..nvme_count).map(|drive| {
            let filled = placement.held(drive) as f64 * object_bytes as f64 / flash.capacity.0 as f64;
            FlashDrive::new(&flash, Condition::Steady(filled), flash_seeds.next_u64())
        });
        let flash_drives: Box<[FlashDrive]> = flash_drives
            .collect::<Result<_, _>>()
            .map_err(|error| no_flash_drive(error).under("nvme").under("replicated"))?;
        let disks = (nvme_count..placement.drives.count()).map(|drive| {
            let log_first_byte = u64::from(placement.held(drive)) * object_bytes;
            Disk::new(&description.hdd, &description.write_buffer, &settings, log_first_byte)
        });
        let disks: Box<[Disk]> =
            disks.collect::<Result<_, _>>().map_err(|error| error.under("hdd").under("replicated"))?;
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            object_bytes,
            attachments: vec![Attachment { first_job: 0, volume: settings.volume, host: settings.host }],
            volumes,
            relocation: Relocation::new(description),
            network: Network::new(description, &settings),
            costs: Costs::new(description, &blocks[0], &nodes[0]),
            blocks,
            nodes,
            flash_reads: vec![[0; 2]; nvme_count as usize].into(),
            flash_writes: vec![[0; 2]; nvme_count as usize].into(),
            flash_drives,
            disks,
            outcomes: Vec::new(),
            random: Random::from_seed_and_stream(seed, INDEX_STREAM),
            ios: Vec::new(),
            requests: Slab::default(),
            planned: Vec::new(),
            stopped: Stopped::new(),
            notes: Vec::new(),
            placement,
            settings,
            description: description.clone(),
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.planned(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        if let Ok(planned) = self.planned(action, arguments) {
            self.plan(at_ns, planned);
        }
    }

    fn attach(&mut self, first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        let last = self.attachments[self.attachments.len() - 1];
        let named = Settings::parse(&self.description, settings)?;
        let volume = if settings.contains_key("volume") { named.volume } else { last.volume };
        let host = if settings.contains_key("host") { named.host } else { last.host };
        self.attachments.retain(|attachment| attachment.first_job < first_job);
        self.attachments.push(Attachment { first_job, volume, host });
        Ok(())
    }

    /// As of disks, on which a hybrid volume has replicas.
    fn can_skip_sequential(&self) -> bool {
        false
    }

    fn begin_window(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.buffer.begin_window());
    }

    /// Returns what lasts longer than a window is what moves and what the buffers hold. Volumes fill so little of the
    /// flash drives that collection hardly moves anything, whatever is written (`docs/models/storpool.md`).
    fn steady_for_ns(&self, _window_ns: u64, _left_ns: u64) -> u64 {
        let is_steady =
            !self.relocation.is_under_way && self.nodes.iter().all(|node| node.buffer.is_steady());
        if is_steady { u64::MAX } else { 0 }
    }

    /// Returns where a hybrid volume loses an NVMe replica, reads go to disks, which hold the places of all queues;
    /// writes fill the buffers behind them until the load stalls and starts anew. When that happens differs by half a
    /// minute from one seed to the next (1,024 outstanding, 4K, 30 % reads: 29 to 62 s after the failure in eight exact
    /// runs, `docs/models/storpool.md`).
    fn is_chaotic_after(&self, action: &str) -> bool {
        let is_hybrid = |classes: &[DriveClass; COPIES]| classes[0] != classes[COPIES - 1];
        background::takes_replicas(action)
            && self
                .attachments
                .iter()
                .any(|attached| is_hybrid(&self.volumes[attached.volume as usize].classes))
    }

    fn capacity_of_job_bytes(&self, job: u32) -> u64 {
        self.volumes[self.attachment(job).volume as usize].bytes
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        report::find_drive(&self.placement.drives, value)
    }

    /// Returns what the placement has become is not among them: events make it anew.
    fn faults(&self) -> Faults {
        Faults::default()
    }

    fn begin_with(&mut self, _faults: &Faults) -> bool {
        false
    }

    fn drive_entity(&self, drive: u32) -> String {
        report::drive_name(&self.placement.drives, drive)
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        match drive.checked_sub(self.placement.drives.nvme_count()) {
            None => self.flash_drives[drive as usize].slow_down(slowness),
            Some(disk) => self.disks[disk as usize].slow_down(slowness),
        }
    }

    fn slowness(&self, drive: u32) -> Slowness {
        match drive.checked_sub(self.placement.drives.nvme_count()) {
            None => self.flash_drives[drive as usize].slowness(),
            Some(disk) => self.disks[disk as usize].slowness(),
        }
    }

    fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns()
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        report::counters(self)
    }
}

impl Device for Model {
    /// The size of the volume that the first job is for.
    fn capacity_bytes(&self) -> u64 {
        self.volumes[self.attachments[0].volume as usize].bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        self.now_ns = at_ns;
        let Attachment { volume, host, .. } = self.attachment(operation.job);
        let io = Io {
            issued_at_ns: at_ns,
            offset_bytes: operation.offset_bytes,
            length_bytes: operation.length_bytes,
            volume,
            host,
            requests_left: 0,
            direction: operation.direction,
            has_failed: false,
        };
        if tag as usize >= self.ios.len() {
            self.ios.resize(tag as usize + 1, io);
        }
        self.ios[tag as usize] = io;
        let volume_state = &mut self.volumes[volume as usize];
        volume_state.under_way += 1;
        if volume_state.limiter.is_limited() || !volume_state.waiting.is_empty() {
            volume_state.waiting.push_back(tag);
            self.admit(volume);
        } else {
            self.begin(tag);
        }
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        self.complete_next(until_ns)
    }
}

impl EventLoop for Model {
    #[inline]
    fn clock(&mut self) -> Clock<'_> {
        Clock { now_ns: &mut self.now_ns, queue: &mut self.queue, step_at_ns: u64::MAX }
    }

    #[inline]
    fn handle(&mut self, payload: u32) -> Option<Completion> {
        let at_ns = self.now_ns;
        match ModelEvent::unpack(payload) {
            ModelEvent::GoOut(tag) => self.go_out(tag),
            ModelEvent::Arrive(of) => self.arrive(of),
            ModelEvent::Receive(of) => self.receive(of),
            ModelEvent::Serve(of) => self.serve(of),
            ModelEvent::Find(of) => self.use_drive(of),
            ModelEvent::Store(of) => self.store(of),
            ModelEvent::ComeBack(of) => self.come_back(of),
            ModelEvent::Answer(request) => self.answer(request),
            ModelEvent::Disk(drive) => self.look_at_disk(drive),
            ModelEvent::Batch(drive) => self.start_batch(drive),
            ModelEvent::Admit(volume) => {
                self.volumes[volume as usize].wake_ns = u64::MAX;
                self.admit(volume);
            }
            ModelEvent::Relocate(stream) => self.relocate(stream),
            ModelEvent::Planned(index) => self.carry_out(index),
            ModelEvent::Complete(tag) => {
                let io = self.ios[tag as usize];
                let outcome = if io.has_failed { Err(IoError::Os(EIO)) } else { Ok(()) };
                let latency_ns = at_ns - io.issued_at_ns;
                self.volumes[io.volume as usize].count(io.direction, u64::from(io.length_bytes), latency_ns);
                return Some(Completion { tag, issued_at_ns: io.issued_at_ns, at_ns, outcome });
            }
        }
        None
    }
}
