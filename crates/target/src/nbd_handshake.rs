//! Asks an NBD server how large an export is, and hangs up.
//!
//! Fixed newstyle negotiation of doc/proto.md (NetworkBlockDevice/nbd): `NBD_OPT_GO`, and `NBD_OPT_EXPORT_NAME` for
//! servers that do not know it. Nothing is read or written. A server is not trusted: every length has a limit and
//! the whole conversation a deadline.

use crate::nbd_uri::{NbdAddress, NbdEndpoint};
use serde::Serialize;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// From the first byte of the connection to the last.
const CONVERSATION_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// The protocol's limit on strings is 4096 bytes; no reply that is understood here is longer.
const REPLY_LIMIT_BYTES: u32 = 8192;
/// A server may describe an export in several replies, of which there are six kinds.
const REPLY_COUNT_LIMIT: u32 = 64;
/// The largest minimum block size that the protocol allows.
const MINIMUM_BLOCK_LIMIT_BYTES: u32 = 1 << 16;

const INIT_PASSWORD: u64 = 0x4e42_444d_4147_4943; // "NBDMAGIC"
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054; // "IHAVEOPT"
const OLD_STYLE_MAGIC: u64 = 0x0000_4202_8186_1253;
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;
const OPT_EXPORT_NAME: u32 = 1;
const OPT_GO: u32 = 7;
const REP_ACK: u32 = 1;
const REP_INFO: u32 = 3;
const REP_ERROR: u32 = 1 << 31;
const REP_ERR_UNSUP: u32 = REP_ERROR | 1;
const REP_ERR_TLS_REQD: u32 = REP_ERROR | 5;
const REP_ERR_UNKNOWN: u32 = REP_ERROR | 6;
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;
const CMD_DISC: u16 = 2;
const TRANSMISSION_READ_ONLY: u16 = 1 << 1;

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
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The connection broke or the server was too slow.
    #[error("the server stopped answering during the handshake: {0}")]
    Conversation(io::Error),
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

