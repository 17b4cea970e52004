//! Cases that search for a load.

use crate::support::{arraylab, json_lines, results, succeed, text, tool};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn plan(directory: &Path, settings: &str, find: &str) -> String {
    let plan = directory.join("plan.yaml");
    let stage = format!("    settings: {{ {settings} }}\n    find:\n      max-under-latency: {{ {find} }}\n");
    fs::write(&plan, format!("title: t\nstages:\n  bound:\n{stage}")).unwrap();
    plan.to_str().unwrap().to_owned()
}

/// Runs a plan of one search, and gives its result and the answer, read from the run as any other program would.
fn found(directory: &Path, settings: &str, find: &str, target: &str) -> (Value, Value) {
    let run = directory.join("run");
    succeed(&["run", &plan(directory, settings, find), "--target", target, "--out", run.to_str().unwrap()]);
    let query = "SELECT data FROM events WHERE kind = 'max-under-latency'";
    let answer = tool("sqlite3", &[run.join("run.sqlite").to_str().unwrap(), query]);
    (results(&run).remove(0), json_lines(&answer).remove(0))
}

/// Proves that on a twin whose answer is known, a volume held to 1,000 IOPS, the rate is found within 2 % in at most 12
/// points, and that the result is a load that keeps the bound. A limit serves one I/O each millisecond, so with Poisson
/// arrivals at a share r of it the mean wait is r / 2(1 - r) ms (Pollaczek and Khinchine): 20 ms at r = 0.9756.
#[test]
fn a_known_rate_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (result, answer) = found(
        directory.path(),
        "rw: randread, bs: 4k, numjobs: 16, iodepth: 64, volume: nvme, runtime: 200",
        "of: mean, below: 20ms, over: rate, start: 100",
        "twin:storpool,limit_iops=1000",
    );
    let load = answer["load"].as_f64().unwrap();
    assert!((load - 975.6).abs() < 0.02 * 975.6, "{answer}");
    assert_eq!(answer["end"], "found", "{answer}");
    assert!(answer["points"].as_array().unwrap().len() <= 12, "{answer}");
    let interval = |answer: &Value| {
        [0, 1].map(|end| answer["confidence_95"][end].as_f64().unwrap_or_else(|| panic!("{answer}")))
    };
    let [low, high] = interval(&answer);
    assert!(low < 975.6 && 975.6 < high && high - low < 0.015 * 975.6, "{answer}");
    assert_eq!(answer["confidence_by"], "sectioning", "{answer}");
    assert!(answer["points"][0]["standard_error_ns"].as_f64().unwrap() > 0.0, "{answer}");
    assert!(result["read"]["latency_ns"]["mean"].as_f64().unwrap() <= 20e6, "{result}");
    let rate = result["iops"].as_f64().unwrap();
    assert!((rate - answer["holds_at"].as_f64().unwrap()).abs() < 0.02 * rate, "{result} {answer}");
    assert_eq!(result["duration_s"], 200.0, "points are not counted");
    assert!(
        result["warnings"][0].as_str().unwrap().contains("the largest load with mean latency under"),
        "{result}"
    );

    let run = directory.path().join("run");
    let run = run.to_str().unwrap();
    let findings = json_lines(&succeed(&["findings", run, "--json"]));
    let finding = findings.iter().find(|finding| finding["kind"] == "found-load").expect("a finding");
    assert_eq!((&finding["load"], interval(finding)), (&answer["load"], [low, high]), "{finding}");
    let page = directory.path().join("report.html");
    succeed(&["report", run, "--out", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("Search for the largest rate with mean latency under 20 ms"),
        "the search is drawn"
    );
    assert!(page.contains("bound: 20 ms") && page.contains("found: "), "with its bound and its answer");
    assert!(page.contains("95 % confidence: "), "and told in a sentence");
}

/// Proves that a depth is found in closed loop on a real file, that its neighbour above was measured to break the bound,
/// and that the points are kept as ramp.
#[test]
fn a_depth_is_found_on_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    let target = format!("file:{},size=16m", file.display());
    let (result, answer) = found(
        directory.path(),
        "rw: randread, bs: 4k, direct: 0, runtime: 1",
        "of: mean, below: 1s, over: iodepth, limit: 4",
        &target,
    );
    assert_eq!(answer["end"], "always-holds", "no read of a small file takes a second: {answer}");
    assert_eq!(answer["holds_at"], 4.0, "{answer}");
    let depths: Vec<f64> =
        answer["points"].as_array().unwrap().iter().map(|point| point["load"].as_f64().unwrap()).collect();
    assert_eq!(depths, [1.0, 4.0]);
    assert!(result["duration_s"].as_f64().unwrap() < 1.5, "points are not counted: {result}");
    let run = directory.path().join("run/run.sqlite");
    let counted =
        tool("sqlite3", &[run.to_str().unwrap(), "SELECT count(*) FROM intervals WHERE is_ramp = 0"]);
    let ramp = tool("sqlite3", &[run.to_str().unwrap(), "SELECT count(*) FROM intervals WHERE is_ramp = 1"]);
    assert!(counted.trim() != "0" && ramp.trim().parse::<u32>().unwrap() >= 3, "{counted} {ramp}");
}

