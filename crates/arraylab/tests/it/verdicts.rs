//! Verdicts on runs: limits that a plan requires, and runs that are compared.

use crate::support::{arraylab, full_or_tenth, json_lines, succeed, text};

fn run_plan(plan: &str, more: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("limits.yaml");
    std::fs::write(&path, plan).unwrap();
    let run = directory.path().join("run");
    let mut words =
        vec!["run", path.to_str().unwrap(), "--target", "twin:raid-levels", "--out", run.to_str().unwrap()];
    words.extend(more);
    let output = arraylab(&words);
    (output.status.code(), text(&output.stderr))
}

fn plan(requirement: &str) -> String {
    format!(
        "title: t\ndefaults: {{ raid: 5, disks: 4, bs: 4k, runtime: 1 }}\nstages:\n  reads:\n    settings: {{ rw: randread }}\n  \
         both:\n    matrix: {{ rw: [randread, randwrite] }}\nrequire:\n  - {requirement}\n"
    )
}

/// Proves that a limit that cannot be judged is no pass (exit status 1, with the limit and the reason), that a limit on a
/// direction which no case of its stage has is refused before the start, that one on a direction is about the cases that
/// have it, and that a percentile of a case with few I/Os is not shown until the case is longer.
#[test]
fn limits_that_cannot_be_judged() {
    let (code, printed_text) =
        run_plan(&plan("{ quantity: sustained.iops, at_least: 1, stage: reads }"), &[]);
    assert_eq!(code, Some(1), "{printed_text}");
    assert!(
        printed_text.contains("(reads reads): neither a cliff nor a steady state was found"),
        "{printed_text}"
    );
    let (code, printed_text) =
        run_plan(&plan("{ quantity: write.latency_ns.p99, at_most: 10s, stage: reads }"), &[]);
    assert_eq!(code, Some(2), "{printed_text}");
    assert!(printed_text.contains("limits.yaml:9:"), "{printed_text}");
    let of_writes = plan("{ quantity: write.latency_ns.p99, at_most: 10s, stage: both }");
    let (code, printed_text) = run_plan(&of_writes, &[]);
    assert_eq!(code, Some(1), "{printed_text}");
    assert!(printed_text.contains("the case is too short: fewer than a hundred"), "{printed_text}");
    let (code, printed_text) = run_plan(&of_writes, &["--set", "runtime=200"]);
    assert_eq!(code, Some(0), "{printed_text}");
    assert_eq!(printed_text.matches("PASS").count(), 1, "{printed_text}");
}

/// Proves that the report of a run of some stages says on its first page which ones of the plan it has not, and does not say that
/// everything which the plan requires was kept.
#[test]
fn left_out_stages_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("limits.yaml");
    std::fs::write(&path, plan("{ quantity: read.errors, at_most: 0, stage: reads }")).unwrap();
    let report = |name: &str, selection: &[&str]| {
        let run = directory.path().join(name);
        let (path, run) = (path.to_str().unwrap(), run.to_str().unwrap());
        succeed(&[&["run", path, "--target", "twin:raid-levels", "--out", run], selection].concat());
        let page = directory.path().join("page.html");
        succeed(&["report", run, "--out", page.to_str().unwrap()]);
        std::fs::read_to_string(page).unwrap()
    };
    let (all, part) = (report("all", &[]), report("part", &["--stage", "reads"]));
    let named = "Stages of the plan that are not in this run: both.";
    assert!(part.contains(named) && !all.contains(named));
    let (whole, of_some) = (
        "Everything that the plan requires was kept.",
        "of the stages that were run was kept; it has further ones.",
    );
    assert!(all.contains(whole) && !part.contains(whole) && part.contains(of_some));
}

