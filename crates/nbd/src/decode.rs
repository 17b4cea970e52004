//! Pure decoders of everything that comes from the other side, each with its encoder: bytes in, a message or an
//! error out. Nothing here allocates more than it was given, and `fuzz/` feeds all of it.

use crate::protocol::{
    CHUNK_MAGIC, NAME_BYTES_LIMIT, OPTION_MAGIC, OPTION_REPLY_MAGIC, QUERIES_LIMIT, REQUEST_MAGIC,
    SIMPLE_REPLY_MAGIC,
};

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub &'static str);

type Result<T> = std::result::Result<T, DecodeError>;

/// Length of an option's header.
pub const OPTION_HEADER_BYTES: usize = 16;
/// Length of an option reply's header.
pub const OPTION_REPLY_HEADER_BYTES: usize = 20;
/// Length of a request without its payload.
pub const REQUEST_BYTES: usize = 28;
/// Length of a simple reply without its payload.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Length of a chunk's header.
pub const CHUNK_HEADER_BYTES: usize = 20;

/// The header of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionHeader {
    /// Number of the option; see [`crate::protocol::option`].
    pub option: u32,
    /// Length of its data.
    pub length_bytes: u32,
}

impl OptionHeader {
    /// Reads a header.
    pub fn decode(bytes: &[u8; OPTION_HEADER_BYTES]) -> Result<Self> {
        let mut reader = Reader(bytes);
        if reader.u64()? != OPTION_MAGIC {
            return Err(DecodeError("an option does not begin with IHAVEOPT"));
        }
        Ok(OptionHeader { option: reader.u32()?, length_bytes: reader.u32()? })
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; OPTION_HEADER_BYTES] {
        let mut bytes = [0; OPTION_HEADER_BYTES];
        bytes[..8].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.option.to_be_bytes());
        bytes[12..].copy_from_slice(&self.length_bytes.to_be_bytes());
        bytes
    }
}

/// The header of a reply to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReplyHeader {
    /// The option answered.
    pub option: u32,
    /// Kind of reply; see [`crate::protocol::option_reply`].
    pub reply: u32,
    /// Length of its data.
    pub length_bytes: u32,
}

impl OptionReplyHeader {
    /// Reads a header.
    pub fn decode(bytes: &[u8; OPTION_REPLY_HEADER_BYTES]) -> Result<Self> {
        let mut reader = Reader(bytes);
        if reader.u64()? != OPTION_REPLY_MAGIC {
            return Err(DecodeError("an option reply has the wrong magic number"));
        }
        Ok(OptionReplyHeader { option: reader.u32()?, reply: reader.u32()?, length_bytes: reader.u32()? })
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; OPTION_REPLY_HEADER_BYTES] {
        let mut bytes = [0; OPTION_REPLY_HEADER_BYTES];
        bytes[..8].copy_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.option.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.reply.to_be_bytes());
        bytes[16..].copy_from_slice(&self.length_bytes.to_be_bytes());
        bytes
    }
}

/// The data of `INFO` and `GO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportQuery {
    /// Name of the requested export.
    pub name: String,
    /// Information that is requested beside size and flags; see [`crate::protocol::information`].
    pub information: Vec<u16>,
}

impl ExportQuery {
    /// Reads the data of an option.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let name = reader.text()?;
        let count = usize::from(reader.u16()?);
        if count > QUERIES_LIMIT {
            return Err(DecodeError("too many pieces of information are asked for"));
        }
        let information = (0..count).map(|_| reader.u16()).collect::<Result<_>>()?;
        reader.end()?;
        Ok(ExportQuery { name, information })
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = encode_text(&self.name);
        bytes.extend((self.information.len() as u16).to_be_bytes());
        self.information.iter().for_each(|kind| bytes.extend(kind.to_be_bytes()));
        bytes
    }
}

/// The data of `SET_META_CONTEXT` and `LIST_META_CONTEXT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextQuery {
    /// Name of the requested export.
    pub name: String,
    /// Contexts, or name spaces ending with a colon.
    pub queries: Vec<String>,
}

impl ContextQuery {
    /// Reads the data of an option.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let name = reader.text()?;
        let count = reader.u32()? as usize;
        if count > QUERIES_LIMIT {
            return Err(DecodeError("too many metadata contexts are asked for"));
        }
        let queries = (0..count).map(|_| reader.text()).collect::<Result<_>>()?;
        reader.end()?;
        Ok(ContextQuery { name, queries })
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = encode_text(&self.name);
        bytes.extend((self.queries.len() as u32).to_be_bytes());
        self.queries.iter().for_each(|query| bytes.extend(encode_text(query)));
        bytes
    }
}

