//! Progress of a load in fast-forward: which windows are simulated, what is skipped, and what the intervals say.

use std::ops::ControlFlow;

use super::level::{Demand, Level, Verdict};
use super::skip::{SimulatedLoad, WindowEnd};
use super::spread::Spread;
use super::{Extrapolation, FastForward};
use crate::{Direction, LoadSpec, Random, Sample};

/// I/Os of the shortest window, if they come within [`WINDOW_NS`].
const WINDOW_IOS: u64 = 1000;
/// I/Os of the shortest window that checks a level.
const CHECK_IOS: u64 = 400;
/// The longest window of a load with few I/Os.
const WINDOW_NS: u64 = 500_000_000;
/// Before a level is looked for, and in a window, so many times the outstanding I/Os complete: a closed network has forgotten by
/// then that all of them began at once.
const SETTLING_TURNS: u64 = 4;
/// A level is observed for this share of the load's length at the least, within bounds: what changes more slowly than this does not
/// show in it, but from one interval to the next.
const LEVEL_SHARE: u64 = 60;
const LEVEL_MOST_NS: u64 = 4_000_000_000;
/// Of the time until the device's state changes, so much is skipped at once: it is an estimate.
const HORIZON_SHARE: u64 = 2;

/// A rate that differs by this share has taken a step to another level, and has not drifted there.
const STEP: f64 = 0.1;
/// The stream of random numbers for the scatter of skipped time, far from those of addresses and arrivals.
const SCATTER_STREAM: u64 = 1 << 44;
/// A level is skipped at where it goes on for so many times the time that it took to be sure of it.
const WORTH_TIMES: u64 = 2;

/// Skipped time whose latencies and, in closed loop, rate are still to be taken from a level.
#[derive(Debug, Default)]
struct Pending {
    duration_ns: u64,
    /// I/Os that arrived in it, in open loop.
    arrived: Option<u64>,
}

/// A load that is partly simulated and partly skipped.
pub(super) struct Progress<'a> {
    spec: &'a LoadSpec,
    end_ns: u64,
    /// Progress of the load on its own clock.
    at_ns: u64,
    simulated_ns: u64,
    completed: u64,
    window_ns: u64,
    /// I/Os under way in the last window, in the mean (Little's law).
    under_way: u64,
    change_count: u64,
    /// The interval that is being put together, and what of it was skipped.
    current: Sample,
    skipped_ns: u64,
    /// The window of the interval has been simulated.
    is_checked: bool,
    /// Since when the device has said that its state changes. It outlasts a level: the next one is observed meanwhile.
    unsteady_from_ns: Option<u64>,
    pending: Pending,
    level: Level,
    /// Random numbers for the scatter of skipped intervals.
    random: Random,
    /// Confidence of all levels, for that of the whole.
    spread: Spread,
}

impl<'a> Progress<'a> {
    pub fn new(spec: &'a LoadSpec) -> Self {
        let whole_ns = spec.ramp_ns.saturating_add(spec.runtime_ns);
        let mut progress = Progress {
            spec,
            end_ns: whole_ns,
            at_ns: 0,
            simulated_ns: 0,
            completed: 0,
            // Grows by what windows show.
            window_ns: 1_000_000,
            under_way: 0,
            change_count: 0,
            current: Sample::default(),
            skipped_ns: 0,
            is_checked: false,
            unsteady_from_ns: None,
            pending: Pending::default(),
            level: Level::new(Demand {
                least_ns: (whole_ns / LEVEL_SHARE).min(LEVEL_MOST_NS),
                outstanding: spec.outstanding(),
                runtime_ns: spec.runtime_ns,
                interval_ns: spec.interval_ns,
                is_open_loop: spec.shape.arrival.is_some(),
            }),
            random: Random::from_seed_and_stream(spec.seed, SCATTER_STREAM),
            spread: Spread::default(),
        };
        progress.begin_interval();
        progress
    }

    fn begin_interval(&mut self) {
        let is_ramp = self.at_ns < self.spec.ramp_ns;
        let cut_ns = if is_ramp { self.spec.ramp_ns } else { self.end_ns };
        let end_ns = cut_ns.min(self.at_ns.saturating_add(self.spec.interval_ns));
        self.current = Sample { start_ns: self.at_ns, end_ns, is_ramp, ..Sample::default() };
        self.skipped_ns = 0;
        self.is_checked = false;
    }

    pub fn run<D: FastForward>(
        &mut self,
        load: &mut impl SimulatedLoad<D>,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.change_count = load.device().change_count();
        load.device().begin_level();
        let mut end: Option<WindowEnd> = None;
        while self.at_ns < self.end_ns {
            if let Some(end) = end {
                self.skip(load, end);
            }
            if self.at_ns < self.current.end_ns {
                end = self.simulate_window(load)?;
            }
            if self.at_ns == self.current.end_ns {
                self.count_pending();
                self.claim(0.0);
                let mut sample = std::mem::take(&mut self.current);
                sample.compact();
                on_sample(load.device(), sample)?;
                self.begin_interval();
            }
        }
        ControlFlow::Continue(())
    }

