//! Refusal of a description: what is wrong, where, and what would do.

use crate::node::Place;

/// Refused value of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The part file in which it stands, as `drives/nvme-3840-tlc`; `None` for the array's own file.
    pub part: Option<String>,
    /// Place in the text.
    pub place: Place,
    /// The key, as in `groups[0].drives.count`.
    pub path: String,
    /// Error in words.
    pub message: String,
    /// Suggested remedy.
    pub hint: String,
}
