//! Recorded I/O traces and their text formats.
//!
//! Formats, each in a file of its own: fio's iolog (versions 2 and 3), blkparse's text, the MSR Cambridge CSV and SPC's.
//! A trace is read whole, because its I/Os are dealt out to jobs and sorted by time.

mod blkparse;
mod error;
mod iolog;
mod line;
mod msr;
mod spc;

use std::collections::BTreeMap;
use std::io::BufRead;

pub use error::TraceError;

use crate::Direction;
use line::Line;

/// The most I/Os of a trace: at 24 bytes each, 1.2 GB.
pub const TRACE_RECORDS_LIMIT: usize = 50_000_000;
/// The longest line of a trace.
pub const TRACE_LINE_LIMIT_BYTES: usize = 4096;
/// The longest read or write of a trace. Trims may be longer, up to what 32 bits hold.
pub const TRACE_LENGTH_LIMIT_BYTES: u64 = 64 << 20;
/// The most units (disks, files, ASUs) that a trace may name.
pub const TRACE_UNITS_LIMIT: usize = 4096;

/// Offsets and lengths are rounded outwards to it: the smallest block that a block device addresses.
const SECTOR_BYTES: u64 = 512;

/// One recorded I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// Time of issue, since the first I/O of the trace.
    pub at_ns: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length in bytes; a multiple of 512.
    pub length_bytes: u32,
    /// Read, write or trim.
    pub direction: Direction,
}

/// The text formats that traces come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// fio's `write_iolog`, version 2: no times but `wait` lines.
    IologV2,
    /// fio's `write_iolog`, version 3: microseconds since the start on each line.
    IologV3,
    /// blkparse's default output; the I/Os are its `D` (issued to the driver) events, or `Q` where there is no `D`.
    Blkparse,
    /// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, times in 100 ns (Windows FILETIME).
    Msr,
    /// `ASU,LBA,Size,Opcode,Timestamp`, LBA in 512-byte sectors, time in seconds.
    Spc,
}

impl TraceFormat {
    /// Its name, as plans and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::IologV2 => "fio iolog version 2",
            TraceFormat::IologV3 => "fio iolog version 3",
            TraceFormat::Blkparse => "blkparse",
            TraceFormat::Msr => "MSR Cambridge CSV",
            TraceFormat::Spc => "SPC",
        }
    }
}

/// A recorded load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// I/Os by time; those at the same time in the order of the file.
    records: Vec<TraceRecord>,
    /// Format that it was read in.
    pub format: TraceFormat,
    /// I/Os of each disk, file or ASU that the file names, those left out by the choice of a unit too.
    pub units: BTreeMap<String, u64>,
    /// Number of lines that are no reads, writes or trims, by operation (`sync`, `flush`, …): they are not replayed.
    pub skipped: BTreeMap<String, u64>,
    /// I/Os that were rounded outwards to whole sectors.
    pub rounded: u64,
    extent: Extent,
}

/// Extremes of a trace, computed once: they are needed often, and a trace may have millions of I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    end_bytes: u64,
    largest_bytes: u32,
    longest_bytes: u32,
    only_reads: bool,
}

impl Extent {
    fn of(records: &[TraceRecord]) -> Extent {
        let nothing = Extent {
            end_bytes: 0,
            largest_bytes: SECTOR_BYTES as u32,
            longest_bytes: SECTOR_BYTES as u32,
            only_reads: true,
        };
        records.iter().fold(nothing, |extent, record| Extent {
            end_bytes: extent.end_bytes.max(record.offset_bytes + u64::from(record.length_bytes)),
            largest_bytes: match record.direction {
                Direction::Trim => extent.largest_bytes,
                _ => extent.largest_bytes.max(record.length_bytes),
            },
            longest_bytes: extent.longest_bytes.max(record.length_bytes),
            only_reads: extent.only_reads && record.direction == Direction::Read,
        })
    }
}

