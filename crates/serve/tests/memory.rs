//! Memory of a server under many large requests: a server in a process of its own, whose memory is measured.

mod common;

use common::server_process::ServerProcess;
use common::{PATIENCE, array, directory, options};
use nbd::Client;
use nbd::decode::Command as Nbd;
use serve::serve_array;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const CHILD: &str = "ARRAYLAB_MEMORY_CHILD";
const CONNECTIONS: u64 = 64;
const REQUEST_BYTES: u32 = 1 << 20;
/// 512 MiB for the large requests of all connections and 1 MiB for each connection are stated; another for its thread,
/// its buffers and its queue.
const BUDGET_BYTES: u64 = (512 << 20) + CONNECTIONS * (2 << 20);
/// Two generations of 32 MiB, of which each worker may exceed the younger one by the record of a large write, and the
/// tables of their pages.
const OVERLAY_BYTES: u64 = 256 << 20;

/// Every connection sends its requests, waits until all have, and takes its replies; what is refused is refused for memory.
fn ask(socket: &Path, command: Nbd, requests: u64) {
    let all_sent = Barrier::new(CONNECTIONS as usize);
    std::thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let all_sent = &all_sent;
            scope.spawn(move || {
                let stream = UnixStream::connect(socket).unwrap();
                let mut client = Client::connect(stream, "", false, PATIENCE).unwrap();
                let payload =
                    vec![connection as u8; if command == Nbd::Write { REQUEST_BYTES as usize } else { 0 }];
                let places = client.size_bytes() / u64::from(REQUEST_BYTES);
                for request in 0..requests {
                    let offset = (connection * requests + request) % places * u64::from(REQUEST_BYTES);
                    client.submit(command, 0, offset, REQUEST_BYTES, &payload).unwrap();
                }
                all_sent.wait();
                std::thread::sleep(Duration::from_secs(1));
                for _ in 0..requests {
                    let errno = client.receive().unwrap().errno;
                    assert!([0, 12].contains(&errno), "error {errno}");
                }
            });
        }
    });
}

/// Proves that 64 connections with 256 requests of 1 MiB each under way (a tenth of them outside `make test-long`), of which
/// nobody takes a reply until all are sent, keep the server's memory within what is stated: reads, then writes.
#[test]
fn large_requests_stay_within_the_budget() {
    if let Some(path) = std::env::var_os(CHILD) {
        let array = array("raid-levels,raid=6,disks=6,capacity=64m");
        serve_array(array, &options(Path::new(&path)), &AtomicBool::new(false), &|_| ()).unwrap();
        return;
    }
    let requests = if test_support::is_long() { 256 } else { 26 };
    for (command, budget_bytes) in [(Nbd::Read, BUDGET_BYTES), (Nbd::Write, BUDGET_BYTES + OVERLAY_BYTES)] {
        let directory = directory();
        // What is given back goes back to the system: glibc would keep large buffers for the next ones.
        let server = ServerProcess::start(
            "large_requests_stay_within_the_budget",
            CHILD,
            directory.path(),
            &[("MALLOC_MMAP_THRESHOLD_", "131072")],
        );
        let before = server.peak_bytes();
        ask(&server.socket, command, requests);
        let after = server.peak_bytes();
        println!("{command:?}: peak memory {} MiB before, {} MiB after", before >> 20, after >> 20);
        assert!(after <= before + budget_bytes, "{command:?}: {} MiB, {} before", after >> 20, before >> 20);
    }
}
