//! Command failures: one message on stderr, and the exit status that scripts rely on.

use campaign::CampaignError;
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
    Refused(Box<dyn Error>),
    /// Something that had begun failed.
    Failed(Box<dyn Error>),
    /// The reader of our output has gone: not worth a word.
    OutputClosed,
}

impl Failure {
    /// Wrong use or input, in words.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::Refused(message.into().into())
    }

    /// Prints the message and its causes, and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Refused(error) => {
                print_chain(error.as_ref());
                ExitCode::from(REFUSED)
            }
            Failure::Failed(error) => {
                print_chain(error.as_ref());
                ExitCode::from(FAILED)
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

/// The message, and each cause whose text the message does not hold already.
fn print_chain(error: &dyn Error) {
    let text = units::message_with_causes(error);
    crate::notice::print_notice(&format!("error: {text}"));
}

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
            failure if failure.is_failure() => Failure::Failed(Box::new(failure)),
            other => Failure::Refused(Box::new(other)),
        }
    }
}

impl From<plan::PlanError> for Failure {
    fn from(error: plan::PlanError) -> Failure {
        Failure::Refused(Box::new(error))
    }
}
