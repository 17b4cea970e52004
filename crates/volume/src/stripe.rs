//! One stripe: reading its members with their checksums, making what is missing, and changing it.
//!
//! Every function here is called with the stripe's lock held: shared to read, alone to write.

use crate::VolumeError;
use crate::checksums::SECTOR_BYTES;
use crate::drive::{Drive, DriveCondition};
use crate::journal_record::Record;
use crate::overlay::{Cover, Overlay};
use crate::parity;
use layout::{Band, Bands, Layout, Missing, Move, ParityUpdate, Place, Redundancy};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread keeps no more memory than this between writes.
const CHANGES_BYTES_LIMIT: usize = 1 << 20;

/// The array: how it is laid out and what its drives are like.
pub(crate) struct Array {
    pub layout: Layout,
    pub drives: Vec<Drive>,
    pub is_whole: bool,
    /// A piece of a drive that is gone, on its way to another drive.
    pub moving: Option<Moving>,
}

/// A move under way: the stripes of the group below the mark have arrived.
pub(crate) struct Moving {
    pub movement: Move,
    /// Changed only under the lock of the stripe it passes.
    pub arrived_below_stripe: AtomicU64,
}

impl Array {
    /// Where a member of a stripe lies, if its drive serves the stripe.
    fn home(&self, stripe: u64, member: u32) -> Option<Place> {
        let place = self.layout.place(stripe, member);
        if self.is_whole || self.drives[usize::from(place.drive)].serves(stripe) {
            return Some(place);
        }
        let moving = self.moving.as_ref()?;
        let has_arrived = self.layout.group_of(stripe) == moving.movement.group
            && stripe < moving.arrived_below_stripe.load(Ordering::Acquire);
        let target = self.layout.retarget(&moving.movement, place);
        (has_arrived && target != place).then_some(target)
    }

    /// Where a member of a stripe is to lie as well, while its piece is on its way from a drive that serves: should the move
    /// come to nothing, the old piece must have missed nothing.
    fn next_home(&self, stripe: u64, member: u32) -> Option<Place> {
        let moving = self.moving.as_ref()?;
        let place = self.layout.place(stripe, member);
        let has_arrived = self.layout.group_of(stripe) == moving.movement.group
            && stripe < moving.arrived_below_stripe.load(Ordering::Acquire);
        let target = self.layout.retarget(&moving.movement, place);
        let is_due = has_arrived && target != place && self.drives[usize::from(place.drive)].serves(stripe);
        is_due.then_some(target)
    }

    /// How many copies of each member the layout keeps; 1 where it has parity.
    pub(crate) fn copies(&self) -> u32 {
        match self.layout.redundancy() {
            Redundancy::Copies(copies) => copies,
            Redundancy::Parity(_) => 1,
        }
    }

    /// Whether all drives hold all they should is looked at anew.
    pub(crate) fn look_whether_whole(&mut self) {
        self.is_whole = self.drives.iter().all(|drive| drive.condition == DriveCondition::Present);
    }

    /// Whether drives are stopped, or lack what was written while they were.
    pub(crate) fn lacks_writes(&self) -> bool {
        let is_behind =
            |drive: &Drive| matches!(drive.condition, DriveCondition::Stopped | DriveCondition::CatchingUp);
        !self.is_whole && self.drives.iter().any(is_behind)
    }

    pub(crate) fn drive_mut(&mut self, drive: u16) -> Result<&mut Drive, VolumeError> {
        let problem = "there is no such drive";
        self.drives.get_mut(usize::from(drive)).ok_or(VolumeError::Drive { drive, problem })
    }
}

/// Reads and writes members of stripes, with the overlay above the drives.
pub(crate) struct Stripes<'a> {
    pub array: &'a Array,
    pub overlay: &'a Overlay,
    /// Sectors found bad and put right.
    pub repaired_sectors: &'a AtomicU64,
}

/// A member that could not be read whole: the bad sectors, by index.
struct Bad(Vec<usize>);

