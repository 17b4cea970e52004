//! Commands of README, CONTRIBUTING and docs, run as a reader would type them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const EXCEPTIONS: &str = include_str!("documented_commands.txt");
/// A block without a language holds commands where its first line begins with one of these.
const PROGRAMS: [&str; 7] = ["arraylab ", "make ", "cargo ", "scripts/", "curl ", "nbdinfo ", "target/"];

/// Fenced block of a page: its language, and its text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_inside = !is_inside;
            if is_inside {
                blocks.push((language.trim().to_owned(), String::new()));
            }
        } else if let (true, Some((_, text))) = (is_inside, blocks.last_mut()) {
            text.push_str(line);
            text.push('\n');
        }
    }
    blocks
}

/// Pages with commands, by their paths in the repository.
fn pages(root: &Path) -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut open = vec![PathBuf::from("docs")];
    while let Some(directory) = open.pop() {
        for entry in root.join(&directory).read_dir().expect("docs").flatten() {
            let path = directory.join(entry.file_name());
            if entry.path().is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.to_str().expect("UTF-8").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// A block as a script without the lines of exceptions, and how many command lines are left.
fn script(page: &str, block: &str, used: &mut [bool]) -> (String, usize) {
    let exceptions: Vec<Vec<&str>> = exceptions();
    let mut script = String::new();
    let (mut count, mut is_left_out, mut is_continued) = (0, false, false);
    for line in block.lines() {
        if !is_continued {
            let found = exceptions.iter().position(|entry| entry[0] == page && line.starts_with(entry[1]));
            is_left_out = found.is_some();
            if let Some(index) = found {
                used[index] = true;
            }
        }
        is_continued = line.ends_with('\\');
        if !is_left_out {
            count += usize::from(!line.trim().is_empty() && !line.starts_with('#'));
            script.push_str(line);
            script.push('\n');
        }
    }
    (script, count)
}

fn exceptions() -> Vec<Vec<&'static str>> {
    let lines = EXCEPTIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split(" | ").collect()).collect()
}

/// Proves that every command of README, CONTRIBUTING and docs runs and succeeds, page by page in an empty directory, but for
/// those that `documented_commands.txt` lists with a reason; and that each of these stands in its page.
#[test]
fn documented_commands_succeed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = Path::new(env!("CARGO_BIN_EXE_arraylab")).parent().expect("a directory");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut used = vec![false; exceptions().len()];
    for entry in exceptions() {
        assert!(entry.len() == 3 && entry[2].len() > 10, "needs `page | command | reason`: {entry:?}");
    }
    let mut failures = Vec::new();
    let mut run = 0;
    for page in pages(&root) {
        let text = fs::read_to_string(root.join(&page)).expect(&page);
        let directory = tempfile::tempdir().unwrap();
        let began = Instant::now();
        for (language, block) in blocks(&text) {
            if language == "yaml"
                && let Some(name) = block.strip_prefix("# file: ").and_then(|rest| rest.lines().next())
            {
                fs::write(directory.path().join(name), &block).unwrap();
            }
            let is_commands = match language.as_str() {
                "sh" => !block.starts_with("#!"),
                "" => PROGRAMS.iter().any(|program| block.starts_with(program)),
                _ => false,
            };
            if !is_commands {
                continue;
            }
            let (script, count) = script(&page, &block, &mut used);
            if count == 0 {
                continue;
            }
            run += count;
            let output = Command::new("sh")
                .args(["-eu", "-c", &script])
                .current_dir(directory.path())
                .env("PATH", &path)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            if !output.status.success() {
                let stderr = String::from_utf8_lossy(&output.stderr);
                failures.push(format!("{page}: {}\n{script}{stderr}", output.status));
            }
        }
        println!("{page}: {:.1} s", began.elapsed().as_secs_f64());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(run >= 40, "only {run} commands were run");
    let unused: Vec<_> = exceptions().into_iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(unused.is_empty(), "exceptions that stand in no page: {unused:#?}");
}
