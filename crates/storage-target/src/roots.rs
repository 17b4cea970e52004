//! Root directories of the kernel's view of the host.

use std::path::PathBuf;

/// The directories that describe the host. Parameters, so that held, mounted and multipath devices can be tested
/// on recorded trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Directory of sysfs, normally `/sys`.
    pub sysfs: PathBuf,
    /// Directory of procfs, normally `/proc`.
    pub proc: PathBuf,
    /// Directory of device nodes, normally `/dev`.
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
