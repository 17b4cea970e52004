//! Student's t distribution, by the regularised incomplete beta function.

/// The two-sided probability of a |t| at least this large: I(ν ÷ (ν + t²); ν/2, 1/2).
pub fn t_two_sided_p(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The probability of an F at least this large (Fisher and Snedecor): I(ν₂ ÷ (ν₂ + ν₁·F); ν₂/2, ν₁/2).
pub fn f_upper_p(f: f64, freedom: (f64, f64)) -> f64 {
    if !f.is_finite() {
        return 0.0;
    }
    incomplete_beta(freedom.1 / 2.0, freedom.0 / 2.0, freedom.1 / (freedom.1 + freedom.0 * f))
}

/// The |t| that is exceeded with probability 1 − `confidence`, by bisection.
pub fn t_quantile(confidence: f64, freedom: f64) -> f64 {
    let wanted = 1.0 - confidence;
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if t_two_sided_p(middle, freedom) > wanted { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// I(x; a, b), by its continued fraction (Abramowitz and Stegun 26.5.8), evaluated from the front by Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast below the mean of the distribution; above it, the other tail is taken.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    libm::exp(front) / (a * fraction(a, b, x))
}

/// 1 + d₁/(1 + d₂/(1 + …)), whose reciprocal is the continued fraction.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TERMS_LIMIT: u32 = 1000;
    let floor = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut value, mut above, mut below) = (1.0, 1.0, 0.0);
    for term in 1..=TERMS_LIMIT {
        let m = f64::from(term / 2);
        let d = if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        below = 1.0 / floor(1.0 + d * below);
        above = floor(1.0 + d / above);
        let step = above * below;
        value *= step;
        if (step - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves quantiles against a printed table of Student's t.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (confidence, freedom, t) in [
            (0.95, 1.0, 12.706),
            (0.95, 4.0, 2.776),
            (0.95, 19.0, 2.093),
            (0.99, 19.0, 2.861),
            (0.99, 38.0, 2.712),
            (0.999, 10.0, 4.587),
            (0.95, 1e6, 1.960),
        ] {
            assert!((t_quantile(confidence, freedom) - t).abs() < 6e-4, "{confidence} {freedom}");
            assert!((t_two_sided_p(t, freedom) - (1.0 - confidence)).abs() < 5e-5, "{confidence} {freedom}");
        }
    }
}
