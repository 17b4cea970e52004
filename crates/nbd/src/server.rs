//! The server: accepts clients, up to a limit, and gives each a reader.

use crate::budget::SharedBudget;
use crate::connection::Connection;
use crate::export::{Export, Exports};
use crate::negotiate::negotiate;
use crate::pool::Pool;
use crate::reader::{read_requests, set_limits};
use crate::socket::{Deadline, Socket};
use crate::tls::TlsSettings;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The most connections at a time; further clients are hung up on.
pub const CONNECTIONS_LIMIT: usize = 1000;
/// A handshake that takes longer is ended.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Pause when the process has run out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const READER_STACK_BYTES: usize = 256 << 10;

/// Listening socket.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket.
    Unix(UnixListener),
    /// A TCP port.
    Tcp(TcpListener),
}

impl Listener {
    fn accept(&self) -> io::Result<Socket> {
        match self {
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| stream.into()),
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| stream.into()),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }

    /// The address of a TCP listener.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Unix(_) => None,
            Listener::Tcp(listener) => listener.local_addr().ok(),
        }
    }
}

#[derive(Default)]
struct Clients {
    sockets: BTreeMap<u64, Arc<Socket>>,
    /// Export that each client has chosen.
    exports: BTreeMap<u64, Arc<dyn Export>>,
    next: u64,
    is_stopping: bool,
}

struct Shared {
    listener: Listener,
    exports: Arc<dyn Exports>,
    tls: Option<TlsSettings>,
    pool: Pool,
    budget: Arc<SharedBudget>,
    clients: Mutex<Clients>,
    client_left: Condvar,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Starts to serve; with `tls` only clients that ask for TLS and show a certificate.
    pub fn start(
        listener: Listener,
        exports: Arc<dyn Exports>,
        tls: Option<TlsSettings>,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            listener,
            exports,
            tls,
            pool: Pool::start()?,
            budget: Arc::default(),
            clients: Mutex::default(),
            client_left: Condvar::new(),
        });
        let accepting = shared.clone();
        let acceptor = Builder::new().name("nbd-accept".into()).spawn(move || accept_clients(&accepting))?;
        Ok(Server { shared, acceptor: Mutex::new(Some(acceptor)) })
    }

    /// Returns the number of connected clients.
    pub fn connections(&self) -> usize {
        self.shared.clients().sockets.len()
    }

    /// Hangs up on every client; new ones are welcome. Requests that are being carried out are waited for; when this
    /// returns nothing that those clients had sent will be carried out any more.
    pub fn drop_connections(&self) {
        let sockets: Vec<Arc<Socket>> = self.shared.clients().sockets.values().cloned().collect();
        sockets.iter().for_each(|socket| socket.cut_off());
    }

    /// Takes no more requests from clients whose export was taken away; those under way are answered first.
    pub fn drop_gone(&self) {
        let clients = self.shared.clients();
        for (number, _) in clients.exports.iter().filter(|(_, export)| export.is_gone()) {
            if let Some(socket) = clients.sockets.get(number) {
                socket.stop_receiving();
            }
        }
    }

    /// Hangs up on every client and ends all threads. Requests that were received whole are carried out.
    pub fn stop(&self) {
        let acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(acceptor) = acceptor else { return };
        {
            let mut clients = self.shared.clients();
            clients.is_stopping = true;
            clients.sockets.values().for_each(|socket| socket.shut_down());
        }
        // Wakes `accept`.
        let _ = rustix::net::shutdown(self.shared.listener.descriptor(), rustix::net::Shutdown::Both);
        // It catches nothing that could panic.
        let _ = acceptor.join();
        let mut clients = self.shared.clients();
        while !clients.sockets.is_empty() {
            clients = self.shared.client_left.wait(clients).unwrap_or_else(PoisonError::into_inner);
        }
        drop(clients);
        self.shared.pool.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept_clients(shared: &Arc<Shared>) {
    loop {
        let accepted = shared.listener.accept();
        let mut clients = shared.clients();
        if clients.is_stopping {
            return;
        }
        let socket = match accepted {
            Ok(socket) if clients.sockets.len() < CONNECTIONS_LIMIT => Arc::new(socket),
            // Dropped, and so hung up on.
            Ok(_) => continue,
            Err(_) => {
                drop(clients);
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        let number = clients.next;
        clients.next += 1;
        clients.sockets.insert(number, socket.clone());
        drop(clients);
        let serving = shared.clone();
        let reader = Builder::new().name("nbd-reader".into()).stack_size(READER_STACK_BYTES);
        let started = reader.spawn(move || {
            let _registration = ClientRegistration { shared: &serving, number };
            serve_client(&serving, number, socket);
        });
        if started.is_err() {
            ClientRegistration { shared, number };
        }
    }
}

/// Takes a client off the list, however it ends.
struct ClientRegistration<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for ClientRegistration<'_> {
    fn drop(&mut self) {
        let mut clients = self.shared.clients();
        clients.sockets.remove(&self.number);
        clients.exports.remove(&self.number);
        drop(clients);
        self.shared.client_left.notify_all();
    }
}

fn serve_client(shared: &Shared, number: u64, socket: Arc<Socket>) {
    let mut stream = Deadline { socket: &socket, deadline: Instant::now() + HANDSHAKE_LIMIT };
    // A client that breaks off a handshake, or the protocol in it, is hung up on; there is nobody to tell.
    if let Ok(Some(negotiated)) = negotiate(&mut stream, &*shared.exports, shared.tls.as_ref()) {
        shared.clients().exports.insert(number, negotiated.export.clone());
        let connection = Connection::new(number, socket, negotiated, shared.budget.clone());
        if set_limits(&connection).is_ok() {
            read_requests(&connection, &shared.pool);
        }
    }
}
