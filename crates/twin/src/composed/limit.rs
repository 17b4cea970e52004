//! The limit of a volume: a hard cap without burst from the first I/O on, which can be changed at any time.
//!
//! I/Os start at least 1 ÷ IOPS, and the bytes of the I/O before ÷ rate, apart: a token bucket of the size of one I/O.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TwinError;
use crate::settings::{bad, number};

const RATE: &str = "a number above 0, or none";
const PARTS: &str =
    "no place in a limit, which has iops, iops_per_gib, bw_bytes_per_s and bw_bytes_per_s_per_gib";

/// I/Os a second that a description has for no limit.
const IOPS_UNLIMITED: u64 = 1_000_000_000;
/// Bytes a second that it has for none.
const BANDWIDTH_UNLIMITED: u64 = 1_000_000_000_000;
/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;
/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;
/// No limit is higher: in bytes a second, a thousand of the fastest links.
pub(crate) const RATE_LIMIT: f64 = 1e15;
/// No I/O has to wait longer for the one before it: an hour.
const SPACING_LIMIT_NS: f64 = 3.6e12;

/// What a volume may do, in all or for each GiB of its size; where both are given the lower counts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// I/Os a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// I/Os a second for each GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_per_gib: Option<f64>,
    /// Bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bw_bytes_per_s: Option<f64>,
    /// Bytes a second for each GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bw_bytes_per_s_per_gib: Option<f64>,
}

impl Limit {
    /// The limit of a description: rates that limit nothing are none.
    pub fn of(limit: &array::Limit) -> Limit {
        let below = |value: u64, most: u64| (value > 0 && value < most).then_some(value as f64);
        Limit {
            iops: below(limit.iops.get(), IOPS_UNLIMITED),
            iops_per_gib: below(limit.iops_per_gib.get(), u64::MAX),
            bw_bytes_per_s: below(limit.bandwidth.get(), BANDWIDTH_UNLIMITED),
            bw_bytes_per_s_per_gib: below(limit.bandwidth_per_gib.get(), u64::MAX),
        }
    }

    /// The part of that name, as in plans.
    pub(crate) fn part_mut(&mut self, name: &str) -> Option<&mut Option<f64>> {
        match name {
            "iops" => Some(&mut self.iops),
            "iops_per_gib" => Some(&mut self.iops_per_gib),
            "bw_bytes_per_s" => Some(&mut self.bw_bytes_per_s),
            "bw_bytes_per_s_per_gib" => Some(&mut self.bw_bytes_per_s_per_gib),
            _ => None,
        }
    }

    /// This limit with parts of it set, or lifted by `none`.
    pub fn changed<'a>(
        mut self,
        parts: impl Iterator<Item = (&'a String, &'a Value)>,
    ) -> Result<Limit, TwinError> {
        for (name, value) in parts {
            let rate = rate(name, value)?;
            match self.part_mut(name) {
                Some(part) => *part = rate,
                None => return Err(bad(name, value, PARTS)),
            }
        }
        Ok(self)
    }

    /// Returns whether every part that is given can be a limit.
    pub(crate) fn is_possible(&self) -> bool {
        [self.iops, self.iops_per_gib, self.bw_bytes_per_s, self.bw_bytes_per_s_per_gib]
            .into_iter()
            .flatten()
            .all(|value| value > 0.0 && value <= RATE_LIMIT)
    }
}

/// A limit, or `none`.
pub(crate) fn rate(name: &str, value: &Value) -> Result<Option<f64>, TwinError> {
    if value.is_null() || value.as_str() == Some("none") {
        return Ok(None);
    }
    match number(name, value, RATE)? {
        rate if rate > 0.0 && rate <= RATE_LIMIT => Ok(Some(rate)),
        _ => Err(bad(name, value, RATE)),
    }
}

fn lower(total: Option<f64>, per_gib: Option<f64>, gib: f64) -> Option<f64> {
    let scaled = per_gib.map(|value| value * gib);
    match (total, scaled) {
        (Some(total), Some(scaled)) => Some(total.min(scaled)),
        (total, scaled) => total.or(scaled),
    }
}

/// Holds a volume to its limit.
#[derive(Debug, Clone, Default)]
pub struct Limiter {
    spacing_ns: u64,
    ns_per_byte: f64,
    is_limited: bool,
    /// The I/O that was let in last, if any.
    last: Option<(u64, u64)>,
}

