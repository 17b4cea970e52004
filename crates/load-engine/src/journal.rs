//! Journal of the writes of a verified load, in files, so that the load can be verified after this program was
//! killed: the kernel keeps what was handed to it. (After a power loss of this host it says nothing.)
//!
//! One file for each job, `written-JOB`: a header of 64 bytes, then the state of each unit as 4 bytes, little endian, as
//! `load::Written` has it.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `arrlbwr1` |
//! | 8..16 | first byte of the part |
//! | 16..24 | units |
//! | 24..28 | length of a unit |
//! | 32..40 | seed of the load |

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use load::Written;

use crate::RingError;
use crate::worker::VERIFY_UNITS_LIMIT;

const MAGIC: [u8; 8] = *b"arrlbwr1";
const HEADER_BYTES: usize = 64;
const STATE_BYTES: u64 = 4;
const PREFIX: &str = "written-";

/// The file of one job.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> RingError {
    RingError::Target {
        action,
        target: path.display().to_string(),
        source,
        hint: "the run directory needs room for 4 bytes a block that is verified",
    }
}

impl Journal {
    /// A file in which nothing has been written yet.
    pub fn create(directory: &Path, job: u32, written: &Written) -> Result<Journal, RingError> {
        let path = directory.join(format!("{PREFIX}{job}"));
        let units = written.states().len() as u64;
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&written.range().start.to_le_bytes());
        header[16..24].copy_from_slice(&units.to_le_bytes());
        header[24..28].copy_from_slice(&written.unit_bytes().to_le_bytes());
        header[32..40].copy_from_slice(&written.seed().to_le_bytes());
        let create = || {
            let file = File::create(&path)?;
            file.set_len(HEADER_BYTES as u64 + units * STATE_BYTES)?;
            file.write_all_at(&header, 0)?;
            Ok(file)
        };
        match create() {
            Ok(file) => Ok(Journal { file, path, buffer: Vec::new() }),
            Err(error) => Err(failed("create", &path, error)),
        }
    }

    /// Keeps the states of a range.
    pub fn keep(&mut self, written: &Written, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError> {
        let units = written.units(offset_bytes, length_bytes);
        let at = HEADER_BYTES as u64 + units.start as u64 * STATE_BYTES;
        self.buffer.clear();
        self.buffer.extend(written.states()[units].iter().flat_map(|state| state.to_le_bytes()));
        self.file.write_all_at(&self.buffer, at).map_err(|error| failed("write", &self.path, error))
    }
}

/// Reads what a load has kept in a directory, also one that was killed; empty where none was verified.
pub fn read_journals(directory: &Path) -> Result<Vec<Written>, RingError> {
    let entries = std::fs::read_dir(directory).map_err(|error| failed("list", directory, error))?;
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed("list", directory, error))?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) {
            parts.push(read(&path)?);
        }
    }
    parts.sort_by_key(|part| part.range().start);
    Ok(parts)
}

fn read(path: &Path) -> Result<Written, RingError> {
    let wrong = |what: &str| failed("read", path, std::io::Error::other(what.to_owned()));
    let limit_bytes = HEADER_BYTES as u64 + VERIFY_UNITS_LIMIT * STATE_BYTES;
    let length_bytes = std::fs::metadata(path).map_err(|error| failed("look at", path, error))?.len();
    if length_bytes > limit_bytes {
        return Err(wrong("it is longer than any that is written"));
    }
    let bytes = std::fs::read(path).map_err(|error| failed("read", path, error))?;
    let Some((header, states)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(wrong("it ends early"));
    };
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| header[at + index]));
    let unit_bytes = word(24) as u32;
    if header[..8] != MAGIC
        || states.len() as u64 != word(16) * STATE_BYTES
        || unit_bytes < 512
        || word(8).checked_add(word(16).saturating_mul(u64::from(unit_bytes))).is_none()
    {
        return Err(wrong("it is no record of written blocks"));
    }
    let states =
        states.chunks_exact(4).map(|state| u32::from_le_bytes([state[0], state[1], state[2], state[3]]));
    let mut written = Written::from_states(word(8), unit_bytes, word(32), states.collect());
    // What was under way when the load was killed may hold the old or the new content.
    written.abandon();
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that what is kept reads back, that a write under way is unknown, and that what is no journal is refused.
    #[test]
    fn what_is_kept_reads_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut written = Written::new(4096..4096 + 8 * 512, 512, 7);
        let mut journal = Journal::create(directory.path(), 3, &written).unwrap();
        let mut buffer = vec![0; 1024];
        let generation = written.begin(4096, &mut buffer).unwrap();
        written.end(4096, 1024, generation, true);
        journal.keep(&written, 4096, 1024).unwrap();
        written.begin(4096 + 2048, &mut buffer).unwrap();
        journal.keep(&written, 4096 + 2048, 1024).unwrap();
        let [read] = &read_journals(directory.path()).unwrap()[..] else { panic!("one part") };
        written.abandon();
        assert_eq!((read.states(), read.range(), read.seed()), (written.states(), written.range(), 7));
        assert_eq!(read.known_units(), 2);
        let path = directory.path().join("written-3");
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 20, 63, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(read_journals(directory.path()).is_err(), "{cut}");
        }
    }
}
