//! The table of a declustered pool or a replicated volume: which piece of which drive each member of a D-stripe
//! (or each replica of an object) lies in, and where it moves when its drive fails.

use crate::divisor::Divisor;
use crate::{DriveIndex, DriveSet, Place};

/// A piece of a drive: the drive and the number of the piece on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Number of the drive.
    pub drive: DriveIndex,
    /// Number of the piece on that drive, from 0.
    pub slot: u32,
}

/// A piece that gets a new home. It is planned first, filled by a rebuild, and then applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// The D-stripe or object.
    pub group: u64,
    /// Number of the piece within the group, from 0.
    pub entry: u32,
    /// Piece before the move.
    pub from: Piece,
    /// Piece after the move.
    pub to: Piece,
}

/// New homes for what a drive held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migration {
    /// The moves, most endangered D-stripes first: those that have lost another piece as well.
    pub moves: Vec<Move>,
    /// D-stripes or objects for whose piece there is no room on a drive that may take it; they stay degraded.
    pub homeless: Vec<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct PieceTable {
    /// `width` pieces for each group, one after the other.
    entries: Vec<Piece>,
    width: u32,
    piece_bytes: u64,
    /// Stripes in a group.
    rows: Divisor,
    /// Stripes of an object; those of a group where it is one.
    object_rows: u64,
    /// None where the objects of a group follow each other.
    spread: Option<Box<Spread>>,
    /// Members of a stripe in a D-stripe take turns over its pieces, so that parity is spread evenly.
    rotates: bool,
    /// Drives that may hold each entry; empty where any may.
    allowed: Vec<Vec<DriveIndex>>,
    /// Failure domain (node) of each drive. No two pieces of a group share one.
    domains: Vec<u16>,
    /// Free pieces of each drive, the lowest last.
    free: Vec<Vec<u32>>,
    /// Number of each group's preference among `preferences`, from 1; 0 for none.
    preference_of: Vec<u8>,
    /// Each by entry: the drives that are to hold it.
    preferences: Vec<Vec<Vec<DriveIndex>>>,
}

/// Shape of a piece table.
pub(crate) struct TableShape {
    pub width: u32,
    pub piece_bytes: u64,
    pub rows: u64,
    /// Stripes of an object, of which a group has a whole number.
    pub object_rows: u64,
    pub rotates: bool,
    pub allowed: Vec<Vec<DriveIndex>>,
    pub domains: Vec<u16>,
    /// Number of pieces of each drive.
    pub pieces: Vec<u32>,
}

/// Objects dealt to groups in turn, one to each, instead of a group's worth to one after the other: a group of a large cluster is
/// much larger than an object, since the table would be too long else, and neighbouring objects would share their drives.
#[derive(Debug, Clone)]
struct Spread {
    object_rows: Divisor,
    groups: Divisor,
    objects_per_group: u64,
    /// Stripes from here on lie as without it: they do not fill a group.
    end_stripe: u64,
}

impl Spread {
    /// Number that a stripe would have if the objects of each group followed each other.
    #[inline]
    fn in_groups(&self, stripe: u64) -> u64 {
        if stripe >= self.end_stripe {
            return stripe;
        }
        let (object, row) = self.object_rows.divide(stripe);
        let (turn, group) = self.groups.divide(object);
        (group * self.objects_per_group + turn) * self.object_rows.divisor() + row
    }

    /// The stripe that has this number in groups.
    fn stripe_at(&self, number: u64) -> u64 {
        if number >= self.end_stripe {
            return number;
        }
        let (object, row) = self.object_rows.divide(number);
        let (group, turn) = (object / self.objects_per_group, object % self.objects_per_group);
        (turn * self.groups.divisor() + group) * self.object_rows.divisor() + row
    }
}

/// One stripe's place in the table.
#[derive(Clone, Copy)]
pub(crate) struct TableRow<'a> {
    pieces: &'a [Piece],
    rotation: u32,
    row: u64,
}

impl PieceTable {
    pub(crate) fn new(entries: Vec<Piece>, shape: TableShape) -> Self {
        let mut used: Vec<Vec<bool>> =
            shape.pieces.iter().map(|&count| vec![false; count as usize]).collect();
        for piece in &entries {
            debug_assert!(!used[usize::from(piece.drive)][piece.slot as usize], "a piece has one user");
            used[usize::from(piece.drive)][piece.slot as usize] = true;
        }
        let free = used
            .iter()
            .map(|slots| (0..slots.len() as u32).rev().filter(|&slot| !slots[slot as usize]).collect())
            .collect();
        let groups = entries.len() as u64 / u64::from(shape.width);
        PieceTable {
            entries,
            width: shape.width,
            piece_bytes: shape.piece_bytes,
            rows: Divisor::new(shape.rows, groups * shape.rows),
            object_rows: shape.object_rows,
            spread: None,
            rotates: shape.rotates,
            allowed: shape.allowed,
            domains: shape.domains,
            free,
            preference_of: vec![0; groups as usize],
            preferences: Vec::new(),
        }
    }

