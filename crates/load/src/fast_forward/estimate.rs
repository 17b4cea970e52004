//! Estimates from batches of equal length: means, how sure they are, and trends.

/// Halves that differ by so many standard deviations differ by more than chance.
const TREND_SIGMAS: f64 = 3.0;

/// Estimate of one quantity from batches.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Estimate {
    pub mean: f64,
    /// Standard deviation of a batch as a share of the mean, neighbours that go together counted in.
    pub deviation: f64,
    pub batches: usize,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Estimate {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 || mean <= 0.0 {
            return Estimate { mean, deviation: 0.0, batches: values.len() };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let neighbours =
            values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / (count - 1.0);
        // An autoregressive process of the first order has (1 + r) / (1 - r) times the variance of independent batches in its mean.
        let together = if variance > 0.0 { (neighbours / variance).clamp(0.0, 0.7) } else { 0.0 };
        let inflated = variance * (1.0 + together) / (1.0 - together);
        Estimate { mean, deviation: inflated.sqrt() / mean, batches: values.len() }
    }

    /// Returns the half-width of the mean's 95 % confidence interval, as a share of the mean.
    pub fn half_width(&self) -> f64 {
        student_975(self.batches) * self.deviation / (self.batches.max(1) as f64).sqrt()
    }
}

/// Returns the factor by which the confidence interval from so few batches is wider than that from many.
pub(super) fn wider(batches: usize) -> f64 {
    student_975(batches) / 1.96
}

/// Returns the 97.5 % quantile of Student's distribution for the mean of `count` values.
pub(super) fn student_975(count: usize) -> f64 {
    const QUANTILES: [f64; 15] =
        [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13];
    QUANTILES[count.clamp(2, 16) - 2]
}

/// Returns the number of the value, at most `most`, from which on the standard error of the mean is smallest.
pub(super) fn surest_from(values: &[f64], most: usize) -> usize {
    let error = |first: usize| {
        let rest = &values[first..];
        Moments::of(rest).variance / rest.len() as f64
    };
    let all = error(0);
    // By chance alone a few values fewer are often a little surer.
    (1..=most)
        .filter(|&first| error(first) < all / 2.0)
        .min_by(|&a, &b| error(a).total_cmp(&error(b)))
        .unwrap_or(0)
}

/// Returns true if the means of the two halves differ by more than chance and by more than a share.
pub(super) fn differ(values: &[f64], share: f64) -> bool {
    let (first, last) = values.split_at(values.len() / 2);
    let (before, after) = (Moments::of(first), Moments::of(last));
    let mean = (before.mean + after.mean) / 2.0;
    let chance = (before.variance / first.len() as f64 + after.variance / last.len() as f64).sqrt();
    let difference = (after.mean - before.mean).abs();
    difference > share * mean && difference > TREND_SIGMAS * chance
}

/// Mean and variance of values.
pub(super) struct Moments {
    pub mean: f64,
    pub variance: f64,
}

impl Moments {
    pub fn of(values: &[f64]) -> Moments {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Moments { mean, variance: squares / (count - 1.0).max(1.0) }
    }
}
