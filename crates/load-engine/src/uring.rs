//! Operations through io_uring.

use std::io;
use std::mem::ManuallyDrop;

use io_uring::types::{CancelBuilder, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use load::IoError;

use crate::arena::Arena;
use crate::capabilities::Capabilities;
use crate::parts::{Parts, outcome_of};
use crate::queue::{Kind, Queue};
use crate::striping::{Extent, Striping};
use crate::trim::{BLOCK_URING_CMD_DISCARD, fallocate_flags};
use crate::{OpenTarget, RingError, RingOptions, TrimKind};

/// The kernel's own limit of a submission queue (`IORING_MAX_ENTRIES`).
pub(crate) const ENTRIES_LIMIT: u64 = 32_768;
/// Time for which the kernel's submission thread polls before it sleeps.
pub(crate) const SQPOLL_IDLE_MS: u32 = 1000;
/// Marks the completion of a cancellation; places are far below.
const CANCELLATION: u32 = u32::MAX;

/// Target of the ring.
pub(crate) enum Backing<'a> {
    /// Open targets and how operations are spread over them.
    Targets(&'a [OpenTarget], &'a Striping),
    /// The kernel answers at once (`IORING_OP_NOP`): the cost of the ring without a device.
    Nothing,
}

/// A ring for `entries` parts in flight, with what the kernel has to make it cheaper.
pub(crate) fn build_ring(
    entries: u64,
    options: &RingOptions,
    capabilities: &Capabilities,
) -> Result<IoUring, RingError> {
    if entries > ENTRIES_LIMIT {
        return Err(RingError::refused(
            format!("{entries} operations in flight are more than one ring holds ({ENTRIES_LIMIT})"),
            "spread the jobs over more workers, or use less depth",
        ));
    }
    let entries = entries.next_power_of_two() as u32;
    let mut builder = IoUring::builder();
    // Twice the entries for completions, so that a cancellation's answer always has room.
    builder.setup_cqsize(entries * 2).setup_clamp();
    if options.poll {
        builder.setup_iopoll();
    }
    if options.sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
    } else if capabilities.deferred_completion && options.deferred_completion != Some(false) {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    }
    builder.build(entries).map_err(|error| RingError::engine("set up a ring", error))
}

/// The ring of one worker, with its buffers.
pub(crate) struct Uring<'a> {
    submitter: Submitter<'a>,
    submission: SubmissionQueue<'a>,
    completion: CompletionQueue<'a>,
    /// Dropped only when nothing is in flight: the kernel may write to it until then.
    arena: ManuallyDrop<Arena>,
    backing: Backing<'a>,
    has_fixed_buffers: bool,
    has_registered_files: bool,
    /// Completions come by looking for them, never by sleeping: a wait would spin in the kernel beyond its time.
    is_polled: bool,
    has_submission_thread: bool,
    needs_kernel_thread: bool,
    write_flags: i32,
    /// Trims of block devices are discards; other trims are of this mode of fallocate(2).
    discards: bool,
    trim_mode: i32,
    parts: Parts,
    parts_out: u64,
    /// Warnings of what the kernel would not do.
    pub warnings: Vec<String>,
}

