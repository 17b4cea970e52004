//! Errors of running fio.

use diagnostic::Diagnostic;
use std::path::PathBuf;

use crate::{FioOutcome, Version};

/// Errors of running fio.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// There is no fio where it was looked for.
    #[error(
        "fio was not found ({looked_in}); install it (`apt-get install fio`) or set ARRAYLAB_FIO to its path"
    )]
    NotFound {
        /// Places that were searched.
        looked_in: String,
    },
    /// fio is older than what its output can be read of.
    #[error("{} is fio {version}, but fio 3.0 or newer is needed; install a newer one or set ARRAYLAB_FIO", path.display())]
    TooOld {
        /// The program.
        path: PathBuf,
        /// Version that it reports.
        version: Version,
    },
    /// The case cannot be run by this fio, or fio refused the job file. Nothing was written to the target.
    #[error("fio cannot run this case: {reason}")]
    Refused {
        /// The cause, and what to do about it.
        reason: String,
    },
    /// fio started, and the load did not end as it should.
    #[error("fio failed: {cause}")]
    Failed {
        /// The cause: the job's error, fio's own words, or the signal that ended it.
        cause: String,
        /// The error number of the first job that failed, such as `ENOSPC`.
        errno: Option<i32>,
        /// Result until then, where fio still printed it.
        partial: Option<Box<FioOutcome>>,
    },
    /// The target did not answer: fio was ended long after the time of the load.
    #[error(
        "the target hangs: up to {ios} I/Os were not answered for {seconds} s after the end of the load, and {}",
        if *is_pending { "they may still be pending" } else { "fio was ended" }
    )]
    Hung {
        /// I/Os that the kernel had in flight, or else the most that can have been: jobs × depth.
        ios: u64,
        /// Time that fio went on after the time of the load, in seconds.
        seconds: u64,
        /// The kernel may still be working on its I/Os, with fio or without.
        is_pending: bool,
        /// Result until then, where fio still printed it.
        partial: Option<Box<FioOutcome>>,
    },
    /// The load was interrupted on request.
    #[error("fio was interrupted")]
    Interrupted {
        /// Result until then, where fio still printed it.
        partial: Option<Box<FioOutcome>>,
    },
    /// A file or a process could not be handled.
    #[error("{doing} {}", path.display())]
    Io {
        /// Action that failed, such as "cannot write".
        doing: &'static str,
        /// The file or program.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
}

impl Diagnostic for FioError {}

impl FioError {
    /// Makes an [`FioError::Io`] with its context, for `map_err`.
    pub(crate) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> FioError {
        let path = path.to_path_buf();
        move |source| FioError::Io { doing, path, source }
    }
}