    /// Sets the preferred drives of these groups, by entry. `false` where there is no room for another kind of
    /// preference, or no such group.
    pub(crate) fn prefer(&mut self, groups: std::ops::Range<u64>, drives: &[Vec<DriveIndex>]) -> bool {
        let known = self.preferences.iter().position(|known| known == drives);
        let place = known.unwrap_or(self.preferences.len());
        let Ok(number) = u8::try_from(place + 1) else { return false };
        let range = groups.start as usize..groups.end as usize;
        let Some(of) = self.preference_of.get_mut(range) else { return false };
        of.fill(number);
        if known.is_none() {
            self.preferences.push(drives.to_vec());
        }
        true
    }

    fn preferred(&self, group: u64, entry: u32) -> Option<&[DriveIndex]> {
        let number = usize::from(self.preference_of[group as usize]);
        let preference = self.preferences.get(number.checked_sub(1)?)?;
        preference.get(entry as usize).map(Vec::as_slice)
    }

    /// The first move that brings a piece of a drive that is well to one that its group prefers, from this group on.
    pub(crate) fn plan_preferred(&self, from_group: u64, unwell: &DriveSet) -> Option<Move> {
        (from_group..self.preference_of.len() as u64)
            .find_map(|group| (0..self.width).find_map(|entry| self.plan_piece(group, entry, unwell)))
    }

    fn plan_piece(&self, group: u64, entry: u32, unwell: &DriveSet) -> Option<Move> {
        let pieces = self.group(group);
        let from = pieces[entry as usize];
        let wanted = self.preferred(group, entry)?;
        if wanted.contains(&from.drive) || unwell.contains(from.drive) {
            return None;
        }
        let may_take = |&candidate: &DriveIndex| {
            let mut others = pieces.iter().enumerate().filter(|(other, _)| *other != entry as usize);
            !unwell.contains(candidate)
                && !self.free[usize::from(candidate)].is_empty()
                && others.all(|(_, piece)| self.domain(piece.drive) != self.domain(candidate))
        };
        let target = wanted.iter().copied().filter(may_take).max_by_key(|&candidate| {
            (self.free[usize::from(candidate)].len(), std::cmp::Reverse(candidate))
        })?;
        let slot = *self.free[usize::from(target)].last()?;
        Some(Move { group, entry, from, to: Piece { drive: target, slot } })
    }

    /// Deals the objects of all groups that the first `stripes` fill to these groups in turn.
    pub(crate) fn spread(&mut self, stripes: u64) {
        let rows = self.rows.divisor();
        let (groups, objects_per_group) = (stripes / rows, rows / self.object_rows);
        self.spread = (groups > 1 && objects_per_group > 1).then(|| {
            Box::new(Spread {
                object_rows: Divisor::new(self.object_rows, groups * rows),
                groups: Divisor::new(groups, groups * objects_per_group),
                objects_per_group,
                end_stripe: groups * rows,
            })
        });
    }

    /// Number of a stripe in groups.
    #[inline]
    fn number_of(&self, stripe: u64) -> u64 {
        self.spread.as_ref().map_or(stripe, |spread| spread.in_groups(stripe))
    }

    /// The stripe with a number in groups: `group` × stripes in a group + row.
    pub(crate) fn stripe_at(&self, number: u64) -> u64 {
        self.spread.as_ref().map_or(number, |spread| spread.stripe_at(number))
    }

