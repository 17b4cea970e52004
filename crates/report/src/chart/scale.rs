//! Axes: ticks, labels and scaling.

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// The unit of its values; empty for a plain number.
    pub unit: String,
    /// Spacing of values.
    pub scale: Scale,
    /// Format of ticks.
    pub format: TickFormat,
}

/// Scale of an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from the smallest to the largest value.
    Linear,
    /// Evenly, from 0.
    LinearFromZero,
    /// By powers of two: block sizes, jobs, depths.
    Log2,
    /// By powers of ten.
    Log10,
    /// Names without an order between them: groups of bars.
    Categories(Vec<String>),
}

/// Format of tick values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickFormat {
    /// `250`, `1,200`, `0.5`; thousands as `250k`, millions as `2.5M`.
    Number,
    /// Numbers of things of which there are no halves: runs, drives, jobs.
    Whole,
    /// fio's sizes: `4k`, `1m`.
    Bytes,
    /// The axis is in seconds and is written in seconds, minutes or hours, whichever suits its length.
    Seconds,
}

impl Axis {
    /// Label and unit together.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, self.unit) }
    }

    /// One value, as a table writes it.
    pub fn value_text(&self, value: f64) -> String {
        if let Scale::Categories(names) = &self.scale {
            return names.get(value as usize).cloned().unwrap_or_default();
        }
        match self.format {
            TickFormat::Bytes if value >= 0.0 && value.fract() == 0.0 => {
                units::Bytes(value as u64).to_string()
            }
            _ => plain(value),
        }
    }
}

/// A number with the digits that matter: five significant, thousands grouped.
pub fn plain(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1000.0 {
        let whole = units::with_thousands(magnitude.round() as u64);
        return if value < 0.0 { format!("−{whole}") } else { whole };
    }
    let decimals = match magnitude {
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 => 3,
        m if m >= 0.1 => 4,
        _ => 5,
    };
    trimmed(&format!("{value:.decimals$}"))
}

fn trimmed(text: &str) -> String {
    let kept = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if kept == "-0" || kept.is_empty() { "0".to_owned() } else { kept.replace('-', "−") }
}

/// An axis laid over a length: the values at its ends, and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    scale: Scale,
    low: f64,
    high: f64,
    /// Positions and texts, in growing order.
    pub ticks: Vec<(f64, String)>,
    /// The unit that ticks are written in, where it is not the axis's own.
    pub unit: String,
}

impl Fitted {
    /// Lays an axis over the values, with at most `tick_limit` ticks (at least 2).
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, tick_limit: usize) -> Self {
        let tick_limit = tick_limit.max(2);
        let is_log = matches!(axis.scale, Scale::Log2 | Scale::Log10);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!is_log || *value > 0.0)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 2.0);
        }
        let mut unit = axis.unit.clone();
        let ticks = match &axis.scale {
            Scale::Linear | Scale::LinearFromZero => {
                if axis.scale == Scale::LinearFromZero {
                    low = low.min(0.0);
                    high = high.max(0.0);
                }
                if high - low <= low.abs().max(high.abs()) * 1e-6 {
                    (low, high) = if high == 0.0 { (0.0, 1.0) } else { (low.min(0.0), high.max(0.0)) };
                }
                let (divisor, steps) = match axis.format {
                    TickFormat::Seconds => {
                        let (name, divisor) = time_unit(high);
                        name.clone_into(&mut unit);
                        (divisor, time_steps(divisor))
                    }
                    _ => (1.0, &[1.0, 2.0, 5.0, 10.0][..]),
                };
                let mut step = nice_step((high - low) / divisor, tick_limit, steps) * divisor;
                let is_whole =
                    axis.format == TickFormat::Whole && [low, high].iter().all(|end| end.fract() == 0.0);
                let allowed = |step: f64| if is_whole { libm::floor(step).max(1.0) } else { step };
                step = allowed(step);
                // A short axis far from 0 may hold but one multiple of the step.
                while axis.scale == Scale::Linear && linear_ticks(low, high, step).count() < 2 {
                    step = allowed(step / 2.0);
                }
                if axis.scale == Scale::LinearFromZero {
                    low = (low / step).floor() * step;
                    high = (high / step).ceil() * step;
                }
                linear_ticks(low, high, step)
                    .map(|value| (value, tick_text(axis.format, value / divisor, step / divisor)))
                    .collect()
            }
            Scale::Log2 => {
                let first = libm::floor(libm::log2(low) + 1e-9);
                let last = libm::ceil(libm::log2(high) - 1e-9).max(first + 1.0);
                (low, high) = (low.min(libm::exp2(last)), high.max(libm::exp2(first)));
                if high <= low * 1.000_001 {
                    (low, high) = (libm::exp2(first), libm::exp2(last));
                }
                let inside = |exponent: &f64| {
                    let value = libm::exp2(*exponent);
                    value >= low * 0.999_999 && value <= high * 1.000_001
                };
                let count = (last - first) as usize + 1;
                let every = count.div_ceil(tick_limit);
                let mut exponents: Vec<f64> =
                    (0..count).step_by(every).map(|i| first + i as f64).filter(inside).collect();
                if exponents.len() < 2 {
                    (low, high) = (libm::exp2(first), libm::exp2(last));
                    exponents = vec![first, last];
                }
                exponents
                    .into_iter()
                    .map(libm::exp2)
                    .map(|value| (value, tick_text(axis.format, value, value)))
                    .collect()
            }
            Scale::Log10 => {
                let steps = one_two_fives(low, high);
                (low, high) = (steps[0], steps[steps.len() - 1]);
                let decades: Vec<f64> =
                    steps.iter().copied().filter(|value| is_power_of_ten(*value)).collect();
                let chosen = if steps.len() <= tick_limit || decades.len() < 2 { steps } else { decades };
                let every = chosen.len().div_ceil(tick_limit.max(3));
                chosen
                    .into_iter()
                    .step_by(every)
                    .map(|value| (value, tick_text(axis.format, value, value)))
                    .collect()
            }
            Scale::Categories(names) => {
                (low, high) = (-0.5, names.len() as f64 - 0.5);
                names.iter().enumerate().map(|(index, name)| (index as f64, name.clone())).collect()
            }
        };
        Fitted { scale: axis.scale.clone(), low, high, ticks, unit }
    }

    /// Position of a value: 0 at the low end, 1 at the high end. `None` where it cannot be shown.
    pub fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Log2 | Scale::Log10 if value <= 0.0 => return None,
            Scale::Log2 | Scale::Log10 => {
                (libm::log2(value) - libm::log2(self.low)) / (libm::log2(self.high) - libm::log2(self.low))
            }
            _ => (value - self.low) / (self.high - self.low),
        };
        share.is_finite().then_some(share)
    }
}

