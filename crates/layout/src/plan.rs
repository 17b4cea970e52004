//! The drive I/Os that a host's read or write, or a step of a rebuild, needs.

use crate::band::{Band, Bands};
use crate::layout::{Layout, Missing, Redundancy, Row};
use crate::{Condition, Healthy, IoList, Place, StripeLost};

/// Method of a parity update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParityUpdate {
    /// No parity segment is left: data is written, nothing is read.
    Nothing,
    /// Old data and old parity are read, and the change is added to the parity.
    ReadModifyWrite,
    /// The data that is not written is read, and parity made anew; a full stripe reads nothing.
    ReconstructWrite,
    /// A lost segment, whose neighbours change, is computed first: everything that is left is read.
    DecodeWrite,
}

/// Parity policy for stripes that were never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParityInitialisation {
    /// Reads the rest of the stripe from the drives and writes the whole parity.
    ReadAndCompute,
    /// Writes the rest of the stripe as zeros, and the whole parity; reads nothing.
    WriteZeros,
}

impl Layout {
    /// Maps a logical range to drives: one extent for each segment, of mirrored layouts the first copy. The
    /// range must lie within the capacity, here and in every other planning function.
    #[inline]
    pub fn map(&self, offset_bytes: u64, length_bytes: u64, ios: &mut IoList) {
        ios.clear();
        self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length| {
            let copies = if let Redundancy::Copies(copies) = self.redundancy { copies } else { 1 };
            let place = at_row(self.place(stripe, column * copies), row);
            ios.push_read(place, length, self.role(column * copies));
        });
    }

    /// Returns the place of a range that lies in one segment, of mirrored layouts in the first copy: the one extent that
    /// [`Layout::map`] would list. `None` where the range lies in several segments.
    #[inline]
    pub fn place_of(&self, offset_bytes: u64, length_bytes: u64) -> Option<Place> {
        let (segment, row) = self.by_segment.divide(offset_bytes);
        if row + length_bytes > u64::from(self.segment_bytes) {
            return None;
        }
        let (stripe, column) = self.by_column.divide(segment);
        let copies = if let Redundancy::Copies(copies) = self.redundancy { copies } else { 1 };
        Some(at_row(self.place(stripe, column as u32 * copies), row))
    }

    /// The places of data and of parity that a write to a whole stripe with one parity segment reads and writes again, if it lies in
    /// one segment and is updated by read-modify-write: what [`Layout::write`] makes lists of. `None` for any other write.
    #[inline]
    pub fn modified_places(&self, offset_bytes: u64, length_bytes: u64) -> Option<[Place; 2]> {
        let (segment, row) = self.by_segment.divide(offset_bytes);
        let is_small = self.redundancy == Redundancy::Parity(1)
            && row + length_bytes <= u64::from(self.segment_bytes)
            && self.updates_by_modify(1, 1);
        if !is_small {
            return None;
        }
        let (stripe, column) = self.by_column.divide(segment);
        let located = self.row(stripe);
        let data = at_row(self.place_in(&located, column as u32), row);
        Some([data, at_row(self.place_in(&located, self.data), row)])
    }

    /// The I/Os of a read. `pick` chooses among the mirrors of RAID 1 and RAID 10 (any number, random or rising);
    /// replicas are read from the tail, or the last replica before it that is left.
    ///
    /// # Errors
    /// A stripe of the range has lost too much.
    #[inline]
    pub fn read<C: Condition>(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        condition: &C,
        pick: u32,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        ios.clear();
        match self.redundancy {
            Redundancy::Copies(copies) => {
                let mut turn = pick;
                let mut outcome = Ok(());
                self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length| {
                    let segment = Segment { stripe, column, row, length };
                    if let Err(lost) = self.read_copy(segment, copies, condition, turn, ios) {
                        outcome = Err(lost);
                    }
                    // Neighbouring segments of one read go to different mirrors.
                    turn = turn.wrapping_add(1);
                });
                outcome
            }
            Redundancy::Parity(_) if condition.is_whole() => {
                self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length| {
                    ios.push_read(at_row(self.place(stripe, column), row), length, crate::Role::Data);
                });
                Ok(())
            }
            Redundancy::Parity(_) => {
                self.for_each_stripe(offset_bytes, length_bytes, |stripe, from, length| {
                    self.read_degraded(stripe, from, length, condition, ios)
                })
            }
        }
    }

    /// The I/Os of a write: reads for parity first, then all writes.
    ///
    /// # Errors
    /// A stripe of the range has lost too much.
    #[inline]
    pub fn write<C: Condition>(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        condition: &C,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        ios.clear();
        match self.redundancy {
            Redundancy::Copies(copies) => {
                let mut outcome = Ok(());
                self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length| {
                    let segment = Segment { stripe, column, row, length };
                    if let Err(lost) = self.write_copies(segment, copies, condition, ios) {
                        outcome = Err(lost);
                    }
                });
                outcome
            }
            Redundancy::Parity(parity) => {
                // The commonest case, kept short: a small write to a healthy stripe changes one segment.
                let (segment, row) = self.by_segment.divide(offset_bytes);
                if condition.is_whole()
                    && row + length_bytes <= u64::from(self.segment_bytes)
                    && self.updates_by_modify(1, parity)
                {
                    let (stripe, column) = self.by_column.divide(segment);
                    self.modify_segment(stripe, column as u32, row, length_bytes as u32, parity, ios);
                    return Ok(());
                }
                self.for_each_stripe(offset_bytes, length_bytes, |stripe, from, length| {
                    let missing = self.missing(stripe, condition)?;
                    self.write_stripe(stripe, from, length, &missing, ios);
                    Ok(())
                })
            }
        }
    }

    /// Writes of a range for which nothing is read, to members that are there: its data, and the parity of each stripe whose
    /// end it reaches where stripes are gathered. The layout has parity.
    pub fn write_without_reading<C: Condition>(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        condition: &C,
        gathers_stripes: bool,
        ios: &mut IoList,
    ) {
        ios.clear();
        self.for_each_segment(offset_bytes, length_bytes, |stripe, column, row, length| {
            let located = self.row(stripe);
            let mut write = |member: u32, row: u64, length: u32| {
                let place = self.place_in(&located, member);
                if !condition.is_missing(stripe, place.drive) {
                    ios.push_write(at_row(place, row), length, self.role(member));
                }
            };
            write(column, row, length);
            let ends_stripe =
                column + 1 == self.data && row + u64::from(length) == u64::from(self.segment_bytes);
            if gathers_stripes && ends_stripe {
                (self.data..self.members()).for_each(|member| write(member, 0, self.segment_bytes));
            }
        });
    }

    /// Chooses the update of a band's parity with the fewest reads, in a stripe that misses `missing`. Of a
    /// healthy stripe with n data and m parity segments, k of them written, read-modify-write reads k + m and
    /// reconstruct-write n − k; the former is chosen only where it reads less (md's `rmw_level` 1).
    pub fn parity_update(&self, band: &Band, missing: &Missing) -> ParityUpdate {
        let Redundancy::Parity(parity) = self.redundancy else { return ParityUpdate::Nothing };
        let columns = band.columns();
        let lost_parity = missing.members().iter().filter(|&&member| member >= self.data).count() as u32;
        let lost_written = missing.members().iter().filter(|&&member| band.covers(member)).count() as u32;
        let lost_other = missing.members().len() as u32 - lost_parity - lost_written;
        let live_parity = parity - lost_parity;
        if live_parity == 0 {
            return ParityUpdate::Nothing;
        }
        let modify_reads = if lost_written == 0 { columns + live_parity } else { u32::MAX };
        let reconstruct_reads = if lost_other == 0 { self.data - columns } else { u32::MAX };
        let decode_reads = self.data;
        let prefers_modify = self.always_modifies && modify_reads != u32::MAX && columns < self.data;
        if prefers_modify || (modify_reads < reconstruct_reads && modify_reads <= decode_reads) {
            ParityUpdate::ReadModifyWrite
        } else if reconstruct_reads != u32::MAX {
            ParityUpdate::ReconstructWrite
        } else {
            ParityUpdate::DecodeWrite
        }
    }

    /// The I/Os of the first write to stripes whose parity was never made.
    pub fn first_write(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        initialisation: ParityInitialisation,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        let Redundancy::Parity(parity) = self.redundancy else {
            return self.write(offset_bytes, length_bytes, &Healthy, ios);
        };
        ios.clear();
        self.for_each_stripe(offset_bytes, length_bytes, |stripe, from, length| {
            let row = self.row(stripe);
            let segment = u64::from(self.segment_bytes);
            for column in 0..self.data {
                let place = self.place_in(&row, column);
                let start = u64::from(column) * segment;
                let low = from.clamp(start, start + segment) - start;
                let high = (from + length).clamp(start, start + segment) - start;
                match initialisation {
                    ParityInitialisation::WriteZeros => {
                        ios.push_write(place, self.segment_bytes, self.role(column));
                    }
                    ParityInitialisation::ReadAndCompute if low == high => {
                        ios.push_read(place, self.segment_bytes, self.role(column));
                    }
                    ParityInitialisation::ReadAndCompute => {
                        if low > 0 {
                            ios.push_read(place, low as u32, self.role(column));
                        }
                        if high < segment {
                            ios.push_read(at_row(place, high), (segment - high) as u32, self.role(column));
                        }
                        ios.push_write(at_row(place, low), (high - low) as u32, self.role(column));
                    }
                }
            }
            for member in self.data..self.data + parity {
                ios.push_write(self.place_in(&row, member), self.segment_bytes, self.role(member));
            }
            Ok(())
        })
    }

    /// One step of a rebuild: reads what makes the missing members of a stripe and writes them where `retarget`
    /// says (the place itself where a spare has taken the drive's place; [`Layout::retarget`] with a planned move
    /// otherwise). An empty list: the stripe misses nothing.
    ///
    /// # Errors
    /// The stripe has lost too much.
    pub fn rebuild<C: Condition>(
        &self,
        stripe: u64,
        condition: &C,
        retarget: impl Fn(Place) -> Place,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        ios.clear();
        let row = self.row(stripe);
        match self.redundancy {
            Redundancy::Copies(copies) => {
                for column in 0..self.data {
                    let members = column * copies..(column + 1) * copies;
                    let is_missing =
                        |member: u32| condition.is_missing(stripe, self.place_in(&row, member).drive);
                    if !members.clone().any(is_missing) {
                        continue;
                    }
                    let source =
                        members.clone().rfind(|&member| !is_missing(member)).ok_or(StripeLost { stripe })?;
                    ios.push_read(self.place_in(&row, source), self.segment_bytes, self.role(source));
                    for member in members.filter(|&member| is_missing(member)) {
                        let place = retarget(self.place_in(&row, member));
                        ios.push_write(place, self.segment_bytes, self.role(member));
                    }
                }
            }
            Redundancy::Parity(parity) => {
                let missing = self.missing(stripe, condition)?;
                if missing.members().is_empty() {
                    return Ok(());
                }
                let survivors = (0..self.data + parity).filter(|&member| !missing.contains(member));
                for member in survivors.take(self.data as usize) {
                    ios.push_read(self.place_in(&row, member), self.segment_bytes, self.role(member));
                }
                for &member in missing.members() {
                    ios.push_write(
                        retarget(self.place_in(&row, member)),
                        self.segment_bytes,
                        self.role(member),
                    );
                }
            }
        }
        Ok(())
    }

    /// One step of a verification: reads every member of a stripe that is there.
    ///
    /// # Errors
    /// The stripe has lost too much.
    pub fn verify<C: Condition>(
        &self,
        stripe: u64,
        condition: &C,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        ios.clear();
        let missing = self.missing(stripe, condition)?;
        let row = self.row(stripe);
        for member in (0..self.members()).filter(|&member| !missing.contains(member)) {
            let place = self.place_in(&row, member);
            if !condition.is_missing(stripe, place.drive) {
                ios.push_read(place, self.segment_bytes, self.role(member));
            }
        }
        Ok(())
    }

    #[inline]
    fn updates_by_modify(&self, columns: u32, parity: u32) -> bool {
        columns + parity < self.data - columns || (self.always_modifies && columns < self.data)
    }

    #[inline]
    fn modify_segment(&self, stripe: u64, column: u32, row: u64, length: u32, parity: u32, ios: &mut IoList) {
        let located = self.row(stripe);
        let data = at_row(self.place_in(&located, column), row);
        ios.push_read(data, length, crate::Role::Data);
        ios.push_write(data, length, crate::Role::Data);
        for member in self.data..self.data + parity {
            let place = at_row(self.place_in(&located, member), row);
            ios.push_read(place, length, self.role(member));
            ios.push_write(place, length, self.role(member));
        }
    }

    /// Reads of the wanted range of a stripe; where a wanted segment is missing, of what it is computed from.
    fn read_degraded<C: Condition>(
        &self,
        stripe: u64,
        from: u64,
        length: u64,
        condition: &C,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        let row = self.row(stripe);
        let bands = Bands::cut(from, length, self.segment_bytes);
        let wants_missing = bands.as_slice().iter().any(|band| {
            (band.first..band.end)
                .any(|column| condition.is_missing(stripe, self.place_in(&row, column).drive))
        });
        let missing = if wants_missing { self.missing(stripe, condition)? } else { Missing::NONE };
        for member in 0..self.members() {
            let mut run = Run::new(self, &row, member);
            for band in bands.as_slice() {
                if self.reads_member(band, member, &missing) {
                    run.add(band, |place, length, role| ios.push_read(place, length, role));
                }
            }
            run.finish(|place, length, role| ios.push_read(place, length, role));
        }
        Ok(())
    }

    /// Returns true if reading a band needs a member: because the band covers it, or to compute a missing one that the band
    /// covers.
    fn reads_member(&self, band: &Band, member: u32, missing: &Missing) -> bool {
        if missing.contains(member) {
            return false;
        }
        let computes = missing.members().iter().any(|&lost| band.covers(lost));
        if computes { self.decodes_with(member, missing) } else { band.covers(member) }
    }

    /// Returns true if decoding reads a member: all data that is left, and one parity segment for each data member that is
    /// missing.
    fn decodes_with(&self, member: u32, missing: &Missing) -> bool {
        if missing.contains(member) {
            return false;
        }
        let lost_data = missing.members().iter().filter(|&&lost| lost < self.data).count() as u32;
        let earlier_parity = (self.data..member).filter(|&other| !missing.contains(other)).count() as u32;
        member < self.data || earlier_parity < lost_data
    }

    fn write_stripe(&self, stripe: u64, from: u64, length: u64, missing: &Missing, ios: &mut IoList) {
        let row = self.row(stripe);
        let bands = Bands::cut(from, length, self.segment_bytes);
        let mut updates = [ParityUpdate::Nothing; 3];
        for (update, band) in updates.iter_mut().zip(bands.as_slice()) {
            *update = self.parity_update(band, missing);
        }
        for member in 0..self.members() {
            if missing.contains(member) {
                continue;
            }
            let mut reads = Run::new(self, &row, member);
            let mut writes = Run::new(self, &row, member);
            for (band, update) in bands.as_slice().iter().zip(&updates) {
                let is_parity = member >= self.data;
                let is_read = match update {
                    ParityUpdate::Nothing => false,
                    ParityUpdate::ReadModifyWrite => is_parity || band.covers(member),
                    ParityUpdate::ReconstructWrite => !is_parity && !band.covers(member),
                    ParityUpdate::DecodeWrite => self.decodes_with(member, missing),
                };
                if is_read {
                    reads.add(band, |place, length, role| ios.push_read(place, length, role));
                }
                if is_parity || band.covers(member) {
                    writes.add(band, |place, length, role| ios.push_write(place, length, role));
                }
            }
            reads.finish(|place, length, role| ios.push_read(place, length, role));
            writes.finish(|place, length, role| ios.push_write(place, length, role));
        }
    }

    #[inline]
    fn read_copy<C: Condition>(
        &self,
        segment: Segment,
        copies: u32,
        condition: &C,
        turn: u32,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        let row = self.row(segment.stripe);
        let first = segment.column * copies;
        let is_live = |member: u32| {
            condition.is_whole() || !condition.is_missing(segment.stripe, self.place_in(&row, member).drive)
        };
        let chosen = if matches!(row, Row::Table(..)) {
            (first..first + copies).rfind(|&member| is_live(member))
        } else {
            let start = turn % copies;
            (0..copies)
                .map(|step| first + if start + step >= copies { start + step - copies } else { start + step })
                .find(|&member| is_live(member))
        };
        let member = chosen.ok_or(StripeLost { stripe: segment.stripe })?;
        ios.push_read(at_row(self.place_in(&row, member), segment.row), segment.length, self.role(member));
        Ok(())
    }

    #[inline]
    fn write_copies<C: Condition>(
        &self,
        segment: Segment,
        copies: u32,
        condition: &C,
        ios: &mut IoList,
    ) -> Result<(), StripeLost> {
        let row = self.row(segment.stripe);
        let first = segment.column * copies;
        let mut written = false;
        for member in first..first + copies {
            let place = self.place_in(&row, member);
            if condition.is_whole() || !condition.is_missing(segment.stripe, place.drive) {
                ios.push_write(at_row(place, segment.row), segment.length, self.role(member));
                written = true;
            }
        }
        if written { Ok(()) } else { Err(StripeLost { stripe: segment.stripe }) }
    }

    /// Calls `visit(stripe, column, row, length)` for each segment of a range.
    #[inline(always)]
    pub(crate) fn for_each_segment(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        mut visit: impl FnMut(u64, u32, u64, u32),
    ) {
        debug_assert!(offset_bytes.checked_add(length_bytes).is_some_and(|end| end <= self.capacity_bytes()));
        let segment_bytes = u64::from(self.segment_bytes);
        let (segment, mut row) = self.by_segment.divide(offset_bytes);
        let (mut stripe, column) = self.by_column.divide(segment);
        let mut column = column as u32;
        let mut left = length_bytes;
        while left > 0 {
            let length = left.min(segment_bytes - row);
            visit(stripe, column, row, length as u32);
            left -= length;
            row = 0;
            column += 1;
            if column == self.data {
                column = 0;
                stripe += 1;
            }
        }
    }

    /// Calls `visit(stripe, position in the stripe's data, length)` for each stripe of a range, up to the first error.
    fn for_each_stripe(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        mut visit: impl FnMut(u64, u64, u64) -> Result<(), StripeLost>,
    ) -> Result<(), StripeLost> {
        debug_assert!(offset_bytes.checked_add(length_bytes).is_some_and(|end| end <= self.capacity_bytes()));
        let stripe_bytes = self.stripe_bytes();
        let (mut stripe, mut from) = self.stripe_of(offset_bytes);
        let mut left = length_bytes;
        while left > 0 {
            let length = left.min(stripe_bytes - from);
            visit(stripe, from, length)?;
            left -= length;
            from = 0;
            stripe += 1;
        }
        Ok(())
    }
}

