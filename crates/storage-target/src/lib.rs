//! Targets of plans, and the guard that protects their data.
//!
//! The way of a target: [`TargetSpec::parse`] reads what was typed; [`inspect`] looks at it without touching it;
//! [`Guard::check_write`] says whether it may be written and [`Guard::permit_write`] opens it, so that the kernel
//! too has a say. Engines get an [`Address`]; the manifest gets [`Inspected::describe`].
//!
//! The rule of the guard: a device that is mounted, held, partitioned, swapped to, read-only, exported, open for writing
//! by another program, a path of a multipath device or part of an active volume group is never written, nor is a device
//! while another path to the same disk is used in one of these ways (the same WWN, the same serial number, model and
//! size, the same NVMe identifier; what a loop device is set up over, what an export of this host that a disk is attached
//! to lies on, the kernel's NBD client attached to the same server). Anything else that may hold data (every block device, every NBD export, every
//! non-empty file that arraylab did not create) is written only with the consent ID that arraylab printed for it.

#![doc = include_str!("../README.md")]

mod block;
mod classify;
mod content;
mod disk_identity;
mod disk_name;
mod error;
mod exports;
mod fabric;
mod file;
mod guard;
mod identity;
mod inspect;
mod lvm;
mod memory;
mod nbd_clients;
mod nbd_export;
mod nbd_uri;
mod origin;
mod permit;
mod roots;
mod same_disk;
mod shared_users;
mod spec;
mod sysfs;
mod usage;
mod writers;

pub use block::{BlockDevice, classify_block_device};
pub use classify::{Classification, classify};
pub use content::{Content, Signature, scan_content};
pub use disk_name::DiskName;
pub use error::TargetError;
pub use file::RegularFile;
pub use guard::{Guard, GuardRefusal};
pub use inspect::{Address, Inspected, NbdTarget, inspect};
pub use lvm::VolumeGroup;
pub use nbd_export::{NbdExport, NbdHandshakeError, query_export};
pub use nbd_uri::{NbdAddress, NbdEndpoint};
pub use origin::Origin;
pub use permit::{PermitError, ReadPermit, WritePermit};
pub use roots::Roots;
pub use same_disk::OtherPath;
pub use shared_users::SharedUser;
pub use spec::{SPEC_LIMIT_BYTES, StorageSpec, TargetSpec, TwinSpec};
pub use sysfs::{DeviceKind, DeviceNumber, MapperKind};
pub use usage::{Holder, Mount, Usage};