impl Stripes<'_> {
    /// Where a member is, if its drive serves the stripe.
    pub(crate) fn home(&self, stripe: u64, member: u32) -> Option<Place> {
        self.array.home(stripe, member)
    }

    /// Where a member is to be as well, if its piece is on its way.
    pub(crate) fn next_home(&self, stripe: u64, member: u32) -> Option<Place> {
        self.array.next_home(stripe, member)
    }

    /// The members that cannot be read, if they are no more than the parity covers.
    fn missing(&self, stripe: u64, parity: u32) -> Result<Missing, VolumeError> {
        let mut missing = Missing::NONE;
        if self.array.is_whole {
            return Ok(missing);
        }
        for member in (0..self.array.layout.members()).filter(|&member| self.home(stripe, member).is_none()) {
            if missing.members().len() as u32 == parity || !missing.push(member) {
                return Err(VolumeError::Lost { stripe });
            }
        }
        Ok(missing)
    }

    pub(crate) fn drive(&self, place: Place) -> &Drive {
        &self.array.drives[usize::from(place.drive)]
    }

    /// Reads rows of a member as they are on the drive and in the overlay.
    fn read_place(&self, place: Place, row: u64, buffer: &mut [u8]) -> Result<(), Bad> {
        let offset = place.offset_bytes + row;
        // The stripe's lock keeps the overlay as it is meanwhile.
        let cover = self.overlay.read(place.drive, offset, buffer);
        if cover == Cover::Whole {
            return Ok(());
        }
        let mut bad = Vec::new();
        if self.drive(place).read(offset, buffer, |index| bad.push(index)).is_err() {
            bad = (0..buffer.len() / SECTOR_BYTES).collect();
        }
        if cover == Cover::Part {
            self.overlay.patch(place.drive, offset, buffer, &mut bad);
        }
        if bad.is_empty() { Ok(()) } else { Err(Bad(bad)) }
    }

    /// Reads rows of a member, from its drive or by reconstruction. Bad sectors are put right on the drive.
    pub(crate) fn read_rows(
        &self,
        stripe: u64,
        member: u32,
        row: u64,
        buffer: &mut [u8],
    ) -> Result<(), VolumeError> {
        let Some(place) = self.home(stripe, member) else { return self.solve(stripe, member, row, buffer) };
        let Err(Bad(bad)) = self.read_place(place, row, buffer) else { return Ok(()) };
        for index in bad {
            let start = index * SECTOR_BYTES;
            let sector = &mut buffer[start..start + SECTOR_BYTES];
            self.solve(stripe, member, row + start as u64, sector)?;
            // In place and outside the journal: the sector's content does not change, and half a repair is
            // still a bad sector. A drive that refuses is noticed by the next reader.
            if self.drive(place).write(place.offset_bytes + row + start as u64, sector).is_ok() {
                self.repaired_sectors.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Computes rows of a member from the others, sector by sector where a whole run has too much missing.
    pub(crate) fn solve(
        &self,
        stripe: u64,
        member: u32,
        row: u64,
        buffer: &mut [u8],
    ) -> Result<(), VolumeError> {
        let solved = match self.array.layout.redundancy() {
            Redundancy::Copies(copies) => self.copy(stripe, member, copies, row, buffer),
            Redundancy::Parity(_) => self.gather(stripe, row, buffer.len(), Some(member)).map(|members| {
                buffer.copy_from_slice(&members[member as usize]);
            }),
        };
        if solved.is_some() {
            return Ok(());
        }
        if buffer.len() == SECTOR_BYTES {
            return Err(self.too_little(stripe));
        }
        for (index, sector) in buffer.chunks_exact_mut(SECTOR_BYTES).enumerate() {
            self.solve(stripe, member, row + (index * SECTOR_BYTES) as u64, sector)?;
        }
        Ok(())
    }

    /// Takes rows from another copy of the same column, the tail first.
    fn copy(&self, stripe: u64, member: u32, copies: u32, row: u64, buffer: &mut [u8]) -> Option<()> {
        let first = member / copies * copies;
        (first..first + copies)
            .rev()
            .filter(|&other| other != member)
            .find(|&other| {
                self.home(stripe, other).is_some_and(|place| self.read_place(place, row, buffer).is_ok())
            })
            .map(|_| ())
    }

    /// Reads as many members as determine the rest, and computes the rest. `without` is one that is not to be
    /// read. `None`: too few can be read whole.
    pub(crate) fn gather(
        &self,
        stripe: u64,
        row: u64,
        length: usize,
        without: Option<u32>,
    ) -> Option<Vec<Vec<u8>>> {
        let data = self.array.layout.data_members() as usize;
        let mut members = vec![vec![0u8; length]; self.array.layout.members() as usize];
        let mut lost = Vec::with_capacity(2);
        let mut read = 0;
        for (index, buffer) in members.iter_mut().enumerate() {
            let member = index as u32;
            if read == data {
                // Not needed to compute the data; computed from it where it is what was asked for.
                if without == Some(member) {
                    lost.push(index);
                }
                continue;
            }
            let place = if without == Some(member) { None } else { self.home(stripe, member) };
            match place.map(|place| self.read_place(place, row, buffer)) {
                Some(Ok(())) => read += 1,
                Some(Err(_)) | None => lost.push(index),
            }
        }
        if read < data {
            return None;
        }
        parity::recover(&mut members, data, &lost);
        Some(members)
    }

    /// Puts the change that a write of `bytes` at `from` of the stripe's data makes into `record`.
    pub(crate) fn change(
        &self,
        stripe: u64,
        from: u64,
        bytes: &[u8],
        record: &mut Record,
    ) -> Result<(), VolumeError> {
        let segment_bytes = self.array.layout.segment_bytes();
        let bands = Bands::cut(from, bytes.len() as u64, segment_bytes);
        let missing = match self.array.layout.redundancy() {
            Redundancy::Parity(parity) => self.missing(stripe, parity)?,
            Redundancy::Copies(_) => Missing::NONE,
        };
        for band in bands.as_slice() {
            let data_of = |column: u32| {
                let start =
                    (u64::from(column) * u64::from(segment_bytes) + u64::from(band.low) - from) as usize;
                &bytes[start..start + (band.high - band.low) as usize]
            };
            match self.array.layout.redundancy() {
                Redundancy::Copies(copies) => self.change_copies(stripe, band, copies, data_of, record)?,
                Redundancy::Parity(_) => self.change_parity(stripe, band, &missing, data_of, record)?,
            }
        }
        Ok(())
    }

    fn change_copies<'b>(
        &self,
        stripe: u64,
        band: &Band,
        copies: u32,
        data_of: impl Fn(u32) -> &'b [u8],
        record: &mut Record,
    ) -> Result<(), VolumeError> {
        for column in band.first..band.end {
            let mut is_kept = false;
            for member in column * copies..(column + 1) * copies {
                let place = self.array.layout.place(stripe, member);
                if let Some(place) = self.home(stripe, member) {
                    record.push(place.drive, place.offset_bytes + u64::from(band.low), data_of(column));
                    is_kept = true;
                } else if self.drive(place).condition == DriveCondition::Stopped
                    && !self.drive(place).missed.contains(stripe)
                {
                    record.push_missed(place.drive, stripe);
                }
                if let Some(place) = self.array.next_home(stripe, member) {
                    record.push(place.drive, place.offset_bytes + u64::from(band.low), data_of(column));
                }
            }
            if !is_kept {
                return Err(self.too_little(stripe));
            }
        }
        Ok(())
    }

    /// Why a stripe cannot be read or written: what is missing is lost, or does not run.
    fn too_little(&self, stripe: u64) -> VolumeError {
        let mut places =
            (0..self.array.layout.members()).map(|member| self.array.layout.place(stripe, member));
        let is_behind = |place| {
            let drive = self.drive(place);
            drive.condition == DriveCondition::Stopped
                || (drive.condition == DriveCondition::CatchingUp && drive.missed.contains(stripe))
        };
        match places.any(is_behind) {
            true => VolumeError::Unavailable { stripe },
            false => VolumeError::Lost { stripe },
        }
    }

    fn change_parity<'b>(
        &self,
        stripe: u64,
        band: &Band,
        missing: &Missing,
        data_of: impl Fn(u32) -> &'b [u8],
        record: &mut Record,
    ) -> Result<(), VolumeError> {
        let data = self.array.layout.data_members();
        let (row, length) = (u64::from(band.low), (band.high - band.low) as usize);
        for column in band.first..band.end {
            if let Some(place) = self.home(stripe, column) {
                record.push(place.drive, place.offset_bytes + row, data_of(column));
            }
        }
        match self.array.layout.parity_update(band, missing) {
            ParityUpdate::Nothing => return Ok(()),
            ParityUpdate::ReadModifyWrite => return self.modify_parity(stripe, band, &data_of, record),
            // To decode is to reconstruct with neighbours that must be computed first, which reading them does.
            ParityUpdate::ReconstructWrite | ParityUpdate::DecodeWrite => {}
        }
        let mut columns = vec![vec![0; length]; data as usize];
        for (member, column) in columns.iter_mut().enumerate() {
            if band.covers(member as u32) {
                column.copy_from_slice(data_of(member as u32));
            } else {
                self.read_rows(stripe, member as u32, row, column)?;
            }
        }
        for (index, bytes) in self.fresh_parity(&columns, length).iter().enumerate() {
            if let Some(place) = self.home(stripe, data + index as u32) {
                record.push(place.drive, place.offset_bytes + row, bytes);
            }
        }
        Ok(())
    }

    /// Reads what the parity and the columns of a band were, and puts the parity that follows into `record`.
    fn modify_parity<'b>(
        &self,
        stripe: u64,
        band: &Band,
        data_of: impl Fn(u32) -> &'b [u8],
        record: &mut Record,
    ) -> Result<(), VolumeError> {
        thread_local! {
            /// What each column changes by: memory of the thread, so that a small write asks for none.
            static CHANGES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
        }
        let data = self.array.layout.data_members();
        let (row, length) = (u64::from(band.low), (band.high - band.low) as usize);
        let mut changes = CHANGES.take();
        changes.resize((band.end - band.first) as usize * length, 0);
        for (column, change) in (band.first..).zip(changes.chunks_exact_mut(length)) {
            self.read_rows(stripe, column, row, change)?;
            parity::add(change, data_of(column));
        }
        for member in data..self.array.layout.members() {
            let Some(place) = self.home(stripe, member) else { continue };
            record.push_made(place.drive, place.offset_bytes + row, length, |bytes| {
                self.read_rows(stripe, member, row, bytes)?;
                for (column, change) in (band.first..).zip(changes.chunks_exact(length)) {
                    match member - data {
                        0 => parity::add(bytes, change),
                        _ => parity::add_product(bytes, change, parity::coefficient(column)),
                    }
                }
                Ok(())
            })?;
        }
        if changes.capacity() <= CHANGES_BYTES_LIMIT {
            CHANGES.set(changes);
        }
        Ok(())
    }

    fn fresh_parity(&self, columns: &[Vec<u8>], length: usize) -> Vec<Vec<u8>> {
        let count = (self.array.layout.members() - self.array.layout.data_members()) as usize;
        let mut parity = vec![vec![0; length]; count];
        let slices: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        match &mut parity[..] {
            [p] => parity::make_parity(&slices, p, None),
            [p, q] => parity::make_parity(&slices, p, Some(q)),
            _ => {}
        }
        parity
    }

    /// Whether any member of a stripe that can be asked may hold something.
    pub(crate) fn is_allocated(&self, stripe: u64) -> bool {
        let length = u64::from(self.array.layout.segment_bytes());
        (0..self.array.layout.members()).any(|member| {
            self.home(stripe, member).is_some_and(|place| self.place_is_allocated(place, 0, length))
        })
    }

    pub(crate) fn place_is_allocated(&self, place: Place, row: u64, length: u64) -> bool {
        let offset = place.offset_bytes + row;
        self.overlay.touches(place.drive, offset, length)
            || self.drive(place).is_allocated(offset, length).unwrap_or(true)
    }
}
