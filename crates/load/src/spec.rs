//! Load specification, in fio's terms.

use crate::SpecError;
use crate::error::out_of_range;
use crate::shape::LoadShape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most jobs a case may have.
pub const NUMJOBS_LIMIT: u32 = 4096;
/// The deepest queue a job may have.
pub const IODEPTH_LIMIT: u32 = 65_536;
/// The most I/Os a case may have outstanding.
pub const OUTSTANDING_LIMIT: u64 = 1 << 20;

/// fio's `rw`: direction and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Sequential reads and writes, mixed by `rwmixread`.
    #[serde(alias = "readwrite")]
    Rw,
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
    /// Random reads and writes, mixed by `rwmixread`.
    Randrw,
}

impl Pattern {
    /// fio's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Read => "read",
            Pattern::Write => "write",
            Pattern::Rw => "rw",
            Pattern::Randread => "randread",
            Pattern::Randwrite => "randwrite",
            Pattern::Randrw => "randrw",
        }
    }

    /// True where addresses are random.
    pub fn is_random(self) -> bool {
        matches!(self, Pattern::Randread | Pattern::Randwrite | Pattern::Randrw)
    }

    /// The share of reads, in percent, where the pattern fixes it.
    pub fn fixed_read_share(self) -> Option<u8> {
        match self {
            Pattern::Read | Pattern::Randread => Some(100),
            Pattern::Write | Pattern::Randwrite => Some(0),
            Pattern::Rw | Pattern::Randrw => None,
        }
    }
}

/// A load: what all its jobs issue, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Direction and order.
    pub pattern: Pattern,
    /// Share of reads, in percent; 100 for pure reads, 0 for pure writes.
    pub rwmixread: u8,
    /// Bytes of one I/O; a multiple of 512.
    pub bs_bytes: u32,
    /// Jobs that issue independently of one another.
    pub numjobs: u32,
    /// I/Os that a job keeps outstanding.
    pub iodepth: u32,
    /// First byte of the range that is used.
    pub offset_bytes: u64,
    /// Length of the range that is used; `None` is all from the offset on.
    pub size_bytes: Option<u64>,
    /// Limit on the total rate over all jobs, in I/Os a second; `None` is as fast as possible.
    pub rate_iops: Option<f64>,
    /// Load before counting begins.
    pub ramp_ns: u64,
    /// Load that is counted.
    pub runtime_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Seed of addresses and mixes.
    pub seed: u64,
    /// Arrivals, sizes, distributions and content beyond these settings; the default adds nothing.
    pub shape: LoadShape,
}

impl LoadSpec {
    /// Checks every setting against its limit. Everything that issues a load calls this first.
    pub fn check(&self) -> Result<(), SpecError> {
        let refuse = |setting, value: &dyn ToString, allowed: String| {
            Err(out_of_range(setting, value.to_string(), allowed))
        };
        if self.bs_bytes == 0 || !self.bs_bytes.is_multiple_of(512) {
            return refuse("bs", &self.bs_bytes, "a multiple of 512, at least 512".into());
        }
        if self.rwmixread > 100 {
            return refuse("rwmixread", &self.rwmixread, "0 to 100".into());
        }
        if self.numjobs == 0 || self.numjobs > NUMJOBS_LIMIT {
            return refuse("numjobs", &self.numjobs, format!("1 to {NUMJOBS_LIMIT}"));
        }
        if self.iodepth == 0 || self.iodepth > IODEPTH_LIMIT {
            return refuse("iodepth", &self.iodepth, format!("1 to {IODEPTH_LIMIT}"));
        }
        if self.outstanding() > OUTSTANDING_LIMIT {
            return refuse("numjobs × iodepth", &self.outstanding(), format!("at most {OUTSTANDING_LIMIT}"));
        }
        if self.runtime_ns == 0 {
            return refuse("runtime", &0, "above 0".into());
        }
        if self.interval_ns == 0 {
            return refuse("interval", &0, "above 0".into());
        }
        if self.rate_iops.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            return refuse("rate_iops", &format!("{:?}", self.rate_iops), "above 0, at most 10^9".into());
        }
        self.shape.check(self)
    }

    /// Returns true if it changes data on the target: it writes or trims.
    pub fn writes(&self) -> bool {
        if let Some(replay) = &self.shape.replay {
            return !replay.trace.only_reads();
        }
        self.pattern.fixed_read_share().unwrap_or(self.rwmixread) < 100 || self.shape.trim_percent > 0
    }

    /// Returns the largest power of two, in bytes, that divides the offset and the length of every I/O; 1 for the replay of
    /// a trace.
    pub fn grain_bytes(&self) -> u32 {
        if self.shape.replay.is_some() {
            return 1;
        }
        let sizes = self.shape.sizes.iter().fold(self.bs_bytes, |bits, size| bits | size.bs_bytes);
        let starts = self.offset_bytes | self.shape.offset_increment_bytes.unwrap_or(0);
        1 << (u64::from(sizes) | starts).trailing_zeros()
    }

    /// Bytes of the range that it uses of a target of `capacity_bytes`: its `size`, or all from its offset on.
    pub fn range_bytes(&self, capacity_bytes: u64) -> u64 {
        self.size_bytes.unwrap_or_else(|| capacity_bytes.saturating_sub(self.offset_bytes))
    }

    /// Bytes of that range which it works on: the working set's share of them.
    pub fn working_set_bytes(&self, capacity_bytes: u64) -> u64 {
        let percent = match self.shape.working_set_percent {
            0 => 100,
            percent => percent,
        };
        (u128::from(self.range_bytes(capacity_bytes)) * u128::from(percent) / 100) as u64
    }

    /// I/Os outstanding at once in closed loop.
    pub fn outstanding(&self) -> u64 {
        u64::from(self.numjobs) * u64::from(self.iodepth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::SizeShare;

    /// Proves that a load's grain divides its sizes, its start and the distance of its jobs, and is no larger than needed.
    #[test]
    fn a_grain_divides_all() {
        let mut spec = LoadSpec {
            pattern: Pattern::Randread,
            rwmixread: 100,
            bs_bytes: 24 << 10,
            numjobs: 1,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 1,
            interval_ns: 1,
            seed: 1,
            shape: LoadShape::default(),
        };
        assert_eq!(spec.grain_bytes(), 8 << 10);
        spec.offset_bytes = 1 << 30;
        assert_eq!(spec.grain_bytes(), 8 << 10);
        spec.shape.sizes = vec![SizeShare { bs_bytes: 4096, weight: 1 }];
        assert_eq!(spec.grain_bytes(), 4096);
        spec.shape.offset_increment_bytes = Some(3 << 9);
        assert_eq!(spec.grain_bytes(), 512);
    }
}
