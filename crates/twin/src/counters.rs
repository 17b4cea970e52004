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

/// Kinds of parts that each group of drives has, with the group's number or name behind them.
const OF_A_GROUP: [&str; 2] = ["drive-links", "write-buffer"];

/// Returns a kind of part, or an entity, without its group of drives: `drive-links-1` is `drive-links`.
pub fn without_group(part: &str) -> &str {
    let is_its = |kind: &&str| part.strip_prefix(*kind).is_some_and(|group| group.starts_with('-'));
    OF_A_GROUP.into_iter().find(is_its).unwrap_or(part)
}