impl<'a> Uring<'a> {
    pub fn new(
        ring: &'a mut IoUring,
        arena: Arena,
        slots: usize,
        backing: Backing<'a>,
        options: &RingOptions,
    ) -> Result<Uring<'a>, RingError> {
        let (mut submitter, submission, completion) = ring.split();
        let mut warnings = Vec::new();
        // Saves a look-up of the ring at each system call; older kernels do without.
        let _ = submitter.register_ring_fd();
        let needs_kernel_thread = match (&backing, options.force_async) {
            (Backing::Targets(..), Some(is_forced)) => is_forced,
            (Backing::Targets(targets, _), None) => targets.iter().any(OpenTarget::needs_kernel_thread),
            (Backing::Nothing, _) => false,
        };
        let mut has_fixed_buffers = false;
        let mut has_registered_files = false;
        if let Backing::Targets(targets, _) = &backing {
            if options.fixed_buffers {
                // SAFETY: the arena outlives the registration: it is freed only when nothing is in flight, and then no
                // operation uses it any more. The kernel holds the pages by itself.
                match unsafe { submitter.register_buffers(&[arena.as_iovec()]) } {
                    Ok(()) => has_fixed_buffers = true,
                    Err(error) => warnings.push(format!(
                        "buffers could not be registered ({error}), so each I/O costs more: raise the limit of locked memory \
                         (ulimit -l)"
                    )),
                }
            }
            if options.registered_files {
                let files: Vec<_> = targets.iter().map(OpenTarget::raw_fd).collect();
                match submitter.register_files(&files) {
                    Ok(()) => has_registered_files = true,
                    Err(error) => warnings
                        .push(format!("files could not be registered ({error}), so each I/O costs more")),
                }
            }
        }
        Ok(Uring {
            submitter,
            submission,
            completion,
            arena: ManuallyDrop::new(arena),
            backing,
            has_fixed_buffers,
            has_registered_files,
            is_polled: options.poll,
            has_submission_thread: options.sqpoll,
            needs_kernel_thread,
            write_flags: if options.fua { libc::RWF_DSYNC } else { 0 },
            discards: options.trim == TrimKind::Discard,
            trim_mode: fallocate_flags(options.trim).bits() as i32,
            parts: Parts::new(slots),
            parts_out: 0,
            warnings,
        })
    }

    fn push_part(&mut self, slot: u32, kind: Kind, extent: Extent) -> Result<(), RingError> {
        let entry = self.entry(slot, kind, extent);
        if self.submission.is_full() {
            self.submission.sync();
            self.submitter.submit().map_err(|error| RingError::engine("submit", error))?;
            if self.has_submission_thread {
                // It gives places back after a whole batch, and answers may be there before that.
                self.submitter.squeue_wait().map_err(|error| RingError::engine("submit", error))?;
            }
            self.submission.sync();
        }
        // SAFETY: the buffer lives in the arena, which is not freed while a part is in flight; the files are borrowed for
        // as long as the ring lives.
        let pushed = unsafe { self.submission.push(&entry) };
        pushed
            .map_err(|_| RingError::engine("submit", io::Error::other("the submission queue stays full")))?;
        self.parts.begin(slot);
        self.parts_out += 1;
        Ok(())
    }

    /// The entry of a part, whose `user_data` is its place and, in the upper half, what it must return.
    #[inline]
    fn entry(&self, slot: u32, kind: Kind, extent: Extent) -> squeue::Entry {
        let Backing::Targets(targets, _) = &self.backing else {
            return opcode::Nop::new().build().user_data(u64::from(slot));
        };
        let Extent { target, offset_bytes, within_bytes, length_bytes } = extent;
        // SAFETY: an extent's bytes lie within the place's buffer, whose size is the largest I/O of the load.
        let buffer = unsafe { self.arena.pointer(slot).add(within_bytes as usize) };
        // The two kinds of file are different types in the library, which keeps their trait to itself.
        macro_rules! build {
            ($file:expr) => {
                match kind {
                    Kind::Read if self.has_fixed_buffers => {
                        opcode::ReadFixed::new($file, buffer, length_bytes, 0).offset(offset_bytes).build()
                    }
                    Kind::Read => opcode::Read::new($file, buffer, length_bytes).offset(offset_bytes).build(),
                    Kind::Write if self.has_fixed_buffers => {
                        opcode::WriteFixed::new($file, buffer, length_bytes, 0)
                            .offset(offset_bytes)
                            .rw_flags(self.write_flags)
                            .build()
                    }
                    Kind::Write => opcode::Write::new($file, buffer, length_bytes)
                        .offset(offset_bytes)
                        .rw_flags(self.write_flags)
                        .build(),
                    Kind::Trim if self.discards && targets[target as usize].is_block_device() => {
                        let mut command = [0; 16];
                        command[..8].copy_from_slice(&u64::from(length_bytes).to_ne_bytes());
                        opcode::UringCmd16::new($file, BLOCK_URING_CMD_DISCARD)
                            .addr(Some(offset_bytes))
                            .cmd(command)
                            .build()
                    }
                    Kind::Trim => opcode::Fallocate::new($file, u64::from(length_bytes))
                        .offset(offset_bytes)
                        .mode(self.trim_mode)
                        .build(),
                    Kind::Sync => opcode::Fsync::new($file).build(),
                }
            };
        }
        let entry = if self.has_registered_files {
            build!(Fixed(target))
        } else {
            build!(Fd(targets[target as usize].raw_fd()))
        };
        // Where handing over could wait for a server, a thread of the kernel does the waiting: a worker that is held there
        // cannot be stopped. Where the kernel would pass the I/O on to that thread in any case, saying so saves the attempt.
        let entry = if self.needs_kernel_thread { entry.flags(squeue::Flags::ASYNC) } else { entry };
        let expected = if matches!(kind, Kind::Read | Kind::Write) { length_bytes } else { 0 };
        entry.user_data(u64::from(expected) << 32 | u64::from(slot))
    }
}

