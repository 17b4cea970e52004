//! Job files and parameter files as plans.

use import::{ImportedPlan, import_plan};
use plan::{Case, Selection};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn samples(directory: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn imported(name: &str, text: &str) -> ImportedPlan {
    import_plan(Path::new(name), text).unwrap_or_else(|error| panic!("{}", diagnostic::full_text(&error)))
}

fn cases(plan: &ImportedPlan) -> Vec<Case> {
    let text = plan.text.as_deref().expect("a plan");
    let read = plan::parse_plan(&plan.name, "test", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    plan::expand(&read, &Selection::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The whole of an import, as a person would read it.
fn shown(plan: &ImportedPlan) -> String {
    let mut text = plan.text.clone().unwrap_or_else(|| "(no plan)\n".to_owned());
    let _ = writeln!(text, "--- {} cases", if plan.text.is_some() { cases(plan).len() } else { 0 });
    for target in &plan.targets {
        let _ = writeln!(text, "target {} = {} (line {})", target.name, target.path, target.line);
    }
    plan.warnings.iter().for_each(|warning| writeln!(text, "warning: {warning}").unwrap());
    plan.not_carried.iter().for_each(|note| writeln!(text, "{note}").unwrap());
    text
}

/// Proves what becomes of each job file: its plan, which `plan` takes and expands, and each line that is not in it.
#[test]
fn fio_job_files_become_plans() {
    let samples = samples("fio");
    assert!(samples.len() >= 30);
    for (name, text) in samples {
        insta::assert_snapshot!(format!("fio-{name}"), shown(&imported(&name, &text)));
    }
}

/// Proves what becomes of each parameter file.
#[test]
fn vdbench_parameter_files_become_plans() {
    for (name, text) in samples("vdbench") {
        insta::assert_snapshot!(format!("vdbench-{name}"), shown(&imported(&name, &text)));
    }
}

/// Options that only say how jobs are called, grouped and reported, and usual values: what an import may pass over.
const SILENT: [&str; 17] = [
    "name",
    "description",
    "group_reporting",
    "new_group",
    "stonewall",
    "loops=1",
    "fdatasync=0",
    "unlink=0",
    "do_verify=0",
    "time_based",
    "rwmixread",
    "rwmixwrite",
    "buffered",
    "invalidate=1",
    "offset=0",
    "bs",
    // What a plan does with its processors.
    "cpus_allowed_policy=split",
];

/// Proves that no option of any job file is lost: its word is in the plan, in the list, a target, or on the short
/// list of what changes nothing.
#[test]
fn no_option_is_lost() {
    for (name, text) in samples("fio") {
        let plan = imported(&name, &text);
        let shown = shown(&plan);
        for (index, line) in text.lines().enumerate() {
            let option = line.split(['#', ';']).next().unwrap().trim();
            if option.is_empty() || option.starts_with('[') || shown.contains("the whole job") {
                continue;
            }
            let word = option.split('=').next().unwrap();
            let is_target = plan.targets.iter().any(|target| option.contains(&target.path));
            let is_named = plan.not_carried.iter().any(|note| note.line == index + 1);
            let is_silent = SILENT.iter().any(|silent| option.starts_with(silent));
            let canonical = match word {
                "readwrite" => "rw:",
                "timeout" => "runtime:",
                "blocksize" => "bs:",
                "ioscheduler" => "queue.scheduler:",
                "startdelay" => "start:",
                "latency_target" | "latency_percentile" => "max-under-latency:",
                "bsrange" => "bssplit:",
                "rate" | "rate_iops" => "rate_iops",
                _ => "",
            };
            let is_carried =
                shown.contains(&format!("{word}:")) || (!canonical.is_empty() && shown.contains(canonical));
            assert!(
                is_carried || is_target || is_named || is_silent,
                "{name}:{}: {option}\n{shown}",
                index + 1
            );
        }
    }
}

/// Proves that reference/formats.md's sample gives what it says there: two targets, two patterns, 21 runs of 60 and
/// 300 s in closed loop, then a run at full rate and six at 10 to 100 % of it.
#[test]
fn the_formats_sample_is_understood() {
    let text = include_str!("vdbench/formats-sample.parm");
    let mut include = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let read = import::read_parameters(Path::new("sample"), text, &mut include).unwrap();
    let targets: Vec<_> =
        read.targets.iter().map(|sd| (sd.lun.as_str(), sd.threads, sd.hitarea_bytes)).collect();
    assert_eq!(targets, [("/dev/mapper/r10", 16, 1 << 20), ("/dev/mapper/r5", 16, 10 << 30)]);
    let (oltp, log) = (&read.patterns[0], &read.patterns[1]);
    let mix = vec![(4096, 20.0), (8192, 70.0), (65_536, 10.0)];
    assert_eq!((&oltp.xfersize, oltp.rdpct, oltp.rhpct), (&import::TransferSize::Mix(mix), 70.0, 30.0));
    assert_eq!((&oltp.seek, &oltp.targets), (&import::Seek::Random(100.0), &vec![0, 1]));
    assert_eq!(
        (&log.xfersize, log.rdpct, &log.seek),
        (&import::TransferSize::Fixed(65_536), 0.0, &import::Seek::Sequential)
    );
    let (sweep, resp) = (&read.phases[0], &read.phases[1]);
    let runs = sweep.runs();
    assert_eq!((runs.len(), sweep.ramp_s(), sweep.counted_s()), (21, 60.0, 300.0));
    // The first loop is the outermost.
    assert_eq!(runs[1].values, [("threads".to_owned(), 1.0), ("rdpct".to_owned(), 70.0)]);
    assert_eq!(runs[20].values, [("threads".to_owned(), 64.0), ("rdpct".to_owned(), 100.0)]);
    assert!(runs.iter().all(|run| run.rate == import::Rate::Max));
    let rates: Vec<_> = resp.runs().into_iter().map(|run| run.rate).collect();
    let shares = [10.0, 30.0, 50.0, 70.0, 90.0, 100.0].map(import::Rate::ShareOfMax);
    assert_eq!((&rates[0], &rates[1..]), (&import::Rate::Max, &shares[..]));
    assert_eq!((resp.patterns.len(), resp.distribution.as_str()), (2, "exponential"));

    let plan = imported("sample.parm", text);
    let cases = cases(&plan);
    let of_sweep: Vec<&Case> = cases.iter().filter(|case| case.stage == "sweep").collect();
    assert_eq!((of_sweep.len(), of_sweep[1].name.as_str()), (21, "iodepth=1,rwmixread=70"));
    assert_eq!((of_sweep[0].load.ramp_ns, of_sweep[0].load.runtime_ns), (60_000_000_000, 300_000_000_000));
    assert!(cases.iter().any(|case| case.stage == "resp"));
}

/// Proves that the parameter file of the RAID test, as reference/systems.md §3 describes it, expands to the cases of
/// one set: three mixes of two sizes, with vdbench's 8 threads as 8 outstanding I/Os.
#[test]
fn the_raid_test_expands_to_its_cases() {
    let plan = imported("raid.parm", include_str!("vdbench/raid-levels.parm"));
    let cases = cases(&plan);
    let points: Vec<(u32, u8)> = cases.iter().map(|case| (case.load.bs_bytes, case.load.rwmixread)).collect();
    assert_eq!(points, [(512, 100), (512, 0), (512, 70), (4096, 100), (4096, 0), (4096, 70)]);
    for case in &cases {
        assert_eq!(case.load.outstanding(), 8);
        assert!(case.load.pattern.is_random());
        assert_eq!((case.load.ramp_ns, case.load.runtime_ns), (10_000_000_000, 120_000_000_000));
        assert_eq!((case.load.interval_ns, &case.settings["direct"]), (5_000_000_000, &serde_json::json!(1)));
    }
    assert_eq!((plan.not_carried.len(), plan.warnings.len()), (0, 0), "{:?}", plan.not_carried);
}

/// Proves that mistakes name file, line and column.
#[test]
fn mistakes_have_a_place() {
    let error =
        |name: &str, text: &str| diagnostic::full_text(&import_plan(Path::new(name), text).unwrap_err());
    assert!(error("a.fio", "[a]\n=4\n").starts_with("a.fio:2:1: \"=4\" is no option"));
    assert!(
        error("v.parm", "sd=a,lun=/x\nwd=w,sd=a\nrd=r,wd=w,elapsed=x\n")
            .starts_with("v.parm:3:11: `elapsed=x`: a time")
    );
    assert!(error("x", "nothing here\n").contains("no file of a kind that is imported\nhint: "));
    let many =
        "[global]\nrw=read\nnumjobs=4096\nioengine=libaio\niodepth=65536\nruntime=1\ntime_based\n[a]\n";
    // What no plan may ask for is listed with its line, and the rest is a plan.
    let plan = imported("many.fio", many);
    assert_eq!(cases(&plan).len(), 1);
    assert!(
        plan.not_carried.iter().any(|note| note.line == 5 && note.what == "iodepth=65536"),
        "{:?}",
        plan.not_carried
    );
}

/// Proves what becomes of options that plans have: mixes of sizes, an end by bytes, a search under a latency and a hot
/// band; and that what no plan can say is listed with its line, and never written.
#[test]
fn options_that_plans_have_are_carried_over() {
    let job = |options: &str| {
        imported("j.fio", &format!("[a]\nioengine=libaio\nrw=randrw\niodepth=16\nruntime=9\n{options}\n"))
    };
    let has = |plan: &ImportedPlan, words: &str| {
        let text = shown(plan);
        assert!(text.contains(words), "{words}\n{text}");
    };
    has(&job("bssplit=4k/30:64k/"), "bssplit: \"4k/30:64k/70\"");
    let by_direction = job("bssplit=4k/50:8k/50,64k/100");
    has(&by_direction, "bssplit: \"4k/50:8k/50\"");
    has(
        &by_direction,
        "j.fio:6: `bssplit=4k/50:8k/50,64k/100` is not carried over: a plan's mix of sizes is one",
    );
    has(&imported("w.fio", "[a]\nrw=randwrite\nbssplit=4k/100,8k/50:16k/50\n"), "bssplit: \"8k/50:16k/50\"");
    has(&job("io_size=1g\nnumjobs=4"), "io_size: 4g");
    has(&job("io_size=1g\ntime_based"), "`io_size=1g` is not carried over: fio passes over it");
    has(&job("rate_iops=100,50"), "rate_iops_read: 100, rate_iops_write: 50");
    has(&job("bs=8k\nrate=1m,"), "rate_iops_read: 128");
    has(&imported("r.fio", "[a]\nrw=read\nbs=64k\nrate=10m\n"), "rate_iops: 160");
    let search = job("latency_target=500\nlatency_percentile=99.9\nlatency_window=2s");
    has(&search, "max-under-latency: { of: p99.9, below: 500us, over: iodepth, limit: 16 }");
    has(&search, "j.fio:8: `latency_window=2s` is not carried over");
    assert!(cases(&search)[0].find.is_some());
    has(&imported("s.fio", "[a]\nrw=randread\nlatency_target=1ms\n"), "there is nothing to find");

    let vdbench = |wd: &str, sd: &str| {
        let text =
            format!("sd=s,lun=/dev/x,{sd}\nwd=w,sd=s,{wd}\nrd=r,wd=w,iorate=max,elapsed=10,interval=1\n");
        imported("v.parm", &text)
    };
    has(
        &vdbench("rdpct=100,rhpct=80", "size=100g,hitarea=20g"),
        "random_distribution: \"zoned:80/20:20/80\"",
    );
    let both = vdbench("rdpct=50,rhpct=80,whpct=40", "size=100g,hitarea=1m");
    has(&both, "random_distribution: \"zoned:60/1:40/99\"");
    has(
        &both,
        "v.parm:2: `rhpct=80, whpct=40 of wd=w` is not carried over: a plan's hot band is whole percents",
    );
    has(&vdbench("xfersize=(4k,16k,4k)", "size=1g"), "bssplit: \"4k/25:8k/25:12k/25:16k/25\"");

    // Each is refused by plans only as a whole.
    let late = imported(
        "late.fio",
        "[global]\nioengine=libaio\nruntime=10\ntime_based\n[a]\nrw=read\n[b]\nrw=write\nstartdelay=30\n",
    );
    assert_eq!(cases(&late).len(), 1);
    has(&late, "late.fio:7: `[b]` is not carried over: the load `b` begins when the case is over");
    let verified = imported(
        "v.fio",
        "[a]\nrw=randwrite\nruntime=5\ntime_based\nverify=crc32c\nnumjobs=2\nsize=1m\noffset_increment=2m\n",
    );
    assert_eq!(cases(&verified).len(), 1);
    assert!(
        verified.not_carried.iter().any(|note| note.line == 5 || note.line == 8),
        "{:?}",
        verified.not_carried
    );
}

/// Proves that fio's ranges become a plan's: parts of jobs by `offset_increment`, shares of a device, rates of trims, and a
/// delay behind a ramp; and that ranges which a plan cannot say are listed.
#[test]
fn ranges_of_jobs_are_carried_over() {
    let case = |text: &str| {
        let plan = imported("r.fio", text);
        let case = cases(&plan).swap_remove(0);
        (case.settings, plan.not_carried)
    };
    let start = "[a]\nruntime=5\ntime_based\nioengine=libaio\n";
    let own_parts = "rw=read\nnumjobs=4\nsize=1m\noffset_increment=1m\n";
    let (settings, lost) = case(&format!("{start}{own_parts}"));
    assert_eq!(
        (&settings["size"], settings.get("offset_increment"), lost.len()),
        (&(4 << 20).into(), None, 0)
    );
    let (settings, lost) = case(&format!("{start}rw=write\nnumjobs=2\nsize=25%\noffset_increment=25%\n"));
    assert_eq!((&settings["working_set"], settings.get("size"), lost.len()), (&50.into(), None, 0));
    let (settings, _) = case(&format!("{start}rw=randread\nsize=20%\n"));
    assert_eq!(settings["working_set"], 20);
    let (settings, lost) = case(&format!("{start}rw=randread\nnumjobs=2\nsize=2m\noffset_increment=1m\n"));
    assert_eq!((&settings["size"], &settings["offset_increment"]), (&(3 << 20).into(), &(1 << 20).into()));
    assert!(lost[0].why.starts_with("fio's jobs use 2m each"), "{lost:?}");
    let (settings, _) = case(&format!("{start}rw=read\nnumjobs=2\noffset_increment=0\n"));
    assert_eq!(settings["offset_increment"], 0);
    let (settings, _) = case(&format!("{start}rw=randtrim\nrate_iops=,,30\n"));
    assert_eq!(settings["rate_iops"].as_f64(), Some(30.0));
    let (settings, _) = case(&format!("{start}rw=randread\nbs=64k\nbssplit=4k/90:64k/10\n"));
    assert_eq!(settings["bs"], 65_536);
    let half = "[a]\nrw=read\nnumjobs=4\nsize=1m\noffset_increment=1m\nio_size=50%\nruntime=5\n";
    assert_eq!(case(half).0["io_size"], "50%");
    let late = imported(
        "l.fio",
        "[global]\nioengine=libaio\nruntime=20\ntime_based\n[a]\nrw=read\nramp_time=5\n[b]\nrw=write\nstartdelay=15\n",
    );
    assert_eq!(cases(&late)[0].loads[1].start_ns, 15_000_000_000, "ten seconds after the ramp of five");
}

/// Proves that several definitions of one `lun` are ranges of one target, that `maxdata` ends a case, and that a range from
/// the start of a target is its working set.
#[test]
fn definitions_of_one_lun_are_one_target() {
    let plan = imported(
        "v.parm",
        "sd=s1,lun=/dev/x,size=1g\nsd=s2,lun=/dev/x,threads=2\nwd=w1,sd=s1\nwd=w2,sd=s2,range=(0,30)\n\
         rd=r1,wd=w1,elapsed=10,interval=1,maxdata=1g\nrd=r2,wd=w2,elapsed=10,interval=1,maxdata=2\n",
    );
    assert_eq!(plan.targets.len(), 1);
    let cases = cases(&plan);
    assert!(cases.iter().all(|case| case.loads.is_empty()));
    assert_eq!(
        (&cases[0].settings["size"], &cases[0].settings["io_size"]),
        (&(1 << 30).into(), &(1 << 30).into())
    );
    assert_eq!(
        (&cases[1].settings["working_set"], &cases[1].settings["io_size"]),
        (&30.into(), &"200%".into())
    );
    assert_eq!(cases[1].settings["iodepth"], 2);
}

fn damaged(texts: Vec<String>) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("=".to_owned()),
        Just(",".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("\n".to_owned()),
        Just("[".to_owned()),
        Just("-".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("(1-64,d)".to_owned()),
        Just("\"".to_owned()),
        Just("-1".to_owned()),
        Just("*".to_owned()),
        Just("1e308".to_owned()),
        "\\PC{1,3}",
    ];
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), 0usize..6, piece), 1..5);
    (prop::sample::select(texts), edits).prop_map(|(text, edits)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, remove, piece) in edits {
            let at = at.index(characters.len() + 1);
            let end = (at + remove).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

/// A job file in which every option is one of fio's with a value that fio takes, in any combination.
fn job_file() -> impl Strategy<Value = String> {
    const OPTIONS: [(&str, &[&str]); 41] = [
        ("rw", &["read", "randread", "randwrite", "randrw", "rw", "randtrim", "trimwrite"]),
        ("bs", &["512", "4k", "64k", "4k,64k", "1000", "2m"]),
        ("bssplit", &["4k/10:64k/90", "4k/50:8k/,64k/100", "4k/:8k/:16k/", "1k/100", "100/50:4k/50"]),
        ("bsrange", &["4k-64k", "512-1m", "8k-8k", "3k-9k"]),
        ("ioengine", &["libaio", "psync", "io_uring", "null", "cpuio"]),
        ("iodepth", &["1", "32", "65536"]),
        ("numjobs", &["1", "4", "4096"]),
        ("runtime", &["1", "60", "10h"]),
        ("time_based", &["1"]),
        ("ramp_time", &["0", "5", "2h"]),
        ("startdelay", &["0", "5", "30", "1h", "1-5"]),
        ("size", &["1m", "1g", "50%", "100"]),
        ("io_size", &["1g", "100", "200%", "4k"]),
        ("offset", &["0", "1m", "10%"]),
        ("offset_increment", &["0", "1m", "1g"]),
        ("rwmixread", &["0", "70", "100"]),
        ("rate_iops", &["100", "1,2", "0", ",5"]),
        ("rate", &["1m", "1m,500k", "100"]),
        (
            "random_distribution",
            &["zipf:1.1", "pareto:0.3", "normal:5", "zoned:80/20:20/80", "zoned_abs:50/1g:50/2g"],
        ),
        ("verify", &["crc32c", "md5", "0"]),
        ("do_verify", &["1"]),
        ("latency_target", &["10ms", "500", "0", "soon"]),
        ("latency_percentile", &["50", "99.9", "100", "12.5"]),
        ("latency_window", &["1s"]),
        ("fsync", &["0", "32"]),
        ("sync", &["0", "1", "dsync"]),
        ("direct", &["0", "1"]),
        ("buffered", &["1"]),
        ("norandommap", &["1"]),
        ("dedupe_percentage", &["50"]),
        ("buffer_compress_percentage", &["50", "100"]),
        ("rwmixtrim", &["10"]),
        ("continue_on_error", &["all", "io"]),
        ("cpus_allowed", &["0-3", "0,2"]),
        ("hipri", &["1"]),
        ("iodepth_batch_complete_min", &["4"]),
        ("thinktime", &["5ms"]),
        ("steadystate", &["iops:10%"]),
        ("loops", &["1", "3"]),
        ("ioscheduler", &["none", "no such"]),
        ("filename", &["/dev/sda", "/dev/sda:/dev/sdb"]),
    ];
    let option = prop::sample::select(OPTIONS.to_vec())
        .prop_flat_map(|(name, values)| (Just(name), prop::sample::select(values.to_vec())));
    let section = (any::<bool>(), proptest::collection::vec(option, 1..9));
    proptest::collection::vec(section, 1..5).prop_map(|sections| {
        let mut text = String::new();
        for (index, (waits, options)) in sections.into_iter().enumerate() {
            let _ = writeln!(text, "[job{index}]");
            if waits {
                text.push_str("stonewall\n");
            }
            for (name, value) in options {
                let _ = writeln!(text, "{name}={value}");
            }
        }
        text
    })
}

proptest! {
    /// Proves that any job file of fio becomes a plan that is read and expanded, or a list of what no plan can say with the
    /// lines that say it; an import never fails by its own output.
    #[test]
    fn any_job_file_is_imported(text in job_file()) {
        let plan = import_plan(Path::new("any.fio"), &text)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        match &plan.text {
            Some(_) => prop_assert!(!cases(&plan).is_empty()),
            None => prop_assert!(!plan.not_carried.is_empty(), "{text}"),
        }
        let lines = text.lines().count();
        prop_assert!(plan.not_carried.iter().all(|note| (1..=lines).contains(&note.line)), "{:?}", plan.not_carried);
    }

    /// Proves that a damaged file is refused or becomes a plan that expands; nothing panics.
    #[test]
    fn damaged_files_are_survived(text in damaged(samples("fio").into_iter().chain(samples("vdbench")).map(|(_, text)| text).collect())) {
        if let Ok(plan) = import_plan(Path::new("damaged"), &text)
            && plan.text.is_some()
        {
            let _ = cases(&plan);
        }
    }
}
