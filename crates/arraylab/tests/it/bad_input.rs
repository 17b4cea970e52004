//! Bad input: one clear message, exit status 2, and nothing written.

use crate::support::{LoopDevice, Mount, refuse, succeed, text, tool};
use std::fs;
use std::path::Path;

/// Runs a plan text on the twin and gives what is said. Nothing may be left behind.
fn refused_plan(name: &str, plan: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("{name}.yaml"));
    fs::write(&file, plan).unwrap();
    let run = directory.path().join("run");
    let (code, printed_text) = refuse(&[
        "run",
        file.to_str().unwrap(),
        "--target",
        "twin:flashsystem-840",
        "--out",
        run.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(2), "{printed_text}");
    assert!(!run.exists(), "nothing is written");
    printed_text.replace(directory.path().to_str().unwrap(), "DIR")
}

const STAGE: &str = "title: t\nstages:\n  one:\n    settings:\n";

/// Proves that a mistake in a plan is shown with file, line, column, the line itself and what to do.
#[test]
fn mistakes_in_a_plan() {
    for (name, plan) in [
        ("tab", "title: t\nstages:\n\tone: {}\n".to_owned()),
        ("duplicate-key", "title: t\ntitle: again\nstages: {}\n".to_owned()),
        ("unknown-key", format!("{STAGE}      rw: read\n      bs: 4k\nstaegs: {{}}\n")),
        ("unknown-setting", format!("{STAGE}      rw: read\n      bs: 4k\n      iodpeth: 4\n")),
        ("zero-block", format!("{STAGE}      rw: read\n      bs: 0\n")),
        ("jobs", format!("{STAGE}      rw: read\n      bs: 4k\n      numjobs: 1000000000\n")),
        ("empty", String::new()),
        ("alias-bomb", alias_bomb()),
        ("million-cases", million_cases()),
    ] {
        let printed_text = refused_plan(name, &plan);
        insta::assert_snapshot!(name, printed_text);
    }
}

/// Nine levels of nine aliases each, where the plan language expects a list: 9^9 strings if they were followed.
fn alias_bomb() -> String {
    let mut text = "title: t\nstages: {}\nnotes:\n  - &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("  - &a{level} [{aliases}]\n"));
    }
    text
}

fn million_cases() -> String {
    let values =
        |count: u32, step: u32| (1..=count).map(|n| (n * step).to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "title: t\nstages:\n  one:\n    settings:\n      rw: randrw\n    matrix:\n      bs: [{}]\n      numjobs: [{}]\n      rwmixread: [{}]\n",
        values(101, 512),
        values(100, 1),
        values(100, 1)
    )
}

/// Proves that a target that cannot be used is refused with what to do instead.
#[test]
fn targets_that_cannot_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.img");
    fs::write(&empty, b"").unwrap();
    let missing = directory.path().join("missing.img");
    let foreign = directory.path().join("data.img");
    fs::write(&foreign, vec![7u8; 1 << 20]).unwrap();
    for (target, words) in [
        (empty.to_str().unwrap(), "size="),
        (missing.to_str().unwrap(), "missing.img"),
        (foreign.to_str().unwrap(), "--overwrite-data"),
        (directory.path().to_str().unwrap(), "directory"),
        ("twin:flashsystem-804", "flashsystem-840"),
        ("twin:flashsystem-840,wirte_cache=off", "write_cache"),
        ("ftp://host/file", "ftp"),
        ("", "target"),
    ] {
        let printed_text = refused_target(target, directory.path());
        assert!(printed_text.contains(words), "{target}: {printed_text}");
    }
    assert_eq!(fs::read(&foreign).unwrap(), vec![7u8; 1 << 20], "the data is untouched");
}

