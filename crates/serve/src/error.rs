//! Errors of serving an array.

use std::io;
use std::path::PathBuf;
use volume::VolumeError;

/// Errors of serving an array.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The description or a setting.
    #[error("{problem}")]
    Array {
        /// Description of what is wrong.
        problem: String,
        /// Remedy for the user.
        hint: &'static str,
    },
    /// The plan language refused the array's file.
    #[error(transparent)]
    Description(#[from] plan::PlanError),
    /// The options contradict each other or ask for what is refused.
    #[error("{problem}")]
    Options {
        /// Description of what is wrong.
        problem: String,
        /// Remedy for the user.
        hint: &'static str,
    },
    /// A drive named with `--drive` may not be written.
    #[error("{path}: {problem}")]
    Drive {
        /// The file or device.
        path: PathBuf,
        /// Reason why not.
        problem: String,
    },
    /// The bytes.
    #[error("cannot serve from {}: {}", data.display(), in_words(source))]
    Volume {
        /// The data directory.
        data: PathBuf,
        /// Cause.
        source: VolumeError,
    },
    /// A socket, a thread or the command to run.
    #[error("cannot {operation}: {source}")]
    Io {
        /// Operation that was tried.
        operation: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The server of metrics and the page.
    #[error(transparent)]
    Metrics(#[from] metrics::MetricsError),
    /// The token that permits changes there.
    #[error(transparent)]
    Token(#[from] metrics::TokenError),
    /// The served array said no, and did nothing.
    #[error("{0}")]
    Refused(String),
    /// The served array cannot be asked.
    #[error("{0}")]
    Unreachable(String),
}

/// An error of the bytes with the operating system's own words, where it has any.
pub(crate) fn in_words(error: &VolumeError) -> String {
    match error {
        VolumeError::Io { source, .. } => format!("{error}: {source}"),
        error => error.to_string(),
    }
}

impl ServeError {
    /// Returns what the user can do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ServeError::Array { hint, .. } | ServeError::Options { hint, .. } => Some(hint),
            ServeError::Drive { .. } => {
                Some("name another file or device, or give its ID with --overwrite-data")
            }
            ServeError::Volume { source: VolumeError::InUse { .. }, .. } => {
                Some("stop the other server, or give another --data directory")
            }
            ServeError::Volume { source: VolumeError::Foreign { .. }, .. } => {
                Some("give another --data directory, or serve the array that this one was made for")
            }
            ServeError::Volume { .. } => {
                Some("the data is as it was; mend what the message says and start again")
            }
            // The others say it themselves, or there is nothing to do.
            ServeError::Description(_)
            | ServeError::Io { .. }
            | ServeError::Metrics(_)
            | ServeError::Token(_)
            | ServeError::Refused(_)
            | ServeError::Unreachable(_) => None,
        }
    }

    /// The exit status of the command line: 2 refused before anything was written, 3 afterwards.
    pub fn exit_status(&self) -> u8 {
        match self {
            ServeError::Io { .. } | ServeError::Metrics(_) | ServeError::Unreachable(_) => 3,
            ServeError::Volume { source: VolumeError::Io { .. } | VolumeError::Damaged { .. }, .. } => 3,
            _ => 2,
        }
    }

    pub(crate) fn io(operation: impl Into<String>) -> impl FnOnce(io::Error) -> ServeError {
        let operation = operation.into();
        move |source| ServeError::Io { operation, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that whoever cannot serve because a disk is full is told so, and not only that a drive could not be written.
    #[test]
    fn the_cause_is_said() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let source = VolumeError::Io { operation: "write to a drive", source: full };
        let message = ServeError::Volume { data: "/d".into(), source }.to_string();
        assert_eq!(message, "cannot serve from /d: cannot write to a drive: no storage space");
    }
}
