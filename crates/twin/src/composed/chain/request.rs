//! Requests in flight: I/Os by tag, and one request for each object that an I/O touches.

use load::Direction;

use super::placement::Place;
use super::row::Row;

/// I/O of a tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Io {
    pub issued_at_ns: u64,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub volume: u32,
    pub host: u32,
    pub requests_left: u32,
    pub direction: Direction,
    pub has_failed: bool,
}

/// Whom a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The I/O of that tag.
    Io(u32),
    /// That stream of the relocation.
    Stream(u32),
    /// Nobody: a write that follows an object to its new places.
    Follow,
}

/// A read or write of a part of one object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub owner: Owner,
    pub direction: Direction,
    /// First byte in the object.
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// The replicas that it concerns, in the order in which a write passes through them.
    pub places: Row<Place>,
    pub answers_left: u32,
    /// Machine that answers go to.
    pub host: u32,
}

impl Request {
    /// Bytes that a message to a replica carries.
    #[inline]
    pub fn bytes_there(&self) -> u64 {
        if self.direction == Direction::Write { u64::from(self.length_bytes) } else { 0 }
    }

    /// Bytes that an answer carries.
    #[inline]
    pub fn bytes_back(&self) -> u64 {
        if self.direction == Direction::Read { u64::from(self.length_bytes) } else { 0 }
    }
}
