//! The way of a command: from the job's thread over its link to a controller, to the drives, and its answer back.

use layout::{Condition as _, Healthy, Place};
use load::{Completion, Direction};

use super::Model;
use super::command::{Command, Marks, ModelEvent};
use crate::availability::DATA_LOST;

impl Model {
    /// Begins an I/O's command to one LUN.
    #[inline]
    pub(super) fn begin(
        &mut self,
        tag: u32,
        direction: Direction,
        issued_at_ns: u64,
        (place, length_bytes): (Place, u32),
        is_part: bool,
    ) {
        let owner = place.drive % self.controllers.len() as u16;
        let controller = self.failover.reached(u32::from(owner), issued_at_ns) as u16;
        let command = self.commands.keep(Command {
            offset_bytes: u64::from(place.drive) * self.lun_bytes + place.offset_bytes,
            issued_at_ns,
            length_bytes,
            tag,
            lun: place.drive,
            controller,
            link: self.host.choose_link(controller),
            direction,
            marks: Marks::of(is_part),
        });
        if issued_at_ns == self.now_ns {
            self.issue(command);
        } else {
            self.queue.push(issued_at_ns, ModelEvent::Issue(command).pack());
        }
    }

    /// The job's thread hands a command over.
    #[inline]
    pub(super) fn issue(&mut self, index: u32) {
        if self.host.may_send(index, self.commands.get(index)) {
            self.send(index);
        }
    }

    #[inline]
    pub(super) fn send(&mut self, index: u32) {
        let command = self.commands.get(index);
        let at_ns = match command.direction {
            Direction::Write => {
                self.host.send_to_array(self.now_ns, command.link, u64::from(command.length_bytes))
            }
            Direction::Read | Direction::Trim => self.now_ns + self.host.command_ns(),
        };
        match self.lookahead.until_arrival(self.now_ns, at_ns) {
            None => self.take_in(at_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, ModelEvent::Arrive(index).pack()),
        }
    }

    /// A command reaches its controller at `at_ns`.
    #[inline]
    pub(super) fn take_in(&mut self, at_ns: u64, index: u32) {
        if self.failover.is_any_away() && self.reroute(index) {
            return;
        }
        let command = self.commands.get(index);
        self.crowding.enter();
        let controller = &mut self.controllers[usize::from(command.controller)];
        let ready_ns = controller.take_in(at_ns, command.direction, self.crowding);
        match self.lookahead.until_drives(self.now_ns, ready_ns) {
            None => self.start(ready_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, ModelEvent::Start(index).pack()),
        }
    }

    /// A processor has seen to a command at `at_ns`: its drive I/Os begin.
    #[inline]
    pub(super) fn start(&mut self, at_ns: u64, index: u32) {
        let command = *self.commands.get(index);
        match command.direction {
            Direction::Read if !self.recovery.loss.is_whole() => self.read_degraded(index),
            Direction::Read => {
                let done_ns = self.read(at_ns, &command);
                match self.lookahead.until_links(self.now_ns, done_ns) {
                    None => self.read_done(done_ns, index),
                    Some(seen_ns) => self.queue.push(seen_ns, ModelEvent::ReadDone(index).pack()),
                }
            }
            // With one controller away there is nobody to mirror to: writes go through.
            Direction::Write if self.settings.on.write_cache && !self.failover.is_any_away() => {
                self.crowding.leave();
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

    /// The drives have a read's data at `at_ns`: they go to the host.
    #[inline]
    pub(super) fn read_done(&mut self, at_ns: u64, index: u32) {
        let command = self.commands.get(index);
        let there_ns = self.host.send_to_host(at_ns, command.link, u64::from(command.length_bytes));
        self.answer(there_ns + self.timing.read_answer_ns, index);
    }

    #[inline]
    pub(super) fn answer(&mut self, at_ns: u64, index: u32) {
        self.queue.push(at_ns, ModelEvent::Answer(index).pack());
    }

    /// The host has an answer: what waited for it is sent. Returns the end of the I/O that has all of its answers.
    #[inline]
    pub(super) fn answered(&mut self, index: u32) -> Option<Completion> {
        let command = self.commands.take(index);
        // A cached write is in nobody's way once it is in the cache.
        if !command.marks.is_cached() {
            self.crowding.leave();
        }
        if let Some(next) = self.host.answered(&command) {
            self.send(next);
        }
        let mut is_lost = command.marks.is_lost();
        if command.marks.is_part() {
            let parts = &mut self.parts[command.tag as usize];
            parts.left -= 1;
            parts.is_lost |= is_lost;
            is_lost = parts.is_lost;
            if parts.left > 0 {
                return None;
            }
        }
        Some(Completion {
            tag: command.tag,
            issued_at_ns: command.issued_at_ns,
            at_ns: self.now_ns,
            outcome: if is_lost { Err(DATA_LOST) } else { Ok(()) },
        })
    }
}
