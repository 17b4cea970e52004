//! Sliding window of recent durations.

use std::time::Duration;

/// So many of the last times are remembered.
pub(super) const REMEMBERED: usize = 64;

/// The last [`REMEMBERED`] times.
#[derive(Debug)]
pub(super) struct RecentWindow {
    times: [Duration; REMEMBERED],
    next: usize,
}

impl RecentWindow {
    /// As if it had always taken this long.
    pub(super) fn new(guess: Duration) -> Self {
        RecentWindow { times: [guess; REMEMBERED], next: 0 }
    }

    pub(super) fn add(&mut self, time: Duration) {
        self.times[self.next] = time;
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// So many of the remembered times, at least one, were no longer than this.
    pub(super) fn covering(&self, times: usize) -> Duration {
        let mut sorted = self.times;
        *sorted.select_nth_unstable(times.clamp(1, REMEMBERED) - 1).1
    }
}
