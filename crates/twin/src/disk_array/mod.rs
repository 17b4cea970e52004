//! Array of hard disks: hosts, controllers with cache, links and drives.
//!
//! A read: host → processor → (cache) → drives → links → host. A write: host → link → processor → (cache, where it
//! is answered) → old data and parity read → parity computed → drives. `docs/models/disk-array.md` has the
//! equations.

mod arrangement;
mod bench;
mod check;
mod controllers;
mod description;
mod destage;
mod fabric;
mod failover;
mod loss;
mod model_event;
mod path;
mod phases;
mod read_ahead;
mod report;
mod settings;
mod task;

use layout::{DriveIndex, IoList};
use load::{Completion, Device, Direction, Operation, Random};
use serde_json::{Map, Value};

use crate::array_model::ArrayModel;
use crate::availability::{DATA_LOST, Failover, FaultEvent, Migrates, Migration, Recovery, Refill};
use crate::drive::Slowness;
use crate::engine::EventQueue;
use crate::event_loop::{Clock, EventLoop};
use crate::part::{DiskSwitches, Disks, switched_hard_disk};
use crate::settings::{Setting, numbered};
use crate::{DescriptionError, Faults, TwinCounter, TwinError, TwinNote};
use arrangement::Arrangement;
use controllers::Controller;
use fabric::Fabric;
use model_event::ModelEvent;
use read_ahead::Fetch;
use settings::Settings;
use task::{HostIo, Tasks};

pub use description::{
    Cache, Controllers, Description, DriveLinks, Drives as HardDisks, FileSystem, Hosts, Layout, Level,
    ParityUpdate, Pool, Volumes,
};

/// What lets such an array lose a controller for a while.
const UPDATE_REMEDY: &str = "describe the update under `disk_array.firmware_update`";

/// The disks without what is switched off.
fn disks(description: &Description, settings: &Settings) -> Result<Disks, DescriptionError> {
    let switches = DiskSwitches {
        seek: settings.on.seek,
        rotation: settings.on.rotation,
        reordering: settings.on.reordering,
        buffer: settings.on.drive_buffer,
    };
    let first = switched_hard_disk(description.drives.hard_disk(), switches)
        .map_err(|error| error.under("drives"))?;
    Ok(Disks::new(first, description.drives.count.get() as usize))
}

/// Simulation of an array of hard disks.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    arrangement: Arrangement,
    /// False: writes leave parity alone.
    updates_parity: bool,
    /// Data reaches the hosts in no time, so that a read is done when its drives are.
    returns_at_once: bool,
    fabric: Fabric,
    controllers: Box<[Controller]>,
    drives: Disks,
    tasks: Tasks,
    recovery: Recovery,
    migration: Migration,
    failover: Failover,
    /// Written data is answered only when both controllers have it: with one away, only when the drives have it.
    mirrors: bool,
    /// Picks mirrors.
    random: Random,
    /// Filled again for each plan.
    plan: IoList,
    fetches: Vec<Fetch>,
    notes: Vec<TwinNote>,
}

impl Model {
    fn controller_of(&self, offset_bytes: u64) -> u32 {
        let count = self.controllers.len() as u64;
        if count == 1 { 0 } else { (offset_bytes / self.arrangement.volume_bytes % count) as u32 }
    }

    /// Whether writes are answered only when the drives have them, because the other controller cannot hold a copy.
    #[inline]
    fn writes_go_through(&self) -> bool {
        self.mirrors && self.failover.is_any_away()
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
            ModelEvent::Arrive(tag) => self.arrive(tag),
            ModelEvent::Start(tag) => self.start(tag),
            ModelEvent::DrivesRead(task) => self.drives_read(task),
            ModelEvent::ReadsDone(task) => self.reads_done(task),
            ModelEvent::WriteOut(task) => self.write_out(task),
            ModelEvent::WritesDone(task) => self.writes_done(task),
            ModelEvent::Answered(tag) => {
                let io = self.tasks.io(tag);
                let at_ns = self.fabric.complete(self.now_ns, io.job, u64::from(io.length_bytes));
                self.queue.push(at_ns, ModelEvent::Complete(tag).pack());
            }
            ModelEvent::Complete(tag) => {
                let io = self.tasks.io(tag);
                let outcome = if io.is_lost { Err(DATA_LOST) } else { Ok(()) };
                return Some(Completion { tag, issued_at_ns: io.issued_at_ns, at_ns: self.now_ns, outcome });
            }
            ModelEvent::DriveWakes(drive) => {
                if let Some(done) = self.drives.wakes(self.now_ns, drive) {
                    self.drive_is_done(done.tag);
                }
            }
            ModelEvent::DriveFails(drive) => self.drive_fails(drive as DriveIndex),
            ModelEvent::DriveIsReplaced(drive) => self.drive_is_replaced(drive as DriveIndex),
            ModelEvent::Rebuild(()) => self.rebuild_is_due(),
        }
        None
    }

    fn run_background(&mut self) {
        self.failover_step();
    }

    /// Drives that answer at once are never touched.
    #[inline]
    fn flush_deferred(&mut self) {
        let queue = &mut self.queue;
        self.drives.ask_touched(|drive, at_ns| queue.push(at_ns, ModelEvent::DriveWakes(drive).pack()));
    }
}

