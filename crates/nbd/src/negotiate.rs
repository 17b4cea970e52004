//! The server's side of the handshake: fixed newstyle, over anything that reads and writes.

use crate::decode::{
    ContextQuery, ExportQuery, Information, OPTION_HEADER_BYTES, OptionHeader, OptionReplyHeader, encode_text,
};
use crate::export::{Export, Exports};
use crate::protocol::{
    BASE_ALLOCATION, BASE_ALLOCATION_ID, BLOCK_BYTES_MINIMUM, BLOCK_BYTES_PREFERRED, INIT_PASSWORD,
    NAME_BYTES_LIMIT, OPTION_BYTES_LIMIT, OPTION_MAGIC, PAYLOAD_BYTES_LIMIT, handshake, information, option,
    option_reply, transmission,
};
use crate::socket::Upgrade;
use crate::tls::TlsSettings;
use std::io::{self, Read};
use std::sync::Arc;

/// A client that sends more options is hung up on.
const OPTIONS_LIMIT: u32 = 256;
/// Longer data of an option are not even thrown away: the client is hung up on.
const DISCARD_BYTES_LIMIT: u32 = 1 << 20;

/// Result of the handshake.
pub(crate) struct Negotiated {
    pub export: Arc<dyn Export>,
    pub is_structured: bool,
    pub has_allocation_context: bool,
}

/// Next step of a handshake.
enum HandshakeStep {
    Option,
    Transmission(Negotiated),
    End,
}

/// Carries out a handshake; `None` if the client ended it. With `tls`, nothing is disclosed or served before
/// the client has requested TLS.
pub(crate) fn negotiate(
    stream: &mut impl Upgrade,
    exports: &dyn Exports,
    tls: Option<&TlsSettings>,
) -> io::Result<Option<Negotiated>> {
    let mut greeting = Vec::with_capacity(18);
    greeting.extend(INIT_PASSWORD.to_be_bytes());
    greeting.extend(OPTION_MAGIC.to_be_bytes());
    greeting.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
    stream.write_all(&greeting)?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    let flags = u32::from_be_bytes(flags);
    if flags & !u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES) != 0 {
        return Err(broken("the client set handshake flags that were not offered"));
    }
    let mut negotiation = Negotiation {
        stream,
        exports,
        tls,
        is_encrypted: false,
        sends_zeroes: flags & u32::from(handshake::NO_ZEROES) == 0,
        is_structured: false,
        allocation_context_of: None,
    };
    for _ in 0..OPTIONS_LIMIT {
        match negotiation.answer_option()? {
            HandshakeStep::Option => {}
            HandshakeStep::Transmission(negotiated) => return Ok(Some(negotiated)),
            HandshakeStep::End => return Ok(None),
        }
    }
    Err(broken("the client sent too many options"))
}

fn broken(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

struct Negotiation<'a, S> {
    stream: &'a mut S,
    exports: &'a dyn Exports,
    tls: Option<&'a TlsSettings>,
    is_encrypted: bool,
    sends_zeroes: bool,
    is_structured: bool,
    /// The export for which `base:allocation` was chosen.
    allocation_context_of: Option<String>,
}

