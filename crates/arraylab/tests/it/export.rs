//! Plans and runs as other tools' files, checked with these tools.

use crate::support::{arraylab, json_lines, refuse, results, succeed, text, tool};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Settings with which a case moves a fixed number of bytes, and waits for nothing.
const FIXED: [&str; 8] =
    ["--set", "io_size=4m", "--set", "ramp_time=0", "--set", "size=32m", "--set", "pause=0"];

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().unwrap().to_owned()
}

/// Runs an exported job file under the installed fio on a file, and gives its jobs but for preconditioning.
fn run_fio(file: &Path, target: &Path) -> Vec<Value> {
    let output = file.with_extension("json");
    let status = Command::new("fio")
        .args(["--output-format=json", "--output"])
        .arg(&output)
        .arg(file)
        .env("TARGET", target)
        .stdin(Stdio::null())
        .status()
        .expect("fio is needed (scripts/install-test-clients.sh installs it)");
    let text = fs::read_to_string(&output).unwrap();
    assert!(status.success(), "{}: {text}", file.display());
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let is_case = |job: &&Value| !job["jobname"].as_str().unwrap().ends_with("/precondition");
    report["jobs"].as_array().unwrap().iter().filter(is_case).cloned().collect()
}

/// I/Os and bytes of a direction pair, and what they are about.
fn compare(ours: &[Value], theirs: &[Value]) {
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(theirs) {
        assert_eq!(
            (our["status"].as_str(), their["error"].as_i64()),
            (Some("done"), Some(0)),
            "{our}\n{their}"
        );
        let sum = |value: &Value, name: &str| -> u64 {
            ["read", "write"].iter().map(|direction| value[direction][name].as_u64().unwrap_or(0)).sum()
        };
        assert!(sum(our, "ios") > 0, "{our}");
        assert_eq!(
            (sum(our, "ios"), sum(our, "bytes")),
            (sum(their, "total_ios"), sum(their, "io_bytes")),
            "{}",
            their["jobname"]
        );
    }
}

/// Proves that real fio, given exported files of two plans, issues as many I/Os in each case as our own run of the plan.
#[test]
fn fio_issues_what_our_own_run_issues() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("fio.img");
    fs::write(&target, vec![1u8; 64 << 20]).unwrap();
    for (plan, stages) in [
        ("quick", &["corners", "mixed"][..]),
        ("acceptance", &["corners", "latency", "mixed", "long-write", "depth", "block-size"]),
    ] {
        let run = path(directory.path(), &format!("{plan}-run"));
        let own = format!("file:{},size=64m", path(directory.path(), &format!("{plan}.img")));
        let output = arraylab(&[&["run", plan, "--target", &own, "--out", &run], &FIXED[..]].concat());
        // Counts are compared, not verdicts: cases of 4 MiB show no limit to be kept.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{plan}: {}", text(&output.stderr));
        let files = path(directory.path(), &format!("{plan}-fio"));
        succeed(&[&["export", plan, "--format", "fio", "--out", &files], &FIXED[..]].concat());
        let jobs: Vec<Value> = stages
            .iter()
            .flat_map(|stage| run_fio(&Path::new(&files).join(format!("{stage}.fio")), &target))
            .collect();
        compare(&results(Path::new(&run)), &jobs);
    }
}

