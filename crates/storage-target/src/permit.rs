//! Permit: a target opened and held for a run.

use crate::block::{BlockDevice, classify_block_device};
use crate::classify::{Classification, claim_other_path, open_block};
use crate::error::TargetError;
use crate::file::RegularFile;
use crate::guard::{Guard, GuardRefusal};
use crate::inspect::{Address, Inspected, Subject, block_identity, nbd_users};
use crate::nbd_export::query_export;
use crate::origin::{self, Origin};
use crate::roots::Roots;
use crate::same_disk::OtherPath;
use crate::spec::StorageSpec;
use crate::sysfs::DeviceNumber;
use diagnostic::Diagnostic;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Reason why there is no permit.
#[derive(Debug, thiserror::Error)]
pub enum PermitError {
    /// The guard refused. Nothing has been touched.
    #[error(transparent)]
    Refused(#[from] GuardRefusal),
    /// The target could not be opened or created.
    #[error(transparent)]
    Failed(#[from] TargetError),
}

impl Diagnostic for PermitError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            PermitError::Refused(refusal) => refusal.hint(),
            PermitError::Failed(error) => error.hint(),
        }
    }
}

/// Permit to write one target. A block device is held open exclusively, so that nothing can mount it or build on
/// it meanwhile; a file is locked against a second run. Dropping the permit releases the target.
#[derive(Debug)]
pub struct WritePermit {
    inspected: Inspected,
    roots: Roots,
    hold: Hold,
}

/// Leave to read one target.
#[derive(Debug)]
pub struct ReadPermit {
    inspected: Inspected,
    _file: Option<ReadFile>,
}

/// Handle that prevents writes to a target while it is read.
#[derive(Debug)]
enum ReadFile {
    Locked { _file: LockedFile },
    Device { _file: File },
}

#[derive(Debug)]
enum Hold {
    Block {
        file: File,
        /// Other paths to the same disk, opened exclusively too.
        _other_paths: Vec<File>,
    },
    OwnFile(LockedFile),
    ForeignFile(LockedFile),
    Nbd,
    Null,
}

/// A file with a lock, which is given back when this is dropped.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    /// Gives the lock back at once. Closing would not: a process that another thread is starting holds a copy of the
    /// open file until its `exec`, and the lock with it (flock(2)).
    fn drop(&mut self) {
        // What closing does anyway need not be reported.
        let _ = self.0.unlock();
    }
}

impl Guard {
    /// Opens `inspected` for writing if [`Guard::check_write`] allows it, it is still the same thing, and the
    /// kernel reports no other user. Creates the file of a `file:` target.
    pub fn permit_write(
        &self,
        inspected: &Inspected,
        consents: &[String],
    ) -> Result<WritePermit, PermitError> {
        self.check_write(inspected, consents)?;
        let mut inspected = inspected.clone();
        let hold = match &inspected.subject {
            Subject::Nbd(_) => {
                recheck_nbd(&self.roots, &inspected)?;
                Hold::Nbd
            }
            Subject::Null => Hold::Null,
            Subject::Existing(Classification::BlockDevice { path, device, .. }) => {
                let file = match open_block(path, OFlags::RDWR) {
                    Ok(file) => file,
                    Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                        return Err(in_use(&inspected, "the kernel refuses an exclusive open").into());
                    }
                    Err(error) => return Err(TargetError::io("open for writing", path, error).into()),
                };
                recheck_block(&self.roots, &inspected, &file)?;
                Hold::Block { file, _other_paths: self.claim_other_paths(&inspected, device)? }
            }
            Subject::Existing(Classification::File(found)) => {
                let file = lock(&inspected, open_existing(&found.path, true)?, true)?;
                let now = RegularFile::read(&self.roots, &found.path, &file.0)?;
                if now != *found {
                    return Err(changed(&inspected, "another file has its name, or it was written to").into());
                }
                if found.origin == Origin::Foreign { Hold::ForeignFile(file) } else { Hold::OwnFile(file) }
            }
            Subject::NewFile { path } => {
                let file = lock(&inspected, create(path, inspected.capacity_bytes)?, true)?;
                inspected = inspected.created(RegularFile::read(&self.roots, path, &file.0)?);
                Hold::OwnFile(file)
            }
        };
        if let Hold::OwnFile(file) = &hold {
            origin::mark_writing(&file.0)
                .map_err(|error| TargetError::io("mark", &shown(&inspected), error))?;
        }
        Ok(WritePermit { inspected, roots: self.roots.clone(), hold })
    }

    /// Takes the other paths to the disk as well: nobody may mount them while this one is written. Not for a device
    /// that is made from others: its neighbours on the same disks may be targets of the same run.
    fn claim_other_paths(
        &self,
        inspected: &Inspected,
        device: &BlockDevice,
    ) -> Result<Vec<File>, GuardRefusal> {
        if !device.slaves.is_empty() {
            return Ok(Vec::new());
        }
        let mut held = Vec::new();
        for other in &device.other_paths {
            let busy = || {
                let OtherPath { kernel_name, because, .. } = other;
                in_use(
                    inspected,
                    &format!("/dev/{kernel_name} {because}, and the kernel refuses an exclusive open of it"),
                )
            };
            held.extend(claim_other_path(&self.roots, other).ok_or_else(busy)?);
        }
        Ok(held)
    }

    /// Opens `inspected` for reading. A file is locked against a run that writes; the file of a `file:` target is
    /// created first.
    pub fn permit_read(&self, inspected: &Inspected) -> Result<ReadPermit, PermitError> {
        if let Subject::NewFile { path } = &inspected.subject {
            let created = lock(inspected, create(path, inspected.capacity_bytes)?, false)?;
            let inspected = inspected.created(RegularFile::read(&self.roots, path, &created.0)?);
            let file = lock(&inspected, open_existing(path, false)?, false)?;
            return Ok(ReadPermit { inspected, _file: Some(ReadFile::Locked { _file: file }) });
        }
        let file = match (inspected.address(), inspected.classification()) {
            (Address::NbdUri(_) | Address::Null, _) => None,
            (Address::Path(path), Some(Classification::File(_))) => {
                Some(ReadFile::Locked { _file: lock(inspected, open_existing(&path, false)?, false)? })
            }
            (Address::Path(path), _) => Some(ReadFile::Device { _file: open_existing(&path, false)? }),
        };
        Ok(ReadPermit { inspected: inspected.clone(), _file: file })
    }
}