/// Proves that a run of some stages names the limits on the others as not shown, on the screen and on the page, which then passes
/// nothing as a whole; that it ends well where all that was selected is kept, and badly where that is not; and that a run of some
/// cases does not say that everything was kept.
#[test]
fn limits_on_what_was_not_selected_are_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let run_part = |name: &str, limits: &str, selection: &[&str]| {
        let path = directory.path().join(format!("{name}.yaml"));
        std::fs::write(&path, plan(limits)).unwrap();
        let run = directory.path().join(name);
        let (path, run) = (path.to_str().unwrap(), run.to_str().unwrap());
        let output =
            arraylab(&[&["run", path, "--target", "twin:raid-levels", "--out", run], selection].concat());
        let page = succeed(&["report", run, "--format", "json"]);
        let html = directory.path().join("page.html");
        succeed(&["report", run, "--out", html.to_str().unwrap()]);
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        (output.status.code(), text(&output.stderr), page, std::fs::read_to_string(html).unwrap())
    };
    let both = "{ says: no read fails, quantity: read.errors, at_most: 0, stage: reads }\n  - { says: none beside writes, \
                quantity: read.errors, at_most: 0, stage: both }";
    let (code, printed_text, page, html) = run_part("part", both, &["--stage", "reads"]);
    assert_eq!(code, Some(0), "{printed_text}");
    let why = "none of its cases was selected for this run";
    assert!(printed_text.contains(&format!("not shown: none beside writes (both): {why}")), "{printed_text}");
    assert_eq!(printed_text.matches("PASS").count(), 1, "{printed_text}");
    assert_eq!(page["verdict"], "none");
    let sentences = page["sentences"].to_string();
    assert!(sentences.contains("1 limit kept, 0 not kept, 1 not shown."), "{sentences}");
    let unselected = "1 limit of the plan: none of the cases that would show them was selected.";
    assert!(sentences.contains(unselected) && page["tables"].to_string().contains(why), "{sentences}");
    assert!(html.contains("could not all be judged") && html.contains(unselected));

    let broken = "{ quantity: iops, at_least: 1000000000, stage: reads }\n  - { quantity: iops, at_least: 1, stage: both }";
    let (code, printed_text, page, _) = run_part("broken", broken, &["--stage", "reads"]);
    assert_eq!((code, &page["verdict"]), (Some(1), &"fail".into()), "{printed_text}");
    let other = "{ quantity: iops, at_least: 1, stage: both }";
    let (code, printed_text, page, html) = run_part("other", other, &["--stage", "reads"]);
    assert_eq!((code, &page["verdict"]), (Some(0), &"none".into()), "{printed_text}");
    assert!(!html.contains("The plan requires nothing"));
    let (_, _, _, html) = run_part("only", other, &["--only", "rw=randread,randrw"]);
    assert!(!html.contains("Everything that the plan requires was kept."));
}

/// Runs a plan of one stage in which a drive fails, with a limit that every run keeps, and gives its exit status, what was printed
/// and the first page of its report.
fn drive_lost(target: &str, event: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lost.yaml");
    let stages = format!(
        "title: t\ndefaults: {{ rw: randread, bs: 4k, runtime: 1 }}\nstages:\n  alone: {{ settings: {{ numjobs: 1 }} }}\n  lost:\n    \
         events: [{event}]\n    optional: true\nrequire:\n  - {{ says: no read fails, quantity: read.errors, at_most: 0, stage: lost }}\n"
    );
    std::fs::write(&path, stages).unwrap();
    let run = directory.path().join("run");
    let target = target.replace("DIR", directory.path().to_str().unwrap());
    let words = ["run", path.to_str().unwrap(), "--target", &target, "--out", run.to_str().unwrap()];
    let output = arraylab(&[&words, more].concat());
    let page = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    (output.status.code(), text(&output.stderr), page)
}

/// Proves that a limit on a stage whose event did not take place is not shown, though what was measured keeps it: on a device
/// without a driver, where its condition never held, and where the whole stage was left out, by an array that cannot do it or by a
/// budget of time. Where the event takes place the limit is kept.
#[test]
fn a_limit_is_not_shown_without_its_event() {
    let lost = "{ at: 20%, action: drive-failure, with: { drive: 0 } }";
    let (code, printed_text, page) = drive_lost("twin:raid-levels,raid=5,disks=4", lost, &[]);
    assert_eq!(code, Some(0), "{printed_text}");
    assert!(page.contains("Failures: a lost controller, a lost path, a firmware update."), "{page}");
    assert!(printed_text.contains("PASS") && !printed_text.contains("not shown"), "{printed_text}");

    // Of a cluster nodes are lost, not controllers; which of both a report misses follows from its array.
    let node = "{ at: 20%, action: node-failure, with: { node: 0 } }";
    let (code, printed_text, page) = drive_lost("twin:replicas-12-nodes", node, &[]);
    assert_eq!(code, Some(0), "{printed_text}");
    assert!(
        page.contains("Failures: a lost drive and its rebuild, a lost path, a firmware update."),
        "{page}"
    );

    // The link between two sites can fail as well, and only there.
    let (code, printed_text, page) = drive_lost("twin:two-sites", lost, &[]);
    assert_eq!(code, Some(0), "{printed_text}");
    let link =
        "Failures: a lost controller, a lost path, a lost link to the second array, a firmware update.";
    assert!(page.contains(link), "{page}");

    let never = "{ when: { written: 1g }, action: drive-failure, with: { drive: 0 } }";
    let failover = "{ at: 20%, action: controller-failover, with: { controller: 0 } }";
    let did_not = "the event `drive-failure` did not take place in the case";
    let of_twin = "twin:raid-levels,raid=5,disks=4";
    let cases: [(&str, &str, &[&str], &str); 4] = [
        ("file:DIR/disk,size=16m", lost, &[], did_not),
        (of_twin, never, &[], did_not),
        (of_twin, failover, &[], "the case was left out: this array cannot do `controller-failover`"),
        (of_twin, lost, &["--time-budget", "1s"], "the case was left out: priority 1"),
    ];
    for (target, event, more, why) in cases {
        let (code, printed_text, page) = drive_lost(target, event, more);
        assert_eq!(code, Some(1), "{target} {event} {more:?}: {printed_text}");
        assert!(printed_text.contains(why) && !printed_text.contains("PASS"), "{printed_text}");
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        assert_eq!(page["verdict"], "none", "{target} {event} {more:?}");
        let says_why = if why.contains("left out") { "“lost”: " } else { "lack an event of the plan" };
        let sentences = page["sentences"].to_string();
        assert!(sentences.contains(says_why), "{says_why}: {sentences}");
        assert!(
            sentences.contains("Failures: a lost drive and its rebuild, a lost controller"),
            "{sentences}"
        );
        assert!(!page.to_string().contains("its --stage or --only"), "nothing was chosen");
    }
}

