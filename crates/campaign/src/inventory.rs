//! Inventory commands of host and array, stored with the run.

use plan::{InventoryCommand, InventoryMoment};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A command that takes longer is ended: an inventory must not hold up a test.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Limit on the stored output of a command; the rest is dropped.
const OUTPUT_LIMIT_BYTES: u64 = 1 << 20;
/// Commands with one for each device; more are left out, and that is said.
const COMMANDS_LIMIT: usize = 1000;
const POLL: Duration = Duration::from_millis(10);

/// Runs the commands of a moment, one after another, and gives what they said.
pub(crate) fn take(commands: &[InventoryCommand], moment: InventoryMoment, devices: &[String]) -> Vec<Value> {
    let is_due = |command: &&InventoryCommand| command.at == moment || command.at == InventoryMoment::Both;
    let mut words: Vec<Vec<String>> =
        commands.iter().filter(is_due).flat_map(|command| command.for_devices(devices)).collect();
    let left_out = words.len().saturating_sub(COMMANDS_LIMIT);
    words.truncate(COMMANDS_LIMIT);
    let mut taken: Vec<Value> = words.iter().map(|words| run(words)).collect();
    if left_out > 0 {
        taken.push(json!({ "left_out": left_out }));
    }
    taken
}

/// Runs commands one after another; those beyond the limit are left out.
pub(crate) fn run_all(commands: &[Vec<String>]) -> Vec<Value> {
    commands.iter().take(COMMANDS_LIMIT).map(|words| run(words)).collect()
}

fn run(words: &[String]) -> Value {
    let command_line = words.join(" ");
    let Some((program, arguments)) = words.split_first() else { return Value::Null };
    let started = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return json!({ "command": command_line, "error": error.to_string() }),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let begun = Instant::now();
    let mut has_ended = false;
    let (stdout, stderr, status) = thread::scope(|scope| {
        let stdout = scope.spawn(|| read(stdout));
        let stderr = scope.spawn(|| read(stderr));
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            // Looked at and not yet waited for, so that its number stays its own until its group is killed.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            while !has_ended && begun.elapsed() < TIME_LIMIT {
                has_ended = matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)));
                if !has_ended {
                    thread::sleep(POLL);
                }
            }
            // Whatever it has started and left behind holds its output open.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let status = child.wait().ok();
        (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default(), status)
    });
    let mut answer = json!({ "command": command_line, "output": stdout });
    if !stderr.is_empty() {
        answer["stderr"] = stderr.into();
    }
    if !has_ended {
        answer["error"] = format!("it was ended after {} s", TIME_LIMIT.as_secs()).into();
    } else if let Some(status) = status.filter(|status| !status.success()) {
        answer["error"] = status.to_string().into();
    }
    answer
}

/// The beginning of what a command writes. It is read to its end, so that the command is not held up.
fn read(pipe: Option<impl Read>) -> String {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(OUTPUT_LIMIT_BYTES).read_to_end(&mut kept);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], at: InventoryMoment) -> InventoryCommand {
        InventoryCommand { arguments: words.iter().map(|word| (*word).to_owned()).collect(), at }
    }

    /// Proves that output is kept, that failures and missing programs are noted, and that output has its limit.
    #[test]
    fn what_commands_say_is_kept() {
        let commands = [
            command(&["echo", "{device}"], InventoryMoment::Both),
            command(&["no-such-program-anywhere"], InventoryMoment::Start),
            command(&["false"], InventoryMoment::Start),
            command(&["head", "-c", "3000000", "/dev/zero"], InventoryMoment::Start),
            command(&["echo", "later"], InventoryMoment::End),
        ];
        let devices = ["/dev/sda".to_owned(), "/dev/sdb".to_owned()];
        let taken = take(&commands, InventoryMoment::Start, &devices);
        assert_eq!(taken.len(), 5);
        assert_eq!(taken[1]["output"], "/dev/sdb\n");
        assert!(taken[2]["error"].is_string());
        assert_eq!(taken[3]["error"], "exit status: 1");
        assert_eq!(taken[4]["output"].as_str().map(str::len), Some(1 << 20));
        assert_eq!(take(&commands, InventoryMoment::End, &[]).len(), 1);
    }
}
