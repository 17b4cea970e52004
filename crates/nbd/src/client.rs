//! The client's side: one connection, requests sent and replies taken in any order. A server is not trusted: every
//! length has a limit.

use crate::decode::{CHUNK_HEADER_BYTES, Command, ContextQuery, Reader, ReplyHeader, Request};
use crate::export::Extent;
use crate::handshake::{self, ClientError, Result, words};
use crate::protocol::{BASE_ALLOCATION, PAYLOAD_BYTES_LIMIT, STATE_HOLE, chunk, option};
use crate::socket::Socket;
use std::io::{self, Read, Write};
use std::time::Duration;

/// A chunk beside a read's bytes: extents, or an error's words.
const CHUNK_OVERHEAD_LIMIT: u32 = 64 << 10;

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
        let stream = &mut Stream(&client.socket);
        handshake::begin(stream)?;
        if is_structured {
            handshake::ask(stream, option::STRUCTURED_REPLY, &[], &mut |_, _| Ok(()))?;
            let query = ContextQuery { name: export.to_owned(), queries: vec![BASE_ALLOCATION.to_owned()] };
            handshake::ask(stream, option::SET_META_CONTEXT, &query.encode(), &mut |_, _| Ok(()))?;
        }
        let chosen = handshake::go(stream, export)?;
        (client.size_bytes, client.flags) = (chosen.size_bytes, chosen.flags);
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
