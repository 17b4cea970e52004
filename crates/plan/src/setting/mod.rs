//! The one table of settings. It drives the reading of plans, `--only` and `--set`, the JSON Schema and
//! `docs/plan-language.md`.

mod alias;
mod host;
mod kind;
mod processors;
mod shape;

pub use host::HostSettingPlace;
pub(crate) use host::{NAME_PATTERN as HOST_NAME_PATTERN, split as split_host_name};
pub use kind::SettingKind;
pub use processors::parse_processors;
pub(crate) use shape::{parse_distribution, parse_sizes};

use crate::{PlanError, PlanErrorKind};
use load::{IODEPTH_LIMIT, NUMJOBS_LIMIT};
use serde_json::Value;

/// The largest block of one I/O: 1 GiB, far over what any array takes in one command.
pub const BS_BYTES_LIMIT: u64 = 1 << 30;
/// Highest valid rate, as `load::LoadSpec` takes it.
pub const RATE_IOPS_LIMIT: u64 = 1_000_000_000;
/// The most times that a case is repeated: a day of minutes is 1,440.
pub(crate) const REPEATS_LIMIT: u64 = 10_000;
/// The most disks that an array setting may name.
const DISKS_LIMIT: u64 = 10_000;

/// Scope of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingScope {
    /// Load that is issued: every engine obeys it.
    Load,
    /// Method by which the engine issues the load on a real target; a twin has no such method.
    Engine,
    /// Setup of the host; a twin has none of it, except that `filesystem` may be part of its model.
    Host,
    /// Setup of the array; carried out by a twin or an array driver, never assumed.
    Array,
    /// Label or weight of a case within the plan; it changes neither load nor target.
    Plan,
}

/// One setting of a case.
#[derive(Debug)]
pub struct Setting {
    /// Its name in plans, results, `--only` and `--set`.
    pub name: &'static str,
    /// Kind of its values, with their limits.
    pub kind: SettingKind,
    /// Scope: the part of the system that the setting applies to.
    pub scope: SettingScope,
    /// True where fio has a setting of this name with this meaning.
    pub is_fio: bool,
    /// The value of a case whose plan does not give one.
    pub default: Option<&'static str>,
    /// Description in one line.
    pub doc: &'static str,
}

const fn size(least_bytes: u64, most_bytes: u64, multiple_of_bytes: u64) -> SettingKind {
    SettingKind::Size { least_bytes, most_bytes, multiple_of_bytes }
}