impl WritePermit {
    /// Returns the target in its current state: a file that was created is described as existing.
    pub fn inspected(&self) -> &Inspected {
        &self.inspected
    }

    /// Returns the address that an engine opens.
    pub fn address(&self) -> Address {
        self.inspected.address()
    }

    /// Checks that the address still leads to the target that is held; to be called before each case, since
    /// engines open the address by themselves.
    pub fn recheck(&self) -> Result<(), PermitError> {
        match &self.hold {
            Hold::Nbd => recheck_nbd(&self.roots, &self.inspected),
            Hold::Null => Ok(()),
            Hold::Block { file, .. } => recheck_block(&self.roots, &self.inspected, file),
            Hold::OwnFile(file) | Hold::ForeignFile(file) => {
                let path = shown(&self.inspected);
                let here = file.0.metadata().map_err(|error| TargetError::io("look at", &path, error))?;
                match fs::metadata(&path) {
                    Ok(there)
                        if there.ino() == here.ino()
                            && there.dev() == here.dev()
                            && there.size() == self.inspected.capacity_bytes =>
                    {
                        Ok(())
                    }
                    Ok(_) => {
                        Err(changed(&self.inspected, "another file has its name, or it was resized").into())
                    }
                    Err(error) => Err(TargetError::io("look at", &path, error).into()),
                }
            }
        }
    }
}

impl ReadPermit {
    /// Returns the target in its current state.
    pub fn inspected(&self) -> &Inspected {
        &self.inspected
    }

    /// Returns the address that an engine opens.
    pub fn address(&self) -> Address {
        self.inspected.address()
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        if let Hold::OwnFile(file) = &self.hold {
            // Without the mark the next run asks for consent, which is the safe side.
            let _ = origin::mark_ended(&file.0);
        }
    }
}

fn recheck_block(roots: &Roots, inspected: &Inspected, held: &File) -> Result<(), PermitError> {
    let path = shown(inspected);
    let number = |metadata: io::Result<fs::Metadata>| {
        metadata
            .map(|m| DeviceNumber::from_raw(m.rdev()))
            .map_err(|error| TargetError::io("look at", &path, error))
    };
    let held_number = number(held.metadata())?;
    if number(fs::metadata(&path))? != held_number {
        return Err(changed(inspected, "another device has its name").into());
    }
    let now = classify_block_device(roots, held_number)?;
    if block_identity(roots, &now) != inspected.identity {
        return Err(changed(inspected, "another device has its number, or its size changed").into());
    }
    let reasons = now.reasons_not_to_write();
    if !reasons.is_empty() {
        return Err(changed(inspected, &reasons.join("; ")).into());
    }
    Ok(())
}

