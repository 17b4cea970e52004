//! Space of designs: values of an array's keys in all combinations.

use crate::{Configuration, SizingError};
use serde_json::{Value, json};

/// Most designs of a space.
const DESIGNS_LIMIT: usize = 4096;

/// Key of a design space with its values: `drives.count=12..48/6` or `groups[0].layout=raid5,raid6`.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Path in the description, or a setting of the twin.
    pub key: String,
    /// Its values.
    pub values: Vec<Value>,
}

impl Axis {
    /// Reads `KEY=FIRST..LAST/STEP` or `KEY=VALUE,VALUE`.
    pub fn parse(text: &str) -> Result<Axis, SizingError> {
        let wrong = || {
            SizingError::question(
                format!("`{text}` is no axis of a space"),
                "KEY=FIRST..LAST/STEP or KEY=VALUE,VALUE, as `drives.count=12..48/6`",
            )
        };
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let Some((first, rest)) = values.split_once("..") else {
            let change = crate::Change::parse(text)?;
            return Ok(Axis { key: change.key, values: change.values });
        };
        let (last, step) = rest.split_once('/').unwrap_or((rest, "1"));
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if step == 0 || first > last || (last - first) / step >= DESIGNS_LIMIT as u64 || key.trim().is_empty()
        {
            return Err(wrong());
        }
        let values = (0..=(last - first) / step).map(|index| json!(first + index * step)).collect();
        Ok(Axis { key: key.trim().to_owned(), values })
    }
}

/// Lists the designs of a space, the last axis fastest, and the reasons of those that are invalid; the array itself where there
/// is no axis. Refused where no design is left.
pub fn designs(
    array: &Configuration,
    space: &[Axis],
) -> Result<(Vec<Configuration>, Vec<String>), SizingError> {
    let count = space.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.values.len()));
    if count > DESIGNS_LIMIT {
        return Err(SizingError::question(
            format!("the space has {count} designs, at most {DESIGNS_LIMIT} are looked at"),
            "give fewer values, or larger steps",
        ));
    }
    let mut designs = Vec::with_capacity(count);
    let mut refused: Vec<(String, SizingError)> = Vec::new();
    for number in 0..count {
        let mut left = number;
        let mut chosen: Vec<(&str, &Value)> = Vec::new();
        for axis in space.iter().rev() {
            chosen.push((&axis.key, &axis.values[left % axis.values.len()]));
            left /= axis.values.len();
        }
        chosen.reverse();
        match array.with_all(&chosen) {
            Ok(design) => designs.push(design),
            Err(error) => {
                let pairs: Vec<String> = chosen.iter().map(|(key, value)| format!("{key}={value}")).collect();
                refused.push((pairs.join(" "), error));
            }
        }
    }
    if designs.is_empty()
        && let Some((_, error)) = refused.pop()
    {
        return Err(error);
    }
    let reasons = refused.iter().map(|(design, error)| {
        format!("{design}: {}", diagnostic::text_with_causes(error).lines().next().unwrap_or_default())
    });
    Ok((designs, reasons.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that an axis has the values that it says, and that an endless one is refused.
    #[test]
    fn axes_have_their_values() {
        assert_eq!(Axis::parse("drives.count=12..24/6").unwrap().values, [json!(12), json!(18), json!(24)]);
        assert_eq!(Axis::parse("layout=raid5,raid6").unwrap().values, [json!("raid5"), json!("raid6")]);
        for wrong in ["a=3..1/1", "a=1..9/0", "=1..2", "a=1..99999999/1", "a", "a=x..y"] {
            assert!(Axis::parse(wrong).is_err(), "{wrong}");
        }
    }
}