const fn load(
    name: &'static str,
    kind: SettingKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Setting {
    Setting { name, kind, scope: SettingScope::Load, is_fio: true, default, doc }
}

/// A setting of the load that fio does not have.
const fn own_load(name: &'static str, kind: SettingKind, doc: &'static str) -> Setting {
    Setting { name, kind, scope: SettingScope::Load, is_fio: false, default: None, doc }
}

const RATE: SettingKind = SettingKind::Rate { most: RATE_IOPS_LIMIT };

const fn engine(name: &'static str, kind: SettingKind, doc: &'static str) -> Setting {
    Setting { name, kind, scope: SettingScope::Engine, is_fio: true, default: None, doc }
}

const fn array(name: &'static str, kind: SettingKind, doc: &'static str) -> Setting {
    Setting { name, kind, scope: SettingScope::Array, is_fio: false, default: None, doc }
}

const fn plan(name: &'static str, kind: SettingKind, doc: &'static str) -> Setting {
    Setting { name, kind, scope: SettingScope::Plan, is_fio: false, default: None, doc }
}

/// Every setting with a name of its own, in the order in which a case carries them. Queue attributes, sysctls and
/// module parameters come after them, by name ([`HostSettingPlace`]).
pub const SETTINGS: &[Setting] = &[
    load(
        "rw",
        SettingKind::Word(&["read", "write", "rw", "randread", "randwrite", "randrw"]),
        None,
        "direction and order of the I/O; every case needs it",
    ),
    load("bs", size(512, BS_BYTES_LIMIT, 512), None, "bytes of one I/O; every case needs it"),
    load(
        "numjobs",
        SettingKind::Count { least: 1, most: NUMJOBS_LIMIT as u64 },
        Some("1"),
        "jobs that issue independently of one another",
    ),
    load(
        "iodepth",
        SettingKind::Count { least: 1, most: IODEPTH_LIMIT as u64 },
        Some("1"),
        "I/Os that each job keeps outstanding",
    ),
    load(
        "rwmixread",
        SettingKind::Percent,
        Some("50"),
        "share of reads in `rw` and `randrw`; 100 in pure reads and 0 in pure writes, whatever the plan says",
    ),
    load(
        "runtime",
        SettingKind::Duration { least_ns: 1 },
        Some("60"),
        "load that is counted (a bare number is seconds)",
    ),
    load("ramp_time", SettingKind::Duration { least_ns: 0 }, Some("0"), "load before counting begins"),
    load("offset", size(0, units::BYTES_LIMIT, 512), None, "first byte of the range that is used"),
    load(
        "size",
        size(512, units::BYTES_LIMIT, 512),
        None,
        "bytes of the range that is used; all of the target without it",
    ),
    load(
        "io_size",
        SettingKind::Amount,
        None,
        "bytes after which the load ends, or their share of the range; it ends at `runtime` if that comes first",
    ),
    load(
        "rate_iops",
        RATE,
        None,
        "the rate that each job does not exceed, in I/Os a second; as in fio, `numjobs` jobs together do `numjobs` times it",
    ),
    own_load(
        "rate_percent",
        SettingKind::RateShare,
        "the last axis of a matrix: `max` as fast as it goes, and then shares in percent of what that delivered, at which the same load is held (with `rate_process`: arrives); vdbench's curve",
    ),
    own_load("rate_iops_read", RATE, "the same for the reads of each job (fio's `rate_iops=R,W,T`)"),
    own_load("rate_iops_write", RATE, "the same for its writes"),
    own_load("rate_iops_trim", RATE, "the same for its trims"),
    // fio's name and words, but in fio it changes only how the next I/O is timed, not what latency counts from.
    own_load(
        "rate_process",
        SettingKind::Word(&["linear", "poisson"]),
        "makes the load an open one: I/Os arrive at `rate_iops`, evenly or as a Poisson process, whatever is answered, and latency counts from the intended arrival",
    ),
    own_load(
        "rate_burst_iops",
        RATE,
        "open loop: the rate of each job in a burst; `rate_iops` is the rate between bursts, 0 without it",
    ),
    own_load("rate_burst_time", SettingKind::Duration { least_ns: 1 }, "how long a burst lasts"),
    own_load(
        "rate_burst_period",
        SettingKind::Duration { least_ns: 1 },
        "from the start of a burst to the start of the next; a period begins with the rate between bursts",
    ),
    own_load(
        "rate_ramp_from",
        RATE,
        "open loop: the rate of each job at the start, which grows or falls to `rate_iops` in a straight line",
    ),
    own_load("rate_ramp_time", SettingKind::Duration { least_ns: 1 }, "how long it takes to get there"),
    own_load(
        "rate_profile",
        SettingKind::Name,
        "open loop: one of the plan's `profiles`, the rate of all jobs together over time",
    ),
    load("bssplit", SettingKind::SizeMix, None, "block sizes with their shares, instead of `bs`"),
    load(
        "random_distribution",
        SettingKind::Distribution,
        None,
        "how random addresses are spread over the range; zones count from its start, hot blocks of `zipf` and `pareto` lie scattered",
    ),
    load(
        "norandommap",
        SettingKind::Flag,
        None,
        "0 to use every block once, in random order, before any comes again; without it, and with 1, blocks are drawn without regard to those already used",
    ),
    own_load("working_set", SettingKind::Percent, "share of the range that is used, from its start"),
    own_load(
        "streams",
        SettingKind::Count { least: 1, most: load::STREAMS_LIMIT as u64 },
        "sequential streams of each job, served in turn",
    ),
    load(
        "offset_increment",
        size(0, units::BYTES_LIMIT, 512),
        None,
        "distance between the starts of neighbouring jobs, each of which goes on to the end of the range; without it sequential jobs have equal parts of the range",
    ),
    own_load(
        "rwmixtrim",
        SettingKind::Percent,
        "share of trims among all I/Os; `rwmixread` splits the others",
    ),
    load(
        "buffer_compress_percentage",
        SettingKind::Percent,
        None,
        "share by which a compressor can shrink what is written",
    ),
    load(
        "dedupe_percentage",
        SettingKind::Percent,
        None,
        "share of written blocks that equal an earlier one",
    ),
    load(
        "verify",
        SettingKind::Word(&["none", "crc32c"]),
        None,
        "`crc32c`: every written block carries its address, generation and checksum, is read back after the case, and each job has a part of the range of its own",
    ),
    engine(
        "ioengine",
        SettingKind::Name,
        "how fio issues I/O: `sync`, `libaio`, `io_uring`, …; the ring engine always takes io_uring",
    ),
    engine("direct", SettingKind::Flag, "1 to pass by the page cache, as without it"),
    engine(
        "continue_on_error",
        SettingKind::Word(&["none", "all"]),
        "`all` to count errors of the device and go on; without it the first ends the case as failed",
    ),
    engine(
        "fsync",
        SettingKind::Count { least: 0, most: 1_000_000_000 },
        "an fsync after so many writes of a job; 0 for none",
    ),
    engine(
        "sync",
        SettingKind::Word(&["none", "dsync"]),
        "`dsync`: each write is on stable storage before it is answered",
    ),
    engine(
        "iodepth_batch_complete_min",
        SettingKind::Count { least: 1, most: 65_536 },
        "answers to wait for before the next batch",
    ),
    engine(
        "fixedbufs",
        SettingKind::Flag,
        "1 to register buffers with the kernel once; the ring engine does without being told",
    ),
    engine(
        "registerfiles",
        SettingKind::Flag,
        "1 to register files with the kernel once; the ring engine does without being told",
    ),
    engine("hipri", SettingKind::Flag, "1 to poll for completions, on devices that have queues for it"),
    engine("sqthread_poll", SettingKind::Flag, "1 to have a thread of the kernel take submissions"),
    engine(
        "force_async",
        SettingKind::Flag,
        "1 to pass each I/O to a thread of the kernel at once, 0 to try it in place first; the ring engine tries what is quicker before a load",
    ),
    Setting {
        name: "defer_taskrun",
        kind: SettingKind::Flag,
        scope: SettingScope::Engine,
        is_fio: false,
        default: None,
        doc: "1 to leave the kernel's work on completions until the ring engine looks for them, 0 not to; without it the ring engine tries what is quicker before a load",
    },
    engine(
        "cpus_allowed",
        SettingKind::Processors,
        "processors that the threads of the load are pinned to, one after the other, as in 0-3:8; without it they run anywhere",
    ),
    Setting {
        name: "trim_by",
        kind: SettingKind::Word(&["discard", "zeroes"]),
        scope: SettingScope::Engine,
        is_fio: false,
        default: None,
        doc: "what a trim does: `discard` gives the range up, `zeroes` has the device write zeroes; `discard` without it",
    },
    engine("randrepeat", SettingKind::Flag, "0 to draw other addresses in every run"),
    engine("thread", SettingKind::Flag, "1 for threads, 0 for processes"),
    Setting {
        name: "filesystem",
        kind: SettingKind::Word(&["raw", "ext4", "xfs", "btrfs"]),
        scope: SettingScope::Host,
        is_fio: false,
        default: None,
        doc: "what the load goes through: `raw` is the device itself, else a file in a file system made on it",
    },
    array("raid", SettingKind::Choice(&[0, 1, 5, 6, 10]), "RAID level"),
    array("disks", SettingKind::Count { least: 1, most: DISKS_LIMIT }, "drives of the set"),
    array(
        "layout",
        SettingKind::Word(&["ddp", "raid6", "raid10"]),
        "how the array places data over its drives",
    ),
    array(
        "segment",
        size(512, BS_BYTES_LIMIT, 512),
        "bytes on one drive before the layout moves to the next",
    ),
    array("write_cache", SettingKind::Switch, "whether writes are answered from the array's cache"),
    array("read_cache", SettingKind::Switch, "whether the array keeps what was read"),
    array("read_ahead", SettingKind::Switch, "whether the array reads ahead of sequential reads"),
    array("thin", SettingKind::Switch, "whether capacity is allocated with the first write to it"),
    array("reduction", SettingKind::Switch, "whether the array compresses and deduplicates"),
    array("snapshots", SettingKind::Switch, "whether the array keeps snapshots"),
    array(
        "drive_cache",
        SettingKind::Switch,
        "whether the array keeps what was read on the drives of a cache",
    ),
    array("tier", SettingKind::Switch, "whether the array moves what is asked for most to faster drives"),
    array("mirror", SettingKind::Switch, "whether a second array has every write before it is answered"),
    array(
        "replication",
        SettingKind::Switch,
        "whether snapshots are copied to a second array, and writes go to every replica of a chain",
    ),
    array("coverage", SettingKind::Percent, "share of the capacity that volumes cover"),
    array("volume_size", size(512, units::BYTES_LIMIT, 512), "bytes of the volume that is made"),
    array("volume", SettingKind::Name, "which volume of the system is loaded"),
    array("host", SettingKind::Name, "which host of the system issues the load"),
    plan(
        "scenario",
        SettingKind::Count { least: 1, most: 99 },
        "number of a scenario that brings further settings",
    ),
    plan("pass", SettingKind::Count { least: 1, most: 99 }, "number of a pass over the same range"),
    plan(
        "repeat",
        SettingKind::Count { least: 1, most: REPEATS_LIMIT },
        "number of a repetition; `repeats` of a stage makes them",
    ),
    plan(
        "pause",
        SettingKind::Duration { least_ns: 0 },
        "a time without load after the case, over the `pause` of its stage",
    ),
    plan(
        "priority",
        SettingKind::Count { least: 1, most: 9 },
        "what a time budget keeps first (1) and leaves out first (9); 1 without it",
    ),
];

/// The setting of this name: of the table, or of the host ([`HostSettingPlace`]).
pub fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name).or_else(|| host::host_setting(name))
}

