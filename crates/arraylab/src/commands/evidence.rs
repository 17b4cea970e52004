//! `bundle` and `verify-report`: a run as one file that others can check.

use crate::cli::{BundleArgs, VerifyReportArgs};
use crate::failure::{Failure, not_met};
use crate::output::{print, print_json_lines, print_notice, write_new};
use diagnostic::Problem;
use evidence::{EvidenceError, Verification};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use store::{Run, RunReader};
use units::human_count;

/// `arraylab bundle`; the last line on stdout is the bundle's path.
pub fn bundle(arguments: &BundleArgs) -> Result<ExitCode, Failure> {
    let original = Run::open_read_only(&arguments.run)?;
    let temporary = TemporaryRun::new(arguments.redact)?;
    let run = temporary.redacted(original)?;
    let path = arguments.out.clone().unwrap_or_else(|| default_name(&arguments.run));
    let mut summary = None;
    write_new(&path, |out| {
        summary = Some(evidence::write_bundle(&run, &mut &mut *out)?);
        Ok(())
    })?;
    if let Some(summary) = summary {
        let members = human_count(summary.contents.members.len() as u64, "member");
        print_notice(&format!("{members} of run {}; SHA-256 {}", summary.contents.run_id, summary.sha256));
    }
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Directory of a redacted copy of a run, removed at the end; none where nothing is redacted.
pub struct TemporaryRun(Option<tempfile::TempDir>);

impl TemporaryRun {
    /// A new directory where one is needed.
    pub fn new(is_needed: bool) -> Result<TemporaryRun, Failure> {
        let make = || tempfile::Builder::new().prefix("arraylab-redacted-").tempdir();
        let directory = is_needed.then(make).transpose();
        let failed = |error: std::io::Error| {
            Failure::refused(Problem::new("cannot make a temporary directory").caused_by(error))
        };
        Ok(TemporaryRun(directory.map_err(failed)?))
    }

    /// The run itself, or its redacted copy.
    pub fn redacted(&self, run: RunReader) -> Result<RunReader, Failure> {
        match &self.0 {
            Some(directory) => Ok(evidence::redacted_copy(&run, &directory.path().join("run"))?),
            None => Ok(run),
        }
    }

    /// The runs themselves, or their redacted copies, in which the same name has the same pseudonym.
    pub fn all_redacted(&self, runs: Vec<RunReader>) -> Result<Vec<RunReader>, Failure> {
        match &self.0 {
            Some(directory) => Ok(evidence::redacted_copies(&runs, directory.path())?),
            None => Ok(runs),
        }
    }
}

/// In the current directory, named for the directory of the run.
fn default_name(run: &std::path::Path) -> PathBuf {
    let name = run.canonicalize().ok().and_then(|path| path.file_name().map(std::ffi::OsStr::to_owned));
    let mut name = name.unwrap_or_else(|| "run".into());
    name.push(".tar.gz");
    PathBuf::from(name)
}

/// `arraylab verify-report`
pub fn verify_report(arguments: &VerifyReportArgs) -> Result<ExitCode, Failure> {
    let verification = evidence::verify(&arguments.bundle)?;
    if arguments.json {
        print_json_lines(&verification.differences)?;
        print_json_lines([summary(&verification)])?;
    } else {
        let mut text = String::new();
        for difference in &verification.differences {
            text.push_str(&format!("differs: {}: {}\n", difference.place, difference.says));
        }
        let members = human_count(verification.members as u64, "member");
        let numbers = human_count(verification.numbers as u64, "number");
        text.push_str(&match verification.differences.len() {
            0 => format!("agrees: {members}, {numbers} recomputed from the samples\n"),
            count => {
                format!("{} in {members} and {numbers}\n", human_count(count as u64, "difference"))
            }
        });
        print(&text)?;
    }
    verification.not_checked.iter().for_each(|text| print_notice(text));
    print_notice(&format!("run {}, SHA-256 {}", verification.run_id.escape_debug(), verification.sha256));
    Ok(if verification.differences.is_empty() { ExitCode::SUCCESS } else { not_met() })
}

fn summary(verification: &Verification) -> serde_json::Value {
    json!({
        "summary": true,
        "agrees": verification.differences.is_empty(),
        "differences": verification.differences.len(),
        "members": verification.members,
        "numbers": verification.numbers,
        "run_id": verification.run_id,
        "arraylab_version": verification.arraylab_version,
        "sha256": verification.sha256,
        "not_checked": verification.not_checked,
    })
}

impl From<EvidenceError> for Failure {
    fn from(error: EvidenceError) -> Failure {
        match error {
            EvidenceError::Store(error) => error.into(),
            other => Failure::Refused(Box::new(other)),
        }
    }
}
