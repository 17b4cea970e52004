//! The Storage Performance Council's trace format, as of the UMass repository: `ASU,LBA,Size,Opcode,Timestamp`.
//!
//! Source: "SPC I/O Traces", file format revision 1.0.1: LBA in blocks of 512 bytes, size in bytes, time in seconds
//! since the start, fields behind the fifth optional.

use super::line::Line;
use super::{Building, Found, TraceError};
use crate::Direction;

const BLOCK_BYTES: u64 = 512;

pub(super) fn line(line: &Line<'_>, building: &mut Building<'_>) -> Result<(), TraceError> {
    let mut fields = line.text.split(',');
    let unit = line.field(&mut fields, "ASU")?.trim();
    let block = line.field(&mut fields, "LBA")?;
    let size = line.field(&mut fields, "size")?;
    let opcode = line.field(&mut fields, "opcode")?;
    let time = line.field(&mut fields, "timestamp")?;
    let direction = match opcode.trim() {
        "r" | "R" => Direction::Read,
        "w" | "W" => Direction::Write,
        _ => return Err(line.fail_field(opcode, "the opcode is not known", "r and w are")),
    };
    let found = Found {
        at_ns: line.seconds(time, "timestamp")?,
        unit,
        direction,
        offset_bytes: line.scaled(block, "LBA", BLOCK_BYTES)?,
        length_bytes: line.number(size, "size")?,
    };
    building.add(line, &found)
}
