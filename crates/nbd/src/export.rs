//! Export trait: the boundary between the protocol and the backing store.

use crate::held_reply::HeldReply;
use std::sync::Arc;
use std::time::Instant;

/// The errors that the protocol knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errno {
    /// Not permitted; for example a write to a read-only export.
    NotPermitted = 1,
    /// The bytes could not be read or written.
    Io = 5,
    /// Too much is asked for at this time.
    NoMemory = 12,
    /// The request makes no sense.
    Invalid = 22,
    /// There is no room.
    NoSpace = 28,
    /// The request is not supported.
    NotSupported = 95,
    /// The server is about to stop.
    Shutdown = 108,
}

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExportError {
    /// Error number for the client program.
    pub errno: Errno,
    /// Message for people; sent in structured replies.
    pub message: String,
}

impl ExportError {
    /// An error with its words.
    pub fn new(errno: Errno, message: impl Into<String>) -> Self {
        ExportError { errno, message: message.into() }
    }
}

/// A run of bytes that is all allocated or all a hole that reads as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Length in bytes.
    pub length_bytes: u64,
    /// True if it may hold anything but zeros.
    pub is_allocated: bool,
}

/// A request for data that has come in, for an export that has a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time of receipt.
    pub at: Instant,
    /// Access to the data: read, write or another.
    pub access: Access,
    /// First byte on the export.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u32,
    /// Number of the connection that the request came by.
    pub connection: u64,
}

/// Direction of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Data goes to the client.
    Read,
    /// Data comes from the client.
    Write,
}

/// A disk for clients. Offsets and lengths are multiples of 512 and lie within it; many threads call at once.
pub trait Export: Send + Sync {
    /// Its size. Clients are told of it once, when they choose the export; a request is held against what it is then.
    fn size_bytes(&self) -> u64;
    /// Returns true if the export was taken away: [`crate::Server::drop_gone`] hangs up on its clients.
    fn is_gone(&self) -> bool {
        false
    }
    /// Returns true if writes are refused.
    fn is_read_only(&self) -> bool;
    /// In words, for `INFO`.
    fn description(&self) -> String;
    /// Fills `buffer`.
    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), ExportError>;
    /// Writes all of `bytes`; durable on return if `fua`.
    fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), ExportError>;
    /// Makes every write that returned before, by whichever connection, durable.
    fn flush(&self) -> Result<(), ExportError>;
    /// Gives a range up; what it reads as afterwards is open.
    fn trim(&self, offset_bytes: u64, length_bytes: u64, fua: bool) -> Result<(), ExportError>;
    /// Makes a range zero, freeing its space if `may_punch`.
    fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), ExportError>;
    /// Lists the allocated and unallocated extents of a range, from its start; at least one extent, and the end may be left
    /// out.
    fn block_status(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<Extent>, ExportError>;

    /// Takes note of a request that arrives, before it is carried out, where replies leave at moments of the export's
    /// own. The number that is returned comes back with its reply; without one the reply leaves at once.
    fn arrive(&self, _arrival: &Arrival) -> Option<u32> {
        None
    }

    /// Takes the reply of a request that has been carried out, to let go of it when its moment has come.
    fn hold(&self, _number: u32, reply: HeldReply) {
        drop(reply);
    }
}

/// The exports of a server.
pub trait Exports: Send + Sync {
    /// All names, the default one (empty) included.
    fn names(&self) -> Vec<String>;
    /// The export of a name.
    fn find(&self, name: &str) -> Option<Arc<dyn Export>>;
}
