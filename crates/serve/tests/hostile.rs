//! Clients that mean harm: a server in a process of its own, whose memory is measured, under all of them at once.

mod common;

use common::server_process::ServerProcess;
use common::{PATIENCE, array, directory, options};
use nbd::Client;
use nbd::decode::{Command as Nbd, Request};
use serve::serve_array;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const CHILD: &str = "ARRAYLAB_HOSTILE_CHILD";
/// 512 MiB for large requests of all clients, 1,000 times 1 MiB and what a connection costs would be the limit;
/// these clients get nowhere near it.
const MEMORY_LIMIT_BYTES: u64 = 900 << 20;
/// Time that an honest client waits at most for one request meanwhile, on a machine that does other things as well.
const HONEST_LIMIT: Duration = Duration::from_secs(8);

fn shaken_hands(socket: &Path) -> (UnixStream, Client) {
    let stream = UnixStream::connect(socket).unwrap();
    let raw = stream.try_clone().unwrap();
    (raw, Client::connect(stream, "", false, PATIENCE).unwrap())
}

/// Proves that 1,000 connections at once, of which 600 say nothing, 200 stop in their handshake, 100 announce 32 MiB
/// and send one byte, 40 ask for 160 MiB each and take nothing, and the others ask for lengths of 4 GiB and offsets
/// past the end, leave an honest client's bytes right and its requests answered in time, and the server's memory
/// bounded; and that clients that stop are hung up on.
#[test]
fn a_thousand_hostile_clients_harm_nobody() {
    if let Some(path) = std::env::var_os(CHILD) {
        let array = array("raid-levels,raid=6,disks=6,capacity=16m");
        serve_array(array, &options(Path::new(&path)), &AtomicBool::new(false), &|_| ()).unwrap();
        return;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let directory = directory();
    let server = ServerProcess::start("a_thousand_hostile_clients_harm_nobody", CHILD, directory.path(), &[]);
    let (_, mut honest) = shaken_hands(&server.socket);
    let size = honest.size_bytes();
    let before = server.peak_bytes();

    let write = |offset_bytes, length_bytes| Request {
        flags: 0,
        command: Nbd::Write,
        cookie: 1,
        offset_bytes,
        length_bytes,
    };
    let mut hoarders = Vec::new();
    for _ in 0..40 {
        let (raw, mut client) = shaken_hands(&server.socket);
        for _ in 0..5 {
            client.submit(Nbd::Read, 0, 0, 32 << 20, &[]).unwrap();
        }
        hoarders.push((raw, client));
    }
    let mut stalled = Vec::new();
    for _ in 0..100 {
        let (mut raw, client) = shaken_hands(&server.socket);
        raw.write_all(&[&write(0, 32 << 20).encode()[..], &[0xee]].concat()).unwrap();
        stalled.push((raw, client));
    }
    let mut absurd = Vec::new();
    for index in 0..59u64 {
        let (raw, mut client) = shaken_hands(&server.socket);
        for (command, offset, length) in [
            (Nbd::Read, 0, u32::MAX),
            (Nbd::Read, 0, u32::MAX - 511),
            (Nbd::Read, size, 512),
            (Nbd::Read, u64::MAX - 511, 512),
            (Nbd::Trim, size - 512, 1 << 31),
            (Nbd::WriteZeroes, 1 << 63, u32::MAX - 511),
            (Nbd::Cache, size - 512, u32::MAX - 511),
            (Nbd::BlockStatus, 0, u32::MAX - 511),
        ] {
            let cookie = client.submit(command, 0, offset, length, &[]).unwrap();
            let reply = client.receive().unwrap();
            assert_eq!(reply.cookie, cookie);
            assert!([22, 28].contains(&reply.errno), "client {index}: {command:?} gave {}", reply.errno);
        }
        absurd.push((raw, client));
    }
    let half_open: Vec<UnixStream> = (0..200)
        .map(|_| {
            let mut stream = UnixStream::connect(&server.socket).unwrap();
            stream.write_all(&[0, 0, 0, 3, b'I', b'H', b'A']).unwrap();
            stream
        })
        .collect();
    let silent: Vec<UnixStream> = (0..600).map(|_| UnixStream::connect(&server.socket).unwrap()).collect();

    let mut slowest = Duration::ZERO;
    for index in 0..400u64 {
        let bytes = vec![(index % 251) as u8 + 1; 4096];
        let began = Instant::now();
        honest.write(index * 4096, &bytes, index % 50 == 0).unwrap();
        assert!(honest.read(index * 4096, 4096).unwrap() == bytes, "block {index}");
        slowest = slowest.max(began.elapsed());
    }
    for index in 0..400u64 {
        assert!(
            honest.read(index * 4096, 4096).unwrap() == vec![(index % 251) as u8 + 1; 4096],
            "block {index}"
        );
    }
    let after = server.peak_bytes();
    println!(
        "peak memory {} MiB before, {} MiB under 1,000 hostile clients; an honest write and read took {slowest:?} at most",
        before >> 20,
        after >> 20
    );
    assert!(after < MEMORY_LIMIT_BYTES, "{} MiB", after >> 20);
    assert!(slowest < HONEST_LIMIT, "{slowest:?}");
    // A handshake may take 10 s; whoever has not finished is hung up on.
    for mut stream in silent.iter().chain(&half_open).take(50) {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = stream.read_to_end(&mut rest);
    }
    drop((hoarders, stalled, absurd, silent, half_open));
    let began = Instant::now();
    while shaken_hands(&server.socket).1.read(0, 512).is_err() {
        assert!(began.elapsed() < PATIENCE, "nobody gets in any more");
    }
}
