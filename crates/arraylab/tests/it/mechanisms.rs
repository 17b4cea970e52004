//! Published conclusions on small pieces of the twins, through plan, campaign, store and findings: each that asserts a
//! difference holds, and is refuted when its mechanism is switched off.

use crate::support::{full_or_tenth, json_lines, results, succeed};

/// The verdicts of some claims on a piece of a plan on a twin.
fn verdicts_of(plan: &str, target: &str, piece: &str, claims: &[&str]) -> Vec<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut arguments = vec!["run", plan, "--target", target, "--out", run.to_str().unwrap()];
    arguments.extend(piece.split_whitespace());
    succeed(&arguments);
    let all = json_lines(&succeed(&["claims", run.to_str().unwrap(), "--json"]));
    let word = |claim: &serde_json::Value, key: &str| claim[key].as_str().unwrap().to_owned();
    claims
        .iter()
        .map(|id| {
            let claim = all.iter().find(|claim| claim["id"] == *id).expect(id);
            println!("{target} {id}: {} because {}", word(claim, "verdict"), word(claim, "because"));
            ((*id).to_owned(), word(claim, "verdict"))
        })
        .collect()
}

fn expect(plan: &str, switches: &str, piece: &str, claims: &[&str], verdict: &str) {
    for (id, found) in verdicts_of(plan, &format!("twin:{plan}{switches}"), piece, claims) {
        assert_eq!(found, verdict, "{id} on {plan}{switches}");
    }
}

/// Settings of the Dorado's twin and a runtime in which it writes as many times its reserve as in some minutes: in `make test` a tenth of
/// the room for a tenth of the time.
fn minutes(minutes: u32) -> (&'static str, String) {
    let room = if test_support::is_long() { "" } else { ",shrink=10" };
    (room, format!("--set runtime={}", full_or_tenth(minutes * 60)))
}

/// Proves that the Dorado's write cliff (D2) is there with its reserve and its garbage collection, and gone without either.
#[test]
fn dorado_write_cliff() {
    let piece = "--stage group-1 --only scenario=1 --only bs=4k --set runtime=8m";
    expect("dorado-2100-g2", "", piece, &["D2"], "holds");
    expect("dorado-2100-g2", ",gc=off", piece, &["D2"], "refuted");
    expect("dorado-2100-g2", ",reserve=off", piece, &["D2"], "refuted");
}

/// Proves that the Dorado's sustained rate depends on the block size as published (D3), and that RAID 0 is faster (D9),
/// because of parity: without it 1M gains nothing over smaller blocks, and RAID 0 nothing over RAID 5.
#[test]
fn dorado_parity() {
    let (room, runtime) = minutes(6);
    let without = format!("{room},parity=off");
    let by_size = format!("--stage group-1 --only scenario=1 {runtime}");
    expect("dorado-2100-g2", room, &by_size, &["D3"], "holds");
    expect("dorado-2100-g2", &without, &by_size, &["D3"], "refuted");
    // At 32K RAID 5 falls without parity as well, so that there are two levels to compare.
    let by_level = format!("--stage group-1 --only scenario=1,6 --only bs=32k {runtime}");
    expect("dorado-2100-g2", room, &by_level, &["D9"], "holds");
    expect("dorado-2100-g2", &without, &by_level, &["D9"], "refuted");
}

/// Reads at a rate of their own beside writes of their own: no job that waits for a write holds a read back. Small enough a
/// rate that what the writes leave of the array suffices for it before and after the cliff.
const READS_APART: &str = "
title: Reads and writes by generators of their own
author: a test
intro: Scenario 4 without the generator that keeps the ratio of reads and writes.
defaults: { ioengine: libaio, direct: 1, raid: 5, write_cache: off, coverage: 100, bs: 4k, numjobs: 16, iodepth: 16 }
stages:
  group-1:
    settings: { rw: randrw, rwmixread: 50 }
    matrix: { scenario: [4] }
    loads:
      reads: { settings: { rw: randread, rate_iops: 2000 } }
      writes: { settings: { rw: randwrite, numjobs: 64, iodepth: 16 } }
    precondition: { times: 2, settings: { rw: write, bs: 16k, numjobs: 8, iodepth: 32 } }
