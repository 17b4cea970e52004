//! Requirements: latencies that must stay under bounds.

use crate::SizingError;
use load::{BoundMeasure, Histogram};
use std::fmt;

/// Measures of a latency, with the share of I/Os below in millionths.
const MEASURES: [(&str, BoundMeasure); 6] = [
    ("mean", BoundMeasure::Mean),
    ("p50", BoundMeasure::Percentile(500_000)),
    ("p95", BoundMeasure::Percentile(950_000)),
    ("p99", BoundMeasure::Percentile(990_000)),
    ("p99.9", BoundMeasure::Percentile(999_000)),
    ("p99.99", BoundMeasure::Percentile(999_900)),
];

/// Directions that a requirement can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// All I/Os.
    Both,
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// Latency that must stay under a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// I/Os that it applies to.
    pub side: Side,
    /// Latency measure that it bounds.
    pub measure: BoundMeasure,
    /// The bound.
    pub latency_ns: u64,
}

impl Requirement {
    /// Reads `p99<1ms` or `read.mean<500us`.
    pub fn parse(text: &str) -> Result<Requirement, SizingError> {
        let wrong = |message: String| {
            SizingError::question(message, "as `p99<1ms`, `mean<500us` or `write.p99.9<5ms`")
        };
        let (left, right) = text
            .split_once("<=")
            .or_else(|| text.split_once('<'))
            .ok_or_else(|| wrong(format!("`{text}` is no requirement")))?;
        let left = left.trim();
        let (side, name) = match (left.strip_prefix("read."), left.strip_prefix("write.")) {
            (Some(name), _) => (Side::Read, name),
            (_, Some(name)) => (Side::Write, name),
            _ => (Side::Both, left),
        };
        let measure = MEASURES
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| wrong(format!("`{name}` is no measure of a latency")))?;
        let has_unit = right.trim().ends_with(|c: char| c.is_ascii_alphabetic());
        let latency_ns = units::parse_nanos(right.trim()).ok().filter(|&nanos| has_unit && nanos > 0);
        let latency_ns = latency_ns.ok_or_else(|| wrong(format!("`{}` is no latency", right.trim())))?;
        Ok(Requirement { side, measure: measure.1, latency_ns })
    }

    /// The latency that is bounded, in nanoseconds.
    pub(crate) fn latency_of(&self, histogram: &Histogram) -> f64 {
        match self.measure {
            BoundMeasure::Mean => histogram.mean_ns(),
            BoundMeasure::Percentile(millionths) => histogram.percentile_ns(millionths) as f64,
        }
    }

    /// Quantities of published rows that validate it.
    pub(crate) fn metrics(&self) -> &'static [&'static str] {
        match (self.measure, self.side) {
            (BoundMeasure::Mean, Side::Read) => &["read.latency_ns.mean"],
            (BoundMeasure::Mean, Side::Write) => &["write.latency_ns.mean"],
            (BoundMeasure::Mean, Side::Both) => &["read.latency_ns.mean", "write.latency_ns.mean"],
            // No published row has percentiles.
            (BoundMeasure::Percentile(_), _) => &[],
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Both => "",
            Side::Read => "read.",
            Side::Write => "write.",
        };
        let measure =
            MEASURES.iter().find(|(_, measure)| *measure == self.measure).map_or("", |(name, _)| name);
        write!(f, "{side}{measure} < {}", units::human_latency(self.latency_ns as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that requirements are read with their units, and that one without a unit is refused: 2 is not 2 ms.
    #[test]
    fn requirements_have_units() {
        let read = Requirement::parse("read.p99.9 <= 1.5ms").unwrap();
        assert_eq!((read.side, read.measure), (Side::Read, BoundMeasure::Percentile(999_000)));
        assert_eq!(read.latency_ns, 1_500_000);
        assert_eq!(Requirement::parse("mean<500us").unwrap().latency_ns, 500_000);
        for wrong in ["p99<2", "p99", "p98<1ms", "p99<0ms", "p99<-1ms", "p99>1ms", "iops<3"] {
            assert!(Requirement::parse(wrong).is_err(), "{wrong}");
        }
    }
}
