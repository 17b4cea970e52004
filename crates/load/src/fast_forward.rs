//! Long loads in simulated time, of which only windows are simulated.
//!
//! In each interval a window is simulated; the rest of the interval is taken to be like it. What a device keeps for longer
//! than a window (a translation's state, a rebuild's progress) it carries over the rest itself. I/Os that are under way at
//! the end of a window are still under way at the start of the next: to them no time has passed. Where the device says
//! that its course is about to change, windows follow one another more closely, until nothing is left out. Where windows
//! differ so much that their mean says little, nothing is left out either. Nor while a load with a rate limit makes up for
//! what it could not issue before: it is faster than its limit then, for as long as there is something to make up for.

use std::ops::ControlFlow;

use crate::recorder::Recorder;
use crate::simulate::{ClosedLoop, run_simulated};
use crate::{Device, LoadSpec, Sample, SpecError};

/// I/Os of a window, if they come within [`WINDOW_NS`].
const WINDOW_IOS: u64 = 4000;
/// Shorter loads are simulated whole: there is little to save.
const WINDOWS_FROM_NS: u64 = 60_000_000_000;
/// The longest window.
const WINDOW_NS: u64 = 500_000_000;
/// Before anything is left out, so many times the outstanding I/Os have completed: a closed network has forgotten by
/// then that all of them began at once.
const SETTLING_TURNS: u64 = 4;
/// Nothing is left out while the mean rate is less sure than this, as half the width of its 95 % confidence interval. The
/// interval of the load's own mean is narrower, because part of the load is simulated.
const UNSURE_95: f64 = 0.01;
/// Windows that are so far from the mean, in standard deviations of a window and as a share, belong to another level: the
/// mean is sought anew.
const OTHER_LEVEL_SIGMAS: f64 = 5.0;
const OTHER_LEVEL_SHARE: f64 = 0.01;
/// Windows after which that is known.
const WINDOWS_LEAST: u64 = 8;
/// Windows in each interval where the device's course may change within the next two.
const CLOSE_WINDOWS: u64 = 10;

/// A device whose slow state can be carried over time that is not simulated.
pub trait FastForward: Device {
    /// A window begins: what happens until [`FastForward::carry`] stands for more.
    fn begin_window(&mut self);

    /// How long the load can go on as in the window of `window_ns` that ends now before the device takes another
    /// course. 0 where it cannot tell.
    fn steady_for_ns(&self, window_ns: u64) -> u64;

    /// Whether jobs that go on in order soon find their place again after a leap. Where they do not, such loads are simulated whole.
    fn regains_streams(&self) -> bool;

    /// What happened in the window of `window_ns` goes on for `duration_ns` more. The clock of [`Device::now_ns`] stays.
    fn carry(&mut self, duration_ns: u64, window_ns: u64);

    /// Whether it matters, in the `left_ns` that the load still has after the window of `window_ns` that ends now, where random
    /// writes have gone: then it is told each of those that are not simulated.
    fn keeps_random_writes(&self, window_ns: u64, left_ns: u64) -> bool;

    /// A range is written, in time that is not simulated: by jobs in order, or at random where [`FastForward::keeps_random_writes`].
    fn carry_written(&mut self, offset_bytes: u64, length_bytes: u64);
}

/// How much of a load was simulated, and how sure its rate is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extrapolation {
    /// Time that was simulated.
    pub simulated_ns: u64,
    /// Time that was taken to be like it.
    pub carried_ns: u64,
    /// Half the width of the 95 % confidence interval of the counted mean rate, as a share of it; 0 where all was simulated.
    pub confidence_95: f64,
}

/// Runs a load as [`run_simulated`] does, simulating windows of it where that is enough. A load that is short, slow or
/// shaped (open loop, mixed sizes) is simulated whole, and one in order on a device that does not regain streams.
pub fn run_fast_forward<D: FastForward>(
    device: &mut D,
    spec: &LoadSpec,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<Extrapolation, SpecError> {
    let whole_ns = spec.ramp_ns.saturating_add(spec.runtime_ns);
    let is_lost = !spec.pattern.is_random() && !device.regains_streams();
    if !spec.shape.is_plain() || whole_ns < WINDOWS_FROM_NS || is_lost {
        run_simulated(device, spec, on_sample)?;
        let simulated_ns = whole_ns;
        return Ok(Extrapolation { simulated_ns, carried_ns: 0, confidence_95: 0.0 });
    }
    let mut run = ClosedLoop::new(device, spec)?;
    run.begin();
    let mut progress = Progress::new(spec);
    let _ = progress.run(&mut run, on_sample);
    run.drain();
    Ok(progress.extrapolation())
}

struct Progress<'a> {
    spec: &'a LoadSpec,
    end_ns: u64,
    /// How far the load is, on its own clock.
    at_ns: u64,
    simulated_ns: u64,
    completed: u64,
    window_ns: u64,
    /// Sequential jobs have just moved on by what was left out: what reads ahead has lost its place.
    has_leapt: bool,
    /// The interval that is being put together.
    current: Sample,
    /// Counted time at this level that was not simulated.
    level_carried_ns: u64,
    rates: Rates,
    /// That of the levels before, each × the confidence interval of its mean.
    unsure_ns: f64,
}

