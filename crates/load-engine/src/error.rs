//! Errors that prevent a load from running; a device's I/O errors are counted instead.
//!
//! What a device answers during the run is counted, not returned.

use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::io;

/// A load that could not be started, or an engine that broke.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The load itself is wrong.
    #[error(transparent)]
    Spec(#[from] load::SpecError),
    /// The load and the target or the options do not fit.
    #[error("{what}")]
    Refused {
        /// Description of what does not fit.
        what: String,
        /// Remedy.
        hint: &'static str,
    },
    /// The target could not be opened or asked.
    #[error("cannot {action} `{target}`")]
    Target {
        /// The step, as a verb.
        action: &'static str,
        /// The target's name.
        target: String,
        /// The system's answer.
        source: io::Error,
        /// Remedy.
        hint: &'static str,
    },
    /// The kernel refused a step of the engine.
    #[error("the io_uring engine cannot {action}")]
    Engine {
        /// The step, as a verb.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
        /// Remedy.
        hint: &'static str,
    },
}

impl Diagnostic for RingError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            RingError::Spec(_) => None,
            RingError::Refused { hint, .. }
            | RingError::Target { hint, .. }
            | RingError::Engine { hint, .. } => Some(Cow::Borrowed(hint)),
        }
    }
}

impl RingError {
    pub(crate) fn engine(action: &'static str, source: io::Error) -> RingError {
        let hint = match source.raw_os_error() {
            Some(libc::ENOMEM) => {
                "raise the limit of locked memory (ulimit -l), or use less depth or smaller blocks"
            }
            Some(libc::EPERM | libc::ENOSYS) => {
                "io_uring is forbidden or absent here; leave the interface to `auto`"
            }
            Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)",
            _ => "leave the interface to `auto`, or use fewer options",
        };
        RingError::Engine { action, source, hint }
    }

    pub(crate) fn refused(what: impl Into<String>, hint: &'static str) -> RingError {
        RingError::Refused { what: what.into(), hint }
    }
}
