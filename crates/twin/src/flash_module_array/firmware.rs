//! A firmware update under load, step by step.

use super::FirmwareUpdate;

/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;

/// Where an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Controller so-and-so leaves.
    Leave(u32),
    /// Controller so-and-so comes back.
    Return(u32),
    /// The verification reads the next stripe.
    Verify,
}

/// The course of an update.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    pub away_ns: u64,
    pub gap_ns: u64,
    pub failover_ns: u64,
    /// Between two stripes of the verification.
    pub stripe_ns: u64,
    /// Stripes that it reads.
    pub stripes: u64,
    /// Stripes still to read.
    pub stripes_left: u64,
    /// One controller leaves and comes back, and that is all.
    pub is_failover: bool,
}

impl Update {
    pub fn new(description: &FirmwareUpdate, segment_bytes: u64) -> Self {
        let nanos = |seconds: f64| (seconds * SECOND_NS).round() as u64;
        let stripes = description.verification_bytes.get() / segment_bytes;
        Update {
            away_ns: nanos(description.controller_away_s.get()),
            gap_ns: nanos(description.controller_gap_s.get()),
            failover_ns: nanos(description.path_failover_s.get()),
            stripe_ns: (segment_bytes as f64 * 1000.0 / description.verification_mb_per_s.get()).round()
                as u64,
            stripes,
            stripes_left: 0,
            is_failover: false,
        }
    }
}
