//! Sequential stream detection for prefetch and full-stripe gathering.

/// Remembers the stripes that commands touched lately, a bounded number of them.
///
/// A command counts as sequential where a command before it touched the same stripe or the one before. Over
/// terabytes, random commands practically never do; threads that each walk a range of their own always do, even
/// where their queued commands overtake one another.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    /// Direct-mapped by the stripe's hash: stripe + 1, or 0 where nothing was touched.
    touched: Box<[u64]>,
    mask: u64,
}

impl Streams {
    /// Room for about `streams` sequential streams.
    pub fn new(streams: u32) -> Self {
        // Sixteen places a stream keep two streams from pushing each other out most of the time.
        let places = (u64::from(streams) * 16).next_power_of_two();
        Streams { touched: vec![0; places as usize].into(), mask: places - 1 }
    }

    #[inline]
    fn place(&self, stripe: u64) -> usize {
        // Fibonacci hashing: neighbouring stripes fall far apart.
        ((stripe.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & self.mask) as usize
    }

    /// Notes a command from stripe `first` to stripe `last`; true where it follows another.
    #[inline]
    pub fn follows(&mut self, first: u64, last: u64) -> bool {
        let same = self.touched[self.place(first)] == first + 1;
        let before = first > 0 && self.touched[self.place(first - 1)] == first;
        let place = self.place(last);
        self.touched[place] = last + 1;
        same || before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that walking threads are recognised from their second command on, and random commands are not.
    #[test]
    fn walks_are_recognised() {
        let mut streams = Streams::new(128);
        let follows = (0..64_000u64).filter(|step| {
            let (thread, place) = (step % 64, step / 64);
            let stripe = thread * 1_000_003 + place / 6;
            streams.follows(stripe, stripe)
        });
        assert!(follows.count() > 62_000);
        let mut random = load::Random::from_seed(1);
        let by_chance = (0..64_000).filter(|_| {
            let stripe = random.below(14_000_000);
            streams.follows(stripe, stripe)
        });
        assert!(by_chance.count() < 20);
    }
}
