//! File systems that a case is run through.

/// Options of making and mounting file systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemOptions {
    /// What `mkfs` is told, word by word; no shell reads it.
    pub mkfs: Vec<String>,
    /// Mount options.
    pub mount: Vec<String>,
    /// How much of the file system the loaded file takes, in percent.
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
    /// How it is made and mounted.
    pub options: FilesystemOptions,
}