fn refused_target(target: &str, scratch: &Path) -> String {
    let run = scratch.join("run");
    let (code, printed_text) = refuse(&["run", "quick", "--target", target, "--out", run.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{target}: {printed_text}");
    assert!(!run.exists(), "nothing is written for {target}");
    printed_text
}

/// Proves that a mounted device is refused, also with its consent ID, and that its content stays.
#[test]
fn a_mounted_device() {
    let device = LoopDevice::new(64 << 20);
    tool("mkfs.ext4", &["-q", "-F", &device.path]);
    let directory = tempfile::tempdir().unwrap();
    let mounted = directory.path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    let unmounted = refused_target(&device.path, directory.path());
    let (_, rest) =
        unmounted.split_once("--overwrite-data ").expect("consent would be possible while unmounted");
    let id = rest.split_whitespace().next().unwrap();
    {
        let _mount = Mount::new(&[&device.path], &mounted);
        fs::write(mounted.join("file"), "kept").unwrap();
        let run = directory.path().join("run");
        let (code, printed_text) = refuse(&[
            "run",
            "quick",
            "--target",
            &device.path,
            "--out",
            run.to_str().unwrap(),
            "--overwrite-data",
            id,
        ]);
        assert_eq!(code, Some(2), "{printed_text}");
        assert!(printed_text.contains("mounted"), "{printed_text}");
        assert!(!run.exists());
    }
    let _mount = Mount::new(&[&device.path], &mounted);
    assert_eq!(fs::read_to_string(mounted.join("file")).unwrap(), "kept");
}

/// Proves that a missing fio is named, with what to do, before the target's file is created.
#[test]
fn a_missing_fio() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("test.img");
    let run = directory.path().join("run");
    let output = crate::support::command(&[
        "run",
        "quick",
        "--target",
        &format!("file:{},size=64m", file.display()),
        "--out",
        run.to_str().unwrap(),
        "--engine",
        "fio",
    ])
    .env("ARRAYLAB_FIO", directory.path().join("no-fio"))
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("apt-get install fio"), "{}", text(&output.stderr));
    assert!(!file.exists() && !run.exists(), "nothing is written");
}

