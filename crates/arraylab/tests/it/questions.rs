//! `what-if`, `size`, `record`, `workload` and `explore`: answers with their fields, and questions that cannot be answered.

use crate::support::{json_lines, refuse, succeed};

/// A load that takes little time.
const LOAD: &str = "fio:rw=randrw,rwmixread=70,bs=8k,iodepth=16,numjobs=8,runtime=2s";

/// Proves that answers have the fields that were agreed, one line as the array is, one for each value and one for all changes
/// together, in that order, and that equal questions have equal answers.
#[test]
fn answers_have_their_fields() {
    let ask = || {
        succeed(&[
            "what-if",
            "raid-levels",
            "--load",
            LOAD,
            "--change",
            "drives.rpm=10000,15000",
            "--change",
            "raid=10",
            "--json",
        ])
    };
    let text = ask();
    assert_eq!(text, ask());
    let lines = json_lines(&text);
    let changes: Vec<String> = lines.iter().map(|line| line["change"].to_string()).collect();
    assert_eq!(
        changes,
        [
            "{}",
            r#"{"drives.rpm":10000}"#,
            r#"{"drives.rpm":15000}"#,
            r#"{"raid":10}"#,
            r#"{"drives.rpm":15000,"raid":10}"#
        ]
    );
    for line in &lines {
        let number = |path: &str| line.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        let iops = number("/iops");
        assert!(number("/iops_95/0") < iops && iops < number("/iops_95/1"), "{line}");
        assert!((number("/bw_bytes_per_s") / iops / 8192.0 - 1.0).abs() < 1e-6, "{line}");
        assert!(number("/latency_ns/mean") < number("/latency_ns/p99"), "{line}");
        assert_eq!(line["limit"], "drives", "{line}");
        assert!(number("/elasticity/drives") > 0.5 && number("/elasticity/links") < 0.1, "{line}");
    }
    assert_eq!(lines[0]["validated"], "unseen");
    assert_eq!(lines[1]["validated"], "fitted");
    assert!(lines[2]["iops"].as_f64() > lines[1]["iops"].as_f64());
}