";

/// Proves that reads fall with writes at the Dorado's cliff (D7) because one generator keeps their ratio, and not where
/// there is no cliff, or where reads have a generator of their own.
#[test]
fn dorado_reads_fall_with_writes() {
    let (room, runtime) = minutes(8);
    let piece = "--stage group-1 --only scenario=4 --only bs=4k";
    expect("dorado-2100-g2", room, &format!("{piece} {runtime}"), &["D7"], "holds");
    // Less than five minutes without a fall show nothing.
    let long_enough = if test_support::is_long() { "8m" } else { "5m" };
    expect("dorado-2100-g2", ",gc=off", &format!("{piece} --set runtime={long_enough}"), &["D7"], "refuted");
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("dorado-2100-g2.yaml");
    std::fs::write(&plan, READS_APART).unwrap();
    let found =
        verdicts_of(plan.to_str().unwrap(), &format!("twin:dorado-2100-g2{room}"), &minutes(6).1, &["D7"]);
    assert_eq!(found[0].1, "refuted");
}

/// Proves that large reads and mixed load are limited by the links (D12): without them they are not.
#[test]
fn dorado_links() {
    let piece = "--stage group-2 --only bs=1m --only rwmixread=70,100 --only numjobs=16,64 --set runtime=5";
    expect("dorado-2100-g2", "", piece, &["D12"], "holds");
    expect("dorado-2100-g2", ",links=off", piece, &["D12"], "refuted");
}

/// Proves that the FlashSystem moves a constant number of bytes from 16 KB up (F3) because its modules carry
/// bytes at a rate; that it answers writes earlier than reads (F4) because of its window of commands; that its peak IOPS
/// are at 90 % reads (F5) because links limit pure reads; and that pure writes have half the rate of pure reads (F6)
/// because of parity.
#[test]
fn flashsystem_blocks_and_reads() {
    let piece = "--stage block-size --stage read-share --set runtime=0.2 --set ramp_time=0.1";
    expect("flashsystem-840", "", piece, &["F3", "F4", "F5", "F6"], "holds");
    expect("flashsystem-840", ",bandwidth=off", piece, &["F3"], "refuted");
    expect("flashsystem-840", ",window=off", piece, &["F4"], "refuted");
    expect("flashsystem-840", ",links=off", piece, &["F5"], "refuted");
    expect("flashsystem-840", ",parity=off", piece, &["F6"], "refuted");
}

/// Proves that the firmware update is seen as published (F7) because controllers leave and stripes are verified: it is
/// refuted where controllers go on working, and where nothing is verified.
#[test]
fn flashsystem_update() {
    let piece = "--stage firmware-update";
    expect("flashsystem-840", "", piece, &["F7"], "holds");
    expect("flashsystem-840", ",failover=off", piece, &["F7"], "refuted");
    expect("flashsystem-840", ",verification=off", piece, &["F7"], "refuted");
}

/// Proves that IOPS rise less than in proportion to disks (R1) because 8 I/Os leave most disks idle: with 256 outstanding they
/// rise by more. And that writes reach a quarter of reads in RAID 5 and a fifth in RAID 6 (R3) because of parity.
#[test]
fn raid_levels_outstanding_and_parity() {
    let piece = "--only disks=2,3,4,6,8,12 --only bs=512 --only write_cache=off --only rwmixread=100,0 --set runtime=4";
    expect("raid-levels", "", piece, &["R1", "R3"], "holds");
    expect("raid-levels", "", &format!("{piece} --set numjobs=256"), &["R1"], "refuted");
    expect("raid-levels", ",parity=off", piece, &["R3"], "refuted");
}

