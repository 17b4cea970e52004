//! Issue schedule of each job, for every shape of load.

use std::ops::Range;

use crate::arrival::ArrivalStream;
use crate::distribution::Sampler;
use crate::error::out_of_range;
use crate::planned_io::PlannedIo;
use crate::replay::Replayed;
use crate::shape::SizeShare;
use crate::{Direction, Generator, LoadSpec, Operation, Random, SpecError};

/// Streams of random numbers for sizes, far from those of addresses, directions and arrivals.
const SIZE_STREAMS: u64 = 1 << 41;
/// Streams for orders that a job walks, likewise.
const ORDER_STREAMS: u64 = 1 << 42;
/// The stream that scatters hot blocks, the same for all jobs.
const SCATTER_STREAM: u64 = 1 << 43;

/// The I/Os of all jobs of a load. Each job's are independent of the others' and of the answers.
///
/// A driver asks for a job's next I/O whenever a place in its queue is free, and issues it when its moment has come.
/// In open loop, places in the queue that are all taken make I/Os wait, and the wait counts.
#[derive(Debug, Clone)]
pub struct Schedule {
    source: Source,
    is_open_loop: bool,
    is_paced: bool,
}

#[derive(Debug, Clone)]
enum Source {
    Plain(Box<Generator>),
    Shaped(Box<Shaped>),
    Replayed(Box<Replayed>),
}

impl Schedule {
    /// The schedule of a load over a device of `capacity_bytes`.
    pub fn new(spec: &LoadSpec, capacity_bytes: u64) -> Result<Self, SpecError> {
        spec.check()?;
        let source = if spec.shape.is_plain() {
            Source::Plain(Box::new(Generator::new(spec, capacity_bytes)?))
        } else if let Some(replay) = &spec.shape.replay {
            Source::Replayed(Box::new(Replayed::new(spec, replay, capacity_bytes)?))
        } else {
            Source::Shaped(Box::new(Shaped::new(spec, capacity_bytes)?))
        };
        let is_open_loop = match &source {
            Source::Replayed(replayed) => replayed.is_timed(),
            _ => spec.shape.arrival.is_some(),
        };
        // A replay that is not timed has an end, which drivers see as a moment that never comes.
        let is_paced = is_open_loop
            || spec.shape.replay.is_some()
            || spec.rate_iops.is_some()
            || spec.shape.rates != crate::shape::DirectionRates::default();
        Ok(Schedule { source, is_open_loop, is_paced })
    }

    /// The next I/O of a job.
    #[inline]
    pub fn next(&mut self, job: u32) -> PlannedIo {
        match &mut self.source {
            Source::Plain(generator) => PlannedIo {
                operation: generator.next_operation(job),
                not_before_ns: if self.is_paced { generator.next_allowed_ns(job) } else { 0 },
            },
            Source::Shaped(shaped) => shaped.next(job),
            Source::Replayed(replayed) => replayed.next(job),
        }
    }

    /// The bytes that a job may touch, where each job has a part of its own (`shape.verify`); `None` elsewhere.
    pub fn own_part(&self, job: u32) -> Option<Range<u64>> {
        match &self.source {
            Source::Shaped(shaped) if shaped.has_parts => {
                let job = &shaped.jobs[job as usize];
                Some(job.base_bytes..job.base_bytes + job.length_bytes)
            }
            _ => None,
        }
    }

    /// Passes over a job's arrivals before a moment, in open loop, and counts them; which direction and size they would have had
    /// is not drawn. Nothing where the load is no open loop of its own arrivals.
    pub(crate) fn skip_arrivals(&mut self, job: u32, end_ns: u64) -> u64 {
        match &mut self.source {
            Source::Shaped(shaped) => {
                shaped.jobs[job as usize].arrivals.as_mut().map_or(0, |arrivals| arrivals.skip_until(end_ns))
            }
            Source::Plain(_) | Source::Replayed(_) => 0,
        }
    }

