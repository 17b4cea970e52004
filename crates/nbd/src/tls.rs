//! TLS below the protocol: what `STARTTLS` turns a connection into. Clients must show a certificate.
//!
//! rustls has no pre-shared keys chosen outside (RFC 8446, 4.2.11 with external PSKs), so certificates are the only way.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Certificates of the authorities that may sign clients' certificates; file name as in libnbd, nbdkit and QEMU.
const AUTHORITY: &str = "ca-cert.pem";
/// The server's certificate and what it was signed with.
const CERTIFICATE: &str = "server-cert.pem";
/// The server's key.
const KEY: &str = "server-key.pem";
/// Bytes that are encrypted at once.
const SEND_BYTES: usize = 64 << 10;
/// Bytes that are received at once: a record and its overhead fit.
const RECEIVE_BYTES: usize = 32 << 10;

/// Errors of a TLS directory.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or holds no certificate or key.
    #[error("{path}: {problem}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error in the file.
        problem: String,
    },
    /// The files are readable and do not fit together.
    #[error("the certificates in {path} cannot be used: {problem}", path = path.display())]
    Certificates {
        /// The directory.
        path: PathBuf,
        /// Error in the certificates.
        problem: String,
    },
}

/// A server's certificate and the authority that its clients' certificates must come from.
#[derive(Debug, Clone)]
pub struct TlsSettings(Arc<ServerConfig>);

impl TlsSettings {
    /// Loads `ca-cert.pem`, `server-cert.pem` and `server-key.pem` of a directory. A key that others may read is refused.
    pub fn load(directory: &Path) -> Result<TlsSettings, TlsError> {
        let wrong = |problem: String| TlsError::Certificates { path: directory.to_owned(), problem };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&directory.join(AUTHORITY))? {
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        let chain = certificates(&directory.join(CERTIFICATE))?;
        let key = key(&directory.join(KEY))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| wrong(error.to_string()))?;
        // NBD connections live long; nobody resumes a session.
        config.send_tls13_tickets = 0;
        Ok(TlsSettings(Arc::new(config)))
    }

    /// Shakes hands over a stream that carries nothing else meanwhile.
    pub(crate) fn accept(&self, stream: &mut (impl Read + Write)) -> io::Result<Tls> {
        let mut session = ServerConnection::new(self.0.clone()).map_err(io::Error::other)?;
        while session.is_handshaking() || session.wants_write() {
            if session.complete_io(stream)? == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        session.set_buffer_limit(Some(2 * SEND_BYTES));
        Ok(Tls {
            session: Mutex::new(session),
            incoming: Mutex::new(Incoming { bytes: vec![0; RECEIVE_BYTES], start: 0, end: 0 }),
            outgoing: Mutex::default(),
        })
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |problem: String| TlsError::File { path: path.to_owned(), problem };
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("there is no certificate in it".to_owned())) } else { Ok(found) }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let wrong = |problem: String| TlsError::File { path: path.to_owned(), problem };
    let mode = fs::metadata(path).map_err(|error| wrong(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(format!(
            "others may read this key (mode {:03o}); chmod 600 it, and make a new one if they may have",
            mode & 0o777
        )));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(error.to_string()))
}

/// A session: one reader, one sender at a time.
#[derive(Debug)]
pub(crate) struct Tls {
    session: Mutex<ServerConnection>,
    /// Received and not yet decrypted. Taken before the session.
    incoming: Mutex<Incoming>,
    /// Encrypted and not yet sent. Taken before the session.
    outgoing: Mutex<Outgoing>,
}

#[derive(Debug)]
struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// Number of the next call's bytes that are in `bytes` already, because a call before it would have had to
    /// wait.
    accepted: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // rustls leaves a session that failed in a state in which it only fails.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tls {
    /// Receives what there is in clear; 0 at the end. `receive` takes bytes from the network.
    pub(crate) fn receive(
        &self,
        buffer: &mut [u8],
        mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut incoming = lock(&self.incoming);
        let incoming = &mut *incoming;
        loop {
            {
                let mut session = lock(&self.session);
                match session.reader().read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    outcome => return outcome,
                }
                // A little at a time: rustls refuses more while it holds bytes in clear.
                if incoming.start < incoming.end {
                    let mut rest = &incoming.bytes[incoming.start..incoming.end];
                    incoming.start += session.read_tls(&mut rest)?;
                    session.process_new_packets().map_err(io::Error::other)?;
                    continue;
                }
            }
            // The session stays free for whoever sends meanwhile.
            let count = receive(&mut incoming.bytes)?;
            (incoming.start, incoming.end) = (0, count);
            if count == 0 {
                // Without a goodbye: cut off, or a client that does not say it. Requests are whole or not carried out.
                return Ok(0);
            }
        }
    }

    /// Sends some of `bytes` and says how many. After `WouldBlock` the next call must begin with the same bytes.
    pub(crate) fn send(
        &self,
        bytes: &[u8],
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut outgoing = lock(&self.outgoing);
        let outgoing = &mut *outgoing;
        if outgoing.accepted == 0 {
            let mut session = lock(&self.session);
            outgoing.accepted = session.writer().write(&bytes[..bytes.len().min(SEND_BYTES)])?;
            outgoing.bytes.clear();
            outgoing.sent = 0;
            while session.wants_write() {
                session.write_tls(&mut outgoing.bytes)?;
            }
        }
        while outgoing.sent < outgoing.bytes.len() {
            outgoing.sent += send(&outgoing.bytes[outgoing.sent..])?;
        }
        Ok(std::mem::take(&mut outgoing.accepted))
    }
}
