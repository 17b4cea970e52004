//! The health of drives: temperatures from hwmon, SMART counters from `nvme` or `smartctl` where installed.

use super::process::Runner;
use super::{CollectError, CollectedValue, Deadline, Source, keep};
use crate::device_selection::DeviceSelection;
use crate::host::ProbeRoots;
use crate::topology::Topology;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Drives are asked no more often: to answer, some of them pause their work.
pub const HEALTH_INTERVAL_MINIMUM: Duration = Duration::from_secs(60);
/// Over many drives, one is asked so often on average: a program is started for each.
const DRIVE_EVERY: Duration = Duration::from_secs(1);
/// The share of the patience that one drive may use up, so that a hung one leaves time for the others.
const SHARE_OF_A_DRIVE: u32 = 4;

/// Selection of the drives whose health is read, and the tools for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSettings {
    /// Directories of the kernel's view of the host.
    pub roots: ProbeRoots,
    /// Selection of devices; the drives below them are found.
    pub devices: DeviceSelection,
    /// Directories in which `nvme` and `smartctl` are searched.
    pub program_directories: Vec<PathBuf>,
}

impl HealthSettings {
    /// Returns the settings for the running host.
    pub fn system(devices: DeviceSelection) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut program_directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
        // Where Debian keeps both, and which is not in everybody's PATH.
        program_directories.push("/usr/sbin".into());
        HealthSettings { roots: ProbeRoots::system(), devices, program_directories }
    }

    /// Returns the shortest interval for this number of drives.
    pub fn interval(&self) -> Duration {
        let drives = u32::try_from(self.drives().len()).unwrap_or(u32::MAX);
        HEALTH_INTERVAL_MINIMUM.max(DRIVE_EVERY.saturating_mul(drives))
    }

    fn drives(&self) -> BTreeSet<Drive> {
        Topology::scan(&self.roots.sysfs, &self.devices).drives().into_iter().map(Drive::of).collect()
    }

    fn program(&self, name: &str) -> Option<String> {
        let found =
            self.program_directories.iter().map(|directory| directory.join(name)).find(|p| p.is_file())?;
        found.into_os_string().into_string().ok()
    }
}

/// Something with a health of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Drive {
    /// An NVMe controller: `nvme0`.
    Nvme(String),
    /// A block device of another kind: `sda`.
    Block(String),
}

impl Drive {
    fn of(device: String) -> Drive {
        let controller = device.strip_prefix("nvme").and_then(|rest| {
            let instance = rest.split_once('c').map_or(rest, |(_, controller)| controller);
            let (number, _) = instance.split_once('n')?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("nvme{number}"))
        });
        controller.map_or(Drive::Block(device), Drive::Nvme)
    }

    fn name(&self) -> &str {
        let (Drive::Nvme(name) | Drive::Block(name)) = self;
        name
    }

    /// Directories that hold `hwmonN`: below the controller since Linux 5.7, below its PCI device before; below the
    /// SCSI device for `drivetemp`.
    fn hwmon_parents(&self, sysfs: &Path) -> [PathBuf; 2] {
        let directory = match self {
            Drive::Nvme(name) => sysfs.join("class/nvme").join(name),
            Drive::Block(name) => sysfs.join("block").join(name.replace('/', "!")),
        };
        [directory.join("device/hwmon"), directory]
    }
}

pub(super) struct HealthSource {
    settings: HealthSettings,
    runner: Runner,
}

impl HealthSource {
    pub(super) fn new(settings: HealthSettings) -> Self {
        HealthSource { settings, runner: Runner::default() }
    }

    fn command(&self, drive: &Drive) -> Option<Vec<String>> {
        let device = format!("/dev/{}", drive.name());
        let words = |program: String, arguments: &[&str]| {
            let arguments = arguments.iter().map(|argument| (*argument).to_owned());
            Some(std::iter::once(program).chain(arguments).chain([device.clone()]).collect())
        };
        match drive {
            Drive::Nvme(_) => match self.settings.program("nvme") {
                Some(nvme) => words(nvme, &["smart-log", "--output-format=json"]),
                None => words(self.settings.program("smartctl")?, &["--json", "--attributes"]),
            },
            // A drive that sleeps is not woken up to say how it is.
            Drive::Block(_) => {
                words(self.settings.program("smartctl")?, &["--json", "--nocheck=standby", "--attributes"])
            }
        }
    }
}

