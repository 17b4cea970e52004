//! Settings of a replicated system.

use serde_json::{Map, Value};

use super::Description;
use crate::TwinError;
use crate::composed::limit::Limit;
use crate::settings::{Setting, all_of, bad, number, read, switches, unknown};

const VOLUME: &str = "the name of a volume";
const HOST: &str = "node, client, or one of them by number as in node-1";
const RATE: &str = "a number above 0";
const CORES: &str = "a number of processor cores from 0.01 to 1024";
const BYTES: &str = "a size in bytes";

/// Settings of plans.
const OWN: [Setting; 8] = [
    Setting { name: "volume", takes: VOLUME, says: "which volume is loaded" },
    Setting { name: "host", takes: HOST, says: "which machine issues the load" },
    Setting { name: "limit_iops", takes: RATE, says: "I/Os a second that the loaded volume may do" },
    Setting { name: "limit_iops_per_gib", takes: RATE, says: "the same for each GiB of the volume" },
    Setting { name: "limit_bw_bytes_per_s", takes: RATE, says: "bytes a second that it may move" },
    Setting { name: "limit_bw_bytes_per_s_per_gib", takes: RATE, says: "the same for each GiB" },
    Setting { name: "slice_processors", takes: CORES, says: "cores of the slice that the servers run in" },
    Setting { name: "slice_memory_bytes", takes: BYTES, says: "memory of the slice that the servers run in" },
];

switches! {
    /// Mechanisms, which are on unless switched off.
    Switches {
        write_cache => "off: a hard disk's replica is answered only when the disk has it",
        limits => "off: volumes have no limits, whatever is set",
        links => "off: the network carries any load in no time",
        processors => "off: services take no time",
        slices => "off: every service has all the processors and memory it asks for",
        copy_on_write => "off: hard disks are written in place, each write by itself",
        seek => "off: arms move in no time",
        rotation => "off: every sector is under the head when it is wanted",
        reordering => "off: disks serve commands in the order of their arrival",
        read_ahead => "off: disks do not read ahead",
        gc => "off: flash drives always find an empty block",
        replication => "off: writes go to the tail only",
    }
}

/// Everything that can be set: first what plans set, then mechanisms.
pub(crate) const SETTINGS: [Setting; 20] = all_of(&OWN, Switches::SETTINGS);

/// The settings of one twin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Number of the volume.
    pub volume: u32,
    /// Number of the machine: nodes first, then clients.
    pub host: u32,
    /// As set; the description's otherwise.
    pub limit: Option<Limit>,
    pub slice_processors: Option<f64>,
    pub slice_memory_bytes: Option<u64>,
    pub on: Switches,
}

impl Settings {
    /// Reads settings, refusing what this system does not have.
    pub fn parse(description: &Description, map: &Map<String, Value>) -> Result<Self, TwinError> {
        let settings = Settings {
            volume: 0,
            host: 0,
            limit: None,
            slice_processors: None,
            slice_memory_bytes: None,
            on: Switches::ON,
        };
        let set = |settings: &mut Settings, name: &str, value: &Value| settings.set(description, name, value);
        read(settings, map, &SETTINGS, set, |settings, name| settings.on.named(name))
    }

    /// Takes what plans set; false where it is something else.
    fn set(&mut self, description: &Description, name: &str, value: &Value) -> Result<bool, TwinError> {
        if let Some(part) = name.strip_prefix("limit_") {
            let limit = self.limit.get_or_insert_default();
            let Some(part) = limit.part_mut(part) else { return Err(unknown(name, &SETTINGS)) };
            *part = Some(number(name, value, RATE)?);
            return if limit.is_possible() { Ok(true) } else { Err(bad(name, value, RATE)) };
        }
        match name {
            "volume" => self.volume = volume(description, name, value)?,
            "host" => self.host = host(description, name, value)?,
            "slice_processors" => {
                let cores = number(name, value, CORES)?;
                if !(0.01..=1024.0).contains(&cores) {
                    return Err(bad(name, value, CORES));
                }
                self.slice_processors = Some(cores);
            }
            "slice_memory_bytes" => self.slice_memory_bytes = Some(bytes(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The number of the volume that a value names.
pub(crate) fn volume(description: &Description, name: &str, value: &Value) -> Result<u32, TwinError> {
    let text = value.as_str().unwrap_or_default();
    let found = description.volumes.iter().position(|volume| volume.name == text);
    found.map(|index| index as u32).ok_or_else(|| {
        let names: Vec<_> = description.volumes.iter().map(|volume| volume.name.as_str()).collect();
        bad(name, value, &names.join(", "))
    })
}

/// The number of the machine that a value names: nodes first, then clients.
pub(crate) fn host(description: &Description, name: &str, value: &Value) -> Result<u32, TwinError> {
    let text = value.as_str().unwrap_or_default();
    let (kind, index) = match text.split_once('-') {
        Some((kind, index)) => (kind, index.parse().ok()),
        None => (text, Some(0)),
    };
    let (nodes, clients) = (description.nodes.count.get(), description.clients.count.get());
    match (kind, index) {
        ("node", Some(index)) if index < nodes => Ok(index),
        ("client", Some(index)) if index < clients => Ok(nodes + index),
        _ => Err(bad(name, value, HOST)),
    }
}

fn bytes(name: &str, value: &Value) -> Result<u64, TwinError> {
    let parsed = value.as_u64().or_else(|| units::parse_bytes(value.as_str()?).ok());
    parsed.ok_or_else(|| bad(name, value, BYTES))
}
