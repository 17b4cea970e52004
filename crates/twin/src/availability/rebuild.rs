//! Rebuild scheduler: stripes in parallel, and an upper limit of the rate.

use super::pace::Pace;
use std::ops::Range;

/// Delay, concurrency and rate of a rebuild.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rebuild {
    /// Seconds from the loss of a drive until the rebuild begins.
    pub begins_after_s: f64,
    /// Stripes that are rebuilt at the same time.
    pub stripes: u32,
    /// Highest rate of the rebuild, in 10^6 rebuilt bytes a second.
    pub mb_per_s: f64,
}

/// Next step of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RebuildStep {
    /// Begins this stripe.
    Stripe(u64),
    /// Is asked again at this moment, and not before.
    At(u64),
    /// Waits for what is under way, or has nothing to do.
    Rest,
}

/// Scheduler of a rebuild over a range of stripes.
#[derive(Debug, Clone)]
pub(crate) struct RebuildScheduler {
    begins_after_ns: u64,
    stripes_limit: u32,
    /// Between the starts of two stripes.
    pace_ns: u64,
    next_allowed_ns: u64,
    timer_is_set: bool,
    under_way: u32,
    stripes: Range<u64>,
    is_running: bool,
    /// Ranges that were begun, and whether the present one is to be.
    begun: u64,
    is_to_begin: bool,
    /// Pace at which its stripes are begun.
    pub pace: Pace,
}

impl RebuildScheduler {
    pub fn new(description: &Rebuild, segment_bytes: u32) -> RebuildScheduler {
        RebuildScheduler {
            begins_after_ns: (description.begins_after_s * 1e9) as u64,
            stripes_limit: description.stripes,
            pace_ns: (f64::from(segment_bytes) * 1000.0 / description.mb_per_s) as u64,
            next_allowed_ns: 0,
            timer_is_set: false,
            under_way: 0,
            stripes: 0..0,
            is_running: false,
            begun: 0,
            is_to_begin: false,
            pace: Pace::default(),
        }
    }

    /// Begins with a range of stripes, from its first again if one was under way. Returns the moment from which on it
    /// is to be asked for its turns, unless it is to be asked already.
    pub fn begin(&mut self, now_ns: u64, stripes: Range<u64>) -> Option<u64> {
        self.stripes = stripes;
        self.is_running = true;
        self.is_to_begin = true;
        self.pace = Pace::default();
        let is_set = std::mem::replace(&mut self.timer_is_set, true);
        (!is_set).then_some(now_ns + self.begins_after_ns)
    }

    /// Goes on with another range, at once.
    pub fn go_on_with(&mut self, stripes: Range<u64>) {
        self.stripes = stripes;
    }

    /// Ends; what is under way comes to its end and is not counted.
    pub fn stop(&mut self) {
        self.is_running = false;
    }

    /// Returns whether it runs or is about to begin.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The moment that was asked for has come.
    pub fn timer_is_due(&mut self) {
        self.timer_is_set = false;
    }

    /// Returns what is to be done next.
    pub fn turn(&mut self, now_ns: u64) -> RebuildStep {
        let rests = !self.is_running || self.timer_is_set || self.under_way >= self.stripes_limit;
        if rests || self.stripes.is_empty() {
            return RebuildStep::Rest;
        }
        if self.next_allowed_ns > now_ns {
            self.timer_is_set = true;
            return RebuildStep::At(self.next_allowed_ns);
        }
        self.next_allowed_ns = self.next_allowed_ns.max(now_ns) + self.pace_ns;
        self.under_way += 1;
        self.begun += u64::from(std::mem::take(&mut self.is_to_begin));
        self.pace.has_begun(now_ns);
        self.stripes.next().map_or(RebuildStep::Rest, RebuildStep::Stripe)
    }

    /// Returns how often a first stripe was begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Stripes of the range that were not begun yet.
    pub fn left(&self) -> u64 {
        self.stripes.end.saturating_sub(self.stripes.start)
    }

    /// Counts the next stripes of the range as begun and whole.
    pub fn skip(&mut self, stripes: u64) {
        self.stripes.start = (self.stripes.start + stripes).min(self.stripes.end);
    }

