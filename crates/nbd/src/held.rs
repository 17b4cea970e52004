//! A reply that waits for its moment.

use crate::connection::Connection;
use crate::outbox::{Reply, Sender};
use std::fmt;
use std::sync::Arc;

/// A reply that is ready and leaves when this is dropped. Until then it counts as under way: the client has a limit of
/// those, and ends only when all have left.
pub struct HeldReply {
    connection: Arc<Connection>,
    reply: Reply,
}

impl HeldReply {
    pub(crate) fn new(connection: Arc<Connection>, reply: Reply) -> HeldReply {
        HeldReply { connection, reply }
    }

    /// Adds a reply that leaves at the same moment, to be sent together. Returns it where it is for another client.
    pub fn join(&mut self, mut other: HeldReply) -> Option<HeldReply> {
        if !Arc::ptr_eq(&self.connection, &other.connection) {
            return Some(other);
        }
        // What is left of it has nothing to send and nothing to release.
        let joined = std::mem::take(&mut other.reply);
        self.reply.bytes.extend_from_slice(&joined.bytes);
        self.reply.claim.join(joined.claim);
        None
    }
}

impl Drop for HeldReply {
    fn drop(&mut self) {
        let reply = std::mem::take(&mut self.reply);
        if !reply.is_empty() {
            self.connection.send(reply, Sender::Worker);
        }
    }
}

impl fmt::Debug for HeldReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a reply of {} bytes", self.reply.bytes.len())
    }
}
