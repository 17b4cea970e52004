//! Target specification: the value of `--target`.

use crate::disk_name::DiskName;
use crate::error::TargetError;
use crate::nbd_uri::NbdAddress;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A longer text is no target: Linux's PATH_MAX twice over.
pub const SPEC_LIMIT_BYTES: usize = 8192;

/// The smallest logical block of any device; a file target is a whole number of them, so that direct I/O can reach
/// its end.
const SECTOR_BYTES: u64 = 512;

const FORMS: &str = "a target is an existing path, file:PATH,size=1g, nbd://HOST[:PORT][/EXPORT], nbd+unix:///[EXPORT]?socket=PATH, wwn:WWN, serial:NUMBER, null:SIZE or twin:NAME[,key=value]…";

/// A target as named by the user. Reading it touches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// A simulated array.
    Twin(TwinSpec),
    /// Something real that holds blocks.
    Storage(StorageSpec),
}

/// `twin:NAME[,key=value]…`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinSpec {
    /// A shipped array or an array file.
    pub name: String,
    /// Settings in the order typed; the plan's settings override them.
    pub settings: Vec<(String, String)>,
}

/// A real target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageSpec {
    /// An existing block device or file.
    Path(PathBuf),
    /// `file:PATH,size=1g`: a file that is created, or found from an earlier run.
    CreateFile {
        /// Path of the file.
        path: PathBuf,
        /// Size of the file, in bytes.
        size_bytes: u64,
    },
    /// An export of an NBD server.
    Nbd(NbdAddress),
    /// `wwn:…` or `serial:…`: the disk that calls itself so, whatever its path here.
    Disk(DiskName),
    /// `null:1t`: nothing at all, which answers at once; a load on it measures the engine and its host.
    Null {
        /// Size that the target reports, in bytes.
        size_bytes: u64,
    },
}

impl TargetSpec {
    /// Parses a target as typed. [`crate::inspect`] checks that it exists.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if text.trim().is_empty() {
            return Err(problem(text, "is empty", FORMS));
        }
        if text.len() > SPEC_LIMIT_BYTES {
            return Err(problem(text, format!("is longer than {SPEC_LIMIT_BYTES} bytes"), FORMS));
        }
        // Targets end up in line-based job files and in terminals.
        if text.chars().any(char::is_control) {
            return Err(problem(
                text,
                "contains a control character",
                "rename the file, or use another path to it",
            ));
        }
        if let Some(rest) = text.strip_prefix("twin:") {
            return parse_twin(text, rest).map(TargetSpec::Twin);
        }
        if let Some(rest) = text.strip_prefix("file:") {
            return parse_file(text, rest).map(TargetSpec::Storage);
        }
        for (kind, named) in
            [("wwn:", DiskName::Wwn as fn(String) -> DiskName), ("serial:", DiskName::Serial)]
        {
            if let Some(rest) = text.strip_prefix(kind) {
                return parse_disk(text, rest)
                    .map(|name| TargetSpec::Storage(StorageSpec::Disk(named(name))));
            }
        }
        if let Some(rest) = text.strip_prefix("null:") {
            return parse_null(text, rest).map(TargetSpec::Storage);
        }
        match text.split_once("://") {
            Some(("nbd" | "nbd+unix", _)) => match NbdAddress::parse(text) {
                Ok(address) => Ok(TargetSpec::Storage(StorageSpec::Nbd(address))),
                Err(what) => Err(problem(
                    text,
                    what.to_string(),
                    "nbd://HOST[:PORT][/EXPORT] or nbd+unix:///[EXPORT]?socket=PATH, special characters as %XX",
                )),
            },
            Some(("nbds" | "nbds+unix" | "nbd+vsock" | "nbds+vsock", _)) => Err(problem(
                text,
                "NBD over TLS or vsock is not supported",
                "use nbd:// or nbd+unix://, or a local tunnel to the server",
            )),
            Some((scheme, _)) if !scheme.contains('/') => {
                Err(problem(text, format!("`{}` is no known kind of target", shorten(scheme)), FORMS))
            }
            _ => Ok(TargetSpec::Storage(StorageSpec::Path(text.into()))),
        }
    }
}

impl FromStr for TargetSpec {
    type Err = TargetError;
    fn from_str(text: &str) -> Result<Self, TargetError> {
        TargetSpec::parse(text)
    }
}

