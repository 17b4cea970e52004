//! The way of a command: to its controller, through the caches, and back to its host.

use load::Direction;

use super::Model;
use super::model_event::ModelEvent;
use super::read_ahead::Source;
use super::task::HostIo;

impl Model {
    /// A command reaches its controller.
    #[inline]
    pub(super) fn arrive(&mut self, tag: u32) {
        if self.failover.is_any_away() && self.reroute(tag) {
            return;
        }
        let io = self.tasks.io(tag);
        let controller = &mut self.controllers[io.controller as usize];
        let ready_ns = match io.direction {
            Direction::Write => controller.take_in_write(self.now_ns, u64::from(io.length_bytes)),
            _ => controller.take_in_read(self.now_ns),
        };
        if ready_ns > self.now_ns {
            self.queue.push(ready_ns, ModelEvent::Start(tag).pack());
        } else {
            self.start(tag);
        }
    }

    /// A processor has taken a command in.
    #[inline]
    pub(super) fn start(&mut self, tag: u32) {
        let io = self.tasks.io(tag);
        let writes_go_through = self.writes_go_through();
        if io.direction == Direction::Read {
            self.start_read(tag, &io);
        } else if let Some(cache) = &mut self.controllers[io.controller as usize].write_cache
            && !writes_go_through
        {
            if cache.take_in(tag, io.offset_bytes, u64::from(io.length_bytes)) {
                self.answer_cached_write(tag, &io);
            }
            self.destage(io.controller);
        } else {
            self.begin_write(tag);
        }
    }

    #[inline]
    fn start_read(&mut self, tag: u32, io: &HostIo) {
        let (offset, length) = (io.offset_bytes, u64::from(io.length_bytes));
        let controller = &mut self.controllers[io.controller as usize];
        if controller.write_cache.as_ref().is_some_and(|cache| cache.holds(offset, length)) {
            controller.tally.dirty_hits += 1;
            self.answer_read(tag);
            return;
        }
        let mut source = Source::Drives;
        if let Some(read_ahead) = &mut controller.read_ahead {
            let volume_bytes = self.arrangement.volume_bytes;
            let volume_end = (offset / volume_bytes + 1) * volume_bytes;
            source = read_ahead.read(tag, offset, length, volume_end, &mut self.fetches);
            controller.tally.read_ahead_hits += u64::from(source != Source::Drives);
        }
        let is_kept = controller.read_cache.as_ref().is_some_and(|cache| cache.holds(offset, length));
        if source == Source::Drives && is_kept {
            controller.tally.read_hits += 1;
            source = Source::Memory;
        }
        match source {
            Source::Memory => self.answer_read(tag),
            Source::OnItsWay => {}
            Source::Drives => self.read_from_drives(tag, offset, length),
        }
        if !self.fetches.is_empty() {
            self.fetch_ahead(io.controller);
        }
    }

    /// A read's data is in the controller's memory: it leaves for its host.
    #[inline]
    pub(super) fn answer_read(&mut self, tag: u32) {
        let io = self.tasks.io(tag);
        let bytes = u64::from(io.length_bytes);
        let controller = &mut self.controllers[io.controller as usize];
        if let Some(cache) = &mut controller.read_cache {
            cache.keep(io.offset_bytes, bytes);
        }
        let left_ns = controller.hand_out(self.now_ns, bytes);
        let at_ns = self.fabric.links.send_to_host(left_ns, io.link, bytes);
        self.answer(tag, at_ns);
    }

    /// A write is in the cache.
    pub(super) fn answer_cached_write(&mut self, tag: u32, io: &HostIo) {
        let controller = &mut self.controllers[io.controller as usize];
        let at_ns = controller.mirror(self.now_ns, u64::from(io.length_bytes));
        self.answer(tag, at_ns);
    }

    /// A host has an answer at a moment from now on.
    #[inline]
    pub(super) fn answer(&mut self, tag: u32, at_ns: u64) {
        let event =
            if self.fabric.has_completions() { ModelEvent::Answered(tag) } else { ModelEvent::Complete(tag) };
        self.queue.push(at_ns, event.pack());
    }
}
