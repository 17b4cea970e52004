//! The size of a translation, and which sizes can work.

/// No block may have more units: valid counts and [`NOT_CLOSED`] share sixteen bits.
pub const UNITS_PER_BLOCK_LIMIT: u32 = 8192;

/// No translation may have more slots (4 bytes of map and 4 of reverse map each).
pub const SLOT_LIMIT: u64 = 1 << 28;

/// The size of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Superblocks, reserve included.
    pub blocks: u32,
    /// Mapping units a block holds.
    pub units_per_block: u32,
    /// Units that the host may address.
    pub user_units: u32,
    /// Erased blocks that are held back; collection starts when fewer are left.
    pub reserve_blocks: u32,
}

/// A geometry that cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{geometry:?} leaves no room to collect: blocks must exceed the reserve plus the user's units by three, \
     the reserve must be 2 or more, and a block holds 1 to {UNITS_PER_BLOCK_LIMIT} units"
)]
pub struct GeometryError {
    /// Geometry that was asked for.
    pub geometry: Geometry,
}

impl Geometry {
    /// A geometry of about `blocks` superblocks whose write amplification is that of a drive of nominal size with
    /// the spare share `over_provisioning` = (physical − user) ÷ user. The reserve and the open block come on top: in a drive of
    /// nominal size they are a negligible part of the spare, here they are not.
    pub fn scaled(
        blocks: u32,
        units_per_block: u32,
        over_provisioning: f64,
        reserve_blocks: u32,
    ) -> Geometry {
        let physical = f64::from(blocks) * f64::from(units_per_block);
        let user_units = (physical / (1.0 + over_provisioning)) as u32;
        Geometry { blocks: blocks + reserve_blocks, units_per_block, user_units, reserve_blocks }
    }

    pub(super) fn check(self) -> Result<(), GeometryError> {
        let slots = u64::from(self.blocks) << self.slot_shift();
        let usable =
            u64::from(self.blocks.saturating_sub(self.reserve_blocks)) * u64::from(self.units_per_block);
        let fits = (1..=UNITS_PER_BLOCK_LIMIT).contains(&self.units_per_block)
            && self.reserve_blocks >= 2
            && self.user_units >= 1
            && slots <= SLOT_LIMIT
            && u64::from(self.user_units) + 3 * u64::from(self.units_per_block) <= usable;
        if fits { Ok(()) } else { Err(GeometryError { geometry: self }) }
    }

    /// Slots are numbered `block << shift | place`; at least 64 a block, so that a block has whole words of the
    /// bitmap to itself.
    pub(super) fn slot_shift(self) -> u32 {
        self.units_per_block.next_power_of_two().trailing_zeros().max(6)
    }
}
