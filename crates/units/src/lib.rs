//! Quantities of the laboratory: bytes, simulated time, shares and rates; how they are read and printed.
//!
//! Sizes follow fio's `kb_base=1024`: `4k` is 4096. Times follow fio: a bare number is seconds.
//! Simulated time is integer nanoseconds, so that results do not depend on floating-point order.

#![doc = include_str!("../README.md")]

mod bytes;
mod print;
mod time;

pub use bytes::{BYTES_LIMIT, Bytes, parse_bytes};
pub use print::{
    human_bandwidth, human_bytes, human_count, human_duration, human_latency, human_rate, with_thousands,
};
pub use time::{NANOS_PER_SECOND, Nanos, TIME_LIMIT_NS, parse_nanos};

/// A text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not a number with a known suffix.
    #[error("`{text}` is not a {what}; examples: {examples}")]
    Malformed {
        /// Text that was read.
        text: String,
        /// The kind of quantity that was expected.
        what: &'static str,
        /// Texts that would have been accepted.
        examples: &'static str,
    },
    /// A number beyond the limit for this quantity.
    #[error("`{text}` is over the limit of {limit}")]
    TooLarge {
        /// Text that was read.
        text: String,
        /// The limit, printed.
        limit: &'static str,
    },
}