impl Source for HealthSource {
    /// Collects the values of all drives that answer; fails only where none answered and one failed.
    fn collect(&mut self, deadline: &Deadline<'_>) -> Result<Vec<CollectedValue>, CollectError> {
        let mut values = Vec::new();
        let mut failure = None;
        for drive in self.settings.drives() {
            if deadline.slice()?.is_none() {
                break;
            }
            for parent in drive.hwmon_parents(&self.settings.roots.sysfs) {
                push_temperatures(&parent, drive.name(), &mut values);
            }
            let Some(command) = self.command(&drive) else { continue };
            let left = deadline.at.saturating_duration_since(Instant::now());
            let deadline = Deadline::new(left.min(deadline.limit / SHARE_OF_A_DRIVE), deadline.stopped);
            match self.runner.run(&command, &deadline) {
                // The status of smartctl is a set of findings about the drive, and not that it failed.
                Ok(output) => match push_smart(&output.stdout, drive.name(), &mut values) {
                    // A virtual disk or a USB stick has no SMART, and nobody is told so once a minute.
                    Smart::Numbers | Smart::NotSupported => {}
                    Smart::NoAnswer => failure = Some(output.failure(&command[0])),
                },
                Err(CollectError::Stopped) => return Err(CollectError::Stopped),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(failure) if values.is_empty() => Err(failure),
            _ => Ok(values),
        }
    }
}

/// `temp1_input` is in thousandths of a degree (Documentation/hwmon/sysfs-interface.rst).
fn push_temperatures(parent: &Path, drive: &str, values: &mut Vec<CollectedValue>) {
    let names = |directory: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(directory).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    };
    for hwmon in names(parent).into_iter().filter(|name| name.starts_with("hwmon")) {
        let directory = parent.join(hwmon);
        for file in names(&directory) {
            let Some(sensor) = file.strip_suffix("_input").filter(|name| name.starts_with("temp")) else {
                continue;
            };
            let text = fs::read_to_string(directory.join(&file)).unwrap_or_default();
            if let Ok(thousandths) = text.trim().parse::<f64>() {
                keep(values, drive, &format!("{sensor}_celsius"), thousandths / 1000.0);
            }
        }
    }
}

/// SMART values of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Smart {
    Numbers,
    /// The program reached the drive, or knows its kind, and it has none.
    NotSupported,
    NoAnswer,
}

/// smartctl(8), EXIT STATUS: the command line could not be parsed, the device could not be opened.
const SMARTCTL_NOT_REACHED: u64 = 0b11;
/// NVMe gives temperatures in kelvin (base specification, SMART / Health Information), and `nvme` passes them on;
/// smartctl gives degrees.
const ZERO_CELSIUS_KELVIN: f64 = 273.0;

/// The numbers of `nvme smart-log` or `smartctl`, by their own names; temperatures in degrees Celsius.
pub(super) fn push_smart(output: &[u8], drive: &str, values: &mut Vec<CollectedValue>) -> Smart {
    let before = values.len();
    let Ok(Value::Object(all)) = serde_json::from_slice(output) else { return Smart::NoAnswer };
    let mut was_reached = false;
    if !all.contains_key("smartctl") {
        push_numbers(&all, ZERO_CELSIUS_KELVIN, drive, values);
    } else {
        let status = all.get("smartctl").and_then(|smartctl| smartctl.get("exit_status"));
        was_reached = status.and_then(Value::as_u64).is_some_and(|status| status & SMARTCTL_NOT_REACHED == 0)
            || is_of_unknown_kind(&all);
        if let Some(Value::Object(log)) = all.get("nvme_smart_health_information_log") {
            push_numbers(log, 0.0, drive, values);
        }
        let table = all.get("ata_smart_attributes").and_then(|attributes| attributes.get("table"));
        for attribute in table.and_then(Value::as_array).into_iter().flatten() {
            let name = attribute.get("name").and_then(Value::as_str);
            let raw = attribute.pointer("/raw/value").and_then(Value::as_f64);
            if let (Some(name), Some(raw)) = (name, raw) {
                keep(values, drive, name, raw);
            }
        }
        for (pointer, name) in [
            ("/temperature/current", "temperature_celsius"),
            ("/power_on_time/hours", "power_on_hours"),
            ("/scsi_grown_defect_list", "scsi_grown_defect_list"),
        ] {
            let value = Value::as_f64;
            if let Some(value) = Value::Object(all.clone()).pointer(pointer).and_then(value) {
                keep(values, drive, name, value);
            }
        }
    }
    match values.len() > before {
        true => Smart::Numbers,
        false if was_reached => Smart::NotSupported,
        false => Smart::NoAnswer,
    }
}

/// Returns true if smartctl does not know the kind of device: null_blk, RAM disks, `/dev/nbd0`.
fn is_of_unknown_kind(all: &Map<String, Value>) -> bool {
    let messages =
        all.get("smartctl").and_then(|smartctl| smartctl.get("messages")).and_then(Value::as_array);
    let texts = messages.into_iter().flatten().filter_map(|message| message.get("string")?.as_str());
    texts.into_iter().any(|text| text.contains("Unable to detect device type"))
}

