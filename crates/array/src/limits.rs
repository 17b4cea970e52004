//! Limits of sizes and times that several sections of the language share.

/// Largest cache.
pub(crate) const CACHE_LIMIT_BYTES: u64 = 1 << 44;
/// Longest phase of a failure, an update or a service: a week.
pub(crate) const PHASE_LIMIT_NS: u64 = 604_800_000_000_000;
