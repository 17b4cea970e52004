//! Solid-state drives of a twin, as hours of the load's own writes leave them (SNIA's *workload dependent preconditioning*).
//!
//! Drives that were rewritten at random all over have what is no longer valid in all their blocks; collection moves the rest of each. Writes in
//! order leave whole blocks without anything valid, pass by pass over their range, as random writes do to a range that is small beside the
//! spare space; those to more of a drive mix with what they never write, and are amplified more than writes all over.

use crate::workload::{distinct_bytes, load_iops, loads, write_share};
use load::{Distribution, LoadSpec};
use plan::Case;
use std::ops::RangeInclusive;
use twin::Twin;

/// Parts of a pass in which each stream is written in turn with the others, as these go on side by side.
const PARTS: u32 = 256;
/// Passes over all ranges at least, and at most.
const PASSES: RangeInclusive<u32> = 4..=32;
/// Programs for each unit that was given, from one pass to the next, differ by this share at most in the end.
const SAME: f64 = 0.02;
/// Each pass writes this share of what each drive holds at least: the range of a load can be less than spare space, and many times of it pass
/// before collection has seen all blocks.
const LEAST_OF_DRIVES: f64 = 1.0 / 16.0;
/// Share of each drive from which on random writes to all of it are taken for uniform over the drive, which is how drives began.
const WHOLE: f64 = 0.95;

/// Part of a range that is written by one stream.
struct Stream {
    job: u32,
    offset_bytes: u64,
    length_bytes: u64,
    /// Bytes of each pass.
    pass_bytes: f64,
    addresses: Addresses,
}

/// Addresses of a stream's writes.
enum Addresses {
    /// Again and again from the beginning on; so much was written before.
    InOrder { written_bytes: u64 },
    /// Anywhere; each byte is this share of what a drive holds.
    AtRandom { drives_per_byte: f64 },
}

/// Lets solid-state drives be as after hours of a case's writes; false where nothing was done.
pub(crate) fn precondition_drives(twin: &mut Twin, case: &Case) -> bool {
    let Some(mut streams) = streams(twin, case) else { return false };
    let mut before: Option<f64> = None;
    for pass in 1..=*PASSES.end() {
        let began = twin.flash_units();
        for part in 0..PARTS {
            streams.iter_mut().for_each(|stream| stream.write(twin, part));
        }
        let written = twin.flash_units().since(began);
        let programs = 1.0 + written.moved as f64 / written.given.max(1) as f64;
        let is_same =
            before.replace(programs).is_some_and(|before| (before - programs).abs() <= SAME * programs);
        if is_same && pass >= *PASSES.start() {
            break;
        }
    }
    true
}

/// Streams of all loads that write; `None` where there are none, or nothing is to be done (all of them are uniform over all), or cannot be.
fn streams(twin: &Twin, case: &Case) -> Option<Vec<Stream>> {
    let loads = loads(case);
    let writing: Vec<_> = loads.iter().filter(|(spec, ..)| write_share(spec) > 0.0).collect();
    let mut ranges = Vec::new();
    for (spec, first_job, _) in &writing {
        let range_bytes = spec.working_set_bytes(twin.capacity_of_job_bytes(*first_job));
        let share = twin.share_of_drives(*first_job, spec.offset_bytes, range_bytes)?;
        let is_known = spec.shape.replay.is_none()
            && spec.shape.offset_increment_bytes.is_none()
            && spec.shape.trim_percent == 0
            && matches!(spec.shape.distribution, Distribution::Uniform | Distribution::NoRepeat);
        if !is_known || share == 0.0 {
            return None;
        }
        ranges.push((range_bytes as f64, share));
    }
    let is_uniform = writing
        .iter()
        .zip(&ranges)
        .all(|((spec, ..), (_, share))| spec.pattern.is_random() && *share >= WHOLE);
    if is_uniform {
        return None;
    }
    // Streams share a pass by their rates; where one has none, by their ranges.
    let rates: Option<Vec<f64>> = (writing.iter())
        .map(|(spec, ..)| Some(load_iops(spec)? * write_share(spec) * f64::from(spec.bs_bytes)))
        .collect();
    let weights = rates.unwrap_or_else(|| ranges.iter().map(|&(range_bytes, _)| range_bytes).collect());
    // Many streams may have one range, as those that are made of what a monitoring tool wrote have all of the array: a pass goes over it once.
    let all_bytes = distinct_bytes(writing.iter().copied(), twin) as f64;
    let least_bytes = ranges.iter().map(|&(range_bytes, share)| range_bytes / share * LEAST_OF_DRIVES);
    let pass_bytes = least_bytes.fold(all_bytes, f64::max) / weights.iter().sum::<f64>();
    let mut streams = Vec::new();
    for (((spec, first_job, _), (range_bytes, share)), weight) in writing.iter().zip(ranges).zip(weights) {
        let drives_per_byte = share / range_bytes;
        streams.extend(streams_of(
            spec,
            *first_job,
            range_bytes as u64,
            weight * pass_bytes,
            drives_per_byte,
        ));
    }
    Some(streams)
}

