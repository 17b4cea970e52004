//! Steadiness of data services: whether time may be skipped, until when, and what they make of it.

use super::Services;
use super::replication::Replication;
use super::snapshots::Snapshots;
use super::thin::Thin;
use super::tier::Tier;

impl Services {
    /// Returns whether what commands need stays as it is for the `left_ns` that the load goes on.
    pub fn is_steady(&self, now_ns: u64, left_ns: u64) -> bool {
        let is_idle = self.replication.as_ref().is_some_and(Replication::is_steady);
        let keeps_alike =
            |snapshots: &Snapshots| snapshots.is_steady() || (is_idle && snapshots.is_steady_for_reads());
        self.tier.as_ref().is_none_or(|tier| tier.is_steady(now_ns, left_ns))
            && (self.replication.is_none() || is_idle)
            && self.thin.as_ref().is_none_or(Thin::is_steady)
            && self.snapshots.as_ref().is_none_or(keeps_alike)
            && self.cache.as_ref().is_none_or(|cache| cache.is_lost || cache.kept.is_full())
            && self.mirror.as_ref().is_none_or(|mirror| mirror.resync.is_synchronous())
    }

    /// Returns when a service does something by itself that a load may feel.
    pub fn changes_at_ns(&self) -> u64 {
        self.tier.as_ref().map_or(u64::MAX, Tier::changes_at_ns).min(self.others_at_ns())
    }

    /// Time passes that is not simulated, while everything is steady.
    pub fn skip_time(&mut self, now_ns: u64, duration_ns: u64) {
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.skip_time(duration_ns);
        }
        if let Some(tier) = &mut self.tier {
            tier.skip_time(now_ns, duration_ns);
        }
        if let Some(replication) = &mut self.replication {
            replication.skip_time(duration_ns);
        }
    }
}