    /// A stripe that was begun is whole. True where the range is done with it.
    pub fn stripe_is_whole(&mut self) -> bool {
        self.under_way -= 1;
        self.is_running && self.under_way == 0 && self.stripes.is_empty()
    }

    /// Stripes of the range below this one are whole: stripes end in the order of their beginning, or nearly.
    pub fn whole_below(&self) -> u64 {
        self.stripes.start.saturating_sub(u64::from(self.under_way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failover() -> RebuildScheduler {
        let description = Rebuild { begins_after_s: 2.0, stripes: 2, mb_per_s: 1.0 };
        RebuildScheduler::new(&description, 1000)
    }

    /// Proves that a rebuild begins when it may, keeps to its rate and to its stripes at a time, and ends with its last.
    #[test]
    fn a_rebuild_keeps_its_pace() {
        let mut failover = failover();
        assert_eq!(failover.begin(0, 10..13), Some(2_000_000_000));
        assert_eq!(failover.turn(1), RebuildStep::Rest);
        failover.timer_is_due();
        let now_ns = 2_000_000_000;
        assert_eq!(failover.turn(now_ns), RebuildStep::Stripe(10));
        // A thousand bytes at 10^6 a second.
        assert_eq!(failover.turn(now_ns), RebuildStep::At(now_ns + 1_000_000));
        assert_eq!(failover.turn(now_ns + 500_000), RebuildStep::Rest);
        failover.timer_is_due();
        assert_eq!(failover.turn(now_ns + 1_000_000), RebuildStep::Stripe(11));
        assert_eq!(failover.turn(now_ns + 9_000_000), RebuildStep::Rest);
        assert_eq!(failover.whole_below(), 10);
        assert!(!failover.stripe_is_whole());
        assert_eq!(failover.whole_below(), 11);
        assert_eq!(failover.turn(now_ns + 9_000_000), RebuildStep::Stripe(12));
        assert!(!failover.stripe_is_whole());
        assert!(failover.stripe_is_whole());
    }

    /// Proves that the pace of a rebuild is known from what it did, that stripes of skipped time keep to it whatever the lengths of
    /// skips, and that another rebuild has a pace of its own.
    #[test]
    fn skipped_stripes_keep_the_pace() {
        let mut rebuild = failover();
        rebuild.begin(0, 0..100_000);
        rebuild.timer_is_due();
        assert_eq!(rebuild.begun(), 0, "it waits");
        assert_eq!((rebuild.pace.time_for_ns(1), rebuild.pace.stripes_in(1_000_000_000)), (None, 0));
        for stripe in 0..=super::super::pace::MEASURED_STRIPES {
            let now_ns = 2_000_000_000 + stripe * 1_000_000;
            assert_eq!(rebuild.turn(now_ns), RebuildStep::Stripe(stripe));
            rebuild.stripe_is_whole();
            rebuild.timer_is_due();
        }
        assert_eq!(rebuild.begun(), 1);
        assert_eq!(rebuild.pace.time_for_ns(rebuild.left()), Some((100_000 - 101) * 1_000_000));
        let skipped: u64 = [1_700_000u64; 1000].into_iter().map(|ns| rebuild.pace.stripes_in(ns)).sum();
        assert_eq!(skipped, 1700);
        rebuild.skip(skipped);
        assert_eq!((rebuild.whole_below(), rebuild.left()), (1801, 100_000 - 1801));
        rebuild.skip(u64::from(u32::MAX));
        assert_eq!(rebuild.left(), 0);
        rebuild.pace.measure_anew();
        assert_eq!(rebuild.pace.time_for_ns(1), Some(1_000_000), "as before");
        rebuild.begin(0, 0..100_000);
        assert_eq!(rebuild.pace.time_for_ns(1), None);
    }

    /// Proves that a rebuild that begins again with stripes under way counts these and does not end before its own.
    #[test]
    fn a_rebuild_may_begin_again() {
        let mut failover = failover();
        failover.begin(0, 0..2);
        failover.timer_is_due();
        assert_eq!(failover.turn(0), RebuildStep::Stripe(0));
        failover.begin(5, 0..2);
        assert_eq!(failover.whole_below(), 0);
        assert!(!failover.stripe_is_whole());
        failover.stop();
        assert!(!failover.is_running());
    }
}
