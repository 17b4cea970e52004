//! An array of solid-state drives: how commands travel through it.
//!
//! A read: job's thread → controller's processor → drives → link to the host. A write: job's thread → link to the array →
//! processor → (cache, where it is answered) → old data and old parity read → parity engine → new data and new parity
//! written. `docs/models/dorado-2100-g2.md` has the equations.

mod check;
mod command;
mod controller;
mod description;
mod drives;
mod failover;
mod host;
mod lookahead;
mod loss;
mod parity;
mod path;
mod report;
mod settings;
mod skipped_writes;
mod write_cache;

use layout::{IoList, Place, Raid, Rotation};
use load::{Completion, Device, Operation};
use serde_json::{Map, Value};

use crate::array_model::ArrayModel;
use crate::availability::{BackgroundRebuild, BackgroundTask, Failover, FaultEvent, Recovery, Refill};
use crate::drive::Slowness;
use crate::engine::{EventQueue, Slab};
use crate::event_loop::{Clock, EventLoop};
use crate::part::Crowding;
use crate::payload::number_in;
use crate::settings::{Setting, numbered};
use crate::{DescriptionError, Faults, TwinCounter, TwinError, TwinNote};
use command::{Command, ModelEvent, Parts};
use controller::{Controller, Timing};
use drives::Drives;
use host::Host;
use lookahead::Lookahead;
use settings::{Condition, Settings};

pub use crate::settings::SHRINK_LIMIT;
pub use description::{
    Cache, CodePaths, Controllers, Description, Drives as DrivesDescription, Host as HostDescription, Layout,
};

/// Remedy that lets such an array lose a controller for a while.
const UPDATE_REMEDY: &str = "describe the update under `ssd_array.firmware_update`";

/// Simulated array of solid-state drives.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    settings: Settings,
    timing: Timing,
    /// The RAID set over the drives.
    set: layout::Layout,
    /// The host's stripe over the LUNs; a LUN is a drive of it.
    stripe: layout::Layout,
    lun_bytes: u64,
    has_parity: bool,
    host: Host,
    controllers: Box<[Controller]>,
    /// Commands that the controllers work on: all that they have but those that wait in or for the cache.
    crowding: Crowding,
    lookahead: Lookahead,
    /// All I/Os begin and end at multiples of so many bytes, a power of two, as far as is known.
    grain_bytes: u32,
    drives: Drives,
    /// By tag, of I/Os that have several commands.
    parts: Vec<Parts>,
    commands: Slab<Command>,
    /// By command, what computing takes of the parity engine where its size does not say so.
    parity_ns: Vec<u64>,
    plan: IoList,
    /// The LUNs' parts of the I/O that is issued.
    pieces: IoList,
    /// One bit for each stripe whose parity was never made; empty where all were.
    without_parity: Vec<u64>,
    notes: Vec<TwinNote>,
    recovery: Recovery,
    failover: Failover,
    /// Pending background tasks, by their number in the queue.
    own: Slab<BackgroundTask>,
    /// True where the writes of the time that is skipped next were applied by range already.
    has_skipped_ranges: bool,
}

fn refused(path: &str, error: &layout::LayoutError) -> TwinError {
    TwinError::Description(DescriptionError {
        path: format!("ssd_array.{path}"),
        problem: error.to_string(),
        hint: "change the drives or the layout".into(),
    })
}

