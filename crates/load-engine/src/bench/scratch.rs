//! Scratch file and loop device of the benchmark, removed on drop.
//!
//! Both go with their values.

use diagnostic::Problem;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::FILE_BYTES;
use crate::RingError;

/// A file of our own that goes with us.
pub(super) struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn create(directory: &Path) -> Result<Scratch, RingError> {
        let path = directory.join(format!("arraylab-bench-ring-{}", std::process::id()));
        let scratch = Scratch { path };
        let written = File::create_new(&scratch.path).and_then(|mut file| {
            // Not zeros, and not a hole: a page of zeros would be read from cache.
            let block: Vec<u8> =
                (0..1u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            (0..FILE_BYTES >> 20).try_for_each(|_| file.write_all(&block))
        });
        written.map(|()| scratch).map_err(|source| RingError::Target {
            action: "write",
            target: directory.display().to_string(),
            source,
            hint: "name a directory with 512 MiB of room",
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A loop device over a file, with direct I/O.
pub(super) struct Loop {
    pub path: PathBuf,
}

impl Loop {
    pub fn attach(file: &Path) -> Result<Loop, Problem> {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--read-only", "--direct-io=on"])
            .arg(file)
            .output()
            .map_err(|error| Problem::new("no loop device: losetup did not start").caused_by(error))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let cause = message.lines().next().unwrap_or("losetup failed");
            return Err(Problem::new(format!("no loop device: {cause}")));
        }
        Ok(Loop { path: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
