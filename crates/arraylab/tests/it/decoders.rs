//! Every decoder under changed samples, on stable Rust and always in the same order; `fuzz/` runs the same functions
//! under cargo-fuzz.

#[path = "../../../../fuzz/decoders.rs"]
mod targets;

use nbd::decode::{
    Command, ContextQuery, ExportQuery, Information, OptionHeader, OptionReplyHeader, ReplyHeader, Request,
};
use nbd::protocol::{INIT_PASSWORD, OPTION_MAGIC, option_reply};
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

/// Returns a server's messages to a client that requests structured replies, and to one that does not.
fn server_samples() -> Vec<Vec<u8>> {
    let option_reply = |option: u32, kind: u32, data: &[u8]| {
        let header = OptionReplyHeader { option, reply: kind, length_bytes: data.len() as u32 };
        [&header.encode()[..], data].concat()
    };
    let greeting = [&INIT_PASSWORD.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &[0, 3]].concat();
    let go = [
        option_reply(
            7,
            option_reply::INFO,
            &Information::Export { size_bytes: 1 << 20, flags: 0x5ed }.encode(),
        ),
        option_reply(7, option_reply::INFO, &Information::BlockSize([512, 4096, 32 << 20]).encode()),
        option_reply(7, option_reply::ACK, &[]),
    ]
    .concat();
    let context = [&1u32.to_be_bytes()[..], b"base:allocation"].concat();
    let agreed = [
        option_reply(8, option_reply::ACK, &[]),
        option_reply(10, option_reply::META_CONTEXT, &context),
        option_reply(10, option_reply::ACK, &[]),
    ]
    .concat();
    let chunk = |kind: u16, cookie: u64, data: &[u8]| {
        let mut bytes = Vec::new();
        ReplyHeader::Chunk { flags: 1, kind, cookie, length_bytes: data.len() as u32 }.encode(&mut bytes);
        [&bytes[..], data].concat()
    };
    let extents = [1u32, 2048, 3, 2048, 0].map(u32::to_be_bytes).concat();
    let mut simple = Vec::new();
    ReplyHeader::Simple { error: 0, cookie: 1 }.encode(&mut simple);
    simple.extend([7; 4096]);
    let data = [&0u64.to_be_bytes()[..], &[7; 4096]].concat();
    let error = [&22u32.to_be_bytes()[..], &2u16.to_be_bytes(), b"no"].concat();
    vec![
        [&[0][..], &greeting, &agreed, &go, &chunk(1, 1, &data), &chunk(0x8001, 2, &error)].concat(),
        [&[2][..], &greeting, &agreed, &go, &chunk(5, 1, &extents)].concat(),
        [&[1][..], &greeting, &go, &simple].concat(),
    ]
}

fn volume_samples() -> Vec<Vec<u8>> {
    let record = r#"{"format":2,"volume":"00112233445566778899aabbccddeeff","identity":"fuzzed",
        "drive_capacity_bytes":[24576,24576,24576,24576],
        "drives":[{"condition":"present","generation":0,"rebuilt_below_stripe":0},
                  {"condition":"rebuilding","generation":1,"rebuilt_below_stripe":3},
                  {"condition":"failed","generation":0,"rebuilt_below_stripe":0},
                  {"condition":"pulled","generation":2,"rebuilt_below_stripe":0}],
        "moves":[[0,0,1,0,2,0]]}"#;
    let image =
        [&1u16.to_le_bytes()[..], &[0; 2], &512u32.to_le_bytes(), &1024u64.to_le_bytes(), &[0; 4], &[9; 512]];
    let images = image.concat();
    let zeros = [1u64.to_le_bytes(), 3u64.to_le_bytes()].concat();
    // The first byte tells the decoder what the others are.
    vec![
        [&[0][..], record.as_bytes()].concat(),
        [&[1 << 1 | 1][..], &images, &images].concat(),
        [&[2 << 1 | 1][..], &zeros].concat(),
    ]
}