/// Proves that what is typed wrong on the command line ends with status 2 and a usable message.
#[test]
fn wrong_use() {
    for (arguments, words) in [
        (&["frobnicate"][..], "frobnicate"),
        (&["run", "quick"], "--target"),
        (&["expand", "quik"], "quick"),
        (&["expand", "quick", "--stage", "cornres"], "stage"),
        (&["expand", "quick", "--only", "bs"], "KEY=VALUE"),
        (&["expand", "quick", "--set", "runtiem=3"], "runtime"),
        (&["results", "/nonexistent"], "not a run"),
        (&["run", "--resume", "/nonexistent"], "not a run"),
    ] {
        let (code, printed_text) = refuse(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {printed_text}");
        assert!(printed_text.contains(words), "{arguments:?}: {printed_text}");
    }
}

/// Proves that an array that cannot be is refused with the line and column of the value to blame, the line itself, the reason
/// and what would do, by `show` and by `run`, which writes nothing.
#[test]
fn impossible_arrays() {
    let drives = |count: u32| format!("    count: {{ value: {count},");
    /// Mistake, the array that is changed, its replacements, and the line with the error.
    type Mistake<'a> = (&'a str, &'a str, Vec<(String, String)>, &'a str);
    let value = |from: &str, to: &str| vec![(from.to_owned(), to.to_owned())];
    let mistakes: [Mistake<'_>; 17] = [
        (
            "RAID 6 with 3 drives",
            "raid-levels",
            vec![
                ("value: raid5".into(), "value: raid6".into()),
                ("spares: { value: 0,".into(), "spares: { value: 9,".into()),
            ],
            "layout: { value: raid6,",
        ),
        (
            "a drive of no size",
            "raid-levels",
            vec![("value: 1000204886016B".into(), "value: 0B".into())],
            "capacity: { value: 0B,",
        ),
        (
            "a controller with no link",
            "raid-levels",
            vec![(
                "controllers:\n  label: PERC H810\n  count: { value: 1,".into(),
                "controllers:\n  label: PERC H810\n  count: { value: 2,".into(),
            )],
            "ports: { value: 1, origin: datasheet,",
        ),
        (
            "volumes larger than the drives",
            "raid-levels",
            vec![("value: 12GiB".into(), "value: 12TiB".into())],
            "size: { value: 12TiB,",
        ),
        (
            "a pool of 10 drives",
            "e2700",
            vec![("value: raid6".into(), "value: pool".into()), (drives(24), drives(10))],
            "layout: { value: pool,",
        ),
        ("10^6 drives", "raid-levels", vec![(drives(12), drives(1_000_000))], "count: { value: 1000000,"),
        ("10^6 SSDs", "dorado-2100-g2", vec![(drives(25), drives(1_000_000))], "count: { value: 1000000,"),
        (
            "SSDs of no size",
            "dorado-2100-g2",
            value("capacity: { value: 148333658112B,", "capacity: { value: 0B,"),
            "capacity: { value: 0B,",
        ),
        (
            "a controller of SSDs with no link",
            "dorado-2100-g2",
            value("ports: { value: 4,", "ports: { value: 1,"),
            "ports: { value: 1, origin: published, from: 4 × 8 Gb",
        ),
        (
            "RAID 6 of 3 SSDs",
            "dorado-2100-g2",
            vec![
                ("layout: { value: raid5,".into(), "layout: { value: raid6,".into()),
                (drives(25), drives(3)),
            ],
            "layout: { value: raid6,",
        ),
        (
            "RAID 5 with 2 modules",
            "flashsystem-840",
            value("spares: { value: 1,", "spares: { value: 6,"),
            "layout: { value: raid5,",
        ),
        (
            "modules of no size",
            "flashsystem-840",
            value("value: 1.87TB, origin: published", "value: 0B, origin: published"),
            "capacity: { value: 0B,",
        ),
        (
            "a controller of modules with no link",
            "flashsystem-840",
            value("ports: { value: 8,", "ports: { value: 1,"),
            "ports: { value: 1, origin: published, from: \"8 × 8 Gb",
        ),
        (
            "10^6 modules",
            "flashsystem-840",
            value(
                "count: { value: 8, origin: published, from: 8 of",
                "count: { value: 1000000, origin: published, from: 8 of",
            ),
            "count: { value: 1000000,",
        ),
        (
            "three replicas on two nodes",
            "storpool",
            value(
                "count: { value: 3, origin: published, from: 3 nodes",
                "count: { value: 2, origin: published, from: 3 nodes",
            ),
            "count: { value: 2,",
        ),
        (
            "disks of no size in nodes",
            "storpool",
            value("capacity: { value: 2TB,", "capacity: { value: 0B,"),
            "capacity: { value: 0B,",
        ),
        (
            "10^6 drives in a node",
            "storpool",
            value(
                "count: { value: 4, origin: published, from: 4 × 960",
                "count: { value: 1000000, origin: published, from: 4 × 960",
            ),
            "count: { value: 1000000,",
        ),
    ];
    for (what, array, changes, line) in mistakes {
        let mut text = succeed(&["show", "array", array]);
        for (old, new) in &changes {
            assert!(text.contains(old.as_str()), "{what}: {array} has no {old:?}");
            text = text.replacen(old.as_str(), new, 1);
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("array.yaml");
        fs::write(&file, &text).unwrap();
        let file = file.to_str().unwrap();
        let (code, printed_text) = refuse(&["show", "array", file]);
        assert_eq!(code, Some(2), "{what}: {printed_text}");
        let run = directory.path().join("run");
        let target = format!("twin:{file}");
        let (code, said_by_run) =
            refuse(&["run", "quick", "--target", &target, "--out", run.to_str().unwrap()]);
        assert_eq!((code, run.exists()), (Some(2), false), "{what}: {said_by_run}");
        for printed_text in [printed_text, said_by_run] {
            let at = text.lines().position(|one| one.contains(line)).expect(line);
            let column = text.lines().nth(at).unwrap().find("value: ").unwrap() + "value: ".len() + 1;
            assert!(
                printed_text.contains(&format!("{file}:{}:{column}: ", at + 1)),
                "{what}: {printed_text}"
            );
            assert!(printed_text.contains(line) && printed_text.contains("hint: "), "{what}: {printed_text}");
        }
    }
}

/// Proves that a share of the capacity over 100 % is refused by name.
#[test]
fn coverage_over_100_percent() {
    for target in ["twin:dorado-2100-g2,coverage=120", "twin:dorado-2100-g2"] {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let run_name = run.to_str().unwrap();
        let set: &[&str] = if target.contains("120") { &[] } else { &["--set", "coverage=120"] };
        let arguments = ["run", "quick", "--target", target, "--out", run_name];
        let (code, printed_text) = refuse(&[arguments.as_slice(), set].concat());
        assert_eq!((code, run.exists()), (Some(2), false), "{printed_text}");
        assert!(printed_text.contains("coverage") && printed_text.contains("100"), "{printed_text}");
    }
}
