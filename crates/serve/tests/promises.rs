//! Promises beside reads and writes: flushes across connections, volumes apart, a scrub that says
//! where, preservation capacity, and a condition that outlives the server.

mod common;

use common::verified::{Verified, under_load};
use common::{PATIENCE, Served, array, count, directory, is_clean, is_whole, options, serve};
use nbd::Client;
use nbd::decode::{Command as Nbd, OptionHeader, ReplyHeader, Request};
use nbd::protocol::option;
use serde_json::{Value, json};
use serve::{Outcome, ServedArray, serve_array};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use test_support::wait_until;

fn raid6() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=4m")
}

/// Proves that whoever comes to the control socket is answered at once, and not when somebody looks again: thirty that come
/// one after the other wait less than a look every 20 ms would take each of them.
#[test]
fn control_answers_at_once() {
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    served.ctl("ready");
    let mean_ms = || {
        let began = Instant::now();
        for _ in 0..30 {
            served.ctl("ready");
        }
        began.elapsed().as_secs_f64() * 1e3 / 30.0
    };
    // A busy machine may keep a round back; looks every 20 ms would keep back each.
    let seen: Vec<f64> = (0..5).map(|_| mean_ms()).take_while(|mean_ms| *mean_ms >= 8.0).collect();
    assert!(seen.len() < 5, "{seen:?} ms each");
}

/// Proves the promise of CAN_MULTI_CONN: after a flush on one connection nothing that was answered on the others is lost
/// in a power cut, and what one writes the others read at once: 10 power cuts, 100 with `ARRAYLAB_LONG=1`.
#[test]
fn a_flush_covers_every_connection() {
    const WRITERS: u64 = 4;
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    for round in 0..count(100) {
        let mut writers: Vec<Client> = (0..WRITERS).map(|_| served.client()).collect();
        let mut other = served.client();
        let block = |writer: u64| vec![((round * WRITERS + writer) % 251) as u8 + 1; 4096];
        for (index, writer) in writers.iter_mut().enumerate() {
            let index = index as u64;
            writer.write((index * 7 + round % 5) << 12, &block(index), false).unwrap();
            let seen = other.read((index * 7 + round % 5) << 12, 4096).unwrap();
            assert!(seen == block(index), "another connection does not see a write");
        }
        other.flush().unwrap();
        served.ctl(&format!("power-cut {round}"));
        let mut client = served.client();
        for index in 0..WRITERS {
            let kept = client.read((index * 7 + round % 5) << 12, 4096).unwrap();
            assert!(
                kept == block(index),
                "round {round}: what connection {index} wrote was flushed and is gone"
            );
        }
    }
}

/// Writes until the connection breaks, with up to 32 requests under way.
fn write_until_cut_off(mut client: Client, blocks: u64) {
    for index in 0.. {
        let written = client.submit(Nbd::Write, 0, (index * 7 % blocks) << 12, 4096, &[0xee; 4096]);
        if written.is_err() || (index >= 32 && client.receive().is_err()) {
            return;
        }
    }
}

/// Writes a block as soon as the array takes it.
fn write_when_possible(served: &Served, client: &mut Option<Client>, block: u64, bytes: &[u8]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Who comes while clients are hung up on is hung up on as well.
        let connect = || {
            let stream = UnixStream::connect(&served.socket).ok()?;
            Client::connect(stream, "", true, PATIENCE).ok()
        };
        *client = client.take().or_else(connect);
        if client.as_mut().is_some_and(|client| client.write(block << 12, bytes, false).is_ok()) {
            return;
        }
        assert!(Instant::now() < deadline, "the array does not come back");
        *client = None;
    }
}

/// Proves that of what a client had sent when the power was cut nothing is carried out after it, where it would take the
/// place of what others write as soon as they may: 30 cuts.
#[test]
fn nothing_sent_before_a_power_cut_comes_after_it() {
    const BLOCKS: u64 = 60;
    let directory = directory();
    let served = serve(&raid6(), directory.path());
    for round in 0..30u64 {
        let block = vec![round as u8; 4096];
        let (early, mut late) = (served.client(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(3));
                served.ctl(&format!("power-cut {round}"));
            });
            write_until_cut_off(early, BLOCKS);
            (0..BLOCKS).for_each(|number| write_when_possible(&served, &mut late, number, &block));
        });
        let mut late = served.client();
        for number in 0..BLOCKS {
            assert!(
                late.read(number << 12, 4096).unwrap() == block,
                "round {round}: block {number} is older"
            );
        }
    }
}

