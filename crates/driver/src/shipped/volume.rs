//! Virtual disks, arrays and volumes, and the operations of a vendor's tool on them.

use crate::shipped::request::Request;
use crate::{DriverError, Progress, Protection};
use serde::Serialize;
use std::path::PathBuf;

/// A virtual disk as the vendor's tool lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Volume {
    /// Identifier by which the tool addresses it.
    pub id: String,
    pub name: String,
    pub raid: Option<u8>,
    pub size_bytes: Option<u64>,
    pub segment_bytes: Option<u64>,
    pub write_cache: Option<bool>,
    /// Drives as far as the tool names them, in the form of `drives=`.
    pub drives: Vec<String>,
    /// Path of its block device on the host.
    pub device: Option<PathBuf>,
    /// A WWN or UUID.
    pub identity: Option<String>,
    pub state: VolumeState,
}

/// State of a virtual disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VolumeState {
    Ready,
    /// Being initialised, resynchronised, rebuilt.
    Busy {
        percent: Option<f64>,
        state: String,
    },
    /// Degraded, failed, or a state that is not known.
    Unusable(String),
}

impl VolumeState {
    pub(crate) fn shown(&self) -> String {
        match self {
            VolumeState::Ready => "ready".to_owned(),
            VolumeState::Busy { percent: Some(percent), state } => format!("{state}, {percent} %"),
            VolumeState::Busy { percent: None, state } | VolumeState::Unusable(state) => state.clone(),
        }
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        match self {
            VolumeState::Busy { percent, state } => {
                Some(Progress { percent: *percent, message: state.clone() })
            }
            _ => None,
        }
    }
}

/// Result of creating a virtual disk.
#[derive(Debug)]
pub(crate) enum Creation {
    Created,
    /// The array does not make such a virtual disk; there is none.
    Refused(String),
}

/// A size as a tool makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundedSize {
    pub bytes: u64,
    /// Unit of which the size is a multiple.
    pub unit_bytes: u64,
}

/// Permissions of the user and prohibitions of the host.
pub(crate) struct Permission<'a> {
    pub consents: &'a [String],
    pub protection: &'a dyn Protection,
}

/// The vendor's tool.
pub(crate) trait VolumeTool {
    /// In messages: `virtual disk`, `array`, `volume`.
    const NOUN: &'static str;
    /// True if the array has a write cache that can be switched.
    const HAS_WRITE_CACHE: bool;
    /// Virtual disks of the hardware are initialised by a command; software RAID does it by itself.
    const INITIALISES: bool;
    /// Suggestion of what to check where a virtual disk differs from the request.
    const DIFFERENCE_HINT: &'static str;

    /// Returns the reason why the tool cannot make `request` at all, without asking the tool.
    fn unsupported(&self, request: &Request) -> Option<String>;

    /// The size that the tool makes of the one that is asked for, where it rounds, and to what.
    fn rounded_size(&self, _request: &Request) -> Result<Option<RoundedSize>, DriverError> {
        Ok(None)
    }

    /// Everything that `create` needs of the drives, before anything is deleted.
    fn check_drives(&self, request: &Request, permission: &Permission<'_>) -> Result<(), DriverError>;

    /// Devices of the host that deleting `volume` overwrites, each of which needs the user's consent.
    fn overwritten_by_delete<'a>(&self, _volume: &'a Volume) -> &'a [String] {
        &[]
    }

    /// All virtual disks of the place that the options name. An answer that cannot be understood is an error, never
    /// an empty list.
    fn list(&self) -> Result<Vec<Volume>, DriverError>;

    /// Deletes exactly this one.
    fn delete(&self, volume: &Volume, permission: &Permission<'_>) -> Result<(), DriverError>;

    /// Makes one.
    fn create(
        &self,
        name: &str,
        request: &Request,
        permission: &Permission<'_>,
    ) -> Result<Creation, DriverError>;

    /// Starts its full initialisation.
    fn initialise(&self, volume: &Volume) -> Result<(), DriverError>;

    /// Returns its current state.
    fn state(&self, volume: &Volume) -> Result<VolumeState, DriverError>;
}