/// Proves that a rate is searched over all jobs and targets at once on real files: the points are the total rate, of which
/// each load issues its part, and the result is of all together.
#[test]
fn a_rate_is_found_over_two_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let written = "title: t\nstages:\n  bound:\n    settings: { rw: randread, bs: 4k, numjobs: 2, iodepth: 8, direct: 0, runtime: 1 }\n    loads: { one: { target: 0 }, two: { target: 1 } }\n    find:\n      max-under-latency: { of: p95, below: 2s, over: rate, start: 1000, limit: 2000 }\n";
    fs::write(path("plan.yaml"), written).unwrap();
    let targets = ["a", "b"].map(|name| format!("file:{},size=16m", path(name)));
    let run = path("run");
    succeed(&["run", &path("plan.yaml"), "--target", &targets[0], "--target", &targets[1], "--out", &run]);
    let answer = tool(
        "sqlite3",
        &[&format!("{run}/run.sqlite"), "SELECT data FROM events WHERE kind = 'max-under-latency'"],
    );
    let answer = json_lines(&answer).remove(0);
    assert_eq!((&answer["end"], &answer["holds_at"]), (&"always-holds".into(), &2000.0.into()), "{answer}");
    assert!(answer["confidence_95"].is_null(), "every load holds, so none is the largest: {answer}");
    for point in answer["points"].as_array().unwrap() {
        let (load, iops) = (point["load"].as_f64().unwrap(), point["iops"].as_f64().unwrap());
        // Five standard deviations of the arrivals.
        assert!((iops - load).abs() < 5.0 * load.sqrt() + 0.02 * load, "{answer}");
        assert!(point["standard_error_ns"].as_f64().unwrap() > 0.0, "{answer}");
    }
    let result = results(Path::new(&run)).remove(0);
    let rates: Vec<f64> =
        result["loads"].as_array().unwrap().iter().map(|load| load["iops"].as_f64().unwrap()).collect();
    assert!(rates.len() == 2 && rates.iter().all(|rate| (rate - 1000.0).abs() < 180.0), "{rates:?}");
}

/// Proves that a bound that no load keeps is said so, in words, with exit status 0: it is an answer.
#[test]
fn a_bound_that_never_holds_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "rw: randread, bs: 4k, volume: nvme, numjobs: 4, iodepth: 8, runtime: 2";
    let plan = plan(directory.path(), settings, "of: p99, below: 1us, over: rate");
    let run = directory.path().join("run");
    let output = arraylab(&["run", &plan, "--target", "twin:storpool", "--out", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(results(&run)[0]["warnings"][0].as_str().unwrap().contains("no load has p99 latency under 1 µs"));
}

/// Proves that a trace is replayed on a twin through a plan: what the trace says stands in the case's settings, every I/O
/// is issued once, the case ends with the trace, and the same on a file by one job and by several, with the latency of an
/// open loop, and as fast as possible.
#[test]
fn a_trace_is_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let lines: String = (0..1000)
        .map(|number| {
            format!(
                "0,{},4096,{},{}.{:03}\n",
                number * 8,
                if number % 4 == 0 { 'w' } else { 'r' },
                number / 500,
                number % 500 * 2
            )
        })
        .collect();
    fs::write(path("mail.csv"), lines).unwrap();
    let written = "title: t\nstages:\n  mail:\n    settings: { runtime: 60 }\n    replay: { trace: mail.csv, timing: 50% }\n";
    fs::write(path("plan.yaml"), written).unwrap();
    succeed(&["run", &path("plan.yaml"), "--target", "twin:flashsystem-840", "--out", &path("twin")]);
    let result = results(Path::new(&path("twin"))).remove(0);
    let settings = &result["settings"];
    assert_eq!(
        (&settings["rw"], &settings["bs"], &settings["rwmixread"]),
        (&"randrw".into(), &4096.into(), &75.into())
    );
    assert_eq!((&result["read"]["ios"], &result["write"]["ios"]), (&750.into(), &250.into()), "{result}");
    let duration_s = result["duration_s"].as_f64().unwrap();
    assert!((0.998..1.05).contains(&duration_s), "two seconds in half the time, not {duration_s}");
    assert!(result["read"]["service_ns"].is_object(), "{result}");

    // On a file in real time: by one job and by three, and at once.
    let by_three = written.replace("runtime: 60", "runtime: 60, numjobs: 3");
    let at_once = written.replace("50%", "as-fast-as-possible");
    for (name, plan, is_timed) in
        [("file", written, true), ("three", &by_three, true), ("once", &at_once, false)]
    {
        fs::write(path("plan.yaml"), plan).unwrap();
        let target = format!("file:{},size=8m", path(&format!("{name}.img")));
        let begun = Instant::now();
        succeed(&["run", &path("plan.yaml"), "--target", &target, "--out", &path(name)]);
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} went on after its trace had ended");
        let result = results(Path::new(&path(name))).remove(0);
        assert_eq!((&result["engine"], &result["status"]), (&"ring".into(), &"done".into()), "{result}");
        assert_eq!((&result["read"]["ios"], &result["write"]["ios"]), (&750.into(), &250.into()), "{result}");
        let duration_s = result["duration_s"].as_f64().unwrap();
        if is_timed {
            assert!((0.998..1.5).contains(&duration_s), "{name}: {duration_s}");
            let latency = |of: &str| result["read"][of]["mean"].as_f64().unwrap();
            assert!(
                latency("latency_ns") >= latency("service_ns") && latency("service_ns") > 0.0,
                "{result}"
            );
        } else {
            assert!(duration_s < 1.0, "{name}: {duration_s}");
        }
    }

    // A run is read without its trace: the cases say what it was.
    fs::remove_file(path("mail.csv")).unwrap();
    let levels = json_lines(&succeed(&["findings", &path("once"), "--json"]));
    assert!(levels.iter().any(|finding| finding["kind"] == "level"), "{levels:?}");
    let report = succeed(&["report", &path("once"), "--format", "md"]);
    assert!(!report.contains("cannot be read"), "{report}");
}