    /// Draws the next `ios` operations of a closed loop over all jobs, in turn, and passes each written range to `written`.
    pub(crate) fn skip_random(&mut self, ios: u64, numjobs: u64, written: &mut dyn FnMut(u64, u64)) {
        for io in 0..ios {
            let Operation { direction, offset_bytes, length_bytes, .. } =
                self.next((io % numjobs) as u32).operation;
            if direction == Direction::Write {
                written(offset_bytes, u64::from(length_bytes));
            }
        }
    }

    /// True where I/Os have moments of their own, from which latency counts.
    pub fn is_open_loop(&self) -> bool {
        self.is_open_loop
    }

    /// True where I/Os have to wait for their moments.
    pub fn is_paced(&self) -> bool {
        self.is_paced
    }
}

/// Parameters that all jobs of a shaped load share.
#[derive(Debug, Clone)]
struct Shaped {
    is_random: bool,
    /// Each job has a part of the range of its own.
    has_parts: bool,
    trim_percent: u64,
    read_percent: u64,
    sizes: Vec<SizeShare>,
    weight_total: u64,
    numjobs: u64,
    spacing_ns: Option<f64>,
    /// Mean time between I/Os of each direction: reads, writes and trims.
    direction_spacing_ns: [Option<f64>; 3],
    jobs: Vec<Job>,
}

#[derive(Debug, Clone)]
struct Job {
    addresses: Random,
    directions: Random,
    size_draws: Random,
    arrivals: Option<ArrivalStream>,
    /// First byte of the part that random addresses fall into.
    base_bytes: u64,
    length_bytes: u64,
    /// Address samplers, one for each block size.
    samplers: Vec<Sampler>,
    streams: Vec<Stream>,
    next_stream: usize,
    tickets: u64,
    direction_tickets: [u64; 3],
}

/// A sequential stream: a part of the range, and a position for each direction, as fio has.
#[derive(Debug, Clone)]
struct Stream {
    start_bytes: u64,
    length_bytes: u64,
    positions: [u64; 3],
}

