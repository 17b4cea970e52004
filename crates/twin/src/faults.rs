//! Persistent faults: what has become of an array's drives and controllers, for another twin of it to begin with.

use layout::DriveIndex;
use serde::{Deserialize, Serialize};

/// Faults of an array at a moment; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// By set of drives. None of a pool, whose pieces have moved, and of replicas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetFaults>,
    /// A failover or an update that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controllers: Option<ControllerFaults>,
}

impl Faults {
    /// Returns whether the array is whole and as it was made, with all its spares.
    pub fn is_empty(&self) -> bool {
        let is_whole = |set: &SetFaults| {
            let as_made = set.fitted.iter().enumerate().all(|(place, &number)| number as usize == place);
            as_made && set.lost.is_empty() && set.rebuilding.is_empty()
        };
        self.controllers.is_none() && self.sets.iter().all(is_whole)
    }

    /// Forgets losses of drives that have been replaced since: of the places that are empty those stay that `is_lost` names.
    pub fn forget_replaced(&mut self, is_lost: impl Fn(DriveIndex) -> bool) {
        for set in &mut self.sets {
            set.lost.retain(|&place| is_lost(place));
        }
    }

    /// Returns whether they differ from others in no more than how far a rebuild, a failover or an update has come.
    pub fn are_at_the_step_of(&self, other: &Faults) -> bool {
        self.without_progress() == other.without_progress()
    }

    fn without_progress(&self) -> Faults {
        let sets = self.sets.iter().map(|set| SetFaults { rebuilt_below_stripe: 0, ..set.clone() });
        let controllers = self.controllers.as_ref().map(|controllers| ControllerFaults {
            noticed_in_ns: controllers.noticed_in_ns.iter().map(|noticed| noticed.map(|_| 0)).collect(),
            next_in_ns: 0,
            stripes_left: 0,
            ..controllers.clone()
        });
        Faults { sets: sets.collect(), controllers }
    }
}

/// Drives of a set under a RAID level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetFaults {
    /// By place: the number of the drive that is fitted in it. Hot spares are numbered behind the places.
    pub fitted: Vec<u32>,
    /// Hot spares that are left, the next one last.
    pub spares: Vec<u32>,
    /// Places whose drive is lost and that nothing has taken.
    pub lost: Vec<DriveIndex>,
    /// Places that are rebuilt.
    pub rebuilding: Vec<DriveIndex>,
    /// They hold their part of stripes below this one.
    pub rebuilt_below_stripe: u64,
}

/// Next step of a failover or an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FailoverStep {
    /// Controller so-and-so leaves.
    Leave(u32),
    /// Controller so-and-so comes back.
    Return(u32),
    /// The verification reads the next stripe.
    Verify,
}

/// Controllers during a failover or an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFaults {
    /// By controller: nanoseconds until its hosts learn that it is away; none where it serves.
    pub(crate) noticed_in_ns: Vec<Option<u64>>,
    pub(crate) next_step: FailoverStep,
    /// Nanoseconds until then.
    pub(crate) next_in_ns: u64,
    /// Stripes still to verify.
    pub(crate) stripes_left: u64,
    /// One controller leaves and comes back, and that is all.
    pub(crate) is_failover: bool,
}
