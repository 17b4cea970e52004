//! Alignment of per-job log rows into one sample an interval.
//!
//! A row holds what one job completed in one direction since its previous row. fio makes a row when an I/O completes
//! after the interval is over, with two consequences:
//!
//! - Timestamps are delayed by what that completion took, and after a stall by the whole stall, with a row for each
//!   interval that was missed right behind. fio counts intervals without drift (`hist_last` in `stat.c`), so the
//!   k-th row of a job and direction stands for its k-th interval; but when I/Os come less than once an interval the
//!   rows fall behind. So a row is put in its k-th interval as far as that lies between the times of the previous
//!   row and its own, between which all its I/Os completed.
//! - The last, unfinished interval is never logged (fio#490). It is what the job's bins in JSON+ hold beyond all
//!   its rows: `total − Σ rows`, exact bin by bin.

use load::{Direction, Histogram, LoadSpec, Sample};

use crate::logs::{HistogramLog, HistogramRow, IntervalLog};
use crate::report::Job;

/// The directions, in fio's order.
pub(crate) const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

/// A job with its logs.
pub(crate) struct LoggedJob<'a> {
    pub job: &'a Job,
    pub histograms: &'a HistogramLog,
    /// Bandwidth log of a load with mixed block sizes.
    pub bandwidth: Option<&'a IntervalLog>,
}

/// The intervals of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub interval_ms: u64,
    /// Time that was counted, after the ramp.
    pub runtime_ms: u64,
    pub ramp_ns: u64,
    /// Number of intervals.
    count: usize,
    /// Log time at which counting began.
    origin_ms: u64,
}

/// The most intervals of a case: a day of 5 s is 17,280, and each takes 54 KB for the histograms of its sample.
pub(crate) const INTERVAL_LIMIT: u64 = 20_000;
/// Intervals that a run may have beyond twice of what was asked for.
const LATE_INTERVALS: u64 = 100;
/// A runtime above this (34 years) is no runtime.
const RUNTIME_LIMIT_MS: u64 = 1 << 40;

impl Grid {
    /// The grid of a run. `report_unix_ms` is needed for logs on the wall clock only.
    pub fn new(interval_ms: u64, load: &LoadSpec, jobs: &[LoggedJob], report_unix_ms: Option<u64>) -> Grid {
        let interval_ms = interval_ms.max(1);
        let runtime_ms = jobs.iter().map(|logged| runtime_ms(logged.job)).max().unwrap_or(0);
        // fio ends a little late (4001 ms for 4 s). An overhang of less than a tenth belongs to the last interval:
        // a rate over a millisecond says nothing.
        let whole = runtime_ms / interval_ms;
        let has_rest = whole == 0 || runtime_ms % interval_ms >= interval_ms.div_ceil(10);
        // A run that takes far longer than asked for waits for a device; its last interval holds all of the wait.
        let most =
            (load.runtime_ns / 1_000_000 / interval_ms).saturating_mul(2).saturating_add(LATE_INTERVALS);
        let count = (whole + u64::from(has_rest)).min(INTERVAL_LIMIT).min(most) as usize;
        let origin_ms = origin_ms(interval_ms, runtime_ms, load.ramp_ns / 1_000_000, jobs, report_unix_ms);
        Grid { interval_ms, runtime_ms, ramp_ns: load.ramp_ns, count, origin_ms }
    }

    /// The interval that holds a moment since the origin.
    fn index(&self, since_origin_ms: u64) -> usize {
        ((since_origin_ms / self.interval_ms) as usize).min(self.count - 1)
    }