/// Proves that volumes lie one behind the other on the array, each under its own name, and that no request reaches
/// from one into the next; also by the oldest handshake, `EXPORT_NAME`, with its zeros and without.
#[test]
fn volumes_lie_apart() {
    let directory = directory();
    let array = array("e2700,layout=raid10,capacity=16m");
    let served = serve(&array, directory.path());
    let end = array.volumes_bytes[0];
    let [mut whole, mut first, mut second] = ["", "vol0", "vol1"].map(|name| served.client_of(name));
    first.write(end - 4096, &[1; 4096], false).unwrap();
    second.write(0, &[2; 4096], false).unwrap();
    assert_eq!(whole.read(end - 4096, 8192).unwrap(), [[1; 4096], [2; 4096]].concat());
    first.submit(Nbd::Write, 0, end - 4096, 8192, &[3; 8192]).unwrap();
    assert_eq!(first.receive().unwrap().errno, 28);
    assert_eq!(whole.read(end - 4096, 8192).unwrap(), [[1; 4096], [2; 4096]].concat());

    for (flags, zeros) in [(1u32, 124), (3, 0)] {
        let mut stream = UnixStream::connect(&served.socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(&flags.to_be_bytes()).unwrap();
        let header = OptionHeader { option: option::EXPORT_NAME, length_bytes: 4 }.encode();
        stream.write_all(&[&header[..], b"vol1"].concat()).unwrap();
        let mut answer = vec![0; 10 + zeros];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..8], array.volumes_bytes[1].to_be_bytes());
        assert!(answer[10..].iter().all(|&byte| byte == 0));
        let read = Request { flags: 0, command: Nbd::Read, cookie: 77, offset_bytes: 0, length_bytes: 512 };
        stream.write_all(&read.encode()).unwrap();
        let mut reply = [0; 16 + 512];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(ReplyHeader::decode(&reply[..16]), Ok(ReplyHeader::Simple { error: 0, cookie: 77 }));
        assert_eq!(reply[16..], [2; 512]);
    }
    let mut stream = UnixStream::connect(&served.socket).unwrap();
    let header = OptionHeader { option: option::EXPORT_NAME, length_bytes: 4 }.encode();
    stream.write_all(&[&3u32.to_be_bytes()[..], &header, b"vol9"].concat()).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 18, "an export that is not there is answered");
}

