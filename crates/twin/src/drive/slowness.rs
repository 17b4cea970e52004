//! Slow drive: correct, with longer service times.

/// How long a drive takes for what it does, in thousandths of what is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slowness {
    thousandths: u32,
}

impl Default for Slowness {
    fn default() -> Self {
        Slowness::NONE
    }
}

impl Slowness {
    /// As described.
    pub const NONE: Slowness = Slowness { thousandths: 1000 };
    /// The factors that make sense: from as described to what any host would give up on.
    pub const FACTORS: std::ops::RangeInclusive<f64> = 1.0..=1000.0;

    /// So many times as long as described; nothing where that is out of [`Slowness::FACTORS`].
    pub fn from_factor(factor: f64) -> Option<Slowness> {
        Slowness::FACTORS
            .contains(&factor)
            .then(|| Slowness { thousandths: (factor * 1000.0).round() as u32 })
    }

    /// In thousandths.
    pub fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// A time of the description as it is on this drive.
    #[inline]
    pub fn of_ns(self, described_ns: u64) -> u64 {
        if self == Slowness::NONE {
            return described_ns;
        }
        (u128::from(described_ns) * u128::from(self.thousandths) / 1000) as u64
    }
}
