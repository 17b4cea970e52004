//! Size-limited file reading.

use crate::ImportError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest file: fio's JSON+ of 4096 jobs with full histograms has about 250 MB.
pub(crate) const FILE_LIMIT_BYTES: u64 = 512 << 20;

/// The bytes of a file.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ImportError> {
    let failed = |source| ImportError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        return Err(ImportError::TooLong { path: path.to_owned(), limit_bytes: FILE_LIMIT_BYTES });
    }
    Ok(bytes)
}

/// A file as text. Bytes that are no UTF-8 are replaced: they can only stand in names and comments.
pub(crate) fn read(path: &Path) -> Result<String, ImportError> {
    let bytes = read_bytes(path)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// A file's name without its ending, for plans and stages.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "imported".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