/// The smallest of `steps` × a power of ten that needs no more than `tick_limit` ticks.
fn nice_step(span: f64, tick_limit: usize, steps: &[f64]) -> f64 {
    let raw = span / (tick_limit - 1) as f64;
    let largest = steps[steps.len() - 1];
    let fits = |step: f64| step >= raw * 0.999_999_999;
    if raw >= 1.0 || largest <= 10.0 {
        let power = if largest <= 10.0 { libm::pow(10.0, libm::floor(libm::log10(raw))) } else { 1.0 };
        if let Some(step) = steps.iter().map(|step| step * power).find(|step| fits(*step)) {
            return step;
        }
    }
    // Below one unit, or above the listed steps: decimal steps.
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    [1.0, 2.0, 5.0, 10.0].iter().map(|step| step * power).find(|step| fits(*step)).unwrap_or(10.0 * power)
}

fn linear_ticks(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = libm::ceil(low / step - 1e-9);
    let last = libm::floor(high / step + 1e-9);
    (0..(last - first + 1.0).max(0.0) as usize).map(move |index| (first + index as f64) * step)
}

/// The unit that an axis of so many seconds is written in, and its length in seconds.
fn time_unit(longest_s: f64) -> (&'static str, f64) {
    match longest_s {
        s if s > 6.0 * 3600.0 => ("h", 3600.0),
        s if s > 240.0 => ("min", 60.0),
        s if s < 0.5 => ("ms", 0.001),
        _ => ("s", 1.0),
    }
}

fn time_steps(divisor: f64) -> &'static [f64] {
    match divisor {
        d if d >= 3600.0 => &[1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0],
        d if d >= 1.0 => &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0],
        _ => &[1.0, 2.0, 5.0, 10.0],
    }
}

/// 1, 2, 5 × powers of ten, from the last at or below `low` to the first at or above `high`; at least two.
fn one_two_fives(low: f64, high: f64) -> Vec<f64> {
    let mut exponent = libm::floor(libm::log10(low)) as i32 - 1;
    let mut values = Vec::new();
    loop {
        for mantissa in [1.0, 2.0, 5.0] {
            let value = mantissa * libm::pow(10.0, f64::from(exponent));
            if value <= low * 1.000_000_001 {
                values.clear();
            }
            values.push(value);
            if value >= high * 0.999_999_999 && values.len() > 1 {
                return values;
            }
        }
        exponent += 1;
    }
}

fn is_power_of_ten(value: f64) -> bool {
    let exponent = libm::log10(value);
    (exponent - libm::round(exponent)).abs() < 1e-9
}