    /// The intervals between two moments in which there were I/Os, each with the milliseconds of it that lie between
    /// them; the last one alone where there were none. Never empty.
    fn busy_parts(&self, from_ms: u64, to_ms: u64, ios: &[u64]) -> Vec<(usize, u64)> {
        let last = self.index(to_ms.saturating_sub(1).max(from_ms));
        let parts: Vec<(usize, u64)> = (self.index(from_ms)..=last)
            .filter(|&index| ios[index] > 0)
            .map(|index| {
                let start_ms = (index as u64 * self.interval_ms).max(from_ms);
                // The last interval holds what comes after it as well.
                let end_ms =
                    if index + 1 == self.count { to_ms } else { (index as u64 + 1) * self.interval_ms };
                (index, end_ms.min(to_ms).saturating_sub(start_ms))
            })
            .filter(|&(_, part_ms)| part_ms > 0)
            .collect();
        if parts.is_empty() {
            vec![(last, self.interval_ms.min(to_ms.saturating_sub(from_ms)).max(1))]
        } else {
            parts
        }
    }
}

/// The time that a job counted. `job_runtime` is the sum over the jobs of a group, and missing in old versions, so it
/// only stands in where no direction did anything.
fn runtime_ms(job: &Job) -> u64 {
    let active = DIRECTIONS.iter().map(|&direction| job.direction(direction).runtime_ms).max().unwrap_or(0);
    (if active > 0 { active } else { job.runtime_ms }).min(RUNTIME_LIMIT_MS)
}

/// The log time at which counting began. Relative times start there in recent versions (measured with 3.33 and 3.42),
/// and before the ramp in others (fio#2041): told by rows later than the runtime. With `log_unix_epoch`, times are
/// near the time of the report.
fn origin_ms(
    interval_ms: u64,
    runtime_ms: u64,
    ramp_ms: u64,
    jobs: &[LoggedJob],
    report_unix_ms: Option<u64>,
) -> u64 {
    let rows = jobs.iter().flat_map(|logged| &logged.histograms.rows);
    let last_ms = rows.clone().map(|row| row.time_ms).max().unwrap_or(0);
    if last_ms <= runtime_ms + interval_ms / 2 {
        return 0;
    }
    if last_ms <= ramp_ms + runtime_ms + interval_ms {
        return ramp_ms;
    }
    // The first row comes an interval after the start, unless nothing happened for long; the report is printed soon
    // after the end.
    let from_rows = rows.map(|row| row.time_ms).min().unwrap_or(0).saturating_sub(interval_ms);
    match report_unix_ms.map(|end| end.saturating_sub(runtime_ms)) {
        Some(from_report) if from_report.abs_diff(from_rows) > interval_ms / 2 => from_report,
        _ => from_rows,
    }
}

/// Alignment warnings.
pub(crate) type Warnings = Vec<String>;

/// Returns the samples of a case. Over all samples, counts, bytes, latency sums and extremes of a direction are
/// exactly those of `totals`; an interval's own latency sum and extremes are estimates from its bins.
pub(crate) fn samples(
    jobs: &[LoggedJob],
    grid: &Grid,
    totals: &[crate::DirectionTotals; 3],
    warnings: &mut Warnings,
) -> Vec<Sample> {
    let mut samples: Vec<Sample> = (0..grid.count as u64)
        .map(|index| {
            let is_last = index + 1 == grid.count as u64;
            let end_ms = if is_last {
                grid.runtime_ms.max(index * grid.interval_ms + 1)
            } else {
                (index + 1) * grid.interval_ms
            };
            Sample {
                start_ns: grid.ramp_ns + index * grid.interval_ms * 1_000_000,
                end_ns: grid.ramp_ns + end_ms * 1_000_000,
                ..Sample::default()
            }
        })
        .collect();
    for (direction, totals) in DIRECTIONS.into_iter().zip(totals) {
        let mut parts = vec![Histogram::new(); grid.count];
        let mut weights = vec![0; grid.count];
        for logged in jobs {
            place(logged, direction, grid, &mut parts, &mut weights, warnings);
        }
        if weights.iter().all(|&weight| weight == 0) {
            weights = parts.iter().map(Histogram::count).collect();
        }
        settle_latencies(&mut parts, &totals.latency);
        let ios = share_out(totals.ios, &parts.iter().map(Histogram::count).collect::<Vec<_>>());
        let bytes = share_out(totals.bytes, &weights);
        for (index, latency) in parts.into_iter().enumerate() {
            let part = samples[index].direction_mut(direction);
            part.ios = ios[index];
            part.bytes = bytes[index];
            part.latency = latency;
            part.latency.compact();
        }
        // fio counts a job's errors, but not when they came; the job ended with the first one.
        if let Some(last) = samples.last_mut() {
            last.direction_mut(direction).errors = totals.errors;
        }
    }
    samples
}

