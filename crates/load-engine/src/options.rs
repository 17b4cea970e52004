//! Engine options, which do not change the load.

use std::time::Duration;

/// Time that a target may leave everything unanswered after the end of a load before it counts as hanging.
pub const HANG_AFTER: Duration = Duration::from_secs(5);
/// Time for which hanging I/Os are waited for: the kernel gives a SCSI or NVMe command 30 s before it takes it back.
pub const HANG_LIMIT: Duration = Duration::from_secs(35);

/// The most workers (threads) of a run.
pub const WORKERS_LIMIT: u32 = 1024;

/// System interface of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interface {
    /// io_uring where it works, otherwise threads.
    #[default]
    Auto,
    /// io_uring or nothing.
    IoUring,
    /// Threads with `pread` and `pwrite` (fio's psync).
    Threads,
}

/// Kind of a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrimKind {
    /// Gives the range up: a discard of a block device, a hole in a file.
    #[default]
    Discard,
    /// Has the device write zeroes (`FALLOC_FL_ZERO_RANGE`).
    WriteZeroes,
}

/// Consequence of a device's error for the run. A device that is gone always ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorPolicy {
    /// The first error ends the run; what was counted is kept.
    #[default]
    Stop,
    /// Errors are counted and the run goes on.
    Continue,
}

/// Settings of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOptions {
    /// Threads that jobs are spread over; `None` is one for each job, at most one for each processor.
    pub workers: Option<u32>,
    /// Processors that workers are pinned to, in turn; empty leaves them free.
    pub cpus: Vec<usize>,
    /// Interface by which operations go to the kernel.
    pub interface: Interface,
    /// Buffers are registered once (fio's `fixedbufs`).
    pub fixed_buffers: bool,
    /// Files are registered once (fio's `registerfiles`).
    pub registered_files: bool,
    /// Completions are polled for (fio's `hipri`); needs a device with poll queues and `O_DIRECT`.
    pub poll: bool,
    /// A thread of the kernel takes submissions (fio's `sqthread_poll`).
    pub sqpoll: bool,
    /// Each operation goes to a thread of the kernel at once, in place of being tried first where it is handed over (fio's
    /// `force_async`); `None`: what is quicker here, by a trial before the load.
    pub force_async: Option<bool>,
    /// Work on completions waits until we look for them (`IORING_SETUP_DEFER_TASKRUN`, with a single issuer), where the
    /// kernel can; `None`: what is quicker here, by a trial before the load.
    pub deferred_completion: Option<bool>,
    /// Completions to wait for before the next batch (fio's `iodepth_batch_complete_min`); at least 1.
    pub batch_complete_min: u32,
    /// Each write reaches stable storage before it is answered (`RWF_DSYNC`; a block device uses FUA or a flush).
    pub fua: bool,
    /// An `fsync` after each so many writes of a job (fio's `fsync`); 0 is never. Syncs are no I/Os: they are timed apart.
    pub fsync_every: u32,
    /// Effect of a trim.
    pub trim: TrimKind,
    /// Consequence of an error.
    pub on_error: ErrorPolicy,
    /// Chunk of the stripe over several targets.
    pub stripe_chunk_bytes: u64,
    /// Waits shorter than this are spent polling, because the kernel wakes a sleeper later than asked.
    pub spin_ns: u64,
    /// After the end of a load, how long nothing may be answered before what is in flight counts as hanging.
    pub hang_after: Duration,
    /// After the end of a load, how long nothing may be answered before what is in flight is given up.
    pub hang_limit: Duration,
}

impl Default for RingOptions {
    fn default() -> Self {
        RingOptions {
            workers: None,
            cpus: Vec::new(),
            interface: Interface::Auto,
            fixed_buffers: true,
            registered_files: true,
            poll: false,
            sqpoll: false,
            force_async: None,
            deferred_completion: None,
            batch_complete_min: 1,
            fua: false,
            fsync_every: 0,
            trim: TrimKind::Discard,
            on_error: ErrorPolicy::Stop,
            stripe_chunk_bytes: 64 * 1024,
            spin_ns: 20_000,
            hang_after: HANG_AFTER,
            hang_limit: HANG_LIMIT,
        }
    }
}
