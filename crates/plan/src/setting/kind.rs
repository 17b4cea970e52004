//! The types of settings: how each is read, and its JSON Schema.

use super::{processors, shape};
use schemars::json_schema;
use serde_json::Value;
use units::{parse_bytes, parse_nanos};

/// Kind of a setting's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// Bytes; read as fio reads them (`4k` is 4096), kept as a number of bytes.
    Size {
        /// Smallest value.
        least_bytes: u64,
        /// Largest value.
        most_bytes: u64,
        /// Every value is a multiple of this.
        multiple_of_bytes: u64,
    },
    /// A time; read as fio reads it (`5m`, a bare number is seconds), kept as seconds.
    Duration {
        /// Smallest value.
        least_ns: u64,
    },
    /// A whole number.
    Count {
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// A share in percent, 0 to 100.
    Percent,
    /// One of a few numbers.
    Choice(&'static [u64]),
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A name that whatever is tested knows: letters, digits and `._-`.
    Name,
    /// fio's boolean, 0 or 1; `true` and `false` are read as well.
    Flag,
    /// `on` or `off`; `true` and `false` are read as well.
    Switch,
    /// A number above zero, with or without a fraction.
    Rate {
        /// Largest value.
        most: u64,
    },
    /// Bytes, or a share of a range in percent (`200%`): kept as a number, or as a text with `%`.
    Amount,
    /// A share of a rate in whole percents, or `max`.
    RateShare,
    /// Value of a kernel attribute file: a whole number, kept as one, or a text.
    Attribute,
    /// Block sizes with their shares, as fio's `bssplit`; kept as a text with sizes in bytes.
    SizeMix,
    /// Distribution of random addresses, as fio's `random_distribution`; kept as a text.
    Distribution,
    /// Processors, as fio's `cpus_allowed`; kept as a text.
    Processors,
}

/// Reason why a text is no value of a setting.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    /// It is no size or duration; the message quotes it.
    #[error(transparent)]
    Quantity(#[from] units::UnitError),
    /// It is none of the values that are taken.
    #[error("must be {0}")]
    MustBe(String),
}

impl ValueError {
    /// Message of the reader of quantities, or the values that are taken.
    pub(crate) fn reason(self) -> String {
        match self {
            ValueError::Quantity(error) => error.to_string(),
            ValueError::MustBe(taken) => taken,
        }
    }
}

/// The largest share of an [`SettingKind::Amount`], in percent.
const AMOUNT_PERCENT_LIMIT: u64 = 10_000;
/// The largest [`SettingKind::RateShare`], in percent.
const RATE_SHARE_LIMIT: u64 = 1_000;
/// The longest text of an [`SettingKind::Attribute`].
const ATTRIBUTE_CHARS_LIMIT: usize = 256;
/// The longest name that a setting of kind [`SettingKind::Name`] takes.
const NAME_CHARS_LIMIT: usize = 64;

impl SettingKind {
    /// Reads a value; the error says what would have been one.
    pub(crate) fn parse(self, text: &str) -> Result<Value, ValueError> {
        let text = text.trim();
        match self {
            SettingKind::Size { least_bytes, most_bytes, multiple_of_bytes } => {
                let bytes = parse_bytes(text)?;
                let fits =
                    (least_bytes..=most_bytes).contains(&bytes) && bytes.is_multiple_of(multiple_of_bytes);
                if fits { Ok(bytes.into()) } else { Err(self.not_taken()) }
            }
            SettingKind::Duration { least_ns } => {
                let nanos = parse_nanos(text)?;
                if nanos < least_ns {
                    return Err(self.not_taken());
                }
                serde_json::to_value(units::Nanos(nanos)).map_err(|_| self.not_taken())
            }
            SettingKind::Count { least, most } => self.whole(text, |n| (least..=most).contains(&n)),
            SettingKind::Percent => self.whole(text, |n| n <= 100),
            SettingKind::Choice(choices) => self.whole(text, |n| choices.contains(&n)),
            SettingKind::Word(words) => {
                let lower = text.to_ascii_lowercase();
                // fio's other name for mixed sequential load.
                let lower = if lower == "readwrite" { "rw".to_owned() } else { lower };
                if words.contains(&lower.as_str()) { Ok(lower.into()) } else { Err(self.not_taken()) }
            }
            SettingKind::Name => {
                let is_name_char = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                let fits =
                    !text.is_empty() && text.len() <= NAME_CHARS_LIMIT && text.chars().all(is_name_char);
                if fits { Ok(text.into()) } else { Err(self.not_taken()) }
            }
            SettingKind::Flag => match text {
                "1" | "true" => Ok(1.into()),
                "0" | "false" => Ok(0.into()),
                _ => Err(self.not_taken()),
            },
            SettingKind::Switch => match text {
                "on" | "true" => Ok("on".into()),
                "off" | "false" => Ok("off".into()),
                _ => Err(self.not_taken()),
            },
            SettingKind::Rate { most } => {
                let rate: f64 = text.parse().map_err(|_| self.not_taken())?;
                if !(rate > 0.0 && rate <= most as f64) {
                    return Err(self.not_taken());
                }
                // A whole number stays one in JSON, so that `1e5` and `100000` are the same value.
                Ok(if rate.fract() == 0.0 { (rate as u64).into() } else { rate.into() })
            }
            SettingKind::RateShare => match text.parse::<u64>() {
                Ok(percent) if (1..=RATE_SHARE_LIMIT).contains(&percent) => Ok(percent.into()),
                _ if text == "max" => Ok(text.into()),
                _ => Err(self.not_taken()),
            },
            SettingKind::Amount => {
                let Some(share) = text.strip_suffix('%') else {
                    let bytes = parse_bytes(text)?;
                    let fits = bytes > 0 && bytes.is_multiple_of(512);
                    return if fits { Ok(bytes.into()) } else { Err(self.not_taken()) };
                };
                match share.trim().parse::<u64>() {
                    Ok(percent) if (1..=AMOUNT_PERCENT_LIMIT).contains(&percent) => {
                        Ok(format!("{percent}%").into())
                    }
                    _ => Err(self.not_taken()),
                }
            }
            SettingKind::SizeMix => {
                let sizes = shape::parse_sizes(text).ok_or_else(|| self.not_taken())?;
                Ok(shape::print_sizes(&sizes).into())
            }
            SettingKind::Distribution => {
                let spread = shape::parse_distribution(text).ok_or_else(|| self.not_taken())?;
                Ok(shape::print_distribution(&spread).into())
            }
            SettingKind::Processors => {
                let numbers = processors::parse_processors(text).ok_or_else(|| self.not_taken())?;
                Ok(processors::print(&numbers).into())
            }
            SettingKind::Attribute => {
                let fits = (1..=ATTRIBUTE_CHARS_LIMIT).contains(&text.chars().count())
                    && !text.chars().any(|c| c.is_control() || c == ',');
                if !fits {
                    return Err(self.not_taken());
                }
                // `0644` is a text: it would not be printed as it was read.
                match text.parse::<u64>() {
                    Ok(number) if number.to_string() == text => Ok(number.into()),
                    _ => Ok(text.into()),
                }
            }
        }
    }

    fn whole(self, text: &str, allowed: impl Fn(u64) -> bool) -> Result<Value, ValueError> {
        match text.parse::<u64>() {
            Ok(number) if allowed(number) => Ok(number.into()),
            _ => Err(self.not_taken()),
        }
    }

    fn not_taken(self) -> ValueError {
        ValueError::MustBe(self.must_be())
    }

    /// The values that are taken, to complete "must be …".
    pub fn must_be(self) -> String {
        match self {
            SettingKind::Size { least_bytes, most_bytes, multiple_of_bytes } => {
                let step = match multiple_of_bytes {
                    1 => "a size".to_owned(),
                    step => format!("a multiple of {step}"),
                };
                match (least_bytes, most_bytes) {
                    (0, units::BYTES_LIMIT) => step,
                    (least, units::BYTES_LIMIT) => format!("{step}, at least {}", units::Bytes(least)),
                    (least, most) => format!("{step}, {} to {}", units::Bytes(least), units::Bytes(most)),
                }
            }
            SettingKind::Duration { least_ns: 0 } => "a duration".to_owned(),
            SettingKind::Duration { .. } => "a duration above 0".to_owned(),
            SettingKind::Count { least, most } => format!("a whole number, {least} to {most}"),
            SettingKind::Percent => "a whole number of percent, 0 to 100".to_owned(),
            SettingKind::Choice(choices) => {
                let texts: Vec<String> = choices.iter().map(u64::to_string).collect();
                format!("one of {}", texts.join(", "))
            }
            SettingKind::Word(words) => format!("one of {}", words.join(", ")),
            SettingKind::Name => {
                format!("a name of letters, digits and `._-`, at most {NAME_CHARS_LIMIT} characters")
            }
            SettingKind::Flag => "0 or 1".to_owned(),
            SettingKind::Switch => "on or off".to_owned(),
            SettingKind::Rate { most } => {
                format!("a number above 0, at most {}", units::with_thousands(most))
            }
            SettingKind::Amount => {
                format!("a multiple of 512 above 0, or a share, 1% to {AMOUNT_PERCENT_LIMIT}%")
            }
            SettingKind::RateShare => format!("`max`, or 1 to {RATE_SHARE_LIMIT} percent of it"),
            SettingKind::SizeMix => shape::SIZES_MUST_BE.to_owned(),
            SettingKind::Distribution => shape::DISTRIBUTION_MUST_BE.to_owned(),
            SettingKind::Processors => processors::MUST_BE.to_owned(),
            SettingKind::Attribute => format!(
                "a number or a text without commas and control characters, at most {ATTRIBUTE_CHARS_LIMIT} characters"
            ),
        }
    }

    /// The JSON Schema of a value in a plan.
    pub(crate) fn schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        match self {
            SettingKind::Size { .. } => generator.subschema_for::<units::Bytes>(),
            SettingKind::Duration { .. } => generator.subschema_for::<units::Nanos>(),
            SettingKind::Count { least, most } => {
                json_schema!({ "type": "integer", "minimum": least, "maximum": most })
            }
            SettingKind::Percent => json_schema!({ "type": "integer", "minimum": 0, "maximum": 100 }),
            SettingKind::Choice(choices) => json_schema!({ "enum": choices }),
            SettingKind::Word(words) => json_schema!({ "enum": words }),
            SettingKind::Name => json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" }),
            SettingKind::Flag => json_schema!({ "enum": [0, 1, true, false] }),
            SettingKind::Switch => json_schema!({ "enum": ["on", "off", true, false] }),
            SettingKind::Rate { most } => {
                json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": most })
            }
            SettingKind::Amount | SettingKind::RateShare | SettingKind::Processors => {
                json_schema!({ "type": ["integer", "string"] })
            }
            SettingKind::SizeMix | SettingKind::Distribution => json_schema!({ "type": "string" }),
            SettingKind::Attribute => json_schema!({ "type": ["integer", "string", "boolean"] }),
        }
    }

    /// The word for the kind in the documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SettingKind::Size { .. } => "size",
            SettingKind::Duration { .. } => "duration",
            SettingKind::Count { .. } => "count",
            SettingKind::Percent => "percent",
            SettingKind::Choice(_) => "choice",
            SettingKind::Word(_) => "word",
            SettingKind::Name => "name",
            SettingKind::Flag => "flag",
            SettingKind::Switch => "switch",
            SettingKind::Rate { .. } => "rate",
            SettingKind::Amount => "amount",
            SettingKind::RateShare => "rate share",
            SettingKind::Attribute => "attribute",
            SettingKind::SizeMix => "sizes",
            SettingKind::Distribution => "distribution",
            SettingKind::Processors => "processors",
        }
    }
}
