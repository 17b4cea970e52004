//! Volumes: where each lies, and its limits.

use super::rates::rate;
use crate::engine::Rate;
use crate::part::Counters;

/// Bits of a GiB.
const GIB_BITS: u32 = 30;

/// One volume.
#[derive(Debug, Clone)]
pub(crate) struct VolumeState {
    pub set: u16,
    /// Controller that owns it, among those of a node.
    pub preferred: u16,
    /// First byte in the set.
    pub offset_bytes: u64,
    pub bytes: u64,
    pub limiter: Option<Limiter>,
}

/// Limits of a volume: I/Os begin one after the other at no more than its rates, or, while a bucket has credits, its burst rates.
#[derive(Debug, Clone)]
pub(crate) struct Limiter {
    ios: Bucket,
    bytes: Bucket,
    io_ns: u64,
    burst_io_ns: u64,
    rate: Rate,
    burst_rate: Rate,
    tally: LimiterTally,
}

/// Counts of a limiter since it was built.
#[derive(Debug, Clone, Copy, Default)]
struct LimiterTally {
    ios: u64,
    delayed: u64,
    delay_ns: u64,
}

/// Token bucket by the generic cell rate algorithm (ITU-T I.371, annex A): one moment says how full it is.
#[derive(Debug, Clone, Default)]
struct Bucket {
    /// Time at the rate of the limit that a full bucket pays for.
    depth_ns: u64,
    /// Moment at which the bucket is full again.
    full_at_ns: u64,
    /// Moment at which the next may begin at the burst rate.
    next_ns: u64,
    /// Part of it that the last took.
    last_ns: u64,
    /// Credits that fill it.
    credits: u64,
    /// Time at the rate of the limit, with no credits left.
    at_limit_ns: u64,
}

impl Bucket {
    /// Returns when something may begin that takes `cost_ns` at the rate of the limit and `spacing_ns` at the burst
    /// rate.
    fn starts_at_ns(&mut self, now_ns: u64, cost_ns: u64, spacing_ns: u64) -> u64 {
        let has_credit_ns = self.full_at_ns.saturating_sub(self.depth_ns);
        let starts_ns = now_ns.max(self.next_ns).max(has_credit_ns);
        if self.depth_ns > 0 && has_credit_ns > now_ns.max(self.next_ns) {
            self.at_limit_ns += cost_ns;
        }
        self.full_at_ns = self.full_at_ns.max(starts_ns) + cost_ns;
        self.next_ns = starts_ns + spacing_ns;
        self.last_ns = cost_ns;
        starts_ns
    }

    /// Credits left at a moment.
    fn credits_at(&self, now_ns: u64) -> u64 {
        let left_ns = self.depth_ns.saturating_sub(self.full_at_ns.saturating_sub(now_ns));
        let credits = u128::from(self.credits) * u128::from(left_ns) / u128::from(self.depth_ns.max(1));
        credits as u64
    }

    fn is_steady(&self, now_ns: u64) -> bool {
        let is_full = self.full_at_ns <= now_ns + self.last_ns;
        let is_empty = self.full_at_ns + self.last_ns >= now_ns + self.depth_ns;
        self.depth_ns == 0 || is_full || is_empty
    }
}

impl Limiter {
    /// The limiter of a volume of so many bytes.
    pub fn new(limit: &array::Limit, volume_bytes: u64) -> Limiter {
        let per_gib = |rate: u64| ((u128::from(rate) * u128::from(volume_bytes)) >> GIB_BITS) as u64;
        let lower = |total: u64, rate: u64| match rate {
            0 => total,
            rate => total.min(per_gib(rate).max(1)),
        };
        let io_ns = 1_000_000_000 / lower(limit.iops.get(), limit.iops_per_gib.get());
        let (burst_iops, burst_bandwidth) = (limit.burst_iops.get(), limit.burst_bandwidth.get());
        let of_limit = rate(lower(limit.bandwidth.get(), limit.bandwidth_per_gib.get()), true);
        // Without bursts a bucket has no depth, and the two rates are one.
        let bucket = |has_bursts: bool, credits: u64, depth_ns: u64| Bucket {
            depth_ns: if has_bursts { depth_ns } else { 0 },
            credits: if has_bursts { credits } else { 0 },
            ..Bucket::default()
        };
        let (io_credits, byte_credits) = (limit.io_credits.get(), limit.byte_credits.get());
        Limiter {
            ios: bucket(burst_iops > 0, io_credits, io_credits.saturating_mul(io_ns)),
            bytes: bucket(burst_bandwidth > 0, byte_credits, of_limit.duration_ns(byte_credits)),
            io_ns,
            burst_io_ns: 1_000_000_000u64
                .checked_div(burst_iops)
                .map_or(io_ns, |burst_ns| burst_ns.min(io_ns)),
            rate: of_limit,
            burst_rate: if burst_bandwidth > 0 { rate(burst_bandwidth, true) } else { of_limit },
            tally: LimiterTally::default(),
        }
    }

