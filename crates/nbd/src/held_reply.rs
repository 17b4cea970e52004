//! Held reply: a reply that waits for its send time.

use crate::outbox::Reply;
use std::fmt;
use std::sync::Arc;

/// Connection that replies are sent by.
pub(crate) trait ReplySink: Send + Sync {
    /// Sends a reply from a thread that carries out requests.
    fn send_held(self: Arc<Self>, reply: Reply);
}

/// A reply that is ready and leaves when this is dropped. Until then it counts as under way: the client has a limit of
/// those, and ends only when all have left.
pub struct HeldReply {
    route: ReplyRoute,
}

/// Route of a reply.
enum ReplyRoute {
    /// Reply to a client of the server.
    Client(Arc<dyn ReplySink>, Reply),
    /// Callback of another front end; `None` once the reply has left.
    Call(Option<Box<dyn FnOnce() + Send>>),
}

impl HeldReply {
    pub(crate) fn new(connection: Arc<dyn ReplySink>, reply: Reply) -> HeldReply {
        HeldReply { route: ReplyRoute::Client(connection, reply) }
    }

    /// The reply of another front end to the same export: `leave` is called once, when its moment has come.
    pub fn calling(leave: impl FnOnce() + Send + 'static) -> HeldReply {
        HeldReply { route: ReplyRoute::Call(Some(Box::new(leave))) }
    }

    /// Adds a reply that leaves at the same moment, to be sent together. Returns it where it is for another client.
    pub fn join(&mut self, mut other: HeldReply) -> Option<HeldReply> {
        let (ReplyRoute::Client(connection, reply), ReplyRoute::Client(others, joined)) =
            (&mut self.route, &mut other.route)
        else {
            return Some(other);
        };
        if !Arc::ptr_eq(connection, others) {
            return Some(other);
        }
        // What is left of it has nothing to send and nothing to release.
        let joined = std::mem::take(joined);
        reply.bytes.extend_from_slice(&joined.bytes);
        reply.claim.join(joined.claim);
        None
    }
}

impl Drop for HeldReply {
    fn drop(&mut self) {
        match &mut self.route {
            ReplyRoute::Client(connection, reply) => {
                let reply = std::mem::take(reply);
                if !reply.is_empty() {
                    connection.clone().send_held(reply);
                }
            }
            ReplyRoute::Call(leave) => {
                if let Some(leave) = leave.take() {
                    leave();
                }
            }
        }
    }
}

impl fmt::Debug for HeldReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.route {
            ReplyRoute::Client(_, reply) => write!(f, "a reply of {} bytes", reply.bytes.len()),
            ReplyRoute::Call(_) => write!(f, "a reply of another front end"),
        }
    }
}
