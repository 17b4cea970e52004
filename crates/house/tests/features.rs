//! Features of libraries: what is built alone has those of the whole workspace.

use house::repository;
use std::collections::BTreeSet;
use std::process::Command;

/// Packages with their features, as `cargo tree` resolves them for a choice of packages.
fn resolved(choice: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p} [{f}]"])
        .args(choice)
        .current_dir(repository())
        .output()
        .expect("cargo tree");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names are ASCII");
    lines
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Proves that the Python module built alone asks no library for other features than all tests together: otherwise
/// `make test-python` compiles most crates once more.
#[test]
fn the_python_module_alone_has_the_features_of_the_workspace() {
    let all = resolved(&["--workspace", "--edges", "normal,build,dev"]);
    let alone = resolved(&["--package", "python", "--edges", "normal,build"]);
    let other: Vec<_> = alone.difference(&all).collect();
    assert!(other.is_empty(), "with other features than in the workspace: {other:#?}");
}
