//! Layout errors and limits.

/// More drives than this in one layout are refused.
pub const DRIVE_COUNT_LIMIT: u32 = 2048;
/// The widest parity group: P+Q over GF(2^8) can tell 255 data drives apart.
pub const PARITY_WIDTH_LIMIT: u32 = 257;
/// Segments, D-pieces and drive sizes are multiples of this.
pub const SECTOR_BYTES: u64 = 512;
/// The largest segment: 1 GiB, so that a position inside one fits 32 bits with room to add.
pub const SEGMENT_BYTES_LIMIT: u64 = 1 << 30;
/// The largest drive: 1 PiB. With [`DRIVE_COUNT_LIMIT`] drives a layout stays below 2^60 bytes.
pub const DRIVE_CAPACITY_LIMIT: u64 = 1 << 50;
/// Fewest drives in a pool of 8+2 D-stripes, as NetApp's DDP: one more than a D-stripe is wide.
pub const POOL_SPARE_WIDTH: u32 = 1;
/// Most copies of one object.
pub const REPLICA_COPIES_LIMIT: u32 = 8;
/// Most objects in one replicated volume: 128 TiB in objects of 32 MiB.
pub const REPLICA_OBJECTS_LIMIT: u64 = 1 << 22;

/// A geometry that cannot be laid out. Each message has the requested value and the accepted ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Fewer drives than the level needs.
    #[error("{level} with {drives} drives: it needs at least {minimum}")]
    TooFewDrives {
        /// The RAID level or pool.
        level: &'static str,
        /// Number of drives that was requested.
        drives: u32,
        /// The least that works.
        minimum: u32,
    },
    /// More drives than a limit allows.
    #[error("{level} with {drives} drives: the limit is {limit}")]
    TooManyDrives {
        /// The RAID level or pool.
        level: &'static str,
        /// Number of drives that was requested.
        drives: u32,
        /// The limit for this level.
        limit: u32,
    },
    /// RAID 10 mirrors drives in pairs.
    #[error("RAID 10 with {drives} drives: drives are mirrored in pairs, so their number must be even")]
    OddDrives {
        /// Number of drives that was requested.
        drives: u32,
    },
    /// A size that is zero, too large, or no multiple of what it must be a multiple of.
    #[error("{what} of {bytes} bytes: it must be a multiple of {multiple} from {multiple} to {limit} bytes")]
    BadSize {
        /// Name of the size.
        what: &'static str,
        /// Size that was requested.
        bytes: u64,
        /// Unit of which it must be a multiple.
        multiple: u64,
        /// The largest accepted.
        limit: u64,
    },
    /// The drives hold less than one stripe.
    #[error("a drive of {drive_capacity_bytes} bytes holds no {what} of {bytes} bytes")]
    DriveTooSmall {
        /// Part of the layout that does not fit.
        what: &'static str,
        /// Size of that part.
        bytes: u64,
        /// Capacity of the drive, in bytes.
        drive_capacity_bytes: u64,
    },
    /// Preservation capacity leaves too few drives for data.
    #[error(
        "preservation capacity of {preservation_drives} drives in a pool of {drives}: at least {width} must remain"
    )]
    TooMuchPreserved {
        /// Preservation capacity that was requested, in drives.
        preservation_drives: u32,
        /// Drives in the pool.
        drives: u32,
        /// Width of a D-stripe.
        width: u32,
    },
    /// A D-stripe shape that the arithmetic cannot do.
    #[error("D-stripes of {data}+{parity}: data must be 1 to 255 and parity 1 or 2")]
    BadStripeShape {
        /// Data pieces of a D-stripe.
        data: u32,
        /// Parity pieces of a D-stripe.
        parity: u32,
    },
    /// The number of copies is outside what is supported.
    #[error("{copies} replicas: from 1 to {REPLICA_COPIES_LIMIT} are possible")]
    BadCopies {
        /// Number of copies that was requested.
        copies: u32,
    },
    /// A placement group names a drive that does not exist or none at all.
    #[error("placement group {role} (0 is the head): {problem}")]
    BadGroup {
        /// Position of the role in the chain.
        role: u32,
        /// Error in the group.
        problem: &'static str,
    },
    /// No choice of drives keeps the replicas of an object on different nodes.
    #[error(
        "object {object} finds no drives on different nodes with room for every replica: add drives or nodes to its groups, or make the volume smaller"
    )]
    NoPlacement {
        /// The first object without a home.
        object: u64,
    },
}

/// A stripe (or mirrored segment) that has lost more members than its redundancy covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stripe {stripe} has lost more drives than its redundancy covers")]
pub struct StripeLost {
    /// The stripe's number.
    pub stripe: u64,
}

/// Checks a size from outside: positive, a multiple, within a limit.
pub(crate) fn check_size(
    what: &'static str,
    bytes: u64,
    multiple: u64,
    limit: u64,
) -> Result<(), LayoutError> {
    if bytes == 0 || !bytes.is_multiple_of(multiple) || bytes > limit {
        return Err(LayoutError::BadSize { what, bytes, multiple, limit });
    }
    Ok(())
}