impl Shaped {
    fn new(spec: &LoadSpec, capacity_bytes: u64) -> Result<Self, SpecError> {
        let shape = &spec.shape;
        let available = capacity_bytes.saturating_sub(spec.offset_bytes);
        let size = spec.range_bytes(capacity_bytes);
        let smallest = u64::from(shape.smallest_bytes(spec.bs_bytes));
        let largest = u64::from(shape.largest_bytes(spec.bs_bytes));
        let used = spec.working_set_bytes(capacity_bytes) / smallest * smallest;
        if size > available || used < largest {
            return Err(out_of_range(
                "size",
                size,
                format!(
                    "at least one block of {largest} in the working set and at most the {available} bytes from offset {} to the \
                     target's end",
                    spec.offset_bytes
                ),
            ));
        }
        let numjobs = u64::from(spec.numjobs);
        let is_random = spec.pattern.is_random();
        let streams = u64::from(shape.streams.max(1));
        let sizes = if shape.sizes.is_empty() {
            vec![SizeShare { bs_bytes: spec.bs_bytes, weight: 1 }]
        } else {
            shape.sizes.clone()
        };
        let has_slices = shape.offset_increment_bytes.is_none() && (!is_random || shape.verify);
        let slice_bytes = if has_slices { used / numjobs / smallest * smallest } else { used };
        let stream_bytes = slice_bytes / streams / smallest * smallest;
        let scatter_key = Random::from_seed_and_stream(spec.seed, SCATTER_STREAM).next_u64();
        let mut jobs = Vec::with_capacity(spec.numjobs as usize);
        for job in 0..numjobs {
            let (base_bytes, length_bytes) = match shape.offset_increment_bytes {
                Some(step) => {
                    let start = job.saturating_mul(step);
                    (start, used.saturating_sub(start))
                }
                None if has_slices => (job * slice_bytes, slice_bytes),
                None => (0, used),
            };
            let per_stream = if is_random {
                length_bytes
            } else if shape.offset_increment_bytes.is_some() {
                length_bytes / streams / smallest * smallest
            } else {
                stream_bytes
            };
            if per_stream < largest {
                return Err(out_of_range(
                    "size",
                    size,
                    format!("enough for a block of {largest} in each of {numjobs} jobs' {streams} streams"),
                ));
            }
            let base_bytes = spec.offset_bytes + base_bytes;
            let own_key = Random::from_seed_and_stream(spec.seed, ORDER_STREAMS + job).next_u64();
            jobs.push(Job {
                addresses: Random::from_seed_and_stream(spec.seed, job * 2),
                directions: Random::from_seed_and_stream(spec.seed, job * 2 + 1),
                size_draws: Random::from_seed_and_stream(spec.seed, SIZE_STREAMS + job),
                arrivals: shape
                    .arrival
                    .as_ref()
                    .map(|arrival| ArrivalStream::new(arrival, job as u32, spec.numjobs, spec.seed)),
                base_bytes,
                length_bytes,
                samplers: sizes
                    .iter()
                    .map(|size| {
                        let blocks = length_bytes / u64::from(size.bs_bytes);
                        Sampler::new(&shape.distribution, blocks, scatter_key, own_key)
                    })
                    .collect(),
                streams: (0..streams)
                    .map(|stream| Stream {
                        start_bytes: base_bytes + stream * per_stream,
                        length_bytes: per_stream,
                        positions: [0; 3],
                    })
                    .take(if is_random { 0 } else { streams as usize })
                    .collect(),
                next_stream: 0,
                tickets: 0,
                direction_tickets: [0; 3],
            });
        }
        let spacing = |rate: Option<f64>| rate.map(|rate| 1e9 / rate);
        Ok(Shaped {
            is_random,
            has_parts: has_slices,
            trim_percent: u64::from(shape.trim_percent),
            read_percent: u64::from(spec.pattern.fixed_read_share().unwrap_or(spec.rwmixread)),
            weight_total: sizes.iter().map(|size| u64::from(size.weight)).sum(),
            sizes,
            numjobs,
            spacing_ns: spacing(spec.rate_iops),
            direction_spacing_ns: [
                spacing(shape.rates.read_iops),
                spacing(shape.rates.write_iops),
                spacing(shape.rates.trim_iops),
            ],
            jobs,
        })
    }

    fn next(&mut self, job_index: u32) -> PlannedIo {
        let job = &mut self.jobs[job_index as usize];
        let direction = if self.trim_percent > 0 && job.directions.below(100) < self.trim_percent {
            Direction::Trim
        } else {
            match self.read_percent {
                100 => Direction::Read,
                0 => Direction::Write,
                share if job.directions.below(100) < share => Direction::Read,
                _ => Direction::Write,
            }
        };
        let class = if self.sizes.len() == 1 {
            0
        } else {
            let mut drawn = job.size_draws.below(self.weight_total);
            let mut class = 0;
            while drawn >= u64::from(self.sizes[class].weight) {
                drawn -= u64::from(self.sizes[class].weight);
                class += 1;
            }
            class
        };
        let length_bytes = self.sizes[class].bs_bytes;
        let place = direction as usize;
        let offset_bytes = if self.is_random {
            job.base_bytes + job.samplers[class].draw(&mut job.addresses) * u64::from(length_bytes)
        } else {
            let stream = job.next_stream;
            job.next_stream = if stream + 1 == job.streams.len() { 0 } else { stream + 1 };
            job.streams[stream].advance(place, u64::from(length_bytes))
        };
        let not_before_ns = match &mut job.arrivals {
            Some(arrivals) => arrivals.next_ns(),
            None => {
                let turn = |ticket: &mut u64, spacing_ns: Option<f64>| {
                    let Some(spacing_ns) = spacing_ns else { return 0 };
                    // As the plain generator: jobs take turns, and a product of exact integers does not drift.
                    let moment_ns = (*ticket * self.numjobs + u64::from(job_index)) as f64 * spacing_ns;
                    *ticket += 1;
                    moment_ns as u64
                };
                turn(&mut job.tickets, self.spacing_ns)
                    .max(turn(&mut job.direction_tickets[place], self.direction_spacing_ns[place]))
            }
        };
        PlannedIo {
            operation: Operation { direction, offset_bytes, length_bytes, job: job_index },
            not_before_ns,
        }
    }
}

