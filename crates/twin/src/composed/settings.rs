//! Settings of an array of parts.

use array::LayoutKind;
use serde_json::{Map, Value};

use super::arrange::Arrangement;
use super::chain::machine_named;
use super::limit::Limit;
use super::room::Room;
use crate::TwinError;
use crate::settings::{Setting, all_of, bad, number, on_or_off, read, switches, unknown};

/// Settings that are no switches.
const OWN: [Setting; 17] = [
    Setting {
        name: "condition",
        takes: CONDITIONS,
        says: "state of solid-state drives; fresh: erased, and of thin volumes nothing allocated; written: once, in order; filled: as their `history`: in order, or \
               rewritten and rested; steady: as after hours of random writes",
    },
    Setting {
        name: "volume",
        takes: "the name of volumes",
        says: "volumes that a load is for; the first of the description without it",
    },
    Setting { name: "raid", takes: LEVELS, says: "RAID level of the set" },
    Setting { name: "layout", takes: LAYOUTS, says: "pool or RAID level of the set" },
    Setting { name: "disks", takes: DRIVES, says: "drives of the set" },
    Setting { name: "segment", takes: BYTES, says: "bytes on one drive before the next drive follows" },
    Setting { name: "volume_size", takes: BYTES, says: "bytes of each volume" },
    Setting {
        name: "coverage",
        takes: COVERAGE,
        says: "share of the capacity that volumes without a size cover, in percent",
    },
    Setting {
        name: "shrink",
        takes: SHRINK,
        says: "solid-state drives, their erased reserve and the caches have so many times less room, so that what fills does so sooner",
    },
    Setting {
        name: "host",
        takes: HOST,
        says: "which machine issues the load; off: machines take no time for it",
    },
    Setting { name: "limit_iops", takes: RATE, says: "I/Os a second that the loaded volume may do" },
    Setting { name: "limit_iops_per_gib", takes: RATE, says: "the same for each GiB of the volume" },
    Setting { name: "limit_bw_bytes_per_s", takes: RATE, says: "bytes a second that it may move" },
    Setting { name: "limit_bw_bytes_per_s_per_gib", takes: RATE, says: "the same for each GiB" },
    Setting {
        name: "slice_processors",
        takes: CORES,
        says: "cores of the slice that the controllers run in",
    },
    Setting {
        name: "slice_memory_bytes",
        takes: BYTES,
        says: "memory of the slice that the controllers run in",
    },
    Setting { name: "filesystem", takes: "raw, or a file system of the hosts", says: "what I/Os go through" },
];

const LEVELS: &str = "a RAID level: 0, 1, 5, 6 or 10";
const LAYOUTS: &str = "ddp, raid6 or raid10";
const DRIVES: &str = "a number of drives";
const BYTES: &str = "a size in bytes";

const HOST: &str = "node, client, one of them by number as in node-1, or off";
const RATE: &str = "a number above 0";
const CORES: &str = "a number of processor cores from 0.01 to 1024";

const COVERAGE: &str = "1 to 100";
const SHRINK: &str = "1 to 400, and more as long as drives keep 360 MiB";
const CONDITIONS: &str = "fresh, filled, written or steady";

switches! {
    /// Mechanisms, which are on unless switched off.
    Switches {
        host => "off: hosts' processors and adapters take no time, and their queues have room",
        links => "off: links between hosts and controllers, and to the drives, carry any load in no time",
        balancing => "off: a host sends all commands over its first link that is open",
        network => "off: the network between nodes carries any load in no time",
        processors => "off: controllers' processors, memory, parity and write buffers take no time, and the hosts of hard disks",
        protocol => "off: the protocol costs neither the hosts' jobs nor the controllers a processor",
        window => "off: any number of commands may be under way in the drives",
        memory => "off: data passes through controllers' memory in no time",
        crowding => "off: controllers work as fast on one command of many as on one alone",
        parity => "off: writes leave parity alone",
        parity_engine => "off: parity is made in no time",
        parity_updates => "off: any number of changes of parity may be under way",
        write_cache => "off: a write is answered only when the drives have it",
        read_cache => "off: nothing of what was read is kept",
        read_ahead => "off: controllers do not read ahead, nor the hard disks of chains of replicas",
        mirroring => "off: cached writes are not copied to another controller",
        backend => "off: links to the drives carry any load in no time",
        gc => "off: garbage collection of solid-state drives takes no time",
        reserve => "off: solid-state drives keep no erased flash for bursts",
        interference => "off: writes inside a flash module do not hold up its reads",
        prefetch => "off: sequential reads cost a flash module what random reads cost",
        bandwidth => "off: flash modules carry bytes in no time, a command costs the same at every size",
        seek => "off: arms move in no time",
        rotation => "off: every sector is under the head when it is wanted",
        reordering => "off: hard disks serve commands in the order of their arrival",
        drive_buffer => "off: hard disks neither read ahead nor acknowledge writes early",
        volume_manager => "off: hosts use volumes one after the other, and do not stripe over them",
        limits => "off: volumes have no limits",
        thin => "off: all capacity is allocated, and finding it takes no time",
        reduction => "off: data is stored as it comes",
        snapshots => "off: no snapshots are taken",
        drive_cache => "off: nothing is kept on the drives of the read cache",
        tier => "off: nothing is moved to the drives of the tier",
        wear => "off: writing wears no drive",
        mirror => "off: writes are not sent to the second array",
        slices => "off: every service has all the processors and memory it asks for",
        copy_on_write => "off: hard disks with a journal are written in place, each write by itself",
        replication => "off: writes go to the last replica of a chain only, and no snapshots are copied to a second array",
        failover => "off: a controller goes on working while it is updated",
        verification => "off: after an update nothing reads the stripes",
    }
}

