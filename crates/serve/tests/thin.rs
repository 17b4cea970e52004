//! Served thin volumes that are larger than their pool, with real clients: the pool runs full and nothing is lost.

mod common;

use common::server_process::start_server;
use common::{PATIENCE, Random, Served, array, count, directory, is_clean, options, serve, serve_with, tool};
use nbd::decode::Command as Nbd;
use nbd::{Client, ClientError};
use serde_json::{Value, json};
use serve::{Options, ServedArray, parse_speed, serve_array};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const UNIT: u64 = 64 << 10;
const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;
const BLOCKS_OF_UNIT: u64 = UNIT / BLOCK;
/// Size of the volume: about four times the pool.
const SIZE: u64 = 64 * MIB;
const ENOSPC: u32 = 28;

fn overcommitted() -> ServedArray {
    array("raid-levels,raid=6,disks=6,capacity=4m,thin_unit=64k,thin_size=64m")
}

/// A block whose content says which it is.
fn block_of(block: u64, version: u64) -> Vec<u8> {
    if version == 0 {
        return vec![0; BLOCK as usize];
    }
    [block.to_le_bytes(), version.to_le_bytes()].concat().into_iter().cycle().take(BLOCK as usize).collect()
}

fn unit_of(unit: u64, version: u64) -> Vec<u8> {
    (0..BLOCKS_OF_UNIT).flat_map(|block| block_of(unit * BLOCKS_OF_UNIT + block, version)).collect()
}

