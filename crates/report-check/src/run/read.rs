//! Reading of a run directory: SQLite, manifest, plan and published tables.

use super::{Case, Counter, Event, Flow, Interval, Run, Totals};
use crate::histogram::Histogram;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

type Error = Box<dyn std::error::Error>;

impl Run {
    /// Reads a run directory. Published tables that the plan names are looked for in the run's manifest's plan directory and in
    /// `published`.
    pub fn open(directory: &Path, published: &Path) -> Result<Run, Error> {
        let manifest_text = std::fs::read_to_string(directory.join("manifest.json"))?;
        let manifest: Value = serde_json::from_str(&manifest_text)?;
        let plan_text = manifest["plan"]["text"].as_str().unwrap_or_default().to_owned();
        let plan: Value = serde_saphyr::from_str(&plan_text).unwrap_or(Value::Null);
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let database = Connection::open_with_flags(directory.join("run.sqlite"), flags)?;
        let mut run = Run { manifest, manifest_text, plan, plan_text, ..Run::default() };
        run.read_cases(&database)?;
        run.read_intervals(&database)?;
        run.read_totals(&database)?;
        run.read_hosts(&database)?;
        run.read_counters(&database)?;
        run.read_texts(&database)?;
        run.read_published(published);
        run.read_claims(&published.join("../plans"));
        let reference = published.join("../crates/findings/reference/validation.jsonl");
        let lines = std::fs::read_to_string(reference).unwrap_or_default();
        run.validation = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(run)
    }

    fn read_cases(&mut self, database: &Connection) -> Result<(), Error> {
        let mut query = database.prepare(
            "SELECT c.stage, c.name, c.settings, o.status, o.error, o.duration_ns,
                    (SELECT count(*) FROM attempts a WHERE a.case_id = c.id)
             FROM cases c LEFT JOIN result_attempts r ON r.case_id = c.id
             LEFT JOIN outcomes o ON o.attempt_id = r.attempt_id ORDER BY c.id",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let settings: String = row.get(2)?;
            let status: Option<String> = row.get(3)?;
            let attempts: i64 = row.get(6)?;
            let without = if attempts > 0 { "begun" } else { "pending" };
            self.cases.push(Case {
                stage: row.get(0)?,
                name: row.get(1)?,
                settings: serde_json::from_str(&settings)?,
                state: status.unwrap_or_else(|| without.to_owned()),
                error: row.get(4)?,
                duration_s: row.get::<_, Option<i64>>(5)?.unwrap_or(0) as f64 / 1e9,
                ..Case::default()
            });
        }
        Ok(())
    }

    fn read_intervals(&mut self, database: &Connection) -> Result<(), Error> {
        let mut query = database.prepare(
            "SELECT r.case_id, l.name, i.start_ns, i.end_ns, i.is_ramp, s.direction, s.ios, s.bytes, s.errors, h.mean_ns
             FROM intervals i JOIN result_attempts r ON r.attempt_id = i.attempt_id JOIN loads l ON l.id = i.load_id
             LEFT JOIN samples s ON s.interval_id = i.id LEFT JOIN histograms h ON h.id = s.latency_id
             WHERE l.name <> 'preconditioning' ORDER BY r.case_id, l.id, i.start_ns, i.id",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let case: usize = row.get(0)?;
            let load: String = row.get(1)?;
            let (start, end): (i64, i64) = (row.get(2)?, row.get(3)?);
            let (start_s, end_s) = (start as f64 / 1e9, end as f64 / 1e9);
            let Some(case) = self.cases.get_mut(case) else { continue };
            if case.loads.last().is_none_or(|(name, _)| *name != load) {
                case.loads.push((load, Vec::new()));
            }
            let Some((_, series)) = case.loads.last_mut() else { continue };
            if series.last().is_none_or(|last| last.start_s != start_s || last.end_s != end_s) {
                let is_ramp: bool = row.get(4)?;
                series.push(Interval { start_s, end_s, is_ramp, ..Interval::default() });
            }
            let place = match row.get::<_, Option<String>>(5)?.as_deref() {
                Some("read") => 0,
                Some("write") => 1,
                _ => continue,
            };
            let ios = row.get::<_, i64>(6)? as f64;
            if let Some(last) = series.last_mut() {
                last.flows[place] = Flow {
                    ios,
                    bytes: row.get::<_, i64>(7)? as f64,
                    errors: row.get::<_, i64>(8)? as f64,
                    latency_sum_ns: row.get::<_, Option<f64>>(9)?.unwrap_or(0.0) * ios,
                };
            }
        }
        for case in &mut self.cases {
            let mut all: Vec<Interval> = Vec::new();
            for one in case.loads.iter().flat_map(|(_, series)| series) {
                let same = |known: &&mut Interval| known.start_s == one.start_s && known.end_s == one.end_s;
                match all.iter_mut().rev().find(same).filter(|_| case.loads.len() > 1) {
                    Some(known) => {
                        for (known, more) in known.flows.iter_mut().zip(&one.flows) {
                            known.ios += more.ios;
                            known.bytes += more.bytes;
                            known.errors += more.errors;
                            known.latency_sum_ns += more.latency_sum_ns;
                        }
                    }
                    None => all.push(*one),
                }
            }
            all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
            case.intervals = all;
        }
        Ok(())
    }