/// One segment's part of a host I/O.
#[derive(Clone, Copy)]
struct Segment {
    stripe: u64,
    column: u32,
    row: u64,
    length: u32,
}

/// Neighbouring bands of one member, joined into one I/O.
struct Run<'a> {
    layout: &'a Layout,
    row: &'a Row<'a>,
    member: u32,
    low: u32,
    high: u32,
}

impl<'a> Run<'a> {
    fn new(layout: &'a Layout, row: &'a Row<'a>, member: u32) -> Self {
        Run { layout, row, member, low: 0, high: 0 }
    }

    fn add(&mut self, band: &Band, mut push: impl FnMut(Place, u32, crate::Role)) {
        if self.high != band.low || self.low == self.high {
            self.flush(&mut push);
            self.low = band.low;
        }
        self.high = band.high;
    }

    fn finish(mut self, mut push: impl FnMut(Place, u32, crate::Role)) {
        self.flush(&mut push);
    }

    fn flush(&mut self, push: &mut impl FnMut(Place, u32, crate::Role)) {
        if self.low < self.high {
            let place = at_row(self.layout.place_in(self.row, self.member), u64::from(self.low));
            push(place, self.high - self.low, self.layout.role(self.member));
        }
        self.low = self.high;
    }
}

#[inline]
fn at_row(place: Place, row: u64) -> Place {
    Place { drive: place.drive, offset_bytes: place.offset_bytes + row }
}
