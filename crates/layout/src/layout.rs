//! The layout of an array: how it divides the logical address space into stripes and where a stripe's members lie.

use crate::divisor::Divisor;
use crate::error::{LayoutError, PARITY_WIDTH_LIMIT, StripeLost, check_size};
use crate::pieces::{Migration, Move, Piece, PieceTable, TableRow};
use crate::{
    ClusterSpec, Condition, DRIVE_CAPACITY_LIMIT, DRIVE_COUNT_LIMIT, DriveIndex, DriveSet, Place, PoolSpec,
    ReplicaSpec, Role, Rotation, SECTOR_BYTES, SEGMENT_BYTES_LIMIT,
};

/// Drives and segment of a RAID level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raid {
    /// Number of drives.
    pub drives: u32,
    /// Size of each; what does not fill a segment is left over.
    pub drive_capacity_bytes: u64,
    /// Segment (md's chunk): what a stripe puts on one drive.
    pub segment_bytes: u64,
}

/// Redundancy of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy {
    /// Every segment exists this many times; 1 is RAID 0.
    Copies(u32),
    /// Every stripe has this many parity segments: 1 is P, 2 is P and Q.
    Parity(u32),
}

#[derive(Debug, Clone)]
enum Placement {
    /// Member i on drive i, stripes one after the other.
    Straight,
    /// Members as in `Straight`, with rotating parity.
    Rotated { rotation: Rotation, drives: Divisor },
    /// Table of pieces.
    Table(PieceTable),
}

/// Map of logical bytes to drives. A *stripe* is the unit of redundancy: `data` segments and their parity or
/// copies, its *members*. Members are numbered: with parity the data members, then P, then Q; with copies
/// member `column × copies + copy`.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(crate) redundancy: Redundancy,
    pub(crate) data: u32,
    pub(crate) segment_bytes: u32,
    /// Divides a logical byte into segment and position.
    pub(crate) by_segment: Divisor,
    /// Divides a segment into stripe and column.
    pub(crate) by_column: Divisor,
    /// Parts of a stripe are always modified, never reconstructed, where that is possible.
    pub(crate) always_modifies: bool,
    placement: Placement,
    drives: u32,
    stripes: u64,
    capacity_bytes: u64,
}

/// A stripe located: what placing its members needs.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    Straight { offset_bytes: u64 },
    Rotated { offset_bytes: u64, parity_drive: u32, rotation: Rotation },
    Table(&'a PieceTable, TableRow<'a>),
}

/// The members of one stripe that cannot be read, at most as many as its parity covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    members: [u32; 2],
    count: u32,
}

impl Missing {
    /// No missing members.
    pub const NONE: Missing = Missing { members: [0; 2], count: 0 };

    /// The members, in rising order.
    #[inline]
    pub fn members(&self) -> &[u32] {
        &self.members[..self.count as usize]
    }

    /// Returns true if `member` is missing.
    #[inline]
    pub fn contains(&self, member: u32) -> bool {
        self.members().contains(&member)
    }

    /// Adds a member, greater than those it has; `false` where there are two already.
    pub fn push(&mut self, member: u32) -> bool {
        let Some(slot) = self.members.get_mut(self.count as usize) else { return false };
        *slot = member;
        self.count += 1;
        true
    }
}

impl Layout {
    /// RAID 0: a stripe over all drives, nothing twice. Also a host's stripe over LUNs: a LUN is a drive here and the
    /// stripe unit the segment. One drive is a plain drive.
    pub fn raid0(raid: Raid) -> Result<Layout, LayoutError> {
        Layout::straight("RAID 0", raid, 1, raid.drives, 1)
    }

    /// RAID 1: every drive holds everything.
    pub fn raid1(raid: Raid) -> Result<Layout, LayoutError> {
        Layout::straight("RAID 1", raid, 2, 1, raid.drives)
    }

    /// RAID 10: a stripe over pairs of neighbouring drives (md's `near` with two copies).
    pub fn raid10(raid: Raid) -> Result<Layout, LayoutError> {
        if raid.drives >= 4 && !raid.drives.is_multiple_of(2) {
            return Err(LayoutError::OddDrives { drives: raid.drives });
        }
        Layout::straight("RAID 10", raid, 4, raid.drives / 2, 2)
    }

