//! Settings of a twin: array settings of the plans, and its mechanisms, each of which can be switched off
//! so that a reader sees what causes what.

use serde_json::{Map, Value};

use crate::TwinError;

/// A part that a value names by its number, of so many.
pub(crate) fn numbered(value: &Value, count: u32) -> Option<u32> {
    value.as_u64().filter(|&number| number < u64::from(count)).map(|number| number as u32)
}

/// The most that the room of any array can be shrunk: smaller drives than of a few hundred megabytes would be mostly write
/// buffer. Drives that are larger can be shrunk further ([`crate::ArrayDescription::most_shrink`]).
pub const SHRINK_LIMIT: u32 = 400;

/// One thing that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key in a plan or after `twin:NAME,`.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: &'static str,
    /// Effect.
    pub says: &'static str,
}

impl Setting {
    /// A mechanism that is on unless switched off.
    pub(crate) const fn switch(name: &'static str, says: &'static str) -> Setting {
        Setting { name, takes: "on or off", says }
    }
}

/// Declares mechanisms, each on unless switched off: `gc => "off: collection takes no time"`.
macro_rules! switches {
    ($(#[$about:meta])* $name:ident { $($key:ident => $says:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name {
            $(#[doc = $says] pub $key: bool,)*
        }

        impl $name {
            /// Settings of the switches.
            pub const SETTINGS: &[$crate::Setting] = &[$($crate::Setting::switch(stringify!($key), $says),)*];

            /// All on.
            pub const ON: $name = $name { $($key: true,)* };

            /// The one of this name.
            pub fn named(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $(stringify!($key) => Some(&mut self.$key),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use switches;

/// All that can be set: what an array has of its own, then its switches.
pub(crate) const fn all_of<const COUNT: usize>(own: &[Setting], switches: &[Setting]) -> [Setting; COUNT] {
    assert!(own.len() + switches.len() == COUNT, "the count is that of both");
    let mut all = [Setting::switch("", ""); COUNT];
    let mut index = 0;
    while index < COUNT {
        all[index] = if index < own.len() { own[index] } else { switches[index - own.len()] };
        index += 1;
    }
    all
}

/// Reads settings, refusing what is not among those `known`: each is the array's own, which `set` knows and takes, or a switch.
pub(crate) fn read<Settings>(
    mut settings: Settings,
    map: &Map<String, Value>,
    known: &[Setting],
    set: impl Fn(&mut Settings, &str, &Value) -> Result<bool, TwinError>,
    switch: impl for<'a> Fn(&'a mut Settings, &str) -> Option<&'a mut bool>,
) -> Result<Settings, TwinError> {
    for (name, value) in map {
        if set(&mut settings, name, value)? {
            continue;
        }
        // The name first: a key that nobody knows takes no value.
        let switch = switch(&mut settings, name).ok_or_else(|| unknown(name, known))?;
        *switch = on_or_off(name, value)?;
    }
    Ok(settings)
}

/// Reads `on` or `off`.
pub(crate) fn on_or_off(name: &str, value: &Value) -> Result<bool, TwinError> {
    match value {
        Value::String(text) if text == "on" => Ok(true),
        Value::String(text) if text == "off" => Ok(false),
        // YAML 1.1 readers turn `on` and `off` into these.
        Value::Bool(switch) => Ok(*switch),
        other => Err(bad(name, other, "on or off")),
    }
}

/// A value that a setting cannot take.
pub(crate) fn bad(name: &str, value: &Value, takes: &str) -> TwinError {
    TwinError::BadSetting { name: name.to_owned(), value: value.to_string(), allowed: takes.to_owned() }
}

/// Reads a number: settings after `twin:NAME,` come as text, those of plans as numbers.
pub(crate) fn number(name: &str, value: &Value, takes: &str) -> Result<f64, TwinError> {
    let parsed = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    parsed.filter(|number: &f64| number.is_finite()).ok_or_else(|| bad(name, value, takes))
}

/// A setting that a table does not have.
pub(crate) fn unknown(name: &str, known: &[Setting]) -> TwinError {
    let mut names: Vec<&str> = Vec::new();
    for setting in known {
        // One name may stand for a choice and for a mechanism.
        if !names.contains(&setting.name) {
            names.push(setting.name);
        }
    }
    TwinError::UnknownSetting { name: name.to_owned(), known: names.join(", ") }
}
