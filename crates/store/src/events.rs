//! Event log: events on target and host, messages, and changes of settings.

use crate::directory::{DATABASE_FILE, MANIFEST_FILE};
use crate::run::{Durability, write};
use crate::{Run, RunClock, RunReader, StoreError, clock, lock, schema};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use std::path::Path;

/// Event of a run: a plan's event, a mark, a phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// The case that was under way.
    pub case_index: Option<u32>,
    /// Time since the start of the case's load, in nanoseconds.
    pub case_at_ns: Option<u64>,
    /// Kind of the event: `mark`, `fault`, `update`.
    pub kind: String,
    /// Description of the event for people.
    pub text: String,
    /// Data of the event, for programs.
    pub data: Option<Value>,
}

/// Warning to the reader of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// The case it is about.
    pub case_index: Option<u32>,
    /// Text of the warning.
    pub text: String,
}

/// A setting of the host or the array that arraylab changed or put back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingChange {
    /// Time on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// The case it was changed for.
    pub case_index: Option<u32>,
    /// Scope of the setting: `host`, `array`.
    pub scope: String,
    /// Its name or path.
    pub name: String,
    /// Its value before, where it could be read.
    pub before: Option<String>,
    /// Its value after.
    pub after: Option<String>,
}

impl Run {
    /// Appends an event.
    pub fn append_event(&mut self, event: &Event) -> Result<(), StoreError> {
        let attempt_id = event.case_index.map(|index| self.open_attempt(index)).transpose()?;
        self.write(Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO events (at_ns, attempt_id, case_at_ns, kind, text, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    event.at_ns,
                    attempt_id,
                    event.case_at_ns,
                    event.kind,
                    event.text,
                    event.data.as_ref().map(Value::to_string)
                ],
            )?;
            Ok(())
        })
    }

    /// Appends a warning, about a case under way or about the run.
    pub fn append_warning(&mut self, case_index: Option<u32>, text: &str) -> Result<(), StoreError> {
        let attempt_id = case_index.map(|index| self.open_attempt(index)).transpose()?;
        let at_ns = self.clock().now_ns();
        self.write(Durability::Process, |transaction| {
            transaction.execute(
                "INSERT INTO warnings (at_ns, attempt_id, text) VALUES (?1, ?2, ?3)",
                params![at_ns, attempt_id, text],
            )?;
            Ok(())
        })
    }

    /// Notes that a setting was changed or put back. On the disk before it returns, so that the next run can put
    /// back what a killed one left.
    pub fn append_setting_change(&mut self, change: &SettingChange) -> Result<(), StoreError> {
        let attempt_id = change.case_index.map(|index| self.open_attempt(index)).transpose()?;
        self.write(Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO settings_changed (at_ns, attempt_id, scope, name, before_value, after_value)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![change.at_ns, attempt_id, change.scope, change.name, change.before, change.after],
            )?;
            Ok(())
        })
    }
}

/// Notes an event now on a run that another process carries out, and returns its time on the run's clock.
pub fn mark(directory: &Path, text: &str) -> Result<u64, StoreError> {
    if !directory.join(MANIFEST_FILE).exists() {
        return Err(StoreError::NotARun { directory: directory.into() });
    }
    let not_running = || StoreError::NotRunning { directory: directory.into() };
    if !lock::is_held(directory)?.0 {
        return Err(not_running());
    }
    let path = directory.join(DATABASE_FILE);
    let mut connection = schema::open(&path)?;
    let failed = |error| StoreError::database(&path, error);
    let boot_id = clock::boot_id()?;
    // A clock of another boot, or of another machine over a shared file system, says nothing here.
    let clock = live_clock(&connection, &boot_id).map_err(failed)?.ok_or_else(not_running)?;
    let at_ns = clock.now_ns();
    write(&mut connection, Durability::Power, |transaction| {
        transaction.execute(
            "INSERT INTO events (at_ns, attempt_id, kind, text)
             VALUES (?1, (SELECT max(id) FROM attempts
                          WHERE session_id = (SELECT max(id) FROM sessions)
                            AND id NOT IN (SELECT attempt_id FROM outcomes)), 'mark', ?2)",
            params![at_ns, text],
        )?;
        Ok(())
    })
    .map_err(failed)?;
    Ok(at_ns)
}

fn live_clock(connection: &Connection, boot_id: &str) -> rusqlite::Result<Option<RunClock>> {
    connection
        .query_row(
            "SELECT clock_start_ns, monotonic_start_ns FROM sessions
             WHERE id = (SELECT max(id) FROM sessions) AND boot_id = ?1",
            [boot_id],
            |row| Ok(RunClock { clock_start_ns: row.get(0)?, monotonic_start_ns: row.get(1)? }),
        )
        .optional()
}

impl RunReader {
    /// Lists all events, in order of time.
    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        self.select_events(
            "SELECT at_ns, case_id, case_at_ns, kind, text, data
             FROM events LEFT JOIN attempts ON attempts.id = events.attempt_id ORDER BY at_ns, events.id",
            [],
        )
    }

    /// The events of all attempts at a case, in order of time.
    pub fn events_of_case(&self, case_index: u32) -> Result<Vec<Event>, StoreError> {
        self.select_events(
            "SELECT at_ns, case_id, case_at_ns, kind, text, data
             FROM attempts JOIN events ON events.attempt_id = attempts.id
             WHERE attempts.case_id = ?1 ORDER BY at_ns, events.id",
            [case_index],
        )
    }

    fn select_events(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<Vec<Event>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement
            .query_map(parameters, |row| {
                let event = Event {
                    at_ns: row.get(0)?,
                    case_index: row.get(1)?,
                    case_at_ns: row.get(2)?,
                    kind: row.get(3)?,
                    text: row.get(4)?,
                    data: None,
                };
                Ok((event, row.get::<_, Option<String>>(5)?))
            })
            .map_err(|error| self.failed(error))?;
        let mut events = Vec::new();
        for row in rows {
            let (mut event, data) = row.map_err(|error| self.failed(error))?;
            event.data = data.map(|data| self.parse_json(&data)).transpose()?;
            events.push(event);
        }
        Ok(events)
    }

    /// Lists all warnings about the run and about the attempts that count, in order of time.
    pub fn warnings(&self) -> Result<Vec<Warning>, StoreError> {
        self.collect(
            "SELECT warnings.at_ns, attempts.case_id, warnings.text
             FROM warnings LEFT JOIN attempts ON attempts.id = warnings.attempt_id
             WHERE warnings.attempt_id IS NULL OR warnings.attempt_id IN (SELECT attempt_id FROM result_attempts)
             ORDER BY warnings.id",
            |row| Ok(Warning { at_ns: row.get(0)?, case_index: row.get(1)?, text: row.get(2)? }),
        )
    }

    /// Lists all changes of settings, in the order in which they were made.
    pub fn setting_changes(&self) -> Result<Vec<SettingChange>, StoreError> {
        self.collect(
            "SELECT at_ns, case_id, scope, name, before_value, after_value
             FROM settings_changed LEFT JOIN attempts ON attempts.id = settings_changed.attempt_id
             ORDER BY settings_changed.id",
            |row| {
                Ok(SettingChange {
                    at_ns: row.get(0)?,
                    case_index: row.get(1)?,
                    scope: row.get(2)?,
                    name: row.get(3)?,
                    before: row.get(4)?,
                    after: row.get(5)?,
                })
            },
        )
    }

    fn collect<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map([], read).map_err(|error| self.failed(error))?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(|error| self.failed(error))
    }
}
