//! Solid-state drives of a twin, as hours of writes in order leave them.
//!
//! Drives that were rewritten at random have what is no longer valid in all their blocks; collection moves the rest of each. Writes in
//! order leave whole blocks without anything valid, pass by pass over their range, and the rate becomes two to four times that of the
//! first pass.

use super::draws::{loads, write_share};
use load::LoadSpec;
use plan::Case;
use twin::{FlashUnits, Twin};

/// Parts of the range of a stream that are written in turn with those of the other streams, as these go on side by side.
const PARTS: u64 = 256;
/// Share of what the drives offer that is written between two looks: passes over a small range change little.
const LOOK_SHARE: u64 = 4;
/// Looks at least, and at most: what lies outside the range is collected once in one to two times what the drives offer.
const LOOKS: std::ops::RangeInclusive<u32> = 4..=32;
/// Programs for each unit that was given, from one look to the next, differ by this share at most in the end.
const SAME: f64 = 0.02;

/// Share of each drive that the range takes at least. Passes over less may leave blocks of which collection moves half for ever, by where
/// each begins: on six mirrored drives two streams over a fifth and a quarter ended at a third of the rate that parts of a 256th end at; over
/// half of each drive, and over all, at the same.
const LEAST_SHARE: f64 = 0.5;

/// Part of a range that one stream writes in order.
struct Stream {
    job: u32,
    offset_bytes: u64,
    length_bytes: u64,
}

/// Lets solid-state drives be as after hours of a case's writes, where all of them go in order; false where nothing was done.
pub(super) fn precondition_drives(twin: &mut Twin, case: &Case) -> bool {
    let Some(streams) = streams(twin, case) else { return false };
    let mut before = None;
    for look in 1..=*LOOKS.end() {
        let began = twin.flash_units();
        let written = loop {
            rewrite(twin, &streams);
            let now = twin.flash_units();
            let written =
                FlashUnits { written: now.written - began.written, moved: now.moved - began.moved, ..now };
            // Ranges of less than what stands for many units are never seen to be written.
            if written.written == 0 || written.written >= now.offered / LOOK_SHARE {
                break written;
            }
        };
        let programs = 1.0 + written.moved as f64 / written.written.max(1) as f64;
        let is_same =
            before.replace(programs).is_some_and(|before: f64| (before - programs).abs() <= SAME * programs);
        if is_same && look >= *LOOKS.start() {
            break;
        }
    }
    true
}

/// Streams of all loads that write; `None` where they do not all go in order, or over little of the drives.
fn streams(twin: &Twin, case: &Case) -> Option<Vec<Stream>> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut share = 0.0;
    for (spec, first_job, _) in loads(case).iter().filter(|(spec, ..)| write_share(spec) > 0.0) {
        let range_bytes = in_order_bytes(spec, twin.capacity_of_job_bytes(*first_job))?;
        share += twin.share_of_drives(*first_job, spec.offset_bytes, range_bytes)?;
        streams.extend(streams_of(spec, *first_job, range_bytes));
    }
    (share >= LEAST_SHARE).then_some(streams)
}

/// Bytes that a load writes in order again and again; `None` where it does not, or its jobs share bytes.
fn in_order_bytes(spec: &LoadSpec, capacity_bytes: u64) -> Option<u64> {
    let shape = &spec.shape;
    let is_in_order = !spec.pattern.is_random()
        && shape.replay.is_none()
        && shape.offset_increment_bytes.is_none()
        && shape.trim_percent == 0;
    let percent = if shape.working_set_percent == 0 { 100 } else { u64::from(shape.working_set_percent) };
    is_in_order.then(|| spec.range_bytes(capacity_bytes) / 100 * percent)
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