/// All that can be set.
pub(crate) const SETTINGS: [Setting; 57] = all_of(&OWN, Switches::SETTINGS);

/// Settings of what I/Os to chains of replicas pass.
const OF_CHAINS: [&str; 24] = [
    "volume",
    "host",
    "condition",
    "limit_iops",
    "limit_iops_per_gib",
    "limit_bw_bytes_per_s",
    "limit_bw_bytes_per_s_per_gib",
    "slice_processors",
    "slice_memory_bytes",
    "write_cache",
    "limits",
    "links",
    "processors",
    "slices",
    "copy_on_write",
    "seek",
    "rotation",
    "reordering",
    "read_ahead",
    "drive_buffer",
    "gc",
    "interference",
    "bandwidth",
    "replication",
];

/// Returns what can be set on an array: of what it has.
pub(crate) fn settings_of(array: &array::Array) -> Vec<Setting> {
    // Where nodes issue load as well, the switch of the hosts is one of the values that name a machine.
    let has_initiators = array.nodes.as_ref().is_some_and(|nodes| nodes.initiators.is_on());
    let is_shown = |setting: &Setting| setting.name != "host" || (setting.takes == HOST) == has_initiators;
    let all = SETTINGS.iter().copied().filter(is_shown);
    all.filter(|setting| is_of(setting.name, array)).collect()
}

/// Returns whether an array has what a setting is for.
fn is_of(setting: &str, array: &array::Array) -> bool {
    let has = |is_meant: fn(&array::Drives) -> bool| array.groups.iter().any(|group| is_meant(&group.drives));
    let (cache, is_cluster) = (&array.cache, array.nodes.is_some());
    let has_peer = array.controller_count() > 1;
    let limits = |rate: &array::Parameter| rate.get() != array::UNLIMITED;
    if array.has_chains() && !OF_CHAINS.contains(&setting) {
        return false;
    }
    match setting {
        "volume" => array.volumes.len() > 1,
        "network" => array.network.is_some(),
        "memory" => limits(&array.controllers.copy),
        "parity" => {
            array.groups.iter().any(may_have_parity) || array.pools.iter().any(|pool| pool.erasure.is_some())
        }
        "parity_engine" => {
            let controllers = &array.controllers;
            array.groups.iter().any(may_have_parity)
                && (limits(&controllers.parity) || limits(&controllers.new_parity))
        }
        "parity_updates" => array.controllers.parity_updates.count() < array::OPEN_QUEUE,
        "protocol" => array.fabric.initiator.get() > 0 || array.fabric.target.get() > 0,
        "crowding" => array.controllers.crowding.get() > 0,
        "coverage" => Room::has_shares(array),
        "shrink" => Room::can_shrink(array),
        "reserve" => array.groups.iter().any(|group| match &group.drives {
            array::Drives::SolidState(drive) => drive.reserve.get() > 0,
            array::Drives::HardDisk(_) | array::Drives::FlashModule(_) => false,
        }),
        "write_cache" => cache.write_back.get() > 0 || cache.buffered.is_on() || has_journal(array),
        "read_cache" => cache.read.get() > 0,
        "read_ahead" => cache.read_ahead.get() > 0 || (array.has_chains() && has(is_hard_disk)),
        "raid" | "layout" | "disks" | "segment" | "volume_size" => Arrangement::is_of(array),
        "filesystem" => array.file_system.is_some(),
        "mirroring" => cache.write_back.get() > 0 && cache.mirrored.is_on(),
        "backend" => array.groups.iter().any(|group| group.backend.is_some()),
        "condition" if array.thin.is_some() => true,
        "condition" | "gc" => has(|drives| matches!(drives, array::Drives::SolidState(_))),
        "interference" | "bandwidth" => has(|drives| matches!(drives, array::Drives::FlashModule(_))),
        "prefetch" => {
            array.controllers.streams.get() > 0
                && has(|drives| matches!(drives, array::Drives::FlashModule(_)))
        }
        "seek" | "rotation" | "reordering" | "drive_buffer" => has(is_hard_disk),
        "volume_manager" => array::striped_volumes(array).next().is_some(),
        "limits" => array.has_chains() || array.volumes.iter().any(|volume| volume.limit.is_some()),
        "slices" | "slice_processors" | "slice_memory_bytes" => !array.slices.is_empty(),
        "copy_on_write" => has_journal(array),
        "replication" => array.has_chains() || array.replication.is_some(),
        limit if limit.starts_with("limit_") => array.has_chains(),
        "thin" => array.thin.is_some(),
        "reduction" => array.reduction.is_some(),
        "snapshots" => array.snapshots.is_some(),
        "drive_cache" => array.drive_cache.is_some(),
        "tier" => array.tier.is_some(),
        "mirror" => array.mirror.is_some(),
        "wear" => array.groups.iter().any(|group| group.drives.rated_bytes().is_some()),
        "failover" => has_peer && !is_cluster,
        "verification" => has_peer && !is_cluster && array.failover.verify.get() > 0,
        _ => true,
    }
}

