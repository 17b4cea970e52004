//! The null target: takes everything and answers at once, without the kernel. What it costs is the engine itself.

use load::IoError;

use crate::RingError;
use crate::queue::{Kind, Queue};

#[derive(Debug, Default)]
pub(crate) struct Null {
    batch: Vec<u32>,
    answered: Vec<u32>,
}

impl Queue for Null {
    fn buffer(&mut self, _slot: u32, _length_bytes: u32) -> Option<&mut [u8]> {
        None
    }

    #[inline]
    fn push(
        &mut self,
        slot: u32,
        _kind: Kind,
        _offset_bytes: u64,
        _length_bytes: u32,
    ) -> Result<(), RingError> {
        self.batch.push(slot);
        Ok(())
    }

    fn submit_and_wait(&mut self, want: u32, timeout_ns: u64) -> Result<(), RingError> {
        if self.batch.is_empty() && self.answered.is_empty() && want > 0 {
            std::thread::sleep(std::time::Duration::from_nanos(timeout_ns));
        }
        self.answered.append(&mut self.batch);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, Result<(), IoError>)> {
        self.answered.pop().map(|slot| (slot, Ok(())))
    }

    fn cancel_all(&mut self) {}
}
