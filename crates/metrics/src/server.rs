//! The server: one thread a connection, one request a connection, and a bound on everything a client decides.

use crate::Source;
use crate::answer::{Answer, Site};
use crate::connection::Connection;
use crate::places::Places;
use crate::request::TOO_MANY;
use crate::token::Token;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
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
/// Of the server's threads.
const NICENESS: i32 = 5;

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
    // Threads inherit it: whoever watches comes after whoever is served.
    let _ = rustix::process::setpriority_process(None, NICENESS);
    let places = Arc::new(Places::default());
    while !stop.load(Ordering::Relaxed) {
        let mut fds = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&STOP_EVERY)), Ok(1..)) {
            continue;
        }
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => {
                thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        let Some(place) = places.take(&stream) else {
            refuse(stream);
            continue;
        };
        let site = Arc::clone(site);
        let serve = move || {
            // A client that breaks off has harmed only itself.
            let _ = Connection::new(stream).and_then(|connection| connection.serve(&site, &place));
        };
        // Without a thread the connection is closed, which tells the client as much as we could.
        let _ = thread::Builder::new().name("metrics-client".into()).spawn(serve);
    }
}

/// One small write into an empty socket buffer, which never waits.
fn refuse(mut stream: TcpStream) {
    let head = Answer::refusal(TOO_MANY).head();
    let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(head.as_bytes()));
}
