//! Counters of hosts, paths, arrays and twins on the run's clock.

use crate::reader::SeriesName;
use crate::run::Durability;
use crate::{Run, RunReader, StoreError};
use rusqlite::params;
use std::collections::HashMap;
use std::sync::Arc;

/// One value of one counter, to append.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counter<'a> {
    /// Telemetry source: `diskstats`, `cpu`, `twin`, `smart`.
    pub source: &'a str,
    /// Entity that it belongs to: `sda`, `cpu3`, `controller-0`.
    pub entity: &'a str,
    /// Name of the counter, with its unit last.
    pub name: &'a str,
    /// Value; a value that is not a number is not stored.
    pub value: f64,
}

/// One value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterPoint {
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// Time since the start of the case's load, in nanoseconds, where it had started.
    pub case_at_ns: Option<u64>,
    /// The value.
    pub value: f64,
}

/// All values of one counter, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterSeries {
    /// Telemetry source.
    pub source: String,
    /// Entity that the counter belongs to.
    pub entity: String,
    /// Name of the counter, with its unit last.
    pub name: String,
    /// The values.
    pub points: Vec<CounterPoint>,
}

impl Run {
    /// Appends the counters that a probe read at one time, in one transaction. `case_index` is the case under
    /// way, if any; of two values of the same counter the later stays.
    pub fn append_counters(
        &mut self,
        case_index: Option<u32>,
        at_ns: u64,
        case_at_ns: Option<u64>,
        counters: &[Counter<'_>],
    ) -> Result<(), StoreError> {
        let attempt_id = case_index.map(|index| self.open_attempt(index)).transpose()?;
        let mut values = Vec::with_capacity(counters.len());
        for counter in counters {
            // SQLite stores NaN as NULL, and a counter that does not exist is not a zero.
            if counter.value.is_finite() {
                values.push((self.series_id(counter)?, counter.value));
            }
        }
        self.write(Durability::Process, |transaction| {
            let time_id = transaction
                .prepare_cached(
                    "INSERT INTO counter_times (attempt_id, at_ns, case_at_ns) VALUES (?1, ?2, ?3)",
                )?
                .insert(params![attempt_id, at_ns, case_at_ns])?;
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO counters (time_id, series_id, value) VALUES (?1, ?2, ?3)",
            )?;
            for (series_id, value) in values {
                insert.execute(params![time_id, series_id, value])?;
            }
            Ok(())
        })
    }

    fn series_id(&mut self, counter: &Counter<'_>) -> Result<i64, StoreError> {
        let series = self.series_ids.get(counter.source).and_then(|entities| entities.get(counter.entity));
        if let Some(&id) = series.and_then(|names| names.get(counter.name)) {
            return Ok(id);
        }
        let key = params![counter.source, counter.entity, counter.name];
        let id = self.write(Durability::Process, |transaction| {
            transaction.execute(
                "INSERT INTO counter_series (source, entity, name) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                key,
            )?;
            transaction.query_row(
                "SELECT id FROM counter_series WHERE source = ?1 AND entity = ?2 AND name = ?3",
                key,
                |row| row.get(0),
            )
        })?;
        let entities = self.series_ids.entry(counter.source.to_owned()).or_default();
        entities.entry(counter.entity.to_owned()).or_default().insert(counter.name.to_owned(), id);
        Ok(id)
    }
}

impl RunReader {
    /// The counters of the attempt that counts, as series in the order of source, entity and name.
    pub fn counters(&self, case_index: u32) -> Result<Vec<CounterSeries>, StoreError> {
        self.counters_of(case_index, &|_, _, _| true)
    }

    /// Of these counters those whose source, entity and name are wanted.
    pub fn counters_of(
        &self,
        case_index: u32,
        is_wanted: &dyn Fn(&str, &str, &str) -> bool,
    ) -> Result<Vec<CounterSeries>, StoreError> {
        match self.counted_attempt(case_index)? {
            Some(attempt_id) => self.counter_series("counter_times.attempt_id = ?1", [attempt_id], is_wanted),
            None => Ok(Vec::new()),
        }
    }

    /// The counters that were read while no case was under way.
    pub fn counters_between_cases(&self) -> Result<Vec<CounterSeries>, StoreError> {
        self.counter_series("counter_times.attempt_id IS NULL", [], &|_, _, _| true)
    }

    fn counter_series(
        &self,
        condition: &str,
        parameters: impl rusqlite::Params,
        is_wanted: &dyn Fn(&str, &str, &str) -> bool,
    ) -> Result<Vec<CounterSeries>, StoreError> {
        // Series are told apart by number and put in the order of their names at the end: sorting every value by
        // three texts took nine tenths of the time that findings take.
        let mut statement = self.prepare(&format!(
            "SELECT counters.series_id, counter_times.at_ns, counter_times.case_at_ns, counters.value
             FROM counter_times
             JOIN counters ON counters.time_id = counter_times.id
             WHERE {condition}
             ORDER BY counter_times.id, counters.series_id"
        ))?;
        let mut names = self.series_names.borrow_mut();
        let mut name = self.prepare("SELECT source, entity, name FROM counter_series WHERE id = ?1")?;
        let mut rows = statement.query(parameters).map_err(|error| self.failed(error))?;
        let mut series: Vec<CounterSeries> = Vec::new();
        // The place of a series by its number; `None` where nobody wants it.
        let mut places: HashMap<i64, Option<usize>> = HashMap::new();
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let mut read = || -> rusqlite::Result<()> {
                let id: i64 = row.get(0)?;
                let place = match places.get(&id) {
                    Some(&Some(place)) => place,
                    Some(None) => return Ok(()),
                    None => {
                        let known = match names.get(&id) {
                            Some(known) => known.clone(),
                            None => {
                                let read =
                                    name.query_row([id], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
                                names.entry(id).or_insert(Arc::new(read)).clone()
                            }
                        };
                        let [source, entity, name] = &*known;
                        if !is_wanted(source, entity, name) {
                            places.insert(id, None);
                            return Ok(());
                        }
                        let [source, entity, name] = SeriesName::clone(&known);
                        series.push(CounterSeries { source, entity, name, points: Vec::new() });
                        places.insert(id, Some(series.len() - 1));
                        series.len() - 1
                    }
                };
                let point = CounterPoint { at_ns: row.get(1)?, case_at_ns: row.get(2)?, value: row.get(3)? };
                series[place].points.push(point);
                Ok(())
            };
            read().map_err(|error| self.failed(error))?;
        }
        series.sort_by(|a, b| (&a.source, &a.entity, &a.name).cmp(&(&b.source, &b.entity, &b.name)));
        Ok(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manifest, NewCase};
    use rusqlite::StatementStatus;

    /// Proves that a statement is parsed once, not again for each value of its parameters, as SQLite does by itself where it is
    /// built with STAT4.
    #[test]
    fn statements_are_parsed_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let case = |name: &str| NewCase {
            plan: "p".into(),
            stage: "s".into(),
            name: name.into(),
            settings: serde_json::Map::new(),
            estimated_duration_ns: 1,
            estimated_write_bytes: 0,
        };
        let path = directory.path().join("run");
        drop(Run::create(&path, &Manifest::default(), &[case("a"), case("b")]).expect("a run"));
        let reader = RunReader::open(&path).expect("a run");
        let mut statement =
            reader.prepare("SELECT max(id) FROM attempts WHERE case_id = ?1").expect("prepared");
        for case_index in [0, 1, 0] {
            statement.query_row([case_index], |row| row.get::<_, Option<i64>>(0)).expect("a row");
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
