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
mod foresight;
mod host;
mod loss;
mod report;
mod settings;

use layout::{Condition as _, Healthy, IoList, Place, Raid, Rotation};
use load::{Completion, Device, Direction, Operation};
use serde_json::{Map, Value};

use crate::course::{ControllerCourse, DATA_LOST, Occurrence, Own, OwnAccount, Recovery};
use crate::drive::Slowness;
use crate::drive::flash::translation::Temperature;
use crate::engine::{EventQueue, Slab};
use crate::settings::{Setting, numbered};
use crate::timeline::{Clock, Timeline};
use crate::twin::ArrayModel;
use crate::{DescriptionError, TwinCounter, TwinError, TwinNote};
use command::{Command, Happening, Io, Marks};
use controller::{Controller, Timing};
use drives::Drives;
use foresight::Foresight;
use host::Host;
use settings::{Condition, Settings};

pub use description::{
    Cache, CodePaths, Controllers, Description, Drives as DrivesDescription, Host as HostDescription, Layout,
};
pub use settings::SHRINK_LIMIT;

/// What lets such an array lose a controller for a while.
const UPDATE_REMEDY: &str = "describe its course under `ssd_array.firmware_update`";

/// An array of solid-state drives brought to life in simulated time.
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
    under_way: u32,
    foresight: Foresight,
    /// All I/Os begin and end at multiples of so many bytes, a power of two, as far as is known.
    grain_bytes: u32,
    drives: Drives,
    ios: Vec<Io>,
    commands: Slab<Command>,
    plan: IoList,
    /// The LUNs' parts of the I/O that is issued.
    pieces: IoList,
    /// One bit for each stripe whose parity was never made; empty where all were.
    without_parity: Vec<u64>,
    notes: Vec<TwinNote>,
    recovery: Recovery,
    course: ControllerCourse,
    /// What the array does on its own account, by the number under which it is in the queue.
    own: Slab<Own>,
    /// What is carried next was told as ranges already.
    is_sequential: bool,
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
        let has_parity = settings.raid == 5 && settings.parity;
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
        let course = ControllerCourse::new(
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
            foresight: Foresight::new(&host, &timing, settings),
            grain_bytes: 1,
            host,
            controllers: vec![controller; description.controllers.count.get() as usize].into(),
            under_way: 0,
            drives: Drives::new(description, settings, &set, seed)?,
            ios: Vec::new(),
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
            course,
            own: Slab::default(),
            set,
            stripe,
            is_sequential: false,
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.faculties().occurrence(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        self.stop_foreseeing();
        match self.faculties().occurrence(action, arguments) {
            Ok(Occurrence::DriveFails(drive)) => self.plan_own(at_ns, Own::DriveFails(drive)),
            Ok(Occurrence::DriveIsReplaced(drive)) => self.plan_own(at_ns, Own::DriveIsReplaced(drive)),
            Ok(Occurrence::FirmwareUpdate) => self.course.begin_update(at_ns),
            Ok(Occurrence::ControllerFails(controller)) => self.course.begin_failover(at_ns, controller),
            Err(error) => self.note(error.to_string()),
        }
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.set.drives())
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
        self.queue.first_at_ns().min(self.course.next_at_ns())
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        report::counters(self)
    }

    fn begin_window(&mut self) {
        self.controllers.iter_mut().for_each(Controller::begin_window);
        self.drives.begin_window();
    }

    fn steady_for_ns(&self, window_ns: u64) -> u64 {
        if !self.controllers.iter().all(Controller::is_level) || self.recovery.is_rebuilding() {
            return 0;
        }
        self.drives.steady_for_ns(window_ns).min(self.course.steady_for_ns(self.now_ns))
    }

    fn carry(&mut self, duration_ns: u64, window_ns: u64) {
        if !self.is_sequential {
            self.drives.carry(duration_ns, window_ns);
        }
        self.is_sequential = false;
        self.course.carry(duration_ns);
    }

    fn carry_written(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.is_sequential = true;
        let unit_bytes = u64::from(self.stripe.segment_bytes());
        let end_bytes = offset_bytes + length_bytes;
        let mut at_bytes = offset_bytes;
        while at_bytes < end_bytes {
            let piece_bytes = (unit_bytes - at_bytes % unit_bytes).min(end_bytes - at_bytes);
            self.stripe.map(at_bytes, piece_bytes, &mut self.plan);
            for piece in self.plan.reads().to_vec() {
                let first = u64::from(piece.drive) * self.lun_bytes + piece.offset_bytes;
                self.carry_set_written(first, u64::from(piece.length_bytes));
            }
            at_bytes += piece_bytes;
        }
    }
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// A range of the RAID set is written in order, in time that is not simulated: its stripes have parity, and data and
    /// parity are written once.
    fn carry_set_written(&mut self, offset_bytes: u64, length_bytes: u64) {
        let (first, _) = self.set.stripe_of(offset_bytes);
        let (last, _) = self.set.stripe_of(offset_bytes + length_bytes - 1);
        for stripe in first..=last {
            if let Some(word) = self.without_parity.get_mut((stripe / 64) as usize) {
                *word &= !(1 << (stripe % 64));
            }
        }
        let _ = self.set.write(offset_bytes, length_bytes, &self.recovery.loss, &mut self.plan);
        self.drives.carry_in_order(self.plan.writes());
    }

    /// Begins an I/O's command to one LUN.
    #[inline]
    fn begin(&mut self, tag: u32, operation: &Operation, issued_at_ns: u64, place: Place, length_bytes: u32) {
        let owner = place.drive % self.controllers.len() as u16;
        let controller = self.course.reached(u32::from(owner), issued_at_ns) as u16;
        let command = self.commands.keep(Command {
            offset_bytes: u64::from(place.drive) * self.lun_bytes + place.offset_bytes,
            length_bytes,
            tag,
            lun: place.drive,
            controller,
            link: self.host.choose_link(controller),
            direction: operation.direction,
            marks: Marks::default(),
            parity_ns: 0,
        });
        if issued_at_ns == self.now_ns {
            self.issue(command);
        } else {
            self.queue.push(issued_at_ns, Happening::Issue(command).pack());
        }
    }

    /// The job's thread hands a command over.
    #[inline]
    fn issue(&mut self, index: u32) {
        if self.host.may_send(index, self.commands.get(index)) {
            self.send(index);
        }
    }

    #[inline]
    fn send(&mut self, index: u32) {
        let command = self.commands.get(index);
        let at_ns = match command.direction {
            Direction::Write => {
                self.host.send_to_array(self.now_ns, command.link, u64::from(command.length_bytes))
            }
            Direction::Read | Direction::Trim => self.now_ns + self.host.command_ns(),
        };
        match self.foresight.until_arrival(self.now_ns, at_ns) {
            None => self.take_in(at_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, Happening::Arrive(index).pack()),
        }
    }

    /// A command reaches its controller at `at_ns`.
    #[inline]
    fn take_in(&mut self, at_ns: u64, index: u32) {
        if self.course.is_any_away() && self.reroute(index) {
            return;
        }
        let command = self.commands.get(index);
        self.under_way += 1;
        let controller = &mut self.controllers[usize::from(command.controller)];
        let ready_ns = controller.take_in(at_ns, command.direction, self.under_way);
        match self.foresight.until_drives(self.now_ns, ready_ns) {
            None => self.start(ready_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, Happening::Start(index).pack()),
        }
    }

    /// A processor has seen to a command at `at_ns`: its drive I/Os begin.
    #[inline]
    fn start(&mut self, at_ns: u64, index: u32) {
        let command = *self.commands.get(index);
        match command.direction {
            Direction::Read if !self.recovery.loss.is_whole() => self.read_degraded(index),
            Direction::Read => {
                let done_ns = self.read(at_ns, &command);
                match self.foresight.until_links(self.now_ns, done_ns) {
                    None => self.read_done(done_ns, index),
                    Some(seen_ns) => self.queue.push(seen_ns, Happening::ReadDone(index).pack()),
                }
            }
            // With one controller away there is nobody to mirror to: writes go through.
            Direction::Write if self.settings.write_cache && !self.course.is_any_away() => {
                self.under_way -= 1;
                self.commands.get_mut(index).marks.set_cached();
                let controller = &mut self.controllers[usize::from(command.controller)];
                if controller.enter_cache(index, command.length_bytes) {
                    self.cache(index);
                }
            }
            Direction::Write => self.update(at_ns, index),
            Direction::Trim => {
                self.set.map(command.offset_bytes, u64::from(command.length_bytes), &mut self.plan);
                self.drives.trim(self.plan.reads());
                self.answer(at_ns, index);
            }
        }
    }

    /// A read goes to the drives at `at_ns`; returns when they have its data.
    #[inline]
    fn read(&mut self, at_ns: u64, command: &Command) -> u64 {
        let (offset_bytes, length_bytes) = (command.offset_bytes, command.length_bytes);
        if let Some(place) = self.set.place_of(offset_bytes, u64::from(length_bytes)) {
            return self.drives.read_place(at_ns, place, length_bytes);
        }
        // A set without a failed drive loses nothing, so planning cannot fail.
        let _ = self.set.read(offset_bytes, u64::from(length_bytes), &Healthy, 0, &mut self.plan);
        self.drives.read(at_ns, self.plan.reads())
    }

    #[inline]
    fn answer(&mut self, at_ns: u64, index: u32) {
        self.queue.push(at_ns, Happening::Answer(index).pack());
    }

    /// The host has an answer: what waited for it is sent. Returns the tag that has all of its answers.
    #[inline]
    fn answered(&mut self, index: u32) -> Option<u32> {
        let command = self.commands.take(index);
        // A cached write is in nobody's way once it is in the cache.
        if !command.marks.is_cached() {
            self.under_way -= 1;
        }
        if let Some(next) = self.host.answered(&command) {
            self.send(next);
        }
        let io = &mut self.ios[command.tag as usize];
        io.commands_left -= 1;
        (io.commands_left == 0).then_some(command.tag)
    }

    /// A write has its room in the cache: it is mirrored, answered, and goes to the drives.
    fn cache(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let controller = &mut self.controllers[usize::from(command.controller)];
        let mirrored_ns = controller.mirror(self.now_ns, command.length_bytes);
        // The command is over when it is answered; what goes on to the drives is another.
        let destage = self.commands.keep(command);
        let may_destage = controller.may_destage(destage);
        self.answer(mirrored_ns + self.timing.cached_answer_ns, index);
        if may_destage {
            self.under_way += 1;
            self.update(self.now_ns, destage);
        }
    }

    /// A write goes to the drives: where there is parity, what the new parity needs is read first.
    #[inline]
    fn update(&mut self, at_ns: u64, index: u32) {
        if !self.has_parity {
            self.write(at_ns, index);
            return;
        }
        let controller = usize::from(self.commands.get(index).controller);
        if !self.timing.limits_parity_updates || self.controllers[controller].may_update(index) {
            self.begin_update(at_ns, index);
        }
    }

    #[inline]
    fn begin_update(&mut self, at_ns: u64, index: u32) {
        if !self.without_parity.is_empty() {
            self.claim_parity(index);
        }
        if let Some((places, length_bytes)) = self.modified_places(index) {
            let bytes = u64::from(length_bytes);
            // Data and parity are read and written.
            self.commands.get_mut(index).parity_ns = self.timing.parity_ns(4 * bytes, bytes);
            let [data_ns, parity_ns] = places.map(|place| self.drives.read_place(at_ns, place, length_bytes));
            let done_ns = data_ns.max(parity_ns);
            self.queue.push(self.foresight.drives_seen_ns(done_ns), Happening::OldRead(index).pack());
            return;
        }
        if !self.plan_write(index) {
            return self.lose(index);
        }
        let (mut moved_bytes, mut parity_bytes) = (0, 0);
        for io in self.plan.reads() {
            moved_bytes += u64::from(io.length_bytes);
        }
        for io in self.plan.writes() {
            let bytes = u64::from(io.length_bytes);
            moved_bytes += bytes;
            parity_bytes += if io.role == layout::Role::P { bytes } else { 0 };
        }
        self.commands.get_mut(index).parity_ns = self.timing.parity_ns(moved_bytes, parity_bytes);
        let done_ns = self.drives.read(at_ns, self.plan.reads());
        self.queue.push(self.foresight.drives_seen_ns(done_ns), Happening::OldRead(index).pack());
    }

    /// The data and the parity that a small write to a whole stripe changes, and how many bytes of each.
    #[inline]
    fn modified_places(&self, index: u32) -> Option<([Place; 2], u32)> {
        let command = self.commands.get(index);
        if !self.recovery.loss.is_whole() || command.marks.is_first() {
            return None;
        }
        let places = self.set.modified_places(command.offset_bytes, u64::from(command.length_bytes))?;
        Some((places, command.length_bytes))
    }

    /// A change of parity is in the drives: another may begin.
    #[inline]
    fn end_update(&mut self, index: u32) {
        if !self.has_parity || !self.timing.limits_parity_updates {
            return;
        }
        let controller = usize::from(self.commands.get(index).controller);
        if let Some(next) = self.controllers[controller].updated() {
            self.begin_update(self.now_ns, next);
        }
    }

    /// Notes whether a write is the first to one of its stripes, and that they have parity from now on.
    fn claim_parity(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        let (first, _) = self.set.stripe_of(command.offset_bytes);
        let (last, _) = self.set.stripe_of(command.offset_bytes + u64::from(command.length_bytes) - 1);
        for stripe in first..=last {
            let (word, bit) = ((stripe / 64) as usize, 1 << (stripe % 64));
            if self.without_parity[word] & bit != 0 {
                command.marks.set_first();
            }
            self.without_parity[word] &= !bit;
        }
    }

    /// Plans a write; false where too much is lost for it.
    #[inline]
    fn plan_write(&mut self, index: u32) -> bool {
        let command = self.commands.get(index);
        let (offset_bytes, length_bytes) = (command.offset_bytes, u64::from(command.length_bytes));
        let planned = if !self.recovery.loss.is_whole() {
            self.set.write(offset_bytes, length_bytes, &self.recovery.loss, &mut self.plan)
        } else if command.marks.is_first() {
            let way = layout::ParityInitialisation::ReadAndCompute;
            self.set.first_write(offset_bytes, length_bytes, way, &mut self.plan)
        } else {
            self.set.write(offset_bytes, length_bytes, &Healthy, &mut self.plan)
        };
        planned.is_ok()
    }

    /// Old data and old parity are there: the parity engine makes the new parity.
    #[inline]
    fn make_parity(&mut self, at_ns: u64, index: u32) {
        let command = self.commands.get(index);
        let (controller, parity_ns) = (u32::from(command.controller), command.parity_ns);
        let done_ns = self.compute_parity(at_ns, controller, parity_ns);
        match self.foresight.until_drives(self.now_ns, done_ns) {
            None => self.is_computed(done_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, Happening::ParityDone(index).pack()),
        }
    }

    /// The parity engine of a controller, or of the one that stands in for it, has so much to do from `at_ns` on; returns when it
    /// is done.
    #[inline]
    fn compute_parity(&mut self, at_ns: u64, controller: u32, parity_ns: u64) -> u64 {
        let controller = &mut self.controllers[self.course.stand_in(controller) as usize];
        controller.make_parity(at_ns, parity_ns, self.under_way)
    }

    /// Parity, or what a read had lost, is computed.
    #[inline]
    fn is_computed(&mut self, at_ns: u64, index: u32) {
        if self.commands.get(index).direction == Direction::Write {
            self.write(at_ns, index);
        } else {
            self.read_done(at_ns, index);
        }
    }

    /// New data and new parity go to the drives.
    #[inline]
    fn write(&mut self, at_ns: u64, index: u32) {
        let done_ns = if self.has_parity
            && let Some(([data, parity], length_bytes)) = self.modified_places(index)
        {
            let data_ns = self.drives.write_place(at_ns, data, length_bytes, Temperature::Cold);
            data_ns.max(self.drives.write_place(at_ns, parity, length_bytes, Temperature::Hot))
        } else {
            if !self.plan_write(index) {
                return self.lose(index);
            }
            self.write_planned(at_ns)
        };
        if self.commands.get(index).marks.is_cached() {
            self.queue.push(done_ns, Happening::Destaged(index).pack());
        } else if self.has_parity && self.timing.limits_parity_updates {
            self.queue.push(done_ns, Happening::Updated(index).pack());
        } else {
            self.answer(done_ns + self.timing.write_answer_ns, index);
        }
    }

    /// What is planned is written; returns when it is in the drives.
    fn write_planned(&mut self, at_ns: u64) -> u64 {
        let writes = self.plan.writes();
        if self.has_parity {
            return self.drives.write(at_ns, writes);
        }
        // RAID 5 with parity switched off still plans parity writes; they are left out.
        self.drives.write(at_ns, writes.iter().filter(|io| io.role == layout::Role::Data))
    }

    /// The drives have a read's data at `at_ns`: they go to the host.
    #[inline]
    fn read_done(&mut self, at_ns: u64, index: u32) {
        let command = self.commands.get(index);
        let there_ns = self.host.send_to_host(at_ns, command.link, u64::from(command.length_bytes));
        self.answer(there_ns + self.timing.read_answer_ns, index);
    }

    fn updated(&mut self, index: u32) {
        self.end_update(index);
        self.answer(self.now_ns + self.timing.write_answer_ns, index);
    }

    fn destaged(&mut self, index: u32) {
        self.end_update(index);
        let command = self.commands.take(index);
        let controller = usize::from(command.controller);
        match self.controllers[controller].destaged(command.length_bytes) {
            Some(next) => self.update(self.now_ns, next),
            None => self.under_way -= 1,
        }
        while let Some(admitted) = self.controllers[controller].admit_next() {
            self.cache(admitted);
        }
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
            self.foresee_reads(grain_bytes);
        }
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        self.drives.prepare();
        self.check_expected(&operation);
        let issued_at_ns = self.host.issued_at_ns(at_ns, operation.job, operation.length_bytes);
        if tag as usize >= self.ios.len() {
            self.ios.resize(tag as usize + 1, Io::default());
        }
        self.now_ns = at_ns;
        let mut io = Io { issued_at_ns, commands_left: 1, is_lost: false };
        if let Some(place) = self.stripe.place_of(operation.offset_bytes, u64::from(operation.length_bytes)) {
            self.ios[tag as usize] = io;
            self.begin(tag, &operation, issued_at_ns, place, operation.length_bytes);
            return;
        }
        self.stripe.map(operation.offset_bytes, u64::from(operation.length_bytes), &mut self.pieces);
        let pieces = self.pieces.reads().len();
        io.commands_left = pieces as u32;
        self.ios[tag as usize] = io;
        for piece in 0..pieces {
            let piece = self.pieces.reads()[piece];
            let place = Place { drive: piece.drive, offset_bytes: piece.offset_bytes };
            self.begin(tag, &operation, issued_at_ns, place, piece.length_bytes);
        }
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        self.complete_next(until_ns)
    }
}

