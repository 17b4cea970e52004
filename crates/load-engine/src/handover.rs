//! Handing over of operations to the kernel: which way is quicker here, by short trials before a load.
//!
//! The kernel first tries an operation where it is handed over, and passes it to a thread of its own if it would have to
//! wait; it can be told to do the latter at once. Which is quicker depends on the file system (one in memory cannot say
//! that it would wait, so that the attempt is in vain) and on how many processors there are for those threads. So is
//! whether work on completions should wait until we look for them.

use load::{LoadShape, LoadSpec, Pattern};

use crate::{Capabilities, Interface, OpenTarget, RingOptions};

/// Length of a trial, after a fifth of it as a ramp.
const TRIAL_NS: u64 = 15_000_000;
/// Trials of each way, by turns. The best counts: what else happens on the machine only takes away.
const ROUNDS: u64 = 4;
/// Sets the places that trials read apart from those of the load ("trials" as bytes).
const TRIAL_SEED: u64 = 0x7472_6961_6c73;
/// A load shorter than this is not worth the trials.
const LOAD_NS_MINIMUM: u64 = 1_000_000_000;
/// Below this rate the target is the limit, whatever way its operations come: a microsecond is 2 % of an operation.
const QUICK_IOPS: f64 = 20_000.0;
/// Buffers of a load whose trials would only fill memory: what large operations take is not in their handing over.
const BUFFERS_BYTES_LIMIT: u64 = 64 << 20;
/// Another way must be better by this share to be taken: less is noise.
const GAIN_MINIMUM: f64 = 0.02;

/// A way of handing operations over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Handover {
    /// To a thread of the kernel at once.
    pub force_async: bool,
    /// Work on completions waits until we look for them.
    pub deferred_completion: bool,
}

/// The way that a load took, and why.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HandoverChoice {
    /// Way that was taken.
    pub chosen: Handover,
    /// I/Os a second of each way that was tried, in its best trial; none where nothing was measured or the target is slow.
    pub trials: Vec<(Handover, f64)>,
    /// Reads of all trials, of the target and not of the load: they stand in no sample, yet a device counts them.
    pub trial_ios: u64,
}

/// End of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Trial {
    /// I/Os a second; none where the trial failed.
    pub iops: Option<f64>,
    /// Reads that were issued, its ramp included.
    pub ios: u64,
}

impl std::fmt::Display for Handover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = if self.force_async { "to a thread of the kernel" } else { "in place" };
        let completions = if self.deferred_completion { "deferred" } else { "immediate" };
        write!(f, "{way}, completions {completions}")
    }
}

impl std::fmt::Display for HandoverChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "I/O handed over {}", self.chosen)?;
        if self.trial_ios == 0 {
            return Ok(());
        }
        write!(f, " (trials of {} reads: ", units::with_thousands(self.trial_ios))?;
        if self.trials.is_empty() {
            write!(f, "no difference measured")?;
        }
        for (index, (way, iops)) in self.trials.iter().enumerate() {
            let before = if index == 0 { "" } else { "; " };
            write!(f, "{before}{way}: {} IOPS", units::with_thousands(*iops as u64))?;
        }
        write!(f, ")")
    }
}

/// Chooses how operations of a load are handed over: as the options say, and for the rest by trials that read its targets
/// with its block size, jobs and depth. Nothing is written. `try_load` drives a load so.
pub(crate) fn choose_handover(
    targets: &[OpenTarget],
    load: &LoadSpec,
    options: &RingOptions,
    capabilities: &Capabilities,
    try_load: &mut dyn FnMut(&LoadSpec, &RingOptions) -> Trial,
) -> HandoverChoice {
    let expected = Handover {
        force_async: options
            .force_async
            .unwrap_or_else(|| targets.iter().any(OpenTarget::needs_kernel_thread)),
        deferred_completion: capabilities.deferred_completion
            && !options.sqpoll
            && options.deferred_completion != Some(false),
    };
    let mut ways = vec![expected];
    if is_worth_trials(load, options) && !targets.iter().any(OpenTarget::is_remote) {
        if options.force_async.is_none() {
            ways.push(Handover { force_async: !expected.force_async, ..expected });
        }
        if options.deferred_completion.is_none() && expected.deferred_completion {
            let immediate = ways.iter().map(|&way| Handover { deferred_completion: false, ..way });
            ways.extend(immediate.collect::<Vec<_>>());
        }
    }
    let mut trial_ios = 0;
    let mut try_way = |way: Handover, round: u64| {
        let (load, options) = trial(load, options, way, round);
        let trial = try_load(&load, &options);
        trial_ios += trial.ios;
        trial.iops
    };
    let trials = if ways.len() > 1 { try_all(&ways, &mut try_way) } else { Vec::new() };
    HandoverChoice { chosen: best(expected, &trials), trials, trial_ios }
}

fn is_worth_trials(load: &LoadSpec, options: &RingOptions) -> bool {
    let buffers_bytes = u64::from(load.numjobs) * u64::from(load.iodepth) * u64::from(load.bs_bytes);
    load.runtime_ns >= LOAD_NS_MINIMUM
        && load.rate_iops.is_none()
        && load.shape.arrival.is_none()
        && buffers_bytes <= BUFFERS_BYTES_LIMIT
        && options.interface != Interface::Threads
        && !options.poll
        && !options.sqpoll
}

