//! Both front ends of a served array held against one model of its bytes: an NBD client on a socket, and the desk with the
//! descriptors that the kernel would give.

use super::request::{Request, SECTOR_BYTES, flag, operation};
use super::request_pool::RequestPool;
use crate::array::ServedArray;
use crate::exports::ArrayExports;
use crate::live::LiveArray;
use crate::power::PowerCutStore;
use crate::run::start_pacer;
use load::Random;
use nbd::decode::Command as Nbd;
use nbd::protocol::command_flag;
use nbd::{Client, ClientError, Errno, Exports as _, Listener, Server};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use volume::Directory;

const PATIENCE: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 512 << 10;
/// Offset of the range that the model follows: no stripe begins there.
const START_BYTES: u64 = 3 * SECTOR_BYTES;
const MODEL_BYTES: u64 = 2 << 20;
const OPERATIONS: u32 = 400;
/// Number of rounds, as a busy machine may spoil what is measured in real time.
const ROUNDS: usize = 5;

/// A way to the array. Errors are the numbers that the client's program would see.
trait FrontEnd {
    fn read(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>, i32>;
    fn write(&mut self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), i32>;
    fn flush(&mut self) -> Result<(), i32>;
    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), i32>;
    fn write_zeroes(&mut self, offset_bytes: u64, length_bytes: u64, may_punch: bool) -> Result<(), i32>;
}

impl FrontEnd for Client {
    fn read(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>, i32> {
        Client::read(self, offset_bytes, length_bytes as u32).map_err(errno)
    }
    fn write(&mut self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), i32> {
        Client::write(self, offset_bytes, bytes, fua).map_err(errno)
    }
    fn flush(&mut self) -> Result<(), i32> {
        Client::flush(self).map_err(errno)
    }
    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), i32> {
        self.call(Nbd::Trim, 0, offset_bytes, length_bytes as u32, &[]).map(drop).map_err(errno)
    }
    fn write_zeroes(&mut self, offset_bytes: u64, length_bytes: u64, may_punch: bool) -> Result<(), i32> {
        let flags = if may_punch { 0 } else { command_flag::NO_HOLE };
        self.call(Nbd::WriteZeroes, flags, offset_bytes, length_bytes as u32, &[]).map(drop).map_err(errno)
    }
}

fn errno(error: ClientError) -> i32 {
    match error {
        ClientError::Errno { errno, .. } => errno as i32,
        other => panic!("an errno was expected, and not {other}"),
    }
}

/// The kernel's side of the desk: one request at a time.
struct Kernel {
    request_pool: RequestPool,
}

impl Kernel {
    /// Returns what the driver would be told of a descriptor, with the buffer as it is then.
    fn ask(&self, op_flags: u32, start_sector: u64, sectors: u32, bytes: &[u8]) -> Result<Vec<u8>, i32> {
        let request = Request::decode(op_flags, start_sector, sectors, BUFFER_BYTES)
            .map_err(|error| error.errno as i32)?;
        let mut payload = vec![0xee; request.payload_bytes()];
        let given = bytes.len().min(payload.len());
        payload[..given].copy_from_slice(&bytes[..given]);
        let (answer, answered) = channel();
        let answer = Box::new(move |payload, result| answer.send((payload, result)).unwrap());
        self.request_pool.take(request, payload, 0, answer);
        let (payload, result) = answered.recv_timeout(PATIENCE).expect("an answer");
        if result < 0 {
            return Err(-result);
        }
        assert_eq!(result as usize, request.payload_bytes());
        Ok(payload)
    }

    fn ask_of(
        &self,
        op_flags: u32,
        offset_bytes: u64,
        length_bytes: u64,
        bytes: &[u8],
    ) -> Result<Vec<u8>, i32> {
        self.ask(op_flags, offset_bytes / SECTOR_BYTES, (length_bytes / SECTOR_BYTES) as u32, bytes)
    }
}