/// Proves that a limit on the loss of a part of which an array has none does not apply to it and keeps nothing from a verdict: nodes
/// outside a cluster, controllers in one, of either kind, services where there are none. The only controller of an array can be lost,
/// and so can what is lost beside such a part: what then happens is not shown, nor is what only other arrays do.
#[test]
fn limits_on_parts_that_an_array_lacks_do_not_apply() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lost.yaml");
    let plan = "title: t\ndefaults: { rw: randread, bs: 4k, runtime: 1 }\nstages:\n  alone: { settings: { numjobs: 1 } }\n  lost:\n    events: [{ at: \
                20%, action: ACTION, with: { PART: 0 } }]\n    optional: true\nrequire:\n  - { says: no read fails, quantity: read.errors, at_most: 0, \
                stage: alone }\n  - { says: no read fails then, quantity: read.errors, at_most: 0, stage: lost }\n";
    let cases = [
        ("composite-flash", "node-failure", "node", Some("it has no nodes")),
        (
            "erasure-12-nodes",
            "controller-failover",
            "controller",
            Some("it has no controllers beside its nodes"),
        ),
        ("storpool", "controller-failover", "controller", Some("it has no controllers beside its nodes")),
        ("raid-levels", "controller-failover", "controller", None),
        ("raid-levels", "service-stop", "service", Some("it has no services on nodes")),
        // What other arrays do, and this one not, it may have to do: nobody knows.
        ("raid-levels", "limit", "iops", None),
        ("storpool", "firmware-update", "controller", None),
        ("storpool", "snapshot", "volume", None),
        // A drive is lost beside the node that there is not: what that does is not shown.
        ("composite-flash", "drive-failure }, { at: 30%, action: node-failure", "node", None),
    ];
    for (number, (twin, action, part, lacks)) in cases.into_iter().enumerate() {
        std::fs::write(&path, plan.replace("ACTION", action).replace("PART", part)).unwrap();
        let run = directory.path().join(number.to_string());
        let words = ["run", path.to_str().unwrap(), "--target", &format!("twin:{twin}"), "--out"];
        let output = arraylab(&[&words[..], &[run.to_str().unwrap()]].concat());
        let printed_text = text(&output.stderr);
        let page = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let (code, verdict, counts, word) = match lacks {
            Some(_) => (
                0,
                "pass",
                "1 limit kept, 0 not kept, 0 not shown, 1 not applicable",
                "not applicable: no read fails then",
            ),
            None => (1, "none", "1 limit kept, 0 not kept, 1 not shown.", "not shown: no read fails then"),
        };
        assert_eq!(output.status.code(), Some(code), "{twin}: {printed_text}");
        assert_eq!(page["verdict"], verdict, "{twin}");
        assert!(page["sentences"].to_string().contains(counts), "{twin}: {}", page["sentences"]);
        succeed(&["report", run.to_str().unwrap()]);
        let html = std::fs::read_to_string(run.join("report.html")).unwrap();
        let is_all = html.contains("Everything that the plan requires was kept.");
        assert_eq!(is_all, lacks.is_some(), "{twin}");
        assert!(printed_text.contains(word), "{printed_text}");
        assert!(lacks.is_none_or(|lacks| printed_text.contains(lacks)), "{printed_text}");
        assert_eq!(page["tables"].to_string().contains("– not applicable"), lacks.is_some(), "{twin}");
    }
}