impl Stream {
    /// The next range of the stream; at its end it begins again.
    fn advance(&mut self, direction: usize, length_bytes: u64) -> u64 {
        let position = &mut self.positions[direction];
        if *position + length_bytes > self.length_bytes {
            *position = 0;
        }
        let offset_bytes = self.start_bytes + *position;
        *position += length_bytes;
        offset_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Distribution, LoadShape};
    use crate::{Arrival, Pattern};
    use proptest::prelude::*;

    fn spec(pattern: Pattern, shape: LoadShape) -> LoadSpec {
        LoadSpec {
            pattern,
            rwmixread: 70,
            bs_bytes: 4096,
            numjobs: 4,
            iodepth: 1,
            offset_bytes: 1 << 20,
            size_bytes: Some(64 << 20),
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 1,
            interval_ns: 1,
            seed: 3,
            shape,
        }
    }

    /// Proves that the shares of directions and of sizes are those asked for, within 5 standard errors, and that the
    /// mix of sizes and trims leaves alone which I/Os are reads among the others.
    #[test]
    fn mixes_have_their_shares() {
        let sizes = vec![
            SizeShare { bs_bytes: 4096, weight: 20 },
            SizeShare { bs_bytes: 8192, weight: 70 },
            SizeShare { bs_bytes: 65_536, weight: 10 },
        ];
        let shape = LoadShape { sizes, trim_percent: 5, ..LoadShape::default() };
        let mut schedule = Schedule::new(&spec(Pattern::Randrw, shape), 1 << 30).unwrap();
        let draws = 200_000;
        let operations: Vec<Operation> = (0..draws).map(|_| schedule.next(0).operation).collect();
        let share = |wanted: &dyn Fn(&Operation) -> bool| {
            operations.iter().filter(|operation| wanted(operation)).count() as f64 / f64::from(draws)
        };
        let near = |measured: f64, p: f64| {
            assert!(
                (measured - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt(),
                "{measured} for {p}"
            );
        };
        near(share(&|operation| operation.direction == Direction::Trim), 0.05);
        near(share(&|operation| operation.direction == Direction::Read), 0.95 * 0.7);
        near(share(&|operation| operation.length_bytes == 4096), 0.2);
        near(share(&|operation| operation.length_bytes == 8192), 0.7);
        near(
            share(&|operation| operation.length_bytes == 65_536 && operation.direction == Direction::Write),
            0.1 * 0.285,
        );
    }

    /// Proves that streams of a job are served in turn, each in order over its own part, and begin again.
    #[test]
    fn streams_take_turns() {
        let shape = LoadShape { streams: 4, ..LoadShape::default() };
        let load = LoadSpec { numjobs: 2, size_bytes: Some(8 * 2 * 4096), ..spec(Pattern::Read, shape) };
        let mut schedule = Schedule::new(&load, 1 << 30).unwrap();
        for step in 0..24u64 {
            for job in 0..2u64 {
                let expected = (1 << 20) + 4096 * (job * 8 + (step % 4) * 2 + step / 4 % 2);
                assert_eq!(schedule.next(job as u32).operation.offset_bytes, expected, "{step} {job}");
            }
        }
    }

    /// Proves that a working set and offsets between jobs bound the addresses, and that verified jobs never meet.
    #[test]
    fn parts_are_kept() {
        let range = |shape: LoadShape, job: u32| {
            let mut schedule = Schedule::new(&spec(Pattern::Randwrite, shape), 1 << 30).unwrap();
            let offsets: Vec<u64> =
                (0..20_000).map(|_| schedule.next(job).operation.offset_bytes - (1 << 20)).collect();
            (*offsets.iter().min().unwrap() >> 20, *offsets.iter().max().unwrap() >> 20)
        };
        assert_eq!(range(LoadShape { working_set_percent: 25, ..LoadShape::default() }, 3), (0, 15));
        let step = LoadShape { offset_increment_bytes: Some(16 << 20), ..LoadShape::default() };
        assert_eq!(range(step.clone(), 0), (0, 63));
        assert_eq!(range(step, 3), (48, 63));
        let verified = LoadShape { verify: true, ..LoadShape::default() };
        assert_eq!(range(verified, 2), (32, 47));
        let too_far = LoadShape { offset_increment_bytes: Some(30 << 20), ..LoadShape::default() };
        assert!(Schedule::new(&spec(Pattern::Randwrite, too_far), 1 << 30).is_err());
    }

    /// Proves that limits for each direction and for the total give their moments, and that without one there is none.
    #[test]
    fn limits_have_their_moments() {
        let rates =
            crate::DirectionRates { read_iops: Some(1000.0), write_iops: Some(100.0), trim_iops: None };
        let load =
            LoadSpec { numjobs: 1, ..spec(Pattern::Randrw, LoadShape { rates, ..LoadShape::default() }) };
        let mut schedule = Schedule::new(&load, 1 << 30).unwrap();
        let mut counts = [0u64; 3];
        for _ in 0..1000 {
            let planned = schedule.next(0);
            let place = planned.operation.direction as usize;
            assert_eq!(planned.not_before_ns, counts[place] * [1_000_000, 10_000_000, 0][place]);
            counts[place] += 1;
        }
        let plain = Schedule::new(&spec(Pattern::Randrw, LoadShape::default()), 1 << 30).unwrap();
        assert!(!plain.is_paced() && !plain.is_open_loop());
        let open = LoadShape { arrival: Some(Arrival::poisson(1e4)), ..LoadShape::default() };
        assert!(Schedule::new(&spec(Pattern::Randrw, open.clone()), 1 << 30).unwrap().is_open_loop());
        let both = LoadSpec { rate_iops: Some(1.0), ..spec(Pattern::Randrw, open) };
        assert!(Schedule::new(&both, 1 << 30).is_err());
    }

    proptest! {
        /// Proves that every I/O of every shape lies within the range and is aligned to its size from the offset on.
        #[test]
        fn operations_stay_in_range(
            random: bool, streams in 0u32..4, jobs in 1u32..5, share in 0u8..=100, which in 0usize..4, verify: bool, seed: u64,
        ) {
            let distribution = [
                Distribution::Uniform, Distribution::Zipf { theta: 1.1 }, Distribution::Pareto { h: 0.2 },
                Distribution::Bands(vec![
                    crate::Band { access_percent: 90, size_percent: 1 }, crate::Band { access_percent: 10, size_percent: 99 },
                ]),
            ][which].clone();
            let sizes = [(512, 1), (4096, 5), (12_288, 2)].map(|(bs_bytes, weight)| SizeShare { bs_bytes, weight });
            let shape = LoadShape {
                distribution, streams, working_set_percent: share, verify, sizes: sizes.to_vec(),
                trim_percent: if verify { 0 } else { 10 }, ..LoadShape::default()
            };
            let load = LoadSpec {
                numjobs: jobs, seed, size_bytes: Some((1 << 20) + 777),
                ..spec(if random { Pattern::Randrw } else { Pattern::Rw }, shape)
            };
            let Ok(mut schedule) = Schedule::new(&load, (2 << 20) + 777) else { return Ok(()) };
            for step in 0..400 {
                let operation = schedule.next(step % jobs).operation;
                let inside = operation.offset_bytes - load.offset_bytes;
                prop_assert_eq!(inside % 512, 0);
                prop_assert!(inside + u64::from(operation.length_bytes) <= (1 << 20) + 777);
            }
        }
    }
}
