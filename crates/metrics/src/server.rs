//! The server: one thread a connection, one request a connection, and a bound on everything a client decides.

use crate::Source;
use crate::request::{Answer, HEAD_LIMIT_BYTES, TOO_LONG, TOO_MANY, TOO_SLOW, answer, head_end};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many clients are answered at once; one more is told to come back.
pub const CONNECTIONS_LIMIT: usize = 32;
/// A request must be there, and its answer taken, in this time, however slowly a client sends and reads.
pub const REQUEST_TIME_LIMIT: Duration = Duration::from_secs(5);
/// How often the listener looks whether it is to end.
const STOP_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// A listener that cannot accept, for want of file descriptors say, tries again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What a client still sends when it has its answer is read so long: a reset would take the answer from it.
const LINGER: Duration = Duration::from_millis(500);

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

    /// Answers from the source, on threads of its own.
    pub fn serve(self, source: Arc<dyn Source>) -> Result<MetricsServer, MetricsError> {
        let MetricsListener { listener, address, exposure } = self;
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || listen(&listener, exposure, &source, &theirs))
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
    /// Listens on the address and answers from the source, on threads of its own.
    pub fn start(
        address: SocketAddr,
        exposure: Exposure,
        source: Arc<dyn Source>,
    ) -> Result<MetricsServer, MetricsError> {
        MetricsListener::bind(address, exposure)?.serve(source)
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

fn listen(listener: &TcpListener, exposure: Exposure, source: &Arc<dyn Source>, stop: &AtomicBool) {
    let connections = Arc::new(AtomicUsize::new(0));
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
        let place = Place::take(&connections);
        if place.number > CONNECTIONS_LIMIT {
            refuse(stream);
            continue;
        }
        let source = Arc::clone(source);
        let serve = move || {
            // A client that breaks off has harmed only itself.
            let _ =
                Connection::new(stream).and_then(|connection| connection.serve(exposure, source.as_ref()));
            drop(place);
        };
        // Without a thread the connection is closed, which tells the client as much as we could.
        let _ = thread::Builder::new().name("metrics-client".into()).spawn(serve);
    }
}

/// A place among the connections, until it is dropped.
struct Place {
    number: usize,
    connections: Arc<AtomicUsize>,
}

impl Place {
    fn take(connections: &Arc<AtomicUsize>) -> Place {
        let number = connections.fetch_add(1, Ordering::Relaxed) + 1;
        Place { number, connections: Arc::clone(connections) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One small write into an empty socket buffer, which never waits.
fn refuse(mut stream: TcpStream) {
    let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(head(TOO_MANY, 0).as_bytes()));
}

fn head(status: &str, length: usize) -> String {
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let kind = if status.starts_with("200") { CONTENT_TYPE } else { "text/plain" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
}

struct Connection {
    stream: TcpStream,
    deadline: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(false)?;
        Ok(Connection { stream, deadline: Instant::now() + REQUEST_TIME_LIMIT })
    }

    fn serve(mut self, exposure: Exposure, source: &dyn Source) -> io::Result<()> {
        let answer = match self.read_head()? {
            Ok(head) => answer(&head, exposure == Exposure::Loopback),
            Err(status) => Answer::Refusal(status),
        };
        match answer {
            Answer::Page { has_body } => {
                let page = source.exposition();
                self.write(head("200 OK", page.len()).as_bytes())?;
                if has_body {
                    self.write(page.as_bytes())?;
                }
            }
            Answer::Refusal(status) => {
                // A client that was too slow gets a moment more to hear so.
                self.deadline = self.deadline.max(Instant::now() + LINGER);
                self.write(head(status, 0).as_bytes())?;
            }
        }
        self.linger()
    }

    /// The head, or the status by which it is refused.
    fn read_head(&mut self) -> io::Result<Result<Vec<u8>, &'static str>> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 2048];
        loop {
            if let Some(end) = head_end(&bytes) {
                bytes.truncate(end);
                return Ok(Ok(bytes));
            }
            if bytes.len() > HEAD_LIMIT_BYTES {
                return Ok(Err(TOO_LONG));
            }
            let Some(left) = self.left() else { return Ok(Err(TOO_SLOW)) };
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if is_late(&error) => return Ok(Err(TOO_SLOW)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.left().ok_or(io::ErrorKind::TimedOut)?))?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn linger(self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)?;
        let until = Instant::now() + LINGER;
        let mut buffer = [0; 2048];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.stream.set_read_timeout(Some(left))?;
            if (&self.stream).read(&mut buffer)? == 0 {
                return Ok(());
            }
        }
    }

    fn left(&self) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