/// Proves that writes which a cache took for the first seconds only are said to fall, with what remains, and that no tile takes the mean of
/// both for what the array does.
#[test]
fn a_cache_that_fills_at_once_is_on_the_first_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("writes.yaml");
    let plan = "title: t\nwatch: { interval: 5 }\ndefaults: { rw: randwrite, bs: 8k, iodepth: 16, numjobs: 4, runtime: 120 }\nstages: { a: {} }\n";
    std::fs::write(&path, plan).unwrap();
    let run = directory.path().join("run");
    succeed(&[
        "run",
        path.to_str().unwrap(),
        "--target",
        "twin:pool-60-disks",
        "--out",
        run.to_str().unwrap(),
    ]);
    let page = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let sentences = page["sentences"].to_string();
    assert!(sentences.contains("Writes fall by 99 % after 5 s"), "{sentences}");
    assert!(!sentences.contains("Writes did not fall"), "{sentences}");
    let tiles = page["tiles"].as_array().unwrap();
    assert_eq!(tiles.len(), 3, "{tiles:?}");
    for tile in tiles {
        let detail = tile["detail"]["text"].as_str().unwrap();
        assert!(detail.ends_with("the mean of before and after its writes fell"), "{tile}");
    }
}

/// Proves that a run that left a stage out resumes as what it was, and that a stage which is not `optional` is refused.
#[test]
fn a_stage_that_is_left_out_stays_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lost.yaml");
    let stages = "title: t\ndefaults: { rw: randread, bs: 4k, runtime: 1 }\nstages:\n  lost:\n    events: [{ at: 20%, action: \
                  controller-failover, with: { controller: 0 } }]\n    optional: true\n  alone: { settings: { numjobs: 1 } }\n";
    let run = directory.path().join("run");
    let words =
        ["run", path.to_str().unwrap(), "--target", "twin:raid-levels", "--out", run.to_str().unwrap()];
    std::fs::write(&path, stages.replace("    optional: true\n", "")).unwrap();
    let refused = arraylab(&words);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("`controller-failover`") && !run.exists());
    std::fs::write(&path, stages).unwrap();
    assert!(text(&arraylab(&words).stderr).contains("left out: lost lost"));
    let resumed = arraylab(&["run", "--resume", run.to_str().unwrap()]);
    assert!(text(&resumed.stderr).contains("left out: lost lost"), "{}", text(&resumed.stderr));
    let cases = json_lines(&succeed(&["results", run.to_str().unwrap(), "--json"]));
    assert_eq!(cases.iter().map(|case| case["stage"].as_str()).collect::<Vec<_>>(), [Some("alone")]);
}

/// A flash array and a set of disks, with enough intervals to tell noise from difference.
const SEEDS_ALONE: &[(&str, &str)] = &[
    (
        "twin:raid-levels",
        "title: t\nwatch: { interval: 1 }\nstages:\n  disks:\n    settings: { rw: randrw, rwmixread: 70, bs: 4k, numjobs: 8, raid: 5, disks: 6, \
         runtime: 20, ramp_time: 2 }\n",
    ),
    (
        "twin:composite-flash",
        "title: t\nwatch: { interval: 0.02 }\nstages:\n  flash:\n    settings: { rw: randrw, rwmixread: 70, bs: 8k, numjobs: 8, iodepth: 8, \
         runtime: 0.4, ramp_time: 0.1 }\n    events: [ { at: 0.25, action: drive-failure } ]\n",
    ),
];

