//! The head of an HTTP/1 request (RFC 9112) as `httparse` reads it, and whether whoever sends it may ask at all.

use std::net::IpAddr;

/// The longest head: a browser's has 1 KiB, a Prometheus scrape 300 bytes.
pub(crate) const HEAD_LIMIT_BYTES: usize = 8 << 10;
/// A browser sends about 15.
const HEADERS_LIMIT: usize = 64;
/// The longest command.
pub(crate) const BODY_LIMIT_BYTES: usize = 16 << 10;
/// The header that permits changes. A page of another origin cannot send it without asking first, which we never allow.
pub(crate) const TOKEN_HEADER: &str = "x-arraylab-token";

pub(crate) const BAD: &str = "400 Bad Request";
pub(crate) const UNAUTHORISED: &str = "401 Unauthorized";
const FORBIDDEN: &str = "403 Forbidden";
pub(crate) const NOT_FOUND: &str = "404 Not Found";
pub(crate) const WRONG_METHOD: &str = "405 Method Not Allowed";
pub(crate) const TOO_SLOW: &str = "408 Request Timeout";
const NO_LENGTH: &str = "411 Length Required";
const TOO_LARGE: &str = "413 Content Too Large";
const WRONG_TYPE: &str = "415 Unsupported Media Type";
pub(crate) const TOO_LONG: &str = "431 Request Header Fields Too Large";
pub(crate) const TOO_MANY: &str = "503 Service Unavailable";
const WRONG_VERSION: &str = "505 HTTP Version Not Supported";

/// Kind of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestKind {
    /// Request for a page or a file.
    Get {
        /// Path without the query.
        path: String,
        /// `false` for `HEAD`.
        has_body: bool,
    },
    /// Request for a change.
    Post {
        /// Path without the query.
        path: String,
        /// Token of the request; empty without.
        token: Vec<u8>,
        /// Length of the body behind the head, in bytes.
        body_bytes: usize,
    },
}

/// Returns the end of the head, once all of it is there.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Decodes the request of a head, or returns the status by which it is refused. With `is_local_only`, only a request
/// that names this host as a local one is let in: a web page whose name resolves to 127.0.0.1 must not read what only
/// local users may.
pub fn decode_head(head: &[u8], is_local_only: bool) -> Result<RequestKind, &'static str> {
    let mut room = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
    let mut parsed = httparse::Request::new(&mut room);
    let status = parsed.parse(head).map_err(|error| match error {
        httparse::Error::TooManyHeaders => TOO_LONG,
        httparse::Error::Version => WRONG_VERSION,
        _ => BAD,
    })?;
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(BAD);
    };
    if status.is_partial() {
        return Err(BAD);
    }
    let headers = Headers(parsed.headers);
    let host = headers.only("host")?;
    let is_named_well = match host {
        None => version == 0,
        Some(host) => !is_local_only || is_local(host),
    };
    if !is_named_well {
        return Err(BAD);
    }
    let path = target.split('?').next().unwrap_or("").to_owned();
    match method {
        "GET" => Ok(RequestKind::Get { path, has_body: true }),
        "HEAD" => Ok(RequestKind::Get { path, has_body: false }),
        "POST" => decode_post(&headers, host.unwrap_or(""), path),
        _ => Err(WRONG_METHOD),
    }
}

/// A browser says where a request comes from, and only our own page may send one; other programs do not say.
fn decode_post(headers: &Headers<'_>, host: &str, path: String) -> Result<RequestKind, &'static str> {
    if headers.only("origin")?.is_some_and(|origin| !origin.eq_ignore_ascii_case(&format!("http://{host}"))) {
        return Err(FORBIDDEN);
    }
    if headers.only("sec-fetch-site")?.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(FORBIDDEN);
    }
    if headers.only("transfer-encoding")?.is_some() {
        return Err(NO_LENGTH);
    }
    let kind = headers.only("content-type")?.and_then(|kind| kind.split(';').next()).unwrap_or("");
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(WRONG_TYPE);
    }
    let length = headers.only("content-length")?.ok_or(NO_LENGTH)?;
    // "+5" is a number for Rust, and none for HTTP.
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let body_bytes = if is_number { length.parse().unwrap_or(usize::MAX) } else { return Err(BAD) };
    if body_bytes > BODY_LIMIT_BYTES {
        return Err(TOO_LARGE);
    }
    let token = headers.only(TOKEN_HEADER)?.unwrap_or("").as_bytes().to_vec();
    Ok(RequestKind::Post { path, token, body_bytes })
}

struct Headers<'a>(&'a [httparse::Header<'a>]);

impl<'a> Headers<'a> {
    /// The value of a header that may be there once.
    fn only(&self, name: &str) -> Result<Option<&'a str>, &'static str> {
        let mut values = self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(header), None) => {
                str::from_utf8(header.value).map(|text| Some(text.trim())).map_err(|_| BAD)
            }
            _ => Err(BAD),
        }
    }
}

fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Result<RequestKind, &'static str> {
        decode_head(format!("{text}\r\n\r\n").as_bytes(), true)
    }

    fn get(path: &str, has_body: bool) -> Result<RequestKind, &'static str> {
        Ok(RequestKind::Get { path: path.to_owned(), has_body })
    }

    const POST: &str = "POST /control HTTP/1.1\r\nHost: localhost:9101\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
                        X-Arraylab-Token: secret";

    /// Proves what is understood and what is refused, each with its status.
    #[test]
    fn heads_are_understood() {
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9100\r\nX: y"), get("/metrics", true));
        assert_eq!(of("GET /metrics?a=b HTTP/1.1\r\nhost: [::1]:9100"), get("/metrics", true));
        assert_eq!(of("GET /metrics HTTP/1.0"), get("/metrics", true));
        assert_eq!(of("HEAD /metrics HTTP/1.1\r\nHost: localhost"), get("/metrics", false));
        for (text, status) in [
            ("", "400"),
            ("GET /metrics", "400"),
            ("GET  /metrics HTTP/1.1", "400"),
            ("GET /metrics HTTP/1.1", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nnonsense", "400"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n folded: x", "400"),
            ("GET /metrics HTTP/2.0\r\nHost: 127.0.0.1", "505"),
            ("PUT /metrics HTTP/1.1\r\nHost: 127.0.0.1", "405"),
            ("OPTIONS /control HTTP/1.1\r\nHost: 127.0.0.1", "405"),
            (&format!("GET / HTTP/1.1\r\nHost: localhost{}", "\r\nA: b".repeat(HEADERS_LIMIT)), "431"),
        ] {
            let message = of(text).unwrap_err();
            assert!(message.starts_with(status), "{text}: {message}");
        }
        assert_eq!(
            decode_head(b"GET /metrics HTTP/1.1\r\nHost: lab.example\r\n\r\n", false),
            get("/metrics", true)
        );
        assert_eq!(decode_head(b"GET / HTTP/1.1\r\nHost: localhost\r\n", true), Err(BAD), "half a head");
    }

    /// Proves that a command comes from our own page or from a program, with a type and a length, and nothing else.
    #[test]
    fn commands_are_let_in_from_here_only() {
        let own = RequestKind::Post { path: "/control".into(), token: b"secret".to_vec(), body_bytes: 2 };
        assert_eq!(of(POST), Ok(own.clone()));
        assert_eq!(
            of(&format!("{POST}\r\nOrigin: http://localhost:9101\r\nSec-Fetch-Site: same-origin")),
            Ok(own)
        );
        for (more, status) in [
            ("\r\nOrigin: http://evil.example", "403"),
            ("\r\nOrigin: null", "403"),
            ("\r\nOrigin: http://localhost:80", "403"),
            ("\r\nSec-Fetch-Site: cross-site", "403"),
            ("\r\nSec-Fetch-Site: same-site", "403"),
            ("\r\nTransfer-Encoding: chunked", "411"),
            ("\r\nContent-Length: 2", "400"),
            ("\r\nX-Arraylab-Token: other", "400"),
        ] {
            let message = of(&format!("{POST}{more}")).unwrap_err();
            assert!(message.starts_with(status), "{more}: {message}");
        }
        for (from, to, status) in [
            ("application/json", "text/plain", "415"),
            ("Content-Length: 2", "Content-Length: +2", "400"),
            ("Content-Length: 2", "Content-Length: 99999", "413"),
            ("Content-Length: 2", "Content-Length: 99999999999999999999999", "413"),
            ("Content-Length: 2", "X: y", "411"),
            ("localhost:9101", "rebound.example", "400"),
        ] {
            let message = of(&POST.replace(from, to)).unwrap_err();
            assert!(message.starts_with(status), "{to}: {message}");
        }
    }

    proptest! {
        /// Proves that no bytes panic, and that noise is never understood.
        #[test]
        fn no_head_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "(GET|PUT)? ?/?[a-z]{0,9} ?(HTTP/1.1)?(\r\n[A-Za-z: ]{0,9}){0,4}") {
            head_end(&bytes);
            prop_assert!(decode_head(&bytes, true).is_err());
            prop_assert!(of(&text).is_err());
        }

        /// Proves that a command whose bytes were changed is refused or still has a bounded body and our own host.
        #[test]
        fn changed_commands_stay_bounded(at in 0usize..150, byte in any::<u8>(), cut in 0usize..200) {
            let mut head = format!("{POST}\r\n\r\n").into_bytes();
            let length = head.len();
            head[at % length] = byte;
            head.truncate(length.saturating_sub(cut % 3 * cut));
            if let Ok(RequestKind::Post { body_bytes, path, .. }) = decode_head(&head, true) {
                prop_assert!(body_bytes <= BODY_LIMIT_BYTES && path.len() <= head.len());
            }
        }
    }
}
