//! Conversion of cumulative counts to rates.

use super::CollectedValue;
use std::collections::BTreeMap;
use std::time::Instant;

/// The counts of the last answer.
#[derive(Debug, Default)]
pub(super) struct Cumulative {
    before: BTreeMap<(String, String), f64>,
    before_at: Option<Instant>,
}

impl Cumulative {
    /// Replaces each count of `is_count` by its rate since the last answer, named `NAME/s`. A count that was not
    /// there then, or has begun anew, has no rate.
    pub(super) fn make_rates(
        &mut self,
        values: &mut Vec<CollectedValue>,
        now: Instant,
        is_count: impl Fn(&CollectedValue) -> bool,
    ) {
        let elapsed_s = self.before_at.map(|before| now.saturating_duration_since(before).as_secs_f64());
        let mut counts = BTreeMap::new();
        values.retain_mut(|value| {
            if !is_count(value) {
                return true;
            }
            let key = (value.entity.clone(), value.name.clone());
            let rate = match (self.before.get(&key), elapsed_s) {
                (Some(before), Some(elapsed_s)) if value.value >= *before && elapsed_s > 0.0 => {
                    Some((value.value - before) / elapsed_s)
                }
                _ => None,
            };
            counts.insert(key, value.value);
            value.name.push_str("/s");
            value.value = rate.unwrap_or_default();
            rate.is_some()
        });
        self.before = counts;
        self.before_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Proves that rates are differences over time, that gauges stay, and that a count which begins anew or was away
    /// gives no rate.
    #[test]
    fn counts_become_rates() {
        let start = Instant::now();
        let mut cumulative = Cumulative::default();
        let mut at = |second: u64, all: &[(&str, f64)]| -> Vec<(String, f64)> {
            let value = |&(name, value): &(&str, f64)| CollectedValue {
                entity: "a".into(),
                name: name.into(),
                value,
            };
            let mut values: Vec<CollectedValue> = all.iter().map(value).collect();
            cumulative.make_rates(&mut values, start + Duration::from_secs(second), |v| v.name != "gauge");
            values.into_iter().map(|value| (value.name, value.value)).collect()
        };
        assert_eq!(at(0, &[("gauge", 7.0), ("ios", 100.0)]), [("gauge".to_owned(), 7.0)]);
        assert_eq!(at(5, &[("ios", 600.0), ("new", 1.0)]), [("ios/s".to_owned(), 100.0)]);
        assert_eq!(at(10, &[("ios", 10.0), ("new", 1.0)]), [("new/s".to_owned(), 0.0)], "ios began anew");
        assert_eq!(at(12, &[("ios", 20.0)]), [("ios/s".to_owned(), 5.0)]);
        assert_eq!(at(13, &[("new", 9.0), ("ios", 20.0)]), [("ios/s".to_owned(), 0.0)], "new was away");
    }
}
