//! The buffers of a worker: one aligned block of memory, one part for each place in the queue.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::RingError;

/// The most memory that the buffers of one worker may take.
pub const ARENA_LIMIT_BYTES: usize = 8 << 30;
/// Page size, the largest alignment that `O_DIRECT` asks for.
const ALIGNMENT_BYTES: usize = 4096;
/// From this size on the memory is aligned to huge pages, which halves the kernel's work on a registered buffer.
const HUGE_BYTES: usize = 2 << 20;

/// Zeroed, aligned memory in `slots` parts of `slot_bytes`.
#[derive(Debug)]
pub(crate) struct Arena {
    start: NonNull<u8>,
    layout: Layout,
    slots: usize,
    slot_bytes: usize,
}

// SAFETY: the arena owns its memory, as a `Box<[u8]>` does; whoever touches a part through the raw pointer answers for it.
unsafe impl Send for Arena {}
// SAFETY: a shared arena hands out raw pointers only.
unsafe impl Sync for Arena {}

impl Arena {
    pub fn new(slots: usize, slot_bytes: usize) -> Result<Arena, RingError> {
        let slot_bytes = slot_bytes.next_multiple_of(ALIGNMENT_BYTES);
        let total = slots.checked_mul(slot_bytes).filter(|&total| total > 0 && total <= ARENA_LIMIT_BYTES);
        let layout = total.and_then(|total| {
            let alignment = if total >= HUGE_BYTES { HUGE_BYTES } else { ALIGNMENT_BYTES };
            Layout::from_size_align(total, alignment).ok()
        });
        // SAFETY: the layout's size is not 0.
        let start = layout.and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }));
        match (layout, start) {
            (Some(layout), Some(start)) => Ok(Arena { start, layout, slots, slot_bytes }),
            _ => Err(RingError::refused(
                format!(
                    "{slots} buffers of {slot_bytes} bytes do not fit (limit: {ARENA_LIMIT_BYTES} bytes a worker)"
                ),
                "use less depth, smaller blocks or more workers",
            )),
        }
    }

    pub fn pointer(&self, slot: u32) -> *mut u8 {
        let slot = slot as usize;
        assert!(slot < self.slots);
        // SAFETY: the slot lies within the memory.
        unsafe { self.start.as_ptr().add(slot * self.slot_bytes) }
    }

    /// A part as a slice.
    ///
    /// # Safety
    /// Neither the kernel nor another reference may touch the part while the slice lives.
    #[allow(clippy::mut_from_ref, reason = "the caller answers for the only reference to the part")]
    pub unsafe fn slot(&self, slot: u32, length_bytes: usize) -> &mut [u8] {
        assert!(length_bytes <= self.slot_bytes);
        // SAFETY: the part lies within the memory, is initialised, and the caller answers for its being unshared.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), length_bytes) }
    }

    /// All of the memory, to be registered.
    pub fn as_iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.start.as_ptr().cast(), iov_len: self.layout.size() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
