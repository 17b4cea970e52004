//! Errors of run directories.

use crate::disk_space::{has_room_beside, is_out_of_room};
use std::io;
use std::path::{Path, PathBuf};

/// Errors of run directories.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk under the run is full. The run is intact up to its last commit and can be resumed.
    #[error("the disk that holds the run {} is full; make room, then resume the run", .path.display())]
    DiskFull {
        /// The file or directory that could not be written.
        path: PathBuf,
        /// Error of the system or of SQLite.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process writes the run.
    #[error("the run {} is in use by {}; wait until it ends, or interrupt it", .directory.display(), writer(.pid))]
    InUse {
        /// The run directory.
        directory: PathBuf,
        /// The process that holds it, where it could be read.
        pid: Option<u32>,
    },
    /// The directory is no run, or one whose creation was cut short before anything was measured.
    #[error("{} is not a run: it has no manifest.json; name a directory that `arraylab run` wrote", .directory.display())]
    NotARun {
        /// The directory.
        directory: PathBuf,
    },
    /// A new run needs a directory of its own.
    #[error("{} exists and is not empty; choose another directory with --out, or continue that run with --resume", .directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// The run was written by a version with another format.
    #[error("{} has format version {found}, this arraylab reads version {supported}; use the arraylab that wrote it", .path.display())]
    WrongVersion {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Version that this program reads.
        supported: i64,
    },
    /// Runs that are not all the shards of one run.
    #[error("cannot merge: {detail}")]
    CannotMerge {
        /// Reason, and the run directories that it concerns.
        detail: String,
    },
    /// Shards that are missing, or given more than once.
    #[error("cannot merge: {detail}")]
    ShardsDiffer {
        /// Difference, in words.
        detail: String,
        /// Cases of the whole run.
        cases: usize,
        /// Numbers of the shards that are missing, from 1.
        missing: Vec<u32>,
        /// Numbers of the shards that were given more than once.
        overlap: Vec<u32>,
    },
    /// A file of the run is not what it should be.
    #[error("{} is damaged: {detail}; restore the run from a copy", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Damage that was found.
        detail: String,
    },
    /// The system refused a file operation.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("cannot use {}: {source}", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// A case that the run does not have.
    #[error("the run has no case {case_index}: it has {cases_total} cases, counted from 0")]
    NoSuchCase {
        /// Number of the case that was requested.
        case_index: u32,
        /// Number of cases in the run.
        cases_total: u32,
    },
    /// Something was appended to a case that is not under way.
    #[error("case {case_index} is not under way; it has to be begun first")]
    NotBegun {
        /// The case.
        case_index: u32,
    },
    /// A case that is done is never run again.
    #[error("case {case_index} is already done; a case is measured once")]
    AlreadyDone {
        /// The case.
        case_index: u32,
    },
    /// A value that the run directory cannot hold.
    #[error("{what} cannot be stored: {detail}")]
    Invalid {
        /// Thing that is invalid.
        what: &'static str,
        /// Reason why it is invalid.
        detail: String,
    },
    /// A mark was set on a run that no process carries out.
    #[error("the run {} is not running; a mark notes what happens now, so it needs a running campaign", .directory.display())]
    NotRunning {
        /// The run directory.
        directory: PathBuf,
    },
}

fn writer(pid: &Option<u32>) -> String {
    pid.map_or_else(|| "another process".into(), |pid| format!("process {pid}"))
}

impl StoreError {
    /// Returns true if a disk or database failed, and false if a request was refused.
    pub fn is_failure(&self) -> bool {
        matches!(self, StoreError::DiskFull { .. } | StoreError::Io { .. } | StoreError::Database { .. })
    }

    /// Classifies what the system said about a file.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> StoreError {
        if is_out_of_room(&source) {
            return StoreError::DiskFull { path: path.into(), source: Box::new(source) };
        }
        StoreError::Io { action, path: path.into(), source }
    }

    /// Classifies what SQLite said about a database.
    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> StoreError {
        if let rusqlite::Error::ToSqlConversionFailure(error) = &source {
            return StoreError::Invalid { what: "a value", detail: error.to_string() };
        }
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => {
                StoreError::DiskFull { path: path.into(), source: Box::new(source) }
            }
            // SQLite has a code of its own only for a full disk under the database and its log; under the shared
            // memory, in a late fsync or over a quota it reports a failed operation. A small write tells.
            Some(rusqlite::ErrorCode::SystemIoFailure | rusqlite::ErrorCode::CannotOpen)
                if !has_room_beside(path) =>
            {
                StoreError::DiskFull { path: path.into(), source: Box::new(source) }
            }
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                StoreError::Corrupt { path: path.into(), detail: source.to_string() }
            }
            _ => StoreError::Database { path: path.into(), source },
        }
    }
}