/// Proves that the E2700's reads are answered by disks (N2) by what they take: without arms and platters they are not.
#[test]
fn e2700_reads_come_from_disks() {
    let piece = "--stage patterns --only bs=4k,256k --only iodepth=8 --set runtime=10 --set ramp_time=2";
    expect("e2700", "", piece, &["N2"], "holds");
    expect("e2700", ",rotation=off,seek=off", piece, &["N2"], "refuted");
}

/// Proves that RAID 10 has the lowest latency of mixed load on the E2700 (the first part of N7) because of parity, once the cache is
/// full: 200 s are left out. That its rate also varies least does not show: all of this load is simulated, and over the published
/// 900 s RAID 10 varies 1.5 times as much as DDP.
#[test]
fn e2700_mirror() {
    let piece = "--stage patterns --only bs=4k --only rw=randrw --only iodepth=8 --set runtime=60 --set ramp_time=200";
    let mean_ns = |switches: &str| {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let target = format!("twin:e2700{switches}");
        let mut arguments = vec!["run", "e2700", "--target", &target, "--out", run.to_str().unwrap()];
        arguments.extend(piece.split_whitespace());
        succeed(&arguments);
        let all = results(&run);
        ["raid10", "raid6", "ddp"].map(|layout| {
            let case = all.iter().find(|case| case["settings"]["layout"] == layout).expect(layout);
            let number = |direction: &str, key: &str| case[direction][key].as_f64().unwrap();
            let sum = |direction| {
                case[direction]["latency_ns"]["mean"].as_f64().unwrap() * number(direction, "ios")
            };
            (sum("read") + sum("write")) / (number("read", "ios") + number("write", "ios"))
        })
    };
    let [raid10, raid6, ddp] = mean_ns("");
    assert!(raid10 < 0.8 * raid6 && raid10 < 0.8 * ddp, "{raid10} {raid6} {ddp}");
    let [raid10, raid6, ddp] = mean_ns(",parity=off");
    assert!(raid10 > raid6 && raid10 > ddp, "{raid10} {raid6} {ddp}");
}

/// Proves that HDD latency is rotation and seek (S1): without either of them it is refuted. With them it is not shown, because the
/// client's hop is within the noise of reads of 7 ms.
#[test]
fn storpool_disk_latency() {
    let piece = "--stage latency --only volume=hdd --only rw=randread --set runtime=20";
    expect("storpool", "", piece, &["S1"], "not-shown");
    expect("storpool", ",rotation=off", piece, &["S1"], "refuted");
    expect("storpool", ",seek=off", piece, &["S1"], "refuted");
}

/// Proves that hybrid writes are fewer than all-NVMe's because every replica has to have them; that they are not around half, as the
/// review has it, refutes S3 on the twin.
#[test]
fn storpool_replication() {
    let piece = "--stage iops --only volume=nvme,hybrid --only rw=randread,randwrite --set runtime=4";
    let writes = |switches: &str| {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let target = format!("twin:storpool{switches}");
        let mut arguments = vec!["run", "storpool", "--target", &target, "--out", run.to_str().unwrap()];
        arguments.extend(piece.split_whitespace());
        succeed(&arguments);
        let rate = |volume: &str| {
            let is_it = |result: &serde_json::Value| {
                let settings = &result["settings"];
                settings["volume"] == volume && settings["rw"] == "randwrite" && settings["host"] == "node"
            };
            results(&run).iter().find(|result| is_it(result)).unwrap()["iops"].as_f64().unwrap()
        };
        rate("hybrid") / rate("nvme")
    };
    let (with, without) = (writes(""), writes(",replication=off"));
    assert!(with < 0.8 && without > 0.95, "{with} with replication, {without} without");
    expect("storpool", "", piece, &["S3"], "refuted");
}

