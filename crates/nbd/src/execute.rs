//! Execution of one request.

use crate::decode::{Command, ReplyHeader, Request};
use crate::export::{Errno, Export, ExportError};
use crate::negotiate::Negotiated;
use crate::protocol::{
    BASE_ALLOCATION_ID, BLOCK_BYTES_MINIMUM, PAYLOAD_BYTES_LIMIT, STATE_HOLE, STATE_ZERO, chunk, command_flag,
};

/// Longer words are cut.
const MESSAGE_BYTES_LIMIT: usize = 1024;
/// Bytes of one read of `CACHE`.
const CACHE_READ_BYTES: u64 = 256 << 10;

/// Refuses what makes no sense before anything is read or written.
pub(crate) fn check(request: &Request, negotiated: &Negotiated) -> Result<(), ExportError> {
    use command_flag as flag;
    let invalid = |message: String| Err(ExportError::new(Errno::Invalid, message));
    let allowed = flag::FUA
        | match request.command {
            Command::Read if negotiated.is_structured => flag::DF,
            Command::WriteZeroes => flag::NO_HOLE | flag::FAST_ZERO,
            Command::BlockStatus => flag::REQ_ONE,
            _ => 0,
        };
    if request.flags & !allowed != 0 {
        return invalid(format!("the flags {:#x} do not fit the command", request.flags & !allowed));
    }
    let is_change = match request.command {
        Command::Flush | Command::Disconnect => return Ok(()),
        Command::Unknown(number) => return invalid(format!("command {number} is not known")),
        Command::BlockStatus if !negotiated.has_allocation_context => {
            return invalid("no metadata context was chosen".to_owned());
        }
        Command::Write | Command::Trim | Command::WriteZeroes => true,
        Command::Read | Command::Cache | Command::BlockStatus => false,
    };
    if is_change && negotiated.export.is_read_only() {
        return Err(ExportError::new(Errno::NotPermitted, "the export is read-only"));
    }
    let (offset, length) = (request.offset_bytes, u64::from(request.length_bytes));
    let block = u64::from(BLOCK_BYTES_MINIMUM);
    if !offset.is_multiple_of(block) || !length.is_multiple_of(block) || length == 0 {
        return invalid(format!(
            "offset {offset} and length {length} are not both multiples of {block}, and more than none"
        ));
    }
    let moves_payload = matches!(request.command, Command::Read | Command::Write);
    if moves_payload && request.length_bytes > PAYLOAD_BYTES_LIMIT {
        return invalid(format!("{length} bytes are more than the {PAYLOAD_BYTES_LIMIT} of a request"));
    }
    let size_bytes = negotiated.export.size_bytes();
    if offset.checked_add(length).is_none_or(|end| end > size_bytes) {
        // The protocol asks for these two.
        let errno = if is_change { Errno::NoSpace } else { Errno::Invalid };
        let words = format!("{length} bytes at {offset} lie beyond the export's {size_bytes}");
        return Err(ExportError::new(errno, words));
    }
    if request.flags & flag::FAST_ZERO != 0 {
        return Err(ExportError::new(Errno::NotSupported, "zeroing is not always faster than writing"));
    }
    Ok(())
}

/// Carries out a checked request and appends its reply.
pub(crate) fn execute(request: &Request, payload: &[u8], negotiated: &Negotiated, reply: &mut Vec<u8>) {
    let start = reply.len();
    if let Err(error) = attempt(request, payload, negotiated, reply) {
        reply.truncate(start);
        refuse(request, negotiated, &error, reply);
    }
}

fn attempt(
    request: &Request,
    payload: &[u8],
    negotiated: &Negotiated,
    reply: &mut Vec<u8>,
) -> Result<(), ExportError> {
    let export = &*negotiated.export;
    let (offset, length) = (request.offset_bytes, u64::from(request.length_bytes));
    let fua = request.flags & command_flag::FUA != 0;
    match request.command {
        Command::Read => return read(request, negotiated, reply),
        Command::BlockStatus => return block_status(request, negotiated, reply),
        Command::Write => export.write_at(offset, payload, fua)?,
        Command::Flush => export.flush()?,
        Command::Trim => export.trim(offset, length, fua)?,
        Command::Cache => cache(export, offset, length)?,
        Command::WriteZeroes => {
            export.write_zeroes(offset, length, request.flags & command_flag::NO_HOLE == 0, fua)?;
        }
        Command::Disconnect | Command::Unknown(_) => {}
    }
    done(request, reply);
    Ok(())
}

