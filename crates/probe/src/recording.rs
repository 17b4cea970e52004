//! Recording of what hosts do with their block devices, by the minute: the file that `arraylab record` writes.
//!
//! A line of JSON says how it was made; each further line is one device in one minute. Lines are only added: what ends a recording costs
//! the minute under way.

use crate::diskstats::{DiskStats, parse_line};
use diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Version of the format.
pub const RECORDING_VERSION: u32 = 1;
/// Time of a line.
const MINUTE_S: u64 = 60;
/// Time between two readings of the counters.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest time without a look at whether to stop.
const STOP_LOOK: Duration = Duration::from_millis(100);
/// Bounds of the classes of rates in I/Os a second: below 1, below 2, below 4, …
const RATE_CLASSES: usize = 24;
/// Most devices of a recording.
const DEVICES_LIMIT: usize = 4096;

/// First line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingHead {
    /// Version of the format.
    pub recording: u32,
    /// Seconds between two readings.
    pub interval_s: u64,
    /// Names are pseudonyms.
    pub is_redacted: bool,
    /// Facts that the counters do not show.
    pub not_known: Vec<String>,
}

/// One direction of a device in a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedDirection {
    /// I/Os that were completed.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os that were merged into others: neighbours of them.
    pub merges: u64,
    /// Time that they took together, in milliseconds.
    pub time_ms: u64,
    /// Most I/Os of a second.
    pub most_iops: f64,
}

/// One device in one minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedMinute {
    /// The device, or its pseudonym.
    pub device: String,
    /// Seconds since the recording began.
    pub at_s: u64,
    /// Seconds that were counted; fewer than 60 in the last minute.
    pub seconds: f64,
    /// Reads.
    pub read: RecordedDirection,
    /// Writes.
    pub write: RecordedDirection,
    /// Flushes.
    pub flushes: u64,
    /// Share of the time with an I/O under way.
    pub busy: f64,
    /// I/Os under way in the mean.
    pub queue_depth: f64,
    /// Seconds by their rate of all I/Os: below 1 a second, below 2, below 4, …
    pub seconds_by_iops: Vec<u32>,
}

/// Settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordSettings {
    /// Devices by name, as `sda`; all disks where empty.
    pub devices: Vec<String>,
    /// Its length.
    pub length: Duration,
    /// Pseudonyms instead of names.
    pub is_redacted: bool,
    /// Directory of procfs, normally `/proc`.
    pub proc: PathBuf,
    /// Directory of sysfs, normally `/sys`.
    pub sysfs: PathBuf,
}

/// Recordings that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The counters cannot be read.
    #[error("cannot read `{}`", path.display())]
    Counters {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A device does not exist.
    #[error("there is no block device `{name}`")]
    NoDevice {
        /// Name as it was given.
        name: String,
        /// Devices that exist.
        known: String,
    },
    /// The file cannot be written.
    #[error("cannot write the recording")]
    Write(#[from] std::io::Error),
}

impl Diagnostic for RecordError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            RecordError::Counters { .. } => Some("/proc must be mounted".into()),
            RecordError::NoDevice { known, .. } => Some(format!("there are {known}").into()),
            RecordError::Write(_) => None,
        }
    }
}

