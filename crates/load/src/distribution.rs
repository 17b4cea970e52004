//! Random address distributions.

use crate::Random;
use crate::shape::{Band, Distribution};

/// Rounds of the permutation's Feistel network. Four already pass for random (Luby and Rackoff 1988) with a perfect
/// round function; ours is a mixer, so there are two more.
const FEISTEL_ROUNDS: u64 = 6;

/// A permutation of `0..count` that needs no memory: a Feistel network over the next power of two, walked until it
/// falls into the range (Black and Rogaway 2002, cycle walking; below 2 steps on average).
#[derive(Debug, Clone)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    key: u64,
}

impl Permutation {
    /// The permutation of `0..count`, which is not empty, that belongs to `key`.
    pub fn new(count: u64, key: u64) -> Self {
        let bits = (u64::BITS - (count.max(1) - 1).leading_zeros()).max(2);
        let low_bits = bits.div_ceil(2);
        Permutation {
            count,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            high_mask: (1 << (bits - low_bits)) - 1,
            key,
        }
    }

    /// Maps `index`, which is below the count, to its place in the permutation.
    #[inline]
    pub fn map(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut value = index;
        loop {
            value = self.step(value);
            if value < self.count {
                return value;
            }
        }
    }

    #[inline]
    fn step(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for round in (0..FEISTEL_ROUNDS).step_by(2) {
            low ^= mix(high ^ self.key.wrapping_add(round)) & self.low_mask;
            high ^= mix(low ^ self.key.wrapping_add(round + 1)) & self.high_mask;
        }
        (high << self.low_bits) | low
    }
}

/// The finisher of MurmurHash3 (Appleby, public domain): every bit of the input moves half of the output.
#[inline]
fn mix(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

/// Ranks 1 to `count` with probabilities proportional to rank^-theta, by rejection-inversion (Hörmann and Derflinger
/// 1996): exact for every theta and count, without tables.
#[derive(Debug, Clone)]
struct Zipf {
    count: f64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    squeeze: f64,
}

impl Zipf {
    fn new(count: u64, theta: f64) -> Self {
        let count = count as f64;
        Zipf {
            count,
            theta,
            integral_first: integral(1.5, theta) - 1.0,
            integral_last: integral(count + 0.5, theta),
            squeeze: 2.0 - integral_inverse(integral(2.5, theta) - libm::exp(-theta * libm::log(2.0)), theta),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.integral_last + random.unit_open() * (self.integral_first - self.integral_last);
            let x = integral_inverse(u, self.theta);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            let accepted = rank - x <= self.squeeze
                || u >= integral(rank + 0.5, self.theta) - libm::exp(-self.theta * libm::log(rank));
            if accepted {
                return rank as u64;
            }
        }
    }
}

/// An integral of x^-theta: (x^(1-theta) - 1) / (1 - theta), which is ln x for theta 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    let t = (1.0 - theta) * log;
    // Below this, the first terms of the series are exact in double precision.
    if t.abs() < 1e-8 { log * (1.0 + t / 2.0) } else { libm::expm1(t) / (1.0 - theta) }
}

fn integral_inverse(value: f64, theta: f64) -> f64 {
    let t = (value * (1.0 - theta)).max(-1.0);
    if t.abs() < 1e-8 {
        libm::exp(value * (1.0 - t / 2.0))
    } else {
        libm::exp(libm::log1p(t) / (1.0 - theta))
    }
}

/// Draws blocks of `0..count`.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    count: u64,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Uniform,
    NoRepeat {
        permutation: Permutation,
        next: u64,
        pass: u64,
        key: u64,
    },
    Zipf {
        zipf: Zipf,
        scatter: Permutation,
    },
    Pareto {
        exponent: f64,
        scatter: Permutation,
    },
    /// First block, blocks and the access share up to and with this band, of 100.
    Bands(Vec<(u64, u64, u64)>),
}