/// Proves that HDD volumes write more than their drives alone (S7) because writes are acknowledged from a buffer and put down in
/// sequence.
#[test]
fn storpool_buffer() {
    let piece = "--stage iops --stage latency --only volume=hdd --only host=node --only rw=randread,randwrite --set runtime=10";
    expect("storpool", "", piece, &["S7"], "holds");
    expect("storpool", ",write_cache=off,copy_on_write=off", piece, &["S7"], "refuted");
}

/// Proves that a limit caps a volume (S5), and that a neighbour's limit gives the victim its rate back (S8): without limits
/// neither is so.
#[test]
fn storpool_limits() {
    let piece = "--stage limits --stage neighbour --set runtime=40";
    expect("storpool", "", piece, &["S5", "S8"], "holds");
    expect("storpool", ",limits=off", piece, &["S5", "S8"], "refuted");
}

/// Proves that a claim which a twin refutes says why in `claims`, in JSON and in words, and in the report: a limit of the model
/// (N10) or the publication's own inconsistency (R2).
#[test]
fn refuted_claims_say_why() {
    for (plan, piece, id, reason, words) in [
        (
            "e2700",
            "--stage patterns --only bs=4k,16k --only rw=randread --set runtime=5",
            "N10",
            "limit-of-the-model",
            "(limit of the model: ",
        ),
        (
            "raid-levels",
            "--only bs=512 --only rwmixread=100 --only write_cache=off --set runtime=4",
            "R2",
            "published-inconsistency",
            "(published inconsistency: ",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let run = run.to_str().unwrap();
        let target = format!("twin:{plan}");
        let arguments = ["run", plan, "--target", &target, "--out", run];
        succeed(&[&arguments[..], &piece.split_whitespace().collect::<Vec<_>>()].concat());
        let all = json_lines(&succeed(&["claims", run, "--json"]));
        let claim = all.iter().find(|claim| claim["id"] == id).unwrap();
        assert_eq!((&claim["verdict"], &claim["known"]["reason"]), (&"refuted".into(), &reason.into()));
        assert!(all.iter().all(|claim| claim["verdict"] == "refuted" || claim["known"].is_null()));
        let report = directory.path().join("report.md");
        succeed(&["report", run, "--format", "md", "--out", report.to_str().unwrap()]);
        for text in [succeed(&["claims", run]), std::fs::read_to_string(&report).unwrap()] {
            assert!(text.contains(words), "{text}");
        }
    }
}

/// Proves that a case whose I/Os spend most of their time in the hosts is said to be limited by the host that made the load, on a
/// twin whose hosts delay I/Os and on one whose threads take them one by one, and by something else with the hosts' costs off.
#[test]
fn hosts_limit() {
    let limits = |plan: &str, switches: &str, piece: &str| -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let target = format!("twin:{plan}{switches}");
        let mut arguments = vec!["run", plan, "--target", &target, "--out", run.to_str().unwrap()];
        arguments.extend(piece.split_whitespace());
        succeed(&arguments);
        let all = json_lines(&succeed(&["findings", run.to_str().unwrap(), "--json"]));
        let limits = all.iter().filter(|finding| finding["kind"] == "limit");
        let by = limits.map(|limit| {
            println!("{target}: {} because {}", limit["by"], limit["because"]);
            limit["by"].as_str().unwrap().to_owned()
        });
        by.collect()
    };
    let two_jobs = "--stage block-size --only bs=4k --set numjobs=2 --set iodepth=1 --set runtime=5";
    assert_eq!(limits("flashsystem-840", "", two_jobs), ["generator"]);
    assert_eq!(limits("flashsystem-840", ",host=off", two_jobs), ["concurrency"]);
    let deep = "--stage group-2 --only bs=4k --only rwmixread=100 --only numjobs=2 --only iodepth=64 --set runtime=5";
    assert_eq!(limits("dorado-2100-g2", "", deep), ["generator"]);
    assert_ne!(limits("dorado-2100-g2", ",host=off", deep), ["generator"]);
}
