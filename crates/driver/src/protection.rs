//! What a driver must not touch on the host.

use crate::DriverError;
use std::path::Path;
use target::{Classification, Guard, GuardRefusal, Roots, StorageSpec, inspect};

/// Says whether a device of the host may be taken away or overwritten.
pub trait Protection: Send {
    /// Fails if anything uses the device: mounted, held, partitioned, swapped to, opened by another program.
    fn check_unused(&self, device: &Path) -> Result<(), DriverError>;

    /// Fails unless the user named the device's ID. Whether it is used is another question.
    fn check_consent(&self, device: &Path, consents: &[String]) -> Result<(), DriverError>;

    /// Capacity and, where the kernel knows one, the WWN.
    fn identity(&self, device: &Path) -> Result<(u64, Option<String>), DriverError>;
}

/// The same guard that stands before targets.
#[derive(Debug, Clone, Default)]
pub struct HostProtection {
    roots: Roots,
}

impl HostProtection {
    /// Reads the host at `roots`.
    pub fn new(roots: Roots) -> Self {
        HostProtection { roots }
    }

    fn inspected(&self, device: &Path) -> Result<target::Inspected, DriverError> {
        inspect(&self.roots, &StorageSpec::Path(device.to_owned())).map_err(|error| protected(device, &error))
    }
}

impl Protection for HostProtection {
    fn check_unused(&self, device: &Path) -> Result<(), DriverError> {
        let inspected = self.inspected(device)?;
        let own: Vec<String> = inspected.consent_id.iter().cloned().collect();
        Guard::new(self.roots.clone())
            .check_write(&inspected, &own)
            .map_err(|error| protected(device, &error))
    }

    fn check_consent(&self, device: &Path, consents: &[String]) -> Result<(), DriverError> {
        let inspected = self.inspected(device)?;
        match &inspected.consent_id {
            Some(id) if consents.contains(id) => Ok(()),
            Some(id) => Err(match Guard::new(self.roots.clone()).check_write(&inspected, consents) {
                Err(error @ (GuardRefusal::Forbidden { .. } | GuardRefusal::ConsentNeeded { .. })) => {
                    protected(device, &error)
                }
                _ => DriverError::ConsentNeeded {
                    what: device.display().to_string(),
                    holds: "would be overwritten".to_owned(),
                    id: id.clone(),
                },
            }),
            None => Err(protected(device, &"it is no existing device\nhint: check the name")),
        }
    }

    fn identity(&self, device: &Path) -> Result<(u64, Option<String>), DriverError> {
        let inspected = self.inspected(device)?;
        let wwn = match inspected.classification() {
            Some(Classification::BlockDevice { device, .. }) => device.wwn.clone(),
            _ => None,
        };
        Ok((inspected.capacity_bytes, wwn))
    }
}

fn protected(device: &Path, reason: &dyn std::fmt::Display) -> DriverError {
    DriverError::Protected { what: device.display().to_string(), reason: reason.to_string() }
}