/// The setting of this name, or an error with a hint.
pub(crate) fn setting_or_error(name: &str) -> Result<&'static Setting, PlanError> {
    setting(name).ok_or_else(|| {
        PlanError::new(PlanErrorKind::UnknownSetting, format!("there is no setting `{}`", clip(name)))
            .maybe_hint(setting_hint(name))
    })
}

/// Returns a hint on the setting that an unknown name probably means; `None` for the name of a setting.
pub fn setting_hint(name: &str) -> Option<String> {
    if setting(name).is_some() {
        return None;
    }
    Some(if name.contains('.') {
        "host settings are `queue.ATTRIBUTE`, `sysctl.NAME` and `module.MODULE.PARAMETER`".to_owned()
    } else {
        alias::hint(name, SETTINGS.iter().map(|setting| setting.name))
    })
}

impl Setting {
    /// Reads a value of this setting, as a plan, `--only` and `--set` write it.
    pub fn parse(&self, text: &str) -> Result<Value, PlanError> {
        self.kind.parse(text).map_err(|reason| {
            let found = clip(text.trim());
            let message = match reason {
                // The reader of sizes and durations has quoted the text itself.
                kind::ValueError::Quantity(error) => format!("`{}`: {error}", self.name),
                kind::ValueError::MustBe(reason) => format!(
                    "`{}` is {}, but must be {reason}",
                    self.name,
                    if found.is_empty() { "empty" } else { &found }
                ),
            };
            let hint = self.nearest_word(text).unwrap_or_else(|| format!("`{}`: {}", self.name, self.doc));
            PlanError::new(PlanErrorKind::OutOfRange, message).with_hint(hint)
        })
    }

