//! Sustained levels kept at the end of cases.

use crate::run::Durability;
use crate::{CaseState, CaseStatus, Run, RunReader, StoreError, Sustained};
use rusqlite::params;
use std::collections::BTreeMap;

impl Run {
    /// Keeps the sustained level of a case that is done, `None` where it has none. `method` is the version of the method that
    /// found it. A case that is not done, and a level that is no number, are refused.
    pub fn keep_sustained(
        &mut self,
        case_index: u32,
        method: u32,
        level: Option<Sustained>,
    ) -> Result<(), StoreError> {
        let invalid = |detail: String| StoreError::Invalid { what: "a sustained level", detail };
        let state = self.case(case_index)?.state;
        if state != CaseState::Ended(CaseStatus::Done) {
            return Err(invalid(format!("case {case_index} is not done")));
        }
        if level.is_some_and(|level| !(level.iops.is_finite() && level.bw_bytes_per_s.is_finite())) {
            return Err(invalid(format!("that of case {case_index} is no number")));
        }
        let Some(attempt_id) = self.counted_attempt(case_index)? else {
            return Err(StoreError::NotBegun { case_index });
        };
        // A level that a power loss takes back is found in the samples again.
        self.write(Durability::Process, |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO sustained_levels (attempt_id, method, iops, bw_bytes_per_s)
                 VALUES (?1, ?2, ?3, ?4)",
                params![
                    attempt_id,
                    method,
                    level.map(|level| level.iops),
                    level.map(|level| level.bw_bytes_per_s)
                ],
            )?;
            Ok(())
        })
    }
}

impl RunReader {
    /// The sustained levels that were kept by this version of the method, by case: `None` where a case is known to have none.
    /// Empty for a run of an older arraylab.
    pub fn kept_sustained(&self, method: u32) -> Result<BTreeMap<u32, Option<Sustained>>, StoreError> {
        if !self.has_table("sustained_levels")? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self.prepare(
            "SELECT result_attempts.case_id, kept.iops, kept.bw_bytes_per_s
             FROM sustained_levels AS kept
             JOIN result_attempts ON result_attempts.attempt_id = kept.attempt_id
             WHERE kept.method = ?1",
        )?;
        let rows = statement.query_map([method], |row| {
            let (iops, bw): (Option<f64>, Option<f64>) = (row.get(1)?, row.get(2)?);
            let level = iops.zip(bw).map(|(iops, bw_bytes_per_s)| Sustained { iops, bw_bytes_per_s });
            Ok((row.get(0)?, level))
        });
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }
}