    /// RAID 5: one rotating parity segment in each stripe.
    pub fn raid5(raid: Raid, rotation: Rotation) -> Result<Layout, LayoutError> {
        Layout::rotated("RAID 5", raid, 1, rotation)
    }

    /// RAID 6: two rotating parity segments in each stripe.
    pub fn raid6(raid: Raid, rotation: Rotation) -> Result<Layout, LayoutError> {
        Layout::rotated("RAID 6", raid, 2, rotation)
    }

    /// A declustered pool.
    pub fn pool(spec: &PoolSpec) -> Result<Layout, LayoutError> {
        let table = spec.build()?;
        let stripes = table.groups().count() as u64 * (spec.piece_bytes / spec.segment_bytes);
        let placement = Placement::Table(table);
        Ok(Layout::assemble(
            placement,
            Redundancy::Parity(spec.parity),
            spec.data,
            spec.drives,
            spec.segment_bytes,
            stripes,
        ))
    }

    /// A pool of replicas or erasure-coded stripes over the nodes of a cluster.
    pub fn cluster(spec: &ClusterSpec) -> Result<Layout, LayoutError> {
        let table = spec.build()?;
        let stripes = table.groups().count() as u64 * (spec.piece_bytes / spec.segment_bytes);
        let drives = spec.nodes.len() as u32;
        let placement = Placement::Table(table);
        Ok(Layout::assemble(placement, spec.redundancy, spec.data, drives, spec.segment_bytes, stripes))
    }

    /// A replicated volume. Its stripe is one object.
    pub fn replicas(spec: &ReplicaSpec) -> Result<Layout, LayoutError> {
        let table = spec.build()?;
        let stripes = table.groups().count() as u64;
        let drives = spec.drive_capacity_bytes.len() as u32;
        let placement = Placement::Table(table);
        let mut layout = Layout::assemble(
            placement,
            Redundancy::Copies(spec.copies()),
            1,
            drives,
            spec.object_bytes,
            stripes,
        );
        layout.capacity_bytes = spec.capacity_bytes;
        Ok(layout)
    }

    /// Deals the objects of a cluster pool that its first `used_bytes` fill to its groups in turn, as clusters place objects, instead of
    /// a whole group's worth to one after the other. Other layouts stay as they are.
    pub fn spread_objects(&mut self, used_bytes: u64) {
        let stripes = used_bytes / self.stripe_bytes();
        if let Placement::Table(table) = &mut self.placement {
            table.spread(stripes.min(self.stripes));
        }
    }

    /// The stripe at a place of the order in which a D-stripe's, or the objects' of a cluster pool's group, lie on the drives.
    pub fn stripe_at(&self, number: u64) -> u64 {
        self.table().map_or(number, |table| table.stripe_at(number))
    }

    fn straight(
        level: &'static str,
        raid: Raid,
        minimum: u32,
        data: u32,
        copies: u32,
    ) -> Result<Layout, LayoutError> {
        let stripes = check_raid(level, raid, minimum, DRIVE_COUNT_LIMIT)?;
        let redundancy = Redundancy::Copies(copies);
        Ok(Layout::assemble(Placement::Straight, redundancy, data, raid.drives, raid.segment_bytes, stripes))
    }

    fn rotated(
        level: &'static str,
        raid: Raid,
        parity: u32,
        rotation: Rotation,
    ) -> Result<Layout, LayoutError> {
        let stripes = check_raid(level, raid, parity + 2, PARITY_WIDTH_LIMIT)?;
        let placement =
            Placement::Rotated { rotation, drives: Divisor::new(u64::from(raid.drives), stripes) };
        let redundancy = Redundancy::Parity(parity);
        let data = raid.drives - parity;
        Ok(Layout::assemble(placement, redundancy, data, raid.drives, raid.segment_bytes, stripes))
    }

    fn assemble(
        placement: Placement,
        redundancy: Redundancy,
        data: u32,
        drives: u32,
        segment_bytes: u64,
        stripes: u64,
    ) -> Layout {
        let segments = stripes * u64::from(data);
        let capacity_bytes = segments * segment_bytes;
        Layout {
            redundancy,
            data,
            segment_bytes: segment_bytes as u32,
            by_segment: Divisor::new(segment_bytes, capacity_bytes),
            by_column: Divisor::new(u64::from(data), segments),
            always_modifies: false,
            placement,
            drives,
            stripes,
            capacity_bytes,
        }
    }

