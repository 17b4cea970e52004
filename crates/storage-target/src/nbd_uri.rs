//! NBD addresses, after the NBD URI specification (NetworkBlockDevice/nbd, doc/uri.md).

use diagnostic::Problem;
use std::path::PathBuf;

/// The port that IANA assigned to NBD.
pub const NBD_PORT: u16 = 10809;

/// Longest export name, from the protocol's limit on strings (doc/proto.md).
pub const EXPORT_NAME_LIMIT_BYTES: usize = 4096;

/// `sun_path` of `sockaddr_un` without its final zero.
const UNIX_PATH_LIMIT_BYTES: usize = 107;

/// Address of an NBD server, with the name of the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdAddress {
    /// Address as typed; engines get this text unchanged.
    pub uri: String,
    /// Endpoint to connect to.
    pub endpoint: NbdEndpoint,
    /// The export, decoded; empty for the server's default.
    pub export: String,
}

/// The socket of an NBD server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NbdEndpoint {
    /// `nbd://`
    Tcp {
        /// A name or address, without brackets.
        host: String,
        /// 10809 unless given.
        port: u16,
    },
    /// `nbd+unix://`
    Unix(PathBuf),
}

impl NbdAddress {
    /// Reads an address. The error says what is wrong, to be put behind the address.
    pub fn parse(uri: &str) -> Result<Self, Problem> {
        let (scheme, rest) = uri.split_once("://").ok_or("has no `://`")?;
        let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(r, f)| (r, Some(f)));
        if fragment.is_some() {
            return Err("has a fragment (`#…`), which NBD addresses do not have".into());
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let export = percent_decode(path)?;
        if export.len() > EXPORT_NAME_LIMIT_BYTES {
            return Err(format!("the export name is longer than {EXPORT_NAME_LIMIT_BYTES} bytes").into());
        }
        if authority.contains('@') {
            return Err("names a user, which only TLS can use".into());
        }
        let socket = socket_parameter(query)?;
        let endpoint = match scheme {
            "nbd" => {
                if socket.is_some() {
                    return Err("`socket=` belongs to nbd+unix://".into());
                }
                let (host, port) = host_and_port(authority)?;
                NbdEndpoint::Tcp { host, port }
            }
            "nbd+unix" => {
                if !authority.is_empty() {
                    return Err(format!(
                        "`{authority}` stands where nbd+unix:// has nothing: three slashes before the export"
                    )
                    .into());
                }
                let path = socket.ok_or("nbd+unix:// needs ?socket=PATH")?;
                if path.is_empty() || path.len() > UNIX_PATH_LIMIT_BYTES {
                    return Err(
                        format!("the socket's path must be 1 to {UNIX_PATH_LIMIT_BYTES} bytes long").into()
                    );
                }
                NbdEndpoint::Unix(path.into())
            }
            other => return Err(format!("`{other}` is not nbd or nbd+unix").into()),
        };
        Ok(NbdAddress { uri: uri.to_owned(), endpoint, export })
    }
}

fn socket_parameter(query: &str) -> Result<Option<String>, Problem> {
    let mut socket = None;
    for parameter in query.split('&').filter(|p| !p.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if key != "socket" {
            return Err(format!("`{key}` is not a known parameter; the only one is socket").into());
        }
        if socket.replace(percent_decode(value)?).is_some() {
            return Err("gives `socket` twice".into());
        }
    }
    Ok(socket)
}

fn host_and_port(authority: &str) -> Result<(String, u16), Problem> {
    let (host, port) = if let Some(bracketed) = authority.strip_prefix('[') {
        let (host, after) = bracketed.split_once(']').ok_or("`[` is never closed")?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(format!("`{after}` after the address in brackets is no port").into()),
        }
    } else {
        authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)))
    };
    let host = percent_decode(host)?;
    if host.is_empty() {
        return Err("names no host".into());
    }
    let port = match port {
        None | Some("") => NBD_PORT,
        Some(port) => match port.parse::<u16>() {
            Ok(number) if number != 0 && port.bytes().all(|b| b.is_ascii_digit()) => number,
            _ => return Err(format!("`{port}` is no port").into()),
        },
    };
    Ok((host, port))
}

