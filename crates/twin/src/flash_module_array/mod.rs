//! An array of hosts, links, controllers and flash modules: how commands travel through it.
//!
//! A read: host → (window) → module → link to the host. A write: host → link to the array → (window, where it is
//! answered) → old data and old parity read → new data and new parity written. `docs/models/` has the equations.

mod check;
mod command;
mod controller;
mod description;
mod fabric;
mod firmware;
mod modules;
mod report;
mod settings;
mod streams;
mod stripes;

use load::{Completion, Device, Direction, Operation};
use serde_json::{Map, Value};

use crate::drive::Slowness;
use crate::engine::{EventQueue, nanos_of_us};
use crate::settings::{Setting, bad, numbered};
use crate::twin::{ArrayModel, unknown_action};
use crate::{Event, TwinCounter, TwinError, TwinNote};
use command::{Commands, Happening, Io};
use controller::{Controller, Presence};
use fabric::Fabric;
use firmware::{Step, Update};
use modules::Modules;
use settings::Settings;
use streams::Streams;
use stripes::Stripes;

pub use description::{Controllers, Description, FirmwareUpdate, FlashModules, Hosts, Layout, Links};

/// What lets such an array be updated.
const UPDATE_REMEDY: &str = "describe its course under `flash_modules.firmware_update`";

/// The event that takes one controller away for a while.
const FAILOVER: &str = "controller-failover";
const CONTROLLER: &str = "controller";

