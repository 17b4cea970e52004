//! Send cost: how early to begin a reply so that the kernel has it in time.
//!
//! Handing a reply over takes the kernel tens of microseconds where it has to wake the client's processor for it. The
//! quickest of the last times is what every reply needs, so sending begins that much earlier. The model then runs ahead
//! of the clock by as much, which a request that arrives meanwhile would be timed wrongly by; so it is done only for a reply that
//! nothing else is under way beside.

use super::recent_window::RecentWindow;
use std::time::Duration;

/// Sending never begins earlier than this.
const AHEAD_LIMIT: Duration = Duration::from_micros(40);

/// Recent cost of sending one reply.
#[derive(Debug)]
pub(super) struct SendCost {
    took: RecentWindow,
}

impl SendCost {
    pub(super) fn new() -> Self {
        SendCost { took: RecentWindow::new(Duration::ZERO) }
    }

    /// Returns how much before its moment a reply is begun.
    pub(super) fn ahead(&self, under_way: usize) -> Duration {
        if under_way == 1 { self.took.covering(1).min(AHEAD_LIMIT) } else { Duration::ZERO }
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.took.add(time);
    }
}

#[cfg(test)]
mod tests {
    use super::super::recent_window::REMEMBERED;
    use super::*;

    /// Proves that no reply is begun so early that it could be with the kernel before its moment, as long as sending takes
    /// what it took lately, and none at all before that is known or where others are under way.
    #[test]
    fn no_reply_is_early() {
        let mut sending = SendCost::new();
        let us = Duration::from_micros;
        sending.took(us(20));
        assert_eq!(sending.ahead(1), Duration::ZERO);
        for number in 0..REMEMBERED as u64 {
            sending.took(us(20 + number % 7));
        }
        assert_eq!((sending.ahead(1), sending.ahead(0), sending.ahead(2)), (us(20), us(0), us(0)));
        sending.took(us(3));
        assert_eq!(sending.ahead(1), us(3));
        for _ in 0..REMEMBERED {
            sending.took(us(500));
        }
        assert_eq!(sending.ahead(1), AHEAD_LIMIT);
    }
}
