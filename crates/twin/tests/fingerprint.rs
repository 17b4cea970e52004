//! The same bytes from one version to the next: fingerprints of what short loads do on every shipped array.

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use common::{array, settings};
use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Sample};
use serde_json::Value;
use twin::{Event, Twin};

/// File of the fingerprints: a line a case, its name, that of its samples and that of its counters.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.txt");
/// Set to 1, the test writes what it finds.
const UPDATE: &str = "ARRAYLAB_UPDATE_FINGERPRINTS";
const SECOND_NS: u64 = 1_000_000_000;

/// A short load on an array.
struct Case {
    array: &'static str,
    settings: &'static [(&'static str, &'static str)],
    pattern: Pattern,
    rwmixread: u8,
    bs_bytes: u32,
    numjobs: u32,
    iodepth: u32,
    runtime_ns: u64,
    event: Option<Event>,
}

const fn case(
    array: &'static str,
    settings: &'static [(&'static str, &'static str)],
    (pattern, rwmixread, bs_bytes): (Pattern, u8, u32),
    (numjobs, iodepth): (u32, u32),
    runtime_ms: u64,
) -> Case {
    let runtime_ns = runtime_ms * 1_000_000;
    Case { array, settings, pattern, rwmixread, bs_bytes, numjobs, iodepth, runtime_ns, event: None }
}

impl Case {
    const fn with(self, event: Event) -> Case {
        Case { event: Some(event), ..self }
    }

    fn name(&self) -> String {
        let settings: Vec<String> =
            self.settings.iter().map(|(key, value)| format!(",{key}={value}")).collect();
        let load = format!("{}:{}%:{}", self.pattern.name(), self.rwmixread, self.bs_bytes);
        let event = self.event.map_or(String::new(), |event| format!(":{}", event.name()));
        let runtime_ms = self.runtime_ns / 1_000_000;
        format!(
            "{}{}:{load}:{}x{}:{runtime_ms}ms{event}",
            self.array,
            settings.concat(),
            self.numjobs,
            self.iodepth
        )
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec {
            pattern: self.pattern,
            rwmixread: self.rwmixread,
            bs_bytes: self.bs_bytes,
            numjobs: self.numjobs,
            iodepth: self.iodepth,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: self.runtime_ns / 10,
            runtime_ns: self.runtime_ns,
            interval_ns: (self.runtime_ns / 8).min(5 * SECOND_NS),
            seed: 1,
            shape: LoadShape::default(),
        }
    }

    /// Name, and fingerprints of samples and counters.
    fn line(&self) -> (String, String) {
        let given: Vec<(&str, Value)> =
            self.settings.iter().map(|&(key, value)| (key, value.into())).collect();
        let mut twin = Twin::build(&array(self.array), &settings(&given), 1).unwrap();
        if let Some(event) = self.event {
            twin.schedule(self.runtime_ns / 3, event).unwrap();
        }
        let (mut samples, mut counters) = (Fingerprint::new(), Fingerprint::new());
        twin.run(&self.spec(), &NEVER_STOPPED, &mut |_, sample| {
            samples.sample(&sample);
            ControlFlow::Continue(())
        })
        .unwrap();
        for note in twin.take_notes() {
            samples.number(note.at_ns);
            samples.bytes(note.says.as_bytes());
        }
        for counter in twin.counters() {
            counters.bytes(counter.entity.as_bytes());
            counters.bytes(counter.name.as_bytes());
            counters.number(counter.value);
        }
        (self.name(), format!("{:016x} {:016x}", samples.0, counters.0))
    }
}

/// FNV-1a over 64 bits: whole numbers only, the same on every machine.
struct Fingerprint(u64);

impl Fingerprint {
    fn new() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn sample(&mut self, sample: &Sample) {
        self.number(sample.start_ns);
        self.number(sample.end_ns);
        self.number(u64::from(sample.is_ramp));
        self.number(u64::from(sample.is_extrapolated));
        for direction in [&sample.read, &sample.write] {
            self.number(direction.ios);
            self.number(direction.bytes);
            self.number(direction.errors);
            self.bytes(&direction.latency.sum_ns().to_le_bytes());
            self.number(direction.latency.min_ns());
            self.number(direction.latency.max_ns());
            for (bin, count) in direction.latency.filled_bins() {
                self.number(bin as u64);
                self.number(count);
            }
        }
    }
}

