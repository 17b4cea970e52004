//! Host addresses: `ssh://user@host:port`, `fio://host:port`, `local`.

use crate::HostError;
use std::fmt;

/// The most hosts of a run.
pub const HOSTS_LIMIT: usize = 256;
/// The longest name of a host in a run.
const NAME_CHARS_LIMIT: usize = 64;
/// The longest name of a machine: DNS allows 253.
const MACHINE_CHARS_LIMIT: usize = 253;
/// The longest user name: Linux allows 32.
const USER_CHARS_LIMIT: usize = 64;
/// fio's own port.
const FIO_PORT: u16 = 8765;

/// A machine that `ssh` reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// The user there; without it, `ssh` decides.
    pub user: Option<String>,
    /// Name or address, also a `Host` of the user's `ssh_config`.
    pub machine: String,
    /// The port; without it, `ssh` decides.
    pub port: Option<u16>,
}

/// A machine on which `fio --server` listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioAddress {
    /// Name or address.
    pub machine: String,
    /// The port.
    pub port: u16,
}

/// Address of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddress {
    /// `ssh://`: an agent of this program.
    Ssh(SshAddress),
    /// `fio://`: a server of fio.
    Fio(FioAddress),
    /// `local`: an agent on this machine, without `ssh`.
    Local,
}

/// A host of a run: name and address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    /// Its name in plans and results.
    pub name: String,
    /// Address of the host.
    pub address: HostAddress,
}

impl HostSpec {
    /// `NAME=ADDRESS`, as on the command line.
    pub fn parse(text: &str) -> Result<HostSpec, HostError> {
        let Some((name, address)) = text.split_once('=') else {
            return Err(HostError::Address {
                text: text.to_owned(),
                problem: "it has no name".into(),
                hint: "NAME=ADDRESS, for example h1=ssh://root@10.0.0.1",
            });
        };
        HostSpec::new(name, address)
    }

    /// A host of this name and address.
    pub fn new(name: &str, address: &str) -> Result<HostSpec, HostError> {
        check_name(name)?;
        Ok(HostSpec { name: name.to_owned(), address: HostAddress::parse(address)? })
    }
}

/// Names stand in results, files and messages: letters, digits, `.`, `_` and `-`.
fn check_name(name: &str) -> Result<(), HostError> {
    let is_char = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = (1..=NAME_CHARS_LIMIT).contains(&name.len())
        && name.chars().all(is_char)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_name && name != "all" {
        return Ok(());
    }
    Err(HostError::Address {
        text: name.to_owned(),
        problem: format!(
            "a name has 1 to {NAME_CHARS_LIMIT} letters, digits and `._-`, begins with a letter or digit, and is not `all`"
        ),
        hint: "NAME=ADDRESS, for example h1=ssh://root@10.0.0.1",
    })
}

impl HostAddress {
    /// Reads an address. What is refused here never reaches a command line.
    pub fn parse(text: &str) -> Result<HostAddress, HostError> {
        if text == "local" {
            return Ok(HostAddress::Local);
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            let (user, rest) = match rest.rsplit_once('@') {
                Some((user, rest)) => (Some(user), rest),
                None => (None, rest),
            };
            if let Some(user) = user {
                let is_char = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                let is_user = (1..=USER_CHARS_LIMIT).contains(&user.len())
                    && user.chars().all(is_char)
                    && !user.starts_with('-');
                if !is_user {
                    return Err(HostError::address(text, "the user has letters, digits and `._-`"));
                }
            }
            let (machine, port) = machine_and_port(text, rest)?;
            return Ok(HostAddress::Ssh(SshAddress { user: user.map(str::to_owned), machine, port }));
        }
        if let Some(rest) = text.strip_prefix("fio://") {
            let (machine, port) = machine_and_port(text, rest)?;
            return Ok(HostAddress::Fio(FioAddress { machine, port: port.unwrap_or(FIO_PORT) }));
        }
        Err(HostError::address(text, "it begins with neither ssh:// nor fio://"))
    }
}

