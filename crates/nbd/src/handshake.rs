//! The client's handshake, over anything that reads and writes. A server is not trusted: every length has a limit.

use crate::decode::{
    DecodeError, ExportQuery, Information, OPTION_REPLY_HEADER_BYTES, OptionHeader, OptionReplyHeader,
};
use crate::protocol::{
    INIT_PASSWORD, OLD_STYLE_MAGIC, OPTION_MAGIC, REQUEST_MAGIC, handshake, information, option, option_reply,
};
use std::io::{self, Read, Write};

/// The protocol's limit on strings is 4096 bytes; no reply to an option that is understood here is longer.
const OPTION_REPLY_BYTES_LIMIT: u32 = 8192;
/// A server may describe an export in several replies, of which there are six kinds.
const OPTION_REPLIES_LIMIT: u32 = 64;
/// The largest minimum block size that the protocol allows.
const MINIMUM_BLOCK_BYTES_LIMIT: u32 = 1 << 16;
/// Offsets in files are signed numbers of 64 bits.
const SIZE_BYTES_LIMIT: u64 = i64::MAX as u64;
/// Zeroes after the description of an export that was chosen by name.
const ZEROES: usize = 124;
/// The request that ends a connection.
const DISCONNECT: u16 = 2;

/// Errors of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection broke.
    #[error("the connection to the NBD server broke")]
    Connection(#[from] io::Error),
    /// The server does not speak NBD as it should.
    #[error("the server broke the NBD protocol: {0}")]
    Protocol(String),
    /// The server refused an option.
    #[error("the server refused option {option} with {reply:#x}: {words}")]
    Refused {
        /// The option.
        option: u32,
        /// The server's reply.
        reply: u32,
        /// The server's words.
        words: String,
    },
    /// The server answered a request with an error.
    #[error("the server answered with error {errno}: {words}")]
    Errno {
        /// Its number.
        errno: u32,
        /// The server's words; empty in simple replies.
        words: String,
    },
}

impl From<DecodeError> for ClientError {
    fn from(error: DecodeError) -> Self {
        ClientError::Protocol(error.0.to_owned())
    }
}

pub(crate) type Result<T> = std::result::Result<T, ClientError>;

/// Export as its server describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportDescription {
    /// Capacity.
    pub size_bytes: u64,
    /// Transmission flags as sent; see [`crate::protocol::transmission`].
    pub flags: u16,
    /// Minimum and preferred block size, and the most bytes of a request, if the server says so.
    pub block_sizes: Option<[u32; 3]>,
}

