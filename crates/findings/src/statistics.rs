//! Statistics for findings: robust levels and noise, autocorrelation, Student's t.

mod student;

pub use student::{f_upper_p, t_quantile, t_two_sided_p};

/// The consistency factor of the median absolute deviation for normal noise: 1 ÷ Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The unbiased variance; 0 below two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (values.len() - 1) as f64
}

/// The median; 0 of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => values[n / 2 - 1].midpoint(values[n / 2]),
    }
}

/// The least and the largest of the middle half: without the lowest and the highest quarter of the values.
pub fn middle_half(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let left_out = values.len() / 4;
    let middle = &values[left_out..values.len() - left_out];
    Some([*middle.first()?, *middle.last()?])
}

/// The median absolute deviation from the median, scaled to a standard deviation.
pub fn robust_sigma(values: &[f64]) -> f64 {
    let middle = median(values.iter().copied());
    MAD_TO_SIGMA * median(values.iter().map(|value| (value - middle).abs()))
}

/// Noise of one value of a series whose level may move: from the differences of neighbours, in which a level shows
/// only where it changes. Independent noise of sigma gives differences of sigma·√2.
pub fn noise_sigma(series: &[f64]) -> f64 {
    let differences: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    MAD_TO_SIGMA * median(differences.iter().map(|value| value.abs())) / std::f64::consts::SQRT_2
}

/// Correlation of neighbours about the mean; 0 below four values or without variance.
pub fn autocorrelation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let all: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() < 4 || all <= 0.0 {
        return 0.0;
    }
    values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / all
}

/// Number of independent values that a series is worth: n·(1 − r) ÷ (1 + r) for first-order autocorrelation r (the variance
/// of a mean of an AR(1) series). Only a correlation that is beyond chance (two standard errors, 2 ÷ √n) counts, and
/// only a positive one: intervals that alternate do not make a mean surer than independent ones.
pub fn effective_count(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let r = autocorrelation(values);
    if n < 4.0 || r <= 2.0 / n.sqrt() {
        return n;
    }
    let r = r.min(0.99);
    (n * (1.0 - r) / (1.0 + r)).max(2.0)
}

/// Mean of a series with its standard error and degrees of freedom; `None` below two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error, adjusted for autocorrelation.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Estimate {
    /// The mean of a series.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        if values.len() < 2 {
            return None;
        }
        let count = effective_count(values);
        Some(Estimate {
            mean: mean(values),
            standard_error: (variance(values) / count).sqrt(),
            freedom: (count - 1.0).max(1.0),
        })
    }

    /// Its two-sided confidence interval.
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = t_quantile(confidence, self.freedom) * self.standard_error;
        [self.mean - half, self.mean + half]
    }

    /// The ratio of another mean to this, with its confidence interval by the delta method on logarithms and
    /// Welch–Satterthwaite's degrees of freedom; `None` where a mean is not above zero.
    pub fn ratio_to(&self, second: &Estimate, confidence: f64) -> Option<(f64, [f64; 2])> {
        if self.mean <= 0.0 || second.mean <= 0.0 {
            return None;
        }
        let parts = [self, second].map(|one| (one.standard_error / one.mean).powi(2));
        let variance = parts[0] + parts[1];
        let ratio = second.mean / self.mean;
        if variance <= 0.0 {
            return Some((ratio, [ratio, ratio]));
        }
        let freedom =
            variance * variance / (parts[0] * parts[0] / self.freedom + parts[1] * parts[1] / second.freedom);
        let half = t_quantile(confidence, freedom) * variance.sqrt();
        Some((ratio, [ratio * libm::exp(-half), ratio * libm::exp(half)]))
    }
}

/// Least-squares slope over 0, 1, 2, …
pub fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, mean(values));
    let (mut across, mut along) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - middle;
        across += x * (value - mean);
        along += x * x;
    }
    if along > 0.0 { across / along } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves the estimates on values worked out by hand.
    #[test]
    fn estimates_by_hand() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(variance(&[1.0, 2.0, 3.0, 4.0]), 5.0 / 3.0);
        assert_eq!(slope(&[1.0, 3.0, 5.0]), 2.0);
        assert!((robust_sigma(&[1.0, 2.0, 3.0, 4.0, 1000.0]) - MAD_TO_SIGMA).abs() < 1e-12);
        let estimate = Estimate::of(&[9.0, 11.0, 9.0, 11.0]).expect("four values");
        assert!((estimate.standard_error - (4.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        let [low, high] = estimate.interval(0.95);
        assert!((high - 10.0 - 3.182_446 * estimate.standard_error).abs() < 1e-5 && low < 10.0);
    }

    /// Proves that neighbours that hang together count for less, and independent ones in full.
    #[test]
    fn autocorrelation_lowers_the_count() {
        let drifting: Vec<f64> = (0..100).map(|n| f64::from(n / 20)).collect();
        assert!(effective_count(&drifting) < 10.0);
        let alternating: Vec<f64> = (0..100).map(|n| f64::from(n % 2)).collect();
        assert_eq!(effective_count(&alternating), 100.0);
    }
}
