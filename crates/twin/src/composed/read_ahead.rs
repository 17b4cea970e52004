//! Reading ahead of sequential readers.

use std::collections::VecDeque;

/// Readers that one controller follows; the one silent longest makes room for another.
const STREAMS: usize = 32;
/// Reads that must follow one another before anything is read ahead.
const RUN: u32 = 3;
/// Pieces that what is read ahead of one reader comes in.
const CHUNKS: u64 = 8;
/// The least piece.
const CHUNK_BYTES_LEAST: u64 = 64 << 10;

/// Source of a read's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// On the drives.
    Drives,
    /// In memory.
    Memory,
    /// On its way from the drives; the tag is named when it has come.
    OnItsWay,
}

/// Data to be read ahead: its chunk, first byte and length.
pub(crate) type Fetch = (u32, u64, u64);

#[derive(Debug, Clone, Default)]
struct Stream {
    /// Byte at which the reader goes on.
    next_byte: u64,
    run: u32,
    fetched_to: u64,
    last_used: u64,
    chunks: VecDeque<u32>,
}

#[derive(Debug, Clone, Default)]
struct Chunk {
    first: u64,
    end: u64,
    is_done: bool,
    /// No reader wants it any more.
    is_forsaken: bool,
    waiting: Vec<u32>,
}

/// The streams of one controller.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    ahead_bytes: u64,
    chunk_bytes: u64,
    streams: Vec<Stream>,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    reads: u64,
    /// By tag: chunks it still waits for.
    waits: Vec<u32>,
}

impl ReadAhead {
    pub fn new(ahead_bytes: u64) -> ReadAhead {
        ReadAhead {
            ahead_bytes,
            chunk_bytes: (ahead_bytes / CHUNKS).max(CHUNK_BYTES_LEAST),
            streams: Vec::with_capacity(STREAMS),
            chunks: Vec::new(),
            free: Vec::new(),
            reads: 0,
            waits: Vec::new(),
        }
    }

    /// Notes a read; says where its data is, and adds to `fetches` what is to be read ahead up to `end_byte`.
    pub fn read(
        &mut self,
        tag: u32,
        offset: u64,
        length: u64,
        end_byte: u64,
        fetches: &mut Vec<Fetch>,
    ) -> Source {
        self.reads += 1;
        let end = offset + length;
        let Some(index) = self.streams.iter().position(|stream| stream.next_byte == offset) else {
            self.begin(end);
            return Source::Drives;
        };
        self.streams[index].next_byte = end;
        self.streams[index].run += 1;
        self.streams[index].last_used = self.reads;
        let source = self.source(index, tag, offset, end);
        self.forget_before(index, offset);
        let stream = &mut self.streams[index];
        stream.fetched_to = stream.fetched_to.max(end);
        let wanted_to = if stream.run >= RUN { (end + self.ahead_bytes).min(end_byte) } else { 0 };
        while self.streams[index].fetched_to < wanted_to {
            let first = self.streams[index].fetched_to;
            let length = self.chunk_bytes.min(end_byte - first);
            let chunk = self.chunk(first, first + length);
            self.streams[index].chunks.push_back(chunk);
            self.streams[index].fetched_to = first + length;
            fetches.push((chunk, first, length));
        }
        source
    }

    fn begin(&mut self, next_byte: u64) {
        let fresh =
            Stream { next_byte, run: 1, fetched_to: next_byte, last_used: self.reads, ..Stream::default() };
        if self.streams.len() < STREAMS {
            self.streams.push(fresh);
            return;
        }
        let oldest = (0..STREAMS).min_by_key(|&index| self.streams[index].last_used).unwrap_or(0);
        self.forget_before(oldest, u64::MAX);
        self.streams[oldest] = fresh;
    }

