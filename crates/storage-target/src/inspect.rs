//! Read-only inspection of a target.

use crate::block::BlockDevice;
use crate::classify::{Classification, classify};
use crate::disk_name::find_disk;
use crate::error::TargetError;
use crate::file::RegularFile;
use crate::identity::consent_id;
use crate::nbd_clients::users_of_export;
use crate::nbd_export::{NbdExport, query_export};
use crate::nbd_uri::NbdAddress;
use crate::origin::Origin;
use crate::roots::Roots;
use crate::spec::StorageSpec;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A real target that exists, or a file that can be created.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// Target as it was named.
    pub spec: StorageSpec,
    /// Subject of the inspection: device, file, export or null target.
    pub(crate) subject: Subject,
    /// Capacity that can be read and written, in bytes.
    pub capacity_bytes: u64,
    pub(crate) identity: String,
    /// Consent ID that permits overwriting it; `None` for a file that does not exist yet.
    pub consent_id: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Existing(Classification),
    /// `file:` where nothing is yet.
    NewFile {
        path: PathBuf,
    },
    Nbd(NbdTarget),
    /// `null:`, which is nothing.
    Null,
}

/// An export and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NbdTarget {
    /// Address as typed.
    pub uri: String,
    /// Export as the server describes it.
    #[serde(flatten)]
    pub export: NbdExport,
    /// Users of the export through the kernel's NBD client, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
}

/// Address that an engine opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A block device or a file, without links.
    Path(PathBuf),
    /// An NBD address as typed.
    NbdUri(String),
    /// No target to open: the engine completes each I/O itself.
    Null,
}

/// Looks at a real target: opens it for reading at most, creates nothing.
pub fn inspect(roots: &Roots, spec: &StorageSpec) -> Result<Inspected, TargetError> {
    let (subject, capacity_bytes, name, identity) = match spec {
        StorageSpec::Path(path) => existing(roots, path)?,
        StorageSpec::CreateFile { path, size_bytes } => match fs::symlink_metadata(path) {
            Ok(_) => {
                let found = existing(roots, path)?;
                check_reusable(path, *size_bytes, &found.0)?;
                found
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let path = absolute(path)?;
                (Subject::NewFile { path }, *size_bytes, String::new(), String::new())
            }
            Err(error) => return Err(TargetError::io("look at", path, error)),
        },
        StorageSpec::Nbd(address) => nbd(roots, address)?,
        StorageSpec::Disk(name) => existing(roots, &find_disk(roots, name)?)?,
        StorageSpec::Null { size_bytes } => (Subject::Null, *size_bytes, String::new(), String::new()),
    };
    let consent_id = match &subject {
        Subject::NewFile { .. } | Subject::Null => None,
        Subject::Existing(_) | Subject::Nbd(_) => Some(consent_id(&name, &identity)),
    };
    Ok(Inspected { spec: spec.clone(), subject, capacity_bytes, identity, consent_id })
}

type Found = (Subject, u64, String, String);

fn existing(roots: &Roots, path: &Path) -> Result<Found, TargetError> {
    let classification = classify(roots, path)?;
    let (name, identity) = identify(roots, &classification);
    let size_bytes = classification.size_bytes();
    Ok((Subject::Existing(classification), size_bytes, name, identity))
}

/// The readable part of an ID and everything that identifies the thing.
fn identify(roots: &Roots, classification: &Classification) -> (String, String) {
    match classification {
        Classification::BlockDevice { device, .. } => {
            (device.kernel_name.clone(), block_identity(roots, device))
        }
        Classification::File(file) => {
            (file.path.file_name().unwrap_or_default().to_string_lossy().into_owned(), file.identity())
        }
    }
}

/// Returns a text that tells a block device from any other under its name.
pub(crate) fn block_identity(roots: &Roots, device: &BlockDevice) -> String {
    let boot_id = fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
    device.identity(boot_id.trim())
}

fn nbd(roots: &Roots, address: &NbdAddress) -> Result<Found, TargetError> {
    let export =
        query_export(address).map_err(|source| TargetError::Nbd { uri: address.uri.clone(), source })?;
    if export.size_bytes == 0 {
        return Err(TargetError::Unsuitable {
            path: PathBuf::from(&address.uri),
            what: "an empty NBD export".to_owned(),
            hint: "give the server something to export".to_owned(),
        });
    }
    let identity = format!("uri={}\nsize={}", address.uri, export.size_bytes);
    let size_bytes = export.size_bytes;
    let users = nbd_users(roots, address, &export)?;
    let subject = Subject::Nbd(NbdTarget { uri: address.uri.clone(), export, users });
    Ok((subject, size_bytes, "nbd".to_owned(), identity))
}