    /// Returns when an I/O that is handed over now may begin.
    pub fn starts_at_ns(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let bytes = u64::from(bytes);
        let cost_ns = self.rate.duration_ns(bytes);
        let spacing_ns = self.burst_rate.duration_ns(bytes).min(cost_ns);
        let by_ios_ns = self.ios.starts_at_ns(now_ns, self.io_ns, self.burst_io_ns);
        let by_bytes_ns = self.bytes.starts_at_ns(now_ns, cost_ns, spacing_ns);
        let starts_ns = by_ios_ns.max(by_bytes_ns);
        self.tally.ios += 1;
        self.tally.delayed += u64::from(starts_ns > now_ns);
        self.tally.delay_ns += starts_ns - now_ns;
        starts_ns
    }

    /// Returns whether each bucket has no depth, is full, or is empty: in between it fills or drains.
    pub fn is_steady(&self, now_ns: u64) -> bool {
        [&self.ios, &self.bytes].into_iter().all(|bucket| bucket.is_steady(now_ns))
    }
}

/// Counts of the hosts' stripes over volumes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StripeTally {
    /// I/Os over several units, and the I/Os to volumes that they became.
    pub split_ios: u64,
    pub pieces: u64,
}

impl StripeTally {
    /// Counts beside the width of the stripes.
    pub fn count_into(self, entries: &[Entry], counters: &mut Counters) {
        let is_striped = |entry: &Entry| entry.stripe.is_some() && entry.volumes.len() > 1;
        if entries.iter().any(is_striped) {
            counters.add("volume_manager", "split_ios", self.split_ios);
            counters.add("volume_manager", "pieces", self.pieces);
        }
    }
}

/// Counts what the limits of all volumes did, and the credits that are left of them.
pub(crate) fn count_limits(volumes: &[VolumeState], now_ns: u64, counters: &mut Counters) {
    let limiters = || volumes.iter().filter_map(|volume| volume.limiter.as_ref());
    if limiters().next().is_none() {
        return;
    }
    let sum = |value: &dyn Fn(&Limiter) -> u64| limiters().map(value).sum();
    counters.add("limits", "ios", sum(&|limiter| limiter.tally.ios));
    counters.add("limits", "delayed_ios", sum(&|limiter| limiter.tally.delayed));
    counters.add("limits", "delay_ns", sum(&|limiter| limiter.tally.delay_ns));
    if limiters().any(|limiter| limiter.ios.depth_ns > 0) {
        counters.add("limits", "io_base_rate_ns", sum(&|limiter| limiter.ios.at_limit_ns));
        counters.add("limits", "fill_io_credits", sum(&|limiter| limiter.ios.credits_at(now_ns)));
    }
    if limiters().any(|limiter| limiter.bytes.depth_ns > 0) {
        counters.add("limits", "byte_base_rate_ns", sum(&|limiter| limiter.bytes.at_limit_ns));
        counters.add("limits", "fill_byte_credits", sum(&|limiter| limiter.bytes.credits_at(now_ns)));
    }
}

/// Volumes of one entry of the description, one after the other in one address space.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// First byte of each volume, with its number, in order.
    pub volumes: Vec<(u64, u32)>,
    pub bytes: u64,
    /// Stripe of the hosts over the volumes, of which each is a drive; `None` where they follow each other whole.
    pub stripe: Option<layout::Layout>,
}