fn text_samples(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn address_samples() -> Vec<Vec<u8>> {
    text_samples(&[
        "twin:dorado-2100-g2,raid=5,exact=on",
        "file:/tmp/x,size=10g",
        "nbd://[::1]:10809/vol0",
        "nbd+unix:///vol%20a?socket=/run/a%2fb",
        "exec:/usr/local/bin/array,token=3",
        "ctl:/run/array.ctl",
        "storcli:drives=252:1+252:2",
        "http://127.0.0.1:9100/metrics",
        "1.5tib",
        "10m",
    ])
}

fn trace_samples() -> Vec<Vec<u8>> {
    text_samples(&[
        "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n/dev/sda wait 10 0\n/dev/sda write 8192 512\n/dev/sda close\n",
        "fio version 3 iolog\n0 /dev/sda add\n1 /dev/sda open\n10 /dev/sda trim 0 4096\n20 /dev/sda write 8192 512\n",
        "  8,0    1        1     0.000000000  1000  D   R 2048 + 8 [fio]\n  8,0    1        2     0.001000000  1000  D  WS 4096 + 16 [fio]\n",
        "128166372003061629,web,0,Read,7014609920,24576,41286\n128166372016382155,web,1,Write,1317441536,8192,1963\n",
        "0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041,x\n",
    ])
}

fn result_samples() -> Vec<Vec<u8>> {
    let mut samples = files("crates/fio/tests/samples/fio-3.33", "");
    samples.extend(files("crates/import/tests/results", ""));
    samples
}

fn telemetry_samples() -> Vec<Vec<u8>> {
    text_samples(&[
        "# TYPE a_total counter\na_total{disk=\"sda\",x=\"\\\"\"} 5 1700000000\n{\"b\",c=\"d\"} 1e3\n# EOF\n",
        r#"{"iops": 5, "c0": {"busy": 0.5, "deep": {"x": 1}}}"#,
        "c0 busy 0.5\nrate 1e3\n",
        r#"{"smartctl":{},"nvme_smart_health_information_log":{"data_units_read":5},"temperature":{"current":30},
            "ata_smart_attributes":{"table":[{"name":"Wear","raw":{"value":7}}]}}"#,
        r#"{"critical_warning":0,"data_units_written":"340282366920938463463374607431768211455"}"#,
    ])
}

fn store_samples() -> Vec<Vec<u8>> {
    let mut histogram = load::Histogram::new();
    (0..200u64).for_each(|index| histogram.record(index * index * 777));
    let manifest = r#"{"format_version":1,"arraylab_version":"0.1.0","run_id":"x","created_utc":"2026-11-20T00:00:00Z",
        "seed":1,"plan":{"name":"p","source":"shipped","text":"name: p"},"array":null,"targets":[],"engine":"sim",
        "selection":{"stages":[],"only":[],"set":[["runtime","2"]]},"overrides":[],"interval_ns":5,"command_line":["a"],
        "host":{},"plan_details":null}"#;
    vec![store::encode_histogram(&histogram), manifest.as_bytes().to_vec()]
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

