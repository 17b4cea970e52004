//! Controllers that leave: who serves their volumes, and the verification pass of a firmware update.

use super::model_event::ModelEvent;
use super::task::TaskKind;
use super::{Model, UPDATE_REMEDY};
use crate::availability::{Capabilities, ControllerEvent};

impl Model {
    /// What can happen to this array.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.failover.capabilities(self.arrangement.layout.drives(), UPDATE_REMEDY)
    }

    /// The next step of a failover or an update.
    pub(super) fn failover_step(&mut self) {
        let (due, says) = self.failover.step(self.now_ns);
        match due {
            // What was read is gone with its memory; what was written lies in the peer's as well.
            ControllerEvent::Left(controller) => self.controllers[controller as usize].forget_reads(),
            ControllerEvent::Verify(stripe) => self.verify(stripe),
            ControllerEvent::Nothing => {}
        }
        if let Some(says) = says {
            self.note(says);
        }
    }

    /// Sends a command that has come to a controller which is away to the current owner of its volume, once its hosts have
    /// noticed; false where its controller is there.
    #[cold]
    pub(super) fn reroute(&mut self, tag: u32) -> bool {
        let io = &mut self.tasks.ios[tag as usize];
        let Some(again_ns) = self.failover.again_at_ns(io.controller, self.now_ns) else { return false };
        io.controller = self.failover.current_owner(io.controller);
        io.link = self.controllers[io.controller as usize].next_link();
        self.queue.push(again_ns, ModelEvent::Arrive(tag).pack());
        true
    }

    /// Reads a stripe to see whether its parity is right.
    fn verify(&mut self, stripe: u64) {
        let layout = &self.arrangement.layout;
        if layout.verify(stripe, &self.recovery.loss, &mut self.plan).is_err() {
            return;
        }
        let task = self.tasks.open(TaskKind::Verify);
        self.read_planned(task);
    }
}