impl FrontEnd for Kernel {
    fn read(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<u8>, i32> {
        self.ask_of(operation::READ, offset_bytes, length_bytes, &[])
    }
    fn write(&mut self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), i32> {
        let op_flags = operation::WRITE | if fua { flag::FUA } else { 0 };
        self.ask_of(op_flags, offset_bytes, bytes.len() as u64, bytes).map(drop)
    }
    fn flush(&mut self) -> Result<(), i32> {
        self.ask(operation::FLUSH, 0, 0, &[]).map(drop)
    }
    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), i32> {
        self.ask_of(operation::DISCARD, offset_bytes, length_bytes, &[]).map(drop)
    }
    fn write_zeroes(&mut self, offset_bytes: u64, length_bytes: u64, may_punch: bool) -> Result<(), i32> {
        let op_flags = operation::WRITE_ZEROES | if may_punch { 0 } else { flag::NO_UNMAP };
        self.ask_of(op_flags, offset_bytes, length_bytes, &[]).map(drop)
    }
}

/// An array of the repository, served both ways.
struct BothWays {
    exports: Arc<ArrayExports>,
    server: Server,
    client: Client,
    kernel: Kernel,
    _directory: tempfile::TempDir,
}

fn serve(text: &str, is_paced: bool) -> BothWays {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = format!("{}/../../arrays/{text}", env!("CARGO_MANIFEST_DIR"));
    let array = ServedArray::parse(&path).unwrap();
    let store = PowerCutStore::new(Directory::lock(&directory.path().join("data"), Vec::new()).unwrap());
    let (live, map) = LiveArray::open(array, store).unwrap();
    let live = Arc::new(live);
    let pacer = is_paced
        .then(|| Arc::new(start_pacer(&live, &map, &twin::Faults::default(), load::REAL_SPEED).unwrap()));
    let exports = Arc::new(ArrayExports::new(&live, pacer.as_ref(), &map));
    let socket = directory.path().join("nbd");
    let listener = Listener::Unix(UnixListener::bind(&socket).unwrap());
    let server = Server::start(listener, exports.clone(), None).unwrap();
    let client = Client::connect(UnixStream::connect(&socket).unwrap(), "", true, PATIENCE).unwrap();
    let kernel = Kernel { request_pool: RequestPool::open(exports.find("").unwrap()).unwrap() };
    BothWays { exports, server, client, kernel, _directory: directory }
}

impl Drop for BothWays {
    fn drop(&mut self) {
        self.server.stop();
    }
}

/// Operations by chance, each through a front end of `ways` that chance chooses too, against a model of the bytes.
fn conforms(ways: &mut [&mut dyn FrontEnd], size_bytes: u64, seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut model = vec![0u8; MODEL_BYTES as usize];
    for number in 0..OPERATIONS {
        let chosen = random.below(ways.len() as u64) as usize;
        let way = &mut *ways[chosen];
        let most = if random.below(8) == 0 { 1024 } else { 24 };
        let sectors = 1 + random.below(most);
        let length = sectors * SECTOR_BYTES;
        let at = random.below((MODEL_BYTES - length) / SECTOR_BYTES) * SECTOR_BYTES;
        let (offset, range) = (START_BYTES + at, at as usize..(at + length) as usize);
        let bytes: Vec<u8> = (0..length).map(|index| (index as u32 * 7 + number) as u8).collect();
        match random.below(8) {
            0..=2 => {
                way.write(offset, &bytes, random.below(4) == 0).unwrap();
                model[range].copy_from_slice(&bytes);
            }
            3 => {
                way.write_zeroes(offset, length, random.below(2) == 0).unwrap();
                model[range].fill(0);
            }
            4 => {
                // What a freed range reads as is open until it is written.
                way.discard(offset, length).unwrap();
                way.write(offset, &bytes, false).unwrap();
                model[range].copy_from_slice(&bytes);
            }
            5 => way.flush().unwrap(),
            _ => assert!(way.read(offset, length).unwrap() == model[range], "bytes at {offset} differ"),
        }
    }
    for way in ways {
        assert!(way.read(START_BYTES, BUFFER_BYTES as u64).unwrap() == model[..BUFFER_BYTES]);
        let last = size_bytes - SECTOR_BYTES;
        assert!(way.read(last, SECTOR_BYTES).is_ok());
        assert!(way.write(last, &[1; 2 * SECTOR_BYTES as usize], false).is_err(), "beyond the end");
    }
}

