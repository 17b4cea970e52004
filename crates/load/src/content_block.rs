//! Blocks of write content: their size and the number of different duplicates.

/// The unit in which duplicates and compressible parts are made. 4 KiB is the smallest unit that arrays deduplicate in
/// practice; a larger unit sees the same shares.
pub const CONTENT_BLOCK_BYTES: usize = 4096;

/// Different contents that duplicates are taken from.
pub(crate) const DUPLICATE_SETS: u64 = 64;
