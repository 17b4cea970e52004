//! blkparse's default text: `major,minor cpu sequence time pid action rwbs sector + sectors [process]`.
//!
//! Source: blkparse(1), "DEFAULT OUTPUT" and "ACTION IDENTIFIERS". The I/Os are the `D` events, what the driver was
//! given; a trace without any, of a device that has no request queue, gives its `Q` events.

use super::line::Line;
use super::{Building, Found, TraceError};
use crate::Direction;

const SECTOR_BYTES: u64 = 512;

#[derive(Default)]
pub(super) struct Blkparse {
    /// True once a `D` was seen: then queue events no longer count.
    has_issued: bool,
}

/// True where a line begins as blkparse's do.
pub(super) fn looks_like(text: &str) -> bool {
    let device = text.split_ascii_whitespace().next().unwrap_or("");
    device.split_once(',').is_some_and(|(major, minor)| {
        !major.is_empty()
            && !minor.is_empty()
            && (major.bytes().chain(minor.bytes())).all(|byte| byte.is_ascii_digit())
    })
}

impl Blkparse {
    pub fn line(&mut self, line: &Line<'_>, building: &mut Building<'_>) -> Result<(), TraceError> {
        // Behind the events blkparse prints totals for each processor and device, which begin with a word.
        if !looks_like(line.text) {
            return Ok(());
        }
        let mut fields = line.text.split_ascii_whitespace();
        let unit = line.field(&mut fields, "device")?;
        for name in ["processor", "sequence number"] {
            line.field(&mut fields, name)?;
        }
        let time = line.field(&mut fields, "time")?;
        line.field(&mut fields, "process number")?;
        let action = line.field(&mut fields, "action")?;
        match action {
            "D" if !self.has_issued => {
                // What was queued before the first issue is among the issued.
                self.has_issued = true;
                building.records.clear();
                building.units.clear();
                building.rounded = 0;
            }
            "D" => {}
            "Q" if !self.has_issued => {}
            _ => return Ok(()),
        }
        let kind = line.field(&mut fields, "kind (rwbs)")?;
        // A letter of rwbs: D discard, W write, R read, F flush before or FUA behind, N none (driver's own commands).
        let direction = if kind.contains('D') {
            Direction::Trim
        } else if kind.contains('W') {
            Direction::Write
        } else if kind.contains('R') {
            Direction::Read
        } else {
            building.skip(if kind.contains('F') { "flush" } else { "other commands" });
            return Ok(());
        };
        let sector = line.field(&mut fields, "sector")?;
        // A flush that carries no data prints no range.
        if sector.starts_with('[') {
            building.skip("flush");
            return Ok(());
        }
        let plus = line.field(&mut fields, "`+`")?;
        if plus != "+" {
            return Err(line.fail_field(
                plus,
                "`+` and a count of sectors are wanted here",
                "print it with blkparse's default format",
            ));
        }
        let sectors = line.field(&mut fields, "count of sectors")?;
        let found = Found {
            at_ns: line.seconds(time, "time")?,
            unit,
            direction,
            offset_bytes: line.scaled(sector, "sector", SECTOR_BYTES)?,
            length_bytes: line.scaled(sectors, "count of sectors", SECTOR_BYTES)?,
        };
        building.add(line, &found)
    }
}
