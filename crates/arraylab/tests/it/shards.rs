//! Shards of a plan: each in a process of its own, merged into one run.

use crate::kept_levels::kept_levels_are_found_ones;
use crate::support::{command, full_or_tenth, refuse, results, succeed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// Cases that stand alone, that rest on another's rate, that continue each other, that search, and rounds that end early.
const PLAN: &str = "
title: Shards
watch: { interval: 1 }
defaults: { rw: randrw, rwmixread: 70, bs: 8k, runtime: 2, numjobs: 2 }
stages:
  alone: { matrix: { iodepth: [1, 2, 4, 8, 16, 32, 64], bs: [4k, 8k] } }
  curve: { settings: { iodepth: 16 }, matrix: { rate_percent: [max, 10, 50, 90] } }
  passes: { continues: true, settings: { rw: randwrite }, matrix: { pass: [1, 2, 3] } }
claims:
  - id: C1
    says: More outstanding I/Os, more IOPS.
    source: a test of shards
    mechanism: Parallel drives.
    tolerance: 1%
    values: { one: 'iops{stage=alone, iodepth=1, bs=4k}', many: 'iops{stage=alone, iodepth=64, bs=4k}' }
    check: many > one
    because: \"{many} against {one}\"
";

struct Study {
    directory: tempfile::TempDir,
    plan: String,
}

impl Study {
    fn new(plan: &str) -> Study {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("study.yaml");
        fs::write(&path, plan).unwrap();
        Study { plan: path.to_str().unwrap().to_owned(), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn words(&self, out: &str, more: &[&str]) -> Vec<String> {
        let out = self.path(out).to_str().unwrap().to_owned();
        let words = ["run", &self.plan, "--target", "twin:small-flash", "--out", &out];
        words.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    fn run(&self, out: &str, more: &[&str]) {
        let words = self.words(out, more);
        succeed(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn merge_words<'a>(runs: &'a [PathBuf], out: &'a Path) -> Vec<&'a str> {
    let runs = runs.iter().map(|run| run.to_str().unwrap());
    ["merge"].into_iter().chain(runs).chain(["--out", out.to_str().unwrap()]).collect()
}

/// Returns the results, findings and claims of a run, none of which has its name or time.
fn answers(run: &Path) -> [String; 3] {
    ["results", "findings", "claims"].map(|what| {
        let output = command(&[what, run.to_str().unwrap(), "--json"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    })
}

/// Proves that shards of a plan, one of them killed and resumed, merge to the very results, findings and claims of one run, and that
/// cases which rest on each other are in one shard.
#[test]
fn merged_shards_are_one_run() {
    let study = Study::new(PLAN);
    study.run("whole", &[]);
    let shards: Vec<PathBuf> = (1..=4).map(|number| study.path(&format!("part-{number}"))).collect();
    for number in [3, 1, 4] {
        study.run(&format!("part-{number}"), &["--shard", &format!("{number}/4")]);
    }
    // By the wall clock, so that the kill comes while a case is under way.
    let words = study.words("part-2", &["--shard", "2/4", "--speed", "20"]);
    let mut child = command(&words.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !shards[1].join("manifest.json").exists() || results(&shards[1]).is_empty() {
        assert!(begun.elapsed().as_secs() < 60, "the shard has no result");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let merged = study.path("merged");
    let (status, message) = refuse(&merge_words(&shards, &merged));
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("left; go on with it first: arraylab run --resume"), "{message}");
    assert!(!merged.exists(), "nothing is left of a merge that was refused");
    succeed(&["run", "--resume", shards[1].to_str().unwrap()]);

    let backwards: Vec<PathBuf> = shards.iter().rev().cloned().collect();
    let words = [&merge_words(&backwards, &merged)[..], &["--json"]].concat();
    assert_eq!(succeed(&words).trim(), r#"{"cases":21,"missing":[],"overlap":[]}"#);
    for (one, other) in answers(&study.path("whole")).iter().zip(&answers(&merged)) {
        assert!(one.len() > 100, "{one}");
        assert_eq!(one, other);
    }
    let status: Value =
        serde_json::from_str(&succeed(&["status", merged.to_str().unwrap(), "--json"])).expect("a status");
    assert_eq!((&status["state"], &status["done"]), (&"done".into(), &21.into()));
    let report = |run: &Path| succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    kept_levels_are_found_ones(&merged, 1);
    assert!(report(&shards[0]).contains("This is shard 1 of 4: "));
    assert!(!report(&merged).contains("This is shard"));
    for stage in ["curve", "passes"] {
        let in_shards =
            shards.iter().filter(|run| results(run).iter().any(|case| case["stage"] == stage)).count();
        assert_eq!(in_shards, 1, "{stage}");
    }
}

/// Proves that runs which are not the shards of one run are refused by name, each for its reason, and leave nothing.
#[test]
fn what_is_not_one_run_is_refused() {
    let study = Study::new(PLAN);
    let few = ["--stage", "alone", "--only", "bs=4k", "--only", "iodepth=1,2,4"];
    let with = |out: &str, more: &[&str]| {
        study.run(out, &[&few, more].concat());
        study.path(out)
    };
    let whole = with("whole", &[]);
    let [one, two, three] =
        ["1/3", "2/3", "3/3"].map(|shard| with(&shard.replace('/', "-"), &["--shard", shard]));
    let other_seed = with("seed", &["--shard", "2/3", "--seed", "2"]);
    let other_count = with("count", &["--shard", "2/2"]);
    let other_cases = with("cases", &["--shard", "2/3", "--set", "runtime=3"]);
    let out = study.path("merged");
    let cases: [(&[&PathBuf], &str); 7] = [
        (&[&one, &three], "of 3 shards these are missing: 2/3"),
        (&[&one, &two, &three, &two], "are both shard 2/3"),
        (&[&one, &whole, &three], "it was begun without --shard"),
        (&[&one, &other_seed, &three], "the seed of"),
        (&[&one, &other_count], "the number of shards of"),
        (&[&one, &other_cases, &three], "the selection of cases of"),
        (&[&one, &two, &out], "is not a run"),
    ];
    for (runs, why) in cases {
        let runs: Vec<PathBuf> = runs.iter().map(|run| (*run).clone()).collect();
        let (status, message) = refuse(&merge_words(&runs, &out));
        assert_eq!(status, Some(2), "{message}");
        assert!(message.contains(why), "{message}");
        assert!(!out.exists());
    }
    let words = [&three, &one, &three].map(|run| run.to_str().unwrap());
    let words = [&["merge"], &words[..], &["--out", out.to_str().unwrap(), "--json"]].concat();
    let output = command(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        r#"{"cases":3,"missing":[2],"overlap":[3]}"#
    );
    assert!(String::from_utf8(output.stderr).unwrap().contains("these are missing: 2/3"));
    assert!(!out.exists());
    let (status, message) = refuse(&merge_words(&[one, two, three], &whole));
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("exists and is not empty"), "{message}");
    let hidden = fs::read_dir(study.directory.path()).unwrap().filter_map(Result::ok);
    assert!(!hidden.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with('.')));
    let words = study.words("none", &[&few[..], &["--shard", "4/4"]].concat());
    let (status, message) = refuse(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("shard 4/4 has no case"), "{message}");
}

/// Puts the binary under test first on a job's path, as a cluster's image has it.
fn path_with_binary() -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_arraylab"));
    format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap())
}

/// Runs a job and tells what it printed where it fails.
fn carry_out(job: &mut std::process::Command) {
    let output = job.env("PATH", path_with_binary()).output().unwrap();
    assert!(output.status.success(), "{job:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Proves that the job files of `docs/jobs/` carry out all shards of a plan, resume one that was stopped, and give the run of one process.
/// Slurm and Kubernetes are not here: their jobs get the variables that they set.
#[test]
fn job_files_carry_out_all_shards() {
    let study = Study::new(PLAN);
    study.run("whole", &[]);
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs");
    let target = "twin:small-flash";
    let directory = |name: &str| study.path(name).to_str().unwrap().to_owned();
    let check = |name: &str| {
        assert_eq!(answers(&study.path("whole")), answers(&study.path(name).join("run")), "{name}");
    };
    let merge_all = |name: &str| {
        let runs: Vec<PathBuf> =
            (1..=3).map(|number| study.path(name).join(format!("part-{number}"))).collect();
        succeed(&merge_words(&runs, &study.path(name).join("run")));
    };

    carry_out(
        std::process::Command::new(jobs.join("gnu-parallel.sh"))
            .args(["3", &study.plan, target, &directory("gnu")])
            .env("HOME", study.directory.path()),
    );
    check("gnu");

    for number in [1, 2, 3, 2] {
        // The second time shard 2 is resumed, and has nothing left.
        carry_out(
            std::process::Command::new(jobs.join("slurm-array.sh"))
                .args([&study.plan, target, &directory("slurm")])
                .env("SLURM_ARRAY_TASK_ID", number.to_string())
                .env("SLURM_ARRAY_TASK_COUNT", "3"),
        );
    }
    merge_all("slurm");
    check("slurm");

    let text = fs::read_to_string(jobs.join("kubernetes-indexed-job.yaml")).unwrap();
    let job: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    let pod = &spec["template"]["spec"];
    // A Job needs it: https://kubernetes.io/docs/concepts/workloads/controllers/job/
    assert_eq!(pod["restartPolicy"], "Never");
    let container = &pod["containers"][0];
    let shards =
        container["env"].as_array().unwrap().iter().find(|variable| variable["name"] == "SHARDS").unwrap();
    assert_eq!(shards["value"], spec["completions"].to_string(), "one index a shard");
    let words = |key: &str| -> Vec<String> {
        container[key].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let command = [words("command"), words("args")].concat();
    fs::create_dir(study.path("kubernetes")).unwrap();
    for index in 0..3 {
        carry_out(
            std::process::Command::new(&command[0])
                .args(&command[1..])
                .env("JOB_COMPLETION_INDEX", index.to_string())
                .env("SHARDS", "3")
                .env("PLAN", &study.plan)
                .env("TARGET", target)
                .env("STUDY", directory("kubernetes")),
        );
    }
    merge_all("kubernetes");
    check("kubernetes");
}

/// Validates a Kubernetes file: true if it is valid, and the reasons if not.
fn kubernetes_validate(file: &Path) -> (bool, String) {
    let cache =
        std::env::var("XDG_CACHE_HOME").unwrap_or(format!("{}/.cache", std::env::var("HOME").unwrap()));
    let modules = Path::new(&cache).join("arraylab/kubernetes-validate-1.37.0");
    assert!(modules.exists(), "{}: scripts/install-test-clients.sh installs it", modules.display());
    let output = std::process::Command::new("python3")
        .args(["-m", "kubernetes_validate", "--strict"])
        .arg(file)
        .env("PYTHONPATH", modules)
        .output()
        .unwrap();
    let message = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(message).unwrap())
}

/// Proves that the Kubernetes job is right by the schema of Kubernetes 1.37, and that one with a misspelt field or a count that is no
/// number is not.
#[test]
fn the_kubernetes_job_keeps_to_its_schema() {
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs/kubernetes-indexed-job.yaml");
    let (is_right, message) = kubernetes_validate(&job);
    assert!(is_right, "{message}");
    let text = fs::read_to_string(&job).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (good, bad) in
        [("backoffLimitPerIndex", "backofLimitPerIndex"), ("parallelism: 10", "parallelism: ten")]
    {
        assert!(text.contains(good));
        let wrong = directory.path().join("wrong.yaml");
        fs::write(&wrong, text.replace(good, bad)).unwrap();
        let (is_right, message) = kubernetes_validate(&wrong);
        assert!(!is_right && message.contains("did not validate"), "{message}");
    }
}

/// Proves that a study of 1,000 cases of a minute (100 in `make test`) in 50 (5) shards, two at a time, every fifth killed once, equals
/// one run; and, in `make test-long`, that shards with their merge take less than 10 % longer than one run, in the median of three
/// rounds by turns. It prints what they took.
#[test]
fn a_large_study_in_shards() {
    let (shards, seeds) = (full_or_tenth(50), full_or_tenth(100));
    let rounds = full_or_tenth(3) as usize;
    let seeds: Vec<String> = (1..=seeds).map(|number| number.to_string()).collect();
    let plan = format!(
        "
title: Large
defaults: {{ rw: randread, runtime: 60 }}
stages:
  s: {{ matrix: {{ iodepth: [1, 2, 4, 8, 16], bs: [4k, 16k], rwmixread: [{}] }}, settings: {{ rw: randrw }} }}
",
        seeds.join(", ")
    );
    let mut overheads = Vec::new();
    for round in 0..rounds {
        let study = Study::new(&plan);
        let begun = Instant::now();
        study.run("whole", &["--threads", "2"]);
        let whole_s = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        run_two_at_a_time(&study, shards);
        let runs: Vec<PathBuf> = (1..=shards).map(|number| study.path(&format!("part-{number}"))).collect();
        let merged = study.path("merged");
        succeed(&merge_words(&runs, &merged));
        let sharded_s = begun.elapsed().as_secs_f64();
        let cases = results(&merged).len();
        if round == 0 {
            assert_eq!(answers(&study.path("whole")), answers(&merged));
        }
        overheads.push(sharded_s / whole_s - 1.0);
        eprintln!("{cases} cases: one run {whole_s:.1} s, {shards} shards and merge {sharded_s:.1} s");
    }
    overheads.sort_unstable_by(f64::total_cmp);
    let median = overheads[rounds / 2];
    eprintln!("overhead of shards: {:.1} %", 100.0 * median);
    assert!(rounds == 1 || median < 0.1, "{overheads:?}");
}

/// Carries out all shards of a study, two at a time; every fifth is killed once and resumed.
fn run_two_at_a_time(study: &Study, shards: u32) {
    let next = std::sync::atomic::AtomicU32::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if number > shards {
                        break;
                    }
                    let of = format!("{number}/{shards}");
                    let name = format!("part-{number}");
                    let words = study.words(&name, &["--shard", &of, "--threads", "1"]);
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    if number.is_multiple_of(5) {
                        let mut child =
                            command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                        while !study.path(&name).join("manifest.json").exists() {
                            std::thread::yield_now();
                        }
                        child.kill().unwrap();
                        child.wait().unwrap();
                        succeed(&["run", "--resume", study.path(&name).to_str().unwrap(), "--threads", "1"]);
                    } else {
                        succeed(&words);
                    }
                }
            });
        }
    });
}