impl Timeline for Model {
    #[inline]
    fn clock(&mut self) -> Clock<'_> {
        Clock { now_ns: &mut self.now_ns, queue: &mut self.queue, step_at_ns: self.course.next_at_ns() }
    }

    #[inline]
    fn happens(&mut self, payload: u32) -> Option<Completion> {
        let at_ns = self.now_ns;
        match Happening::unpack(payload) {
            Happening::Issue(command) => self.issue(command),
            Happening::Arrive(command) => self.take_in(self.foresight.arrival_ns(at_ns), command),
            Happening::Start(command) => self.start(self.foresight.drives_ns(at_ns), command),
            Happening::ReadDone(command) => self.read_done(self.foresight.links_ns(at_ns), command),
            Happening::OldRead(command) => self.make_parity(self.foresight.drives_ns(at_ns), command),
            Happening::Updated(command) => self.updated(command),
            Happening::ParityDone(command) => self.is_computed(self.foresight.drives_ns(at_ns), command),
            Happening::Destaged(command) => self.destaged(command),
            Happening::Answer(command) => {
                if let Some(tag) = self.answered(command) {
                    let Io { issued_at_ns, is_lost, .. } = self.ios[tag as usize];
                    let outcome = if is_lost { Err(DATA_LOST) } else { Ok(()) };
                    return Some(Completion { tag, issued_at_ns, at_ns, outcome });
                }
            }
            Happening::Own(own) => self.own_happens(own),
        }
        None
    }

    fn take_step(&mut self) {
        self.course_step();
    }
}