/// An array of flash modules brought to life in simulated time.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    settings: Settings,
    capacity_bytes: u64,
    segment_bytes: u64,
    members: u32,
    write_answer_ns: u64,
    stripes: Stripes,
    fabric: Fabric,
    controllers: Box<[Controller]>,
    streams: Streams,
    modules: Modules,
    /// What each tag is busy with.
    ios: Vec<Io>,
    /// What is under way in the modules; outlives its tag where a write was answered early.
    commands: Commands,
    update: Option<Update>,
    /// When the update goes on, and how. Apart from the queue: carried time brings it nearer, and nothing else.
    next_step: Option<(u64, Step)>,
    notes: Vec<TwinNote>,
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// A command reaches the controller at the end of its link.
    #[inline]
    fn arrive(&mut self, tag: u32) {
        let now_ns = self.now_ns;
        let io = self.ios[tag as usize];
        let index = self.fabric.controller_of(io.link);
        let controller = &mut self.controllers[index as usize];
        if let Presence::Away { noticed_at_ns } = controller.presence {
            self.reroute(tag, noticed_at_ns);
            return;
        }
        let is_write = io.direction == Direction::Write;
        let ready_ns = controller.take_in(now_ns, if is_write { u64::from(io.length_bytes) } else { 0 });
        self.queue.push(ready_ns, Happening::Enter(tag).pack());
    }

    /// Sends a command another way once its host has noticed that this one is closed.
    fn reroute(&mut self, tag: u32, noticed_at_ns: u64) {
        let again_ns = noticed_at_ns.max(self.now_ns);
        let controllers = &self.controllers;
        let link = self.fabric.choose(self.ios[tag as usize].job, |controller| {
            controllers[controller as usize].is_known_up(again_ns)
        });
        self.ios[tag as usize].link = link;
        self.queue.push(again_ns, Happening::Arrive(tag).pack());
    }

    /// A command asks its controller for a place in the window.
    #[inline]
    fn enter(&mut self, tag: u32) {
        let io = self.ios[tag as usize];
        let index = self.fabric.controller_of(io.link);
        let controller = &mut self.controllers[index as usize];
        if let Presence::Away { noticed_at_ns } = controller.presence {
            self.reroute(tag, noticed_at_ns);
        } else if controller.enter(tag, io.length_bytes) {
            self.start(tag, index);
        }
    }

    /// A command has its place in the window: its drive I/Os begin.
    #[inline]
    fn start(&mut self, tag: u32, controller: u32) {
        let now_ns = self.now_ns;
        let io = self.ios[tag as usize];
        let first = self.stripes.stripe_of(io.offset_bytes);
        let last = self.stripes.stripe_of(io.offset_bytes + u64::from(io.length_bytes) - 1);
        let is_sequential = self.streams.follows(first, last);
        let command = self.commands.begin(&io, tag, controller, is_sequential);
        if io.direction == Direction::Read {
            let mut done_ns = now_ns;
            let modules = &mut self.modules;
            self.stripes.for_each_piece(io.offset_bytes, u64::from(io.length_bytes), |piece| {
                done_ns = done_ns.max(modules.read(now_ns, piece.drive, piece.length_bytes, is_sequential));
            });
            self.queue.push(done_ns, Happening::ReadDone(command).pack());
            return;
        }
        if self.settings.write_cache {
            self.queue.push(now_ns + self.write_answer_ns, Happening::Complete(tag).pack());
        }
        if is_sequential || !self.settings.parity {
            self.write(command);
        } else {
            self.read_before_write(command);
        }
    }

    /// Old data and old parity, for the new parity: first phase of a read-modify-write.
    #[inline]
    fn read_before_write(&mut self, command: u32) {
        let now_ns = self.now_ns;
        let extent = self.commands.get(command);
        let mut done_ns = now_ns;
        let modules = &mut self.modules;
        self.stripes.for_each_piece(extent.offset_bytes, u64::from(extent.length_bytes), |piece| {
            for drive in [piece.drive, piece.parity_drive] {
                done_ns = done_ns.max(modules.read(now_ns, drive, piece.length_bytes, false));
            }
        });
        self.queue.push(done_ns, Happening::Write(command).pack());
    }

    /// New data and new parity. Where whole stripes are gathered, parity is written once, at the stripe's end.
    #[inline]
    fn write(&mut self, command: u32) {
        let now_ns = self.now_ns;
        let extent = self.commands.get(command);
        let parity = self.settings.parity;
        let segment_bytes = self.segment_bytes;
        let mut done_ns = now_ns;
        let modules = &mut self.modules;
        self.stripes.for_each_piece(extent.offset_bytes, u64::from(extent.length_bytes), |piece| {
            done_ns = done_ns.max(modules.write(now_ns, piece.drive, piece.length_bytes));
            let parity_bytes = match (parity, extent.is_sequential) {
                (false, _) => 0,
                (true, false) => piece.length_bytes,
                (true, true) if piece.ends_stripe => segment_bytes,
                (true, true) => 0,
            };
            if parity_bytes > 0 {
                done_ns = done_ns.max(modules.write(now_ns, piece.parity_drive, parity_bytes));
            }
        });
        self.queue.push(done_ns, Happening::WriteDone(command).pack());
    }

    /// Gives back a command's place and lets in what waited for it.
    #[inline]
    fn finish(&mut self, command: u32) {
        let done = self.commands.end(command);
        let controller = done.controller;
        self.controllers[controller as usize].leave(done.length_bytes);
        while let Some(tag) = self.controllers[controller as usize].admit_next() {
            self.start(tag, controller);
        }
    }

    #[inline]
    fn read_done(&mut self, command: u32) {
        let done = *self.commands.get(command);
        let link = self.ios[done.tag as usize].link;
        let at_ns = self.fabric.send_to_host(self.now_ns, link, u64::from(done.length_bytes));
        self.queue.push(at_ns, Happening::Complete(done.tag).pack());
        self.finish(command);
    }

    #[inline]
    fn write_done(&mut self, command: u32) {
        if !self.settings.write_cache {
            let tag = self.commands.get(command).tag;
            self.queue.push(self.now_ns, Happening::Complete(tag).pack());
        }
        self.finish(command);
    }

    /// Whether the hosts know of every controller that is away.
    fn has_noticed(&self) -> bool {
        self.controllers.iter().all(|controller| match controller.presence {
            Presence::Up => true,
            Presence::Away { noticed_at_ns } => noticed_at_ns < self.now_ns,
        })
    }

    fn update_step(&mut self, step: Step) {
        let Some(update) = &mut self.update else { return };
        match step {
            Step::Leave(index) => {
                let why = if update.is_failover { "fails" } else { "leaves for its new firmware" };
                let noticed_at_ns = self.now_ns + update.failover_ns;
                self.next_step = Some((self.now_ns + update.away_ns, Step::Return(index)));
                let controller = &mut self.controllers[index as usize];
                controller.presence = Presence::Away { noticed_at_ns };
                for (tag, _) in controller.abandon_waiting() {
                    self.reroute(tag, noticed_at_ns);
                }
                self.note(format!("controller-{index} {why}"));
            }
            Step::Return(index) => {
                self.controllers[index as usize].presence = Presence::Up;
                let next = index + 1;
                if update.is_failover {
                    self.next_step = None;
                } else if (next as usize) < self.controllers.len() {
                    self.next_step = Some((self.now_ns + update.gap_ns, Step::Leave(next)));
                } else {
                    update.stripes_left = update.stripes;
                    self.next_step = Some((self.now_ns + update.gap_ns, Step::Verify));
                }
                self.note(format!("controller-{index} is back"));
            }
            Step::Verify => {
                let (all, left) = (update.stripes, update.stripes_left);
                if left > 0 {
                    update.stripes_left -= 1;
                    self.next_step = Some((self.now_ns + update.stripe_ns, Step::Verify));
                    for drive in 0..self.members {
                        self.modules.read(self.now_ns, drive, self.segment_bytes, true);
                    }
                }
                if left == all {
                    self.note("verification of the RAID stripes begins".into());
                } else if left == 0 {
                    self.note("verification of the RAID stripes is done".into());
                }
            }
        }
    }
}

