//! Rated writes of the drives of an array.

use crate::description::Array;

/// Rated writes of a group.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RatedWrites {
    /// Name of the group.
    pub group: String,
    /// Drives that hold data: all but the spares.
    pub drives: u64,
    /// Bytes that one of them may be given in all; `None` without a rating.
    pub drive_bytes: Option<f64>,
}

impl RatedWrites {
    /// Bytes that all of them may be given.
    pub fn bytes(&self) -> Option<f64> {
        self.drive_bytes.map(|bytes| bytes * self.drives as f64)
    }
}

/// Returns the rated writes of each group, in the order of the groups.
pub fn rated_writes(array: &Array) -> Vec<RatedWrites> {
    let of_group = |group: &crate::Group| {
        let count = u64::from(array.drives_of(group));
        let spares = group.keys.spares.get().min(count.saturating_sub(1));
        let (drives, drive_bytes) = (count - spares, group.drives.rated_bytes());
        RatedWrites { group: group.name().to_owned(), drives, drive_bytes }
    };
    array.groups.iter().map(of_group).collect()
}
