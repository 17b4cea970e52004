//! The MSR Cambridge traces (Narayanan and others, FAST 2008):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, one CSV for each volume.
//!
//! Timestamps are Windows FILETIME: 100 ns since 1601. The recorded response times are not replayed.

use super::line::Line;
use super::{Building, Found, TraceError};
use crate::Direction;

/// One tick of FILETIME.
const TICK_NS: u64 = 100;

#[derive(Default)]
pub(super) struct Msr {
    /// The first timestamp: since 1601 there have been more nanoseconds than 63 bits hold.
    first_ticks: Option<u64>,
}

impl Msr {
    pub fn line(&mut self, line: &Line<'_>, building: &mut Building<'_>) -> Result<(), TraceError> {
        let mut fields = line.text.split(',');
        let time = line.field(&mut fields, "timestamp")?;
        if self.first_ticks.is_none() && time.trim().eq_ignore_ascii_case("timestamp") {
            return Ok(());
        }
        line.field(&mut fields, "host name")?;
        let unit = line.field(&mut fields, "disk number")?.trim();
        let kind = line.field(&mut fields, "type")?;
        let offset = line.field(&mut fields, "offset")?;
        let size = line.field(&mut fields, "size")?;
        let direction = match kind.trim() {
            kind if kind.eq_ignore_ascii_case("read") => Direction::Read,
            kind if kind.eq_ignore_ascii_case("write") => Direction::Write,
            _ => return Err(line.fail_field(kind, "the type is not known", "Read and Write are")),
        };
        let ticks = line.number(time, "timestamp")?;
        // An hour before the first line: these traces are sorted only roughly.
        const MARGIN_TICKS: u64 = 36_000_000_000;
        let first_ticks = *self.first_ticks.get_or_insert(ticks.saturating_sub(MARGIN_TICKS));
        let at_ns =
            ticks.checked_sub(first_ticks).and_then(|ticks| ticks.checked_mul(TICK_NS)).ok_or_else(|| {
                line.fail_field(time, "the timestamp is far from the first line's", "sort the trace by time")
            })?;
        let found = Found {
            at_ns,
            unit,
            direction,
            offset_bytes: line.number(offset, "offset")?,
            length_bytes: line.number(size, "size")?,
        };
        building.add(line, &found)
    }
}