/// Proves the same of the Dorado's group 2, whose array and host settings no file has: our own run is of the plan that the
/// exported file becomes.
#[test]
fn fio_issues_the_loads_of_group_2() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("fio.img");
    fs::write(&target, vec![1u8; 64 << 20]).unwrap();
    let chosen =
        ["--stage", "group-2", "--only", "bs=4k,64k", "--only", "numjobs=1,4", "--only", "rwmixread=0,70"];
    let text = succeed(&[&["export", "dorado-2100-g2", "--format", "fio"], &chosen[..], &FIXED[..]].concat());
    let file = directory.path().join("group-2.fio");
    fs::write(&file, &text).unwrap();
    let jobs = run_fio(&file, &target);
    assert_eq!(jobs.len(), 24);
    // A file has no queue whose scheduler could be set, and its state does not matter for counts.
    let plain = text.replace("ioscheduler=none\n", "");
    let end = plain.find("\n[group-2/").unwrap();
    let first = plain[end + 1..].find("\n\n[").unwrap() + end + 1;
    let plain = format!("{}{}", &plain[..end], &plain[first..]);
    let own = directory.path().join("own.fio");
    fs::write(&own, plain).unwrap();
    let plan = directory.path().join("own.yaml");
    fs::write(&plan, succeed(&["import", own.to_str().unwrap()])).unwrap();
    let run = path(directory.path(), "run");
    let image = format!("file:{},size=64m", path(directory.path(), "own.img"));
    succeed(&["run", plan.to_str().unwrap(), "--target", &image, "--out", &run]);
    compare(&results(Path::new(&run)), &jobs);
}

/// Proves that fio refuses an exported file whose target nobody named, and that it makes no file of that name.
#[test]
fn fio_wants_a_target() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("quick.fio");
    fs::write(&file, succeed(&["export", "quick", "--format", "fio"])).unwrap();
    let run = |target: Option<&str>| {
        let mut command = Command::new("fio");
        command.arg(&file).current_dir(directory.path()).env_remove("TARGET").stdin(Stdio::null());
        command.envs(target.map(|name| ("TARGET", name)));
        command.output().expect("fio is needed (scripts/install-test-clients.sh installs it)")
    };
    assert!(!run(None).status.success());
    assert!(!run(Some("absent.img")).status.success());
    assert!(!directory.path().join("absent.img").exists());
}

fn small_run(directory: &Path) -> String {
    let run = path(directory, "run");
    let settings = ["--set", "runtime=2", "--set", "ramp_time=1"];
    succeed(&[&["run", "quick", "--target", "twin:small-flash", "--out", &run], &settings[..]].concat());
    run
}

/// Proves that a run as fio's JSON, imported back, has the same results to the digit, and that its figures stand under the
/// keys of fio's own output.
#[test]
fn a_run_as_fio_json_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let run = small_run(directory.path());
    let file = path(directory.path(), "run.json");
    assert_eq!(succeed(&["export", &run, "--format", "fio-json", "--out", &file]).trim(), file);
    let back = path(directory.path(), "back");
    succeed(&["import", &file, "--out", &back]);
    let ours = results(Path::new(&run));
    let theirs = results(Path::new(&back));
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(&theirs) {
        for key in ["read", "write", "iops", "bw_bytes_per_s", "duration_s", "status"] {
            assert_eq!(our[key], their[key], "{key} of {}", our["case"]);
        }
        for key in ["rw", "bs", "iodepth", "numjobs", "rwmixread", "ramp_time"] {
            assert_eq!(our["settings"][key], their["settings"][key], "{key} of {}", our["case"]);
        }
    }
    let exported: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(exported["fio version"], format!("arraylab-{}", env!("CARGO_PKG_VERSION")));
    // Every key of a direction that fio prints for the same kind of load.
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../fio/tests/samples/fio-3.42/mixed.json");
    let text = fs::read_to_string(sample).unwrap();
    let real: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mixed = exported["jobs"].as_array().unwrap().last().unwrap();
    for direction in ["read", "write"] {
        let (real, ours) = (&real["jobs"][0][direction], &mixed[direction]);
        for key in keys(real).iter().filter(|key| *key != "dir" && *key != "prios") {
            assert!(ours.get(key).is_some(), "{direction}.{key}");
        }
        for key in ["min", "max", "mean", "stddev", "N", "percentile"] {
            assert!(ours["clat_ns"].get(key).is_some(), "{direction}.clat_ns.{key}");
        }
    }
    for key in
        ["jobname", "groupid", "error", "elapsed", "job options", "job_runtime", "latency_us", "latency_ms"]
    {
        assert!(mixed.get(key).is_some(), "{key}");
    }
}