/// What windows say of the mean rate.
#[derive(Debug, Default)]
struct Rates {
    windows: u64,
    sum: f64,
    last: Option<f64>,
    /// Of neighbours.
    squared_differences: f64,
}

impl Rates {
    fn add(&mut self, rate: f64) {
        if let Some(last) = self.last {
            self.squared_differences += (rate - last) * (rate - last);
        }
        self.last = Some(rate);
        self.sum += rate;
        self.windows += 1;
    }

    /// Mean, and standard deviation of one window. From the differences of neighbours (von Neumann 1941), so that a slow
    /// change is not taken for chance. `None` where too little is known.
    fn mean_and_deviation(&self) -> Option<(f64, f64)> {
        if self.windows < WINDOWS_LEAST || self.sum <= 0.0 {
            return None;
        }
        let windows = self.windows as f64;
        Some((self.sum / windows, (self.squared_differences / (2.0 * (windows - 1.0))).sqrt()))
    }

    /// Half the width of the mean's 95 % confidence interval, as a share of the mean.
    fn confidence_95(&self) -> Option<f64> {
        let (mean, deviation) = self.mean_and_deviation()?;
        Some(1.96 * deviation / (self.windows as f64).sqrt() / mean)
    }

    fn is_of_another_level(&self, rate: f64) -> bool {
        self.mean_and_deviation().is_some_and(|(mean, deviation)| {
            (rate - mean).abs() > (OTHER_LEVEL_SIGMAS * deviation).max(OTHER_LEVEL_SHARE * mean)
        })
    }
}

impl<'a> Progress<'a> {
    fn new(spec: &'a LoadSpec) -> Self {
        let mut progress = Progress {
            spec,
            end_ns: spec.ramp_ns.saturating_add(spec.runtime_ns),
            at_ns: 0,
            simulated_ns: 0,
            completed: 0,
            // Grows by what windows show.
            window_ns: 1_000_000,
            has_leapt: false,
            current: Sample::default(),
            level_carried_ns: 0,
            rates: Rates::default(),
            unsure_ns: 0.0,
        };
        progress.begin_interval();
        progress
    }

    fn begin_interval(&mut self) {
        let is_ramp = self.at_ns < self.spec.ramp_ns;
        let cut_ns = if is_ramp { self.spec.ramp_ns } else { self.end_ns };
        let end_ns = cut_ns.min(self.at_ns.saturating_add(self.spec.interval_ns));
        self.current = Sample { start_ns: self.at_ns, end_ns, is_ramp, ..Sample::default() };
    }

