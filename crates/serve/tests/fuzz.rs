//! Fuzzed NBD conversations with a served array, against a model of what each byte must be.

mod common;

use common::{PATIENCE, Random, array, directory, serve};
use nbd::decode::{Command, OPTION_REPLY_HEADER_BYTES, OptionHeader, OptionReplyHeader, Request};
use nbd::protocol::{INIT_PASSWORD, OPTION_MAGIC, command_flag as flag};
use nbd::{Client, Errno};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use test_support::wait_until;

/// Messages of the long run, and of the normal one.
const LONG_MESSAGES: u64 = 10_000_000;
const MESSAGES: u64 = 100_000;
/// Each has a part of the array for itself, and shares stripes at its borders with others.
const CLIENTS: u64 = 4;
const SECTOR: u64 = 512;
/// Replies and payloads under way, so that neither side waits for the other to take what it sends.
const UNDER_WAY_BYTES: u64 = 64 << 10;
const UNDER_WAY: usize = 32;

/// Answer that a request must get.
enum Expected {
    Data(Vec<u8>),
    Done,
    Errno(u32),
    /// Extents that cover no more than asked, none of them a hole over bytes that are not zero.
    Extents,
}

struct Fuzzer<'a> {
    socket: &'a Path,
    random: Random,
    size_bytes: u64,
    stripe_bytes: u64,
    start: u64,
    /// Bytes that the part from `start` must hold.
    model: Vec<u8>,
    messages: u64,
}