/// Reads, mixed load and writes of a small block, streams of a large one, long loads of which windows are simulated, and
/// what happens to an array, for every kind of array and layout that ships.
const CASES: &[Case] = &[
    case("dorado-2100-g2", &[], (Pattern::Randread, 100, 4096), (16, 32), 100),
    case("dorado-2100-g2", &[], (Pattern::Randrw, 70, 8192), (8, 8), 200),
    case("dorado-2100-g2", &[("condition", "fresh")], (Pattern::Write, 0, 16_384), (8, 8), 100),
    case("dorado-2100-g2", &[("raid", "0")], (Pattern::Randwrite, 0, 4096), (64, 64), 100),
    case("dorado-2100-g2", &[("write_cache", "on")], (Pattern::Randwrite, 0, 1 << 20), (4, 4), 500),
    case("dorado-2100-g2", &[], (Pattern::Randwrite, 0, 65_536), (64, 64), 150_000),
    case("flashsystem-840", &[], (Pattern::Randrw, 80, 4096), (64, 8), 100),
    case("flashsystem-840", &[], (Pattern::Randrw, 50, 65_536), (4, 8), 500),
    case("flashsystem-840", &[], (Pattern::Read, 100, 262_144), (8, 4), 500),
    case("flashsystem-840", &[], (Pattern::Write, 0, 262_144), (8, 4), 500),
    case("flashsystem-840", &[], (Pattern::Randrw, 80, 8192), (16, 2), 90_000).with(Event::FirmwareUpdate),
    case("raid-levels", &[("raid", "0"), ("disks", "5")], (Pattern::Randread, 100, 512), (8, 1), 20_000),
    case("raid-levels", &[("raid", "10"), ("disks", "8")], (Pattern::Randrw, 70, 4096), (8, 1), 20_000),
    case("raid-levels", &[("raid", "5"), ("disks", "7")], (Pattern::Randwrite, 0, 512), (8, 1), 20_000),
    case("raid-levels", &[("raid", "6"), ("write_cache", "on")], (Pattern::Randrw, 70, 512), (8, 1), 20_000),
    case("raid-levels", &[("raid", "6")], (Pattern::Randrw, 70, 4096), (8, 1), 30_000)
        .with(Event::DriveFailure),
    case("raid-levels", &[("raid", "5")], (Pattern::Randrw, 50, 4096), (8, 1), 600_000),
    case("e2700", &[("layout", "ddp")], (Pattern::Randrw, 50, 8192), (2, 8), 10_000),
    case("e2700", &[("layout", "raid6")], (Pattern::Write, 0, 524_288), (2, 8), 5_000),
    case("e2700", &[("layout", "raid10")], (Pattern::Read, 100, 262_144), (2, 4), 5_000),
    case("e2700", &[("layout", "ddp")], (Pattern::Rw, 50, 524_288), (2, 4), 90_000),
    case("e2700", &[("layout", "ddp")], (Pattern::Randread, 100, 4096), (2, 8), 30_000)
        .with(Event::DriveFailure),
    case("storpool", &[("volume", "nvme"), ("host", "client")], (Pattern::Randrw, 50, 4096), (1, 64), 500),
    case("storpool", &[("volume", "hybrid")], (Pattern::Randwrite, 0, 4096), (1, 64), 2_000),
    case("storpool", &[("volume", "hdd")], (Pattern::Randread, 100, 4096), (1, 16), 5_000),
    case(
        "storpool",
        &[("volume", "hdd"), ("limit_iops", "500")],
        (Pattern::Write, 0, 1 << 20),
        (1, 16),
        5_000,
    ),
    case("storpool", &[("volume", "hybrid")], (Pattern::Randrw, 70, 4096), (1, 64), 90_000),
    case("composite-flash", &[], (Pattern::Randrw, 70, 4096), (16, 16), 50),
    case("composite-flash", &[], (Pattern::Randwrite, 0, 4096), (16, 16), 50),
    case("small-flash", &[], (Pattern::Randwrite, 0, 4096), (4, 16), 5_000),
    case("st1000nm0023", &[], (Pattern::Randread, 100, 4096), (1, 16), 20_000),
    case("st1000nm0023", &[], (Pattern::Read, 100, 65_536), (1, 4), 5_000),
];

/// All lines, however many threads make them.
fn lines(threads: usize) -> BTreeMap<String, String> {
    let next = Mutex::new(CASES.iter());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { break };
                    let (name, line) = case.line();
                    done.lock().unwrap().insert(name, line);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// Proves that what every shipped array does under short loads is the same to the last bin and counter as when it was last
/// changed on purpose, with one thread and with two.
#[test]
fn results_are_those_of_the_version_before() {
    let found = lines(2);
    assert_eq!(found.len(), CASES.len(), "a name a case");
    for (one, two) in lines(1).iter().zip(&found) {
        assert_eq!(one, two, "one thread and two");
    }
    let text: String = found.iter().map(|(name, line)| format!("{name} {line}\n")).collect();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        std::fs::write(KEPT, &text).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(KEPT).unwrap();
    let missing = |from: &str, other: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        from.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    let (now, before) = (missing(&text, &kept), missing(&kept, &text));
    assert!(
        now.is_empty() && before.is_empty(),
        "results changed (samples, counters); now\n{}\nbefore\n{}\nIf that is what the change is for, run\n  \
         {UPDATE}=1 cargo test -p twin --test fingerprint\nlook at the difference in crates/twin/tests/fingerprints.txt, \
         commit it with the change, and make the figures in docs/models/ and crates/report/reference/ anew.",
        now.join("\n"),
        before.join("\n")
    );
}
