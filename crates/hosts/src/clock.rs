//! Offset of another host's clock, from round trips: the shortest says it best.
//!
//! A message sent at `a`, stamped at `b` by the other clock and answered at `c` bounds the offset: `b - c ≤ offset ≤ b - a`.
//! The middle is off by half the round trip at most (NTP, RFC 5905, takes the same one).

use std::collections::VecDeque;

/// Round trips that are kept: clocks drift, so that old ones say less.
const TRIPS_LIMIT: usize = 256;

/// One round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trip {
    round_trip_ns: u64,
    offset_ns: i64,
}

/// What is known of the offset of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The other clock less this one.
    pub offset_ns: i64,
    /// The round trip that says so: the offset is off by half of it at most.
    pub round_trip_ns: u64,
}

/// Round trips to one host.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset {
    trips: VecDeque<Trip>,
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
        self.trips.push_back(Trip { round_trip_ns: answered_ns - sent_ns, offset_ns });
    }

    /// The offset by the shortest of the kept round trips.
    pub fn estimate(&self) -> Option<ClockEstimate> {
        let best = self.trips.iter().min_by_key(|trip| trip.round_trip_ns)?;
        Some(ClockEstimate { offset_ns: best.offset_ns, round_trip_ns: best.round_trip_ns })
    }

    /// Forgets what was measured, so that the next estimate is of now.
    pub fn clear(&mut self) {
        self.trips.clear();
    }

    /// How many round trips are kept.
    pub fn len(&self) -> usize {
        self.trips.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.trips.is_empty()
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
        /// Proves that the estimate is off by half the shortest round trip at most, whatever the delays of both ways.
        #[test]
        fn the_error_is_at_most_half_the_shortest_trip(
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
            let estimate = clock.estimate().unwrap();
            let shortest = delays.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(estimate.round_trip_ns, shortest);
            prop_assert!(estimate.offset_ns.abs_diff(offset) <= shortest / 2 + 1);
        }

        /// Proves that any stamps are taken without a panic, and that moments go there and back.
        #[test]
        fn any_stamps_are_taken(sent in any::<u64>(), stamped in any::<u64>(), answered in any::<u64>()) {
            let mut clock = ClockOffset::default();
            clock.add(sent, stamped, answered);
            if let Some(estimate) = clock.estimate() {
                let there = estimate.there_ns(1 << 62);
                if there > 0 && there < u64::MAX {
                    prop_assert_eq!(estimate.here_ns(there), 1 << 62);
                }
            }
        }
    }

    /// Proves that old round trips give way, so that a clock that has drifted is seen.
    #[test]
    fn old_trips_give_way() {
        let mut clock = ClockOffset::default();
        clock.add(0, 5, 10);
        for trip in 0..TRIPS_LIMIT as u64 {
            clock.add(100 * trip, 100 * trip + 1_000_050, 100 * trip + 100);
        }
        assert_eq!(clock.estimate(), Some(ClockEstimate { offset_ns: 1_000_000, round_trip_ns: 100 }));
        assert_eq!(clock.len(), TRIPS_LIMIT);
        clock.clear();
        assert!(clock.is_empty() && clock.estimate().is_none());
    }
}
