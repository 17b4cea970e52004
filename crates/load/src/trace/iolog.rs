//! fio's `write_iolog`: version 2 (`file action offset length`, `wait` lines) and 3 (microseconds before each line).
//!
//! Source: fio's HOWTO, "Trace file format"; checked against fio 3.33, which writes version 3.

use super::line::Line;
use super::{Building, Found, TraceError, TraceFormat};
use crate::Direction;

const MICROSECOND_NS: u64 = 1000;

pub(super) struct Iolog {
    has_times: bool,
    /// Sum of the `wait` lines so far; version 2 has no other times.
    waited_ns: u64,
}

impl Iolog {
    /// The decoder of the version that a first line names, if it is an iolog's.
    pub fn from_header(line: &Line<'_>) -> Result<Option<Iolog>, TraceError> {
        match line.text.trim() {
            "fio version 2 iolog" => Ok(Some(Iolog { has_times: false, waited_ns: 0 })),
            "fio version 3 iolog" => Ok(Some(Iolog { has_times: true, waited_ns: 0 })),
            text if text.starts_with("fio version") => {
                Err(line.fail(0, "this version of iolog is not known", "versions 2 and 3 are read"))
            }
            _ => Ok(None),
        }
    }

    pub fn format(&self) -> TraceFormat {
        if self.has_times { TraceFormat::IologV3 } else { TraceFormat::IologV2 }
    }

    pub fn line(&mut self, line: &Line<'_>, building: &mut Building<'_>) -> Result<(), TraceError> {
        let mut fields = line.text.split_ascii_whitespace();
        let at_ns = if self.has_times {
            let time = line.field(&mut fields, "time")?;
            line.scaled(time, "time", MICROSECOND_NS)?
        } else {
            self.waited_ns
        };
        let unit = line.field(&mut fields, "file")?;
        let action = line.field(&mut fields, "action")?;
        let direction = match action {
            "add" | "open" | "close" => return Ok(()),
            "wait" => {
                let microseconds = line.field(&mut fields, "offset (microseconds to wait)")?;
                let wait_ns = line.scaled(microseconds, "wait", MICROSECOND_NS)?;
                self.waited_ns = self.waited_ns.checked_add(wait_ns).ok_or_else(|| {
                    line.fail_field(microseconds, "the waits add up to too much", "mend the line")
                })?;
                return Ok(());
            }
            "sync" | "datasync" => {
                building.skip(action);
                return Ok(());
            }
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            _ => {
                return Err(line.fail_field(
                    action,
                    "the action is not known",
                    "add, open, close, read, write, trim, sync, datasync and wait are",
                ));
            }
        };
        let offset = line.field(&mut fields, "offset")?;
        let length = line.field(&mut fields, "length")?;
        let found = Found {
            at_ns,
            unit,
            direction,
            offset_bytes: line.number(offset, "offset")?,
            length_bytes: line.number(length, "length")?,
        };
        building.add(line, &found)
    }
}
