//! Files of a run's tables: results, samples, counters and events, written case by case.

use crate::{Frame, counters, events, results, samples};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use store::{CaseResult, RunReader, StoreError};

/// Failure to write the tables of a run.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error("cannot write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Writes `results.csv`, `samples.csv`, `counters.csv` and `events.csv` into a directory that is there, each whole or not at all, and
/// gives their paths. A long run has millions of rows: no more than one case is in memory.
pub fn write_csv_files(
    run: &RunReader,
    of_run: &[CaseResult],
    directory: &Path,
) -> Result<Vec<PathBuf>, FileError> {
    let cases: Vec<u32> = run.cases()?.iter().map(|case| case.index).collect();
    // The table of no case has the column names.
    let pieces = || std::iter::once(&[][..]).chain(cases.chunks(1));
    Ok(vec![
        write(directory, "results.csv", [Ok(results(of_run))])?,
        write(directory, "samples.csv", pieces().map(|cases| samples(run, cases)))?,
        write(directory, "counters.csv", pieces().map(|cases| counters(run, cases)))?,
        write(directory, "events.csv", [events(run)])?,
    ])
}

/// Writes a table that comes in pieces.
fn write(
    directory: &Path,
    name: &str,
    pieces: impl IntoIterator<Item = Result<Frame, StoreError>>,
) -> Result<PathBuf, FileError> {
    let (path, part) = (directory.join(name), directory.join(format!("{name}.part")));
    let failed = |source| FileError::Write { path: path.clone(), source };
    let mut file = BufWriter::new(File::create(&part).map_err(failed)?);
    for (number, piece) in pieces.into_iter().enumerate() {
        let piece = piece?;
        if number == 0 {
            file.write_all(piece.csv_header().as_bytes()).map_err(failed)?;
        }
        file.write_all(piece.csv_rows().as_bytes()).map_err(failed)?;
    }
    file.flush().map_err(failed)?;
    fs::rename(&part, &path).map_err(failed)?;
    Ok(path)
}
