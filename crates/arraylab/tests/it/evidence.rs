//! Bundles: packed, verified, altered and hostile.

use crate::support::{arraylab, full_or_tenth, json_lines, run_on, succeed, text};
use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use load::Random;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Members of a bundle by name, in their order.
type Members = Vec<(String, Vec<u8>)>;

struct Bundle {
    directory: tempfile::TempDir,
    members: Members,
}

impl Bundle {
    fn new() -> Bundle {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let only = ["--stage", "read-share", "--only", "rwmixread=80,100", "--set", "runtime=2"];
        assert!(run_on("flashsystem-840", "twin:flashsystem-840", &run, &only).status.success());
        let path = directory.path().join("a.tar.gz");
        succeed(&["bundle", run.to_str().unwrap(), "--out", path.to_str().unwrap()]);
        let members = read(&path);
        Bundle { directory, members }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a bundle with one member changed; with `is_listed` its hash in the list is changed too.
    fn with(&self, name: &str, is_listed: bool, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut members = self.members.clone();
        let member = members.iter_mut().find(|(member, _)| member == name).expect(name);
        change(&mut member.1);
        if is_listed {
            list_again(&mut members);
        }
        let path = self.path("changed.tar.gz");
        write(&path, &members);
        path
    }
}

fn read(path: &Path) -> Members {
    let bytes = std::fs::read(path).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(&bytes[..]));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    });
    entries.collect()
}

fn archive_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        append(&mut archive, name, tar::EntryType::Regular, bytes.len() as u64, bytes);
    }
    archive.into_inner().unwrap()
}

/// A member under any name at all, which the library would refuse to write.
fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, size: u64, bytes: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    if kind == tar::EntryType::Symlink {
        header.set_link_name("/tmp").unwrap();
    }
    header.set_cksum();
    archive.append(&header, bytes).unwrap();
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    GzBuilder::new().read(bytes, Compression::fast()).read_to_end(&mut compressed).unwrap();
    compressed
}

fn write(path: &Path, members: &[(String, Vec<u8>)]) {
    std::fs::write(path, compressed(&archive_of(members))).unwrap();
}

/// Writes sizes and hashes of the members into their list, as one who alters a bundle would.
fn list_again(members: &mut Members) {
    use sha2::Digest as _;
    let facts: Vec<(String, usize, String)> = members
        .iter()
        .map(|(name, bytes)| (name.clone(), bytes.len(), format!("{:x}", sha2::Sha256::digest(bytes))))
        .collect();
    let mut list: Value = serde_json::from_slice(&members[0].1).unwrap();
    for member in list["members"].as_array_mut().unwrap() {
        let (_, size, hash) = facts.iter().find(|(name, ..)| member["path"] == **name).unwrap().clone();
        member["bytes"] = size.into();
        member["sha256"] = hash.into();
    }
    members[0].1 = serde_json::to_vec(&list).unwrap();
}

/// Exit status and lines of `verify-report`.
fn verify(path: &Path) -> (Option<i32>, Vec<Value>) {
    let output = arraylab(&["verify-report", path.to_str().unwrap(), "--json"]);
    (output.status.code(), json_lines(&text(&output.stdout)))
}

/// Kinds and places of what differs; the exit status has to be 1.
fn differences(path: &Path) -> Vec<(String, String)> {
    let (code, lines) = verify(path);
    assert_eq!(code, Some(1), "{lines:?}");
    assert_eq!(lines.last().unwrap()["agrees"], false);
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    lines[..lines.len() - 1].iter().map(|line| (word(line, "kind"), word(line, "place"))).collect()
}

fn replace(bytes: &mut Vec<u8>, from: &str, to: &str) {
    let whole = String::from_utf8(bytes.clone()).unwrap();
    assert!(whole.contains(from), "{from}");
    *bytes = whole.replacen(from, to, 1).into_bytes();
}

/// Writes a change into the database of a bundle.
fn in_database(bytes: &mut Vec<u8>, sql: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.sqlite");
    std::fs::write(&path, &bytes).unwrap();
    crate::support::tool("sqlite3", &[path.to_str().unwrap(), sql]);
    *bytes = std::fs::read(&path).unwrap();
}

