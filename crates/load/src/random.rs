//! Random number generator behind every address, mix and simulated service time.
//!
//! Our own, though it equals a published one: results are published with their seed, and must not change with
//! a dependency's release. xoshiro256++ 1.0 (Blackman and Vigna, 2019), seeded by SplitMix64.

/// xoshiro256++ with a state of 256 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose four words of state come from SplitMix64, as its authors advise.
    pub fn from_seed(seed: u64) -> Self {
        let mut mixer = seed;
        let state = std::array::from_fn(|_| split_mix(&mut mixer));
        Random { state }
    }

    /// A generator for part `stream` of what `seed` drives, so that adding a part leaves the others as they were.
    pub fn from_seed_and_stream(seed: u64, stream: u64) -> Self {
        let mut mixer = seed;
        let mixed = split_mix(&mut mixer) ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Random::from_seed(mixed)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`, which is not 0: the high word of a 128-bit product (Lemire 2019). The bias is
    /// below `bound` ÷ 2^64 and is not removed: a rejection loop would cost a branch an I/O.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in (0, 1] with 53 bits: never 0, so that its logarithm exists.
    #[inline]
    pub fn unit_open(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An exponentially distributed number with the given mean, by `libm`, not the platform's logarithm.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit_open())
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that this is xoshiro256++: the first outputs from state {1, 2, 3, 4} as published with the
    /// reference implementation and used by the `rand_xoshiro` crate's tests.
    #[test]
    fn first_outputs_are_the_published_ones() {
        let mut random = Random { state: [1, 2, 3, 4] };
        for expected in [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ] {
            assert_eq!(random.next_u64(), expected);
        }
    }

    /// Proves that seeding is SplitMix64: its first outputs for seed 0 and 1234567 as published.
    #[test]
    fn seeding_is_splitmix64() {
        assert_eq!(Random::from_seed(0).state[0], 0xe220_a839_7b1d_cdaf);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(Random::from_seed(1_234_567).state[..3], expected);
    }

    /// Proves that bounded numbers and exponentials have the mean they should, within 5 standard errors.
    #[test]
    fn means_are_right() {
        let mut random = Random::from_seed(7);
        let draws = 1_000_000;
        let below: u64 = (0..draws).map(|_| random.below(1000)).sum();
        assert!((below as f64 / draws as f64 - 499.5).abs() < 5.0 * 288.7 / 1000.0);
        let sum: f64 = (0..draws).map(|_| random.exponential(5.0)).sum();
        assert!((sum / draws as f64 - 5.0).abs() < 5.0 * 5.0 / 1000.0);
    }
}
