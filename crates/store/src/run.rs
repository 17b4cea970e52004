//! Run writer: creates and resumes a run, begins its cases and ends it.

use crate::clock::{boot_id, utc_now_ns};
use crate::directory::{self, CASES_DIRECTORY, DATABASE_FILE, MANIFEST_FILE};
use crate::lock::WriterLock;
use crate::manifest::{read_manifest, utc_text, write_manifest};
use crate::{CaseState, CaseStatus, Manifest, NewCase, RunClock, RunReader, StoreError, schema};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The most cases of a run; the same limit as a plan's matrix has.
pub const CASES_LIMIT: usize = 1_000_000;

/// End of writing a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every case has an outcome.
    Done,
    /// The target, the disk or the engine failed; the run can be resumed.
    Failed(String),
    /// The run was interrupted, for this reason; it can be resumed.
    Interrupted(String),
}

/// Durability of a commit. Every commit outlasts `kill -9`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// `synchronous=NORMAL`: the database stays whole, but a power loss may take back the last commits. For samples
    /// and counters, whose case would be measured again anyway.
    Process,
    /// `synchronous=FULL`: the write-ahead log is on the disk before the call returns, and with it all earlier
    /// commits. For outcomes, events and ends.
    Power,
}

/// A run that this process writes. Reads as [`RunReader`] does.
#[derive(Debug)]
pub struct Run {
    pub(crate) reader: RunReader,
    clock: RunClock,
    session_id: i64,
    /// Cases under way: index to row of `attempts`.
    pub(crate) open_attempts: BTreeMap<u32, i64>,
    pub(crate) load_ids: HashMap<String, i64>,
    /// Source, entity, name: nested, so that a look-up needs no owned key.
    pub(crate) series_ids: HashMap<String, HashMap<String, HashMap<String, i64>>>,
    // Dropped last, after the database is closed.
    _lock: WriterLock,
}

impl Deref for Run {
    type Target = RunReader;

    fn deref(&self) -> &RunReader {
        &self.reader
    }
}

impl Run {
    /// Creates a run in a directory that does not exist or is empty, and takes the right to write it.
    ///
    /// The manifest is written last: a directory without one holds no measurement, and may be created again.
    pub fn create(directory: &Path, manifest: &Manifest, cases: &[NewCase]) -> Result<Run, StoreError> {
        if cases.len() > CASES_LIMIT {
            let detail = format!("{} cases are more than {CASES_LIMIT}", cases.len());
            return Err(StoreError::Invalid { what: "the run", detail });
        }
        fs::create_dir_all(directory).map_err(|source| StoreError::io("create", directory, source))?;
        let not_empty = || StoreError::NotEmpty { directory: directory.into() };
        if !directory::is_free_for_new_run(directory)? {
            return Err(not_empty());
        }
        let lock = WriterLock::take(directory)?;
        // Looked at again under the lock: another process may have created a run in between.
        if !directory::is_free_for_new_run(directory)? {
            return Err(not_empty());
        }
        directory::remove_leftovers(directory)?;
        let database = directory.join(DATABASE_FILE);
        let mut connection = schema::create(&database)?;
        insert_cases(&mut connection, cases).map_err(|error| StoreError::database(&database, error))?;

        let mut manifest = manifest.clone();
        manifest.format_version = crate::MANIFEST_VERSION;
        let created_utc_ns = utc_now_ns();
        if manifest.created_utc.is_empty() {
            manifest.created_utc = utc_text(UNIX_EPOCH + Duration::from_nanos(created_utc_ns));
        }
        if manifest.run_id.is_empty() {
            manifest.run_id = crate::new_run_id();
        }
        let reader = RunReader::new(directory, manifest, connection);
        let run = Run::begin_session(reader, lock, RunClock::starting_at(0), created_utc_ns)?;
        write_manifest(&directory.join(MANIFEST_FILE), run.manifest())?;
        directory::sync_parent(directory)?;
        Ok(run)
    }

    /// Opens a run to resume it, and takes the right to write it.
    pub fn open(directory: &Path) -> Result<Run, StoreError> {
        let path = directory.join(MANIFEST_FILE);
        if !path.exists() {
            return Err(StoreError::NotARun { directory: directory.into() });
        }
        let manifest = read_manifest(&path)?;
        let lock = WriterLock::take(directory)?;
        let connection = schema::open(&directory.join(DATABASE_FILE))?;
        let reader = RunReader::new(directory, manifest, connection);
        let utc_ns = utc_now_ns();
        let clock = RunClock::starting_at(reader.resume_clock_ns(utc_ns)?);
        Run::begin_session(reader, lock, clock, utc_ns)
    }

    /// Opens a run to read it, while another process writes it or after.
    pub fn open_read_only(directory: &Path) -> Result<RunReader, StoreError> {
        RunReader::open(directory)
    }

