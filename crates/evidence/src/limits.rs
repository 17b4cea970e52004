//! Limits of bundles, which come from outside.

/// Most members that are read.
pub const MEMBERS_LIMIT: usize = 1000;
/// Largest `bundle.json` that is read.
pub const LIST_BYTES_LIMIT: u64 = 1 << 20;
/// Largest member that is read, but for the database: reports of 10,000 cases have a tenth of it.
pub const TEXT_BYTES_LIMIT: u64 = 256 << 20;
/// Largest database that is read: ten times that of 100,000 cases.
pub const MEMBER_BYTES_LIMIT: u64 = 16 << 30;
/// Most bytes that are unpacked in all, so that a small file cannot fill the disk with zeros.
pub const TOTAL_BYTES_LIMIT: u64 = 20 << 30;