/// The load of a trial, and its options.
fn trial(load: &LoadSpec, options: &RingOptions, way: Handover, round: u64) -> (LoadSpec, RingOptions) {
    let load = LoadSpec {
        pattern: if load.pattern.is_random() { Pattern::Randread } else { Pattern::Read },
        rwmixread: 100,
        ramp_ns: TRIAL_NS / 5,
        runtime_ns: TRIAL_NS,
        interval_ns: TRIAL_NS,
        // Not the load's own: a trial that reads where the load will would fill a cache for it.
        seed: (load.seed ^ TRIAL_SEED).wrapping_add(round),
        shape: LoadShape::default(),
        ..load.clone()
    };
    let options = RingOptions {
        force_async: Some(way.force_async),
        deferred_completion: Some(way.deferred_completion),
        fsync_every: 0,
        ..options.clone()
    };
    (load, options)
}

/// I/Os a second of each way in its best trial. Nothing where a trial fails, as the load itself will say why, nor where the
/// target is slow.
fn try_all(ways: &[Handover], try_way: &mut dyn FnMut(Handover, u64) -> Option<f64>) -> Vec<(Handover, f64)> {
    let mut rates: Vec<(Handover, f64)> = ways.iter().map(|&way| (way, 0.0)).collect();
    for round in 0..ROUNDS {
        for (way, best) in &mut rates {
            let Some(iops) = try_way(*way, round) else { return Vec::new() };
            *best = iops.max(*best);
        }
        if rates.iter().all(|&(_, iops)| iops < QUICK_IOPS) {
            return Vec::new();
        }
    }
    rates
}

/// The way with the highest rate; the expected one unless another is better by more than noise.
fn best(expected: Handover, trials: &[(Handover, f64)]) -> Handover {
    let Some(&(_, rate)) = trials.iter().find(|(way, _)| *way == expected) else { return expected };
    let is_better =
        |(way, better): &(Handover, f64)| *way != expected && *better > rate * (1.0 + GAIN_MINIMUM);
    let better = trials.iter().copied().filter(is_better).max_by(|a, b| a.1.total_cmp(&b.1));
    better.map_or(expected, |(way, _)| way)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn way(force_async: bool, deferred_completion: bool) -> Handover {
        Handover { force_async, deferred_completion }
    }

    /// Proves that the quickest way is taken, that the expected one stays where the others are no better than noise, and where
    /// nothing was measured.
    #[test]
    fn the_quickest_way_is_taken() {
        let trials = |other: f64, third: f64| {
            [(way(true, true), 100e3), (way(false, true), other), (way(false, false), third)]
        };
        let expected = way(true, true);
        assert_eq!(best(expected, &trials(101e3, 90e3)), expected);
        assert_eq!(best(expected, &trials(104e3, 90e3)), way(false, true));
        assert_eq!(best(expected, &trials(104e3, 107e3)), way(false, false));
        assert_eq!(best(expected, &[]), expected);
    }

    /// Proves that a slow target is tried for one round only, that ways take turns on a quick one and the best of each counts,
    /// and that a failure ends the trials.
    #[test]
    fn trials_take_turns_and_end_where_they_are_of_no_use() {
        let ways = [way(true, true), way(false, true)];
        let mut tried = 0;
        let slow = try_all(&ways, &mut |_, _| {
            tried += 1;
            Some(QUICK_IOPS / 2.0)
        });
        assert_eq!((slow, tried), (Vec::new(), 2));
        let mut rates = [90e3, 70e3, 100e3, 1e3, 500.0, 75e3, 80e3, 74e3].into_iter();
        let quick = try_all(&ways, &mut |_, _| rates.next());
        assert_eq!(quick, [(ways[0], 100e3), (ways[1], 75e3)]);
        let mut rates = [90e3, 70e3, 100e3].into_iter();
        assert_eq!(try_all(&ways, &mut |_, _| rates.next()), []);
    }

    /// Proves that a choice names the way and what was measured.
    #[test]
    fn a_choice_says_why() {
        let trials = vec![(way(true, true), 100_000.4), (way(false, true), 120_000.0)];
        let choice = HandoverChoice { chosen: way(false, true), trials, trial_ios: 13_200 };
        assert_eq!(
            choice.to_string(),
            "I/O handed over in place, completions deferred (trials of 13,200 reads: to a thread of the kernel, completions \
             deferred: 100,000 IOPS; in place, completions deferred: 120,000 IOPS)"
        );
        let slow = HandoverChoice { chosen: way(false, true), trials: Vec::new(), trial_ios: 28 };
        assert_eq!(
            slow.to_string(),
            "I/O handed over in place, completions deferred (trials of 28 reads: no difference measured)"
        );
        let untried = HandoverChoice { chosen: way(true, false), trials: Vec::new(), trial_ios: 0 };
        assert_eq!(untried.to_string(), "I/O handed over to a thread of the kernel, completions immediate");
    }
}
