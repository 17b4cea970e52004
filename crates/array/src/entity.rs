//! Names of an array's parts among its counters.

/// Kinds of parts that each group of drives has, with the group's number or name behind them.
const OF_A_GROUP: [&str; 2] = ["drive-links", "write-buffer"];

/// Returns a kind of part, or an entity, without its group of drives: `drive-links-1` is `drive-links`.
pub fn without_group(part: &str) -> &str {
    let is_its = |kind: &&str| part.strip_prefix(*kind).is_some_and(|group| group.starts_with('-'));
    OF_A_GROUP.into_iter().find(is_its).unwrap_or(part)
}
