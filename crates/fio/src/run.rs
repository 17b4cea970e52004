//! Running fio on a case.

use diagnostic::text_with_causes;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::job::{self, JOB_FILE, LOG_PREFIX};
use crate::logs::{LogKind, read_histogram_log, read_interval_log};
use crate::outcome::{Context, JobLogs, RAN_SHORT, assemble};
use crate::report::{Job, Report, ReportError, read_report};
use crate::{Engine, FioCase, FioError, FioOutcome, Server, Target};

/// Interval at which the process and the interrupt flag are polled.
const POLL: Duration = Duration::from_millis(20);
/// Interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// Time limit for fio to end its jobs and print after SIGINT, and to die after SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// The most that is read of an output or log.
const FILE_LIMIT_BYTES: u64 = 1 << 30;
/// The most that is kept of fio's standard error.
const STDERR_LIMIT_BYTES: u64 = 64 << 10;

const OUTPUT_FILE: &str = "fio.json";
const STDOUT_FILE: &str = "fio.stdout";
const STDERR_FILE: &str = "fio.stderr";

/// Progress of a case by the clock: fio's own progress cannot be had without changing its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Time since fio was started; it can exceed the expected time, because fio needs a moment to begin and to end.
    pub elapsed_ns: u64,
    /// Ramp and runtime.
    pub expected_ns: u64,
}

impl Engine {
    /// Carries out one case. Everything that fio reads and writes stays in the case's directory.
    ///
    /// fio dies with the thread that called this, so that no load goes on behind a laboratory that was killed.
    pub fn run(
        &self,
        case: &FioCase,
        on_progress: &mut dyn FnMut(Progress),
        interrupt: &AtomicBool,
    ) -> Result<FioOutcome, FioError> {
        self.run_on(None, case, on_progress, interrupt)
    }

    /// Runs a case as [`Engine::run`] does, but by a server of fio on another host.
    pub fn run_on(
        &self,
        server: Option<&Server>,
        case: &FioCase,
        on_progress: &mut dyn FnMut(Progress),
        interrupt: &AtomicBool,
    ) -> Result<FioOutcome, FioError> {
        let job = job::write(self, case)?;
        clear(case.directory)?;
        let job_file = case.directory.join(JOB_FILE);
        std::fs::write(&job_file, &job.text).map_err(FioError::io("cannot write", &job_file))?;
        let mut child = self.spawn(server, case.directory, job.is_read_only)?;
        let expected_ns = case.load.ramp_ns.saturating_add(case.load.runtime_ns);
        let limit = Duration::from_nanos(expected_ns).saturating_add(self.overtime_limit);
        let end = wait(&mut child, expected_ns, limit, case.target, on_progress, interrupt)
            .map_err(FioError::io("cannot wait for", &self.path))?;

        let output_file = case.directory.join(OUTPUT_FILE);
        let stderr =
            String::from_utf8_lossy(&read_up_to(&case.directory.join(STDERR_FILE), STDERR_LIMIT_BYTES)?)
                .into_owned();
        let report = read_report(&read_up_to(&output_file, FILE_LIMIT_BYTES)?);
        let mut warnings = job.warnings.clone();
        let has_succeeded = matches!(end, End::Exited(status) if status.success());
        let errno = report.as_ref().ok().and_then(|report| ending_error(report, has_succeeded));
        let cause = failure(&end, &report, errno, &stderr);
        let outcome = report.map(|report| {
            let suffix = server.map(Server::log_suffix).unwrap_or_default();
            let kinds = (job.has_bandwidth_log, suffix.as_str());
            let logs = read_logs(case.directory, report.jobs.len(), kinds, &mut warnings);
            let context = Context {
                load: case.load,
                interval_ms: job::interval_ms(case.load),
                job_file,
                output_file,
                stderr,
                warnings,
            };
            let mut outcome = assemble(report, &logs, context);
            if case.io_size_bytes.is_some() {
                // It was to end with its bytes.
                outcome.warnings.retain(|warning| !warning.starts_with(RAN_SHORT));
            }
            outcome
        });
        match (end, cause, outcome) {
            (End::Interrupted, _, outcome) => {
                Err(FioError::Interrupted { partial: outcome.ok().map(Box::new) })
            }
            (End::Hung { ios, is_pending }, _, outcome) => Err(FioError::Hung {
                ios: ios.unwrap_or_else(|| case.load.outstanding()),
                seconds: self.overtime_limit.as_secs(),
                is_pending,
                partial: outcome.ok().map(Box::new),
            }),
            (End::Exited(_), None, Ok(outcome)) => Ok(outcome),
            // No report and an orderly exit: fio read the job file and went no further.
            (End::Exited(status), Some(reason), Err(_)) if status.code().is_some_and(|code| code != 0) => {
                Err(FioError::Refused { reason })
            }
            (End::Exited(_), cause, outcome) => Err(FioError::Failed {
                cause: cause.unwrap_or_default(),
                errno,
                partial: outcome.ok().map(Box::new),
            }),
        }
    }

