//! Simulation engine: event queue, servers and slabs that every model uses.

#[cfg(test)]
mod closed_network;
#[cfg(test)]
mod fork_join;
mod queue;
mod server;
mod slab;
mod slots;

pub(crate) use queue::EventQueue;
pub(crate) use server::{Rate, Server, ServerPool};
pub(crate) use slab::Slab;
pub(crate) use slots::Slots;