/// Records until the time is over or `is_over` says so. Lines go to `out` by the minute.
pub fn record(
    settings: &RecordSettings,
    out: &mut dyn Write,
    is_over: &dyn Fn() -> bool,
) -> Result<(), RecordError> {
    let mut before = read(settings)?;
    let names = chosen(settings, &before)?;
    let head = RecordingHead {
        recording: RECORDING_VERSION,
        interval_s: INTERVAL.as_secs(),
        is_redacted: settings.is_redacted,
        not_known: [
            "sizes around their mean",
            "addresses, so order and working set",
            "latencies around their mean",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    write_line(out, &head)?;
    let began = Instant::now();
    let mut minutes: BTreeMap<String, RecordedMinute> = BTreeMap::new();
    let (mut minute, mut last) = (0, began);
    let mut readings = 0_u32;
    loop {
        readings += 1;
        let due = began + INTERVAL * readings;
        let end = began + settings.length;
        while Instant::now() < due.min(end) && !is_over() {
            std::thread::sleep(due.min(end).saturating_duration_since(Instant::now()).min(STOP_LOOK));
        }
        let now = Instant::now();
        let after = read(settings)?;
        let elapsed_s = now.duration_since(last).as_secs_f64();
        for (name, pseudonym) in &names {
            if let (Some(before), Some(after)) = (before.get(name), after.get(name)) {
                let own = minutes
                    .entry(name.clone())
                    .or_insert_with(|| RecordedMinute::new(pseudonym.clone(), minute * MINUTE_S));
                own.add(before, after, elapsed_s);
            }
        }
        (before, last) = (after, now);
        let is_end = now >= end || is_over();
        let in_minute = now.duration_since(began).as_secs() / MINUTE_S;
        if in_minute > minute || is_end {
            for finished in std::mem::take(&mut minutes).values_mut() {
                finished.close();
                write_line(out, finished)?;
            }
            out.flush()?;
            minute = in_minute;
        }
        if is_end {
            return Ok(());
        }
    }
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<(), RecordError> {
    let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")?;
    Ok(())
}

fn read(settings: &RecordSettings) -> Result<BTreeMap<String, DiskStats>, RecordError> {
    let path = settings.proc.join("diskstats");
    let text = std::fs::read_to_string(&path).map_err(|source| RecordError::Counters { path, source })?;
    let lines = text.lines().filter_map(parse_line).take(DEVICES_LIMIT);
    Ok(lines.map(|line| (line.name.to_owned(), line.stats)).collect())
}

/// Devices with the names that they get.
fn chosen(
    settings: &RecordSettings,
    known: &BTreeMap<String, DiskStats>,
) -> Result<Vec<(String, String)>, RecordError> {
    let wanted: Vec<String> = if settings.devices.is_empty() {
        known.keys().filter(|name| is_disk(&settings.sysfs, name)).cloned().collect()
    } else {
        settings.devices.iter().map(|name| name.trim_start_matches("/dev/").to_owned()).collect()
    };
    if let Some(name) = wanted.iter().find(|name| !known.contains_key(*name)) {
        let disks: Vec<&str> =
            known.keys().filter(|name| is_disk(&settings.sysfs, name)).map(String::as_str).collect();
        return Err(RecordError::NoDevice { name: name.clone(), known: disks.join(", ") });
    }
    let named = |(index, name): (usize, String)| {
        let pseudonym = if settings.is_redacted { format!("disk-{}", index + 1) } else { name.clone() };
        (name, pseudonym)
    };
    Ok(wanted.into_iter().enumerate().map(named).collect())
}

/// Whole disks that lie on no other device: what is above them is counted in them.
fn is_disk(sysfs: &Path, name: &str) -> bool {
    let directory = sysfs.join("block").join(name.replace('/', "!"));
    let is_made = ["loop", "ram", "zram", "sr", "fd"].iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let lies_on_others =
        std::fs::read_dir(directory.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
    directory.is_dir() && !is_made && !lies_on_others
}

impl RecordedMinute {
    fn new(device: String, at_s: u64) -> RecordedMinute {
        RecordedMinute {
            device,
            at_s,
            seconds: 0.0,
            read: RecordedDirection::default(),
            write: RecordedDirection::default(),
            flushes: 0,
            busy: 0.0,
            queue_depth: 0.0,
            seconds_by_iops: vec![0; RATE_CLASSES],
        }
    }

    /// Adds what was counted between two readings; a device that began to count anew adds nothing.
    fn add(&mut self, before: &DiskStats, after: &DiskStats, elapsed_s: f64) {
        let grown = |before: u64, after: u64| after.saturating_sub(before);
        let mut ios = 0;
        for (own, before, after) in
            [(&mut self.read, before.read, after.read), (&mut self.write, before.write, after.write)]
        {
            let counted = grown(before.ios, after.ios);
            ios += counted;
            own.ios += counted;
            own.bytes += 512 * grown(before.sectors, after.sectors);
            own.merges += grown(before.merges, after.merges);
            own.time_ms += grown(before.ticks_ms, after.ticks_ms);
            own.most_iops = own.most_iops.max(counted as f64 / elapsed_s.max(1e-3));
        }
        self.flushes += grown(before.flush_ios, after.flush_ios);
        self.seconds += elapsed_s;
        // Sums until the minute is closed.
        self.busy += grown(before.busy_ticks_ms, after.busy_ticks_ms) as f64 / 1e3;
        self.queue_depth += grown(before.queue_ticks_ms, after.queue_ticks_ms) as f64 / 1e3;
        let rate = ios as f64 / elapsed_s.max(1e-3);
        let class = (1..RATE_CLASSES).take_while(|class| rate >= (1_u64 << (class - 1)) as f64).count();
        self.seconds_by_iops[class] += 1;
    }

    fn close(&mut self) {
        let seconds = self.seconds.max(1e-3);
        self.busy = (self.busy / seconds).min(1.0);
        self.queue_depth /= seconds;
        while self.seconds_by_iops.last() == Some(&0) {
            self.seconds_by_iops.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn stats(reads: u64, writes: u64) -> String {
        format!(
            "   8 0 sda {reads} 0 {} {reads} {writes} 0 {} {writes} 0 {} {} 0 0 0 0 7 7\n   7 0 loop0 1 0 8 1 0 0 0 0 0 1 1\n",
            reads * 16,
            writes * 8,
            reads / 2,
            reads + writes
        )
    }

    /// Proves that a recording counts what the counters grow by, names no device unless asked to, and leaves out loop devices; and that one
    /// that is stopped has its last minute.
    #[test]
    fn recordings_count_what_grows() {
        let directory = tempfile::tempdir().unwrap();
        let (proc, sysfs) = (directory.path().join("proc"), directory.path().join("sys"));
        std::fs::create_dir_all(&proc).unwrap();
        for name in ["sda", "loop0"] {
            std::fs::create_dir_all(sysfs.join("block").join(name)).unwrap();
        }
        std::fs::write(proc.join("diskstats"), stats(100, 50)).unwrap();
        let mut settings = RecordSettings {
            devices: Vec::new(),
            length: Duration::from_secs(3600),
            is_redacted: true,
            proc: proc.clone(),
            sysfs,
        };
        let looks = Cell::new(0);
        let mut out = Vec::new();
        record(&settings, &mut out, &|| {
            looks.set(looks.get() + 1);
            // The counters grow before the first reading; the second look ends the recording.
            std::fs::write(proc.join("diskstats"), stats(1100, 150)).unwrap();
            looks.get() > 1
        })
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let head: RecordingHead = serde_json::from_str(lines[0]).unwrap();
        assert!(head.is_redacted && head.recording == RECORDING_VERSION);
        assert_eq!(lines.len(), 2, "{text}");
        let minute: RecordedMinute = serde_json::from_str(lines[1]).unwrap();
        assert_eq!((minute.device.as_str(), minute.read.ios, minute.write.ios), ("disk-1", 1000, 100));
        assert_eq!((minute.read.bytes, minute.write.bytes), (1000 * 8192, 100 * 4096));
        assert_eq!(minute.seconds_by_iops.iter().sum::<u32>(), 1);
        assert!(!text.contains("sda"));
        settings.devices = vec!["/dev/sdz".into()];
        let refused = diagnostic::full_text(&record(&settings, &mut Vec::new(), &|| true).unwrap_err());
        assert!(refused.contains("`sdz`") || refused.contains("sdz"), "{refused}");
        assert!(refused.contains("sda"), "{refused}");
    }
}
