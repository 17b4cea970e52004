//! PDF of a report, printed by an installed browser.
//!
//! The page is made for paper by its own style sheet: page numbers, no chart across two pages, what folds on the screen is
//! open. A browser reads it as every reader's does, so there is no second layout to keep.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Environment variable that names the browser.
pub const BROWSER_VARIABLE: &str = "ARRAYLAB_BROWSER";
/// Programs that are looked for on the path.
pub const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Time after which a browser is stopped: a report of 1,010 cases takes a tenth of it.
pub const BROWSER_TIME_LIMIT: Duration = Duration::from_secs(180);
/// Time between looks at the browser.
const POLL: Duration = Duration::from_millis(20);
/// Shown of what the browser wrote.
const MESSAGE_CHARS: usize = 400;

/// A report that cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// No browser is installed.
    #[error("no browser to print the report: {because}")]
    NoBrowser {
        /// Names that were looked for.
        because: String,
    },
    /// The browser did not end.
    #[error("{} did not print the report within {} s and was stopped", .browser.display(), .limit.as_secs())]
    TimedOut {
        /// The browser.
        browser: PathBuf,
        /// The limit.
        limit: Duration,
    },
    /// The browser ended without a PDF.
    #[error("{} did not print the report: {because}", .browser.display())]
    Failed {
        /// The browser.
        browser: PathBuf,
        /// Its status, and the end of its messages.
        because: String,
    },
    /// A file of the printing cannot be read or written.
    #[error("the report cannot be printed")]
    Io(#[from] io::Error),
}

impl diagnostic::Diagnostic for PdfError {
    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        matches!(self, PdfError::NoBrowser { .. }).then(|| {
            let named = format!("{BROWSER_VARIABLE}=/path/to/chromium");
            format!(
                "install Chromium, or name one with {named}; --format html can be printed from any browser"
            )
            .into()
        })
    }
}

/// The browser of [`BROWSER_VARIABLE`], else the first of [`BROWSERS`] on the path.
pub fn find_browser() -> Result<PathBuf, PdfError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    browser_among(std::env::var_os(BROWSER_VARIABLE), &path)
}

fn browser_among(named: Option<OsString>, path: &std::ffi::OsStr) -> Result<PathBuf, PdfError> {
    let on_path = |name: &Path| std::env::split_paths(path).map(|at| at.join(name)).find(|at| is_program(at));
    if let Some(named) = named.filter(|named| !named.is_empty()).map(PathBuf::from) {
        let found = if named.components().count() > 1 {
            Some(named.clone()).filter(|named| is_program(named))
        } else {
            on_path(&named)
        };
        return found.ok_or_else(|| PdfError::NoBrowser {
            because: format!("{BROWSER_VARIABLE} names {}, which is no program", named.display()),
        });
    }
    BROWSERS.iter().find_map(|name| on_path(Path::new(name))).ok_or_else(|| PdfError::NoBrowser {
        because: format!("none of {} is on the path", BROWSERS.join(", ")),
    })
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.mode() & 0o111 != 0)
}

/// Prints a page. The whole PDF is given, or none.
pub fn print(page: &str, browser: &Path) -> Result<Vec<u8>, PdfError> {
    print_within(page, browser, BROWSER_TIME_LIMIT)
}

fn print_within(page: &str, browser: &Path, limit: Duration) -> Result<Vec<u8>, PdfError> {
    let directory = tempfile::Builder::new().prefix("arraylab-pdf-").tempdir()?;
    let (html, pdf) = (directory.path().join("report.html"), directory.path().join("report.pdf"));
    let messages = directory.path().join("messages");
    std::fs::write(&html, page)?;
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
        .args(["--no-pdf-header-footer", "--generate-pdf-document-outline"])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()));
    // Chromium refuses to run as root with its sandbox; the page is our own and loads nothing.
    if std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0) {
        command.arg("--no-sandbox");
    }
    command
        .arg(format!("file://{}", html.display()))
        .env("HOME", directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&messages)?)
        .process_group(0);
    let mut child = command.spawn()?;
    let ended = wait(&mut child, limit);
    // Helpers of a browser that was stopped, or that ended before them.
    stop_group(&child);
    let status = match ended? {
        Some(status) => status,
        None => {
            child.wait()?;
            return Err(PdfError::TimedOut { browser: browser.to_owned(), limit });
        }
    };
    let failed = |because: String| PdfError::Failed { browser: browser.to_owned(), because };
    let printed = std::fs::read(&pdf).unwrap_or_default();
    if !status.success() || !is_whole(&printed) {
        let mut text = String::new();
        std::fs::File::open(&messages)?.take(1 << 20).read_to_string(&mut text).unwrap_or_default();
        let skipped = text.chars().count().saturating_sub(MESSAGE_CHARS);
        let end: String = text.chars().skip(skipped).collect();
        return Err(failed(format!("{status}; {}", end.trim())));
    }
    Ok(printed)
}

/// Returns true if a PDF has its beginning and its end.
fn is_whole(pdf: &[u8]) -> bool {
    let end = &pdf[pdf.len().saturating_sub(1024)..];
    pdf.starts_with(b"%PDF-") && end.windows(5).any(|part| part == b"%%EOF")
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(POLL);
    }
    Ok(None)
}

fn stop_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // Nobody of it may be left, which is no error.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(directory: &Path, text: &str) -> PathBuf {
        let path = directory.join("browser");
        // Written by another process: one that is starting would inherit the open file, and running it would fail.
        let status = Command::new("sh")
            .args(["-c", "printf '%s' \"$2\" > \"$1\"", "sh", path.to_str().expect("text"), text])
            .status();
        assert!(status.expect("sh").success());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        path
    }

    /// Proves that a browser is named by the variable or found on the path, and that a missing one is refused with a hint.
    #[test]
    fn a_browser_is_found_or_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let browser = program(directory.path(), "#!/bin/sh\n");
        let path = directory.path().as_os_str();
        assert_eq!(browser_among(Some("browser".into()), path).expect("found"), browser);
        assert_eq!(browser_among(Some(browser.clone().into()), "".as_ref()).expect("found"), browser);
        for named in [None, Some("other".into()), Some("/no/such/browser".into())] {
            let error = diagnostic::full_text(&browser_among(named, path).expect_err("none"));
            assert!(error.contains("hint: install Chromium"), "{error}");
        }
        std::fs::rename(&browser, directory.path().join("google-chrome")).expect("renamed");
        assert!(browser_among(None, path).expect("found").ends_with("google-chrome"));
    }

    /// Proves that a browser which hangs is stopped, and that one which fails, or writes half a file, gives an error with
    /// its message.
    #[test]
    fn a_bad_browser_gives_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let limit = Duration::from_millis(400);
        let hanging = program(directory.path(), "#!/bin/sh\nsleep 600 &\nsleep 600\n");
        let begun = Instant::now();
        let error = print_within("<p>", &hanging, limit).expect_err("it hangs");
        assert!(matches!(error, PdfError::TimedOut { .. }) && begun.elapsed() < Duration::from_secs(20));
        let half = "#!/bin/sh\nfor word; do case $word in --print-to-pdf=*) printf '%%PDF-1.4 half' > \"${word#*=}\";; esac; done\necho no room >&2\n";
        for text in [half, "#!/bin/sh\necho no room >&2\nexit 7\n"] {
            let bad = program(directory.path(), text);
            let error = print_within("<p>", &bad, Duration::from_secs(20)).expect_err("bad").to_string();
            assert!(error.contains("no room"), "{error}");
        }
    }
}
