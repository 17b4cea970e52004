//! A disk that fills, and a file system that cannot be written.

mod common;

use common::{manifest, new_cases, outcome, sample};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Run, RunState, StoreError};

/// A small file system of its own, which only root can mount; without that right these tests fail, saying so.
struct SmallDisk {
    path: PathBuf,
    _directory: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// One disk at a time: a process that another test is just starting holds a copy of this test's writer lock until it
/// becomes `mount`, and a run would be in use.
static ALONE: Mutex<()> = Mutex::new(());

impl SmallDisk {
    fn new() -> SmallDisk {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_path_buf();
        mount(&["-t", "tmpfs", "-o", "size=1m", "none"], &path);
        SmallDisk { path, _directory: directory, _alone: alone }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, so that a failed test that still holds files leaves no mount behind.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn mount(arguments: &[&str], path: &Path) {
    let status = Command::new("mount").args(arguments).arg(path).status().expect("this test needs `mount`");
    assert!(status.success(), "this test needs the right to mount a tmpfs (run it as root)");
}

/// Proves that a full disk is an error of its own, that it damages nothing, and that the run resumes once there is room.
#[test]
fn a_full_disk_stops_the_run_and_room_resumes_it() {
    let disk = SmallDisk::new();
    let directory = disk.path.join("run");
    let ballast = disk.path.join("ballast");
    let mut run = Run::create(&directory, &manifest(), &new_cases(3)).unwrap();
    run.begin_case(0).unwrap();
    run.finish_case(0, &outcome(Vec::new())).unwrap();
    run.begin_case(1).unwrap();
    fs::write(&ballast, vec![1u8; 500 << 10]).unwrap();
    let error = (0..10_000).find_map(|number| run.append_sample(1, "main", &sample(number)).err());
    let error = error.expect("a disk of 1 MiB holds no 10,000 samples");
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("is full"));
    // Reading goes on, and so does a process that tries again later.
    assert_eq!(run.results().unwrap().len(), 1);
    let failure = run.finish_case(1, &outcome(run.totals_from_samples(1).unwrap()));
    drop(run);
    fs::remove_file(&ballast).unwrap();

    let mut run = Run::open(&directory).unwrap();
    assert_eq!(run.results().unwrap().len(), if failure.is_ok() { 2 } else { 1 });
    for index in run.results().unwrap().len() as u32..3 {
        run.begin_case(index).unwrap();
        run.append_sample(index, "main", &sample(1)).unwrap();
        run.finish_case(index, &outcome(run.totals_from_samples(index).unwrap())).unwrap();
    }
    assert_eq!(run.results().unwrap().len(), 3);
    drop(run);
    let database = rusqlite::Connection::open(directory.join("run.sqlite")).unwrap();
    let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// Proves that a run that cannot even be created on a full disk says that the disk is full, and leaves nothing that
/// stands in the way of another try.
#[test]
fn a_full_disk_at_the_start_can_be_tried_again() {
    let disk = SmallDisk::new();
    let directory = disk.path.join("run");
    fs::write(disk.path.join("ballast"), vec![1u8; 1000 << 10]).unwrap();
    let error = Run::create(&directory, &manifest(), &new_cases(3)).unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    fs::remove_file(disk.path.join("ballast")).unwrap();
    Run::create(&directory, &manifest(), &new_cases(3)).expect("there is room now");
}

/// Proves that a finished run and an interrupted one can be read on a read-only file system.
#[test]
fn a_read_only_file_system_is_read() {
    let disk = SmallDisk::new();
    // The name needs escaping in the URI by which SQLite is told that nobody writes.
    let directory = disk.path.join("a run?50%");
    let mut run = Run::create(&directory, &manifest(), &new_cases(1)).unwrap();
    run.begin_case(0).unwrap();
    run.append_sample(0, "main", &sample(1)).unwrap();
    run.finish_case(0, &outcome(run.totals_from_samples(0).unwrap())).unwrap();
    let copy = disk.path.join("copy");
    fs::create_dir(&copy).unwrap();
    // A copy of the files as they are while the run is open is what a killed process leaves.
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    drop(run);
    mount(&["-o", "remount,ro"], &disk.path);
    for directory in [&directory, &copy] {
        let reader = Run::open_read_only(directory).unwrap();
        assert_eq!(reader.results().unwrap().len(), 1);
        assert_eq!(reader.samples(0).unwrap().len(), 1);
        assert_eq!(reader.status().unwrap().state, RunState::Interrupted);
        assert!(Run::open(directory).is_err());
    }
}