fn is_hard_disk(drives: &array::Drives) -> bool {
    matches!(drives, array::Drives::HardDisk(_))
}

/// Returns whether a protected buffer is before the drives of a group.
fn has_journal(array: &array::Array) -> bool {
    array.groups.iter().any(|group| group.journal.is_some())
}

/// Returns whether parity lies on a group, or would in a layout that cases set.
fn may_have_parity(group: &array::Group) -> bool {
    let has_parity =
        |layout: &LayoutKind| matches!(layout, LayoutKind::Raid5 | LayoutKind::Raid6 | LayoutKind::Pool);
    has_parity(&group.layout()) || group.layouts().iter().any(has_parity)
}

/// Initial state of solid-state drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Fresh,
    Written,
    Filled,
    Steady,
}

/// Settings of one twin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub condition: Condition,
    /// Entry of the description's volumes.
    pub volume: usize,
    pub arrangement: Arrangement,
    pub room: Room,
    /// I/Os go through the hosts' file system.
    pub uses_file_system: bool,
    /// Machine that issues the load, nodes first, then hosts; as jobs are dealt otherwise.
    pub host: Option<u32>,
    /// Limit of the loaded volume; the description's otherwise.
    pub limit: Option<Limit>,
    pub slice_processors: Option<f64>,
    pub slice_memory_bytes: Option<u64>,
    pub on: Switches,
}

impl Settings {
    /// Reads settings, refusing what the array does not have.
    pub fn parse(map: &Map<String, Value>, array: &array::Array) -> Result<Self, TwinError> {
        let settings = Settings {
            condition: Condition::Filled,
            volume: 0,
            arrangement: Arrangement::default(),
            room: Room::DESCRIBED,
            uses_file_system: false,
            host: None,
            limit: None,
            slice_processors: None,
            slice_memory_bytes: None,
            on: Switches { write_cache: array.cache.mode.get() == 0, ..Switches::ON },
        };
        let set = |settings: &mut Settings, name: &str, value: &Value| {
            match name {
                "condition" => {
                    settings.condition = match value.as_str() {
                        Some("fresh") => Condition::Fresh,
                        Some("written") => Condition::Written,
                        Some("filled") => Condition::Filled,
                        Some("steady") => Condition::Steady,
                        _ => return Err(bad(name, value, CONDITIONS)),
                    };
                }
                "volume" => settings.volume = volume_of(value, array)?,
                "raid" | "layout" | "disks" | "segment" | "volume_size" if !Arrangement::is_of(array) => {
                    return Err(unknown(name, &settings_of(array)));
                }
                "raid" => settings.arrangement.layout = Some(raid(value)?),
                "layout" => settings.arrangement.layout = Some(pool_or_raid(value)?),
                "disks" => {
                    let drives = whole(name, value, DRIVES)?;
                    let drives = drives.try_into().map_err(|_| bad(name, value, DRIVES))?;
                    settings.arrangement.drives = Some(drives);
                }
                "segment" => settings.arrangement.segment_bytes = Some(whole(name, value, BYTES)?),
                "volume_size" => settings.arrangement.volume_bytes = Some(whole(name, value, BYTES)?),
                "coverage" => {
                    settings.room.coverage_percent = match whole(name, value, COVERAGE)? {
                        percent @ 1..=100 => percent as u8,
                        _ => return Err(bad(name, value, COVERAGE)),
                    };
                }
                "shrink" => {
                    settings.room.shrink = match u32::try_from(whole(name, value, SHRINK)?) {
                        Ok(times) if Room::takes_shrink(array, times) => times,
                        _ => return Err(bad(name, value, SHRINK)),
                    };
                }
                "filesystem" => settings.uses_file_system = uses_file_system(value, array)?,
                _ => return set_of_chains(settings, array, name, value),
            }
            Ok(true)
        };
        let mut settings = read(settings, map, &SETTINGS, set, |settings, name| settings.on.named(name))?;
        for (name, is_set, is_possible) in [
            ("coverage", settings.room.coverage_percent != 100, Room::has_shares(array)),
            ("shrink", settings.room.shrink != 1, Room::can_shrink(array)),
        ] {
            if is_set && !is_possible {
                return Err(unknown(name, &settings_of(array)));
            }
        }
        // What is described apart of the links and of the controllers is switched off with them.
        let on = &mut settings.on;
        (on.backend, on.memory) = (on.backend && on.links, on.memory && on.processors);
        // Plans for disks have meant the hosts' processors as well since before hosts had a switch of their own.
        on.host &= on.processors || !array.groups.iter().any(|group| is_hard_disk(&group.drives));
        // Nothing else reads ahead there.
        on.drive_buffer &= on.read_ahead || !array.has_chains();
        Ok(settings)
    }
}

