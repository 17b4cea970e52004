//! Plan text stored with a run.

use plan::{KeptSettings, Plan, PlanError};
use serde_json::Map;
use store::{CaseRecord, Manifest};

/// Reads the plan of a run again. Its cases say what its traces were, so that no trace is read: it may have millions of
/// I/Os, and have been moved away.
pub fn kept_plan(manifest: &Manifest, cases: &[CaseRecord]) -> Result<Plan, PlanError> {
    let mut kept = KeptSettings::new();
    for case in cases {
        kept.entry(case.stage.clone()).or_insert_with(|| Map::clone(&case.settings));
    }
    let text = &manifest.plan;
    plan::parse_kept_plan(&text.name, &text.source, &text.text, &kept)
}
