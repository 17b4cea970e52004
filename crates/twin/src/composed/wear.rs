//! Wear of drives with a rated endurance: bytes that they were given, bytes that their flash programmed, and time left
//! until the rating is used up at the mean rate so far.

use crate::part::Counters;

/// Nanoseconds of a day.
const DAY_NS: f64 = 86_400e9;
/// Longest time left that is told: 100,000 years.
const DAYS_LIMIT: f64 = 36_500_000.0;

/// Bytes written to drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Written {
    /// Bytes that the drives were given.
    pub given: u64,
    /// Bytes that flash programmed for them, collection included.
    pub programmed: u64,
}

/// Ratings of the groups of an array.
#[derive(Debug, Clone)]
pub(crate) struct Wear {
    is_on: bool,
    /// By group: bytes that its drives but the spares may be given in all; none without a rating.
    rated_bytes: Vec<Option<f64>>,
}

impl Wear {
    pub fn new(array: &array::Array, is_on: bool) -> Wear {
        let rated = array::rated_writes(array);
        Wear { is_on, rated_bytes: rated.iter().map(array::RatedWrites::bytes).collect() }
    }

    /// Counts what rated drives have written by now, by group. Those of a second array follow those of the first.
    pub fn count_into(&self, now_ns: u64, groups: impl Iterator<Item = Written>, counters: &mut Counters) {
        if self.rated_bytes.iter().all(Option::is_none) {
            return;
        }
        let mut all = Written::default();
        let mut days_left = DAYS_LIMIT;
        for (written, rated_bytes) in groups.zip(self.rated_bytes.iter().cycle()) {
            let Some(rated_bytes) = rated_bytes.filter(|_| self.is_on) else { continue };
            all.given += written.given;
            all.programmed += written.programmed;
            if written.given > 0 {
                let left_bytes = (rated_bytes - written.given as f64).max(0.0);
                days_left = days_left.min(left_bytes / written.given as f64 * now_ns as f64 / DAY_NS);
            }
        }
        counters.add("wear", "given_bytes", all.given);
        counters.add("wear", "programmed_bytes", all.programmed);
        counters.add("wear", "fill_days_left", days_left as u64);
    }
}
