//! Writing of a bundle.

use crate::EvidenceError;
use crate::error::io_error;
use crate::hash::{hash_of, hex};
use crate::limits::{MEMBER_BYTES_LIMIT, MEMBERS_LIMIT, TEXT_BYTES_LIMIT};
use crate::members::{
    ARRAY, BUNDLE_VERSION, Contents, DATABASE, FORMAT, INVENTORY, LIST, MANIFEST, Member, PICTURES, PLAN,
    PUBLISHED, REPORT_HTML, REPORT_JSON, is_plain,
};
use flate2::{Compression, GzBuilder};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use store::{PICTURES_DIRECTORY, RunReader};

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleSummary {
    /// Its contents.
    pub contents: Contents,
    /// SHA-256 of the whole file.
    pub sha256: String,
}

/// Packs a run with its report. The plan's published tables are packed too, so that others can check without them.
pub fn write_bundle(run: &RunReader, out: &mut dyn Write) -> Result<BundleSummary, EvidenceError> {
    let temporary = tempfile::tempdir().map_err(|source| io_error("write", &std::env::temp_dir(), source))?;
    let database = temporary.path().join("run.sqlite");
    run.copy_database(&database)?;
    let manifest_path = run.directory().join("manifest.json");
    let manifest =
        std::fs::read(&manifest_path).map_err(|source| io_error("read", &manifest_path, source))?;

    let mut texts: Vec<(String, Vec<u8>)> = vec![(MANIFEST.to_owned(), manifest)];
    texts.push((PLAN.to_owned(), run.manifest().plan.text.clone().into_bytes()));
    if let Some(array) = &run.manifest().array {
        texts.push((ARRAY.to_owned(), array.text.clone().into_bytes()));
    }
    texts.push((INVENTORY.to_owned(), inventory(run.manifest()).into_bytes()));
    texts.extend(published_tables(&run.manifest().plan));
    texts.extend(pictures(run)?);
    let report = report::from_run(run)?;
    texts.push((REPORT_JSON.to_owned(), format!("{}\n", report.json()).into_bytes()));
    texts.push((REPORT_HTML.to_owned(), report.html().into_bytes()));
    for (name, bytes) in &texts {
        within(name, bytes.len() as u64, TEXT_BYTES_LIMIT)?;
    }

    let mut database_file = File::open(&database).map_err(|source| io_error("read", &database, source))?;
    let database_bytes =
        database_file.metadata().map_err(|source| io_error("read", &database, source))?.len();
    within(DATABASE, database_bytes, MEMBER_BYTES_LIMIT)?;
    let database_sha256 =
        hash_of(&mut database_file).map_err(|source| io_error("read", &database, source))?;
    let mut members: Vec<Member> = texts
        .iter()
        .map(|(path, bytes)| Member {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        })
        .collect();
    members.push(Member { path: DATABASE.to_owned(), bytes: database_bytes, sha256: database_sha256 });
    let contents = Contents {
        format: FORMAT.to_owned(),
        version: BUNDLE_VERSION,
        arraylab_version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: run.manifest().run_id.clone(),
        created_utc: run.manifest().created_utc.clone(),
        members,
    };

    let mut hashed = HashingWriter { out, hash: Sha256::new() };
    let mut packed = || -> io::Result<()> {
        // Without a time and a name, so that the same run gives the same bytes.
        let gzip = GzBuilder::new().mtime(0).write(&mut hashed, Compression::default());
        let mut archive = tar::Builder::new(gzip);
        let mut list = serde_json::to_string_pretty(&contents)?;
        list.push('\n');
        append(&mut archive, LIST, list.len() as u64, &mut list.as_bytes())?;
        for (name, bytes) in &texts {
            append(&mut archive, name, bytes.len() as u64, &mut bytes.as_slice())?;
        }
        database_file.rewind()?;
        append(&mut archive, DATABASE, database_bytes, &mut database_file)?;
        archive.into_inner()?.finish()?;
        Ok(())
    };
    packed().map_err(|source| io_error("write", Path::new("the bundle"), source))?;
    Ok(BundleSummary { contents, sha256: hex(&hashed.hash.finalize()) })
}

/// Facts and command outputs of the host and of other hosts that issued load.
pub(crate) fn inventory(manifest: &store::Manifest) -> String {
    let hosts: Vec<_> = manifest
        .hosts
        .iter()
        .map(|host| json!({"name": host.name, "address": host.address, "facts": host.facts}))
        .collect();
    let targets: Vec<_> = manifest
        .targets
        .iter()
        .map(|target| json!({"spec": target.spec, "identity": target.identity}))
        .collect();
    let all = json!({"host": manifest.host, "hosts": hosts, "targets": targets});
    format!("{all:#}\n")
}

/// The published tables that a plan names: shipped ones, else those beside the plan's file.
fn published_tables(plan: &store::SourceText) -> Vec<(String, Vec<u8>)> {
    let beside = Path::new(&plan.source).parent().map(Path::to_owned).unwrap_or_default();
    let mut tables = Vec::new();
    for file in published_names(&plan.text) {
        let name = format!("{PUBLISHED}/{file}");
        if !is_plain(&name) || tables.len() >= MEMBERS_LIMIT / 2 {
            continue;
        }
        let text = shipped_table(&file).map(str::to_owned);
        if let Some(text) = text.or_else(|| plan::read_text(&beside.join(&file), TEXT_BYTES_LIMIT).ok()) {
            tables.push((name, text.into_bytes()));
        }
    }
    tables
}

/// The published tables that the text of a plan names, each once.
pub(crate) fn published_names(plan_text: &str) -> Vec<String> {
    let plan: serde_json::Value = plan::parse_yaml("plan.yaml", plan_text).unwrap_or_default();
    let tables = plan["published"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> =
        tables.iter().filter_map(|table| table["file"].as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// The text of a published table inside the binary.
pub(crate) fn shipped_table(file: &str) -> Option<&'static str> {
    let (system, _) = file.split_once('/')?;
    plan::published(system).into_iter().find(|table| table.name == file).map(|table| table.text)
}

/// Pictures of the plan that the run keeps.
fn pictures(run: &RunReader) -> Result<Vec<(String, Vec<u8>)>, EvidenceError> {
    let directory = run.directory().join(PICTURES_DIRECTORY);
    let mut pictures = Vec::new();
    for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = format!("{PICTURES}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_file()) && is_plain(&name) {
            let path = entry.path();
            let bytes = std::fs::read(&path).map_err(|source| io_error("read", &path, source))?;
            pictures.push((name, bytes));
        }
    }
    pictures.sort();
    Ok(pictures)
}

fn within(member: &str, size: u64, limit: u64) -> Result<(), EvidenceError> {
    if size <= limit {
        return Ok(());
    }
    Err(EvidenceError::TooLarge {
        member: member.to_owned(),
        size: units::human_bytes(size),
        limit: units::human_bytes(limit),
    })
}

fn append<W: Write>(
    archive: &mut tar::Builder<W>,
    name: &str,
    size: u64,
    bytes: &mut dyn Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    archive.append(&header, bytes)
}

struct HashingWriter<'a> {
    out: &'a mut dyn Write,
    hash: Sha256,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