/// Proves that the answer of a plan's case is what a run of that case gives, within its sampling and that of the run.
#[test]
fn an_answer_agrees_with_a_run() {
    let case = "flashsystem-840:read-share/rwmixread=70";
    let line = &json_lines(&succeed(&["what-if", "flashsystem-840", "--load", case, "--json"]))[0];
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let run = run.to_str().unwrap();
    succeed(&[
        "run",
        "flashsystem-840",
        "--target",
        "twin:flashsystem-840",
        "--stage",
        "read-share",
        "--only",
        "rwmixread=70",
        "--out",
        run,
    ]);
    let result = &json_lines(&succeed(&["results", run, "--json"]))[0];
    let ratio = line["iops"].as_f64().unwrap() / result["iops"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// Proves that a walk's lines have the fields of answers, each of which begins where the one before ended.
#[test]
fn a_walk_goes_from_limit_to_limit() {
    let lines = json_lines(&succeed(&[
        "what-if",
        "flashsystem-840",
        "--load",
        "fio:rw=randread,bs=8k,iodepth=32,numjobs=16,runtime=2s",
        "--find-bottleneck",
        "--json",
    ]));
    let mut before = lines[0]["iops"].as_f64().unwrap();
    assert!(lines.len() > 2, "{}", lines.len());
    for line in &lines[1..] {
        let part = line["bottleneck"]["part"].as_str().unwrap();
        assert!(line["change"][part].as_f64().unwrap() >= 1.25, "{line}");
        assert_eq!(line["bottleneck"]["iops_before"].as_f64().unwrap(), before);
        assert!(line["bottleneck"]["gain_of_doubling"].as_f64().unwrap() > 1.0, "{line}");
        before = line["iops"].as_f64().unwrap();
    }
}

/// Proves that what a person reads names the basis of the ranges and warns of assumed parts.
#[test]
fn a_page_says_what_it_rests_on() {
    let text = succeed(&["what-if", "nas-raid5", "--load", LOAD]);
    assert!(text.contains("Do not sign on this") && text.contains("limit"), "{text}");
    let text = succeed(&["what-if", "flashsystem-840", "--load", LOAD, "--change", "links.count=16"]);
    assert!(text.contains("no fit has seen"), "{text}");
}

/// Proves that questions that cannot be answered are refused with a hint before anything is simulated.
#[test]
fn wrong_questions_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let jobs = directory.path().join("two.fio");
    std::fs::write(&jobs, "[global]\nrw=randread\nbs=4k\nruntime=1\ntime_based\n[a]\nfilename=/dev/null\n[b]\nstonewall\nfilename=/dev/null\n")
        .unwrap();
    let jobs = jobs.to_str().unwrap();
    for (arguments, expected) in [
        (vec!["no-such-array", "--load", LOAD], "hint"),
        (vec!["raid-levels", "--load", "fio:rw=randread,bs=4k,queue_depth=3"], "hint"),
        (vec!["raid-levels", "--load", "fio:rw=randred"], "randread"),
        (vec!["raid-levels", "--load", "fio:rw"], "NAME=VALUE"),
        (vec!["raid-levels", "--load", "flashsystem-840"], "names no case"),
        (vec!["raid-levels", "--load", "flashsystem-840:block-size/bs=4095"], "bs=4096"),
        (vec!["raid-levels", "--load", "no-such-plan:a/b"], "no workload or plan `no-such-plan` ships"),
        (vec!["raid-levels", "--load", "oltpp"], "did you mean `oltp`?"),
        (vec!["raid-levels", "--load", "e270:a/b"], "did you mean `e2700`?"),
        (vec!["raid-levels", "--load", "e270:patterns/bs=4096"], "did you mean `e2700`?"),
        (vec!["raid-levels", "--load", "rw=randread bs=8k"], "`fio:rw=randread,bs=8k`"),
        (vec!["raid-levels", "--load", jobs], "name one"),
        (vec!["raid-levels", "--load", LOAD, "--change", "drives.rpm"], "KEY=VALUE"),
        (vec!["raid-levels", "--load", LOAD, "--change", "=3"], "KEY=VALUE"),
        (vec!["raid-levels", "--load", LOAD, "--change", "drives.rpn=3"], "rpm"),
        (vec!["raid-levels", "--load", LOAD, "--change", "drives.rpm=-3"], "hint"),
        (vec!["raid-levels", "--load", LOAD, "--change", "raid=7"], "raid"),
        (vec!["raid-levels", "--load", LOAD, "--change", "iodepth=7"], "--load"),
        (vec!["flashsystem-840", "--load", LOAD, "--change", "links.count=0"], "hint"),
        (vec!["raid-levels", "--load", LOAD, "--seeds", "0"], "1..=100"),
    ] {
        let (status, message) = refuse(&[&["what-if"], &arguments[..]].concat());
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// Proves that `size` prints the fields that were agreed, a line for each design and state, the same each time, and the files that were
/// answered for; and that a workload that does not fit an array is an answer.
#[test]
fn sizes_have_their_fields() {
    let directory = tempfile::tempdir().unwrap();
    let workload = directory.path().join("w.yaml");
    let text = "title: A file server\nsource: made up\ncapacity_bytes: 3000000000\nstreams:\n  \
                - { name: files, rw: randrw, rwmixread: 80, bs: 8k, iops: 100, size: 1g }\n  \
                - { name: log, rw: write, bs: 16k, iops: 10, numjobs: 1, rate_process: linear, size: 100m }\n";
    std::fs::write(&workload, text).unwrap();
    let workload = workload.to_str().unwrap();
    let out = directory.path().join("out");
    let arguments = [
        "size",
        workload,
        "--array",
        "raid-levels",
        "--require",
        "mean<80ms",
        "--require",
        "read.p99<500ms",
        "--state",
        "healthy",
        "--state",
        "drive-lost",
        "--state",
        "controller-lost",
        "--growth",
        "30%/y:3y",
        "--json",
    ];
    let printed = succeed(&arguments);
    let with_files = succeed(&[&arguments[..], &["--out", out.to_str().unwrap()]].concat());
    assert_eq!(printed, with_files);
    assert_eq!(std::fs::read_to_string(out.join("size.jsonl")).unwrap(), printed);
    assert!(std::fs::read_to_string(out.join("size.txt")).unwrap().contains("raid-levels"));
    let lines = json_lines(&printed);
    let states: Vec<&str> = lines.iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(states, ["healthy", "drive-lost", "controller-lost"]);
    for line in &lines[..2] {
        let headroom = line["headroom"].as_f64().unwrap();
        let range: Vec<f64> =
            line["headroom_95"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect();
        assert!(range[0] <= headroom && headroom <= range[1], "{line}");
        let verdict = line["verdict"].as_str().unwrap();
        assert_eq!(verdict == "meets", range[0] >= 1.0, "{line}");
        assert!(line["cases"].as_array().unwrap().len() <= 15 && line["cost"].is_null(), "{line}");
        let breaks = line["breaks_in_year"].as_u64();
        assert_eq!(
            breaks,
            (1..=3).find(|&year| 1.3_f64.powi(year) > headroom).map(|year| year as u64),
            "{line}"
        );
    }
    // It has one controller, without which nothing can be reached.
    assert_eq!((lines[2]["verdict"].as_str(), lines[2]["headroom"].as_f64()), (Some("fails"), Some(0.0)));
    assert_eq!(lines[2]["because"], "the array has one controller");
    let nodes = &json_lines(&succeed(&[
        "size",
        workload,
        "--array",
        "replicas-12-nodes",
        "--require",
        "mean<80ms",
        "--state",
        "controller-lost",
        "--json",
    ]))[0];
    assert_eq!(nodes["verdict"], "not-modelled", "{nodes}");
    assert!(!nodes["because"].as_str().unwrap().is_empty());
    std::fs::write(directory.path().join("w.yaml"), text.replace("1g", "9t")).unwrap();
    let line = &json_lines(&succeed(&[
        "size",
        workload,
        "--array",
        "raid-levels",
        "--require",
        "mean<1s",
        "--state",
        "healthy",
        "--json",
    ]))[0];
    assert_eq!((line["verdict"].as_str(), line["headroom"].as_f64()), (Some("fails"), Some(0.0)));
}

/// Proves that price, watts, endurance and rebuild of an offer are printed, the price as the cost, and that a part without a price is named.
#[test]
fn offers_are_sized() {
    let directory = tempfile::tempdir().unwrap();
    let offer = directory.path().join("offer.yaml");
    let text = "title: An offer\nfabric: { use: pcie-4x16, ports: 1, price_usd: 0, watts: 0 }\n\
                controllers: { use: host-md, count: 1, price_usd: 0, watts: 300 }\n\
                groups:\n  - { name: md0, layout: raid10, drives: { use: nvme-1600-mixed, count: 4, price_usd: 450, \
                watts: 12.5, endurance: 3DWPD/5y } }\n";
    std::fs::write(&offer, text).unwrap();
    let arguments = [
        "size",
        "fio:rw=randrw,rwmixread=50,bs=16k,rate_iops=2000,numjobs=4,rate_process=poisson,size=100g",
        "--array",
        offer.to_str().unwrap(),
        "--require",
        "mean<2ms",
        "--state",
        "healthy",
    ];
    let line = &json_lines(&succeed(&[&arguments[..], &["--json"]].concat()))[0];
    assert_eq!((line["cost"].as_f64(), line["watts"].as_f64()), (Some(1800.0), Some(350.0)));
    // 8,000 I/Os a second, half of them writes of 16 KiB, twice, on four drives of 1.6 TB.
    let tb_per_day = 4000.0 * 16_384.0 * 2.0 / 4.0 * 86_400.0 / 1e12;
    let expected = 1.6 * 3.0 * 5.0 / tb_per_day;
    let years = line["endurance_years"].as_f64().unwrap();
    assert!((years / expected - 1.0).abs() < 0.05, "{years} {expected}");
    assert!(line["rebuild_s"].as_f64().unwrap() > 0.0);
    let page = succeed(&arguments);
    assert!(page.contains("1800") && page.contains("years") && page.contains("all day"), "{page}");
    std::fs::write(&offer, text.replace("price_usd: 450, ", "")).unwrap();
    let page = succeed(&arguments);
    assert!(page.contains("Price not known: groups[0].drives without `price_usd`"), "{page}");
}

/// Proves that of a large space what cannot be on the front is left out, which the page counts and JSON says with its reason.
#[test]
fn large_spaces_are_searched() {
    let arguments = [
        "size",
        "fio:rw=randread,bs=8k,rate_iops=50,numjobs=2,rate_process=poisson,size=200g",
        "--array",
        "nas-raid5",
        "--require",
        "mean<25ms",
        "--space",
        "drives.count=4..6",
        "--space",
        "links.count=1..6",
        "--space",
        "groups[0].layout=raid5,raid6",
    ];
    let lines = json_lines(&succeed(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(lines.len(), 36);
    let left_out: Vec<_> = lines.iter().filter(|line| !line["left_out"].is_null()).collect();
    assert!(left_out.len() > 18, "{}", left_out.len());
    for line in &left_out {
        assert!(line["because"].as_str().unwrap().starts_with("left out: nas-raid5"), "{line}");
        assert_eq!((&line["pareto"], &line["verdict"]), (&false.into(), &"not-shown".into()), "{line}");
        assert!(line["headroom"].is_null() && line["headroom_below"].is_number(), "{line}");
    }
    assert!(lines.iter().any(|line| line["pareto"] == true));
    let page = succeed(&arguments);
    assert!(page.contains(&format!("{} of 36 designs left out", left_out.len())), "{page}");
}

/// Proves that wrong questions about sizes are refused with a hint.
#[test]
fn wrong_sizes_are_refused() {
    const RATED: &str = "fio:rw=randread,bs=8k,rate_iops=50,rate_process=poisson";
    for (arguments, expected) in [
        (vec![LOAD, "--array", "raid-levels", "--require", "p99<1ms"], "give its rate"),
        (vec![RATED, "--array", "raid-levels", "--require", "p99<1"], "is no latency"),
        (vec![RATED, "--array", "raid-levels", "--require", "p98<1ms"], "is no measure"),
        (vec![RATED, "--array", "raid-levels"], "--require"),
        (vec![RATED, "--require", "p99<1ms"], "--array"),
        (vec![RATED, "--array", "raid-levels", "--require", "p99<1ms", "--growth", "a lot"], "30%/y:3y"),
        (vec![RATED, "--array", "raid-levels", "--require", "p99<1ms", "--state", "happy"], "healthy"),
        (
            vec![RATED, "--array", "nas-raid5", "--require", "p99<1ms", "--space", "drives.count=4..2"],
            "KEY=FIRST",
        ),
        (vec![RATED, "--array", "nas-raid5", "--require", "p99<1ms", "--space", "drives.count=1..2"], "hint"),
        (vec![RATED, "--array", "nas-raid5", "--require", "p99<1ms", "--space", "drives.coun=4,5"], "count"),
    ] {
        let (status, message) = refuse(&[&["size"], &arguments[..]].concat());
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// Proves that a recording of this host becomes a workload that can be sized, that it names no device, and that nothing is replaced.
#[test]
fn a_recording_becomes_a_workload() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let recording = path("host.rec");
    succeed(&["record", "--for", "1100ms", "--out", &recording]);
    let text = std::fs::read_to_string(&recording).unwrap();
    assert!(text.starts_with("{\"recording\":1,"), "{text}");
    let (status, message) = refuse(&["record", "--for", "1s", "--out", &recording]);
    assert_eq!(status, Some(2));
    assert!(message.contains("not there yet"), "{message}");
    assert_eq!(std::fs::read_to_string(&recording).unwrap(), text);
    // This host may be idle: a minute with a known load is added.
    let minute = r#"{"device":"disk-9","at_s":60,"seconds":60.0,"read":{"ios":6000,"bytes":49152000,"merges":0,"time_ms":9,"most_iops":150.0},"write":{"ios":600,"bytes":2457600,"merges":0,"time_ms":9,"most_iops":20.0},"flushes":0,"busy":0.1,"queue_depth":0.2,"seconds_by_iops":[]}"#;
    std::fs::write(&recording, format!("{}\n{minute}\n", text.lines().next().unwrap())).unwrap();
    let workload = path("host.yaml");
    succeed(&["workload", &recording, "--out", &workload]);
    let text = std::fs::read_to_string(&workload).unwrap();
    assert!(text.contains("iops: 100,") && text.contains("bs: 8192") && text.contains("iops: 10,"), "{text}");
    let line = &json_lines(&succeed(&[
        "size",
        &workload,
        "--array",
        "nas-raid5",
        "--require",
        "mean<50ms",
        "--state",
        "healthy",
        "--json",
    ]))[0];
    assert!(line["headroom"].as_f64().unwrap() > 1.0, "{line}");
    let answered = &json_lines(&succeed(&["what-if", "nas-raid5", "--load", &workload, "--json"]))[0];
    assert_eq!(answered["limit"], "rate", "{answered}");
    assert!((answered["iops"].as_f64().unwrap() / 110.0 - 1.0).abs() < 0.05, "{answered}");
}

/// Proves that named workloads are listed, printed with the sources of their numbers, and refused beside `--list`.
#[test]
fn named_workloads_are_printed() {
    let list = succeed(&["workload", "--list"]);
    assert!(list.contains("etcd-wal") && list.contains("Boot storm"), "{list}");
    let printed = succeed(&["workload", "etcd-wal"]);
    assert!(printed.contains("iops: 500") && printed.contains("# \"For heavy loaded clusters"), "{printed}");
    let joined = succeed(&["workload", "etcd-wal", "oltp"]);
    assert!(joined.contains("1-wal") && joined.contains("2-data"), "{joined}");
    for arguments in [vec!["workload"], vec!["workload", "oltp", "--list"], vec!["workload", "no-such"]] {
        assert_eq!(refuse(&arguments).0, Some(2), "{arguments:?}");
    }
}

/// Proves that iostat's output becomes a workload file of the device that is named, with what it does not tell.
#[test]
fn output_of_iostat_becomes_a_workload() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("iostat.txt");
    let text = "Linux 6.8.0 (db3) \t11/23/2026 \t_x86_64_\t(8 CPU)\n\n\
                Device r/s rkB/s w/s wkB/s\nsda 9 9 9 9\nsdb 9 9 9 9\n\n\
                Device r/s rkB/s w/s wkB/s\nsda 100 800 50 800\nsdb 7 56 0 0\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let printed = succeed(&["workload", file, "--unit", "sda"]);
    assert!(printed.contains("source: \"iostat: iostat.txt\"") && printed.contains("iops: 100"), "{printed}");
    assert!(printed.contains("bs: 8192") && printed.contains("bs: 16384"), "{printed}");
    assert!(!printed.contains("sdb") && printed.contains("not_known:"), "{printed}");
    assert_eq!(printed, succeed(&["workload", file, "--unit", "sda"]));
    std::fs::write(file, text.replace("800", "8k")).unwrap();
    let (status, message) = refuse(&["workload", file]);
    assert_eq!(status, Some(2));
    assert!(message.contains("iostat.txt: line") && message.contains("hint"), "{message}");
}

/// Proves that a trace becomes a workload whose twin does what the twin does with the trace itself, within a tenth.
#[test]
fn a_trace_becomes_a_workload() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    // 400 I/Os a second, random, at moments of a linear congruential generator (Knuth 1997, 3.3.4): as good as Poisson.
    let mut text = String::new();
    let (mut state, mut at) = (1_u64, 0.0_f64);
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..8000 {
        at += -(1.0 - draw()).ln() / 400.0;
        let block = (draw() * 1_000_000.0) as u64;
        let word = if draw() < 0.7 { "r" } else { "w" };
        // SPC: ASU, LBA, size, opcode, time.
        text.push_str(&format!("0,{},8192,{word},{at:.6}\n", block * 16));
    }
    let trace = path("t.spc");
    std::fs::write(&trace, text).unwrap();
    let workload = path("t.yaml");
    succeed(&["workload", &trace, "--out", &workload]);
    let answered = &json_lines(&succeed(&["what-if", "raid-levels", "--load", &workload, "--json"]))[0];
    let plan = path("replay.yaml");
    std::fs::write(
        &plan,
        format!("title: t\nstages:\n  replay:\n    replay: {{ trace: {trace} }}\n    settings: {{ numjobs: 8, runtime: 60 }}\n"),
    )
    .unwrap();
    let run = path("run");
    succeed(&["run", &plan, "--target", "twin:raid-levels", "--out", &run]);
    let replayed = &json_lines(&succeed(&["results", &run, "--json"]))[0];
    let rate = answered["iops"].as_f64().unwrap() / replayed["iops"].as_f64().unwrap();
    assert!((rate - 1.0).abs() < 0.1, "{rate}");
    let mean = |side: &str| {
        answered.pointer(&format!("/{side}/latency_ns/mean")).unwrap().as_f64().unwrap()
            / replayed.pointer(&format!("/{side}/latency_ns/mean")).unwrap().as_f64().unwrap()
    };
    assert!((mean("read") - 1.0).abs() < 0.1, "{}: {answered} {replayed}", mean("read"));
}

/// Proves that what is neither recording nor trace is refused, and so is a recording of nothing.
#[test]
fn wrong_sources_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let text = path("text");
    std::fs::write(&text, "no trace\n").unwrap();
    for arguments in [
        vec!["workload", &text],
        vec!["workload", "/no/such/file"],
        vec!["record", "--for", "0s", "--out", "x"],
        vec!["record", "--for", "99d", "--out", "x"],
        vec!["record", "--for", "often", "--out", "x"],
        vec!["record", "no-such-disk", "--for", "1s", "--out", &path("none")],
    ] {
        let (status, message) = refuse(&arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
    }
    assert!(!directory.path().join("none").exists());
}

/// Proves that `explore` prints the address of its page with a token, answers there, refuses other hosts' addresses, and ends in order
/// on SIGINT.
#[test]
fn the_explorer_serves_its_page() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_arraylab"))
        .args(["explore", "raid-levels"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    assert!(address.starts_with("127.0.0.1:") && token.len() == 64, "{line}");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("arraylab explorer") && !page.contains(token),
        "{page}"
    );
    let ended = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (status, message) = refuse(&["explore", "raid-levels", "--listen", "0.0.0.0:0"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("other hosts"), "{message}");
    assert_eq!(refuse(&["explore", "no-such-array"]).0, Some(2));
}
