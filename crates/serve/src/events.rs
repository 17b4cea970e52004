//! Events that can be triggered on a served array, by name and arguments.

use crate::event_names::{DRIVE_FAILURE, DRIVE_REPLACEMENT, DRIVE_SLOW, SERVICE_START, SERVICE_STOP};
use crate::verbs::{self, Scope};
use driver::Settings;
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::Value;

/// Change of the volumes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum VolumeOrder {
    /// A new one.
    Create { name: Option<String>, size_bytes: u64, template: Option<String> },
    /// Another size.
    Resize { name: String, size_bytes: u64 },
    /// It is gone.
    Delete { name: String },
    /// All of it becomes zero.
    Initialise { name: String },
}

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
    /// A drive takes so many times as long; 1 is as described.
    Slow { drive: u16, factor: f64 },
    /// A service of a node stops or starts.
    Service { service: String, runs: bool },
    /// Volumes change.
    Volume(VolumeOrder),
    /// Something that only the array's model knows.
    Model { action: String, arguments: Settings },
}

impl Event {
    /// Reads an event, by its name here or in plans; numbers may be texts. `find_drive` knows drives by name.
    pub(crate) fn parse(
        name: &str,
        arguments: &Settings,
        find_drive: &dyn Fn(&str) -> Option<u16>,
    ) -> Result<Event, ResponseError> {
        let bad = |message: String| ResponseError { kind: ErrorKind::BadRequest, message };
        let number = |key: &str| {
            let value = arguments.get(key)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let drive = || {
            let named = || find_drive(arguments.get("drive")?.as_str()?);
            let drive = number("drive").and_then(|drive| u16::try_from(drive).ok()).or_else(named);
            drive.ok_or_else(|| bad(format!("event `{name}` needs the number of a drive, `drive`")))
        };
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let volume = || {
            // A volume may be called 7.
            let number = || arguments.get("volume").filter(|value| value.is_u64()).map(Value::to_string);
            let given = text("volume").or_else(number);
            given.ok_or_else(|| bad(format!("event `{name}` needs the name of a volume, `volume`")))
        };
        let size_bytes = || {
            let given = number("size").or_else(|| units::parse_bytes(&text("size")?).ok());
            given.ok_or_else(|| bad(format!("event `{name}` needs a size in bytes, `size`, for example 64m")))
        };
        let service = || {
            let given = text("service");
            given.ok_or_else(|| bad(format!("event `{name}` needs a service, for example node-0/server-0")))
        };
        Ok(match name {
            "fail" => Event::Fail { drive: drive()? },
            // In plans without a drive, the first.
            DRIVE_FAILURE if !arguments.contains_key("drive") => Event::Fail { drive: 0 },
            DRIVE_FAILURE => Event::Fail { drive: drive()? },
            "pull" => Event::Pull { drive: drive()? },
            "replace" | DRIVE_REPLACEMENT => Event::Replace { drive: drive()? },
            "slow" | DRIVE_SLOW => {
                let factor = arguments.get("factor").and_then(Value::as_f64).filter(|factor| *factor >= 1.0);
                let factor =
                    factor.ok_or_else(|| bad("`factor` is needed, a number from 1 on".to_owned()))?;
                Event::Slow { drive: drive()?, factor }
            }
            "stop" | SERVICE_STOP => Event::Service { service: service()?, runs: false },
            "start" | SERVICE_START => Event::Service { service: service()?, runs: true },
            "create" => Event::Volume(VolumeOrder::Create {
                name: volume().ok(),
                size_bytes: size_bytes()?,
                template: text("template"),
            }),
            "resize" => Event::Volume(VolumeOrder::Resize { name: volume()?, size_bytes: size_bytes()? }),
            "delete" => Event::Volume(VolumeOrder::Delete { name: volume()? }),
            "initialise" => Event::Volume(VolumeOrder::Initialise { name: volume()? }),
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

/// Returns what a user typed, as plans would have it.
fn number_or_text(word: &str) -> Value {
    match (word.parse::<u64>(), word.parse::<f64>()) {
        (Ok(whole), _) => whole.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Proves that no arguments, however wrong, do more than be refused with the name of what is wrong: every verb with
    /// every value in place of every argument, by their names here and in plans.
    #[test]
    fn any_arguments_are_survived() {
        let values = [
            json!(null),
            json!(-1),
            json!(1.5),
            json!(1e308),
            json!(u64::MAX),
            json!(""),
            json!("node-9/hdd-99"),
            json!("18446744073709551616"),
            json!("1t"),
            json!([1, [2]]),
            json!({"drive": 1}),
            json!(true),
            json!("\u{0}"),
        ];
        let aliases = [DRIVE_FAILURE, DRIVE_REPLACEMENT, DRIVE_SLOW, SERVICE_STOP, SERVICE_START, "nothing"];
        let names = verbs::VERBS.iter().map(|verb| verb.name).chain(aliases);
        let keys = [
            "drive",
            "offset",
            "sectors",
            "seed",
            "volume",
            "size",
            "template",
            "factor",
            "service",
            "controller",
        ];
        for name in names {
            for first in keys {
                for (value, other) in
                    values.iter().flat_map(|value| values.iter().map(move |other| (value, other)))
                {
                    let mut arguments = Settings::new();
                    keys.iter().for_each(|key| drop(arguments.insert((*key).to_owned(), other.clone())));
                    arguments.insert(first.to_owned(), value.clone());
                    if let Err(error) = Event::parse(name, &arguments, &|_| None) {
                        assert!(!error.message.is_empty());
                    }
                }
            }
        }
    }

    /// Proves that what a user types is what plans say, for numbers, sizes and names.
    #[test]
    fn words_are_arguments() {
        let parse = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let name = words.next().unwrap();
            let arguments = Event::arguments(&name, &words.collect::<Vec<_>>());
            Event::parse(&name, &arguments, &|name| (name == "node-1/hdd-2").then_some(22))
        };
        assert_eq!(parse("slow 3 2.5"), Ok(Event::Slow { drive: 3, factor: 2.5 }));
        assert_eq!(parse("drive-slow drive=3 factor=2.5"), parse("slow 3 2.5"));
        assert_eq!(parse("fail node-1/hdd-2"), Ok(Event::Fail { drive: 22 }));
        assert_eq!(parse("drive-failure"), Ok(Event::Fail { drive: 0 }));
        let created =
            VolumeOrder::Create { name: Some("logs".to_owned()), size_bytes: 64 << 20, template: None };
        assert_eq!(parse("create logs 64m"), Ok(Event::Volume(created)));
        assert_eq!(
            parse("resize 7 4096"),
            Ok(Event::Volume(VolumeOrder::Resize { name: "7".to_owned(), size_bytes: 4096 }))
        );
        for line in [
            "fail",
            "fail x",
            "slow 3",
            "slow 3 0.5",
            "create logs",
            "create logs big",
            "stop",
            "resize",
            "sing",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