    fn source(&mut self, index: usize, tag: u32, offset: u64, end: u64) -> Source {
        let stream = &self.streams[index];
        let from = stream.chunks.front().map_or(u64::MAX, |&chunk| self.chunks[chunk as usize].first);
        if offset < from || end > stream.fetched_to {
            return Source::Drives;
        }
        let mut pending = 0;
        for &chunk in &stream.chunks {
            let chunk = &mut self.chunks[chunk as usize];
            if chunk.first < end && offset < chunk.end && !chunk.is_done {
                chunk.waiting.push(tag);
                pending += 1;
            }
        }
        if pending == 0 {
            return Source::Memory;
        }
        if self.waits.len() <= tag as usize {
            self.waits.resize(tag as usize + 1, 0);
        }
        self.waits[tag as usize] = pending;
        Source::OnItsWay
    }

    /// Gives up chunks that lie before `byte`.
    fn forget_before(&mut self, index: usize, byte: u64) {
        while let Some(&front) = self.streams[index].chunks.front()
            && self.chunks[front as usize].end <= byte
        {
            self.streams[index].chunks.pop_front();
            if self.chunks[front as usize].is_done {
                self.free.push(front);
            } else {
                self.chunks[front as usize].is_forsaken = true;
            }
        }
    }

    fn chunk(&mut self, first: u64, end: u64) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::default());
            self.chunks.len() as u32 - 1
        });
        let chunk = &mut self.chunks[index as usize];
        (chunk.first, chunk.end, chunk.is_done, chunk.is_forsaken) = (first, end, false, false);
        index
    }

    /// A chunk has come; `ready` is told each tag that waits for nothing more.
    pub fn has_come(&mut self, chunk: u32, mut ready: impl FnMut(u32)) {
        let index = chunk as usize;
        self.chunks[index].is_done = true;
        let mut waiting = std::mem::take(&mut self.chunks[index].waiting);
        for tag in waiting.drain(..) {
            self.waits[tag as usize] -= 1;
            if self.waits[tag as usize] == 0 {
                ready(tag);
            }
        }
        self.chunks[index].waiting = waiting;
        if self.chunks[index].is_forsaken {
            self.free.push(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a sequential reader is read ahead of from its third read on, that it waits for what is on its way,
    /// and that random reads cause nothing.
    #[test]
    fn readers_are_followed() {
        let mut ahead = ReadAhead::new(1 << 20);
        let mut fetches = Vec::new();
        let sources: Vec<Source> = (0..5)
            .map(|step| ahead.read(step, u64::from(step) * 4096, 4096, 1 << 30, &mut fetches))
            .collect();
        assert_eq!(sources[..3], [Source::Drives; 3]);
        assert_eq!(sources[3..], [Source::OnItsWay; 2]);
        assert!(fetches.len() >= 8);
        let mut ready = Vec::new();
        ahead.has_come(fetches[0].0, |tag| ready.push(tag));
        assert_eq!(ready, [3, 4]);
        assert_eq!(ahead.read(9, 5 * 4096, 4096, 1 << 30, &mut fetches), Source::Memory);
        let mut random = load::Random::from_seed(1);
        fetches.clear();
        for tag in 0..1000 {
            let offset = random.below(1 << 30) * 512;
            assert_eq!(ahead.read(tag, offset, 4096, 1 << 40, &mut fetches), Source::Drives);
        }
        assert!(fetches.is_empty());
    }

    /// Proves that reading ahead stops at the end of the volume and that places of chunks are used again.
    #[test]
    fn chunks_end_with_the_volume() {
        let mut ahead = ReadAhead::new(1 << 20);
        let mut fetches = Vec::new();
        for step in 0..100_000u64 {
            ahead.read(0, step * 4096, 4096, 100_000 * 4096, &mut fetches);
            for (chunk, first, length) in fetches.drain(..) {
                assert!(first + length <= 100_000 * 4096);
                ahead.has_come(chunk, |_| {});
            }
        }
        assert!(ahead.chunks.len() < 32, "{}", ahead.chunks.len());
    }
}
