//! Operations through threads with `pread` and `pwrite`, where io_uring is absent or forbidden.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use load::IoError;
use rustix::io::{IoSlice, ReadWriteFlags};

use crate::arena::Arena;
use crate::parts::{Parts, outcome_of};
use crate::queue::{Kind, Queue};
use crate::striping::{Extent, Striping};
use crate::trim::trim;
use crate::{OpenTarget, RingError, RingOptions, TrimKind};

/// The most threads of one worker. More depth than this waits in our own queue, and the run says so.
pub(crate) const THREADS_LIMIT: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Work {
    slot: u32,
    kind: Kind,
    extent: Extent,
}

#[derive(Debug, Default)]
struct Waiting {
    work: VecDeque<Work>,
    is_over: bool,
}

/// State that the threads of a worker share and own together: one that a device never lets go keeps its buffer.
struct Shared {
    files: Vec<SharedFile>,
    arena: Arena,
    waiting: Mutex<Waiting>,
    there_is_work: Condvar,
    write_flags: ReadWriteFlags,
    trim: TrimKind,
}

struct SharedFile {
    descriptor: OwnedFd,
    is_block_device: bool,
}

/// The threads of one worker.
pub(crate) struct Threads<'a> {
    shared: Arc<Shared>,
    striping: &'a Striping,
    parts: Parts,
    batch: Vec<Work>,
    finished: Receiver<(u32, Result<(), IoError>)>,
    ready: VecDeque<(u32, Result<(), IoError>)>,
}

impl<'a> Threads<'a> {
    pub fn new(
        targets: &[OpenTarget],
        striping: &'a Striping,
        arena: Arena,
        slots: usize,
        options: &RingOptions,
    ) -> Result<Threads<'a>, RingError> {
        let failed = |error| RingError::engine("start threads", error);
        let files = targets
            .iter()
            .map(|target| {
                let descriptor = target.file().as_fd().try_clone_to_owned()?;
                Ok(SharedFile { descriptor, is_block_device: target.is_block_device() })
            })
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let shared = Arc::new(Shared {
            files,
            arena,
            waiting: Mutex::new(Waiting::default()),
            there_is_work: Condvar::new(),
            write_flags: if options.fua { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() },
            trim: options.trim,
        });
        let (tx, finished) = channel();
        let threads = Threads {
            shared,
            striping,
            parts: Parts::new(slots),
            batch: Vec::new(),
            finished,
            ready: VecDeque::new(),
        };
        for _ in 0..slots.min(THREADS_LIMIT) {
            let (shared, tx) = (Arc::clone(&threads.shared), tx.clone());
            std::thread::Builder::new()
                .name("ring-psync".into())
                .spawn(move || shared.serve(&tx))
                .map_err(failed)?;
        }
        Ok(threads)
    }
}

impl Shared {
    fn serve(&self, tx: &Sender<(u32, Result<(), IoError>)>) {
        loop {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let work = loop {
                match waiting.work.pop_front() {
                    Some(work) => break work,
                    None if waiting.is_over => return,
                    None => {
                        waiting = self.there_is_work.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(waiting);
            if tx.send((work.slot, self.carry_out(work))).is_err() {
                return;
            }
        }
    }

    fn carry_out(&self, Work { slot, kind, extent }: Work) -> Result<(), IoError> {
        let SharedFile { descriptor, is_block_device } = &self.files[extent.target as usize];
        let file: BorrowedFd = descriptor.as_fd();
        let (from, length) = (extent.within_bytes as usize, extent.length_bytes as usize);
        let offset = extent.offset_bytes;
        let buffer = || {
            let pointer = self.arena.pointer(slot);
            // SAFETY: the bytes lie within the place's buffer; the parts of an operation do not overlap, and the worker
            // leaves the buffer alone until the last part has ended.
            unsafe { std::slice::from_raw_parts_mut(pointer.add(from), length) }
        };
        let moved = match kind {
            Kind::Read => rustix::io::pread(file, buffer(), offset).map_err(io::Error::from),
            Kind::Write if self.write_flags.is_empty() => {
                rustix::io::pwrite(file, buffer(), offset).map_err(io::Error::from)
            }
            Kind::Write => rustix::io::pwritev2(file, &[IoSlice::new(buffer())], offset, self.write_flags)
                .map_err(io::Error::from),
            Kind::Trim => trim(file, self.trim, *is_block_device, offset, length as u64).map(|()| length),
            Kind::Sync => rustix::fs::fsync(file).map(|()| length).map_err(io::Error::from),
        };
        match moved {
            Ok(moved) => outcome_of(moved as i32, extent.length_bytes),
            Err(error) => Err(IoError::Os(error.raw_os_error().unwrap_or(libc::EIO))),
        }
    }
}

impl Queue for Threads<'_> {
    fn buffer(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]> {
        assert!(!self.parts.is_out(slot), "a thread may be using this buffer");
        // SAFETY: nothing of this place is in flight, and the slice borrows the queue, so nothing can be pushed meanwhile.
        Some(unsafe { self.shared.arena.slot(slot, length_bytes as usize) })
    }

    fn push(&mut self, slot: u32, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError> {
        let (parts, batch) = (&mut self.parts, &mut self.batch);
        let mut add = |extent| {
            parts.begin(slot);
            batch.push(Work { slot, kind, extent });
        };
        if kind == Kind::Sync {
            for target in 0..self.shared.files.len() as u32 {
                add(Extent { target, offset_bytes: 0, within_bytes: 0, length_bytes: 0 });
            }
        } else {
            self.striping.extents(offset_bytes, length_bytes, add);
        }
        Ok(())
    }

    fn submit_and_wait(&mut self, want: u32, timeout_ns: u64) -> Result<(), RingError> {
        if !self.batch.is_empty() {
            let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.work.extend(self.batch.drain(..));
            drop(waiting);
            self.shared.there_is_work.notify_all();
        }
        let mut arrived = if want > 0 && self.ready.is_empty() {
            self.finished.recv_timeout(Duration::from_nanos(timeout_ns)).ok()
        } else {
            self.finished.try_recv().ok()
        };
        while let Some((slot, outcome)) = arrived {
            if let Some(outcome) = self.parts.end(slot, outcome) {
                self.ready.push_back((slot, outcome));
            }
            arrived = self.finished.try_recv().ok();
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<(u32, Result<(), IoError>)> {
        self.ready.pop_front()
    }

    /// Gives up what has not begun; a system call under way cannot be given up.
    fn cancel_all(&mut self) {
        let given_up: Vec<Work> = {
            let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.work.drain(..).collect()
        };
        for work in given_up {
            if let Some(outcome) = self.parts.end(work.slot, Err(IoError::Os(libc::ECANCELED))) {
                self.ready.push_back((work.slot, outcome));
            }
        }
    }
}

impl Drop for Threads<'_> {
    /// Threads end by themselves; one that a device holds is not waited for.
    fn drop(&mut self) {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.shared.there_is_work.notify_all();
    }
}
