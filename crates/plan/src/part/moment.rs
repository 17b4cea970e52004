//! Time within a case: a duration since counting began, or a share of the runtime.

use diagnostic::Problem;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};
use std::borrow::Cow;
use std::str::FromStr;

/// Time of an event within a case. A share keeps its place when a run is shortened by `--set runtime=…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Time after counting began.
    After {
        /// The time.
        time_ns: u64,
    },
    /// Share of the runtime.
    Share {
        /// Hundredths of a percent, 0 to 10,000.
        basis_points: u16,
    },
}

impl Moment {
    /// The time after counting began, in a case of this runtime.
    pub fn resolve(self, runtime_ns: u64) -> u64 {
        match self {
            Moment::After { time_ns } => time_ns,
            Moment::Share { basis_points } => {
                (u128::from(runtime_ns) * u128::from(basis_points) / 10_000) as u64
            }
        }
    }
}

impl FromStr for Moment {
    type Err = Problem;
    fn from_str(text: &str) -> Result<Self, Problem> {
        let Some(share) = text.trim().strip_suffix('%') else {
            return units::parse_nanos(text)
                .map(|time_ns| Moment::After { time_ns })
                .map_err(|error| format!("{error}, or a share of the runtime, for example 10%").into());
        };
        match share.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(Moment::Share { basis_points: (percent * 100.0).round() as u16 })
            }
            _ => Err(format!("`{}` is not a share of the runtime, 0% to 100%", text.trim()).into()),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A time since counting began (30m; a bare number is seconds), or a share of the runtime (10%)",
            "type": ["number", "string"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a share follows the runtime, that a time does not, and that other texts are refused.
    #[test]
    fn a_share_follows_the_runtime() {
        assert_eq!("10%".parse::<Moment>().map(|m| m.resolve(600)).ok(), Some(60));
        assert_eq!("12.5 %".parse::<Moment>().map(|m| m.resolve(8_000)).ok(), Some(1_000));
        assert_eq!("2m".parse::<Moment>().map(|m| m.resolve(7)).ok(), Some(120_000_000_000));
        assert_eq!("100%".parse::<Moment>().map(|m| m.resolve(u64::MAX)).ok(), Some(u64::MAX));
        for text in ["101%", "-1%", "%", "nan%", "soon", ""] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
