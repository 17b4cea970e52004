//! The NBD protocol, server's and client's side: fixed newstyle handshake, simple and structured replies, many
//! connections, replies out of order. Knows nothing about what it serves; that is an [`Export`].
//!
//! After doc/proto.md of NetworkBlockDevice/nbd.

#![doc = include_str!("../README.md")]

mod budget;
mod client;
mod connection;
pub mod decode;
mod execute;
mod export;
mod handshake;
mod held_reply;
mod negotiate;
mod outbox;
mod pool;
pub mod protocol;
mod reader;
mod server;
mod socket;
mod tls;

pub use client::{Client, Reply};
pub use export::{Access, Arrival, Errno, Export, ExportError, Exports, Extent};
pub use handshake::{ClientError, ExportDescription, describe_export};
pub use held_reply::HeldReply;
pub use server::{CONNECTIONS_LIMIT, Listener, Server};
pub use socket::Socket;
pub use tls::{TlsError, TlsSettings};
