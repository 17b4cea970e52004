//! File system on a target for the duration of a case.

use diagnostic::{Problem, text_with_causes};
use plan::Filesystem;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the mount point in the case's directory.
const MOUNT_POINT: &str = "filesystem";
/// Name of the loaded file.
const FILE_NAME: &str = "arraylab.data";
/// The file is a whole number of these, so that any block size of a direct I/O up to 1 MiB reaches its end.
const FILE_UNIT_BYTES: u64 = 1 << 20;
/// A smaller file is no load of a file system.
const FILE_LEAST_BYTES: u64 = 4 * FILE_UNIT_BYTES;
/// Attempts to unmount a file system that is still in use.
const UNMOUNT_ATTEMPTS: u32 = 20;
const UNMOUNT_PAUSE: std::time::Duration = std::time::Duration::from_millis(250);

/// A mounted file system with the file that is loaded. Dropping it unmounts it.
#[derive(Debug)]
pub(crate) struct Mounted {
    mount_point: PathBuf,
    pub file: PathBuf,
    pub file_bytes: u64,
    is_mounted: bool,
}

impl Mounted {
    /// Makes the file system on a free device, mounts it in `directory`, and makes room for the file. Calls `note`
    /// with the device and its mount point before mounting.
    pub fn make(
        wanted: &Filesystem,
        device_path: &Path,
        directory: &Path,
        note: &mut dyn FnMut(&Path, &Path) -> Result<(), Problem>,
    ) -> Result<Mounted, Problem> {
        let device = device_path.display().to_string();
        // The guard has looked at the device and the user has consented: what is on it is to be overwritten.
        let force: &[&str] = match wanted.kind.as_str() {
            "ext4" => &["-q", "-F"],
            _ => &["-q", "-f"],
        };
        let mut words: Vec<&str> = force.to_vec();
        words.extend(wanted.options.mkfs.iter().map(String::as_str));
        words.push(&device);
        succeed(&format!("mkfs.{}", wanted.kind), &words)?;

        let mount_point = directory.join(MOUNT_POINT);
        std::fs::create_dir_all(&mount_point).map_err(|error| {
            Problem::new(format!("cannot create {}", mount_point.display())).caused_by(error)
        })?;
        note(device_path, &mount_point)?;
        let shown = mount_point.display().to_string();
        let options = wanted.options.mount.join(",");
        let mut words = vec!["-t", wanted.kind.as_str()];
        if !options.is_empty() {
            words.extend(["-o", options.as_str()]);
        }
        words.extend([device.as_str(), shown.as_str()]);
        succeed("mount", &words)?;
        let file = mount_point.join(FILE_NAME);
        let mut mounted = Mounted { mount_point, file, file_bytes: 0, is_mounted: true };
        mounted.file_bytes = mounted.room(wanted.options.fill_percent)?;
        mounted.reserve().map_err(|error| {
            Problem::new(format!("cannot make {}", mounted.file.display())).caused_by(error)
        })?;
        Ok(mounted)
    }

    fn room(&self, fill_percent: u8) -> Result<u64, Problem> {
        let failed = |error: rustix::io::Errno| {
            Problem::new(format!("cannot ask {} for its size", self.mount_point.display())).caused_by(error)
        };
        let space = rustix::fs::statvfs(&self.mount_point).map_err(failed)?;
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        let share_bytes = (u128::from(free_bytes) * u128::from(fill_percent) / 100) as u64;
        let file_bytes = share_bytes - share_bytes % FILE_UNIT_BYTES;
        if file_bytes < FILE_LEAST_BYTES {
            return Err(Problem::new(format!(
                "{fill_percent} % of the file system are {}, too few for a file to load",
                units::human_bytes(share_bytes)
            )));
        }
        Ok(file_bytes)
    }

    fn reserve(&self) -> std::io::Result<()> {
        let file: File = OpenOptions::new().write(true).create_new(true).open(&self.file)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, self.file_bytes)?;
        // The first block is written, so that an error of the device shows here.
        file.write_all_at(&[0; 4096], 0)?;
        file.sync_all()
    }

    /// Unmounts it. What cannot be unmounted is said, and the guard refuses the device until it is.
    pub fn unmount(mut self) -> Result<(), Problem> {
        self.try_unmount()
    }

    fn try_unmount(&mut self) -> Result<(), Problem> {
        let shown = self.mount_point.display().to_string();
        let mut cause = None;
        for attempt in 0..UNMOUNT_ATTEMPTS {
            match succeed("umount", &[&shown]) {
                Ok(()) => {
                    self.is_mounted = false;
                    // An empty directory harms nobody.
                    let _ = std::fs::remove_dir(&self.mount_point);
                    return Ok(());
                }
                Err(error) => cause = Some(error),
            }
            if attempt + 1 < UNMOUNT_ATTEMPTS {
                std::thread::sleep(UNMOUNT_PAUSE);
            }
        }
        let cause = cause.map_or_else(String::new, |cause: Problem| text_with_causes(&cause));
        Err(format!("{cause}; unmount {shown} by hand").into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            // Only on the way out of an error, which is what is told.
            let _ = self.try_unmount();
        }
    }
}

/// Runs a program that must succeed.
fn succeed(program: &str, words: &[&str]) -> Result<(), Problem> {
    let output = Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Problem::new(format!("cannot run {program}")).caused_by(error))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr: Vec<_> =
        String::from_utf8_lossy(&output.stderr).split_whitespace().map(str::to_owned).collect();
    Err(format!("{program} {} failed ({}): {}", words.join(" "), output.status, stderr.join(" ")).into())
}
