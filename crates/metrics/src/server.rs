//! The server: one thread that hears everyone, a thread for each answer, one request a connection, and a bound on
//! everything a client decides.

use crate::Source;
use crate::answer::{Answer, Routes};
use crate::connection::{ConnectionPool, ReadOutcome};
use crate::connection_slots::ConnectionSlots;
use crate::request::TOO_MANY;
use crate::responder::Responder;
use crate::token::Token;
use diagnostic::Diagnostic;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request must be there, and its answer taken, in this time, however slowly a client sends and reads.
pub const REQUEST_TIME_LIMIT: Duration = Duration::from_secs(5);
/// Interval at which the listener checks whether it has to end.
const STOP_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// A listener that cannot accept, for want of file descriptors say, tries again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// So many are let in before those that are there already are heard again.
const ACCEPTED_AT_ONCE: usize = 64;

/// Clients that may reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessScope {
    /// Programs on this host only.
    Loopback,
    /// Every client that reaches the address.
    Network,
}

/// Errors of starting the server.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The address is not a local one.
    #[error("{0} can be reached from other hosts, and metrics have no password")]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// Address to listen on.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
}

impl Diagnostic for MetricsError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(match self {
            MetricsError::NotLoopback(_) => {
                "take 127.0.0.1, or add --metrics-network where that is what you want"
            }
            MetricsError::Listen { .. } => "another program may have the port; port 0 takes a free one",
        }))
    }
}

/// An address that is ours, before there is anything to say.
#[derive(Debug)]
pub struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
    access_scope: AccessScope,
}

impl MetricsListener {
    /// Takes the address.
    pub fn bind(address: SocketAddr, access_scope: AccessScope) -> Result<MetricsListener, MetricsError> {
        if access_scope == AccessScope::Loopback && !address.ip().is_loopback() {
            return Err(MetricsError::NotLoopback(address));
        }
        let failed = |source| MetricsError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        // A client that has gone between poll and accept must not keep the listener.
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(MetricsListener { listener, address, access_scope })
    }

    /// Answers from the source, on threads of its own. A client with the token may make changes; without a token no
    /// client may.
    pub fn serve(self, source: Arc<dyn Source>, token: Option<Token>) -> Result<MetricsServer, MetricsError> {
        let MetricsListener { listener, address, access_scope } = self;
        let routes = Arc::new(Routes::new(source, token, access_scope == AccessScope::Loopback));
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || listen(&listener, &routes, &theirs))
            .map_err(|source| MetricsError::Listen { address, source })?;
        Ok(MetricsServer { address, stop, thread: Some(thread) })
    }
}

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on the address and answers from the source, on threads of its own; nothing can be changed.
    pub fn start(
        address: SocketAddr,
        access_scope: AccessScope,
        source: Arc<dyn Source>,
    ) -> Result<MetricsServer, MetricsError> {
        MetricsListener::bind(address, access_scope)?.serve(source, None)
    }

    /// Returns the address that it listens on: the port that was found where 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Connections end by themselves within their time.
            let _ = thread.join();
        }
    }
}

fn listen(listener: &TcpListener, routes: &Arc<Routes>, stop: &AtomicBool) {
    let slots = Arc::new(ConnectionSlots::default());
    let mut connections = ConnectionPool::default();
    while !stop.load(Ordering::Relaxed) {
        let listening = PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN);
        let others = connections.descriptors().map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = std::iter::once(listening).chain(others).collect();
        if poll(&mut fds, Some(&STOP_EVERY)).is_err() {
            continue;
        }
        let found: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        for outcome in connections.read_ready(&found[1..]) {
            answer(outcome, routes, &slots);
        }
        if !found[0].is_empty() {
            accept(listener, &mut connections, |outcome| answer(outcome, routes, &slots));
        }
    }
}

/// Lets in everyone who waits, up to a bound: others are heard in between.
fn accept(listener: &TcpListener, connections: &mut ConnectionPool, mut answer: impl FnMut(ReadOutcome)) {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(outcome) = connections.accept(stream, REQUEST_TIME_LIMIT) {
                    answer(outcome);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Answers on a thread of its own.
fn answer(outcome: ReadOutcome, routes: &Arc<Routes>, slots: &Arc<ConnectionSlots>) {
    let (connection, refusal) = match outcome {
        ReadOutcome::Whole(connection) => (connection, None),
        ReadOutcome::Refused(connection, status) => (connection, Some(status)),
    };
    let Some(slot) = slots.take(&connection.stream) else {
        let mut stream = connection.stream;
        // One small write into an empty socket buffer, which never waits.
        let _ = stream.write_all(Answer::refusal(TOO_MANY).head().as_bytes());
        return;
    };
    let routes = Arc::clone(routes);
    let serve = move || {
        // A client that breaks off has harmed only itself.
        let _ = Responder::new(connection).and_then(|responder| match refusal {
            None => responder.serve(&routes, &slot),
            Some(status) => responder.refuse(status, &slot),
        });
    };
    // Without a thread the connection is closed, which tells the client as much as we could.
    let _ = thread::Builder::new().name("metrics-client".into()).spawn(serve);
}