/// Proves that the same run gives the same bytes, that a bundle is never written over a file, and that verifying one finds
/// every member and recomputes every number.
#[test]
fn a_bundle_agrees_with_itself() {
    let bundle = Bundle::new();
    let (run, again) = (bundle.path("run"), bundle.path("again.tar.gz"));
    let arguments = ["bundle", run.to_str().unwrap(), "--out", again.to_str().unwrap()];
    succeed(&arguments);
    assert_eq!(std::fs::read(bundle.path("a.tar.gz")).unwrap(), std::fs::read(&again).unwrap());
    assert_eq!(arraylab(&arguments).status.code(), Some(2), "a file is never written over");
    let (code, lines) = verify(&again);
    assert_eq!((code, lines.len()), (Some(0), 1), "{lines:?}");
    assert!(lines[0]["numbers"].as_u64().unwrap() > 100 && lines[0]["members"] == 11, "{lines:?}");
    assert!(succeed(&["verify-report", again.to_str().unwrap()]).starts_with("agrees: 11 members"));
}

/// Proves that the bundle of a plan without published tables, on a twin whose model is validated, agrees with itself, and that
/// the first page of its failed verdict says what failed and what to ask.
#[test]
fn a_failed_acceptance_says_what_to_ask() {
    let directory = tempfile::tempdir().unwrap();
    let (run, path) = (directory.path().join("run"), directory.path().join("a.tar.gz"));
    let only = ["--stage", "mixed", "--set", "runtime=1"];
    assert_eq!(run_on("acceptance", "twin:raid-levels", &run, &only).status.code(), Some(1));
    succeed(&["bundle", run.to_str().unwrap(), "--out", path.to_str().unwrap()]);
    let (code, lines) = verify(&path);
    assert_eq!(code, Some(0), "{lines:?}");
    let json = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["verdict"], "fail");
    let sentences = report["sentences"].as_array().unwrap().iter();
    let decision: Vec<&str> = sentences
        .filter(|sentence| sentence["part"] == "decision")
        .filter_map(|sentence| sentence["text"].as_str())
        .collect();
    for beginning in ["Not kept: 99 % of mixed", "Failures: a lost drive", "Which configuration keeps “99 %"]
    {
        assert!(decision.iter().any(|text| text.starts_with(beginning)), "{beginning}: {decision:?}");
    }
}

/// Proves that each way to alter a bundle is found and named by its member, also where the list of hashes was written
/// again: then the samples contradict the report.
#[test]
fn every_alteration_is_named() {
    let bundle = Bundle::new();
    let has = |path: &Path, kind: &str, place: &str| {
        let found = differences(path);
        assert!(found.iter().any(|(a, b)| a == kind && b.contains(place)), "{kind} {place}: {found:?}");
    };
    let sample = "UPDATE samples SET ios = ios * 2; UPDATE totals SET ios = ios * 2;";
    let changed = bundle.with("run/run.sqlite", false, |bytes| in_database(bytes, sample));
    has(&changed, "hash", "run/run.sqlite");
    has(&changed, "number", "found");
    let changed = bundle.with("run/run.sqlite", true, |bytes| in_database(bytes, sample));
    has(&changed, "number", "found");
    assert!(differences(&changed).iter().all(|(kind, _)| kind != "hash"));

    // A number of the report, with and without the list of hashes.
    let report: Value =
        serde_json::from_slice(&bundle.members.iter().find(|(name, _)| name == "report.json").unwrap().1)
            .unwrap();
    let tile = report["tiles"][0]["value"]["text"].as_str().unwrap().to_owned();
    let better = format!("9{tile}");
    let in_json = |bytes: &mut Vec<u8>| {
        replace(bytes, &format!("\"text\":\"{tile}\""), &format!("\"text\":\"{better}\""));
    };
    has(&bundle.with("report.json", false, in_json), "hash", "report.json");
    let changed = bundle.with("report.json", true, in_json);
    has(&changed, "number", "tile");
    has(&changed, "page", "tile");
    has(&changed, "rendered", "report.json");
    let in_page = |bytes: &mut Vec<u8>| {
        let whole = String::from_utf8(bytes.clone()).unwrap();
        *bytes = whole.replace(&tile, &better).into_bytes();
    };
    has(&bundle.with("report.html", false, in_page), "hash", "report.html");
    let changed = bundle.with("report.html", true, in_page);
    has(&changed, "page", "tile");
    has(&changed, "rendered", "report.html");

    // The list itself.
    let changed = bundle.with("bundle.json", false, |bytes| {
        let mut list: Value = serde_json::from_slice(bytes).unwrap();
        list["members"][0]["sha256"] = "0".repeat(64).into();
        *bytes = serde_json::to_vec(&list).unwrap();
    });
    has(&changed, "hash", "run/manifest.json");
    let changed = bundle.with("bundle.json", false, |bytes| {
        let mut list: Value = serde_json::from_slice(bytes).unwrap();
        list["members"].as_array_mut().unwrap().retain(|member| member["path"] != "report.html");
        *bytes = serde_json::to_vec(&list).unwrap();
    });
    has(&changed, "extra", "report.html");
    has(&changed, "missing", "report.html");

    // Copies.
    has(&bundle.with("plan.yaml", true, |bytes| bytes.extend(b"# x\n")), "copy", "plan.yaml");
    has(&bundle.with("inventory.json", true, |bytes| bytes.push(b'\n')), "copy", "inventory.json");
    let table = "published/flashsystem-840/read-share.csv";
    has(&bundle.with(table, true, |bytes| replace(bytes, "378269", "278269")), "copy", table);
}

