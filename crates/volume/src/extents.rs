//! Allocated extents.

use crate::VolumeError;
use crate::volume::Volume;

/// The most extents that one [`Volume::block_status`] hands out.
pub const BLOCK_STATUS_EXTENTS_LIMIT: usize = 1024;

/// A run of bytes that is all allocated or all not. What is not allocated reads as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockExtent {
    /// Length.
    pub length_bytes: u64,
    /// True where it may hold anything but zeros.
    pub is_allocated: bool,
}

impl Volume {
    /// Lists what of a range is allocated, from its start; at most [`BLOCK_STATUS_EXTENTS_LIMIT`] extents, so that the
    /// end may be left out. Never empty for a range that is not.
    pub fn block_status(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<BlockExtent>, VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let array = self.array();
        let stripes = self.stripes(&array);
        let segment_bytes = u64::from(array.layout.segment_bytes());
        let copies = array.copies();
        let mut extents: Vec<BlockExtent> = Vec::new();
        let mut done = 0;
        while done < length_bytes {
            let (stripe, from) = array.layout.stripe_of(offset_bytes + done);
            let (column, row) = (from / segment_bytes, from % segment_bytes);
            let count = (segment_bytes - row).min(length_bytes - done);
            // A segment whose drive is gone may hold anything.
            let is_allocated = stripes
                .home(stripe, column as u32 * copies + copies - 1)
                .is_none_or(|place| stripes.place_is_allocated(place, row, count));
            let is_full = extents.len() == BLOCK_STATUS_EXTENTS_LIMIT;
            match extents.last_mut() {
                Some(last) if last.is_allocated == is_allocated => last.length_bytes += count,
                _ if is_full => break,
                _ => extents.push(BlockExtent { length_bytes: count, is_allocated }),
            }
            done += count;
        }
        Ok(extents)
    }
}
