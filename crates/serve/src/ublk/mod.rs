//! Block device front end `/dev/ublkbN`, by the kernel's driver `ublk_drv`.
//!
//! Requests of the kernel are read (`request`) and carried out on the same exports that NBD serves, each reply leaving at
//! the model's moment (`request_pool`). Only `device` speaks to the driver; it needs the feature `ublk`, because the library that
//! knows the driver needs libclang to be built.

#[cfg(test)]
mod conformance;
#[cfg(feature = "ublk")]
mod control;
#[cfg(feature = "ublk")]
mod device;
#[cfg(any(feature = "ublk", test))]
mod request;
#[cfg(any(feature = "ublk", test))]
mod request_pool;

#[cfg(feature = "ublk")]
pub(crate) use device::Attached;

use crate::ServeError;
use std::path::Path;

/// Device that the driver `ublk_drv` offers where it is loaded.
const CONTROL_DEVICE: &str = "/dev/ublk-control";

/// Refuses what cannot become a block device here, before anything is opened.
pub(crate) fn check() -> Result<(), ServeError> {
    check_with(cfg!(feature = "ublk"), Path::new(CONTROL_DEVICE))
}

fn check_with(is_built_in: bool, control: &Path) -> Result<(), ServeError> {
    let refuse = |problem: String, hint| Err(ServeError::Options { problem, hint });
    if !is_built_in {
        return Err(not_built_in());
    }
    if !control.exists() {
        return refuse(
            format!("there is no {}: this kernel has no ublk driver, or it is not loaded", control.display()),
            "`modprobe ublk_drv` (Linux 6.0 or later with CONFIG_BLK_DEV_UBLK); or attach by NBD: docs/served-arrays.md",
        );
    }
    Ok(())
}

fn not_built_in() -> ServeError {
    ServeError::Options {
        problem: "this arraylab was built without block devices (ublk)".to_owned(),
        hint: "build it with `cargo build --release --features ublk`, which needs libclang; or attach by NBD: docs/served-arrays.md",
    }
}

/// Attached device; there is none where nothing is built in.
#[cfg(not(feature = "ublk"))]
pub(crate) enum Attached {}

#[cfg(not(feature = "ublk"))]
impl Attached {
    pub(crate) fn attach(
        _: std::sync::Arc<dyn nbd::Export>,
        _: &std::sync::atomic::AtomicBool,
    ) -> Result<Attached, ServeError> {
        Err(not_built_in())
    }

    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn detach(self) {
        match self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostic::Diagnostic as _;

    /// Proves that a build without block devices and a kernel without their driver are refused with what can be done.
    #[test]
    fn what_is_missing_is_said() {
        let there = Path::new("/dev/null");
        let refusal = |outcome: Result<(), ServeError>| {
            let error = outcome.unwrap_err();
            assert_eq!(error.exit_status(), 2);
            format!("{error} {}", error.hint().unwrap())
        };
        assert!(refusal(check_with(false, there)).contains("--features ublk"));
        assert!(refusal(check_with(true, Path::new("/dev/no-such-driver"))).contains("modprobe ublk_drv"));
        assert!(check_with(true, there).is_ok());
    }
}