fn done(request: &Request, reply: &mut Vec<u8>) {
    // Allowed for every command but READ and BLOCK_STATUS also where structured replies were agreed.
    ReplyHeader::Simple { error: 0, cookie: request.cookie }.encode(reply);
}

fn read(request: &Request, negotiated: &Negotiated, reply: &mut Vec<u8>) -> Result<(), ExportError> {
    let cookie = request.cookie;
    if negotiated.is_structured {
        let length_bytes = request.length_bytes + 8;
        ReplyHeader::Chunk { flags: chunk::DONE, kind: chunk::OFFSET_DATA, cookie, length_bytes }
            .encode(reply);
        reply.extend_from_slice(&request.offset_bytes.to_be_bytes());
    } else {
        ReplyHeader::Simple { error: 0, cookie }.encode(reply);
    }
    let start = reply.len();
    reply.resize(start + request.length_bytes as usize, 0);
    negotiated.export.read_at(request.offset_bytes, &mut reply[start..])
}

/// Reads what a client will want soon, so that it lies in the page cache.
fn cache(export: &dyn Export, offset: u64, length: u64) -> Result<(), ExportError> {
    let length = length.min(u64::from(PAYLOAD_BYTES_LIMIT));
    let mut buffer = vec![0; CACHE_READ_BYTES.min(length) as usize];
    let mut done = 0;
    while done < length {
        let count = (length - done).min(CACHE_READ_BYTES) as usize;
        export.read_at(offset + done, &mut buffer[..count])?;
        done += count as u64;
    }
    Ok(())
}

fn block_status(request: &Request, negotiated: &Negotiated, reply: &mut Vec<u8>) -> Result<(), ExportError> {
    let mut extents =
        negotiated.export.block_status(request.offset_bytes, u64::from(request.length_bytes))?;
    if request.flags & command_flag::REQ_ONE != 0 {
        extents.truncate(1);
    }
    let length_bytes = 4 + 8 * extents.len() as u32;
    ReplyHeader::Chunk {
        flags: chunk::DONE,
        kind: chunk::BLOCK_STATUS,
        cookie: request.cookie,
        length_bytes,
    }
    .encode(reply);
    reply.extend_from_slice(&BASE_ALLOCATION_ID.to_be_bytes());
    for extent in extents {
        let flags = if extent.is_allocated { 0 } else { STATE_HOLE | STATE_ZERO };
        reply.extend_from_slice(&(extent.length_bytes as u32).to_be_bytes());
        reply.extend_from_slice(&flags.to_be_bytes());
    }
    Ok(())
}

/// Appends the reply of a request that is not carried out.
pub(crate) fn refuse(request: &Request, negotiated: &Negotiated, error: &ExportError, reply: &mut Vec<u8>) {
    let (cookie, errno) = (request.cookie, error.errno as u32);
    let needs_chunks = matches!(request.command, Command::Read | Command::BlockStatus);
    if !negotiated.is_structured || !needs_chunks {
        ReplyHeader::Simple { error: errno, cookie }.encode(reply);
        return;
    }
    let mut end = error.message.len().min(MESSAGE_BYTES_LIMIT);
    while !error.message.is_char_boundary(end) {
        end -= 1;
    }
    let words = &error.message[..end];
    let length_bytes = 6 + words.len() as u32;
    ReplyHeader::Chunk { flags: chunk::DONE, kind: chunk::ERROR, cookie, length_bytes }.encode(reply);
    reply.extend_from_slice(&errno.to_be_bytes());
    reply.extend_from_slice(&(words.len() as u16).to_be_bytes());
    reply.extend_from_slice(words.as_bytes());
}
