//! Merge of the runs of all shards into one run.

use crate::directory::{CASES_DIRECTORY, DATABASE_FILE, is_free_for_new_run, sync_parent};
use crate::lock;
use crate::{
    CaseRecord, CaseState, Manifest, NewCase, PICTURES_DIRECTORY, Run, RunEnd, RunReader, RunState,
    RunStatus, StoreError,
};
use rusqlite::{Connection, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// So many shards or cases are named in a refusal.
const NAMED_LIMIT: usize = 10;

/// Merges the runs of all shards of a plan into one run in `out`: its results are those of a run that carried out all cases.
/// Refused where a shard is missing, given twice or not at its end, and where plan, array, version, seed or another part of the
/// request differs. `out` appears only when it is complete.
pub fn merge(runs: &[PathBuf], out: &Path, command_line: &[String]) -> Result<RunStatus, StoreError> {
    let parts = runs.iter().map(|directory| RunReader::open(directory)).collect::<Result<Vec<_>, _>>()?;
    let parts = in_order(parts)?;
    let cases = check_cases(&parts)?;
    if out.exists() && !is_free_for_new_run(out)? {
        return Err(StoreError::NotEmpty { directory: out.into() });
    }
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unfinished = out.with_file_name(format!(".{name}.merge-{}", std::process::id()));
    let written = write(&parts, &cases, &unfinished, command_line).and_then(|()| {
        fs::rename(&unfinished, out).map_err(|source| StoreError::io("create", out, source))?;
        sync_parent(out)
    });
    if written.is_err() {
        // What went wrong is told already; a directory that cannot be removed is one that begins with a dot.
        let _ = fs::remove_dir_all(&unfinished);
    }
    written?;
    RunReader::open(out)?.status()
}

fn refused(detail: String) -> StoreError {
    StoreError::CannotMerge { detail }
}

/// The runs by the numbers of their shards: all of them, each once.
fn in_order(parts: Vec<RunReader>) -> Result<Vec<RunReader>, StoreError> {
    let mut by_number: BTreeMap<u32, RunReader> = BTreeMap::new();
    let mut first: Option<(PathBuf, Manifest)> = None;
    let (mut overlap, mut reasons) = (BTreeSet::new(), Vec::new());
    for part in parts {
        let directory = part.directory().to_owned();
        let Some(shard) = part.manifest().shard.as_ref().map(|shard| shard.of) else {
            let detail =
                format!("{} is not the run of a shard: it was begun without --shard", directory.display());
            return Err(refused(detail));
        };
        match &first {
            None => first = Some((directory.clone(), part.manifest().clone())),
            Some((other, manifest)) => check_same(other, manifest, &directory, part.manifest())?,
        }
        if let Some(other) = by_number.insert(shard.number, part) {
            let other = other.directory().display();
            overlap.insert(shard.number);
            reasons.push(format!("{other} and {} are both shard {shard}", directory.display()));
        }
    }
    let count = first.and_then(|(_, manifest)| manifest.shard).map_or(0, |shard| shard.of.count);
    let missing: Vec<u32> = (1..=count).filter(|number| !by_number.contains_key(number)).collect();
    if !missing.is_empty() {
        let named: Vec<String> =
            missing.iter().take(NAMED_LIMIT).map(|number| format!("{number}/{count}")).collect();
        let more = if missing.len() > NAMED_LIMIT { ", …" } else { "" };
        reasons.push(format!("of {count} shards these are missing: {}{more}", named.join(", ")));
    }
    if !reasons.is_empty() {
        let cases = by_number.values().next().map_or(Ok(0), |part| part.cases().map(|cases| cases.len()))?;
        reasons.truncate(NAMED_LIMIT);
        let (overlap, detail) = (overlap.into_iter().collect(), reasons.join("; "));
        return Err(StoreError::ShardsDiffer { detail, cases, missing, overlap });
    }
    Ok(by_number.into_values().collect())
}

/// Refuses two runs that were not asked to do the same.
fn check_same(one: &Path, this: &Manifest, other: &Path, that: &Manifest) -> Result<(), StoreError> {
    let targets = |manifest: &Manifest| -> Vec<String> {
        manifest.targets.iter().map(|target| target.spec.clone()).collect()
    };
    let array = |manifest: &Manifest| manifest.array.as_ref().map(|array| array.text.clone());
    let count = |manifest: &Manifest| manifest.shard.as_ref().map(|shard| shard.of.count);
    let differences = [
        ("the plan", this.plan.text != that.plan.text || this.plan.name != that.plan.name),
        ("the array", array(this) != array(that)),
        ("the version of arraylab", this.arraylab_version != that.arraylab_version),
        ("the seed", this.seed != that.seed),
        ("the number of shards", count(this) != count(that)),
        ("the targets", targets(this) != targets(that)),
        ("the engine", this.engine != that.engine),
        ("the selection of cases", this.selection != that.selection),
        ("array settings", this.overrides != that.overrides),
        ("the array driver", this.array_driver != that.array_driver),
        ("the time budget", this.time_budget_ns != that.time_budget_ns),
    ];
    match differences.iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((what, _)) => {
            Err(refused(format!("{what} of {} and {} differ", one.display(), other.display())))
        }
    }
}

