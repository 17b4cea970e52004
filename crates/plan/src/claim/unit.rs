//! Units of values in claims: powers of time and bytes. An I/O is a number.

/// A unit. Values are kept in seconds and bytes, whatever they are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Power of seconds.
    pub time: i8,
    /// Power of bytes.
    pub bytes: i8,
}

impl Unit {
    /// A number.
    pub const NONE: Unit = Unit { time: 0, bytes: 0 };
    /// Seconds.
    pub const TIME: Unit = Unit { time: 1, bytes: 0 };
    /// I/Os a second.
    pub const RATE: Unit = Unit { time: -1, bytes: 0 };
    /// Bytes a second.
    pub const BANDWIDTH: Unit = Unit { time: -1, bytes: 1 };
    /// Bytes.
    pub const BYTES: Unit = Unit { time: 0, bytes: 1 };

    /// The unit of a field by its name, and what its figures are multiplied by; `None` where the name does not tell.
    pub fn of_field(name: &str) -> (Option<Unit>, f64) {
        if matches!(name, "allowed" | "delivered" | "largest" | "average" | "load" | "at") {
            (None, 1.0)
        } else if name.contains("latency_ns") || name.ends_with("_ns") {
            (Some(Unit::TIME), 1e-9)
        } else if name.ends_with("bw_bytes_per_s") {
            (Some(Unit::BANDWIDTH), 1.0)
        } else if name.ends_with("_s") {
            (Some(Unit::TIME), 1.0)
        } else if name.ends_with("iops") {
            (Some(Unit::RATE), 1.0)
        } else if name.ends_with("_bytes") || name == "bytes_written" || name.ends_with("_bs") {
            (Some(Unit::BYTES), 1.0)
        } else if name.ends_with("_percent") {
            (Some(Unit::NONE), 0.01)
        } else {
            (Some(Unit::NONE), 1.0)
        }
    }

    /// The unit of a setting.
    pub fn of_setting(name: &str) -> Unit {
        match name {
            "bs" | "segment" | "size" | "offset" => Unit::BYTES,
            "runtime" | "ramp_time" => Unit::TIME,
            "rate_iops" => Unit::RATE,
            _ => Unit::NONE,
        }
    }

    /// Returns the unit of a product.
    pub fn times(self, other: Unit) -> Unit {
        Unit { time: self.time.saturating_add(other.time), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Returns the unit of a quotient.
    pub fn over(self, other: Unit) -> Unit {
        Unit { time: self.time.saturating_sub(other.time), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// Returns the unit in words.
    pub fn name(self) -> &'static str {
        match self {
            Unit::NONE => "a number",
            Unit::TIME => "a time",
            Unit::RATE => "I/Os a second",
            Unit::BANDWIDTH => "bytes a second",
            Unit::BYTES => "bytes",
            _ => "another unit",
        }
    }
}