impl<S: Upgrade> Negotiation<'_, S> {
    fn answer_option(&mut self) -> io::Result<HandshakeStep> {
        let mut header = [0; OPTION_HEADER_BYTES];
        self.stream.read_exact(&mut header)?;
        let header = OptionHeader::decode(&header).map_err(|error| broken(error.0))?;
        if header.length_bytes > DISCARD_BYTES_LIMIT {
            return Err(broken("an option's data are too long"));
        }
        if header.length_bytes > OPTION_BYTES_LIMIT {
            io::copy(&mut Read::take(&mut *self.stream, u64::from(header.length_bytes)), &mut io::sink())?;
            if header.option == option::EXPORT_NAME {
                return Err(broken("an export's name is too long"));
            }
            self.refuse(header.option, option_reply::ERR_TOO_BIG, "the option's data are too long")?;
            return Ok(HandshakeStep::Option);
        }
        let mut data = vec![0; header.length_bytes as usize];
        self.stream.read_exact(&mut data)?;
        if self.tls.is_some() && !self.is_encrypted {
            match header.option {
                option::STARTTLS | option::ABORT => {}
                option::EXPORT_NAME => return Err(broken("TLS comes first")),
                other => {
                    self.refuse(other, option_reply::ERR_TLS_REQUIRED, "ask for TLS first")?;
                    return Ok(HandshakeStep::Option);
                }
            }
        }
        match header.option {
            option::STARTTLS => self.start_tls(&data)?,
            option::EXPORT_NAME => return self.export_name(&data),
            option::ABORT => {
                self.reply(header.option, option_reply::ACK, &[])?;
                return Ok(HandshakeStep::End);
            }
            option::LIST if data.is_empty() => {
                let mut replies = Vec::new();
                for name in self.exports.names() {
                    append(&mut replies, header.option, option_reply::SERVER, &encode_text(&name));
                }
                append(&mut replies, header.option, option_reply::ACK, &[]);
                self.stream.write_all(&replies)?;
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.is_structured = true;
                self.reply(header.option, option_reply::ACK, &[])?;
            }
            option::LIST | option::STRUCTURED_REPLY => {
                self.refuse(header.option, option_reply::ERR_INVALID, "this option has no data")?;
            }
            option::INFO | option::GO => return self.info_or_go(header.option, &data),
            option::SET_META_CONTEXT | option::LIST_META_CONTEXT => {
                self.meta_context(header.option, &data)?;
            }
            other => self.refuse(other, option_reply::ERR_UNSUPPORTED, "this option is not known")?,
        }
        Ok(HandshakeStep::Option)
    }

    fn start_tls(&mut self, data: &[u8]) -> io::Result<()> {
        let requested = option::STARTTLS;
        match self.tls {
            _ if !data.is_empty() => {
                self.refuse(requested, option_reply::ERR_INVALID, "this option has no data")
            }
            _ if self.is_encrypted => {
                self.refuse(requested, option_reply::ERR_INVALID, "the connection is encrypted already")
            }
            None => self.refuse(requested, option_reply::ERR_POLICY, "this server has no certificate"),
            Some(settings) => {
                self.reply(requested, option_reply::ACK, &[])?;
                self.stream.start_tls(settings)?;
                self.is_encrypted = true;
                // What was agreed in clear may have been put there by somebody else.
                self.is_structured = false;
                self.allocation_context_of = None;
                Ok(())
            }
        }
    }

    fn export_name(&mut self, data: &[u8]) -> io::Result<HandshakeStep> {
        if data.len() > NAME_BYTES_LIMIT {
            return Err(broken("an export's name is too long"));
        }
        let name = std::str::from_utf8(data).map_err(|_| broken("an export's name is not UTF-8"))?;
        // Hanging up is the only way in which this option can be refused.
        let export = self.exports.find(name).ok_or_else(|| broken("there is no such export"))?;
        let mut answer = export.size_bytes().to_be_bytes().to_vec();
        answer.extend(transmission_flags(&*export, self.is_structured).to_be_bytes());
        if self.sends_zeroes {
            answer.extend([0; 124]);
        }
        self.stream.write_all(&answer)?;
        Ok(HandshakeStep::Transmission(self.negotiated(name, export)))
    }

    fn info_or_go(&mut self, requested: u32, data: &[u8]) -> io::Result<HandshakeStep> {
        let query = match ExportQuery::decode(data) {
            Ok(query) => query,
            Err(error) => {
                self.refuse(requested, option_reply::ERR_INVALID, error.0)?;
                return Ok(HandshakeStep::Option);
            }
        };
        let Some(export) = self.exports.find(&query.name) else {
            self.refuse(requested, option_reply::ERR_UNKNOWN, "there is no such export")?;
            return Ok(HandshakeStep::Option);
        };
        let mut replies = Vec::new();
        let flags = transmission_flags(&*export, self.is_structured);
        let sizes = [BLOCK_BYTES_MINIMUM, BLOCK_BYTES_PREFERRED, PAYLOAD_BYTES_LIMIT];
        for information in [
            Information::Export { size_bytes: export.size_bytes(), flags },
            // Also to who has not asked: what does not fit these sizes is refused.
            Information::BlockSize(sizes),
        ] {
            append(&mut replies, requested, option_reply::INFO, &information.encode());
        }
        for (kind, text) in
            [(information::NAME, query.name.clone()), (information::DESCRIPTION, export.description())]
        {
            if query.information.contains(&kind) {
                let mut payload = kind.to_be_bytes().to_vec();
                payload.extend(text.bytes().take(NAME_BYTES_LIMIT));
                append(&mut replies, requested, option_reply::INFO, &payload);
            }
        }
        append(&mut replies, requested, option_reply::ACK, &[]);
        self.stream.write_all(&replies)?;
        Ok(if requested == option::GO {
            HandshakeStep::Transmission(self.negotiated(&query.name, export))
        } else {
            HandshakeStep::Option
        })
    }

    fn meta_context(&mut self, requested: u32, data: &[u8]) -> io::Result<()> {
        let is_set = requested == option::SET_META_CONTEXT;
        if is_set {
            // Whatever comes of it, an earlier choice no longer counts.
            self.allocation_context_of = None;
        }
        let query = match ContextQuery::decode(data) {
            Ok(query) => query,
            Err(error) => return self.refuse(requested, option_reply::ERR_INVALID, error.0),
        };
        if !self.is_structured {
            return self.refuse(requested, option_reply::ERR_INVALID, "structured replies come first");
        }
        if self.exports.find(&query.name).is_none() {
            return self.refuse(requested, option_reply::ERR_UNKNOWN, "there is no such export");
        }
        let is_wanted =
            query.queries.iter().any(|context| context == BASE_ALLOCATION || (!is_set && context == "base:"))
                || (!is_set && query.queries.is_empty());
        let mut replies = Vec::new();
        if is_wanted {
            let mut context = BASE_ALLOCATION_ID.to_be_bytes().to_vec();
            context.extend_from_slice(BASE_ALLOCATION.as_bytes());
            append(&mut replies, requested, option_reply::META_CONTEXT, &context);
            if is_set {
                self.allocation_context_of = Some(query.name);
            }
        }
        append(&mut replies, requested, option_reply::ACK, &[]);
        self.stream.write_all(&replies)
    }

    fn negotiated(&self, name: &str, export: Arc<dyn Export>) -> Negotiated {
        Negotiated {
            export,
            is_structured: self.is_structured,
            has_allocation_context: self.allocation_context_of.as_deref() == Some(name),
        }
    }

    fn refuse(&mut self, requested: u32, error: u32, words: &str) -> io::Result<()> {
        self.reply(requested, error, words.as_bytes())
    }

    fn reply(&mut self, requested: u32, reply: u32, data: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        append(&mut bytes, requested, reply, data);
        self.stream.write_all(&bytes)
    }
}

fn append(replies: &mut Vec<u8>, option: u32, reply: u32, data: &[u8]) {
    replies.extend(OptionReplyHeader { option, reply, length_bytes: data.len() as u32 }.encode());
    replies.extend_from_slice(data);
}

fn transmission_flags(export: &dyn Export, is_structured: bool) -> u16 {
    let mut flags = transmission::HAS_FLAGS
        | transmission::SEND_FLUSH
        | transmission::SEND_FUA
        | transmission::SEND_TRIM
        | transmission::SEND_WRITE_ZEROES
        | transmission::SEND_CACHE
        | transmission::SEND_FAST_ZERO
        | transmission::CAN_MULTI_CONN;
    if is_structured {
        flags |= transmission::SEND_DF;
    }
    if export.is_read_only() {
        flags |= transmission::READ_ONLY;
    }
    flags
}