/// Puts one job's rows and the unlogged rest of one direction into their intervals.
fn place(
    logged: &LoggedJob,
    direction: Direction,
    grid: &Grid,
    parts: &mut [Histogram],
    weights: &mut [u64],
    warnings: &mut Warnings,
) {
    let rows: Vec<&HistogramRow> =
        logged.histograms.rows.iter().filter(|row| row.direction == direction).collect();
    let slots = slots(&rows.iter().map(|row| row.time_ms).collect::<Vec<_>>(), grid);
    let mut known = Histogram::new();
    let mut ios = vec![0u64; grid.count];
    for (row, &slot) in rows.iter().zip(&slots) {
        for &(bin, count) in &row.bins {
            ios[slot] = ios[slot].saturating_add(count);
            parts[slot].add_bin(bin, count);
            known.add_bin(bin, count);
        }
    }
    if let Some(total) = &logged.job.direction(direction).completion.histogram {
        let total = logged.histograms.at_log_resolution(total);
        let rest = total.minus(&known);
        parts[slots[rows.len()]].merge(&rest);
        ios[slots[rows.len()]] = ios[slots[rows.len()]].saturating_add(rest.count());
        let logged_ms = rows.last().map_or(0, |row| row.time_ms.saturating_sub(grid.origin_ms));
        if rest.count() > 1 && logged_ms.saturating_add(2 * grid.interval_ms) <= grid.runtime_ms {
            // Rows stop where nothing completes any more, or where the log could not be written to its end.
            warnings.push(format!(
                "job {}: the histogram log of {}s ends at {logged_ms} of {} ms; {} of them are shown in the next interval",
                logged.job.name,
                direction.name(),
                grid.runtime_ms,
                rest.count()
            ));
        }
        if known.minus(&total).count() > 0 {
            warnings.push(format!(
                "job {}: the histogram log holds {} {}s that the report's bins do not",
                logged.job.name,
                known.minus(&total).count(),
                direction.name()
            ));
        }
    }
    if let Some(bandwidth) = logged.bandwidth {
        weigh(bandwidth, direction, logged.job.direction(direction).bytes, grid, &ios, weights);
    }
}

/// Adds the bytes that one job's bandwidth log shows to the intervals in which they went, and to those after its last
/// row the bytes that it does not show: like histograms, the last interval is not logged. Rates are rounded to KiB/s,
/// so these are weights to share out the exact total by.
///
/// A row is the mean rate since the row before it, and not always of one interval: on a busy host fio's helper thread
/// comes late, or a row that comes a millisecond early is averaged with the next (`__add_samples`, `__add_stat_to_log`
/// in `stat.c`; seen with 3.33: 250, 809). But an interval without a byte has no row at all, so of the time between two
/// rows only the intervals count in which the job's histograms show I/Os (`ios`).
fn weigh(
    bandwidth: &IntervalLog,
    direction: Direction,
    total_bytes: u64,
    grid: &Grid,
    ios: &[u64],
    weights: &mut [u64],
) {
    let mut known_bytes = 0u64;
    let mut add = |parts: &[(usize, u64)], bytes: u64| {
        let milliseconds: Vec<u64> = parts.iter().map(|&(_, part_ms)| part_ms).collect();
        for (&(index, _), bytes) in parts.iter().zip(share_out(bytes, &milliseconds)) {
            weights[index] = weights[index].saturating_add(bytes);
        }
    };
    let mut before_ms = 0;
    for row in bandwidth.rows.iter().filter(|row| row.direction == direction) {
        let end_ms = row.time_ms.saturating_sub(grid.origin_ms);
        let parts = grid.busy_parts(before_ms, end_ms, ios);
        let part_ms: u64 = parts.iter().map(|&(_, part_ms)| part_ms).sum();
        let bytes = (u128::from(row.value) * u128::from(part_ms) / 1000).min(u128::from(total_bytes)) as u64;
        known_bytes = known_bytes.saturating_add(bytes);
        add(&parts, bytes);
        before_ms = before_ms.max(end_ms);
    }
    add(&grid.busy_parts(before_ms, grid.runtime_ms, ios), total_bytes.saturating_sub(known_bytes));
}

