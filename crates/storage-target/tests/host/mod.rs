//! A host under construction, for tests of the guard: sysfs, configfs, mounts, swap and processes.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use storage_target::{BlockDevice, DeviceNumber, Roots, classify_block_device};

const SECTORS: &str = "2097152";
pub const WWN: &str = "naa.600a098038304437415d4b6a59684a52";

/// A host under construction: sysfs, mounts and swap.
pub struct Host {
    pub directory: tempfile::TempDir,
    mounts: String,
    swaps: String,
}

impl Host {
    pub fn new() -> Host {
        let directory = tempfile::tempdir().unwrap();
        for part in ["sys/block", "sys/class/block", "sys/dev/block", "proc/self", "dev/mapper"] {
            fs::create_dir_all(directory.path().join(part)).unwrap();
        }
        let host = Host { directory, mounts: String::new(), swaps: "Filename\n".to_owned() };
        host.write_proc();
        host
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    pub fn roots(&self) -> Roots {
        Roots { sysfs: self.path("sys"), proc: self.path("proc"), dev: self.path("dev") }
    }

    fn write_proc(&self) {
        fs::write(self.path("proc/self/mountinfo"), &self.mounts).unwrap();
        fs::write(self.path("proc/swaps"), &self.swaps).unwrap();
    }

    fn register(&self, name: &str, directory: &Path, number: &str, attributes: &[(&str, &str)]) {
        for (attribute, value) in [("dev", number), ("size", SECTORS), ("ro", "0")].iter().chain(attributes) {
            let path = directory.join(attribute);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        fs::create_dir_all(directory.join("holders")).unwrap();
        symlink(directory, self.path("sys/class/block").join(name)).unwrap();
        symlink(directory, self.path("sys/dev/block").join(number)).unwrap();
        fs::write(self.path("dev").join(name), "").unwrap();
    }

    /// A whole device at `place` (`5:0:0:0` for SCSI), whose `device/…` attributes are those of the place.
    pub fn disk(&self, name: &str, number: &str, place: &str, attributes: &[(&str, &str)]) -> &Self {
        let at = self.path("sys/devices").join(place);
        let directory = at.join("block").join(name);
        fs::create_dir_all(&directory).unwrap();
        symlink(&at, directory.join("device")).unwrap();
        self.register(name, &directory, number, attributes);
        symlink(&directory, self.path("sys/block").join(name)).unwrap();
        self
    }

    pub fn partition(&self, of: &str, name: &str, number: &str, start: &str, size: &str) -> &Self {
        let directory = self.sysfs(of).join(name);
        let attributes = [("partition", "1"), ("start", start), ("size", size)];
        self.register(name, &directory, number, &attributes);
        self
    }

    /// A device made from others.
    pub fn over(&self, name: &str, number: &str, attributes: &[(&str, &str)], slaves: &[&str]) -> &Self {
        self.disk(name, number, &format!("virtual/{name}"), attributes);
        fs::create_dir_all(self.sysfs(name).join("slaves")).unwrap();
        for slave in slaves {
            symlink(self.sysfs(slave), self.sysfs(name).join("slaves").join(slave)).unwrap();
            symlink(self.sysfs(name), self.sysfs(slave).join("holders").join(name)).unwrap();
        }
        self
    }

    pub fn mount(mut self, number: &str, source: &str, at: &str) -> Host {
        self.mounts.push_str(&format!("30 27 {number} / {at} rw - ext4 {source} rw\n"));
        self.write_proc();
        self
    }

    pub fn swap(mut self, node: &str) -> Host {
        self.swaps.push_str(&format!("{node} partition\t4\t0\t-2\n"));
        self.write_proc();
        self
    }

    pub fn sysfs(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.path("sys/class/block").join(name)).unwrap()
    }

    pub fn device(&self, name: &str) -> BlockDevice {
        let number = fs::read_to_string(self.sysfs(name).join("dev")).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let number = DeviceNumber { major: major.parse().unwrap(), minor: minor.parse().unwrap() };
        classify_block_device(&self.roots(), number).unwrap()
    }

    pub fn reasons(&self, name: &str) -> Vec<String> {
        self.device(name).reasons_not_to_write()
    }

    /// `/dev/sdg` and `/dev/sdh`: one LUN by two ports, without multipathd.
    pub fn two_paths() -> Host {
        let host = Host::new();
        host.disk("sdg", "8:96", "host5/target5:0:0/5:0:0:0", &[("device/wwid", WWN)]);
        host.disk("sdh", "8:112", "host6/target6:0:0/6:0:0:0", &[("device/wwid", WWN)]);
        host
    }

    /// A process that has a device node open, with the flags of `fdinfo` (octal).
    pub fn process(&self, number: u32, name: &str, node: &str, flags: &str) -> &Self {
        let process = self.path("proc").join(number.to_string());
        fs::create_dir_all(process.join("fd")).unwrap();
        fs::create_dir_all(process.join("fdinfo")).unwrap();
        fs::write(process.join("comm"), format!("{name}\n")).unwrap();
        fs::write(process.join("status"), format!("Name:\t{name}\nPPid:\t1\n")).unwrap();
        // As the kernel shows it: a link to a path of its own, here one that leads nowhere on the testing host.
        symlink(format!("/dev/{node}"), process.join("fd/5")).unwrap();
        fs::write(process.join("fdinfo/5"), format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t26\n")).unwrap();
        self
    }

    /// An attribute under `/sys/kernel/config`.
    pub fn config(&self, path: &str, value: &str) -> &Self {
        let path = self.path("sys/kernel/config").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
        self
    }
}
