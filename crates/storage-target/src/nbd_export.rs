//! Description of an NBD export by its server, within a deadline for the whole conversation: a server is not trusted.

use crate::nbd_uri::{NbdAddress, NbdEndpoint};
use diagnostic::Diagnostic;
use nbd::protocol::{option_reply, transmission};
use nbd::{ClientError, ExportDescription};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// From the first byte of the connection to the last.
const CONVERSATION_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Export as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NbdExport {
    /// Capacity.
    pub size_bytes: u64,
    /// The server refuses writes.
    pub read_only: bool,
    /// The transmission flags as sent.
    pub transmission_flags: u16,
    /// Smallest request, if the server says so.
    pub minimum_block_size_bytes: Option<u32>,
    /// Best small request, if the server says so.
    pub preferred_block_size_bytes: Option<u32>,
    /// Largest request, if the server says so.
    pub maximum_payload_bytes: Option<u32>,
}

/// Errors of querying a server.
#[derive(Debug, thiserror::Error)]
pub enum NbdHandshakeError {
    /// No server listens, or the host is unknown.
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    /// The connection broke or the server was too slow.
    #[error("the server stopped answering during the handshake")]
    Conversation(#[source] io::Error),
    /// The other side does not speak NBD as it should.
    #[error("the server broke the NBD protocol: {0}")]
    Protocol(String),
    /// The server knows no such export.
    #[error("the server has no export `{export}`{message}")]
    UnknownExport {
        /// Name that was requested.
        export: String,
        /// The server's words, if it had any.
        message: String,
    },
    /// The server insists on TLS.
    #[error("the server requires TLS, which is not supported")]
    TlsRequired,
    /// Any other refusal.
    #[error("the server refused (reply 0x{code:08x}){message}")]
    Refused {
        /// The option reply.
        code: u32,
        /// The server's words, if it had any.
        message: String,
    },
}

impl Diagnostic for NbdHandshakeError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(match self {
            NbdHandshakeError::Connect(_) => "check that the server runs and listens at this address",
            NbdHandshakeError::Conversation(_) => "the server may be overloaded or no NBD server at all",
            NbdHandshakeError::Protocol(_) => "check that this is the address of an NBD server",
            NbdHandshakeError::UnknownExport { .. } => "`nbdinfo --list` shows the exports of a server",
            NbdHandshakeError::TlsRequired => {
                "use a port or socket of the server without TLS, or a local tunnel"
            }
            NbdHandshakeError::Refused { .. } => "the server's log may say why",
        }))
    }
}

type Result<T> = std::result::Result<T, NbdHandshakeError>;

/// Connects, asks, hangs up.
pub fn query_export(address: &NbdAddress) -> Result<NbdExport> {
    let deadline = Instant::now() + CONVERSATION_LIMIT;
    match &address.endpoint {
        NbdEndpoint::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(NbdHandshakeError::Connect)?;
            negotiate(&mut Deadline { stream, deadline }, &address.export)
        }
        NbdEndpoint::Tcp { host, port } => {
            let stream = connect_tcp(host, *port).map_err(NbdHandshakeError::Connect)?;
            negotiate(&mut Deadline { stream, deadline }, &address.export)
        }
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A socket whose every read and write ends by one deadline, so that a server that sends a byte a second cannot
/// hold a run up.
struct Deadline<S> {
    stream: S,
    deadline: Instant,
}

trait Timeouts {
    fn set_timeouts(&self, left: Duration) -> io::Result<()>;
}

impl Timeouts for TcpStream {
    fn set_timeouts(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))?;
        self.set_write_timeout(Some(left))
    }
}

impl Timeouts for UnixStream {
    fn set_timeouts(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))?;
        self.set_write_timeout(Some(left))
    }
}

impl<S: Timeouts> Deadline<S> {
    fn arm(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 s"));
        }
        self.stream.set_timeouts(left)
    }
}

