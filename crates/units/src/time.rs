//! Durations and moments in integer nanoseconds.

use crate::UnitError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// No duration in a plan or an array may exceed this: 1,000 days.
pub const TIME_LIMIT_NS: u64 = 1_000 * 86_400 * NANOS_PER_SECOND;

const EXAMPLES: &str = "60, 2.5, 500ms, 5m, 2h, 1d";

/// A duration, or a moment since the start of a run, in nanoseconds. Read from seconds (`60`, `2.5`) or a text
/// (`"5m"`); serialised as seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A whole number of seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Nanos(seconds * NANOS_PER_SECOND)
    }

    /// Returns the time in seconds, for printing and rates, never for ordering events.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }
}

/// Reads a duration with fio's suffixes `d h m s ms us ns`; a bare number is seconds.
pub fn parse_nanos(text: &str) -> Result<u64, UnitError> {
    let malformed = || UnitError::Malformed { text: text.to_owned(), what: "duration", examples: EXAMPLES };
    let too_large = || UnitError::TooLarge { text: text.to_owned(), limit: "1,000 days" };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, suffix) = trimmed.split_at(split);
    let unit_ns: u128 = match suffix.trim_start().to_ascii_lowercase().as_str() {
        "d" => 86_400_000_000_000,
        "h" => 3_600_000_000_000,
        "m" | "min" => 60_000_000_000,
        "" | "s" | "sec" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" => 1_000,
        "ns" | "nsec" => 1,
        _ => return Err(malformed()),
    };
    let (whole_text, fraction_text) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() && !fraction.contains('.') => (whole, fraction),
        Some(_) => return Err(malformed()),
        None => (number, ""),
    };
    if whole_text.is_empty() || fraction_text.len() > 9 {
        return Err(malformed());
    }
    let whole: u64 = whole_text.parse().map_err(|_| too_large())?;
    let mut nanos = u128::from(whole) * unit_ns;
    if !fraction_text.is_empty() {
        let numerator: u128 = fraction_text.parse().map_err(|_| malformed())?;
        nanos += numerator * unit_ns / 10u128.pow(fraction_text.len() as u32);
    }
    if nanos > u128::from(TIME_LIMIT_NS) { Err(too_large()) } else { Ok(nanos as u64) }
}

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_nanos(text).map(Nanos)
    }
}

/// The largest unit that is exact: `300 s` → `5m`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 7] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (unit_ns, suffix) in UNITS {
            if self.0.is_multiple_of(unit_ns) {
                return write!(f, "{}{suffix}", self.0 / unit_ns);
            }
        }
        unreachable!("every number is a multiple of one nanosecond")
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(NANOS_PER_SECOND) {
            serializer.serialize_u64(self.0 / NANOS_PER_SECOND)
        } else {
            serializer.serialize_f64(self.as_secs_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Nanos;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a duration in seconds or with a suffix, for example {EXAMPLES}")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Nanos, E> {
                parse_nanos(&value.to_string()).map(Nanos).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Nanos, E> {
                parse_nanos(&value.to_string()).map(Nanos).map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Nanos, E> {
                if !(value.is_finite() && value >= 0.0) {
                    return Err(E::custom(format!("`{value}` is not a duration")));
                }
                let nanos = (value * NANOS_PER_SECOND as f64).round();
                if nanos > TIME_LIMIT_NS as f64 {
                    return Err(E::custom(format!("`{value}` is over the limit of 1,000 days")));
                }
                Ok(Nanos(nanos as u64))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Nanos, E> {
                parse_nanos(value).map(Nanos).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Nanos {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A duration: seconds as a number, or a text with fio's suffixes (500ms, 60s, 5m, 2h, 1d)",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,9})?\\s*([dD]|[hH]|[mM](in)?|[sS](ec)?|ms(ec)?|us(ec)?|ns(ec)?)?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that a bare number is seconds, that suffixes are fio's, and that bad texts are refused.
    #[test]
    fn bare_numbers_are_seconds() {
        for (text, nanos) in [
            ("60", 60 * NANOS_PER_SECOND),
            ("2.5", 2_500_000_000),
            ("500ms", 500_000_000),
            ("5m", 300 * NANOS_PER_SECOND),
            ("2h", 7_200 * NANOS_PER_SECOND),
            ("10us", 10_000),
        ] {
            assert_eq!(parse_nanos(text), Ok(nanos), "{text}");
        }
        for text in ["", "s", "5 weeks", "1..2", "-1", "1e9"] {
            assert!(parse_nanos(text).is_err(), "{text}");
        }
        assert!(matches!(parse_nanos("1001d"), Err(UnitError::TooLarge { .. })));
    }

    proptest! {
        /// Proves that what is printed reads back as the same duration.
        #[test]
        fn printed_durations_read_back(nanos in 0u64..=TIME_LIMIT_NS) {
            prop_assert_eq!(parse_nanos(&Nanos(nanos).to_string()), Ok(nanos));
        }
    }
}
