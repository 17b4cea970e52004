//! Quantities as people write them: `128KiB`, `3.84TB`, `80us`, `3.2GB/s`, `7%`.

/// Rate of what takes no time.
pub const UNLIMITED: u64 = u64::MAX;

/// Unknown price, power or endurance.
pub const UNKNOWN: u64 = u64::MAX;

/// Word for [`UNKNOWN`].
const UNKNOWN_WORD: &str = "unknown";
/// Mark of an [`Endurance`] in drive writes a day; without it the number is bytes.
const PER_DAY: u64 = 1 << 63;
/// Bits of the years in an [`Endurance`] in drive writes a day.
const YEARS_BITS: u32 = 8;
/// Most drive writes a day, in thousandths: beyond what any data sheet states.
const DRIVE_WRITES_LIMIT: u64 = 1_000_000;
/// Most years of such a rating.
const RATED_YEARS_LIMIT: u64 = 20;
/// Largest rating in bytes: 2^62.
const RATED_BYTES_LIMIT: u64 = 1 << 62;
/// Days of a year of a rating.
const DAYS_PER_YEAR: f64 = 365.0;

/// Rated endurance of a drive, as its data sheet states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endurance {
    /// Bytes that may be written in all.
    Bytes(u64),
    /// Times its capacity that may be written each day for some years.
    DriveWrites {
        /// Thousandths of the capacity a day.
        per_day_thousandths: u64,
        /// Years.
        years: u64,
    },
}

impl Endurance {
    /// Reads `7PB` or `1DWPD/5y`; `None` where the text is neither.
    fn parse(text: &str) -> Option<Endurance> {
        let Some((per_day, years)) = text.split_once("DWPD/") else {
            let bytes = scaled(text, BYTE_UNITS, 1)?;
            return (1..=RATED_BYTES_LIMIT).contains(&bytes).then_some(Endurance::Bytes(bytes));
        };
        let per_day_thousandths = scaled_number(per_day.trim_end(), 1000, 1)?;
        let years = Kind::Count.parse(years.strip_suffix('y')?)?;
        let is_possible = (1..=DRIVE_WRITES_LIMIT).contains(&per_day_thousandths)
            && (1..=RATED_YEARS_LIMIT).contains(&years);
        is_possible.then_some(Endurance::DriveWrites { per_day_thousandths, years })
    }

    /// The rating that a parameter's number stands for; `None` for [`UNKNOWN`].
    pub fn of(value: u64) -> Option<Endurance> {
        match value {
            UNKNOWN => None,
            bytes if bytes & PER_DAY == 0 => Some(Endurance::Bytes(bytes)),
            marked => Some(Endurance::DriveWrites {
                per_day_thousandths: (marked & !PER_DAY) >> YEARS_BITS,
                years: marked & ((1 << YEARS_BITS) - 1),
            }),
        }
    }

    fn number(self) -> u64 {
        match self {
            Endurance::Bytes(bytes) => bytes,
            Endurance::DriveWrites { per_day_thousandths, years } => {
                PER_DAY | per_day_thousandths << YEARS_BITS | years
            }
        }
    }

    /// Bytes that may be written to a drive of this capacity.
    pub fn rated_bytes(self, capacity_bytes: u64) -> f64 {
        match self {
            Endurance::Bytes(bytes) => bytes as f64,
            Endurance::DriveWrites { per_day_thousandths, years } => {
                let writes = per_day_thousandths as f64 / 1000.0 * DAYS_PER_YEAR * years as f64;
                writes * capacity_bytes as f64
            }
        }
    }
}

/// Kind of quantity that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A size with its unit, in bytes.
    Bytes,
    /// A time with its unit, in nanoseconds.
    Time,
    /// A rate with its unit, in bytes a second.
    Rate,
    /// The same, or `unlimited`, which is [`UNLIMITED`].
    Limit,
    /// A percentage or a share of 1, in millionths.
    Share,
    /// `true` or `false`, `on` or `off`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An amount in US dollars, in cents, or `unknown`, which is [`UNKNOWN`].
    Dollars,
    /// Electrical power in watts, in milliwatts, or `unknown`.
    Power,
    /// An [`Endurance`], or `unknown`.
    Endurance,
    /// Any text.
    Text,
}

