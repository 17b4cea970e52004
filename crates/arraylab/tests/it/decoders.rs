//! Every decoder under changed samples, on stable Rust and always in the same order; `fuzz/` runs the same functions
//! under cargo-fuzz.

#[path = "../../../../fuzz/decoders.rs"]
mod targets;

use nbd::decode::{Command, ContextQuery, ExportQuery, Information, OptionHeader, ReplyHeader, Request};
use std::path::Path;

/// Messages for each decoder of text; the binary ones get a hundred times as many, being as much quicker.
const TEXTS: u64 = 400;
const BINARY_FACTOR: u64 = 250;
/// With `ARRAYLAB_LONG=1`; of NBD and control messages that is ten million.
const LONG_FACTOR: u64 = 50;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A sample with one to eight changes.
    fn change(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = samples[self.below(samples.len())].clone();
        for _ in 0..=self.below(8) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(40)).min(bytes.len());
            match self.below(8) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.next() as u8,
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                4 => {
                    let other = &samples[self.below(samples.len())];
                    let from = self.below(other.len() + 1);
                    let part = other[from..(from + self.below(200)).min(other.len())].to_vec();
                    bytes.splice(at..end, part);
                }
                5 => bytes.truncate(at.max(1)),
                6 => {
                    let words: [&[u8]; 8] = [
                        b"-1",
                        b"18446744073709551615",
                        b"1e308",
                        b"0",
                        b"\n",
                        b"[[[[",
                        b"\xff\xff\xff\xff",
                        b"4096t",
                    ];
                    bytes.splice(at..at, words[self.below(words.len())].iter().copied());
                }
                _ => {
                    for byte in &mut bytes[at..end] {
                        *byte = 0xff;
                    }
                }
            }
        }
        bytes
    }
}

fn files(directory: &str, ending: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
    let mut paths: Vec<_> = std::fs::read_dir(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{directory} holds no samples");
    // The large ones say nothing that the small ones do not, slowly.
    paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 64 << 10).collect()
}

fn nbd_samples() -> Vec<Vec<u8>> {
    let mut reply = Vec::new();
    ReplyHeader::Chunk { flags: 1, kind: 1, cookie: 9, length_bytes: 4104 }.encode(&mut reply);
    let mut simple = Vec::new();
    ReplyHeader::Simple { error: 22, cookie: 9 }.encode(&mut simple);
    vec![
        OptionHeader { option: 7, length_bytes: 8 }.encode().to_vec(),
        ExportQuery { name: "vol0".to_owned(), information: vec![1, 2, 3] }.encode(),
        ContextQuery { name: String::new(), queries: vec!["base:allocation".to_owned(), "base:".to_owned()] }
            .encode(),
        Request { flags: 1, command: Command::Write, cookie: 5, offset_bytes: 4096, length_bytes: 512 }
            .encode()
            .to_vec(),
        Information::Export { size_bytes: 1 << 30, flags: 0x5ed }.encode(),
        Information::BlockSize([512, 4096, 32 << 20]).encode(),
        reply,
        simple,
    ]
}

fn control_samples() -> Vec<Vec<u8>> {
    [
        r#"{"id":1,"verb":"status"}"#,
        r#"{"id":2,"verb":"ready","token":"abc"}"#,
        r#"{"id":3,"verb":"set","settings":{"raid":5,"write_cache":"on","x":[1,{"y":null}]}}"#,
        r#"{"id":4,"verb":"event","name":"fail","arguments":{"drive":3}}"#,
        r#"{"id":4,"ok":{"ready":true,"progress_percent":12.5,"message":"initialising"}}"#,
        r#"{"id":null,"error":{"kind":"refused","message":"no"}}"#,
    ]
    .iter()
    .map(|line| format!("{line}\n").into_bytes())
    .collect()
}

/// Proves that no decoder panics on what was changed at random, and that what is understood is written as it was:
/// ten million messages of NBD and of the control socket with `ARRAYLAB_LONG=1`, a fiftieth otherwise.
#[test]
fn changed_samples_are_survived() {
    let factor = if std::env::var_os("ARRAYLAB_LONG").is_some() { LONG_FACTOR } else { 1 };
    std::thread::scope(|scope| {
        for (name, decode) in targets::DECODERS {
            scope.spawn(move || {
                let (samples, count) = match name {
                    "nbd" => (nbd_samples(), TEXTS * BINARY_FACTOR),
                    "control" => (control_samples(), TEXTS * BINARY_FACTOR),
                    "fio" => (files("crates/fio/tests/samples/fio-3.33", ""), TEXTS),
                    "workloads" => {
                        let mut samples = files("crates/import/tests/fio", ".fio");
                        samples.extend(files("crates/import/tests/vdbench", ".parm"));
                        (samples, TEXTS)
                    }
                    "plan" => (files("plans", ".yaml"), TEXTS),
                    "array" => (files("arrays", ".yaml"), TEXTS),
                    other => panic!("no samples for {other}"),
                };
                for seed in 0..count * factor {
                    let bytes = Random(seed).change(&samples);
                    let outcome = std::panic::catch_unwind(|| decode(&bytes));
                    assert!(outcome.is_ok(), "{name}, seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
                }
            });
        }
    });
}
