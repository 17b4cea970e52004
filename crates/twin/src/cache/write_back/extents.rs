//! Dirty extents in order of address.

/// First bytes in a line of the processor's caches.
const LINE: usize = 8;
/// Extents of a chunk at most: a line for each first byte of a line.
const CHUNK: usize = LINE * LINE;

/// Chunks of a group at most.
const GROUP: usize = 128;

/// Extents that do not overlap, by their first byte.
///
/// Random writes leave 100,000 extents to some millions, and each write looks for its neighbours: a tree of small nodes waits for memory
/// a dozen times, one level after the other. Here the first bytes of groups are searched, which stay in the near caches, then those of
/// the chunks of one group, and then one chunk, whose lines are asked for at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Extents {
    /// By group: the first byte of its first extent.
    firsts: Vec<u64>,
    /// None is empty.
    groups: Vec<Group>,
    count: usize,
}

/// Chunks that follow one another.
#[derive(Debug, Clone, Default)]
struct Group {
    /// By chunk: the first byte of its first extent.
    firsts: Vec<u64>,
    /// None is empty.
    #[expect(clippy::vec_box, reason = "a chunk put in between would move all behind it, a kilobyte each")]
    chunks: Vec<Box<Chunk>>,
}

/// Place of a chunk.
#[derive(Debug, Clone, Copy)]
struct Place {
    group: usize,
    chunk: usize,
}

/// The last of those in order that begin before a byte.
fn last_that_begins_before(firsts: &[u64], byte: u64) -> Option<usize> {
    firsts.partition_point(|&first| first < byte).checked_sub(1)
}

/// First bytes, and the byte after the last of each, in order; [`u64::MAX`] where there is no extent.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Chunk {
    firsts: [u64; CHUNK],
    ends: [u64; CHUNK],
    count: usize,
}

impl Chunk {
    fn with(firsts: &[u64], ends: &[u64]) -> Box<Chunk> {
        let count = firsts.len();
        let mut chunk = Chunk { firsts: [u64::MAX; CHUNK], ends: [u64::MAX; CHUNK], count };
        chunk.firsts[..count].copy_from_slice(firsts);
        chunk.ends[..count].copy_from_slice(ends);
        Box::new(chunk)
    }

    fn extent(&self, index: usize) -> (u64, u64) {
        (self.firsts[index], self.ends[index])
    }

    /// Number of extents that begin before a byte: the line that may have the last of them, by the first of each line, and then all of that.
    fn count_before(&self, byte: u64) -> usize {
        let is_before = |first: &&u64| **first < byte;
        let line = self.firsts.iter().step_by(LINE).filter(is_before).count().saturating_sub(1);
        line * LINE + self.firsts[line * LINE..][..LINE].iter().filter(is_before).count()
    }

    fn insert(&mut self, index: usize, first: u64, end: u64) {
        self.firsts.copy_within(index..self.count, index + 1);
        self.ends.copy_within(index..self.count, index + 1);
        (self.firsts[index], self.ends[index]) = (first, end);
        self.count += 1;
    }

    fn remove(&mut self, index: usize) {
        self.firsts.copy_within(index + 1..self.count, index);
        self.ends.copy_within(index + 1..self.count, index);
        self.truncate(self.count - 1);
    }

    fn truncate(&mut self, count: usize) {
        self.firsts[count..self.count].fill(u64::MAX);
        self.count = count;
    }
}

impl Extents {
    /// Number of extents.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the first extent.
    pub fn first(&self) -> Option<(u64, u64)> {
        Some(self.groups.first()?.chunks[0].extent(0))
    }

    /// Returns the last extent that begins before a byte.
    pub fn last_before(&self, byte: u64) -> Option<(u64, u64)> {
        let chunk = self.chunk_at(self.place_before(byte)?);
        Some(chunk.extent(chunk.count_before(byte) - 1))
    }

    /// Returns the first extent that begins at a byte or after it.
    pub fn first_from(&self, byte: u64) -> Option<(u64, u64)> {
        let Some(place) = self.place_before(byte) else { return self.first() };
        let chunk = self.chunk_at(place);
        let index = chunk.count_before(byte);
        if index < chunk.count {
            return Some(chunk.extent(index));
        }
        let in_group = self.groups[place.group].chunks.get(place.chunk + 1);
        let next = in_group.or_else(|| self.groups.get(place.group + 1)?.chunks.first())?;
        Some(next.extent(0))
    }