/// Returns whether a write was carried out; any error but ENOSPC fails the test.
fn does_fit(outcome: Result<(), ClientError>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(ClientError::Errno { errno: ENOSPC, .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn trim(client: &mut Client, offset_bytes: u64, length_bytes: u64) -> Result<(), ClientError> {
    client.call(Nbd::Trim, 0, offset_bytes, length_bytes as u32, &[]).map(drop)
}

fn pool(served: &Served) -> Value {
    served.ctl("status")["pool"].clone()
}

fn checks(served: &Served, units: u64, version_of: impl Fn(u64) -> u64) {
    let mut client = served.client_of("vol0");
    for unit in 0..SIZE / UNIT {
        let expected = if unit < units { unit_of(unit, version_of(unit)) } else { vec![0; UNIT as usize] };
        assert!(client.read(unit * UNIT, UNIT as u32).unwrap() == expected, "unit {unit}");
    }
}

/// Proves, timed and untimed, that a volume of four times its pool is written until ENOSPC, that then overwrites, reads, other
/// exports and `create` go on and every acknowledged byte is there, before and after a stop and a power cut; that `status` says
/// nearly full and full with what to do; and that a trim, a smaller size and a deletion each make room again.
#[test]
fn a_full_pool_is_an_error_and_no_loss() {
    for is_timed in [false, true] {
        let directory = directory();
        let start = || {
            let speed_millionths = parse_speed(!is_timed, Some(100.0)).unwrap();
            serve_with(&overcommitted(), Options { speed_millionths, ..options(directory.path()) })
        };
        let served = start();
        let empty = pool(&served);
        let units = empty["size_bytes"].as_u64().unwrap() / UNIT;
        assert!((200..256).contains(&units), "{empty}");
        assert_eq!(
            (&empty["used_bytes"], &empty["state"], &empty["warning"]),
            (&json!(0), &json!("ok"), &Value::Null)
        );
        let mut client = served.client();
        assert_eq!(
            client.size_bytes(),
            SIZE,
            "the empty name is the volume, whose size is more than the array's"
        );
        let mut states = Vec::new();
        for unit in 0..units {
            assert!(does_fit(client.write(unit * UNIT, &unit_of(unit, 1), false)), "unit {unit}");
            if unit % 16 == 0 {
                states.push(pool(&served)["state"].as_str().unwrap().to_owned());
            }
        }
        states.dedup();
        assert_eq!(states, ["ok", "nearly-full"]);
        assert!(!does_fit(client.write(units * UNIT, &block_of(0, 9), false)));
        // Of a write that needs a unit nothing is carried out.
        assert!(!does_fit(client.write((units - 1) * UNIT, &vec![9; 2 * UNIT as usize], false)));
        for unit in 0..8 {
            assert!(does_fit(client.write(unit * UNIT, &unit_of(unit, 2), unit % 2 == 0)), "an overwrite");
        }
        let version_of = |unit: u64| if unit < 8 { 2 } else { 1 };
        checks(&served, units, version_of);
        let status = served.ctl("status");
        let full = &status["pool"];
        assert_eq!(
            (&full["state"], &full["free_bytes"], &full["refused_writes"]),
            (&json!("full"), &json!(0), &json!(2))
        );
        assert!(full["warning"].as_str().unwrap().contains("2 writes got ENOSPC"), "{full}");
        assert!(full["overcommit"].as_f64().unwrap() > 3.9, "{full}");
        assert_eq!(status["volumes"][0]["allocated_bytes"], units * UNIT);
        assert!(status["background"]["last_error"].as_str().unwrap().contains("thin pool is full"));
        // A volume takes no room until it is written to.
        served.ctl("create other 1m");
        let mut other = served.client_of("other");
        assert!(!does_fit(other.write(0, &[7; 512], false)));
        assert_eq!(other.read(0, 4096).unwrap(), [0; 4096]);
        client.flush().unwrap();
        served.ctl("power-cut 3");
        checks(&served, units, version_of);
        drop(served);
        let served = start();
        checks(&served, units, version_of);
        assert_eq!(pool(&served)["state"], "full");
        let mut client = served.client();
        let mut other = served.client_of("other");
        // One unit is given back; part of one is not.
        trim(&mut client, (units - 1) * UNIT, UNIT / 2).unwrap();
        assert!(!does_fit(other.write(0, &[7; 512], false)));
        trim(&mut client, (units - 1) * UNIT, UNIT).unwrap();
        assert_eq!(pool(&served)["free_bytes"], UNIT);
        assert!(does_fit(other.write(0, &[7; 512], false)));
        assert_eq!(other.read(0, 1024).unwrap(), [[7; 512], [0; 512]].concat());
        assert!(!does_fit(client.write((units - 1) * UNIT, &unit_of(1, 1), false)));
        checks(&served, units - 1, version_of);
        served.ctl("delete other");
        assert_eq!(pool(&served)["free_bytes"], UNIT);
        served.ctl(&format!("resize vol0 {}", (units - 5) * UNIT));
        assert_eq!(served.ctl("status")["free_bytes"], 5 * UNIT);
        served.ctl(&format!("resize vol0 {SIZE}"));
        checks(&served, units - 5, version_of);
        let mut client = served.client();
        for unit in 0..5 {
            assert!(does_fit(client.write((1000 + unit) * UNIT + 512, &[3; 512], false)));
        }
        assert_eq!(pool(&served)["state"], "full");
        served.ctl("initialise vol0");
        assert_eq!(pool(&served)["used_bytes"], 0);
        is_clean(&served, "at the end");
    }
}

/// Proves that real clients are told: `qemu-io` and fio stop with "No space left on device" on a full pool, a discard by `qemu-io` makes
/// room, `nbdinfo` maps what is allocated, and `qemu-img` copies a volume of more than the pool from one array to another unchanged.
#[test]
fn clients_are_told() {
    let directory = directory();
    let served = serve(&overcommitted(), directory.path());
    let qemu_io = |commands: &[&str]| {
        let mut arguments = vec!["-f", "raw"];
        commands.iter().for_each(|command| arguments.extend(["-c", *command]));
        arguments.push(&served.uri);
        let output = Command::new("qemu-io").args(&arguments).output().expect("qemu-io is needed");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let written = qemu_io(&["write -P 0xa5 0 8M", "write -P 0x5a 40M 4M", "flush"]);
    assert!(!written.contains("failed"), "{written}");
    let refused = qemu_io(&["write -P 1 10M 8M"]);
    assert!(refused.contains("No space left on device"), "{refused}");
    let map = tool("nbdinfo", &["--map", "--json", &served.uri]);
    let map: Value = serde_json::from_slice(&map.stdout).unwrap();
    let extents = map.as_array().unwrap().iter().map(|extent| {
        (
            extent["offset"].as_u64().unwrap() / MIB,
            extent["length"].as_u64().unwrap() / MIB,
            extent["type"] == 0,
        )
    });
    let written = [(0, 8, true), (8, 32, false), (40, 4, true), (44, 20, false)];
    assert_eq!(extents.collect::<Vec<_>>(), written, "{map}");
    let fio = Command::new("fio")
        .args(["--name=fill", "--ioengine=nbd", "--rw=write", "--bs=64k", "--size=64m", "--iodepth=8"])
        .arg(format!("--uri={}", served.uri))
        .output()
        .expect("fio is needed");
    let text = String::from_utf8_lossy(&fio.stdout).into_owned() + &String::from_utf8_lossy(&fio.stderr);
    assert!(!fio.status.success() && text.contains("No space left on device"), "{text}");
    let freed =
        qemu_io(&["discard 0 16M", "read -P 0 0 16M", "read -P 0x5a 40M 4M", "write -P 7 1M 2M", "flush"]);
    assert!(!freed.contains("failed"), "{freed}");
    let second = common::directory();
    let copy = serve(&overcommitted(), second.path());
    tool("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &served.uri, &copy.uri]);
    tool("qemu-img", &["compare", "-f", "raw", "-F", "raw", &served.uri, &copy.uri]);
}

const CHILD: &str = "ARRAYLAB_THIN_CHILD";

fn start_child(directory: &Path) -> Child {
    start_server("killed_servers_of_a_full_pool_lose_nothing", CHILD, directory, &[], &directory.join("nbd"))
}

fn connect(directory: &Path) -> Client {
    Client::connect(UnixStream::connect(directory.join("nbd")).unwrap(), "", true, PATIENCE).unwrap()
}

/// A load on every second unit that knows what each block must hold.
struct Load {
    first: u64,
    random: Random,
    versions: BTreeMap<u64, u64>,
    next_version: u64,
    /// Request that was under way when the connection broke: blocks, and the version that they may have.
    open: Option<(std::ops::Range<u64>, u64)>,
    refused: u64,
}

impl Load {
    fn new(first: u64) -> Load {
        let random = Random(first + 5);
        Load { first, random, versions: BTreeMap::new(), next_version: 1, open: None, refused: 0 }
    }

    /// Writes blocks and trims units until the connection breaks.
    fn run(&mut self, client: &mut Client) {
        loop {
            let unit = self.random.below(SIZE / UNIT / 2) * 2 + self.first;
            let first = unit * BLOCKS_OF_UNIT;
            let outcome = if self.random.below(4) == 0 {
                // One that holds something, where there is one.
                let first = self
                    .versions
                    .range(first..)
                    .next()
                    .map_or(first, |(block, _)| block / BLOCKS_OF_UNIT * BLOCKS_OF_UNIT);
                self.open = Some((first..first + BLOCKS_OF_UNIT, 0));
                trim(client, first * BLOCK, UNIT)
            } else {
                let block = first + self.random.below(BLOCKS_OF_UNIT);
                self.open = Some((block..block + 1, self.next_version));
                self.next_version += 1;
                client.write(
                    block * BLOCK,
                    &block_of(block, self.next_version - 1),
                    self.random.below(20) == 0,
                )
            };
            match outcome {
                Ok(()) => {
                    let (blocks, version) = self.open.take().unwrap();
                    self.versions.extend(blocks.map(|block| (block, version)));
                    self.versions.retain(|_, version| *version > 0);
                }
                Err(ClientError::Errno { errno: ENOSPC, .. }) => {
                    self.refused += 1;
                    self.open = None;
                }
                Err(_) => return,
            }
        }
    }

    /// Checks every block, and takes what was open as it is.
    fn check(&mut self, client: &mut Client, what: &str) {
        for unit in (self.first..SIZE / UNIT).step_by(2) {
            let bytes = client.read(unit * UNIT, UNIT as u32).unwrap();
            for (block, bytes) in (unit * BLOCKS_OF_UNIT..).zip(bytes.chunks_exact(BLOCK as usize)) {
                let known = self.versions.get(&block).copied().unwrap_or(0);
                let open = self.open.as_ref().filter(|(blocks, _)| blocks.contains(&block));
                let found = [Some(known), open.map(|(_, version)| *version)]
                    .into_iter()
                    .flatten()
                    .find(|&version| bytes == block_of(block, version));
                let found =
                    found.unwrap_or_else(|| panic!("{what}: block {block} is not of version {known}"));
                self.versions.insert(block, found);
            }
        }
        self.versions.retain(|_, version| *version > 0);
        self.open = None;
    }
}

/// Proves that a server killed with `kill -9` at random moments, while two clients write to and trim a volume on a pool that is full
/// most of the time, loses nothing that it acknowledged, brings nothing back that was trimmed, and loses no unit:
/// 20 kills, 200 with `ARRAYLAB_LONG=1`.
#[test]
fn killed_servers_of_a_full_pool_lose_nothing() {
    if let Some(path) = std::env::var_os(CHILD) {
        let never = AtomicBool::new(false);
        serve_array(overcommitted(), &options(Path::new(&path)), &never, &|_| ()).unwrap();
        return;
    }
    let directory = directory();
    let mut loads = [Load::new(0), Load::new(1)];
    let mut random = Random(3);
    for kill in 0..count(200) {
        let mut child = start_child(directory.path());
        for load in &mut loads {
            load.check(&mut connect(directory.path()), &format!("after kill {kill}"));
        }
        let pause = Duration::from_millis(30 + random.below(120));
        std::thread::scope(|scope| {
            for load in &mut loads {
                let mut client = connect(directory.path());
                scope.spawn(move || load.run(&mut client));
            }
            std::thread::sleep(pause);
            child.kill().unwrap();
        });
        child.wait().unwrap();
    }
    let refused: u64 = loads.iter().map(|load| load.refused).sum();
    assert!(refused > count(200), "only {refused} writes found the pool full");
    let served = serve(&overcommitted(), directory.path());
    for load in &mut loads {
        load.check(&mut served.client(), "at the end");
    }
    let status = served.ctl("status");
    let used = &status["pool"]["used_bytes"];
    assert_eq!(*used, status["volumes"][0]["allocated_bytes"]);
    is_clean(&served, "at the end");
    let mut client = served.client();
    (0..SIZE / (16 * MIB)).for_each(|part| trim(&mut client, part * 16 * MIB, 16 * MIB).unwrap());
    let pool = pool(&served);
    assert_eq!((&pool["used_bytes"], &pool["free_bytes"]), (&json!(0), &pool["size_bytes"]));
}

/// Proves that thin volumes of an array that says nothing of a size fit on their pool together, that what no pool can be is
/// refused by name, and that the bytes of a thin array are not taken for those of another unit, or of no pool.
#[test]
fn pools_are_as_described() {
    let parse = |text: &str| {
        let path = format!("{}/../../arrays/{text}", env!("CARGO_MANIFEST_DIR"));
        ServedArray::parse(&path)
    };
    let thin = "dorado-2100-g2.yaml,capacity=4m,thin_unit=64k";
    let fits = parse(thin).unwrap();
    assert_eq!(fits.thin_unit_bytes, Some(UNIT));
    let directory = directory();
    let served = serve(&fits, directory.path());
    let fitting = pool(&served);
    assert!(fitting["overcommit"].as_f64().unwrap() <= 1.0, "{fitting}");
    drop(served);
    for (text, words) in [
        ("raid-levels.yaml,capacity=4m,thin_unit=5000", "thin_unit=5000"),
        ("raid-levels.yaml,capacity=4m,thin_unit=many", "thin_unit=many"),
        ("raid-levels.yaml,capacity=4m,thin_unit=1g", "less than one unit"),
        ("raid-levels.yaml,capacity=4m,thin_unit=64k,thin_size=100", "thin_size=100"),
        ("raid-levels.yaml,capacity=4m,thin_size=1g", "`thin_size` is no setting"),
        ("storpool.yaml,capacity=16m,thin_unit=64k", "`thin_unit` is no setting"),
    ] {
        let message = diagnostic::full_text(&parse(text).unwrap_err());
        assert!(message.contains(words), "{text}: {message}");
    }
    // A setting of the model alone, with and without a pool.
    for text in
        ["e2700.yaml,capacity=64m,volume_size=2g", "e2700.yaml,capacity=64m,thin_unit=64k,volume_size=2g"]
    {
        assert!(parse(text).is_ok(), "{text}");
    }
    for other in ["dorado-2100-g2.yaml,capacity=4m,thin_unit=32k", "dorado-2100-g2.yaml,capacity=4m"] {
        let never = AtomicBool::new(true);
        let refused = serve_array(parse(other).unwrap(), &options(directory.path()), &never, &|_| ());
        let message = diagnostic::full_text(&refused.unwrap_err());
        assert!(message.contains("another array"), "{other}: {message}");
    }
}
