//! Disk scheduler: the next command of the arm, and destaging of acknowledged writes.

use super::{DiskCommand, HardDisk, Pending, Service};
use load::Direction;

impl HardDisk {
    /// Gives the arm its next work if it becomes free before `before_ns`.
    pub(super) fn start_before(&mut self, before_ns: u64) {
        if self.service.is_some() || self.free_at_ns >= before_ns {
            return;
        }
        let destage_is_due = !self.dirty.is_empty()
            && (!self.has_waiting() || (!self.blocked_writes.is_empty() && !self.destaged_last));
        if destage_is_due {
            self.start_destage();
        } else if self.has_waiting() {
            self.start_command();
        }
    }

    /// Returns whether a command waits for the arm.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.planned.is_some() || !self.window.is_empty()
    }

    fn start_command(&mut self) {
        let start_ns = self.free_at_ns;
        let chosen = match self.planned.take() {
            Some(planned) => planned,
            None => self.take_chosen(start_ns),
        };
        self.read_ahead.stop(start_ns);
        let end_ns = self.access(start_ns, chosen.arrived_ns, &chosen.command, &chosen.place);
        self.destaged_last = false;
        self.service = Some(Service {
            end_ns,
            tag: Some(chosen.tag),
            direction: chosen.command.direction,
            offset_bytes: chosen.command.offset_bytes,
            length_bytes: chosen.command.length_bytes,
            ns_per_byte: chosen.place.ns_per_byte,
        });
        if self.plans_ahead && !self.window.is_empty() {
            self.planned = Some(self.take_chosen(end_ns));
        }
    }

    /// Takes the command that is served from `start_ns` on out of the window, which must hold one.
    #[inline]
    fn take_chosen(&mut self, start_ns: u64) -> Pending {
        let index = self.choose(start_ns);
        let chosen = self.window.swap_remove(index);
        if let Some(next) = self.waiting.pop_front() {
            self.window.push(next);
        }
        chosen
    }

    fn start_destage(&mut self) {
        let start_ns = self.free_at_ns;
        let head_ns = start_ns + self.overhead_ns;
        let (media, radius) = (&self.media, self.radius);
        let (offset_bytes, length_bytes) = self.dirty.take_next(|offset_bytes| {
            let place = media.place(offset_bytes);
            let seek_ns = media.seek_ns(radius, place.radius);
            seek_ns + media.rotation_ns(head_ns + seek_ns, place.angle)
        });
        let command = DiskCommand { direction: Direction::Write, offset_bytes, length_bytes };
        let place = self.media.place(offset_bytes);
        self.read_ahead.stop(start_ns);
        let end_ns = self.access(start_ns, start_ns, &command, &place);
        self.destaged_last = true;
        self.service = Some(Service {
            end_ns,
            tag: None,
            direction: Direction::Write,
            offset_bytes,
            length_bytes,
            ns_per_byte: place.ns_per_byte,
        });
    }

    /// The command whose data comes under the head first, unless one has waited too long.
    fn choose(&self, start_ns: u64) -> usize {
        if self.window.len() == 1 {
            return 0;
        }
        let head_ns = start_ns + self.overhead_ns;
        let (mut best, mut best_ns) = (0, u64::MAX);
        // Farther away none is reached sooner, whatever its angle.
        let mut farthest = f64::INFINITY;
        let (mut oldest, mut oldest_ns) = (0, u64::MAX);
        for (index, pending) in self.window.iter().enumerate() {
            if self.streams_on(start_ns, pending.arrived_ns, pending.command.offset_bytes) {
                return index;
            }
            if (pending.place.radius - self.radius).abs() <= farthest {
                let seek_ns = self.seek_ns(&pending.place, pending.command.direction);
                let reach_ns = seek_ns + self.media.rotation_ns(head_ns + seek_ns, pending.place.angle);
                if reach_ns < best_ns {
                    (best, best_ns) = (index, reach_ns);
                    farthest = self.media.farthest_within(reach_ns);
                }
            }
            if pending.arrived_ns < oldest_ns {
                (oldest, oldest_ns) = (index, pending.arrived_ns);
            }
        }
        if start_ns.saturating_sub(oldest_ns) > self.age_limit_ns { oldest } else { best }
    }
}
