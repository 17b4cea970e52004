//! Numbers, sizes, times and ranges in vdbench's notation.

use super::lex::Parameter;
use crate::ImportError;

/// The most values of a list, with its ranges written out.
const VALUES_LIMIT: usize = 10_000;
/// A number above this is none that vdbench means.
const NUMBER_LIMIT: f64 = (1u64 << 62) as f64;

/// A number with vdbench's suffixes: `k m g t` are powers of 1024, each with `b` behind it or not.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let without_b = lower.strip_suffix('b').unwrap_or(&lower);
    let (digits, factor) = match without_b.chars().last()? {
        'k' => (&without_b[..without_b.len() - 1], 1024.0),
        'm' => (&without_b[..without_b.len() - 1], 1024.0 * 1024.0),
        'g' => (&without_b[..without_b.len() - 1], 1024.0 * 1024.0 * 1024.0),
        't' => (&without_b[..without_b.len() - 1], 1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => (without_b, 1.0),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-') {
        return None;
    }
    let number = digits.parse::<f64>().ok()? * factor;
    (number.is_finite() && number.abs() <= NUMBER_LIMIT).then_some(number)
}

/// A time in seconds: a number of seconds, or of hours or minutes with `h` or `m` behind it.
fn parse_seconds(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.chars().last()? {
        'h' => (&lower[..lower.len() - 1], 3600.0),
        'm' => (&lower[..lower.len() - 1], 60.0),
        's' => (&lower[..lower.len() - 1], 1.0),
        _ => (lower.as_str(), 1.0),
    };
    let seconds = digits.parse::<f64>().ok()? * factor;
    (0.0..=1e9).contains(&seconds).then_some(seconds)
}

impl Parameter {
    /// The only value.
    pub fn value(&self) -> Result<&str, ImportError> {
        match self.values.as_slice() {
            [value] if !value.is_empty() => Ok(value),
            _ => Err(self.invalid("one value is needed")),
        }
    }

    /// The only value, as a number.
    pub fn number(&self) -> Result<f64, ImportError> {
        parse_number(self.value()?).ok_or_else(|| self.invalid("a number is needed, such as 8, 64k or 1g"))
    }

    /// The only value, as a whole number of at least `least`.
    pub fn whole(&self, least: u64) -> Result<u64, ImportError> {
        self.to_whole(self.number()?, least)
    }

    pub fn to_whole(&self, number: f64, least: u64) -> Result<u64, ImportError> {
        if number < least as f64 || number.fract() != 0.0 {
            return Err(self.invalid(format!("a whole number of at least {least} is needed")));
        }
        Ok(number as u64)
    }

    /// The only value, as a share in percent.
    pub fn percent(&self) -> Result<f64, ImportError> {
        let text = self.value()?;
        let number = parse_number(text.strip_suffix('%').unwrap_or(text))
            .filter(|share| (0.0..=100.0).contains(share));
        number.ok_or_else(|| self.invalid("a share of 0 to 100 percent is needed"))
    }

    /// The only value, as seconds.
    pub fn seconds(&self) -> Result<f64, ImportError> {
        parse_seconds(self.value()?).ok_or_else(|| self.invalid("a time is needed, such as 30, 5m or 2h"))
    }

    /// All values as numbers, ranges written out: `(1-64,d)` doubles, `(64-1,d)` halves, `(1-9,2)` steps.
    pub fn numbers(&self) -> Result<Vec<f64>, ImportError> {
        let mut numbers = Vec::new();
        let mut values = self.values.iter().peekable();
        while let Some(value) = values.next() {
            // A range has a `-` between two numbers; a leading one belongs to a number.
            let range = value.get(1..).and_then(|rest| rest.find('-')).map(|at| value.split_at(at + 1));
            let Some((from, to)) = range else {
                numbers.push(
                    parse_number(value).ok_or_else(|| self.invalid(format!("`{value}` is no number")))?,
                );
                continue;
            };
            let bounds = (parse_number(from), parse_number(&to[1..]));
            let (Some(from), Some(to)) = bounds else {
                return Err(self.invalid(format!("`{value}` is no range of numbers")));
            };
            let step = values.next().ok_or_else(|| {
                self.invalid(format!(
                    "behind the range `{value}` its step is missing, a number or `d` to double"
                ))
            })?;
            self.range(from, to, step, &mut numbers)?;
        }
        if numbers.is_empty() || numbers.len() > VALUES_LIMIT {
            return Err(self.invalid(format!("1 to {VALUES_LIMIT} values are needed")));
        }
        Ok(numbers)
    }

    fn range(&self, from: f64, to: f64, step: &str, numbers: &mut Vec<f64>) -> Result<(), ImportError> {
        let is_doubling = step.eq_ignore_ascii_case("d");
        let step = if is_doubling { 0.0 } else { parse_number(step).unwrap_or(0.0).abs() };
        if (is_doubling && (from <= 0.0 || to <= 0.0)) || (!is_doubling && step <= 0.0) {
            return Err(self.invalid("the range has no end"));
        }
        let is_rising = from <= to;
        let mut number = from;
        while (is_rising && number <= to) || (!is_rising && number >= to) {
            numbers.push(number);
            if numbers.len() > VALUES_LIMIT {
                return Err(self.invalid(format!("more than {VALUES_LIMIT} values")));
            }
            let next = match (is_doubling, is_rising) {
                (true, true) => number * 2.0,
                (true, false) => number / 2.0,
                (false, true) => number + step,
                (false, false) => number - step,
            };
            if next == number {
                return Err(self.invalid("the range has no end"));
            }
            number = next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn parameter(values: &[&str]) -> Parameter {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Parameter { keyword: "forthreads".into(), values, file: PathBuf::from("p"), line: 3, column: 7 }
    }

    /// Proves suffixes, ranges that double, step and halve, and that a range without an end is refused.
    #[test]
    fn ranges_are_written_out() {
        assert_eq!(parse_number("64kb"), Some(65_536.0));
        assert_eq!(parse_number("1.5m"), Some(1_572_864.0));
        assert_eq!(
            (parse_number("x"), parse_number(""), parse_number("nan"), parse_number("1e300")),
            (None, None, None, None)
        );
        assert_eq!(parse_seconds("5m"), Some(300.0));
        let numbers = |values: &[&str]| parameter(values).numbers();
        assert_eq!(numbers(&["1-64", "d"]).unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(numbers(&["8-2", "d", "100"]).unwrap(), [8.0, 4.0, 2.0, 100.0]);
        assert_eq!(numbers(&["10-40", "10"]).unwrap(), [10.0, 20.0, 30.0, 40.0]);
        assert_eq!(numbers(&["512-4k", "d"]).unwrap(), [512.0, 1024.0, 2048.0, 4096.0]);
        assert_eq!(numbers(&["-50"]).unwrap(), [-50.0]);
        for wrong in [&["1-5"][..], &["1-5", "0"], &["0-5", "d"], &["a"], &["1-1t", "1"], &[]] {
            assert!(numbers(wrong).is_err(), "{wrong:?}");
        }
        let error = parameter(&["1-5"]).numbers().unwrap_err().to_string();
        assert!(error.starts_with("p:3:7: `forthreads=1-5`: behind the range"), "{error}");
    }
}
