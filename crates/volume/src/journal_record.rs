//! A record of the journal: changes that become true together.
//!
//! ```text
//! 0    magic, length of the content (4 bytes each), epoch, number (8 bytes each)
//! 24   checksum of all that but the sectors, whose own checksums are among it; kind
//! 32   content. Of images, one behind the other: drive, kind (2 bytes each), length (4), offset on the drive (8),
//!      a checksum for each sector as the drive keeps it, the sectors
//! ```

use crate::checksums::{CHECKSUM_BYTES, SECTOR_BYTES, checksum, put_checksums};

const MAGIC: u32 = 0x616c_7265;
pub(crate) const HEADER_BYTES: usize = 32;
const ENTRY_HEADER_BYTES: usize = 16;

/// Kinds of records.
const IMAGES: u32 = 1;
const ZERO_STRIPES: u32 = 2;
const CONTINUES: u32 = 3;

/// An entry of images that says which stripe a drive has missed a write of, in place of an offset.
const MISSED: u16 = 1;

/// Changes that become true together.
#[derive(Default)]
pub(crate) struct Record {
    bytes: Vec<u8>,
}

/// A change that a record describes.
pub(crate) enum Change<'a> {
    /// `bytes`, with these checksums, belong at `offset_bytes` of `drive`.
    Image { drive: u16, offset_bytes: u64, sums: &'a [u8], bytes: &'a [u8] },
    /// `drive` is stopped and has missed a write of the stripe.
    StaleStripes { drive: u16, stripe: u64 },
    /// All members of the stripes `first..end` are zero.
    ZeroStripes { first: u64, end: u64 },
}

impl AsRef<[u8]> for Record {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Record {
    /// Of images, in memory that was a record's before.
    pub(crate) fn images_in(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(HEADER_BYTES, 0);
        bytes[28..32].copy_from_slice(&IMAGES.to_le_bytes());
        Record { bytes }
    }

    pub(crate) fn images() -> Self {
        Record::images_in(Vec::new())
    }

    /// With room for a change of `data_bytes` and its parity.
    pub(crate) fn reserve(&mut self, data_bytes: usize) {
        let sums_bytes = data_bytes / SECTOR_BYTES * CHECKSUM_BYTES;
        // Data, P and Q of a small write.
        self.bytes.reserve(3 * (data_bytes + sums_bytes + ENTRY_HEADER_BYTES));
    }

    pub(crate) fn zero_stripes(first: u64, end: u64) -> Self {
        Record::of_two(ZERO_STRIPES, first, end)
    }

    /// The first record of a half that goes on where the epoch `epoch` ended with so many records.
    pub(crate) fn continuing(epoch: u64, records: u64) -> Self {
        Record::of_two(CONTINUES, epoch, records)
    }

    fn of_two(kind: u32, first: u64, second: u64) -> Self {
        let mut record = Record::images();
        record.bytes[28..32].copy_from_slice(&kind.to_le_bytes());
        record.bytes.extend(first.to_le_bytes());
        record.bytes.extend(second.to_le_bytes());
        record
    }

    /// An image; returns its checksums.
    pub(crate) fn push(&mut self, drive: u16, offset_bytes: u64, image: &[u8]) -> &[u8] {
        let sums = self.begin_image(drive, offset_bytes, image.len());
        let start = self.bytes.len();
        self.bytes.extend_from_slice(image);
        put_checksums(image, &mut self.bytes[sums..start]);
        &self.bytes[sums..start]
    }

    /// An image that `make` writes where it is to be, over zeros; returns its checksums. After an error the record is not
    /// to be used, unless what was pushed is taken back.
    pub(crate) fn push_made<E>(
        &mut self,
        drive: u16,
        offset_bytes: u64,
        length: usize,
        make: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        let sums = self.begin_image(drive, offset_bytes, length);
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        let (before, image) = self.bytes.split_at_mut(start);
        make(image)?;
        put_checksums(image, &mut before[sums..]);
        Ok(&self.bytes[sums..start])
    }

