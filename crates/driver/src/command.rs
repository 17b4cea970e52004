//! External commands with time and output limits.

use crate::DriverError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Limit on the standard output of a program, in bytes: the status of an array of 1,000 drives is a tenth of it.
pub const OUTPUT_LIMIT_BYTES: usize = 8 << 20;
/// Bytes of standard error that are kept, from its end.
pub const STDERR_KEPT_BYTES: usize = 64 << 10;

/// After a program has ended, its pipes are given so long to close: a daemon that it left behind may hold them.
const PIPE_GRACE: Duration = Duration::from_secs(1);
const POLL_FIRST: Duration = Duration::from_millis(1);
const POLL_LONGEST: Duration = Duration::from_millis(20);

/// Time limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Timeout after which it is killed, with all processes that it started.
    pub timeout: Duration,
}

impl Default for CommandLimits {
    /// Ten minutes: some controllers flush their cache before they delete a virtual disk.
    fn default() -> Self {
        CommandLimits { timeout: Duration::from_secs(600) }
    }
}

/// Output of a command.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The command line, for messages.
    pub command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// The answer of a program that must succeed.
    pub(crate) fn successful(self) -> Result<Answer, DriverError> {
        if self.status.success() { Ok(self) } else { Err(self.failure()) }
    }

    /// Makes the error for its failure.
    pub(crate) fn failure(self) -> DriverError {
        let stderr = if self.stderr.trim().is_empty() { self.stdout } else { self.stderr };
        DriverError::Failed { command: self.command, status: self.status.to_string(), stderr }
    }

    /// Makes the error for an answer that was not understood.
    pub(crate) fn not_understood(&self, problem: impl Into<String>, hint: &'static str) -> DriverError {
        let problem = format!("{} (it wrote: {:?})", problem.into(), crate::error::excerpt(&self.stdout));
        DriverError::Answer { from: self.command.clone(), problem, hint }
    }
}

/// Runs `program` to its end. Its standard input is `input`; its messages are in English.
pub(crate) fn run(
    program: &PathBuf,
    arguments: &[String],
    input: &[u8],
    limits: CommandLimits,
) -> Result<Answer, DriverError> {
    let command = std::iter::once(program.display().to_string())
        .chain(arguments.iter().cloned())
        .collect::<Vec<_>>()
        .join(" ");
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group, so that what it starts ends with it, and a Ctrl-C meant for arraylab does not stop a tool
        // in the middle of a change.
        .process_group(0)
        .spawn()
        .map_err(|source| DriverError::Start { program: program.display().to_string(), source })?;
    let stdout = Collector::start(child.stdout.take(), Keep::First(OUTPUT_LIMIT_BYTES));
    let stderr = Collector::start(child.stderr.take(), Keep::Last(STDERR_KEPT_BYTES));
    if let Some(mut pipe) = child.stdin.take() {
        let input = input.to_vec();
        // A program that reads nothing closes the pipe; that is its affair.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let ended = wait(&mut child, &stdout, limits.timeout);
    let group = Pid::from_child(&child);
    if !matches!(ended, Ended::Exited(_)) {
        // The group may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
    let (stderr, _) = stderr.text();
    match ended {
        Ended::TimedOut => Err(DriverError::TimedOut {
            command,
            limit: limits.timeout,
            stderr,
            hint: "it was stopped; look at the array before trying again, or allow more time with timeout=",
        }),
        Ended::Overflowed => Err(DriverError::TooMuchOutput { command, limit_bytes: OUTPUT_LIMIT_BYTES }),
        Ended::Exited(Err(source)) => Err(DriverError::Start { program: command, source }),
        Ended::Exited(Ok(status)) => match stdout.text() {
            (_, true) => Err(DriverError::TooMuchOutput { command, limit_bytes: OUTPUT_LIMIT_BYTES }),
            (stdout, false) => Ok(Answer { command, status, stdout, stderr }),
        },
    }
}

enum Ended {
    Exited(io::Result<ExitStatus>),
    TimedOut,
    Overflowed,
}

fn wait(child: &mut Child, stdout: &Collector, timeout: Duration) -> Ended {
    let started = Instant::now();
    let mut pause = POLL_FIRST;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::Exited(Ok(status)),
            Err(error) => return Ended::Exited(Err(error)),
            Ok(None) => {}
        }
        if stdout.overflowed() {
            return Ended::Overflowed;
        }
        if started.elapsed() >= timeout {
            return Ended::TimedOut;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(POLL_LONGEST);
    }
}

enum Keep {
    First(usize),
    Last(usize),
}

#[derive(Default)]
struct Collected {
    bytes: Vec<u8>,
    overflowed: bool,
}

/// Reads a pipe in the background. What has come is there even if the pipe never ends, because a daemon that the
/// program left behind holds it.
struct Collector {
    collected: Arc<Mutex<Collected>>,
    ended: mpsc::Receiver<()>,
}

impl Collector {
    fn start(pipe: Option<impl Read + Send + 'static>, keep: Keep) -> Collector {
        let (sender, ended) = mpsc::channel();
        let collected = Arc::<Mutex<Collected>>::default();
        let shared = Arc::clone(&collected);
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            let mut pipe = pipe;
            let mut read =
                || pipe.as_mut()?.read(&mut buffer).ok().filter(|&n| n > 0).map(|n| buffer[..n].to_vec());
            while let Some(bytes) = read() {
                let mut collected = lock(&shared);
                collected.bytes.extend_from_slice(&bytes);
                match keep {
                    Keep::First(limit) if collected.bytes.len() > limit => {
                        collected.overflowed = true;
                        break;
                    }
                    Keep::Last(limit) => {
                        let excess = collected.bytes.len().saturating_sub(limit);
                        collected.bytes.drain(..excess);
                    }
                    Keep::First(_) => {}
                }
            }
            // Nobody listens any more if the program was given up.
            let _ = sender.send(());
        });
        Collector { collected, ended }
    }

    fn overflowed(&self) -> bool {
        lock(&self.collected).overflowed
    }

    /// Returns the output so far, once the pipe has ended or the grace is over, and true if it exceeds the limit.
    fn text(&self) -> (String, bool) {
        // Both ways of not hearing of the end mean that what is there is all there will be.
        let _ = self.ended.recv_timeout(PIPE_GRACE);
        let collected = lock(&self.collected);
        (String::from_utf8_lossy(&collected.bytes).into_owned(), collected.overflowed)
    }
}

fn lock(collected: &Mutex<Collected>) -> MutexGuard<'_, Collected> {
    // Bytes that a reader has added are whole, even if it died after.
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}
