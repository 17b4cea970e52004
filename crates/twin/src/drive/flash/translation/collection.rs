//! Garbage collection: which block is collected, and what moving its units costs.

use super::{Collection, Frontiers, NOT_CLOSED, Translation, WriteCost};

/// Blocks in one stretch of the search for the emptiest block.
const STRETCH: usize = 128;

/// A ring of blocks, oldest first.
#[derive(Debug, Clone)]
pub(super) struct ClosingOrder {
    ring: Vec<u32>,
    oldest: usize,
    length: usize,
}

impl ClosingOrder {
    /// Of so many blocks, none of them closed.
    pub fn of(blocks: usize) -> ClosingOrder {
        ClosingOrder { ring: vec![0; blocks], oldest: 0, length: 0 }
    }

    pub fn push(&mut self, block: u32) {
        let at = (self.oldest + self.length) % self.ring.len();
        self.ring[at] = block;
        self.length += 1;
    }

    fn pop(&mut self) -> u32 {
        let block = self.ring[self.oldest];
        self.oldest = (self.oldest + 1) % self.ring.len();
        self.length -= 1;
        block
    }
}

impl Translation {
    /// Moves the valid units of one block and erases it.
    pub(super) fn collect(&mut self, cost: &mut WriteCost) {
        let victim = self.choose();
        let kind = usize::from(self.kind_of[victim as usize]);
        let destination = match self.frontiers {
            Frontiers::One => 0,
            Frontiers::HostAndCollection => 1,
            Frontiers::HotAndCold { .. } => kind,
        };
        let moved = self.valid_count[victim as usize];
        self.closed_blocks[kind] -= 1;
        self.valid_count[victim as usize] = NOT_CLOSED;
        self.valid_units[kind] -= moved as u32;
        let words = 1 << (self.slot_shift - 6);
        let first_word = (victim as usize) * words;
        for word in first_word..first_word + words {
            let mut bits = std::mem::take(&mut self.valid[word]);
            while bits != 0 {
                let slot = (word as u32) << 6 | bits.trailing_zeros();
                bits &= bits - 1;
                let unit = self.unit_at[slot as usize];
                self.append(unit, destination);
            }
        }
        self.free.push(victim);
        let moved = moved as u32;
        self.counters.moved_units += u64::from(moved);
        self.counters.blocks_erased += 1;
        cost.units_programmed += moved;
        cost.units_moved += moved;
        cost.blocks_erased += 1;
    }

    fn choose(&mut self) -> u32 {
        let kind = self.kind_to_collect();
        match self.collection {
            Collection::Greedy => match kind {
                None => emptiest(&self.valid_count),
                Some(kind) => self.emptiest_of(kind),
            },
            Collection::Choices(choices) => {
                let mut best = self.random_closed(kind);
                for _ in 1..choices {
                    let other = self.random_closed(kind);
                    if self.valid_count[other as usize] < self.valid_count[best as usize] {
                        best = other;
                    }
                }
                best
            }
            Collection::Oldest => self.closing_order.pop(),
        }
    }

    /// The kind that holds more than its share of the spare, where shares are set.
    fn kind_to_collect(&self) -> Option<usize> {
        let Frontiers::HotAndCold { hot_spare_permille: Some(permille) } = self.frontiers else {
            return None;
        };
        let per_block = u64::from(self.geometry.units_per_block);
        let usable = u64::from(self.geometry.blocks - self.geometry.reserve_blocks) * per_block;
        let spare = usable.saturating_sub(u64::from(self.mapped_units));
        let hot_target = u64::from(self.valid_units[0]) + spare * u64::from(permille) / 1000;
        let hot_is_over = u64::from(self.closed_blocks[0] + 1) * per_block > hot_target;
        let kind = usize::from(!hot_is_over);
        Some(if self.can_give_back(kind) { kind } else { 1 - kind })
    }

    /// Returns whether a closed block of this kind has a unit that is not valid. A kind without one would be collected
    /// for ever.
    fn can_give_back(&self, kind: usize) -> bool {
        let open = self.open[kind];
        let open_block = (open.end_slot - self.geometry.units_per_block) >> self.slot_shift;
        // An open block that is full has been closed and counts among those.
        let in_open = if open.next_slot == open.end_slot {
            0
        } else {
            (self.valid_count[open_block as usize] - NOT_CLOSED) as u32
        };
        self.valid_units[kind] - in_open < self.closed_blocks[kind] * self.geometry.units_per_block
    }

    fn emptiest_of(&self, kind: usize) -> u32 {
        let (mut best, mut best_count) = (0, i16::MAX);
        for (block, (&count, &of)) in self.valid_count.iter().zip(&self.kind_of).enumerate() {
            if usize::from(of) == kind && count < best_count {
                (best, best_count) = (block, count);
            }
        }
        best as u32
    }

    fn random_closed(&mut self, kind: Option<usize>) -> u32 {
        loop {
            let block = self.random.below(u64::from(self.geometry.blocks)) as u32;
            let matches = kind.is_none_or(|kind| usize::from(self.kind_of[block as usize]) == kind);
            if matches && self.valid_count[block as usize] < NOT_CLOSED {
                return block;
            }
        }
    }
}

/// The first block with the smallest count. A plain search over sixteen-bit counts: compilers turn the minimum
/// into vector instructions, so 4096 blocks take 0.2 µs, once for every hundred host writes. Lists of blocks by
/// count would be touched on every write instead.
fn emptiest(counts: &[i16]) -> u32 {
    let (mut best_stretch, mut best_count) = (0, i16::MAX);
    for (index, stretch) in counts.chunks(STRETCH).enumerate() {
        let least = stretch.iter().fold(i16::MAX, |least, &count| least.min(count));
        if least < best_count {
            (best_stretch, best_count) = (index * STRETCH, least);
        }
    }
    let place = counts[best_stretch..].iter().position(|&count| count == best_count).unwrap_or(0);
    (best_stretch + place) as u32
}
