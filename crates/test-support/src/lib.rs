//! Waiting for conditions, statistics of tests in real time, full counts, and an NBD server.

#![doc = include_str!("../README.md")]

mod nbdkit;

pub use nbdkit::Nbdkit;

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Time between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Returns whether tests run in full, as `make test-long` has them do by `ARRAYLAB_LONG=1`; otherwise counts are a tenth, more or less.
pub fn is_long() -> bool {
    std::env::var_os("ARRAYLAB_LONG").is_some_and(|value| value == "1")
}

/// Waits until a condition holds.
///
/// # Panics
///
/// By its name where it does not within the limit.
pub fn wait_until(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Statistic of a test in real time: how many of how many rounds may fall outside, and why.
#[derive(Debug, Clone, Copy)]
pub struct Statistic {
    /// Number of rounds.
    pub rounds: usize,
    /// Number of them that may fall outside.
    pub outside_at_most: usize,
    /// Reason why some may.
    pub because: &'static str,
}

impl Statistic {
    /// Runs rounds, by their number, until as many are within as have to be. The error of a round is what it showed instead.
    ///
    /// # Panics
    ///
    /// With all that fell outside, where those are too many.
    pub fn check<E: Debug>(&self, mut round: impl FnMut(usize) -> Result<(), E>) {
        let Statistic { rounds, outside_at_most, because } = self;
        let (mut within, mut outside) = (0, Vec::new());
        while within < rounds - outside_at_most {
            match round(within + outside.len()) {
                Ok(()) => within += 1,
                Err(seen) => outside.push(seen),
            }
            assert!(
                outside.len() <= *outside_at_most,
                "more than {outside_at_most} of {rounds} rounds fell outside ({because}): {outside:#?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_OF_FIVE: Statistic = Statistic { rounds: 5, outside_at_most: 2, because: "a test" };

    /// Proves that rounds end when enough are within, that those which may fall outside are no failure, and that one more is.
    #[test]
    fn rounds_are_counted() {
        let rounds = |within: &[bool]| {
            let mut ran = 0;
            TWO_OF_FIVE.check(|number| {
                ran += 1;
                if within[number] { Ok(()) } else { Err("outside") }
            });
            ran
        };
        assert_eq!(rounds(&[true, true, true]), 3);
        assert_eq!(rounds(&[false, true, false, true, true]), 5);
        let failed = std::panic::catch_unwind(|| rounds(&[false, true, false, false]));
        let message = *failed.unwrap_err().downcast::<String>().unwrap();
        assert!(message.starts_with("more than 2 of 5 rounds fell outside (a test)"), "{message}");
    }

    /// Proves that a condition which never holds is named.
    #[test]
    fn what_never_comes_is_named() {
        let failed = std::panic::catch_unwind(|| wait_until(Duration::ZERO, "the array is back", || false));
        let message = *failed.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, "not within 0ns: the array is back");
    }
}
