//! Samples: appended while a case runs, read one by one or as light series.

use crate::run::Durability;
use crate::{LoadOutcome, Run, RunReader, StoreError, decode_histogram, encode_histogram};
use load::{Direction, DirectionSample, Histogram, Sample};
use rusqlite::{Row, Transaction, params};
use std::ops::ControlFlow;

/// The load name of samples taken while a case is prepared. They are stored and shown, and no result counts them.
pub const PRECONDITIONING_LOAD: &str = "preconditioning";

/// A histogram's figures without its bins; `None` for one that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of latencies counted.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The smallest.
    pub min_ns: Option<u64>,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 95th percentile.
    pub p95_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
}

impl LatencySummary {
    /// The figures of a histogram.
    pub fn of(histogram: &Histogram) -> LatencySummary {
        LatencySummary {
            count: histogram.count(),
            mean_ns: histogram.mean_ns(),
            min_ns: histogram.known_min_ns(),
            p50_ns: histogram.known_percentile_ns(500_000),
            p95_ns: histogram.known_percentile_ns(950_000),
            p99_ns: histogram.known_percentile_ns(990_000),
            p999_ns: histogram.known_percentile_ns(999_000),
            max_ns: histogram.known_max_ns(),
        }
    }
}

/// One direction of an interval, without bins.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionPoint {
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Their latencies.
    pub latency: LatencySummary,
}

/// An interval of a case, without bins: what charts and change-point searches need of a long case.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalPoint {
    /// The load.
    pub load: String,
    /// Start of the interval, since the start of the case's load.
    pub start_ns: u64,
    /// End of the interval.
    pub end_ns: u64,
    /// True for an interval of the ramp.
    pub is_ramp: bool,
    /// True where a part of the interval was simulated and stands for the rest of it.
    pub is_extrapolated: bool,
    /// Reads; `None` where nothing happened.
    pub read: Option<DirectionPoint>,
    /// Writes; `None` where nothing happened.
    pub write: Option<DirectionPoint>,
    /// Trims; `None` where nothing happened.
    pub trim: Option<DirectionPoint>,
}

/// A histogram made ready for its row, outside of any transaction.
pub(crate) struct HistogramRow {
    summary: LatencySummary,
    encoded: Vec<u8>,
}

impl HistogramRow {
    pub(crate) fn new(histogram: &Histogram) -> Result<HistogramRow, StoreError> {
        // Only a source that corrects the extremes can get them wrong; percentiles could not be told then.
        if histogram.min_ns() > histogram.max_ns() && histogram.count() > 0 {
            let detail =
                format!("smallest {} ns exceeds largest {} ns", histogram.min_ns(), histogram.max_ns());
            return Err(StoreError::Invalid { what: "a latency histogram", detail });
        }
        let limit = i64::MAX as u64;
        if histogram.max_ns() > limit || histogram.min_ns() > limit || histogram.count() > limit {
            return Err(StoreError::Invalid {
                what: "a latency histogram",
                detail: "a value above 2^63 - 1".into(),
            });
        }
        Ok(HistogramRow { summary: LatencySummary::of(histogram), encoded: encode_histogram(histogram) })
    }

    pub(crate) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
        let summary = &self.summary;
        transaction
            .prepare_cached(
                "INSERT INTO histograms (count, mean_ns, min_ns, p50_ns, p95_ns, p99_ns, p999_ns, max_ns, encoded)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .insert(params![
                summary.count,
                summary.mean_ns,
                summary.min_ns,
                summary.p50_ns,
                summary.p95_ns,
                summary.p99_ns,
                summary.p999_ns,
                summary.max_ns,
                self.encoded
            ])
    }
}

struct DirectionRow {
    direction: Direction,
    ios: u64,
    bytes: u64,
    errors: u64,
    latency: HistogramRow,
    service: Option<HistogramRow>,
}

/// A direction with nothing in it has no row; an interval in which nothing completed keeps its own row, because a
/// stall is a result.
fn direction_rows(sample: &Sample) -> Result<Vec<DirectionRow>, StoreError> {
    let mut rows = Vec::new();
    for direction in Direction::ALL {
        let part = sample.direction(direction);
        if part.is_empty() && part.bytes == 0 && part.latency.count() == 0 && part.service.is_none() {
            continue;
        }
        rows.push(DirectionRow {
            direction,
            ios: part.ios,
            bytes: part.bytes,
            errors: part.errors,
            latency: HistogramRow::new(&part.latency)?,
            service: part.service.as_ref().map(HistogramRow::new).transpose()?,
        });
    }
    Ok(rows)
}

impl Run {
    /// Appends an interval of a load of the case under way.
    pub fn append_sample(
        &mut self,
        case_index: u32,
        load_name: &str,
        sample: &Sample,
    ) -> Result<(), StoreError> {
        self.append_samples(case_index, load_name, std::slice::from_ref(sample))
    }

