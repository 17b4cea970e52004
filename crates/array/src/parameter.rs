//! Parameter: a value with its origin.

use serde::{Deserialize, Serialize};

/// Kind of source that a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A vendor's document about this product or a standard that it follows.
    Datasheet,
    /// The published test's description of its set-up.
    Published,
    /// Arithmetic on other figures, which `from` names.
    Derived,
    /// Fitted to measured rows, which `from` names.
    Fitted,
    /// Chosen by the author, or usual for such a part.
    Assumed,
}

impl Origin {
    pub(crate) const ALL: [(&'static str, Origin); 5] = [
        ("datasheet", Origin::Datasheet),
        ("published", Origin::Published),
        ("derived", Origin::Derived),
        ("fitted", Origin::Fitted),
        ("assumed", Origin::Assumed),
    ];

    /// Its word in a description.
    pub fn word(self) -> &'static str {
        Origin::ALL.iter().find(|(_, origin)| *origin == self).map_or("assumed", |(word, _)| word)
    }
}

/// File that gives a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetBy {
    /// The array's own file.
    Array,
    /// A part, as `drives/nvme-3840-tlc`.
    Part(String),
    /// The language's default.
    Default,
}

/// Value with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The number: a count, bytes, nanoseconds, bytes a second, millionths of a share, 0 or 1, or the index of a word.
    pub value: u64,
    /// Value as written.
    pub text: String,
    /// Kind of source.
    pub origin: Origin,
    /// Document, arithmetic or measured rows; empty where nothing is said.
    pub from: String,
    /// File that gives it.
    pub set_by: SetBy,
}

impl Parameter {
    /// The number.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value
    }

    /// The number as a count.
    #[inline]
    pub fn count(&self) -> u32 {
        u32::try_from(self.value).unwrap_or(u32::MAX)
    }

    /// A switch.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.value != 0
    }

    /// A share, 0 to 1 and beyond.
    #[inline]
    pub fn share(&self) -> f64 {
        self.value as f64 / 1e6
    }
}
