//! What can be set on an array of flash modules.

use serde_json::Map;
use serde_json::Value;

use crate::TwinError;
use crate::settings::{Setting, on_or_off, unknown};

/// Everything that can be set; all are `on` or `off`, and `on` unless set.
pub(crate) const SETTINGS: [Setting; 12] = [
    Setting::switch("write_cache", "off: a write is answered only when the drives have it"),
    Setting::switch("host", "off: the hosts' threads take no time"),
    Setting::switch("links", "off: links carry any load in no time"),
    Setting::switch("balancing", "off: a host sends all commands over its first link that is open"),
    Setting::switch("processors", "off: controllers' processors and buffers take no time"),
    Setting::switch("window", "off: any number of commands may be under way in the drives"),
    Setting::switch("parity", "off: writes leave parity alone, as in RAID 0 over the same drives"),
    Setting::switch("interference", "off: writes inside a drive do not hold up its reads"),
    Setting::switch("prefetch", "off: sequential reads cost what random reads cost"),
    Setting::switch(
        "bandwidth",
        "off: drives carry bytes in no time, a command costs the same at every size",
    ),
    Setting::switch("failover", "off: a controller goes on working while it is updated"),
    Setting::switch("verification", "off: after an update nothing reads the RAID stripes"),
];

/// The settings of one twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub write_cache: bool,
    pub host: bool,
    pub links: bool,
    pub balancing: bool,
    pub processors: bool,
    pub window: bool,
    pub parity: bool,
    pub interference: bool,
    pub prefetch: bool,
    pub bandwidth: bool,
    pub failover: bool,
    pub verification: bool,
}

impl Settings {
    /// Reads settings, refusing what this array does not have.
    pub fn parse(map: &Map<String, Value>) -> Result<Self, TwinError> {
        let mut settings = Settings {
            write_cache: true,
            host: true,
            links: true,
            balancing: true,
            processors: true,
            window: true,
            parity: true,
            interference: true,
            prefetch: true,
            bandwidth: true,
            failover: true,
            verification: true,
        };
        for (name, value) in map {
            let field = match name.as_str() {
                "write_cache" => &mut settings.write_cache,
                "host" => &mut settings.host,
                "links" => &mut settings.links,
                "balancing" => &mut settings.balancing,
                "processors" => &mut settings.processors,
                "window" => &mut settings.window,
                "parity" => &mut settings.parity,
                "interference" => &mut settings.interference,
                "prefetch" => &mut settings.prefetch,
                "bandwidth" => &mut settings.bandwidth,
                "failover" => &mut settings.failover,
                "verification" => &mut settings.verification,
                _ => return Err(unknown(name, &SETTINGS)),
            };
            *field = on_or_off(name, value)?;
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
