//! Run status: progress of a run, readable by any process.

use crate::clock::utc_now_ns;
use crate::{CaseState, CaseStatus, RunReader, StoreError, lock};
use rusqlite::OptionalExtension;
use serde::Serialize;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A live process carries it out.
    Running,
    /// It was interrupted or killed; it can be resumed.
    Interrupted,
    /// Every case has an outcome.
    Done,
    /// The target, the disk or the engine failed; it can be resumed.
    Failed,
}

/// The case under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CurrentCase {
    /// Its place in the run, from 0.
    pub index: u32,
    /// Name of the stage.
    pub stage: String,
    /// Name of the case.
    pub name: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Start of the attempt, in nanoseconds since 1970.
    pub since_utc_ns: u64,
    /// Time since that start.
    pub elapsed_ns: u64,
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunStatus {
    /// State of the run.
    pub state: RunState,
    /// The process that carries it out, or did last.
    pub pid: Option<u32>,
    /// Reason for a failure or an interruption, where the process could still record it.
    pub message: Option<String>,
    /// Number of all cases; of a shard, of its own.
    pub cases_total: u32,
    /// Cases measured.
    pub done: u32,
    /// Cases failed.
    pub failed: u32,
    /// Cases refused.
    pub refused: u32,
    /// Cases whose settings could not be made.
    pub not_settable: u32,
    /// The case under way, or the one that was when the process died.
    pub current: Option<CurrentCase>,
    /// The time left by the plan's estimates and the pace so far; `None` where there is nothing to go by.
    pub estimated_left_ns: Option<u64>,
}

impl RunReader {
    /// Returns the progress of the run, and whether a live process carries it out.
    pub fn status(&self) -> Result<RunStatus, StoreError> {
        // The lock is looked at on both sides of the database, so that a process that ends in between is not taken
        // for a dead one that left no note.
        let (held_before, _) = lock::is_held(self.directory())?;
        let (mut state, message) = self.last_end()?;
        let mut status = RunStatus {
            state,
            pid: None,
            message,
            cases_total: 0,
            done: 0,
            failed: 0,
            refused: 0,
            not_settable: 0,
            current: self.current_case()?,
            estimated_left_ns: None,
        };
        let mut left = Pace::default();
        for case in self.own_cases()? {
            status.cases_total += 1;
            match case.state {
                CaseState::Ended(CaseStatus::Done) => status.done += 1,
                CaseState::Ended(CaseStatus::Failed) => status.failed += 1,
                CaseState::Ended(CaseStatus::Refused) => status.refused += 1,
                CaseState::Ended(CaseStatus::NotSettable) => status.not_settable += 1,
                CaseState::Pending | CaseState::Begun => {
                    left.open_estimate_ns += u128::from(case.estimated_duration_ns);
                }
            }
        }
        let (held, pid) = lock::is_held(self.directory())?;
        if held {
            state = RunState::Running;
        } else if held_before {
            // It ended while we looked.
            (state, status.message) = self.last_end()?;
        }
        status.state = state;
        status.pid = pid;
        if state == RunState::Running {
            status.message = None;
        }
        (left.spent_ns, left.spent_estimate_ns) = self.spent()?;
        left.is_real_time = self.manifest().engine != "sim";
        let current = if state == RunState::Running { status.current.as_ref() } else { None };
        status.estimated_left_ns = left.estimate_ns(current.map_or(0, |case| case.elapsed_ns));
        Ok(status)
    }

    /// Returns the end of the last process that wrote the run; without a record of it, the process was killed.
    pub(crate) fn last_end(&self) -> Result<(RunState, Option<String>), StoreError> {
        let end: Option<(String, Option<String>)> = self
            .connection()
            .query_row(
                "SELECT state, message FROM session_ends WHERE session_id = (SELECT max(id) FROM sessions)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(|error| self.failed(error))?;
        Ok(match end {
            None => (RunState::Interrupted, None),
            Some((state, message)) => match state.as_str() {
                "done" => (RunState::Done, message),
                "failed" => (RunState::Failed, message),
                _ => (RunState::Interrupted, message),
            },
        })
    }

    fn current_case(&self) -> Result<Option<CurrentCase>, StoreError> {
        let now_ns = utc_now_ns();
        self.connection()
            .query_row(
                "SELECT cases.id, cases.stage, cases.name, attempts.attempt, attempts.started_utc_ns
                 FROM attempts JOIN cases ON cases.id = attempts.case_id
                 WHERE attempts.session_id = (SELECT max(id) FROM sessions)
                   AND attempts.id NOT IN (SELECT attempt_id FROM outcomes)
                 ORDER BY attempts.id DESC LIMIT 1",
                [],
                |row| {
                    let since_utc_ns: u64 = row.get(4)?;
                    Ok(CurrentCase {
                        index: row.get(0)?,
                        stage: row.get(1)?,
                        name: row.get(2)?,
                        attempt: row.get(3)?,
                        since_utc_ns,
                        elapsed_ns: now_ns.saturating_sub(since_utc_ns),
                    })
                },
            )
            .optional()
            .map_err(|error| self.failed(error))
    }

    /// The time that measured cases took, and what the plan had estimated for them.
    fn spent(&self) -> Result<(u64, u64), StoreError> {
        self.connection()
            .query_row(
                "SELECT ifnull(sum(outcomes.finished_at_ns - attempts.started_at_ns), 0),
                        cast(total(cases.estimated_duration_ns) AS INTEGER)
                 FROM outcomes
                 JOIN attempts ON attempts.id = outcomes.attempt_id
                 JOIN cases ON cases.id = outcomes.case_id
                 WHERE outcomes.status = 'done'",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.failed(error))
    }
}

/// Rates from which the time left is estimated.
#[derive(Default)]
struct Pace {
    open_estimate_ns: u128,
    spent_ns: u64,
    spent_estimate_ns: u64,
    is_real_time: bool,
}

impl Pace {
    fn estimate_ns(&self, current_elapsed_ns: u64) -> Option<u64> {
        let all_ns = if self.spent_estimate_ns > 0 {
            self.open_estimate_ns * u128::from(self.spent_ns) / u128::from(self.spent_estimate_ns)
        } else if self.is_real_time || self.open_estimate_ns == 0 {
            self.open_estimate_ns
        } else {
            // Nobody knows how fast this machine simulates before the first case.
            return None;
        };
        Some(u64::try_from(all_ns).unwrap_or(u64::MAX).saturating_sub(current_elapsed_ns))
    }
}