    /// The same layout under a controller that updates parity by read-modify-write whenever it can, however few
    /// reads reconstruction would need. Whole stripes are still written without reading.
    pub fn modifying_always(mut self) -> Layout {
        self.always_modifies = true;
        self
    }

    /// Size of the logical address space.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Number of drives.
    pub fn drives(&self) -> u32 {
        self.drives
    }

    /// Number of stripes.
    pub fn stripes(&self) -> u64 {
        self.stripes
    }

    /// Data segments of a stripe.
    pub fn data_members(&self) -> u32 {
        self.data
    }

    /// All segments of a stripe.
    pub fn members(&self) -> u32 {
        match self.redundancy {
            Redundancy::Copies(copies) => self.data * copies,
            Redundancy::Parity(parity) => self.data + parity,
        }
    }

    /// Copies or parity.
    pub fn redundancy(&self) -> Redundancy {
        self.redundancy
    }

    /// Returns the bytes of a stripe on one drive; a whole object of a replicated volume.
    pub fn segment_bytes(&self) -> u32 {
        self.segment_bytes
    }

    /// Logical bytes of a stripe.
    #[inline]
    pub fn stripe_bytes(&self) -> u64 {
        u64::from(self.data) * u64::from(self.segment_bytes)
    }

    /// The stripe that holds a logical byte, and the byte's position in the stripe's data.
    #[inline]
    pub fn stripe_of(&self, offset_bytes: u64) -> (u64, u64) {
        let (segment, row) = self.by_segment.divide(offset_bytes);
        let (stripe, column) = self.by_column.divide(segment);
        (stripe, column * u64::from(self.segment_bytes) + row)
    }

    /// Returns the role of a member of a stripe.
    #[inline]
    pub fn role(&self, member: u32) -> Role {
        match self.redundancy {
            Redundancy::Parity(_) if member < self.data => Role::Data,
            Redundancy::Parity(_) if member == self.data => Role::P,
            Redundancy::Parity(_) => Role::Q,
            Redundancy::Copies(copies) => match member % copies {
                0 => Role::Data,
                copy => Role::Copy(copy as u8),
            },
        }
    }

    /// Returns true where the members of each stripe lie at the same offset on all drives, one stripe after the other.
    pub fn has_rows(&self) -> bool {
        match self.placement {
            Placement::Straight | Placement::Rotated { .. } => self.members() == self.drives,
            Placement::Table(_) => false,
        }
    }

    /// Returns the place of a stripe's member.
    #[inline]
    pub fn place(&self, stripe: u64, member: u32) -> Place {
        self.place_in(&self.row(stripe), member)
    }

