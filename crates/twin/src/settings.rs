//! What can be set on a twin: array settings of the plans, and its mechanisms, each of which can be switched off
//! so that a reader sees what causes what.

use serde_json::{Map, Value};

use crate::TwinError;

/// One thing that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key in a plan or after `twin:NAME,`.
    pub name: &'static str,
    /// What it does.
    pub says: &'static str,
}

/// Everything that can be set; all are `on` or `off`, and `on` unless set.
pub const SETTINGS: [Setting; 7] = [
    Setting { name: "write_cache", says: "off: a write is answered only when the drives have it" },
    Setting { name: "links", says: "off: links carry any load in no time" },
    Setting { name: "processors", says: "off: controllers' processors and buffers take no time" },
    Setting { name: "window", says: "off: any number of commands may be under way in the drives" },
    Setting { name: "parity", says: "off: writes leave parity alone, as in RAID 0 over the same drives" },
    Setting { name: "interference", says: "off: writes inside a drive do not hold up its reads" },
    Setting { name: "prefetch", says: "off: sequential reads cost what random reads cost" },
];

/// The settings of one twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub write_cache: bool,
    pub links: bool,
    pub processors: bool,
    pub window: bool,
    pub parity: bool,
    pub interference: bool,
    pub prefetch: bool,
}

impl Settings {
    /// Reads settings, refusing what this array does not have.
    pub fn parse(map: &Map<String, Value>) -> Result<Self, TwinError> {
        let mut settings = Settings {
            write_cache: true,
            links: true,
            processors: true,
            window: true,
            parity: true,
            interference: true,
            prefetch: true,
        };
        for (name, value) in map {
            let field = match name.as_str() {
                "write_cache" => &mut settings.write_cache,
                "links" => &mut settings.links,
                "processors" => &mut settings.processors,
                "window" => &mut settings.window,
                "parity" => &mut settings.parity,
                "interference" => &mut settings.interference,
                "prefetch" => &mut settings.prefetch,
                _ => {
                    let known: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
                    return Err(TwinError::UnknownSetting { name: name.clone(), known: known.join(", ") });
                }
            };
            *field = match value {
                Value::String(text) if text == "on" => true,
                Value::String(text) if text == "off" => false,
                // YAML 1.1 readers turn `on` and `off` into these.
                Value::Bool(switch) => *switch,
                other => {
                    return Err(TwinError::BadSetting {
                        name: name.clone(),
                        value: other.to_string(),
                        allowed: "on or off".into(),
                    });
                }
            };
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every listed setting is read and switches something, and that others are refused by name.
    #[test]
    fn settings_are_known_or_refused() {
        let all_on = Settings::parse(&Map::new()).unwrap();
        for setting in SETTINGS {
            let off = Map::from_iter([(setting.name.to_owned(), Value::from("off"))]);
            assert_ne!(Settings::parse(&off).unwrap(), all_on, "{}", setting.name);
            let wrong = Map::from_iter([(setting.name.to_owned(), Value::from(3))]);
            assert!(matches!(Settings::parse(&wrong), Err(TwinError::BadSetting { .. })));
        }
        let unknown = Map::from_iter([("write_cahce".to_owned(), Value::from("off"))]);
        let message = Settings::parse(&unknown).unwrap_err().to_string();
        assert!(message.contains("write_cahce") && message.contains("write_cache"), "{message}");
    }
}