/// Numbers, and the numbers that nvme-cli writes as text because they have 128 bits. `zero_celsius` is what the program
/// says at 0 °C.
fn push_numbers(
    object: &Map<String, Value>,
    zero_celsius: f64,
    drive: &str,
    values: &mut Vec<CollectedValue>,
) {
    for (name, value) in object {
        let number = match value {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        };
        match number {
            Some(number) if is_temperature(name) => {
                keep(values, drive, &format!("{name}_celsius"), number - zero_celsius);
            }
            Some(number) => keep(values, drive, name, number),
            None => {}
        }
    }
}

/// `temperature`, `temperature_sensor_1`; `warning_temp_time` is a time.
fn is_temperature(name: &str) -> bool {
    name == "temperature" || name.starts_with("temperature_sensor_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that a namespace, and a path to one, belong to their controller, and that other devices are themselves.
    #[test]
    fn namespaces_belong_to_controllers() {
        for (device, drive) in [
            ("nvme0n1", "nvme0"),
            ("nvme0c12n1", "nvme12"),
            ("nvme10n2p1", "nvme10"),
            ("sda", "sda"),
            ("nvmexn1", "nvmexn1"),
        ] {
            assert_eq!(Drive::of(device.to_owned()).name(), drive);
        }
    }

    fn smart(text: &str) -> Vec<(String, f64)> {
        let mut values = Vec::new();
        let outcome = push_smart(text.as_bytes(), "d", &mut values);
        assert_eq!(outcome == Smart::Numbers, !values.is_empty());
        values.into_iter().map(|value| (value.name, value.value)).collect()
    }

    /// Proves that the answers of both programs are read by their own names.
    #[test]
    fn both_programs_are_read() {
        let one = |name: &str, value: f64| (name.to_owned(), value);
        assert_eq!(
            smart(
                r#"{"critical_warning":{"value":0},"temperature":310,"data_units_written":"1234","media_errors":0,"x":"y"}"#
            ),
            [one("temperature_celsius", 37.0), one("data_units_written", 1234.0), one("media_errors", 0.0)]
        );
        assert_eq!(
            smart(
                r#"{"smartctl":{"version":[7,3],"exit_status":64},"ata_smart_attributes":{"table":[{"id":5,"name":"Reallocated_Sector_Ct","raw":{"value":8,"string":"8"}},{"id":6}]},"temperature":{"current":31},"power_on_time":{"hours":9}}"#
            ),
            [one("Reallocated_Sector_Ct", 8.0), one("temperature_celsius", 31.0), one("power_on_hours", 9.0)]
        );
        assert_eq!(
            smart(
                r#"{"smartctl":{},"nvme_smart_health_information_log":{"percentage_used":3,"temperature_sensors":[1]}}"#
            ),
            [one("percentage_used", 3.0)]
        );
        assert_eq!(
            smart(r#"{"temperature":300,"temperature_sensor_1":310,"warning_temp_time":4}"#),
            [
                one("temperature_celsius", 27.0),
                one("temperature_sensor_1_celsius", 37.0),
                one("warning_temp_time", 4.0)
            ]
        );
        assert_eq!(
            smart(r#"{"smartctl":{},"nvme_smart_health_information_log":{"temperature":38}}"#),
            [one("temperature_celsius", 38.0)],
            "smartctl gives degrees"
        );
        for nothing in ["", "[]", "{}", "not found", r#"{"smartctl":{"exit_status":2}}"#] {
            assert!(smart(nothing).is_empty(), "{nothing}");
        }
    }

    /// Proves that a drive without SMART is no failure, and that one which could not be opened is.
    #[test]
    fn a_drive_without_smart_is_no_failure() {
        let outcome_of = |text: &str| push_smart(text.as_bytes(), "d", &mut Vec::new());
        // smartctl 7.3 on a disk of QEMU.
        assert_eq!(
            outcome_of(
                r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},"device":{"name":"/dev/sda"}}"#
            ),
            Smart::NotSupported
        );
        assert_eq!(outcome_of(r#"{"smartctl":{"version":[7,3],"exit_status":4}}"#), Smart::NotSupported);
        // smartctl 7.3 on a device of null_blk.
        assert_eq!(
            outcome_of(
                r#"{"smartctl":{"messages":[{"string":"/dev/nullb0: Unable to detect device type","severity":"error"}],"exit_status":1}}"#
            ),
            Smart::NotSupported
        );
        assert_eq!(outcome_of(r#"{"smartctl":{"version":[7,3],"exit_status":2}}"#), Smart::NoAnswer);
        assert_eq!(outcome_of("not found"), Smart::NoAnswer);
    }

    proptest! {
        /// Proves that no output panics.
        #[test]
        fn no_output_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            push_smart(&bytes, "d", &mut Vec::new());
        }
    }
}
