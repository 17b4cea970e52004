//! Counters of a twin's parts.

/// One cumulative count of one part since the twin was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinCounter {
    /// The part, as in `link-3` or `controller-0`.
    pub entity: String,
    /// Name, with its unit last.
    pub name: &'static str,
    /// The count.
    pub value: u64,
}