impl<S: Read + Timeouts> Read for Deadline<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.arm()?;
        self.stream.read(buffer)
    }
}

impl<S: Write + Timeouts> Write for Deadline<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.arm()?;
        self.stream.write(buffer)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The conversation itself, over anything that reads and writes.
fn negotiate(stream: &mut (impl Read + Write), export: &str) -> Result<NbdExport> {
    let described = nbd::describe_export(stream, export).map_err(|error| handshake_error(error, export))?;
    let ExportDescription { size_bytes, flags, block_sizes } = described;
    let [minimum, preferred, maximum] = block_sizes.map_or([None; 3], |sizes| sizes.map(Some));
    Ok(NbdExport {
        size_bytes,
        read_only: flags & transmission::READ_ONLY != 0,
        transmission_flags: flags,
        minimum_block_size_bytes: minimum,
        preferred_block_size_bytes: preferred,
        maximum_payload_bytes: maximum,
    })
}

fn handshake_error(error: ClientError, export: &str) -> NbdHandshakeError {
    let after_colon = |words: String| if words.is_empty() { words } else { format!(": {words}") };
    match error {
        ClientError::Connection(error) => NbdHandshakeError::Conversation(error),
        ClientError::Protocol(what) => NbdHandshakeError::Protocol(what),
        ClientError::Refused { reply: option_reply::ERR_TLS_REQUIRED, .. } => NbdHandshakeError::TlsRequired,
        ClientError::Refused { reply: option_reply::ERR_UNKNOWN, words, .. } => {
            NbdHandshakeError::UnknownExport { export: export.to_owned(), message: after_colon(words) }
        }
        ClientError::Refused { reply: code, words, .. } => {
            NbdHandshakeError::Refused { code, message: after_colon(words) }
        }
        ClientError::Errno { errno, words } => {
            NbdHandshakeError::Refused { code: errno, message: after_colon(words) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbd::protocol::OPTION_REPLY_MAGIC;
    use nbd::protocol::option::GO;
    use nbd::protocol::option_reply::{
        ACK, ERR_POLICY, ERR_TLS_REQUIRED, ERR_UNKNOWN, ERR_UNSUPPORTED, INFO,
    };
    use proptest::prelude::*;

    /// A server that has said everything in advance.
    struct Script {
        answers: io::Cursor<Vec<u8>>,
        received: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answers.read(buffer)
        }
    }

    impl Write for Script {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            self.received.extend_from_slice(buffer);
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn greeting(flags: u16) -> Vec<u8> {
        let mut bytes = b"NBDMAGICIHAVEOPT".to_vec();
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes
    }

    fn reply(code: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
        bytes.extend_from_slice(&GO.to_be_bytes());
        bytes.extend_from_slice(&code.to_be_bytes());
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    fn export_info(size: u64, flags: u16) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        bytes.extend_from_slice(&size.to_be_bytes());
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes
    }

    fn block_info(sizes: [u32; 3]) -> Vec<u8> {
        let mut bytes = vec![0, 3];
        sizes.iter().for_each(|size| bytes.extend_from_slice(&size.to_be_bytes()));
        bytes
    }

    fn converse(parts: &[Vec<u8>]) -> (Result<NbdExport>, Vec<u8>) {
        let mut script = Script { answers: io::Cursor::new(parts.concat()), received: Vec::new() };
        (negotiate(&mut script, "disk"), script.received)
    }

    /// Proves the exact bytes of the conversation with a server that knows GO.
    #[test]
    fn go_is_asked_and_answered() {
        let (export, received) = converse(&[
            greeting(3),
            reply(INFO, &export_info(1 << 30, 3)),
            reply(INFO, &block_info([1, 4096, 1 << 25])),
            reply(ACK, &[]),
        ]);
        let export = export.unwrap();
        assert_eq!((export.size_bytes, export.read_only), (1 << 30, true));
        assert_eq!(export.preferred_block_size_bytes, Some(4096));
        let expected = [
            &[0, 0, 0, 3][..],
            b"IHAVEOPT\0\0\0\x07\0\0\0\x0c\0\0\0\x04disk\0\x01\0\x03",
            b"\x25\x60\x95\x13\0\0\0\x02",
            &[0; 20],
        ]
        .concat();
        assert_eq!(received, expected);
    }

    /// Proves that a server without GO is asked by EXPORT_NAME, with and without the 124 zeroes.
    #[test]
    fn export_name_is_the_fallback() {
        for (flags, zeroes) in [(1u16, 124), (3, 0)] {
            let mut old = (5u64 << 20).to_be_bytes().to_vec();
            old.extend_from_slice(&1u16.to_be_bytes());
            old.extend_from_slice(&vec![0; zeroes]);
            let (export, _) = converse(&[greeting(flags), reply(ERR_UNSUPPORTED, &[]), old]);
            let export = export.unwrap();
            assert_eq!((export.size_bytes, export.read_only), (5 << 20, false));
        }
    }

    /// Proves that each way of breaking the protocol or refusing is told apart, and that limits hold.
    #[test]
    fn hostile_servers_are_refused() {
        let huge = {
            let mut bytes = reply(INFO, &[]);
            bytes[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
            bytes
        };
        let endless: Vec<Vec<u8>> =
            std::iter::once(greeting(3)).chain((0..100).map(|_| reply(INFO, &export_info(1, 0)))).collect();
        let hello = || greeting(3);
        for (parts, words) in [
            (vec![b"HTTP/1.1 400 Bad Request\r\n".to_vec()], "does not begin with NBDMAGIC"),
            (vec![b"NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53".to_vec()], "old style"),
            (vec![greeting(2)], "fixed newstyle"),
            (vec![hello(), huge], "claims 4294967295 bytes"),
            (endless, "64 option replies"),
            (vec![hello(), reply(ACK, &[])], "without its size"),
            (vec![hello(), reply(INFO, &export_info(u64::MAX, 0))], "over the limit"),
            (vec![hello(), reply(INFO, &export_info(1, 0)[..9])], "wrong length"),
            (vec![hello(), reply(INFO, &block_info([3, 512, 512]))], "impossible"),
            (vec![hello(), reply(INFO, &block_info([0, 0, 0]))], "impossible"),
            (vec![hello(), reply(ERR_UNKNOWN, b"no\x1b[31m such")], "no export `disk`: no[31m such"),
            (vec![hello(), reply(ERR_TLS_REQUIRED, b"")], "requires TLS"),
            (vec![hello(), reply(ERR_POLICY, b"policy")], "0x80000002): policy"),
            (vec![hello()], "stopped answering"),
        ] {
            let message = diagnostic::full_text(&converse(&parts).0.expect_err(words));
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    /// Proves that a server which is never silent for long, and never done, cannot pass the deadline.
    #[test]
    fn a_slow_server_is_given_up() {
        let (stream, mut server) = UnixStream::pair().unwrap();
        let greeting = std::thread::spawn(move || {
            for byte in greeting(3) {
                if server.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let start = Instant::now();
        let mut wire = Deadline { stream, deadline: start + Duration::from_millis(300) };
        assert!(matches!(negotiate(&mut wire, ""), Err(NbdHandshakeError::Conversation(_))));
        assert!(start.elapsed() < Duration::from_millis(800), "{:?}", start.elapsed());
        drop(wire);
        greeting.join().unwrap();
    }

    proptest! {
        /// Proves that no bytes from a server make the client panic or run on.
        #[test]
        fn no_answer_panics(start in 0usize..4, bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut parts = vec![greeting(3), reply(INFO, &export_info(4096, 0)), reply(INFO, &bytes)];
            parts.truncate(start);
            parts.push(bytes);
            let _ = converse(&parts);
        }
    }
}
