//! Controllers that leave: who serves their LUNs, and the verification pass of a firmware update.

use super::command::ModelEvent;
use super::{Model, UPDATE_REMEDY};
use crate::availability::{Capabilities, ControllerEvent};

impl Model {
    /// Returns what can happen to this array.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.failover.capabilities(self.set.drives(), UPDATE_REMEDY)
    }

    /// The next step of a failover or an update.
    pub(super) fn failover_step(&mut self) {
        let (due, says) = self.failover.step(self.now_ns);
        if let ControllerEvent::Verify(stripe) = due
            && self.set.verify(stripe, &self.recovery.loss, &mut self.plan).is_ok()
        {
            self.drives.prepare();
            self.drives.read(self.now_ns, self.plan.reads());
        }
        if let Some(says) = says {
            self.note(says);
        }
    }

    /// Sends a command that has come to a controller which is away to the current owner of its volume, once its host has
    /// noticed; false where its controller is there.
    #[cold]
    pub(super) fn reroute(&mut self, index: u32) -> bool {
        let command = *self.commands.get(index);
        let controller = u32::from(command.controller);
        let Some(again_ns) = self.failover.again_at_ns(controller, self.now_ns) else { return false };
        // It waits for its new path as any other, and makes room on the old one.
        if let Some(next) = self.host.answered(&command) {
            self.send(next);
        }
        let owner = self.failover.current_owner(controller) as u16;
        let command = self.commands.get_mut(index);
        command.controller = owner;
        command.link = self.host.choose_link(owner);
        self.queue.push(again_ns, ModelEvent::Issue(index).pack());
        true
    }
}