    /// Rates of hosts; earlier versions made no tables of them.
    fn read_hosts(&mut self, database: &Connection) -> Result<(), Error> {
        let exists = "SELECT count(*) FROM sqlite_schema WHERE name = 'case_hosts'";
        if database.query_row(exists, [], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(());
        }
        let mut query = database.prepare(
            "SELECT r.case_id, h.host, h.duration_ns,
                    (SELECT ifnull(sum(t.ios), 0) FROM host_totals t WHERE t.attempt_id = h.attempt_id AND t.host = h.host)
             FROM case_hosts h JOIN result_attempts r ON r.attempt_id = h.attempt_id ORDER BY r.case_id, h.position",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (case, duration_ns, ios): (usize, i64, i64) = (row.get(0)?, row.get(2)?, row.get(3)?);
            if let Some(case) = self.cases.get_mut(case) {
                let iops = if duration_ns > 0 { ios as f64 / (duration_ns as f64 / 1e9) } else { 0.0 };
                case.hosts.push((row.get(1)?, iops));
            }
        }
        Ok(())
    }

    /// Sums and histograms of the counted time, from samples; from the totals of attempts that kept no samples.
    fn read_totals(&mut self, database: &Connection) -> Result<(), Error> {
        let queries = [
            "SELECT r.case_id, s.direction, s.ios, s.bytes, s.errors, h.encoded
             FROM samples s JOIN intervals i ON i.id = s.interval_id JOIN result_attempts r ON r.attempt_id = i.attempt_id
             JOIN loads l ON l.id = i.load_id LEFT JOIN histograms h ON h.id = s.latency_id
             WHERE NOT i.is_ramp AND l.name <> 'preconditioning'",
            "SELECT r.case_id, t.direction, t.ios, t.bytes, t.errors, h.encoded
             FROM totals t JOIN result_attempts r ON r.attempt_id = t.attempt_id
             JOIN loads l ON l.id = t.load_id LEFT JOIN histograms h ON h.id = t.latency_id
             WHERE l.name <> 'preconditioning'",
        ];
        let mut all: [BTreeMap<(usize, usize), Totals>; 2] = Default::default();
        for (found, text) in all.iter_mut().zip(queries) {
            let mut query = database.prepare(text)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let place = match row.get::<_, String>(1)?.as_str() {
                    "read" => 0,
                    "write" => 1,
                    _ => continue,
                };
                let totals = found.entry((row.get(0)?, place)).or_default();
                totals.ios += row.get::<_, u64>(2)?;
                totals.bytes += row.get::<_, u64>(3)?;
                totals.errors += row.get::<_, u64>(4)?;
                if let Some(encoded) = row.get::<_, Option<Vec<u8>>>(5)? {
                    let histogram = Histogram::decode(&encoded).ok_or("a histogram is not as documented")?;
                    totals.latency.merge(&histogram);
                }
            }
        }
        let [samples, totals] = all;
        for (key, of_totals) in totals {
            let Some(case) = self.cases.get_mut(key.0) else { continue };
            // Samples are what was measured. The last interval of a real load may reach beyond the counted time, and a result
            // that was imported may have no samples at all: then the totals are all there is.
            case.totals[key.1] = match samples.get(&key) {
                Some(samples) if samples.ios == of_totals.ios => samples.clone(),
                _ => of_totals,
            };
        }
        Ok(())
    }

    fn read_counters(&mut self, database: &Connection) -> Result<(), Error> {
        let mut query = database.prepare(
            "SELECT r.case_id, s.source, s.entity, s.name, t.case_at_ns, c.value
             FROM counters c JOIN counter_times t ON t.id = c.time_id JOIN counter_series s ON s.id = c.series_id
             JOIN result_attempts r ON r.attempt_id = t.attempt_id
             WHERE s.name LIKE '%busy_ns' OR s.name IN ('processors', 'fill_threads', 'fill_waiting_commands', '%util', '%idle',
                   'to_array_bytes', 'to_host_bytes', 'rkB/s', 'wkB/s')
                OR (s.source = 'twin' AND s.entity IN ('thin', 'reduction', 'snapshots', 'drive_cache', 'tier', 'mirror',
                   'replication', 'limits', 'protocol', 'volume_manager', 'wear'))
             ORDER BY r.case_id, s.id, t.id",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let Some(case) = self.cases.get_mut(row.get::<_, usize>(0)?) else { continue };
            let (source, entity, name): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let is_its = |one: &Counter| one.source == source && one.entity == entity && one.name == name;
            if !case.counters.last().is_some_and(is_its) {
                case.counters.push(Counter { source, entity, name, points: Vec::new() });
            }
            let at_s = row.get::<_, Option<i64>>(4)?.map(|ns| ns as f64 / 1e9);
            if let Some(last) = case.counters.last_mut() {
                last.points.push((at_s, row.get(5)?));
            }
        }
        Ok(())
    }

    fn read_texts(&mut self, database: &Connection) -> Result<(), Error> {
        let mut query = database.prepare(
            "SELECT e.kind, e.text, e.case_at_ns, e.data, r.case_id
             FROM events e LEFT JOIN result_attempts r ON r.attempt_id = e.attempt_id ORDER BY e.id",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let data: Option<String> = row.get(3)?;
            let event = Event {
                kind: row.get(0)?,
                text: row.get(1)?,
                at_s: row.get::<_, Option<i64>>(2)?.map(|ns| ns as f64 / 1e9),
                data: data.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null),
            };
            if let Some(case) = row.get::<_, Option<usize>>(4)?.and_then(|case| self.cases.get_mut(case)) {
                case.moments.push(event.clone());
            }
            self.events.push(event);
        }
        let mut query = database.prepare(
            "SELECT text FROM warnings WHERE attempt_id IS NULL OR attempt_id IN (SELECT attempt_id FROM result_attempts)",
        )?;
        self.warnings = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut query =
            database.prepare("SELECT scope, name, before_value, after_value FROM settings_changed")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..4 {
                self.changes.extend(row.get::<_, Option<String>>(column)?);
            }
        }
        Ok(())
    }

    fn read_claims(&mut self, plans: &Path) {
        let list = |plan: &Value| plan["claims"].as_array().cloned().unwrap_or_default();
        self.claims = list(&self.plan);
        if self.claims.is_empty()
            && let Some(name) = self.manifest["plan"]["name"].as_str()
            && let Ok(text) = std::fs::read_to_string(plans.join(format!("{name}.yaml")))
        {
            self.claims = list(&serde_saphyr::from_str(&text).unwrap_or(Value::Null));
        }
    }

    fn read_published(&mut self, directory: &Path) {
        let tables = self.plan["published"].as_array().cloned().unwrap_or_default();
        for file in tables.iter().filter_map(|table| table["file"].as_str()) {
            let Ok(mut reader) = csv::Reader::from_path(directory.join(file)) else { continue };
            let heads: Vec<String> =
                reader.headers().map(|heads| heads.iter().map(str::to_owned).collect()).unwrap_or_default();
            let rows = reader
                .records()
                .filter_map(Result::ok)
                .map(|record| heads.iter().cloned().zip(record.iter().map(str::to_owned)).collect());
            self.published.insert(file.to_owned(), rows.collect());
        }
    }
}
