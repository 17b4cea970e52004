//! Asking an `http://` address, with limits (RFC 9112). One request a connection; redirects, proxies and TLS are not
//! for a telemetry address on a laboratory's network.

use super::{CollectError, Deadline};
use std::fmt;
use std::io::{self, Read, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::str::FromStr;
use std::time::Instant;

/// The head of an answer may be so long.
const HEAD_LIMIT_BYTES: usize = 32 << 10;
/// Its body may be so long: a page of node_exporter is a hundredth of it.
const BODY_LIMIT_BYTES: usize = 16 << 20;
/// The longest address that is read.
const ADDRESS_LIMIT_BYTES: usize = 1024;

/// Address of a metrics endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAddress {
    host: String,
    port: u16,
    path: String,
}

/// Errors of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(&'static str);

impl HttpAddress {
    /// Host and port, which tell it from others.
    pub fn authority(&self) -> String {
        match (self.host.contains(':'), self.port) {
            (true, port) => format!("[{}]:{port}", self.host),
            (false, port) => format!("{}:{port}", self.host),
        }
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl FromStr for HttpAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.len() > ADDRESS_LIMIT_BYTES {
            return Err(AddressError("an address has at most 1024 bytes"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AddressError("an address has printable ASCII characters only, and no blanks"));
        }
        let rest = text.strip_prefix("http://").ok_or(AddressError("an address begins with `http://`"))?;
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/metrics"),
        };
        if authority.contains('@') || rest.contains('#') {
            return Err(AddressError("an address has neither a user nor a fragment"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inside) => {
                let (host, after) =
                    inside.split_once(']').ok_or(AddressError("an IPv6 address ends with `]`"))?;
                match after {
                    "" => (host, None),
                    after => (host, Some(after.strip_prefix(':').ok_or(PORT)?)),
                }
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() || host.contains(['?', '[', ']', '"', '\\']) {
            return Err(AddressError("an address names a host"));
        }
        let port = port.map_or(Ok(80), |port| port.parse().map_err(|_| PORT))?;
        if port == 0 {
            return Err(PORT);
        }
        Ok(HttpAddress { host: host.to_owned(), port, path: path.to_owned() })
    }
}

const PORT: AddressError = AddressError("a port is a number from 1 to 65535");

/// The body that the address answers with.
pub(super) fn get(address: &HttpAddress, deadline: &Deadline<'_>) -> Result<Vec<u8>, CollectError> {
    let exchange = HttpExchange { address, deadline };
    let mut stream = exchange.connect()?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: arraylab/{}\r\n\
         Accept: text/plain;version=0.0.4, */*;q=0.1\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n",
        address.path,
        address.authority(),
        env!("CARGO_PKG_VERSION")
    );
    // The request fits the socket's buffer, so this does not wait for the other side to read.
    stream.write_all(request.as_bytes()).map_err(|source| exchange.unreachable(source))?;
    let mut response = ResponseStream { exchange: &exchange, stream, bytes: Vec::new(), at: 0 };
    let head = response.head()?;
    read_body(&mut response, &head)
}

struct HttpExchange<'a> {
    address: &'a HttpAddress,
    deadline: &'a Deadline<'a>,
}

impl HttpExchange<'_> {
    fn connect(&self) -> Result<TcpStream, CollectError> {
        let unreachable = |source| self.unreachable(source);
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in
            (self.address.host.as_str(), self.address.port).to_socket_addrs().map_err(unreachable)?
        {
            let left = self.deadline.at.saturating_duration_since(Instant::now());
            if self.deadline.slice()?.is_none() {
                return Err(self.late());
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(self.unreachable(last))
    }

    fn unreachable(&self, source: io::Error) -> CollectError {
        CollectError::Unreachable { address: self.address.to_string(), source }
    }

    fn late(&self) -> CollectError {
        CollectError::Late { address: self.address.to_string(), limit: self.deadline.limit }
    }

    fn broken(&self, problem: impl Into<String>) -> CollectError {
        CollectError::Http { address: self.address.to_string(), problem: problem.into() }
    }
}

/// Bytes received over the connection.
struct ResponseStream<'a, S> {
    exchange: &'a HttpExchange<'a>,
    stream: S,
    bytes: Vec<u8>,
    /// Position in the buffer up to which bytes have been consumed.
    at: usize,
}

/// A stream whose reads give up after a while, so that the stop can be looked at.
trait Slow: Read {
    fn give_up_after(&mut self, time: std::time::Duration) -> io::Result<()>;
}

impl Slow for TcpStream {
    fn give_up_after(&mut self, time: std::time::Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl<S: Slow> ResponseStream<'_, S> {
    /// Reads more; false at the end.
    fn more(&mut self) -> Result<bool, CollectError> {
        let mut buffer = [0; 16 << 10];
        loop {
            let Some(slice) = self.exchange.deadline.slice()? else { return Err(self.exchange.late()) };
            let read = self.stream.give_up_after(slice).and_then(|()| self.stream.read(&mut buffer));
            match read {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    return Ok(true);
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(self.exchange.unreachable(error)),
            }
        }
    }

    fn must_have_more(&mut self) -> Result<(), CollectError> {
        if self.more()? { Ok(()) } else { Err(self.exchange.broken("it ended in the middle")) }
    }

    /// The bytes up to `end`, of which there must be no more than `limit`.
    fn until(&mut self, end: &[u8], limit: usize) -> Result<String, CollectError> {
        let mut searched = self.at;
        loop {
            let found = self.bytes[searched..].windows(end.len()).position(|window| window == end);
            if let Some(found) = found.map(|found| found + searched) {
                let text = String::from_utf8_lossy(&self.bytes[self.at..found]).into_owned();
                self.at = found + end.len();
                return Ok(text);
            }
            if self.bytes.len() - self.at > limit {
                return Err(self.exchange.broken(format!("a head or a line has more than {limit} bytes")));
            }
            searched = self.bytes.len().saturating_sub(end.len() - 1).max(self.at);
            self.must_have_more()?;
        }
    }

    fn head(&mut self) -> Result<Head, CollectError> {
        let text = self.until(b"\r\n\r\n", HEAD_LIMIT_BYTES)?;
        let mut lines = text.split("\r\n");
        let mut status = lines.next().unwrap_or("").splitn(3, ' ');
        if !status.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
            return Err(self.exchange.broken("its first line is no status of HTTP/1"));
        }
        let code = status.next().unwrap_or("");
        if code != "200" {
            let reason = status.next().unwrap_or("");
            let (code, reason) = (code.chars().take(8), reason.chars().take(80));
            let message: String = code.chain([' ']).chain(reason).filter(|c| !c.is_control()).collect();
            return Err(self.exchange.broken(format!("its status is {}, not 200", message.trim())));
        }
        let mut head = Head { length: None, is_chunked: false };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let length = value.parse().map_err(|_| self.exchange.broken("its length is no number"))?;
                head.length = Some(length);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(self.exchange.broken("its transfer encoding is not `chunked`"));
                }
                head.is_chunked = true;
            } else if name.eq_ignore_ascii_case("content-encoding") && !value.eq_ignore_ascii_case("identity")
            {
                return Err(self.exchange.broken("it is compressed, which was not asked for"));
            }
        }
        Ok(head)
    }

    fn take(&mut self, count: usize, body: &mut Vec<u8>) -> Result<(), CollectError> {
        if count > BODY_LIMIT_BYTES - body.len() {
            return Err(self.too_long());
        }
        while self.bytes.len() - self.at < count {
            self.must_have_more()?;
        }
        body.extend_from_slice(&self.bytes[self.at..self.at + count]);
        self.bytes.drain(..self.at + count);
        self.at = 0;
        Ok(())
    }

    fn too_long(&self) -> CollectError {
        self.exchange.broken(format!("its body has more than {BODY_LIMIT_BYTES} bytes"))
    }
}

struct Head {
    length: Option<usize>,
    is_chunked: bool,
}

fn read_body<S: Slow>(response: &mut ResponseStream<'_, S>, head: &Head) -> Result<Vec<u8>, CollectError> {
    let mut body = Vec::new();
    if head.is_chunked {
        loop {
            let size = response.until(b"\r\n", HEAD_LIMIT_BYTES)?;
            let digits = size.split(';').next().unwrap_or("").trim();
            // `from_str_radix` takes a sign, which no size has.
            let size = Some(digits)
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .and_then(|digits| usize::from_str_radix(digits, 16).ok())
                .ok_or_else(|| response.exchange.broken("a chunk's size is no hexadecimal number"))?;
            if size == 0 {
                return Ok(body);
            }
            response.take(size, &mut body)?;
            let mut end = Vec::new();
            response.take(2, &mut end)?;
            if end != b"\r\n" {
                return Err(response.exchange.broken("a chunk is longer than it says"));
            }
        }
    } else if let Some(length) = head.length {
        response.take(length, &mut body)?;
    } else {
        while response.more()? {
            if response.bytes.len() - response.at > BODY_LIMIT_BYTES {
                return Err(response.too_long());
            }
        }
        body.extend_from_slice(&response.bytes[response.at..]);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostic::text_with_causes;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Gives its pieces one by one.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            let count = piece.len().min(buffer.len());
            buffer[..count].copy_from_slice(&piece[..count]);
            if count < piece.len() {
                self.0.insert(0, piece[count..].to_vec());
            }
            Ok(count)
        }
    }

    impl Slow for Pieces {
        fn give_up_after(&mut self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer(pieces: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        let address: HttpAddress = "http://x/".parse().unwrap();
        let deadline = Deadline::new(Duration::from_secs(10), &|| false);
        let exchange = HttpExchange { address: &address, deadline: &deadline };
        let pieces = Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect());
        let mut response = ResponseStream { exchange: &exchange, stream: pieces, bytes: Vec::new(), at: 0 };
        let head = response.head().map_err(|error| text_with_causes(&error))?;
        read_body(&mut response, &head).map_err(|error| text_with_causes(&error))
    }

    fn whole(text: &str) -> Result<String, String> {
        answer(vec![text.as_bytes().to_vec()]).map(|body| String::from_utf8(body).unwrap())
    }

    /// Proves that addresses are read as they are meant, and that what is none is refused.
    #[test]
    fn addresses_are_read() {
        for (text, shown) in [
            ("http://127.0.0.1:9100/metrics", "http://127.0.0.1:9100/metrics"),
            ("http://array", "http://array:80/metrics"),
            ("http://array/probe?target=a/b", "http://array:80/probe?target=a/b"),
            ("http://[::1]:9/x", "http://[::1]:9/x"),
            ("http://[fe80::1]", "http://[fe80::1]:80/metrics"),
        ] {
            assert_eq!(text.parse::<HttpAddress>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "array",
            "https://array",
            "http://",
            "http:///x",
            "http://a:0",
            "http://a:65536",
            "http://a:b",
            "http://u:p@a/",
            "http://a/#x",
            "http://[::1",
            "http://[::1]9",
            "http://a b",
            "http://a/\r\nX: y",
            "http://a:1:2",
            "http://é",
            "http://a?b",
        ] {
            assert!(text.parse::<HttpAddress>().is_err(), "{text}");
        }
        assert!(format!("http://{}", "a".repeat(2000)).parse::<HttpAddress>().is_err());
    }

    /// Proves that the three ways of ending a body are read, and that broken answers say what is wrong.
    #[test]
    fn answers_are_read() {
        let ok = "HTTP/1.1 200 OK\r\nX: y\r\n";
        assert_eq!(whole(&format!("{ok}Content-Length: 3\r\n\r\nabcdef")).unwrap(), "abc");
        assert_eq!(whole(&format!("{ok}\r\nabcdef")).unwrap(), "abcdef");
        let chunked =
            format!("{ok}transfer-encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n");
        assert_eq!(whole(&chunked).unwrap(), "abc0123456789");
        for (text, problem) in [
            (format!("{ok}Content-Length: 3\r\n\r\nab"), "ended in the middle"),
            (format!("{ok}Content-Length: x\r\n\r\nab"), "no number"),
            (format!("{ok}Content-Length: 99999999999\r\n\r\nab"), "more than"),
            (format!("{ok}Transfer-Encoding: gzip\r\n\r\nab"), "chunked"),
            (format!("{ok}Transfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n"), "hexadecimal"),
            (format!("{ok}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab\r\n"), "hexadecimal"),
            (format!("{ok}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\nab\r\n"), "more than"),
            (format!("{ok}Transfer-Encoding: chunked\r\n\r\n1\r\nabcdef"), "longer than it says"),
            (format!("{ok}Content-Encoding: gzip\r\n\r\nab"), "compressed"),
            ("HTTP/1.1 404 Not Found\r\n\r\n".to_owned(), "404 Not Found"),
            ("HTTP/1.1 301 Moved\r\nLocation: http://evil/\r\n\r\n".to_owned(), "301 Moved"),
            ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), "no status"),
            (String::new(), "ended in the middle"),
            (format!("{ok}{}", "X: y\r\n".repeat(10_000)), "more than"),
        ] {
            let error = whole(&text).unwrap_err();
            assert!(error.contains(problem), "{text:.80}: {error}");
        }
    }

    proptest! {
        /// Proves that an answer means the same however the network cuts it, and that no bytes panic.
        #[test]
        fn pieces_make_the_whole(
            chunks in proptest::collection::vec("[a-z\r\n]{1,30}", 0..6),
            cut in 1usize..20,
            noise in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut text = String::from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for chunk in &chunks {
                text += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
            }
            text += "0\r\n\r\n";
            let pieces = text.as_bytes().chunks(cut).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(answer(pieces).unwrap(), chunks.concat().into_bytes());
            let _ = answer(vec![noise.clone()]);
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            let _ = answer(vec![head, noise]);
        }
    }
}
