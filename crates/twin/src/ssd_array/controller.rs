//! Controller: processors, the parity engine, and the write cache with its mirror link.

use std::collections::VecDeque;

use load::Direction;

use super::Description;
use super::settings::Settings;
use crate::engine::{Rate, Server, ServerPool, Slots, nanos_of_us};
use crate::part::Crowding;

/// Service times that all controllers share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    read_ns: u64,
    write_ns: u64,
    engine: Rate,
    parity: Rate,
    mirror: Rate,
    dirty_limit_bytes: u64,
    destage_commands: u32,
    parity_updates: u32,
    /// True where changes of parity wait for one another at all.
    pub limits_parity_updates: bool,
    pub read_answer_ns: u64,
    pub write_answer_ns: u64,
    pub cached_answer_ns: u64,
}

impl Timing {
    pub fn new(description: &Description, settings: Settings, has_parity: bool) -> Self {
        let controllers = &description.controllers;
        let paths = &controllers.command_us;
        let (read, write) = if has_parity {
            (&paths.parity_read, &paths.parity_write)
        } else {
            (&paths.plain_read, &paths.plain_write)
        };
        let updates = controllers.parity_updates.as_ref().filter(|_| settings.on.parity_updates);
        let parity_log = controllers.parity_log_us.as_ref().filter(|_| has_parity);
        let parity_log_us = parity_log.map_or(0.0, |log| log.get());
        let command_ns = |us: f64| if settings.on.processors { nanos_of_us(us) } else { 0 };
        let engine_rate = |mb_per_s: f64| {
            if settings.on.parity_engine { Rate::from_mb_per_s(mb_per_s) } else { Rate::UNLIMITED }
        };
        Timing {
            read_ns: command_ns(read.get()),
            write_ns: command_ns(write.get()),
            engine: engine_rate(controllers.parity_engine_mb_per_s.get()),
            parity: engine_rate(controllers.parity_mb_per_s.get()),
            mirror: Rate::from_mb_per_s(description.cache.mirror_mb_per_s.get()),
            dirty_limit_bytes: description.cache.dirty_limit_bytes.get(),
            destage_commands: description.cache.destage_commands.get(),
            parity_updates: updates.map_or(u32::MAX, |updates| updates.get()),
            limits_parity_updates: updates.is_some(),
            read_answer_ns: nanos_of_us(controllers.read_answer_us.get()),
            write_answer_ns: nanos_of_us(controllers.write_answer_us.get() + parity_log_us),
            cached_answer_ns: nanos_of_us(description.cache.answer_us.get()),
        }
    }

    /// Returns what the quickest command takes of a processor.
    pub fn quickest_command_ns(&self) -> u64 {
        self.read_ns.min(self.write_ns)
    }

    /// Returns what the parity engine takes to move so many bytes, so many of them new parity, where nothing else is
    /// under way.
    #[inline]
    pub fn parity_ns(&self, moved_bytes: u64, parity_bytes: u64) -> u64 {
        self.engine.duration_ns(moved_bytes) + self.parity.duration_ns(parity_bytes)
    }
}

/// A cache that holds less than one part in so many of its limit does not matter: destaging keeps up.
const SMALL_SHARE: u128 = 50;

/// Fill of the write cache at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Fill {
    dirty_bytes: u64,
    destaging: u32,
    at_ns: u64,
}

/// One controller.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    timing: Timing,
    processors: ServerPool,
    engine: Server,
    mirror: Server,
    dirty_bytes: u64,
    level_start: Fill,
    /// Commands that wait for room in the cache, with their sizes.
    waiting: VecDeque<(u32, u32)>,
    /// Cached commands on their way to the drives.
    destages: Slots,
    /// Commands that change parity.
    updates: Slots,
    pub commands: u64,
}

impl Controller {
    pub fn new(timing: Timing, processors: u32) -> Self {
        Controller {
            timing,
            processors: ServerPool::new(processors),
            engine: Server::default(),
            mirror: Server::default(),
            dirty_bytes: 0,
            level_start: Fill::default(),
            waiting: VecDeque::new(),
            destages: Slots::new(timing.destage_commands),
            updates: Slots::new(timing.parity_updates),
            commands: 0,
        }
    }

    /// A processor sees to a command, of those that all controllers work on; returns when it has.
    #[inline]
    pub fn take_in(&mut self, now_ns: u64, direction: Direction, crowding: Crowding) -> u64 {
        self.commands += 1;
        let service_ns =
            if direction == Direction::Write { self.timing.write_ns } else { self.timing.read_ns };
        self.processors.serve(now_ns, crowding.among(service_ns))
    }

    /// The parity engine has so much to do ([`Timing::parity_ns`]); returns when it is done.
    #[inline]
    pub fn make_parity(&mut self, now_ns: u64, service_ns: u64, crowding: Crowding) -> u64 {
        self.engine.serve(now_ns, crowding.among(service_ns))
    }

    /// A write asks for room in the cache; without room it waits.
    pub fn enter_cache(&mut self, command: u32, bytes: u32) -> bool {
        // A write larger than the whole limit goes alone.
        let has_room =
            self.dirty_bytes == 0 || self.dirty_bytes + u64::from(bytes) <= self.timing.dirty_limit_bytes;
        if !self.waiting.is_empty() || !has_room {
            self.waiting.push_back((command, bytes));
            return false;
        }
        self.dirty_bytes += u64::from(bytes);
        true
    }

