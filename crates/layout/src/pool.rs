//! The declustered pool: RAID 6 D-stripes of 8+2 pieces laid pseudo-randomly over all drives, as NetApp's Dynamic
//! Disk Pools do. A D-stripe is ten D-pieces on ten drives; the segments at the same position of its pieces form
//! a stripe.

use crate::error::{LayoutError, POOL_SPARE_WIDTH, check_size};
use crate::pieces::{Piece, PieceTable, TableShape};
use crate::{DRIVE_CAPACITY_LIMIT, DRIVE_COUNT_LIMIT, SECTOR_BYTES, SEGMENT_BYTES_LIMIT};

/// Most D-pieces in one pool: 8 PiB in pieces of 512 MiB.
pub const POOL_PIECE_COUNT_LIMIT: u64 = 1 << 24;

/// Parameters of a pool. [`PoolSpec::ddp`] has NetApp's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSpec {
    /// Drives in the pool; at least one more than a D-stripe is wide.
    pub drives: u32,
    /// Size of each drive.
    pub drive_capacity_bytes: u64,
    /// Segment: what one stripe puts on one drive.
    pub segment_bytes: u64,
    /// D-piece: what one D-stripe takes of one drive; a multiple of the segment.
    pub piece_bytes: u64,
    /// Data pieces of a D-stripe.
    pub data: u32,
    /// Parity pieces of a D-stripe.
    pub parity: u32,
    /// Capacity kept free for reconstruction, in drives.
    pub preservation_drives: u32,
    /// Seed of the placement.
    pub seed: u64,
}

impl PoolSpec {
    /// A Dynamic Disk Pool: 8+2, segments of 128 KiB, D-pieces of 512 MiB.
    pub fn ddp(drives: u32, drive_capacity_bytes: u64, preservation_drives: u32, seed: u64) -> Self {
        PoolSpec {
            drives,
            drive_capacity_bytes,
            segment_bytes: 128 << 10,
            piece_bytes: 512 << 20,
            data: 8,
            parity: 2,
            preservation_drives,
            seed,
        }
    }

    pub(crate) fn build(&self) -> Result<PieceTable, LayoutError> {
        let width = self.check()?;
        let pieces = self.drive_capacity_bytes / self.piece_bytes;
        let total = pieces * u64::from(self.drives);
        if total > POOL_PIECE_COUNT_LIMIT {
            return Err(LayoutError::BadSize {
                what: "all D-pieces of a pool",
                bytes: total.saturating_mul(self.piece_bytes),
                multiple: self.piece_bytes,
                limit: POOL_PIECE_COUNT_LIMIT.saturating_mul(self.piece_bytes),
            });
        }
        let stripes = pieces * u64::from(self.drives - self.preservation_drives) / u64::from(width);
        if stripes == 0 {
            return Err(LayoutError::DriveTooSmall {
                what: "D-piece",
                bytes: self.piece_bytes,
                drive_capacity_bytes: self.drive_capacity_bytes,
            });
        }
        let own_domains: Vec<u16> = (0..self.drives as u16).collect();
        Ok(PieceTable::new(
            place_balanced(&own_domains, width, stripes, pattern_length(self.drives, width), self.seed),
            TableShape {
                width,
                piece_bytes: self.piece_bytes,
                rows: self.piece_bytes / self.segment_bytes,
                object_rows: self.piece_bytes / self.segment_bytes,
                rotates: true,
                allowed: Vec::new(),
                domains: own_domains.clone(),
                pieces: vec![pieces as u32; self.drives as usize],
            },
        ))
    }

    /// The width of a D-stripe, if everything about the pool makes sense.
    fn check(&self) -> Result<u32, LayoutError> {
        if !(1..=255).contains(&self.data) || !(1..=2).contains(&self.parity) {
            return Err(LayoutError::BadStripeShape { data: self.data, parity: self.parity });
        }
        let width = self.data + self.parity;
        if self.drives > DRIVE_COUNT_LIMIT {
            return Err(LayoutError::TooManyDrives {
                level: "a pool",
                drives: self.drives,
                limit: DRIVE_COUNT_LIMIT,
            });
        }
        let minimum = width + POOL_SPARE_WIDTH;
        if self.drives < minimum {
            return Err(LayoutError::TooFewDrives { level: "a pool", drives: self.drives, minimum });
        }
        if self.preservation_drives > self.drives - width {
            return Err(LayoutError::TooMuchPreserved {
                preservation_drives: self.preservation_drives,
                drives: self.drives,
                width,
            });
        }
        check_size("a segment", self.segment_bytes, SECTOR_BYTES, SEGMENT_BYTES_LIMIT)?;
        check_size("a D-piece", self.piece_bytes, self.segment_bytes, DRIVE_CAPACITY_LIMIT)?;
        check_size("a drive", self.drive_capacity_bytes, SECTOR_BYTES, DRIVE_CAPACITY_LIMIT)?;
        Ok(width)
    }
}

