//! Limits of volumes: what cannot be, and the ceiling that they are together.

use crate::description::{Array, Limit};
use crate::refusal::{Refusal, refuse};

impl Limit {
    /// I/Os a second of a block size at most, while there are credits.
    fn most_iops(&self, block_bytes: u64) -> f64 {
        let ios = self.iops.get().max(self.burst_iops.get());
        let bytes = self.bandwidth.get().max(self.burst_bandwidth.get());
        (ios as f64).min(bytes as f64 / block_bytes as f64)
    }

    /// Returns true if credits pay for more than the limit.
    pub fn has_credits(&self) -> bool {
        (self.burst_iops.get() > 0 && self.io_credits.get() > 0)
            || (self.burst_bandwidth.get() > 0 && self.byte_credits.get() > 0)
    }
}

/// Volumes of each entry over which the hosts stripe.
pub fn striped_volumes(array: &Array) -> impl Iterator<Item = u32> + '_ {
    let striped = array.volumes.iter().filter(|volume| volume.keys.stripe_unit.get() > 0);
    striped.map(|volume| volume.keys.count.count()).filter(|count| *count > 1)
}

/// Volumes that have limits, and how many of them have credits beside.
pub fn limited_volumes(array: &Array) -> (u32, u32) {
    let limited = array.volumes.iter().filter_map(|volume| {
        let limit = volume.limit.as_ref()?;
        Some((volume.keys.count.count(), limit.has_credits()))
    });
    limited.fold((0, 0), |(all, with_credits), (count, has_credits)| {
        (all + count, if has_credits { with_credits + count } else { with_credits })
    })
}

/// I/Os a second at most of the volumes on a group or pool, with credits; `None` where one of them has no limit.
pub(crate) fn ceiling(array: &Array, on: &str, block_bytes: u64) -> Option<f64> {
    let is_on = |name: &str| name.is_empty() || name == on;
    let volumes = array.volumes.iter().filter(|volume| is_on(&volume.keys.on.text));
    let sum: Option<f64> = volumes
        .map(|volume| {
            let limit = volume.limit.as_ref()?;
            Some(limit.most_iops(block_bytes) * f64::from(volume.keys.count.count()))
        })
        .sum();
    sum.filter(|iops| *iops > 0.0)
}

/// Refuses bursts that are none.
pub(crate) fn check(array: &Array) -> Result<(), Refusal> {
    for (entry, volume) in array.volumes.iter().enumerate() {
        let Some(limit) = &volume.limit else { continue };
        let path = |key: &str| format!("volumes[{entry}].limit.{key}");
        for (burst, rate, credits, names) in [
            (&limit.burst_iops, &limit.iops, &limit.io_credits, ["burst_iops", "iops", "io_credits"]),
            (
                &limit.burst_bandwidth,
                &limit.bandwidth,
                &limit.byte_credits,
                ["burst_bandwidth", "bandwidth", "byte_credits"],
            ),
        ] {
            let [burst_key, rate_key, credits_key] = names;
            if burst.get() > 0 && burst.get() <= rate.get() {
                return refuse(
                    path(burst_key),
                    format!("bursts of {} are no more than the limit", burst.text),
                    format!("make it more than `{rate_key}`, or leave it out"),
                );
            }
            if burst.get() == 0 && credits.get() > 0 {
                return refuse(
                    path(credits_key),
                    "credits that nothing spends",
                    format!("say `{burst_key}`, or leave the credits out"),
                );
            }
        }
    }
    Ok(())
}
