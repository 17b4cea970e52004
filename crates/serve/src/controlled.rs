//! State of a served array that commands act on, and how they are refused.

use crate::exports::ArrayExports;
use crate::live::LiveArray;
use crate::model_record::FaultsWritten;
use crate::options::Options;
use crate::paced::Pacer;
use crate::reported_losses::ReportedLosses;
use driver::protocol::{ErrorKind, ResponseError};
use std::sync::{Arc, Mutex};
use volume::VolumeError;

/// The setting that chooses the volume under load, where volumes have names.
pub(crate) const VOLUME: &str = "volume";

/// State that the control socket acts on.
pub(crate) struct Controlled {
    pub live: Arc<LiveArray>,
    pub exports: Arc<ArrayExports>,
    pub server: Arc<nbd::Server>,
    /// None where the array is served as fast as it goes.
    pub pacer: Option<Arc<Pacer>>,
    /// One change of the volumes at a time.
    pub changes: Mutex<()>,
    pub reported_losses: ReportedLosses,
    pub faults_written: Mutex<FaultsWritten>,
    /// As it is served.
    pub options: Options,
}

pub(crate) fn refuse(kind: ErrorKind, message: impl Into<String>) -> ResponseError {
    ResponseError { kind, message: message.into() }
}

pub(crate) fn failed(error: &VolumeError) -> ResponseError {
    let kind = match error {
        VolumeError::Drive { .. } => ErrorKind::Refused,
        _ => ErrorKind::Failed,
    };
    refuse(kind, crate::live::export_error(error).message)
}