/// Proves that missing, additional, repeated and cut members are named, and that a truncated bundle is no valid one at
/// any length.
#[test]
fn missing_and_additional_members_are_named() {
    let bundle = Bundle::new();
    let path = bundle.path("changed.tar.gz");
    for (name, _) in &bundle.members[1..] {
        let members: Members = bundle.members.iter().filter(|(other, _)| other != name).cloned().collect();
        write(&path, &members);
        assert!(differences(&path).contains(&("missing".into(), name.clone())), "{name}");
    }
    let mut members = bundle.members.clone();
    members.push(("notes.txt".into(), b"more".to_vec()));
    members.push(bundle.members[3].clone());
    write(&path, &members);
    let found = differences(&path);
    assert!(found.contains(&("extra".into(), "notes.txt".into())), "{found:?}");
    assert!(found.contains(&("extra".into(), bundle.members[3].0.clone())), "{found:?}");

    let whole = std::fs::read(bundle.path("a.tar.gz")).unwrap();
    for share in 0..20 {
        std::fs::write(&path, &whole[..whole.len() * share / 20]).unwrap();
        let (code, lines) = verify(&path);
        assert!(matches!(code, Some(1 | 2)), "{share}: {lines:?}");
    }
    std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
    assert!(differences(&path).iter().any(|(kind, _)| kind == "truncated"));
    std::fs::write(&path, [whole.as_slice(), b"more"].concat()).unwrap();
    assert_eq!(differences(&path), [("extra".to_owned(), "the archive".to_owned())]);
}

/// Proves that a hostile bundle writes nothing outside: names that lead out, links, names of devices and sizes beyond the
/// limits are named and left packed.
#[test]
fn a_hostile_bundle_writes_nothing_outside() {
    let bundle = Bundle::new();
    let outside = bundle.path("outside");
    let names = [
        "../outside",
        "run/../../outside",
        outside.to_str().unwrap(),
        "run/./outside",
        "run//outside",
        ".outside",
        "run\\outside",
        "a/b/c/d/outside",
    ];
    let mut listed = bundle.members.clone();
    let mut list: Value = serde_json::from_slice(&listed[0].1).unwrap();
    for name in names {
        list["members"]
            .as_array_mut()
            .unwrap()
            .push(serde_json::json!({"path": name, "bytes": 4, "sha256": ""}));
    }
    listed[0].1 = serde_json::to_vec(&list).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in &listed {
        append(&mut archive, name, tar::EntryType::Regular, bytes.len() as u64, bytes);
    }
    for name in names {
        append(&mut archive, name, tar::EntryType::Regular, 4, b"evil");
    }
    append(&mut archive, "published/link", tar::EntryType::Symlink, 0, b"");
    append(&mut archive, "published/link/outside", tar::EntryType::Regular, 4, b"evil");
    append(&mut archive, "long", tar::EntryType::GNULongName, 4, b"evil");
    append(&mut archive, "device", tar::EntryType::Block, 0, b"");
    let path = bundle.path("changed.tar.gz");
    std::fs::write(&path, compressed(&archive.into_inner().unwrap())).unwrap();
    let found = differences(&path);
    assert_eq!(found.iter().filter(|(kind, _)| kind == "extra").count(), names.len() + 4, "{found:?}");
    assert_eq!(found.iter().filter(|(kind, _)| kind == "missing").count(), names.len(), "{found:?}");
    assert!(!outside.exists() && !bundle.directory.path().parent().unwrap().join("outside").exists());

    // A member that claims more bytes than any may have, and one that claims more than there are.
    for size in [evidence::TEXT_BYTES_LIMIT + 1, u64::MAX >> 1, 1 << 20] {
        let mut archive = tar::Builder::new(Vec::new());
        append(
            &mut archive,
            "bundle.json",
            tar::EntryType::Regular,
            bundle.members[0].1.len() as u64,
            &bundle.members[0].1,
        );
        append(&mut archive, "plan.yaml", tar::EntryType::Regular, size, b"short");
        std::fs::write(&path, compressed(&archive.into_inner().unwrap())).unwrap();
        let found = differences(&path);
        assert!(
            found.iter().any(|(kind, _)| kind == "over-limit" || kind == "truncated"),
            "{size}: {found:?}"
        );
    }
    // A list that is too long, of another format or version, or no JSON, is no bundle.
    let long = format!("{}{}", text(&bundle.members[0].1), " ".repeat(1 << 20));
    for list in [long.as_str(), "{}", "[]", "", "{\"format\":\"other\"}"] {
        write(&path, &[("bundle.json".to_owned(), list.as_bytes().to_vec())]);
        assert_eq!(verify(&path).0, Some(2), "{}", &list[..list.len().min(20)]);
    }
    for plain in ["", "text", "\u{1f}\u{8b}"] {
        std::fs::write(&path, plain).unwrap();
        assert_eq!(verify(&path).0, Some(2), "{plain:?}");
    }
    assert_eq!(verify(bundle.directory.path()).0, Some(2), "a directory");
}

