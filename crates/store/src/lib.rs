//! The run directory: what a run was, what happened in it, and how far it is.
//!
//! A run is a directory with `manifest.json`, `run.sqlite`, a `lock` file and `cases/` for the files of engines.
//! One process writes ([`Run`]), any number read ([`RunReader`]), also while it is written. Rows are only ever
//! inserted, so that whatever a killed process left behind is either whole or absent. The schema is documented
//! for other programs in `docs/run-directory.md`.

#![doc = include_str!("../README.md")]

mod case;
mod clock;
mod counters;
mod csv;
mod directory;
mod disk_space;
mod encoding;
mod error;
mod events;
mod finish;
mod hosts;
mod lock;
mod manifest;
mod merge;
mod reader;
mod result;
mod result_of_outcome;
mod rewritten;
mod rows;
mod run;
mod samples;
mod schema;
mod settings;
mod shard;
mod status;
mod sustained;

pub use case::{CaseOutcome, CaseRecord, CaseState, CaseStatus, DirectionTotals, LoadOutcome, NewCase};
pub use clock::RunClock;
pub use counters::{Counter, CounterPoint, CounterSeries};
pub use csv::{result_columns, results_csv};
pub use directory::PICTURES_DIRECTORY;
pub use encoding::{DecodeError, decode_histogram, encode_histogram};
pub use error::StoreError;
pub use events::{Event, SettingChange, Warning, mark};
pub use hosts::{HostPoint, HostTotals};
pub use manifest::{
    LeftOutCase, MANIFEST_VERSION, Manifest, ManifestHost, ManifestTarget, Selection, SourceText,
    current_year, new_run_id,
};
pub use merge::merge;
pub use reader::{AttemptStart, RunReader};
pub use result::{
    CaseResult, DirectionResult, ExtrapolationResult, HostResult, LatencyConfidence, LatencyResult,
    LoadResult, Sustained, results_schema,
};
pub use rows::{CounterRow, SampleRow};
pub use run::{CASES_LIMIT, Run, RunEnd};
pub use samples::{DirectionPoint, IntervalPoint, LatencySummary, PRECONDITIONING_LOAD};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use settings::Settings;
pub use shard::{SHARDS_LIMIT, Shard, ShardNumber};
pub use status::{CurrentCase, RunState, RunStatus};