    /// Simulates a window, counts it and tells the level of it; returns its end where a skip may follow.
    fn simulate_window<D: FastForward>(
        &mut self,
        load: &mut impl SimulatedLoad<D>,
    ) -> ControlFlow<(), Option<WindowEnd>> {
        let left_ns = self.current.end_ns - self.at_ns;
        let window_ns = self.window_ns.min(left_ns);
        // Only what a skip may follow is extrapolated from.
        let can_be_followed = self.level.is_accepted();
        if can_be_followed {
            load.device().begin_window();
        }
        let window = load.simulate(self.spec, window_ns)?;
        let ios = all_answered(&window);
        self.completed += ios;
        let latencies_ns: u128 =
            DIRECTIONS.into_iter().map(|direction| window.direction(direction).latency.sum_ns()).sum();
        self.under_way = (latencies_ns / u128::from(window_ns.max(1))) as u64 + 1;
        self.simulated_ns += window_ns;
        self.at_ns += window_ns;
        self.current.merge(&window);
        let change_count = load.device().change_count();
        let has_changed = std::mem::replace(&mut self.change_count, change_count) != change_count;
        // What is made up for does not last.
        if has_changed || load.is_catching_up(ios, window_ns) {
            self.end_level(load, None);
        } else if self.is_settled() {
            self.tell_level(load, &window, window_ns);
        }
        self.window_ns = self.next_window_ns(window_ns, ios);
        let rate = self.level.rate().unwrap_or(0.0);
        let end = WindowEnd { window_ns, ios, rate, left_ns: self.end_ns - self.at_ns };
        ControlFlow::Continue(can_be_followed.then_some(end))
    }

    /// Adds a window to the level, or checks the level by it.
    fn tell_level<D: FastForward>(
        &mut self,
        load: &mut impl SimulatedLoad<D>,
        window: &Sample,
        window_ns: u64,
    ) {
        let Some(rate) = self.level.rate() else {
            self.level.add(window, window_ns);
            return;
        };
        let verdict = self.level.check(window, window_ns);
        // What changed may have begun anywhere in what was skipped before the window.
        let change = (all_answered(window) as f64 / window_ns as f64 / rate - 1.0).abs();
        self.is_checked |= verdict != Verdict::Other;
        match verdict {
            Verdict::Same => {}
            Verdict::Doubtful => self.claim(change),
            Verdict::Other => {
                self.end_level(load, Some(change));
                self.level.add(window, window_ns);
            }
        }
    }

    /// The length at which the next window sees its I/Os at the rate of this one, at most twice as long.
    fn next_window_ns(&self, window_ns: u64, ios: u64) -> u64 {
        let least_ios = if self.level.is_accepted() { CHECK_IOS } else { WINDOW_IOS };
        let wanted_ios = least_ios.max(SETTLING_TURNS * self.outstanding());
        let wanted_ns = (u128::from(window_ns) * u128::from(wanted_ios))
            .checked_div(ios.into())
            .map_or(WINDOW_NS, |wanted_ns| wanted_ns.min(WINDOW_NS.into()) as u64);
        let least_ns = wanted_ns.clamp(window_ns / 2, window_ns.saturating_mul(2)).clamp(1_000, WINDOW_NS);
        if !self.level.is_accepted() {
            return least_ns;
        }
        let intervals = (self.spec.runtime_ns / self.spec.interval_ns).max(1);
        // All windows that check a level are together as long as what it was accepted on.
        (self.level.observed_ns() / intervals).clamp(least_ns, self.spec.interval_ns)
    }

    /// Skips, where it may, what comes before the interval's window or after it.
    fn skip<D: FastForward>(&mut self, load: &mut impl SimulatedLoad<D>, end: WindowEnd) {
        let left_ns = self.current.end_ns - self.at_ns;
        if left_ns == 0 || !self.level.is_accepted() || self.level.is_doubtful() {
            return;
        }
        let wanted_ns = if self.is_checked { left_ns } else { left_ns.saturating_sub(self.window_ns) / 2 };
        if wanted_ns == 0 || load.is_catching_up(end.ios, end.window_ns) {
            return;
        }
        if self.writes_in_order() && !load.device().knows_skipped_streams() {
            return;
        }
        let horizon_ns = load.device().steady_for_ns(end.window_ns, end.left_ns);
        if horizon_ns == 0 {
            self.unsteady_from_ns.get_or_insert(self.at_ns);
            return;
        }
        let is_of_another_state =
            |from_ns: u64| self.at_ns - from_ns > self.level.observed_ns() && !self.level.has_skipped();
        if self.unsteady_from_ns.take().is_some_and(is_of_another_state) {
            // A cache that filled while the level was observed: that it is full may show in few latencies, and late. So the next is
            // observed for longer.
            return self.end_level(load, Some(0.0));
        }
        let goes_on_ns = horizon_ns.min(self.end_ns - self.at_ns);
        if !self.level.has_skipped() && goes_on_ns < WORTH_TIMES * self.level.observed_ns() {
            return;
        }
        let skipped_ns =
            if horizon_ns / HORIZON_SHARE >= wanted_ns { wanted_ns } else { horizon_ns / HORIZON_SHARE };
        // What is hardly longer than a window is not worth a skip.
        if skipped_ns <= end.window_ns {
            return;
        }
        let arrived = load.skip(skipped_ns, WindowEnd { left_ns: self.end_ns - self.at_ns, ..end });
        load.device().skip_time(skipped_ns, end.window_ns);
        self.at_ns += skipped_ns;
        self.skipped_ns += skipped_ns;
        self.pending.duration_ns += skipped_ns;
        if let Some(arrived) = arrived {
            *self.pending.arrived.get_or_insert_default() += arrived;
        }
        if self.is_checked || skipped_ns < wanted_ns {
            self.count_pending();
        }
    }

