//! The protocol's numbers, from doc/proto.md of NetworkBlockDevice/nbd, and this implementation's limits.

/// "NBDMAGIC", the first word of a server.
pub const INIT_PASSWORD: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT", the second word of a server and the first of every option.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Second word of a server of before 2011.
pub const OLD_STYLE_MAGIC: u64 = 0x0000_4202_8186_1253;
/// First word of an option reply.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First word of a request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First word of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First word of a chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Handshake flags, server's and client's.
pub mod handshake {
    /// Errors are answered and the handshake goes on.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// The 124 zeros after `EXPORT_NAME` are left out.
    pub const NO_ZEROES: u16 = 2;
}

/// Options of the handshake.
pub mod option {
    /// Chooses an export, without any way to refuse but hanging up.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the handshake.
    pub const ABORT: u32 = 2;
    /// Names all exports.
    pub const LIST: u32 = 3;
    /// Asks for TLS.
    pub const STARTTLS: u32 = 5;
    /// Asks about an export.
    pub const INFO: u32 = 6;
    /// Asks about an export and chooses it.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Names the metadata contexts of an export.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Replies to options.
pub mod option_reply {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export's name.
    pub const SERVER: u32 = 2;
    /// Something about an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// Set in every error.
    pub const ERROR: u32 = 1 << 31;
    /// The option is not known.
    pub const ERR_UNSUPPORTED: u32 = ERROR | 1;
    /// The server does not offer the option.
    pub const ERR_POLICY: u32 = ERROR | 2;
    /// The option's data make no sense.
    pub const ERR_INVALID: u32 = ERROR | 3;
    /// The server requires TLS.
    pub const ERR_TLS_REQUIRED: u32 = ERROR | 5;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = ERROR | 6;
    /// The option's data are too long.
    pub const ERR_TOO_BIG: u32 = ERROR | 9;
}

/// Types of an information reply.
pub mod information {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// The export's canonical name.
    pub const NAME: u16 = 1;
    /// The export in words.
    pub const DESCRIPTION: u16 = 2;
    /// Block sizes.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags.
pub mod transmission {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1;
    /// Writes are refused.
    pub const READ_ONLY: u16 = 1 << 1;
    /// `FLUSH` is known.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// The FUA flag is known.
    pub const SEND_FUA: u16 = 1 << 3;
    /// `TRIM` is known.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// `WRITE_ZEROES` is known.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// The DF flag is known.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers writes answered on all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// `CACHE` is known.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// The FAST_ZERO flag is known.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Flags of a request.
pub mod command_flag {
    /// Answer when the write is durable.
    pub const FUA: u16 = 1;
    /// Keep the range allocated.
    pub const NO_HOLE: u16 = 1 << 1;
    /// One chunk only.
    pub const DF: u16 = 1 << 2;
    /// One extent only.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Fails unless it is faster than writing.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Structured replies.
pub mod chunk {
    /// Flag: the last chunk of a reply.
    pub const DONE: u16 = 1;
    /// Nothing but the end.
    pub const NONE: u16 = 0;
    /// Bytes at an offset.
    pub const OFFSET_DATA: u16 = 1;
    /// Zeros at an offset.
    pub const OFFSET_HOLE: u16 = 2;
    /// Extents of a metadata context.
    pub const BLOCK_STATUS: u16 = 5;
    /// Bit of all errors.
    pub const ERROR_BIT: u16 = 1 << 15;
    /// An error.
    pub const ERROR: u16 = ERROR_BIT | 1;
}

/// The one metadata context: which parts of an export are allocated.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// Its number, chosen by the server.
pub const BASE_ALLOCATION_ID: u32 = 1;
/// Extent flag: not allocated.
pub const STATE_HOLE: u32 = 1;
/// Extent flag: reads as zeros.
pub const STATE_ZERO: u32 = 2;

/// Offsets and lengths are multiples of this.
pub const BLOCK_BYTES_MINIMUM: u32 = 512;
/// Block size that clients should prefer, in bytes.
pub const BLOCK_BYTES_PREFERRED: u32 = 4096;
/// The most bytes that one read or write moves; what qemu and nbdkit take as well.
pub const PAYLOAD_BYTES_LIMIT: u32 = 32 << 20;
/// The protocol's limit on names.
pub const NAME_BYTES_LIMIT: usize = 4096;
/// Longer data of an option are refused.
pub const OPTION_BYTES_LIMIT: u32 = 64 << 10;
/// More information requests or context queries in an option are refused.
pub const QUERIES_LIMIT: usize = 64;
