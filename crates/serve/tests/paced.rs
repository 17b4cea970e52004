//! Served at the twin's speed.

mod common;

use common::{Random, Served, array, count, directory, is_whole, options, serve, serve_timed, serve_with};
use serde_json::Value;
use serve::{Options, PACED_POINTS, bench_paced, ctl, parse_speed};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// fio on a volume.
fn fio(served: &Served, volume: &str, directory: &Path) -> Command {
    let mut command = Command::new("fio");
    command
        .args(["--name=served", "--ioengine=nbd", "--randrepeat=0", "--norandommap"])
        .arg(format!("--uri=nbd+unix:///{volume}?socket={}", served.socket.display()))
        .current_dir(directory);
    command
}

/// Returns why the array does not do it.
fn refused(served: &Served, words: &str) -> String {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    diagnostic::full_text(&ctl(&served.control, &words).unwrap_err())
}

/// Reads of a volume that were answered so far.
fn answered(served: &Served, volume: usize) -> u64 {
    served.ctl("status")["volumes"][volume]["served"]["read"]["ios"].as_u64().unwrap()
}

/// fio as fast as it goes, its I/Os counted by the second.
struct IopsBySecond {
    fio: Child,
    log: PathBuf,
}

impl IopsBySecond {
    fn start(served: &Served, volume: &str, directory: &Path, seconds: u32) -> Self {
        let fio = fio(served, volume, directory)
            .args(["--rw=randread", "--bs=4k", "--iodepth=64", "--size=32m", "--time_based"])
            .args([format!("--runtime={seconds}"), format!("--write_lat_log={volume}")])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        IopsBySecond { fio, log: directory.join(format!("{volume}_clat.1.log")) }
    }

    /// Counts of each second, from the log's line for each I/O.
    fn end(mut self) -> Vec<u64> {
        assert!(self.fio.wait().unwrap().success());
        let mut counts = Vec::new();
        for line in std::fs::read_to_string(&self.log).unwrap().lines() {
            let at_ms: usize = line.split(',').next().unwrap().trim().parse().unwrap();
            let second = at_ms / 1000;
            counts.resize(counts.len().max(second + 1), 0);
            counts[second] += 1;
        }
        counts
    }
}

/// One test at a time: what they measure is time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Proves that a served array takes the time that its twin takes: from a request's arrival to the moment of its reply
/// it is that of the same load in simulated time, and nearer still that of a twin which is given the same requests at the same
/// moments. How late replies leave and what fio sees is a matter of the machine;
/// `arraylab bench serve` measures it where nothing else runs.
#[test]
fn an_array_takes_its_twins_time() {
    let _alone = alone();
    let arrays = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays"));
    let seconds = count(40) as u32;
    for row in bench_paced(&PACED_POINTS[1..3], Some(arrays), seconds).unwrap() {
        // A client that is slow to send anew keeps less under way, which can only make the array quicker.
        let ratio = row.modelled_mean_ns as f64 / row.twin_mean_ns;
        assert!((0.8..1.05).contains(&ratio), "{row:?}");
        // A busy machine hands requests over after the model has gone on.
        let ratio = row.modelled_mean_ns as f64 / row.replayed_mean_ns;
        assert!((0.95..1.1).contains(&ratio), "{row:?}");
    }
}

/// Proves that a limit is never exceeded, from the first second on, that a change acts on what waits, and that the
/// neighbour goes on: fio's own counts by the second, on two volumes of one array. A machine that stops for a moment
/// loses I/Os that are not made up for, so on a busy one there may be fewer; `ARRAYLAB_LONG` asks for 1 % in every
/// second. That the model itself is exact is proved beside it, in simulated time.
#[test]
fn a_limit_is_kept_in_every_second() {
    let _alone = alone();
    // What no round may show fails it at once; a machine that stops for a moment may keep I/Os back in one round.
    let too_few: Vec<String> = (0..LIMIT_ROUNDS).map_while(|_| limited_by_second().err()).collect();
    assert!(too_few.len() < LIMIT_ROUNDS, "in each round: {too_few:#?}");
}

/// Number of rounds, as a busy machine may keep I/Os back.
const LIMIT_ROUNDS: usize = 4;