    fn writes_in_order(&self) -> bool {
        !self.spec.pattern.is_random() && self.spec.pattern.fixed_read_share() != Some(100)
    }

    /// Counts what was skipped as the level has it.
    fn count_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if pending.duration_ns == 0 {
            return;
        }
        self.current.is_extrapolated = true;
        let scatter = self.level.scatter(pending.duration_ns);
        let (level, level_ns) = self.level.estimate();
        let level_ios = all_answered(level);
        let (times, of) = match pending.arrived {
            None => (scattered(pending.duration_ns, scatter, &mut self.random), level_ns),
            Some(arrived) => (arrived, level_ios),
        };
        for direction in DIRECTIONS {
            let counted = level.direction(direction).scaled(times, of.max(1));
            self.current.direction_mut(direction).merge(&counted);
        }
        let is_counted = !self.current.is_ramp;
        self.level.note_skipped(if is_counted { pending.duration_ns } else { 0 });
    }

    /// Ends the level: for a reason that is known, or because of windows that differ, the rate of the last by the share `change`.
    fn end_level<D: FastForward>(&mut self, load: &mut impl SimulatedLoad<D>, change: Option<f64>) {
        load.device().begin_level();
        self.count_pending();
        self.claim(change.unwrap_or(0.0));
        // A step, as that of a write cliff, says nothing of how slowly the load wanders.
        self.level.end(change.is_some_and(|change| change < STEP), &mut self.spread);
    }

    /// Says how sure the rate of the interval is, as far as it was skipped at this level; of several levels the least sure counts.
    fn claim(&mut self, change: f64) {
        if self.current.is_extrapolated && self.level.has_skipped() {
            let length_ns = self.current.duration_ns();
            let of_level = self.level.interval_confidence_95(&self.current, self.skipped_ns, length_ns);
            let of_change = change * self.skipped_ns as f64 / length_ns as f64;
            let claimed = &mut self.current.rate_confidence_95;
            *claimed = claimed.max(of_level + of_change);
        }
    }

    fn is_settled(&self) -> bool {
        self.completed >= SETTLING_TURNS * self.outstanding()
    }

    /// I/Os under way: in closed loop the places of all queues, in open loop what the level says, or the last window.
    fn outstanding(&self) -> u64 {
        let places = self.spec.outstanding();
        if self.spec.shape.arrival.is_none() {
            return places;
        }
        self.level.outstanding().unwrap_or(self.under_way).min(places)
    }

    pub fn extrapolation(&mut self) -> Extrapolation {
        self.level.end(false, &mut self.spread);
        let counted_ns = self.at_ns.saturating_sub(self.spec.ramp_ns).max(1);
        let carried_ns = self.at_ns - self.simulated_ns;
        if carried_ns == 0 {
            return Extrapolation { simulated_ns: self.simulated_ns, ..Extrapolation::default() };
        }
        self.spread.extrapolation(self.simulated_ns, carried_ns, counted_ns)
    }
}

/// A time that scatters by the share `scatter`: skipped time has as much in it as so much of the level. Twelve even draws are normal
/// enough, and the same on every platform (Irwin 1927, Hall 1927).
fn scattered(duration_ns: u64, scatter: f64, random: &mut Random) -> u64 {
    let normal = (0..12).map(|_| random.unit_open()).sum::<f64>() - 6.0;
    (duration_ns as f64 * (1.0 + scatter * normal)).max(0.0) as u64
}

/// I/Os of a direction that were answered, errors too.
fn answered(sample: &Sample, direction: Direction) -> u64 {
    let counted = sample.direction(direction);
    counted.ios + counted.errors
}

fn all_answered(sample: &Sample) -> u64 {
    DIRECTIONS.into_iter().map(|direction| answered(sample, direction)).sum()
}

const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];
