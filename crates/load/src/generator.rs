//! Operation generator of a job: addresses, directions, and rate-limited issue times.

use crate::{Direction, LoadSpec, Operation, Pattern, Random, SpecError};

/// One stream for addresses and one for directions, so that a change of `rwmixread` leaves the addresses as
/// they were.
const STREAMS_PER_JOB: u64 = 2;

/// So much faster than its limit is more than the chance of a few thousand I/Os.
const CATCHING_UP: f64 = 1.01;
/// A job that is behind its limit by more I/Os than this does not keep up with it.
const BEHIND_IOS: f64 = 8.0;

/// State of a job. The part that a random load without a limit needs is one cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
struct Job {
    addresses: Random,
    directions: Random,
    /// First block of the slice that this job walks sequentially, and how many blocks it has.
    first_block: u64,
    slice_blocks: u64,
    /// Sequential position within the slice; like fio, one for each direction.
    next_read: u64,
    next_write: u64,
    /// I/Os that the rate limit has scheduled so far.
    tickets: u64,
}

/// The operations of every job of a load. Each job has its own streams, so what job 3 issues does not depend
/// on how quickly job 2 is answered.
#[derive(Debug, Clone)]
pub struct Generator {
    pattern: Pattern,
    read_percent: u64,
    bs_bytes: u32,
    offset_bytes: u64,
    range_blocks: u64,
    jobs: Vec<Job>,
    /// Nanoseconds between two I/Os over all jobs, where the rate is limited.
    spacing_ns: Option<f64>,
    /// Time by which the load fell behind its rate limit in skipped time.
    behind_ns: u64,
    /// Blocks that each sequential job has written in skipped time.
    skipped_blocks: u64,
}

impl Generator {
    /// The generator of a checked load over a device of `capacity_bytes`.
    pub fn new(spec: &LoadSpec, capacity_bytes: u64) -> Result<Self, SpecError> {
        spec.check()?;
        let available = capacity_bytes.saturating_sub(spec.offset_bytes);
        let size = spec.size_bytes.unwrap_or(available);
        let range_blocks = size / u64::from(spec.bs_bytes);
        if size > available || range_blocks == 0 {
            return Err(SpecError::OutOfRange {
                setting: "size",
                value: size.to_string(),
                allowed: format!(
                    "at least one block of {} and at most the {available} bytes from offset {} to the target's end",
                    spec.bs_bytes, spec.offset_bytes
                ),
            });
        }
        let slice_blocks = (range_blocks / u64::from(spec.numjobs)).max(1);
        let jobs = (0..u64::from(spec.numjobs))
            .map(|job| Job {
                addresses: Random::from_seed_and_stream(spec.seed, job * STREAMS_PER_JOB),
                directions: Random::from_seed_and_stream(spec.seed, job * STREAMS_PER_JOB + 1),
                // Where there are more jobs than blocks, several jobs share one.
                first_block: (job * slice_blocks) % range_blocks,
                slice_blocks,
                next_read: 0,
                next_write: 0,
                tickets: 0,
            })
            .collect();
        Ok(Generator {
            pattern: spec.pattern,
            read_percent: u64::from(spec.pattern.fixed_read_share().unwrap_or(spec.rwmixread)),
            bs_bytes: spec.bs_bytes,
            offset_bytes: spec.offset_bytes,
            range_blocks,
            jobs,
            spacing_ns: spec.rate_iops.map(|rate| 1e9 / rate),
            behind_ns: 0,
            skipped_blocks: 0,
        })
    }

    /// The next operation of a job.
    #[inline(always)]
    pub fn next_operation(&mut self, job_index: u32) -> Operation {
        let job = &mut self.jobs[job_index as usize];
        // As fio: one draw of a hundred against the share of reads, for each I/O.
        let direction = match self.read_percent {
            100 => Direction::Read,
            0 => Direction::Write,
            share if job.directions.below(100) < share => Direction::Read,
            _ => Direction::Write,
        };
        let block = if self.pattern.is_random() {
            job.addresses.below(self.range_blocks)
        } else {
            let position = match direction {
                Direction::Read => &mut job.next_read,
                _ => &mut job.next_write,
            };
            let block = job.first_block + *position;
            *position += 1;
            if *position == job.slice_blocks {
                *position = 0;
            }
            block
        };
        Operation {
            direction,
            offset_bytes: self.offset_bytes + block * u64::from(self.bs_bytes),
            length_bytes: self.bs_bytes,
            job: job_index,
        }
    }

