//! `report`: what a run shows, for people.

use crate::cli::{ReportArgs, ReportFormat};
use crate::failure::Failure;
use crate::output::print;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use store::Run;

/// `arraylab report`; the last line on stdout is the report's path.
pub fn report(arguments: &ReportArgs) -> Result<ExitCode, Failure> {
    let run = Run::open_read_only(&arguments.run)?;
    let report = report::from_run(&run).map_err(|error| Failure::Refused(Box::new(error)))?;
    let (text, name) = match arguments.format {
        ReportFormat::Html => (report.html(), "report.html"),
        ReportFormat::Md => (report.markdown(), "report.md"),
    };
    let path = arguments.out.clone().unwrap_or_else(|| arguments.run.join(name));
    write_whole(&path, &text)?;
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file so that it is whole or as it was before.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        // A temporary file is private; a report is made to be passed on.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(readable)?;
        file.persist(path).map_err(|error| error.error)
    };
    match write() {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = format!("cannot write {}: {error}", path.display());
            Err(match error.kind() {
                std::io::ErrorKind::StorageFull => Failure::Failed(message.into()),
                _ => Failure::refused(message),
            })
        }
    }
}