impl Trace {
    /// Reads a trace in whichever format its first lines show. `unit` chooses a disk, file or ASU by its name; a
    /// trace of several is refused without it, because their addresses are not one space.
    ///
    /// `source_name` stands in errors.
    pub fn read(source_name: &str, input: &mut dyn BufRead, unit: Option<&str>) -> Result<Trace, TraceError> {
        let mut reader = Reader { source_name, input, number: 0, text: String::new() };
        let mut building = Building { unit, ..Building::default() };
        let mut decoder: Option<Decoder> = None;
        while let Some(line) = reader.next()? {
            if line.text.trim().is_empty() {
                continue;
            }
            match &mut decoder {
                None => decoder = Some(Decoder::for_first_line(line, &mut building)?),
                Some(decoder) => decoder.line(line, &mut building)?,
            }
        }
        let Some(decoder) = decoder else {
            return Err(TraceError::at(source_name, 1, 1, "the trace is empty", "give a file with I/Os"));
        };
        building.finish(source_name, &decoder)
    }

    /// The I/Os, by time.
    pub fn records(&self) -> &[TraceRecord] {
        &self.records
    }

    /// Returns the time from the first I/O to the last, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.records.last().map_or(0, |record| record.at_ns)
    }

    /// Returns the end of the highest byte range that an I/O touches.
    pub fn end_bytes(&self) -> u64 {
        self.extent.end_bytes
    }

    /// The longest read or write; a sector where there is none.
    pub fn largest_bytes(&self) -> u32 {
        self.extent.largest_bytes
    }

    /// The longest I/O, trims among them.
    pub fn longest_bytes(&self) -> u32 {
        self.extent.longest_bytes
    }

    /// True where nothing is changed: no writes and no trims.
    pub fn only_reads(&self) -> bool {
        self.extent.only_reads
    }
}

/// Lines of a file, bounded.
struct Reader<'a> {
    source_name: &'a str,
    input: &'a mut dyn BufRead,
    number: u64,
    text: String,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Option<Line<'_>>, TraceError> {
        self.number += 1;
        let mut bytes = Vec::new();
        let limit = TRACE_LINE_LIMIT_BYTES as u64 + 1;
        let read = std::io::Read::take(&mut *self.input, limit).read_until(b'\n', &mut bytes);
        let fail =
            |message: &str, hint: &str| TraceError::at(self.source_name, self.number, 1, message, hint);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) if bytes.len() > TRACE_LINE_LIMIT_BYTES => {
                return Err(fail(
                    &format!("a line is longer than {TRACE_LINE_LIMIT_BYTES} bytes"),
                    "a trace is text with one I/O on each line; a binary of blktrace must go through blkparse first",
                ));
            }
            Ok(_) => {}
            Err(source) => return Err(TraceError::Io { source_name: self.source_name.to_owned(), source }),
        }
        self.text = String::from_utf8(bytes).map_err(|_| {
            fail("the line is not text", "a binary of blktrace must go through blkparse first")
        })?;
        Ok(Some(Line { source_name: self.source_name, number: self.number, text: self.text.trim_end() }))
    }
}

/// One state machine for each format.
enum Decoder {
    Iolog(iolog::Iolog),
    Blkparse(blkparse::Blkparse),
    Msr(msr::Msr),
    Spc,
}

impl Decoder {
    /// Tells the format by the first line, and takes that line.
    fn for_first_line(line: Line<'_>, building: &mut Building<'_>) -> Result<Decoder, TraceError> {
        if let Some(iolog) = iolog::Iolog::from_header(&line)? {
            return Ok(Decoder::Iolog(iolog));
        }
        let commas = line.text.matches(',').count();
        let mut decoder = match commas {
            6 => Decoder::Msr(msr::Msr::default()),
            // SPC allows further fields behind the five.
            4 | 5 => Decoder::Spc,
            _ if blkparse::looks_like(line.text) => Decoder::Blkparse(blkparse::Blkparse::default()),
            _ => {
                return Err(line.fail(
                    0,
                    "the line is of no known trace format",
                    "fio iolog, blkparse text, MSR Cambridge CSV and SPC are read",
                ));
            }
        };
        decoder.line(line, building)?;
        Ok(decoder)
    }

    fn line(&mut self, line: Line<'_>, building: &mut Building<'_>) -> Result<(), TraceError> {
        match self {
            Decoder::Iolog(iolog) => iolog.line(&line, building),
            Decoder::Blkparse(blkparse) => blkparse.line(&line, building),
            Decoder::Msr(msr) => msr.line(&line, building),
            Decoder::Spc => spc::line(&line, building),
        }
    }

