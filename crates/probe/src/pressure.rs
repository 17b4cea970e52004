//! Pressure stall information (Documentation/accounting/psi.rst): the share of an interval in which some, or all,
//! tasks waited for a resource.

use crate::counter::Counter;
use std::sync::Arc;

/// The resources under `/proc/pressure`.
pub(crate) const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// The stall times of one resource at the last reading.
#[derive(Debug)]
pub(crate) struct Pressure {
    entity: Arc<str>,
    some_us: Option<u64>,
    full_us: Option<u64>,
}

impl Pressure {
    pub(crate) fn of(resource: &str) -> Self {
        Pressure { entity: resource.into(), some_us: None, full_us: None }
    }

    pub(crate) fn read(&mut self, text: &str, elapsed_s: f64, counters: &mut Vec<Counter>) {
        for (prefix, name, before) in
            [("some ", "%some", &mut self.some_us), ("full ", "%full", &mut self.full_us)]
        {
            let now = text.lines().find_map(|line| total_us(line.strip_prefix(prefix)?));
            if let (Some(before), Some(now)) = (*before, now)
                && let Some(delta) = now.checked_sub(before)
            {
                // Totals are brought up to date every 2 s or so, so one interval may show the time of two.
                let value = (delta as f64 / 1e4 / elapsed_s).min(100.0);
                counters.push(Counter { source: "psi", entity: Arc::clone(&self.entity), name, value });
            }
            *before = now;
        }
    }
}

fn total_us(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that shares come from the totals, not from the kernel's averages.
    #[test]
    fn shares_come_from_totals() {
        let mut pressure = Pressure::of("io");
        let mut counters = Vec::new();
        pressure.read("some avg10=9.00 total=1000000\nfull avg10=9.00 total=500000\n", 5.0, &mut counters);
        assert_eq!(counters, []);
        pressure.read("some avg10=1.00 total=2000000\nfull avg10=0.00 total=400000\n", 5.0, &mut counters);
        let values: Vec<_> = counters.iter().map(|c| (c.name, c.value)).collect();
        assert_eq!(values, [("%some", 20.0)], "a total that steps back gives nothing");
    }
}
