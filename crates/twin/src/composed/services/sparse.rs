//! Numbers by index, of which most are zero.

use std::collections::BTreeMap;

/// Numbers that are kept together.
const PAGE: usize = 512;

/// Number for each index, zero where nothing was set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sparse {
    pages: BTreeMap<u64, Box<[u32; PAGE]>>,
}

impl Sparse {
    /// The number of an index.
    pub fn get(&self, index: u64) -> u32 {
        self.pages.get(&(index / PAGE as u64)).map_or(0, |page| page[(index % PAGE as u64) as usize])
    }

    /// Sets the number of an index.
    pub fn set(&mut self, index: u64, value: u32) {
        let page = self.pages.entry(index / PAGE as u64).or_insert_with(|| Box::new([0; PAGE]));
        page[(index % PAGE as u64) as usize] = value;
    }
}
