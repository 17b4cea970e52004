//! What clients see: the whole array under the empty name, and its volumes.

use crate::live::LiveArray;
use nbd::{Export, ExportError, Exports, Extent};
use std::sync::Arc;

/// A part of the array.
pub(crate) struct Slice {
    live: Arc<LiveArray>,
    name: String,
    start_bytes: u64,
    size_bytes: u64,
}

pub(crate) struct ArrayExports(Vec<Arc<Slice>>);

impl ArrayExports {
    pub(crate) fn new(live: &Arc<LiveArray>) -> Self {
        let whole = live.array.spec.layout.capacity_bytes() / 512 * 512;
        let slice = |name: String, start_bytes, size_bytes| {
            Arc::new(Slice { live: live.clone(), name, start_bytes, size_bytes })
        };
        let mut slices = vec![slice(String::new(), 0, whole)];
        let mut start = 0;
        for (index, &size_bytes) in live.array.volumes_bytes.iter().enumerate() {
            slices.push(slice(format!("vol{index}"), start, size_bytes));
            start += size_bytes;
        }
        ArrayExports(slices)
    }

    /// Name and size of each.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|slice| (slice.name.as_str(), slice.size_bytes))
    }
}

impl Exports for ArrayExports {
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|slice| slice.name.clone()).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        let found = self.0.iter().find(|slice| slice.name == name)?;
        Some(found.clone())
    }
}

impl Export for Slice {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        match self.name.as_str() {
            "" => self.live.array.title.clone(),
            name => format!("{name} of {}", self.live.array.title),
        }
    }

    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), ExportError> {
        self.live.attempt(|volume| volume.read_at(self.start_bytes + offset_bytes, buffer))
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), ExportError> {
        self.live.attempt(|volume| volume.write_at(self.start_bytes + offset_bytes, bytes, fua))
    }

    fn flush(&self) -> Result<(), ExportError> {
        self.live.attempt(volume::Volume::flush)
    }

    fn trim(&self, offset_bytes: u64, length_bytes: u64, _: bool) -> Result<(), ExportError> {
        // Durable anyway.
        self.live.attempt(|volume| volume.trim(self.start_bytes + offset_bytes, length_bytes))
    }

    fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), ExportError> {
        let at = self.start_bytes + offset_bytes;
        self.live.attempt(|volume| volume.write_zeroes(at, length_bytes, may_punch, fua))
    }

    fn block_status(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<Extent>, ExportError> {
        let at = self.start_bytes + offset_bytes;
        let extents = self.live.attempt(|volume| volume.block_status(at, length_bytes))?;
        let extent = |extent: volume::BlockExtent| Extent {
            length_bytes: extent.length_bytes,
            is_allocated: extent.is_allocated,
        };
        Ok(extents.into_iter().map(extent).collect())
    }
}