    /// Notes where each job writes next, where the load is sequential.
    pub(crate) fn sequential_positions(&self, positions: &mut Vec<u64>) {
        positions.clear();
        if !self.pattern.is_random() {
            positions.extend(self.jobs.iter().map(|job| job.next_write));
        }
    }

    /// Tells the ranges that sequential jobs write in `duration_ns` at the pace at which they came, in the mean, from `positions` in
    /// `stretch_ns`. The jobs themselves stay where they are: how they stand to one another and to the drives decides how they get in
    /// each other's way, and each window goes on where the last one ended, so that windows see all of a layout's period.
    pub(crate) fn skip_sequential(
        &mut self,
        positions: &[u64],
        duration_ns: u64,
        stretch_ns: u64,
        written: &mut dyn FnMut(u64, u64),
    ) {
        if positions.is_empty() {
            return;
        }
        let bs_bytes = u64::from(self.bs_bytes);
        let slice = self.jobs[0].slice_blocks;
        let moved: u128 = (self.jobs.iter().zip(positions))
            .map(|(job, position)| u128::from((job.next_write + slice - position) % slice))
            .sum();
        let share = positions.len() as u128 * u128::from(stretch_ns.max(1));
        let writes = (moved * u128::from(duration_ns) / share) as u64;
        for job in self.jobs.iter().filter(|_| writes > 0) {
            let first = (job.next_write + self.skipped_blocks) % slice;
            let before_end = writes.min(slice - first);
            for (from, count) in [(first, before_end), (0, (writes - before_end).min(slice))] {
                if count > 0 {
                    written(self.offset_bytes + (job.first_block + from) * bs_bytes, count * bs_bytes);
                }
            }
        }
        self.skipped_blocks = (self.skipped_blocks + writes) % slice;
    }

    /// Draws the next `ios` operations of a random load over all jobs, in turn, and passes each written range to `written`.
    pub(crate) fn skip_random(&mut self, ios: u64, written: &mut dyn FnMut(u64, u64)) {
        if !self.pattern.is_random() || self.read_percent == 100 {
            return;
        }
        let numjobs = self.jobs.len() as u64;
        for io in 0..ios {
            let operation = self.next_operation((io % numjobs) as u32);
            if operation.direction == Direction::Write {
                written(operation.offset_bytes, u64::from(operation.length_bytes));
            }
        }
    }

    /// Skips `duration_ns`, until `at_ns`, of a load that does `rate` I/Os a nanosecond: where all jobs are behind the rate
    /// limit, they fall further behind by the missing I/Os, and may catch up later.
    pub(crate) fn skip_limited(&mut self, duration_ns: u64, at_ns: u64, rate: f64) {
        let Some(spacing_ns) = self.spacing_ns else { return };
        let numjobs = self.jobs.len() as u64;
        let tolerated_ns = (BEHIND_IOS * numjobs as f64 * spacing_ns) as u64;
        let is_behind = |(job, index): (&Job, u32)| {
            allowed_ns(job.tickets, numjobs, index, spacing_ns) + tolerated_ns < at_ns + self.behind_ns
        };
        let reached = rate * spacing_ns;
        if reached < 1.0 && self.jobs.iter().zip(0..).all(is_behind) {
            self.behind_ns += (duration_ns as f64 * (1.0 - reached)) as u64;
        }
    }