    /// Returns how long it is, for [`Record::take_back`].
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Takes back what was pushed since the record was so long.
    pub(crate) fn take_back(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// All of an image but its bytes; where its checksums are to be.
    fn begin_image(&mut self, drive: u16, offset_bytes: u64, length: usize) -> usize {
        debug_assert!(length.is_multiple_of(SECTOR_BYTES));
        self.bytes.extend(drive.to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes.extend((length as u32).to_le_bytes());
        self.bytes.extend(offset_bytes.to_le_bytes());
        let sums = self.bytes.len();
        self.bytes.resize(sums + length / SECTOR_BYTES * CHECKSUM_BYTES, 0);
        sums
    }

    pub(crate) fn push_missed(&mut self, drive: u16, stripe: u64) {
        self.bytes.extend(drive.to_le_bytes());
        self.bytes.extend(MISSED.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(stripe.to_le_bytes());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER_BYTES
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its memory, for another record.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn kind(&self) -> u32 {
        u32_at(&self.bytes, 28).unwrap_or(0)
    }

    fn content(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Returns where the half began that this record is the first of: behind which epoch, and how many records that had.
    pub(crate) fn continues(&self) -> Option<(u64, u64)> {
        let content = self.content();
        if self.kind() == CONTINUES { Some((u64_at(content, 0)?, u64_at(content, 8)?)) } else { None }
    }

    /// Calls `visit` with each change; `false` if the content makes no sense.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Change<'_>)) -> bool {
        let content = self.content();
        match (self.kind(), u64_at(content, 0), u64_at(content, 8)) {
            (ZERO_STRIPES, Some(first), Some(end)) => visit(Change::ZeroStripes { first, end }),
            (CONTINUES, Some(_), Some(_)) => {}
            (IMAGES, _, _) => {
                return self.entries(|entry| match entry.kind {
                    0 => {
                        let (sums, bytes) = entry.image(&self.bytes);
                        let Entry { drive, offset_bytes, .. } = entry;
                        visit(Change::Image { drive, offset_bytes, sums, bytes });
                        true
                    }
                    MISSED if entry.length == 0 => {
                        visit(Change::StaleStripes { drive: entry.drive, stripe: entry.offset_bytes });
                        true
                    }
                    _ => false,
                });
            }
            _ => return false,
        }
        true
    }

    /// Calls `visit` with each entry of images, until it says `false`; `false` as well if they are malformed.
    pub(crate) fn entries(&self, mut visit: impl FnMut(Entry) -> bool) -> bool {
        let mut at = HEADER_BYTES;
        while at < self.bytes.len() {
            let entry = &self.bytes[at..];
            let (Some(drive), Some(length), Some(offset_bytes)) =
                (u32_at(entry, 0), u32_at(entry, 4), u64_at(entry, 8))
            else {
                return false;
            };
            let (length, sums) = (length as usize, at + ENTRY_HEADER_BYTES);
            let start = sums + length / SECTOR_BYTES * CHECKSUM_BYTES;
            let is_inside = start.checked_add(length).is_some_and(|end| end <= self.bytes.len());
            let (drive, kind) = (drive as u16, (drive >> 16) as u16);
            if !length.is_multiple_of(SECTOR_BYTES)
                || !is_inside
                || !visit(Entry { drive, kind, offset_bytes, sums, start, length })
            {
                return false;
            }
            at = start + length;
        }
        true
    }

    /// Checksum of the content without the sectors, whose own checksums it holds.
    pub(crate) fn content_sum(&self) -> u32 {
        if self.kind() != IMAGES {
            return crc32c::crc32c(self.content());
        }
        let mut sum = 0;
        let is_sound = self.entries(|entry| {
            let header = entry.sums - ENTRY_HEADER_BYTES;
            sum = crc32c::crc32c_append(sum, &self.bytes[header..entry.start]);
            true
        });
        // What is malformed has the checksum of nothing that was ever written.
        if is_sound { sum } else { !sum }
    }

    /// Fills the header in.
    pub(crate) fn seal(&mut self, epoch: u64, number: u64, content_sum: u32) {
        let content_bytes = (self.bytes.len() - HEADER_BYTES) as u32;
        let header = &mut self.bytes[..HEADER_BYTES];
        header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&content_bytes.to_le_bytes());
        header[8..16].copy_from_slice(&epoch.to_le_bytes());
        header[16..24].copy_from_slice(&number.to_le_bytes());
        let sum = header_sum(header, content_sum);
        header[24..28].copy_from_slice(&sum.to_le_bytes());
    }

    /// Returns how long the record is that begins with this header, if it is that one.
    pub(crate) fn length_by_header(header: &[u8], epoch: u64, number: u64) -> Option<usize> {
        let is_it =
            u32_at(header, 0)? == MAGIC && u64_at(header, 8)? == epoch && u64_at(header, 16)? == number;
        is_it.then_some(HEADER_BYTES + u32_at(header, 4)? as usize)
    }

    /// The record in these bytes, if every checksum fits.
    pub(crate) fn verified(bytes: Vec<u8>) -> Option<Record> {
        let record = Record { bytes };
        let sum = u32_at(&record.bytes, 24)?;
        let mut is_whole = sum == header_sum(&record.bytes[..HEADER_BYTES], record.content_sum());
        if record.kind() == IMAGES {
            is_whole = is_whole
                && record.entries(|entry| {
                    let (sums, bytes) = entry.image(&record.bytes);
                    let mut sectors = bytes.chunks_exact(SECTOR_BYTES).zip(sums.chunks_exact(CHECKSUM_BYTES));
                    sectors.all(|(sector, sum)| checksum(sector).to_le_bytes() == sum)
                });
        }
        is_whole.then_some(record)
    }
}

/// Place of an entry of images in its record.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub drive: u16,
    kind: u16,
    pub offset_bytes: u64,
    /// Offset of its checksums.
    pub sums: usize,
    /// Offset of its sectors.
    pub start: usize,
    pub length: usize,
}

impl Entry {
    /// True for an image, false for a write that was missed.
    pub(crate) fn is_image(&self) -> bool {
        self.kind == 0
    }

    fn image<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        (&bytes[self.sums..self.start], &bytes[self.start..self.start + self.length])
    }
}

fn header_sum(header: &[u8], content_sum: u32) -> u32 {
    let sum = crc32c::crc32c(&header[..24]);
    crc32c::crc32c_append(crc32c::crc32c_append(sum, &header[28..32]), &content_sum.to_le_bytes())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
