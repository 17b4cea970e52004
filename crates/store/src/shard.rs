//! Shard of a run: the part of its cases that one process carries out.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most shards of a run.
pub const SHARDS_LIMIT: u32 = 100_000;

/// Number of a shard among all of a run, as in `--shard 2/50`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShardNumber {
    /// Number of the shard, from 1.
    pub number: u32,
    /// Number of shards.
    pub count: u32,
}

impl ShardNumber {
    /// Reads `K/N`; `None` where it is not a number from 1 to N, and N at most [`SHARDS_LIMIT`].
    pub fn parse(text: &str) -> Option<ShardNumber> {
        let (number, count) = text.split_once('/')?;
        let of = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let (number, count) = (of(number)?, of(count)?);
        (number >= 1 && number <= count && count <= SHARDS_LIMIT).then_some(ShardNumber { number, count })
    }
}

impl fmt::Display for ShardNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.count)
    }
}

/// Shard that a run directory is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Number of this shard, and of all.
    #[serde(flatten)]
    pub of: ShardNumber,
    /// Its cases, by their places in the whole run, in order.
    pub cases: Vec<u32>,
}

impl Shard {
    /// Returns true if a case is one of the shard's.
    pub fn contains(&self, case_index: u32) -> bool {
        self.cases.binary_search(&case_index).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that only numbers from 1 to the count are read, and are written as they are read.
    #[test]
    fn shard_numbers_are_read_as_they_are_written() {
        for text in ["1/1", "2/50", "100000/100000"] {
            assert_eq!(ShardNumber::parse(text).map(|shard| shard.to_string()).as_deref(), Some(text));
        }
        for text in
            ["", "1", "0/3", "4/3", "+1/3", "1/100001", "1/3/5", "1 /3", "-1/3", "a/b", "1/99999999999"]
        {
            assert_eq!(ShardNumber::parse(text), None, "{text}");
        }
    }
}