fn agent_samples() -> Vec<Vec<u8>> {
    let mut read = load::DirectionSample { ios: 3, bytes: 12288, ..load::DirectionSample::default() };
    [90, 1_000, 2_000_000].into_iter().for_each(|ns| read.latency.record(ns));
    let sample = load::Sample { start_ns: 0, end_ns: 1_000_000_000, read, ..load::Sample::default() };
    let spec = load::LoadSpec {
        pattern: load::Pattern::Randrw,
        rwmixread: 70,
        bs_bytes: 4096,
        numjobs: 2,
        iodepth: 4,
        offset_bytes: 0,
        size_bytes: Some(1 << 30),
        rate_iops: Some(100.0),
        ramp_ns: 0,
        runtime_ns: 1_000_000_000,
        interval_ns: 100_000_000,
        seed: 7,
        shape: load::LoadShape { arrival: Some(load::Arrival::poisson(10.0)), ..load::LoadShape::default() },
    };
    let settings = serde_json::json!({ "bs": 4096, "rw": "randrw" }).as_object().cloned().unwrap_or_default();
    let part = Some(hosts::Part { index: 0, of: 2 });
    let one = hosts::LoadRequest { name: "load".into(), load: spec, settings, part };
    let measure = hosts::MeasureRequest { stage: "s".into(), case: "c".into(), loads: vec![one] };
    let requests = [
        hosts::Request::Ping { id: 1 },
        hosts::Request::Start { at_ns: 5 },
        hosts::Request::Inventory { commands: vec![vec!["lsblk".into(), "$(x)'\n".into()]] },
        hosts::Request::Measure(Box::new(measure)),
    ];
    let replies = [
        hosts::Reply::Pong { id: 1, at_ns: 9 },
        hosts::Reply::Sample { load: "load".into(), sample: Box::new(hosts::WireSample::new(&sample)) },
        hosts::Reply::Ended(Box::new(hosts::CaseEnd { status: "done".into(), ..hosts::CaseEnd::default() })),
    ];
    let bodies = requests.iter().map(serde_json::to_vec).chain(replies.iter().map(serde_json::to_vec));
    bodies
        .map(|body| {
            let mut frame = Vec::new();
            hosts::write_frame(&mut frame, &body.expect("JSON")).expect("a frame");
            frame
        })
        .collect()
}

fn http_samples() -> Vec<Vec<u8>> {
    [
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9101\r\nUser-Agent: Prometheus/2.42\r\nAccept: */*;q=0.1\r\n\r\n",
        "HEAD / HTTP/1.0\r\n\r\n",
        "GET /state.json?x=y HTTP/1.1\r\nhost: [::1]:9101\r\nSec-Fetch-Site: same-origin\r\n\r\n",
        "POST /control HTTP/1.1\r\nHost: localhost:9101\r\nOrigin: http://localhost:9101\r\nContent-Type: application/json\r\n\
         Content-Length: 24\r\nX-Arraylab-Token: 0123456789abcdef\r\n\r\n",
    ]
    .iter()
    .map(|head| head.as_bytes().to_vec())
    .collect()
}

/// Proves that no decoder panics on what was changed at random, and that what is understood is written as it was:
/// ten million messages of NBD and of the control socket with `ARRAYLAB_LONG=1`, a fiftieth otherwise.
#[test]
fn changed_samples_are_survived() {
    let factor = if test_support::is_long() { LONG_FACTOR } else { 1 };
    std::thread::scope(|scope| {
        for (name, decode) in targets::DECODERS {
            scope.spawn(move || {
                let (samples, count) = match name {
                    "nbd" => (nbd_samples(), TEXTS * BINARY_FACTOR),
                    "control" => (control_samples(), TEXTS * BINARY_FACTOR),
                    "agent" => (agent_samples(), TEXTS * BINARY_FACTOR),
                    "http" => (http_samples(), TEXTS * BINARY_FACTOR),
                    "fio" => (files("crates/fio/tests/samples/fio-3.33", ""), TEXTS),
                    "workloads" => {
                        let mut samples = files("crates/import/tests/fio", ".fio");
                        samples.extend(files("crates/import/tests/vdbench", ".parm"));
                        (samples, TEXTS)
                    }
                    "plan" => (files("plans", ".yaml"), TEXTS),
                    "array" => {
                        let mut samples = files("arrays", ".yaml");
                        samples.extend(files("arrays/examples", ".yaml"));
                        (samples, TEXTS)
                    }
                    "nbd-client" => (server_samples(), TEXTS),
                    "addresses" => (address_samples(), TEXTS * 10),
                    "traces" => (trace_samples(), TEXTS * 10),
                    "results" => (result_samples(), TEXTS),
                    "telemetry" => (telemetry_samples(), TEXTS * 10),
                    "store" => (store_samples(), TEXTS * 10),
                    "volume" => (volume_samples(), TEXTS),
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
