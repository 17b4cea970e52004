//! Linux software RAID: `mdadm` (mdadm(8)).
//!
//! Creating an array overwrites its members, so each member needs the user's consent by its ID, as a target does.
//! `--assume-clean` is never used: a parity that was not computed makes a first rebuild of garbage.

use crate::command::{Answer, run};
use crate::error::MissingConsents;
use crate::names::PREFIX;
use crate::shipped::request::Request;
use crate::shipped::volume::{Creation, Permission, Volume, VolumeState, VolumeTool};
use crate::{CommandLimits, DriverError, Options};
use std::fs;
use std::path::{Path, PathBuf};

const HINT: &str = "expected is the output of mdadm --detail";

/// The tool.
pub(crate) struct Mdadm {
    tool: PathBuf,
    limits: CommandLimits,
}

impl Mdadm {
    pub(crate) fn new(
        _options: &mut Options,
        tools: Option<&str>,
        limits: CommandLimits,
    ) -> Result<(Self, String), DriverError> {
        let tool = Options::tool(tools, &["/usr/sbin", "/sbin"], "mdadm");
        Ok((Mdadm { tool, limits }, "md".to_owned()))
    }

    fn run(&self, arguments: &[&str]) -> Result<Answer, DriverError> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        run(&self.tool, &arguments, b"", self.limits)?.successful()
    }

    fn detail(&self, device: &str, name: &str) -> Result<Volume, DriverError> {
        let answer = self.run(&["--detail", device])?;
        let value = |key: &str| {
            answer.stdout.lines().find_map(|line| {
                let (found, value) = line.split_once(" : ")?;
                (found.trim() == key).then(|| value.trim().to_owned())
            })
        };
        let state = value("State").ok_or_else(|| answer.not_understood("no `State`", HINT))?;
        let uuid = value("UUID").ok_or_else(|| answer.not_understood("no `UUID`", HINT))?;
        let percent = ["Resync Status", "Rebuild Status", "Reshape Status", "Check Status"]
            .into_iter()
            .find_map(|key| value(key)?.split('%').next()?.trim().parse().ok());
        Ok(Volume {
            id: device.to_owned(),
            name: name.to_owned(),
            raid: value("Raid Level").and_then(|level| level.strip_prefix("raid")?.parse().ok()),
            // In KiB: `12582912 (12.00 GiB 12.88 GB)`.
            size_bytes: value("Array Size")
                .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)),
            segment_bytes: value("Chunk Size").and_then(|size| units::parse_bytes(&size).ok()),
            write_cache: None,
            drives: answer.stdout.lines().filter_map(member).collect(),
            device: Some(device.into()),
            identity: Some(uuid),
            state: array_state(&state, percent),
        })
    }
}

/// `0  8  16  0  active sync  /dev/sdb`
fn member(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_row = words.len() >= 5 && words[..3].iter().all(|w| *w == "-" || w.parse::<u32>().is_ok());
    words.last().filter(|word| is_row && word.starts_with('/')).map(|word| (*word).to_owned())
}

fn array_state(state: &str, percent: Option<f64>) -> VolumeState {
    let words: Vec<&str> = state.split(',').map(str::trim).collect();
    let works =
        |word: &str| ["resyncing", "recovering", "reshaping", "checking"].iter().any(|w| word.starts_with(w));
    if words.iter().any(|&word| works(word)) {
        // `degraded` belongs to a new RAID 5: mdadm builds its last member as a rebuild.
        VolumeState::Busy { percent, state: state.to_owned() }
    } else if words.iter().all(|word| matches!(*word, "clean" | "active" | "active-idle" | "write-pending")) {
        VolumeState::Ready
    } else {
        VolumeState::Unusable(state.to_owned())
    }
}

/// A drive without links, so that `/dev/disk/by-id/…` is found again as `/dev/sdb`.
fn resolved(drive: &str) -> PathBuf {
    fs::canonicalize(drive).unwrap_or_else(|_| drive.into())
}

impl VolumeTool for Mdadm {
    const NOUN: &'static str = "array";
    const HAS_WRITE_CACHE: bool = false;
    const INITIALISES: bool = false;
    const DIFFERENCE_HINT: &'static str =
        "md rounds to whole chunks and keeps room for its metadata; `mdadm --detail` says what it made";

    fn unsupported(&self, request: &Request) -> Option<String> {
        // mdadm(8), --raid-devices; it would make some of these with fewer drives when forced.
        let (least, level) = match request.raid {
            0 | 1 | 10 => (2, request.raid),
            5 => (3, 5),
            _ => (4, 6),
        };
        let drives = request.drives.len();
        if drives < least {
            return Some(format!("RAID {level} needs at least {least} drives, not {drives}"));
        }
        None
    }

