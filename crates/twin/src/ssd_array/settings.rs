//! What can be set on an array of solid-state drives.

use serde_json::{Map, Value};

use crate::TwinError;
use crate::settings::{Setting, bad, on_or_off, unknown};

/// Everything that can be set. Array settings of the plans first, then the mechanisms.
pub(crate) const SETTINGS: [Setting; 15] = [
    Setting { name: "raid", takes: "0 or 5", says: "RAID level over all drives" },
    Setting {
        name: "coverage",
        takes: "1 to 100",
        says: "share of the capacity that the LUNs cover, in percent",
    },
    Setting {
        name: "condition",
        takes: CONDITIONS,
        says: "fresh: erased, no parity yet; written: once, in order; filled: rewritten twice, then rested; \
               steady: as after hours of random writes",
    },
    Setting {
        name: "shrink",
        takes: SHRINK,
        says: "drives, their erased reserve and the cache have so many times less room, so that what fills does so sooner",
    },
    Setting::switch("write_cache", "off: a write is answered only when the drives have it"),
    Setting::switch("host", "off: the host's threads and adapters take no time"),
    Setting::switch("links", "off: links carry any load in no time"),
    Setting::switch("balancing", "off: hosts send all commands over the first link to a controller"),
    Setting::switch("processors", "off: controllers' processors take no time"),
    Setting::switch("crowding", "off: controllers work as fast on one command of many as on one alone"),
    Setting::switch("parity", "off: writes leave parity alone"),
    Setting::switch("parity_engine", "off: parity is made in no time"),
    Setting::switch("parity_updates", "off: any number of changes of parity may be under way"),
    Setting::switch("gc", "off: the drives' garbage collection takes no time"),
    Setting::switch("reserve", "off: the drives keep no erased flash for bursts"),
];

const SHRINK: &str = "1 to 400";
/// The most that an array's room can be shrunk: smaller drives than of a few hundred megabytes would be mostly write
/// buffer.
pub const SHRINK_LIMIT: u32 = 400;

const CONDITIONS: &str = "fresh, written, filled or steady";

/// How the drives start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Fresh,
    Written,
    Filled,
    Steady,
}

/// The settings of one twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub raid: u8,
    pub coverage_percent: u8,
    pub condition: Condition,
    /// How many times less room there is than described.
    pub shrink: u32,
    pub write_cache: bool,
    pub host: bool,
    pub links: bool,
    pub balancing: bool,
    pub processors: bool,
    pub crowding: bool,
    pub parity: bool,
    pub parity_engine: bool,
    pub parity_updates: bool,
    pub gc: bool,
    pub reserve: bool,
}

impl Settings {
    /// Reads settings, refusing what this array does not have. `raid` is the description's level.
    pub fn parse(map: &Map<String, Value>, raid: u8) -> Result<Self, TwinError> {
        let mut settings = Settings {
            raid,
            coverage_percent: 100,
            condition: Condition::Filled,
            shrink: 1,
            // As the published test began ("initially" off), and as its drives are described.
            write_cache: false,
            host: true,
            links: true,
            balancing: true,
            processors: true,
            crowding: true,
            parity: true,
            parity_engine: true,
            parity_updates: true,
            gc: true,
            reserve: true,
        };
        for (name, value) in map {
            let field = match name.as_str() {
                "raid" => {
                    settings.raid = match number(value) {
                        Some(0) => 0,
                        Some(5) => 5,
                        _ => return Err(bad(name, value, "0 or 5")),
                    };
                    continue;
                }
                "coverage" => {
                    settings.coverage_percent = match number(value) {
                        Some(percent @ 1..=100) => percent as u8,
                        _ => return Err(bad(name, value, "1 to 100")),
                    };
                    continue;
                }
                "shrink" => {
                    settings.shrink = match number(value).map(u32::try_from) {
                        Some(Ok(times @ 1..=SHRINK_LIMIT)) => times,
                        _ => return Err(bad(name, value, SHRINK)),
                    };
                    continue;
                }
                "condition" => {
                    settings.condition = match value.as_str() {
                        Some("fresh") => Condition::Fresh,
                        Some("written") => Condition::Written,
                        Some("filled") => Condition::Filled,
                        Some("steady") => Condition::Steady,
                        _ => return Err(bad(name, value, CONDITIONS)),
                    };
                    continue;
                }
                "write_cache" => &mut settings.write_cache,
                "host" => &mut settings.host,
                "links" => &mut settings.links,
                "balancing" => &mut settings.balancing,
                "processors" => &mut settings.processors,
                "crowding" => &mut settings.crowding,
                "parity" => &mut settings.parity,
                "parity_engine" => &mut settings.parity_engine,
                "parity_updates" => &mut settings.parity_updates,
                "gc" => &mut settings.gc,
                "reserve" => &mut settings.reserve,
                _ => return Err(unknown(name, &SETTINGS)),
            };
            *field = on_or_off(name, value)?;
        }
        Ok(settings)
    }
}

/// A whole number, also as the text that a command line gives.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