/// Streams of a load: one at random, or one of each job that goes through a slice of the range in order.
fn streams_of(
    spec: &LoadSpec,
    job: u32,
    range_bytes: u64,
    pass_bytes: f64,
    drives_per_byte: f64,
) -> impl Iterator<Item = Stream> {
    let is_random = spec.pattern.is_random();
    let count = if is_random { 1 } else { u64::from(spec.numjobs) * u64::from(spec.shape.streams.max(1)) };
    let (offset_bytes, length_bytes) = (spec.offset_bytes, range_bytes / count);
    (0..count).map(move |number| Stream {
        job,
        offset_bytes: offset_bytes + number * length_bytes,
        length_bytes,
        pass_bytes: pass_bytes / count as f64,
        addresses: if is_random {
            Addresses::AtRandom { drives_per_byte }
        } else {
            Addresses::InOrder { written_bytes: 0 }
        },
    })
}

impl Stream {
    /// Writes what it writes in one part of a pass.
    fn write(&mut self, twin: &mut Twin, part: u32) {
        match &mut self.addresses {
            Addresses::AtRandom { drives_per_byte } => {
                let drive_writes = self.pass_bytes / f64::from(PARTS) * *drives_per_byte;
                twin.rewrite_at_random(self.job, self.offset_bytes, self.length_bytes, drive_writes);
            }
            Addresses::InOrder { written_bytes } => {
                let bound = |part: u32| (self.pass_bytes * f64::from(part) / f64::from(PARTS)) as u64;
                // A log that is small beside a pass goes round many times in it: once in each part is often enough.
                let mut left_bytes = (bound(part + 1) - bound(part)).min(self.length_bytes);
                while left_bytes > 0 {
                    let at_bytes = *written_bytes % self.length_bytes;
                    let piece_bytes = left_bytes.min(self.length_bytes - at_bytes);
                    twin.rewrite_in_order(self.job, self.offset_bytes + at_bytes, piece_bytes);
                    *written_bytes += piece_bytes;
                    left_bytes -= piece_bytes;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    /// Units that drives are given by preconditioning for a number of streams at once, each over the same gigabyte; 0 where nothing was done.
    fn given_units(streams: usize, settings: &str) -> u64 {
        let array = crate::Configuration::load("small-flash").unwrap();
        let mut twin = Twin::build(&array.description, &serde_json::Map::new(), 1).unwrap();
        let streams: String =
            (0..streams).map(|n| format!("  - {{ name: s{n}, iops: 9, bs: 8k, {settings} }}\n")).collect();
        let case =
            Workload::parse("w", &format!("title: w\nstreams:\n{streams}")).unwrap().case("w").unwrap();
        let began = twin.flash_units();
        let is_done = precondition_drives(&mut twin, &case);
        let given = twin.flash_units().since(began).given;
        assert_eq!(is_done, given > 0);
        given
    }

    /// Proves that streams over one range write it no more often than one stream does, and that any number of streams that write at random to all of
    /// the array leave the drives as they begin.
    #[test]
    fn streams_over_one_range_share_its_passes() {
        let one = given_units(1, "rw: randwrite, size: 1g");
        let many = given_units(12, "rw: randwrite, size: 1g");
        assert!(one > 0 && (many as f64 / one as f64 - 1.0).abs() < 0.3, "{one} {many}");
        assert_eq!((given_units(1, "rw: randwrite"), given_units(12, "rw: randwrite")), (0, 0));
        assert!(given_units(2, "rw: write") > 0);
    }
}