/// The text of a tick; `step` decides how many digits tell it from its neighbours.
fn tick_text(format: TickFormat, value: f64, step: f64) -> String {
    if format == TickFormat::Bytes && value >= 1.0 && value.fract() == 0.0 {
        return units::Bytes(value as u64).to_string();
    }
    let (scaled, step, suffix) = match value.abs().max(step) {
        m if m >= 1e9 => (value / 1e9, step / 1e9, "G"),
        m if m >= 1e6 => (value / 1e6, step / 1e6, "M"),
        m if m >= 1e4 => (value / 1e3, step / 1e3, "k"),
        _ => (value, step, ""),
    };
    if scaled == 0.0 {
        return "0".to_owned();
    }
    let decimals = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 9.0) as usize;
    let number = if scaled.abs() >= 1000.0 && decimals == 0 {
        units::with_thousands(scaled.abs().round() as u64)
    } else {
        trimmed(&format!("{:.decimals$}", scaled.abs()))
    };
    format!("{}{number}{suffix}", if scaled < 0.0 { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis(scale: Scale, format: TickFormat) -> Axis {
        Axis { label: "x".into(), unit: String::new(), scale, format }
    }

    fn texts(scale: Scale, format: TickFormat, values: &[f64], limit: usize) -> Vec<String> {
        Fitted::new(&axis(scale, format), values.iter().copied(), limit)
            .ticks
            .into_iter()
            .map(|tick| tick.1)
            .collect()
    }

    /// Proves that ticks fall where a person would put them.
    #[test]
    fn ticks_are_round() {
        assert_eq!(
            texts(Scale::LinearFromZero, TickFormat::Number, &[507_724.0], 7),
            ["0", "100k", "200k", "300k", "400k", "500k", "600k"]
        );
        assert_eq!(
            texts(Scale::LinearFromZero, TickFormat::Number, &[0.43], 6),
            ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
        assert_eq!(
            texts(Scale::Log2, TickFormat::Bytes, &[4096.0, 131_072.0], 8),
            ["4k", "8k", "16k", "32k", "64k", "128k"]
        );
        assert_eq!(
            texts(Scale::Log10, TickFormat::Number, &[0.7, 40.0], 8),
            ["0.5", "1", "2", "5", "10", "20", "50"]
        );
        assert_eq!(
            texts(Scale::Linear, TickFormat::Number, &[0.0, 100.0], 6),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(texts(Scale::Linear, TickFormat::Whole, &[1.0, 2.0], 6), ["1", "2"]);
        assert_eq!(texts(Scale::Linear, TickFormat::Whole, &[1.0, 4.0], 2), ["2", "4"]);
        assert_eq!(texts(Scale::LinearFromZero, TickFormat::Whole, &[3.0], 7), ["0", "1", "2", "3"]);
        assert_eq!(texts(Scale::Linear, TickFormat::Seconds, &[0.0, 60.0], 5), ["0", "15", "30", "45", "60"]);
        assert_eq!(
            texts(Scale::Linear, TickFormat::Seconds, &[0.0, 2400.0], 5),
            ["0", "10", "20", "30", "40"]
        );
        assert_eq!(
            texts(Scale::Linear, TickFormat::Seconds, &[0.0, 10_800.0], 7),
            ["0", "30", "60", "90", "120", "150", "180"]
        );
    }

    fn any_scale() -> impl Strategy<Value = Scale> {
        prop_oneof![Just(Scale::Linear), Just(Scale::LinearFromZero), Just(Scale::Log2), Just(Scale::Log10)]
    }

    fn any_format() -> impl Strategy<Value = TickFormat> {
        prop_oneof![
            Just(TickFormat::Number),
            Just(TickFormat::Whole),
            Just(TickFormat::Bytes),
            Just(TickFormat::Seconds)
        ]
    }

    proptest! {
        /// Proves that ticks grow along every axis, keep their distance, stay within it, and say different things.
        #[test]
        fn ticks_grow(
            scale in any_scale(),
            format in any_format(),
            values in proptest::collection::vec(1e-6f64..1e12, 0..20),
            limit in 2usize..12,
        ) {
            let fitted = Fitted::new(&axis(scale.clone(), format), values.iter().copied(), limit);
            prop_assert!(fitted.ticks.len() >= 2, "{fitted:?}");
            prop_assert!(fitted.ticks.len() <= limit.max(3) + 1, "{} ticks for {limit}", fitted.ticks.len());
            for pair in fitted.ticks.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0);
                prop_assert_ne!(&pair[0].1, &pair[1].1);
            }
            for (value, _) in &fitted.ticks {
                let share = fitted.share(*value).unwrap();
                prop_assert!((-1e-6..=1.000_001).contains(&share), "{share}");
            }
            for value in values {
                let share = fitted.share(value).unwrap();
                prop_assert!((-1e-6..=1.000_001).contains(&share), "{value} at {share}");
            }
        }

        /// Proves that positions keep the order of values.
        #[test]
        fn positions_keep_order(scale in any_scale(), mut values in proptest::collection::vec(1e-3f64..1e9, 2..20)) {
            values.sort_unstable_by(f64::total_cmp);
            let fitted = Fitted::new(&axis(scale, TickFormat::Number), values.iter().copied(), 6);
            for pair in values.windows(2) {
                prop_assert!(fitted.share(pair[0]) <= fitted.share(pair[1]));
            }
        }
    }
}