/// Proves that no flipped byte makes the verifier panic: 300 in the compressed file, each of which is found, 300 in the
/// archive, and 400 in its database, manifest and report with the list of hashes written again; a tenth of each unless
/// `ARRAYLAB_LONG=1`. `ARRAYLAB_SEED` flips others.
#[test]
fn flipped_bytes_never_panic() {
    let bundle = Bundle::new();
    let path = bundle.path("changed.tar.gz");
    let seed = std::env::var("ARRAYLAB_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Random::from_seed(seed.unwrap_or(23));
    let mut flip = |bytes: &mut [u8], first: usize| {
        let at = first + (random.next_u64() % (bytes.len() - first) as u64) as usize;
        bytes[at] ^= 1 << (random.next_u64() % 8);
        at
    };
    let whole = std::fs::read(bundle.path("a.tar.gz")).unwrap();
    let mut original = Vec::new();
    GzDecoder::new(&whole[..]).read_to_end(&mut original).unwrap();
    for _ in 0..full_or_tenth(300) {
        let mut bytes = whole.clone();
        // The first ten bytes are the header of gzip, which says nothing of the content.
        let at = flip(&mut bytes, 10);
        std::fs::write(&path, &bytes).unwrap();
        let found = evidence::verify(&path);
        // Two compressed forms may be of the same bytes.
        let mut unpacked = Vec::new();
        let is_same = GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).is_ok() && unpacked == original;
        let is_found = found.is_err() || found.is_ok_and(|found| !found.differences.is_empty());
        assert!(is_found || is_same, "byte {at}");
    }
    let archive = archive_of(&bundle.members);
    for _ in 0..full_or_tenth(300) {
        let mut bytes = archive.clone();
        flip(&mut bytes, 0);
        std::fs::write(&path, compressed(&bytes)).unwrap();
        let _ = evidence::verify(&path);
    }
    for (name, count) in [("run/run.sqlite", 200), ("run/manifest.json", 100), ("report.json", 100)] {
        for _ in 0..full_or_tenth(count) {
            let changed = bundle.with(name, true, |bytes| {
                flip(bytes, 0);
                flip(bytes, 0);
            });
            let _ = evidence::verify(&changed);
        }
    }
}

/// Proves that a redacted report of a run on a file has neither its path nor this host's name in any format, that everything
/// else stays, and that a redacted bundle agrees with itself.
#[test]
fn a_redacted_report_names_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let (run, file) = (directory.path().join("run"), directory.path().join("planted.img"));
    let target = format!("file:{},size=64m", file.display());
    let shorter = ["--set", "runtime=1", "--set", "ramp_time=0"];
    assert!(run_on("quick", &target, &run, &shorter).status.success());
    let run = run.to_str().unwrap();
    for format in ["html", "md", "json"] {
        let out = directory.path().join(format!("redacted.{format}"));
        let out = out.to_str().unwrap();
        succeed(&["report", run, "--redact", "--format", format, "--out", out]);
        let redacted = std::fs::read_to_string(out).unwrap();
        assert!(!redacted.contains("planted") && !redacted.contains(directory.path().to_str().unwrap()));
        assert!(redacted.contains("path-1"), "{format}");
        succeed(&["report", run, "--format", format, "--out", out]);
        assert!(std::fs::read_to_string(out).unwrap().contains("planted"), "{format}");
    }
    let bundle = directory.path().join("redacted.tar.gz");
    succeed(&["bundle", run, "--redact", "--out", bundle.to_str().unwrap()]);
    assert_eq!(verify(&bundle).0, Some(0));
    assert!(read(&bundle).iter().all(|(_, bytes)| !bytes.windows(7).any(|part| part == b"planted")));
}
