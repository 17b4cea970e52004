//! Names and types that an expression of a claim may use.

use super::Unit;

/// Type of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Type {
    /// Values of a unit; `None` takes that of what it stands beside.
    Number(Option<Unit>),
    /// Truth value of a condition.
    Truth,
}

/// Names that an expression may use.
pub(crate) struct Names<'a> {
    /// The plan's stages.
    pub stages: &'a [&'a str],
    /// Values of the claim so far, with their types.
    pub values: &'a [(String, Type)],
}