fn recheck_nbd(roots: &Roots, inspected: &Inspected) -> Result<(), PermitError> {
    let (StorageSpec::Nbd(address), Subject::Nbd(before)) = (&inspected.spec, &inspected.subject) else {
        return Ok(());
    };
    let now =
        query_export(address).map_err(|source| TargetError::Nbd { uri: address.uri.clone(), source })?;
    if now != before.export {
        return Err(changed(inspected, "the server describes the export differently").into());
    }
    let users = nbd_users(roots, address, &now)?;
    if !users.is_empty() {
        return Err(changed(inspected, &users.join("; ")).into());
    }
    Ok(())
}

/// Creates a file with all its space reserved, so that a disk too small shows now and not in the middle of a run.
fn create(path: &Path, size_bytes: u64) -> Result<File, TargetError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| TargetError::io("create", path, error))?;
    let reserved = match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size_bytes) {
        // Some file systems cannot reserve; there the file is sparse and may run out of space later.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(size_bytes),
        other => other.map_err(io::Error::from),
    };
    let finished = reserved.and_then(|()| origin::mark_ended(&file));
    match finished {
        Ok(_) => Ok(file),
        Err(source) => {
            let _ = fs::remove_file(path);
            let full = matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
            );
            Err(if full {
                TargetError::NoSpace { path: path.to_owned(), size_bytes, source }
            } else {
                TargetError::io("reserve space for", path, source)
            })
        }
    }
}

fn open_existing(path: &Path, write: bool) -> Result<File, TargetError> {
    let action = if write { "open for writing" } else { "open" };
    OpenOptions::new()
        .read(true)
        .write(write)
        .open(path)
        .map_err(|error| TargetError::io(action, path, error))
}

/// Locks a file against other runs (flock) and asks whether a program like qemu has locked it (POSIX and OFD locks;
/// the POSIX lock taken for the question does not outlive the next close of the file in this process).
fn lock(inspected: &Inspected, file: File, exclusive: bool) -> Result<LockedFile, PermitError> {
    let locked = if exclusive { file.try_lock() } else { file.try_lock_shared() };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(inspected, "another run has locked it").into()),
        Err(TryLockError::Error(error)) => {
            return Err(TargetError::io("lock", &shown(inspected), error).into());
        }
    }
    let file = LockedFile(file);
    if exclusive {
        match rustix::fs::fcntl_lock(&file.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                return Err(in_use(inspected, "another program has locked it").into());
            }
            Err(error) => return Err(TargetError::io("lock", &shown(inspected), error.into()).into()),
        }
    }
    Ok(file)
}

fn shown(inspected: &Inspected) -> std::path::PathBuf {
    match inspected.address() {
        Address::Path(path) => path,
        Address::NbdUri(uri) => uri.into(),
        Address::Null => inspected.spec.to_string().into(),
    }
}

fn changed(inspected: &Inspected, what: &str) -> GuardRefusal {
    GuardRefusal::Changed { target: inspected.spec.to_string(), what: what.to_owned() }
}

fn in_use(inspected: &Inspected, what: &str) -> GuardRefusal {
    GuardRefusal::InUse { target: inspected.spec.to_string(), what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::inspect;
    use crate::spec::TargetSpec;

    /// Proves that a permit gives its file free when it is dropped, also while a process that is being started holds a copy
    /// of the open file, and not before.
    #[test]
    fn a_dropped_permit_frees_its_file_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("file:{},size=64k", directory.path().join("f").display());
        let TargetSpec::Storage(spec) = TargetSpec::parse(&text).unwrap() else { panic!("{text}") };
        let look = || inspect(&Roots::default(), &spec).unwrap();
        let guard = Guard::default();
        drop(guard.permit_write(&look(), &[]).unwrap());

        let permit = guard.permit_write(&look(), &[]).unwrap();
        let Hold::OwnFile(file) = &permit.hold else { panic!("{permit:?}") };
        let copy = file.0.try_clone().unwrap();
        assert!(matches!(guard.permit_read(&look()), Err(PermitError::Refused(GuardRefusal::InUse { .. }))));
        drop(permit);
        let reader = guard.permit_read(&look()).unwrap();
        drop(copy);

        let Some(ReadFile::Locked { _file: file }) = &reader._file else { panic!("{reader:?}") };
        let copy = file.0.try_clone().unwrap();
        let writer = guard.permit_write(&look(), &[]);
        assert!(matches!(writer, Err(PermitError::Refused(GuardRefusal::InUse { .. }))), "{writer:?}");
        drop(reader);
        guard.permit_write(&look(), &[]).unwrap();
        drop(copy);
    }
}
