//! Parts of cases by host: intervals and totals of each host that issued load.

use crate::run::Durability;
use crate::samples::HistogramRow;
use crate::{DirectionTotals, LoadOutcome, Run, RunReader, StoreError, decode_histogram};
use load::{Direction, DirectionSample, Histogram, Sample};
use rusqlite::{Transaction, params};

/// Totals of one host of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostTotals {
    /// The host's name.
    pub host: String,
    /// Its counted time.
    pub duration_ns: u64,
    /// Totals of its part of each load.
    pub loads: Vec<LoadOutcome>,
}

/// I/Os of one host in one interval, over all directions and loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPoint {
    /// The host's name.
    pub host: String,
    /// Start of the interval, since the start of the case's load.
    pub start_ns: u64,
    /// End of the interval.
    pub end_ns: u64,
    /// True for an interval of the ramp.
    pub is_ramp: bool,
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}

struct Row {
    direction: Direction,
    counts: [u64; 3],
    latency: HistogramRow,
    service: Option<HistogramRow>,
}

impl Row {
    fn new(
        direction: Direction,
        counts: [u64; 3],
        latency: &Histogram,
        service: Option<&Histogram>,
    ) -> Result<Row, StoreError> {
        let service = service.map(HistogramRow::new).transpose()?;
        Ok(Row { direction, counts, latency: HistogramRow::new(latency)?, service })
    }

    fn of_sample(direction: Direction, part: &DirectionSample) -> Result<Row, StoreError> {
        Row::new(direction, [part.ios, part.bytes, part.errors], &part.latency, part.service.as_ref())
    }

    fn of_totals(direction: Direction, part: &DirectionTotals) -> Result<Row, StoreError> {
        Row::new(direction, [part.ios, part.bytes, part.errors], &part.latency, part.service.as_ref())
    }

    fn histograms(&self, transaction: &Transaction<'_>) -> rusqlite::Result<(i64, Option<i64>)> {
        let service_id = self.service.as_ref().map(|row| row.insert(transaction)).transpose()?;
        Ok((self.latency.insert(transaction)?, service_id))
    }
}

impl Run {
    /// Appends an interval of one host's part of a load of the case under way.
    pub fn append_host_sample(
        &mut self,
        case_index: u32,
        host: &str,
        load_name: &str,
        sample: &Sample,
    ) -> Result<(), StoreError> {
        let attempt_id = self.open_attempt(case_index)?;
        let mut rows = Vec::new();
        for direction in Direction::ALL {
            let part = sample.direction(direction);
            if !part.is_empty() {
                rows.push(Row::of_sample(direction, part)?);
            }
        }
        let load_id = self.load_id(load_name)?;
        self.write(Durability::Process, |transaction| {
            for row in &rows {
                let (latency_id, service_id) = row.histograms(transaction)?;
                transaction
                    .prepare_cached(
                        "INSERT INTO host_samples (attempt_id, host, load_id, start_ns, end_ns, is_ramp, direction,
                                                   ios, bytes, errors, latency_id, service_id)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    )?
                    .execute(params![
                        attempt_id,
                        host,
                        load_id,
                        sample.start_ns,
                        sample.end_ns,
                        sample.is_ramp,
                        row.direction.name(),
                        row.counts[0],
                        row.counts[1],
                        row.counts[2],
                        latency_id,
                        service_id
                    ])?;
            }
            Ok(())
        })
    }

    /// Keeps the totals of the case under way by host, before it is finished.
    pub fn set_host_totals(&mut self, case_index: u32, hosts: &[HostTotals]) -> Result<(), StoreError> {
        let attempt_id = self.open_attempt(case_index)?;
        let mut rows = Vec::new();
        for host in hosts {
            for load in &host.loads {
                let load_id = self.load_id(&load.name)?;
                for direction in Direction::ALL {
                    if let Some(part) = load.direction(direction) {
                        rows.push((&host.host, load_id, Row::of_totals(direction, part)?));
                    }
                }
            }
        }
        self.write(Durability::Process, |transaction| {
            for (position, host) in hosts.iter().enumerate() {
                transaction.execute(
                    "INSERT INTO case_hosts (attempt_id, position, host, duration_ns) VALUES (?1, ?2, ?3, ?4)",
                    params![attempt_id, position, host.host, host.duration_ns],
                )?;
            }
            for (host, load_id, row) in &rows {
                let (latency_id, service_id) = row.histograms(transaction)?;
                transaction.execute(
                    "INSERT INTO host_totals (attempt_id, host, load_id, direction, ios, bytes, errors,
                                              latency_id, service_id)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        attempt_id,
                        host,
                        load_id,
                        row.direction.name(),
                        row.counts[0],
                        row.counts[1],
                        row.counts[2],
                        latency_id,
                        service_id
                    ],
                )?;
            }
            Ok(())
        })
    }
}