impl NbdHandshakeError {
    /// Returns a suggested remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            NbdHandshakeError::Connect(_) => "check that the server runs and listens at this address",
            NbdHandshakeError::Conversation(_) => "the server may be overloaded or no NBD server at all",
            NbdHandshakeError::Protocol(_) => "check that this is the address of an NBD server",
            NbdHandshakeError::UnknownExport { .. } => "`nbdinfo --list` shows the exports of a server",
            NbdHandshakeError::TlsRequired => {
                "use a port or socket of the server without TLS, or a local tunnel"
            }
            NbdHandshakeError::Refused { .. } => "the server's log may say why",
        }
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
    if u64::from_be_bytes(receive(stream)?) != INIT_PASSWORD {
        return Err(NbdHandshakeError::Protocol("it does not begin with NBDMAGIC".into()));
    }
    match u64::from_be_bytes(receive(stream)?) {
        OPTION_MAGIC => {}
        OLD_STYLE_MAGIC => {
            return Err(NbdHandshakeError::Protocol("it speaks the old style of before 2011 only".into()));
        }
        _ => return Err(NbdHandshakeError::Protocol("NBDMAGIC is not followed by IHAVEOPT".into())),
    }
    let offered = u16::from_be_bytes(receive(stream)?);
    if offered & FLAG_FIXED_NEWSTYLE == 0 {
        return Err(NbdHandshakeError::Protocol("it does not offer the fixed newstyle negotiation".into()));
    }
    let accepted = offered & (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
    send(stream, &u32::from(accepted).to_be_bytes())?;
    let mut request = Vec::with_capacity(export.len() + 8);
    request.extend_from_slice(&(export.len() as u32).to_be_bytes());
    request.extend_from_slice(export.as_bytes());
    request.extend_from_slice(&1u16.to_be_bytes());
    request.extend_from_slice(&INFO_BLOCK_SIZE.to_be_bytes());
    send_option(stream, OPT_GO, &request)?;
    let export = match read_go_replies(stream, export)? {
        Some(export) => export,
        None => {
            send_option(stream, OPT_EXPORT_NAME, export.as_bytes())?;
            let size = u64::from_be_bytes(receive(stream)?);
            let flags = u16::from_be_bytes(receive(stream)?);
            if accepted & FLAG_NO_ZEROES == 0 {
                receive::<124>(stream)?;
            }
            described(size, flags)?
        }
    };
    // The transmission phase has begun; a soft disconnect ends it. A server that is gone already is no error.
    let mut disconnect = [0u8; 28];
    disconnect[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    disconnect[6..8].copy_from_slice(&CMD_DISC.to_be_bytes());
    let _ = send(stream, &disconnect);
    Ok(export)
}

/// `None` when the server does not know `NBD_OPT_GO`.
fn read_go_replies(stream: &mut impl Read, export_name: &str) -> Result<Option<NbdExport>> {
    let protocol = |what: &str| NbdHandshakeError::Protocol(what.to_owned());
    let mut export: Option<NbdExport> = None;
    let mut blocks: Option<[u32; 3]> = None;
    for _ in 0..REPLY_COUNT_LIMIT {
        if u64::from_be_bytes(receive(stream)?) != REPLY_MAGIC {
            return Err(protocol("an option reply has the wrong magic number"));
        }
        if u32::from_be_bytes(receive(stream)?) != OPT_GO {
            return Err(protocol("an option reply answers what was not asked"));
        }
        let code = u32::from_be_bytes(receive(stream)?);
        let length = u32::from_be_bytes(receive(stream)?);
        if length > REPLY_LIMIT_BYTES {
            return Err(NbdHandshakeError::Protocol(format!("an option reply claims {length} bytes")));
        }
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).map_err(NbdHandshakeError::Conversation)?;
        match code {
            REP_ACK => {
                let mut export = export.ok_or_else(|| protocol("it accepted the export without its size"))?;
                if let Some([minimum, preferred, maximum]) = blocks {
                    export.minimum_block_size_bytes = Some(minimum);
                    export.preferred_block_size_bytes = Some(preferred);
                    export.maximum_payload_bytes = Some(maximum);
                }
                return Ok(Some(export));
            }
            REP_INFO => match read_info(&payload)
                .ok_or_else(|| protocol("an information reply has a wrong length"))?
            {
                Info::Export { size, flags } => export = Some(described(size, flags)?),
                Info::BlockSize(sizes) => blocks = Some(checked_block_sizes(sizes)?),
                Info::Other => {}
            },
            REP_ERR_UNSUP => return Ok(None),
            REP_ERR_TLS_REQD => return Err(NbdHandshakeError::TlsRequired),
            REP_ERR_UNKNOWN => {
                return Err(NbdHandshakeError::UnknownExport {
                    export: export_name.to_owned(),
                    message: server_words(&payload),
                });
            }
            code if code & REP_ERROR != 0 => {
                return Err(NbdHandshakeError::Refused { code, message: server_words(&payload) });
            }
            code => {
                return Err(NbdHandshakeError::Protocol(format!("option reply {code} answers no request")));
            }
        }
    }
    Err(NbdHandshakeError::Protocol(format!("it sent {REPLY_COUNT_LIMIT} option replies and no end")))
}

enum Info {
    Export { size: u64, flags: u16 },
    BlockSize([u32; 3]),
    Other,
}

fn read_info(payload: &[u8]) -> Option<Info> {
    let (kind, rest) = payload.split_first_chunk::<2>()?;
    match u16::from_be_bytes(*kind) {
        INFO_EXPORT => {
            let (size, flags) = rest.split_first_chunk::<8>()?;
            Some(Info::Export {
                size: u64::from_be_bytes(*size),
                flags: u16::from_be_bytes(flags.try_into().ok()?),
            })
        }
        INFO_BLOCK_SIZE => {
            let sizes: [u8; 12] = rest.try_into().ok()?;
            let word =
                |at: usize| u32::from_be_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]);
            Some(Info::BlockSize([word(0), word(4), word(8)]))
        }
        _ => Some(Info::Other),
    }
}

fn checked_block_sizes(sizes: [u32; 3]) -> Result<[u32; 3]> {
    let [minimum, preferred, maximum] = sizes;
    let sound = minimum.is_power_of_two()
        && minimum <= MINIMUM_BLOCK_LIMIT_BYTES
        && preferred.is_power_of_two()
        && preferred >= minimum.max(512)
        && maximum >= minimum;
    if sound {
        Ok(sizes)
    } else {
        Err(NbdHandshakeError::Protocol(format!(
            "block sizes {minimum}, {preferred}, {maximum} (minimum, preferred, maximum) are impossible"
        )))
    }
}

