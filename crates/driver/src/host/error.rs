//! Errors of host settings.

use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// A host setting that was not made.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The setting's name is invalid.
    #[error("host setting `{name}`: {problem}")]
    Name {
        /// Name as it was written.
        name: String,
        /// Error in the name.
        problem: String,
    },
    /// The host has no such setting.
    #[error("this host has no `{name}` ({path})")]
    Missing {
        /// Its name.
        name: String,
        /// Path at which it was expected.
        path: PathBuf,
        /// Suggestion of what to check.
        hint: &'static str,
    },
    /// A step on its file failed.
    #[error("cannot {action} `{path}`")]
    Io {
        /// The step.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel took the value and shows another.
    #[error("{name} was set to {wanted} and is {found}")]
    NotTaken {
        /// The setting.
        name: String,
        /// Value that was written.
        wanted: String,
        /// Value that was read back.
        found: String,
    },
    /// A device has no such scheduler.
    #[error("{name}: there is no scheduler `{wanted}` for this device")]
    NoSuchScheduler {
        /// The setting.
        name: String,
        /// Scheduler that was requested.
        wanted: String,
        /// Schedulers that the kernel offers.
        choices: Vec<String>,
    },
    /// Another run that is under way has changed the same setting.
    #[error("{name} is set by another run (process {pid})")]
    InUse {
        /// The setting.
        name: String,
        /// The other run's process.
        pid: u32,
    },
    /// Others could write what a run puts back as root.
    #[error("the state directory `{path}` {problem}")]
    Unsafe {
        /// The directory or a file in it.
        path: PathBuf,
        /// Property that makes it unsafe.
        problem: &'static str,
    },
}

impl Diagnostic for HostError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            HostError::Name { .. } => {
                "queue.scheduler, queue.nr_requests, sysctl.vm.swappiness, module.qla2xxx.ql2xmaxqdepth"
                    .into()
            }
            HostError::Missing { hint, .. } => (*hint).into(),
            HostError::Io { .. } => "changing the host needs root, and a value that the kernel knows".into(),
            HostError::NotTaken { found, .. } => {
                format!("the kernel rounds or limits it; ask for {found}").into()
            }
            HostError::NoSuchScheduler { choices, .. } => hint_of(choices).into(),
            HostError::InUse { .. } => {
                "wait for its end; two runs would put it back in the wrong order".into()
            }
            HostError::Unsafe { .. } => "it must belong to this user and be writable by nobody else".into(),
        })
    }
}

impl HostError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        HostError::Io { action, path: path.into(), source }
    }
}

fn hint_of(choices: &[String]) -> String {
    match choices {
        [] => "it has no scheduler of its own; set it for the devices below".to_owned(),
        choices => format!("it has `{}`; others may be in modules that are not loaded", choices.join("`, `")),
    }
}