    #[inline(always)]
    pub(crate) fn row(&self, stripe: u64) -> Row<'_> {
        let offset_bytes = stripe * u64::from(self.segment_bytes);
        match &self.placement {
            Placement::Straight => Row::Straight { offset_bytes },
            Placement::Rotated { rotation, drives } => {
                let phase = drives.divide(stripe).1 as u32;
                Row::Rotated {
                    offset_bytes,
                    parity_drive: rotation.parity_drive(phase, self.drives),
                    rotation: *rotation,
                }
            }
            Placement::Table(table) => Row::Table(table, table.row(stripe)),
        }
    }

    #[inline]
    pub(crate) fn place_in(&self, row: &Row<'_>, member: u32) -> Place {
        match row {
            Row::Straight { offset_bytes } => {
                Place { drive: member as DriveIndex, offset_bytes: *offset_bytes }
            }
            Row::Rotated { offset_bytes, parity_drive, rotation } => {
                let drive = rotation.member_drive(*parity_drive, member, self.data, self.drives - self.data);
                Place { drive: drive as DriveIndex, offset_bytes: *offset_bytes }
            }
            Row::Table(table, row) => table.place(row, member, u64::from(self.segment_bytes)),
        }
    }

    /// The members of a parity stripe that cannot be read.
    ///
    /// # Errors
    /// More are missing than the parity covers.
    #[inline]
    pub fn missing<C: Condition>(&self, stripe: u64, condition: &C) -> Result<Missing, StripeLost> {
        let Redundancy::Parity(parity) = self.redundancy else { return Ok(Missing::NONE) };
        let mut missing = Missing::NONE;
        if condition.is_whole() {
            return Ok(missing);
        }
        let row = self.row(stripe);
        for member in 0..self.data + parity {
            if condition.is_missing(stripe, self.place_in(&row, member).drive)
                && (missing.count == parity || !missing.push(member))
            {
                return Err(StripeLost { stripe });
            }
        }
        Ok(missing)
    }

    /// The D-stripe of a pool, or the object of a replicated volume, that a stripe belongs to; the stripe itself in
    /// a RAID level.
    pub fn group_of(&self, stripe: u64) -> u64 {
        match &self.placement {
            Placement::Table(table) => table.group_of(stripe),
            Placement::Straight | Placement::Rotated { .. } => stripe,
        }
    }

    /// The pieces of each D-stripe or object, in order; nothing for a RAID level.
    pub fn groups(&self) -> impl Iterator<Item = &[Piece]> {
        self.table().into_iter().flat_map(PieceTable::groups)
    }

    /// New homes for what `drive` holds: preservation capacity of a pool, other drives of the same placement
    /// groups of a replicated volume. A RAID level has none (a spare takes the drive's place). D-stripes that
    /// have lost another piece to a drive in `failed` come first.
    pub fn plan_migration(&self, drive: DriveIndex, failed: &DriveSet) -> Migration {
        self.table().map_or_else(Migration::default, |table| table.plan_migration(drive, failed))
    }

    /// Makes a planned move the truth; `false` if it does not fit.
    pub fn apply_move(&mut self, movement: &Move) -> bool {
        match &mut self.placement {
            Placement::Table(table) => table.apply(movement),
            Placement::Straight | Placement::Rotated { .. } => false,
        }
    }

    /// Sets the preferred drives of the D-stripes or objects in a range of stripes, by piece: the drives of a class for each
    /// replica. Moves nothing; [`Layout::plan_preferred`] plans the moves. `false` for a RAID level, where there is no such
    /// range, where objects are spread, or where there are more than 255 kinds of preferences.
    pub fn prefer(&mut self, stripes: std::ops::Range<u64>, drives: &[Vec<DriveIndex>]) -> bool {
        match &mut self.placement {
            Placement::Table(table)
                if stripes.start < stripes.end && stripes.end <= self.stripes && !table.is_spread() =>
            {
                let groups = table.group_of(stripes.start)..table.group_of(stripes.end - 1) + 1;
                table.prefer(groups, drives)
            }
            _ => false,
        }
    }

    /// The first move, from this D-stripe or object on, that brings a piece to a drive that it is to lie on; `unwell` drives
    /// neither give nor take. Nothing where all lies as it should or there is no room.
    pub fn plan_preferred(&self, from_group: u64, unwell: &DriveSet) -> Option<Move> {
        self.table()?.plan_preferred(from_group, unwell)
    }

    /// Makes every move that [`Layout::plan_preferred`] would plan the truth: for a layout that holds nothing yet.
    pub fn settle(&mut self) {
        let mut from_group = 0;
        while let Some(movement) = self.plan_preferred(from_group, &DriveSet::EMPTY) {
            from_group = movement.group;
            self.apply_move(&movement);
        }
    }

    /// Returns the place to which `movement` moves a place; the place itself if it is not concerned.
    pub fn retarget(&self, movement: &Move, place: Place) -> Place {
        self.table().map_or(place, |table| table.retarget(movement, place))
    }

    fn table(&self) -> Option<&PieceTable> {
        match &self.placement {
            Placement::Table(table) => Some(table),
            Placement::Straight | Placement::Rotated { .. } => None,
        }
    }
}

/// Stripes on drives that make sense.
fn check_raid(level: &'static str, raid: Raid, minimum: u32, limit: u32) -> Result<u64, LayoutError> {
    let drives = raid.drives;
    if drives < minimum {
        return Err(LayoutError::TooFewDrives { level, drives, minimum });
    }
    if drives > limit {
        return Err(LayoutError::TooManyDrives { level, drives, limit });
    }
    check_size("a segment", raid.segment_bytes, SECTOR_BYTES, SEGMENT_BYTES_LIMIT)?;
    check_size("a drive", raid.drive_capacity_bytes, SECTOR_BYTES, DRIVE_CAPACITY_LIMIT)?;
    match raid.drive_capacity_bytes / raid.segment_bytes {
        0 => Err(LayoutError::DriveTooSmall {
            what: "segment",
            bytes: raid.segment_bytes,
            drive_capacity_bytes: raid.drive_capacity_bytes,
        }),
        stripes => Ok(stripes),
    }
}