/// A round in which a limit is set and changed under load. Panics where a limit was exceeded; an error is what was missing.
fn limited_by_second() -> Result<(), String> {
    let share = if test_support::is_long() { 0.99 } else { 0.4 };
    let at_least = |iops: f64| (iops * share) as u64;
    let directory = directory();
    let served = serve_timed(&array("storpool,capacity=256m"), directory.path());
    served.ctl("limit nvme iops=1000");
    let begun = Instant::now();
    let limited = IopsBySecond::start(&served, "nvme", directory.path(), 7);
    let neighbour = IopsBySecond::start(&served, "hybrid", directory.path(), 7);
    std::thread::sleep(Duration::from_millis(3500));
    let changed = Instant::now();
    served.ctl("limit nvme iops=400");
    let (change_took, changed_after) = (changed.elapsed(), begun.elapsed());
    let (before, counted) = (answered(&served, 0), Instant::now());
    std::thread::sleep(Duration::from_secs(1));
    let in_first_second = answered(&served, 0) - before;
    // A busy machine counts again later than after a second.
    let seconds = counted.elapsed().as_secs_f64().max(1.0);
    let (limited, neighbour) = (limited.end(), neighbour.end());
    // What had been let in already comes on top.
    assert!(in_first_second as f64 <= 480.0 * seconds, "{in_first_second} after the change, in {seconds} s");
    // fio takes a moment to start, so the change falls into its third or fourth second.
    let is_kept = |late: u64| {
        let keeps = |counts: &[u64], most: u64| counts.iter().all(|&count| count <= most + late);
        keeps(&limited[..2], 1010) && keeps(&limited[4..6], 404)
    };
    // A fio that is kept waiting counts the 64 that it has under way in a later second than that of their replies.
    assert!(is_kept(64) || changed_after > Duration::from_millis(3800), "{changed_after:?}: {limited:?}");
    let is_enough = is_kept(0)
        && change_took < Duration::from_millis(if share > 0.9 { 100 } else { 1000 })
        && in_first_second >= at_least(400.0)
        && limited[..2].iter().all(|&count| count >= at_least(1000.0))
        && limited[4..6].iter().all(|&count| count >= at_least(400.0))
        && neighbour[..6].iter().all(|&iops| iops > 1000);
    if is_enough {
        return Ok(());
    }
    Err(format!(
        "the change took {change_took:?}, {in_first_second} I/Os after it; {limited:?} limited, {neighbour:?} beside it"
    ))
}

