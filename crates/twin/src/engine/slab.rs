//! Slab of values with reused indices.

/// Things by numbers that are used again.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    /// Keeps a thing; returns its number.
    #[inline]
    pub fn keep(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = item;
            return index;
        }
        self.items.push(item);
        self.items.len() as u32 - 1
    }

    /// A number for a thing that the caller writes there at once, field by field: one that is made elsewhere and moved is read back
    /// in wider words than it was written in, which the processor waits for. `blank` is what a new place holds until then.
    #[inline]
    pub fn reserve(&mut self, blank: T) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.items.push(blank);
            self.items.len() as u32 - 1
        })
    }

    /// Returns what is kept under a number.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.items[index as usize]
    }

    /// Looks at a part of a thing that is needed soon, so that its line is in the nearest cache by then. It may be gone by now, or never
    /// have been. One word is loaded: a copy of the whole would wait for what it is to bring closer.
    #[inline]
    pub fn fetch<P>(&self, index: u32, part: impl Fn(&T) -> P) {
        if let Some(item) = self.items.get(index as usize) {
            // A load whose value nobody waits for.
            std::hint::black_box(part(item));
        }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }

    /// Returns whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.items.len()
    }

    /// Hands a thing out; its number may be used again.
    #[inline]
    pub fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        self.items[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a number names what was kept under it until it is taken, and is used again then.
    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::default();
        assert!(slab.is_empty());
        let (first, second) = (slab.keep('x'), slab.keep('b'));
        *slab.get_mut(first) = 'a';
        assert_eq!((*slab.get(first), *slab.get(second)), ('a', 'b'));
        assert_eq!(slab.take(first), 'a');
        assert_eq!(slab.keep('c'), first);
        assert!(!slab.is_empty());
        assert_eq!((slab.take(second), slab.take(first)), ('b', 'c'));
        assert!(slab.is_empty());
    }
}
