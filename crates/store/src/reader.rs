//! Run reader: manifest, cases, and the attempt at each case that counts.

use crate::directory::{self, DATABASE_FILE, MANIFEST_FILE};
use crate::manifest::read_manifest;
use crate::settings::SharedSettings;
use crate::{CaseRecord, CaseState, CaseStatus, Manifest, Settings, StoreError, schema};
use rusqlite::{Connection, OptionalExtension, Row};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run to read; another process may be writing it.
#[derive(Debug)]
pub struct RunReader {
    directory: PathBuf,
    manifest: Manifest,
    connection: Connection,
    /// Names of counter series by their number: every case has the same ones.
    pub(crate) series_names: RefCell<BTreeMap<i64, Arc<SeriesName>>>,
    settings: RefCell<SharedSettings>,
}

/// Start of an attempt at a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptStart {
    /// UTC time, in nanoseconds since 1970.
    pub utc_ns: u64,
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
}

/// Source, entity and name of a counter series.
pub(crate) type SeriesName = [String; 3];

const CASE_QUERY: &str = "
    SELECT cases.id, cases.plan, cases.stage, cases.name, cases.settings, cases.estimated_duration_ns,
           cases.estimated_write_bytes, outcomes.status, outcomes.error,
           (SELECT ifnull(max(attempt), 0) FROM attempts WHERE attempts.case_id = cases.id)
    FROM cases
    LEFT JOIN outcomes ON outcomes.attempt_id =
        (SELECT max(attempt_id) FROM outcomes AS counted WHERE counted.case_id = cases.id)";

impl RunReader {
    pub(crate) fn new(directory: &Path, manifest: Manifest, connection: Connection) -> RunReader {
        RunReader {
            directory: directory.into(),
            manifest,
            connection,
            series_names: RefCell::default(),
            settings: RefCell::default(),
        }
    }

    /// Opens a run to read it.
    pub fn open(directory: &Path) -> Result<RunReader, StoreError> {
        let path = directory.join(MANIFEST_FILE);
        if !path.exists() {
            return Err(StoreError::NotARun { directory: directory.into() });
        }
        let manifest = read_manifest(&path)?;
        let connection = schema::open_read_only(&directory.join(DATABASE_FILE))?;
        Ok(RunReader::new(directory, manifest, connection))
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes the database to a new file, without free pages and without a log: the same run gives the same bytes.
    pub fn copy_database(&self, path: &Path) -> Result<(), StoreError> {
        let Some(text) = path.to_str() else {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidFilename);
            return Err(StoreError::Io { action: "write", path: path.into(), source });
        };
        self.connection
            .execute("VACUUM INTO ?1", [text])
            .map(|_| ())
            .map_err(|error| StoreError::database(path, error))
    }

    /// Returns the manifest of the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Lists every case, in the order of the plan.
    pub fn cases(&self) -> Result<Vec<CaseRecord>, StoreError> {
        let mut cases = Vec::new();
        self.for_each_case(&mut |case| {
            cases.push(case);
            Ok(())
        })?;
        Ok(cases)
    }

