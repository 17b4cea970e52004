//! The files of `examples/`, run as a reader would run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A command that finds our binary as `arraylab`.
fn command(program: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_arraylab"));
    let path = format!(
        "{}:{}",
        binary.parent().expect("a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new(program);
    command.env("ARRAYLAB", binary).env("PATH", path);
    command
}

/// Runs an example to its end; returns the last line that it prints.
fn run(name: &str) -> String {
    let output = command("bash").arg(directory().join(name)).output().expect("bash is needed by this test");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{stdout}{stderr}", output.status);
    stdout.lines().last().unwrap_or_default().to_owned()
}

/// Proves that the example of silent corruption runs: reads are right, and a scrub repairs what was changed.
#[test]
fn silent_corruption_is_found_and_repaired() {
    assert_eq!(run("silent-corruption.sh"), "silent corruption: found and repaired");
}

/// Proves that the example of power loss runs: SQLite keeps each commit that was acknowledged.
#[test]
fn power_loss_keeps_what_was_acknowledged() {
    assert_eq!(run("power-loss.sh"), "power loss: no acknowledged commit was lost");
}

/// Proves that the example of a full array runs: what was synced stays, and writing goes on when there is room again.
#[test]
fn a_full_array_keeps_what_was_synced() {
    assert_eq!(run("full-array.sh"), "full array: what was synced was kept, and there is room again");
}

/// Proves that the examples with PostgreSQL run: through failed drives and their rebuild, and with a slow standby. In
/// `make test-long`, which installs a database.
#[test]
fn databases_go_through_failures() {
    if !test_support::is_long() {
        return;
    }
    assert_eq!(
        run("postgres-drive-failure.sh"),
        "PostgreSQL: went through two failed drives and their rebuild"
    );
    assert_eq!(run("slow-replica.sh"), "slow replica: commits wait for the standby's disks");
}

/// Proves that what the containers of the example run is accepted: the array is served by the very arguments of both files,
/// and the test in the second container passes on it. Without a container runtime nothing else of them can be tried.
#[test]
fn containers_run_what_is_accepted() {
    let container = directory().join("container");
    let (dockerfile, compose) =
        ["Dockerfile", "compose.yaml"].map(|name| fs::read_to_string(container.join(name)).unwrap()).into();
    let words = |line: &str| -> Vec<String> {
        let list = line.split_once('[').and_then(|(_, rest)| rest.rsplit_once(']')).expect(line).0;
        // Commas stand within quoted words too.
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in list.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => words.push(String::new()),
                ' ' if !is_quoted => {}
                letter => words.last_mut().expect("a word").push(letter),
            }
        }
        words
    };
    let line = |text: &str, start: &str| {
        let found = text.lines().map(str::trim).find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start} in {text}")).to_owned()
    };
    let arguments = [line(&dockerfile, "CMD ["), line(&compose, "command: [serve")].map(|line| words(&line));
    for file in ["test.sh", "Dockerfile"] {
        assert!(compose.contains(file) && container.join(file).is_file(), "{file}");
    }
    for arguments in arguments {
        let data = tempfile::tempdir().unwrap();
        let test = format!("SOCKETS={} bash {}", data.path().display(), container.join("test.sh").display());
        let here = |word: &String| match word.strip_prefix("/data") {
            Some(rest) => format!("{}{rest}", data.path().display()),
            None => word.clone(),
        };
        let output = command(env!("CARGO_BIN_EXE_arraylab"))
            .args(arguments.iter().map(here))
            .args(["--run", &test])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("a drive failed under a verified load"), "{arguments:?}: {stdout}");
    }
}