/// Proves that what the kernel's driver would hand over is carried out as what NBD's clients send: the same body of
/// operations through either front end, and through both at once on the same bytes, whole and with a drive lost.
#[test]
fn both_front_ends_serve_the_same_bytes() {
    for text in [
        "raid-levels.yaml,raid=6,disks=6,capacity=16m",
        "dorado-2100-g2.yaml,capacity=4m",
        "storpool.yaml,capacity=16m",
    ] {
        let mut both = serve(text, false);
        let size_bytes = both.client.size_bytes();
        conforms(&mut [&mut both.client], size_bytes, 1);
        // The next begins with zeros.
        both.client.write_zeroes(0, START_BYTES + MODEL_BYTES, true).unwrap();
        conforms(&mut [&mut both.kernel], size_bytes, 2);
        both.kernel.write_zeroes(0, START_BYTES + MODEL_BYTES, true).unwrap();
        conforms(&mut [&mut both.client, &mut both.kernel], size_bytes, 3);
    }
}

/// Proves that descriptors which no block layer should give are answered with errors and touch nothing.
#[test]
fn senseless_descriptors_are_refused() {
    let mut both = serve("raid-levels.yaml,raid=6,disks=6,capacity=16m", false);
    let before = both.kernel.read(0, BUFFER_BYTES as u64).unwrap();
    let kernel = &both.kernel;
    let (invalid, unknown, no_room) =
        (Errno::Invalid as i32, Errno::NotSupported as i32, Errno::NoSpace as i32);
    for (op_flags, start_sector, sectors, errno) in [
        (operation::WRITE, 0, 0, invalid),
        (operation::READ, 0, (BUFFER_BYTES / 512) as u32 + 1, invalid),
        (operation::WRITE, 0, u32::MAX, invalid),
        (operation::DISCARD, u64::MAX, 8, invalid),
        (operation::WRITE_ZEROES, u64::MAX / 512, 8, no_room),
        (operation::DISCARD, 0, u32::MAX, no_room),
        (operation::READ, 1 << 40, 8, no_room),
        (4, 0, 8, unknown),
        (13, 0, 8, unknown),
        (0xff, 0, 8, unknown),
    ] {
        assert_eq!(kernel.ask(op_flags, start_sector, sectors, &[]), Err(errno), "{op_flags} {start_sector}");
    }
    assert!(both.kernel.read(0, BUFFER_BYTES as u64).unwrap() == before);
}

/// Proves that replies to the driver leave at the model's moments as those to NBD's clients do: reads of a disk take
/// milliseconds by either way, and without a model they take none.
#[test]
fn replies_to_the_driver_are_paced() {
    let mean_ms = |way: &mut dyn FrontEnd, size_bytes: u64| {
        let mut random = Random::from_seed(5);
        let began = Instant::now();
        for _ in 0..40 {
            let sector = random.below(size_bytes / SECTOR_BYTES - 8);
            way.read(sector * SECTOR_BYTES, 8 * SECTOR_BYTES).unwrap();
        }
        began.elapsed().as_secs_f64() * 1e3 / 40.0
    };
    let text = "raid-levels.yaml,raid=6,disks=6,capacity=64m";
    let mut paced = serve(text, true);
    let size_bytes = paced.client.size_bytes();
    // A busy machine may keep either back for a while.
    let mut seen = Vec::new();
    let is_near = |&(by_nbd, by_ublk): &(f64, f64)| (by_ublk / by_nbd - 1.0).abs() < 0.5;
    while seen.len() < ROUNDS && !seen.last().is_some_and(is_near) {
        let way = (mean_ms(&mut paced.client, size_bytes), mean_ms(&mut paced.kernel, size_bytes));
        assert!(way.0 > 1.0 && way.1 > 1.0, "{way:?} ms");
        seen.push(way);
    }
    assert!(seen.last().is_some_and(is_near), "ms by NBD and by ublk, in each round: {seen:?}");
    let by_ublk = seen[seen.len() - 1].1;
    // A reply is counted when it has left.
    let counted = || paced.exports.volumes().iter().map(|volume| volume.tally.read().read.ios).sum::<u64>();
    let (requested, deadline) = (80 * seen.len() as u64, Instant::now() + PATIENCE);
    while counted() < requested && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(counted(), requested, "each is counted with its volume");
    let mut untimed = serve(text, false);
    let at_once = (0..ROUNDS)
        .map(|_| mean_ms(&mut untimed.kernel, size_bytes))
        .min_by(f64::total_cmp)
        .expect("a round");
    assert!(at_once < by_ublk / 2.0, "{at_once} ms untimed, {by_ublk} ms paced");
}
