//! Fast-forward: long loads in simulated time, of which only a part is simulated.
//!
//! A load is simulated until what it does is stationary by a test on rate, mean latencies and percentiles of both directions
//! ([`level`]). From then on a window in the middle of each interval is simulated, and the rest of the interval is skipped: it
//! counts as the level does, and the device extrapolates what it keeps for longer than a window (a flash translation, a cache).
//! I/Os that are under way when time is skipped are still under way afterwards: to them no time has passed. In open loop the
//! arrivals of the skipped time are drawn and counted, so that the rate is that of the arrivals themselves.
//!
//! Nothing is skipped while the device reports a change (an event, a step of a failover, a rebuild) or says that its state is
//! about to change, until the load is stationary again; nor where a window differs from the level; nor while a rate limit is
//! caught up with, or a queue of arrivals is worked off.

mod batch;
mod checks;
mod estimate;
mod level;
mod progress;
mod skip;
mod spread;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use crate::closed_loop::ClosedLoop;
use crate::simulate::ShapedLoad;
use crate::{Device, LoadSpec, Sample, SpecError, run_simulated};
use progress::Progress;
use skip::SimulatedLoad;

/// Shorter loads are simulated whole: there is little to save.
const LOAD_LEAST_NS: u64 = 60_000_000_000;

/// A device whose slow state can be extrapolated over time that is not simulated.
pub trait FastForward: Device {
    /// A window begins: what happens until [`FastForward::skip_time`] stands for more.
    fn begin_window(&mut self);

    /// A level of the load begins: what fills or drains from now on says how long that can go on.
    fn begin_level(&mut self);

    /// Returns the time for which the load, which goes on for `left_ns`, can continue as in the window of `window_ns` that ends
    /// now before the device's state changes its behaviour. 0 where the device cannot tell.
    fn steady_for_ns(&self, window_ns: u64, left_ns: u64) -> u64;

    /// Events, steps of failover or rebuild, and drives that have begun to collect so far: another number, another level.
    fn change_count(&mut self) -> u64;

    /// Returns true if a window is representative of a sequential load. Where the order of streams, or the angle of a platter,
    /// persists for minutes, the load is simulated whole.
    fn can_skip_sequential(&self) -> bool {
        true
    }

    /// Returns true if the state after skipped sequential writes is known from their ranges. Until then such loads are
    /// simulated whole.
    fn knows_skipped_streams(&self) -> bool;

    /// Extrapolates what happened in the window of `window_ns` over `duration_ns` more. The clock of [`Device::now_ns`] stays.
    fn skip_time(&mut self, duration_ns: u64, window_ns: u64);

    /// Returns true if the addresses of skipped random writes matter, in the `left_ns` that the load still has after the window
    /// of `window_ns` that ends now: the device then receives each of them.
    fn keeps_random_writes(&self, window_ns: u64, left_ns: u64) -> bool;

    /// A range is written in skipped time: by sequential jobs, or at random where [`FastForward::keeps_random_writes`].
    fn apply_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64);
}

/// Simulated share of a load, and the confidence of its results. Half-widths of 95 % confidence intervals are shares of the
/// value; 0 where all was simulated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extrapolation {
    /// Time that was simulated.
    pub simulated_ns: u64,
    /// Time that was skipped.
    pub carried_ns: u64,
    /// Half-width for the mean rate of the counted time.
    pub confidence_95: f64,
    /// Half-widths for the mean latency of reads and writes.
    pub latency_mean_confidence_95: [f64; 2],
    /// Half-widths for the 99th percentile of reads and writes.
    pub latency_p99_confidence_95: [f64; 2],
}

impl Extrapolation {
    /// Returns the record of a load that was simulated whole.
    pub fn none(spec: &LoadSpec) -> Extrapolation {
        Extrapolation {
            simulated_ns: spec.ramp_ns.saturating_add(spec.runtime_ns),
            ..Extrapolation::default()
        }
    }
}

/// Runs a load as [`run_simulated`] does, simulating as much of it as its results need; `stop` breaks it off as it does there. Loads that
/// are short or whose demand changes with time (bursts, profiles, traces) are simulated whole, and sequential ones on a device without
/// [`FastForward::can_skip_sequential`].
pub fn run_fast_forward<D: FastForward>(
    device: &mut D,
    spec: &LoadSpec,
    stop: &AtomicBool,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<Extrapolation, SpecError> {
    let whole_ns = spec.ramp_ns.saturating_add(spec.runtime_ns);
    let is_slow_to_show = !spec.pattern.is_random() && !device.can_skip_sequential();
    if whole_ns < LOAD_LEAST_NS || is_slow_to_show || !spec.shape.can_be_skipped(spec) {
        run_simulated(device, spec, stop, on_sample)?;
        return Ok(Extrapolation::none(spec));
    }
    if spec.shape.is_plain() {
        Ok(run(ClosedLoop::new(device, spec, stop)?, spec, on_sample))
    } else {
        Ok(run(ShapedLoad::new(device, spec, stop)?, spec, on_sample))
    }
}

fn run<D: FastForward>(
    mut load: impl SimulatedLoad<D>,
    spec: &LoadSpec,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Extrapolation {
    load.begin();
    let mut progress = Progress::new(spec);
    let _ = progress.run(&mut load, on_sample);
    load.drain();
    progress.extrapolation()
}