/// Refuses a run that goes on or has cases left.
fn check_is_over(part: &RunReader, cases: &[CaseRecord]) -> Result<(), StoreError> {
    if let (true, pid) = lock::is_held(part.directory())? {
        return Err(StoreError::InUse { directory: part.directory().into(), pid });
    }
    let is_left = |case: &&CaseRecord| {
        part.manifest().has_case(case.index) && matches!(case.state, CaseState::Pending | CaseState::Begun)
    };
    let left = cases.iter().filter(is_left).count();
    // Of a run that is done, cases without an outcome are of rounds that were not needed.
    let (state, _) = part.last_end()?;
    if state == RunState::Done || (state == RunState::Failed && left == 0) {
        return Ok(());
    }
    let directory = part.directory().display();
    let cases = if left == 1 { "case" } else { "cases" };
    Err(refused(format!(
        "{directory} has {left} {cases} left; go on with it first: arraylab run --resume {directory}"
    )))
}

/// The cases of the whole run, each from the shard that it belongs to. All runs must have the same, and each must belong to one shard.
fn check_cases(parts: &[RunReader]) -> Result<Vec<CaseRecord>, StoreError> {
    let mut whole: Vec<CaseRecord> = Vec::new();
    let mut shards_of: Vec<u32> = Vec::new();
    for part in parts {
        let cases = part.cases()?;
        check_is_over(part, &cases)?;
        if whole.is_empty() {
            shards_of = vec![0; cases.len()];
            whole.clone_from(&cases);
        }
        let is_same = cases.len() == whole.len()
            && cases
                .iter()
                .zip(&whole)
                .all(|(one, other)| one.stage == other.stage && one.name == other.name);
        if !is_same {
            return Err(part.corrupt("its cases are not those of the other shards".into()));
        }
        for case in cases {
            if part.manifest().has_case(case.index) {
                let index = case.index as usize;
                shards_of[index] += 1;
                whole[index] = case;
            }
        }
    }
    let wrong: Vec<String> = whole
        .iter()
        .zip(&shards_of)
        .filter(|(_, shards)| **shards != 1)
        .take(NAMED_LIMIT)
        .map(|(case, shards)| format!("{} {} ({shards} shards)", case.stage, case.name))
        .collect();
    if wrong.is_empty() { Ok(whole) } else { Err(refused(format!("not in one shard: {}", wrong.join(", ")))) }
}

/// Writes the whole run into a directory that nobody else knows.
fn write(
    parts: &[RunReader],
    cases: &[CaseRecord],
    directory: &Path,
    command_line: &[String],
) -> Result<(), StoreError> {
    let mut manifest = parts[0].manifest().clone();
    manifest.shard = None;
    manifest.run_id = String::new();
    manifest.created_utc = String::new();
    manifest.command_line = command_line.to_vec();
    manifest.merged_from = parts.iter().map(|part| part.manifest().run_id.clone()).collect();
    let new_cases: Vec<NewCase> = cases.iter().map(new_case).collect();
    let mut run = Run::create(directory, &manifest, &new_cases)?;
    for part in parts {
        run.copy_rows_of(part.directory())?;
        copy_tree(&part.directory().join(CASES_DIRECTORY), &directory.join(CASES_DIRECTORY))?;
    }
    copy_tree(&parts[0].directory().join(PICTURES_DIRECTORY), &directory.join(PICTURES_DIRECTORY))?;
    run.make_session_last()?;
    let failed = run.status()?.failed;
    let end = match failed {
        0 => RunEnd::Done,
        _ => RunEnd::Failed(format!("{failed} of {} cases failed", cases.len())),
    };
    run.end(&end)
}

fn new_case(case: &CaseRecord) -> NewCase {
    NewCase {
        plan: case.plan.clone(),
        stage: case.stage.clone(),
        name: case.name.clone(),
        settings: serde_json::Map::clone(&case.settings),
        estimated_duration_ns: case.estimated_duration_ns,
        estimated_write_bytes: case.estimated_write_bytes,
    }
}

/// Copies a directory with what is in it; nothing where there is none.
fn copy_tree(from: &Path, to: &Path) -> Result<(), StoreError> {
    if !from.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(to).map_err(|source| StoreError::io("create", to, source))?;
    for entry in fs::read_dir(from).map_err(|source| StoreError::io("list", from, source))? {
        let entry = entry.map_err(|source| StoreError::io("list", from, source))?;
        let (source, destination) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_tree(&source, &destination)?;
        } else {
            fs::copy(&source, &destination).map_err(|error| StoreError::io("copy", &source, error))?;
        }
    }
    Ok(())
}

