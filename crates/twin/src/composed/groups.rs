//! Drives of all groups, by their numbers in the array.

use super::drives::GroupDrives;
use super::settings::Settings;
use crate::TwinError;
use crate::part::Counters;

/// Drives of all groups.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    pub drives: Vec<GroupDrives>,
    /// Number of the first drive of each group, and behind them that of all drives.
    firsts: Vec<u32>,
    /// By group: what its drives are called.
    nouns: Vec<&'static str>,
}

impl Groups {
    pub fn new(array: &array::Array, settings: &Settings, seed: u64) -> Result<Groups, TwinError> {
        let mut firsts = vec![0];
        let mut drives = Vec::new();
        let sites = super::services::array_sites(array, settings);
        let groups: Vec<&array::Group> = (0..sites).flat_map(|_| &array.groups).collect();
        for (index, group) in groups.iter().enumerate() {
            let count = array.drives_of(group);
            drives.push(GroupDrives::new(group, (firsts[index], count), settings, seed)?);
            firsts.push(firsts[index] + count);
        }
        Ok(Groups { drives, firsts, nouns: groups.into_iter().map(GroupDrives::noun).collect() })
    }

    /// All drives.
    pub fn count(&self) -> u32 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// Number of the first drive of a group.
    pub fn first(&self, group: usize) -> u32 {
        self.firsts[group]
    }

    /// Group of a drive of the array, and its number in it.
    #[inline]
    pub fn place(&self, drive: u32) -> (usize, u32) {
        let group =
            if self.drives.len() == 1 { 0 } else { self.firsts.partition_point(|&first| first <= drive) - 1 };
        (group, drive - self.firsts[group])
    }

    /// Name of a drive among the counters.
    pub fn entity(&self, drive: u32) -> String {
        format!("{}-{drive}", self.nouns[self.place(drive).0])
    }

    /// Counts of all drives.
    pub fn count_into(&self, counters: &mut Counters) {
        for (group, drives) in self.drives.iter().enumerate() {
            drives.count_into(counters, self.firsts[group]);
        }
    }
}
