//! Connected socket, Unix or TCP, in clear or under TLS, used by one reader and several writers at once.

use crate::tls::{Tls, TlsSettings};
use rustix::net::{RecvFlags, SendFlags, Shutdown, sockopt};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

/// A connected stream socket.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    /// Set once, in the handshake.
    tls: OnceLock<Tls>,
    /// True if no request that came by it is to be carried out any more; shared by each request.
    is_cut_off: RwLock<bool>,
}

impl From<std::os::unix::net::UnixStream> for Socket {
    fn from(stream: std::os::unix::net::UnixStream) -> Self {
        Socket::new(stream.into())
    }
}

impl From<std::net::TcpStream> for Socket {
    fn from(stream: std::net::TcpStream) -> Self {
        // Replies are batched already; waiting for more would only add latency.
        let _ = stream.set_nodelay(true);
        Socket::new(stream.into())
    }
}

impl Socket {
    fn new(descriptor: OwnedFd) -> Self {
        Socket { descriptor, tls: OnceLock::new(), is_cut_off: RwLock::new(false) }
    }

    /// Receives what there is; 0 at the end of the stream.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.tls.get() {
            None => self.receive_raw(buffer),
            Some(tls) => tls.receive(buffer, |buffer| self.receive_raw(buffer)),
        }
    }

    /// Sends as many bytes as fit; waits for room only if `may_wait`. A caller that is told to wait sends the same bytes
    /// again first.
    pub(crate) fn send(&self, bytes: &[u8], may_wait: bool) -> io::Result<usize> {
        match self.tls.get() {
            None => self.send_raw(bytes, may_wait),
            Some(tls) => tls.send(bytes, |bytes| self.send_raw(bytes, may_wait)),
        }
    }

    fn receive_raw(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::net::recv(&self.descriptor, &mut *buffer, RecvFlags::empty()) {
                Ok((count, _)) => return Ok(count),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send_raw(&self, bytes: &[u8], may_wait: bool) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | if may_wait { SendFlags::empty() } else { SendFlags::DONTWAIT };
        loop {
            match rustix::net::send(&self.descriptor, bytes, flags) {
                Ok(count) => return Ok(count),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sets the timeouts of one receive and one send.
    pub(crate) fn set_timeouts(&self, receive: Duration, send: Duration) -> io::Result<()> {
        sockopt::set_socket_timeout(&self.descriptor, sockopt::Timeout::Recv, Some(receive))?;
        sockopt::set_socket_timeout(&self.descriptor, sockopt::Timeout::Send, Some(send))?;
        Ok(())
    }

    /// Receives no more; what is to be sent still goes.
    pub(crate) fn stop_receiving(&self) {
        // It may be closed already by the other side.
        let _ = rustix::net::shutdown(&self.descriptor, Shutdown::Read);
    }

    /// Ends both directions; threads that wait on them wake up.
    pub(crate) fn shut_down(&self) {
        // It may be closed already by the other side.
        let _ = rustix::net::shutdown(&self.descriptor, Shutdown::Both);
    }

    /// Ends both directions, and waits for the requests that are being carried out; of what else was received nothing is.
    pub(crate) fn cut_off(&self) {
        self.shut_down();
        *self.is_cut_off.write().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Lets a request be carried out, for as long as the guard lives, unless the client was cut off.
    pub(crate) fn pass(&self) -> Option<RwLockReadGuard<'_, bool>> {
        let guard = self.is_cut_off.read().unwrap_or_else(PoisonError::into_inner);
        if *guard { None } else { Some(guard) }
    }
}

/// A socket whose every receive and send ends by one deadline, so that a client that sends a byte a second cannot
/// hold a handshake open.
pub(crate) struct Deadline<'a> {
    pub socket: &'a Socket,
    pub deadline: Instant,
}

/// A stream that can become encrypted.
pub(crate) trait Upgrade: Read + Write {
    /// From here on everything is encrypted.
    fn start_tls(&mut self, settings: &TlsSettings) -> io::Result<()>;
}

impl Upgrade for Deadline<'_> {
    fn start_tls(&mut self, settings: &TlsSettings) -> io::Result<()> {
        // Reads and writes of this stream are in clear until the session is set.
        let tls = settings.accept(self)?;
        self.socket.tls.set(tls).map_err(|_| io::Error::other("the connection is encrypted already"))
    }
}

impl Deadline<'_> {
    fn arm(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long"));
        }
        self.socket.set_timeouts(left, left)
    }
}

impl Read for Deadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.arm()?;
        self.socket.receive(buffer)
    }
}

impl Write for Deadline<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.arm()?;
        self.socket.send(bytes, true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
