//! The write cache: a write is mirrored and answered, and goes to the drives behind its answer.

use super::Model;

impl Model {
    /// A write has its room in the cache: it is mirrored, answered, and goes to the drives.
    pub(super) fn cache(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let controller = &mut self.controllers[usize::from(command.controller)];
        let mirrored_ns = controller.mirror(self.now_ns, command.length_bytes);
        // The command is over when it is answered; what goes on to the drives is another.
        let destage = self.commands.keep(command);
        let may_destage = controller.may_destage(destage);
        self.answer(mirrored_ns + self.timing.cached_answer_ns, index);
        if may_destage {
            self.crowding.enter();
            self.update(self.now_ns, destage);
        }
    }

    pub(super) fn destaged(&mut self, index: u32) {
        self.end_update(index);
        let command = self.commands.take(index);
        let controller = usize::from(command.controller);
        match self.controllers[controller].destaged(command.length_bytes) {
            Some(next) => self.update(self.now_ns, next),
            None => self.crowding.leave(),
        }
        while let Some(admitted) = self.controllers[controller].admit_next() {
            self.cache(admitted);
        }
    }
}
