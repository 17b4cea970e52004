//! Sizes in bytes, as fio writes them.

use crate::UnitError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// No size in a plan or an array may exceed this: 8 EiB − 1, the largest file offset of Linux.
pub const BYTES_LIMIT: u64 = i64::MAX as u64;

/// A number of bytes. Read from `4096`, `"4k"`, `"1m"`; serialised as a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const EXAMPLES: &str = "512, 4k, 64KiB, 1m, 12g, 2t";

/// Reads a size: digits, an optional fraction (`1.5g`), and one of fio's suffixes `b k m g t p`, with `b` or
/// `ib` after it, in either case. All are powers of 1024, as with fio's default `kb_base=1024`.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let malformed = || UnitError::Malformed { text: text.to_owned(), what: "size", examples: EXAMPLES };
    let too_large = || UnitError::TooLarge { text: text.to_owned(), limit: "8 EiB" };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, suffix) = trimmed.split_at(split);
    let suffix = suffix.trim_start().to_ascii_lowercase();
    let shift = match suffix.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
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
    let mut bytes = u128::from(whole) << shift;
    if !fraction_text.is_empty() {
        let numerator: u128 = fraction_text.parse().map_err(|_| malformed())?;
        let scaled = numerator << shift;
        let denominator = 10u128.pow(fraction_text.len() as u32);
        if shift == 0 {
            return Err(malformed());
        }
        bytes += scaled / denominator;
    }
    if bytes > u128::from(BYTES_LIMIT) { Err(too_large()) } else { Ok(bytes as u64) }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_bytes(text).map(Bytes)
    }
}

/// The shortest exact form in fio's suffixes: `4096` → `4k`, `1000` → `1000`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, suffix) in [(50, "p"), (40, "t"), (30, "g"), (20, "m"), (10, "k")] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{suffix}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a size in bytes, for example {EXAMPLES}")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Bytes, E> {
                if value > BYTES_LIMIT {
                    return Err(E::custom(format!("`{value}` is over the limit of 8 EiB")));
                }
                Ok(Bytes(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Bytes, E> {
                u64::try_from(value).map(Bytes).map_err(|_| E::custom(format!("`{value}` is below zero")))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Bytes, E> {
                parse_bytes(value).map(Bytes).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A size: bytes as a number, or a text with fio's suffixes (4k, 1m, 12g; powers of 1024)",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,9})?\\s*([bB]|[kKmMgGtTpP]([iI]?[bB])?)?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that every suffix of fio is a power of 1024 and that bad texts are refused.
    #[test]
    fn suffixes_are_powers_of_1024() {
        for (text, bytes) in [
            ("512", 512),
            ("4k", 4096),
            ("4KiB", 4096),
            ("64KB", 65536),
            ("1m", 1 << 20),
            ("1.5g", 3 << 29),
            ("2 t", 2 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "k", "4x", "1.", ".5k", "1.2.3k", "-4k", "1.5", "99999999999999999999", "9e", "9000p9"]
        {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
        assert!(matches!(parse_bytes("9000p"), Err(UnitError::TooLarge { .. })));
    }

    proptest! {
        /// Proves that what is printed reads back as the same number.
        #[test]
        fn printed_sizes_read_back(bytes in 0u64..=BYTES_LIMIT) {
            prop_assert_eq!(parse_bytes(&Bytes(bytes).to_string()), Ok(bytes));
        }

        /// Proves that no text makes the parser panic.
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_bytes(&text);
        }
    }
}
