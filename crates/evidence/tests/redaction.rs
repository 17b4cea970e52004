//! Redaction of generated inventories with planted names.

use findings::{Bounds, Findings, compare, find, inventory_changes, kept_plan, trends};
use load::Random;
use report::{Compared, ComparedRun};
use serde_json::{Value, json};
use std::path::Path;
use store::{
    CaseOutcome, CaseStatus, Event, Manifest, ManifestHost, ManifestTarget, NewCase, Run, RunEnd, RunReader,
    SourceText,
};

/// Runs in full.
const RUNS: u64 = 100;
const HOSTS: usize = 9;
/// Comparisons in full.
const COMPARISONS: u64 = 25;
/// Runs of a comparison.
const COMPARED: usize = 4;

/// Count in full, or a fifth of it in `make test`.
fn full_or_fifth(count: u64) -> u64 {
    if test_support::is_long() { count } else { count / 5 }
}

/// Names that must not be in a report, and the generator of them.
struct Planted {
    random: Random,
    names: Vec<String>,
}

impl Planted {
    fn number(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below
    }

    fn letters(&mut self, alphabet: &str, count: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| alphabet[self.number(alphabet.len() as u64) as usize]).collect()
    }

    fn keep(&mut self, name: String) -> String {
        self.names.push(name.clone());
        name
    }

    fn word(&mut self) -> String {
        // Not a word of any report: consonants alone.
        self.letters("bcdfghjkmnpqrtvwxz", 7)
    }

    fn host(&mut self) -> String {
        let (word, number) = (self.word(), self.number(90));
        self.keep(format!("{word}{number}"))
    }

    fn user(&mut self) -> String {
        let word = self.word();
        self.keep(word)
    }

    fn serial(&mut self) -> String {
        let (digits, letters) =
            (self.letters("0123456789", 3), self.letters("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 7));
        self.keep(format!("S{digits}N{letters}"))
    }

    fn hexadecimal(&mut self, count: usize) -> String {
        self.letters("0123456789abcdef", count)
    }

    fn wwn(&mut self) -> String {
        let digits = self.hexadecimal(15);
        self.keep(format!("5{digits}"))
    }

    fn wwid(&mut self) -> String {
        let digits = self.hexadecimal(31);
        self.keep(format!("36{digits}"))
    }

    fn ipv4(&mut self) -> String {
        let parts: Vec<String> = (0..4).map(|_| (11 + self.number(200)).to_string()).collect();
        self.keep(parts.join("."))
    }

    fn ipv6(&mut self) -> String {
        let parts: Vec<String> = (0..3).map(|_| self.hexadecimal(4)).collect();
        self.keep(format!("fd{}::{}", self.names.len() % 90 + 10, parts.join(":")))
    }

    fn mac(&mut self) -> String {
        let parts: Vec<String> = (0..6).map(|_| self.hexadecimal(2)).collect();
        self.keep(parts.join(":"))
    }

    fn uuid(&mut self) -> String {
        let parts: Vec<String> = [8, 4, 4, 4, 12].map(|count| self.hexadecimal(count)).to_vec();
        self.keep(parts.join("-"))
    }

    fn path(&mut self) -> String {
        let (user, word) = (self.word(), self.word());
        self.names.push(user.clone());
        let folders = ["/home", "/srv", "/mnt", "/var/lib", "/opt"];
        let folder = folders[self.number(5) as usize];
        self.keep(format!("{folder}/{user}/{word}.img"))
    }
}

/// Facts and command outputs as hosts give them.
fn inventory(planted: &mut Planted, host: &str) -> Value {
    let (serial, wwn, wwid, uuid) = (planted.serial(), planted.wwn(), planted.wwid(), planted.uuid());
    let (user, path, mac) = (planted.user(), planted.path(), planted.mac());
    let (first, second, address6) = (planted.ipv4(), planted.ipv4(), planted.ipv6());
    let (other, unnamed) = (planted.host(), planted.serial());
    let colons = |digits: &str| {
        let pairs: Vec<&str> = (0..8).map(|place| &digits[2 * place..2 * place + 2]).collect();
        pairs.join(":")
    };
    let with_colons = planted.keep(colons(&wwn));
    let outputs = [
        (
            "lsblk -o NAME,SERIAL,WWN",
            format!("NAME SERIAL WWN\nsda {serial} 0x{wwn}\nsdb {unnamed} eui.{wwn}\n"),
        ),
        ("nvme list", format!("/dev/nvme0n1 {serial} MODEL 1 3.84 TB\n/dev/nvme1n1 {unnamed} MODEL\n")),
        (
            "nvme list-subsys",
            format!("nqn.2014-08.org.nvmexpress:uuid:{uuid}\n traddr={first} trsvcid=4420 host_iface=eth0\n"),
        ),
        (
            "multipath -ll",
            format!("mpatha ({wwid}) dm-0 VENDOR,MODEL\n `- 1:0:0:1 sda 8:0 active ready running\n"),
        ),
        (
            "ip addr",
            format!(
                "link/ether {mac} brd ff\n inet {second}/24 scope global\n inet6 {address6}/64 scope link\n"
            ),
        ),
        ("iscsiadm -m session", format!("tcp: [1] {first}:3260,1 iqn.1994-05.com.{other}:{user}\n")),
        (
            "smartctl -i /dev/sda",
            format!("Serial Number:    {serial}\nLU WWN Device Id: {wwn}\nUser Capacity: 1 TB\n"),
        ),
        ("dmidecode", format!("\tSerial Number: {unnamed}\n\tUUID: {uuid}\n\tAsset Tag: {serial}\n")),
        ("cat /sys/class/fc_host/host1/port_name", format!("0x{wwn}\nport {with_colons}\n")),
        ("hostnamectl", format!(" Static hostname: {other}\n Boot ID: {}\n", uuid.replace('-', ""))),
        ("mount", format!("{second}:{path} on {path} type nfs (rw,addr={second})\n")),
        ("last", format!("user={user} from {other}.corp.example\nssh {user}@{other}\nowner: {user}\n")),
    ];
    planted.names.push(uuid.replace('-', ""));
    let answers: Vec<Value> =
        outputs.iter().map(|(command, output)| json!({"command": command, "output": output})).collect();
    json!({"hostname": format!("{host}.lab.example"), "kernel": "6.12.0", "cpu_model": "Xeon",
        "boot_command_line": format!("BOOT_IMAGE=/vmlinuz root=UUID={uuid} rd.iscsi.initiator=iqn.1994-05.com:{user}"),
        "user": user, "serial": serial, "machine_id": uuid, "devices": {"sda": {"wwid": format!("naa.{wwn}")}},
        "inventory": answers})
}

fn run(directory: &Path, planted: &mut Planted) -> RunReader {
    let own = planted.host();
    run_on(directory, planted, &own)
}

/// A run by this host.
fn run_on(directory: &Path, planted: &mut Planted, own: &str) -> RunReader {
    let loaded = plan::load_plan("quick").expect("it ships");
    let hosts: Vec<ManifestHost> = (0..HOSTS)
        .map(|_| {
            let (name, user) = (planted.host(), planted.user());
            let (address, path) = (planted.ipv4(), planted.path());
            let facts = inventory(planted, &name);
            ManifestHost {
                address: format!("ssh://{user}@{address}:22"),
                targets: vec![ManifestTarget { spec: path, identity: Value::Null }],
                name,
                facts,
            }
        })
        .collect();
    let (path, serial, wwid) = (planted.path(), planted.serial(), planted.wwid());
    let manifest = Manifest {
        arraylab_version: "0.1.0".into(),
        run_id: "20261120T134000Z-01020304".into(),
        created_utc: "2026-11-20T13:40:00Z".into(),
        seed: 1,
        plan: SourceText { name: loaded.name, source: loaded.source, text: loaded.text },
        targets: vec![ManifestTarget {
            spec: path.clone(),
            identity: json!({"device": {"path": path, "serial": serial, "wwid": wwid}, "consents": [format!("{serial}-1")]}),
        }],
        engine: "ring".into(),
        interval_ns: 1_000_000_000,
        command_line: ["arraylab", "run", "quick", "--target", &path, "--overwrite-data", &serial]
            .map(str::to_owned)
            .to_vec(),
        host: inventory(planted, own),
        hosts,
        ..Manifest::default()
    };
    let settings = json!({"rw": "randread", "bs": 4096, "numjobs": 1, "iodepth": 1, "rwmixread": 100});
    let case = NewCase {
        plan: "quick".into(),
        stage: "random".into(),
        name: "bs=4096".into(),
        settings: settings.as_object().expect("an object").clone(),
        estimated_duration_ns: 1,
        estimated_write_bytes: 0,
    };
    let mut run = Run::create(directory, &manifest, &[case]).expect("a run");
    let after = inventory(planted, own);
    for answer in after["inventory"].as_array().expect("answers") {
        let event = Event {
            kind: "inventory".into(),
            text: "inventory".into(),
            data: Some(answer.clone()),
            ..Event::default()
        };
        run.append_event(&event).expect("an event");
    }
    let text = format!("{} pulled {serial} of {own} at {}", planted.path(), planted.ipv4());
    let mark =
        Event { kind: "mark".into(), text, data: Some(json!({"path": planted.path()})), ..Event::default() };
    run.append_event(&mark).expect("an event");
    run.append_warning(None, &format!("{own}: {path} ({wwid}) is slow")).expect("a warning");
    run.begin_case(0).expect("begun");
    run.finish_case(
        0,
        &CaseOutcome {
            status: CaseStatus::Failed,
            engine: "ring".into(),
            target: path.clone(),
            duration_ns: 1,
            loads: Vec::new(),
            error: Some(format!("{path}: Input/output error, {serial} on {own}")),
            warnings: vec![format!("{own} is busy")],
            extrapolation: None,
        },
    )
    .expect("finished");
    run.end(&RunEnd::Done).expect("ended");
    RunReader::open(directory).expect("a run")
}

/// Refuses a text with one of the names.
fn assert_absent(seed: u64, names: &[String], formats: &[(&str, String)]) {
    for (format, text) in formats {
        let text = text.to_lowercase();
        for name in names {
            if let Some(at) = text.find(&name.to_lowercase()) {
                let from = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
                panic!("seed {seed}: {name} is in {format}: {}", &text[from..at + name.len()]);
            }
        }
    }
}

/// Proves that of 1,000 generated inventories (25 comparisons of four runs with ten hosts each) no planted name is in any format
/// of the report of a comparison, nor in the changes of the inventory, and that a host that several runs name has one pseudonym; a fifth
/// of them in `make test`.
#[test]
fn planted_names_are_in_no_comparison() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    for seed in 0..full_or_fifth(COMPARISONS) {
        let place = directory.path().join(seed.to_string());
        let mut planted = Planted { random: Random::from_seed(1_000 + seed), names: Vec::new() };
        let common = planted.host();
        let originals: Vec<RunReader> = (0..COMPARED)
            .map(|number| {
                // The first and the last run are by the same host.
                let own = if number % (COMPARED - 1) == 0 { common.clone() } else { planted.host() };
                run_on(&place.join(format!("{own}-{number}")), &mut planted, &own)
            })
            .collect();
        let copies = evidence::redacted_copies(&originals, &place.join("copies")).expect("copies");
        let found: Vec<Findings> = copies
            .iter()
            .map(|run| {
                let plan = kept_plan(run.manifest(), &run.cases().expect("cases")).expect("the plan");
                find(run, &plan).expect("findings")
            })
            .collect();
        let names: Vec<String> = (1..=copies.len()).map(|number| format!("run-{number}")).collect();
        let runs: Vec<ComparedRun<'_>> = copies
            .iter()
            .zip(&found)
            .zip(&names)
            .map(|((run, found), name)| ComparedRun { name, manifest: run.manifest(), found })
            .collect();
        let changes: Vec<_> =
            copies.windows(2).map(|pair| inventory_changes(pair[0].manifest(), pair[1].manifest())).collect();
        let comparisons: Vec<_> =
            found[1..].iter().map(|other| compare(&found[0], other, &Bounds::default())).collect();
        let compared =
            Compared { runs: &runs, comparisons: &comparisons, trends: &trends(&found), changes: &changes };
        let report = report::comparison(&compared);
        let formats = [
            ("html", report.html()),
            ("md", report.markdown().replace('\\', "")),
            ("json", report.json().to_string()),
            ("changes", format!("{changes:?}")),
        ];
        assert_absent(seed, &planted.names, &formats);
        assert!(changes.iter().all(|changes| !changes.is_empty()) && formats[0].1.contains("serial-1"));
        let host = |run: &RunReader| run.manifest().host["hostname"].clone();
        let last = COMPARED - 1;
        assert_eq!(host(&copies[0]), host(&copies[last]), "one host, one pseudonym");
        assert_ne!(host(&copies[0]), host(&copies[1]), "two hosts, two pseudonyms");
        std::fs::remove_dir_all(&place).expect("removed");
    }
}