impl ArrayModel for Model {
    type Description = Description;

    const SETTINGS: &'static [Setting] = &settings::SETTINGS;

    /// All parts are deterministic, so the twin is the same with every seed.
    fn build(
        description: &Description,
        settings: &Map<String, Value>,
        _seed: u64,
    ) -> Result<Self, TwinError> {
        let settings = Settings::parse(settings)?;
        let members = description.layout.members.get();
        let segment_bytes = description.layout.segment_bytes.get();
        let stripes = Stripes::new(members, segment_bytes);
        let controller = Controller::new(&description.controllers, settings);
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            settings,
            capacity_bytes: stripes.capacity_bytes(description.drives.capacity_bytes.get()),
            segment_bytes,
            members,
            write_answer_ns: nanos_of_us(description.controllers.write_answer_us.get()),
            stripes,
            fabric: Fabric::new(description, settings),
            controllers: vec![controller; description.controllers.count.get() as usize].into(),
            streams: Streams::new(description.controllers.sequential_streams.get()),
            modules: Modules::new(&description.drives, settings),
            ios: Vec::new(),
            commands: Commands::default(),
            update: description.firmware_update.as_ref().map(|update| Update::new(update, segment_bytes)),
            next_step: None,
            notes: Vec::new(),
        })
    }

    fn can_do(&self, event: Event) -> Result<(), TwinError> {
        let remedy = match event {
            Event::FirmwareUpdate if self.update.is_some() => return Ok(()),
            Event::FirmwareUpdate => UPDATE_REMEDY,
            Event::DriveFailure => {
                "arrays of hard disks (`disk_array`) and replicated systems (`replicated`) can lose a drive"
            }
        };
        Err(TwinError::NoSuchEvent { event: event.name(), remedy })
    }

    fn schedule(&mut self, at_ns: u64, _event: Event) {
        if let Some(update) = &mut self.update {
            update.is_failover = false;
        }
        self.next_step = Some((at_ns, Step::Leave(0)));
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        if action != FAILOVER {
            return Err(unknown_action(action, arguments, &[FAILOVER]));
        }
        if self.update.is_none() {
            return Err(TwinError::NoSuchEvent { event: FAILOVER, remedy: UPDATE_REMEDY });
        }
        if self.next_step.is_some() {
            return Err(TwinError::Busy { event: FAILOVER });
        }
        let count = self.controllers.len() as u64;
        match arguments
            .iter()
            .find(|(name, value)| *name != CONTROLLER || value.as_u64().is_none_or(|n| n >= count))
        {
            Some((name, value)) => Err(bad(name, value, "the number of a controller")),
            None => Ok(()),
        }
    }

    fn act(&mut self, at_ns: u64, _action: &str, arguments: &Map<String, Value>) {
        let controller = arguments.get(CONTROLLER).and_then(Value::as_u64).unwrap_or(0);
        if let Some(update) = &mut self.update {
            update.is_failover = true;
        }
        self.next_step = Some((at_ns, Step::Leave(controller as u32)));
    }

    fn steady_for_ns(&self, _window_ns: u64) -> u64 {
        match (self.next_step, &self.update) {
            (None, _) | (_, None) => u64::MAX,
            // Within the verification one step is like another.
            (Some((_, Step::Verify)), Some(update)) if (1..update.stripes).contains(&update.stripes_left) => {
                (update.stripes_left - 1) * update.stripe_ns
            }
            (Some((at_ns, _)), _) if self.has_noticed() => at_ns.saturating_sub(self.now_ns + 1),
            _ => 0,
        }
    }

    fn carry(&mut self, duration_ns: u64, _window_ns: u64) {
        let (Some((at_ns, step)), Some(update)) = (&mut self.next_step, &mut self.update) else { return };
        if *step == Step::Verify && (1..update.stripes).contains(&update.stripes_left) {
            update.stripes_left -= duration_ns / update.stripe_ns;
        } else {
            *at_ns -= duration_ns;
        }
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.members)
    }

    fn drive_entity(&self, drive: u32) -> String {
        format!("module-{drive}")
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        self.modules.slow_down(drive, slowness);
    }

    fn wakes_at_ns(&self) -> u64 {
        self.queue.first_at_ns().min(self.next_step.map_or(u64::MAX, |(at_ns, _)| at_ns))
    }

    fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    fn counters(&self) -> Vec<TwinCounter> {
        report::counters(self)
    }
}

