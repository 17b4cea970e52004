//! Row of a chain: one value for each replica, the first replica first.

use std::ops::{Deref, DerefMut};

/// Most replicas of a chain.
pub(crate) const REPLICAS_LIMIT: usize = array::CHAIN_LIMIT as usize;

/// Up to [`REPLICAS_LIMIT`] values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Row<T> {
    values: [T; REPLICAS_LIMIT],
    count: u8,
}

impl<T: Copy + Default> Row<T> {
    /// A row of one value.
    pub fn of(value: T) -> Self {
        let mut row = Row::default();
        row.push(value);
        row
    }

    /// Adds a value behind the others, of which there are fewer than [`REPLICAS_LIMIT`].
    #[inline]
    pub fn push(&mut self, value: T) {
        self.values[usize::from(self.count)] = value;
        self.count += 1;
    }
}

impl<T: Copy + Default> FromIterator<T> for Row<T> {
    /// Values beyond the limit are left out.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut row = Row::default();
        values.into_iter().take(REPLICAS_LIMIT).for_each(|value| row.push(value));
        row
    }
}

impl<T> Deref for Row<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.values[..usize::from(self.count)]
    }
}

impl<T> DerefMut for Row<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..usize::from(self.count)]
    }
}