    fn spawn(
        &self,
        server: Option<&Server>,
        directory: &Path,
        is_read_only: bool,
    ) -> Result<Child, FioError> {
        let create = |name: &str| {
            let path = directory.join(name);
            File::create(&path).map_err(FioError::io("cannot create", &path))
        };
        let program = if self.path.components().count() > 1 {
            // The child starts in the case's directory.
            std::path::absolute(&self.path).map_err(FioError::io("cannot resolve", &self.path))?
        } else {
            self.path.clone()
        };
        let mut command = Command::new(program);
        command.args(["--output-format=json+", "--eta=never"]).arg(format!("--output={OUTPUT_FILE}"));
        match server {
            Some(server) => {
                command.arg(server.client_option());
            }
            None if is_read_only => {
                command.arg("--readonly");
            }
            None => {}
        }
        command
            .arg(JOB_FILE)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(create(STDOUT_FILE)?)
            .stderr(create(STDERR_FILE)?)
            // Ctrl-C is for us; we decide how fio ends.
            .process_group(0);
        // A server goes on without its client; one that is interrupted tells it to stop.
        let signal = if server.is_some() { libc::SIGINT } else { libc::SIGKILL };
        let parent = std::process::id();
        // SAFETY: between fork and exec only system calls are made, which are async-signal-safe; nothing is allocated
        // and no lock is taken.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, signal) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
                // The parent may have died before the line above.
                if libc::getppid() as u32 != parent {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            });
        }
        command.spawn().map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => FioError::NotFound { looked_in: self.path.display().to_string() },
            _ => FioError::Io { doing: "cannot start", path: self.path.clone(), source },
        })
    }
}

/// Ending of a run.
#[derive(Debug, Clone, Copy)]
enum End {
    Exited(ExitStatus),
    Interrupted,
    /// The run exceeded its time limit.
    Hung {
        /// I/Os that the kernel had under way on the device, where the target is one.
        ios: Option<u64>,
        /// True if not even SIGKILL ended it, or the kernel may still be working on its I/Os.
        is_pending: bool,
    },
}

fn wait(
    child: &mut Child,
    expected_ns: u64,
    limit: Duration,
    target: &Target,
    on_progress: &mut dyn FnMut(Progress),
    interrupt: &AtomicBool,
) -> std::io::Result<End> {
    let start = Instant::now();
    let mut last_report = start;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        if interrupt.load(Ordering::Relaxed) {
            stop(child)?;
            return Ok(End::Interrupted);
        }
        if start.elapsed() >= limit {
            let ios = in_flight(target).filter(|ios| *ios > 0);
            let has_ended = stop(child)?;
            // A ring of the kernel outlives the process that made it, and device mapper does not count what it defers:
            // only a connection is known to be gone with fio.
            let is_pending = !has_ended || matches!(target, Target::Path(_));
            return Ok(End::Hung { ios, is_pending });
        }
        if last_report.elapsed() >= PROGRESS_EVERY {
            last_report = Instant::now();
            on_progress(Progress { elapsed_ns: start.elapsed().as_nanos() as u64, expected_ns });
        }
        std::thread::sleep(POLL);
    }
}

