//! The server against clients: well-behaved ones in numbers, and every kind of hostile one.

use nbd::decode::{Command, OptionHeader, Request};
use nbd::protocol::{OPTION_MAGIC, command_flag, option};
use nbd::{
    CONNECTIONS_LIMIT, Client, ClientError, Errno, Export, ExportError, Exports, Extent, Listener, Server,
};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use test_support::wait_until;

const SIZE: u64 = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// A disk in memory that counts flushes, takes 50 ms for each, and panics where it is told to.
struct Memory {
    bytes: RwLock<Vec<u8>>,
    flushes: AtomicUsize,
}

/// Reading this sector panics.
const TRAP: u64 = SIZE - 512;

impl Export for Memory {
    fn size_bytes(&self) -> u64 {
        SIZE
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn description(&self) -> String {
        "memory".to_owned()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ExportError> {
        assert!(offset != TRAP, "this sector is a trap");
        let at = offset as usize;
        buffer.copy_from_slice(&self.bytes.read().unwrap()[at..at + buffer.len()]);
        Ok(())
    }
    fn write_at(&self, offset: u64, bytes: &[u8], _: bool) -> Result<(), ExportError> {
        let at = offset as usize;
        self.bytes.write().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn flush(&self) -> Result<(), ExportError> {
        std::thread::sleep(Duration::from_millis(50));
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    fn trim(&self, offset: u64, length: u64, fua: bool) -> Result<(), ExportError> {
        self.write_zeroes(offset, length, true, fua)
    }
    fn write_zeroes(&self, offset: u64, length: u64, _: bool, fua: bool) -> Result<(), ExportError> {
        self.write_at(offset, &vec![0; length as usize], fua)
    }
    fn block_status(&self, offset: u64, length: u64) -> Result<Vec<Extent>, ExportError> {
        let bytes = self.bytes.read().unwrap();
        let sectors = bytes[offset as usize..(offset + length) as usize].chunks(512);
        Ok(sectors
            .map(|sector| Extent { length_bytes: 512, is_allocated: sector.iter().any(|&byte| byte != 0) })
            .collect())
    }
}

struct One(Arc<Memory>);

impl Exports for One {
    fn names(&self) -> Vec<String> {
        vec![String::new(), "vol0".to_owned()]
    }
    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        if name.is_empty() || name == "vol0" { Some(self.0.clone()) } else { None }
    }
}

struct Served {
    path: PathBuf,
    memory: Arc<Memory>,
    server: Server,
    _directory: tempfile::TempDir,
}

fn serve() -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nbd");
    let memory =
        Arc::new(Memory { bytes: RwLock::new(vec![0; SIZE as usize]), flushes: AtomicUsize::new(0) });
    let listener = Listener::Unix(UnixListener::bind(&path).unwrap());
    let server = Server::start(listener, Arc::new(One(memory.clone())), None).unwrap();
    Served { path, memory, server, _directory: directory }
}

fn connect(path: &Path, is_structured: bool) -> Client {
    Client::connect(UnixStream::connect(path).unwrap(), "", is_structured, PATIENCE).unwrap()
}

fn errno(outcome: Result<nbd::Reply, ClientError>) -> u32 {
    match outcome {
        Err(ClientError::Errno { errno, .. }) => errno,
        other => panic!("an error was expected, and not {other:?}"),
    }
}

/// Proves every command with simple and with structured replies, and that what the protocol forbids is refused
/// with the error it names, on a connection that goes on.
#[test]
fn commands_are_answered() {
    for is_structured in [false, true] {
        let served = serve();
        let mut client = connect(&served.path, is_structured);
        assert_eq!(client.size_bytes(), SIZE);
        let block: Vec<u8> = (0..65536u32).map(|index| (index % 251) as u8).collect();
        client.write(4096, &block, true).unwrap();
        assert_eq!(client.read(4096, 65536).unwrap(), block);
        let large: Vec<u8> = (0..3 << 20).map(|index: u32| (index % 241) as u8).collect();
        client.write(1 << 20, &large, false).unwrap();
        assert_eq!(client.read(1 << 20, 3 << 20).unwrap(), large);
        client.flush().unwrap();
        assert_eq!(served.memory.flushes.load(Ordering::Relaxed), 1);
        client.call(Command::WriteZeroes, command_flag::NO_HOLE, 4096, 512, &[]).unwrap();
        client.call(Command::Trim, command_flag::FUA, 4608, 512, &[]).unwrap();
        client.call(Command::Cache, 0, 0, 1 << 20, &[]).unwrap();
        assert_eq!(client.read(4096, 1024).unwrap(), [0; 1024]);
        if is_structured {
            let reply = client.call(Command::BlockStatus, 0, 3584, 2560, &[]).unwrap();
            let holes: Vec<bool> = reply.extents.iter().map(|extent| extent.is_allocated).collect();
            assert_eq!(holes, [false, false, false, true, true]);
            let one = client.call(Command::BlockStatus, command_flag::REQ_ONE, 0, 4096, &[]).unwrap();
            assert_eq!(one.extents.len(), 1);
            client.call(Command::Read, command_flag::DF, 0, 4096, &[]).unwrap();
        } else {
            assert_eq!(errno(client.call(Command::BlockStatus, 0, 0, 512, &[])), 22);
            assert_eq!(errno(client.call(Command::Read, command_flag::DF, 0, 512, &[])), 22);
        }
        let invalid = Errno::Invalid as u32;
        for (command, flags, offset, length, expected) in [
            (Command::Read, 0, SIZE, 512, invalid),
            (Command::Read, 0, u64::MAX - 511, 512, invalid),
            (Command::Read, 0, 0, u32::MAX - 511, invalid),
            (Command::Read, 0, 0, u32::MAX, invalid),
            (Command::Read, 0, 1, 512, invalid),
            (Command::Read, 0, 0, 0, invalid),
            (Command::Read, 0, 0, (32 << 20) + 512, invalid),
            (Command::Read, 1 << 9, 0, 512, invalid),
            (Command::Trim, 0, SIZE - 512, 1024, Errno::NoSpace as u32),
            (Command::WriteZeroes, command_flag::FAST_ZERO, 0, 512, Errno::NotSupported as u32),
            (Command::Unknown(99), 0, 0, 0, invalid),
        ] {
            assert_eq!(
                errno(client.call(command, flags, offset, length, &[])),
                expected,
                "{command:?} {offset}"
            );
        }
        // The payload of a write that is refused is thrown away, and the next request understood.
        assert_eq!(errno(client.call(Command::Write, 0, SIZE, 512, &[1; 512])), Errno::NoSpace as u32);
        assert_eq!(errno(client.call(Command::Write, 0, 0, 40 << 20, &vec![1; 40 << 20])), invalid);
        assert_eq!(client.read(8192, 512).unwrap(), block[4096..4608]);
        client.disconnect().unwrap();
    }
}

/// Proves that a slow flush does not hold up reads behind it: replies come out of order.
#[test]
fn replies_come_out_of_order() {
    let served = serve();
    let mut client = connect(&served.path, true);
    let flush = client.submit(Command::Flush, 0, 0, 0, &[]).unwrap();
    let read = client.submit(Command::Read, 0, 0, 4096, &[]).unwrap();
    let order = [client.receive().unwrap().cookie, client.receive().unwrap().cookie];
    assert_eq!(order, [read, flush]);
}

/// Proves that what one connection was told is written, another reads, and its flush covers it; and that
/// hundreds of requests in flight on many connections all find their replies.
#[test]
fn many_connections_share_one_disk() {
    let served = serve();
    std::thread::scope(|scope| {
        for worker in 0..8u64 {
            let path = &served.path;
            scope.spawn(move || {
                let mut client = connect(path, worker % 2 == 0);
                let base = worker << 20;
                let mut expected = std::collections::BTreeMap::new();
                for index in 0..200u64 {
                    let bytes = vec![(worker * 31 + index) as u8; 4096];
                    let cookie = client.submit(Command::Write, 0, base + index * 4096, 4096, &bytes).unwrap();
                    expected.insert(cookie, bytes);
                }
                for _ in 0..200 {
                    let reply = client.receive().unwrap();
                    assert_eq!(reply.errno, 0);
                    assert!(expected.remove(&reply.cookie).is_some());
                }
                for index in 0..200u64 {
                    let cookie = client.submit(Command::Read, 0, base + index * 4096, 4096, &[]).unwrap();
                    expected.insert(cookie, vec![(worker * 31 + index) as u8; 4096]);
                }
                for _ in 0..200 {
                    let reply = client.receive().unwrap();
                    assert_eq!(Some(reply.data), expected.remove(&reply.cookie));
                }
            });
        }
    });
    let mut other = connect(&served.path, true);
    assert_eq!(other.read(3 << 20, 512).unwrap(), [93; 512]);
}

/// Proves that an export that panics costs one request: it is answered with an error and the connection goes on.
#[test]
fn a_panic_is_an_error_of_one_request() {
    let served = serve();
    let mut client = connect(&served.path, true);
    assert_eq!(errno(client.call(Command::Read, 0, TRAP, 512, &[])), Errno::Io as u32);
    client.read(0, 512).unwrap();
}

/// Proves that a stop answers what was received, ends every thread and hangs up on who is silent.
#[test]
fn a_stop_ends_everything() {
    let served = serve();
    let silent = UnixStream::connect(&served.path).unwrap();
    let mut client = connect(&served.path, false);
    client.read(0, 512).unwrap();
    let began = Instant::now();
    served.server.stop();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(client.read(0, 512).is_err());
    let mut rest = Vec::new();
    let _ = (&silent).read_to_end(&mut rest);
}

/// Proves that clients beyond the limit are hung up on while the others are served, among 1,000 that never
/// finish their handshake; and that there is room again when they leave.
#[test]
fn a_thousand_connections_are_the_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let served = serve();
    let mut client = connect(&served.path, true);
    let half_open: Vec<UnixStream> =
        (1..CONNECTIONS_LIMIT).map(|_| UnixStream::connect(&served.path).unwrap()).collect();
    for mut stream in &half_open {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
    }
    let mut one_more = UnixStream::connect(&served.path).unwrap();
    assert!(matches!(one_more.read(&mut [0; 18]), Ok(0) | Err(_)), "one client too many is served");
    client.write(0, &[1; 4096], false).unwrap();
    assert_eq!(client.read(0, 4096).unwrap(), [1; 4096]);
    drop(half_open);
    wait_until(Duration::from_secs(10), "the clients that left are counted no more", || {
        served.server.connections() <= 1
    });
    connect(&served.path, true).read(0, 512).unwrap();
}

/// Proves that clients that ask for much and take nothing hold no more than their share of memory, and harm
/// nobody else.
#[test]
fn slow_readers_are_bounded() {
    let served = serve();
    let mut hoarders = Vec::new();
    for _ in 0..20 {
        let mut client = connect(&served.path, false);
        for _ in 0..64 {
            client.submit(Command::Read, 0, 0, 4 << 20, &[]).unwrap();
        }
        hoarders.push(client);
    }
    let before = resident_bytes();
    let mut client = connect(&served.path, true);
    let began = Instant::now();
    for index in 0..100 {
        client.write(index * 512, &[index as u8; 512], false).unwrap();
        assert_eq!(client.read(index * 512, 512).unwrap(), [index as u8; 512]);
    }
    client.read(0, 1 << 20).unwrap();
    client.flush().unwrap();
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    // 20 clients have asked for 5 GiB.
    assert!(before.max(resident_bytes()) < 900 << 20, "{} MiB", resident_bytes() >> 20);
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Bytes of a hostile client: a handshake that is right, or nearly, and then anything.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let anything = proptest::collection::vec(any::<u8>(), 0..200);
    let options = proptest::collection::vec(
        (0u32..14, proptest::collection::vec(any::<u8>(), 0..40), any::<bool>()).prop_map(
            |(option, data, is_honest)| {
                let length_bytes = if is_honest { data.len() as u32 } else { u32::MAX };
                [&OptionHeader { option, length_bytes }.encode()[..], &data].concat()
            },
        ),
        0..6,
    );
    let requests = proptest::collection::vec(
        (any::<u16>(), 0u16..10, 0u64..20_000, any::<u32>(), any::<u8>()).prop_map(
            |(flags, command, block, length_bytes, shape)| {
                let request = Request {
                    flags: if shape & 1 == 0 { flags } else { flags & 1 },
                    command: Command::from_number(command),
                    cookie: 7,
                    offset_bytes: if shape & 2 == 0 { block * 512 } else { u64::from(length_bytes) << 32 },
                    length_bytes: if shape & 4 == 0 { (length_bytes % 64) * 512 } else { length_bytes },
                };
                let payload = if request.command == Command::Write && shape & 4 == 0 {
                    vec![0xee; request.length_bytes as usize]
                } else {
                    Vec::new()
                };
                [&request.encode()[..], &payload].concat()
            },
        ),
        0..12,
    );
    (any::<u8>(), options, requests, anything).prop_map(|(shape, options, requests, anything)| {
        let mut bytes = vec![0, 0, 0, if shape & 1 == 0 { 3 } else { 1 }];
        if shape & 2 == 0 {
            bytes.extend(options.concat());
        }
        if shape & 12 != 0 {
            bytes.extend(OPTION_MAGIC.to_be_bytes());
            bytes.extend(option::GO.to_be_bytes());
            bytes.extend(6u32.to_be_bytes());
            bytes.extend([0; 6]);
            bytes.extend(requests.concat());
        }
        bytes.extend(anything);
        bytes
    })
}

/// Proves that no bytes from a client end the server, or
/// keep another client from being served: 300 conversations, 10,000 with `ARRAYLAB_LONG=1`.
#[test]
fn hostile_conversations_harm_nobody() {
    let served = serve();
    let mut honest = connect(&served.path, true);
    let cases = if test_support::is_long() { 10_000 } else { 300 };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let mut round = 0u64;
    let honest = std::cell::RefCell::new(&mut honest);
    let rounds = std::cell::RefCell::new(&mut round);
    runner
        .run(&hostile_bytes(), |bytes| {
            let mut hostile = UnixStream::connect(&served.path).unwrap();
            hostile.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            hostile.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let _ = hostile.write_all(&bytes);
            let _ = hostile.shutdown(std::net::Shutdown::Write);
            let mut sink = Vec::new();
            let _ = hostile.take(1 << 20).read_to_end(&mut sink);
            let mut honest = honest.borrow_mut();
            let mut round = rounds.borrow_mut();
            **round += 1;
            let mark = vec![**round as u8; 512];
            honest.write(0, &mark, false).unwrap();
            prop_assert_eq!(honest.read(0, 512).unwrap(), mark);
            Ok(())
        })
        .unwrap();
}