/// Asks a server for the description of an export, and disconnects: by `NBD_OPT_GO`, and by `NBD_OPT_EXPORT_NAME` of servers that
/// do not know it. Nothing is read or written.
pub fn describe_export(stream: &mut (impl Read + Write), name: &str) -> Result<ExportDescription> {
    let accepted = begin(stream)?;
    let described = match go(stream, name) {
        Err(ClientError::Refused { reply: option_reply::ERR_UNSUPPORTED, .. }) => {
            by_name(stream, name, accepted)?
        }
        other => other?,
    };
    // The transmission phase has begun; a soft disconnect ends it. A server that is gone already is no error.
    let mut request = [0u8; 28];
    request[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    request[6..8].copy_from_slice(&DISCONNECT.to_be_bytes());
    let _ = send(stream, &request);
    Ok(described)
}

/// Exchanges greetings; returns the handshake flags that both sides have.
pub(crate) fn begin(stream: &mut (impl Read + Write)) -> Result<u16> {
    let protocol = |what: &str| Err(ClientError::Protocol(what.to_owned()));
    if u64::from_be_bytes(receive(stream)?) != INIT_PASSWORD {
        return protocol("it does not begin with NBDMAGIC");
    }
    match u64::from_be_bytes(receive(stream)?) {
        OPTION_MAGIC => {}
        OLD_STYLE_MAGIC => return protocol("it speaks the old style of before 2011 only"),
        _ => return protocol("NBDMAGIC is not followed by IHAVEOPT"),
    }
    let offered = u16::from_be_bytes(receive(stream)?);
    if offered & handshake::FIXED_NEWSTYLE == 0 {
        return protocol("it does not offer the fixed newstyle negotiation");
    }
    let accepted = offered & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
    send(stream, &u32::from(accepted).to_be_bytes())?;
    Ok(accepted)
}

/// Chooses an export by `NBD_OPT_GO`, which ends the handshake.
pub(crate) fn go(stream: &mut (impl Read + Write), name: &str) -> Result<ExportDescription> {
    let query = ExportQuery { name: name.to_owned(), information: vec![information::BLOCK_SIZE] };
    let mut export = None;
    let mut block_sizes = None;
    ask(stream, option::GO, &query.encode(), &mut |reply, data| {
        if reply != option_reply::INFO {
            return Err(ClientError::Protocol(format!("option reply {reply} answers no request")));
        }
        match Information::decode(data) {
            Ok(Information::Export { size_bytes, flags }) => export = Some(described(size_bytes, flags)?),
            Ok(Information::BlockSize(sizes)) => block_sizes = Some(checked_block_sizes(sizes)?),
            Ok(Information::Other(_)) => {}
            Err(_) => {
                return Err(ClientError::Protocol("an information reply has a wrong length".to_owned()));
            }
        }
        Ok(())
    })?;
    let export =
        export.ok_or_else(|| ClientError::Protocol("it accepted the export without its size".to_owned()))?;
    Ok(ExportDescription { block_sizes, ..export })
}

fn described(size_bytes: u64, flags: u16) -> Result<ExportDescription> {
    if size_bytes > SIZE_BYTES_LIMIT {
        let message = format!("a size of {size_bytes} bytes is over the limit of 8 EiB");
        return Err(ClientError::Protocol(message));
    }
    Ok(ExportDescription { size_bytes, flags, block_sizes: None })
}

/// Chooses an export by `NBD_OPT_EXPORT_NAME`, which has no way to refuse but hanging up.
fn by_name(stream: &mut (impl Read + Write), name: &str, accepted: u16) -> Result<ExportDescription> {
    send_option(stream, option::EXPORT_NAME, name.as_bytes())?;
    let size_bytes = u64::from_be_bytes(receive(stream)?);
    let flags = u16::from_be_bytes(receive(stream)?);
    if accepted & handshake::NO_ZEROES == 0 {
        receive::<ZEROES>(stream)?;
    }
    described(size_bytes, flags)
}

/// Sends an option and hands its replies over, but for the last.
pub(crate) fn ask(
    stream: &mut (impl Read + Write),
    requested: u32,
    data: &[u8],
    on_reply: &mut dyn FnMut(u32, &[u8]) -> Result<()>,
) -> Result<()> {
    send_option(stream, requested, data)?;
    for _ in 0..OPTION_REPLIES_LIMIT {
        let header: [u8; OPTION_REPLY_HEADER_BYTES] = receive(stream)?;
        let OptionReplyHeader { option, reply, length_bytes } = OptionReplyHeader::decode(&header)?;
        if option != requested {
            return Err(ClientError::Protocol("an option reply answers what was not asked".to_owned()));
        }
        if length_bytes > OPTION_REPLY_BYTES_LIMIT {
            return Err(ClientError::Protocol(format!("an option reply claims {length_bytes} bytes")));
        }
        let mut content = vec![0; length_bytes as usize];
        stream.read_exact(&mut content)?;
        if reply & option_reply::ERROR != 0 {
            return Err(ClientError::Refused { option, reply, words: words(&content) });
        }
        if reply == option_reply::ACK {
            return Ok(());
        }
        on_reply(reply, &content)?;
    }
    Err(ClientError::Protocol(format!("it sent {OPTION_REPLIES_LIMIT} option replies and no end")))
}

fn checked_block_sizes(sizes: [u32; 3]) -> Result<[u32; 3]> {
    let [minimum, preferred, maximum] = sizes;
    let is_possible = minimum.is_power_of_two()
        && minimum <= MINIMUM_BLOCK_BYTES_LIMIT
        && preferred.is_power_of_two()
        && preferred >= minimum.max(512)
        && maximum >= minimum;
    if is_possible {
        return Ok(sizes);
    }
    Err(ClientError::Protocol(format!(
        "block sizes {minimum}, {preferred}, {maximum} (minimum, preferred, maximum) are impossible"
    )))
}

/// The server's words, shortened and without anything that could act on a terminal.
pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(200).collect()
}

fn send_option(stream: &mut impl Write, option: u32, data: &[u8]) -> Result<()> {
    let mut message = OptionHeader { option, length_bytes: data.len() as u32 }.encode().to_vec();
    message.extend_from_slice(data);
    send(stream, &message)
}

fn send(stream: &mut impl Write, bytes: &[u8]) -> Result<()> {
    stream.write_all(bytes)?;
    Ok(stream.flush()?)
}

fn receive<const N: usize>(stream: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