    fn nearest_word(&self, text: &str) -> Option<String> {
        match self.kind {
            SettingKind::Word(words) => array::nearest(text.trim(), words.iter().copied())
                .map(|word| format!("did you mean `{word}`?")),
            _ => None,
        }
    }
}

/// A piece of input that an error quotes, without its control characters and not longer than a line.
fn clip(text: &str) -> String {
    const CHARS: usize = 60;
    let mut clipped: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHARS).collect();
    if text.chars().count() > CHARS {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(name: &str, text: &str) -> Value {
        setting(name).expect(name).parse(text).expect(text)
    }

    /// Proves that each kind of setting has the value that DESIGN.md fixes for results, CSV and `--only`.
    #[test]
    fn values_are_as_the_design_fixes_them() {
        assert_eq!(parsed("bs", "4k"), 4096);
        assert_eq!(parsed("runtime", "40m"), 2400);
        assert_eq!(parsed("runtime", "500ms"), 0.5);
        assert_eq!(parsed("rwmixread", "70"), 70);
        assert_eq!(parsed("raid", "10"), 10);
        assert_eq!(parsed("write_cache", "on"), "on");
        assert_eq!(parsed("write_cache", "false"), "off");
        assert_eq!(parsed("direct", "true"), 1);
        assert_eq!(parsed("rw", "readwrite"), "rw");
        assert_eq!(parsed("rate_iops", "1e5"), 100_000);
        assert_eq!(parsed("io_size", "1g"), 1_073_741_824);
        assert_eq!(parsed("io_size", "200 %"), "200%");
        assert_eq!(parsed("bssplit", "4k/30:64k/70"), "4096/30:65536/70");
        assert_eq!(parsed("random_distribution", "zipf:1.10"), "zipf:1.1");
        assert_eq!(parsed("queue.nr_requests", "1024"), 1024);
        assert_eq!(parsed("queue.scheduler", "mq-deadline"), "mq-deadline");
        assert_eq!(parsed("sysctl.kernel.core_pattern", "0644"), "0644");
        for (name, text) in [
            ("bs", "0"),
            ("bs", "100"),
            ("bs", "2g"),
            ("numjobs", "1000000000"),
            ("numjobs", "0"),
            ("iodepth", "-1"),
            ("rwmixread", "101"),
            ("raid", "3"),
            ("rw", "random"),
            ("write_cache", "yes"),
            ("rate_iops", "0"),
            ("rate_iops", "nan"),
            ("rate_iops", "inf"),
            ("runtime", "0"),
            ("volume", "a,b=c"),
            ("io_size", "0"),
            ("io_size", "0%"),
            ("io_size", "100"),
            ("bssplit", "4k/30:8k/30"),
            ("random_distribution", "zipf"),
            ("verify", "md5"),
            ("queue.scheduler", "a,b"),
            ("queue.scheduler", ""),
            ("sysctl.vm.swappiness", "1\n2"),
        ] {
            assert!(setting(name).expect(name).parse(text).is_err(), "{name}: {text}");
        }
    }

    /// Proves that every default is a value of its own setting and that no name stands twice.
    #[test]
    fn the_table_agrees_with_itself() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS[..index].iter().all(|other| other.name != setting.name), "{}", setting.name);
            if let Some(default) = setting.default {
                setting.parse(default).expect(setting.name);
            }
        }
    }

    proptest! {
        /// Proves that no text makes a setting panic, and that what is printed in a case's name reads back as the
        /// same value.
        #[test]
        fn values_read_back(index in 0..=SETTINGS.len(), text in "\\PC{0,12}|[0-9]{1,12}[kmg%]?|on|off|randrw") {
            let setting = SETTINGS.get(index).or_else(|| setting("queue.scheduler")).expect("setting");
            if let Ok(value) = setting.parse(&text) {
                let printed = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                prop_assert_eq!(setting.parse(&printed).expect("printed value"), value);
            }
        }
    }
}