    /// The next waiting write that has room now.
    pub fn admit_next(&mut self) -> Option<u32> {
        let &(command, bytes) = self.waiting.front()?;
        let bytes = u64::from(bytes);
        if self.dirty_bytes > 0 && self.dirty_bytes + bytes > self.timing.dirty_limit_bytes {
            return None;
        }
        self.waiting.pop_front();
        self.dirty_bytes += bytes;
        Some(command)
    }

    /// Mirrors a write to the peer; returns when it is there.
    pub fn mirror(&mut self, now_ns: u64, bytes: u32) -> u64 {
        self.mirror.serve(now_ns, self.timing.mirror.duration_ns(u64::from(bytes)))
    }

    /// A cached write asks to go to the drives; where too many do already it waits.
    pub fn may_destage(&mut self, command: u32) -> bool {
        self.destages.admit(command)
    }

    /// A cached write is in the drives. Returns the one that goes next in its place.
    pub fn destaged(&mut self, bytes: u32) -> Option<u32> {
        self.dirty_bytes -= u64::from(bytes);
        self.destages.leave()
    }

    /// A command asks to change parity; where too many do already it waits.
    #[inline]
    pub fn may_update(&mut self, command: u32) -> bool {
        self.updates.admit(command)
    }

    /// A change of parity is in the drives. Returns the command whose change goes next in its place.
    #[inline]
    pub fn updated(&mut self) -> Option<u32> {
        self.updates.leave()
    }

    /// As [`load::FastForward::begin_level`].
    pub fn begin_level(&mut self, now_ns: u64) {
        self.level_start =
            Fill { dirty_bytes: self.dirty_bytes, destaging: self.destages.taken(), at_ns: now_ns };
    }

    /// Returns whether the cache stays as it is for `left_ns` more, at the pace at which it has filled or drained since
    /// the level began.
    pub fn stays_level(&self, now_ns: u64, left_ns: u64) -> bool {
        let observed_ns = now_ns.saturating_sub(self.level_start.at_ns).max(1);
        // Whether what has changed by so much does not change by as much as there is room for.
        let is_far = |changed: u64, room: u64| {
            u128::from(changed) * u128::from(left_ns) < u128::from(room) * u128::from(observed_ns)
        };
        self.keeps_room(is_far) && self.keeps_destage_commands(is_far)
    }

    /// The cache is full, or so far from full and from empty that it comes to neither.
    fn keeps_room(&self, is_far: impl Fn(u64, u64) -> bool) -> bool {
        let before = self.level_start.dirty_bytes;
        let limit_bytes = self.timing.dirty_limit_bytes;
        let is_small = u128::from(before.max(self.dirty_bytes)) * SMALL_SHARE < u128::from(limit_bytes);
        let room_bytes = if self.dirty_bytes > before {
            limit_bytes.saturating_sub(self.dirty_bytes)
        } else {
            self.dirty_bytes
        };
        !self.waiting.is_empty() || is_small || is_far(self.dirty_bytes.abs_diff(before), room_bytes)
    }

    /// All destage commands are in use, or so few that they are not used up. Where a drive falls behind, the commands that wait for
    /// it become more and more until none is left for the other drives: from then on all of them are destaged to more slowly.
    fn keeps_destage_commands(&self, is_far: impl Fn(u64, u64) -> bool) -> bool {
        let (before, now, limit) = (self.level_start.destaging, self.destages.taken(), self.destages.limit());
        if before == limit {
            return now == limit;
        }
        is_far(now.saturating_sub(before).into(), limit.saturating_sub(now).into())
    }

    /// Its processors.
    pub fn processors(&self) -> &ServerPool {
        &self.processors
    }

    /// Busy times of parity engine and mirror link.
    pub fn busy_ns(&self) -> [u64; 2] {
        [self.engine.busy_ns(), self.mirror.busy_ns()]
    }

    /// Bytes in the cache that are not in the drives, and writes that wait for room.
    pub fn fill(&self) -> [u64; 2] {
        [self.dirty_bytes, self.waiting.len() as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A controller of the Dorado that destages so many commands, of 4 KiB each, beside so many more that wait in the cache.
    fn destaging(commands: u32) -> Controller {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/dorado-2100-g2.yaml");
        let array: crate::ArrayDescription =
            serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let description = array.ssd_array.unwrap();
        let settings = Settings::parse(&Map::new(), 5).unwrap();
        let mut controller = Controller::new(Timing::new(&description, settings, true), 1);
        for command in 0..commands {
            assert!(controller.enter_cache(command, 4096) && controller.may_destage(command));
        }
        controller
    }

    /// Proves that a level ends where the commands behind a slow drive would use up all destage commands within the time left, and goes
    /// on where they are too few, do not grow, or are all in use for the whole level.
    #[test]
    fn a_level_ends_before_destage_commands_are_used_up() {
        let stays = |first: u32, later: u32, left_s: u64| {
            let mut controller = destaging(first);
            controller.begin_level(0);
            for command in first..later {
                assert!(controller.enter_cache(command, 4096) && controller.may_destage(command));
            }
            controller.stays_level(SECOND_NS, left_s * SECOND_NS)
        };
        let limit = destaging(0).timing.destage_commands;
        // Ten more a second: 50 s until the last of 512 is in use.
        assert!(stays(2, 12, 49) && !stays(2, 12, 51), "limit {limit}");
        assert!(stays(100, 100, 1_000_000));
        assert!(stays(limit, limit, 1_000_000));
        assert!(!stays(limit - 1, limit, 1));
    }
}
