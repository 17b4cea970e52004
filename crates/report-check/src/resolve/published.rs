//! Figures of published tables, by case.

use super::{Resolver, amount};
use crate::run::Case;
use serde_json::Value;
use std::collections::BTreeMap;

impl Resolver<'_> {
    /// A published table may have several rows for a case; those that are tried in turn.
    pub fn try_row(&self, row: usize) {
        self.row.set(row);
    }

    /// Figures of a published table: `STAGE/CASE/QUANTITY@FILE`, with `#extreme` where it is that of several cases.
    pub(super) fn published(&self, path: &str) -> Option<Vec<f64>> {
        let (path, file) = path.rsplit_once('@')?;
        let (file, is_extreme) = match file.strip_suffix("#extreme") {
            Some(file) => (file, true),
            None => (file, false),
        };
        let (case, quantity) = self.case_of(path)?;
        let tables = self.run.plan["published"].as_array()?;
        let mut found: Vec<f64> = Vec::new();
        for table in tables.iter().filter(|table| table["file"].as_str() == Some(file)) {
            for row in self.run.published.get(file)? {
                if !is_extreme && !fits(&table["settings"], row, case) {
                    continue;
                }
                for (column, spec) in table["quantities"].as_object()? {
                    let specs = spec.as_array().cloned().unwrap_or_else(|| vec![spec.clone()]);
                    for spec in specs.iter().filter(|spec| spec["quantity"].as_str() == Some(quantity)) {
                        let cell = row.get(column).and_then(|cell| cell.trim().parse::<f64>().ok());
                        found.extend(cell.map(|cell| cell * spec["times"].as_f64().unwrap_or(1.0)));
                    }
                }
            }
        }
        found.dedup();
        (!found.is_empty()).then_some(found)
    }
}

/// Returns true if a row of a published table may belong to a case: every cell that is a plain number or size is the case's
/// setting.
fn fits(settings: &Value, row: &BTreeMap<String, String>, case: &Case) -> bool {
    let Some(columns) = settings.as_object() else { return true };
    columns.iter().all(|(column, spec)| {
        let name = spec.as_str().or_else(|| spec["setting"].as_str());
        let (Some(name), Some(cell)) = (name, row.get(column)) else { return true };
        let own = case.settings.get(name);
        let cell = cell.trim();
        if cell.is_empty() || cell == "any" {
            return true;
        }
        if let Some(word) = spec["words"].get(cell) {
            return own == Some(word) || own.and_then(Value::as_f64) == amount(word);
        }
        if let Some(own) = own.and_then(Value::as_str) {
            return cell.split('/').any(|part| part == own);
        }
        match (cell.parse::<f64>(), own) {
            (Ok(number), Some(own)) => own.as_f64() == Some(number),
            (Ok(_), None) => false,
            _ => match (amount(&Value::String(cell.to_owned())), own.and_then(Value::as_f64)) {
                (Some(size), Some(own)) => size == own,
                // Words, alternatives and ranges are left to the plan's own check.
                _ => true,
            },
        }
    })
}
