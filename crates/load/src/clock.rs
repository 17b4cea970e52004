//! Clocks that pace simulated time: as fast as possible, or by the wall clock.
//!
//! Whoever simulates asks the clock before it lets anything out: a sample at the end of its interval, a served array's reply at
//! its own moment. What is simulated meanwhile knows nothing of it, so results are the same with either clock, and asking
//! costs nothing between two samples.

use std::ops::{ControlFlow, RangeInclusive};
use std::time::{Duration, Instant};

/// The speed of the wall clock itself, in millionths.
pub const REAL_SPEED: u64 = 1_000_000;

/// Range of the speed of simulated time, as a multiple of the wall clock's.
pub const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;

/// A speed in millionths of the wall clock's; `None` outside [`SPEEDS`].
pub fn speed_millionths(speed: f64) -> Option<u64> {
    SPEEDS.contains(&speed).then(|| (speed * REAL_SPEED as f64).round() as u64)
}

/// Wall-clock time at which a simulated time is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeTime {
    /// At once, as soon as it is asked for.
    AtOnce,
    /// Wall-clock time.
    At(Instant),
    /// Never.
    Never,
}

/// Clock that paces simulated time. Times are nanoseconds since its start.
pub trait Clock {
    /// Wall-clock time at which simulated time `at_ns` is reached.
    fn wake_time(&self, at_ns: u64) -> WakeTime;

    /// Waits until a moment of simulated time has come; how late that was noticed. `rest` is what the caller does meanwhile: it
    /// is told how much time is left, `None` for no end, may come back earlier, and may break off the wait.
    #[inline]
    fn wait_until(
        &self,
        at_ns: u64,
        mut rest: impl FnMut(Option<Duration>) -> ControlFlow<()>,
    ) -> ControlFlow<(), Duration> {
        let moment = match self.wake_time(at_ns) {
            WakeTime::AtOnce => return ControlFlow::Continue(Duration::ZERO),
            WakeTime::At(moment) => Some(moment),
            WakeTime::Never => None,
        };
        loop {
            let now = Instant::now();
            if let Some(moment) = moment.filter(|&moment| moment <= now) {
                return ControlFlow::Continue(now - moment);
            }
            rest(moment.map(|moment| moment - now))?;
        }
    }
}

/// Clock without pacing: simulated time is never waited for.
#[derive(Debug, Clone, Copy)]
pub struct AsFastAsPossible;

impl Clock for AsFastAsPossible {
    #[inline]
    fn wake_time(&self, _at_ns: u64) -> WakeTime {
        WakeTime::AtOnce
    }
}

/// The wall clock, faster or slower.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    start: Instant,
    /// Simulated nanoseconds in a millisecond of ours.
    speed_millionths: u64,
}

impl WallClock {
    /// A clock that starts now; a speed of [`REAL_SPEED`] is that of the wall clock itself, 0 counts as 1.
    pub fn start(speed_millionths: u64) -> Self {
        WallClock { start: Instant::now(), speed_millionths: speed_millionths.max(1) }
    }

    /// Returns the current simulated time.
    pub fn now_ns(&self) -> u64 {
        self.at(Instant::now())
    }

    /// A moment of ours in simulated time; those before the start are the start.
    pub fn at(&self, moment: Instant) -> u64 {
        let elapsed_ns = moment.saturating_duration_since(self.start).as_nanos();
        (elapsed_ns * u128::from(self.speed_millionths) / u128::from(REAL_SPEED)) as u64
    }

    /// Returns the wall-clock time of a simulated time; `None` where it never comes.
    pub fn moment(&self, at_ns: u64) -> Option<Instant> {
        if at_ns == u64::MAX {
            return None;
        }
        // Rounded up: looked at then, the moment has come.
        let elapsed_ns =
            (u128::from(at_ns) * u128::from(REAL_SPEED)).div_ceil(u128::from(self.speed_millionths));
        self.start.checked_add(Duration::from_nanos(u64::try_from(elapsed_ns).ok()?))
    }
}

impl Clock for WallClock {
    #[inline]
    fn wake_time(&self, at_ns: u64) -> WakeTime {
        self.moment(at_ns).map_or(WakeTime::Never, WakeTime::At)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a moment of simulated time is reached when the wall clock reaches the moment given for it, at any speed.
    #[test]
    fn moments_come_when_they_are_said_to() {
        for speed_millionths in [REAL_SPEED / 1000, REAL_SPEED, 3 * REAL_SPEED + 1, 1000 * REAL_SPEED] {
            let clock = WallClock::start(speed_millionths);
            for at_ns in [0, 1, 999, 1_000_000_007, 86_400_000_000_000] {
                let moment = clock.moment(at_ns).unwrap();
                assert!(clock.at(moment) >= at_ns);
                assert!(clock.at(moment) - at_ns <= speed_millionths.div_ceil(REAL_SPEED));
            }
            assert_eq!((clock.moment(u64::MAX), clock.wake_time(u64::MAX)), (None, WakeTime::Never));
        }
    }

    /// Proves that the wall clock keeps time: nobody goes on before a moment has come, what is left is told rightly, and lateness is
    /// what has passed since; a slower clock takes so many times as long.
    #[test]
    fn waits_end_when_their_moment_has_come() {
        for (speed_millionths, times) in [(REAL_SPEED / 2, 2), (REAL_SPEED, 1), (4 * REAL_SPEED, 0)] {
            let begun = Instant::now();
            let clock = WallClock::start(speed_millionths);
            for at_ns in [4_000_000, 8_000_000, 9_000_000] {
                let moment = clock.moment(at_ns).unwrap();
                let waited = clock.wait_until(at_ns, |left| {
                    assert!(left.unwrap() <= moment.saturating_duration_since(begun));
                    std::thread::sleep(left.unwrap());
                    ControlFlow::Continue(())
                });
                let now = Instant::now();
                let late = waited.continue_value().unwrap();
                assert!(moment + late <= now && clock.now_ns() >= at_ns);
            }
            assert!(begun.elapsed() >= Duration::from_millis(9) * times, "{speed_millionths}");
        }
        let clock = WallClock::start(REAL_SPEED);
        std::thread::sleep(Duration::from_millis(5));
        let late = clock.wait_until(1_000_000, |_| ControlFlow::Break(())).continue_value().unwrap();
        assert!(late >= Duration::from_millis(4), "{late:?}");
    }

    /// Proves that a wait can be broken off, also one without an end, and that no clock means no wait.
    #[test]
    fn waits_can_be_broken_off() {
        let clock = WallClock::start(REAL_SPEED);
        assert!(clock.wait_until(1 << 50, |_| ControlFlow::Break(())).is_break());
        let mut looks = 0;
        let waited = clock.wait_until(u64::MAX, |left| {
            looks += 1;
            if looks < 3 && left.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert_eq!((waited, looks), (ControlFlow::Break(()), 3));
        let waited = AsFastAsPossible.wait_until(u64::MAX, |_| ControlFlow::Break(()));
        assert_eq!(waited, ControlFlow::Continue(Duration::ZERO));
    }

    /// Proves that speeds that no clock has are refused.
    #[test]
    fn speeds_have_limits() {
        assert_eq!(
            [0.001, 1.0, 2.5, 1000.0].map(speed_millionths),
            [1_000, 1_000_000, 2_500_000, 1_000_000_000].map(Some)
        );
        assert_eq!([0.0, -1.0, 0.0009, 1000.1, f64::NAN, f64::INFINITY].map(speed_millionths), [None; 6]);
    }
}
