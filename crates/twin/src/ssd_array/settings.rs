//! Settings of an SSD array.

use serde_json::{Map, Value};

use crate::TwinError;
use crate::settings::{SHRINK_LIMIT, Setting, all_of, bad, read, switches};

/// Array settings of the plans.
const OWN: [Setting; 4] = [
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
];

switches! {
    /// Mechanisms, which are on unless switched off.
    Switches {
        write_cache => "off: a write is answered only when the drives have it",
        host => "off: the host's threads and adapters take no time",
        links => "off: links carry any load in no time",
        balancing => "off: hosts send all commands over the first link to a controller",
        processors => "off: controllers' processors take no time",
        crowding => "off: controllers work as fast on one command of many as on one alone",
        parity => "off: writes leave parity alone",
        parity_engine => "off: parity is made in no time",
        parity_updates => "off: any number of changes of parity may be under way",
        gc => "off: the drives' garbage collection takes no time",
        reserve => "off: the drives keep no erased flash for bursts",
    }
}

/// Everything that can be set. Array settings of the plans first, then the mechanisms.
pub(crate) const SETTINGS: [Setting; 15] = all_of(&OWN, Switches::SETTINGS);

const SHRINK: &str = "1 to 400";

const CONDITIONS: &str = "fresh, written, filled or steady";

/// Initial state of the drives.
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
    /// Divisor of the room: described room for each byte that there is.
    pub shrink: u32,
    pub on: Switches,
}

impl Settings {
    /// Reads settings, refusing what this array does not have. `raid` is the description's level.
    pub fn parse(map: &Map<String, Value>, raid: u8) -> Result<Self, TwinError> {
        let settings = Settings {
            raid,
            coverage_percent: 100,
            condition: Condition::Filled,
            shrink: 1,
            // As the published test began ("initially" off), and as its drives are described.
            on: Switches { write_cache: false, ..Switches::ON },
        };
        read(settings, map, &SETTINGS, Settings::set, |settings, name| settings.on.named(name))
    }

    /// Takes a setting of the plans; false where it is none.
    fn set(&mut self, name: &str, value: &Value) -> Result<bool, TwinError> {
        match name {
            "raid" => {
                self.raid = match number(value) {
                    Some(0) => 0,
                    Some(5) => 5,
                    _ => return Err(bad(name, value, "0 or 5")),
                };
            }
            "coverage" => {
                self.coverage_percent = match number(value) {
                    Some(percent @ 1..=100) => percent as u8,
                    _ => return Err(bad(name, value, "1 to 100")),
                };
            }
            "shrink" => {
                self.shrink = match number(value).map(u32::try_from) {
                    Some(Ok(times @ 1..=SHRINK_LIMIT)) => times,
                    _ => return Err(bad(name, value, SHRINK)),
                };
            }
            "condition" => {
                self.condition = match value.as_str() {
                    Some("fresh") => Condition::Fresh,
                    Some("written") => Condition::Written,
                    Some("filled") => Condition::Filled,
                    Some("steady") => Condition::Steady,
                    _ => return Err(bad(name, value, CONDITIONS)),
                };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A whole number, also as the text that a command line gives.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
