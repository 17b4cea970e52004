//! Numbers as they are printed: the value that a text stands for, and how far the truth may be from it.

/// Number that a text prints, with its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The number, in the base unit.
    pub value: f64,
    /// Half of the last printed digit, in the base unit.
    pub half_digit: f64,
}

/// Suffixes with the base unit and what one of it is.
const SUFFIXES: [(&str, &str, f64); 29] = [
    ("ns", "ns", 1.0),
    ("µs", "ns", 1e3),
    ("ms", "ns", 1e6),
    ("s", "s", 1.0),
    ("min", "s", 60.0),
    ("h", "s", 3600.0),
    ("d", "s", 86_400.0),
    ("%", "ratio", 0.01),
    ("IOPS", "iops", 1.0),
    ("GB/s", "bytes_per_s", 1e9),
    ("MB/s", "bytes_per_s", 1e6),
    ("kB/s", "bytes_per_s", 1e3),
    ("B/s", "bytes_per_s", 1.0),
    ("TB", "bytes", 1e12),
    ("GB", "bytes", 1e9),
    ("MB", "bytes", 1e6),
    ("kB", "bytes", 1e3),
    ("bytes", "bytes", 1.0),
    ("B", "bytes", 1.0),
    ("KiB", "bytes", 1024.0),
    ("MiB", "bytes", 1_048_576.0),
    ("GiB", "bytes", 1_073_741_824.0),
    ("TiB", "bytes", 1_099_511_627_776.0),
    ("K", "bytes", 1024.0),
    ("k", "bytes", 1024.0),
    ("M", "bytes", 1_048_576.0),
    ("m", "bytes", 1_048_576.0),
    ("G", "bytes", 1_073_741_824.0),
    ("g", "bytes", 1_073_741_824.0),
];

/// Reads the number of a text, whose value has this unit. Where the text has no unit, `column` may say it, as `(ms)` does.
/// `None` where it is no number, or one of another unit.
pub fn read(text: &str, unit: &str, column: Option<&str>) -> Option<Printed> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    // A sign stands right before the number.
    let sign = match text[..start].chars().next_back() {
        Some('−' | '-') => -1.0,
        _ => 1.0,
    };
    let body = &text[start..];
    let end = body.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.'))).unwrap_or(body.len());
    let number = body[..end].trim_end_matches(['.', ',']);
    let plain: String = number.chars().filter(|c| *c != ',').collect();
    if !are_thousands(number) {
        return None;
    }
    let (value, half) = (plain.parse::<f64>().ok()?, half_digit(&plain));
    let rest = &body[number.len()..];
    if let Some(denominator) = rest.strip_prefix('/') {
        let denominator = denominator.parse::<f64>().ok()?;
        return Some(Printed { value: sign * value / denominator, half_digit: 1e-9 });
    }
    if rest.starts_with('⁶') || number == "10" && rest.starts_with('⁶') {
        return Some(Printed { value: 1e6, half_digit: 0.0 });
    }
    if let Some(compound) = clock(text, unit) {
        return Some(compound);
    }
    let word = rest.trim_start().split([' ', ')', ']', ';']).next().unwrap_or_default().trim_end_matches(',');
    let own = SUFFIXES.iter().find(|(suffix, _, _)| *suffix == word);
    let scale = match own {
        Some((_, base, scale)) if *base == unit => *scale,
        // A latency or a time of seconds.
        Some(("s", _, _)) if unit == "ns" => 1e9,
        // A latency among times.
        Some((_, "ns", scale)) if unit == "s" => *scale / 1e9,
        Some((suffix, _, _)) if matches!(unit, "count" | "setting") && (*suffix == "d" || *suffix == "s") => {
            return None;
        }
        Some(_) => return None,
        None => {
            let named = column.and_then(|title| {
                SUFFIXES
                    .iter()
                    .find(|(suffix, base, _)| *base == unit && title.contains(&format!("({suffix})")))
            });
            match named {
                Some((_, _, scale)) => *scale,
                // A tile or a column may say IOPS; times, bytes and shares are never bare.
                None if matches!(unit, "iops" | "count" | "setting" | "ratio") => 1.0,
                None if unit == "bytes" && rest.trim().is_empty() => 1.0,
                None => return None,
            }
        }
    };
    Some(Printed { value: sign * value * scale, half_digit: half * scale })
}

/// A rate as sentences print it: `20,000 IOPS`.
pub fn rate(iops: f64) -> String {
    if iops < 100.0 {
        return format!("{iops:.1} IOPS");
    }
    let digits = format!("{iops:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + " IOPS"
}

/// `3 min 20 s`, `2 h 05 min`: the last part is cut, not rounded.
fn clock(text: &str, unit: &str) -> Option<Printed> {
    let words: Vec<&str> = text.split(' ').collect();
    let [first, a, second, b] = words[..] else { return None };
    let scale = |word: &str| {
        SUFFIXES.iter().find(|(suffix, base, _)| *suffix == word && *base == "s").map(|one| one.2)
    };
    let (a, b) = (scale(a)?, scale(b)?);
    let value = first.parse::<f64>().ok()? * a + second.parse::<f64>().ok()? * b;
    let base = if unit == "ns" { 1e9 } else { 1.0 };
    Some(Printed { value: (value + b / 2.0) * base, half_digit: b / 2.0 * base })
}

/// Commas stand where thousands are.
fn are_thousands(number: &str) -> bool {
    let whole = number.split('.').next().unwrap_or_default();
    let mut parts = whole.split(',');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    rest.is_empty() || (!first.is_empty() && first.len() <= 3 && rest.iter().all(|part| part.len() == 3))
}

fn half_digit(number: &str) -> f64 {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10f64.powi(-(decimals as i32))
}

impl Printed {
    /// Returns true if a value may be printed so.
    pub fn may_be(&self, value: f64) -> bool {
        // Figures of three digits are cut at changes of unit and of decimals: 9.995 is printed as 10.0.
        let slack = self.half_digit * 1.0001 + 1e-9 * self.value.abs();
        (self.value - value).abs() <= slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that printed numbers are read in their units with the precision of their last digit, and that one in another unit
    /// is none.
    #[test]
    fn printed_numbers_are_read() {
        let is = |text: &str, unit: &str, value: f64| {
            assert!(read(text, unit, None).is_some_and(|printed| printed.may_be(value)), "{text} {value}");
        };
        is("106 µs", "ns", 106_400.0);
        is("1.21 ms", "ns", 1_214_000.0);
        is("1,195,472 IOPS", "iops", 1_195_472.4);
        is("43 %", "ratio", 0.432);
        is("−2.3 %", "ratio", -0.0231);
        is("4K", "bytes", 4096.0);
        is("3 min 20 s", "s", 200.4);
        is("7.14 ms", "s", 0.007_142);
        is("12 cases", "count", 12.0);
        is("RAID 5", "setting", 5.0);
        let is_not = |text: &str, unit: &str, value: f64| {
            assert!(!read(text, unit, None).is_some_and(|printed| printed.may_be(value)), "{text} {value}");
        };
        is_not("106 ms", "ns", 106_400.0);
        is_not("107 µs", "ns", 106_400.0);
        is_not("2.3 %", "ratio", -0.0231);
        is_not("106", "ns", 106.0);
        is_not("1195,472 IOPS", "iops", 1_195_472.0);
        is_not("4 GB", "bytes_per_s", 4e9);
        assert!(read("0.107", "ns", Some("Read mean (ms)")).is_some_and(|printed| printed.may_be(107_000.0)));
    }
}