/// Proves that a scrub says where it could not repair, and repairs what is beside it; that what is beyond the redundancy
/// is an error to whoever reads it, never wrong bytes, while every other sector is right; and that `CACHE` reads: it
/// puts a bad sector right.
#[test]
fn a_scrub_says_where_it_could_not_repair() {
    let directory = directory();
    let array = array("flashsystem-840,capacity=16m");
    let served = serve(&array, directory.path());
    let mut client = served.client();
    let content: Vec<u8> =
        (0..1u32 << 18).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    client.write(0, &content, true).unwrap();
    served.ctl("checkpoint");
    let layout = &array.spec.layout;
    let corrupt = |member: u32, row: u64| {
        let place = layout.place(0, member);
        served.ctl(&format!("corrupt {} {} 1", place.drive, place.offset_bytes + row));
        json!({"drive": place.drive, "offset_bytes": place.offset_bytes + row})
    };
    corrupt(0, 4096);
    client.call(Nbd::Cache, 0, 0, 8192, &[]).unwrap();
    assert_eq!(served.ctl("status")["volume"]["repaired_sectors"], 1);
    // Two of a row are one more than RAID 5 bears; the third, elsewhere, can be repaired.
    let mut lost = [corrupt(0, 512), corrupt(2, 512)];
    corrupt(1, 1024);
    lost.sort_by_key(|place| place["drive"].as_u64());
    let report = served.scrub();
    assert_eq!(
        (&report["unrepairable_sectors"], &report["repaired_sectors"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    let mut listed = report["unrepairable"].as_array().unwrap().clone();
    listed.sort_by_key(|place| place["drive"].as_u64());
    assert_eq!(listed, lost, "{report}");
    let segment = u64::from(layout.segment_bytes());
    for sector in 0..content.len() as u64 / 512 {
        let offset = sector * 512;
        client.submit(Nbd::Read, 0, offset, 512, &[]).unwrap();
        let reply = client.receive().unwrap();
        let is_lost = offset == 512 || offset == 2 * segment + 512;
        assert_eq!(reply.errno, if is_lost { 5 } else { 0 }, "at {offset}: {}", reply.words);
        assert!(is_lost || reply.data == content[offset as usize..][..512], "at {offset}");
    }
}

/// Proves that pools and replicas give redundancy back by themselves, into preservation capacity and under verified load:
/// then, and after a restart that keeps the condition, as many further drives may fail as if none had, with no byte wrong.
#[test]
fn preservation_capacity_is_used_while_serving() {
    for name in ["e2700,layout=ddp,capacity=16m", "storpool,capacity=16m"] {
        let directory = directory();
        let array = array(name);
        let served = serve(&array, directory.path());
        let mut load = Verified::new(23);
        under_load(&served, &mut load, name, || {
            served.ctl("fail 0");
            let status = served.wait_until("moved", |status| {
                let rehoming = &status["background"]["rehoming"];
                rehoming["moved_pieces"].as_u64() > Some(0) && rehoming["waiting_pieces"] == 0
            });
            assert_eq!(status["background"]["rehoming"]["homeless_pieces"], 0, "{name}: {status}");
        });
        served.stop();
        let served = serve(&array, directory.path());
        assert_eq!(served.ctl("status")["volume"]["drives"][0]["condition"], "failed", "{name}");
        under_load(&served, &mut load, name, || {
            // Of copies, the others are on other nodes.
            served.ctl("pull 5");
            served.ctl("fail 10");
        });
        is_clean(&served, name);
    }
}

/// Proves that a failed drive is failed and a rebuild goes on where it was after a stop and a start, with every byte.
#[test]
fn the_condition_outlives_the_server() {
    let directory = directory();
    let array = ServedArray { spares: 0, ..raid6() };
    let mut load = Verified::new(29);
    let condition =
        |served: &Served, drive: usize| served.ctl("status")["volume"]["drives"][drive]["condition"].clone();
    let served = serve(&array, directory.path());
    load.write(&mut served.client(), 500);
    served.ctl("fail 1");
    served.ctl("pull 4");
    served.stop();
    let served = serve(&array, directory.path());
    assert_eq!([condition(&served, 1), condition(&served, 4)], ["failed", "pulled"].map(Value::from));
    load.check(&mut served.client(), false, "degraded, after a start");
    load.write(&mut served.client(), 500);
    served.ctl("replace 1");
    served.stop();
    let served = serve(&array, directory.path());
    assert_ne!(condition(&served, 1), "failed");
    served.ctl("replace 4");
    served.wait_until("whole", is_whole);
    load.check(&mut served.client(), false, "rebuilt");
    is_clean(&served, "rebuilt");
}

/// Proves that a command of `--run` that a signal ends gives 128 and the signal's number, as a shell does, and that one
/// that goes on is ended when the server is told to stop.
#[test]
fn commands_end_with_the_server() {
    let directory = directory();
    let run = |command: &str, stop: &AtomicBool| {
        let options = serve::Options { command: Some(command.to_owned()), ..options(directory.path()) };
        serve_array(raid6(), &options, stop, &|_| ()).unwrap().outcome
    };
    assert_eq!(run("kill -9 $$", &AtomicBool::new(false)), Outcome::CommandEnded(137));
    let stop = AtomicBool::new(false);
    let marks = tempfile::tempdir().unwrap();
    let started = marks.path().join("started");
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until(PATIENCE, "the command has started", || started.exists());
            stop.store(true, Ordering::Release);
        });
        let command = format!("touch {}; exec sleep 600", started.display());
        assert_eq!(run(&command, &stop), Outcome::Stopped);
    });
    assert!(began.elapsed() < PATIENCE);
}
