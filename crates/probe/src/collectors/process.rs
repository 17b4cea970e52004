//! Asking a program: a bound on its time, on what it writes, and on how long it is waited for.

use super::{CollectError, Deadline};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Limit on the output of a program, in bytes: 10,000 values of 100 bytes.
pub(super) const OUTPUT_LIMIT_BYTES: usize = 1 << 20;
/// Of standard error, so much is kept for the message.
const STDERR_LIMIT_BYTES: usize = 1024;
/// A killed program that has not gone by then waits in the kernel, perhaps for the very device under test.
const REAP_GRACE: Duration = Duration::from_millis(200);
const REAP_STEP: Duration = Duration::from_millis(2);

/// Output and status of a program.
pub(super) struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs one program at a time, and leaves alone one that cannot be ended.
#[derive(Debug, Default)]
pub(super) struct Runner {
    left_behind: Option<Child>,
}

impl Runner {
    pub(super) fn run(
        &mut self,
        arguments: &[String],
        deadline: &Deadline<'_>,
    ) -> Result<Output, CollectError> {
        let program = arguments.first().map_or("", String::as_str).to_owned();
        if let Some(child) = &mut self.left_behind {
            match child.try_wait() {
                Ok(None) => return Err(CollectError::StillThere { program }),
                _ => self.left_behind = None,
            }
        }
        let start_error = |source| CollectError::Start { program: program.clone(), source };
        let mut child = Command::new(&program)
            .args(arguments.get(1..).unwrap_or_default())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its own group, so that what it starts is killed with it.
            .process_group(0)
            .spawn()
            .map_err(start_error)?;
        let read = read_pipes(&mut child, deadline);
        let reaped = match &read {
            Ok(Pipes { end: PipesEnd::Closed, .. }) => wait_until(&mut child, deadline.at),
            _ => None,
        };
        let Some(status) = reaped else {
            self.kill(child);
            return Err(match read {
                Ok(Pipes { end: PipesEnd::Overflowed, .. }) => {
                    CollectError::TooMuchOutput { program, limit_bytes: OUTPUT_LIMIT_BYTES }
                }
                Ok(_) => CollectError::TimedOut { program, limit: deadline.limit },
                Err(ReadError::Stopped(error)) => error,
                Err(ReadError::Pipe(source)) => CollectError::Start { program, source },
            });
        };
        match read {
            Ok(pipes) => Ok(Output { status, stdout: pipes.stdout, stderr: pipes.stderr }),
            Err(_) => Err(CollectError::Stopped),
        }
    }

    fn kill(&mut self, mut child: Child) {
        // The group may be gone already.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        if wait_until(&mut child, Instant::now() + REAP_GRACE).is_none() {
            self.left_behind = Some(child);
        }
    }
}

impl Output {
    /// Makes the error for a program that reports failure.
    pub(super) fn failure(&self, program: &str) -> CollectError {
        let text = String::from_utf8_lossy(&self.stderr);
        let line = text.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        CollectError::Failed {
            program: program.to_owned(),
            status: self.status.to_string(),
            stderr: line.unwrap_or_default(),
        }
    }
}

struct Pipes {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: PipesEnd,
}

enum PipesEnd {
    Closed,
    Overflowed,
    TimedOut,
}

enum ReadError {
    Stopped(CollectError),
    Pipe(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(source: io::Error) -> Self {
        ReadError::Pipe(source)
    }
}

/// Reads both pipes until they are closed, or the program has ended: what it left behind may hold them.
fn read_pipes(child: &mut Child, deadline: &Deadline<'_>) -> Result<Pipes, ReadError> {
    let mut stdout = Pipe::of(child.stdout.take().map(OwnedFd::from))?;
    let mut stderr = Pipe::of(child.stderr.take().map(OwnedFd::from))?;
    let end = loop {
        let Some(slice) = deadline.slice().map_err(ReadError::Stopped)? else { break PipesEnd::TimedOut };
        // Before the pipes are drained: what a program wrote before it ended is then in them.
        let has_ended = child.try_wait()?.is_some();
        stdout.drain(OUTPUT_LIMIT_BYTES + 1)?;
        stderr.drain(STDERR_LIMIT_BYTES)?;
        if stdout.bytes.len() > OUTPUT_LIMIT_BYTES {
            break PipesEnd::Overflowed;
        }
        if has_ended || (stdout.file.is_none() && stderr.file.is_none()) {
            break PipesEnd::Closed;
        }
        wait_readable([&stdout, &stderr], slice)?;
    };
    Ok(Pipes { stdout: stdout.bytes, stderr: stderr.bytes, end })
}

/// A pipe's reading end, until it is closed, and what came out of it.
struct Pipe {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn of(end: Option<OwnedFd>) -> io::Result<Pipe> {
        if let Some(end) = &end {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Pipe { file: end.map(File::from), bytes: Vec::new() })
    }

    /// Takes what is there. What is over the limit is read and dropped, so that its writer goes on.
    fn drain(&mut self, limit_bytes: usize) -> io::Result<()> {
        let mut buffer = [0; 8192];
        // As much as a pipe holds, so that an endless writer does not keep us here.
        for _ in 0..16 {
            let Some(file) = &mut self.file else { return Ok(()) };
            match file.read(&mut buffer) {
                Ok(0) => self.file = None,
                Ok(count) => {
                    let room = limit_bytes.saturating_sub(self.bytes.len()).min(count);
                    self.bytes.extend_from_slice(&buffer[..room]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn wait_readable(pipes: [&Pipe; 2], at_most: Duration) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> = pipes
        .into_iter()
        .filter_map(|pipe| pipe.file.as_ref())
        .map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN))
        .collect();
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(at_most.subsec_nanos()) };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(REAP_STEP),
            _ => return None,
        }
    }
}
