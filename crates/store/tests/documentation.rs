//! docs/run-directory.md tells the truth.

mod common;

use common::{manifest, new_cases, outcome, sample};
use std::path::Path;
use std::process::Command;
use store::Run;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run-directory.md");
    std::fs::read_to_string(path).unwrap()
}

fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    document.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Proves that the documented Python program, as it stands, reads a real run, also while it is written, and comes to
/// our own figures; and that the documented SQL runs.
#[test]
fn python_reads_a_run() {
    let document = document();
    let programs = blocks(&document, "python");
    assert_eq!(programs.len(), 1);
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(3)).unwrap();
    for case in 0..3u32 {
        run.begin_case(case).unwrap();
        for number in 0..4 {
            run.append_sample(case, "main", &sample(number + u64::from(case % 2))).unwrap();
        }
        run.finish_case(case, &outcome(run.totals_from_samples(case).unwrap())).unwrap();
    }
    let mut expected = String::new();
    for (case, result) in run.indexed_results().unwrap() {
        for (name, part) in [("read", &result.read), ("write", &result.write)] {
            let part = part.as_ref().unwrap();
            let latency = &part.latency_ns;
            expected.push_str(&format!(
                "{case} {name} {} {:?} {}\n",
                part.ios,
                latency.mean,
                latency.p99.unwrap()
            ));
        }
    }
    let output = Command::new("python3")
        .args(["-c", programs[0]])
        .arg(directory.path())
        .output()
        .expect("this test needs python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);

    let database = rusqlite::Connection::open(directory.path().join("run.sqlite")).unwrap();
    for query in blocks(&document, "sql").concat().lines() {
        let mut statement = database.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert!(statement.query([]).unwrap().next().unwrap().is_some(), "{query}");
    }
}

/// Proves that every table, view and column of the schema is documented.
#[test]
fn every_column_is_documented() {
    let document = document();
    let directory = tempfile::tempdir().unwrap();
    drop(Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap());
    let database = rusqlite::Connection::open(directory.path().join("run.sqlite")).unwrap();
    let mut statement = database
        .prepare(
            "SELECT m.name, m.type, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
             WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let columns: Vec<(String, String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(columns.len() > 80, "{}", columns.len());
    for (table, kind, column) in columns {
        let named = |name: &str, text: &str| text.contains(&format!("`{name}`"));
        assert!(named(&table, &document), "{kind} {table}");
        if kind == "table" {
            let line = document.lines().find(|line| line.starts_with(&format!("| `{table}` |")));
            assert!(named(&column, line.unwrap_or_else(|| panic!("no row for {table}"))), "{table}.{column}");
        }
    }
}