    #[inline]
    pub(crate) fn row(&self, stripe: u64) -> TableRow<'_> {
        let (group, row) = self.rows.divide(self.number_of(stripe));
        let first = group as usize * self.width as usize;
        let rotation = if self.rotates { (row % u64::from(self.width)) as u32 } else { 0 };
        TableRow { pieces: &self.entries[first..first + self.width as usize], rotation, row }
    }

    #[inline]
    pub(crate) fn place(&self, row: &TableRow<'_>, member: u32, segment_bytes: u64) -> Place {
        let turned = member + row.rotation;
        let entry = if turned >= self.width { turned - self.width } else { turned };
        let piece = row.pieces[entry as usize];
        Place {
            drive: piece.drive,
            offset_bytes: u64::from(piece.slot) * self.piece_bytes + row.row * segment_bytes,
        }
    }

    pub(crate) fn group_of(&self, stripe: u64) -> u64 {
        self.rows.divide(self.number_of(stripe)).0
    }

    pub(crate) fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &[Piece]> {
        self.entries.chunks_exact(self.width as usize)
    }

    /// Returns the place to which `movement` moves a place; the place itself if it is not concerned.
    pub(crate) fn retarget(&self, movement: &Move, place: Place) -> Place {
        let slot = place.offset_bytes / self.piece_bytes;
        if place.drive == movement.from.drive && slot == u64::from(movement.from.slot) {
            let within = place.offset_bytes % self.piece_bytes;
            Place {
                drive: movement.to.drive,
                offset_bytes: u64::from(movement.to.slot) * self.piece_bytes + within,
            }
        } else {
            place
        }
    }

    /// New homes, in the free pieces of drives that have not failed, for every piece on `drive`. The emptiest drive
    /// that shares no domain with the rest of the group is taken, the lowest number among equals. Pieces named
    /// here are free until the move is applied, so one rehoming must be applied before the next is planned.
    pub(crate) fn plan_migration(&self, drive: DriveIndex, failed: &DriveSet) -> Migration {
        let mut room: Vec<usize> = self.free.iter().map(Vec::len).collect();
        let mut concerned: Vec<(usize, u64, u32)> = Vec::new();
        for (group, pieces) in self.groups().enumerate() {
            let lost =
                pieces.iter().filter(|piece| piece.drive == drive || failed.contains(piece.drive)).count();
            for (entry, piece) in pieces.iter().enumerate() {
                if piece.drive == drive {
                    concerned.push((lost, group as u64, entry as u32));
                }
            }
        }
        concerned.sort_by_key(|&(lost, group, entry)| (std::cmp::Reverse(lost), group, entry));
        let mut migration = Migration::default();
        for (_, group, entry) in concerned {
            let pieces = self.group(group);
            let may_take = |candidate: DriveIndex| {
                candidate != drive
                    && !failed.contains(candidate)
                    && room[usize::from(candidate)] > 0
                    && pieces.iter().enumerate().all(|(other, piece)| {
                        other == entry as usize || self.domain(piece.drive) != self.domain(candidate)
                    })
            };
            let all: Vec<DriveIndex>;
            let candidates: &[DriveIndex] = match self.allowed.get(entry as usize) {
                Some(drives) => drives,
                None => {
                    all = (0..self.domains.len() as DriveIndex).collect();
                    &all
                }
            };
            let emptiest = |candidates: &[DriveIndex]| {
                let free = candidates.iter().copied().filter(|&candidate| may_take(candidate));
                free.max_by_key(|&candidate| (room[usize::from(candidate)], std::cmp::Reverse(candidate)))
            };
            // Redundancy counts for more than the kind of drive.
            let preferred = self.preferred(group, entry).and_then(emptiest);
            let target = preferred.or_else(|| emptiest(candidates));
            let Some(target) = target else {
                migration.homeless.push(group);
                continue;
            };
            room[usize::from(target)] -= 1;
            let to = Piece { drive: target, slot: self.free[usize::from(target)][room[usize::from(target)]] };
            migration.moves.push(Move { group, entry, from: pieces[entry as usize], to });
        }
        migration
    }

    /// Makes a planned move the truth; `false` if it does not fit the table (already applied, or its target taken).
    pub(crate) fn apply(&mut self, movement: &Move) -> bool {
        let index = movement.group as usize * self.width as usize + movement.entry as usize;
        if self.entries.get(index) != Some(&movement.from) {
            return false;
        }
        let Some(free) = self.free.get_mut(usize::from(movement.to.drive)) else { return false };
        let Some(position) = free.iter().rposition(|&slot| slot == movement.to.slot) else { return false };
        free.remove(position);
        self.entries[index] = movement.to;
        let released = &mut self.free[usize::from(movement.from.drive)];
        let position = released.partition_point(|&slot| slot > movement.from.slot);
        released.insert(position, movement.from.slot);
        true
    }

    fn group(&self, group: u64) -> &[Piece] {
        let first = group as usize * self.width as usize;
        &self.entries[first..first + self.width as usize]
    }

    fn domain(&self, drive: DriveIndex) -> u16 {
        self.domains[usize::from(drive)]
    }
}
