//! What can be made to happen to a served array, by name and arguments.

use crate::verbs::{self, Scope};
use driver::Settings;
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::Value;

/// An event of the control socket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// A drive fails.
    Fail { drive: u16 },
    /// A drive is pulled out.
    Pull { drive: u16 },
    /// A new drive takes the place of a lost one.
    Replace { drive: u16 },
    /// A drive refuses writes from now on; the array finds out by itself.
    Break { drive: u16 },
    /// Sectors of a drive change silently.
    Corrupt { drive: u16, offset_bytes: u64, sectors: u64 },
    /// The power fails for a moment.
    PowerCut { seed: u64 },
    /// Everything is read and checked, in the background.
    Scrub,
    /// Everything is brought to the drives.
    Checkpoint,
    /// Something that only the array's model knows.
    Model { action: String, arguments: Settings },
}

impl Event {
    /// Reads an event; numbers may be texts.
    pub(crate) fn parse(name: &str, arguments: &Settings) -> Result<Event, ResponseError> {
        let bad = |message: String| ResponseError { kind: ErrorKind::BadRequest, message };
        let number = |key: &str| {
            let value = arguments.get(key)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let drive = || {
            let drive = number("drive").and_then(|drive| u16::try_from(drive).ok());
            drive.ok_or_else(|| bad(format!("event `{name}` needs the number of a drive, `drive`")))
        };
        Ok(match name {
            "fail" => Event::Fail { drive: drive()? },
            "pull" => Event::Pull { drive: drive()? },
            "replace" => Event::Replace { drive: drive()? },
            "break" => Event::Break { drive: drive()? },
            "corrupt" => Event::Corrupt {
                drive: drive()?,
                offset_bytes: number("offset").unwrap_or(0),
                sectors: number("sectors").unwrap_or(1),
            },
            "power-cut" => Event::PowerCut { seed: number("seed").unwrap_or(1) },
            "scrub" => Event::Scrub,
            "checkpoint" => Event::Checkpoint,
            _ if verbs::find(name).is_some_and(|verb| verb.scope == Scope::Model) => {
                Event::Model { action: name.to_owned(), arguments: arguments.clone() }
            }
            _ => return Err(bad(format!("event `{name}` is not known; there are: {}", verbs::usage()))),
        })
    }

    /// The arguments that a user typed, by name.
    pub(crate) fn arguments(name: &str, words: &[String]) -> Settings {
        let arguments = verbs::find(name).map_or(&[][..], |verb| verb.arguments);
        let mut keys = arguments.iter().map(|argument| argument.key);
        let pairs = words.iter().filter_map(|word| match word.split_once('=') {
            Some((key, value)) => Some((key.to_owned(), number_or_text(value))),
            None => Some((keys.next()?.to_owned(), number_or_text(word))),
        });
        pairs.collect()
    }
}

/// What a user typed, as plans would have it.
fn number_or_text(word: &str) -> Value {
    match (word.parse::<u64>(), word.parse::<f64>()) {
        (Ok(whole), _) => whole.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => word.into(),
    }
}