/// Takes what plans set of machines, limits and slices; false where it is something else.
fn set_of_chains(
    settings: &mut Settings,
    array: &array::Array,
    name: &str,
    value: &Value,
) -> Result<bool, TwinError> {
    if name == "host" && on_or_off(name, value).is_ok() {
        return Ok(false);
    }
    let is_own = OWN.iter().any(|setting| setting.name == name);
    if is_own && !is_of(name, array) {
        return Err(unknown(name, &settings_of(array)));
    }
    if let Some(part) = name.strip_prefix("limit_") {
        let limit = settings.limit.get_or_insert_default();
        let Some(part) = limit.part_mut(part) else { return Err(unknown(name, &settings_of(array))) };
        *part = Some(number(name, value, RATE)?);
        return if limit.is_possible() { Ok(true) } else { Err(bad(name, value, RATE)) };
    }
    match name {
        "host" if array.has_chains() => {
            let machine = machine_named(array, value).ok_or_else(|| bad(name, value, HOST))?;
            settings.host = Some(machine);
        }
        "slice_processors" => {
            let cores = number(name, value, CORES)?;
            if !(0.01..=1024.0).contains(&cores) {
                return Err(bad(name, value, CORES));
            }
            settings.slice_processors = Some(cores);
        }
        "slice_memory_bytes" => {
            let parsed = value.as_u64().or_else(|| units::parse_bytes(value.as_str()?).ok());
            settings.slice_memory_bytes = Some(parsed.ok_or_else(|| bad(name, value, BYTES))?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A whole number, or the text of one: settings of a target are texts where the plan language does not know them.
fn whole(name: &str, value: &Value, takes: &str) -> Result<u64, TwinError> {
    let parsed = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    parsed.ok_or_else(|| bad(name, value, takes))
}

fn raid(value: &Value) -> Result<LayoutKind, TwinError> {
    match whole("raid", value, LEVELS)? {
        0 => Ok(LayoutKind::Raid0),
        1 => Ok(LayoutKind::Raid1),
        5 => Ok(LayoutKind::Raid5),
        6 => Ok(LayoutKind::Raid6),
        10 => Ok(LayoutKind::Raid10),
        _ => Err(bad("raid", value, LEVELS)),
    }
}

fn pool_or_raid(value: &Value) -> Result<LayoutKind, TwinError> {
    match value.as_str() {
        Some("ddp") => Ok(LayoutKind::Pool),
        Some("raid6") => Ok(LayoutKind::Raid6),
        Some("raid10") => Ok(LayoutKind::Raid10),
        _ => Err(bad("layout", value, LAYOUTS)),
    }
}

/// Returns whether a value names the file system of the hosts; `raw` names none.
fn uses_file_system(value: &Value, array: &array::Array) -> Result<bool, TwinError> {
    let known = array.file_system.as_ref().map(|file_system| file_system.name.text.as_str());
    match value.as_str() {
        Some("raw") => Ok(false),
        name if name.is_some() && name == known => Ok(true),
        _ => {
            let names: Vec<&str> = ["raw"].into_iter().chain(known).collect();
            Err(bad("filesystem", value, &names.join(", ")))
        }
    }
}

/// Entry of the volumes of a name.
fn volume_of(value: &Value, array: &array::Array) -> Result<usize, TwinError> {
    let named = |name: &str| array.volumes.iter().position(|volume| volume.keys.name.text == name);
    value.as_str().and_then(named).ok_or_else(|| {
        let names: Vec<&str> = array.volumes.iter().map(|volume| volume.keys.name.text.as_str()).collect();
        bad("volume", value, &names.join(", "))
    })
}