/// `name`, `name:port`, `[v6]`, `[v6]:port`.
fn machine_and_port(whole: &str, rest: &str) -> Result<(String, Option<u16>), HostError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (machine, port) = match rest.strip_prefix('[') {
        Some(inner) => {
            let Some((machine, after)) = inner.split_once(']') else {
                return Err(HostError::address(whole, "a `]` is missing"));
            };
            if machine.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(HostError::address(whole, "within [ ] stands no IPv6 address"));
            }
            match after {
                "" => (machine, None),
                _ => match after.strip_prefix(':') {
                    Some(port) => (machine, Some(port)),
                    None => return Err(HostError::address(whole, "after `]` comes `:PORT` or nothing")),
                },
            }
        }
        None => {
            let (machine, port) = match rest.split_once(':') {
                Some((machine, port)) => (machine, Some(port)),
                None => (rest, None),
            };
            let is_char = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let is_machine = (1..=MACHINE_CHARS_LIMIT).contains(&machine.len())
                && machine.chars().all(is_char)
                && machine.starts_with(|c: char| c.is_ascii_alphanumeric());
            if !is_machine {
                return Err(HostError::address(whole, "the machine has letters, digits and `._-`"));
            }
            (machine, port)
        }
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port @ 1..)) => Some(port),
        Some(_) => return Err(HostError::address(whole, "the port is 1 to 65535")),
    };
    Ok((machine.to_owned(), port))
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = |f: &mut fmt::Formatter<'_>, machine: &str| match machine.contains(':') {
            true => write!(f, "[{machine}]"),
            false => f.write_str(machine),
        };
        match self {
            HostAddress::Local => f.write_str("local"),
            HostAddress::Fio(fio) => {
                f.write_str("fio://")?;
                machine(f, &fio.machine)?;
                write!(f, ":{}", fio.port)
            }
            HostAddress::Ssh(ssh) => {
                f.write_str("ssh://")?;
                if let Some(user) = &ssh.user {
                    write!(f, "{user}@")?;
                }
                machine(f, &ssh.machine)?;
                ssh.port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that addresses are read as written, and printed as they are read.
    #[test]
    fn addresses_are_read() {
        let ssh = |user: Option<&str>, machine: &str, port| {
            let user = user.map(str::to_owned);
            HostAddress::Ssh(SshAddress { user, machine: machine.into(), port })
        };
        for (text, wanted) in [
            ("ssh://root@h1:2222", ssh(Some("root"), "h1", Some(2222))),
            ("ssh://h1.example.org", ssh(None, "h1.example.org", None)),
            ("ssh://a@[fe80::1]:22", ssh(Some("a"), "fe80::1", Some(22))),
            ("fio://h2:8765", HostAddress::Fio(FioAddress { machine: "h2".into(), port: 8765 })),
            ("local", HostAddress::Local),
        ] {
            assert_eq!(HostAddress::parse(text), Ok(wanted), "{text}");
            assert_eq!(HostAddress::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(HostAddress::parse("fio://h2").unwrap().to_string(), "fio://h2:8765");
    }

    /// Proves that what a shell or `ssh` would take for something else is refused: options, commands, blanks, quotes.
    #[test]
    fn what_could_be_more_than_an_address_is_refused() {
        for text in [
            "",
            "h1",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://-l@h1",
            "ssh://a b",
            "ssh://h1;reboot",
            "ssh://$(reboot)",
            "ssh://`id`@h1",
            "ssh://a'b",
            "ssh://h1:0",
            "ssh://h1:65536",
            "ssh://h1:22:22",
            "ssh://h1/path",
            "ssh://[::1",
            "ssh://[h1]",
            "ssh://@h1",
            "http://h1",
            "fio://",
        ] {
            assert!(HostAddress::parse(text).is_err(), "{text}");
        }
        for text in ["h1", "=ssh://h1", "a b=ssh://h1", "all=ssh://h1", "-x=local", "../x=local"] {
            assert!(HostSpec::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        /// Proves that whatever text is given, an address that is taken has only plain characters and reads back the same.
        #[test]
        fn any_text_is_refused_or_plain(text in "\\PC{0,40}", scheme in "(ssh://|fio://|)") {
            let whole = format!("{scheme}{text}");
            if let Ok(address) = HostAddress::parse(&whole) {
                let shown = address.to_string();
                prop_assert!(shown.chars().all(|c| c.is_ascii_alphanumeric() || ":/@[]._-".contains(c)));
                prop_assert_eq!(HostAddress::parse(&shown), Ok(address));
            }
        }
    }
}
