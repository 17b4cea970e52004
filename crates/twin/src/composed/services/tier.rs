//! Tier of fast drives: extents that are read and written most are moved to it, and others back.

use std::collections::VecDeque;

use load::Direction;

use super::super::Model;
use super::super::command::Command;
use super::super::rates::rate;
use super::replication::COPY;
use super::request::{Served, Stage};
use super::{Io, sparse};
use crate::engine::Rate;
use crate::part::Counters;

/// Bytes of an extent that are read, and then written, at once.
const CHUNK_BYTES: u64 = 1 << 20;
/// Plans one after the other that move nothing, after which the tier holds what it goes on to hold under the same load.
const QUIET_PLANS: u32 = 2;
/// Plans whose counts may still matter after they have decayed.
const OLDER_PLANS: u64 = 64;
/// Tags of I/Os that move extents: one for each of those that move at once.
pub(super) const TIER_TAGS: std::ops::Range<u32> = COPY - array::TIER_MOVES_LIMIT as u32..COPY;

/// Move of an extent in one direction, or of one out and another in.
#[derive(Debug, Clone, Copy)]
struct Move {
    leaves: Option<u32>,
    enters: Option<u32>,
    /// In the tier.
    place: u32,
    copied_bytes: u64,
    /// It waits for its next chunk.
    is_waiting: bool,
}

/// Tier of an array: which extents it holds, and which move.
#[derive(Debug, Clone)]
pub(crate) struct Tier {
    set: u16,
    extent_bytes: u64,
    every_ns: u64,
    pace: Rate,
    decay: f64,
    margin: f64,
    least: u32,
    /// By set: number of its first extent, and how many it has.
    extents: Vec<(u32, u32)>,
    /// By extent: I/Os since the last plan, and what is left of those before.
    heat: Vec<u32>,
    /// By extent: its place in the tier + 1.
    places: sparse::Sparse,
    /// By place: its extent + 1.
    occupants: Vec<u32>,
    queue: VecDeque<Move>,
    moving: Vec<Option<Move>>,
    plan_ns: u64,
    /// Moment at which the next chunk may begin; never past when one waits.
    due_ns: u64,
    /// Time since the last plan that was not simulated, in which nobody counted I/Os.
    skipped_ns: u64,
    /// Last plans that moved nothing.
    quiet_plans: u32,
    tally: Tally,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    hits: u64,
    misses: u64,
    plans: u64,
    promoted_bytes: u64,
    demoted_bytes: u64,
    failed_moves: u64,
}

impl Tier {
    /// Tier on a set of so many bytes; each set has so many bytes that may move, none where it has no volumes.
    pub fn new(tier: &array::Tier, set: u16, bytes: u64, movable_bytes: &[u64]) -> Tier {
        let extent_bytes = tier.extent.get();
        let mut first = 0;
        let extents: Vec<(u32, u32)> = movable_bytes
            .iter()
            .map(|bytes| {
                let count = (bytes / extent_bytes) as u32;
                first += count;
                (first - count, count)
            })
            .collect();
        Tier {
            set,
            extent_bytes,
            every_ns: tier.every.get(),
            pace: rate(tier.rate.get(), tier.rate.get() != array::UNLIMITED),
            decay: tier.decay.share(),
            margin: tier.margin.share(),
            least: tier.least.count(),
            extents,
            heat: vec![0; first as usize],
            places: sparse::Sparse::default(),
            occupants: vec![0; (bytes / extent_bytes) as usize],
            queue: VecDeque::new(),
            moving: vec![None; tier.moves.count() as usize],
            plan_ns: tier.every.get(),
            due_ns: 0,
            skipped_ns: 0,
            quiet_plans: 0,
            tally: Tally::default(),
        }
    }

    /// The extent of a place in a set; `None` for what never moves.
    fn extent_at(&self, set: u16, offset_bytes: u64) -> Option<u32> {
        let &(first, count) = self.extents.get(usize::from(set))?;
        let number = offset_bytes / self.extent_bytes;
        (number < u64::from(count)).then(|| first + number as u32)
    }