/// The interval of each row of one job and direction, and that of what follows the last row.
fn slots(times_ms: &[u64], grid: &Grid) -> Vec<usize> {
    let times_ms: Vec<u64> = times_ms.iter().map(|time| time.saturating_sub(grid.origin_ms)).collect();
    // The k-th row is never made before the k-th interval ends, so the earliest of all tells when the first began.
    let start_ms = times_ms
        .iter()
        .enumerate()
        .map(|(k, &time_ms)| time_ms.saturating_sub((k as u64 + 1) * grid.interval_ms))
        .min()
        .unwrap_or(0);
    let mut after_ms = 0;
    let ends = times_ms.iter().map(|&time_ms| time_ms.saturating_sub(1)).chain([u64::MAX]);
    ends.enumerate()
        .map(|(k, end_ms)| {
            let middle_ms = (k as u64 * grid.interval_ms + grid.interval_ms / 2).saturating_add(start_ms);
            let slot = grid.index(middle_ms.max(after_ms).min(end_ms.max(after_ms)));
            after_ms = end_ms.saturating_add(1).max(after_ms);
            slot
        })
        .collect()
}

/// Splits `total` by weights, exactly: the parts add up to it. A part is off its share by less than 1.
fn share_out(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let mut parts = vec![0; weights.len()];
    if sum == 0 {
        if let Some(last) = parts.last_mut() {
            *last = total;
        }
        return parts;
    }
    let (mut weight_so_far, mut given) = (0u128, 0u64);
    for (part, &weight) in parts.iter_mut().zip(weights) {
        weight_so_far += u128::from(weight);
        let due = scale(total, weight_so_far, sum);
        *part = due - given;
        given = due;
    }
    parts
}

/// `total × part ÷ whole`, for `part ≤ whole`.
fn scale(total: u64, part: u128, whole: u128) -> u64 {
    // Weights are sums of at most 2^22 numbers below 2^64, so the product may need more than 128 bits.
    let shift = (128 - whole.leading_zeros()).saturating_sub(64);
    (u128::from(total) * (part >> shift) / (whole >> shift).max(1)) as u64
}

