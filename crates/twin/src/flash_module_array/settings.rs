//! Settings of a flash module array.

use serde_json::{Map, Value};

use crate::TwinError;
use crate::settings::{read, switches};

switches! {
    /// The settings of one twin: mechanisms are all that can be set.
    Settings {
        write_cache => "off: a write is answered only when the drives have it",
        host => "off: the hosts' threads take no time",
        links => "off: links carry any load in no time",
        balancing => "off: a host sends all commands over its first link that is open",
        processors => "off: controllers' processors and buffers take no time",
        window => "off: any number of commands may be under way in the drives",
        parity => "off: writes leave parity alone, as in RAID 0 over the same drives",
        interference => "off: writes inside a drive do not hold up its reads",
        prefetch => "off: sequential reads cost what random reads cost",
        bandwidth => "off: drives carry bytes in no time, a command costs the same at every size",
        failover => "off: a controller goes on working while it is updated",
        verification => "off: after an update nothing reads the RAID stripes",
    }
}

impl Settings {
    /// Reads settings, refusing what this array does not have.
    pub fn parse(map: &Map<String, Value>) -> Result<Self, TwinError> {
        read(Settings::ON, map, Settings::SETTINGS, |_, _, _| Ok(false), Settings::named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every listed setting is read and switches something, and that others are refused by name.
    #[test]
    fn settings_are_known_or_refused() {
        let all_on = Settings::parse(&Map::new()).unwrap();
        for setting in Settings::SETTINGS {
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