    /// The first moment after the start of the load at which a job may issue its next I/O; 0 without a limit.
    ///
    /// As in fio, the limit is cumulative: a job that fell behind catches up. Jobs take turns, so that the total
    /// is even and not a burst of `numjobs` I/Os.
    #[inline]
    pub fn next_allowed_ns(&mut self, job_index: u32) -> u64 {
        let Some(spacing_ns) = self.spacing_ns else { return 0 };
        let numjobs = self.jobs.len() as u64;
        let job = &mut self.jobs[job_index as usize];
        let ticket = job.tickets;
        job.tickets += 1;
        allowed_ns(ticket, numjobs, job_index, spacing_ns).saturating_sub(self.behind_ns)
    }

    /// True where `ios` in `duration_ns` are more than the rate limit lets through in the long run, and a job still has
    /// moments before `at_ns` to make up for: it catches up, and will be slower once it has.
    pub(crate) fn is_catching_up(&self, ios: u64, duration_ns: u64, at_ns: u64) -> bool {
        let Some(spacing_ns) = self.spacing_ns else { return false };
        let numjobs = self.jobs.len() as u64;
        let is_behind = |(job, index): (&Job, u32)| {
            allowed_ns(job.tickets, numjobs, index, spacing_ns) < at_ns + self.behind_ns
        };
        // An I/O of each job may fall on either side of the end by chance.
        ios.saturating_sub(numjobs) as f64 * spacing_ns > duration_ns as f64 * CATCHING_UP
            && self.jobs.iter().zip(0..).any(is_behind)
    }

    /// True where a rate limit holds I/Os back.
    pub fn is_rate_limited(&self) -> bool {
        self.spacing_ns.is_some()
    }
}

