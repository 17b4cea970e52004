//! The boundary between the loop and what carries operations out: a ring, threads, or nothing at all.

use load::IoError;

use crate::RingError;

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Trim,
    Sync,
}

/// Places for operations, each with its buffer. A place holds one operation from `push` until `pop` returns it.
pub(crate) trait Queue {
    /// The buffer of a free place; `None` where there are none because no data is moved.
    fn buffer(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]>;

    /// Adds an operation to the batch.
    fn push(&mut self, slot: u32, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError>;

    /// Hands the batch over and waits until `want` completions are there or the time is up.
    fn submit_and_wait(&mut self, want: u32, timeout_ns: u64) -> Result<(), RingError>;

    /// A completion that is there.
    fn pop(&mut self) -> Option<(u32, Result<(), IoError>)>;

    /// Asks for everything in flight to be given up. It still has to be popped.
    fn cancel_all(&mut self);
}
