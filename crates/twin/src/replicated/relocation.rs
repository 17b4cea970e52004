//! Data that moves in the background: which objects are to go where, how far each has come.

use std::collections::VecDeque;

use super::COPIES;
use super::Description;
use super::placement::{Place, ReplicaLocations};

/// One object on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub volume: u32,
    pub object: u32,
    /// The replica that is read.
    pub source: Place,
    /// Places where it will lie.
    pub places: ReplicaLocations,
    /// Those of the places that hold nothing of it yet.
    pub targets: [Place; COPIES],
    pub target_count: u32,
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
    /// Objects that do not lie as their template wants, by volume and number.
    pub queue: VecDeque<(u32, u32)>,
    pub chunk_bytes: u64,
    spacing_ns: u64,
    next_start_ns: u64,
    /// Objects that no drives could be found for.
    pub unplaced: u64,
    pub is_under_way: bool,
}

impl Relocation {
    pub fn new(description: &Description) -> Self {
        let relocation = &description.relocation;
        let chunk_bytes = relocation.chunk_bytes.get();
        Relocation {
            streams: vec![Stream::default(); relocation.objects.get() as usize].into(),
            queue: VecDeque::new(),
            chunk_bytes,
            spacing_ns: (chunk_bytes as f64 * 1000.0 / relocation.mb_per_s.get()).round() as u64,
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