/// The same text as was typed, up to the unit of a size.
impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetSpec::Twin(twin) => {
                write!(f, "twin:{}", twin.name)?;
                twin.settings.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
            }
            TargetSpec::Storage(storage) => storage.fmt(f),
        }
    }
}

impl fmt::Display for StorageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageSpec::Path(path) => write!(f, "{}", path.display()),
            StorageSpec::CreateFile { path, size_bytes } => {
                write!(f, "file:{},size={}", path.display(), units::Bytes(*size_bytes))
            }
            StorageSpec::Nbd(address) => f.write_str(&address.uri),
            StorageSpec::Disk(name) => name.fmt(f),
            StorageSpec::Null { size_bytes } => write!(f, "null:{}", units::Bytes(*size_bytes)),
        }
    }
}

fn parse_twin(text: &str, rest: &str) -> Result<TwinSpec, TargetError> {
    const HINT: &str =
        "twin:NAME[,key=value]…, for example twin:flashsystem-840,seed=7; `arraylab arrays` lists the names";
    let mut parts = rest.split(',');
    let name = parts.next().unwrap_or_default();
    if name.is_empty() {
        return Err(problem(text, "names no array", HINT));
    }
    let mut settings: Vec<(String, String)> = Vec::new();
    for part in parts {
        let (key, value) = key_and_value(text, part, HINT)?;
        if settings.iter().any(|(known, _)| known == key) {
            return Err(problem(text, format!("gives `{}` twice", shorten(key)), HINT));
        }
        settings.push((key.to_owned(), value.to_owned()));
    }
    Ok(TwinSpec { name: name.to_owned(), settings })
}

fn parse_file(text: &str, rest: &str) -> Result<StorageSpec, TargetError> {
    const HINT: &str =
        "file:PATH,size=1g creates the file; a path that contains a comma cannot be created this way";
    let mut parts = rest.split(',');
    let path = parts.next().unwrap_or_default();
    if path.is_empty() {
        return Err(problem(text, "names no path", HINT));
    }
    let mut size_bytes = None;
    for part in parts {
        let (key, value) = key_and_value(text, part, HINT)?;
        if key != "size" {
            return Err(problem(
                text,
                format!("`{}` is not a key of file:; the only one is size", shorten(key)),
                HINT,
            ));
        }
        if size_bytes.is_some() {
            return Err(problem(text, "gives `size` twice", HINT));
        }
        size_bytes = Some(units::parse_bytes(value).map_err(|error| problem(text, error.to_string(), HINT))?);
    }
    let size_bytes = size_bytes.ok_or_else(|| problem(text, "gives no size", HINT))?;
    Ok(StorageSpec::CreateFile { path: path.into(), size_bytes: whole_sectors(text, size_bytes, HINT)? })
}

fn parse_disk(text: &str, name: &str) -> Result<String, TargetError> {
    const HINT: &str = "`lsblk -o NAME,WWN,SERIAL` shows what disks call themselves";
    if name.trim().is_empty() || name.contains('/') {
        return Err(problem(text, "names no disk", HINT));
    }
    Ok(name.trim().to_owned())
}

fn parse_null(text: &str, size: &str) -> Result<StorageSpec, TargetError> {
    const HINT: &str = "null:SIZE, for example null:1t, takes everything and answers at once";
    let size_bytes = units::parse_bytes(size).map_err(|error| problem(text, error.to_string(), HINT))?;
    Ok(StorageSpec::Null { size_bytes: whole_sectors(text, size_bytes, HINT)? })
}

fn whole_sectors(text: &str, size_bytes: u64, hint: &'static str) -> Result<u64, TargetError> {
    if size_bytes > 0 && size_bytes.is_multiple_of(SECTOR_BYTES) {
        return Ok(size_bytes);
    }
    Err(problem(
        text,
        format!("a size of {size_bytes} is not a positive multiple of {SECTOR_BYTES} bytes"),
        hint,
    ))
}

fn key_and_value<'a>(
    text: &str,
    part: &'a str,
    hint: &'static str,
) -> Result<(&'a str, &'a str), TargetError> {
    match part.split_once('=') {
        Some((key, value)) if is_key(key) && !value.is_empty() => Ok((key, value)),
        _ => Err(problem(text, format!("`{}` is not key=value", shorten(part)), hint)),
    }
}

fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn problem(text: &str, problem: impl Into<String>, hint: &'static str) -> TargetError {
    TargetError::Spec { text: shorten(text), problem: problem.into(), hint }
}

