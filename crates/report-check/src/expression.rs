//! Sources of numbers and the arithmetic over them: `ratio(finding:ID/field;finding:ID/field)`.

use crate::mismatch::Mismatch;

/// A parsed `from`.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A source: its kind and its path.
    Source(String, String),
    /// A function over expressions.
    Call(String, Vec<Expression>),
}

/// The names that functions may have.
const FUNCTIONS: [&str; 17] = [
    "percent",
    "ratio",
    "difference",
    "product",
    "sum",
    "mean",
    "median",
    "min",
    "max",
    "quartile1",
    "quartile3",
    "count",
    "abs",
    "geomean",
    "negate",
    "seconds",
    "discordant",
];

impl Expression {
    /// Parses an expression; `None` where it is none.
    pub fn parse(text: &str) -> Option<Expression> {
        let (found, rest) = Expression::read(text)?;
        rest.is_empty().then_some(found)
    }

    fn read(text: &str) -> Option<(Expression, &str)> {
        let function =
            FUNCTIONS.iter().find(|name| text.strip_prefix(**name).is_some_and(|rest| rest.starts_with('(')));
        let Some(function) = function else {
            let end = text.find([';', ')']).unwrap_or(text.len());
            let (kind, path) = text[..end].split_once(':')?;
            let is_word =
                !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            return is_word.then(|| (Expression::Source(kind.to_owned(), decoded(path)), &text[end..]));
        };
        let mut rest = &text[function.len() + 1..];
        let mut arguments = Vec::new();
        // Of nothing there is a count.
        if let Some(after) = rest.strip_prefix(')') {
            return Some((Expression::Call((*function).to_owned(), arguments), after));
        }
        loop {
            let (argument, after) = Expression::read(rest)?;
            arguments.push(argument);
            if let Some(after) = after.strip_prefix(';') {
                rest = after;
            } else {
                rest = after.strip_prefix(')')?;
                break;
            }
        }
        Some((Expression::Call((*function).to_owned(), arguments), rest))
    }

    /// Every source in it.
    pub fn sources(&self) -> Vec<(&str, &str)> {
        match self {
            Expression::Source(kind, path) => vec![(kind, path)],
            Expression::Call(_, arguments) => arguments.iter().flat_map(Expression::sources).collect(),
        }
    }

    /// Its value, with the values of sources from outside.
    pub fn value(&self, of: &mut dyn FnMut(&str, &str) -> Result<f64, Mismatch>) -> Result<f64, Mismatch> {
        let (function, arguments) = match self {
            Expression::Source(kind, path) => return of(kind, path),
            Expression::Call(function, arguments) => (function.as_str(), arguments),
        };
        if function == "count" {
            let mut different: Vec<&Expression> = Vec::new();
            for argument in arguments {
                // What is counted must be there.
                argument.exists(of)?;
                if different.contains(&argument) {
                    return Err(Mismatch::Different("the same is counted twice".into()));
                }
                different.push(argument);
            }
            return Ok(arguments.len() as f64);
        }
        let values: Vec<f64> = arguments.iter().map(|one| one.value(of)).collect::<Result<_, _>>()?;
        let exactly = |count: usize| {
            if values.len() == count {
                Ok(())
            } else {
                Err(Mismatch::Different(format!("{function} takes {count} arguments")))
            }
        };
        if values.is_empty() {
            return Err(Mismatch::Different(format!("{function} of nothing")));
        }
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let left_out = sorted.len() / 4;
        Ok(match function {
            "percent" => {
                exactly(1)?;
                values[0] / 100.0
            }
            "seconds" => {
                exactly(1)?;
                values[0] / 1e9
            }
            "discordant" => discordant(values[0], &values[1..]),
            "abs" => {
                exactly(1)?;
                values[0].abs()
            }
            "negate" => {
                exactly(1)?;
                -values[0]
            }
            "ratio" => {
                exactly(2)?;
                values[0] / values[1]
            }
            "difference" => {
                exactly(2)?;
                values[0] - values[1]
            }
            "product" => values.iter().product(),
            "sum" => values.iter().sum(),
            "mean" => values.iter().sum::<f64>() / values.len() as f64,
            "geomean" => (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(),
            "median" => median(&sorted),
            "min" => sorted[0],
            "max" => sorted[sorted.len() - 1],
            // The ends of the middle half: without the lowest and the highest quarter.
            "quartile1" => sorted[left_out],
            "quartile3" => sorted[sorted.len() - left_out - 1],
            other => return Err(Mismatch::Different(format!("unknown function {other}"))),
        })
    }

    fn exists(&self, of: &mut dyn FnMut(&str, &str) -> Result<f64, Mismatch>) -> Result<(), Mismatch> {
        match self {
            Expression::Source(kind, path) => match of(kind, path) {
                Err(error @ Mismatch::Missing(_)) => Err(error),
                _ => Ok(()),
            },
            Expression::Call(..) => self.value(of).map(|_| ()),
        }
    }
}

/// The median of sorted values; 0 of none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

fn decoded(path: &str) -> String {
    path.replace("%28", "(").replace("%29", ")").replace("%3B", ";").replace("%25", "%")
}

/// Pairs of pairs of values, of which the one grows and the other shrinks by more than a tolerance.
fn discordant(tolerance: f64, values: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let mut count = 0;
    for (place, (a, b)) in pairs.iter().enumerate() {
        for (first_a, first_b) in &pairs[..place] {
            let (here, there) = (a / first_a - 1.0, b / first_b - 1.0);
            count += usize::from(here.abs() > tolerance && there.abs() > tolerance && here * there < 0.0);
        }
    }
    f64::from(count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, Mismatch> {
        Expression::parse(text).ok_or(Mismatch::Missing("expression".into()))?.value(&mut |_, path| {
            path.rsplit('/')
                .next()
                .and_then(|last| last.parse().ok())
                .ok_or_else(|| Mismatch::Missing(path.to_owned()))
        })
    }

    /// Proves that arithmetic is read with identifiers that have commas, equal signs and encoded brackets, and what it gives.
    #[test]
    fn arithmetic_is_read() {
        assert_eq!(value("ratio(finding:a/b=1,c=2/30;finding:x%28y%3Bz%29/120)"), Ok(0.25));
        assert_eq!(value("difference(sum(a:1;a:2;a:3);percent(a:50))"), Ok(5.5));
        assert_eq!(value("quartile1(a:8;a:1;a:2;a:3;a:4;a:5;a:6;a:7)"), Ok(3.0));
        assert_eq!(value("count(a:1;a:2)"), Ok(2.0));
        for wrong in ["", "a", "ratio(a:1)", "ratio(a:1;a:2", "count(a:1;a:1)", "sqrt(a:4)", "a:1;a:2", "A:1"]
        {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }
}