impl Device for Model {
    fn capacity_bytes(&self) -> u64 {
        self.arrangement.capacity_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        self.now_ns = at_ns;
        let issued_at_ns = self.fabric.threads.submit(at_ns, tag);
        let owner = self.controller_of(operation.offset_bytes);
        let controller = self.failover.reached(owner, issued_at_ns);
        let link = self.controllers[controller as usize].next_link();
        self.tasks.put(
            tag,
            HostIo {
                issued_at_ns,
                offset_bytes: operation.offset_bytes,
                length_bytes: operation.length_bytes,
                job: operation.job,
                link,
                controller,
                direction: operation.direction,
                is_lost: false,
            },
        );
        let arrives_ns = match operation.direction {
            Direction::Read => issued_at_ns,
            // Every submission takes the same time, so links see writes in the order of their submission.
            Direction::Write => {
                self.fabric.links.send_to_array(issued_at_ns, link, u64::from(operation.length_bytes))
            }
            // A discard changes maps and moves no data.
            Direction::Trim => return self.answer(tag, issued_at_ns),
        };
        if arrives_ns > at_ns {
            self.queue.push(arrives_ns, ModelEvent::Arrive(tag).pack());
        } else {
            self.arrive(tag);
        }
    }

    #[inline]
    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        self.complete_next(until_ns)
    }
}

impl ArrayModel for Model {
    type Description = Description;

    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    fn build(description: &Description, settings: &Map<String, Value>, seed: u64) -> Result<Self, TwinError> {
        let settings = Settings::parse(description, settings)?;
        let arrangement = Arrangement::new(description, &settings)?;
        let fabric = Fabric::new(description, &settings);
        let (links, count) = (description.links.count.get(), description.controllers.count.get());
        let controllers: Box<[Controller]> = (0..count)
            .map(|index| {
                let own = (0..links).filter(|link| link % count == index);
                let used = if settings.on.balancing { links as usize } else { 1 };
                let own = own.take(used).collect();
                Controller::new(description, &settings, own)
            })
            .collect();
        let has_parity = matches!(arrangement.layout.redundancy(), layout::Redundancy::Parity(_));
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            updates_parity: settings.on.parity || !has_parity,
            returns_at_once: fabric.costs_nothing() && !settings.on.processors && !settings.on.read_cache,
            recovery: Recovery::new(
                "drive",
                description.rebuild.as_ref(),
                &arrangement.layout,
                description.drives.count.get(),
                arrangement.capacity_bytes(),
            ),
            migration: Migration::new(&arrangement.layout),
            failover: Failover::new(
                description.firmware_update.as_ref(),
                count,
                u64::from(arrangement.layout.segment_bytes()),
                arrangement.layout.stripes(),
            ),
            mirrors: settings.on.mirroring && description.cache.mirror_mb_per_s.is_some() && count > 1,
            arrangement,
            fabric,
            controllers,
            drives: disks(description, &settings)?,
            tasks: Tasks::default(),
            random: Random::from_seed(seed),
            plan: IoList::with_capacity(64),
            fetches: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.capabilities().fault_event(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        match self.capabilities().fault_event(action, arguments) {
            Ok(FaultEvent::DriveFails(drive)) => {
                self.queue.push(at_ns, ModelEvent::DriveFails(u32::from(drive)).pack());
            }
            Ok(FaultEvent::DriveIsReplaced(drive)) => {
                self.queue.push(at_ns, ModelEvent::DriveIsReplaced(u32::from(drive)).pack());
            }
            Ok(FaultEvent::FirmwareUpdate) => self.failover.begin_update(at_ns),
            Ok(FaultEvent::ControllerFails(controller)) => self.failover.begin_failover(at_ns, controller),
            Err(error) => self.note(error.to_string()),
        }
    }

    /// Which stream goes first at which disk, and at what angle of its platter, lasts for minutes and is lost by a skip: two readers
    /// in order then came out up to 11 % too slow.
    fn can_skip_sequential(&self) -> bool {
        false
    }

    fn begin_window(&mut self) {
        for controller in &mut self.controllers {
            controller.begin_window();
        }
    }

    fn steady_for_ns(&self, _window_ns: u64, _left_ns: u64) -> u64 {
        let are_steady =
            self.controllers.iter().all(|controller| controller.is_steady() && !controller.is_sweeping());
        if !are_steady || self.recovery.is_rebuilding() {
            return 0;
        }
        self.failover.steady_for_ns(self.now_ns)
    }

    fn skip_time(&mut self, duration_ns: u64, _window_ns: u64) {
        self.failover.skip_time(duration_ns);
    }

    /// How far the sweep over dirty data has come, and how dense they lie before it, changes over minutes.
    fn keeps_random_writes(&self, _window_ns: u64, _left_ns: u64) -> bool {
        self.controllers.iter().any(|controller| controller.write_cache.is_some())
            && !self.writes_go_through()
    }

    fn apply_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.destage_skipped_write(offset_bytes, length_bytes);
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.arrangement.layout.drives())
    }

    fn faults(&self) -> Faults {
        let sets = if self.migration.is_pool { Vec::new() } else { vec![self.recovery.faults()] };
        Faults { sets, controllers: self.failover.faults(self.now_ns) }
    }

    fn begin_with(&mut self, faults: &Faults) -> bool {
        self.failover.begin_with(self.now_ns, faults.controllers.as_ref());
        !self.migration.is_pool && matches!(faults.sets.as_slice(), [set] if self.begin_set_with(set))
    }

    fn drive_entity(&self, drive: u32) -> String {
        format!("drive-{}", self.recovery.fitted()[drive as usize])
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        self.drives.slow_down(self.recovery.fitted()[drive as usize], slowness);
    }

    fn slowness(&self, drive: u32) -> Slowness {
        self.drives.slowness(self.recovery.fitted()[drive as usize])
    }

    fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns().min(self.failover.next_at_ns())
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        self.count_parts()
    }
}