fn described(size_bytes: u64, flags: u16) -> Result<NbdExport> {
    if size_bytes > units::BYTES_LIMIT {
        return Err(NbdHandshakeError::Protocol(format!(
            "a size of {size_bytes} bytes is over the limit of 8 EiB"
        )));
    }
    Ok(NbdExport {
        size_bytes,
        read_only: flags & TRANSMISSION_READ_ONLY != 0,
        transmission_flags: flags,
        minimum_block_size_bytes: None,
        preferred_block_size_bytes: None,
        maximum_payload_bytes: None,
    })
}

/// The server's own message, shortened and without anything that could act on a terminal.
fn server_words(payload: &[u8]) -> String {
    let words: String =
        String::from_utf8_lossy(payload).chars().filter(|c| !c.is_control()).take(200).collect();
    if words.is_empty() { words } else { format!(": {words}") }
}

fn send_option(stream: &mut impl Write, option: u32, data: &[u8]) -> Result<()> {
    let mut message = Vec::with_capacity(16 + data.len());
    message.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
    message.extend_from_slice(&option.to_be_bytes());
    message.extend_from_slice(&(data.len() as u32).to_be_bytes());
    message.extend_from_slice(data);
    send(stream, &message)
}

fn send(stream: &mut impl Write, bytes: &[u8]) -> Result<()> {
    stream.write_all(bytes).and_then(|()| stream.flush()).map_err(NbdHandshakeError::Conversation)
}

fn receive<const N: usize>(stream: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).map_err(NbdHandshakeError::Conversation)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut bytes = REPLY_MAGIC.to_be_bytes().to_vec();
        bytes.extend_from_slice(&OPT_GO.to_be_bytes());
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
            reply(REP_INFO, &export_info(1 << 30, 3)),
            reply(REP_INFO, &block_info([1, 4096, 1 << 25])),
            reply(REP_ACK, &[]),
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
            let (export, _) = converse(&[greeting(flags), reply(REP_ERR_UNSUP, &[]), old]);
            let export = export.unwrap();
            assert_eq!((export.size_bytes, export.read_only), (5 << 20, false));
        }
    }

    /// Proves that each way of breaking the protocol or refusing is told apart, and that limits hold.
    #[test]
    fn hostile_servers_are_refused() {
        let huge = {
            let mut bytes = reply(REP_INFO, &[]);
            bytes[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
            bytes
        };
        let endless: Vec<Vec<u8>> = std::iter::once(greeting(3))
            .chain((0..100).map(|_| reply(REP_INFO, &export_info(1, 0))))
            .collect();
        let hello = || greeting(3);
        for (parts, words) in [
            (vec![b"HTTP/1.1 400 Bad Request\r\n".to_vec()], "does not begin with NBDMAGIC"),
            (vec![b"NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53".to_vec()], "old style"),
            (vec![greeting(2)], "fixed newstyle"),
            (vec![hello(), huge], "claims 4294967295 bytes"),
            (endless, "64 option replies"),
            (vec![hello(), reply(REP_ACK, &[])], "without its size"),
            (vec![hello(), reply(REP_INFO, &export_info(u64::MAX, 0))], "over the limit"),
            (vec![hello(), reply(REP_INFO, &export_info(1, 0)[..9])], "wrong length"),
            (vec![hello(), reply(REP_INFO, &block_info([3, 512, 512]))], "impossible"),
            (vec![hello(), reply(REP_INFO, &block_info([0, 0, 0]))], "impossible"),
            (vec![hello(), reply(REP_ERR_UNKNOWN, b"no\x1b[31m such")], "no export `disk`: no[31m such"),
            (vec![hello(), reply(REP_ERR_TLS_REQD, b"")], "requires TLS"),
            (vec![hello(), reply(REP_ERROR | 2, b"policy")], "0x80000002): policy"),
            (vec![hello()], "stopped answering"),
        ] {
            let message = converse(&parts).0.expect_err(words).to_string();
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
            let mut parts = vec![greeting(3), reply(REP_INFO, &export_info(4096, 0)), reply(REP_INFO, &bytes)];
            parts.truncate(start);
            parts.push(bytes);
            let _ = converse(&parts);
        }
    }
}
