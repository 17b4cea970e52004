//! The control socket of a served array: newline-delimited JSON, one request and one response a line.
//!
//! A client writes `{"id":1,"verb":"set","settings":{…}}` and reads `{"id":1,"ok":{…}}` or
//! `{"id":1,"error":{"kind":"refused","message":"…"}}`. Responses come in the order of requests. Fields that a side
//! does not know are ignored, so that either can be newer. Described in `docs/array-drivers.md`.

use crate::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Read as _};

/// A longer line is an error and ends the connection.
pub const LINE_LIMIT_BYTES: usize = 1 << 20;
/// More settings or arguments in a request are an error.
pub const ENTRIES_LIMIT: usize = 256;
/// A longer name of an event, a setting or an argument is an error.
pub const NAME_LIMIT_BYTES: usize = 128;

/// Request: a verb with an identifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the client; in the response.
    pub id: u64,
    /// Token that permits changes, where the socket requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Verb with its arguments.
    #[serde(flatten)]
    pub verb: Verb,
}

/// Request to a served array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum Verb {
    /// Make these array settings.
    Set {
        /// All settings to make.
        settings: Settings,
    },
    /// Return the array's readiness for load: [`Ready`].
    Ready,
    /// Everything about the array, as one object.
    Status,
    /// Make something happen.
    Event {
        /// Name of the event.
        name: String,
        /// Arguments of the event.
        #[serde(default)]
        arguments: Settings,
    },
}

/// Response to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Identifier of the request; absent if the request could not be read.
    #[serde(default)]
    pub id: Option<u64>,
    /// The answer.
    #[serde(flatten)]
    pub result: ResponseResult,
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseResult {
    /// Done; the object depends on the verb: [`Ready`] for `ready`, `{}` for `set` and `event`.
    Ok(Value),
    /// Reason why the request was not done.
    Error(ResponseError),
}

/// Reason why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseError {
    /// Kind of the reason.
    pub kind: ErrorKind,
    /// Message for people.
    pub message: String,
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The array cannot be set so; nothing has changed.
    Refused,
    /// The attempt failed.
    Failed,
    /// The request makes no sense.
    BadRequest,
    /// The token is missing or wrong.
    Unauthorised,
    /// Anything that a newer server says.
    #[serde(other)]
    Other,
}

/// The answer to `ready`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// True if load may begin.
    pub ready: bool,
    /// Progress of the array in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_percent: Option<f64>,
    /// Current activity of the array.
    #[serde(default)]
    pub message: String,
}

/// A line that is no request or no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The line is too long.
    #[error("a line is longer than {LINE_LIMIT_BYTES} bytes")]
    LineTooLong,
    /// The line is not the JSON expected.
    #[error("a line is not the JSON expected: {0}")]
    Malformed(String),
    /// A limit on what is in it.
    #[error("a request has {what}, over the limit of {limit}")]
    OverLimit {
        /// Quantity that is over its limit.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The stream ended within a line.
    #[error("the other side closed the connection in the middle of a line")]
    Truncated,
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Request, ProtocolError> {
        let request: Request = parse(line)?;
        let (name, entries) = match &request.verb {
            Verb::Set { settings } => ("", settings),
            Verb::Event { name, arguments } => (name.as_str(), arguments),
            Verb::Ready | Verb::Status => return Ok(request),
        };
        if entries.len() > ENTRIES_LIMIT {
            return Err(ProtocolError::OverLimit {
                what: "more settings or arguments",
                limit: ENTRIES_LIMIT,
            });
        }
        if entries.keys().map(String::as_str).chain([name]).any(|name| name.len() > NAME_LIMIT_BYTES) {
            return Err(ProtocolError::OverLimit { what: "a longer name", limit: NAME_LIMIT_BYTES });
        }
        Ok(request)
    }
}

impl Response {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Response, ProtocolError> {
        parse(line)
    }
}

fn parse<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, ProtocolError> {
    if line.len() > LINE_LIMIT_BYTES {
        return Err(ProtocolError::LineTooLong);
    }
    // serde_json stops at a depth of 128.
    serde_json::from_slice(line).map_err(|error| ProtocolError::Malformed(error.to_string()))
}

/// The line of a request or a response, with its newline. JSON has no other newline in it.
pub fn to_line(message: &impl Serialize) -> Result<Vec<u8>, ProtocolError> {
    let mut line =
        serde_json::to_vec(message).map_err(|error| ProtocolError::Malformed(error.to_string()))?;
    line.push(b'\n');
    if line.len() > LINE_LIMIT_BYTES { Err(ProtocolError::LineTooLong) } else { Ok(line) }
}

/// Reads the next line without its newline; none at the end of the stream. Holds at most a line in memory.
pub fn read_line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let invalid = |error: ProtocolError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut line = Vec::new();
    reader.take(LINE_LIMIT_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() >= LINE_LIMIT_BYTES => Err(invalid(ProtocolError::LineTooLong)),
        Some(_) => Err(invalid(ProtocolError::Truncated)),
    }
}
