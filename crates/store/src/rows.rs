//! Rows of many cases in one pass: samples and counters without bins, for tables of millions of rows.

use crate::samples::latency_summary;
use crate::{LatencySummary, RunReader, StoreError};
use load::Direction;
use rusqlite::Row;
use std::collections::BTreeMap;

/// One direction of one interval of a load, or an interval in which nothing completed.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRow<'a> {
    /// The case, from 0.
    pub case_index: u32,
    /// Name of the load.
    pub load: &'a str,
    /// Start of the interval, since the start of the case's load.
    pub start_ns: u64,
    /// End of the interval.
    pub end_ns: u64,
    /// True for an interval of the ramp.
    pub is_ramp: bool,
    /// True where a part of the interval was simulated and stands for the rest of it.
    pub is_extrapolated: bool,
    /// Half the width of the 95 % confidence interval of its rate, as a share, where a part was skipped.
    pub rate_confidence_95: Option<f64>,
    /// Read, write or trim; `None` where nothing completed in the interval.
    pub direction: Option<Direction>,
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Latencies; `None` where nothing completed.
    pub latency: Option<LatencySummary>,
}

/// One value of a counter.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRow<'a> {
    /// The case, from 0.
    pub case_index: u32,
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// Time since the start of the case's load, in nanoseconds, where it had started.
    pub case_at_ns: Option<u64>,
    /// Source, entity and name.
    pub series: &'a [String; 3],
    /// The value.
    pub value: f64,
}

const SAMPLE_QUERY: &str = "
    SELECT intervals.load_id, intervals.start_ns, intervals.end_ns, intervals.is_ramp, intervals.is_extrapolated,
           interval_confidences.rate_confidence_95, samples.direction, samples.ios, samples.bytes, samples.errors,
           histograms.count, histograms.mean_ns, histograms.min_ns, histograms.p50_ns, histograms.p95_ns,
           histograms.p99_ns, histograms.p999_ns, histograms.max_ns
    FROM intervals
    LEFT JOIN samples ON samples.interval_id = intervals.id
    LEFT JOIN histograms ON histograms.id = samples.latency_id
    LEFT JOIN interval_confidences ON interval_confidences.interval_id = intervals.id
    WHERE intervals.attempt_id = ?1
    ORDER BY intervals.load_id, intervals.start_ns, intervals.id, samples.direction";

const COUNTER_QUERY: &str = "
    SELECT counter_times.at_ns, counter_times.case_at_ns, counters.series_id, counters.value
    FROM counter_times
    JOIN counters ON counters.time_id = counter_times.id
    WHERE counter_times.attempt_id = ?1
    ORDER BY counter_times.at_ns, counter_times.id, counters.series_id";

impl RunReader {
    /// Hands out the samples of the attempts that count at these cases, case by case, load by load, in order of time.
    pub fn for_each_sample_row(
        &self,
        cases: impl IntoIterator<Item = u32>,
        mut on_row: impl FnMut(&SampleRow<'_>),
    ) -> Result<(), StoreError> {
        let loads: BTreeMap<i64, String> = self.names("SELECT id, name FROM loads", |row| row.get(1))?;
        let mut statement = self.prepare(&self.sample_query()?)?;
        for case_index in cases {
            let Some(attempt_id) = self.counted_attempt(case_index)? else { continue };
            let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
            while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
                let load_id: i64 = row.get(0).map_err(|error| self.failed(error))?;
                let load = loads.get(&load_id).map_or("", String::as_str);
                on_row(&sample_row(case_index, load, row).map_err(|error| self.failed(error))?);
            }
        }
        Ok(())
    }

    /// Hands out the counters of the attempts that count at these cases, case by case in order of time.
    pub fn for_each_counter_row(
        &self,
        cases: impl IntoIterator<Item = u32>,
        mut on_row: impl FnMut(&CounterRow<'_>),
    ) -> Result<(), StoreError> {
        let series: BTreeMap<i64, [String; 3]> = self
            .names("SELECT id, source, entity, name FROM counter_series", |row| {
                Ok([row.get(1)?, row.get(2)?, row.get(3)?])
            })?;
        let nameless = [String::new(), String::new(), String::new()];
        let mut statement = self.prepare(COUNTER_QUERY)?;
        for case_index in cases {
            let Some(attempt_id) = self.counted_attempt(case_index)? else { continue };
            let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
            while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
                let read = || -> rusqlite::Result<(u64, Option<u64>, i64, f64)> {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                };
                let (at_ns, case_at_ns, series_id, value) = read().map_err(|error| self.failed(error))?;
                let series = series.get(&series_id).unwrap_or(&nameless);
                on_row(&CounterRow { case_index, at_ns, case_at_ns, series, value });
            }
        }
        Ok(())
    }

    /// The query of samples; runs of older versions have no confidences.
    fn sample_query(&self) -> Result<String, StoreError> {
        if self.has_table("interval_confidences")? {
            return Ok(SAMPLE_QUERY.to_owned());
        }
        Ok(SAMPLE_QUERY
            .replace("interval_confidences.rate_confidence_95", "NULL")
            .replace("LEFT JOIN interval_confidences ON interval_confidences.interval_id = intervals.id", ""))
    }

    fn names<T>(
        &self,
        sql: &str,
        value: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<BTreeMap<i64, T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, value(row)?)));
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }
}

fn sample_row<'a>(case_index: u32, load: &'a str, row: &Row<'_>) -> rusqlite::Result<SampleRow<'a>> {
    let direction = row.get_ref(6)?.as_str_or_null()?.and_then(Direction::from_name);
    let latency = match direction {
        None => None,
        Some(_) => Some(latency_summary(row, 10)?),
    };
    Ok(SampleRow {
        case_index,
        load,
        start_ns: row.get(1)?,
        end_ns: row.get(2)?,
        is_ramp: row.get(3)?,
        is_extrapolated: row.get(4)?,
        rate_confidence_95: row.get(5)?,
        direction,
        ios: row.get::<_, Option<u64>>(7)?.unwrap_or(0),
        bytes: row.get::<_, Option<u64>>(8)?.unwrap_or(0),
        errors: row.get::<_, Option<u64>>(9)?.unwrap_or(0),
        latency,
    })
}
