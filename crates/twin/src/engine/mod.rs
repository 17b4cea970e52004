//! What every model is made of: moments in order, and things that serve one command at a time.

#[cfg(test)]
mod closed_network;
#[cfg(test)]
mod fork_join;
mod queue;
mod server;
mod slab;

pub(crate) use queue::EventQueue;
pub(crate) use server::{Rate, Server, ServerPool, nanos_of_us};
pub(crate) use slab::Slab;
