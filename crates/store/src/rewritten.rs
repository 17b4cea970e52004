//! Copy of a run with its texts rewritten, for a report that shall not name devices or people.

use crate::directory::{DATABASE_FILE, MANIFEST_FILE, write_atomically};
use crate::{Manifest, RunReader, StoreError, schema};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use std::path::Path;

/// Columns of texts that come from outside: from plans, devices, commands and people. `true` where the text is JSON.
const TEXTS: [(&str, &str, bool); 19] = [
    ("cases", "stage", false),
    ("cases", "name", false),
    ("cases", "settings", true),
    ("sessions", "boot_id", false),
    ("session_ends", "message", false),
    ("outcomes", "target", false),
    ("outcomes", "error", false),
    ("loads", "name", false),
    ("case_loads", "target", false),
    ("counter_series", "entity", false),
    ("events", "text", false),
    ("events", "data", true),
    ("warnings", "text", false),
    ("settings_changed", "name", false),
    ("settings_changed", "before_value", false),
    ("settings_changed", "after_value", false),
    ("case_hosts", "host", false),
    ("host_totals", "host", false),
    ("host_samples", "host", false),
];

impl RunReader {
    /// Copies the run into a new directory with another manifest and with every text of the database rewritten; within JSON
    /// every string and every name of a field. Equal texts are rewritten once. Pictures and the engine's files stay behind.
    pub fn copy_rewritten(
        &self,
        directory: &Path,
        manifest: &Manifest,
        rewrite: &mut dyn FnMut(&str) -> String,
    ) -> Result<RunReader, StoreError> {
        std::fs::create_dir_all(directory).map_err(|source| StoreError::io("create", directory, source))?;
        let path = directory.join(DATABASE_FILE);
        self.copy_database(&path)?;
        let failed = |error| StoreError::database(&path, error);
        let mut connection = Connection::open(&path).map_err(failed)?;
        let transaction = connection.transaction().map_err(failed)?;
        for (table, column, is_json) in TEXTS {
            rewrite_column(&transaction, table, column, is_json, rewrite).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        drop(connection);
        let text = serde_json::to_vec_pretty(manifest)
            .map_err(|source| StoreError::io("write", directory, source.into()))?;
        write_atomically(&directory.join(MANIFEST_FILE), &text)?;
        let connection = schema::open_read_only(&path)?;
        Ok(RunReader::new(directory, manifest.clone(), connection))
    }
}

fn rewrite_column(
    connection: &Connection,
    table: &str,
    column: &str,
    is_json: bool,
    rewrite: &mut dyn FnMut(&str) -> String,
) -> rusqlite::Result<()> {
    let is_there: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", [table], |row| {
            row.get(0)
        })
        .optional()?;
    if is_there.is_none() {
        return Ok(());
    }
    let mut query = connection
        .prepare(&format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1"))?;
    let texts: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut update = connection.prepare(&format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"))?;
    for text in texts {
        let parsed = if is_json { serde_json::from_str::<Value>(&text).ok() } else { None };
        let rewritten = match parsed {
            Some(mut value) => {
                rewrite_strings(&mut value, rewrite);
                value.to_string()
            }
            None => rewrite(&text),
        };
        if rewritten == text {
            continue;
        }
        if let Err(error) = update.execute(params![text, rewritten]) {
            // Two names of one device may have become the same where they have to differ.
            if error.sqlite_error_code() != Some(rusqlite::ErrorCode::ConstraintViolation) {
                return Err(error);
            }
            let mut number = 2;
            while update.execute(params![text, format!("{rewritten} ({number})")]).is_err() && number < 1000 {
                number += 1;
            }
        }
    }
    Ok(())
}

/// Rewrites every string within a value, and every name of a field.
fn rewrite_strings(value: &mut Value, rewrite: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = rewrite(text),
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite_strings(value, rewrite)),
        Value::Object(fields) => {
            for (name, mut field) in std::mem::take(fields) {
                rewrite_strings(&mut field, rewrite);
                fields.insert(rewrite(&name), field);
            }
        }
        _ => {}
    }
}