    /// Hands out every case, in the order of the plan, without keeping them.
    pub fn for_each_case(
        &self,
        on_case: &mut dyn FnMut(CaseRecord) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(&format!("{CASE_QUERY} ORDER BY cases.id"))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            on_case(self.case_record(row)?)?;
        }
        Ok(())
    }

    /// Begins to read the run as it is now, whatever another process writes meanwhile, until the transaction is dropped.
    /// Statements of their own would each lock the database anew. `None` where a transaction is open already.
    pub fn snapshot(&self) -> Result<Option<rusqlite::Transaction<'_>>, StoreError> {
        let is_free = self.connection.is_autocommit();
        is_free
            .then(|| self.connection.unchecked_transaction())
            .transpose()
            .map_err(|error| self.failed(error))
    }

    /// Lists the cases to carry out in this run directory: all, or those of its shard.
    pub fn own_cases(&self) -> Result<Vec<CaseRecord>, StoreError> {
        let mut cases = self.cases()?;
        cases.retain(|case| self.manifest.has_case(case.index));
        Ok(cases)
    }

    /// Returns one case.
    pub fn case(&self, case_index: u32) -> Result<CaseRecord, StoreError> {
        let mut statement = self.prepare(&format!("{CASE_QUERY} WHERE cases.id = ?1"))?;
        let mut rows = statement.query([case_index]).map_err(|error| self.failed(error))?;
        match rows.next().map_err(|error| self.failed(error))? {
            Some(row) => self.case_record(row),
            None => {
                let cases_total = self.read_one("SELECT count(*) FROM cases", [])?.unwrap_or(0);
                Err(StoreError::NoSuchCase { case_index, cases_total })
            }
        }
    }

    /// Returns the directory with the engine's files of the attempt that counts; it need not exist.
    pub fn case_directory(&self, case_index: u32) -> Result<PathBuf, StoreError> {
        let record = self.case(case_index)?;
        let attempt = match self.counted_attempt(case_index)? {
            Some(id) => self.read_one("SELECT attempt FROM attempts WHERE id = ?1", [id])?.unwrap_or(1),
            None => 1,
        };
        Ok(directory::case_directory(&self.directory, case_index, &record.name, attempt))
    }

    /// Returns the start of a case's attempt that counts: in nanoseconds since 1970, and on the run's clock. `None` where
    /// none counts.
    pub fn attempt_start(&self, case_index: u32) -> Result<Option<AttemptStart>, StoreError> {
        let Some(id) = self.counted_attempt(case_index)? else { return Ok(None) };
        self.prepare("SELECT started_utc_ns, started_at_ns FROM attempts WHERE id = ?1")?
            .query_row([id], |row| Ok(AttemptStart { utc_ns: row.get(0)?, at_ns: row.get(1)? }))
            .optional()
            .map_err(|error| self.failed(error))
    }

    /// The attempt at a case that counts: the last with an outcome, or the last of all where none has one.
    pub(crate) fn counted_attempt(&self, case_index: u32) -> Result<Option<i64>, StoreError> {
        self.read_one(
            "SELECT coalesce((SELECT max(attempt_id) FROM outcomes WHERE case_id = ?1),
                             (SELECT max(id) FROM attempts WHERE case_id = ?1))",
            [case_index],
        )
        .map(Option::flatten)
    }

    /// Returns the time at which the clock of a resumed run continues: the wall-clock time since its
    /// creation, and never before any time that the run already holds.
    pub(crate) fn resume_clock_ns(&self, utc_ns: u64) -> Result<u64, StoreError> {
        let created_utc_ns: u64 =
            self.read_one("SELECT min(started_utc_ns) FROM sessions", [])?.flatten().unwrap_or(utc_ns);
        let last_ns: u64 = self
            .read_one(
                "SELECT max(ifnull((SELECT max(clock_start_ns) FROM sessions), 0),
                            ifnull((SELECT max(at_ns) FROM session_ends), 0),
                            ifnull((SELECT max(started_at_ns) FROM attempts), 0),
                            ifnull((SELECT max(finished_at_ns) FROM outcomes), 0),
                            ifnull((SELECT at_ns FROM counter_times ORDER BY id DESC LIMIT 1), 0),
                            ifnull((SELECT max(at_ns) FROM events), 0))",
                [],
            )?
            .unwrap_or(0);
        Ok(utc_ns.saturating_sub(created_utc_ns).max(last_ns + 1))
    }

    fn case_record(&self, row: &Row<'_>) -> Result<CaseRecord, StoreError> {
        let read = || -> rusqlite::Result<(CaseRecord, String, Option<String>)> {
            let record = CaseRecord {
                index: row.get(0)?,
                plan: row.get(1)?,
                stage: row.get(2)?,
                name: row.get(3)?,
                settings: Settings::default(),
                estimated_duration_ns: row.get(5)?,
                estimated_write_bytes: row.get(6)?,
                state: CaseState::Pending,
                attempts: row.get(9)?,
                error: row.get(8)?,
            };
            Ok((record, row.get(4)?, row.get(7)?))
        };
        let (mut record, settings, status) = read().map_err(|error| self.failed(error))?;
        record.settings = self.parse_settings(record.index, &settings)?;
        record.state = match status {
            Some(status) => CaseState::Ended(self.parse_status(&status)?),
            None if record.attempts > 0 => CaseState::Begun,
            None => CaseState::Pending,
        };
        Ok(record)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(|error| self.failed(error))
    }

    /// Returns true if the database has a table: runs of older versions lack some.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        let found: Option<i64> = self.read_one("SELECT 1 FROM sqlite_schema WHERE name = ?1", [name])?;
        Ok(found.is_some())
    }

    /// True if a table is there and has a row.
    pub(crate) fn has_rows(&self, table: &str) -> Result<bool, StoreError> {
        if !self.has_table(table)? {
            return Ok(false);
        }
        Ok(self.read_one::<i64>(&format!("SELECT 1 FROM {table} LIMIT 1"), [])?.is_some())
    }

    /// The first column of the first row.
    pub(crate) fn read_one<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Option<T>, StoreError> {
        self.prepare(sql)?
            .query_row(parameters, |row| row.get(0))
            .optional()
            .map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(&self.directory.join(DATABASE_FILE), error)
    }

    pub(crate) fn corrupt(&self, detail: String) -> StoreError {
        StoreError::Corrupt { path: self.directory.join(DATABASE_FILE), detail }
    }

    pub(crate) fn parse_json<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.not_json(&error))
    }

    fn not_json(&self, error: &serde_json::Error) -> StoreError {
        self.corrupt(format!("JSON in a row: {error}"))
    }

    /// Returns the settings of a case that stand in a row.
    pub(crate) fn parse_settings(&self, case_index: u32, text: &str) -> Result<Settings, StoreError> {
        self.settings.borrow_mut().of_case(case_index, text).map_err(|error| self.not_json(&error))
    }

    pub(crate) fn parse_status(&self, name: &str) -> Result<CaseStatus, StoreError> {
        CaseStatus::from_name(name).ok_or_else(|| self.corrupt(format!("unknown status `{name}`")))
    }
}
