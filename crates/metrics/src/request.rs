//! The head of an HTTP/1 request (RFC 9112), as far as a server of one page needs it.

use std::net::IpAddr;

/// The longest head: a Prometheus scrape has 300 bytes of it.
pub(crate) const HEAD_LIMIT_BYTES: usize = 8 << 10;

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The page, with or without its body.
    Page { has_body: bool },
    /// Something else, by its status.
    Refusal(&'static str),
}

pub(crate) const TOO_LONG: &str = "431 Request Header Fields Too Large";
pub(crate) const TOO_SLOW: &str = "408 Request Timeout";
pub(crate) const TOO_MANY: &str = "503 Service Unavailable";
const BAD: &str = "400 Bad Request";

/// Where the head ends, once all of it is there.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n")
}

/// What to answer to a head. With `is_local_only`, only to one that names this host as a local one: a web page whose
/// name resolves to 127.0.0.1 must not read what only local users may.
pub(crate) fn answer(head: &[u8], is_local_only: bool) -> Answer {
    let Ok(text) = str::from_utf8(head) else { return Answer::Refusal(BAD) };
    let mut lines = text.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or("").split(' ').collect();
    let [method, target, version] = words[..] else { return Answer::Refusal(BAD) };
    if !matches!(version, "HTTP/1.0" | "HTTP/1.1") {
        return Answer::Refusal(if version.starts_with("HTTP/") {
            "505 HTTP Version Not Supported"
        } else {
            BAD
        });
    }
    let mut hosts = Vec::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return Answer::Refusal(BAD) };
        if name.is_empty() || name.contains(|c: char| !c.is_ascii_graphic()) {
            return Answer::Refusal(BAD);
        }
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value.trim());
        }
    }
    let is_named_well = match hosts[..] {
        [] => version == "HTTP/1.0",
        [host] => !is_local_only || is_local(host),
        _ => false,
    };
    if !is_named_well {
        return Answer::Refusal(BAD);
    }
    let has_body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return Answer::Refusal("405 Method Not Allowed"),
    };
    match target.split('?').next() {
        Some("/metrics") => Answer::Page { has_body },
        _ => Answer::Refusal("404 Not Found"),
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

    fn of(text: &str) -> Answer {
        answer(text.as_bytes(), true)
    }

    /// Proves what is answered and what is refused, each with its status.
    #[test]
    fn heads_are_understood() {
        let page = Answer::Page { has_body: true };
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9100\r\nX: y"), page);
        assert_eq!(of("GET /metrics?a=b HTTP/1.1\r\nhost: [::1]:9100"), page);
        assert_eq!(of("GET /metrics HTTP/1.0"), page);
        assert_eq!(of("HEAD /metrics HTTP/1.1\r\nHost: localhost"), Answer::Page { has_body: false });
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
            ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1", "405"),
            ("GET /metrics/../etc HTTP/1.1\r\nHost: 127.0.0.1", "404"),
        ] {
            let Answer::Refusal(said) = of(text) else { panic!("{text}") };
            assert!(said.starts_with(status), "{text}: {said}");
        }
        assert_eq!(answer(b"GET /metrics HTTP/1.1\r\nHost: lab.example", false), page);
    }

    proptest! {
        /// Proves that no bytes panic, and that noise is never answered with the page.
        #[test]
        fn no_head_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "(GET|PUT)? ?/?[a-z]{0,9} ?(HTTP/1.1)?(\r\n[A-Za-z: ]{0,9}){0,4}") {
            head_end(&bytes);
            prop_assert!(matches!(answer(&bytes, true), Answer::Refusal(_)));
            prop_assert!(matches!(of(&text), Answer::Refusal(_)));
        }
    }
}
