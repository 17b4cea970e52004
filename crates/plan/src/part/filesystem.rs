//! File systems that a case is run through.

/// Options of making and mounting file systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemOptions {
    /// Arguments of `mkfs`, one word each; no shell reads them.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub mount: Vec<String>,
    /// Share of the file system that the loaded file takes, in percent.
    pub fill_percent: u8,
}

impl FilesystemOptions {
    /// The share that a file takes where the plan gives none: room enough that the file system is not what is tested.
    pub(crate) const FILL_PERCENT_DEFAULT: u8 = 80;
}

impl Default for FilesystemOptions {
    fn default() -> Self {
        FilesystemOptions { mkfs: Vec::new(), mount: Vec::new(), fill_percent: Self::FILL_PERCENT_DEFAULT }
    }
}

/// The file system of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// Its type, as `mkfs -t` and `mount -t` name it.
    pub kind: String,
    /// Options of making and mounting it.
    pub options: FilesystemOptions,
}
