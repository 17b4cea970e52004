//! Errors of array drivers.

use diagnostic::{Diagnostic, Problem};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A driver that failed.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// `--array` was given something that names no driver.
    #[error("array driver `{text}`: {problem}")]
    Spec {
        /// Text that was typed, shortened.
        text: String,
        /// Error in the text.
        problem: String,
        /// Text that would have been accepted.
        hint: &'static str,
    },
    /// A program could not be started.
    #[error("cannot run `{program}`")]
    Start {
        /// Its name.
        program: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A program was stopped because it took too long.
    #[error("`{command}` gave no answer in {}{}", units::human_duration(limit.as_nanos() as u64), reported(stderr))]
    TimedOut {
        /// The command line.
        command: String,
        /// Time limit of the command.
        limit: Duration,
        /// The end of its standard error.
        stderr: String,
        /// Suggested remedy.
        hint: &'static str,
    },
    /// A program was stopped because it wrote too much.
    #[error("`{command}` wrote more than {limit_bytes} bytes to standard output")]
    TooMuchOutput {
        /// The command line.
        command: String,
        /// Limit of its output, in bytes.
        limit_bytes: usize,
    },
    /// A program failed.
    #[error("`{command}` failed ({status}){}", reported(stderr))]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status, in words.
        status: String,
        /// Its message on the failure.
        stderr: String,
    },
    /// An answer that cannot be understood.
    #[error("cannot understand the answer of `{from}`: {problem}")]
    Answer {
        /// The command line or the socket.
        from: String,
        /// Error in the answer, with an excerpt.
        problem: String,
        /// Expected form of the answer.
        hint: &'static str,
    },
    /// A step of a shipped driver failed.
    #[error("{driver}: {step} failed; {state}")]
    Step {
        /// The driver's name.
        driver: &'static str,
        /// The step, in words.
        step: String,
        /// State of the array after the failure.
        state: String,
        /// Cause.
        source: Box<DriverError>,
    },
    /// Something would be lost that arraylab did not make.
    #[error("{what} {holds}")]
    ConsentNeeded {
        /// The device or virtual disk.
        what: String,
        /// Signs that it holds data.
        holds: String,
        /// Consent ID that permits the change.
        id: String,
    },
    /// Several things would be lost; all are named, so that one more run is enough.
    #[error(
        "{}",
        missing.iter().map(|one| format!("{} {}", one.what, one.holds)).collect::<Vec<_>>().join("; ")
    )]
    ConsentsNeeded {
        /// Two or more.
        missing: Vec<MissingConsent>,
    },
    /// The device or virtual disk is never changed in its current state.
    #[error("{what} is not touched")]
    Protected {
        /// The device or virtual disk.
        what: String,
        /// Reason, with its remedy.
        source: Problem,
    },
    /// The array differs from the request, or the driver's options do not fit it.
    #[error("{what}")]
    Unexpected {
        /// State that was found.
        what: String,
        /// Suggested remedy.
        hint: &'static str,
    },
    /// The array did not become ready in time.
    #[error("the array was not ready after {}; it last said: {last}", units::human_duration(waited.as_nanos() as u64))]
    NotReady {
        /// Time that was waited.
        waited: Duration,
        /// Its last progress.
        last: String,
    },
    /// The run was interrupted while the array was not ready.
    #[error("interrupted while the array was not ready; it last said: {last}")]
    Interrupted {
        /// Its last progress.
        last: String,
    },
    /// The array said no to something that is no setting.
    #[error("the array refused {what}: {reason}")]
    Refused {
        /// Request that it refused.
        what: String,
        /// Its reason.
        reason: String,
    },
    /// The control socket could not be reached or was closed.
    #[error("control socket `{socket}`")]
    Socket {
        /// Its path.
        socket: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The operator could not be asked.
    #[error("cannot ask the operator")]
    Operator {
        /// The system's answer.
        source: io::Error,
    },
}

impl Diagnostic for DriverError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            DriverError::Spec { hint, .. }
            | DriverError::TimedOut { hint, .. }
            | DriverError::Answer { hint, .. }
            | DriverError::Unexpected { hint, .. } => (*hint).into(),
            DriverError::Start { .. } => "is it installed, executable, and on the PATH?".into(),
            DriverError::TooMuchOutput { .. } => {
                "a driver answers with one JSON object, a tool with one table".into()
            }
            DriverError::Failed { .. } => "run it by hand to see what it needs".into(),
            DriverError::Step { source, .. } => return source.hint(),
            DriverError::ConsentNeeded { id, .. } => {
                format!("everything on it will be lost with --overwrite-data {id}").into()
            }
            DriverError::ConsentsNeeded { missing } => {
                let consents: Vec<String> =
                    missing.iter().map(|one| format!("--overwrite-data {}", one.id)).collect();
                format!("everything on them will be lost with {}", consents.join(" ")).into()
            }
            DriverError::Protected { source, .. } => return source.hint(),
            DriverError::NotReady { .. } => {
                "allow it more time with ready_timeout=, or look at the array".into()
            }
            DriverError::Socket { .. } => {
                "is the array being served (arraylab serve …), and may this user use the socket?".into()
            }
            DriverError::Operator { .. } => "`manual` needs a terminal, or answers on standard input".into(),
            DriverError::Interrupted { .. } | DriverError::Refused { .. } => return None,
        })
    }
}

/// A consent that the user has not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingConsent {
    /// The device or virtual disk.
    pub what: String,
    /// Signs that it holds data.
    pub holds: String,
    /// Consent ID that permits the change.
    pub id: String,
}

/// Missing consents of one request.
#[derive(Debug, Default)]
pub(crate) struct MissingConsents(Vec<MissingConsent>);

impl MissingConsents {
    /// Takes in missing consents; any other error ends the request.
    pub(crate) fn collect(&mut self, checked: Result<(), DriverError>) -> Result<(), DriverError> {
        let found = match checked {
            Err(DriverError::ConsentNeeded { what, holds, id }) => vec![MissingConsent { what, holds, id }],
            Err(DriverError::ConsentsNeeded { missing }) => missing,
            other => return other,
        };
        for one in found {
            if !self.0.iter().any(|known| known.id == one.id) {
                self.0.push(one);
            }
        }
        Ok(())
    }

    /// Fails if any consent is missing.
    pub(crate) fn finish(mut self) -> Result<(), DriverError> {
        match self.0.len() {
            0 => Ok(()),
            1 => {
                let MissingConsent { what, holds, id } = self.0.remove(0);
                Err(DriverError::ConsentNeeded { what, holds, id })
            }
            _ => Err(DriverError::ConsentsNeeded { missing: self.0 }),
        }
    }
}

fn reported(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() { String::new() } else { format!("; it said: {}", excerpt(stderr)) }
}

/// A text for a message: one line, without control characters, at most 400 characters.
pub(crate) fn excerpt(text: &str) -> String {
    const LIMIT_CHARS: usize = 400;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match line.char_indices().nth(LIMIT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
