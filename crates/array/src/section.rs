//! Sections of the language: tables of keys, and the structs of their values.

use crate::parameter::Parameter;
use crate::quantity::{Kind, UNKNOWN, UNLIMITED};

/// Key of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// Value where nothing is said; `None` where it must be given.
    pub default: Option<&'static str>,
    /// Meaning of the key, for help.
    pub help: &'static str,
}

impl Key {
    /// Returns true if a value lies in its range.
    pub fn allows(&self, value: u64) -> bool {
        match self.kind {
            Kind::Text | Kind::Word(_) | Kind::Switch => true,
            Kind::Limit if value == UNLIMITED => true,
            kind if kind.may_be_unknown() && value == UNKNOWN => true,
            // What is read as a rating is in range.
            Kind::Endurance => true,
            _ => (self.least..=self.most).contains(&value),
        }
    }
}

/// Part of a description with a table of keys.
pub trait Section: Sized {
    /// Its keys, in the order in which they are printed.
    const KEYS: &'static [Key];

    /// The section with these values, one for each key.
    fn from_values(values: Vec<Parameter>) -> Option<Self>;

    /// Its values, one for each key.
    fn values(&self) -> Vec<&Parameter>;

    /// The same, to be changed.
    fn values_mut(&mut self) -> Vec<&mut Parameter>;
}

/// Declares a section: `count: Count 1..=1024 = "2", "How many.";`. Without a default the key must be given.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident {
            $($key:ident: $kind:expr, $least:literal..=$most:expr $(, default $default:literal)?, $help:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $(#[doc = $help] pub $key: $crate::Parameter,)*
        }

        impl $crate::Section for $name {
            const KEYS: &'static [$crate::Key] = &[$($crate::Key {
                name: stringify!($key),
                kind: $kind,
                least: $least,
                most: $most,
                default: $crate::section::first(&[$($default)?]),
                help: $help,
            },)*];

            fn from_values(values: Vec<$crate::Parameter>) -> Option<Self> {
                let mut values = values.into_iter();
                Some($name { $($key: values.next()?,)* })
            }

            fn values(&self) -> Vec<&$crate::Parameter> {
                vec![$(&self.$key,)*]
            }

            fn values_mut(&mut self) -> Vec<&mut $crate::Parameter> {
                vec![$(&mut self.$key,)*]
            }
        }
    };
}
pub(crate) use section;

/// The only default, where there is one.
pub(crate) const fn first(defaults: &[&'static str]) -> Option<&'static str> {
    if defaults.is_empty() { None } else { Some(defaults[0]) }
}
