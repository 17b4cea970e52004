//! Objects that move in the background: which are to go where, how far each has come.

use std::collections::VecDeque;

use super::placement::Place;
use super::row::Row;

/// One object on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub volume: u32,
    pub object: u32,
    /// The replica that is read.
    pub source: Place,
    /// Places where it will lie.
    pub places: Row<Place>,
    /// Those of the places that hold nothing of it yet.
    pub targets: Row<Place>,
    pub next_byte: u64,
}

/// Copies one object after another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stream {
    pub current: Option<Move>,
    /// A chunk is under way, or the next is planned.
    pub is_busy: bool,
}

/// Moves under way, and their rate.
#[derive(Debug, Clone)]
pub(crate) struct Relocation {
    pub streams: Box<[Stream]>,
    /// Objects that do not lie as their pool wants, by volume and number.
    pub queue: VecDeque<(u32, u32)>,
    pub chunk_bytes: u64,
    /// Time from a loss or a change to the first copy.
    pub delay_ns: u64,
    spacing_ns: u64,
    next_start_ns: u64,
    /// Objects that no drives could be found for.
    pub unplaced: u64,
    pub is_under_way: bool,
}

impl Relocation {
    pub fn new(rebuild: &array::Rebuild) -> Self {
        let chunk_bytes = rebuild.chunk.get();
        Relocation {
            streams: vec![Stream::default(); rebuild.stripes.get() as usize].into(),
            queue: VecDeque::new(),
            chunk_bytes,
            delay_ns: rebuild.delay.get(),
            spacing_ns: (chunk_bytes as f64 * 1e9 / rebuild.rate.get() as f64).round() as u64,
            next_start_ns: 0,
            unplaced: 0,
            is_under_way: false,
        }
    }

    /// Returns when the next chunk may start, so that all together keep to the rate.
    pub fn next_start_ns(&mut self, now_ns: u64) -> u64 {
        let at_ns = self.next_start_ns.max(now_ns);
        self.next_start_ns = at_ns + self.spacing_ns;
        at_ns
    }

    /// The move of an object that is on its way.
    #[inline]
    pub fn of(&self, volume: u32, object: u32) -> Option<&Move> {
        if !self.is_under_way {
            return None;
        }
        let moves = self.streams.iter().filter_map(|stream| stream.current.as_ref());
        moves.into_iter().find(|moving| moving.volume == volume && moving.object == object)
    }
}
