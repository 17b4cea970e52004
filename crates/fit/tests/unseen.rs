//! Published rows that are kept for validation stay out of every fit.

use fit::read_rows;
use plan::Selection;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

/// Proves that a fit refuses every unseen table, by the name that plans give it and by its path.
#[test]
fn unseen_rows_are_refused() {
    for path in files("published/unseen", "csv") {
        let name = format!("unseen/{}", path.file_name().unwrap().to_str().unwrap());
        for file in [name, path.to_str().unwrap().to_owned()] {
            let plan = plan::load_plan("storpool").unwrap();
            let error =
                read_rows(std::slice::from_ref(&file), Some(&plan), &Selection::default()).unwrap_err();
            assert!(diagnostic::full_text(&error).contains("never fitted to"), "{file}: {error}");
        }
    }
}

/// Proves that what the shipped arrays' fits read is none of it: the commands in the models' pages, and the sources that arrays name for
/// fitted numbers.
#[test]
fn no_fit_of_a_shipped_array_reads_unseen_rows() {
    let mut commands = 0;
    for page in files("docs/models", "md") {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in text.split("arraylab fit ").skip(1) {
            let command = command.split(['`', '\n']).next().unwrap();
            commands += 1;
            assert!(!command.contains(plan::UNSEEN_FOLDER), "{}: {command}", page.display());
        }
    }
    assert!(commands >= 3, "the models' pages name the fits");
    for array in files("arrays", "yaml") {
        let text = std::fs::read_to_string(&array).unwrap();
        for line in text.lines().filter(|line| line.contains("origin: fitted")) {
            assert!(!line.contains(plan::UNSEEN_FOLDER), "{}: {line}", array.display());
        }
    }
}

/// Proves that no unseen row is also in a table that fits read.
#[test]
fn no_unseen_row_stands_in_a_fitted_table() {
    let rows = |path: &Path| -> Vec<String> {
        std::fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
    };
    let unseen: Vec<String> = files("published/unseen", "csv").iter().flat_map(|path| rows(path)).collect();
    assert!(unseen.len() > 30);
    for folder in ["dorado-2100-g2", "flashsystem-840", "raid-levels", "storpool"] {
        for path in files(&format!("published/{folder}"), "csv") {
            for row in rows(&path) {
                assert!(!unseen.contains(&row), "{}: {row}", path.display());
            }
        }
    }
}