    fn format(&self) -> TraceFormat {
        match self {
            Decoder::Iolog(iolog) => iolog.format(),
            Decoder::Blkparse(_) => TraceFormat::Blkparse,
            Decoder::Msr(_) => TraceFormat::Msr,
            Decoder::Spc => TraceFormat::Spc,
        }
    }
}

/// I/O that a decoder read from a line.
struct Found<'a> {
    at_ns: u64,
    unit: &'a str,
    direction: Direction,
    offset_bytes: u64,
    length_bytes: u64,
}

/// The trace that is being put together.
#[derive(Default)]
struct Building<'a> {
    unit: Option<&'a str>,
    records: Vec<TraceRecord>,
    units: BTreeMap<String, u64>,
    skipped: BTreeMap<String, u64>,
    rounded: u64,
}

impl Building<'_> {
    fn skip(&mut self, what: &str) {
        *self.skipped.entry(what.to_owned()).or_default() += 1;
    }

    fn add(&mut self, line: &Line<'_>, found: &Found<'_>) -> Result<(), TraceError> {
        if found.length_bytes == 0 {
            self.skip("I/Os of no bytes");
            return Ok(());
        }
        if let Some(count) = self.units.get_mut(found.unit) {
            *count += 1;
        } else if self.units.len() < TRACE_UNITS_LIMIT {
            self.units.insert(found.unit.to_owned(), 1);
        } else {
            let message = format!("the trace names more than {TRACE_UNITS_LIMIT} disks or files");
            return Err(line.fail(0, &message, "cut it to those that you want"));
        }
        if self.unit.is_some_and(|unit| unit != found.unit) {
            return Ok(());
        }
        let start = found.offset_bytes / SECTOR_BYTES * SECTOR_BYTES;
        let end = found
            .offset_bytes
            .checked_add(found.length_bytes)
            .and_then(|end| end.checked_next_multiple_of(SECTOR_BYTES))
            .ok_or_else(|| line.fail(0, "the I/O ends beyond the largest address", "mend the line"))?;
        let is_trim = found.direction == Direction::Trim;
        let limit = if is_trim { u64::from(u32::MAX) } else { TRACE_LENGTH_LIMIT_BYTES };
        if end - start > limit {
            let message = format!("an I/O of {} bytes; the most is {limit}", end - start);
            return Err(line.fail(0, &message, "split it, as the kernel would"));
        }
        if self.records.len() == TRACE_RECORDS_LIMIT {
            let message = format!("the trace has more than {TRACE_RECORDS_LIMIT} I/Os");
            return Err(line.fail(0, &message, "cut it to the part that you want"));
        }
        self.rounded += u64::from(end - start != found.length_bytes);
        self.records.push(TraceRecord {
            at_ns: found.at_ns,
            offset_bytes: start,
            length_bytes: (end - start) as u32,
            direction: found.direction,
        });
        Ok(())
    }

    fn finish(mut self, source_name: &str, decoder: &Decoder) -> Result<Trace, TraceError> {
        if self.unit.is_none() && self.units.len() > 1 {
            const SHOWN: usize = 8;
            let mut names: Vec<&str> = self.units.keys().map(String::as_str).take(SHOWN).collect();
            if self.units.len() > SHOWN {
                names.push("…");
            }
            let message =
                format!("the trace is of {} disks or files: {}", self.units.len(), names.join(", "));
            return Err(TraceError::at(source_name, 1, 1, &message, "choose one with `unit:`"));
        }
        if self.records.is_empty() {
            let message = match self.unit {
                Some(unit) if !self.units.is_empty() => {
                    let names: Vec<&str> = self.units.keys().map(String::as_str).collect();
                    format!("no I/O is of `{unit}`; the trace has {}", names.join(", "))
                }
                _ => "the trace has no reads, writes or trims".to_owned(),
            };
            return Err(TraceError::at(source_name, 1, 1, &message, "choose another unit, or another file"));
        }
        // Recorders write lines as they get them, which with several processors is not always by time. The sort is
        // stable: I/Os of one moment keep the order of the file.
        self.records.sort_by_key(|record| record.at_ns);
        let first_ns = self.records[0].at_ns;
        for record in &mut self.records {
            record.at_ns -= first_ns;
        }
        Ok(Trace {
            extent: Extent::of(&self.records),
            records: self.records,
            format: decoder.format(),
            units: self.units,
            skipped: self.skipped,
            rounded: self.rounded,
        })
    }
}

#[cfg(test)]
mod tests;
