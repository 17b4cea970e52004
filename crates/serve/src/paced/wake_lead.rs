//! Lead of a wake-up before its time: the recent cost of waking; the rest of the time is polled.
//!
//! A thread that sleeps until a moment wakes later, and by how much is the machine's affair: a few microseconds where its
//! processor is awake, hundreds where a virtual machine's has gone to sleep. So the last wakes are remembered, and the
//! next one is asked for as much earlier as nearly all of them were late. What is polled then is paid for from a budget.

use super::recent_window::RecentWindow;
use std::time::Duration;

/// So many of the remembered wakes were no later than what the next wake is earlier by; the others were out of the ordinary.
const COVERED: usize = 60;
/// Cost that the first ones are taken to have.
const FIRST_GUESS: Duration = Duration::from_micros(30);
/// A host in trouble wakes milliseconds late; it is not burdened further.
const LEAD_LIMIT: Duration = Duration::from_micros(400);
/// So much before a moment is polled whenever waking has cost it: it is what a processor in use needs.
const FREE_LEAD: Duration = Duration::from_micros(60);
/// Polling beyond [`FREE_LEAD`] takes at most a tenth of a core.
const BUDGET_DIVISOR: u32 = 10;
/// The budget of so long can be saved up.
const BUDGET_SAVED: Duration = Duration::from_millis(100);

/// Recent wake-up delays, and the budget for waking earlier.
#[derive(Debug)]
pub(super) struct WakeLead {
    late: RecentWindow,
    budget: Duration,
    /// Until when the budget has been counted, from the thread's start.
    counted_until: Duration,
}

impl WakeLead {
    pub(super) fn new() -> Self {
        let budget = BUDGET_SAVED / BUDGET_DIVISOR;
        WakeLead { late: RecentWindow::new(FIRST_GUESS), budget, counted_until: Duration::ZERO }
    }

    /// Returns how long before a moment to wake, and to poll from then on; `now` counts from the thread's start.
    pub(super) fn lead(&mut self, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.counted_until);
        self.counted_until = now;
        self.budget = (self.budget + passed / BUDGET_DIVISOR).min(BUDGET_SAVED / BUDGET_DIVISOR);
        self.late.covering(COVERED).min(LEAD_LIMIT).min(FREE_LEAD + self.budget)
    }

    /// The clock has woken the thread so much later than it was to.
    pub(super) fn woke_late(&mut self, late: Duration) {
        self.late.add(late);
    }

    /// The thread has polled for so long before a moment.
    pub(super) fn polled(&mut self, polled: Duration) {
        self.budget = self.budget.saturating_sub(polled.saturating_sub(FREE_LEAD));
    }
}

#[cfg(test)]
mod tests {
    use super::super::recent_window::REMEMBERED;
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// A machine on a clock of its own: each wake is delayed by what `late` says.
    struct Machine {
        waking: WakeLead,
        now: Duration,
        polled_beyond: Duration,
    }

    impl Machine {
        fn new() -> Self {
            Machine { waking: WakeLead::new(), now: Duration::ZERO, polled_beyond: Duration::ZERO }
        }

        /// Waits for a moment that is so far away; how late it got there.
        fn wait(&mut self, away: Duration, late: Duration) -> Duration {
            let due = self.now + away;
            let lead = self.waking.lead(self.now);
            let requested = due.saturating_sub(lead).max(self.now);
            let woke = if requested > self.now { requested + late } else { self.now };
            if requested > self.now {
                self.waking.woke_late(late);
            }
            let polled = due.saturating_sub(woke);
            self.waking.polled(polled);
            self.polled_beyond += polled.saturating_sub(FREE_LEAD);
            self.now = due.max(woke);
            self.now - due
        }
    }

    /// Proves that after as many wakes as are remembered a machine that wakes late is late no more, up to the limit, and
    /// that one which wakes quickly again is soon asked for no more than that.
    #[test]
    fn the_lead_follows_what_waking_costs() {
        let mut machine = Machine::new();
        for _ in 0..REMEMBERED {
            machine.wait(5000 * US, 350 * US);
        }
        assert_eq!(machine.wait(5000 * US, 350 * US), Duration::ZERO);
        assert_eq!(machine.waking.lead(machine.now), 350 * US);
        // A wake now and then that is out of the ordinary changes nothing.
        for _ in 0..REMEMBERED - COVERED {
            machine.wait(5000 * US, 3000 * US);
        }
        assert_eq!(machine.waking.lead(machine.now), 350 * US);
        for _ in 0..REMEMBERED {
            machine.wait(5000 * US, 5000 * US);
        }
        assert_eq!(machine.waking.lead(machine.now), LEAD_LIMIT);
        for _ in 0..REMEMBERED {
            machine.wait(5000 * US, 4 * US);
        }
        assert_eq!(machine.waking.lead(machine.now), 4 * US);
    }

    /// Proves that polling beyond what is free takes no more than its share of a core, however many moments there are and
    /// however early waking would have to be, and that what was not spent comes back with time.
    #[test]
    fn polling_keeps_to_its_budget() {
        let mut machine = Machine::new();
        let mut late = [300 * US, 400 * US, Duration::ZERO].into_iter().cycle();
        while machine.now < Duration::from_secs(10) {
            machine.wait(500 * US, late.next().unwrap());
        }
        let share = machine.now / BUDGET_DIVISOR + BUDGET_SAVED / BUDGET_DIVISOR;
        assert!(machine.polled_beyond <= share, "{:?}", machine.polled_beyond);
        // The budget is used, not hoarded.
        assert!(machine.polled_beyond > share * 9 / 10, "{:?}", machine.polled_beyond);
        assert!(machine.waking.lead(machine.now) < LEAD_LIMIT);
        assert_eq!(machine.waking.lead(machine.now + BUDGET_SAVED), LEAD_LIMIT);
    }
}