/// I/Os that the kernel has under way on a block device; none where the target is no such device.
fn in_flight(target: &Target) -> Option<u64> {
    let Target::Path(path) = target else { return None };
    let metadata = std::fs::metadata(path).ok().filter(|found| found.file_type().is_block_device())?;
    let (major, minor) = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    // Reads and writes (Documentation/ABI/stable/sysfs-block).
    let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/inflight")).ok()?;
    Some(text.split_whitespace().filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// Asks fio to end, and ends it where it does not. A process that waits for a dead device in the kernel cannot be ended
/// by anyone; it is left behind after a second grace, and the answer is false.
fn stop(child: &mut Child) -> std::io::Result<bool> {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        // SAFETY: `kill` takes two numbers. The child was not waited for yet, so its group's number is not reused.
        unsafe { libc::kill(-(child.id() as libc::pid_t), signal) };
        let since = Instant::now();
        while since.elapsed() < GRACE {
            if child.try_wait()?.is_some() {
                return Ok(true);
            }
            std::thread::sleep(POLL);
        }
    }
    Ok(false)
}

/// Removes what an earlier attempt at the same case left, so that it is not read as this one's.
fn clear(directory: &Path) -> Result<(), FioError> {
    let entries = std::fs::read_dir(directory).map_err(FioError::io("cannot list", directory))?;
    for entry in entries {
        let path = entry.map_err(FioError::io("cannot list", directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_log = name.starts_with(&format!("{LOG_PREFIX}_")) && name.contains(".log");
        if is_log || [JOB_FILE, OUTPUT_FILE, STDOUT_FILE, STDERR_FILE].contains(&&*name) {
            std::fs::remove_file(&path).map_err(FioError::io("cannot remove", &path))?;
        }
    }
    Ok(())
}

/// A file's content; empty where there is none.
fn read_up_to(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, FioError> {
    let mut content = Vec::new();
    match File::open(path) {
        Ok(file) => {
            file.take(limit_bytes + 1)
                .read_to_end(&mut content)
                .map_err(FioError::io("cannot read", path))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(FioError::Io { doing: "cannot read", path: path.to_path_buf(), source }),
    }
    Ok(content)
}

/// The logs of each job, numbered from 1 in the order of the report. One that cannot be read costs the intervals, not
/// the totals.
fn read_logs(
    directory: &Path,
    job_count: usize,
    (has_bandwidth_log, suffix): (bool, &str),
    warnings: &mut Vec<String>,
) -> Vec<JobLogs> {
    let mut read = |kind: &str, number: usize| -> Option<(PathBuf, Vec<u8>)> {
        let path = directory.join(format!("{LOG_PREFIX}_{kind}.{number}.log{suffix}"));
        match read_up_to(&path, FILE_LIMIT_BYTES) {
            Ok(content) if content.len() as u64 > FILE_LIMIT_BYTES => {
                warnings.push(format!(
                    "{} is longer than {FILE_LIMIT_BYTES} bytes and was not read",
                    path.display()
                ));
                None
            }
            Ok(content) => Some((path, content)),
            Err(error) => {
                warnings.push(text_with_causes(&error));
                None
            }
        }
    };
    let mut logs = Vec::new();
    let mut problems = Vec::new();
    for number in 1..=job_count {
        let mut of_job = JobLogs::default();
        let mut tx = |path: &Path, error| {
            problems.push(format!("{}: {error}; its intervals are missing", path.display()));
        };
        if let Some((path, content)) = read("clat_hist", number) {
            of_job.histograms = read_histogram_log(&content).map_err(|error| tx(&path, error)).ok();
        }
        if has_bandwidth_log && let Some((path, content)) = read("bw", number) {
            of_job.bandwidth = read_interval_log(&content, LogKind::Bandwidth, Some(false))
                .map_err(|error| tx(&path, error))
                .ok();
        }
        logs.push(of_job);
    }
    warnings.extend(problems);
    logs
}

/// The error that ended a job. fio also reports the first error that a job went on after; only its exit status says that
/// none ended by it.
fn ending_error(report: &Report, has_succeeded: bool) -> Option<i32> {
    let went_on = |job: &Job| has_succeeded && job.total_errors > 0;
    report.jobs.iter().filter(|job| !went_on(job)).map(|job| job.error).find(|&error| error != 0)
}

/// Returns the reason why the run counts as failed, where it does.
fn failure(
    end: &End,
    report: &Result<Report, ReportError>,
    errno: Option<i32>,
    stderr: &str,
) -> Option<String> {
    let End::Exited(status) = end else { return None };
    let text = match report {
        Ok(report) => &report.text[..],
        Err(error) => error.text(),
    };
    let message = complaint(text, stderr);
    if let Some(signal) = status.signal() {
        return Some(join(&format!("it was ended by signal {signal}{}", signal_name(signal)), &message));
    }
    if let Some(errno) = errno {
        return Some(join(&std::io::Error::from_raw_os_error(errno).to_string(), &message));
    }
    match (status.code(), report) {
        (Some(0), Ok(_)) => None,
        // fio ends with success also where its output could not be written.
        (Some(0), Err(error @ (ReportError::NoJson { .. } | ReportError::Truncated { .. }))) => {
            Some(format!("{error}; is the file system that holds the run full?"))
        }
        (Some(0), Err(error)) => Some(text_with_causes(error)),
        (code, _) if message.is_empty() => {
            Some(format!("it ended with status {} and said nothing", code.unwrap_or(-1)))
        }
        _ => Some(message),
    }
}

/// fio's own words on what went wrong, each line once: it writes them to its output, its standard error, or both.
fn complaint(text: &[String], stderr: &str) -> String {
    /// More lines than this are the same trouble in every job.
    const LINE_LIMIT: usize = 6;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.iter().map(String::as_str).chain(stderr.lines().map(str::trim)) {
        let line = line.strip_prefix("fio: ").unwrap_or(line);
        let is_news =
            !line.is_empty() && !line.starts_with("note:") && !line.starts_with("connected to NBD server");
        if is_news && !lines.contains(&line) && lines.len() < LINE_LIMIT {
            lines.push(line);
        }
    }
    lines.join("; ")
}

fn join(cause: &str, message: &str) -> String {
    if message.is_empty() { cause.to_owned() } else { format!("{cause}; it says: {message}") }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that an error after which a job went on does not end the run, and that one which ended a job does.
    #[test]
    fn errors_that_were_passed_over_end_nothing() {
        let job = |error, total_errors| Job { error, total_errors, ..Job::default() };
        let report = |jobs: &[Job]| Report { jobs: jobs.to_vec(), ..Report::default() };
        assert_eq!(ending_error(&report(&[job(0, 0), job(5, 17)]), true), None);
        assert_eq!(ending_error(&report(&[job(0, 0), job(5, 17)]), false), Some(5));
        assert_eq!(ending_error(&report(&[job(28, 0)]), true), Some(28));
    }

    /// Proves that only a block device has I/Os of its own to look at.
    #[test]
    fn only_devices_have_ios_in_flight() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(in_flight(&Target::Path(file.path().to_owned())), None);
        assert_eq!(in_flight(&Target::Nbd("nbd://host".into())), None);
        let devices = std::fs::read_dir("/dev").into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(device) = devices.into_iter().find(|path| {
            path.metadata().is_ok_and(|found| found.file_type().is_block_device())
                && path.metadata().is_ok_and(|found| {
                    let number = format!("{}:{}", libc::major(found.rdev()), libc::minor(found.rdev()));
                    Path::new("/sys/dev/block").join(number).exists()
                })
        }) {
            assert!(in_flight(&Target::Path(device)).is_some());
        }
    }
}
