//! Services of nodes that are stopped, as the array's record keeps them.

use crate::array::ServedArray;
use crate::chains::chains_of;
use diagnostic::Problem;
use serde_json::Value;
use std::collections::BTreeSet;
use twin::{ServiceDrives, service_drives};
use volume::{Volume, VolumeError};

/// Key under which they are kept.
pub(crate) const STOPPED_SERVICES: &str = "stopped_services";

/// Names of the services that are stopped.
pub(crate) fn stopped_services(volume: &Volume) -> BTreeSet<String> {
    let kept = volume.kept(STOPPED_SERVICES);
    let names = kept.as_ref().and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The drives behind services; those that the array does not have are behind none.
pub(crate) fn drives_behind(array: &ServedArray, services: &BTreeSet<String>) -> Vec<u16> {
    let behind = services.iter().filter_map(|service| service_of(array, service).ok());
    behind.flat_map(|found| found.drives).map(|drive| drive as u16).collect()
}

/// The drives behind a service.
pub(crate) fn service_of(array: &ServedArray, service: &str) -> Result<ServiceDrives, Problem> {
    let chains = chains_of(array);
    let chains = chains.ok_or_else(|| Problem::new(format!("`{}` has no services", array.name)))?;
    service_drives(chains, service).map_err(|error| Problem::from(error.to_string()))
}

/// Drives are stopped as their services are, whatever a crash left half done.
pub(crate) fn stop_drives(volume: &Volume, array: &ServedArray) -> Result<(), VolumeError> {
    volume.set_stopped(&drives_behind(array, &stopped_services(volume)))
}