    /// Home of an extent, where it lies when it is not in the tier: its set, and the first byte there.
    fn home(&self, extent: u32) -> (u16, u64) {
        let is_in = |&(first, count): &(u32, u32)| (first..first + count).contains(&extent);
        let set = self.extents.iter().position(is_in).unwrap_or(0);
        (set as u16, u64::from(extent - self.extents[set].0) * self.extent_bytes)
    }

    /// Sends the I/Os of a command to where their extents lie, and counts who asked for which.
    pub fn place(&mut self, served: &mut Served) {
        served.replace_ios(|stage, io, add| {
            let mut is_hit = true;
            let (mut at, end) = (io.offset_bytes, io.offset_bytes + u64::from(io.length_bytes));
            let mut is_requested = false;
            // Neighbours that lie together are one I/O.
            let mut run: Option<(u16, u64, u64)> = None;
            while at < end {
                let within = at % self.extent_bytes;
                let length = (self.extent_bytes - within).min(end - at);
                let extent = self.extent_at(io.set, at).filter(|_| !io.is_cache_hit);
                let place = extent.map_or(0, |extent| self.places.get(u64::from(extent)));
                let (set, offset) = match place {
                    0 => (io.set, at),
                    place => (self.set, u64::from(place - 1) * self.extent_bytes + within),
                };
                if let Some(extent) = extent.filter(|_| stage == Stage::Data) {
                    let heat = &mut self.heat[extent as usize];
                    *heat = heat.saturating_add(1);
                    is_hit &= place > 0;
                    is_requested = true;
                }
                match &mut run {
                    Some((of, first, bytes)) if *of == set && *first + *bytes == offset => *bytes += length,
                    _ => {
                        if let Some((set, first, bytes)) = run.replace((set, offset, length)) {
                            add(Io { set, offset_bytes: first, length_bytes: bytes as u32, ..io });
                        }
                    }
                }
                at += length;
            }
            if let Some((set, first, bytes)) = run {
                add(Io { set, offset_bytes: first, length_bytes: bytes as u32, ..io });
            }
            if is_requested {
                *(if is_hit { &mut self.tally.hits } else { &mut self.tally.misses }) += 1;
            }
        });
    }

    /// Plans the moves until the next plan: the hottest extents enter where a place is free, or where they are hotter than the
    /// coldest of the tier by the margin.
    fn plan(&mut self) {
        self.tally.plans += 1;
        self.queue.clear();
        if std::mem::take(&mut self.skipped_ns) == 0 || !self.is_settled() {
            self.choose_moves();
            self.quiet_plans = if self.is_quiet() { self.quiet_plans.saturating_add(1) } else { 0 };
        }
        for heat in &mut self.heat {
            *heat = (f64::from(*heat) * self.decay) as u32;
        }
    }

