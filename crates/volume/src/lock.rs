//! Locks that a panic does not close.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, poisoned or not. For what is replaced whole, or changed by copies that cannot panic half-way: it is
/// sound whatever happened to who held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
