//! The client's side: one connection, requests sent and replies taken in any order. A server is not trusted: every
//! length has a limit.

use crate::decode::{
    CHUNK_HEADER_BYTES, Command, ContextQuery, DecodeError, ExportQuery, Information,
    OPTION_REPLY_HEADER_BYTES, OptionHeader, OptionReplyHeader, Reader, ReplyHeader, Request,
};
use crate::export::Extent;
use crate::protocol::{
    BASE_ALLOCATION, INIT_PASSWORD, OPTION_MAGIC, PAYLOAD_BYTES_LIMIT, STATE_HOLE, chunk, handshake,
    information, option, option_reply,
};
use crate::socket::Socket;
use std::io::{self, Read, Write};
use std::time::Duration;

/// No reply to an option that is understood here is longer.
const OPTION_REPLY_BYTES_LIMIT: u32 = 8192;
/// More replies to one option are an error.
const OPTION_REPLIES_LIMIT: u32 = 1024;
/// A chunk beside a read's bytes: extents, or an error's words.
const CHUNK_OVERHEAD_LIMIT: u32 = 64 << 10;

/// Errors of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection broke.
    #[error("the connection to the NBD server broke: {0}")]
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

type Result<T> = std::result::Result<T, ClientError>;

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Cookie of the request.
    pub cookie: u64,
    /// 0, or the error.
    pub errno: u32,
    /// The server's words about an error.
    pub words: String,
    /// Data of a read.
    pub data: Vec<u8>,
    /// Extents of a block status.
    pub extents: Vec<Extent>,
}

/// A connection to an export.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    size_bytes: u64,
    flags: u16,
    next_cookie: u64,
    /// Requests under way that a read's bytes belong to: simple replies do not tell.
    reads: std::collections::BTreeMap<u64, u32>,
}

