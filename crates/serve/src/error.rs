//! Errors of serving an array.

use diagnostic::{Diagnostic, Problem};
use driver::DriverError;
use std::borrow::Cow;
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
    #[error("{path}")]
    Drive {
        /// The file or device.
        path: PathBuf,
        /// Cause.
        source: Problem,
    },
    /// The bytes.
    #[error("cannot serve from {}", data.display())]
    Volume {
        /// The data directory.
        data: PathBuf,
        /// Cause.
        source: VolumeError,
    },
    /// A socket, a thread or the command to run.
    #[error("cannot {operation}")]
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
    #[error(transparent)]
    Unreachable(DriverError),
}

impl Diagnostic for ServeError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            ServeError::Array { hint, .. } | ServeError::Options { hint, .. } => Some((*hint).into()),
            ServeError::Drive { source, .. } => source
                .hint()
                .or_else(|| Some("name another file or device, or give its ID with --overwrite-data".into())),
            ServeError::Volume { source: VolumeError::InUse { .. }, .. } => {
                Some("stop the other server, or give another --data directory".into())
            }
            ServeError::Volume { source: VolumeError::Foreign { .. }, .. } => {
                Some("give another --data directory, or serve the array that this one was made for".into())
            }
            ServeError::Volume { .. } => {
                Some("the data is as it was; mend what the message says and start again".into())
            }
            ServeError::Description(error) => error.hint(),
            ServeError::Metrics(error) => error.hint(),
            ServeError::Token(error) => error.hint(),
            ServeError::Unreachable(error) => error.hint(),
            // The message says it itself, or there is nothing to do.
            ServeError::Io { .. } | ServeError::Refused(_) => None,
        }
    }
}

impl ServeError {
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
    use diagnostic::text_with_causes;

    /// Proves that whoever cannot serve because a disk is full is told so, and not only that a drive could not be written.
    #[test]
    fn the_cause_is_said() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let source = VolumeError::Io { operation: "write to a drive", source: full };
        let message = text_with_causes(&ServeError::Volume { data: "/d".into(), source });
        assert_eq!(message, "cannot serve from /d: cannot write to a drive: no storage space");
    }
}
