//! Crowding: controllers that share their sets do everything more slowly while more commands are under way.

/// Fractional bits of the share.
const BITS: u32 = 32;

/// Growth of work with the commands under way in all controllers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Crowding {
    /// Share by which all work takes longer with each command under way, in 2^-32; 0 where nothing grows.
    share: u64,
    under_way: u32,
}

impl Crowding {
    /// Nothing under way. Work grows by a share with each 1,000 commands.
    pub fn new(per_1000_commands: f64) -> Crowding {
        let share = (per_1000_commands / 1000.0 * (1u64 << BITS) as f64).round() as u64;
        Crowding { share, under_way: 0 }
    }

    /// Returns whether work takes longer while more of it is under way.
    pub fn grows(self) -> bool {
        self.share > 0
    }

    /// A command comes to the controllers.
    #[inline]
    pub fn enter(&mut self) {
        self.under_way += 1;
    }

    /// A command is in nobody's way any more.
    #[inline]
    pub fn leave(&mut self) {
        self.under_way -= 1;
    }

    /// Returns how long takes what takes `alone_ns` where nothing else is under way.
    #[inline]
    pub fn among(self, alone_ns: u64) -> u64 {
        if self.share == 0 {
            return alone_ns;
        }
        let share = u128::from(self.share) * u128::from(self.under_way);
        alone_ns + ((u128::from(alone_ns) * share) >> BITS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that work grows in proportion to the commands under way, and not at all where nothing is said.
    #[test]
    fn work_grows_with_commands_under_way() {
        let mut crowding = Crowding::new(0.16);
        assert_eq!(crowding.among(1_000_000), 1_000_000);
        (0..500).for_each(|_| crowding.enter());
        assert!((1_079_999..=1_080_000).contains(&crowding.among(1_000_000)));
        (0..250).for_each(|_| crowding.leave());
        assert!((1_039_999..=1_040_000).contains(&crowding.among(1_000_000)));
        let mut alone = Crowding::new(0.0);
        (0..500).for_each(|_| alone.enter());
        assert!(!alone.grows() && alone.among(77) == 77);
    }
}