/// Proves that a volume's template can be changed under verified load: no wrong bytes, and no I/O takes a second.
#[test]
fn a_template_is_changed_under_verified_load() {
    let _alone = alone();
    let directory = directory();
    let served = serve_timed(&array("storpool,capacity=256m"), directory.path());
    let fio = fio(&served, "hdd", directory.path())
        .args([
            "--rw=randwrite",
            "--bs=4k",
            "--iodepth=16",
            "--size=32m",
            "--verify=crc32c",
            "--verify_state_save=0",
        ])
        .args(["--verify_backlog=256", "--time_based", "--runtime=6", "--output-format=json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    served.ctl("template hdd nvme");
    let output = fio.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let job = &report["jobs"][0];
    assert_eq!(job["error"], 0, "{text}");
    for direction in ["read", "write"] {
        assert!(job[direction]["total_ios"].as_u64().unwrap() > 100, "{text}");
        assert!(job[direction]["clat_ns"]["max"].as_u64().unwrap() < 1_000_000_000, "{text}");
    }
    let status = served.ctl("status");
    let notes = status["model"]["notes"].to_string();
    assert!(notes.contains("gets the template `nvme`"), "{notes}");
    let moved = served.wait_until("moved", |status| status["volumes"][2]["pieces"]["hdd"] == 0);
    assert!(moved["volumes"][2]["pieces"]["nvme"].as_u64().unwrap() > 100, "{moved}");
}

/// Proves that the bytes of a volume lie on the classes of drives that its template names, at the start and after each
/// change, also untimed and over a stop, that each change moves them while they are read and written, and that nothing is
/// wrong on any replica afterwards.
#[test]
fn bytes_follow_their_template() {
    let _alone = alone();
    let directory = directory();
    let array = array("storpool,capacity=32m");
    let served = serve(&array, directory.path());
    let pieces =
        |status: &Value, volume: usize, class: &str| status["volumes"][volume]["pieces"][class].clone();
    let before = served.ctl("status");
    assert_eq!((&pieces(&before, 0, "hdd"), &pieces(&before, 2, "nvme")), (&0.into(), &0.into()));
    let all = pieces(&before, 0, "nvme").as_u64().unwrap();
    assert_eq!(pieces(&before, 1, "nvme"), all / 3);
    let mut client = served.client_of("hdd");
    let mut versions = vec![0u8; 256];
    let mut random = Random(5);
    for (round, (template, nvme)) in [("nvme", all), ("hybrid", all / 3), ("hdd", 0)].into_iter().enumerate()
    {
        served.ctl(&format!("template hdd {template}"));
        let is_there = |status: &Value| pieces(status, 2, "nvme") == nvme;
        while !is_there(&served.ctl("status")) {
            for _ in 0..100 {
                let block = random.below(256);
                let read = client.read(block * 65536, 4096).unwrap();
                assert!(read.iter().all(|&byte| byte == versions[block as usize]), "{template}, {block}");
                versions[block as usize] = 1 + round as u8 * 50 + random.below(50) as u8;
                client.write(block * 65536, &[versions[block as usize]; 4096], false).unwrap();
            }
        }
        let report = served.scrub();
        assert_eq!(
            (&report["repaired_sectors"], &report["parity_rewritten_stripes"]),
            (&0.into(), &0.into())
        );
    }
    served.ctl("template hdd nvme");
    drop(served);
    let served = serve(&array, directory.path());
    served.wait_until("moved after a stop", |status| pieces(status, 2, "nvme") == all);
    let mut client = served.client_of("hdd");
    for (block, version) in versions.iter().enumerate() {
        let read = client.read(block as u64 * 65536, 4096).unwrap();
        assert!(read.iter().all(|byte| byte == version), "{block}");
    }
}

/// Proves what can be set while an array is served, what is refused and why, and that the model does as it is told:
/// its write cache decides what a write costs, a lost drive and a failed controller are noted.
#[test]
fn a_served_array_is_managed() {
    let _alone = alone();
    let raid_directory = directory();
    let served = serve_timed(&array("raid-levels,raid=5,disks=5,capacity=16m"), raid_directory.path());
    let refused_here = |text: &str| refused(&served, text);
    let refusal = refused_here("set raid=6 disks=6");
    let command = format!(
        "arraylab serve raid-levels,disks=6,capacity=16m,raid=6 --socket {}",
        served.socket.display()
    );
    assert!(
        refusal.contains("serve it anew")
            && refusal.contains(&command)
            && refusal.contains("data-raid6-disks6 "),
        "{refusal}"
    );
    assert!(refused_here("set disks=13").contains("has 12 drives"));
    assert!(refused_here("set colour=red").contains("no setting `colour`"));
    assert!(refused_here("set write_cache=maybe").contains("on or off"));
    assert!(refused_here("controller-failover 0").contains("cannot do"));
    assert!(refused_here("limit vol0 colour=5").contains("has iops"));
    assert!(refused_here("limit nobody iops=5").contains("no volume"));
    assert!(refused_here("limit vol0 iops=-5").contains("above 0"));
    // As it is, whether that was said at the start or not.
    served.ctl("set raid=5 disks=5 segment=64k write_cache=off");
    let write_ms = || {
        let mut client = served.client();
        let began = Instant::now();
        for block in 0..20u64 {
            client.write(block * 40960, &[7; 4096], false).unwrap();
        }
        began.elapsed().as_secs_f64() * 50.0
    };
    let through_ms = write_ms();
    served.ctl("set write_cache=on");
    // A busy machine can only make them slower.
    let back_ms = (0..5).map(|_| write_ms()).min_by(f64::total_cmp).unwrap();
    assert!(through_ms > 4.0 && back_ms < through_ms / 2.0, "{through_ms} ms through, {back_ms} ms back");
    served.ctl("fail 3");
    served.wait_until("noted", |status| status["model"]["notes"].to_string().contains("drive-3 fails"));
    drop(served);

    let flash_directory = directory();
    let served = serve_timed(&array("flashsystem-840,capacity=16m"), flash_directory.path());
    served.ctl("controller-failover 1");
    assert!(refused(&served, "controller-failover 0").contains("has to wait"));
    let mut client = served.client();
    client.write(0, &[1; 4096], false).unwrap();
    let notes = served.ctl("status")["model"]["notes"].to_string();
    assert!(notes.contains("controller-1 fails"), "{notes}");
    drop(served);
    // The controller is away after a start as it was before; another array's are there.
    let served = serve_timed(&array("flashsystem-840,capacity=16m"), flash_directory.path());
    assert!(refused(&served, "firmware-update").contains("has to wait"));
    drop(served);
    let other_directory = directory();
    let served = serve_timed(&array("flashsystem-840,capacity=16m"), other_directory.path());
    served.ctl("firmware-update");
    served.client().write(0, &[1; 4096], false).unwrap();
    let notes = served.ctl("status")["model"]["notes"].to_string();
    assert!(notes.contains("controller-0 leaves for its new firmware"), "{notes}");
}

/// Proves that age and fill can be set while an array is served and act on its model: drives that were filled and rewritten
/// for long have less erased than new ones, and drives that have rested have more of it again; the bytes stay.
#[test]
fn age_and_fill_are_set() {
    let _alone = alone();
    let directory = directory();
    let served = serve_timed(&array("dorado-2100-g2,capacity=16m"), directory.path());
    served.client().write(0, &[3; 4096], true).unwrap();
    let erased = |condition: &str| {
        served.ctl(&format!("set condition={condition}"));
        // Drives are brought into their condition when first used.
        assert!(served.client().read(0, 4096).unwrap().iter().all(|&byte| byte == 3));
        let status = served.ctl("status");
        assert_eq!(status["model"]["settings"]["condition"], condition);
        status["model"]["parts"]["drive-0"]["fill_erased_bytes"].as_u64().unwrap()
    };
    let [fresh, filled, steady] = ["fresh", "filled", "steady"].map(erased);
    assert!(fresh > filled && filled > steady, "{fresh}, {filled}, {steady}");
}

/// Proves that a drive which the array finds broken by itself is lost to its model as well, and to it only once: reads no
/// longer come from it but from all the others, and a new one in its place is rebuilt in the model's time too.
#[test]
fn a_drive_found_broken_is_lost_to_the_model() {
    let _alone = alone();
    let directory = directory();
    // The rebuild begins 5 s of the model after the replacement.
    let speed_millionths = parse_speed(false, Some(50.0)).unwrap();
    let options = Options { speed_millionths, ..options(directory.path()) };
    // All twelve drives, so that no spare takes its place.
    let served = serve_with(&array("raid-levels,raid=5,disks=12,capacity=16m"), options);
    let of_drives = |status: &Value, what: &str| -> Vec<u64> {
        let parts = &status["model"]["parts"];
        (0..12).map(|drive| parts[format!("drive-{drive}")][what].as_u64().unwrap()).collect()
    };
    let noted = |status: &Value, words: &str| status["model"]["notes"].to_string().matches(words).count();
    let mut client = served.client();
    served.ctl("break 2");
    (0..64).for_each(|block| client.write(block * 16384, &[5; 4096], false).unwrap());
    // It meets the error.
    let _ = ctl(&served.control, &["checkpoint".to_owned()]);
    let before = served.wait_until("lost to the model", |status| noted(status, "drive-2 fails") == 1);
    assert_eq!(before["volume"]["drives"][2]["condition"], "failed");
    (0..64).for_each(|block| drop(client.read((64 << 20) + block * 65536, 65536).unwrap()));
    let status = served.ctl("status");
    let (before, after) = (of_drives(&before, "reads"), of_drives(&status, "reads"));
    for drive in 0..12 {
        assert_eq!(before[drive] == after[drive], drive == 2, "drive {drive}: {before:?}, {after:?}");
    }
    served.ctl("replace 2");
    let status = served.wait_until("whole", is_whole);
    assert_eq!((noted(&status, "drive-2 fails"), noted(&status, "a new drive takes")), (1, 1));
    let written = of_drives(&status, "writes")[2];
    served.wait_until("rebuilt in the model", |status| of_drives(status, "writes")[2] > written + 100);
}
