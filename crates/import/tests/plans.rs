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
    import_plan(Path::new(name), text).unwrap_or_else(|error| panic!("{error}"))
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
    let error = |name: &str, text: &str| import_plan(Path::new(name), text).unwrap_err().to_string();
    assert!(error("a.fio", "[a]\n=4\n").starts_with("a.fio:2:1: \"=4\" is no option"));
    assert!(
        error("v.parm", "sd=a,lun=/x\nwd=w,sd=a\nrd=r,wd=w,elapsed=x\n")
            .starts_with("v.parm:3:11: `elapsed=x`: a time")
    );
    assert!(error("x", "nothing here\n").contains("no file of a kind that is imported\nhint: "));
    let many =
        "[global]\nrw=read\nnumjobs=4096\nioengine=libaio\niodepth=65536\nruntime=1\ntime_based\n[a]\n";
    assert!(error("many.fio", many).starts_with("many.fio asks for what no plan may: "));
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

proptest! {
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