impl RunReader {
    /// Returns true if the run has tables of hosts: earlier versions made none.
    fn has_hosts(&self) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'host_totals'";
        Ok(self.read_one::<i64>(sql, [])?.unwrap_or_default() > 0)
    }

    /// Totals by host of a case that came to an outcome, in the order of the run; empty where one host did all.
    pub fn host_totals(&self, case_index: u32) -> Result<Vec<HostTotals>, StoreError> {
        match self.counted_attempt(case_index)? {
            Some(attempt_id) => self.host_totals_of(attempt_id),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn host_totals_of(&self, attempt_id: i64) -> Result<Vec<HostTotals>, StoreError> {
        if !self.has_hosts()? {
            return Ok(Vec::new());
        }
        let mut statement =
            self.prepare("SELECT host, duration_ns FROM case_hosts WHERE attempt_id = ?1 ORDER BY position")?;
        let rows = statement.query_map([attempt_id], |row| {
            Ok(HostTotals { host: row.get(0)?, duration_ns: row.get(1)?, loads: Vec::new() })
        });
        let mut hosts: Vec<HostTotals> =
            rows.and_then(Iterator::collect::<rusqlite::Result<_>>).map_err(|error| self.failed(error))?;
        let mut statement = self.prepare(
            "SELECT host_totals.host, loads.name, direction, ios, bytes, errors, latency.encoded, service.encoded
             FROM host_totals JOIN loads ON loads.id = host_totals.load_id
             JOIN histograms AS latency ON latency.id = host_totals.latency_id
             LEFT JOIN histograms AS service ON service.id = host_totals.service_id
             WHERE attempt_id = ?1 ORDER BY host_totals.host, loads.id",
        )?;
        let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let read = || -> rusqlite::Result<_> {
                let names: (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let counts: [u64; 3] = [row.get(3)?, row.get(4)?, row.get(5)?];
                let histograms: (Vec<u8>, Option<Vec<u8>>) = (row.get(6)?, row.get(7)?);
                Ok((names, counts, histograms))
            };
            let ((host, load, direction), [ios, bytes, errors], (latency, service)) =
                read().map_err(|error| self.failed(error))?;
            let decode =
                |bytes: &[u8]| decode_histogram(bytes).map_err(|error| self.corrupt(error.to_string()));
            let totals = DirectionTotals {
                ios,
                bytes,
                errors,
                latency: decode(&latency)?,
                service: service.as_deref().map(decode).transpose()?,
            };
            let direction = Direction::from_name(&direction)
                .ok_or_else(|| self.corrupt(format!("`{direction}` is no direction")))?;
            let Some(host) = hosts.iter_mut().find(|known| known.host == host) else { continue };
            let place = host.loads.iter().position(|known| known.name == load).unwrap_or_else(|| {
                host.loads.push(LoadOutcome { name: load, ..LoadOutcome::default() });
                host.loads.len() - 1
            });
            *host.loads[place].direction_mut(direction) = Some(totals);
        }
        Ok(hosts)
    }

    /// Rates of each host over time, over all its loads and directions, in order of host and time.
    pub fn host_points(&self, case_index: u32) -> Result<Vec<HostPoint>, StoreError> {
        let Some(attempt_id) = self.counted_attempt(case_index)? else { return Ok(Vec::new()) };
        if !self.has_hosts()? {
            return Ok(Vec::new());
        }
        let mut statement = self.prepare(
            "SELECT host, start_ns, max(end_ns), max(is_ramp), sum(ios), sum(bytes) FROM host_samples
             WHERE attempt_id = ?1 GROUP BY host, start_ns ORDER BY host, start_ns",
        )?;
        let rows = statement.query_map([attempt_id], |row| {
            Ok(HostPoint {
                host: row.get(0)?,
                start_ns: row.get(1)?,
                end_ns: row.get(2)?,
                is_ramp: row.get(3)?,
                ios: row.get(4)?,
                bytes: row.get(5)?,
            })
        });
        rows.and_then(Iterator::collect::<rusqlite::Result<_>>).map_err(|error| self.failed(error))
    }
}