/// Proves that Prometheus' own tool takes a run as OpenMetrics text, finds nothing to complain of, and stores every sample;
/// names are those of a live run.
#[test]
fn prometheus_takes_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let run = small_run(directory.path());
    let file = path(directory.path(), "run.om");
    succeed(&["export", &run, "--format", "openmetrics", "--out", &file]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("# EOF\n"));
    let blocks = path(directory.path(), "blocks");
    let printed = tool("promtool", &["tsdb", "create-blocks-from", "openmetrics", &file, &blocks]);
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(printed.contains(&format!(" {samples} ")), "{samples} samples, and promtool: {printed}");
    // `check metrics` reads one sample of each labelset, without times.
    let mut known = std::collections::BTreeSet::new();
    let page: String = text
        .lines()
        .filter_map(|line| {
            if line.starts_with('#') {
                return Some(format!("{line}\n"));
            }
            let (labels, rest) = line.rsplit_once("} ")?;
            let value = rest.split(' ').next()?;
            known.insert(labels.to_owned()).then(|| format!("{labels}}} {value}\n"))
        })
        .collect();
    let page_file = path(directory.path(), "page");
    fs::write(&page_file, page).unwrap();
    tool("sh", &["-c", "promtool check metrics < \"$1\"", "sh", &page_file]);
    for name in
        ["run_info", "ramp", "iops", "bytes_per_second", "latency_mean_seconds", "latency_quantile_seconds"]
    {
        assert!(
            text.contains(&format!("\narraylab_{name}{{"))
                || text.contains(&format!("# TYPE arraylab_{name} "))
        );
    }
    // One sample for each interval and direction.
    let intervals: u64 =
        crate::support::query(Path::new(&run), "SELECT count(*) FROM samples").parse().unwrap();
    let iops = text.lines().filter(|line| line.starts_with("arraylab_iops{")).count();
    assert_eq!(iops as u64, intervals);
}