impl ArrayModel for Model {
    type Description = Description;

    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    fn build(description: &Description, settings: &Map<String, Value>, seed: u64) -> Result<Self, TwinError> {
        let settings = Settings::parse(settings, description.layout.raid.get())?;
        let description = &description.shrunk(settings.shrink);
        let raid = Raid {
            drives: description.drives.count.get(),
            drive_capacity_bytes: description.drives.capacity_bytes.get(),
            segment_bytes: description.layout.segment_bytes.get(),
        };
        let has_parity = settings.raid == 5 && settings.on.parity;
        let set = if settings.raid == 5 {
            layout::Layout::raid5(raid, Rotation::LeftSymmetric)
        } else {
            layout::Layout::raid0(raid)
        }
        .map_err(|error| refused("layout", &error))?;
        let luns = description.layout.luns.get();
        let covered_bytes = set.capacity_bytes() / 100 * u64::from(settings.coverage_percent);
        let stripe_unit_bytes = description.host.stripe_unit_bytes.get();
        let lun_bytes = covered_bytes / u64::from(luns) / stripe_unit_bytes * stripe_unit_bytes;
        let stripe = layout::Layout::raid0(Raid {
            drives: luns,
            drive_capacity_bytes: lun_bytes,
            segment_bytes: stripe_unit_bytes,
        })
        .map_err(|error| refused("host.stripe_unit_bytes", &error))?;
        let without_parity = if has_parity && settings.condition == Condition::Fresh {
            vec![u64::MAX; set.stripes().div_ceil(64) as usize]
        } else {
            Vec::new()
        };
        let timing = Timing::new(description, settings, settings.raid == 5);
        let controller = Controller::new(timing, description.controllers.processors.get());
        let host = Host::new(description, settings);
        let per_1000_commands = description.controllers.crowding_per_1000_commands.get();
        let crowding = Crowding::new(if settings.on.crowding { per_1000_commands } else { 0.0 });
        let failover = Failover::new(
            description.firmware_update.as_ref(),
            description.controllers.count.get(),
            u64::from(set.segment_bytes()),
            set.stripes(),
        );
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            settings,
            timing,
            lun_bytes,
            has_parity,
            lookahead: Lookahead::new(&host, &timing, crowding, settings),
            grain_bytes: 1,
            host,
            controllers: vec![controller; description.controllers.count.get() as usize].into(),
            crowding,
            drives: Drives::new(description, settings, &set, seed)?,
            parts: Vec::new(),
            parity_ns: Vec::new(),
            commands: Slab::default(),
            plan: IoList::with_capacity(64),
            pieces: IoList::with_capacity(64),
            without_parity,
            notes: Vec::new(),
            recovery: Recovery::new(
                "drive",
                description.rebuild.as_ref(),
                &set,
                description.drives.fitted(),
                stripe.capacity_bytes(),
            ),
            failover,
            own: Slab::default(),
            set,
            stripe,
            has_skipped_ranges: false,
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.capabilities().fault_event(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        self.stop_lookahead();
        match self.capabilities().fault_event(action, arguments) {
            Ok(FaultEvent::DriveFails(drive)) => self.schedule_task(at_ns, BackgroundTask::DriveFails(drive)),
            Ok(FaultEvent::DriveIsReplaced(drive)) => {
                self.schedule_task(at_ns, BackgroundTask::DriveIsReplaced(drive));
            }
            Ok(FaultEvent::FirmwareUpdate) => self.failover.begin_update(at_ns),
            Ok(FaultEvent::ControllerFails(controller)) => self.failover.begin_failover(at_ns, controller),
            Err(error) => self.note(error.to_string()),
        }
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.set.drives())
    }

    fn faults(&self) -> Faults {
        Faults { sets: vec![self.recovery.faults()], controllers: self.failover.faults(self.now_ns) }
    }

    fn begin_with(&mut self, faults: &Faults) -> bool {
        self.failover.begin_with(self.now_ns, faults.controllers.as_ref());
        matches!(faults.sets.as_slice(), [set] if self.begin_set_with(set))
    }

    fn drive_entity(&self, drive: u32) -> String {
        format!("drive-{}", self.recovery.fitted()[drive as usize])
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        self.drives.slow_down(drive, slowness);
    }

    fn slowness(&self, drive: u32) -> Slowness {
        self.drives.slowness(drive)
    }

    fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns().min(self.failover.next_at_ns())
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        report::counters(self)
    }

    /// Erased flash is used up by any writes alike; what collection then moves depends on the order of all of them.
    fn knows_skipped_streams(&self) -> bool {
        !self.drives.are_collecting()
    }

    fn begin_window(&mut self) {
        self.drives.begin_window();
    }

    fn begin_level(&mut self) {
        let now_ns = self.now_ns;
        self.controllers.iter_mut().for_each(|controller| controller.begin_level(now_ns));
    }

    fn steady_for_ns(&self, window_ns: u64, left_ns: u64) -> u64 {
        let stays_level = |controller: &Controller| controller.stays_level(self.now_ns, left_ns);
        if !self.controllers.iter().all(stays_level) || self.recovery.is_rebuilding() {
            return 0;
        }
        self.drives.steady_for_ns(window_ns).min(self.failover.steady_for_ns(self.now_ns))
    }

    fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        if !self.has_skipped_ranges {
            self.drives.skip_time(duration_ns, window_ns);
        }
        self.has_skipped_ranges = false;
        self.failover.skip_time(duration_ns);
    }

    /// Returns where erased flash is used up before the load ends: how much of it each drive has taken, by chance more
    /// than others, says when the cliff comes.
    fn keeps_random_writes(&self, window_ns: u64, left_ns: u64) -> bool {
        // A window shows how fast erased flash is used within some tenths.
        self.drives.steady_for_ns(window_ns) < left_ns.saturating_mul(2)
    }

    fn apply_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.has_skipped_ranges = true;
        self.apply_skipped_sequential(offset_bytes, length_bytes);
    }
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }
}

impl Device for Model {
    fn capacity_bytes(&self) -> u64 {
        self.stripe.capacity_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn expect(&mut self, grain_bytes: u32) {
        if self.commands.is_empty() {
            self.look_ahead_to_reads(grain_bytes);
        }
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        self.drives.prepare();
        self.check_expected(&operation);
        let issued_at_ns = self.host.issued_at_ns(at_ns, operation.job, operation.length_bytes);
        self.now_ns = at_ns;
        let direction = operation.direction;
        if let Some(place) = self.stripe.place_of(operation.offset_bytes, u64::from(operation.length_bytes)) {
            self.begin(tag, direction, issued_at_ns, (place, operation.length_bytes), false);
            return;
        }
        self.stripe.map(operation.offset_bytes, u64::from(operation.length_bytes), &mut self.pieces);
        let pieces = self.pieces.reads().len();
        if tag as usize >= self.parts.len() {
            self.parts.resize(tag as usize + 1, Parts::default());
        }
        self.parts[tag as usize] = Parts { left: pieces as u32, is_lost: false };
        for piece in 0..pieces {
            let piece = self.pieces.reads()[piece];
            let place = Place { drive: piece.drive, offset_bytes: piece.offset_bytes };
            self.begin(tag, direction, issued_at_ns, (place, piece.length_bytes), true);
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
        let at_ns = self.now_ns;
        match ModelEvent::unpack(payload) {
            ModelEvent::Issue(command) => self.issue(command),
            ModelEvent::Arrive(command) => self.take_in(self.lookahead.arrival_ns(at_ns), command),
            ModelEvent::Start(command) => self.start(self.lookahead.drives_ns(at_ns), command),
            ModelEvent::ReadDone(command) => self.read_done(self.lookahead.links_ns(at_ns), command),
            ModelEvent::OldRead(command) => self.make_parity(self.lookahead.drives_ns(at_ns), command),
            ModelEvent::Updated(command) => self.updated(command),
            ModelEvent::ParityDone(command) => self.is_computed(self.lookahead.drives_ns(at_ns), command),
            ModelEvent::Destaged(command) => self.destaged(command),
            ModelEvent::Answer(command) => return self.answered(command),
            ModelEvent::BackgroundTask(own) => self.run_task(own),
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
        self.failover_step();
    }
}
