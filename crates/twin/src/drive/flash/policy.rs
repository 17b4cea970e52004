//! Policies of garbage collection.

/// Policy by which the block to collect is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// The block with the fewest valid units.
    Greedy,
    /// The emptiest of this many blocks drawn at random.
    Choices(u32),
    /// The block closed longest ago.
    Oldest,
}
