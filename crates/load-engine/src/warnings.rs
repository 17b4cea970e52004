//! Warnings where the delivered load differs from the requested one.

use load::LoadSpec;

use crate::Interface;
use crate::outcome::{Ended, RingOutcome};
use crate::threads::THREADS_LIMIT;

/// A delivered rate this far below the offered one is worth a warning.
const SHORTFALL_WARNING: f64 = 0.01;
/// An engine that is later than this for 1 % of the I/Os is worth a warning.
const LATENESS_WARNING_NS: u64 = 1_000_000;

/// Adds what there is to say of an outcome.
pub(crate) fn warn(outcome: &mut RingOutcome, spec: &LoadSpec, workers: u32) {
    let seconds = outcome.runtime_ns as f64 / 1e9;
    let delivered = outcome.delivered_ios() as f64;
    let wanted =
        outcome.offered_ios.map(|offered| offered as f64).or(spec.rate_iops.map(|rate| rate * seconds));
    if let Some(wanted) = wanted
        && outcome.ended == Ended::Completed
        && delivered < wanted * (1.0 - SHORTFALL_WARNING)
    {
        outcome.warnings.push(format!(
            "{:.0} I/Os were asked for and {delivered:.0} delivered ({:.1} %): the target, the depth or this host is too slow \
             for the rate",
            wanted,
            100.0 * delivered / wanted
        ));
    }
    if outcome.lateness.percentile_ns(990_000) > LATENESS_WARNING_NS {
        outcome.warnings.push(format!(
            "1 % of the I/Os were issued more than {} µs after their moment though a place was free: this host is busy, and the \
             wait is in their latency",
            outcome.lateness.percentile_ns(990_000) / 1000
        ));
    }
    if outcome.stuck_ios > 0 {
        outcome.warnings.push(format!(
            "{} I/Os were never answered and could not be given up: the device hangs",
            outcome.stuck_ios
        ));
    }
    if outcome.interface == Interface::Threads {
        let slots = spec.outstanding().div_ceil(u64::from(workers));
        if slots > THREADS_LIMIT as u64 {
            outcome.warnings.push(format!(
                "a worker has {THREADS_LIMIT} threads for {slots} I/Os in flight: the device sees less depth than asked for"
            ));
        }
    }
    if let Some(content) = outcome.content {
        outcome.warnings.extend(content.differs_from(spec.shape.content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{DirectionSample, LoadShape, Pattern};

    fn warnings_of(offered_ios: u64, delivered_ios: u64) -> Vec<String> {
        let read = DirectionSample { ios: delivered_ios, ..DirectionSample::default() };
        let mut outcome = RingOutcome {
            runtime_ns: 1_000_000_000,
            read,
            offered_ios: Some(offered_ios),
            issued_ios: delivered_ios,
            ..RingOutcome::empty(Interface::IoUring)
        };
        let spec = LoadSpec {
            pattern: Pattern::Randread,
            rwmixread: 100,
            bs_bytes: 4096,
            numjobs: 1,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 1_000_000_000,
            interval_ns: 1_000_000_000,
            seed: 1,
            shape: LoadShape::default(),
        };
        warn(&mut outcome, &spec, 1);
        outcome.warnings
    }

    /// Proves that a shortfall is warned of with both numbers from 1 % on, and not before.
    #[test]
    fn a_shortfall_is_warned_of_from_one_percent() {
        let shown = warnings_of(10_000, 9_899);
        assert!(shown[0].starts_with("10000 I/Os were asked for and 9899 delivered (99.0 %)"), "{shown:?}");
        assert_eq!(warnings_of(10_000, 9_900), Vec::<String>::new());
        assert_eq!(warnings_of(10_000, 10_000), Vec::<String>::new());
    }
}