/// Lists the users of the export through the kernel's NBD client.
pub(crate) fn nbd_users(
    roots: &Roots,
    address: &NbdAddress,
    export: &NbdExport,
) -> Result<Vec<String>, TargetError> {
    users_of_export(roots, &address.endpoint, export.size_bytes)
        .map_err(|(path, error)| TargetError::io("read", &path, error))
}

/// `file:` finds its file again; it never resizes or replaces one.
fn check_reusable(path: &Path, size_bytes: u64, subject: &Subject) -> Result<(), TargetError> {
    let unsuitable =
        |what: String, hint: String| TargetError::Unsuitable { path: path.to_owned(), what, hint };
    match subject {
        Subject::Existing(Classification::File(file)) if file.origin == Origin::Foreign => Err(unsuitable(
            "a file that arraylab did not create".to_owned(),
            format!(
                "choose another name for file:, or name {} itself to test on the file as it is",
                path.display()
            ),
        )),
        Subject::Existing(Classification::File(file)) if file.size_bytes != size_bytes => Err(unsuitable(
            format!("a file of {} bytes, not {size_bytes}", file.size_bytes),
            format!("delete it, or give size={}", units::Bytes(file.size_bytes)),
        )),
        Subject::Existing(Classification::File(_)) => Ok(()),
        _ => {
            Err(unsuitable("not a file".to_owned(), "name a block device without file: and size=".to_owned()))
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, TargetError> {
    let name = path.file_name().ok_or_else(|| TargetError::Unsuitable {
        path: path.to_owned(),
        what: "no name of a file".to_owned(),
        hint: "file:PATH,size=1g".to_owned(),
    })?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory =
        fs::canonicalize(parent).map_err(|error| TargetError::io("create a file in", parent, error))?;
    Ok(directory.join(name))
}

impl Inspected {
    /// The same target once its file has been created.
    pub(crate) fn created(&self, file: RegularFile) -> Inspected {
        let (name, identity) = (file.path.file_name().unwrap_or_default().to_string_lossy(), file.identity());
        Inspected {
            spec: self.spec.clone(),
            consent_id: Some(consent_id(&name, &identity)),
            identity,
            capacity_bytes: file.size_bytes,
            subject: Subject::Existing(Classification::File(file)),
        }
    }

    /// Returns the address that an engine opens, once there is a permit.
    pub fn address(&self) -> Address {
        match &self.subject {
            Subject::Existing(Classification::BlockDevice { path, .. }) | Subject::NewFile { path } => {
                Address::Path(path.clone())
            }
            Subject::Existing(Classification::File(file)) => Address::Path(file.path.clone()),
            Subject::Nbd(target) => Address::NbdUri(target.uri.clone()),
            Subject::Null => Address::Null,
        }
    }

    /// Returns the classification of the path; `None` for an NBD export, the null target or a file that does not exist yet.
    pub fn classification(&self) -> Option<&Classification> {
        match &self.subject {
            Subject::Existing(classification) => Some(classification),
            Subject::NewFile { .. } | Subject::Nbd(_) | Subject::Null => None,
        }
    }

    /// The kernel name of a block device, to be watched by a probe.
    pub fn kernel_name(&self) -> Option<&str> {
        match self.classification()? {
            Classification::BlockDevice { device, .. } => Some(&device.kernel_name),
            Classification::File(_) => None,
        }
    }

    /// The smallest direct I/O, where the target says so.
    pub fn logical_block_size_bytes(&self) -> Option<u32> {
        match &self.subject {
            Subject::Existing(Classification::BlockDevice { device, .. }) => {
                Some(device.logical_block_size_bytes)
            }
            Subject::Nbd(target) => target.export.minimum_block_size_bytes,
            Subject::Existing(Classification::File(_)) | Subject::NewFile { .. } | Subject::Null => None,
        }
    }

    /// Everything known about the target, for the manifest.
    pub fn describe(&self) -> Value {
        let mut description = match &self.subject {
            Subject::Existing(classification) => json!(classification),
            Subject::NewFile { path } => json!({ "type": "new-file", "path": path }),
            Subject::Nbd(target) => {
                let mut value = json!(target);
                value["type"] = json!("nbd");
                value
            }
            Subject::Null => json!({ "type": "null" }),
        };
        description["target"] = json!(self.spec.to_string());
        description["capacity_bytes"] = json!(self.capacity_bytes);
        description["consent_id"] = json!(self.consent_id);
        description
    }
}
