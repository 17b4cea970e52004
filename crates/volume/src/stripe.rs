//! One stripe: reading its members with their checksums, making what is missing, and changing it.
//!
//! Every function here is called with the stripe's lock held: shared to read, alone to write.

use crate::VolumeError;
use crate::checksums::{CHECKSUM_BYTES, SECTOR_BYTES};
use crate::drive::{Drive, DriveCondition};
use crate::journal_record::Record;
use crate::overlay::{Cover, Overlay};
use crate::parity;
use layout::{Band, Bands, Layout, Missing, Move, ParityUpdate, Place, Redundancy};
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread keeps no more memory than this between writes.
const CHANGES_BYTES_LIMIT: usize = 1 << 20;

thread_local! {
    /// Changes of columns: memory of the thread, so that a small write asks for none.
    static CHANGES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static SUMS: Cell<Sums> = const { Cell::new(Sums::NONE) };
}

fn keep_changes(changes: Vec<u8>) {
    if changes.capacity() <= CHANGES_BYTES_LIMIT {
        CHANGES.set(changes);
    }
}

/// Checksums of the sectors of a run, added up.
#[derive(Default)]
struct Sums {
    total: Vec<u8>,
    /// Those that were read last.
    read: Vec<u8>,
}

impl Sums {
    const NONE: Sums = Sums { total: Vec::new(), read: Vec::new() };

    /// Of no sector, for runs of `length` bytes.
    fn reset(&mut self, length: usize) {
        let sums_bytes = length / SECTOR_BYTES * CHECKSUM_BYTES;
        self.total.clear();
        self.total.resize(sums_bytes, 0);
        self.read.resize(sums_bytes, 0);
    }

    fn add(&mut self, sums: &[u8]) {
        self.total.iter_mut().zip(sums).for_each(|(total, sum)| *total ^= sum);
    }

    fn add_read(&mut self) {
        self.total.iter_mut().zip(&self.read).for_each(|(total, sum)| *total ^= sum);
    }

