//! Errors that exclude a target from any use.

use crate::nbd_export::NbdHandshakeError;
use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// A target that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The text is no target.
    #[error("target `{text}`: {problem}")]
    Spec {
        /// Text that was typed, shortened.
        text: String,
        /// Error in the text.
        problem: String,
        /// Text that would have been accepted.
        hint: &'static str,
    },
    /// Nothing has this name.
    #[error("target `{path}` does not exist")]
    Missing {
        /// The path that was typed.
        path: PathBuf,
    },
    /// The path exists and is nothing that a test can run on.
    #[error("target `{path}` is {what}")]
    Unsuitable {
        /// The path that was typed.
        path: PathBuf,
        /// Description of what was found there.
        what: String,
        /// Suggested alternative.
        hint: String,
    },
    /// The file system cannot hold the file.
    #[error("no room for {size_bytes} bytes at `{path}`")]
    NoSpace {
        /// The file that was to be created.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused a step.
    #[error("cannot {action} `{path}`")]
    Io {
        /// The step, as a verb.
        action: &'static str,
        /// Path of the file or device.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel's description of a block device could not be read.
    #[error("cannot read `{path}`, which describes block device {device}")]
    Sysfs {
        /// The file under the sysfs or proc root.
        path: PathBuf,
        /// The device, by number.
        device: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The size of the NBD export could not be read from the server.
    #[error("NBD target `{uri}`")]
    Nbd {
        /// The address as typed.
        uri: String,
        /// Error of the handshake.
        source: NbdHandshakeError,
    },
}

impl Diagnostic for TargetError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            TargetError::Spec { hint, .. } => (*hint).into(),
            TargetError::Missing { path } => {
                format!("check the name, or write file:{},size=1g to create a file", path.display()).into()
            }
            TargetError::Unsuitable { hint, .. } => hint.into(),
            TargetError::NoSpace { .. } => "choose a smaller size= or another file system".into(),
            TargetError::Io { source, .. } => hint_for(source).into(),
            TargetError::Sysfs { .. } => "sysfs and proc must be mounted".into(),
            TargetError::Nbd { source, .. } => return source.hint(),
        })
    }
}

impl TargetError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        TargetError::Io { action, path: path.to_owned(), source }
    }
}

fn hint_for(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "run as a user who may open it",
        io::ErrorKind::NotFound => "it may have been removed meanwhile; check that it is still there",
        io::ErrorKind::ReadOnlyFilesystem => "its file system is mounted read-only",
        _ => "dmesg may say more",
    }
}
