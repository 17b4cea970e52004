//! `key=value` options of a driver.

use crate::DriverError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Limit on the options of a driver.
pub const OPTIONS_LIMIT: usize = 32;
/// Limit on the drives of a driver; the largest shelf configurations of one controller hold 240.
pub const DRIVES_LIMIT: usize = 256;

/// Options in the order of their names. Reading an option takes it; [`Options::finish`] complains about the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    text: String,
    values: BTreeMap<String, String>,
}

impl Options {
    /// Reads `key=value,key=value`. `text` is the whole driver, for messages.
    pub(crate) fn parse(text: &str, list: Option<&str>) -> Result<Options, DriverError> {
        let mut options = Options { text: text.to_owned(), values: BTreeMap::new() };
        for part in list.into_iter().flat_map(|list| list.split(',')) {
            let Some((key, value)) =
                part.split_once('=').filter(|(key, value)| is_key(key) && !value.is_empty())
            else {
                return Err(options.problem(format!("`{}` is not key=value", shorten(part)), FORM));
            };
            if options.values.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(options.problem(format!("gives `{key}` twice"), FORM));
            }
            if options.values.len() > OPTIONS_LIMIT {
                return Err(options.problem(format!("gives more than {OPTIONS_LIMIT} options"), FORM));
            }
        }
        Ok(options)
    }

    /// Returns all options, for a driver program that reads them itself.
    pub(crate) fn into_map(self) -> BTreeMap<String, String> {
        self.values
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<String> {
        self.values.remove(key)
    }

    pub(crate) fn required(&mut self, key: &'static str, hint: &'static str) -> Result<String, DriverError> {
        self.take(key).ok_or_else(|| self.problem(format!("gives no {key}="), hint))
    }

    pub(crate) fn number(&mut self, key: &str, default: u32) -> Result<u32, DriverError> {
        self.take(key).map_or(Ok(default), |value| {
            value
                .parse()
                .map_err(|_| self.problem(format!("{key}={} is not a number", shorten(&value)), FORM))
        })
    }

    pub(crate) fn bytes(&mut self, key: &str) -> Result<Option<u64>, DriverError> {
        self.take(key)
            .map(|value| {
                units::parse_bytes(&value).map_err(|error| self.problem(format!("{key}= {error}"), FORM))
            })
            .transpose()
    }

    pub(crate) fn duration(&mut self, key: &str, default: Duration) -> Result<Duration, DriverError> {
        self.take(key).map_or(Ok(default), |value| {
            units::parse_nanos(&value)
                .map(Duration::from_nanos)
                .map_err(|error| self.problem(format!("{key}= {error}"), FORM))
        })
    }

    /// Drives in order, `+` between them: `0:0:0-0:0:11`, `252:0-11`, `/dev/sdb+/dev/sdc`. Of drives that are
    /// numbers with colons, `-` makes a range of the last number.
    pub(crate) fn drives(&mut self) -> Result<Vec<String>, DriverError> {
        let list =
            self.required("drives", "name them in order: drives=0:0:0-0:0:11 or drives=/dev/sdb+/dev/sdc")?;
        let mut drives: Vec<String> = Vec::new();
        for part in list.split('+') {
            drives.extend(self.range(part)?);
            if drives.len() > DRIVES_LIMIT {
                return Err(self.problem(format!("names more than {DRIVES_LIMIT} drives"), FORM));
            }
        }
        for (index, drive) in drives.iter().enumerate() {
            if drives[..index].contains(drive) {
                return Err(self.problem(format!("names drive {drive} twice"), FORM));
            }
        }
        Ok(drives)
    }

    fn range(&self, part: &str) -> Result<Vec<String>, DriverError> {
        if part.starts_with('/') {
            return Ok(vec![part.to_owned()]);
        }
        let wrong = || self.problem(format!("`{}` is no drive and no range of drives", shorten(part)), FORM);
        let address = |text: &str| -> Option<(String, u32)> {
            let (prefix, last) = text.rsplit_once(':').unwrap_or(("", text));
            let is_address = prefix.is_empty() || prefix.split(':').all(|n| n.parse::<u32>().is_ok());
            last.parse().ok().filter(|_| is_address).map(|last| (prefix.to_owned(), last))
        };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (prefix, from) = address(first).ok_or_else(wrong)?;
        let (last_prefix, to) = address(last).ok_or_else(wrong)?;
        if (!last_prefix.is_empty() && last_prefix != prefix)
            || to < from
            || (to - from) as usize >= DRIVES_LIMIT
        {
            return Err(wrong());
        }
        let colon = if prefix.is_empty() { "" } else { ":" };
        Ok((from..=to).map(|n| format!("{prefix}{colon}{n}")).collect())
    }

    /// The vendor's program `name`: in `tools=`, else where the vendor installs it, else on the PATH.
    pub(crate) fn tool(tools: Option<&str>, installed: &[&str], name: &str) -> PathBuf {
        match tools {
            Some(directory) => PathBuf::from(directory).join(name),
            None => installed
                .iter()
                .map(|directory| PathBuf::from(directory).join(name))
                .find(|path| path.exists())
                .unwrap_or_else(|| name.into()),
        }
    }

    /// Checks that all options have been read.
    pub(crate) fn finish(self, known: &str) -> Result<(), DriverError> {
        match self.values.keys().next() {
            None => Ok(()),
            Some(key) => {
                Err(self.problem(format!("`{}` is not one of its options ({known})", shorten(key)), FORM))
            }
        }
    }

    pub(crate) fn problem(&self, problem: impl Into<String>, hint: &'static str) -> DriverError {
        DriverError::Spec { text: shorten(&self.text), problem: problem.into(), hint }
    }
}

const FORM: &str = "exec:NAME[,key=value]…; docs/array-drivers.md lists the options of each driver";

fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// A text for a message: without control characters and at most 80 characters long.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String =
        text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}
