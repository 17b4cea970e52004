//! The way of a command: to a controller, through its window into the modules, and back to the host.

use layout::Condition as _;
use load::Direction;

use super::Model;
use super::command::{Command, ModelEvent};

impl Model {
    /// A command reaches the controller at the end of its link.
    #[inline]
    pub(super) fn arrive(&mut self, tag: u32) {
        let now_ns = self.now_ns;
        let io = self.ios[tag as usize];
        let index = self.fabric.controller_of(io.link);
        if self.failover.is_any_away() && self.reroute(tag, index) {
            return;
        }
        let controller = &mut self.controllers[index as usize];
        let is_write = io.direction == Direction::Write;
        let ready_ns = controller.take_in(now_ns, if is_write { u64::from(io.length_bytes) } else { 0 });
        self.queue.push(ready_ns, ModelEvent::Enter(tag).pack());
    }

    /// A command asks its controller for a place in the window.
    #[inline]
    pub(super) fn enter(&mut self, tag: u32) {
        let io = self.ios[tag as usize];
        let index = self.fabric.controller_of(io.link);
        if self.failover.is_any_away() && self.reroute(tag, index) {
            return;
        }
        if self.controllers[index as usize].enter(tag, io.length_bytes) {
            self.start(tag, index);
        }
    }

    /// A command has its place in the window: its drive I/Os begin.
    #[inline]
    pub(super) fn start(&mut self, tag: u32, controller: u32) {
        let now_ns = self.now_ns;
        let io = self.ios[tag as usize];
        let first = self.set.stripe_of(io.offset_bytes).0;
        let last = self.set.stripe_of(io.offset_bytes + u64::from(io.length_bytes) - 1).0;
        let is_sequential = self.streams.follows(first, last);
        let command = self.commands.keep(Command {
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
            tag,
            controller,
            is_sequential,
        });
        if io.direction == Direction::Read {
            if !self.recovery.loss.is_whole() {
                return self.read_degraded(command);
            }
            let mut done_ns = now_ns;
            let modules = &mut self.modules;
            self.set.for_each_covered(io.offset_bytes, u64::from(io.length_bytes), |piece| {
                done_ns = done_ns.max(modules.read(
                    now_ns,
                    u32::from(piece.drive),
                    u64::from(piece.length_bytes),
                    is_sequential,
                ));
            });
            self.queue.push(done_ns, ModelEvent::ReadDone(command).pack());
            return;
        }
        if self.settings.write_cache {
            self.queue.push(now_ns + self.write_answer_ns, ModelEvent::Complete(tag).pack());
        }
        if is_sequential || !self.settings.parity {
            self.write(command);
        } else {
            self.read_before_write(command);
        }
    }

    /// Old data and old parity, for the new parity: first phase of a read-modify-write.
    #[inline]
    pub(super) fn read_before_write(&mut self, command: u32) {
        if !self.recovery.loss.is_whole() {
            return self.read_before_degraded_write(command);
        }
        let now_ns = self.now_ns;
        let extent = self.commands.get(command);
        let mut done_ns = now_ns;
        let modules = &mut self.modules;
        self.set.for_each_covered(extent.offset_bytes, u64::from(extent.length_bytes), |piece| {
            for drive in [piece.drive, piece.parity_drive] {
                done_ns =
                    done_ns.max(modules.read(now_ns, u32::from(drive), u64::from(piece.length_bytes), false));
            }
        });
        self.queue.push(done_ns, ModelEvent::Write(command).pack());
    }

    /// New data and new parity. Where whole stripes are gathered, parity is written once, at the stripe's end.
    #[inline]
    pub(super) fn write(&mut self, command: u32) {
        if !self.recovery.loss.is_whole() {
            return self.write_degraded(command);
        }
        let now_ns = self.now_ns;
        let extent = self.commands.get(command);
        let parity = self.settings.parity;
        let segment_bytes = self.segment_bytes;
        let mut done_ns = now_ns;
        let modules = &mut self.modules;
        self.set.for_each_covered(extent.offset_bytes, u64::from(extent.length_bytes), |piece| {
            done_ns =
                done_ns.max(modules.write(now_ns, u32::from(piece.drive), u64::from(piece.length_bytes)));
            let parity_bytes = match (parity, extent.is_sequential) {
                (false, _) => 0,
                (true, false) => u64::from(piece.length_bytes),
                (true, true) if piece.ends_stripe => segment_bytes,
                (true, true) => 0,
            };
            if parity_bytes > 0 {
                done_ns = done_ns.max(modules.write(now_ns, u32::from(piece.parity_drive), parity_bytes));
            }
        });
        self.queue.push(done_ns, ModelEvent::WriteDone(command).pack());
    }

    /// Gives back a command's place and lets in what waited for it.
    #[inline]
    fn finish(&mut self, command: u32) {
        let done = self.commands.take(command);
        let controller = done.controller;
        self.controllers[controller as usize].leave(done.length_bytes);
        while let Some(tag) = self.controllers[controller as usize].admit_next() {
            self.start(tag, controller);
        }
    }

    #[inline]
    pub(super) fn read_done(&mut self, command: u32) {
        let done = *self.commands.get(command);
        let link = self.ios[done.tag as usize].link;
        let at_ns = self.fabric.links.send_to_host(self.now_ns, link, u64::from(done.length_bytes));
        self.queue.push(at_ns, ModelEvent::Complete(done.tag).pack());
        self.finish(command);
    }

    #[inline]
    pub(super) fn write_done(&mut self, command: u32) {
        if !self.settings.write_cache {
            let tag = self.commands.get(command).tag;
            self.queue.push(self.now_ns, ModelEvent::Complete(tag).pack());
        }
        self.finish(command);
    }
}
