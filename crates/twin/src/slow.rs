//! Drives that have become slow: the same event for every array.

use serde_json::{Map, Value};

use crate::drive::Slowness;
use crate::settings::bad;
use crate::{TwinError, TwinNote};

/// The event: a drive takes `factor` times as long as described for what it does; 1 is as described.
pub const DRIVE_SLOW: &str = "drive-slow";
const DRIVE: &str = "drive";
const FACTOR: &str = "factor";

/// Level of a slow drive among the counters: how long it takes, in thousandths.
pub(crate) const SLOWNESS_LEVEL: &str = "fill_slowness_thousandths";

/// A drive that is to become slow, or as described again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub drive: u32,
    pub slowness: Slowness,
}

impl Change {
    /// Reads what the event is told. `find` knows the array's drives.
    pub fn parse(
        arguments: &Map<String, Value>,
        find: impl Fn(&Value) -> Option<u32>,
    ) -> Result<Change, TwinError> {
        let mut drive = 0;
        let mut slowness = None;
        for (name, value) in arguments {
            match name.as_str() {
                DRIVE => {
                    let takes = "the number or the name of a drive";
                    drive = find(value).ok_or_else(|| bad(name, value, takes))?;
                }
                FACTOR => {
                    let factor = value.as_f64().and_then(Slowness::from_factor);
                    slowness = Some(factor.ok_or_else(|| bad(name, value, "a number from 1 to 1000"))?);
                }
                _ => {
                    let event = DRIVE_SLOW.to_owned();
                    return Err(TwinError::UnknownArgument { event, argument: name.clone() });
                }
            }
        }
        match slowness {
            Some(slowness) => Ok(Change { drive, slowness }),
            None => Err(bad(FACTOR, &Value::Null, "a number from 1 to 1000")),
        }
    }
}

/// The drives that were made slow; another may have taken the place of one since.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlowDrives {
    /// Drive, the name of its part, and how slow.
    drives: Vec<(u32, String, Slowness)>,
    notes: Vec<TwinNote>,
}

impl SlowDrives {
    /// Keeps a change that has taken place.
    pub fn keep(&mut self, at_ns: u64, change: Change, entity: String) {
        let Change { drive, slowness } = change;
        let factor = f64::from(slowness.thousandths()) / 1000.0;
        let says = match slowness {
            Slowness::NONE => format!("{entity} is as fast as it was"),
            _ => format!("{entity} takes {factor} times as long"),
        };
        self.notes.push(TwinNote { at_ns, says });
        self.drives.retain(|&(other, _, _)| other != drive);
        if slowness != Slowness::NONE {
            self.drives.push((drive, entity, slowness));
            self.drives.sort_by_key(|&(drive, _, _)| drive);
        }
    }

    pub fn take_notes(&mut self) -> Vec<TwinNote> {
        std::mem::take(&mut self.notes)
    }

    /// Number, part and slowness of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str, Slowness)> {
        self.drives.iter().map(|(drive, entity, slowness)| (*drive, entity.as_str(), *slowness))
    }
}
