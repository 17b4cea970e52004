//! Reading of a bundle within limits: its members in memory, its run in a directory of the reader's own.

use crate::EvidenceError;
use crate::difference::{BundleDifference, DifferenceKind};
use crate::error::io_error;
use crate::hash::{hash_of, hex};
use crate::limits::{
    LIST_BYTES_LIMIT, MEMBER_BYTES_LIMIT, MEMBERS_LIMIT, TEXT_BYTES_LIMIT, TOTAL_BYTES_LIMIT,
};
use crate::members::{
    BUNDLE_VERSION, Contents, DATABASE, FORMAT, LIST, MANIFEST, PICTURES, PUBLISHED, is_plain,
};
use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// A member as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// Its content, but for the database.
    pub(crate) text: Vec<u8>,
}

/// Contents of a bundle that was read.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) contents: Contents,
    pub(crate) members: BTreeMap<String, Found>,
    pub(crate) differences: Vec<BundleDifference>,
    pub(crate) sha256: String,
}

/// Reads a bundle. The run and the published tables are written below `directory`, everything else stays in memory.
pub(crate) fn unpack(path: &Path, directory: &Path) -> Result<Unpacked, EvidenceError> {
    let no_bundle = |because: String| EvidenceError::NoBundle { path: path.to_owned(), because };
    let file = File::open(path).map_err(|source| io_error("read", path, source))?;
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Err(no_bundle("it is not a regular file".to_owned()));
    }
    let sha256 = hash_of(&mut BufReader::new(&file)).map_err(|source| io_error("read", path, source))?;
    let file = File::open(path).map_err(|source| io_error("read", path, source))?;
    let unpacked_bytes = GzDecoder::new(BufReader::new(file)).take(TOTAL_BYTES_LIMIT);
    let mut archive = tar::Archive::new(unpacked_bytes);
    // Raw: headers that rename members or make them sparse are members of a type that no bundle has.
    let mut entries = archive.entries().map_err(|error| no_bundle(error.to_string()))?.raw(true);

    let contents = match entries.next() {
        Some(Ok(mut entry)) if entry.path_bytes().as_ref() == LIST.as_bytes() => {
            let mut text = Vec::new();
            entry
                .by_ref()
                .take(LIST_BYTES_LIMIT + 1)
                .read_to_end(&mut text)
                .map_err(|error| no_bundle(format!("{LIST} cannot be read: {error}")))?;
            if text.len() as u64 > LIST_BYTES_LIMIT {
                return Err(no_bundle(format!("{LIST} is larger than {LIST_BYTES_LIMIT} bytes")));
            }
            serde_json::from_slice::<Contents>(&text)
                .map_err(|error| no_bundle(format!("{LIST}: {error}")))?
        }
        Some(Ok(_)) => return Err(no_bundle(format!("its first member is not {LIST}"))),
        Some(Err(error)) => return Err(no_bundle(error.to_string())),
        None => return Err(no_bundle("it is empty".to_owned())),
    };
    if contents.format != FORMAT {
        return Err(no_bundle(format!("{LIST} is not that of a bundle")));
    }
    if contents.version != BUNDLE_VERSION {
        let version = contents.version;
        return Err(no_bundle(format!(
            "it has version {version}, this arraylab reads version {BUNDLE_VERSION}"
        )));
    }
    if contents.members.len() > MEMBERS_LIMIT {
        return Err(no_bundle(format!("{LIST} names more than {MEMBERS_LIMIT} members")));
    }

    let mut unpacked = Unpacked { contents, members: BTreeMap::new(), differences: Vec::new(), sha256 };
    for (place, entry) in entries.enumerate() {
        let read = entry.and_then(|entry| unpacked.read_member(entry, directory));
        if let Err(error) = read {
            unpacked.add(
                DifferenceKind::Truncated,
                "the archive",
                &format!("it cannot be read to its end: {error}"),
            );
            return Ok(unpacked);
        }
        if place >= MEMBERS_LIMIT {
            let says = format!("it has more than {MEMBERS_LIMIT} members");
            unpacked.add(DifferenceKind::OverLimit, "the archive", &says);
            return Ok(unpacked);
        }
    }
    // The checksum of the compression is behind the end of the archive.
    match read_rest(archive.into_inner()) {
        Ok(true) => {}
        Ok(false) => unpacked.add(DifferenceKind::Extra, "the archive", "there are bytes behind its end"),
        Err(error) => unpacked.add(DifferenceKind::Truncated, "the archive", &error.to_string()),
    }
    Ok(unpacked)
}

/// Reads what follows the archive: `true` where that is nothing but padding.
fn read_rest(mut rest: io::Take<GzDecoder<BufReader<File>>>) -> io::Result<bool> {
    let mut buffer = [0u8; 8192];
    loop {
        match rest.read(&mut buffer)? {
            0 => break,
            read if buffer[..read].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
    Ok(rest.into_inner().into_inner().read(&mut buffer)? == 0)
}

impl Unpacked {
    pub(crate) fn add(&mut self, kind: DifferenceKind, place: &str, says: &str) {
        self.differences.push(BundleDifference { kind, place: place.to_owned(), says: says.to_owned() });
    }

    fn read_member<R: Read>(&mut self, mut entry: tar::Entry<'_, R>, directory: &Path) -> io::Result<()> {
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let shown: String = name.chars().take(120).collect::<String>().escape_debug().to_string();
        if !is_plain(&name) || entry.header().entry_type() != tar::EntryType::Regular {
            self.add(
                DifferenceKind::Extra,
                &shown,
                "no bundle has a member of this name and type; it is left packed",
            );
            return Ok(());
        }
        if !self.contents.members.iter().any(|member| member.path == name) {
            self.add(DifferenceKind::Extra, &shown, "bundle.json does not list it; it is left packed");
            return Ok(());
        }
        if self.members.contains_key(&name) {
            self.add(
                DifferenceKind::Extra,
                &shown,
                "it stands twice in the archive; the second is left packed",
            );
            return Ok(());
        }
        let is_database = name == DATABASE;
        let limit = if is_database { MEMBER_BYTES_LIMIT } else { TEXT_BYTES_LIMIT };
        let size = entry.size();
        if size > limit {
            let says =
                format!("it has {}, more than {}", units::human_bytes(size), units::human_bytes(limit));
            self.add(DifferenceKind::OverLimit, &shown, &says);
            return Ok(());
        }
        let is_written = is_database
            || name == MANIFEST
            || name.starts_with(&format!("{PICTURES}/"))
            || name.starts_with(&format!("{PUBLISHED}/"));
        let mut file = match is_written {
            true => {
                let path = directory.join(&name);
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                Some(File::create_new(&path)?)
            }
            false => None,
        };
        let (mut hash, mut bytes, mut text) = (Sha256::new(), 0u64, Vec::new());
        let mut buffer = vec![0u8; 1 << 16];
        loop {
            let read = entry.read(&mut buffer)?;
            let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { break };
            hash.update(part);
            bytes += part.len() as u64;
            if let Some(file) = &mut file {
                file.write_all(part)?;
            }
            if !is_database {
                text.extend_from_slice(part);
            }
        }
        if bytes < size {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{shown} ends early")));
        }
        self.members.insert(name, Found { bytes, sha256: hex(&hash.finalize()), text });
        Ok(())
    }
}
