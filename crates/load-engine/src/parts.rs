//! Operations that reach the devices in parts, because a stripe spreads them: done when all parts are.

use load::IoError;

/// By place in the queue: how many parts are out, and what went wrong first.
#[derive(Debug)]
pub(crate) struct Parts {
    left: Vec<u32>,
    failed: Vec<Option<IoError>>,
}

impl Parts {
    pub fn new(slots: usize) -> Parts {
        Parts { left: vec![0; slots], failed: vec![None; slots] }
    }

    pub fn is_out(&self, slot: u32) -> bool {
        self.left[slot as usize] > 0
    }

    #[inline]
    pub fn begin(&mut self, slot: u32) {
        self.left[slot as usize] += 1;
    }

    /// Ends a part; the whole operation's outcome with the last one.
    #[inline]
    pub fn end(&mut self, slot: u32, outcome: Result<(), IoError>) -> Option<Result<(), IoError>> {
        let place = slot as usize;
        if let Err(error) = outcome {
            self.failed[place].get_or_insert(error);
        }
        self.left[place] -= 1;
        (self.left[place] == 0).then(|| self.failed[place].take().map_or(Ok(()), Err))
    }
}

/// The outcome of a part from what the kernel returned: a negative error number, or bytes.
#[inline]
pub(crate) fn outcome_of(result: i32, expected: u32) -> Result<(), IoError> {
    if result == expected as i32 {
        Ok(())
    } else if result < 0 {
        Err(IoError::Os(-result))
    } else {
        Err(IoError::Short(result as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that an operation ends with its last part, with the first error, and that its place is clean afterwards.
    #[test]
    fn the_last_part_ends_it() {
        let mut parts = Parts::new(2);
        for _ in 0..3 {
            parts.begin(1);
        }
        assert_eq!(parts.end(1, Ok(())), None);
        assert_eq!(parts.end(1, outcome_of(-libc::EIO, 512)), None);
        assert!(parts.is_out(1) && !parts.is_out(0));
        assert_eq!(parts.end(1, outcome_of(100, 512)), Some(Err(IoError::Os(libc::EIO))));
        parts.begin(1);
        assert_eq!(parts.end(1, outcome_of(512, 512)), Some(Ok(())));
    }
}