    /// Leaves the memory to the thread's next write.
    fn keep(self) {
        if self.total.capacity() <= CHANGES_BYTES_LIMIT {
            SUMS.set(self);
        }
    }
}

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
    /// Returns where a member of a stripe lies, if its drive serves the stripe.
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

    /// Returns where a member of a stripe is to lie as well, while its piece leaves a drive that serves: should the
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

    /// Returns how many copies of each member the layout keeps; 1 where it has parity.
    pub(crate) fn copies(&self) -> u32 {
        match self.layout.redundancy() {
            Redundancy::Copies(copies) => copies,
            Redundancy::Parity(_) => 1,
        }
    }

    /// Looks anew whether all drives hold all they should.
    pub(crate) fn look_whether_whole(&mut self) {
        self.is_whole = self.drives.iter().all(|drive| drive.condition == DriveCondition::Present);
    }

    /// Returns whether drives are stopped, or lack what was written while they were.
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
    /// Returns where a member is, if its drive serves the stripe.
    pub(crate) fn home(&self, stripe: u64, member: u32) -> Option<Place> {
        self.array.home(stripe, member)
    }

    /// Returns where a member is to be as well, if its piece is on its way.
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

    /// Returns why a stripe cannot be read or written: what is missing is lost, or does not run.
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
        let mut sums = SUMS.take();
        sums.reset(length);
        for column in band.first..band.end {
            if let Some(place) = self.home(stripe, column) {
                sums.add(record.push(place.drive, place.offset_bytes + row, data_of(column)));
            }
        }
        let update = self.array.layout.parity_update(band, missing);
        let is_done = update == ParityUpdate::ReadModifyWrite
            && self.modify_p(stripe, band, &data_of, &mut sums, record);
        sums.keep();
        if is_done {
            return Ok(());
        }
        match update {
            ParityUpdate::Nothing => return Ok(()),
            ParityUpdate::ReadModifyWrite => return self.modify_parity(stripe, band, &data_of, record),
            // To decode is to reconstruct with neighbours that must be computed first, which reading them does.
            ParityUpdate::ReconstructWrite | ParityUpdate::DecodeWrite => {}
        }
        let uncovered: Vec<u32> = (0..data).filter(|&member| !band.covers(member)).collect();
        let mut others = vec![0; uncovered.len() * length];
        for (&member, column) in uncovered.iter().zip(others.chunks_exact_mut(length)) {
            self.read_rows(stripe, member, row, column)?;
        }
        let mut others = others.chunks_exact(length);
        let columns: Vec<&[u8]> = (0..data)
            .map(|member| if band.covers(member) { data_of(member) } else { others.next().unwrap_or(&[]) })
            .collect();
        self.push_parity(stripe, row, &columns, record)
    }

    /// Puts the parity of whole columns into `record`.
    fn push_parity(
        &self,
        stripe: u64,
        row: u64,
        columns: &[&[u8]],
        record: &mut Record,
    ) -> Result<(), VolumeError> {
        let (data, length) = (columns.len() as u32, columns[0].len());
        let places = (data..self.array.layout.members()).map(|member| self.home(stripe, member));
        match places.collect::<Vec<_>>()[..] {
            [Some(place)] => {
                let make = |bytes: &mut [u8]| {
                    parity::make_parity(columns, bytes, None);
                    Ok::<(), VolumeError>(())
                };
                record.push_made(place.drive, place.offset_bytes + row, length, make)?;
            }
            [p, q] => {
                let mut made = vec![0; 2 * length];
                let (p_bytes, q_bytes) = made.split_at_mut(length);
                parity::make_parity(columns, p_bytes, Some(q_bytes));
                for (place, bytes) in [(p, p_bytes), (q, q_bytes)] {
                    if let Some(place) = place {
                        record.push(place.drive, place.offset_bytes + row, bytes);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// As [`Stripes::modify_parity`] where P is all the parity there is, with one look at each sector instead of three:
    /// checksums are linear, as P is, so those of the new parity follow from those of what is read and written. If they
    /// are, everything that was read was sound, or differed from what it should be in a way that the parity does not
    /// show. `false`, and nothing in `record`, where they are not, or something could not be read: a closer look is due.
    fn modify_p<'b>(
        &self,
        stripe: u64,
        band: &Band,
        data_of: impl Fn(u32) -> &'b [u8],
        sums: &mut Sums,
        record: &mut Record,
    ) -> bool {
        let p = self.array.layout.data_members();
        if self.array.layout.members() != p + 1 {
            return false;
        }
        let Some(place) = self.home(stripe, p) else { return false };
        let (row, length) = (u64::from(band.low), (band.high - band.low) as usize);
        let before = record.length();
        let mut change = CHANGES.take();
        change.resize(length, 0);
        let made = record.push_made(place.drive, place.offset_bytes + row, length, |bytes| {
            self.read_unchecked(place, row, bytes, sums)?;
            for column in band.first..band.end {
                let place = self.home(stripe, column).ok_or(io::ErrorKind::NotFound)?;
                self.read_unchecked(place, row, &mut change, sums)?;
                parity::add(bytes, &change);
                parity::add(bytes, data_of(column));
            }
            Ok::<(), io::Error>(())
        });
        let is_sound = made.is_ok_and(|made| made == sums.total);
        keep_changes(change);
        if !is_sound {
            record.take_back(before);
        }
        is_sound
    }

    /// Reads rows of a member and adds the checksums that are kept of them to `sums`.
    fn read_unchecked(&self, place: Place, row: u64, buffer: &mut [u8], sums: &mut Sums) -> io::Result<()> {
        let offset = place.offset_bytes + row;
        let cover = self.overlay.read_with_sums(place.drive, offset, buffer, &mut sums.read);
        if cover != Cover::Whole {
            self.drive(place).read_unchecked(offset, buffer, &mut sums.read)?;
            if cover == Cover::Part {
                self.overlay.read_with_sums(place.drive, offset, buffer, &mut sums.read);
            }
        }
        sums.add_read();
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
        keep_changes(changes);
        Ok(())
    }

    /// Returns whether any member of a stripe that can be asked may hold something.
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
