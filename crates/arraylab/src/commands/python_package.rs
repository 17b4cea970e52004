//! Work that the Python package does for the command: this process becomes its `python -m arraylab`.

use crate::failure::Failure;
use diagnostic::Problem;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Names the Python that has the package, where it is none of those that are looked for.
const PYTHON: &str = "ARRAYLAB_PYTHON";
/// Tells the package which program it is to run.
const COMMAND: &str = "ARRAYLAB_COMMAND";

/// Becomes `python3 -m arraylab WORDS…`; comes back only where there is no package.
pub fn run(what: &str, words: &[OsString], hint: &str) -> Result<(), Failure> {
    let Some(python) = candidates().into_iter().find(has_package) else {
        let problem = Problem::new(format!("`{what}` is the Python package's, and no Python here has it"));
        return Err(Failure::refused(problem.with_hint(format!("{hint}; {PYTHON} names another Python"))));
    };
    let mut command = Command::new(&python);
    command.args(["-m", "arraylab"]).args(words);
    if let Ok(program) = std::env::current_exe() {
        command.env(COMMAND, program);
    }
    let error = command.exec();
    Err(Failure::refused(Problem::new(format!("{} cannot be run", python.display())).caused_by(error)))
}

/// Pythons in the order in which they are tried: the one that was named, the one beside this program, those on the path.
fn candidates() -> Vec<PathBuf> {
    if let Some(python) = std::env::var_os(PYTHON) {
        return vec![python.into()];
    }
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("python3")));
    beside.into_iter().filter(|python| python.exists()).chain(["python3".into(), "python".into()]).collect()
}

fn has_package(python: &PathBuf) -> bool {
    let tried = Command::new(python)
        .args(["-c", "import arraylab._sweep"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}
