//! Availability of drives, and replicas that have missed writes.

use std::collections::BTreeSet;

/// State of a drive: whether it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    /// Its service does not run; what it holds is still there.
    Stopped,
    /// It and what it held are gone.
    Failed,
}

/// A replica: its drive, volume and object.
type Replica = (u32, u32, u32);

/// The state of every drive.
#[derive(Debug, Clone)]
pub(crate) struct Availability {
    states: Box<[State]>,
    /// Replicas that lack writes, on drives that serve or are to serve again.
    stale: BTreeSet<Replica>,
}

impl Availability {
    pub fn new(drives: u32) -> Self {
        Availability { states: vec![State::Up; drives as usize].into(), stale: BTreeSet::new() }
    }

    /// Returns whether a drive takes reads and writes.
    #[inline]
    pub fn is_up(&self, drive: u32) -> bool {
        self.states[drive as usize] == State::Up
    }

    /// Returns whether a drive and all it held are gone.
    #[inline]
    pub fn is_lost(&self, drive: u32) -> bool {
        self.states[drive as usize] == State::Failed
    }

    /// Returns whether a replica can be read.
    #[inline]
    pub fn serves(&self, drive: u32, volume: u32, object: u32) -> bool {
        self.is_up(drive) && (self.stale.is_empty() || !self.stale.contains(&(drive, volume, object)))
    }

    /// A drive and what it holds are gone.
    pub fn fail(&mut self, drive: u32) {
        self.states[drive as usize] = State::Failed;
        self.stale.retain(|&(stale, _, _)| stale != drive);
    }

    /// A drive that is not gone serves, or does not.
    pub fn set_running(&mut self, drive: u32, is_running: bool) {
        if !self.is_lost(drive) {
            self.states[drive as usize] = if is_running { State::Up } else { State::Stopped };
        }
    }

    /// An empty drive takes the place of one that is gone.
    pub fn replace(&mut self, drive: u32) {
        self.states[drive as usize] = State::Up;
    }

    /// A replica misses a write, unless it is gone anyway.
    pub fn miss(&mut self, drive: u32, volume: u32, object: u32) {
        if !self.is_lost(drive) {
            self.stale.insert((drive, volume, object));
        }
    }

    /// Returns whether a replica lacks writes that it can be given.
    #[inline]
    pub fn can_catch_up(&self, drive: u32, volume: u32, object: u32) -> bool {
        !self.stale.is_empty() && self.is_up(drive) && self.stale.contains(&(drive, volume, object))
    }

    /// A replica has everything, or is no more.
    pub fn forget(&mut self, drive: u32, volume: u32, object: u32) {
        self.stale.remove(&(drive, volume, object));
    }

    /// Replicas of a drive that lack writes.
    pub fn stale_on(&self, drive: u32) -> usize {
        self.stale.range((drive, 0, 0)..(drive + 1, 0, 0)).count()
    }
}
