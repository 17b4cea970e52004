//! Settings of an array of hard disks.

use serde_json::{Map, Value};

use super::description::{Description, Level};
use crate::TwinError;
use crate::settings::{Setting, all_of, bad, read, switches};

const LEVELS: &str = "a RAID level: 0, 1, 5, 6 or 10";
const LAYOUTS: &str = "ddp, raid6 or raid10";
const BYTES: &str = "a size in bytes";

/// What a plan sets on an array.
const OWN: [Setting; 6] = [
    Setting { name: "raid", takes: LEVELS, says: "RAID level of the set" },
    Setting { name: "layout", takes: LAYOUTS, says: "pool or RAID level of the set" },
    Setting { name: "disks", takes: "a number of drives", says: "drives of the set" },
    Setting { name: "segment", takes: BYTES, says: "bytes on one drive before the next drive follows" },
    Setting { name: "volume_size", takes: BYTES, says: "bytes of each volume" },
    Setting { name: "filesystem", takes: "raw, or a file system of the hosts", says: "what I/Os go through" },
];

switches! {
    /// Mechanisms, which are on unless switched off.
    Switches {
        write_cache => "off: a write is answered only when the drives have it",
        read_cache => "off: the cache keeps nothing of what was read",
        read_ahead => "off: the controller does not read ahead",
        links => "off: links to hosts and drives carry any load in no time",
        balancing => "off: hosts send all commands over the first link to a controller",
        processors => "off: processors of hosts and controllers, and their memory, take no time",
        parity => "off: writes leave parity alone",
        mirroring => "off: written data is not copied to the other controller",
        seek => "off: arms move in no time",
        rotation => "off: every sector is under the head when it is wanted",
        reordering => "off: drives serve commands in the order of their arrival",
        drive_buffer => "off: drives neither read ahead nor acknowledge writes early",
    }
}

/// Everything that can be set: first what a plan sets on an array, then mechanisms.
pub(crate) const SETTINGS: [Setting; 18] = all_of(&OWN, Switches::SETTINGS);

/// The settings of one twin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub level: Level,
    pub disks: u32,
    /// As set; the description's otherwise.
    pub segment_bytes: u64,
    pub is_segment_set: bool,
    pub volume_bytes: u64,
    /// Number of the file system in the description.
    pub file_system: Option<usize>,
    pub on: Switches,
}

impl Settings {
    /// Reads settings, refusing what this array does not have.
    pub fn parse(description: &Description, map: &Map<String, Value>) -> Result<Self, TwinError> {
        let (layout, cache) = (&description.layout, &description.cache);
        let settings = Settings {
            level: layout.level.get(),
            disks: layout.disks.get(),
            segment_bytes: layout.segment_bytes.get(),
            is_segment_set: false,
            volume_bytes: description.volumes.bytes.get(),
            file_system: None,
            on: Switches {
                write_cache: cache.write_back.get(),
                read_cache: cache.keep_reads.get(),
                read_ahead: cache.read_ahead.get(),
                ..Switches::ON
            },
        };
        let set = |settings: &mut Settings, name: &str, value: &Value| settings.set(description, name, value);
        read(settings, map, &SETTINGS, set, |settings, name| settings.on.named(name))
    }

    /// Takes what a plan sets; false where it is something else.
    fn set(&mut self, description: &Description, name: &str, value: &Value) -> Result<bool, TwinError> {
        match name {
            "raid" => self.level = raid(value)?,
            "layout" => self.level = pool_or_raid(value)?,
            "disks" => {
                self.disks = whole(name, value, "a number of drives")?
                    .try_into()
                    .map_err(|_| bad(name, value, "a number of drives"))?;
            }
            "segment" => {
                self.segment_bytes = whole(name, value, BYTES)?;
                self.is_segment_set = true;
            }
            "volume_size" => self.volume_bytes = whole(name, value, BYTES)?,
            "filesystem" => self.file_system = file_system(description, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A whole number, or the text of one: settings of a target are texts where the plan language does not know them.
fn whole(name: &str, value: &Value, takes: &str) -> Result<u64, TwinError> {
    let parsed = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    parsed.ok_or_else(|| bad(name, value, takes))
}

fn raid(value: &Value) -> Result<Level, TwinError> {
    match whole("raid", value, LEVELS)? {
        0 => Ok(Level::Raid0),
        1 => Ok(Level::Raid1),
        5 => Ok(Level::Raid5),
        6 => Ok(Level::Raid6),
        10 => Ok(Level::Raid10),
        _ => Err(bad("raid", value, LEVELS)),
    }
}

fn pool_or_raid(value: &Value) -> Result<Level, TwinError> {
    match value.as_str() {
        Some("ddp") => Ok(Level::Ddp),
        Some("raid6") => Ok(Level::Raid6),
        Some("raid10") => Ok(Level::Raid10),
        _ => Err(bad("layout", value, LAYOUTS)),
    }
}

fn file_system(description: &Description, value: &Value) -> Result<Option<usize>, TwinError> {
    if value.as_str() == Some("raw") {
        return Ok(None);
    }
    let known = &description.hosts.file_systems;
    match known.iter().position(|known| value.as_str() == Some(&known.name)) {
        Some(index) => Ok(Some(index)),
        None => {
            let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
            Err(bad("filesystem", value, &["raw"].into_iter().chain(names).collect::<Vec<_>>().join(", ")))
        }
    }
}
