//! `report`: what a run shows, for people.

use super::evidence::TemporaryRun;
use crate::cli::{ReportArgs, ReportFormat};
use crate::failure::Failure;
use crate::output::{print, write_whole};
use report::pdf::{self, PdfError};
use std::process::ExitCode;
use store::Run;

/// `arraylab report`; the last line on stdout is the report's path.
pub fn report(arguments: &ReportArgs) -> Result<ExitCode, Failure> {
    let original = Run::open_read_only(&arguments.run)?;
    let temporary = TemporaryRun::new(arguments.redact)?;
    let run = temporary.redacted(original)?;
    let report = report::from_run(&run).map_err(Failure::refused_by)?;
    let (text, name) = match arguments.format {
        ReportFormat::Html => (report.html(), "report.html"),
        ReportFormat::Md => (report.markdown(), "report.md"),
        ReportFormat::Pdf => {
            let path = arguments.out.clone().unwrap_or_else(|| arguments.run.join("report.pdf"));
            write_whole(&path, pdf::print(&report.html(), &pdf::find_browser()?)?)?;
            print(&format!("{}\n", path.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        ReportFormat::Json => {
            let line = format!("{}\n", report.json());
            if arguments.out.is_none() {
                print(&line)?;
                return Ok(ExitCode::SUCCESS);
            }
            (line, "report.json")
        }
    };
    let path = arguments.out.clone().unwrap_or_else(|| arguments.run.join(name));
    write_whole(&path, &text)?;
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

impl From<PdfError> for Failure {
    fn from(error: PdfError) -> Failure {
        match error {
            missing @ PdfError::NoBrowser { .. } => Failure::Refused(Box::new(missing)),
            other => Failure::Failed(Box::new(other)),
        }
    }
}