const BYTE_UNITS: &[(&str, u128)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
];

const TIME_UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Bits a second, in eighths of a byte.
const BIT_UNITS: &[(&str, u128)] =
    &[("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];

/// Digits behind the point that are read.
const FRACTION_DIGITS_LIMIT: usize = 9;

impl Kind {
    /// Describes the values that the key takes, for messages.
    pub fn takes(self) -> String {
        match self {
            Kind::Count => "a whole number, as `24`".into(),
            Kind::Bytes => "a size with its unit, as `128KiB` or `3.84TB`".into(),
            Kind::Time => "a time with its unit, as `80us`, `2.5ms` or `10s`".into(),
            Kind::Rate => "a rate with its unit, as `800MB/s` or `25Gbit/s`".into(),
            Kind::Limit => "a rate with its unit, as `800MB/s`, or `unlimited`".into(),
            Kind::Share => "a percentage, as `7%`".into(),
            Kind::Switch => "`true` or `false`".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Dollars => "an amount in US dollars, as `479.99`, or `unknown`".into(),
            Kind::Power => "watts, as `12.5`, or `unknown`".into(),
            Kind::Endurance => {
                "drive writes a day over years, as `1DWPD/5y`, bytes written, as `7PB`, or `unknown`".into()
            }
            Kind::Text => "a text".into(),
        }
    }

    /// Reads a value; `None` where the text is no such quantity.
    pub fn parse(self, text: &str) -> Option<u64> {
        let text = text.trim();
        match self {
            Kind::Count => {
                let digits: String = text.chars().filter(|c| *c != '_').collect();
                digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
            }
            Kind::Bytes | Kind::Time if text == "0" => Some(0),
            Kind::Bytes => scaled(text, BYTE_UNITS, 1),
            Kind::Time => scaled(text, TIME_UNITS, 1),
            Kind::Limit if text == "unlimited" => Some(UNLIMITED),
            Kind::Rate | Kind::Limit => match text.strip_suffix("/s") {
                Some(_) if BIT_UNITS.iter().any(|(unit, _)| ends_with_unit(text, unit)) => {
                    scaled(text, BIT_UNITS, 8)
                }
                Some(bytes) => scaled(bytes, BYTE_UNITS, 1),
                None => None,
            },
            Kind::Share => match text.strip_suffix('%') {
                Some(percent) => scaled_number(percent.trim_end(), 10_000, 1),
                None => scaled_number(text, 1_000_000, 1),
            },
            Kind::Switch => match text {
                "true" | "on" => Some(1),
                "false" | "off" => Some(0),
                _ => None,
            },
            Kind::Word(words) => words.iter().position(|word| *word == text).map(|index| index as u64),
            Kind::Dollars | Kind::Power | Kind::Endurance if text == UNKNOWN_WORD => Some(UNKNOWN),
            Kind::Dollars => scaled_number(text, 100, 1),
            Kind::Power => scaled_number(text, 1000, 1),
            Kind::Endurance => Endurance::parse(text).map(Endurance::number),
            Kind::Text => Some(0),
        }
    }

    /// Returns true if `unknown` is a value of it: the quantity is not simulated, only added up.
    pub fn may_be_unknown(self) -> bool {
        matches!(self, Kind::Dollars | Kind::Power | Kind::Endurance)
    }

    /// Prints a number so that `parse` reads exactly it again, with a smaller unit where it must be.
    pub fn print_exactly(self, value: u64) -> String {
        let printed = self.print(value, "");
        if self.parse(&printed) == Some(value) {
            return printed;
        }
        match self {
            Kind::Bytes | Kind::Endurance => format!("{value}B"),
            Kind::Time => format!("{value}ns"),
            Kind::Rate | Kind::Limit => format!("{value}B/s"),
            _ => printed,
        }
    }

    /// Prints a value as `parse` reads it.
    pub fn print(self, value: u64, text: &str) -> String {
        match self {
            Kind::Count => value.to_string(),
            Kind::Bytes => human(
                value,
                &[("TB", 1_000_000_000_000), ("GB", 1_000_000_000)],
                &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)],
                "B",
            ),
            Kind::Time => human(value, &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)], &[], "ns"),
            Kind::Limit if value == UNLIMITED => "unlimited".into(),
            Kind::Rate | Kind::Limit => {
                human(value, &[("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1_000)], &[], "B/s")
            }
            Kind::Share => format!("{}%", value as f64 / 10_000.0),
            Kind::Switch => if value == 0 { "false" } else { "true" }.to_owned(),
            Kind::Word(words) => words.get(value as usize).copied().unwrap_or(text).to_owned(),
            kind if kind.may_be_unknown() && value == UNKNOWN => UNKNOWN_WORD.into(),
            Kind::Dollars => format!("{}", value as f64 / 100.0),
            Kind::Power => format!("{}", value as f64 / 1000.0),
            Kind::Endurance => match Endurance::of(value) {
                Some(Endurance::DriveWrites { per_day_thousandths, years }) => {
                    format!("{}DWPD/{years}y", per_day_thousandths as f64 / 1000.0)
                }
                Some(Endurance::Bytes(bytes)) => Kind::Bytes.print(bytes, ""),
                None => UNKNOWN_WORD.into(),
            },
            Kind::Text => text.to_owned(),
        }
    }
}

fn ends_with_unit(text: &str, unit: &str) -> bool {
    text.strip_suffix(unit).is_some_and(|number| number.trim_end().ends_with(|c: char| c.is_ascii_digit()))
}

/// The binary unit that divides the value, else the largest decimal unit with at most three digits behind the point.
fn human(value: u64, decimal: &[(&str, u64)], binary: &[(&str, u64)], base: &str) -> String {
    for &(unit, factor) in binary {
        if value >= factor && value.is_multiple_of(factor) {
            return format!("{}{unit}", value / factor);
        }
    }
    for &(unit, factor) in decimal {
        if value >= factor {
            return format!("{}{unit}", (value as f64 / factor as f64 * 1000.0).round() / 1000.0);
        }
    }
    format!("{value}{base}")
}

/// A number with one of these units, divided by `divisor`.
fn scaled(text: &str, units: &[(&str, u128)], divisor: u128) -> Option<u64> {
    let (unit, factor) = units.iter().find(|(unit, _)| ends_with_unit(text, unit))?;
    scaled_number(text.strip_suffix(unit)?.trim_end(), *factor, divisor)
}

/// A decimal number times `factor`, divided by `divisor`, without floating point.
fn scaled_number(number: &str, factor: u128, divisor: u128) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > FRACTION_DIGITS_LIMIT
    {
        return None;
    }
    let ones = whole.parse::<u128>().ok()?.checked_mul(factor)?;
    let rest = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u128>().ok()? * factor / 10u128.pow(fraction.len() as u32)
    };
    u64::try_from((ones + rest) / divisor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that quantities are read exactly with decimal and binary units, and that a unit is asked for.
    #[test]
    fn quantities_have_their_units() {
        assert_eq!(Kind::Bytes.parse("3.84TB"), Some(3_840_000_000_000));
        assert_eq!(Kind::Bytes.parse("128 KiB"), Some(131_072));
        assert_eq!(Kind::Bytes.parse("0"), Some(0));
        assert_eq!(Kind::Bytes.parse("128"), None);
        assert_eq!(Kind::Bytes.parse("128k"), None);
        assert_eq!(Kind::Time.parse("80us"), Some(80_000));
        assert_eq!(Kind::Time.parse("2.5ms"), Some(2_500_000));
        assert_eq!(Kind::Time.parse("0"), Some(0));
        assert_eq!(Kind::Time.parse("80"), None);
        assert_eq!(Kind::Time.parse("-1us"), None);
        assert_eq!(Kind::Rate.parse("3.2GB/s"), Some(3_200_000_000));
        assert_eq!(Kind::Rate.parse("25Gbit/s"), Some(3_125_000_000));
        assert_eq!(Kind::Rate.parse("3.2GB"), None);
        assert_eq!(Kind::Limit.parse("3.2GB/s"), Some(3_200_000_000));
        assert_eq!(Kind::Limit.parse("unlimited"), Some(UNLIMITED));
        assert_eq!(Kind::Limit.print(UNLIMITED, ""), "unlimited");
        assert_eq!(Kind::Rate.parse("unlimited"), None);
        assert_eq!(Kind::Share.parse("7%"), Some(70_000));
        assert_eq!(Kind::Share.parse("0.07"), Some(70_000));
        assert_eq!(Kind::Count.parse("24"), Some(24));
        assert_eq!(Kind::Count.parse("2.5"), None);
        assert_eq!(Kind::Switch.parse("on"), Some(1));
        assert_eq!(Kind::Bytes.parse("99999999999999999999PiB"), None);
    }

    /// Proves that prices, watts and ratings are read, that unknown ones stay unknown, and that a rating in drive writes a day is as
    /// many bytes as the drive has times that.
    #[test]
    fn prices_watts_and_ratings_are_read() {
        assert_eq!(Kind::Dollars.parse("479.99"), Some(47_999));
        assert_eq!(Kind::Power.parse("12.5"), Some(12_500));
        for kind in [Kind::Dollars, Kind::Power, Kind::Endurance] {
            assert_eq!(kind.parse("unknown"), Some(UNKNOWN));
            assert_eq!(kind.print_exactly(UNKNOWN), "unknown");
            assert_eq!(kind.parse("-1"), None);
        }
        let rated = |text: &str| Endurance::of(Kind::Endurance.parse(text)?);
        assert_eq!(rated("7PB"), Some(Endurance::Bytes(7_000_000_000_000_000)));
        let daily = rated("1.3DWPD/5y").unwrap();
        assert_eq!(daily, Endurance::DriveWrites { per_day_thousandths: 1300, years: 5 });
        assert_eq!(Kind::Endurance.print_exactly(daily.number()), "1.3DWPD/5y");
        assert!((daily.rated_bytes(1_000_000) - 1.3 * 365.0 * 5.0 * 1e6).abs() < 1.0);
        for wrong in ["1DWPD", "0DWPD/5y", "1DWPD/0y", "1DWPD/21y", "9999DWPD/5y", "0B", "8EB", "5y", ""] {
            assert_eq!(rated(wrong), None, "{wrong}");
        }
    }

    proptest! {
        /// Proves that no text makes the reader panic.
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            for kind in [Kind::Count, Kind::Bytes, Kind::Time, Kind::Rate, Kind::Share, Kind::Switch, Kind::Word(&["a"]), Kind::Dollars, Kind::Power, Kind::Endurance, Kind::Text] {
                let _ = kind.parse(&text);
            }
        }

        /// Proves that what is printed of whole units is read back as it was.
        #[test]
        fn printed_counts_are_read_back(value in 0u64..1_000_000) {
            for kind in [Kind::Count, Kind::Bytes, Kind::Time, Kind::Rate, Kind::Share, Kind::Dollars, Kind::Power] {
                prop_assert_eq!(kind.parse(&kind.print_exactly(value * 977)), Some(value * 977));
            }
            for (kind, factor) in [(Kind::Count, 1), (Kind::Bytes, 4096), (Kind::Time, 1000), (Kind::Rate, 1_000_000)] {
                prop_assert_eq!(kind.parse(&kind.print(value * factor, "")), Some(value * factor));
            }
        }
    }
}
