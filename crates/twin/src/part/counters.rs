//! Counter lists of parts.

use crate::TwinCounter;

/// Cumulative counts of every part; `fill_…` are levels at this moment.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    list: Vec<TwinCounter>,
}

impl Counters {
    pub fn add(&mut self, entity: &str, name: &'static str, value: u64) {
        self.list.push(TwinCounter { entity: entity.to_owned(), name, value });
    }

    /// All of them, in the order in which they were added.
    pub fn into_list(self) -> Vec<TwinCounter> {
        self.list
    }
}