/// Proves that runs on twins that differ by their seed alone are the same to `compare` in all but 1 of 20 comparisons at most (1 of 40 with these seeds), and that a
/// loss that was planted in the array is found in each.
#[test]
fn seeds_are_noise() {
    let directory = tempfile::tempdir().unwrap();
    let count = full_or_tenth(400);
    let (mut alarms, mut compared) = (Vec::new(), 0);
    for (number, (target, plan)) in SEEDS_ALONE.iter().enumerate() {
        let path = directory.path().join(format!("seeds-{number}.yaml"));
        std::fs::write(&path, plan).unwrap();
        let run = |seed: u32, more: &[&str]| {
            let out = directory.path().join(format!("{number}-{seed}-{}", more.len()));
            let seed = seed.to_string();
            let mut words =
                vec!["run", path.to_str().unwrap(), "--target", target, "--exact", "--seed", &seed];
            words.extend(["--out", out.to_str().unwrap()]);
            words.extend(more);
            succeed(&words);
            out.to_str().unwrap().to_owned()
        };
        let runs: Vec<String> = (0..=count / 2).map(|seed| run(seed + 1, &[])).collect();
        for pair in runs.windows(2) {
            compared += 1;
            let output = arraylab(&["compare", &pair[0], &pair[1], "--json"]);
            for case in json_lines(&text(&output.stdout)) {
                if case["judgement"] != "same" {
                    alarms.push(case);
                }
            }
        }
        let slower = run(1, &["--set", "numjobs=4"]);
        let output = arraylab(&["compare", &runs[0], &slower]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    }
    println!("{} alarms of {compared}: {alarms:#?}", alarms.len());
    assert!(compared >= 40 && alarms.len() * 20 <= compared, "{} of {compared}: {alarms:#?}", alarms.len());
}

/// Proves that the example of claims in docs/plan-language.md runs as it stands, that its claims are judged, and that they have
/// their tolerance, source and mechanism.
#[test]
fn the_example_of_claims_is_judged() {
    let page = include_str!("../../../../docs/plan-language.md");
    let example = page.split("```yaml\n").find(|part| part.starts_with("title: Does depth pay off")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("example.yaml");
    std::fs::write(&path, example.split("```").next().unwrap()).unwrap();
    let run = directory.path().join("run");
    let run = run.to_str().unwrap();
    succeed(&["run", path.to_str().unwrap(), "--target", "twin:composite-flash", "--out", run]);
    let claims = json_lines(&succeed(&["claims", run, "--json"]));
    let of = |key: &str| claims.iter().map(|claim| claim[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), ["C1", "C2"]);
    assert_eq!(of("verdict"), ["holds", "holds"], "{claims:#?}");
    assert_eq!(of("tolerance"), [0.05, 0.02]);
    assert!(claims.iter().all(|claim| claim["mechanism"].is_string() && claim["source"].is_string()));
    assert!(claims.iter().all(|claim| claim["findings"].as_array().is_some_and(|found| !found.is_empty())));
    succeed(&[
        "run",
        path.to_str().unwrap(),
        "--target",
        "twin:composite-flash",
        "--out",
        &format!("{run}-short"),
        "--set",
        "runtime=0.2",
    ]);
    let short = json_lines(&succeed(&["claims", &format!("{run}-short"), "--json"]));
    assert_eq!(short[1]["verdict"], "not-shown", "{short:#?}");
}

/// Claims that are refuted at full length too, each with its reason (docs/published-tests.md).
const REFUTED: [&str; 10] = ["D2", "D10", "D11", "R2", "S3", "N3", "N4", "N9", "N10", "N11"];

/// Proves that a run that is shorter than its claims need refutes none that holds at full length, and that what it lacks is said:
/// plans of the published tests with runtimes of half a second to 5 s. The whole plans take ARRAYLAB_LONG.
#[test]
fn shortening_refutes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let is_long = full_or_tenth(10) == 10;
    let pieces: &[(&str, &str)] = &[
        ("storpool", "--stage limits --stage neighbour --stage latency"),
        ("flashsystem-840", ""),
        ("raid-levels", "--only disks=4,6,8,12 --only bs=512"),
        ("dorado-2100-g2", "--stage group-1 --only scenario=1,6 --only bs=4k,1m"),
        ("e2700", "--stage patterns --only layout=raid6,raid10 --only iodepth=8"),
    ];
    let mut short = 0;
    for (plan, piece) in pieces {
        for runtime in if is_long { ["0.5", "1", "2", "5"].as_slice() } else { ["2"].as_slice() } {
            let out = directory.path().join(format!("{plan}-{runtime}"));
            let out = out.to_str().unwrap();
            let (target, set) = (format!("twin:{plan}"), format!("runtime={runtime}"));
            let mut words =
                vec!["run", plan, "--target", &target, "--set", &set, "--set", "ramp_time=0.1", "--out", out];
            if !is_long {
                words.extend(piece.split_whitespace());
            }
            succeed(&words);
            for claim in json_lines(&succeed(&["claims", out, "--json"])) {
                let id = claim["id"].as_str().unwrap();
                assert!(
                    claim["verdict"] != "refuted" || REFUTED.contains(&id),
                    "{plan} for {runtime} s: {claim:#}"
                );
                short += usize::from(claim["because"].as_str().unwrap().contains("and this takes"));
            }
        }
    }
    assert!(short >= 3, "{short} claims say which length they need");
}