/// Proves that formats that do not fit are refused with those that do, that no file is replaced, and that a failed export
/// leaves nothing behind.
#[test]
fn what_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = small_run(directory.path());
    let absent = path(directory.path(), "absent");
    for (arguments, says) in [
        (vec!["export", &run, "--format", "fio"], "--format csv, parquet, fio-json or openmetrics"),
        (vec!["export", "quick", "--format", "openmetrics"], "--format fio or vdbench"),
        (vec!["export", &run, "--format", "parquet"], "name one with --out"),
        (vec!["export", &run, "--format", "csv"], "name one with --out"),
        (vec!["export", &run, "--format", "csv", "--out", &run], "exists"),
        (vec!["export", &run, "--format", "fio-json", "--set", "bs=4k"], "choose cases of a plan"),
        (vec!["export", "quikc", "--format", "fio"], "did you mean `quick`?"),
        (vec!["export", "dorado-2100-g2", "--format", "fio"], "`--out DIR` writes several files"),
    ] {
        let (status, error) = refuse(&arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    fs::write(&absent, "mine").unwrap();
    let (status, error) = refuse(&["export", &run, "--format", "fio-json", "--out", &absent]);
    assert_eq!((status, error.contains("hint: name another")), (Some(2), true), "{error}");
    assert_eq!(fs::read_to_string(&absent).unwrap(), "mine");
    let files = path(directory.path(), "files");
    fs::create_dir(&files).unwrap();
    fs::write(Path::new(&files).join("mixed.vdb"), "mine").unwrap();
    let (status, _) = refuse(&["export", "quick", "--format", "vdbench", "--out", &files]);
    assert_eq!(status, Some(2));
    assert_eq!(fs::read_dir(&files).unwrap().count(), 1, "nothing is written beside a file that is there");
}

/// Proves that what a file does not say stands on stderr and in its head, one line each.
#[test]
fn what_is_not_exported_is_listed() {
    let chosen = ["--stage", "limits"];
    let output = arraylab(&[&["export", "storpool", "--format", "fio"], &chosen[..]].concat());
    let (text, notes) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    for line in ["stage limits: events: ", "stage limits: volume: ", "plan: claims: "] {
        assert!(notes.contains(&format!("not exported: {line}")), "{notes}");
        assert!(text.contains(&format!("# Not exported: {line}")), "{text}");
    }
    let cases = json_lines(&succeed(&[&["expand", "storpool", "--json"], &chosen[..]].concat()));
    let sections =
        text.lines().filter(|line| line.starts_with('[') && !line.ends_with("/precondition]")).count();
    assert_eq!(sections, cases.len() + 1, "the cases and [global]");
}

/// Proves that the installed fio takes every exported file of every shipped plan, and no option in them is unknown to it.
#[test]
fn fio_takes_every_shipped_plan() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("fio.img");
    fs::write(&target, vec![1u8; 1 << 20]).unwrap();
    for shipped in json_lines(&succeed(&["plans", "--json"])) {
        let name = shipped["name"].as_str().unwrap();
        let files = path(directory.path(), name);
        let printed = succeed(&["export", name, "--format", "fio", "--out", &files]);
        assert!(printed.lines().count() > 0, "{name}");
        for file in printed.lines() {
            let output = Command::new("fio")
                .args(["--parse-only", file])
                .env("TARGET", &target)
                .output()
                .expect("fio is needed (scripts/install-test-clients.sh installs it)");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{file}: {text}{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

/// Proves that each of several loads of a case has an entry with its own settings in fio's JSON, that a case which was not
/// measured is left out and said to be, and that Prometheus takes such a run as well.
#[test]
fn loads_and_cases_without_measurements() {
    let directory = tempfile::tempdir().unwrap();
    let plan = path(directory.path(), "loads.yaml");
    fs::write(
        &plan,
        "title: t\nwatch: { interval: 1 }\nstages:\n  both:\n    settings: { rw: randread, bs: 4k, iodepth: 8, runtime: 2, size: 32m }\n    loads:\n      first: {}\n      second: { settings: { rw: write, bs: 64k, rate_iops: 100 } }\n  refused:\n    settings: { rw: randread, bs: 4k, runtime: 1 }\n    matrix: { raid: [5, 6] }\n",
    )
    .unwrap();
    let run = path(directory.path(), "run");
    let image = format!("file:{},size=64m", path(directory.path(), "own.img"));
    arraylab(&["run", &plan, "--target", &image, "--out", &run]);
    let output = arraylab(&["export", &run, "--format", "fio-json"]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("not exported: 2 cases without measurements"), "{notes}");
    let exported: Value = serde_json::from_slice(&output.stdout).unwrap();
    let jobs = exported["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["both/first", "both/second"]);
    assert!(jobs.iter().all(|job| job["groupid"] == 0));
    let options = |index: usize, name: &str| jobs[index]["job options"][name].as_str().unwrap().to_owned();
    assert_eq!(
        (options(0, "rw"), options(1, "rw"), options(1, "bs")),
        ("randread".into(), "write".into(), "64k".into())
    );
    assert!(jobs[0]["read"]["total_ios"].as_u64() > Some(0) && jobs[0]["write"]["total_ios"] == 0);
    assert!(jobs[1]["write"]["total_ios"].as_u64() > Some(0) && jobs[1]["read"]["total_ios"] == 0);
    let file = path(directory.path(), "run.om");
    succeed(&["export", &run, "--format", "openmetrics", "--out", &file]);
    tool(
        "promtool",
        &["tsdb", "create-blocks-from", "openmetrics", &file, &path(directory.path(), "blocks")],
    );
}
