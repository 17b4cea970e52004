//! The guard against the running kernel: loop devices over files in `/dev/shm`, files, and an NBD server.
//! Needs root and loop devices, as the rest of the project's tests do.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use diagnostic::full_text;
use rustix::fs::{Mode, OFlags};
use storage_target::{
    Address, Classification, Guard, GuardRefusal, Inspected, Origin, PermitError, Roots, Signature,
    StorageSpec, TargetError, TargetSpec, inspect,
};
use test_support::{Nbdkit, wait_until};

const SIZE: u64 = 16 << 20;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn storage(text: &str) -> StorageSpec {
    match TargetSpec::parse(text).unwrap() {
        TargetSpec::Storage(storage) => storage,
        TargetSpec::Twin(_) => panic!("{text} is a twin"),
    }
}

fn look(text: &str) -> Result<Inspected, TargetError> {
    inspect(&Roots::system(), &storage(text))
}

fn guard() -> Guard {
    Guard::new(Roots::system())
}

fn forbidden(inspected: &Inspected) -> String {
    // Even with consent.
    let consents = vec![inspected.consent_id.clone().unwrap()];
    match guard().check_write(inspected, &consents) {
        Err(GuardRefusal::Forbidden { reasons, .. }) => reasons.join("; "),
        other => panic!("{other:?}"),
    }
}

/// A loop device over a file, detached at the end.
struct Loop {
    /// Empty once somebody else has it.
    device: String,
    backing: PathBuf,
    _directory: tempfile::TempDir,
}

