//! Quantities of a result by their path in `results --json`, and the units in which people read them.

use crate::chart::{Axis, Scale, TickFormat};
use findings::{Cited, Quantity, Source, Unit};
use store::CaseResult;

/// Kind of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Iops,
    Bandwidth,
    Latency,
    /// Operations that failed.
    Errors,
}

impl Kind {
    pub fn of(path: &str) -> Kind {
        if path.contains("latency_ns") {
            Kind::Latency
        } else if path.ends_with("bw_bytes_per_s") {
            Kind::Bandwidth
        } else if path.ends_with("errors") {
            Kind::Errors
        } else {
            Kind::Iops
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Kind::Iops => "IOPS",
            Kind::Bandwidth => "Bandwidth",
            Kind::Latency => "Completion latency",
            Kind::Errors => "Failed operations",
        }
    }

    /// A figure in words, with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Kind::Iops => units::human_rate(value),
            Kind::Bandwidth => units::human_bandwidth(value),
            Kind::Latency => units::human_latency(value),
            Kind::Errors => format!("{value}"),
        }
    }

    /// A quantity in words, with its unit.
    pub fn print(self, quantity: Quantity) -> Cited {
        let text = self.text(quantity.value());
        quantity.printed(text)
    }

    /// The unit of values in results.
    pub fn base(self) -> Unit {
        match self {
            Kind::Iops => Unit::Iops,
            Kind::Bandwidth => Unit::BytesPerS,
            Kind::Latency => Unit::Ns,
            Kind::Errors => Unit::Count,
        }
    }

    /// The unit that suits the largest of some values, and how much of the base unit it is.
    pub fn unit(self, largest: f64) -> (&'static str, f64) {
        match self {
            Kind::Iops | Kind::Errors => ("", 1.0),
            Kind::Bandwidth if largest >= 2e9 => ("GB/s", 1e9),
            Kind::Bandwidth => ("MB/s", 1e6),
            Kind::Latency if largest >= 2e6 => ("ms", 1e6),
            Kind::Latency if largest >= 2e3 => ("µs", 1e3),
            Kind::Latency => ("ns", 1.0),
        }
    }

    /// An axis for these values, and by how much to divide them. Latencies that span more than a factor of 20
    /// are spaced by powers of ten, so that the small ones can be read.
    pub fn axis(self, values: &[f64]) -> (Axis, f64) {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let (unit, divisor) = self.unit(largest);
        let is_wide =
            self == Kind::Latency && largest > 20.0 * smallest && values.iter().all(|value| *value > 0.0);
        let scale = if is_wide { Scale::Log10 } else { Scale::LinearFromZero };
        (Axis { label: self.title().into(), unit: unit.into(), scale, format: TickFormat::Number }, divisor)
    }
}

/// A quantity of a result with its source; `None` where the case has none.
pub fn of(result: &CaseResult, path: &str) -> Option<Quantity> {
    let source = Source::result(&result.stage, &result.case, path);
    Some(Quantity::new(value(result, path)?, Kind::of(path).base(), source))
}

/// A quantity of a result; `None` where the case has none.
pub fn value(result: &CaseResult, path: &str) -> Option<f64> {
    result.quantity(path)
}

/// A path in words: `read.latency_ns.p99` → `read p99`.
pub fn words(path: &str) -> String {
    path.replace("latency_ns.", "")
        .replace("bw_bytes_per_s", "bandwidth")
        .replace("iops", "IOPS")
        .replacen('.', " ", 1)
}
