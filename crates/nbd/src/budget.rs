//! Memory budget of requests in flight.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Memory that every connection may hold whatever the others do, in bytes.
const CONNECTION_BYTES: u64 = 1 << 20;
/// Memory that all connections together may hold beyond that, in bytes.
const SHARED_BYTES_LIMIT: u64 = 512 << 20;
/// The most requests of one connection that are under way; beyond, the client waits.
const CONNECTION_REQUESTS_LIMIT: u32 = 256;
/// Time that a large request waits for others before it is refused.
const PATIENCE: Duration = Duration::from_secs(5);

/// Budget shared by the connections of a server.
#[derive(Default)]
pub(crate) struct SharedBudget(AtomicU64);

impl SharedBudget {
    fn take(&self, bytes: u64) -> bool {
        let taken = self.0.try_update(Ordering::AcqRel, Ordering::Acquire, |used| {
            used.checked_add(bytes).filter(|&used| used <= SHARED_BYTES_LIMIT)
        });
        taken.is_ok()
    }
}

/// Budget of one connection.
#[derive(Default)]
pub(crate) struct Budget {
    used: Mutex<BudgetUse>,
    released: Condvar,
}

#[derive(Default)]
struct BudgetUse {
    requests: u32,
    own_bytes: u64,
    is_closed: bool,
}

/// Bytes and a request that are under way, until [`Budget::release`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    own_bytes: u64,
    shared_bytes: u64,
    requests: u32,
}

impl Claim {
    /// Adds another claim of the same connection, to be released together.
    pub(crate) fn join(&mut self, other: Claim) {
        self.own_bytes += other.own_bytes;
        self.shared_bytes += other.shared_bytes;
        self.requests += other.requests;
    }
}

impl Budget {
    /// Waits until a request may begin; nothing where memory stays short or the connection has ended.
    pub(crate) fn claim(&self, shared: &SharedBudget, bytes: u64) -> Option<Claim> {
        let deadline = Instant::now() + PATIENCE;
        let mut used = self.used();
        loop {
            if used.is_closed {
                return None;
            }
            if used.requests < CONNECTION_REQUESTS_LIMIT {
                let claim = if used.own_bytes + bytes <= CONNECTION_BYTES {
                    Some(Claim { own_bytes: bytes, shared_bytes: 0, requests: 1 })
                } else if shared.take(bytes) {
                    Some(Claim { own_bytes: 0, shared_bytes: bytes, requests: 1 })
                } else {
                    None
                };
                if let Some(claim) = claim {
                    used.requests += 1;
                    used.own_bytes += claim.own_bytes;
                    return Some(claim);
                }
                if used.requests == 0 && Instant::now() >= deadline {
                    return None;
                }
            }
            // Other connections release without waking this one, so it looks again by itself.
            used = self
                .released
                .wait_timeout(used, Duration::from_millis(20))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(crate) fn release(&self, shared: &SharedBudget, claim: Claim) {
        shared.0.fetch_sub(claim.shared_bytes, Ordering::AcqRel);
        let mut used = self.used();
        used.requests -= claim.requests;
        used.own_bytes -= claim.own_bytes;
        drop(used);
        self.released.notify_all();
    }

    /// Refuses every further claim.
    pub(crate) fn close(&self) {
        self.used().is_closed = true;
        self.released.notify_all();
    }

    /// Waits until nothing is under way.
    pub(crate) fn drain(&self) {
        let mut used = self.used();
        while used.requests > 0 {
            used = self.released.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn used(&self) -> MutexGuard<'_, BudgetUse> {
        // Counters are changed in steps that cannot panic.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
