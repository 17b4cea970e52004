//! An array of hosts, links, controllers and flash modules: how commands travel through it.
//!
//! A read: host → (window) → module → link to the host. A write: host → link to the array → (window, where it is
//! answered) → old data and old parity read → new data and new parity written. `docs/models/` has the equations.

mod check;
mod command;
mod controller;
mod description;
mod fabric;
mod failover;
mod loss;
mod path;
mod report;
mod settings;
mod streams;

use layout::IoList;
use load::{Completion, Device, Direction, Operation};
use serde_json::{Map, Value};

use crate::array_model::ArrayModel;
use crate::availability::{BackgroundRebuild, BackgroundTask, DATA_LOST, Failover, FaultEvent, Recovery};
use crate::drive::Slowness;
use crate::engine::{EventQueue, Slab, nanos_of_us};
use crate::event_loop::{Clock, EventLoop};
use crate::part::Modules;
use crate::settings::{Setting, numbered};
use crate::{DescriptionError, TwinCounter, TwinError, TwinNote};
use command::{Command, Io, ModelEvent};
use controller::Controller;
use fabric::Fabric;
use settings::Settings;
use streams::Streams;

pub use description::{Controllers, Description, FlashModules, Hosts, Layout};

/// What lets such an array be updated.
const UPDATE_REMEDY: &str = "describe the update under `flash_modules.firmware_update`";

/// Simulated array of flash modules.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    now_ns: u64,
    queue: EventQueue,
    settings: Settings,
    segment_bytes: u64,
    members: u32,
    write_answer_ns: u64,
    fabric: Fabric,
    controllers: Box<[Controller]>,
    streams: Streams,
    modules: Modules,
    /// What each tag is busy with.
    ios: Vec<Io>,
    /// What is under way in the modules; outlives its tag where a write was answered early.
    commands: Slab<Command>,
    /// Where data and parity lie.
    set: layout::Layout,
    recovery: Recovery,
    plan: IoList,
    /// Pending background tasks, by their number in the queue.
    own: Slab<BackgroundTask>,
    failover: Failover,
    notes: Vec<TwinNote>,
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }
}

impl ArrayModel for Model {
    type Description = Description;

    const SETTINGS: &'static [Setting] = Settings::SETTINGS;

    /// All parts are deterministic, so the twin is the same with every seed.
    fn build(
        description: &Description,
        settings: &Map<String, Value>,
        _seed: u64,
    ) -> Result<Self, TwinError> {
        let settings = Settings::parse(settings)?;
        let members = description.layout.members.get();
        let segment_bytes = description.layout.segment_bytes.get();
        let set = description.set().map_err(|error| {
            TwinError::Description(DescriptionError {
                path: "flash_modules.layout".into(),
                problem: error.to_string(),
                hint: "change the drives or the layout".into(),
            })
        })?;
        let controller = Controller::new(&description.controllers, settings);
        let mut failover = Failover::new(
            description.firmware_update.as_ref(),
            description.controllers.count.get(),
            segment_bytes,
            u64::MAX,
        );
        if !settings.failover {
            failover.serve_on();
        }
        Ok(Model {
            now_ns: 0,
            queue: EventQueue::new(),
            settings,
            segment_bytes,
            members,
            write_answer_ns: nanos_of_us(description.controllers.write_answer_us.get()),
            fabric: Fabric::new(description, settings),
            controllers: vec![controller; description.controllers.count.get() as usize].into(),
            streams: Streams::new(description.controllers.sequential_streams.get()),
            modules: Modules::new(description.drives.timing(settings), description.drives.count.get()),
            ios: Vec::new(),
            commands: Slab::default(),
            recovery: Recovery::new(
                "module",
                description.rebuild.as_ref(),
                &set,
                description.drives.count.get(),
                set.capacity_bytes(),
            ),
            set,
            plan: IoList::with_capacity(64),
            own: Slab::default(),
            failover,
            notes: Vec::new(),
        })
    }

    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.capabilities().fault_event(action, arguments).map(|_| ())
    }

    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) {
        match self.capabilities().fault_event(action, arguments) {
            Ok(FaultEvent::FirmwareUpdate) => self.failover.begin_update(at_ns),
            Ok(FaultEvent::ControllerFails(controller)) => self.failover.begin_failover(at_ns, controller),
            Ok(FaultEvent::DriveFails(drive)) => self.schedule_task(at_ns, BackgroundTask::DriveFails(drive)),
            Ok(FaultEvent::DriveIsReplaced(drive)) => {
                self.schedule_task(at_ns, BackgroundTask::DriveIsReplaced(drive));
            }
            Err(error) => self.note(error.to_string()),
        }
    }

    fn steady_for_ns(&self, _window_ns: u64, _left_ns: u64) -> u64 {
        if self.recovery.is_rebuilding() {
            return 0;
        }
        self.failover.steady_for_ns(self.now_ns)
    }

    fn skip_time(&mut self, duration_ns: u64, _window_ns: u64) {
        self.failover.skip_time(duration_ns);
    }

    fn find_drive(&self, value: &Value) -> Option<u32> {
        numbered(value, self.members)
    }

    fn drive_entity(&self, drive: u32) -> String {
        format!("module-{}", self.recovery.fitted()[drive as usize])
    }

    fn slow_drive(&mut self, drive: u32, slowness: Slowness) {
        self.modules.slow_down(drive, slowness);
    }

    fn slowness(&self, drive: u32) -> Slowness {
        self.modules.slowness(drive)
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
}

impl Device for Model {
    fn capacity_bytes(&self) -> u64 {
        self.set.capacity_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        let issued_at_ns = self.fabric.threads.submit(at_ns, tag);
        let failover = &self.failover;
        let link = self.fabric.choose(operation.job, |index| failover.is_known_up(index, issued_at_ns));
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
            is_lost: false,
        };
        match operation.direction {
            Direction::Read => {
                self.queue.push(issued_at_ns, ModelEvent::Arrive(tag).pack());
            }
            Direction::Write => {
                // Every submission takes the same time, so links see writes in the order of their submission.
                let at_ns =
                    self.fabric.links.send_to_array(issued_at_ns, link, u64::from(operation.length_bytes));
                self.queue.push(at_ns, ModelEvent::Arrive(tag).pack());
            }
            // A discard changes maps and moves no data.
            Direction::Trim => {
                self.queue.push(issued_at_ns, ModelEvent::Complete(tag).pack());
            }
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
            ModelEvent::Arrive(tag) => self.arrive(tag),
            ModelEvent::Enter(tag) => self.enter(tag),
            ModelEvent::ReadDone(command) => self.read_done(command),
            ModelEvent::Write(command) => self.write(command),
            ModelEvent::WriteDone(command) => self.write_done(command),
            ModelEvent::Complete(tag) => {
                let Io { issued_at_ns, is_lost, .. } = self.ios[tag as usize];
                let outcome = if is_lost { Err(DATA_LOST) } else { Ok(()) };
                return Some(Completion { tag, issued_at_ns, at_ns, outcome });
            }
            ModelEvent::BackgroundTask(own) => self.run_task(own),
        }
        None
    }

    fn run_background(&mut self) {
        self.failover_step();
    }
}