fn percent_decode(text: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err("`%` is not followed by two hexadecimal digits".into()),
        }
    }
    let decoded = String::from_utf8(bytes).map_err(|_| "is not UTF-8 once decoded")?;
    if decoded.contains('\0') {
        return Err("contains a zero byte once decoded".into());
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(uri: &str) -> (String, u16, String) {
        let address = NbdAddress::parse(uri).expect(uri);
        match address.endpoint {
            NbdEndpoint::Tcp { host, port } => (host, port, address.export),
            NbdEndpoint::Unix(_) => panic!("{uri} is not TCP"),
        }
    }

    /// Proves host, port, export and socket against the examples of the URI specification.
    #[test]
    fn addresses_of_the_specification_are_read() {
        assert_eq!(tcp("nbd://example.com"), ("example.com".into(), 10809, String::new()));
        assert_eq!(tcp("nbd://localhost:10810/disk1"), ("localhost".into(), 10810, "disk1".into()));
        assert_eq!(tcp("nbd://[::1]:10810/"), ("::1".into(), 10810, String::new()));
        assert_eq!(tcp("nbd://[fe80::1]"), ("fe80::1".into(), 10809, String::new()));
        // A second slash belongs to the export's name.
        assert_eq!(tcp("nbd://h//a/b").2, "/a/b");
        let address = NbdAddress::parse("nbd+unix:///my%20disk?socket=/tmp/a%2bb.sock").unwrap();
        assert_eq!(address.endpoint, NbdEndpoint::Unix("/tmp/a+b.sock".into()));
        assert_eq!(address.export, "my disk");
        assert_eq!(address.uri, "nbd+unix:///my%20disk?socket=/tmp/a%2bb.sock");
    }

    /// Proves that each malformed address is refused for its own reason.
    #[test]
    fn malformed_addresses_are_refused() {
        for (uri, reason) in [
            ("nbd://", "no host"),
            ("nbd://host:0", "no port"),
            ("nbd://host:70000", "no port"),
            ("nbd://host:+5", "no port"),
            ("nbd://[::1", "never closed"),
            ("nbd://[::1]x", "no port"),
            ("nbd://user@host/", "user"),
            ("nbd://host/%zz", "hexadecimal"),
            ("nbd://host/%2", "hexadecimal"),
            ("nbd://host/%ff", "UTF-8"),
            ("nbd://host/%00", "zero byte"),
            ("nbd://host/?socket=/x", "belongs to nbd+unix"),
            ("nbd://host/x#y", "fragment"),
            ("nbd+unix:///x", "needs ?socket"),
            ("nbd+unix:///x?socket=", "1 to 107"),
            ("nbd+unix://x?socket=/s", "three slashes"),
            ("nbd+unix:///x?socket=/s&tls=1", "not a known parameter"),
            ("nbd+unix:///x?socket=/s&socket=/t", "twice"),
        ] {
            let error = NbdAddress::parse(uri).expect_err(uri).to_string();
            assert!(error.contains(reason), "{uri}: {error}");
        }
        assert!(NbdAddress::parse(&format!("nbd://h/{}", "x".repeat(4097))).is_err());
        assert!(NbdAddress::parse(&format!("nbd+unix:///?socket=/{}", "x".repeat(107))).is_err());
    }

    proptest! {
        /// Proves that an export name of any characters survives its encoding.
        #[test]
        fn encoded_names_decode(name in "[^\\x00]{0,40}") {
            let encoded: String = name.bytes().map(|b| format!("%{b:02X}")).collect();
            prop_assert_eq!(NbdAddress::parse(&format!("nbd://h/{encoded}")).unwrap().export, name);
        }
    }
}