impl Run {
    /// Copies all rows of another run but its cases. Numbers of rows go on behind those that are there.
    fn copy_rows_of(&mut self, directory: &Path) -> Result<(), StoreError> {
        let path = directory.join(DATABASE_FILE);
        let copied = copy_rows(self.reader.connection_mut(), &path);
        copied.map_err(|error| StoreError::database(&path, error))
    }
}

fn copy_rows(connection: &mut Connection, part: &Path) -> rusqlite::Result<()> {
    connection.execute("ATTACH DATABASE ?1 AS part", params![part.to_string_lossy()])?;
    let transaction = connection.transaction()?;
    copy_tables(&transaction)?;
    transaction.commit()?;
    connection.execute_batch("DETACH DATABASE part")
}

/// Tables whose rows have names, or are those of the plan: they are there once.
const NAMED_TABLES: [&str; 3] = ["cases", "loads", "counter_series"];

fn copy_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    // Tables refer to each other: they are checked when all are there.
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    transaction.execute_batch(
        "INSERT INTO main.loads (name) SELECT name FROM part.loads WHERE true ORDER BY id ON CONFLICT DO NOTHING;
         INSERT INTO main.counter_series (source, entity, name)
             SELECT source, entity, name FROM part.counter_series WHERE true ORDER BY id ON CONFLICT DO NOTHING;",
    )?;
    let numbers = RowNumbers::read(transaction)?;
    let mut tables = transaction
        .prepare("SELECT name FROM part.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for table in tables.iter().filter(|table| !NAMED_TABLES.contains(&table.as_str())) {
        let mut columns = transaction.prepare("SELECT name FROM pragma_table_info(?1, 'main')")?;
        let columns: Vec<String> =
            columns.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let values: Vec<String> = columns.iter().map(|column| numbers.value(table, column)).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        transaction.execute_batch(&format!(
            "INSERT INTO main.{table} ({columns}) SELECT {values} FROM part.{table}"
        ))?;
    }
    Ok(())
}

/// The largest numbers of rows that are there, by table: those of a part go on behind them.
struct RowNumbers {
    largest: BTreeMap<String, i64>,
}

impl RowNumbers {
    fn read(transaction: &Transaction<'_>) -> rusqlite::Result<RowNumbers> {
        let mut tables = transaction.prepare(
            "SELECT name FROM main.sqlite_schema AS tables WHERE type = 'table'
             AND EXISTS (SELECT 1 FROM pragma_table_info(tables.name, 'main') AS columns WHERE columns.name = 'id')",
        )?;
        let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut largest = BTreeMap::new();
        for table in tables {
            let sql = format!("SELECT ifnull(max(id), 0) FROM main.{table}");
            largest.insert(table, transaction.query_row(&sql, [], |row| row.get(0))?);
        }
        Ok(RowNumbers { largest })
    }

    /// Returns the SQL expression that renumbers a column of a part for the whole run.
    fn value(&self, table: &str, column: &str) -> String {
        let numbered = |of: &str| format!("{column} + {}", self.largest.get(of).copied().unwrap_or(0));
        match column {
            "id" => numbered(table),
            "session_id" => numbered("sessions"),
            "attempt_id" => numbered("attempts"),
            "interval_id" => numbered("intervals"),
            "latency_id" | "service_id" => numbered("histograms"),
            "time_id" => numbered("counter_times"),
            "load_id" => "(SELECT own.id FROM main.loads AS own JOIN part.loads AS other USING (name) WHERE other.id = load_id)".into(),
            "series_id" => "(SELECT own.id FROM main.counter_series AS own
                             JOIN part.counter_series AS other USING (source, entity, name) WHERE other.id = series_id)"
                .into(),
            // `case_id` is the same in all shards; the others are no numbers of rows.
            _ => column.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every column of the schema which refers to a row is known here: a new one must be numbered anew as well.
    #[test]
    fn every_reference_is_numbered_anew() {
        let schema = [
            include_str!("schema.sql"),
            include_str!("confidences.sql"),
            include_str!("hosts.sql"),
            include_str!("sustained.sql"),
        ]
        .join("\n");
        let numbers = RowNumbers { largest: BTreeMap::new() };
        let mut references = 0;
        for line in schema.lines().map(str::trim).filter(|line| line.contains("REFERENCES")) {
            let column = line.split(' ').next().unwrap_or_default();
            references += 1;
            assert!(column == "case_id" || numbers.value("t", column) != column, "{line}");
        }
        assert!(references > 15, "{references} references");
    }
}
