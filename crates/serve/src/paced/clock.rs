//! The wall clock as the twin sees it: nanoseconds since the start, faster or slower.

use std::time::{Duration, Instant};

/// The speed of the wall clock itself, in millionths.
pub(crate) const REAL_SPEED: u64 = 1_000_000;

/// A clock that the twin runs on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// Nanoseconds of the twin in a millisecond of ours.
    speed_millionths: u64,
}

impl Clock {
    pub(crate) fn start(speed_millionths: u64) -> Self {
        Clock { start: Instant::now(), speed_millionths }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.at(Instant::now())
    }

    /// A moment of ours on the twin's clock; those before the start are the start.
    pub(crate) fn at(&self, moment: Instant) -> u64 {
        let elapsed_ns = moment.saturating_duration_since(self.start).as_nanos();
        (elapsed_ns * u128::from(self.speed_millionths) / u128::from(REAL_SPEED)) as u64
    }

    /// When a moment of the twin's clock comes; nothing where it never does.
    pub(crate) fn moment(&self, at_ns: u64) -> Option<Instant> {
        if at_ns == u64::MAX {
            return None;
        }
        // Rounded up: looked at then, the twin's moment has come.
        let elapsed_ns =
            (u128::from(at_ns) * u128::from(REAL_SPEED)).div_ceil(u128::from(self.speed_millionths));
        self.start.checked_add(Duration::from_nanos(u64::try_from(elapsed_ns).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a moment of the twin is reached when the wall clock reaches the moment given for it, at any speed.
    #[test]
    fn moments_come_when_they_are_said_to() {
        for speed_millionths in [REAL_SPEED / 1000, REAL_SPEED, 3 * REAL_SPEED + 1, 1000 * REAL_SPEED] {
            let clock = Clock::start(speed_millionths);
            for at_ns in [0, 1, 999, 1_000_000_007, 86_400_000_000_000] {
                let moment = clock.moment(at_ns).unwrap();
                assert!(clock.at(moment) >= at_ns);
                assert!(clock.at(moment) - at_ns <= speed_millionths.div_ceil(REAL_SPEED));
            }
            assert_eq!(clock.moment(u64::MAX), None);
        }
    }
}