    fn begin_session(
        reader: RunReader,
        lock: WriterLock,
        clock: RunClock,
        utc_ns: u64,
    ) -> Result<Run, StoreError> {
        let boot_id = boot_id()?;
        let mut run = Run {
            reader,
            clock,
            session_id: 0,
            open_attempts: BTreeMap::new(),
            load_ids: HashMap::new(),
            series_ids: HashMap::new(),
            _lock: lock,
        };
        run.session_id = run.write(Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO sessions (pid, arraylab_version, started_utc_ns, clock_start_ns, monotonic_start_ns, boot_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    std::process::id(),
                    env!("CARGO_PKG_VERSION"),
                    utc_ns,
                    clock.clock_start_ns,
                    clock.monotonic_start_ns,
                    boot_id
                ],
            )?;
            Ok(transaction.last_insert_rowid())
        })?;
        Ok(run)
    }

    /// The run's clock, for probes and events.
    pub fn clock(&self) -> RunClock {
        self.clock
    }

    /// Begins an attempt at a case and returns its number, from 1. Whatever an earlier attempt without an outcome
    /// left behind stays in the database and counts no more.
    pub fn begin_case(&mut self, case_index: u32) -> Result<u32, StoreError> {
        let record = self.case(case_index)?;
        if record.state == CaseState::Ended(CaseStatus::Done) {
            return Err(StoreError::AlreadyDone { case_index });
        }
        let attempt = record.attempts + 1;
        let (session_id, at_ns) = (self.session_id, self.clock.now_ns());
        let attempt_id = self.write(Durability::Process, |transaction| {
            transaction.execute(
                "INSERT INTO attempts (case_id, attempt, session_id, started_at_ns, started_utc_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![case_index, attempt, session_id, at_ns, utc_now_ns()],
            )?;
            Ok(transaction.last_insert_rowid())
        })?;
        self.open_attempts.insert(case_index, attempt_id);
        Ok(attempt)
    }

    /// Records settings that a case has from the results of others.
    pub fn set_settings(
        &mut self,
        case_index: u32,
        settings: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), StoreError> {
        let text = serde_json::Value::Object(settings.clone()).to_string();
        self.write(Durability::Process, |transaction| {
            transaction.execute("UPDATE cases SET settings = ?2 WHERE id = ?1", params![case_index, text])
        })?;
        Ok(())
    }

    /// Makes and returns the directory for the engine's files of the attempt under way.
    pub fn create_case_directory(&self, case_index: u32) -> Result<PathBuf, StoreError> {
        let record = self.case(case_index)?;
        let directory =
            directory::case_directory(self.directory(), case_index, &record.name, record.attempts.max(1));
        fs::create_dir_all(&directory).map_err(|source| StoreError::io("create", &directory, source))?;
        directory::sync_parent(&directory)?;
        directory::sync_parent(&self.directory().join(CASES_DIRECTORY))?;
        Ok(directory)
    }

    /// Gives the session of this process the highest number, so that how it ends counts; rows of other runs have been copied.
    pub(crate) fn make_session_last(&mut self) -> Result<(), StoreError> {
        let session_id = self.session_id;
        self.session_id = self.write(Durability::Process, |transaction| {
            let last: i64 =
                transaction.query_row("SELECT max(id) + 1 FROM sessions", [], |row| row.get(0))?;
            transaction.execute("UPDATE sessions SET id = ?2 WHERE id = ?1", params![session_id, last])?;
            Ok(last)
        })?;
        Ok(())
    }

    /// Notes how this process stopped. A run without such a note was killed, and counts as interrupted.
    pub fn end(mut self, end: &RunEnd) -> Result<(), StoreError> {
        let (state, message) = match end {
            RunEnd::Done => ("done", None),
            RunEnd::Failed(message) => ("failed", Some(message)),
            RunEnd::Interrupted(message) => ("interrupted", Some(message)),
        };
        let (session_id, at_ns) = (self.session_id, self.clock.now_ns());
        self.write(Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO session_ends (session_id, at_ns, state, message) VALUES (?1, ?2, ?3, ?4)",
                params![session_id, at_ns, state, message],
            )?;
            Ok(())
        })
    }

    pub(crate) fn open_attempt(&self, case_index: u32) -> Result<i64, StoreError> {
        self.open_attempts.get(&case_index).copied().ok_or(StoreError::NotBegun { case_index })
    }

    /// Everything that is written goes through here: one transaction, all of it or nothing.
    pub(crate) fn write<T>(
        &mut self,
        durability: Durability,
        body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        write(self.reader.connection_mut(), durability, body)
            .map_err(|error| StoreError::database(&self.reader.directory().join(DATABASE_FILE), error))
    }

    /// The row of a load's name; names are few, so each is looked up once a session.
    pub(crate) fn load_id(&mut self, name: &str) -> Result<i64, StoreError> {
        if let Some(&id) = self.load_ids.get(name) {
            return Ok(id);
        }
        let id = self.write(Durability::Process, |transaction| {
            transaction.execute("INSERT INTO loads (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
            transaction.query_row("SELECT id FROM loads WHERE name = ?1", [name], |row| row.get(0))
        })?;
        self.load_ids.insert(name.to_owned(), id);
        Ok(id)
    }
}

pub(crate) fn write<T>(
    connection: &mut Connection,
    durability: Durability,
    body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let synchronous = if durability == Durability::Power { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = body(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn insert_cases(connection: &mut Connection, cases: &[NewCase]) -> rusqlite::Result<()> {
    write(connection, Durability::Power, |transaction| {
        let mut insert = transaction.prepare(
            "INSERT INTO cases (id, plan, stage, name, settings, estimated_duration_ns, estimated_write_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (index, case) in cases.iter().enumerate() {
            let settings = serde_json::to_string(&case.settings)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            insert.execute(params![
                index,
                case.plan,
                case.stage,
                case.name,
                settings,
                // Estimates may saturate; the database's integers end at 2^63.
                case.estimated_duration_ns.min(i64::MAX as u64),
                case.estimated_write_bytes.min(i64::MAX as u64)
            ])?;
        }
        Ok(())
    })
}