    fn check_drives(&self, request: &Request, permission: &Permission<'_>) -> Result<(), DriverError> {
        let mut missing = MissingConsents::default();
        for drive in &request.drives {
            missing.collect(permission.protection.check_consent(Path::new(drive), permission.consents))?;
        }
        missing.finish()
    }

    fn overwritten_by_delete<'a>(&self, volume: &'a Volume) -> &'a [String] {
        &volume.drives
    }

    /// Only arrays whose name begins as ours do; those of others hold their members, which the guard sees.
    fn list(&self) -> Result<Vec<Volume>, DriverError> {
        let answer = self.run(&["--detail", "--scan"])?;
        let mut volumes = Vec::new();
        for line in answer.stdout.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let (Some("ARRAY" | "INACTIVE-ARRAY"), Some(device)) = (words.next(), words.next()) else {
                // Spares and member lists follow an array on lines of their own, indented.
                if line.starts_with(char::is_whitespace) {
                    continue;
                }
                return Err(answer.not_understood("a line that is no ARRAY", HINT));
            };
            // `name=host:NAME`; the host is left out where --homehost said so.
            let name = words.find_map(|word| word.strip_prefix("name="));
            let name = name.map(|name| name.rsplit_once(':').map_or(name, |(_, name)| name));
            if let Some(name) = name.filter(|name| name.starts_with(PREFIX)) {
                volumes.push(self.detail(device, name)?);
            }
        }
        Ok(volumes)
    }

    fn delete(&self, volume: &Volume, permission: &Permission<'_>) -> Result<(), DriverError> {
        // A member that the user did not name keeps its array: nothing is stopped.
        for drive in &volume.drives {
            permission.protection.check_consent(Path::new(drive), permission.consents)?;
        }
        self.run(&["--stop", &volume.id])?;
        for drive in &volume.drives {
            permission.protection.check_unused(Path::new(drive))?;
            self.run(&["--zero-superblock", drive])?;
        }
        Ok(())
    }

    fn create(
        &self,
        name: &str,
        request: &Request,
        permission: &Permission<'_>,
    ) -> Result<Creation, DriverError> {
        for drive in &request.drives {
            permission.protection.check_unused(Path::new(drive))?;
        }
        let device = format!("/dev/md/{name}");
        let level = format!("--level={}", request.raid);
        let count = format!("--raid-devices={}", request.drives.len());
        let named = format!("--name={name}");
        let chunk = format!("--chunk={}K", request.segment_bytes >> 10);
        let size = request.size_bytes.map(|bytes| {
            // Of each member, in KiB, whole chunks.
            let share = bytes.div_ceil(data_drives(request));
            format!("--size={}K", share.next_multiple_of(request.segment_bytes) >> 10)
        });
        let mut arguments = vec!["--create", &device, "--run", "--metadata=1.2", &named, &level, &count];
        if request.raid != 1 {
            arguments.push(&chunk);
        }
        if request.raid != 0 {
            // A bitmap costs writes; whether mdadm adds one by itself depends on the size and the version.
            arguments.push("--bitmap=none");
            // mdadm takes no size for level 0.
            arguments.extend(size.as_deref());
        }
        let drives: Vec<String> = request.drives.iter().map(|d| resolved(d).display().to_string()).collect();
        arguments.extend(drives.iter().map(String::as_str));
        self.run(&arguments)?;
        if let (0, Some(bytes)) = (request.raid, request.size_bytes) {
            let array_size = format!("--array-size={}K", bytes >> 10);
            self.run(&["--grow", &device, &array_size])?;
        }
        Ok(Creation::Created)
    }

    fn initialise(&self, _volume: &Volume) -> Result<(), DriverError> {
        Ok(())
    }

    fn state(&self, volume: &Volume) -> Result<VolumeState, DriverError> {
        let now = self.detail(&volume.id, &volume.name)?.state;
        if let VolumeState::Busy { state, .. } = &now
            && state.contains("PENDING")
        {
            // An array that was assembled read-only resynchronises only once it may write.
            self.run(&["--readwrite", &volume.id])?;
        }
        Ok(now)
    }
}

fn data_drives(request: &Request) -> u64 {
    let drives = request.drives.len() as u64;
    match request.raid {
        0 => drives,
        1 => 1,
        5 => drives - 1,
        6 => drives - 2,
        // md's RAID 10 may have an odd number of drives: each chunk is on two of them.
        _ => drives / 2,
    }
}
