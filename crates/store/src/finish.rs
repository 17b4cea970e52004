//! Case completion: outcome and totals in one durable transaction.

use crate::run::Durability;
use crate::samples::HistogramRow;
use crate::{CaseOutcome, CaseStatus, DirectionTotals, Run, StoreError};
use load::Direction;
use rusqlite::params;

struct TotalsRow<'a> {
    load_id: i64,
    direction: Direction,
    totals: &'a DirectionTotals,
    latency: HistogramRow,
    service: Option<HistogramRow>,
}

impl Run {
    /// Ends the attempt at a case that is under way. From now on this attempt is the one that counts.
    pub fn finish_case(&mut self, case_index: u32, outcome: &CaseOutcome) -> Result<(), StoreError> {
        let attempt_id = self.open_attempt(case_index)?;
        if outcome.status == CaseStatus::Done && outcome.duration_ns == 0 {
            let detail = "it is done, but its duration is 0".into();
            return Err(StoreError::Invalid { what: "an outcome", detail });
        }
        let mut load_ids = Vec::with_capacity(outcome.loads.len());
        let mut totals_rows = Vec::new();
        for load in &outcome.loads {
            let load_id = self.load_id(&load.name)?;
            if load_ids.contains(&load_id) {
                let detail = format!("it has two loads named `{}`", load.name);
                return Err(StoreError::Invalid { what: "an outcome", detail });
            }
            load_ids.push(load_id);
            for direction in Direction::ALL {
                let Some(totals) = load.direction(direction) else { continue };
                totals_rows.push(TotalsRow {
                    load_id,
                    direction,
                    totals,
                    latency: HistogramRow::new(&totals.latency)?,
                    service: totals.service.as_ref().map(HistogramRow::new).transpose()?,
                });
            }
        }
        let at_ns = self.clock().now_ns();
        self.write(Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO outcomes (attempt_id, case_id, status, engine, target, duration_ns, error, finished_at_ns,
                                       simulated_ns, carried_ns, confidence_95)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    attempt_id,
                    case_index,
                    outcome.status.name(),
                    outcome.engine,
                    outcome.target,
                    outcome.duration_ns,
                    outcome.error,
                    at_ns,
                    outcome.extrapolation.map(|known| known.simulated_ns),
                    outcome.extrapolation.map(|known| known.carried_ns),
                    outcome.extrapolation.map(|known| known.confidence_95)
                ],
            )?;
            if let Some(known) = outcome.extrapolation {
                for (index, direction) in ["read", "write"].into_iter().enumerate() {
                    transaction.execute(
                        "INSERT INTO latency_confidences (attempt_id, direction, mean_confidence_95, p99_confidence_95)
                         VALUES (?1, ?2, ?3, ?4)",
                        params![
                            attempt_id,
                            direction,
                            known.latency_mean_confidence_95[index],
                            known.latency_p99_confidence_95[index]
                        ],
                    )?;
                }
            }
            for (position, (load, load_id)) in outcome.loads.iter().zip(&load_ids).enumerate() {
                transaction.execute(
                    "INSERT INTO case_loads (attempt_id, position, load_id, target, duration_ns, cpu_ns)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![attempt_id, position, load_id, load.target, load.duration_ns, load.cpu_ns],
                )?;
            }
            for row in &totals_rows {
                let latency_id = row.latency.insert(transaction)?;
                let service_id = row.service.as_ref().map(|row| row.insert(transaction)).transpose()?;
                transaction.execute(
                    "INSERT INTO totals (attempt_id, load_id, direction, ios, bytes, errors, latency_id, service_id)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        attempt_id,
                        row.load_id,
                        row.direction.name(),
                        row.totals.ios,
                        row.totals.bytes,
                        row.totals.errors,
                        latency_id,
                        service_id
                    ],
                )?;
            }
            for warning in &outcome.warnings {
                transaction.execute(
                    "INSERT INTO warnings (at_ns, attempt_id, text) VALUES (?1, ?2, ?3)",
                    params![at_ns, attempt_id, warning],
                )?;
            }
            Ok(())
        })?;
        self.open_attempts.remove(&case_index);
        Ok(())
    }
}
