//! `fit` as a user runs it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::support::{json_lines, succeed};

const ROWS: &str = "raid-levels/read-512.csv";

/// Proves that `fit` writes an array that can be run, with the fitted values' origin in it, prints the errors of the rows fitted to
/// and of those held out, and that its outcome does not depend on the number of threads; and that `--folds` predicts every
/// row unseen and writes nothing.
#[test]
fn an_array_is_fitted_with_rows_held_out() {
    let directory = tempfile::tempdir().unwrap();
    let fit = |out: &str, threads: &str| {
        let path = directory.path().join(out);
        let path = path.to_str().unwrap().to_owned();
        let printed = succeed(&[
            "fit",
            "raid-levels",
            "--to",
            ROWS,
            "--parameter",
            "drives.command=20000..400000",
            "--hold-out",
            "0.3",
            "--evaluations",
            "6",
            "--simulate",
            "2s",
            "--threads",
            threads,
            "--json",
            "--out",
            &path,
        ]);
        (path, json_lines(&printed))
    };
    let (path, mut lines) = fit("one.yaml", "1");
    let (_, mut with_two) = fit("two.yaml", "2");
    assert_eq!(lines.len(), 22);
    for lines in [&mut lines, &mut with_two] {
        lines.last_mut().unwrap().as_object_mut().unwrap().shift_remove("array");
    }
    assert_eq!(lines, with_two);
    let outcome = lines.last().unwrap();
    let figures = |side: &str| outcome[side]["figures"].as_u64().unwrap();
    assert_eq!((figures("fitted"), figures("held_out")), (15, 6));
    assert!(outcome["held_out"]["mean_error"].as_f64().unwrap() < 0.1, "{outcome}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("6 of 21 figures held out with seed 1"), "{text}");
    let run = directory.path().join("run");
    succeed(&[
        "run",
        "raid-levels",
        "--target",
        &format!("twin:{path}"),
        "--out",
        run.to_str().unwrap(),
        "--only",
        "raid=5",
        "--only",
        "disks=4",
        "--only",
        "bs=512",
        "--set",
        "runtime=1",
        "--set",
        "ramp_time=0.1",
    ]);
    let before = std::fs::read_dir(directory.path()).unwrap().count();
    let folds = json_lines(&succeed(&[
        "fit",
        "raid-levels",
        "--to",
        ROWS,
        "--parameter",
        "drives.command=20000..400000",
        "--folds",
        "3",
        "--evaluations",
        "3",
        "--simulate",
        "1s",
        "--json",
    ]));
    let unseen = &folds.last().unwrap()["unseen"];
    assert_eq!((folds.len(), unseen["figures"].as_u64()), (22, Some(21)));
    assert!(folds[..21].iter().all(|figure| figure["is_held_out"] == true));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), before);
}

/// Proves that Ctrl-C ends a fit within a simulation: of one case of 100 days, with nothing written, whose end a test would not see.
#[test]
fn a_fit_is_interrupted_within_a_simulation() {
    let directory = tempfile::tempdir().unwrap();
    // coreutils' timeout passes the signal on, and ends a fit that does not heed it.
    let mut child = Command::new("timeout")
        .args(["--signal=KILL", "120", env!("CARGO_BIN_EXE_arraylab")])
        .args([
            "fit",
            "raid-levels",
            "--to",
            ROWS,
            "--parameter",
            "drives.command=20000..400000",
            "--only",
            "disks=4",
        ])
        .args(["--set", "runtime=100d", "--simulate", "100d", "--out", "fitted.yaml"])
        .current_dir(directory.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = messages.next().unwrap().unwrap();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.starts_with("fitting "), "{begun}");
    let messages: Vec<String> = messages.map(Result::unwrap).collect();
    assert_eq!(messages, ["error: interrupted before the array as it is was simulated; nothing was fitted"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