    /// Appends several intervals of a load of the case under way, in one transaction.
    pub fn append_samples(
        &mut self,
        case_index: u32,
        load_name: &str,
        samples: &[Sample],
    ) -> Result<(), StoreError> {
        let attempt_id = self.open_attempt(case_index)?;
        let mut rows = Vec::with_capacity(samples.len());
        for sample in samples {
            if sample.end_ns < sample.start_ns {
                let detail = format!("it ends at {} ns, before its start", sample.end_ns);
                return Err(StoreError::Invalid { what: "a sample", detail });
            }
            rows.push(direction_rows(sample)?);
        }
        let load_id = self.load_id(load_name)?;
        self.write(Durability::Process, |transaction| {
            let mut insert_interval = transaction.prepare_cached(
                "INSERT INTO intervals (attempt_id, load_id, start_ns, end_ns, is_ramp, is_extrapolated)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let mut insert_sample = transaction.prepare_cached(
                "INSERT INTO samples (interval_id, direction, ios, bytes, errors, latency_id, service_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            let mut insert_confidence = transaction.prepare_cached(
                "INSERT INTO interval_confidences (interval_id, rate_confidence_95) VALUES (?1, ?2)",
            )?;
            for (sample, directions) in samples.iter().zip(&rows) {
                let interval_id = insert_interval.insert(params![
                    attempt_id,
                    load_id,
                    sample.start_ns,
                    sample.end_ns,
                    sample.is_ramp,
                    sample.is_extrapolated
                ])?;
                if sample.is_extrapolated {
                    insert_confidence.execute(params![interval_id, sample.rate_confidence_95])?;
                }
                for row in directions {
                    let latency_id = row.latency.insert(transaction)?;
                    let service_id = row.service.as_ref().map(|row| row.insert(transaction)).transpose()?;
                    insert_sample.execute(params![
                        interval_id,
                        row.direction.name(),
                        row.ios,
                        row.bytes,
                        row.errors,
                        latency_id,
                        service_id
                    ])?;
                }
            }
            Ok(())
        })
    }