/// The moment of an I/O of a job that all jobs take turns with.
#[inline]
fn allowed_ns(ticket: u64, numjobs: u64, job_index: u32, spacing_ns: f64) -> u64 {
    let place = ticket * numjobs + u64::from(job_index);
    // One multiplication of an exact integer: the error does not grow with the number of I/Os.
    (place as f64 * spacing_ns) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(pattern: Pattern, rwmixread: u8, numjobs: u32) -> LoadSpec {
        LoadSpec {
            pattern,
            rwmixread,
            bs_bytes: 4096,
            numjobs,
            iodepth: 1,
            offset_bytes: 1 << 20,
            size_bytes: Some(4096 * 1000),
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 1,
            interval_ns: 1,
            seed: 1,
            shape: crate::LoadShape::default(),
        }
    }

    /// Proves that sequential jobs walk disjoint slices in order and start again at their own beginning.
    #[test]
    fn sequential_jobs_walk_their_slices() {
        let mut generator = Generator::new(&spec(Pattern::Read, 100, 3), 1 << 30).unwrap();
        for round in 0..2 {
            for step in 0..333u64 {
                for job in 0..3 {
                    let operation = generator.next_operation(job);
                    assert_eq!(operation.direction, Direction::Read);
                    let expected = (1 << 20) + 4096 * (u64::from(job) * 333 + step);
                    assert_eq!(operation.offset_bytes, expected, "round {round} step {step} job {job}");
                }
            }
        }
    }

    /// Proves that a job's operations depend on the seed and on nothing that other jobs do, and that the mix
    /// does not move the addresses.
    #[test]
    fn a_jobs_stream_is_its_own() {
        let mut alone = Generator::new(&spec(Pattern::Randrw, 70, 4), 1 << 30).unwrap();
        let mut among = alone.clone();
        let mut other_mix = Generator::new(&spec(Pattern::Randrw, 30, 4), 1 << 30).unwrap();
        let mut other_seed =
            Generator::new(&LoadSpec { seed: 2, ..spec(Pattern::Randrw, 70, 4) }, 1 << 30).unwrap();
        let mut same_as_other_seed = 0;
        for _ in 0..1000 {
            among.next_operation(0);
            among.next_operation(3);
            let expected = alone.next_operation(2);
            assert_eq!(among.next_operation(2), expected);
            assert_eq!(other_mix.next_operation(2).offset_bytes, expected.offset_bytes);
            same_as_other_seed += u32::from(other_seed.next_operation(2) == expected);
        }
        assert!(same_as_other_seed < 20);
    }

    /// Proves that the share of reads is the one asked for, within 5 standard errors.
    #[test]
    fn mix_is_the_share_asked_for() {
        for share in [1u8, 20, 50, 70, 99] {
            let mut generator = Generator::new(&spec(Pattern::Randrw, share, 1), 1 << 30).unwrap();
            let draws = 200_000;
            let reads =
                (0..draws).filter(|_| generator.next_operation(0).direction == Direction::Read).count();
            let p = f64::from(share) / 100.0;
            let error = (reads as f64 / f64::from(draws) - p).abs();
            assert!(error < 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt(), "{share}: {error}");
        }
    }

    /// Proves that what is skipped is what the jobs would have written next, in turn, and that they go on behind it.
    #[test]
    fn carried_writes_are_those_that_would_have_come() {
        let mut skipped = Generator::new(&spec(Pattern::Randrw, 30, 3), 1 << 30).unwrap();
        let mut simulated = skipped.clone();
        let mut written = Vec::new();
        skipped.skip_random(1000, &mut |offset, length| written.push((offset, length)));
        let all = (0..1000).map(|io| simulated.next_operation(io % 3));
        let expected: Vec<_> = all
            .filter(|operation| operation.direction == Direction::Write)
            .map(|operation| (operation.offset_bytes, u64::from(operation.length_bytes)))
            .collect();
        assert_eq!(written, expected);
        assert_eq!(skipped.next_operation(0), simulated.next_operation(0));
    }

    /// Proves that skipped sequential jobs stay where they are, and that what they write meanwhile is told once, in order.
    #[test]
    fn skipped_streams_stay_and_tell_what_they_write() {
        let mut generator = Generator::new(&spec(Pattern::Write, 0, 3), 1 << 30).unwrap();
        let mut positions = Vec::new();
        generator.sequential_positions(&mut positions);
        for _ in 0..4 {
            for job in 0..3 {
                let _ = generator.next_operation(job);
            }
        }
        // 4 blocks a job in 1 s.
        let mut written = Vec::new();
        for seconds in [2, 1] {
            generator.skip_sequential(&positions, seconds, 1, &mut |offset, length| {
                written.push(((offset - (1 << 20)) / 4096, length / 4096));
            });
        }
        assert_eq!(written, [(4, 8), (337, 8), (670, 8), (12, 4), (345, 4), (678, 4)], "each block once");
        let blocks: Vec<u64> =
            (0..3).map(|job| (generator.next_operation(job).offset_bytes - (1 << 20)) / 4096).collect();
        assert_eq!(blocks, [4, 337, 670], "where they were");
    }

    /// Proves that a load that does not fit its target is refused.
    #[test]
    fn a_range_beyond_the_target_is_refused() {
        assert!(Generator::new(&spec(Pattern::Randread, 100, 1), 1 << 20).is_err());
        assert!(
            Generator::new(&LoadSpec { size_bytes: None, ..spec(Pattern::Randread, 100, 1) }, 1 << 20)
                .is_err()
        );
        assert!(
            Generator::new(&LoadSpec { size_bytes: Some(4095), ..spec(Pattern::Randread, 100, 1) }, 1 << 30)
                .is_err()
        );
    }

    proptest! {
        /// Proves that every operation is aligned to its block size within the range and lies inside it.
        #[test]
        fn operations_stay_in_range(pattern in 0usize..3, jobs in 1u32..50, blocks in 1u64..60, bs in 1u32..64, seed: u64) {
            let pattern = [Pattern::Rw, Pattern::Randrw, Pattern::Write][pattern];
            let bs_bytes = bs * 512;
            let spec = LoadSpec { bs_bytes, size_bytes: Some(blocks * u64::from(bs_bytes) + 511), seed, ..spec(pattern, 50, jobs) };
            let mut generator = Generator::new(&spec, 1 << 30).unwrap();
            for step in 0..200 {
                let operation = generator.next_operation(step % jobs);
                let inside = operation.offset_bytes - spec.offset_bytes;
                prop_assert_eq!(inside % u64::from(bs_bytes), 0);
                prop_assert!(inside / u64::from(bs_bytes) < blocks);
            }
        }
    }
}
