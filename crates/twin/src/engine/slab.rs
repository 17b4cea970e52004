//! Things by numbers that are used again.

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
    pub fn keep(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = item;
            return index;
        }
        self.items.push(item);
        self.items.len() as u32 - 1
    }

    /// Hands a thing out; its number may be used again.
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
        let (first, second) = (slab.keep('a'), slab.keep('b'));
        assert_eq!(slab.take(first), 'a');
        assert_eq!(slab.keep('c'), first);
        assert_eq!((slab.take(second), slab.take(first)), ('b', 'c'));
    }
}