/// Command of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Bytes from the export.
    Read,
    /// Bytes to the export; they follow the request.
    Write,
    /// The end of the connection; not answered.
    Disconnect,
    /// All writes answered are to be durable.
    Flush,
    /// A range is given up.
    Trim,
    /// A range will be read soon.
    Cache,
    /// A range is to be zero.
    WriteZeroes,
    /// Report the allocated extents of a range.
    BlockStatus,
    /// Anything else.
    Unknown(u16),
}

impl Command {
    const KNOWN: [(u16, Command); 8] = [
        (0, Command::Read),
        (1, Command::Write),
        (2, Command::Disconnect),
        (3, Command::Flush),
        (4, Command::Trim),
        (5, Command::Cache),
        (6, Command::WriteZeroes),
        (7, Command::BlockStatus),
    ];

    /// Returns the command of a number.
    pub fn from_number(number: u16) -> Command {
        let known = Self::KNOWN.iter().find(|(known, _)| *known == number);
        known.map_or(Command::Unknown(number), |(_, command)| *command)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        match self {
            Command::Unknown(number) => number,
            command => Self::KNOWN.iter().position(|(_, known)| *known == command).unwrap_or(0) as u16,
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// See [`crate::protocol::command_flag`].
    pub flags: u16,
    /// Command to carry out.
    pub command: Command,
    /// Chosen by the client; in every reply.
    pub cookie: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length of the range, in bytes.
    pub length_bytes: u32,
}

impl Request {
    /// Reads a request.
    pub fn decode(bytes: &[u8; REQUEST_BYTES]) -> Result<Self> {
        let mut reader = Reader(bytes);
        if reader.u32()? != REQUEST_MAGIC {
            return Err(DecodeError("a request has the wrong magic number"));
        }
        Ok(Request {
            flags: reader.u16()?,
            command: Command::from_number(reader.u16()?),
            cookie: reader.u64()?,
            offset_bytes: reader.u64()?,
            length_bytes: reader.u32()?,
        })
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.number().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset_bytes.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length_bytes.to_be_bytes());
        bytes
    }
}

/// The head of a reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyHeader {
    /// A simple reply; a read's bytes follow if there is no error.
    Simple {
        /// The error, 0 for none.
        error: u32,
        /// Cookie of the request.
        cookie: u64,
    },
    /// A chunk of a structured reply.
    Chunk {
        /// See [`crate::protocol::chunk`].
        flags: u16,
        /// Likewise.
        kind: u16,
        /// Cookie of the request.
        cookie: u64,
        /// Length of the data that follows, in bytes.
        length_bytes: u32,
    },
}

impl ReplyHeader {
    /// Returns the length of the header that begins with these four bytes.
    pub fn length(magic: [u8; 4]) -> Result<usize> {
        match u32::from_be_bytes(magic) {
            SIMPLE_REPLY_MAGIC => Ok(SIMPLE_REPLY_BYTES),
            CHUNK_MAGIC => Ok(CHUNK_HEADER_BYTES),
            _ => Err(DecodeError("a reply has the wrong magic number")),
        }
    }

    /// Reads a head of the length that [`ReplyHeader::length`] says.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let header = match reader.u32()? {
            SIMPLE_REPLY_MAGIC => ReplyHeader::Simple { error: reader.u32()?, cookie: reader.u64()? },
            CHUNK_MAGIC => ReplyHeader::Chunk {
                flags: reader.u16()?,
                kind: reader.u16()?,
                cookie: reader.u64()?,
                length_bytes: reader.u32()?,
            },
            _ => return Err(DecodeError("a reply has the wrong magic number")),
        };
        reader.end()?;
        Ok(header)
    }

    /// Appends its bytes.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match *self {
            ReplyHeader::Simple { error, cookie } => {
                let mut header = [0; SIMPLE_REPLY_BYTES];
                header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
                header[4..8].copy_from_slice(&error.to_be_bytes());
                header[8..].copy_from_slice(&cookie.to_be_bytes());
                bytes.extend_from_slice(&header);
            }
            ReplyHeader::Chunk { flags, kind, cookie, length_bytes } => {
                let mut header = [0; CHUNK_HEADER_BYTES];
                header[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
                header[4..6].copy_from_slice(&flags.to_be_bytes());
                header[6..8].copy_from_slice(&kind.to_be_bytes());
                header[8..16].copy_from_slice(&cookie.to_be_bytes());
                header[16..].copy_from_slice(&length_bytes.to_be_bytes());
                bytes.extend_from_slice(&header);
            }
        }
    }
}

/// The content of an information reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Information {
    /// Size and transmission flags.
    Export {
        /// Size of the export.
        size_bytes: u64,
        /// See [`crate::protocol::transmission`].
        flags: u16,
    },
    /// Block sizes: least, preferred, and the most bytes of a request.
    BlockSize([u32; 3]),
    /// Anything else.
    Other(u16),
}

