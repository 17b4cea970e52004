//! Virtual disk requested by array settings.

use crate::{DriverError, Options, Settings};
use diagnostic::Problem;
use serde_json::Value;

/// The segment (strip) of the RAID test in systems.md, and the default of PERC controllers.
const SEGMENT_DEFAULT_BYTES: u64 = 64 << 10;

/// A virtual disk to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub raid: u8,
    pub drives: Vec<String>,
    pub segment_bytes: u64,
    pub write_cache: bool,
    /// Usable; none: all that there is.
    pub size_bytes: Option<u64>,
}

impl Request {
    /// Describes the request for a sentence.
    pub(crate) fn shown(&self) -> String {
        format!("RAID {} over {} drives", self.raid, self.drives.len())
    }
}

/// Default settings where a case has none.
#[derive(Debug, Clone)]
pub(crate) struct Defaults {
    pub drives: Vec<String>,
    raid: Option<u8>,
    segment_bytes: u64,
    write_cache: bool,
    size_bytes: Option<u64>,
}

impl Defaults {
    pub(crate) const OPTIONS: &'static str = "drives, size, raid, segment, write_cache";

    pub(crate) fn take(options: &mut Options) -> Result<Self, DriverError> {
        let raid = options.number("raid", u32::MAX)?;
        let write_cache = options.take("write_cache");
        let defaults = Defaults {
            drives: options.drives()?,
            raid: u8::try_from(raid).ok(),
            segment_bytes: options.bytes("segment")?.unwrap_or(SEGMENT_DEFAULT_BYTES),
            write_cache: match write_cache.as_deref() {
                None | Some("off") => false,
                Some("on") => true,
                Some(_) => {
                    return Err(options.problem("gives a write_cache= that is not on or off", HINT));
                }
            },
            size_bytes: options.bytes("size")?,
        };
        // The tools take whole MiB and KiB.
        if defaults.size_bytes.is_some_and(|size| size == 0 || size % (1 << 20) != 0) {
            return Err(options.problem("gives a size= that is not a positive number of MiB", HINT));
        }
        if !is_segment(defaults.segment_bytes) {
            return Err(options.problem("gives a segment= that is not a power of two from 4k to 16m", HINT));
        }
        Ok(defaults)
    }

    /// The virtual disk that `settings` ask for, or why this kind of driver cannot make one of them. No setting is
    /// passed over: a case is never run without one of its settings.
    pub(crate) fn request(&self, settings: &Settings) -> Result<Request, Problem> {
        let mut request = Request {
            raid: self.raid.unwrap_or(u8::MAX),
            drives: self.drives.clone(),
            segment_bytes: self.segment_bytes,
            write_cache: self.write_cache,
            size_bytes: self.size_bytes,
        };
        for (name, value) in settings {
            let cannot = || {
                Problem::new(format!("{name} = {} cannot be set by this driver", crate::array::shown(value)))
            };
            match name.as_str() {
                "raid" => {
                    request.raid =
                        value.as_u64().and_then(|raid| u8::try_from(raid).ok()).ok_or_else(cannot)?;
                }
                "disks" => {
                    let disks = value.as_u64().filter(|&disks| disks > 0).ok_or_else(cannot)?;
                    if disks > self.drives.len() as u64 {
                        let named = self.drives.len();
                        return Err(format!("disks = {disks}, but drives= names only {named}").into());
                    }
                    request.drives.truncate(disks as usize);
                }
                "segment" => {
                    request.segment_bytes =
                        value.as_u64().filter(|&bytes| is_segment(bytes)).ok_or_else(cannot)?;
                }
                "write_cache" => {
                    request.write_cache = match value {
                        Value::String(text) if text == "on" => true,
                        Value::String(text) if text == "off" => false,
                        _ => return Err(cannot()),
                    };
                }
                _ => return Err(cannot()),
            }
        }
        match request.raid {
            0 | 1 | 5 | 6 | 10 => Ok(request),
            u8::MAX => Err("neither the case nor the driver's options say which RAID level (raid)".into()),
            raid => Err(format!("raid = {raid} is not 0, 1, 5, 6 or 10").into()),
        }
    }
}

const HINT: &str = "for example drives=0:0:0-0:0:11,size=12g,segment=64k,write_cache=off";

fn is_segment(bytes: u64) -> bool {
    bytes.is_power_of_two() && (4 << 10..=16 << 20).contains(&bytes)
}
