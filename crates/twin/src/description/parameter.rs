//! Parameter: a number with its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a parameter's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A vendor's document about this product or a standard it follows.
    Datasheet,
    /// The published test's description of its set-up.
    Published,
    /// Arithmetic on other figures, which `from` names.
    Derived,
    /// Fitted to measured rows, which `from` names.
    Fitted,
    /// Chosen from the usual range for such a part; no figure of this array depends on it closely.
    Assumed,
}

/// A number with its origin. Nothing in an array description stands without saying where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter<T> {
    /// The number, in the unit that the key's name ends with.
    pub value: T,
    /// What kind of source it has.
    pub origin: Origin,
    /// The document, the arithmetic, or the measured rows.
    pub from: String,
}

impl<T: Copy> Parameter<T> {
    /// The number alone.
    pub fn get(&self) -> T {
        self.value
    }
}