impl Fuzzer<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Conversations until `messages` are sent.
    fn run(&mut self, messages: u64) {
        while self.messages < messages {
            match self.below(4) {
                0 => self.shake_hands(),
                _ => self.transmit(2000.min(messages - self.messages)),
            }
        }
    }

    /// Options changed at random. Whatever comes back must be whole replies or the end.
    fn shake_hands(&mut self) {
        let mut stream = UnixStream::connect(self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut sent = (self.below(4) as u32).to_be_bytes().to_vec();
        for _ in 0..1 + self.below(8) {
            self.messages += 1;
            let option = if self.below(4) == 0 { self.random.0 as u32 } else { self.below(12) as u32 };
            let mut data: Vec<u8> = match self.below(4) {
                0 => Vec::new(),
                1 => [&4u32.to_be_bytes()[..], b"vol0", &1u16.to_be_bytes(), &3u16.to_be_bytes()].concat(),
                2 => [&[0; 4][..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat(),
                _ => (0..self.below(40)).map(|_| self.below(256) as u8).collect(),
            };
            if !data.is_empty() && self.below(3) == 0 {
                let at = self.below(data.len() as u64) as usize;
                data[at] = self.below(256) as u8;
            }
            let lies = self.below(20) == 0;
            let length_bytes = if lies { self.random.0 as u32 } else { data.len() as u32 };
            let mut header = OptionHeader { option, length_bytes }.encode();
            if self.below(40) == 0 {
                header[self.below(16) as usize] ^= 1 << self.below(8);
            }
            sent.extend(header);
            sent.extend(data);
        }
        // The server may have hung up already.
        let _ = stream.write_all(&sent);
        let _ = stream.shutdown(Shutdown::Write);
        let mut replies = Vec::new();
        // What a conversation says is bounded; so is this.
        match stream.take(1 << 20).read_to_end(&mut replies) {
            Ok(_) => {}
            // Hung up on with options unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("the server does not end what is no conversation: {error}"),
        }
        let mut rest = replies.strip_prefix(&INIT_PASSWORD.to_be_bytes()[..]).expect("a greeting");
        rest = rest.strip_prefix(&OPTION_MAGIC.to_be_bytes()[..]).expect("a greeting").split_at(2).1;
        while let Some(header) = rest.first_chunk::<OPTION_REPLY_HEADER_BYTES>() {
            // `EXPORT_NAME` and `GO` may have led on to transmission, whose replies are others.
            let Ok(header) = OptionReplyHeader::decode(header) else { return };
            let after = OPTION_REPLY_HEADER_BYTES + header.length_bytes as usize;
            rest = rest.get(after..).expect("a reply to an option is whole");
        }
    }

    /// Requests, most of them changed in some way, each answered as the model says.
    fn transmit(&mut self, count: u64) {
        let stream = UnixStream::connect(self.socket).unwrap();
        let raw = stream.try_clone().unwrap();
        let is_structured = self.below(4) != 0;
        let mut client = Client::connect(stream, "", is_structured, PATIENCE).unwrap();
        let mut under_way: BTreeMap<u64, (Request, Expected)> = BTreeMap::new();
        let mut bytes_under_way = 0;
        for _ in 0..count {
            self.messages += 1;
            let request = self.request();
            if request.command == Command::Disconnect {
                // Not answered; what comes behind it is not read.
                break;
            }
            let moved = match request.command {
                Command::Read | Command::Write => u64::from(request.length_bytes.min(1 << 20)),
                _ => 0,
            };
            let collides = under_way.values().any(|(other, _)| overlap(other, &request));
            if collides
                || under_way.len() >= UNDER_WAY
                || bytes_under_way + moved > UNDER_WAY_BYTES
                || request.command == Command::Flush
            {
                self.take_replies(&mut client, &mut under_way);
                bytes_under_way = 0;
            }
            // What is announced is sent, unless it is too much; then the server is left waiting for it.
            if request.command == Command::Write && u64::from(request.length_bytes) > 1 << 20 {
                self.take_replies(&mut client, &mut under_way);
                let _ = (&raw).write_all(&[&request.encode()[..], &[0xdd; 5000]].concat());
                break;
            }
            let payload: Vec<u8> = if request.command == Command::Write {
                let first = self.below(256) as u8;
                (0..request.length_bytes).map(|at| first.wrapping_add((at / 97) as u8)).collect()
            } else {
                Vec::new()
            };
            if request.command == Command::Write && self.below(500) == 0 {
                // Cut off in the middle: nothing of it may be written.
                self.take_replies(&mut client, &mut under_way);
                let half = &payload[..payload.len() / 2];
                let _ = (&raw).write_all(&[&request.encode()[..], half].concat());
                let _ = raw.shutdown(Shutdown::Both);
                return;
            }
            if self.below(2000) == 0 {
                self.take_replies(&mut client, &mut under_way);
                let mut noise = request.encode();
                noise[self.below(4) as usize] ^= 1 << self.below(8);
                let _ = (&raw).write_all(&noise);
                let end = (&raw).read(&mut [0; 1]);
                assert!(matches!(end, Ok(0) | Err(_)), "a request with the wrong magic is answered");
                return;
            }
            let expected = self.expect(&request, &payload, is_structured);
            bytes_under_way += moved;
            let cookie = client
                .submit(request.command, request.flags, request.offset_bytes, request.length_bytes, &payload)
                .unwrap();
            under_way.insert(cookie, (request, expected));
        }
        self.take_replies(&mut client, &mut under_way);
    }

    fn take_replies(&self, client: &mut Client, under_way: &mut BTreeMap<u64, (Request, Expected)>) {
        while !under_way.is_empty() {
            let reply = client.receive().unwrap();
            let (request, expected) = under_way.remove(&reply.cookie).expect("a request of ours");
            match expected {
                Expected::Errno(errno) => assert_eq!(reply.errno, errno, "{request:?}: {}", reply.words),
                _ => assert_eq!(reply.errno, 0, "{request:?}: {}", reply.words),
            }
            match expected {
                Expected::Data(data) => assert!(reply.data == data, "{request:?}: a byte is out of place"),
                Expected::Extents => self.check_extents(&request, &reply.extents),
                Expected::Done | Expected::Errno(_) => assert!(reply.data.is_empty(), "{request:?}"),
            }
        }
    }

    fn check_extents(&self, request: &Request, extents: &[nbd::Extent]) {
        let mut at = request.offset_bytes;
        assert!(!extents.is_empty(), "{request:?}");
        for extent in extents {
            let end = at + extent.length_bytes;
            assert!(end <= request.offset_bytes + u64::from(request.length_bytes), "{request:?}");
            let is_zero = self.model[(at - self.start) as usize..(end - self.start) as usize]
                .iter()
                .all(|&byte| byte == 0);
            assert!(extent.is_allocated || is_zero, "{request:?}: a hole over data");
            at = end;
        }
    }

    /// A request that makes sense in this client's part, changed in one of three cases.
    fn request(&mut self) -> Request {
        let sectors = self.model.len() as u64 / SECTOR;
        let length = match self.below(20) {
            0 => 64,
            1..=4 => 16,
            _ => 1 + self.below(8),
        };
        let offset = self.start + self.below(sectors - length) * SECTOR;
        let command = match self.below(400) {
            0 => Command::Flush,
            1 => Command::Trim,
            2..=40 => Command::WriteZeroes,
            41..=80 => Command::BlockStatus,
            81..=90 => Command::Cache,
            91..=240 => Command::Read,
            _ => Command::Write,
        };
        let mut request = Request {
            flags: if self.below(200) == 0 { flag::FUA } else { 0 },
            command,
            cookie: 0,
            offset_bytes: offset,
            length_bytes: (length * SECTOR) as u32,
        };
        if self.below(3) > 0 {
            return request;
        }
        for _ in 0..=self.below(2) {
            match self.below(8) {
                0 => request.flags = 1 << self.below(16),
                1 => request.flags = self.below(1 << 16) as u16,
                2 => request.command = Command::from_number(self.below(12) as u16),
                3 => request.command = Command::from_number(self.below(1 << 16) as u16),
                4 => request.offset_bytes ^= 1 << self.below(64),
                5 => {
                    request.offset_bytes =
                        [self.size_bytes, u64::MAX, u64::MAX - 511, 1 << 63, self.size_bytes - 512]
                            [self.below(5) as usize];
                }
                6 => request.length_bytes ^= 1 << self.below(32),
                _ => {
                    request.length_bytes =
                        [0, u32::MAX, u32::MAX - 511, 1 << 31, (32 << 20) + 512, 1][self.below(6) as usize];
                }
            }
        }
        // What would change or show another client's part is brought back to this one's.
        let end = request.offset_bytes.saturating_add(u64::from(request.length_bytes));
        let own = self.start..=self.start + self.model.len() as u64;
        if end <= self.size_bytes && !(own.contains(&request.offset_bytes) && own.contains(&end)) {
            request.offset_bytes = self.start;
            request.length_bytes = request.length_bytes.min(self.model.len() as u32);
        }
        request
    }

    /// Returns what the protocol and docs/served-arrays.md say of a request; changes the model accordingly.
    fn expect(&mut self, request: &Request, payload: &[u8], is_structured: bool) -> Expected {
        let invalid = Expected::Errno(Errno::Invalid as u32);
        let allowed = flag::FUA
            | match request.command {
                Command::WriteZeroes => flag::NO_HOLE | flag::FAST_ZERO,
                Command::BlockStatus => flag::REQ_ONE,
                Command::Read if is_structured => flag::DF,
                _ => 0,
            };
        if request.flags & !allowed != 0 {
            return invalid;
        }
        let (offset, length) = (request.offset_bytes, u64::from(request.length_bytes));
        let (moves, changes) = match request.command {
            Command::Flush => return Expected::Done,
            Command::Unknown(_) | Command::Disconnect => return invalid,
            Command::BlockStatus if !is_structured => return invalid,
            Command::BlockStatus | Command::Cache => (false, false),
            Command::Read => (true, false),
            Command::Write => (true, true),
            Command::Trim | Command::WriteZeroes => (false, true),
        };
        let is_aligned = offset % SECTOR == 0 && length % SECTOR == 0 && length > 0;
        if !is_aligned || (moves && length > 32 << 20) {
            return invalid;
        }
        if offset.checked_add(length).is_none_or(|end| end > self.size_bytes) {
            return if changes { Expected::Errno(Errno::NoSpace as u32) } else { invalid };
        }
        if request.flags & flag::FAST_ZERO != 0 {
            return Expected::Errno(Errno::NotSupported as u32);
        }
        let range = (offset - self.start) as usize..(offset - self.start + length) as usize;
        match request.command {
            Command::Read => return Expected::Data(self.model[range].to_vec()),
            Command::BlockStatus => return Expected::Extents,
            Command::Write => self.model[range].copy_from_slice(payload),
            Command::WriteZeroes => self.model[range].fill(0),
            Command::Trim => {
                // Whole stripes; the rest stays as it is.
                let first = offset.div_ceil(self.stripe_bytes) * self.stripe_bytes;
                let end = (offset + length) / self.stripe_bytes * self.stripe_bytes;
                if first < end {
                    self.model[(first - self.start) as usize..(end - self.start) as usize].fill(0);
                }
            }
            _ => {}
        }
        Expected::Done
    }
}

/// Returns whether two requests touch the same bytes, at least one changing them, so that their order would matter.
fn overlap(one: &Request, other: &Request) -> bool {
    let changes =
        |request: &Request| matches!(request.command, Command::Write | Command::WriteZeroes | Command::Trim);
    let end = |request: &Request| request.offset_bytes.saturating_add(u64::from(request.length_bytes));
    (changes(one) || changes(other)) && one.offset_bytes < end(other) && other.offset_bytes < end(one)
}

/// Proves that no message from a client ends the server, gets a wrong answer, or puts a byte out of place, be it a
/// request cut off in its payload or one whose length or offset is absurd: 100,000 messages of four clients at
/// once, ten million with `ARRAYLAB_LONG=1`, each answer checked, and at the end every byte and all parity.
#[test]
fn fuzzed_messages_put_no_byte_out_of_place() {
    // A panic of one of the server's threads ends neither the server nor this test.
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        print(panic);
    }));
    let messages = if test_support::is_long() { LONG_MESSAGES } else { MESSAGES };
    let directory = directory();
    let array = array("raid-levels,raid=6,disks=6,capacity=4m");
    let served = serve(&array, directory.path());
    let size_bytes = served.client().size_bytes();
    let part = (size_bytes / CLIENTS / SECTOR - 7) * SECTOR;
    let stripe_bytes = array.spec.layout.stripe_bytes();
    assert_ne!(part % stripe_bytes, 0, "clients share stripes");
    let (done, began) = (AtomicU64::new(0), Instant::now());
    let models: Vec<(u64, Vec<u8>)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (socket, done) = (&served.socket, &done);
                scope.spawn(move || {
                    let mut fuzzer = Fuzzer {
                        socket,
                        random: Random(0x5eed + client),
                        size_bytes,
                        stripe_bytes,
                        start: client * part,
                        model: vec![0; part as usize],
                        messages: 0,
                    };
                    fuzzer.run(messages / CLIENTS);
                    done.fetch_add(fuzzer.messages, Ordering::Relaxed);
                    (fuzzer.start, fuzzer.model)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    println!("{} messages in {:?}", done.load(Ordering::Relaxed), began.elapsed());
    let mut client = served.client();
    for (start, model) in models {
        for (index, expected) in model.chunks(64 << 10).enumerate() {
            let offset = start + (index as u64) * (64 << 10);
            assert!(client.read(offset, expected.len() as u32).unwrap() == expected, "at {offset}");
        }
    }
    let report = served.scrub();
    for key in ["repaired_sectors", "unrepairable_sectors", "parity_rewritten_stripes"] {
        assert_eq!(report[key], 0, "{report}");
    }
    drop(client);
    wait_until(PATIENCE, "a client that left is counted no more", || {
        served.ctl("status")["connections"] == 0
    });
    assert_eq!(served.client().size_bytes(), size_bytes);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a thread has panicked");
}
