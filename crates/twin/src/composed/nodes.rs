//! Nodes of a cluster that are lost, with their controllers and drives, and new ones in their place.

use std::ops::Range;

use super::Model;
use crate::availability::Migrates;

impl Model {
    /// A node is lost: hosts send its commands to others once they have noticed, and what its drives held is made anew on those of
    /// other nodes.
    pub(super) fn node_is_gone(&mut self, node: u32) {
        let controllers = self.controllers_of(node);
        if !self.failover.is_up(controllers.start) {
            return self.note(format!("node-{node} is lost already"));
        }
        let drives = self.each_drive_of(node, |view, place| view.drive_fails(place));
        self.note(format!("node-{node} fails with its {drives} drives"));
        self.note_lack_of_room();
        self.failover.lose(self.now_ns, controllers.clone());
        controllers.for_each(|controller| self.controller_leaves(controller));
    }

    /// A new node with empty drives takes the place of a lost one.
    pub(super) fn node_is_replaced(&mut self, node: u32) {
        let controllers = self.controllers_of(node);
        if self.failover.is_up(controllers.start) {
            return self.note(format!("node-{node} is there: it needs no replacement"));
        }
        self.failover.take_back(controllers);
        self.each_drive_of(node, |view, place| view.drive_is_replaced(place));
        self.note(format!("a new node takes the place of node-{node}"));
    }

    fn controllers_of(&self, node: u32) -> Range<u32> {
        let first = node * self.controllers_per_node;
        first..first + self.controllers_per_node
    }

    /// Lets the same happen to each drive of a node, without a note of each; returns how many they are.
    fn each_drive_of(
        &mut self,
        node: u32,
        mut handle: impl FnMut(&mut super::rebuild::SetView<'_>, layout::DriveIndex),
    ) -> usize {
        let notes = self.notes.len();
        let mut drives = std::collections::BTreeSet::new();
        for set in 0..self.own_sets {
            let state = &self.sets[set];
            let places = 0..state.set.slots.len() as layout::DriveIndex;
            for place in places.filter(|&place| u32::from(state.node_of(place)) == node).collect::<Vec<_>>() {
                drives.insert(self.sets[set].drive_in(place));
                handle(&mut self.set_view(set), place);
            }
        }
        self.notes.truncate(notes);
        drives.len()
    }

    /// A controller has left: commands that wait in it go to others.
    pub(super) fn controller_leaves(&mut self, controller: u32) {
        // What was read is gone with its memory; what was written lies in the peer's as well.
        self.controllers[controller as usize].forget_reads();
        for (command, _) in self.controllers[controller as usize].abandon_waiting() {
            if self.goes_another_way(command, controller as u16) {
                self.crowding.leave();
            } else {
                self.goes_to_partner(command, controller as u16);
            }
        }
    }

    /// A command is issued, at a moment, while a controller is away: that of a cluster to the node that has its data then, as far as
    /// hosts know.
    #[cold]
    pub(super) fn find_node_again(&mut self, index: u32, at_ns: u64) {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        if !state.is_cluster {
            return;
        }
        let (failover, per_node) = (&self.failover, self.controllers_per_node);
        let home =
            state.primary_among(command, |node| failover.is_known_up(u32::from(node) * per_node, at_ns));
        let preferred = u32::from(self.volumes[usize::from(command.volume)].preferred);
        self.commands.get_mut(index).owner = (u32::from(home) * per_node + preferred) as u16;
    }
}
