//! The server: one thread that hears everyone, a thread for each answer, one request a connection, and a bound on
//! everything a client decides.

use crate::Source;
use crate::answer::{Answer, Site};
use crate::asking::{AllAsking, Heard};
use crate::connection::Connection;
use crate::places::Places;
use crate::request::TOO_MANY;
use crate::token::Token;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request must be there, and its answer taken, in this time, however slowly a client sends and reads.
pub const REQUEST_TIME_LIMIT: Duration = Duration::from_secs(5);
/// How often the listener looks whether it is to end.
const STOP_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// A listener that cannot accept, for want of file descriptors say, tries again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// So many are let in before those that are there already are heard again.
const ACCEPTED_AT_ONCE: usize = 64;

/// Who may reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Programs on this host only.
    Loopback,
    /// Whoever reaches the address.
    Network,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The address is not a local one.
    #[error(
        "{0} can be reached from other hosts, and metrics have no password\nhint: take 127.0.0.1, or add --metrics-network where that is what you want"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}: {source}\nhint: another program may have the port; port 0 takes a free one"
    )]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
}

/// An address that is ours, before there is anything to say.
#[derive(Debug)]
pub struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
    exposure: Exposure,
}

impl MetricsListener {
    /// Takes the address.
    pub fn bind(address: SocketAddr, exposure: Exposure) -> Result<MetricsListener, MetricsError> {
        if exposure == Exposure::Loopback && !address.ip().is_loopback() {
            return Err(MetricsError::NotLoopback(address));
        }
        let failed = |source| MetricsError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        // A client that has gone between poll and accept must not keep the listener.
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(MetricsListener { listener, address, exposure })
    }

    /// Answers from the source, on threads of its own. Whoever shows the token may change something; without a token
    /// nobody may.
    pub fn serve(self, source: Arc<dyn Source>, token: Option<Token>) -> Result<MetricsServer, MetricsError> {
        let MetricsListener { listener, address, exposure } = self;
        let site = Arc::new(Site::new(source, token, exposure == Exposure::Loopback));
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || listen(&listener, &site, &theirs))
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
        exposure: Exposure,
        source: Arc<dyn Source>,
    ) -> Result<MetricsServer, MetricsError> {
        MetricsListener::bind(address, exposure)?.serve(source, None)
    }

    /// Where it listens: the port that was found where 0 was asked for.
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

fn listen(listener: &TcpListener, site: &Arc<Site>, stop: &AtomicBool) {
    let places = Arc::new(Places::default());
    let mut asking = AllAsking::default();
    while !stop.load(Ordering::Relaxed) {
        let listening = PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN);
        let others = asking.descriptors().map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = std::iter::once(listening).chain(others).collect();
        if poll(&mut fds, Some(&STOP_EVERY)).is_err() {
            continue;
        }
        let found: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        for heard in asking.hear(&found[1..]) {
            answer(heard, site, &places);
        }
        if !found[0].is_empty() {
            accept(listener, &mut asking, |heard| answer(heard, site, &places));
        }
    }
}

/// Lets in everyone who waits, up to a bound: others are heard in between.
fn accept(listener: &TcpListener, asking: &mut AllAsking, mut answer: impl FnMut(Heard)) {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(heard) = asking.come(stream, REQUEST_TIME_LIMIT) {
                    answer(heard);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Answers on a thread of its own.
fn answer(heard: Heard, site: &Arc<Site>, places: &Arc<Places>) {
    let (asking, refusal) = match heard {
        Heard::Whole(asking) => (asking, None),
        Heard::Refused(asking, status) => (asking, Some(status)),
    };
    let Some(place) = places.take(&asking.stream) else {
        let mut stream = asking.stream;
        // One small write into an empty socket buffer, which never waits.
        let _ = stream.write_all(Answer::refusal(TOO_MANY).head().as_bytes());
        return;
    };
    let site = Arc::clone(site);
    let serve = move || {
        // A client that breaks off has harmed only itself.
        let _ = Connection::new(asking).and_then(|connection| match refusal {
            None => connection.serve(&site, &place),
            Some(status) => connection.refuse(status, &place),
        });
    };
    // Without a thread the connection is closed, which tells the client as much as we could.
    let _ = thread::Builder::new().name("metrics-client".into()).spawn(serve);
}
