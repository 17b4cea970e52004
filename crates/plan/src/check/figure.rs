//! Figures that results are held against, with their units.
//!
//! A latency and a bandwidth have a unit in a plan, also a limit of 0: `at_most: 2` on a latency would be 2 ns, which
//! nobody means, and a requirement that nothing can keep looks like a slow array.

use super::Checker;
use crate::quantity::Quantity;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};

/// Units of a bandwidth: decimal as drives and links are sold, binary as memory is.
const BYTES_PER_S: [(&str, f64); 9] = [
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gb/s", 1e9),
    ("tb/s", 1e12),
    ("kib/s", 1024.0),
    ("mib/s", 1_048_576.0),
    ("gib/s", 1_073_741_824.0),
    ("tib/s", 1_099_511_627_776.0),
];

impl Checker<'_> {
    /// A figure in the quantity's unit: nanoseconds, bytes a second, or a plain number.
    pub(super) fn figure(&self, quantity: Quantity, text: &Located<String>) -> Result<f64, PlanError> {
        let written = text.value.trim();
        let bare = written.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let value = if quantity.is_latency() {
            if bare.is_some() {
                return Err(self.without_unit(text, "latency", "ms"));
            }
            units::parse_nanos(written).ok().map(|nanos| nanos as f64)
        } else if quantity.is_bandwidth() {
            if bare.is_some() {
                return Err(self.without_unit(text, "bandwidth", "MB/s"));
            }
            parse_bandwidth(written)
        } else {
            bare
        };
        value.ok_or_else(|| {
            let message = format!("`{}` is not a figure of 0 or more", text.value);
            let hint = match quantity {
                quantity if quantity.is_latency() => "a latency with its unit: 90us, 1.5ms",
                quantity if quantity.is_bandwidth() => {
                    "a bandwidth with its unit: 800MB/s, 1.5GB/s, 760MiB/s"
                }
                _ => "a number: 100000, 1e5",
            };
            self.error(Kind::OutOfRange, text.place, message).with_hint(hint)
        })
    }

    /// A bound on latency that is above 0.
    pub(super) fn latency_bound(&self, text: &Located<String>) -> Result<u64, PlanError> {
        if text.value.trim().parse::<f64>().is_ok() {
            return Err(self.without_unit(text, "latency", "ms"));
        }
        match units::parse_nanos(&text.value) {
            Ok(0) => Err(self.error(Kind::OutOfRange, text.place, "the bound must be above 0")),
            Ok(latency_ns) => Ok(latency_ns),
            Err(error) => Err(self.error(Kind::WrongType, text.place, error.to_string())),
        }
    }

    fn without_unit(&self, text: &Located<String>, what: &str, unit: &str) -> PlanError {
        let written = text.value.trim();
        self.error(Kind::WrongType, text.place, format!("`{written}` is a {what} without a unit"))
            .with_hint(format!("did you mean `{written}{unit}`?"))
    }
}

/// Bytes a second of `800MB/s`.
fn parse_bandwidth(text: &str) -> Option<f64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    // The `e` of 8e8 belongs to the number.
    let exponent = text[split..]
        .strip_prefix(['e', 'E'])
        .map(|rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()) + 1);
    let (number, unit) = text.split_at(split + exponent.unwrap_or(0));
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, factor) = BYTES_PER_S.iter().find(|(known, _)| *known == unit)?;
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::parse_bandwidth;

    /// Proves that decimal and binary units of a bandwidth are told apart, and that anything else is none.
    #[test]
    fn bandwidths_have_units() {
        for (text, value) in [
            ("800MB/s", 8e8),
            ("1.5 GB/s", 1.5e9),
            ("760MiB/s", 760.0 * 1_048_576.0),
            ("8e8B/s", 8e8),
            ("0MB/s", 0.0),
        ] {
            assert_eq!(parse_bandwidth(text), Some(value), "{text}");
        }
        for text in ["800", "800M", "MB/s", "-1MB/s", "1e999GB/s", "8e", "5ms", "1.2.3MB/s", ""] {
            assert_eq!(parse_bandwidth(text), None, "{text}");
        }
    }
}
