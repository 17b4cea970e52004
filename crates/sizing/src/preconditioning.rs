//! Solid-state drives of a twin, as hours of writes in order leave them.
//!
//! Drives that were rewritten at random have what is no longer valid in all their blocks; collection moves the rest of each. Writes in
//! order leave whole blocks without anything valid, pass by pass over their range, and the rate becomes two to four times that of the
//! first pass.

use crate::cache_warming::{loads, write_share};
use load::LoadSpec;
use plan::Case;
use std::ops::RangeInclusive;
use twin::Twin;

/// Parts of the range of a stream that are written in turn with those of the other streams, as these go on side by side.
const PARTS: u64 = 256;
/// Passes at least, and at most.
const PASSES: RangeInclusive<u32> = 4..=32;
/// Programs for each unit that was given, from one pass to the next, differ by this share at most in the end.
const SAME: f64 = 0.02;

/// Share of each drive that the range of a load takes at least. Passes over less may leave blocks of which collection moves half for ever, by
/// where each begins: on six mirrored drives two streams over a fifth and a quarter ended at a third of the rate that parts of a 256th end at;
/// over half of each drive, and over all, at the same.
const LEAST_SHARE: f64 = 0.5;

/// Part of a range that one stream writes in order.
struct Stream {
    job: u32,
    offset_bytes: u64,
    length_bytes: u64,
}

/// Lets solid-state drives be as after hours of a case's writes, where all of them go in order; false where nothing was done.
pub(crate) fn precondition_drives(twin: &mut Twin, case: &Case) -> bool {
    let Some(streams) = streams(twin, case) else { return false };
    let mut before: Option<f64> = None;
    for pass in 1..=*PASSES.end() {
        let began = twin.flash_units();
        rewrite(twin, &streams);
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

/// Streams of all loads that write; `None` where there are none, or one does not go in order, or over too little of the drives.
fn streams(twin: &Twin, case: &Case) -> Option<Vec<Stream>> {
    let mut streams: Vec<Stream> = Vec::new();
    for (spec, first_job, _) in loads(case).iter().filter(|(spec, ..)| write_share(spec) > 0.0) {
        let range_bytes = spec.working_set_bytes(twin.capacity_of_job_bytes(*first_job));
        let share = twin.share_of_drives(*first_job, spec.offset_bytes, range_bytes)?;
        if !goes_in_order(spec) || share < LEAST_SHARE {
            return None;
        }
        streams.extend(streams_of(spec, *first_job, range_bytes));
    }
    (!streams.is_empty()).then_some(streams)
}

/// Returns whether a load writes its range in order again and again, each of its jobs a slice of it.
fn goes_in_order(spec: &LoadSpec) -> bool {
    let shape = &spec.shape;
    !spec.pattern.is_random()
        && shape.replay.is_none()
        && shape.offset_increment_bytes.is_none()
        && shape.trim_percent == 0
}

/// Streams of a load's jobs, each in its part of the range.
fn streams_of(spec: &LoadSpec, first_job: u32, range_bytes: u64) -> impl Iterator<Item = Stream> {
    let count = u64::from(spec.numjobs) * u64::from(spec.shape.streams.max(1));
    let (offset_bytes, length_bytes) = (spec.offset_bytes, range_bytes / count);
    (0..count).map(move |number| Stream {
        job: first_job,
        offset_bytes: offset_bytes + number * length_bytes,
        length_bytes,
    })
}

/// Writes all ranges once.
fn rewrite(twin: &mut Twin, streams: &[Stream]) {
    for part in 0..PARTS {
        for stream in streams {
            let bound =
                |part: u64| (u128::from(stream.length_bytes) * u128::from(part) / u128::from(PARTS)) as u64;
            let (first, end) = (bound(part), bound(part + 1));
            if first < end {
                twin.rewrite_in_order(stream.job, stream.offset_bytes + first, end - first);
            }
        }
    }
}
