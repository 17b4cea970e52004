//! Controllers that leave: which way commands take then, and the verification pass of a firmware update.

use super::command::ModelEvent;
use super::{Model, UPDATE_REMEDY};
use crate::availability::{Capabilities, ControllerEvent};

impl Model {
    /// What can happen to this array.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.failover.capabilities(self.members, UPDATE_REMEDY)
    }

    /// The next step of a failover or an update.
    pub(super) fn failover_step(&mut self) {
        let (due, says) = self.failover.step(self.now_ns);
        match due {
            ControllerEvent::Left(index) => {
                for (tag, _) in self.controllers[index as usize].abandon_waiting() {
                    self.reroute(tag, index);
                }
            }
            ControllerEvent::Verify(_) if self.settings.verification => {
                for drive in
                    (0..self.members).filter(|&drive| !self.recovery.loss.is_empty_place(drive as u16))
                {
                    self.modules.read(self.now_ns, drive, self.segment_bytes, true);
                }
            }
            ControllerEvent::Verify(_) | ControllerEvent::Nothing => {}
        }
        if let Some(says) = says {
            self.note(says);
        }
    }

    /// Sends a command that has come to a controller which is away another way, once its host has noticed; false where
    /// the controller is there.
    #[cold]
    pub(super) fn reroute(&mut self, tag: u32, controller: u32) -> bool {
        let Some(again_ns) = self.failover.again_at_ns(controller, self.now_ns) else { return false };
        let failover = &self.failover;
        let link = self
            .fabric
            .choose(self.ios[tag as usize].job, |controller| failover.is_known_up(controller, again_ns));
        self.ios[tag as usize].link = link;
        self.queue.push(again_ns, ModelEvent::Arrive(tag).pack());
        true
    }
}
