//! Addresses of a case's loads, drawn for caches alone.

use crate::workload::{load_iops, loads, write_share};
use load::Distribution::{NoRepeat, Uniform};
use load::{LoadSpec, NUMJOBS_LIMIT, Operation, Schedule};
use plan::Case;
use std::ops::Range;
use twin::Twin;

/// I/Os of each load that a twin is given at once.
const AT_ONCE: usize = 32;
/// Changes the seed of a stream.
const OTHER_STREAM: u64 = 0x7761_726d;

/// Returns whether a load reads or writes a block again only after all others: in order, or by one job in a random order without repetition.
pub(super) fn is_in_passes(spec: &LoadSpec) -> bool {
    let is_of_one_job = spec.shape.distribution == NoRepeat && spec.numjobs == 1;
    spec.shape.replay.is_some() || !spec.pattern.is_random() || is_of_one_job
}

/// Returns whether each job has a part of the range for itself.
pub(super) fn has_own_parts(spec: &LoadSpec) -> bool {
    spec.shape.verify || spec.shape.offset_increment_bytes.is_some()
}

/// I/Os of each load, of which a part counts, for each one of the load that has most; as many of each where one has no rate.
fn shares(loads: &[(&LoadSpec, u32, String)], part: impl Fn(&LoadSpec) -> f64) -> Vec<f64> {
    let rate = |(spec, ..): &(&LoadSpec, u32, String)| load_iops(spec).unwrap_or(0.0) * part(spec);
    let rates: Vec<f64> = loads.iter().map(rate).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let have_rates = rates.iter().all(|&rate| rate > 0.0);
    rates.into_iter().map(|rate| if have_rates { rate / most } else { 1.0 }).collect()
}

/// I/Os of a load that are not those that will be simulated, though blocks that are hot are the same.
pub(super) struct Draws {
    schedule: Schedule,
    /// Jobs of the schedule that are drawn from.
    jobs: Range<u32>,
    first_job: u32,
    /// I/Os of it for each one of the load that has most.
    share: f64,
    range_bytes: u64,
}

impl Draws {
    /// Draws of all loads of a case, by their rates where all have one; `None` where a load has no place on the twin.
    pub fn all(case: &Case, twin: &Twin) -> Option<Vec<Draws>> {
        let loads = loads(case);
        let shares = shares(&loads, |_| 1.0);
        let draw = |((spec, first_job, _), share): (&(&LoadSpec, u32, String), f64)| {
            let capacity_bytes = twin.capacity_of_job_bytes(*first_job);
            Draws::in_a_pass(spec, *first_job, share, capacity_bytes)
                .or_else(|| Draws::of_other_jobs((*spec).clone(), *first_job, share, capacity_bytes, 1))
        };
        loads.iter().zip(shares).map(draw).collect()
    }

    /// Draws of the writes alone, without those of loads that walk the range in order, from one of several streams.
    pub fn writes(case: &Case, twin: &Twin, stream: u32) -> Option<Vec<Draws>> {
        let mut loads = loads(case);
        loads.retain(|(spec, ..)| !is_in_passes(spec) && write_share(spec) > 0.0);
        let shares = shares(&loads, write_share);
        let draw = |((spec, first_job, _), share): (&(&LoadSpec, u32, String), f64)| {
            let mut spec = (*spec).clone();
            spec.rwmixread = 0;
            spec.shape.trim_percent = 0;
            Draws::of_other_jobs(spec, *first_job, share, twin.capacity_of_job_bytes(*first_job), stream)
        };
        loads.iter().zip(shares).map(draw).collect()
    }

    /// Bytes of the range that its load reads or writes.
    pub fn range_bytes(&self) -> u64 {
        self.range_bytes
    }

    /// Draws of a load each block of which comes once before any comes again: all that is ever read, of which as many independent draws would lack
    /// a third; `None` where some are read more often or in another order, and where blocks of several sizes overlap.
    fn in_a_pass(spec: &LoadSpec, first_job: u32, share: f64, capacity_bytes: u64) -> Option<Draws> {
        if !spec.pattern.is_random() || spec.shape.distribution != Uniform || has_own_parts(spec) {
            return None;
        }
        let mut spec = spec.clone();
        (spec.shape.distribution, spec.numjobs, spec.seed) = (NoRepeat, 1, spec.seed ^ OTHER_STREAM);
        let schedule = Schedule::new(&spec, capacity_bytes).ok()?;
        let range_bytes = spec.range_bytes(capacity_bytes);
        Some(Draws { schedule, jobs: 0..1, first_job, share, range_bytes })
    }

    /// Draws of a load from a job on, of as many jobs as it has behind its own, once or more.
    fn of_other_jobs(
        mut spec: LoadSpec,
        first_job: u32,
        share: f64,
        capacity_bytes: u64,
        stream: u32,
    ) -> Option<Draws> {
        let numjobs = spec.numjobs;
        let jobs = if has_own_parts(&spec) || numjobs.saturating_mul(stream + 1) > NUMJOBS_LIMIT {
            0..numjobs
        } else {
            spec.numjobs *= stream + 1;
            spec.numjobs - numjobs..spec.numjobs
        };
        let schedule = Schedule::new(&spec, capacity_bytes).ok()?;
        Some(Draws { schedule, jobs, first_job, share, range_bytes: spec.range_bytes(capacity_bytes) })
    }

    /// Calls with the operations of all draws while the load that has most issues so many I/Os, as many of it at once as a twin is given.
    pub fn issue(all: &mut [Draws], ios: Range<u64>, mut take: impl FnMut(&[Operation])) {
        let mut operations = Vec::new();
        for from in ios.clone().step_by(AT_ONCE) {
            operations.clear();
            for io in from..ios.end.min(from + AT_ONCE as u64) {
                operations.extend(all.iter_mut().filter_map(|draws| draws.operation(io)));
            }
            take(&operations);
        }
    }

    /// I/O of it while the load that has most issues one of many, of the jobs in turn; `None` where it has none then.
    pub fn operation(&mut self, io: u64) -> Option<Operation> {
        let issued = |ios: u64| (ios as f64 * self.share) as u64;
        let own = issued(io);
        let job = (own % self.jobs.len() as u64) as u32;
        (issued(io + 1) > own).then(|| {
            let operation = self.schedule.next(self.jobs.start + job).operation;
            Operation { job: self.first_job + job, ..operation }
        })
    }
}