/// Proves that a trace that is not there, or is wrong in its 2nd line, is refused at its place before anything is written.
#[test]
fn a_bad_trace_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let written =
        "title: t\nstages:\n  mail:\n    settings: { runtime: 60 }\n    replay: { trace: mail.csv }\n";
    fs::write(path("plan.yaml"), written).unwrap();
    let refused = || {
        let output =
            arraylab(&["run", &path("plan.yaml"), "--target", "twin:flashsystem-840", "--out", &path("run")]);
        assert_eq!(output.status.code(), Some(2));
        assert!(!Path::new(&path("run")).exists());
        text(&output.stderr)
    };
    let printed_text = refused();
    assert!(printed_text.contains("plan.yaml:5:22") && printed_text.contains("mail.csv"), "{printed_text}");
    fs::write(path("mail.csv"), "0,8,4096,r,0.5\n0,8,x,r,0.6\n").unwrap();
    let printed_text = refused();
    assert!(printed_text.contains("mail.csv:2:5") && printed_text.contains("whole number"), "{printed_text}");
}

/// Proves that a curve's rates are shares of what its first case delivered, on a twin with two threads, that
/// what each rate was is kept with its case, and that a share without its full rate is refused.
#[test]
fn a_curve_follows_its_full_rate() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let written = "title: t\nstages:\n  curve:\n    settings: { rw: randrw, rwmixread: 70, bs: 8k, numjobs: 4, iodepth: 16, runtime: 2, rate_process: poisson }\n    matrix: { rate_percent: [max, 10, 90] }\n";
    fs::write(path("plan.yaml"), written).unwrap();
    let run = path("run");
    succeed(&[
        "run",
        &path("plan.yaml"),
        "--target",
        "twin:flashsystem-840",
        "--threads",
        "2",
        "--out",
        &run,
    ]);
    let rates: Vec<f64> =
        results(Path::new(&run)).iter().map(|result| result["iops"].as_f64().unwrap()).collect();
    for (rate, share) in rates[1..].iter().zip([0.1, 0.9]) {
        assert!((rate / rates[0] - share).abs() < 0.02 * share, "{rates:?}");
    }
    let query = "SELECT text FROM events WHERE kind = 'rate' ORDER BY id";
    let printed_text = tool("sqlite3", &[&format!("{run}/run.sqlite"), query]);
    assert!(printed_text.starts_with("10 % of the rate of `rate_percent=max`: "), "{printed_text}");
    let refused = arraylab(&["expand", &path("plan.yaml"), "--only", "rate_percent=10"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("choose it too"), "{}", text(&refused.stderr));
}

/// Proves that on a file, through our own engine and through fio, a curve's closed loops are held to their share.
#[test]
fn a_curve_on_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let written = "title: t\nstages:\n  curve:\n    settings: { rw: randread, bs: 4k, runtime: 1, direct: 0 }\n    matrix: { rate_percent: [max, 5] }\n";
    fs::write(path("plan.yaml"), written).unwrap();
    for engine in ["ring", "fio"] {
        let (run, target) = (path(engine), format!("file:{},size=16m", path(&format!("{engine}.img"))));
        succeed(&["run", &path("plan.yaml"), "--target", &target, "--engine", engine, "--out", &run]);
        let rates: Vec<f64> =
            results(Path::new(&run)).iter().map(|result| result["iops"].as_f64().unwrap()).collect();
        // A busy host may stop the process for a moment; it never issues more.
        assert!(rates[1] / rates[0] < 0.0505 && rates[1] / rates[0] > 0.03, "{engine}: {rates:?}");
    }
}
