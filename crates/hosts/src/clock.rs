//! Offset of another host's clock, from round trips: the shortest says it best.
//!
//! A message sent at `a`, stamped at `b` by the other clock and answered at `c` bounds the offset: `b - c ≤ offset ≤ b - a`.
//! The middle is off by half the round trip at most, and by what the clocks have drifted apart since (the clock filter of
//! NTP, RFC 5905 section 10, weighs the same two).

use std::collections::VecDeque;

/// Round trips that are kept: clocks drift, so that old ones say less.
const TRIPS_LIMIT: usize = 256;
/// Largest drift between two clocks, in parts of a million: the frequency tolerance PHI of RFC 5905.
const DRIFT_PPM: u64 = 15;

/// One round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trip {
    round_trip_ns: u64,
    offset_ns: i64,
    answered_ns: u64,
}

impl Trip {
    /// Returns the error bound of its offset at a given time, in nanoseconds.
    fn error_ns(&self, now_ns: u64) -> u64 {
        let age_ns = now_ns.saturating_sub(self.answered_ns);
        (self.round_trip_ns / 2).saturating_add((age_ns / 1_000_000).saturating_mul(DRIFT_PPM))
    }
}

/// Estimate of a clock's offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The other clock less this one.
    pub offset_ns: i64,
    /// The round trip that says so.
    pub round_trip_ns: u64,
    /// Error bound of the offset: half the round trip, and the drift of the clocks since.
    pub error_ns: u64,
}

/// Round trips to one host.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset {
    trips: VecDeque<Trip>,
    added: u64,
}

impl ClockOffset {
    /// Adds a round trip: sent and answered by this clock, stamped by the other.
    pub fn add(&mut self, sent_ns: u64, stamped_ns: u64, answered_ns: u64) {
        if answered_ns < sent_ns {
            return;
        }
        if self.trips.len() == TRIPS_LIMIT {
            self.trips.pop_front();
        }
        let middle = i128::from(sent_ns) + i128::from(answered_ns - sent_ns) / 2;
        let offset = i128::from(stamped_ns) - middle;
        let offset_ns = offset.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        self.trips.push_back(Trip { round_trip_ns: answered_ns - sent_ns, offset_ns, answered_ns });
        self.added += 1;
    }

    /// The offset at a moment, by the kept round trip that says it best.
    pub fn estimate(&self, now_ns: u64) -> Option<ClockEstimate> {
        let best = self.trips.iter().min_by_key(|trip| trip.error_ns(now_ns))?;
        Some(ClockEstimate {
            offset_ns: best.offset_ns,
            round_trip_ns: best.round_trip_ns,
            error_ns: best.error_ns(now_ns),
        })
    }

    /// Returns the number of round trips that were ever added.
    pub fn added(&self) -> u64 {
        self.added
    }
}

impl ClockEstimate {
    /// A moment of this clock as the other shows it.
    pub fn there_ns(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.offset_ns)
    }

    /// A moment of the other clock as this one shows it.
    pub fn here_ns(&self, there_ns: u64) -> u64 {
        let here = i128::from(there_ns) - i128::from(self.offset_ns);
        here.clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that the estimate is off by no more than it says, whatever the delays of both ways, and that it says no more
        /// than half the shortest round trip and the drift since.
        #[test]
        fn the_error_is_at_most_what_is_said(
            offset in -10_000_000_000i64..10_000_000_000,
            delays in prop::collection::vec((0u64..50_000_000, 0u64..50_000_000), 1..100),
        ) {
            let mut clock = ClockOffset::default();
            let mut now = 100_000_000_000u64;
            for (there, back) in &delays {
                let stamped = (now + there).saturating_add_signed(offset);
                clock.add(now, stamped, now + there + back);
                now += there + back + 1_000_000;
            }
            let estimate = clock.estimate(now).unwrap();
            let shortest = delays.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert!(estimate.offset_ns.abs_diff(offset) <= estimate.error_ns + 1);
            prop_assert!(estimate.error_ns <= shortest / 2 + (now - 100_000_000_000) / 1_000_000 * DRIFT_PPM);
        }

        /// Proves that any stamps are taken without a panic, and that moments go there and back.
        #[test]
        fn any_stamps_are_taken(sent in any::<u64>(), stamped in any::<u64>(), answered in any::<u64>()) {
            let mut clock = ClockOffset::default();
            clock.add(sent, stamped, answered);
            if let Some(estimate) = clock.estimate(answered) {
                let there = estimate.there_ns(1 << 62);
                if there > 0 && there < u64::MAX {
                    prop_assert_eq!(estimate.here_ns(there), 1 << 62);
                }
            }
        }
    }

    /// Proves that a short round trip counts more than a longer one after it, until the clocks may have drifted further than
    /// the longer one is wrong; and that only so many are kept.
    #[test]
    fn old_trips_give_way() {
        let mut clock = ClockOffset::default();
        assert_eq!(clock.estimate(0), None);
        clock.add(0, 50_000, 100_000);
        // A host that was kept from its processor on one way: 70 ms off.
        clock.add(1_000_000_000, 1_140_000_000, 1_140_000_000);
        let after = clock.estimate(1_140_000_000).unwrap();
        assert_eq!(
            (after.offset_ns, after.round_trip_ns, after.error_ns),
            (0, 100_000, 50_000 + 1139 * DRIFT_PPM)
        );
        let much_later_ns = 20_000_000_000;
        clock.add(much_later_ns, much_later_ns + 300_000, much_later_ns + 400_000);
        let after = clock.estimate(much_later_ns + 400_000).unwrap();
        assert_eq!((after.offset_ns, after.error_ns), (100_000, 200_000));
        (0..2 * TRIPS_LIMIT as u64).for_each(|trip| clock.add(trip, trip, trip + 1));
        assert_eq!((clock.trips.len(), clock.added()), (TRIPS_LIMIT, 3 + 2 * TRIPS_LIMIT as u64));
    }
}