/// A text for a message: without control characters and at most 80 characters long.
fn shorten(text: &str) -> String {
    let mut short: String =
        text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(text: &str) -> String {
        diagnostic::full_text(&TargetSpec::parse(text).expect_err(text))
    }

    /// Proves that each form of DESIGN.md is read into its parts.
    #[test]
    fn every_form_is_read() {
        assert_eq!(
            TargetSpec::parse("twin:flashsystem-840,raid=5,write_cache=off").unwrap(),
            TargetSpec::Twin(TwinSpec {
                name: "flashsystem-840".into(),
                settings: vec![("raid".into(), "5".into()), ("write_cache".into(), "off".into())],
            })
        );
        assert_eq!(
            TargetSpec::parse("file:/dev/shm/x,size=1g").unwrap(),
            TargetSpec::Storage(StorageSpec::CreateFile { path: "/dev/shm/x".into(), size_bytes: 1 << 30 })
        );
        assert_eq!(
            TargetSpec::parse("/dev/disk/by-id/scsi-36:0").unwrap(),
            TargetSpec::Storage(StorageSpec::Path("/dev/disk/by-id/scsi-36:0".into()))
        );
        let uri = "nbd+unix:///a%20b?socket=/run/nbd.sock";
        assert_eq!(TargetSpec::parse(uri).unwrap().to_string(), uri);
        for disk in ["wwn:naa.5000c5007a000001", "serial:S0M4K002"] {
            let named = TargetSpec::parse(disk).unwrap();
            assert!(matches!(named, TargetSpec::Storage(StorageSpec::Disk(_))));
            assert_eq!(named.to_string(), disk);
        }
        let null = TargetSpec::parse("null:1t").unwrap();
        assert_eq!(null, TargetSpec::Storage(StorageSpec::Null { size_bytes: 1 << 40 }));
        assert_eq!(TargetSpec::parse(&null.to_string()).unwrap(), null);
    }

    /// Proves that each wrong text gets its own reason and a hint.
    #[test]
    fn wrong_texts_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "is empty"),
            ("twin:", "names no array"),
            ("twin:a,raid", "`raid` is not key=value"),
            ("twin:a,raid=5,raid=6", "gives `raid` twice"),
            ("file:/x", "gives no size"),
            ("file:,size=1g", "names no path"),
            ("file:/x,size=0", "not a positive multiple"),
            ("file:/x,size=1000", "not a positive multiple"),
            ("file:/x,size=1q", "is not a size"),
            ("file:/x,size=1g,size=2g", "gives `size` twice"),
            ("wwn:", "names no disk"),
            ("serial:../x", "names no disk"),
            ("null:", "is not a size"),
            ("null:1000", "not a positive multiple"),
            ("file:/x,depth=1", "`depth` is not a key of file:"),
            ("file:/x,y,size=1g", "`y` is not key=value"),
            ("nbds://host/x", "not supported"),
            ("http://host/x", "`http` is no known kind of target"),
            ("/dev/s\ndb", "control character"),
        ] {
            let message = message(text);
            assert!(message.contains(reason) && message.contains("\nhint: "), "{text}: {message}");
        }
        assert!(message(&"x".repeat(SPEC_LIMIT_BYTES + 1)).contains("longer than"));
    }

    proptest! {
        /// Proves that no text makes the parser panic, whatever prefix leads it into.
        #[test]
        fn no_text_panics(prefix in "(twin:|file:|nbd://|nbd\\+unix:///|nbd\\+unix://|)", text in "\\PC{0,60}") {
            let _ = TargetSpec::parse(&format!("{prefix}{text}"));
        }

        /// Proves that what is printed reads back as the same target.
        #[test]
        fn printed_specs_read_back(
            name in "[a-z][a-z0-9-]{0,12}", key in "[a-z_.]{0,6}", value in "[a-z0-9:/.]{1,8}", sectors in 1u64..1 << 40,
        ) {
            for text in [
                format!("twin:{name},k{key}={value}"),
                format!("file:/tmp/{name},size={}", sectors * 512),
                format!("nbd://{name}/{key}"),
                format!("nbd+unix:///{key}?socket=/run/{name}"),
            ] {
                let spec = TargetSpec::parse(&text).unwrap();
                prop_assert_eq!(TargetSpec::parse(&spec.to_string()).unwrap(), spec);
            }
        }
    }
}
