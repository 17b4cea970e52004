//! Common start of the loads of a case on an agent: the coordinator names the moment.

use hosts::Part;
use load_engine::StartBarrier;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The barrier of the case that is set up.
#[derive(Debug, Default)]
pub(crate) struct CommonStart {
    current: Mutex<Option<Arc<StartBarrier>>>,
    changed: Condvar,
}

impl CommonStart {
    /// Makes a new barrier for a number of loads.
    pub fn begin(&self, loads: usize) -> Arc<StartBarrier> {
        let barrier = Arc::new(StartBarrier::new(loads as u32));
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&barrier));
        self.changed.notify_all();
        barrier
    }

    /// The barrier of the case, once there is one; waits for it, at most so long.
    pub fn wait(&self, limit: Duration) -> Option<Arc<StartBarrier>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(current, limit, |current| current.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Forgets the barrier, before the next case.
    pub fn clear(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Parameters of an agent, which carries cases out for a coordinator.
#[derive(Debug, Clone)]
pub(crate) struct AgentParts {
    pub start: Arc<CommonStart>,
    /// The part of volumes that this host writes beforehand, where they are shared.
    pub part: Option<Part>,
}

/// Parts of a shared volume begin at multiples of this, so that blocks of two hosts never lie in one.
const PART_GRAIN_BYTES: u64 = 1 << 20;

/// First byte and length of a host's part of a range.
pub(crate) fn part_of(offset_bytes: u64, length_bytes: u64, part: Part) -> (u64, u64) {
    let each = length_bytes / u64::from(part.of.max(1));
    // A volume of a few megabytes is divided by its sectors.
    let grain = if each >= PART_GRAIN_BYTES { PART_GRAIN_BYTES } else { 4096 };
    let each = each / grain * grain;
    (offset_bytes + each * u64::from(part.index), each)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that parts of any volume are whole, equal, and apart, and lie within it.
    #[test]
    fn parts_do_not_overlap() {
        for length in [3 << 20, 64 << 20, (1 << 40) + 12_345_678, 40_960] {
            let parts: Vec<(u64, u64)> =
                (0..3).map(|index| part_of(8192, length, Part { index, of: 3 })).collect();
            assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{parts:?}");
            assert!(parts.iter().all(|(_, bytes)| *bytes == parts[0].1 && *bytes > 0 && bytes % 4096 == 0));
            assert!(parts[2].0 + parts[2].1 <= 8192 + length);
        }
    }
}