/// Corrects the estimated sums and extremes of the parts so that they merge to exactly the total's.
fn settle_latencies(parts: &mut [Histogram], total: &Histogram) {
    let estimated: u128 = parts.iter().map(Histogram::sum_ns).sum();
    let counts: Vec<u64> = parts.iter().map(Histogram::count).collect();
    let excess = estimated.abs_diff(total.sum_ns());
    // A rest of hostile size is left as it is.
    let Ok(excess) = u64::try_from(excess) else { return };
    let corrections = share_out(excess, &counts);
    for (part, correction) in parts.iter_mut().zip(corrections) {
        if part.count() == 0 {
            continue;
        }
        let sum_ns = if total.sum_ns() >= estimated {
            part.sum_ns() + u128::from(correction)
        } else {
            part.sum_ns().saturating_sub(u128::from(correction))
        };
        let min_ns = part.min_ns().clamp(total.min_ns(), total.max_ns().max(total.min_ns()));
        let max_ns = part.max_ns().clamp(min_ns, total.max_ns().max(min_ns));
        part.set_exact(sum_ns, min_ns, max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(count: usize, origin_ms: u64) -> Grid {
        Grid { interval_ms: 1000, runtime_ms: count as u64 * 1000, ramp_ns: 0, count, origin_ms }
    }

    /// Proves that late timestamps stay in their interval, and that the rest follows the last row.
    #[test]
    fn jitter_does_not_move_a_row() {
        assert_eq!(slots(&[1005, 2001, 3050], &grid(4, 0)), [0, 1, 2, 3]);
        assert_eq!(slots(&[101_005, 102_999], &grid(3, 100_000)), [0, 1, 2]);
        assert_eq!(slots(&[], &grid(3, 0)), [0]);
    }

    /// Proves that a stall of four intervals leaves what came before it where it was, and puts what came
    /// after it where it ended.
    #[test]
    fn a_stall_is_not_moved() {
        let times = [1000, 6020, 6020, 6020, 6021, 6022, 7001];
        assert_eq!(slots(&times, &grid(8, 0)), [0, 1, 6, 6, 6, 6, 6, 7]);
    }

    /// Proves that rare I/Os do not fall behind more and more.
    #[test]
    fn rare_ios_stay_near_their_time() {
        let times = [3000, 6000, 9000, 12_000, 15_000];
        let slots = slots(&times, &grid(20, 0));
        for (&time, &slot) in times.iter().zip(&slots).skip(1) {
            assert!((time / 1000 - 3..time / 1000).contains(&(slot as u64)), "{time}: {slot}");
        }
    }

    /// Proves that a direction which starts late has its first row where it was active.
    #[test]
    fn a_late_start_is_late() {
        assert_eq!(slots(&[5200, 6200], &grid(8, 0)), [4, 5, 6]);
    }

    fn weights(rows: &[(u64, u64)], total_bytes: u64, ios: &[u64]) -> Vec<u64> {
        let rows = rows
            .iter()
            .map(|&(time_ms, value)| crate::logs::IntervalRow {
                time_ms,
                value,
                max: None,
                direction: Direction::Write,
                block_size_bytes: 0,
            })
            .collect();
        let mut weights = vec![0; ios.len()];
        weigh(&IntervalLog { rows }, Direction::Write, total_bytes, &grid(ios.len(), 0), ios, &mut weights);
        weights
    }

    /// Proves that the bytes of a row which came late, or which fio averaged with the next, are in the intervals in
    /// which they went: none that had I/Os is left without bytes.
    #[test]
    fn a_late_row_of_bandwidth_holds_several_intervals() {
        assert_eq!(weights(&[(1000, 500), (2000, 700), (3000, 600)], 2000, &[9; 4]), [500, 700, 600, 200]);
        assert_eq!(weights(&[(1000, 500), (3000, 600)], 2000, &[9; 4]), [500, 600, 600, 300]);
        assert_eq!(weights(&[(1000, 500), (3250, 400)], 2000, &[9; 4]), [500, 400, 400, 100 + 600]);
        assert_eq!(weights(&[(1250, 400)], 1200, &[9; 3]), [400, 100 + 300, 400], "a late first row");
    }

    /// Proves that an interval without an I/O has no bytes, though rows on both sides of it do.
    #[test]
    fn a_stall_has_no_bytes() {
        assert_eq!(weights(&[(1000, 500), (4000, 800)], 1600, &[9, 0, 0, 9, 9]), [500, 0, 0, 800, 300]);
        assert_eq!(weights(&[], 700, &[0, 0]), [0, 700]);
    }

    proptest! {
        /// Proves that shares add up to the total, and are off their exact value by less than 1.
        #[test]
        fn shares_add_up(total in 0u64..1 << 50, weights in proptest::collection::vec(0u64..1 << 40, 1..20)) {
            let parts = share_out(total, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            let sum: u64 = weights.iter().sum();
            for (&part, &weight) in parts.iter().zip(&weights) {
                if sum > 0 {
                    let exact = u128::from(total) * u128::from(weight) / u128::from(sum);
                    prop_assert!(u128::from(part).abs_diff(exact) <= 1, "{} {}", part, exact);
                }
            }
        }

        /// Proves that rows stay in order, and never leave the grid, whatever the timestamps.
        #[test]
        fn slots_are_in_order(mut times in proptest::collection::vec(0u64..u64::MAX, 0..30), origin_ms in 0u64..5000) {
            times.sort_unstable();
            let slots = slots(&times, &grid(6, origin_ms));
            prop_assert_eq!(slots.len(), times.len() + 1);
            prop_assert!(slots.is_sorted() && slots.iter().all(|&slot| slot < 6));
        }
    }
}
