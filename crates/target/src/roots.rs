//! Root directories of the kernel's view of the host.

use std::path::PathBuf;

/// The directories that describe the host. Parameters, so that held, mounted and multipath devices can be tested
/// on recorded trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Normally `/sys`.
    pub sysfs: PathBuf,
    /// Normally `/proc`.
    pub proc: PathBuf,
    /// Normally `/dev`.
    pub dev: PathBuf,
}

impl Roots {
    /// The running host.
    pub fn system() -> Self {
        Roots { sysfs: "/sys".into(), proc: "/proc".into(), dev: "/dev".into() }
    }
}

impl Default for Roots {
    fn default() -> Self {
        Roots::system()
    }
}
