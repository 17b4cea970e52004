//! Regular file target.

use crate::error::TargetError;
use crate::origin::{self, Origin};
use crate::roots::Roots;
use crate::shared_users::shared_users_of_file;
use crate::usage;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegularFile {
    /// Path without links.
    pub path: PathBuf,
    /// Its length.
    pub size_bytes: u64,
    /// The number of its file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Time of creation, if the file system has it.
    pub birth_ns: Option<u64>,
    /// Origin of its data.
    pub origin: Origin,
    /// The system's own uses of it (swap, a loop device, an export) and programs that write to it, in words.
    pub users: Vec<String>,
}

impl RegularFile {
    pub(crate) fn read(roots: &Roots, path: &Path, file: &File) -> Result<Self, TargetError> {
        let metadata = file.metadata().map_err(|error| TargetError::io("look at", path, error))?;
        let origin =
            origin::origin(file).map_err(|error| TargetError::io("read the attributes of", path, error))?;
        let mut users = usage::users_of_file(roots, metadata.dev(), metadata.ino())
            .map_err(|(path, error): (PathBuf, io::Error)| TargetError::io("read", &path, error))?;
        users.extend(shared_users_of_file(roots, metadata.dev(), metadata.ino()));
        Ok(RegularFile {
            path: path.to_owned(),
            size_bytes: metadata.size(),
            device: metadata.dev(),
            inode: metadata.ino(),
            birth_ns: origin::birth_ns(&metadata),
            origin,
            users,
        })
    }

    pub(crate) fn identity(&self) -> String {
        format!(
            "path={}\ndevice={}\ninode={}\nbirth={:?}",
            self.path.display(),
            self.device,
            self.inode,
            self.birth_ns
        )
    }
}