impl Queue for Uring<'_> {
    fn buffer(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]> {
        if matches!(self.backing, Backing::Nothing) {
            return None;
        }
        assert!(!self.parts.is_out(slot), "the kernel may be using this buffer");
        // SAFETY: nothing of this place is in flight, and the slice borrows the ring, so nothing can be pushed meanwhile.
        Some(unsafe { self.arena.slot(slot, length_bytes as usize) })
    }

    #[inline]
    fn push(&mut self, slot: u32, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError> {
        let one = Extent { target: 0, offset_bytes, within_bytes: 0, length_bytes };
        match &self.backing {
            Backing::Nothing => self.push_part(slot, kind, one),
            Backing::Targets(targets, _) if kind == Kind::Sync => (0..targets.len() as u32)
                .try_for_each(|target| self.push_part(slot, kind, Extent { target, ..one })),
            Backing::Targets(_, striping) => {
                let striping = *striping;
                let mut pushed = Ok(());
                striping.extents(offset_bytes, length_bytes, |extent| {
                    if pushed.is_ok() {
                        pushed = self.push_part(slot, kind, extent);
                    }
                });
                pushed
            }
        }
    }

    fn submit_and_wait(&mut self, want: u32, timeout_ns: u64) -> Result<(), RingError> {
        self.submission.sync();
        let timeout =
            Timespec::new().sec(timeout_ns / 1_000_000_000).nsec((timeout_ns % 1_000_000_000) as u32);
        let entered = if want == 0 || self.is_polled {
            self.submitter.submit()
        } else {
            self.submitter.submit_with_args(want as usize, &SubmitArgs::new().timespec(&timeout))
        };
        self.submission.sync();
        self.completion.sync();
        match entered {
            Ok(_) => Ok(()),
            // The time is up, a signal came, or the kernel wants completions to be taken first.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(RingError::engine("submit and wait", error)),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(u32, Result<(), IoError>)> {
        loop {
            let entry = self.completion.next()?;
            let slot = entry.user_data() as u32;
            if slot == CANCELLATION {
                continue;
            }
            self.parts_out -= 1;
            let outcome = outcome_of(entry.result(), (entry.user_data() >> 32) as u32);
            if let Some(outcome) = self.parts.end(slot, outcome) {
                return Some((slot, outcome));
            }
        }
    }

    fn cancel_all(&mut self) {
        let entry =
            opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(u64::from(CANCELLATION));
        self.submission.sync();
        // SAFETY: a cancellation has no buffer. Where it finds no room, the wait that follows has to do.
        let _ = unsafe { self.submission.push(&entry) };
    }
}

impl Drop for Uring<'_> {
    fn drop(&mut self) {
        if self.parts_out == 0 {
            // SAFETY: dropped once, here, and nothing is in flight.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
        }
        // Otherwise the memory is left to the operations that a hanging device still holds.
    }
}