    fn run<D: FastForward>(
        &mut self,
        run: &mut ClosedLoop<'_, D>,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.at_ns < self.end_ns {
            self.find_place(run);
            let left_ns = self.current.end_ns - self.at_ns;
            let window_ns = self.window_ns.min(left_ns);
            run.device().begin_window();
            let window = simulate(run, self.spec, window_ns);
            let ios = window.read.ios + window.write.ios;
            self.completed += ios;
            self.simulated_ns += window_ns;
            // A window with few I/Os shows chance more than the rate, and stands for nothing but itself.
            let is_full = window_ns == WINDOW_NS || ios >= WINDOW_IOS / 2;
            let lasts = is_full && !run.is_catching_up(ios, window_ns);
            let mut carried_ns = 0;
            if self.is_settled() && lasts {
                self.add_rate(ios as f64 / window_ns as f64);
                carried_ns = self.carry_after(run, ios, window_ns, left_ns - window_ns);
            }
            self.count(&window, window_ns, window_ns + carried_ns);
            self.window_ns = next_window_ns(window_ns, ios);
            self.at_ns += window_ns + carried_ns;
            if self.at_ns == self.current.end_ns {
                let mut sample = std::mem::take(&mut self.current);
                sample.compact();
                on_sample(run.device(), sample)?;
                self.begin_interval();
            }
        }
        ControlFlow::Continue(())
    }

    /// Simulates, where sequential jobs have leapt, as many turns as it takes to settle. They stand for themselves only, and
    /// leave something of the interval for a window.
    fn find_place<D: FastForward>(&mut self, run: &mut ClosedLoop<'_, D>) {
        if !std::mem::take(&mut self.has_leapt) {
            return;
        }
        let ios = (SETTLING_TURNS * self.spec.outstanding()) as f64;
        let settling_ns = self.rates.last.map_or(0, |rate| (ios / rate) as u64);
        let left_ns = self.current.end_ns - self.at_ns;
        let settling_ns = settling_ns.min(WINDOW_NS).min(left_ns / 2);
        if settling_ns > 0 {
            let settling = simulate(run, self.spec, settling_ns);
            self.count(&settling, settling_ns, settling_ns);
            self.simulated_ns += settling_ns;
            self.at_ns += settling_ns;
        }
    }

    fn add_rate(&mut self, rate: f64) {
        if self.rates.is_of_another_level(rate) {
            self.unsure_ns += self.level_unsure_ns();
            self.level_carried_ns = 0;
            self.rates = Rates::default();
        }
        self.rates.add(rate);
    }

    fn level_unsure_ns(&self) -> f64 {
        self.level_carried_ns as f64 * self.rates.confidence_95().unwrap_or(0.0)
    }

    fn is_settled(&self) -> bool {
        self.completed >= SETTLING_TURNS * self.spec.outstanding()
    }

    /// Lets the rest of the interval, or as much of it as the window may stand for, pass.
    fn carry_after<D: FastForward>(
        &mut self,
        run: &mut ClosedLoop<'_, D>,
        ios: u64,
        window_ns: u64,
        left_ns: u64,
    ) -> u64 {
        let is_sure = self.rates.confidence_95().is_some_and(|confidence_95| confidence_95 <= UNSURE_95);
        if left_ns == 0 || !is_sure {
            return 0;
        }
        let steady_ns = run.device().steady_for_ns(window_ns);
        let interval_ns = self.spec.interval_ns;
        let stretch_ns =
            if steady_ns > interval_ns.saturating_mul(2) { interval_ns } else { interval_ns / CLOSE_WINDOWS };
        let carried_ns = left_ns.min(stretch_ns).min(steady_ns);
        if carried_ns > 0 {
            run.carry_jobs(carried_ns, window_ns, ios, self.end_ns - self.at_ns - window_ns);
            self.has_leapt = !self.spec.pattern.is_random();
            run.device().carry(carried_ns, window_ns);
        }
        carried_ns
    }

    fn count(&mut self, window: &Sample, window_ns: u64, stands_for_ns: u64) {
        if stands_for_ns > window_ns {
            self.current.is_extrapolated = true;
            if !self.current.is_ramp {
                self.level_carried_ns += stands_for_ns - window_ns;
            }
        }
        for direction in [crate::Direction::Read, crate::Direction::Write, crate::Direction::Trim] {
            let scaled = window.direction(direction).scaled(stands_for_ns, window_ns);
            self.current.direction_mut(direction).merge(&scaled);
        }
    }

    fn extrapolation(&self) -> Extrapolation {
        let counted_ns = self.at_ns.saturating_sub(self.spec.ramp_ns).max(1);
        Extrapolation {
            simulated_ns: self.simulated_ns,
            carried_ns: self.at_ns - self.simulated_ns,
            confidence_95: (self.unsure_ns + self.level_unsure_ns()) / counted_ns as f64,
        }
    }
}

/// Simulates the next `window_ns`.
fn simulate<D: Device>(run: &mut ClosedLoop<'_, D>, spec: &LoadSpec, window_ns: u64) -> Sample {
    let whole = LoadSpec { ramp_ns: 0, runtime_ns: window_ns, interval_ns: window_ns, ..spec.clone() };
    let mut recorder = Recorder::new(&whole);
    let mut window = Sample::default();
    let _ = run.run(&mut recorder, &mut |_, sample| {
        window = sample;
        ControlFlow::Continue(())
    });
    window
}

/// The length at which the next window sees its I/Os at the rate of this one, at most twice as long.
fn next_window_ns(window_ns: u64, ios: u64) -> u64 {
    let wanted_ns = (window_ns.saturating_mul(WINDOW_IOS)).checked_div(ios).unwrap_or(WINDOW_NS);
    wanted_ns.clamp(window_ns / 2, window_ns.saturating_mul(2)).clamp(1_000, WINDOW_NS)
}
