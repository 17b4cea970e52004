//! Replies on their way out. Whoever has a reply sends it, together with all that others put down meanwhile; only
//! where the client does not take them a thread of the connection's own waits for it, so that workers never do.

use crate::budget::Claim;
use crate::socket::Socket;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The reader of a connection puts down no more while this much waits.
const PENDING_BYTES_LIMIT: usize = 1 << 20;

/// Bytes to send and what they hold until then.
#[derive(Default)]
pub(crate) struct Reply {
    pub bytes: Vec<u8>,
    pub claim: Claim,
}

impl Reply {
    /// Returns true if the reply sends and releases nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.claim == Claim::default()
    }
}

#[derive(Default)]
struct State {
    pending: VecDeque<Reply>,
    pending_bytes: usize,
    /// True while a thread sends; it also sends what is added meanwhile.
    is_sending: bool,
    /// Sending is left to the connection's own thread.
    is_handed_over: bool,
    has_thread: bool,
    is_closed: bool,
}

#[derive(Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

/// Sender of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The connection's reader, which may wait for its client.
    Reader,
    /// A worker of all connections, which may not.
    Worker,
}

impl Outbox {
    /// Sends a reply, or leaves it to the thread that already sends. Returns true if the connection's own thread
    /// is to be started, by [`Outbox::send_when_handed_over`].
    #[must_use]
    pub(crate) fn put(&self, socket: &Socket, reply: Reply, sender: Sender, release: &dyn Fn(Claim)) -> bool {
        let mut state = self.state();
        while sender == Sender::Reader && state.pending_bytes > PENDING_BYTES_LIMIT && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            drop(state);
            release(reply.claim);
            return false;
        }
        state.pending_bytes += reply.bytes.len();
        state.pending.push_back(reply);
        if state.is_sending {
            return false;
        }
        state.is_sending = true;
        self.send_all(state, socket, sender == Sender::Reader, release)
    }

    /// Runs the connection's own sending thread: sends replies handed over to it, until the connection is closed.
    pub(crate) fn send_when_handed_over(&self, socket: &Socket, release: &dyn Fn(Claim)) {
        loop {
            let mut state = self.state();
            while !state.is_handed_over && !state.is_closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_closed {
                return;
            }
            state.is_handed_over = false;
            let _ = self.send_all(state, socket, true, release);
        }
    }

    fn send_all<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        socket: &Socket,
        may_wait: bool,
        release: &dyn Fn(Claim),
    ) -> bool {
        while let Some(mut reply) = state.pending.pop_front() {
            drop(state);
            let mut sent = 0;
            let mut outcome = Ok(());
            while sent < reply.bytes.len() && outcome.is_ok() {
                match socket.send(&reply.bytes[sent..], may_wait) {
                    Ok(count) => sent += count,
                    Err(error) => outcome = Err(error),
                }
            }
            state = self.state();
            if state.is_closed {
                // By the reader, meanwhile; nothing is pending any more.
                drop(state);
                release(reply.claim);
                return false;
            }
            state.pending_bytes -= sent;
            match outcome {
                Ok(()) => {
                    drop(state);
                    release(reply.claim);
                    state = self.state();
                    if state.pending_bytes <= PENDING_BYTES_LIMIT {
                        self.changed.notify_all();
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && !may_wait => {
                    reply.bytes.drain(..sent);
                    state.pending.push_front(reply);
                    state.is_handed_over = true;
                    self.changed.notify_all();
                    return !std::mem::replace(&mut state.has_thread, true);
                }
                Err(_) => {
                    // Gone, or so slow that the time limit has passed.
                    drop(state);
                    release(reply.claim);
                    socket.shut_down();
                    self.close(release);
                    return false;
                }
            }
        }
        state.is_sending = false;
        false
    }

    /// Throws away what waits and ends the connection's own thread.
    pub(crate) fn close(&self, release: &dyn Fn(Claim)) {
        let mut state = self.state();
        state.is_closed = true;
        state.pending_bytes = 0;
        let pending = std::mem::take(&mut state.pending);
        drop(state);
        self.changed.notify_all();
        pending.into_iter().for_each(|reply| release(reply.claim));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