impl Device for Model {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        let issued_at_ns = self.fabric.issued_at_ns(at_ns);
        let controllers = &self.controllers;
        let link =
            self.fabric.choose(operation.job, |index| controllers[index as usize].is_known_up(issued_at_ns));
        if tag as usize >= self.ios.len() {
            self.ios.resize(tag as usize + 1, Io::default());
        }
        self.ios[tag as usize] = Io {
            issued_at_ns,
            offset_bytes: operation.offset_bytes,
            length_bytes: operation.length_bytes,
            job: operation.job,
            link,
            direction: operation.direction,
        };
        match operation.direction {
            Direction::Read => {
                self.queue.push(issued_at_ns, Happening::Arrive(tag).pack());
            }
            Direction::Write => {
                // Every submission takes the same time, so links see writes in the order of their submission.
                let at_ns = self.fabric.send_to_array(issued_at_ns, link, u64::from(operation.length_bytes));
                self.queue.push(at_ns, Happening::Arrive(tag).pack());
            }
            // A discard changes maps and moves no data.
            Direction::Trim => {
                self.queue.push(issued_at_ns, Happening::Complete(tag).pack());
            }
        }
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        loop {
            let step_at_ns = self.next_step.map_or(u64::MAX, |(at_ns, _)| at_ns);
            let Some((at_ns, payload)) = self.queue.pop_until(until_ns.min(step_at_ns)) else {
                if step_at_ns > until_ns || step_at_ns == u64::MAX {
                    break;
                }
                self.now_ns = step_at_ns;
                if let Some((_, step)) = self.next_step.take() {
                    self.update_step(step);
                }
                continue;
            };
            self.now_ns = at_ns;
            match Happening::unpack(payload) {
                Happening::Arrive(tag) => self.arrive(tag),
                Happening::Enter(tag) => self.enter(tag),
                Happening::ReadDone(command) => self.read_done(command),
                Happening::Write(command) => self.write(command),
                Happening::WriteDone(command) => self.write_done(command),
                Happening::Complete(tag) => {
                    let issued_at_ns = self.ios[tag as usize].issued_at_ns;
                    return Some(Completion { tag, issued_at_ns, at_ns, outcome: Ok(()) });
                }
            }
        }
        if until_ns != u64::MAX {
            self.now_ns = until_ns;
        }
        None
    }
}
