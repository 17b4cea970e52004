//! Load hosts: addresses, messages, clocks and links.
//!
//! ```text
//! coordinator ──Request──▶ ssh ──▶ arraylab agent        u32 little-endian length + JSON, both ways
//!             ◀──Reply────     ◀──
//! ```
//!
//! This room moves messages and never knows plans: what an agent does with them is `campaign`'s.

#![doc = include_str!("../README.md")]

mod address;
mod clock;
mod error;
mod frame;
mod link;
mod protocol;
mod quote;
mod sample;
mod ssh;

pub use address::{FioAddress, HOSTS_LIMIT, HostAddress, HostSpec, SshAddress};
pub use clock::{ClockEstimate, ClockOffset};
pub use error::HostError;
pub use frame::{FRAME_BYTES_LIMIT, FrameError, read_frame, write_frame};
pub use link::{Link, LinkEvent, PING_INTERVAL, SILENCE_LIMIT};
pub use protocol::{
    CaseEnd, Hello, LoadRequest, MeasureRequest, OpenRequest, Opened, OpenedTarget, PROTOCOL, Part, Reply,
    Request, SelectionText, decode_reply, decode_request,
};
pub use quote::quote;
pub use sample::{WireCounter, WireLoad, WireSample, WireTotals};
pub use ssh::{AgentCommand, push_binary};