impl Limiter {
    /// Sets the limit of a volume of this size, with effect on the I/O that waits at this moment.
    pub fn set(&mut self, limit: &Limit, volume_bytes: u64) {
        let gib = volume_bytes as f64 / GIB;
        let iops = lower(limit.iops, limit.iops_per_gib, gib);
        let bw_bytes_per_s = lower(limit.bw_bytes_per_s, limit.bw_bytes_per_s_per_gib, gib);
        self.is_limited = iops.is_some() || bw_bytes_per_s.is_some();
        // Rounded up, so that a cap is never exceeded.
        self.spacing_ns = iops.map_or(0, |iops| (SECOND_NS / iops).ceil().min(SPACING_LIMIT_NS) as u64);
        self.ns_per_byte = bw_bytes_per_s.map_or(0.0, |rate| SECOND_NS / rate);
    }

    /// Returns whether there is a limit.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// The moment from which the next I/O may start.
    pub fn ready_ns(&self) -> u64 {
        let Some((at_ns, bytes)) = self.last.filter(|_| self.is_limited) else { return 0 };
        let for_bytes_ns = (bytes as f64 * self.ns_per_byte).ceil().min(SPACING_LIMIT_NS) as u64;
        at_ns + self.spacing_ns.max(for_bytes_ns)
    }

    /// Lets an I/O in at this moment.
    #[inline]
    pub fn take(&mut self, now_ns: u64, bytes: u64) {
        self.last = Some((now_ns, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limiter: &mut Limiter, bytes: u64, until_ns: u64) -> Vec<u64> {
        let mut starts = Vec::new();
        let mut now_ns = 0;
        loop {
            now_ns = limiter.ready_ns().max(now_ns);
            if now_ns >= until_ns {
                return starts;
            }
            limiter.take(now_ns, bytes);
            starts.push(now_ns);
        }
    }

    /// Proves that I/Os of a volume that always has some waiting start at just the rate of its limit, of either kind
    /// and either form, the first second included.
    #[test]
    fn a_limit_is_kept_exactly() {
        let second_ns = 1_000_000_000;
        let limits = [
            (Limit { iops: Some(1000.0), ..Limit::default() }, 1000),
            (Limit { iops_per_gib: Some(10.0), ..Limit::default() }, 1000),
            (Limit { bw_bytes_per_s: Some(4_096_000.0), ..Limit::default() }, 1000),
            (Limit { bw_bytes_per_s_per_gib: Some(40_960.0), ..Limit::default() }, 1000),
            (Limit { iops: Some(3.0), bw_bytes_per_s: Some(8192.0), ..Limit::default() }, 2),
        ];
        for (limit, expected) in limits {
            let mut limiter = Limiter::default();
            limiter.set(&limit, 100 << 30);
            let starts = admitted(&mut limiter, 4096, 3 * second_ns);
            for second in 0..3 {
                let range = second * second_ns..(second + 1) * second_ns;
                let count = starts.iter().filter(|start| range.contains(start)).count();
                assert_eq!(count, expected, "{limit:?}, second {second}");
            }
        }
    }

    /// Proves that a rest earns no burst.
    #[test]
    fn rest_earns_nothing() {
        let mut limiter = Limiter::default();
        limiter.set(&Limit { iops: Some(1000.0), ..Limit::default() }, 1 << 30);
        limiter.take(0, 512);
        let later_ns = 10_000_000_000;
        assert!(limiter.ready_ns() < later_ns);
        limiter.take(later_ns, 512);
        assert_eq!(limiter.ready_ns(), later_ns + 1_000_000);
    }

    /// Proves that a changed limit acts on the I/O that is already waiting.
    #[test]
    fn a_change_acts_at_once() {
        let mut limiter = Limiter::default();
        limiter.set(&Limit { iops: Some(1.0), ..Limit::default() }, 1 << 30);
        limiter.take(0, 512);
        assert_eq!(limiter.ready_ns(), 1_000_000_000);
        limiter.set(&Limit { iops: Some(100.0), ..Limit::default() }, 1 << 30);
        assert_eq!(limiter.ready_ns(), 10_000_000);
        limiter.set(&Limit::default(), 1 << 30);
        assert_eq!(limiter.ready_ns(), 0);
    }
}