struct Stream<'a>(&'a Socket);

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes, true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Client {
    /// Performs the handshake over a connected socket; requests structured replies and block status if
    /// `is_structured`. `patience` is the timeout of one receive or send.
    pub fn connect(
        socket: impl Into<Socket>,
        export: &str,
        is_structured: bool,
        patience: Duration,
    ) -> Result<Client> {
        let mut client = Client {
            socket: socket.into(),
            size_bytes: 0,
            flags: 0,
            next_cookie: 1,
            reads: std::collections::BTreeMap::new(),
        };
        client.socket.set_timeouts(patience, patience)?;
        let protocol = |what: &str| ClientError::Protocol(what.to_owned());
        if u64::from_be_bytes(client.array()?) != INIT_PASSWORD
            || u64::from_be_bytes(client.array()?) != OPTION_MAGIC
        {
            return Err(protocol("it does not begin with NBDMAGIC and IHAVEOPT"));
        }
        let offered = u16::from_be_bytes(client.array()?);
        if offered & handshake::FIXED_NEWSTYLE == 0 {
            return Err(protocol("it does not offer the fixed newstyle"));
        }
        client
            .send(&u32::from(offered & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES)).to_be_bytes())?;
        if is_structured {
            client.ask(option::STRUCTURED_REPLY, &[])?;
            let query = ContextQuery { name: export.to_owned(), queries: vec![BASE_ALLOCATION.to_owned()] };
            client.ask(option::SET_META_CONTEXT, &query.encode())?;
        }
        let query =
            ExportQuery { name: export.to_owned(), information: vec![information::BLOCK_SIZE] }.encode();
        for (reply, data) in client.ask(option::GO, &query)? {
            if reply == option_reply::INFO
                && let Information::Export { size_bytes, flags } = Information::decode(&data)?
            {
                (client.size_bytes, client.flags) = (size_bytes, flags);
            }
        }
        if client.flags == 0 {
            return Err(protocol("it accepted the export without its size"));
        }
        Ok(client)
    }

    /// Size of the export.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The server's transmission flags; see [`crate::protocol::transmission`].
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// Sends a request without waiting for its reply, and returns its cookie.
    pub fn submit(
        &mut self,
        command: Command,
        flags: u16,
        offset_bytes: u64,
        length_bytes: u32,
        payload: &[u8],
    ) -> Result<u64> {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        if command == Command::Read {
            self.reads.insert(cookie, length_bytes);
        }
        let mut bytes = Request { flags, command, cookie, offset_bytes, length_bytes }.encode().to_vec();
        bytes.extend_from_slice(payload);
        self.send(&bytes)?;
        Ok(cookie)
    }

    /// Waits for the next reply, of whichever request.
    pub fn receive(&mut self) -> Result<Reply> {
        let mut reply =
            Reply { cookie: 0, errno: 0, words: String::new(), data: Vec::new(), extents: Vec::new() };
        loop {
            let magic: [u8; 4] = self.array()?;
            let mut header = [0; CHUNK_HEADER_BYTES];
            let header = &mut header[..ReplyHeader::length(magic)?];
            header[..4].copy_from_slice(&magic);
            self.fill(&mut header[4..])?;
            match ReplyHeader::decode(header)? {
                ReplyHeader::Simple { error, cookie } => {
                    (reply.cookie, reply.errno) = (cookie, error);
                    if let Some(length) = self.reads.remove(&cookie).filter(|_| error == 0) {
                        reply.data = self.bytes(length)?;
                    }
                    return Ok(reply);
                }
                ReplyHeader::Chunk { flags, kind, cookie, length_bytes } => {
                    if length_bytes > PAYLOAD_BYTES_LIMIT + CHUNK_OVERHEAD_LIMIT {
                        return Err(ClientError::Protocol(format!("a chunk claims {length_bytes} bytes")));
                    }
                    reply.cookie = cookie;
                    let content = self.bytes(length_bytes)?;
                    take_chunk(&mut reply, kind, content)?;
                    if flags & chunk::DONE != 0 {
                        self.reads.remove(&cookie);
                        return Ok(reply);
                    }
                }
            }
        }
    }

    /// Sends a request and waits for its reply; no other may be under way.
    pub fn call(
        &mut self,
        command: Command,
        flags: u16,
        offset_bytes: u64,
        length_bytes: u32,
        payload: &[u8],
    ) -> Result<Reply> {
        let cookie = self.submit(command, flags, offset_bytes, length_bytes, payload)?;
        let reply = self.receive()?;
        if reply.cookie != cookie {
            return Err(ClientError::Protocol(format!("a reply is for {} and not {cookie}", reply.cookie)));
        }
        match reply.errno {
            0 => Ok(reply),
            errno => Err(ClientError::Errno { errno, words: reply.words }),
        }
    }

    /// Reads.
    pub fn read(&mut self, offset_bytes: u64, length_bytes: u32) -> Result<Vec<u8>> {
        Ok(self.call(Command::Read, 0, offset_bytes, length_bytes, &[])?.data)
    }

    /// Writes; durable on return if `fua`.
    pub fn write(&mut self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<()> {
        self.call(Command::Write, u16::from(fua), offset_bytes, bytes.len() as u32, bytes).map(drop)
    }

    /// Makes what was written durable.
    pub fn flush(&mut self) -> Result<()> {
        self.call(Command::Flush, 0, 0, 0, &[]).map(drop)
    }

    /// Says goodbye.
    pub fn disconnect(mut self) -> Result<()> {
        self.submit(Command::Disconnect, 0, 0, 0, &[]).map(drop)
    }

    /// Sends an option and collects its replies up to the last.
    fn ask(&mut self, requested: u32, data: &[u8]) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut message =
            OptionHeader { option: requested, length_bytes: data.len() as u32 }.encode().to_vec();
        message.extend_from_slice(data);
        self.send(&message)?;
        let mut replies = Vec::new();
        for _ in 0..OPTION_REPLIES_LIMIT {
            let header: [u8; OPTION_REPLY_HEADER_BYTES] = self.array()?;
            let OptionReplyHeader { option, reply, length_bytes } = OptionReplyHeader::decode(&header)?;
            if option != requested || length_bytes > OPTION_REPLY_BYTES_LIMIT {
                return Err(ClientError::Protocol(
                    "an option reply was not asked for, or is too long".into(),
                ));
            }
            let content = self.bytes(length_bytes)?;
            if reply & option_reply::ERROR != 0 {
                return Err(ClientError::Refused { option, reply, words: words(&content) });
            }
            if reply == option_reply::ACK {
                return Ok(replies);
            }
            replies.push((reply, content));
        }
        Err(ClientError::Protocol("an option has too many replies".into()))
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        Ok(Stream(&self.socket).write_all(bytes)?)
    }

    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        Ok(Stream(&self.socket).read_exact(buffer)?)
    }

    fn array<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn bytes(&self, length: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}

/// Adds what a chunk says to its reply.
fn take_chunk(reply: &mut Reply, kind: u16, mut content: Vec<u8>) -> Result<()> {
    let mut reader = Reader(&content);
    match kind {
        chunk::NONE => {}
        chunk::OFFSET_DATA if content.len() > 8 => {
            content.drain(..8);
            reply.data.append(&mut content);
        }
        chunk::BLOCK_STATUS => {
            reader.u32()?;
            while !reader.0.is_empty() {
                let (length, flags) = (reader.u32()?, reader.u32()?);
                let is_allocated = flags & STATE_HOLE == 0;
                reply.extents.push(Extent { length_bytes: u64::from(length), is_allocated });
            }
        }
        error if error & chunk::ERROR_BIT != 0 => {
            reply.errno = reader.u32()?;
            reader.u16()?;
            reply.words = words(reader.0);
        }
        other => return Err(ClientError::Protocol(format!("chunk {other} makes no sense"))),
    }
    Ok(())
}

/// The server's words, shortened and without anything that could act on a terminal.
fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(200).collect()
}