    /// Returns true if nothing moves.
    fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.moving.iter().all(Option::is_none)
    }

    /// Returns whether it goes on to hold what it holds for as long as the load goes on: no plan is due before, or plans move nothing any
    /// more.
    pub fn is_steady(&self, now_ns: u64, left_ns: u64) -> bool {
        self.is_quiet() && (self.is_settled() || self.plan_ns.saturating_sub(now_ns) > left_ns)
    }

    fn is_settled(&self) -> bool {
        self.quiet_plans >= QUIET_PLANS
    }

    /// Time passes that is not simulated, of a tier that is steady: plans in it move nothing, and I/Os count as under a load that goes on.
    pub fn skip_time(&mut self, now_ns: u64, duration_ns: u64) {
        let until_plan_ns = self.plan_ns.saturating_sub(now_ns);
        let before_ns = self.every_ns.saturating_sub(until_plan_ns);
        // Time since the last plan, and what is left of the counts of those before it, as time.
        let older = |plans: u64| (1..=plans.min(OLDER_PLANS)).fold(0.0, |sum, _| (sum + 1.0) * self.decay);
        let counted = |since_ns: u64, plans: u64| since_ns as f64 + older(plans) * self.every_ns as f64;
        let plans_before = self.tally.plans;
        let mut after_ns = before_ns + duration_ns;
        if duration_ns >= until_plan_ns && self.is_settled() {
            self.tally.plans += 1 + (duration_ns - until_plan_ns) / self.every_ns;
            after_ns = (duration_ns - until_plan_ns) % self.every_ns;
            self.plan_ns = now_ns + self.every_ns - after_ns;
        } else {
            self.plan_ns = self.plan_ns.saturating_sub(duration_ns);
        }
        let times = counted(after_ns, self.tally.plans) / counted(before_ns, plans_before).max(1.0);
        for heat in &mut self.heat {
            *heat = (f64::from(*heat) * times).min(f64::from(u32::MAX)) as u32;
        }
        self.skipped_ns += duration_ns;
    }

    /// Returns when it does something by itself that a load may feel.
    pub fn changes_at_ns(&self) -> u64 {
        if self.is_settled() && self.is_quiet() { u64::MAX } else { self.next_ns() }
    }

    /// Chooses the extents that move until the next plan.
    fn choose_moves(&mut self) {
        let moving: Vec<Move> = self.moving.iter().flatten().copied().collect();
        let is_moving =
            |extent: u32| moving.iter().any(|one| one.leaves == Some(extent) || one.enters == Some(extent));
        let mut hottest: Vec<(std::cmp::Reverse<u32>, u32)> = (0..self.heat.len() as u32)
            .filter(|&extent| self.heat[extent as usize] >= self.least)
            .filter(|&extent| self.places.get(u64::from(extent)) == 0 && !is_moving(extent))
            .map(|extent| (std::cmp::Reverse(self.heat[extent as usize]), extent))
            .collect();
        hottest.sort_unstable();
        let mut coldest: Vec<(u32, u32)> = (0..self.occupants.len() as u32)
            .filter(|&place| self.occupants[place as usize] > 0)
            .map(|place| (self.occupants[place as usize] - 1, place))
            .filter(|&(extent, _)| !is_moving(extent))
            .map(|(extent, place)| (self.heat[extent as usize], place))
            .collect();
        coldest.sort_unstable();
        let is_free = |&place: &u32| {
            self.occupants[place as usize] == 0 && !moving.iter().any(|one| one.place == place)
        };
        let mut free = (0..self.occupants.len() as u32).filter(is_free);
        let mut coldest = coldest.into_iter();
        for (std::cmp::Reverse(heat), extent) in hottest {
            let enters = Some(extent);
            let (leaves, place) = match free.next() {
                Some(place) => (None, place),
                None => match coldest.next() {
                    Some((colder, place)) if f64::from(heat) > f64::from(colder) * (1.0 + self.margin) => {
                        (Some(self.occupants[place as usize] - 1), place)
                    }
                    _ => break,
                },
            };
            self.queue.push_back(Move { leaves, enters, place, copied_bytes: 0, is_waiting: true });
        }
    }

    /// Returns when it does something by itself.
    pub fn next_ns(&self) -> u64 {
        let is_free = self.moving.iter().any(Option::is_none);
        let has_next =
            self.moving.iter().flatten().any(|one| one.is_waiting) || (is_free && !self.queue.is_empty());
        if has_next { self.plan_ns.min(self.due_ns) } else { self.plan_ns }
    }

    /// Plans, if that is due; returns the read of the next chunk that moves, if one is due, and its tag.
    fn next_read(&mut self, now_ns: u64) -> Option<(u32, Io)> {
        if self.plan_ns <= now_ns {
            self.plan_ns += self.every_ns;
            self.plan();
            self.due_ns = self.due_ns.max(now_ns);
        }
        if self.due_ns > now_ns {
            return None;
        }
        let waits = |one: &Option<Move>| one.is_some_and(|one| one.is_waiting);
        let slot = match self.moving.iter().position(waits) {
            Some(slot) => slot,
            None => {
                let slot = self.moving.iter().position(Option::is_none)?;
                self.moving[slot] = Some(self.queue.pop_front()?);
                slot
            }
        };
        self.due_ns = now_ns + self.pace.duration_ns(self.chunk_bytes());
        self.moving[slot].as_mut()?.is_waiting = false;
        let io = self.chunk(slot, Direction::Read)?;
        Some((TIER_TAGS.start + slot as u32, io))
    }

    fn chunk_bytes(&self) -> u64 {
        CHUNK_BYTES.min(self.extent_bytes)
    }

    /// I/O of the next chunk of a move: its read where the extent lies, or its write where it goes.
    fn chunk(&self, slot: usize, direction: Direction) -> Option<Io> {
        let one = self.moving[slot]?;
        let is_read = direction == Direction::Read;
        let (home_set, home_bytes) = self.home(one.leaves.or(one.enters)?);
        let is_at_home = one.leaves.is_some() != is_read;
        let (set, first_bytes) = match is_at_home {
            true => (home_set, home_bytes),
            false => (self.set, u64::from(one.place) * self.extent_bytes),
        };
        Some(Io::internal(direction, set, first_bytes + one.copied_bytes, self.chunk_bytes()))
    }

    /// A chunk has been read or written; returns the write that follows a read.
    fn chunk_done(&mut self, now_ns: u64, slot: usize, direction: Direction, is_lost: bool) -> Option<Io> {
        self.due_ns = self.due_ns.max(now_ns);
        if is_lost {
            // The extent stays where it is.
            self.tally.failed_moves += 1;
            self.moving[slot] = None;
            return None;
        }
        if direction == Direction::Read {
            return self.chunk(slot, Direction::Write);
        }
        let chunk_bytes = self.chunk_bytes();
        let one = self.moving[slot].as_mut()?;
        (one.copied_bytes, one.is_waiting) = (one.copied_bytes + chunk_bytes, true);
        if one.copied_bytes < self.extent_bytes {
            return None;
        }
        one.copied_bytes = 0;
        if let Some(extent) = one.leaves.take() {
            self.places.set(u64::from(extent), 0);
            self.occupants[one.place as usize] = 0;
            self.tally.demoted_bytes += self.extent_bytes;
        } else if let Some(extent) = one.enters.take() {
            self.places.set(u64::from(extent), one.place + 1);
            self.occupants[one.place as usize] = extent + 1;
            self.tally.promoted_bytes += self.extent_bytes;
            self.moving[slot] = None;
        }
        None
    }

    pub fn count_into(&self, counters: &mut Counters) {
        let held = self.occupants.iter().filter(|occupant| **occupant > 0).count() as u64;
        let left = self.queue.len() + self.moving.iter().flatten().count();
        for (name, value) in [
            ("hits", self.tally.hits),
            ("misses", self.tally.misses),
            ("plans", self.tally.plans),
            ("promoted_bytes", self.tally.promoted_bytes),
            ("demoted_bytes", self.tally.demoted_bytes),
            ("failed_moves", self.tally.failed_moves),
            ("fill_bytes", held * self.extent_bytes),
            ("fill_moves", left as u64),
        ] {
            counters.add("tier", name, value);
        }
    }
}

impl Model {
    /// Begins to move the next chunk between tier and home, if one is due.
    pub(super) fn move_next(&mut self) {
        let now_ns = self.now_ns;
        let tier = self.services.as_mut().and_then(|services| services.tier.as_mut());
        if let Some((tag, io)) = tier.and_then(|tier| tier.next_read(now_ns)) {
            self.begin_move(tag, io);
        }
    }

    fn begin_move(&mut self, tag: u32, io: Io) {
        let controller = (io.offset_bytes / CHUNK_BYTES % self.own_controllers as u64) as u16;
        let command = self.make_io(controller, controller, tag, io);
        self.begin_internal(command);
    }

    /// A chunk of an extent that moves has been read or written.
    pub(super) fn chunk_done(&mut self, command: Command) {
        let Command { tag, direction, is_lost, .. } = command;
        let now_ns = self.now_ns;
        let tier = self.services.as_mut().and_then(|services| services.tier.as_mut());
        let slot = (tag - TIER_TAGS.start) as usize;
        if let Some(write) = tier.and_then(|tier| tier.chunk_done(now_ns, slot, direction, is_lost)) {
            self.begin_move(tag, write);
        }
    }
}