    /// Puts in an extent, which overlaps none.
    pub fn insert(&mut self, first: u64, end: u64) {
        self.count += 1;
        if self.groups.is_empty() {
            self.firsts.push(first);
            self.groups.push(Group { firsts: vec![first], chunks: vec![Chunk::with(&[first], &[end])] });
            return;
        }
        let mut place = self.place_before(first).unwrap_or(Place { group: 0, chunk: 0 });
        if self.chunk_at(place).count == CHUNK {
            self.split(place);
            place = self.place_before(first).unwrap_or(place);
        }
        let Place { group: number, chunk: index } = place;
        let group = &mut self.groups[number];
        let chunk = &mut group.chunks[index];
        chunk.insert(chunk.count_before(first), first, end);
        group.firsts[index] = chunk.firsts[0];
        self.firsts[number] = group.firsts[0];
    }

    /// Takes out the extent that begins at a byte, if there is one.
    pub fn remove(&mut self, first: u64) -> Option<(u64, u64)> {
        // The one before the next byte.
        let Place { group: number, chunk: at } = self.place_before(first.checked_add(1)?)?;
        let group = &mut self.groups[number];
        let chunk = &mut group.chunks[at];
        let index = chunk.count_before(first);
        if index == chunk.count || chunk.firsts[index] != first {
            return None;
        }
        let extent = chunk.extent(index);
        chunk.remove(index);
        group.firsts[at] = chunk.firsts[0];
        if chunk.count == 0 {
            group.chunks.remove(at);
            group.firsts.remove(at);
        }
        match group.firsts.first() {
            Some(&first) => self.firsts[number] = first,
            None => {
                self.groups.remove(number);
                self.firsts.remove(number);
            }
        }
        self.count -= 1;
        Some(extent)
    }

    /// The last chunk whose first extent begins before a byte.
    fn place_before(&self, byte: u64) -> Option<Place> {
        let group = last_that_begins_before(&self.firsts, byte)?;
        let chunk = last_that_begins_before(&self.groups[group].firsts, byte)?;
        Some(Place { group, chunk })
    }

    fn chunk_at(&self, place: Place) -> &Chunk {
        &self.groups[place.group].chunks[place.chunk]
    }

    /// Cuts a full chunk in two, and before it its group, if that is full as well.
    fn split(&mut self, mut place: Place) {
        let lower = &mut self.groups[place.group];
        if lower.chunks.len() == GROUP {
            let (firsts, chunks) = (lower.firsts.split_off(GROUP / 2), lower.chunks.split_off(GROUP / 2));
            self.firsts.insert(place.group + 1, firsts[0]);
            self.groups.insert(place.group + 1, Group { firsts, chunks });
            if place.chunk >= GROUP / 2 {
                place = Place { group: place.group + 1, chunk: place.chunk - GROUP / 2 };
            }
        }
        let group = &mut self.groups[place.group];
        let lower = &mut group.chunks[place.chunk];
        let upper = Chunk::with(&lower.firsts[CHUNK / 2..], &lower.ends[CHUNK / 2..]);
        lower.truncate(CHUNK / 2);
        group.firsts.insert(place.chunk + 1, upper.firsts[0]);
        group.chunks.insert(place.chunk + 1, upper);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Proves that extents are those of a map of the standard library, over random insertions and removals from none to ten thousands and
    /// back.
    #[test]
    fn extents_are_those_of_a_map() {
        let mut random = load::Random::from_seed(5);
        let (mut extents, mut map) = (Extents::default(), BTreeMap::new());
        for step in 0..150_000 {
            let byte = random.below(100_000) * 8;
            let grows = (step / 30_000) % 2 == 0;
            if random.below(10) < if grows { 8 } else { 2 } {
                if map.insert(byte, byte + 4).is_none() {
                    extents.insert(byte, byte + 4);
                }
            } else {
                let gone = map.range(byte..).next().map_or(byte, |(&first, _)| first);
                assert_eq!(extents.remove(gone), map.remove_entry(&gone));
            }
            let pair = |(&first, &end): (&u64, &u64)| (first, end);
            assert_eq!(extents.last_before(byte), map.range(..byte).next_back().map(pair));
            assert_eq!(extents.first_from(byte), map.range(byte..).next().map(pair));
            assert_eq!(extents.first(), map.first_key_value().map(pair));
            assert_eq!(extents.count(), map.len());
        }
        assert!(extents.groups.len() > 2 && map.len() > 10_000);
        for first in map.into_keys() {
            assert!(extents.remove(first).is_some());
        }
        assert!(extents.is_empty() && extents.groups.is_empty() && extents.first().is_none());
    }
}
