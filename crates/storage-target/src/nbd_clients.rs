//! Devices of the kernel's NBD client that are attached to the server of an NBD address: what is mounted through
//! `/dev/nbd0` lies on the bytes of the export.
//!
//! The kernel does not say to which server and export a device is attached, only that it is attached. So a device counts
//! when it is in use, has the size of the export, and somebody on this host is connected to the server. Two exports of
//! one size on one server are taken for one: attaching the second as a device tells them apart.

use crate::nbd_uri::NbdEndpoint;
use crate::roots::Roots;
use crate::shared_users::{Reach, shared_users};
use crate::sysfs::{attribute, entries, number_attribute};
use crate::usage::{block_directory, usage_of};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// nbd-client rounds a size down to whole blocks, of 4096 bytes at most.
const ROUNDED_BYTES: u64 = 4096;
/// The server may not have noticed yet that our own connection is closed: what counts lasts.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// `TCP_ESTABLISHED` of `/proc/net/tcp`, and `SS_CONNECTED` of `/proc/net/unix`.
const ESTABLISHED: &str = "01";
const CONNECTED: &str = "03";

/// Lists the users of the export of `size_bytes` bytes through the kernel's NBD client, in sentences.
pub(crate) fn users_of_export(
    roots: &Roots,
    endpoint: &NbdEndpoint,
    size_bytes: u64,
) -> Result<Vec<String>, (PathBuf, io::Error)> {
    let mut users = Vec::new();
    for name in entries(&roots.sysfs.join("block")).into_iter().filter(|name| name.starts_with("nbd")) {
        let Some(directory) = block_directory(roots, &name) else { continue };
        let device_bytes = number_attribute(&directory, "size").unwrap_or(0).saturating_mul(512);
        let is_its_size = device_bytes <= size_bytes && size_bytes - device_bytes < ROUNDED_BYTES;
        if attribute(&directory, "pid").is_none() || !is_its_size {
            continue;
        }
        let (usage, devices) = usage_of(roots, &directory)?;
        let shared = shared_users(roots, &Reach { devices, ..Reach::default() });
        let uses = usage.uses_of(&name).into_iter().chain(shared.into_iter().map(|user| user.by));
        users.extend(uses.map(|one| {
            format!("/dev/{name} is attached to the same server, has the size of the export and {one}")
        }));
    }
    if !users.is_empty() && !is_connected(roots, endpoint) {
        users.clear();
    }
    Ok(users)
}

/// Returns true if a connection to the server persists.
fn is_connected(roots: &Roots, endpoint: &NbdEndpoint) -> bool {
    let look = || match endpoint {
        NbdEndpoint::Tcp { host, port } => {
            let addresses = (host.as_str(), *port).to_socket_addrs().map(Iterator::collect);
            // A name that cannot be resolved now was resolved a moment ago: the port alone must do.
            is_connected_by_tcp(roots, addresses.ok(), *port)
        }
        NbdEndpoint::Unix(path) => is_connected_by_unix(roots, path),
    };
    for _ in 1..LOOKS {
        if !look() {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    look()
}

fn is_connected_by_tcp(roots: &Roots, addresses: Option<Vec<SocketAddr>>, port: u16) -> bool {
    let servers: Option<Vec<IpAddr>> =
        addresses.map(|all| all.iter().map(|address| address.ip().to_canonical()).collect());
    let is_server = |ip: IpAddr| {
        let Some(servers) = &servers else { return true };
        // This host's server can be reached by each address of this host.
        servers.contains(&ip) || servers.iter().any(|server| is_of_this_host(*server)) && is_of_this_host(ip)
    };
    let tables = ["net/tcp", "net/tcp6"].map(|table| fs::read_to_string(roots.proc.join(table)));
    let remotes = tables.iter().flatten().flat_map(|text| text.lines().filter_map(established_remote));
    let remotes: Vec<SocketAddr> = remotes.filter(|remote| remote.port() == port).collect();
    remotes.iter().any(|remote| is_server(remote.ip().to_canonical()))
}

/// Only addresses of this host can be bound.
fn is_of_this_host(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// `0: 0100007F:A2C4 0100007F:2A39 01 …` (proc(5)): the third field, if the fourth says that it is connected.
fn established_remote(line: &str) -> Option<SocketAddr> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.get(3) != Some(&ESTABLISHED) {
        return None;
    }
    let (address, port) = fields.get(2)?.split_once(':')?;
    // Words of four bytes, each printed as the number that this processor takes it for.
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The sockets that a server has accepted bear the path that it listens on, as it wrote it.
fn is_connected_by_unix(roots: &Roots, path: &Path) -> bool {
    let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_it = |shown: &Path| {
        shown == path
            || fs::canonicalize(shown).is_ok_and(|shown| shown == resolved)
            || shown.is_relative() && shown.file_name() == resolved.file_name()
    };
    let table = fs::read_to_string(roots.proc.join("net/unix")).unwrap_or_default();
    table.lines().filter_map(connected_path).any(|shown| is_it(Path::new(shown)))
}

/// `Num RefCount Protocol Flags Type St Inode Path` (proc(5)): the path, which may hold spaces, if the state says that
/// it is connected.
fn connected_path(line: &str) -> Option<&str> {
    let (mut rest, mut state) = (line.trim_start(), "");
    for index in 0..7 {
        let (field, behind) = rest.split_once(' ')?;
        rest = behind.trim_start();
        if index == 5 {
            state = field;
        }
    }
    (state == CONNECTED && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a connection to the server is seen by whichever of this host's addresses it was made, over IPv4 and
    /// IPv6, and that neither a closed one nor one to another host or port is taken for it.
    #[test]
    fn connections_to_the_server_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots { proc: directory.path().to_owned(), ..Roots::system() };
        fs::create_dir_all(directory.path().join("net")).unwrap();
        // 10809 is 2A39; addresses as a little-endian processor prints them.
        let is_connected_to = |server: &str, table: &str, connection: &str| {
            for name in ["tcp", "tcp6"] {
                let row = format!("  sl  local rem st\n   0: 0100007F:A2C4 {connection} 00000000:00000000\n");
                let text = if name == table { row } else { String::new() };
                fs::write(directory.path().join("net").join(name), text).unwrap();
            }
            let endpoint = NbdEndpoint::Tcp { host: server.to_owned(), port: 10809 };
            is_connected(&roots, &endpoint)
        };
        for (server, table, connection) in [
            ("127.0.0.1", "tcp", "0100007F:2A39 01"),
            ("127.0.0.1", "tcp", "0200007F:2A39 01"),
            ("127.0.0.1", "tcp6", "0000000000000000FFFF00000100007F:2A39 01"),
            ("::1", "tcp6", "00000000000000000000000001000000:2A39 01"),
            ("192.0.2.10", "tcp", "0A0200C0:2A39 01"),
        ] {
            assert!(is_connected_to(server, table, connection), "{server} {connection}");
        }
        for (server, connection) in [
            ("127.0.0.1", "0100007F:2A39 06"),
            ("127.0.0.1", "0100007F:2A38 01"),
            ("127.0.0.1", "0A0200C0:2A39 01"),
            ("192.0.2.10", "0100007F:2A39 01"),
            ("127.0.0.1", "0100:2A39 01"),
        ] {
            assert!(!is_connected_to(server, "tcp", connection), "{server} {connection}");
        }
    }
}
