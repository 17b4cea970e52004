//! Host-side stripe over several targets.

/// Host-side stripe over targets.
///
/// Byte `b` of the whole lies, with unit `u` and `c` columns, in target `(b / u) mod c` at `b / (u·c) · u + b mod u`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Bytes on one target before the next; `None` puts whole targets one after another.
    pub unit_bytes: Option<u64>,
    /// Number of targets in the stripe.
    pub columns: u32,
}