/// Chooses `width` different drives for each D-stripe: always among those that hold the fewest pieces, so that no
/// drive ever holds more than one piece more than another; among these the one that has met the drives chosen so
/// far the least often, so that every pair of drives shares about as many D-stripes as every other and all
/// survivors take part in a reconstruction; among equals by chance.
///
/// The choice is made for a pattern of D-stripes after which every pair has met several times; the pattern is then
/// repeated over the drives, as dRAID repeats its permutation maps.
///
/// `domains` has the failure domain of each drive: no two pieces of a D-stripe share one.
pub(crate) fn place_balanced(
    domains: &[u16],
    width: u32,
    stripes: u64,
    pattern_stripes: u64,
    seed: u64,
) -> Vec<Piece> {
    let count = domains.len();
    let pattern_stripes = pattern_stripes.min(stripes);
    let mut chance = SplitMix64(seed);
    let mut held = vec![0u32; count];
    let mut met = vec![0u32; count * count];
    let mut pattern: Vec<Piece> = Vec::with_capacity((pattern_stripes * u64::from(width)) as usize);
    let mut met_chosen = vec![0u32; count];
    let mut is_chosen = vec![false; count];
    for _ in 0..pattern_stripes {
        met_chosen.fill(0);
        is_chosen.fill(false);
        let first = pattern.len();
        for _ in 0..width {
            let drive = choose(&held, &met_chosen, &is_chosen, &mut chance);
            for (other, is_chosen) in is_chosen.iter_mut().enumerate() {
                *is_chosen |= domains[other] == domains[drive];
            }
            for (sum, &times) in met_chosen.iter_mut().zip(&met[drive * count..(drive + 1) * count]) {
                *sum += times;
            }
            pattern.push(Piece { drive: drive as u16, slot: held[drive] });
            held[drive] += 1;
        }
        for one in &pattern[first..] {
            for other in &pattern[first..] {
                met[usize::from(one.drive) * count + usize::from(other.drive)] += 1;
            }
        }
    }
    // Drives that hold one piece more than others at the end of the pattern need a slot of their own in each round.
    let rounds = held.iter().copied().max().unwrap_or(0);
    let total = (stripes * u64::from(width)) as usize;
    let mut entries = Vec::with_capacity(total);
    let mut repeat = 0;
    while entries.len() < total {
        let take = pattern.len().min(total - entries.len());
        entries.extend(
            pattern[..take].iter().map(|piece| Piece { slot: piece.slot + repeat * rounds, ..*piece }),
        );
        repeat += 1;
    }
    entries
}

/// Returns the number of D-stripes in the pattern: every drive holds the same number of pieces at its end, and
/// every pair of drives has met about 16 times, 4 times in pools so large that choosing would take seconds.
fn pattern_length(drives: u32, width: u32) -> u64 {
    let meetings = if drives <= 256 { 16 } else { 4 };
    let pieces_wanted = (meetings * (drives - 1)).div_ceil((width - 1).max(1));
    let even = width / greatest_common_divisor(drives, width);
    u64::from(pieces_wanted.div_ceil(even) * even) * u64::from(drives) / u64::from(width)
}

fn choose(held: &[u32], met_chosen: &[u32], is_chosen: &[bool], chance: &mut SplitMix64) -> usize {
    let mut best = None;
    let mut best_key = (u32::MAX, u32::MAX);
    let mut equals = 0;
    for drive in 0..held.len() {
        if is_chosen[drive] {
            continue;
        }
        let key = (held[drive], met_chosen[drive]);
        if best.is_none() || key < best_key {
            (best, best_key, equals) = (Some(drive), key, 1);
        } else if key == best_key {
            equals += 1;
            if chance.below(equals) == 0 {
                best = Some(drive);
            }
        }
    }
    best.expect("a D-stripe is narrower than its pool")
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// SplitMix64 (Steele, Lea and Flood 2014). The generator of the room `load` lies above this room.
pub(crate) struct SplitMix64(pub u64);

impl SplitMix64 {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
    }
}