impl Sampler {
    /// A sampler over `count` blocks, which is not 0. `scatter_key` is the same for all jobs, so that they agree which
    /// blocks are hot; `own_key` differs for each job.
    pub fn new(distribution: &Distribution, count: u64, scatter_key: u64, own_key: u64) -> Self {
        let kind = match distribution {
            Distribution::Uniform => Kind::Uniform,
            Distribution::NoRepeat => Kind::NoRepeat {
                permutation: Permutation::new(count, mix(own_key)),
                next: 0,
                pass: 0,
                key: own_key,
            },
            Distribution::Zipf { theta } => {
                Kind::Zipf { zipf: Zipf::new(count, *theta), scatter: Permutation::new(count, scatter_key) }
            }
            Distribution::Pareto { h } => Kind::Pareto {
                exponent: libm::log(*h) / libm::log(1.0 - *h),
                scatter: Permutation::new(count, scatter_key),
            },
            Distribution::Bands(bands) => Kind::Bands(place(bands, count)),
        };
        Sampler { count, kind }
    }

    #[inline]
    pub fn draw(&mut self, random: &mut Random) -> u64 {
        match &mut self.kind {
            Kind::Uniform => random.below(self.count),
            Kind::NoRepeat { permutation, next, pass, key } => {
                if *next == self.count {
                    *next = 0;
                    *pass += 1;
                    *permutation =
                        Permutation::new(self.count, mix(*key ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                }
                *next += 1;
                permutation.map(*next - 1)
            }
            Kind::Zipf { zipf, scatter } => scatter.map(zipf.draw(random) - 1),
            Kind::Pareto { exponent, scatter } => {
                let share = libm::pow(random.unit_open(), *exponent);
                scatter.map(((share * self.count as f64) as u64).min(self.count - 1))
            }
            Kind::Bands(bands) => {
                let drawn = random.below(100);
                let band = bands.iter().find(|band| drawn < band.2).unwrap_or(&bands[bands.len() - 1]);
                band.0 + random.below(band.1)
            }
        }
    }
}

/// Bands as blocks; one too small for a block gets one.
fn place(bands: &[Band], count: u64) -> Vec<(u64, u64, u64)> {
    let (mut size_percent, mut access_percent) = (0, 0);
    let edge = |percent: u64| (u128::from(count) * u128::from(percent) / 100) as u64;
    bands
        .iter()
        .map(|band| {
            let first = edge(size_percent).min(count - 1);
            size_percent += u64::from(band.size_percent);
            access_percent += u64::from(band.access_percent);
            (first, edge(size_percent).saturating_sub(first).max(1), access_percent)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(distribution: &Distribution, blocks: u64, draws: u64) -> Vec<u64> {
        let mut sampler = Sampler::new(distribution, blocks, 5, 6);
        let mut random = Random::from_seed(11);
        let mut counts = vec![0; blocks as usize];
        for _ in 0..draws {
            counts[sampler.draw(&mut random) as usize] += 1;
        }
        counts
    }

    /// Proves that Zipf ranks have the probabilities of the definition (chi-square over the first 50 ranks and the
    /// rest, at about the 0.1 % level), for skews below, at and above 1.
    #[test]
    fn zipf_has_its_probabilities() {
        for theta in [0.2, 0.8, 1.0, 1.1, 2.5] {
            let (blocks, draws) = (1000u64, 400_000u64);
            let mut drawn = counts(&Distribution::Zipf { theta }, blocks, draws);
            let scatter = Permutation::new(blocks, 5);
            let by_rank: Vec<u64> = (0..blocks).map(|rank| drawn[scatter.map(rank) as usize]).collect();
            let total: f64 = (1..=blocks).map(|rank| libm::pow(rank as f64, -theta)).sum();
            let (mut chi_square, mut rest_expected, mut rest) = (0.0, 0.0, 0.0);
            for (index, &count) in by_rank.iter().enumerate() {
                let expected = draws as f64 * libm::pow((index + 1) as f64, -theta) / total;
                if index < 50 {
                    chi_square += (count as f64 - expected).powi(2) / expected;
                } else {
                    rest_expected += expected;
                    rest += count as f64;
                }
            }
            chi_square += (rest - rest_expected).powi(2) / rest_expected;
            // 50 degrees of freedom: 86.7 at 0.1 %.
            assert!(chi_square < 86.7, "theta {theta}: {chi_square}");
            drawn.sort_unstable();
            assert_eq!(drawn.iter().sum::<u64>(), draws);
        }
    }

    /// Proves that with Pareto h a share h of the blocks gets a share 1 - h of the I/Os.
    #[test]
    fn pareto_follows_its_rule() {
        for h in [0.1, 0.2, 0.35] {
            let mut drawn = counts(&Distribution::Pareto { h }, 10_000, 500_000);
            drawn.sort_unstable_by(|a, b| b.cmp(a));
            let hot: u64 = drawn[..(10_000.0 * h) as usize].iter().sum();
            // Sorting by count favours the hot share by chance where neighbours are nearly equal; under 1 %.
            assert!((hot as f64 / 500_000.0 - (1.0 - h)).abs() < 0.012, "{h}: {hot}");
        }
    }

    /// Proves that bands get their shares and that blocks within a band are alike.
    #[test]
    fn bands_get_their_shares() {
        let bands = vec![
            Band { access_percent: 60, size_percent: 10 },
            Band { access_percent: 30, size_percent: 20 },
            Band { access_percent: 8, size_percent: 30 },
            Band { access_percent: 2, size_percent: 40 },
        ];
        let drawn = counts(&Distribution::Bands(bands), 1000, 1_000_000);
        for (range, share) in [(0..100, 0.6), (100..300, 0.3), (300..600, 0.08), (600..1000, 0.02)] {
            let width = range.len() as f64;
            let part = &drawn[range];
            let sum: u64 = part.iter().sum();
            assert!((sum as f64 / 1e6 - share).abs() < 0.003, "{share}: {sum}");
            let each = 1e6 * share / width;
            assert!(part.iter().all(|&count| (count as f64 - each).abs() < 6.0 * each.sqrt()));
        }
    }

    /// Proves that uniform addresses are uniform (chi-square, 999 degrees of freedom, 0.1 % level) and that without
    /// repeats every block comes once a pass, in another order each time.
    #[test]
    fn uniform_and_no_repeat() {
        let drawn = counts(&Distribution::Uniform, 1000, 1_000_000);
        let chi_square: f64 = drawn.iter().map(|&count| (count as f64 - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 1142.0, "{chi_square}");
        assert!(counts(&Distribution::NoRepeat, 997, 997 * 3).iter().all(|&count| count == 3));
        let mut sampler = Sampler::new(&Distribution::NoRepeat, 997, 5, 6);
        let mut random = Random::from_seed(1);
        let passes: Vec<Vec<u64>> =
            (0..2).map(|_| (0..997).map(|_| sampler.draw(&mut random)).collect()).collect();
        let same = passes[0].iter().zip(&passes[1]).filter(|(a, b)| a == b).count();
        assert!(same < 10, "{same}");
        let steps = passes[0].windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(steps < 12, "{steps} neighbours follow one another; about 2 are expected");
    }

    proptest! {
        /// Proves that the permutation hits every value once, for any count and key.
        #[test]
        fn a_permutation_is_one(count in 1u64..3000, key: u64) {
            let permutation = Permutation::new(count, key);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let value = permutation.map(index) as usize;
                prop_assert!(!seen[value]);
                seen[value] = true;
            }
        }

        /// Proves that no distribution leaves its range, down to a single block.
        #[test]
        fn draws_stay_in_range(count in 1u64..50, theta in 0.01f64..5.0, h in 0.01f64..0.49, seed: u64) {
            let bands = vec![Band { access_percent: 1, size_percent: 99 }, Band { access_percent: 99, size_percent: 1 }];
            for distribution in [
                Distribution::Uniform, Distribution::NoRepeat, Distribution::Zipf { theta },
                Distribution::Pareto { h }, Distribution::Bands(bands),
            ] {
                let mut sampler = Sampler::new(&distribution, count, seed, seed.wrapping_add(1));
                let mut random = Random::from_seed(seed);
                for _ in 0..200 {
                    prop_assert!(sampler.draw(&mut random) < count);
                }
            }
        }
    }
}
