//! Command failures: one message on stderr, and the exit status that scripts rely on.

use campaign::CampaignError;
use diagnostic::{Diagnostic, Problem, full_text};
use std::error::Error;
use std::process::ExitCode;
use store::StoreError;

/// A claim, requirement or comparison failed, where that was asked for.
const NOT_MET: u8 = 1;
/// Wrong use, wrong input, or refused before anything was written.
const REFUSED: u8 = 2;
/// The target, the disk or the engine failed after the start.
pub const FAILED: u8 = 3;
/// Interrupted; the run can be resumed.
const INTERRUPTED: u8 = 130;

/// Failure of a command, by its exit status.
#[derive(Debug)]
pub enum Failure {
    /// Nothing was written.
    Refused(Box<dyn Diagnostic>),
    /// Something that had begun failed.
    Failed(Box<dyn Diagnostic>),
    /// Interrupted before there was anything to print or keep.
    Interrupted(Box<dyn Diagnostic>),
    /// The reader of our output has gone: not worth a word.
    OutputClosed,
}

impl Failure {
    /// Wrong use or input, in words.
    pub fn refused(problem: impl Into<Problem>) -> Failure {
        Failure::Refused(Box::new(problem.into()))
    }

    /// Failure of something that had begun, in words.
    pub fn failed(problem: impl Into<Problem>) -> Failure {
        Failure::Failed(Box::new(problem.into()))
    }

    /// Refusal by an error that knows no remedy.
    pub fn refused_by(error: impl Error + 'static) -> Failure {
        Failure::Refused(Box::new(Plain(error)))
    }

    /// Failure by an error that knows no remedy.
    pub fn failed_by(error: impl Error + 'static) -> Failure {
        Failure::Failed(Box::new(Plain(error)))
    }

    /// Prints the message and its causes, and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Refused(error) => {
                print_error(error.as_ref());
                ExitCode::from(REFUSED)
            }
            Failure::Failed(error) => {
                print_error(error.as_ref());
                ExitCode::from(FAILED)
            }
            Failure::Interrupted(error) => {
                print_error(error.as_ref());
                interrupted()
            }
            Failure::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

/// The exit status where a claim, requirement or comparison failed.
pub fn not_met() -> ExitCode {
    ExitCode::from(NOT_MET)
}

/// The exit status of a run that failed after its start.
pub fn failed() -> ExitCode {
    ExitCode::from(FAILED)
}

/// The exit status of an interrupted run.
pub fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Help and version go to stdout with status 0, wrong use to stderr with status 2.
pub fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS }
}

/// Prints message, causes and hint. Errors of all commands are printed here.
fn print_error(error: &dyn Diagnostic) {
    crate::notice::print_notice(&format!("error: {}", full_text(error)));
}

/// Error that knows no remedy.
#[derive(Debug)]
struct Plain<E>(E);

impl<E: Error> std::fmt::Display for Plain<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl<E: Error> Error for Plain<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl<E: Error + 'static> Diagnostic for Plain<E> {}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Failure {
        match error {
            CampaignError::Store(error) => error.into(),
            other => Failure::Refused(Box::new(other)),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            failure if failure.is_failure() => Failure::failed_by(failure),
            other => Failure::refused_by(other),
        }
    }
}

impl From<plan::PlanError> for Failure {
    fn from(error: plan::PlanError) -> Failure {
        Failure::Refused(Box::new(error))
    }
}