/// Proves that of 1,000 generated inventories (100 runs with nine hosts beside their own) no planted serial, WWN, host, user,
/// address or path is in any format of the report, nor in the copy that it is written from, and that the same name has the same
/// pseudonym each time; a fifth of them in `make test`.
#[test]
fn planted_names_are_in_no_format() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    for seed in 0..full_or_fifth(RUNS) {
        let place = directory.path().join(seed.to_string());
        let mut planted = Planted { random: Random::from_seed(seed + 1), names: Vec::new() };
        let original = run(&place.join("run"), &mut planted);
        let copy = evidence::redacted_copy(&original, &place.join("copy")).expect("a copy");
        let report = report::from_run(&copy).expect("a report");
        let again = evidence::redacted_copy(&original, &place.join("again")).expect("a copy");
        let json = report.json().to_string();
        assert_eq!(json, report::from_run(&again).expect("a report").json().to_string());
        let manifest = std::fs::read_to_string(place.join("copy/manifest.json")).expect("a manifest");
        // As a bundle has it: without what a rewritten page still holds of its texts.
        copy.copy_database(&place.join("bundled")).expect("a database");
        let database = std::fs::read(place.join("bundled")).expect("a database");
        let database = String::from_utf8_lossy(&database).into_owned();
        let formats = [
            ("html", report.html()),
            ("md", report.markdown().replace('\\', "")),
            ("json", json),
            ("manifest", manifest),
            ("database", database),
        ];
        assert_absent(seed, &planted.names, &formats);
        assert!(report.html().contains("host-1") && report.html().contains("path-1"));
        std::fs::remove_dir_all(&place).expect("removed");
    }
}