impl Information {
    /// Reads the content of an information reply.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let information = match reader.u16()? {
            crate::protocol::information::EXPORT => {
                Information::Export { size_bytes: reader.u64()?, flags: reader.u16()? }
            }
            crate::protocol::information::BLOCK_SIZE => {
                Information::BlockSize([reader.u32()?, reader.u32()?, reader.u32()?])
            }
            other => return Ok(Information::Other(other)),
        };
        reader.end()?;
        Ok(information)
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(14);
        match self {
            Information::Export { size_bytes, flags } => {
                bytes.extend(crate::protocol::information::EXPORT.to_be_bytes());
                bytes.extend(size_bytes.to_be_bytes());
                bytes.extend(flags.to_be_bytes());
            }
            Information::BlockSize(sizes) => {
                bytes.extend(crate::protocol::information::BLOCK_SIZE.to_be_bytes());
                sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
            }
            Information::Other(kind) => bytes.extend(kind.to_be_bytes()),
        }
        bytes
    }
}

/// A text with its length in front.
pub(crate) fn encode_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + text.len());
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Takes big-endian numbers from the front of bytes.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(DecodeError("a message is too short"))?;
        self.0 = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk().ok_or(DecodeError("a message is too short"))?;
        self.0 = rest;
        Ok(*front)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u32()? as usize;
        if length > NAME_BYTES_LIMIT {
            return Err(DecodeError("a name is longer than 4096 bytes"));
        }
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| DecodeError("a name is not UTF-8"))?;
        Ok(text.to_owned())
    }

    fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError("a message is too long")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes, encodes and decodes again, for every decoder that takes these bytes.
    fn all_are_fixed_points(bytes: &[u8]) {
        if let Some(header) = bytes.first_chunk()
            && let Ok(decoded) = OptionHeader::decode(header)
        {
            assert_eq!(&decoded.encode(), header);
        }
        if let Some(header) = bytes.first_chunk()
            && let Ok(decoded) = OptionReplyHeader::decode(header)
        {
            assert_eq!(&decoded.encode(), header);
        }
        if let Some(header) = bytes.first_chunk()
            && let Ok(decoded) = Request::decode(header)
        {
            assert_eq!(&decoded.encode(), header);
        }
        if let Ok(decoded) = ExportQuery::decode(bytes) {
            assert_eq!(decoded.encode(), bytes);
        }
        if let Ok(decoded) = ContextQuery::decode(bytes) {
            assert_eq!(decoded.encode(), bytes);
        }
        if let Ok(decoded) = ReplyHeader::decode(bytes) {
            let mut encoded = Vec::new();
            decoded.encode(&mut encoded);
            assert_eq!(encoded, bytes);
        }
        if let Ok(decoded) = Information::decode(bytes) {
            assert_eq!(Information::decode(&decoded.encode()), Ok(decoded));
        }
    }

    proptest! {
        /// Proves that no bytes make a decoder panic, and that what is decoded encodes to the same bytes.
        #[test]
        fn arbitrary_bytes_are_fixed_points(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            all_are_fixed_points(&bytes);
        }

        /// Proves the same of bytes that begin as messages do, so that decoders get past the magic number.
        #[test]
        fn near_messages_are_fixed_points(
            magic in 0usize..5,
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let magic: &[u8] = match magic {
                0 => &OPTION_MAGIC.to_be_bytes(),
                1 => &OPTION_REPLY_MAGIC.to_be_bytes(),
                2 => &REQUEST_MAGIC.to_be_bytes(),
                3 => &SIMPLE_REPLY_MAGIC.to_be_bytes(),
                _ => &CHUNK_MAGIC.to_be_bytes(),
            };
            all_are_fixed_points(&[magic, &bytes].concat());
        }

        /// Proves that queries come back as they were, and that damaged ones are refused or read, never a panic.
        #[test]
        fn queries_come_back(
            name in "[a-z0-9é]{0,20}",
            information in proptest::collection::vec(any::<u16>(), 0..QUERIES_LIMIT),
            queries in proptest::collection::vec("[a-z:]{0,20}", 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let export = ExportQuery { name: name.clone(), information };
            let bytes = export.encode();
            prop_assert_eq!(ExportQuery::decode(&bytes), Ok(export));
            let contexts = ContextQuery { name, queries };
            let bytes = contexts.encode();
            prop_assert_eq!(ContextQuery::decode(&bytes), Ok(contexts));
            let shorter = &bytes[..cut.index(bytes.len())];
            prop_assert!(ContextQuery::decode(shorter).is_err());
        }
    }

    /// Proves the limits: names, counts, and lengths that point beyond the message.
    #[test]
    fn limits_hold() {
        let mut long = encode_text(&"x".repeat(NAME_BYTES_LIMIT + 1));
        long.extend([0, 0]);
        assert!(ExportQuery::decode(&long).is_err());
        let mut many = encode_text("");
        many.extend(u32::MAX.to_be_bytes());
        assert!(ContextQuery::decode(&many).is_err());
        assert!(ExportQuery::decode(&u32::MAX.to_be_bytes()).is_err());
    }
}
