//! Results to stdout, everything else to stderr. Neither may end the program: a reader that has seen enough closes
//! stdout, and a terminal that goes away takes stderr with it while a campaign runs on.

pub use crate::notice::print_notice;

use crate::failure::Failure;
use diagnostic::Problem;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Text that is gathered before it is written.
const OUTPUT_BUFFER_BYTES: usize = 64 << 10;

/// Prints results.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    printed(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// End of writing to stdout: a reader that has gone is not worth a word.
fn printed(written: std::io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::failed_by(error),
    })
}

/// Problem of a file that could not be written.
fn cannot_write(path: &Path, error: std::io::Error) -> Problem {
    Problem::new(format!("cannot write {}", path.display())).caused_by(error)
}

/// Failure to write a file: a full disk is none of the user's making.
fn not_written(path: &Path, error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull => Failure::failed(cannot_write(path, error)),
        _ => Failure::refused(cannot_write(path, error)),
    }
}

/// Prints each value as one line of JSON, as they come: those of a large campaign are not kept as text.
pub fn print_json_lines<T: serde::Serialize>(values: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let mut stdout = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, std::io::stdout().lock());
    let write = || {
        for value in values {
            serde_json::to_writer(&mut stdout, &value)?;
            stdout.write_all(b"\n")?;
        }
        stdout.flush()
    };
    let written = write();
    // What could not be written is not tried again when the buffer is dropped.
    let _ = stdout.into_parts();
    printed(written)
}

/// Writes the answers of a question into its run directory: as JSON lines and as they are printed.
pub fn write_answers(
    directory: &Path,
    question: &str,
    lines: impl Iterator<Item = serde_json::Value>,
    text: &str,
) -> Result<(), Failure> {
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    for (ending, contents) in [("jsonl", lines.as_str()), ("txt", text)] {
        write_new(&directory.join(format!("{question}.{ending}")), |file| {
            file.write_all(contents.as_bytes()).map_err(Failure::failed_by)
        })?;
    }
    Ok(())
}

/// Writes a file that is not there yet, so that it is whole or absent; one of that name is never replaced.
pub fn write_new(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::refused(cannot_write(path, error).with_hint("name another, or remove that one first"))
        }
        _ => not_written(path, error),
    };
    if path.symlink_metadata().is_ok() {
        return Err(failed(std::io::Error::from(ErrorKind::AlreadyExists)));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    write(&mut buffered)?;
    buffered.flush().map_err(failed)?;
    drop(buffered);
    // A temporary file is private; what is asked for by name is made to be passed on.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(failed)?;
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes a file so that it is whole or as it was before.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(content.as_ref())?;
        // A temporary file is private; what is asked for by name is made to be passed on.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(readable)?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error| not_written(path, error))
}
