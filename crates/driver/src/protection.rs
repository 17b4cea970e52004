//! Host protection: devices and files that a driver must not touch.

use crate::DriverError;
use diagnostic::Problem;
use std::fs;
use std::path::Path;
use storage_target::{Classification, Guard, GuardRefusal, Inspected, Roots, StorageSpec, inspect};

/// Says whether a device of the host may be taken away or overwritten.
pub trait Protection: Send {
    /// Fails if anything uses the device: mounted, held, partitioned, swapped to, opened by another program.
    fn check_unused(&self, device: &Path) -> Result<(), DriverError>;

    /// Fails unless the user named the device's ID. Whether it is used is another question.
    fn check_consent(&self, device: &Path, consents: &[String]) -> Result<(), DriverError>;

    /// Returns a key that is the same by whichever path the drive is named; the path where the host has no such device.
    fn drive_key(&self, drive: &str) -> String {
        drive.to_owned()
    }

    /// Capacity and, where the kernel knows one, the WWN.
    fn identity(&self, device: &Path) -> Result<(u64, Option<String>), DriverError>;
}

/// Protection by the data guard of targets.
#[derive(Debug, Clone, Default)]
pub struct HostProtection {
    roots: Roots,
}

impl HostProtection {
    /// Reads the host at `roots`.
    pub fn new(roots: Roots) -> Self {
        HostProtection { roots }
    }

    fn inspected(&self, device: &Path) -> Result<Inspected, DriverError> {
        inspect(&self.roots, &StorageSpec::Path(device.to_owned()))
            .map_err(|error| protected(device, Problem::of(&error)))
    }
}

impl Protection for HostProtection {
    fn check_unused(&self, device: &Path) -> Result<(), DriverError> {
        let inspected = self.inspected(device)?;
        let own: Vec<String> = inspected.consent_id.iter().cloned().collect();
        Guard::new(self.roots.clone())
            .check_write(&inspected, &own)
            .map_err(|error| protected(device, Problem::of(&error)))
    }

    fn check_consent(&self, device: &Path, consents: &[String]) -> Result<(), DriverError> {
        let inspected = self.inspected(device)?;
        match &inspected.consent_id {
            Some(id) if consents.contains(id) => Ok(()),
            Some(id) => {
                // A drive in use needs its consent too: its array may be one that is deleted first.
                let holds = match Guard::new(self.roots.clone()).check_write(&inspected, consents) {
                    Err(GuardRefusal::Forbidden { reasons, .. }) => {
                        format!("would be overwritten, and now {}", reasons.join("; "))
                    }
                    Err(GuardRefusal::ConsentNeeded { holds, .. }) => format!("holds data: {holds}"),
                    _ => "would be overwritten".to_owned(),
                };
                Err(DriverError::ConsentNeeded { what: device.display().to_string(), holds, id: id.clone() })
            }
            None => {
                Err(protected(device, Problem::new("it is no existing device").with_hint("check the name")))
            }
        }
    }

    fn drive_key(&self, drive: &str) -> String {
        let Ok(path) = fs::canonicalize(drive) else { return drive.to_owned() };
        match inspect(&self.roots, &StorageSpec::Path(path.clone())).as_ref().map(Inspected::classification) {
            Ok(Some(Classification::BlockDevice { device, .. })) => {
                let serial = device.serial.as_ref().map(|serial| format!("{:?} {serial}", device.model));
                let name = device.wwn.clone().or(device.uuid.clone()).or(serial);
                let name = name.unwrap_or_else(|| path.display().to_string());
                // Partitions share the names of their disk.
                format!("{name}+{}", device.start_bytes.unwrap_or(0))
            }
            _ => path.display().to_string(),
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

fn protected(device: &Path, source: Problem) -> DriverError {
    DriverError::Protected { what: device.display().to_string(), source }
}