    /// The totals of every load of the attempt under way, over the intervals after the ramp; preconditioning is left
    /// out.
    pub fn totals_from_samples(&self, case_index: u32) -> Result<Vec<LoadOutcome>, StoreError> {
        let mut loads: Vec<LoadOutcome> = Vec::new();
        self.for_each_sample_of(self.open_attempt(case_index)?, &mut |name, sample| {
            if name != PRECONDITIONING_LOAD {
                if loads.last().is_none_or(|load| load.name != name) {
                    loads.push(LoadOutcome { name: name.to_owned(), ..LoadOutcome::default() });
                }
                if let Some(load) = loads.last_mut() {
                    load.add(&sample);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(loads)
    }
}

impl RunReader {
    /// Hands out the intervals of the attempt that counts, load by load in order of time, one by one: a sample
    /// is some 50 kB in memory, and a day has 17,280 of them.
    pub fn for_each_sample(
        &self,
        case_index: u32,
        on_sample: &mut dyn FnMut(&str, Sample) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        match self.counted_attempt(case_index)? {
            Some(attempt_id) => self.for_each_sample_of(attempt_id, on_sample),
            None => Ok(()),
        }
    }

    fn for_each_sample_of(
        &self,
        attempt_id: i64,
        on_sample: &mut dyn FnMut(&str, Sample) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(
            "SELECT intervals.id, loads.name, intervals.start_ns, intervals.end_ns, intervals.is_ramp,
                    intervals.is_extrapolated, samples.direction, samples.ios, samples.bytes, samples.errors,
                    latency.encoded, service.encoded
             FROM intervals
             JOIN loads ON loads.id = intervals.load_id
             LEFT JOIN samples ON samples.interval_id = intervals.id
             LEFT JOIN histograms AS latency ON latency.id = samples.latency_id
             LEFT JOIN histograms AS service ON service.id = samples.service_id
             WHERE intervals.attempt_id = ?1
             ORDER BY intervals.load_id, intervals.start_ns, intervals.id",
        )?;
        let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
        let mut current: Option<(i64, String, Sample)> = None;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let id: i64 = row.get(0).map_err(|error| self.failed(error))?;
            if current.as_ref().is_none_or(|(current, ..)| *current != id) {
                if let Some((_, load, sample)) = current.take()
                    && on_sample(&load, sample).is_break()
                {
                    return Ok(());
                }
                let (load, sample) = interval_of(row).map_err(|error| self.failed(error))?;
                current = Some((id, load, sample));
            }
            if let (Some((_, _, sample)), Some((direction, part))) =
                (current.as_mut(), self.direction_sample(row, 6)?)
            {
                *sample.direction_mut(direction) = part;
            }
        }
        if let Some((_, load, sample)) = current {
            let _ = on_sample(&load, sample);
        }
        Ok(())
    }

    /// Returns all intervals of the attempt that counts, with their histograms. For long cases use
    /// `for_each_sample` or `series`.
    pub fn samples(&self, case_index: u32) -> Result<Vec<(String, Sample)>, StoreError> {
        let mut samples = Vec::new();
        self.for_each_sample(case_index, &mut |load, sample| {
            samples.push((load.to_owned(), sample));
            ControlFlow::Continue(())
        })?;
        Ok(samples)
    }

    /// Returns all intervals of the attempt that counts, without their bins.
    pub fn series(&self, case_index: u32) -> Result<Vec<IntervalPoint>, StoreError> {
        let Some(attempt_id) = self.counted_attempt(case_index)? else { return Ok(Vec::new()) };
        let mut statement = self.prepare(
            "SELECT intervals.id, loads.name, intervals.start_ns, intervals.end_ns, intervals.is_ramp,
                    intervals.is_extrapolated, samples.direction, samples.ios, samples.bytes, samples.errors,
                    histograms.count, histograms.mean_ns, histograms.min_ns, histograms.p50_ns, histograms.p95_ns,
                    histograms.p99_ns, histograms.p999_ns, histograms.max_ns
             FROM intervals
             JOIN loads ON loads.id = intervals.load_id
             LEFT JOIN samples ON samples.interval_id = intervals.id
             LEFT JOIN histograms ON histograms.id = samples.latency_id
             WHERE intervals.attempt_id = ?1
             ORDER BY intervals.load_id, intervals.start_ns, intervals.id",
        )?;
        let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
        let mut points: Vec<IntervalPoint> = Vec::new();
        let mut current = None;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let id: i64 = row.get(0).map_err(|error| self.failed(error))?;
            if current != Some(id) {
                points.push(interval_point(row).map_err(|error| self.failed(error))?);
                current = Some(id);
            }
            let direction: Option<String> = row.get(6).map_err(|error| self.failed(error))?;
            let (Some(direction), Some(point)) = (direction, points.last_mut()) else { continue };
            let part = Some(direction_point(row).map_err(|error| self.failed(error))?);
            match self.parse_direction(&direction)? {
                Direction::Read => point.read = part,
                Direction::Write => point.write = part,
                Direction::Trim => point.trim = part,
            }
        }
        Ok(points)
    }

    /// Reads the six columns `direction, ios, bytes, errors, latency, service` from `first` on.
    pub(crate) fn direction_sample(
        &self,
        row: &Row<'_>,
        first: usize,
    ) -> Result<Option<(Direction, DirectionSample)>, StoreError> {
        type Columns = (u64, u64, u64, Vec<u8>, Option<Vec<u8>>);
        let name: Option<String> = row.get(first).map_err(|error| self.failed(error))?;
        let Some(name) = name else { return Ok(None) };
        let columns = || -> rusqlite::Result<Columns> {
            Ok((
                row.get(first + 1)?,
                row.get(first + 2)?,
                row.get(first + 3)?,
                row.get(first + 4)?,
                row.get(first + 5)?,
            ))
        };
        let (ios, bytes, errors, latency, service) = columns().map_err(|error| self.failed(error))?;
        let decode =
            |encoded: Vec<u8>| decode_histogram(&encoded).map_err(|error| self.corrupt(error.to_string()));
        let latency = decode(latency)?;
        let service = service.map(decode).transpose()?;
        Ok(Some((self.parse_direction(&name)?, DirectionSample { ios, bytes, errors, latency, service })))
    }

    fn parse_direction(&self, name: &str) -> Result<Direction, StoreError> {
        Direction::from_name(name).ok_or_else(|| self.corrupt(format!("unknown direction `{name}`")))
    }
}

fn interval_of(row: &Row<'_>) -> rusqlite::Result<(String, Sample)> {
    let sample = Sample {
        start_ns: row.get(2)?,
        end_ns: row.get(3)?,
        is_ramp: row.get(4)?,
        is_extrapolated: row.get(5)?,
        ..Sample::default()
    };
    Ok((row.get(1)?, sample))
}

fn interval_point(row: &Row<'_>) -> rusqlite::Result<IntervalPoint> {
    Ok(IntervalPoint {
        load: row.get(1)?,
        start_ns: row.get(2)?,
        end_ns: row.get(3)?,
        is_ramp: row.get(4)?,
        is_extrapolated: row.get(5)?,
        read: None,
        write: None,
        trim: None,
    })
}

fn direction_point(row: &Row<'_>) -> rusqlite::Result<DirectionPoint> {
    Ok(DirectionPoint {
        ios: row.get(7)?,
        bytes: row.get(8)?,
        errors: row.get(9)?,
        latency: latency_summary(row, 10)?,
    })
}

/// Reads the eight columns of a histogram's figures from `first` on.
pub(crate) fn latency_summary(row: &Row<'_>, first: usize) -> rusqlite::Result<LatencySummary> {
    Ok(LatencySummary {
        count: row.get(first)?,
        mean_ns: row.get(first + 1)?,
        min_ns: row.get(first + 2)?,
        p50_ns: row.get(first + 3)?,
        p95_ns: row.get(first + 4)?,
        p99_ns: row.get(first + 5)?,
        p999_ns: row.get(first + 6)?,
        max_ns: row.get(first + 7)?,
    })
}