impl Loop {
    fn new(options: &[&str], prepare: impl Fn(&Path)) -> Loop {
        let directory = directory();
        let backing = directory.path().join("backing");
        File::create(&backing).unwrap().set_len(SIZE).unwrap();
        prepare(&backing);
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(backing.to_str().unwrap());
        Loop { device: run("losetup", &arguments), backing, _directory: directory }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.device.is_empty() {
            return;
        }
        // Partitions added by hand outlive the backing file otherwise.
        let _ = Command::new("delpart").args([&self.device, "1"]).stderr(Stdio::null()).status();
        let _ = Command::new("delpart").args([&self.device, "2"]).stderr(Stdio::null()).status();
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Proves that a block device needs its ID, that the ID is printed, that the permit then holds the device, and that
/// nothing was written by any of it.
#[test]
fn a_block_device_is_written_only_with_its_id() {
    let disk = Loop::new(&[], |_| ());
    let inspected = look(&disk.device).unwrap();
    assert_eq!(inspected.capacity_bytes, SIZE);
    let id = inspected.consent_id.clone().unwrap();
    let refusal = full_text(&guard().permit_write(&inspected, &[]).unwrap_err());
    assert!(refusal.contains(&format!("--overwrite-data {id}")), "{refusal}");
    assert!(refusal.contains("does not prove that it is empty"), "{refusal}");

    let name = disk.device.strip_prefix("/dev/").unwrap();
    let wrong = format!("{name}-0000000000");
    let refusal = guard().permit_write(&inspected, std::slice::from_ref(&wrong)).unwrap_err().to_string();
    assert!(refusal.contains(&format!("{wrong} is not its ID")), "{refusal}");

    let permit = guard().permit_write(&inspected, std::slice::from_ref(&id)).unwrap();
    assert_eq!(permit.address(), Address::Path(disk.device.clone().into()));
    permit.recheck().unwrap();
    // A second run, and mount and mkfs likewise, are kept away; an engine is not.
    assert!(forbidden(&look(&disk.device).unwrap()).contains("opened it for itself"));
    assert!(matches!(
        guard().permit_write(&inspected, std::slice::from_ref(&id)),
        Err(PermitError::Refused(GuardRefusal::InUse { .. }))
    ));
    File::options().write(true).open(&disk.device).unwrap();
    drop(permit);
    guard().permit_write(&inspected, &[id]).unwrap();
    assert!(fs::read(&disk.backing).unwrap().iter().all(|byte| *byte == 0));
}

/// Proves that another device under the same name has another ID and that an old look gives no permit.
#[test]
fn another_device_under_the_name_has_another_id() {
    // Between the two, any program on this host may be given the device that has become free.
    let replaced = (0..50).find_map(|_| {
        let mut disk = Loop::new(&[], |_| ());
        let before = look(&disk.device).unwrap();
        let other = disk.backing.with_file_name("other");
        File::create(&other).unwrap().set_len(SIZE).unwrap();
        run("losetup", &["--detach", &disk.device]);
        let attached = Command::new("losetup").args([disk.device.as_str(), other.to_str().unwrap()]).output();
        if attached.unwrap().status.success() {
            return Some((disk, before));
        }
        disk.device.clear();
        None
    });
    let (disk, before) = replaced.expect("a loop device that stays free for a moment, once in 50 times");
    let permit_before = before.consent_id.clone().unwrap();
    let after = look(&disk.device).unwrap();
    assert_ne!(before.consent_id, after.consent_id);
    assert!(matches!(
        guard().permit_write(&before, &[permit_before]),
        Err(PermitError::Refused(GuardRefusal::Changed { .. }))
    ));
}

/// Proves that a mounted device is refused even with consent, is named with its mount point, and can still be read.
#[test]
fn a_mounted_device_is_never_written() {
    let disk = Loop::new(&[], |backing| {
        run("mkfs.ext4", &["-q", backing.to_str().unwrap()]);
    });
    let inspected = look(&disk.device).unwrap();
    let refusal = guard().check_write(&inspected, &[]).unwrap_err().to_string();
    assert!(refusal.contains("an ext2/3/4 file system"), "{refusal}");
    let point = disk.backing.with_file_name("mnt point");
    fs::create_dir(&point).unwrap();
    run("mount", &[&disk.device, point.to_str().unwrap()]);
    let mounted = Mounted(point.clone());
    let reasons = forbidden(&look(&disk.device).unwrap());
    assert!(reasons.contains(&format!("mounted at {} (ext4)", point.display())), "{reasons}");
    // Mounted between the look and the permit.
    let id = inspected.consent_id.clone().unwrap();
    assert!(matches!(
        guard().permit_write(&inspected, &[id]),
        Err(PermitError::Refused(GuardRefusal::InUse { .. }))
    ));
    guard().permit_read(&inspected).unwrap();
    drop(mounted);
}

/// Proves on the running kernel that a device whose bytes another device leads to as well is refused while that one is
/// mounted, also where no mount is to be seen, and that a permit keeps others from taking either.
#[test]
fn a_second_way_to_the_bytes_is_never_written() {
    let disk = Loop::new(&[], |backing| {
        run("mkfs.ext4", &["-q", backing.to_str().unwrap()]);
    });
    let second = run("losetup", &["--find", "--show", disk.backing.to_str().unwrap()]);
    let second = Loop { device: second, backing: PathBuf::new(), _directory: directory() };
    let point = disk.backing.with_file_name("mnt");
    fs::create_dir(&point).unwrap();
    let free = look(&second.device).unwrap();
    let consent = [free.consent_id.clone().unwrap()];

    run("mount", &[&disk.device, point.to_str().unwrap()]);
    let mounted = Mounted(point.clone());
    let reasons = forbidden(&look(&second.device).unwrap());
    let same = format!("{} is over the same file as {}", disk.device, &second.device["/dev/".len()..]);
    assert!(reasons.contains(&same) && reasons.contains("is mounted at"), "{reasons}");
    // Mounted between the look and the permit.
    let refused = guard().permit_write(&free, &consent).unwrap_err().to_string();
    assert!(refused.contains(&same), "{refused}");
    drop(mounted);

    // Taken by another program: sysfs shows nothing of it.
    let taken =
        rustix::fs::open(&disk.device, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())
            .unwrap();
    let reasons = forbidden(&look(&second.device).unwrap());
    assert!(reasons.contains("has been opened exclusively"), "{reasons}");
    let refused = guard().permit_write(&free, &consent).unwrap_err().to_string();
    assert!(refused.contains("the kernel refuses an exclusive open of it"), "{refused}");
    drop(taken);

    let permit = guard().permit_write(&free, &consent).unwrap();
    permit.recheck().unwrap();
    let mount = Command::new("mount").arg(&disk.device).arg(&point).stderr(Stdio::null()).status().unwrap();
    assert!(!mount.success(), "a permit holds the other way too");
    drop(permit);
    // A program that another test is just starting has a copy of the permit's file until its `exec`.
    wait_until(Duration::from_secs(5), "a permit that is gone holds nothing", || {
        Command::new("mount").arg(&disk.device).arg(&point).status().unwrap().success()
    });
    drop(Mounted(point));
}

/// Proves that a partitioned disk is refused, whether the kernel knows the partitions or not, and that a mounted
/// partition bars its disk but not its neighbour.
#[test]
fn a_partitioned_device_is_never_written() {
    let table = |backing: &Path| {
        let mut child = Command::new("sfdisk")
            .args(["--quiet"])
            .arg(backing)
            .stdin(Stdio::piped())
            .spawn()
            .expect("sfdisk is one of the project's test clients");
        child.stdin.take().unwrap().write_all(b"label: gpt\nsize=4MiB\nsize=4MiB\n").unwrap();
        assert!(child.wait().unwrap().success());
    };
    let unread = Loop::new(&[], table);
    assert!(forbidden(&look(&unread.device).unwrap()).contains("begins with a GPT partition table"));

    // A kernel may be built without any partition format; what it is told by hand it knows all the same.
    let disk = Loop::new(&[], table);
    run("addpart", &[&disk.device, "1", "2048", "8192"]);
    run("addpart", &[&disk.device, "2", "10240", "8192"]);
    let name = disk.device.strip_prefix("/dev/").unwrap();
    let reasons = forbidden(&look(&disk.device).unwrap());
    assert!(reasons.contains(&format!("it is partitioned ({name}p1, {name}p2)")), "{reasons}");
    let (first, second) = (format!("{}p1", disk.device), format!("{}p2", disk.device));
    run("mkfs.ext4", &["-q", &first]);
    let point = disk.backing.with_file_name("mnt");
    fs::create_dir(&point).unwrap();
    run("mount", &[&first, point.to_str().unwrap()]);
    let mounted = Mounted(point);
    assert!(forbidden(&look(&disk.device).unwrap()).contains(&format!("{name}p1 on it is mounted")));
    let neighbour = look(&second).unwrap();
    let id = neighbour.consent_id.clone().unwrap();
    guard().permit_write(&neighbour, &[id]).unwrap();
    drop(mounted);
}

/// Proves that a read-only device, and a file or device below a loop device, are refused.
#[test]
fn read_only_and_backing_devices_are_never_written() {
    let disk = Loop::new(&["--read-only"], |_| ());
    assert!(forbidden(&look(&disk.device).unwrap()).contains("read-only"));
    let name = disk.device.strip_prefix("/dev/").unwrap();
    assert!(
        forbidden(&look(disk.backing.to_str().unwrap()).unwrap()).contains(&format!("loop device {name}"))
    );

    let lower = Loop::new(&[], |_| ());
    let upper = run("losetup", &["--find", "--show", &lower.device]);
    let reasons = forbidden(&look(&lower.device).unwrap());
    run("losetup", &["--detach", &upper]);
    assert!(reasons.contains(&format!("is held by loop device {}", &upper[5..])), "{reasons}");
}

/// Proves the life of a `file:` target: created with its space, reused without consent, refused once changed.
#[test]
fn a_created_file_is_reused_without_consent() {
    let directory = directory();
    let path = directory.path().join("f");
    let text = format!("file:{},size=1m", path.display());
    let inspected = look(&text).unwrap();
    guard().check_write(&inspected, &[]).unwrap();
    assert!(!path.exists(), "looking and asking create nothing");
    let permit = guard().permit_write(&inspected, &[]).unwrap();
    assert_eq!(permit.address(), Address::Path(path.clone()));
    let blocks = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap());
    assert_eq!(blocks * 512, 1 << 20, "the space is reserved");
    assert!(
        matches!(look(&text).unwrap().classification(), Some(Classification::File(f)) if f.origin == Origin::OursUnclean)
    );
    assert!(matches!(
        guard().permit_write(permit.inspected(), &[permit.inspected().consent_id.clone().unwrap()]),
        Err(PermitError::Refused(GuardRefusal::InUse { .. }))
    ));
    // An engine writes.
    File::options().write(true).open(&path).unwrap().write_all_at(&[1; 4096], 0).unwrap();
    permit.recheck().unwrap();
    drop(permit);

    let again = look(&text).unwrap();
    guard().permit_write(&again, &[]).unwrap();
    guard().permit_read(&again).unwrap();
    let other_size = look(&text.replace("1m", "2m")).unwrap_err().to_string();
    assert!(other_size.contains("1048576 bytes, not 2097152"), "{other_size}");

    File::options().write(true).open(&path).unwrap().write_all_at(b"precious", 0).unwrap();
    let changed = look(&text).unwrap();
    let refusal = guard().permit_write(&changed, &[]).unwrap_err().to_string();
    assert!(refusal.contains("changed or copied since"), "{refusal}");
    guard().permit_write(&changed, &[changed.consent_id.clone().unwrap()]).unwrap();
}

/// Proves that after a kill a run's own file needs its ID, which the run's manifest has kept.
#[test]
fn after_a_kill_the_id_of_the_manifest_is_consent() {
    let directory = directory();
    let text = format!("file:{}/f,size=1m", directory.path().display());
    let permit = guard().permit_write(&look(&text).unwrap(), &[]).unwrap();
    let id = permit.inspected().describe()["consent_id"].as_str().unwrap().to_owned();
    // The lock ends with the process; forgetting the permit and dropping its lock stands for kill -9.
    let killed = std::mem::ManuallyDrop::new(permit);
    let found = look(&text).unwrap();
    let refusal = guard().check_write(&found, &[]).unwrap_err().to_string();
    assert!(refusal.contains("did not end cleanly"), "{refusal}");
    guard().check_write(&found, &[id]).unwrap();
    drop(std::mem::ManuallyDrop::into_inner(killed));
}

/// Proves that a file of somebody else needs its ID, stays theirs after a run, and that `file:` never takes it.
#[test]
fn a_foreign_file_needs_consent_each_time() {
    let directory = directory();
    let path = directory.path().join("data.img");
    fs::write(&path, [3; 8192]).unwrap();
    let inspected = look(path.to_str().unwrap()).unwrap();
    let id = inspected.consent_id.clone().unwrap();
    assert!(id.starts_with("data.img-"), "{id}");
    assert!(matches!(
        guard().check_write(&inspected, &[]),
        Err(GuardRefusal::ConsentNeeded { holds, .. }) if holds.contains("did not create")
    ));
    drop(guard().permit_write(&inspected, &[id]).unwrap());
    assert!(guard().check_write(&look(path.to_str().unwrap()).unwrap(), &[]).is_err());
    let taken = look(&format!("file:{},size=8k", path.display())).unwrap_err().to_string();
    assert!(taken.contains("did not create"), "{taken}");

    // Replaced by another file of the same name and size.
    fs::rename(&path, directory.path().join("old")).unwrap();
    fs::write(&path, [4; 8192]).unwrap();
    let replaced = look(path.to_str().unwrap()).unwrap();
    assert_ne!(replaced.consent_id, inspected.consent_id);
    let old_id = inspected.consent_id.clone().unwrap();
    assert!(matches!(
        guard().permit_write(&inspected, &[old_id]),
        Err(PermitError::Refused(GuardRefusal::Changed { .. }))
    ));
}

/// Proves one clear message with a hint for everything that is no target.
#[test]
fn what_is_no_target_is_refused() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    File::create(at("empty")).unwrap();
    let _listener = UnixListener::bind(at("socket")).unwrap();
    run("mkfifo", &[&at("fifo")]);
    for (text, words) in [
        (at("missing"), "does not exist"),
        (at("empty"), "is an empty file"),
        (format!("file:{},size=1m", at("empty")), "is an empty file"),
        (at(""), "is a directory"),
        (at("socket"), "is a socket"),
        (at("fifo"), "is a pipe"),
        ("/dev/null".to_owned(), "is a character device"),
        (format!("file:{},size=1m", at("no/where")), "cannot create a file in"),
        (format!("nbd+unix:///?socket={}", at("nobody")), "cannot connect"),
    ] {
        let message = full_text(&look(&text).expect_err(&text));
        assert!(message.contains(words) && message.contains("\nhint: "), "{text}: {message}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "nothing was created");
}

/// Proves that a file too large for its file system is refused at once and leaves nothing behind.
#[test]
fn a_full_file_system_is_told_at_once() {
    let directory = directory();
    run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", directory.path().to_str().unwrap()]);
    let mounted = Mounted(directory.path().to_owned());
    let inspected = look(&format!("file:{}/f,size=2m", directory.path().display())).unwrap();
    let error = guard().permit_write(&inspected, &[]).unwrap_err().to_string();
    let left = fs::read_dir(directory.path()).unwrap().count();
    drop(mounted);
    assert!(error.contains("no room for 2097152 bytes"), "{error}");
    assert_eq!(left, 0);
}

/// Proves size, block sizes and consent against nbdkit, also when it knows only the oldest option.
#[test]
fn an_nbd_export_is_measured_and_needs_consent() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let _writable = Nbdkit::start(
        at("a"),
        &["--filter=blocksize-policy", "memory", "64m", "blocksize-minimum=512", "blocksize-preferred=4096"],
    );
    let _read_only = Nbdkit::start(at("b"), &["--readonly", "--mask-handshake=1", "memory", "1m"]);

    let uri = format!("nbd+unix:///?socket={}", at("a"));
    let inspected = look(&uri).unwrap();
    assert_eq!(inspected.capacity_bytes, 64 << 20);
    assert_eq!(inspected.logical_block_size_bytes(), Some(512));
    assert_eq!(inspected.describe()["preferred_block_size_bytes"], 4096);
    assert_eq!(inspected.address(), Address::NbdUri(uri));
    let id = inspected.consent_id.clone().unwrap();
    assert!(id.starts_with("nbd-"), "{id}");
    assert!(matches!(guard().check_write(&inspected, &[]), Err(GuardRefusal::ConsentNeeded { .. })));
    guard().permit_write(&inspected, &[id]).unwrap().recheck().unwrap();

    let read_only = look(&format!("nbd+unix:///?socket={}", at("b"))).unwrap();
    assert_eq!(read_only.capacity_bytes, 1 << 20);
    assert!(forbidden(&read_only).contains("read-only"));
    guard().permit_read(&read_only).unwrap();
}

/// Proves that the description in the manifest names the device beyond its path.
#[test]
fn the_description_identifies_the_device() {
    let disk = Loop::new(&[], |backing| {
        run("mkswap", &[backing.to_str().unwrap()]);
    });
    let inspected = look(&disk.device).unwrap();
    let Some(Classification::BlockDevice { content: Some(content), .. }) = inspected.classification() else {
        panic!("a block device")
    };
    assert_eq!(content.signatures, [Signature::Swap]);
    let description = inspected.describe();
    assert_eq!(description["capacity_bytes"], SIZE);
    assert_eq!(description["device"]["kind"], "loop");
    assert_eq!(description["device"]["backing_file"], disk.backing.to_str().unwrap());
    assert!(description["device"]["diskseq"].is_u64());
    assert_eq!(description["consent_id"], inspected.consent_id.clone().unwrap());
}
